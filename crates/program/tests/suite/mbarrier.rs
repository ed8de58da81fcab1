//! mbarrier instructions: their events, what they write, and how waits fork.

use crate::common;

use common::{attempt, program, ptx, tags_of, unfolded};
use fencepost_program::expression::Leaf;
use fencepost_program::mbarrier::State;
use fencepost_program::program::LocationRole;
use fencepost_program::unfold::{UnfoldOptions, unfold_accesses};
use fencepost_program::unfolding::{EventKind, TraceEnd, Unfolding};
use fencepost_program::value::Value;

const B: &str = ".shared .b64 b;";

/// Two threads of one CTA.
fn two(declarations: &str, first: &[&str], second: &[&str]) -> String {
    let (first, second) = (first.join("\n"), second.join("\n"));
    format!("PTX t\n{{ {declarations} }}\nP0@cta 0, gpu 0 {{\n{first}\n}}\nP1@cta 0, gpu 0 {{\n{second}\n}}\n")
}

/// The states the writes of a straight-line thread leave, each reading the one before.
fn timeline(code: &[&str]) -> Vec<String> {
    let unfolding = unfolded(&ptx(B, code), 1);
    let mut state = Value(0);
    let mut found = Vec::new();
    for event in unfolding.events.iter().filter(|event| !event.is_init()) {
        if let EventKind::Write { value, .. } = &event.kind {
            state = value.evaluate(&mut |leaf| matches!(leaf, Leaf::Read(_)).then_some(state)).expect("a value");
            found.push(State::unpack(state).to_string());
        }
    }
    found
}

fn errors(text: &str) -> Vec<String> {
    let (program, diagnostics) = attempt(text);
    assert!(program.is_none() && !diagnostics.is_empty(), "{text}");
    diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect()
}

/// How the traces of the second thread end.
fn ends(unfolding: &Unfolding) -> Vec<&'static str> {
    let traces = &unfolding.threads.last().expect("a thread").traces;
    let mut found: Vec<_> = (traces.iter())
        .map(|trace| match unfolding.traces[trace.index()].end {
            TraceEnd::Exit => "exit",
            TraceEnd::Spin { .. } => "spin",
            TraceEnd::Bound { .. } => "bound",
            _ => "other",
        })
        .collect();
    found.sort();
    found
}

#[test]
fn the_tags_of_each_operation() {
    let tags = |code: &str| tags_of(&unfolded(&ptx(B, &[code]), 1));
    assert_eq!(tags("mbarrier.init.shared::cta.b64 [b], 2;"), ["W WEAK GEN SHARED MBAR MBAR_INIT OWN_WINDOW"]);
    assert_eq!(tags("mbarrier.inval.shared.b64 [b];"), ["W WEAK GEN SHARED MBAR OWN_WINDOW"]);
    // The own CTA's, by its word or because it returns a state.
    let windowed = |code: &str, tags: &str| {
        let is_own = code.contains(".shared") || code.contains("%rd1");
        if is_own { format!("{tags} OWN_WINDOW") } else { tags.to_owned() }
    };
    let read = "R A NORET RLX CTA GEN SHARED MBAR";
    let release = "W A NORET REL CTA GEN SHARED MBAR";
    let relaxed = "W A NORET RLX CTA GEN SHARED MBAR";
    for code in [
        "mbarrier.arrive.shared.b64 %rd1, [b];",
        "mbarrier.arrive.b64 _, [b];",
        "mbarrier.arrive.b64 [b];",
        "mbarrier.arrive.release.cta.shared::cta.b64 %rd1, [b], 1;",
        "mbarrier.arrive.shared::cta.b64.release.cta %rd1, [b], 1;",
        "mbarrier.arrive.expect_tx.shared.b64 _, [b], 16;",
        "mbarrier.arrive.release.cta.expect_tx.b64 _, [b], 16;",
        "mbarrier.arrive.noComplete.b64 %rd1, [b], 1;",
        "mbarrier.arrive_drop.b64 _, [b];",
        "mbarrier.arrive_drop.expect_tx.b64 _, [b], 4;",
        "mbarrier.arrive_drop.noComplete.release.cta.shared.b64 %rd1, [b], 1;",
    ] {
        assert_eq!(tags(code), [read, release].map(|tags| windowed(code, tags)), "{code}");
    }
    for code in [
        "mbarrier.arrive.relaxed.cta.b64 _, [b];",
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [b], 16;",
        "mbarrier.complete_tx.b64 [b], 16;",
    ] {
        assert_eq!(tags(code), [read, relaxed].map(|tags| windowed(code, tags)), "{code}");
    }
    let far = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [b];";
    assert_eq!(tags(far)[1], "W A NORET REL CLUSTER GEN SHARED MBAR");
}

