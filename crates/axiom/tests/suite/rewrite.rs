//! Whether loops whose read-modify-writes write what they read may be left in their first iteration: the outcomes must be
//! those of the same loops unrolled several times, which share nothing with the rule (`reduce/silent_updates.rs`). The same of loops
//! whose only effects are on memory that one thread has for itself (`reduce/private_access.rs`).

use crate::support;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits, Reach, Stop, reaches_cut};
use fencepost_axiom::replay::final_states;
use fencepost_program::program::Program;
use fencepost_program::unfold::{Rewriting, UnfoldOptions, unfold};
use fencepost_program::unfolding::{FinalState, Unfolding};

use support::{Subject, front_end};

const NO_LIMITS: Limits<'static> = Limits { deadline: None, memory: None, cancelled: None, work: None };

/// A writer of a flag, a thread that waits for it with a read-modify-write, and one that looks on.
fn text(update: &str, until: &str, raise: &str, order: &str, scope: &str, looker: &str) -> String {
    let (operation, operands) = update.split_once(' ').expect("an operand");
    format!(
        "PTX T\n{{ flag = 0; data = 0; }}\n\
         P0@cta 0, gpu 0 {{\n  st.weak.u32 [data], 1;\n  {raise};\n}}\n\
         P1@cta 1, gpu 0 {{\nL:\n  atom.{order}.{scope}.{operation} %o, [flag], {operands};\n  {until} %p, %o, 0;\n  \
         @%p bra L;\n  ld.weak.u32 %r, [data];\n}}\n\
         P2@cta 1, gpu 0 {{\n  ld.{looker}.u32 %a, [flag];\n  ld.weak.u32 %b, [data];\n}}\n\
         exists (P1:%r = 1 /\\ P1:%o = 1 /\\ P2:%a = 1 /\\ P2:%b = 1 /\\ flag = 1)\n"
    )
}

fn outcomes(unfolding: &Unfolding, subject: &Subject, ends: Ends) -> (BTreeSet<FinalState>, Exploration) {
    let mut found = BTreeSet::new();
    let end = Enumerate.explore(unfolding, subject.model(), &Goal::new(ends), &NO_LIMITS, &mut |execution| {
        found.extend(final_states(unfolding, execution));
        ControlFlow::Continue(())
    });
    (found, end)
}

fn spinning(program: &Program, bound: u32) -> Unfolding {
    let options = UnfoldOptions { bound, rewriting: Rewriting::Spins, ..UnfoldOptions::default() };
    unfold(program, &options).expect("an unfolding")
}

#[test]
fn what_a_spinning_update_ends_in_is_what_it_ends_in_unrolled() {
    let subject = Subject::shipped("ptx-7.5");
    let (mut folded, mut doubted) = (0, 0);
    let updates =
        ["exch.b32 0", "exch.b32 1", "add.u32 0", "or.b32 0", "or.b32 1", "max.u32 1", "cas.b32 0, 0", "cas.b32 1, 1"];
    let raises = [
        "st.release.gpu.u32 [flag], 1",
        "st.weak.u32 [flag], 1",
        "st.relaxed.cta.u32 [flag], 1",
        "atom.acq_rel.gpu.exch.b32 %w, [flag], 1",
    ];
    for update in updates {
        for (until, raise) in raises.iter().flat_map(|raise| ["setp.eq.u32", "setp.ne.u32"].map(|until| (until, raise)))
        {
            for (order, scope, looker) in [
                ("relaxed", "gpu", "acquire.gpu"),
                ("acquire", "gpu", "acquire.gpu"),
                ("acq_rel", "gpu", "relaxed.gpu"),
                ("acquire", "cta", "acquire.gpu"),
                ("acq_rel", "gpu", "acquire.cta"),
                ("acquire", "gpu", "weak"),
            ] {
                let text = text(update, until, raise, order, scope, looker);
                let (program, unrolled) = front_end(&text, 4).expect("a program").expect("a meaning");
                let spins = spinning(&program, 2);
                let (few, end) = outcomes(&spins, &subject, Ends::Terminating);
                let complete = match end {
                    Exploration::Complete => true,
                    Exploration::Incomplete(Stop::Bound(_)) => {
                        reaches_cut(&Enumerate, &spins, subject.model(), &NO_LIMITS) == Reach::Never
                    }
                    other => panic!("{other:?}\n{text}"),
                };
                let (many, _) = outcomes(&unrolled, &subject, Ends::Terminating);
                assert!(few.is_subset(&many), "more outcomes than there are\n{text}");
                if complete {
                    assert_eq!(few, many, "outcomes are missing\n{text}");
                    folded += 1;
                } else {
                    doubted += 1;
                }
            }
        }
    }
    println!("{folded} decided, {doubted} not");
    assert!(folded > 100 && doubted > 100, "{folded} decided, {doubted} not");
}

