//! Litmus tests in our format on the machines: what runs, what is refused, and by which name.

use std::collections::BTreeSet;

use fencepost_machine::coherence::{Coherence, Swmr};
use fencepost_machine::explore::{Aim, Extent, Limits, Stop, explore};
use fencepost_machine::lostpop::rules::Rules;
use fencepost_machine::lostpop::{Detail, LostPop};
use fencepost_machine::machine::{Cut, Stuck};
use fencepost_machine::model::{Model, Wanted};
use fencepost_machine::requests::{Architecture, Placement, Requests};
use fencepost_machine::store_buffer::StoreBuffers;
use fencepost_program::program::{Condition, Unsupported};
use fencepost_syntax::litmus::{Arch, QuestionKind};

use crate::support::{Verdict, ask, parse, program, root, unfolded, within};
use crate::x86::litmus_files;

fn requests(text: &str) -> Result<(Requests, Condition), Unsupported> {
    let program = program(text).expect("a program");
    let condition = program.questions[0].condition.clone();
    let unfolding = unfolded(&program).expect("an unfolding");
    Requests::of(&unfolding, &Placement::of(&program).expect("instructions")).map(|requests| (requests, condition))
}

fn verdict(text: &str) -> Verdict {
    let (requests, condition) = requests(text).expect("it runs");
    ask(Model::LostPop(Rules::default()), &requests, &condition).0
}

#[test]
fn a_ptx_test_runs() {
    let mp = |release: &str| {
        format!(
            "PTX mp\n{{ x=0; y=0; }}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.relaxed.gpu x, 1 | ld.acquire.gpu r0, y ;\n \
             st.{release}.gpu y, 1 | ld.relaxed.gpu r1, x ;\nexists (P1:r0 == 1 /\\ P1:r1 == 0)\n"
        )
    };
    assert_eq!(verdict(&mp("release")), Verdict::Forbidden);
    assert_eq!(verdict(&mp("relaxed")), Verdict::Allowed);
}

/// A branch on a read: what is behind it waits for the value, and goes the way the value says.
#[test]
fn branches_and_compare_and_swap_follow_the_values() {
    let lock = "X86 lock\n{ }\n P0 | P1 ;\n MOV EAX,$0 | MOV EAX,$0 ;\n MOV EBX,$1 | MOV EBX,$1 ;\n \
                LOCK CMPXCHG [l],EBX | LOCK CMPXCHG [l],EBX ;\n JNE out | JNE out ;\n INC [x] | INC [x] ;\n out: | out: ;\n";
    let Some(lock) = program(&format!("{lock}exists (x=2)\n")) else { return };
    if !lock.unsupported.is_empty() {
        return;
    }
    let unfolding = unfolded(&lock).expect("an unfolding");
    let requests = Requests::of(&unfolding, &Placement::of(&lock).expect("instructions")).expect("it runs");
    let condition = &lock.questions[0].condition;
    for model in [Model::StoreBuffers, Model::LostPop(Rules::default()), Model::Coherence(Swmr::Kept)] {
        assert_eq!(ask(model, &requests, condition).0, Verdict::Forbidden, "{}", model.name());
        let all = within(model, &requests, 1_000_000).expect("small");
        assert!(all.iter().all(|state| state.memory.iter().all(|value| value.0 == 1)), "{all:?}");
    }
}

#[test]
fn what_no_machine_runs_is_refused_by_name() {
    let in_ptx = |code: &str| {
        format!(
            "PTX t\n{{ .global .u32 x; .shared .u64 m; }}\nP0@cta 0, gpu 0 {{\n.reg .u32 r;\n{code}\n}}\nexists (x == 1)\n"
        )
    };
    for (code, what) in [
        ("bar.sync 0;", "barriers"),
        ("fence.proxy.alias;", "proxy fences"),
        ("ld.mmio.relaxed.sys.global.u32 r, [x];", "`.mmio`"),
        ("cp.async.wait_all;", "asynchronous"),
    ] {
        let text = in_ptx(code);
        let refused = requests(&text).err().unwrap_or_else(|| panic!("{code} is run"));
        assert!(refused.what.contains(what), "{code}: {}", refused.what);
        assert_eq!(&text[refused.span.start as usize..][..4], &code[..4], "{code}");
    }
}

