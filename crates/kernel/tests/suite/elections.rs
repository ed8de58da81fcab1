//! Random kernels in which a warp elects one of its lanes (9.7.15.15): the answer to all elections, and the answers to the
//! same kernel with each lane in turn in the place of the elected one, without an election.

use fencepost_kernel::report::Report;

use crate::random::Random;
use crate::values::{answer, proved};

/// The number of lanes that may be elected.
const LANES: u32 = 32;
/// Programs of `cargo test`.
const SAMPLE: u64 = 60;

/// Who does something: a guard in front of it.
fn guard(random: &mut Random) -> &'static str {
    random.pick(&["@%p4 ", "@%p4 ", "@%p4 ", "@%p4 ", "@!%p4 ", "@%p5 ", "@%p6 ", "@%p7 ", ""])
}

/// A few bytes that several threads use, or the lane's own.
fn address(random: &mut Random) -> &'static str {
    random.pick(&["[%r3+256]", "[%r3+256]", "[%r3+260]", "[%r5]", "[%r3+20]"])
}

/// A step of the warp that elects. `%p4` is set in the elected lane, `%p5` in lane 5, `%p6` in the first and the last, `%p7` in
/// the elected lane if it is lane 5.
fn step(number: usize, random: &mut Random) -> String {
    match random.below(16) {
        0..=3 => format!("{}st.shared.u32 {}, 1;", guard(random), address(random)),
        4..=6 => format!("{}ld.shared.u32 %r7, {};", guard(random), address(random)),
        7..=9 => "bar.warp.sync -1;".to_owned(),
        10 => format!("{}mbarrier.arrive.shared::cta.b64 _, [%r4];", guard(random)),
        11 => wait(number),
        12 => format!("@!%p4 bra OVER{number};\nst.shared.u32 {}, 1;\nOVER{number}:", address(random)),
        // The number of the elected lane, handed to all.
        13 => "shl.b32 %r8, %r6, 2;\nadd.u32 %r8, %r8, %r3;\n@!%p2 st.shared.u32 [%r8], 1;".to_owned(),
        14 => "ELECT\n".to_owned(),
        _ => "bar.sync 0;".to_owned(),
    }
}

fn wait(number: usize) -> String {
    format!("W{number}:\nmbarrier.try_wait.parity.shared::cta.b64 %p8, [%r4], 0;\n@!%p8 bra W{number};")
}

/// A step of the other warp, or of its first thread alone.
fn other(number: usize, random: &mut Random) -> String {
    let who = random.pick(&["@!%p3 ", "@!%p3 ", ""]);
    match random.below(5) {
        0 | 1 => format!("{who}ld.shared.u32 %r7, {};", random.pick(&["[%r3+256]", "[%r3+260]", "[%r3+20]"])),
        2 => format!("@!%p3 st.shared.u32 {}, 2;", random.pick(&["[%r3+256]", "[%r3+260]", "[%r3+20]"])),
        3 => wait(number),
        _ => "@!%p3 mbarrier.arrive.shared::cta.b64 _, [%r4];".to_owned(),
    }
}

/// A kernel of two warps; `ELECT` stands for the election of the first.
fn body(random: &mut Random) -> String {
    let count = random.pick(&[1, 1, 2, LANES]);
    let mut own: Vec<String> = vec!["ELECT\n".to_owned()];
    let mut others: Vec<String> = Vec::new();
    for number in 0..2 + random.below(5) {
        let step = step(number, random);
        if step == "bar.sync 0;" {
            others.push(step.clone());
        }
        own.push(step);
        if random.percent(30) {
            others.push(other(100 + number, random));
        }
    }
    format!(
        "mov.u32 %r3, s;\nmov.u32 %r4, m;\nshl.b32 %r5, %r1, 2;\nadd.u32 %r5, %r5, %r3;\nsetp.lt.u32 %p1, %r1, 32;\n\
         setp.ne.u32 %p2, %r1, 0;\nsetp.ne.u32 %p3, %r1, 32;\n@%p2 bra READY;\nmbarrier.init.shared::cta.b64 [%r4], {count};\n\
         READY:\nbar.sync 0;\n@!%p1 bra OTHER;\n{}\nbra END;\nOTHER:\n{}\nEND:",
        own.join("\n"),
        others.join("\n")
    )
}

fn with(body: &str, elects: &str) -> Report {
    let lanes = "setp.eq.u32 %p5, %r1, 5;\nsetp.eq.u32 %p6, %r1, 0;\nsetp.eq.u32 %p7, %r1, 31;\nor.pred %p6, %p6, %p7;\n\
                 and.pred %p7, %p4, %p5;\n";
    answer("", &body.replace("ELECT\n", &format!("{elects}\n{lanes}")))
}

#[derive(Default, Debug)]
struct Figures {
    programs: u64,
    /// With each lane in turn: proved with all of them, and of those the ones whose elections are proved.
    right: u64,
    right_proved: u64,
    /// Something is found with one lane at least, and of those the ones whose elections are not in order.
    wrong: u64,
    wrong_found: u64,
}

fn compare(seed: u64, figures: &mut Figures) {
    let body = body(&mut Random::new(seed ^ 0xe1ec));
    let elected = with(&body, "elect.sync %r6|%p4, -1;");
    let lanes: Vec<Report> =
        (0..LANES).map(|lane| with(&body, &format!("mov.u32 %r6, {lane};\nsetp.eq.u32 %p4, %r1, {lane};"))).collect();
    let right = lanes.iter().all(proved);
    let wrong = lanes.iter().any(|report| !report.findings.is_empty());
    let first_wrong = lanes.iter().position(|report| !report.findings.is_empty());
    let context = || format!("seed {seed}, lane {first_wrong:?}\n{body}\n{elected:?}");
    assert!(!proved(&elected) || right, "proved, and not with each lane: {}", context());
    assert!(elected.findings.is_empty() || wrong, "found, and not with any lane: {}", context());
    figures.programs += 1;
    figures.right += u64::from(right);
    figures.right_proved += u64::from(right && proved(&elected));
    figures.wrong += u64::from(wrong);
    figures.wrong_found += u64::from(wrong && !elected.findings.is_empty());
}

#[test]
fn an_election_is_the_election_of_each_lane() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = number("FENCEPOST_KERNELS").unwrap_or(SAMPLE);
    let from = number("FENCEPOST_KERNELS_FROM").unwrap_or(1);
    let mut figures = Figures::default();
    for seed in from..from + count {
        compare(seed, &mut figures);
    }
    eprintln!("elections: {figures:?}");
    assert!(figures.right_proved * 10 >= figures.right * 9 && figures.right > 0, "{figures:?}");
    assert!(figures.wrong_found * 10 >= figures.wrong * 9 && figures.wrong > 0, "{figures:?}");
}