#[test]
fn a_wait_acquires_only_if_it_returned_true() {
    for code in ["test_wait.parity", "try_wait.parity", "try_wait.parity.acquire.cta", "try_wait.acquire.cta.parity"] {
        let unfolding = unfolded(&ptx(B, &[&format!("mbarrier.{code}.shared.b64 %p1, [b], 0;")]), 1);
        let expected = ["R ACQ CTA GEN SHARED MBAR MBAR_WAIT OWN_WINDOW", "R RLX CTA GEN SHARED MBAR OWN_WINDOW"];
        assert_eq!(tags_of(&unfolding), expected, "{code}");
    }
    let relaxed = unfolded(
        &ptx(".shared .b64 b; P0:%rd1 = 0;", &["mbarrier.try_wait.relaxed.cluster.b64 %p1, [b], %rd1, 100;"]),
        1,
    );
    assert_eq!(tags_of(&relaxed)[0], "R RLX CLUSTER GEN SHARED MBAR MBAR_WAIT OWN_WINDOW");
}

#[test]
fn what_a_wait_was_answered() {
    let constraints = |code: &str| -> Vec<Vec<Option<Value>>> {
        let unfolding = unfolded(&ptx(B, &[code]), 1);
        let states = [State::init(1), State { phase: 1, ..State::init(1) }];
        let of = |state: &State| {
            let value = state.pack();
            let holds =
                |constraint: &fencepost_program::expression::Expression| constraint.evaluate(&mut |_| Some(value));
            unfolding.traces.iter().map(|trace| trace.constraints.first().and_then(holds)).collect()
        };
        states.iter().map(of).collect()
    };
    let (yes, no) = (Some(Value(1)), Some(Value(0)));
    // By trace: answered no, answered yes.
    assert_eq!(constraints("mbarrier.test_wait.parity.b64 %p1, [b], 0;"), [[yes, no], [no, yes]]);
    assert_eq!(constraints("mbarrier.test_wait.parity.b64 %p1, [b], 1;"), [[no, yes], [yes, no]]);
    assert_eq!(
        constraints("mov.b64 %t, 1; mbarrier.test_wait.b64 %p1, [b], %t;"),
        [[yes, no], [no, yes]],
        "a token of phase 0"
    );
    let patient = constraints("mbarrier.try_wait.parity.b64 %p1, [b], 0;");
    assert_eq!(patient, [[None, no], [None, yes]], "the time may be up");
    let polled = constraints("L0: mbarrier.try_wait.parity.b64 %p1, [b], 0; @!%p1 bra L0;");
    assert_eq!(polled, [[yes, no], [no, yes]]);
}

#[test]
fn states_of_a_thread() {
    let code = [
        "mbarrier.init.shared.b64 [b], 2;",
        "mbarrier.arrive.expect_tx.shared.b64 _, [b], 16;",
        "mbarrier.complete_tx.shared.b64 [b], 16;",
        "mbarrier.arrive.shared.b64 %rd1, [b];",
        "mbarrier.arrive_drop.b64 _, [b];",
        "mbarrier.inval.b64 [b];",
        "mbarrier.arrive.b64 _, [b];",
    ];
    let expected = [
        "phase 0: pending 2 of 2, tx 0",
        "phase 0: pending 1 of 2, tx 16",
        "phase 0: pending 1 of 2, tx 0",
        "phase 1: pending 2 of 2, tx 0",
        "phase 1: pending 1 of 1, tx 0",
        "no mbarrier",
        "no mbarrier (used before `mbarrier.init`)",
    ];
    assert_eq!(timeline(&code), expected);
}

#[test]
fn a_token_and_its_pending_count() {
    let code = ["mbarrier.arrive.shared.b64 %rd1, [b];", "mbarrier.pending_count.b64 %r1, %rd1;"];
    let program = program(&ptx(B, &code));
    assert_eq!(program.locations[0].role, LocationRole::Mbarrier);
    let unfolding = unfolded(&ptx(B, &code), 1);
    let index = |name: &str| {
        program.threads[0].registers.iter().position(|register| register.name == name).expect("a register")
    };
    let state = State { phase: 3, pending: 5, ..State::init(9) }.pack();
    let value = |name: &str| unfolding.traces[0].registers[index(name)].evaluate(&mut |_| Some(state));
    assert_eq!(value("%r1"), Some(Value(5)));
    assert_eq!(value("%rd1"), Some(State::unpack(state).token()));
}