#[test]
fn machines_refuse_threads_they_do_not_have() {
    let requests = |text: &str| parse(text).0.requests().expect("small");
    assert!(StoreBuffers::new(&requests("PTX: W x=1")).is_err_and(|it| it.what.contains("ptx threads")));
    assert!(Coherence::new(&requests("ARM: W x=1"), Swmr::Kept).is_err_and(|it| it.what.contains("arm threads")));
    let mixed = requests("ARM: W x=1 || PTX: W x=2");
    assert!(LostPop::new(&mixed, Rules::default()).is_err_and(|it| it.what.contains("a compound of")));
}

#[test]
fn a_loop_that_is_cut_proves_nothing() {
    let text = "PTX t\n{ x=0; y=0; }\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n LC00: | st.relaxed.gpu x, 1 ;\n \
                ld.relaxed.gpu r0, x | ;\n add r1, r1, 1 | ;\n st.relaxed.gpu y, r1 | ;\n beq r0, 0, LC00 | ;\n\
                exists (P0:r0 == 7)\n";
    let Some(program) = program(text).filter(|it| it.unsupported.is_empty()) else { panic!("not understood") };
    let unfolding = unfolded(&program).expect("an unfolding");
    let requests = Requests::of(&unfolding, &Placement::of(&program).expect("instructions")).expect("it runs");
    let condition = &program.questions[0].condition;
    let explored = Model::LostPop(Rules::default())
        .explore(&requests, &Aim::Everything, Wanted::Trace(condition), &Limits::default())
        .expect("PTX");
    assert!(matches!(explored.extent, Extent::Incomplete(Stop::Cut(Cut::Bound(_)))), "{:?}", explored.extent);
    assert!(!explored.outcomes.is_empty() && explored.trace.is_none());
}

#[test]
fn waiting_for_good_is_no_outcome() {
    let text = "PTX t\n{ x=0; }\n P0@cta 0,gpu 0 ;\n LC00: ;\n ld.relaxed.gpu r0, x ;\n beq r0, 0, LC00 ;\nexists (P0:r0 == 0)\n";
    let (requests, _) = requests(text).expect("it runs");
    let explored = Model::LostPop(Rules::default())
        .explore(&requests, &Aim::Everything, Wanted::Nothing, &Limits::default())
        .expect("PTX");
    assert!(explored.outcomes.is_empty() && explored.stuck.contains_key(&Stuck::Spin), "{explored:?}");
}

/// LOST-POP under PTX allows what it allows under SC, on every PTX test of our corpus that it runs and that is small.
#[test]
fn on_our_ptx_tests_sc_is_contained_in_ptx() {
    let mut files = Vec::new();
    litmus_files(&root().join("corpus"), &mut files);
    let (mut compared, mut refused, mut large) = (0, 0, 0);
    for path in files {
        let text = std::fs::read_to_string(&path).expect("readable");
        let Some(program) = program(&text).filter(|it| it.arch == Arch::Ptx && it.unsupported.is_empty()) else {
            continue;
        };
        let Some(unfolding) = unfolded(&program) else { continue };
        let Ok(placement) = Placement::of(&program) else {
            refused += 1;
            continue;
        };
        let (Ok(ptx), Ok(sc)) =
            (Requests::of(&unfolding, &placement), Requests::of(&unfolding, &placement.clone().all(Architecture::Sc)))
        else {
            refused += 1;
            continue;
        };
        if ptx.slots > 14 {
            large += 1;
            continue;
        }
        let run = |requests: &Requests| within(Model::LostPop(Rules::default()), requests, 3_000);
        match (run(&sc), run(&ptx)) {
            (Some(sc), Some(ptx)) => {
                assert!(sc.is_subset(&ptx), "{}", path.display());
                compared += 1;
            }
            _ => large += 1,
        }
    }
    println!("{compared} compared, {refused} refused, {large} too large");
    assert!(compared >= 100, "{compared}");
}

