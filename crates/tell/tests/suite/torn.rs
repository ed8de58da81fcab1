//! Torn values: a weak access of several bytes that races is what its bytes are, each accessed on its own (PTX ISA 8.10.3).
//!
//! Random programs of weak 16-bit accesses, with a flag now and then, are checked as they are and with every access
//! written as two of a byte: the outcomes are the same. A program for which they are not is made smaller.

use std::collections::BTreeSet;

use super::check;
use fencepost_check::options::Outcomes;
use fencepost_check::{Models, Options, load};
use fencepost_report::{Number, RaceAnswer, Report};
use fencepost_syntax::Source;
use fencepost_tell::explain::explain;

fn checked(text: &str) -> (fencepost_check::Test, fencepost_check::Checked) {
    let (mut tests, diagnostics) = load(&Source::new("t.litmus", text));
    assert!(tests.len() == 1, "{text}\n{diagnostics:?}");
    let options = Options { outcomes: Outcomes::All, ..Options::default() };
    let test = tests.remove(0);
    let checked = check(&test, &Models::shipped("ptx").expect("a model"), &options);
    (test, checked)
}

fn report(text: &str) -> Report {
    checked(text).1.report
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[(self.next() % from.len() as u64) as usize]
    }
}

#[derive(Copy, Clone, Debug)]
enum Step {
    Load(&'static str),
    Store(&'static str, u32),
    /// Passes on what was loaded last.
    Copy(&'static str),
    /// One more than what is there.
    Increment(&'static str),
    Release,
    Acquire,
}

type Program = Vec<Vec<Step>>;

#[derive(Copy, Clone, PartialEq, Eq)]
enum Written {
    Whole,
    ByBytes,
}

fn program(random: &mut Random) -> Program {
    const VALUES: [u32; 6] = [1, 255, 256, 257, 258, 513];
    let names: &[&'static str] = random.pick(&[&["x"][..], &["x", "y"][..]]);
    let threads = 2 + random.next() % 2;
    let mut left = 5;
    let mut all = Vec::new();
    for _ in 0..threads {
        let count = (1 + random.next() % 3).min(left);
        left -= count;
        let step = |random: &mut Random| {
            let name = random.pick(names);
            match random.next() % 10 {
                0 => Step::Release,
                1 => Step::Acquire,
                2 => Step::Copy(name),
                3 => Step::Increment(name),
                4 | 5 => Step::Load(name),
                _ => Step::Store(name, random.pick(&VALUES)),
            }
        };
        all.push((0..count).map(|_| step(random)).collect());
    }
    all
}

fn text(program: &Program, written: Written) -> String {
    let mut text = "PTX t\n{ .global .u16 x = 0; .global .u16 y = 0; .global .u32 f = 0; }\n".to_owned();
    let mut shown = vec!["x".to_owned(), "y".to_owned()];
    for (thread, steps) in program.iter().enumerate() {
        text += &format!("P{thread}@cta {thread} {{\n  mov.u32 %last, 0;\n");
        for (at, step) in steps.iter().enumerate() {
            let line = match (step, written) {
                (Step::Load(name), Written::Whole) => format!("ld.global.u16 %r{at}, [{name}];"),
                (Step::Load(name), Written::ByBytes) => format!(
                    "ld.global.u8 %l{at}, [{name}]; ld.global.u8 %h{at}, [{name}+1]; shl.b32 %h{at}, %h{at}, 8; \
                     or.b32 %r{at}, %l{at}, %h{at};"
                ),
                (Step::Store(name, value), Written::Whole) => format!("st.global.u16 [{name}], {value};"),
                (Step::Store(name, value), Written::ByBytes) => {
                    format!("st.global.u8 [{name}], {}; st.global.u8 [{name}+1], {};", value & 255, value >> 8)
                }
                (Step::Copy(name), Written::Whole) => format!("st.global.u16 [{name}], %last;"),
                (Step::Copy(name), Written::ByBytes) => format!(
                    "and.b32 %l{at}, %last, 255; shr.u32 %h{at}, %last, 8; st.global.u8 [{name}], %l{at}; \
                     st.global.u8 [{name}+1], %h{at};"
                ),
                (Step::Increment(name), Written::Whole) => {
                    format!(
                        "ld.global.u16 %r{at}, [{name}]; add.u32 %i{at}, %r{at}, 1; st.global.u16 [{name}], %i{at};"
                    )
                }
                (Step::Increment(name), Written::ByBytes) => format!(
                    "ld.global.u8 %l{at}, [{name}]; ld.global.u8 %h{at}, [{name}+1]; shl.b32 %h{at}, %h{at}, 8; \
                     or.b32 %r{at}, %l{at}, %h{at}; add.u32 %i{at}, %r{at}, 1; and.b32 %m{at}, %i{at}, 255; \
                     shr.u32 %n{at}, %i{at}, 8; and.b32 %n{at}, %n{at}, 255; st.global.u8 [{name}], %m{at}; \
                     st.global.u8 [{name}+1], %n{at};"
                ),
                (Step::Release, _) => "st.release.gpu.global.u32 [f], 1;".to_owned(),
                (Step::Acquire, _) => format!("ld.acquire.gpu.global.u32 %r{at}, [f];"),
            };
            let tail = if matches!(step, Step::Load(_)) { format!(" mov.u32 %last, %r{at};") } else { String::new() };
            text += &format!("  {line}{tail}\n");
            if matches!(step, Step::Load(_) | Step::Acquire) {
                shown.push(format!("P{thread}:%r{at}"));
            }
        }
        text += "}\n";
    }
    let shown: Vec<String> = shown.iter().map(|term| format!("{term} = 0")).collect();
    text + &format!("exists ({})\n", shown.join(" /\\ "))
}

/// The outcomes with memory in one piece.
fn outcomes(report: &Report) -> BTreeSet<Vec<(String, i128)>> {
    let state = |values: &fencepost_report::Assignment| {
        let mut whole: std::collections::BTreeMap<String, i128> = std::collections::BTreeMap::new();
        for (name, value) in &values.0 {
            let Number::Known(value) = value else { continue };
            let (name, factor) = match name.split_once('+') {
                Some((stem, at)) => (stem, 1i128 << (8 * at.parse::<u32>().expect("an offset"))),
                None => (&**name, 1),
            };
            *whole.entry(name.to_owned()).or_default() += value * factor;
        }
        whole.into_iter().collect()
    };
    assert!(report.executions.is_some_and(|count| count.complete), "{report:?}");
    report.outcomes.iter().map(|outcome| state(&outcome.values)).collect()
}

fn differ(program: &Program) -> bool {
    let (whole, bytes) = (report(&text(program, Written::Whole)), report(&text(program, Written::ByBytes)));
    whole.verdict.word() != bytes.verdict.word() || outcomes(&whole) != outcomes(&bytes)
}

/// The program with as few steps as still fail.
fn shrunk(mut program: Program) -> Program {
    loop {
        let places = (0..program.len()).flat_map(|thread| (0..program[thread].len()).map(move |at| (thread, at)));
        let smaller = places.map(|(thread, at)| {
            let mut smaller = program.clone();
            smaller[thread].remove(at);
            smaller
        });
        match smaller.collect::<Vec<_>>().into_iter().find(differ) {
            Some(smaller) => program = smaller,
            None => return program,
        }
    }
}

#[test]
fn a_weak_access_is_its_bytes() {
    let mut random = Random(7);
    let mut torn = 0;
    for round in 0..150 {
        let program = program(&mut random);
        if differ(&program) {
            let small = shrunk(program);
            let both = [Written::Whole, Written::ByBytes].map(|written| text(&small, written));
            panic!("round {round}: outcomes differ\n{}\n{}", both[0], both[1]);
        }
        torn += usize::from(checked(&text(&program, Written::Whole)).1.test.is_some());
    }
    assert!(torn > 30, "only {torn} of the programs could be torn");
}

const POLL: &str = "PTX t\n{ .global .u64 x = 0; }\nP0@cta 0 { st.relaxed.gpu.global.u64 [x], 4294967303; }\n\
                    P1@cta 1 { ld.global.u64 %a, [x]; }\nexists (P1:%a = 7 /\\ x = 4294967303)\n";

#[test]
fn a_report_speaks_of_whole_values() {
    let (test, checked) = checked(POLL);
    let report = &checked.report;
    assert_eq!(report.verdict.word(), "Holds", "{report:?}");
    assert_eq!(report.questions[0].condition, "P1:%a=7 /\\ x=4294967303");
    let states: Vec<String> = report.outcomes.iter().map(|outcome| outcome.values.to_string()).collect();
    let all = [0i64, 7, 4294967296, 4294967303].map(|value| format!("P1:%a={value}; x=4294967303"));
    assert_eq!(states, all);
    let witness = report.questions[0].witness.as_ref().expect("a witness");
    assert_eq!(witness.state.to_string(), "P1:%a=7; x=4294967303");
    assert_eq!(report.races.pairs[0].location.as_deref(), Some("x"));
    let warning = report.warnings.iter().find(|warning| warning.name == "torn-value").expect("a warning");
    let told =
        "P1's `ld.global.u64 %a, [x]` takes bytes 0-3 from P0's write in line 3 and bytes 4-7 from the initial value";
    assert!(warning.message.contains(told) && warning.line == 4, "{warning:?}");
    let model = Models::shipped("ptx").expect("a model");
    let text = explain(&test, &model, &checked);
    assert!(text.contains("reads x+0 = 7, from P0's write in line 3") && text.contains("reads x+4 = 0"), "{text}");
}

/// Nothing is cut without a race, in one byte, or where no rule says that an access is whole.
#[test]
fn without_a_race_nothing_is_torn() {
    let relaxed = POLL.replace("ld.global", "ld.relaxed.gpu.global");
    let (_, found) = checked(&relaxed);
    assert!(found.test.is_none() && found.report.races.answer == RaceAnswer::None, "{:?}", found.report);
    let byte = POLL.replace("4294967303", "7").replace("4294967303", "7");
    let (_, found) = checked(&byte);
    assert!(found.test.is_none() && found.report.races.answer == RaceAnswer::Found, "{:?}", found.report);
}