#[test]
fn a_loop_that_waits_is_a_spin() {
    let wait = "mbarrier.try_wait.parity.shared.b64 %p1, [b], 0;";
    let store = "st.shared.u32 [x], 1;";
    let declarations = ".shared .b64 b; .shared .u32 x;";
    for code in [
        vec!["L0:", wait, "@!%p1 bra L0;", store],
        vec!["L0:", wait, "@%p1 bra L1;", "bra L0;", "L1:", store],
        vec!["L0:", "mbarrier.test_wait.b64 %p1, [b], %rd1;", "@!%p1 bra L0;", store],
    ] {
        let text = ptx(&format!("{declarations} P0:%rd1 = 0;"), &code);
        let unfolding = unfolded(&text, 1);
        assert_eq!(ends(&unfolding), ["exit", "spin"], "{code:?}");
        let spin = unfolding.traces.iter().find_map(|trace| match &trace.end {
            TraceEnd::Spin { reads, .. } => Some((reads.clone(), trace.constraints.clone())),
            _ => None,
        });
        let (reads, constraints) = spin.expect("a spin");
        assert_eq!((reads.len(), constraints.len()), (1, 1));
        // It sits there only while the phase is not over.
        let over = State { phase: 1, ..State::init(1) }.pack();
        assert_eq!(constraints[0].evaluate(&mut |_| Some(over)), Some(Value(0)));
    }
}

/// The answer that lets a run leave the inner loop decides nothing about the outer one, which counts to its end.
#[test]
fn a_counted_loop_around_a_wait_is_followed_to_its_end() {
    let code = [
        "mov.u32 %r1, 0;",
        "OUTER:",
        "INNER:",
        "mbarrier.try_wait.parity.shared.b64 %p1, [b], %r2;",
        "@!%p1 bra INNER;",
        "mbarrier.arrive.shared.b64 _, [b];",
        "xor.b32 %r2, %r2, 1;",
        "add.u32 %r1, %r1, 1;",
        "setp.lt.u32 %p2, %r1, 5;",
        "@%p2 bra OUTER;",
    ];
    let unfolding = unfolded(&ptx(".shared .b64 b; P0:%r2 = 0;", &code), 2);
    assert_eq!(ends(&unfolding), ["exit", "spin", "spin", "spin", "spin", "spin"]);
    // The two loops begin at one instruction; still a run that sits in the inner one says why: its phase is not over.
    for trace in unfolding.traces.iter().filter(|trace| matches!(trace.end, TraceEnd::Spin { .. })) {
        let waits = trace.events.iter().filter(|event| unfolding.event(**event).rmw_partner.is_none()).count();
        assert_eq!(trace.constraints.len(), waits);
    }
}

/// A loop that counts its failures is no spin, and not followed for ever.
#[test]
fn failures_that_are_counted_are_bounded() {
    let code = [
        "L0:",
        "mbarrier.try_wait.parity.shared.b64 %p1, [b], 0;",
        "add.u32 %r1, %r1, 1;",
        "@!%p1 bra L0;",
        "st.shared.u32 [x], %r1;",
    ];
    let unfolding = unfolded(&ptx(".shared .b64 b; .shared .u32 x; P0:%r1 = 0;", &code), 3);
    assert_eq!(ends(&unfolding), ["bound", "exit", "exit", "exit"]);
}

#[test]
fn failing_waits_matter_to_races_only_beside_an_init() {
    let poll = ["L0:", "mbarrier.try_wait.parity.shared.b64 %p1, [b], 0;", "@!%p1 bra L0;"];
    let again = ["L1:", "mbarrier.try_wait.parity.shared.b64 %p1, [b], 1;", "@!%p1 bra L1;"];
    let traces = |first: &[&str], second: &[&str]| {
        let program = program(&two(B, first, second));
        let unfolding = unfold_accesses(&program, &UnfoldOptions::default()).expect("an unfolding");
        ends(&unfolding)
    };
    assert_eq!(traces(&["mbarrier.arrive.b64 _, [b];"], &poll), ["exit", "spin"]);
    // The first question may come before the object is there.
    assert_eq!(traces(&["mbarrier.init.b64 [b], 1;"], &poll), ["exit", "exit", "spin", "spin"]);
    let both = [poll, again].concat();
    let once = traces(&["mbarrier.init.b64 [b], 1;"], &both).len();
    let late = traces(&["mbarrier.inval.b64 [b];"], &both).len();
    assert!(once < late, "an invalidation may come at any time: {once} {late}");
}

