//! Random CTAs that go round together, with joint rounds left out, and with all loops unrolled: the same outcomes, the same
//! races, and no hang where an unrolled execution ends otherwise.
//!
//! The same text, under the same axioms as somebody's own model, of which nothing is assumed: its loops are unrolled.

use std::collections::BTreeSet;

use fencepost_report::verdict::{Verdict, Why};
use fencepost_report::{RaceAnswer, Report, TerminationAnswer};
use fencepost_syntax::Source;

use crate::judge::known::check_known;
use crate::load;
use crate::look::failing_waits::draft::Random;
use crate::look::joint_rounds;
use crate::model::load::{LoadedModel, Models};
use crate::options::{Deepening, Options, Outcomes};
use crate::test::Test;
use crate::write::report::checked;

/// Programs in `cargo test`; `FENCEPOST_JOINT=N` for more.
const PROGRAMS: u64 = 120;

/// Bytes for a check: where it takes more, the program is not compared.
const MEMORY: u64 = 500 << 20;

/// Lines per thread: of the CTA that goes round, and of one beside it.
type Draft = Vec<Vec<String>>;

fn ask(random: &mut Random) -> String {
    match random.below(8) {
        0..6 => {
            format!("ld.{}.global.u32 %v, [f];", random.pick(&["weak", "relaxed.gpu", "acquire.gpu", "acquire.gpu"]))
        }
        6 => "atom.acquire.gpu.global.cas.b32 %v, [f], 1, 2;".to_owned(),
        _ => "atom.acquire.gpu.global.exch.b32 %v, [f], 0;".to_owned(),
    }
}

/// A thread that goes round: it asks and writes the board in one segment if it leads, and reads it in another.
fn round(random: &mut Random, barriers: usize, (written, read): (usize, usize), leads: bool) -> Vec<String> {
    let other_barrier = random.one_in(12);
    let mut lines = Vec::new();
    if random.one_in(10) {
        lines.push(random.pick(&["ld.shared.u32 %b, [g];", "st.shared.u32 [g], 0;", "bar.sync 0;"]).to_owned());
    }
    lines.push("L:".to_owned());
    for segment in 0..=barriers {
        if leads && segment == written {
            lines.push(ask(random));
            match random.below(10) {
                // Told only where the answer is yes.
                0 => lines
                    .extend(["setp.ne.u32 %q, %v, 0;", "@%q st.relaxed.cta.shared.u32 [g], %v;"].map(str::to_owned)),
                // A way back that meets nobody.
                1 => {
                    lines.extend(["st.shared.u32 [g], %v;", "setp.eq.u32 %q, %v, 0;", "@%q bra L;"].map(str::to_owned))
                }
                _ => lines.push("st.shared.u32 [g], %v;".to_owned()),
            }
        }
        if segment == read {
            lines.push("ld.shared.u32 %w, [g];".to_owned());
            if random.one_in(8) {
                lines.extend(["setp.ne.u32 %p, %w, 0;".to_owned(), "@%p bra M;".to_owned()]);
            }
        }
        if segment < barriers {
            lines.push(match other_barrier && segment == 0 {
                true => "bar.sync 1;".to_owned(),
                false => "bar.sync 0;".to_owned(),
            });
        }
    }
    let answer = if leads && random.one_in(4) { "%v" } else { "%w" };
    let enough = if random.one_in(6) { 2 } else { 1 };
    lines.extend([format!("setp.lt.u32 %p, {answer}, {enough};"), "@%p bra L;".to_owned(), "M:".to_owned()]);
    for _ in 0..1 + random.below(2) {
        let after = [
            "ld.weak.global.u32 %x, [x];",
            "ld.relaxed.gpu.global.u32 %x, [x];",
            "ld.shared.u32 %y, [g];",
            "bar.sync 0;",
        ];
        lines.push(random.pick(&after).to_owned());
    }
    lines
}

fn draft(random: &mut Random) -> Draft {
    let barriers = 1 + random.below(3);
    let written = random.below(barriers.min(2));
    let mut beside = vec![format!("st.{}.global.u32 [x], 1;", random.pick(&["weak", "relaxed.gpu"]))];
    beside.push(format!("st.{}.gpu.global.u32 [f], 1;", random.pick(&["relaxed", "release", "release"])));
    if random.one_in(4) {
        beside.swap(0, 1);
    }
    if random.one_in(3) {
        beside.push("st.release.gpu.global.u32 [f], 2;".to_owned());
    }
    if random.one_in(8) {
        beside.truncate(1);
    }
    let mut draft = vec![beside];
    for thread in 0..2 + usize::from(random.one_in(5)) {
        let read = if random.one_in(6) { random.below(barriers + 1) } else { written + 1 };
        let leads = thread == 0 || random.one_in(20);
        let barriers = if random.one_in(25) { barriers + 1 } else { barriers };
        draft.push(round(random, barriers, (written, read), leads));
    }
    draft
}

