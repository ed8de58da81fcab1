//! Explanations of forbidden candidates: the shortest cycle, named steps, and exactly the choices it rests on.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use fencepost_axiom::base::Candidate;
use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::{Model, compile::compile_text, shipped};
use fencepost_axiom::reason::{Choice, Chosen, Derivation, Explanation, Matrices, Shape, explain};
use fencepost_program::EventId;
use fencepost_program::lower::lower;
use fencepost_program::unfold::{UnfoldOptions, unfold};
use fencepost_program::unfolding::Unfolding;
use fencepost_syntax::litmus::parse;

fn compiled(name: &str, text: &str) -> Model {
    compile_text(name, text).model.expect("the model compiles")
}

/// The only execution that satisfies the condition under a model without axioms over the same coherence.
fn candidate(test: &str, free: &Model) -> (Unfolding, Execution) {
    let program = lower(&parse(test).0.expect("it parses")).0.expect("it lowers");
    let unfolding = unfold(&program, &UnfoldOptions::default()).expect("it unfolds");
    let goal = Goal { condition: Some(&program.questions[0].condition), ..Goal::new(Ends::Terminating) };
    let limits = Limits { deadline: None, memory: None, cancelled: None, work: None };
    let mut found = Vec::new();
    let end = Enumerate.explore(&unfolding, free, &goal, &limits, &mut |execution| {
        found.push(execution.clone());
        ControlFlow::Continue(())
    });
    assert_eq!(end, Exploration::Complete);
    (unfolding, found.into_iter().next().expect("the condition is met without axioms"))
}

fn explained(unfolding: &Unfolding, execution: &Execution, model: &Model) -> Vec<Explanation> {
    let mut candidate = Candidate::default();
    candidate.choose(unfolding, &execution.traces);
    let mut chosen = Chosen::empty(candidate.shape);
    let local = |event: EventId| candidate.local(event).expect("the event occurs");
    execution.rf.iter().for_each(|(from, to)| chosen.rf.insert(local(*from), local(*to)));
    execution.co.iter().for_each(|(from, to)| chosen.co.insert(local(*from), local(*to)));
    execution.sync_fence.iter().for_each(|(from, to)| chosen.sync_fence.insert(local(*from), local(*to)));
    let mut matrices = Matrices::new(model);
    matrices.begin(unfolding, &candidate);
    matrices.choose(&chosen);
    explain(model, &matrices, &candidate.events)
}

/// The named relations that the derivations go through.
fn named(derivations: &[Derivation]) -> BTreeSet<&str> {
    let mut names: BTreeSet<&str> = derivations.iter().filter_map(|derivation| derivation.name.as_deref()).collect();
    derivations.iter().for_each(|derivation| names.extend(named(&derivation.children)));
    names
}

/// The chosen edges of a reason, without the events that occur.
fn edges(explanation: &Explanation) -> Vec<Choice> {
    let present = explanation.reason.present.iter().copied();
    present.filter(|choice| !matches!(choice, Choice::Executed(_))).collect()
}

const SB: &str = "X86 SB\n{ x=0; y=0; }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0 /\\ 1:EAX=0)\n";

#[test]
fn store_buffering_under_sc_is_one_cycle_of_four() {
    let sc = compiled("sc", shipped("sc").expect("shipped"));
    let (unfolding, execution) = candidate(SB, &compiled("x86-tso", shipped("x86-tso").expect("shipped")));
    let explanations = explained(&unfolding, &execution, &sc);
    assert_eq!(explanations.len(), 1);
    let cycle = EventId(2);
    let Shape::Cycle(events) = &explanations[0].shape else { panic!("{:?}", explanations[0].shape) };
    assert_eq!((events.len(), events[0]), (4, cycle));
    let names = named(&explanations[0].derivations);
    assert!(["po", "fr", "co"].iter().all(|name| names.contains(name)) && !names.contains("rmw"), "{names:?}");
    let (x, y) = (EventId(0), EventId(1));
    let expected =
        [Choice::Rf(x, EventId(5)), Choice::Rf(y, EventId(3)), Choice::Co(x, EventId(2)), Choice::Co(y, EventId(4))];
    assert_eq!(edges(&explanations[0]), expected);
}

#[test]
fn a_recursive_relation_is_explained_in_its_shortest_rounds() {
    // Reachability by recursion, without a closure: each step of the explanation uses an earlier round.
    let text = "\"r\"\nlet fr = rf^-1; co\nlet rec reach = po | rf | co | fr | (reach; reach)\nirreflexive reach as loop-free\n";
    let model = compiled("r", text);
    let (unfolding, execution) = candidate(SB, &compiled("x86-tso", shipped("x86-tso").expect("shipped")));
    let explanations = explained(&unfolding, &execution, &model);
    assert_eq!(explanations.len(), 1, "one check");
    assert!(matches!(explanations[0].shape, Shape::Pair(a, b) if a == b));
    // Two fr edges, each a reads-from and a coherence edge; nothing else is chosen.
    assert_eq!(edges(&explanations[0]).len(), 4);
}

#[test]
fn a_demand_for_coherence_rests_on_absent_edges() {
    let text = "\"d\"\nempty ([W \\ IW]; loc; [W \\ IW]) \\ (co | co^-1 | id) as ordered\n";
    let model = compiled("d", text);
    let test = "X86 WW\n{ x=0; }\n P0 | P1 ;\n MOV [x],$1 | MOV [x],$2 ;\nexists (x=1)\n";
    let (unfolding, mut execution) = candidate(test, &model);
    execution.co.retain(|(from, _)| *from == EventId(0));
    let explanations = explained(&unfolding, &execution, &model);
    assert_eq!(explanations.len(), 1);
    let absent: Vec<Choice> = explanations[0].reason.absent.iter().copied().collect();
    assert_eq!(absent, [Choice::Co(EventId(1), EventId(2)), Choice::Co(EventId(2), EventId(1))]);
    assert!(edges(&explanations[0]).is_empty());
}

#[test]
fn a_consistent_candidate_has_no_explanation() {
    let tso = compiled("x86-tso", shipped("x86-tso").expect("shipped"));
    let (unfolding, execution) = candidate(SB, &tso);
    assert!(explained(&unfolding, &execution, &tso).is_empty());
}

#[test]
fn a_causality_violation_names_the_synchronisation() {
    let model = compiled("ptx-7.5", shipped("ptx-7.5").expect("shipped"));
    let free = compiled("free", "\"free\"\nempty ([W]; (po & po^-1); [W]) \\ co as nothing\n");
    let test = "PTX MP\n{ x=0; y=0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.weak x, 1 | ld.acquire.gpu r0, y ;\n \
                st.release.gpu y, 1 | ld.weak r1, x ;\nexists (P1:r0 == 1 /\\ P1:r1 == 0)\n";
    let (unfolding, execution) = candidate(test, &free);
    let explanations = explained(&unfolding, &execution, &model);
    let causality = explanations.iter().find(|explanation| explanation.check_name == "causality");
    let causality = causality.expect("causality is violated");
    let names = named(&causality.derivations);
    let told = ["causality", "synchronizes-with", "observation", "fr"];
    assert!(told.iter().all(|name| names.contains(name)), "{names:?}");
    // The flag's reads-from, the stale read, and the write it should have seen.
    assert_eq!(edges(causality).len(), 3, "{:?}", edges(causality));
}