/// Our tests with host and device threads: LOST-POP and the axiomatic `cmm` of the expectations agree, but for these.
#[test]
fn compound_tests_of_ours_under_both_models() {
    let mut files = Vec::new();
    litmus_files(&root().join("corpus/compound"), &mut files);
    let (mut compared, mut only_machine, mut only_axioms) = (0, Vec::new(), Vec::new());
    for path in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let expectation = std::fs::read_to_string(path.with_extension("expect")).expect("an expectation");
        let Some(line) = expectation.lines().find_map(|line| line.strip_prefix("cmm: ")) else { continue };
        let program = program(&std::fs::read_to_string(&path).expect("readable")).expect("a program");
        let question = &program.questions[0];
        let condition = match question.kind {
            QuestionKind::Forall => Condition::Not(Box::new(question.condition.clone())),
            _ => question.condition.clone(),
        };
        // `exists` holds if the condition can be met, the others if it (or its negation) cannot.
        let is_met = line.starts_with(if question.kind == QuestionKind::Exists { "Holds" } else { "Violated" });
        let axioms = if is_met { Verdict::Allowed } else { Verdict::Forbidden };
        assert!(line.starts_with("Holds") || line.starts_with("Violated"), "{name}: {line}");
        let unfolding = unfolded(&program).expect("an unfolding");
        let placement = Placement::of(&program).expect("instructions");
        let requests = Requests::of(&unfolding, &placement).unwrap_or_else(|it| panic!("{name}: {}", it.what));
        let machine = ask(Model::LostPop(Rules::default()), &requests, &condition).0;
        compared += 1;
        match (machine, axioms) {
            (Verdict::Allowed, Verdict::Forbidden) => only_machine.push(name),
            (Verdict::Forbidden, Verdict::Allowed) => only_axioms.push(name),
            _ => {}
        }
    }
    println!("{compared} compared; only LOST-POP allows {only_machine:?}; only cmm allows {only_axioms:?}");
    assert!(compared >= 25, "{compared}");
    let explained = |names: &[&str], found: &[String]| found.iter().all(|name| names.contains(&name.as_str()));
    assert!(explained(ONLY_MACHINE, &only_machine), "{only_machine:?}");
    assert!(explained(ONLY_AXIOMS, &only_axioms), "{only_axioms:?}");
    assert!(only_machine.len() == 3 && only_axioms.len() >= 3, "{only_machine:?}, {only_axioms:?}");
}

/// A predecessor from outside the CTA gets no order with a CTA's fence (3a); reads whose scope leaves the writer out make no
/// predecessors (10), and writes whose scope leaves the reader out become none. See docs/models/machines.md.
const ONLY_MACHINE: &[&str] = &["fig10", "fig3a", "iriw-device-writes-gpu"];

/// Stronger as published (figure 11: causality contains the order of writes, and releases cumulate down a chain), or
/// because our read-modify-writes are atomic whatever their scopes.
const ONLY_AXIOMS: &[&str] = &["atomics-gpu-scope", "fig11a", "fig11b", "fig11c", "wording-chain"];

/// A compare-and-swap of a computed value waits for that value where it succeeds, and not where it fails: neither way is
/// taken for the only one.
#[test]
fn a_compare_and_swap_that_waits_is_not_overtaken_by_its_failure() {
    let text = "PTX cas\n{ x = 0; }\nP0@cta 0, gpu 0 {\n ld.relaxed.gpu.u32 %a, [x];\n add.u32 %b, %a, 1;\n \
                atom.relaxed.gpu.cas.b32 %o, [x], %a, %b;\n}\nP1@cta 1, gpu 0 {\n st.relaxed.gpu.u32 [x], 5;\n}\nexists (x = 1)\n";
    let (requests, _) = requests(text).expect("it runs");
    let ends = |detail| {
        let machine = LostPop::with_detail(&requests, Rules::default(), detail).expect("PTX");
        explore(&machine, &Aim::Everything, &Limits::default()).outcomes.into_keys().collect::<BTreeSet<_>>()
    };
    let finals: BTreeSet<i128> = ends(Detail::Needed).iter().map(|state| state.memory[0].0).collect();
    assert_eq!(finals, BTreeSet::from([5, 6]));
    assert_eq!(ends(Detail::Needed), ends(Detail::Everything));
}