fn text(draft: &Draft) -> String {
    let mut shown = vec!["x;".to_owned(), "g;".to_owned()];
    let mut text = "PTX t\n{ .global .u32 x = 0; .global .u32 f = 0; .shared .u32 g = 0; }\n".to_owned();
    for (thread, lines) in draft.iter().enumerate() {
        let cta = usize::from(thread > 0);
        text += &format!("P{thread}@cta {cta}, gpu 0 {{\n{}\n}}\n", lines.join("\n"));
    }
    let reads = |lines: &[String], register: &str| lines.iter().any(|line| line.contains(&format!("u32 {register},")));
    for (thread, lines) in draft.iter().enumerate() {
        let read = ["%w", "%x", "%y", "%b"].into_iter().filter(|register| reads(lines, register));
        shown.extend(read.map(|register| format!("P{thread}:{register};")));
    }
    format!("{text}locations [{}]\nforall (true)\n", shown.join(" "))
}

fn test(draft: &Draft) -> Option<Test> {
    let (mut tests, diagnostics) = load(&Source::new("t.litmus", text(draft)));
    let fails = diagnostics.iter().any(|found| found.is_error());
    if fails { None } else { tests.pop() }
}

fn report(test: &Test, model: &LoadedModel, bound: u32) -> Report {
    let options = Options {
        bound,
        deepening: Deepening::Off,
        outcomes: Outcomes::All,
        budget: crate::Budget::new(None, Some(MEMORY)),
        ..Options::default()
    };
    checked(test, model, &options, check_known(test, model, &options)).report
}

fn outcomes(report: &Report) -> BTreeSet<String> {
    report.outcomes.iter().map(|outcome| outcome.values.to_string()).collect()
}

fn races(report: &Report) -> BTreeSet<String> {
    report.races.pairs.iter().map(|race| format!("{} {:?} {:?}", race.flag, race.first, race.second)).collect()
}

/// What differs, where joint rounds were left out.
fn difference(draft: &Draft, model: &LoadedModel, own: &LoadedModel) -> Option<Option<String>> {
    let test = test(draft)?;
    let (unfolding, _) = joint_rounds::unfold(&test.program, model, &Options::default()).ok()?;
    if unfolding.joint.is_empty() {
        return None;
    }
    let (left_out, unrolled) = (report(&test, model, 2), report(&test, own, 3));
    if [&left_out, &unrolled].iter().any(|report| matches!(report.verdict, Verdict::Unknown(Why::Memory))) {
        return None;
    }
    let told = |what: &str, one: &BTreeSet<String>, other: &BTreeSet<String>| {
        format!("{}\n{what}: left out {one:#?}\nunrolled {other:#?}", text(draft))
    };
    let (one, other) = (outcomes(&left_out), outcomes(&unrolled));
    if one != other {
        return Some(Some(told("outcomes", &one, &other)));
    }
    let (one, other) = (races(&left_out), races(&unrolled));
    let same = if unrolled.races.answer == RaceAnswer::Unknown { one.is_superset(&other) } else { one == other };
    if !same {
        return Some(Some(told("races", &one, &other)));
    }
    let stuck = |report: &Report| report.termination.answer == TerminationAnswer::MayHang;
    if stuck(&unrolled) && !stuck(&left_out) {
        return Some(Some(told("hangs", &BTreeSet::new(), &BTreeSet::new())));
    }
    Some(None)
}

/// The smallest program that shows a difference.
fn shrunk(draft: &Draft, model: &LoadedModel, own: &LoadedModel) -> Option<String> {
    let mut found = difference(draft, model, own)??;
    let mut draft = draft.clone();
    loop {
        let without = |(thread, line): (usize, usize)| {
            let mut smaller = draft.clone();
            smaller[thread].remove(line);
            smaller
        };
        let places =
            draft.iter().enumerate().flat_map(|(thread, lines)| (0..lines.len()).map(move |line| (thread, line)));
        let smaller = places.map(without).find_map(|smaller| Some((difference(&smaller, model, own)??, smaller)));
        let Some((told, smaller)) = smaller else { return Some(found) };
        (found, draft) = (told, smaller);
    }
}

#[test]
fn joint_rounds_that_are_left_out_are_not_missed() {
    let programs = std::env::var("FENCEPOST_JOINT").ok().and_then(|count| count.parse().ok()).unwrap_or(PROGRAMS);
    for name in ["ptx-7.5", "sc"] {
        let model = Models::shipped(name).expect("shipped");
        let mut own = Models::shipped(name).expect("shipped");
        own.assume_nothing();
        let mut compared = 0;
        for seed in 0..programs {
            let draft = draft(&mut Random(seed));
            if let Some(told) = shrunk(&draft, &model, &own) {
                panic!("{name}, seed {seed}\n{told}");
            }
            compared += u64::from(difference(&draft, &model, &own).is_some());
        }
        assert!(compared > programs / 6, "{compared} of {programs} have joint rounds");
    }
}