#[test]
fn refusals() {
    let refused = |code: &str| errors(&ptx(B, &[code])).join("; ");
    assert!(refused("mbarrier.test_wait.shared::cluster.b64 %p1, [b], %rd1;").contains("cannot be waited on"));
    assert!(refused("mbarrier.arrive.b64 _, [b], 0;").contains("cannot count 0 arrivals"));
    assert!(refused("mbarrier.arrive.b64 _, [b], 1048576;").contains("cannot count"));
    // What an initialisation counts is a rule of the object, broken when it is executed.
    for count in [0, 1048576] {
        let text = ptx(B, &[&format!("mbarrier.init.b64 [b], {count};")]);
        assert_eq!(unfolded(&text, 1).traces.len(), 1, "{count}");
    }
    assert!(refused("mbarrier.arrive.shared::cluster.b64 %rd1, [b];").contains("returns nothing"));
    assert!(refused("mbarrier.arrive.noComplete.b64 %rd1, [b];").contains("wrong number of operands"));
    assert!(refused("mbarrier.arrive.release.relaxed.b64 _, [b];").contains("beside another word"));
    // Semantics and scope come together.
    assert!(refused("mbarrier.arrive.release.b64 _, [b];").contains("semantics without a scope"));
    assert!(refused("mbarrier.try_wait.parity.acquire.b64 %p1, [b], 0;").contains("semantics without a scope"));
    assert!(refused("mbarrier.expect_tx.relaxed.b64 [b], 16;").contains("semantics without a scope"));
    assert!(refused("mbarrier.test_wait.parity.cluster.b64 %p1, [b], 0;").contains("scope without semantics"));
    assert!(refused("mbarrier.test_wait.parity.b64 %p1, [b], 0, 7;").contains("wrong number of operands"));
    // A multicast has a mask at the end, and no result.
    assert!(refused("mbarrier.arrive.multicast::cluster::32b.b64 _, [b];").contains("wrong number of operands"));
    assert!(refused("mbarrier.arrive.multicast::cluster::32b.b64 %rd1, [b], 1;").contains("returns nothing"));
    assert!(refused("mbarrier.frobnicate.b64 [b];").contains("is not PTX"));
    for code in [
        "mbarrier.arrive.sys.b64 _, [b];",
        "mbarrier.arrive.noComplete.relaxed.b64 _, [b], 1;",
        "mbarrier.check_layout.b64 %p1, [b];",
        "mbarrier.try_wait.parity.phase_type::conditional.b64 %p1, [b], 0;",
    ] {
        let found = program(&ptx(B, &[code])).unsupported;
        assert_eq!(found.len(), 1, "{code}");
        assert!(found[0].what.starts_with("`mbarrier."), "{}", found[0].what);
    }
}

#[test]
fn an_operation_between_two_mbarriers_says_where_one_begins() {
    let code = ["mbarrier.arrive.shared.b64 _, [b];", "mbarrier.arrive.b64 _, [b+4];"];
    let found = program(&ptx(".shared .mbarrier b[2] = 1;", &code)).unsupported;
    let wanted = "`mbarrier.arrive.b64` at `b`+4, where no mbarrier begins: an mbarrier has 8 bytes and lies at a \
                  multiple of 8";
    assert!(found.len() == 1 && found[0].what == wanted, "{found:?}");
}

#[test]
fn ordinary_accesses_reach_all_bytes_of_an_mbarrier_or_are_refused() {
    let mixed = |code: &str| program(&ptx(B, &["mbarrier.init.b64 [b], 1;", code])).unsupported.len();
    assert_eq!(mixed("st.shared.u64 [b], 0;"), 0);
    assert_eq!(mixed("st.shared.u32 [b], 0;"), 1);
    assert_eq!(mixed("ld.shared.u16 %rs1, [b+4];"), 1);
    let elsewhere =
        ptx(".shared .b64 b; .shared .u32 x; P0:%rd1 = x;", &["mbarrier.init.b64 [b], 1;", "ld.b32 %r1, [x];"]);
    assert!(program(&elsewhere).unsupported.is_empty());
}

#[test]
fn no_wait_reaches_another_cta() {
    let wait = |address: &str| {
        let text = format!(
            "PTX t\n{{ .shared .mbarrier b = 1; P0:%rd1 = b@1; }}\nP0@cta 0, cluster 0, gpu 0 {{\n\
             mbarrier.try_wait.parity.b64 %p1, [{address}], 0;\n}}\nP1@cta 1, cluster 0, gpu 0 {{\n\
             mbarrier.arrive.b64 _, [b];\n}}\n"
        );
        fencepost_program::unfold::unfold(&program(&text), &UnfoldOptions::default())
    };
    for address in ["b@1", "%rd1"] {
        let error = wait(address).expect_err("no such wait");
        assert!(error.to_string().contains("an mbarrier of another CTA"), "{error}");
    }
    assert!(wait("b@0").is_ok());
}
