//! `ptx` against `ptx-7.5` on programs that both know: the same executions and the same races.
//!
//! Random steps rarely hand a value on from one read-modify-write to the next, so half of the programs are made of such
//! chains: a flag that is written, incremented by one or two threads and read, each with a scope of its own, and data that
//! are published by it. (A rule that asked for the scopes of the two ends of a chain, and not of its links, agreed with
//! `ptx-7.5` on 2,400 programs without them.)
//!
//! Both models get the same unfolding, with dependencies as they are written. A write that is not made is a dependency under
//! `ptx` only, so programs with branches, computed addresses and compare-and-swaps are left out.

use super::compare::{Failure, Subject, same_under};
use super::generate::{self, Barriers};
use super::program::Style;
use super::random::Random;

/// What was compared.
#[derive(Copy, Clone, Default, Debug)]
pub(crate) struct Compared {
    pub(crate) programs: u64,
    pub(crate) chains: u64,
    pub(crate) executions: u64,
    pub(crate) racy: u64,
    /// With branches, addresses or comparisons, of no meaning, or with too many executions.
    pub(crate) left_out: u64,
}

/// The two models.
pub(crate) fn subjects() -> [Subject; 2] {
    [Subject::shipped("ptx-7.5"), Subject::ptx()]
}

/// The program of one seed.
pub(crate) fn text(seed: u64) -> String {
    let mut random = Random::new(seed);
    if random.percent(50) {
        chain(&mut random)
    } else {
        generate::generate(&mut random, Style::Ptx, Barriers::Sometimes).text()
    }
}

/// Compares the program of one seed; the error is the program with what differs.
pub(crate) fn run(seed: u64, [older, newer]: &[Subject; 2], compared: &mut Compared) -> Result<(), String> {
    let text = text(seed);
    let is_chain = text.starts_with("PTX chain");
    if ["@%p", "@!%p", "%rd", ".cas."].iter().any(|form| text.contains(form)) {
        compared.left_out += 1;
        return Ok(());
    }
    match same_under(&text, older, newer) {
        Ok(None) => compared.left_out += 1,
        Ok(Some(same)) => {
            compared.programs += 1;
            compared.chains += u64::from(is_chain);
            compared.executions += same.executions;
            compared.racy += u64::from(same.races > 0);
        }
        Err(Failure { message, .. }) => return Err(format!("seed {seed}\n{text}\n{message}")),
    }
    Ok(())
}

/// Data published by a flag that read-modify-writes carry on, every operation with a scope of its own.
fn chain(random: &mut Random) -> String {
    let hops = 1 + random.below(2);
    let mut threads = vec![writer(random)];
    threads.extend((0..hops).map(|_| hop(random)));
    threads.push(reader(random));
    let mut text = String::from("PTX chain\n{ .global .u32 d = 0; .global .u32 f = 0; }\n");
    for (index, lines) in threads.iter().enumerate() {
        let (cta, gpu) = (random.pick(&[0, 0, 1]), random.pick(&[0, 0, 0, 0, 1]));
        text.push_str(&format!("P{index}@cta {cta}, gpu {gpu} {{\n{}}}\n", lines.concat()));
    }
    text.push_str("exists (d = 1)\n");
    text
}

fn scope(random: &mut Random) -> &'static str {
    random.pick(&["cta", "cta", "gpu", "gpu", "sys"])
}

fn fence(random: &mut Random, orders: &[&'static str]) -> String {
    format!("    fence.{}.{};\n", random.pick(orders), scope(random))
}

fn writer(random: &mut Random) -> Vec<String> {
    let mut lines = vec![match random.below(3) {
        0 => format!("    st.relaxed.{}.u32 [d], 1;\n", scope(random)),
        _ => "    st.weak.u32 [d], 1;\n".to_owned(),
    }];
    if random.percent(55) {
        lines.push(fence(random, &["acq_rel", "release", "sc"]));
    }
    let order = random.pick(&["relaxed", "relaxed", "release"]);
    lines.push(match random.below(4) {
        0 => format!("    red.{order}.{}.add.u32 [f], 1;\n", scope(random)),
        _ => format!("    st.{order}.{}.u32 [f], 1;\n", scope(random)),
    });
    if random.percent(30) {
        lines.push(format!("    st.relaxed.{}.u32 [f], 2;\n", scope(random)));
    }
    lines
}

fn hop(random: &mut Random) -> Vec<String> {
    let order = random.pick(&["relaxed", "relaxed", "relaxed", "acquire", "release", "acq_rel"]);
    let mut lines = vec![match random.below(4) {
        0 => format!("    red.{}.{}.add.u32 [f], 10;\n", random.pick(&["relaxed", "release"]), scope(random)),
        1 => format!("    atom.{order}.{}.exch.b32 %r1, [f], 10;\n", scope(random)),
        _ => format!("    atom.{order}.{}.add.u32 %r1, [f], 10;\n", scope(random)),
    }];
    if random.percent(15) {
        lines.insert(0, fence(random, &["acq_rel", "release", "sc"]));
    }
    lines
}

fn reader(random: &mut Random) -> Vec<String> {
    let order = random.pick(&["relaxed", "relaxed", "acquire"]);
    let mut lines = vec![match random.below(4) {
        0 => format!("    atom.{order}.{}.add.u32 %r1, [f], 100;\n", scope(random)),
        _ => format!("    ld.{order}.{}.u32 %r1, [f];\n", scope(random)),
    }];
    if random.percent(20) {
        lines.push(format!("    ld.acquire.{}.u32 %r2, [f];\n", scope(random)));
    }
    if random.percent(55) {
        lines.push(fence(random, &["acq_rel", "acquire", "sc"]));
    }
    lines.push(match random.below(3) {
        0 => format!("    ld.relaxed.{}.u32 %r3, [d];\n", scope(random)),
        _ => "    ld.weak.u32 %r3, [d];\n".to_owned(),
    });
    lines
}