/// A loop that keeps what it read in memory of its own, beside a thread that raises the flag.
fn kept(initial: u32, kept: &str, leaves: &str, order: &str, after: &str) -> String {
    format!(
        "PTX T\n{{ .global .b32 flag = 0; .global .b32 data = 0; .shared .b32 own = {initial}; .shared .b32 own2 = 0; }}\n\
         P0@cta 0, gpu 0 {{\n  st.weak.u32 [data], 1;\n  st.release.gpu.u32 [flag], 1;\n  st.relaxed.gpu.u32 [flag], 2;\n}}\n\
         P1@cta 1, gpu 0 {{\nL:\n  bar.sync 0;\n  ld.{order}.gpu.u32 %o, [flag];\n  {kept}\n  bar.sync 0;\n  \
         ld.shared.u32 %k, [own];\n  setp.{leaves}.u32 %p, %k, 0;\n  @%p bra L;\n  {after}\n  ld.weak.u32 %r, [data];\n}}\n\
         exists (P1:%r = 1 /\\ P1:%o = 1 /\\ P1:%k = 1 /\\ own@1 = 1 /\\ own2@1 = 1)\n"
    )
}

#[test]
fn what_a_loop_over_memory_of_its_own_ends_in_is_what_it_ends_in_unrolled() {
    let subject = Subject::shipped("ptx-7.5");
    let (mut folded, mut doubted) = (0, 0);
    let ways = [
        "st.shared.u32 [own], %o;",
        "st.shared.u32 [own2], %o;",
        "st.shared.u32 [own], %o; st.shared.u32 [own2], 1;",
        "ld.shared.u32 %h, [own2]; add.u32 %h, %h, 1; st.shared.u32 [own2], %h; st.shared.u32 [own], %o;",
        "ld.shared.u32 %h, [own]; st.shared.u32 [own2], %h; st.shared.u32 [own], %o;",
        "st.shared.u32 [own], 1; st.shared.u32 [own], %o;",
    ];
    for (initial, way) in ways.iter().flat_map(|way| [(0, way), (1, way)]) {
        for (leaves, order, after) in [
            ("eq", "acquire", ""),
            ("eq", "relaxed", "ld.shared.u32 %k, [own2];"),
            ("ne", "acquire", "st.shared.u32 [own], 1;"),
            ("le", "acquire", "ld.shared.u32 %o, [own];"),
        ] {
            let text = kept(initial, way, leaves, order, after);
            let (program, unrolled) = front_end(&text, 4).expect("a program").expect("a meaning");
            let spins = spinning(&program, 2);
            let (few, end) = outcomes(&spins, &subject, Ends::Terminating);
            let complete = match end {
                Exploration::Complete => true,
                Exploration::Incomplete(Stop::Bound(_)) => {
                    reaches_cut(&Enumerate, &spins, subject.model(), &NO_LIMITS) == Reach::Never
                }
                other => panic!("{other:?}\n{text}"),
            };
            let (many, _) = outcomes(&unrolled, &subject, Ends::Terminating);
            assert!(few.is_subset(&many), "more outcomes than there are\n{text}");
            if complete {
                assert_eq!(few, many, "outcomes are missing\n{text}");
                folded += 1;
            } else {
                doubted += 1;
            }
        }
    }
    println!("{folded} decided, {doubted} not");
    assert!(folded >= 12 && doubted >= 2, "{folded} decided, {doubted} not");
}
