//! What events say about themselves, as base sets and relations: each against its definition, and the engines' way of
//! computing it against the replay's.

use crate::support::handmade;

use fencepost_axiom::base::Candidate;
use fencepost_axiom::bits::{Relation, kernel};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::compile::compile_text;
use fencepost_axiom::model::{BaseRelation, BaseSet, Operator};
use fencepost_axiom::replay::{Includes, judge};
use fencepost_program::expression::Expression;
use fencepost_program::program::{Cover, Place, Scope, Space};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Extent, TensorOperation, Unfolding};
use fencepost_program::{EventId, KernelId, LocationId};
use fencepost_syntax::cat;

use fencepost_program::program::asynchronous::TensorKind;
use handmade::Build;

fn place(cluster: u32, cta: u32) -> Place {
    Place::Gpu { gpu: 0, cluster, cta }
}

/// Events by number; inits are 0 to 3. x and y are global, s and t in shared memory of CTAs 0 and 1 of cluster 0.
///
/// Thread 0 (kernel 0, CTA 0): 4 W x (spans x, y), 5 W y (the same operation), 6 F about shared::cta, 7 an issue with the
/// strand 8 R x, 9 W s, 10 R t, 11 W t; 12 waits for 8.
/// Thread 1 (kernel 1, CTA 1): 13 griddepcontrol.wait, 14 F about `t` only, 15 R x.
/// Thread 2 (kernel 2, cluster 1): 16 launch_dependents, 17 R y.
fn example() -> Build {
    let mut build = Build::new(&["x", "y", "s", "t"]);
    let one = || Expression::constant(1);
    for (location, owner) in [(2, place(0, 0)), (3, place(0, 1))] {
        build.unfolding.locations[location].space = Some(Space::Shared);
        build.unfolding.locations[location].owner = Some(owner);
    }
    build.thread(place(0, 0));
    let extent = Some(Extent { operation: EventId(4), first: LocationId(0), count: 2 });
    for location in [0, 1] {
        let write = build.write(location, one(), &[Tag::Weak], None);
        build.event(write).extent = extent;
    }
    let fence = build.fence(&[Tag::ProxyFence, Tag::Async], None);
    build.event(fence).cover = Cover::SharedCta;
    let issue = build.issue(&[Tag::Issue, Tag::Bulk]);
    build.read(0, &[Tag::Weak, Tag::Async], None);
    let read = build.in_strand(issue, &[]);
    build.write(2, Expression::Read(read), &[Tag::Weak, Tag::Async], None);
    let write = build.in_strand(issue, &[read]);
    build.read(3, &[Tag::Relaxed], Some(Scope::Cluster));
    let arrive = build.in_strand(issue, &[read, write]);
    build.write(3, one(), &[Tag::Release], Some(Scope::Cluster));
    build.in_strand(issue, &[read, write, arrive]);
    build.pair();
    let wait = build.issue(&[Tag::Bulk]);
    build.event(wait).completes = vec![read];
    build.thread(place(0, 1));
    build.issue(&[Tag::GridWait]);
    let fence = build.fence(&[Tag::ProxyFence, Tag::TensorMap], None);
    build.event(fence).cover = Cover::Locations(vec![LocationId(3)]);
    build.read(0, &[Tag::Weak], None);
    build.thread(place(1, 0));
    build.issue(&[Tag::LaunchDependents, Tag::Trigger]);
    build.read(1, &[Tag::Weak], None);
    for (thread, kernel) in [(0, 0), (1, 1), (2, 2)] {
        build.unfolding.threads[thread].kernel = Some(KernelId(kernel));
    }
    build.unfolding.kernel_order = vec![(KernelId(0), KernelId(2))];
    build.unfolding.dependent_launches = vec![(KernelId(2), KernelId(1))];
    build
}

fn execution(build: &Build) -> Execution {
    let e = EventId;
    let rf = [(e(4), e(8)), (e(3), e(10)), (e(0), e(15)), (e(1), e(17))];
    build.execution(&rf, &[(e(0), e(4)), (e(1), e(5)), (e(2), e(9)), (e(3), e(11))], &[0; 18])
}

fn replayed(unfolding: &Unfolding, execution: &Execution, text: &str) -> Vec<(u32, u32)> {
    let (model, _) = cat::parse(&format!("flag ~empty {text} as it"));
    let judgement = judge(&model, &Includes::new(), unfolding, execution).expect("evaluates");
    judgement.flags.first().map(|(_, pairs)| pairs.clone()).unwrap_or_default()
}

fn filled(unfolding: &Unfolding, execution: &Execution, name: &str) -> Vec<(u32, u32)> {
    let model = compile_text("one", &format!("X86\nflag ~empty {name} as it")).model.expect("compiles");
    let mut candidate = Candidate::default();
    candidate.choose(unfolding, &execution.traces);
    let mut relation = Relation::empty(candidate.shape);
    match model.nodes[model.checks[0].node.index()].operator {
        Operator::BaseRelation(which) => candidate.fill_relation(unfolding, which, relation.bits_mut()),
        ref other => unreachable!("{name} is {other:?}"),
    }
    let mut pairs: Vec<(u32, u32)> =
        relation.iter().map(|(from, to)| (candidate.events[from].0, candidate.events[to].0)).collect();
    pairs.sort();
    pairs
}

#[track_caller]
fn relation(name: &str, expected: &[(u32, u32)]) {
    let build = example();
    let execution = execution(&build);
    assert_eq!(replayed(&build.unfolding, &execution, name), expected, "{name}, replayed");
    assert_eq!(filled(&build.unfolding, &execution, name), expected, "{name}, filled");
}

#[test]
fn strands_are_beside_program_order() {
    relation(
        "po",
        &[
            (4, 5),
            (4, 6),
            (4, 7),
            (4, 12),
            (5, 6),
            (5, 7),
            (5, 12),
            (6, 7),
            (6, 12),
            (7, 12),
            (13, 14),
            (13, 15),
            (14, 15),
            (16, 17),
        ],
    );
    relation("issue", &[(7, 8), (7, 9), (7, 10), (7, 11)]);
    relation("so", &[(8, 9), (8, 10), (8, 11), (9, 10), (9, 11), (10, 11)]);
    relation("done", &[(8, 12)]);
    relation("rmw", &[(10, 11)]);
}

#[test]
fn a_thread_and_its_strands_are_one_thread() {
    let build = example();
    let execution = execution(&build);
    let own = replayed(&build.unfolding, &execution, "int");
    assert!(own.contains(&(8, 4)) && own.contains(&(8, 11)) && !own.contains(&(8, 13)));
    assert_eq!(own, filled(&build.unfolding, &execution, "int"));
}

#[test]
fn a_group_has_no_order_inside() {
    let mut build = Build::new(&["x", "y"]);
    build.thread(place(0, 0));
    for location in [0, 1, 0] {
        build.read(location, &[Tag::Weak], None);
    }
    for event in [2, 3] {
        build.event(EventId(event)).group = Some(EventId(2));
    }
    let e = EventId;
    let execution = build.execution(&[(e(0), e(2)), (e(1), e(3)), (e(0), e(4))], &[], &[0; 5]);
    let expected = [(2, 4), (3, 4)];
    assert_eq!(replayed(&build.unfolding, &execution, "po"), expected);
    assert_eq!(filled(&build.unfolding, &execution, "po"), expected);
}

/// Reads 2 and 3 and writes 4 and 5 of one atomic, after a read 6; elements of one location each, or one of two locations.
fn atomic_of_two(is_one: bool) -> [Vec<(u32, u32)>; 2] {
    let mut build = Build::new(&["x", "y"]);
    build.thread(place(0, 0));
    (0..2).for_each(|location| {
        build.read(location, &[Tag::Relaxed], None);
    });
    (0..2).for_each(|location| {
        build.write(location, Expression::constant(1), &[Tag::Relaxed], None);
    });
    build.read(0, &[Tag::Weak], None);
    let e = EventId;
    for (read, group) in [(2, 2), (3, 2), (4, 4), (5, 4)] {
        let partner = if read < 4 { read + 2 } else { read - 2 };
        let event = build.event(e(read));
        (event.group, event.rmw_partner) = (Some(e(group)), Some(e(partner)));
        event.extent = is_one.then_some(Extent { operation: e(group), first: LocationId(0), count: 2 });
    }
    let rf = [(e(0), e(2)), (e(1), e(3)), (e(0), e(6))];
    let execution = build.execution(&rf, &[(e(0), e(4)), (e(1), e(5))], &[0, 0, 0, 0, 1, 1, 0]);
    [replayed(&build.unfolding, &execution, "po"), filled(&build.unfolding, &execution, "po")]
}

#[test]
fn elements_of_an_atomic_have_no_order() {
    let expected = vec![(2, 4), (2, 6), (3, 5), (3, 6), (4, 6), (5, 6)];
    assert_eq!(atomic_of_two(false), [expected.clone(), expected]);
    // The parts of one element are one operation: all is read before anything is written.
    let expected = vec![(2, 4), (2, 5), (2, 6), (3, 4), (3, 5), (3, 6), (4, 6), (5, 6)];
    assert_eq!(atomic_of_two(true), [expected.clone(), expected]);
}

#[test]
fn fences_cover_what_they_name() {
    // Shared memory of the fence's own CTA is `s` (init 2, write 9); the other fence names `t`.
    relation("covers", &[(6, 2), (6, 9), (14, 3), (14, 10), (14, 11)]);
}

#[test]
fn kernels_follow_each_other() {
    let build = example();
    let execution = execution(&build);
    let after: Vec<(u32, u32)> = (4..=12).flat_map(|from| [(from, 16), (from, 17)]).collect();
    assert_eq!(replayed(&build.unfolding, &execution, "launch"), after);
    relation("launch", &after);
    relation("gridwait", &[(16, 13), (17, 13)]);
    relation("gridstart", &[(16, 13), (16, 14), (16, 15)]);
}

#[test]
fn operations_span_locations() {
    let build = example();
    let execution = execution(&build);
    let same = replayed(&build.unfolding, &execution, "sameop");
    assert!(same.contains(&(4, 5)) && same.contains(&(15, 15)) && !same.contains(&(10, 11)) && !same.contains(&(6, 6)));
    let complete = replayed(&build.unfolding, &execution, "complete");
    assert!(complete.contains(&(4, 5)) && complete.contains(&(0, 15)) && !complete.contains(&(4, 15)));
}

#[test]
fn pipelines_are_the_pairs_of_the_list() {
    let mma = TensorOperation { kind: TensorKind::Mma, group: 1, accumulator: Some(LocationId(0)), shape: 7 };
    let of = |kind| TensorOperation { kind, accumulator: None, shape: 0, ..mma };
    let operations = [
        mma,
        TensorOperation { shape: 8, ..mma },
        TensorOperation { group: 2, ..mma },
        of(TensorKind::Cp { is_4x256b: true, follows_mma: false }),
        of(TensorKind::Cp { is_4x256b: false, follows_mma: true }),
        of(TensorKind::Shift),
        of(TensorKind::Ld),
        of(TensorKind::St),
    ];
    let mut build = Build::new(&["x"]);
    build.thread(place(0, 0));
    let mut strands = Vec::new();
    for operation in operations {
        let issue = build.issue(&[Tag::Issue, Tag::Tcgen05]);
        build.read(0, &[Tag::TensorMemory], None);
        let read = build.in_strand(issue, &[]);
        build.event(read).strand.as_mut().expect("in a strand").tensor = Some(operation);
        strands.push(read);
    }
    let rf: Vec<(EventId, EventId)> = strands.iter().map(|read| (EventId(0), *read)).collect();
    let execution = build.execution(&rf, &[], &[0; 9]);
    let number = |id: u32| strands.iter().position(|read| read.0 == id).expect("a strand");
    let found = replayed(&build.unfolding, &execution, "pipelined");
    let named: Vec<(usize, usize)> = found.iter().map(|&(a, b)| (number(a), number(b))).collect();
    #[rustfmt::skip]
    assert_eq!(named, [(0, 0), (0, 4), (0, 5), (1, 1), (1, 4), (1, 5), (2, 2), (3, 0), (3, 1), (4, 0), (4, 1), (5, 0), (5, 1), (5, 3)]);
    assert_eq!(found, filled(&build.unfolding, &execution, "pipelined"));
}

#[test]
fn both_ways_of_computing_agree() {
    let build = example();
    let execution = execution(&build);
    // The example has no dependencies, no `tcgen05`, no `bar.red` and omits no write: other tests and random programs do.
    let mut empty = Vec::new();
    for relation in BaseRelation::ALL.iter().filter(|relation| !relation.is_chosen()) {
        let name = relation.cat_name();
        let (one, other) = (replayed(&build.unfolding, &execution, name), filled(&build.unfolding, &execution, name));
        assert_eq!(one, other, "{name}");
        if one.is_empty() {
            empty.push(name);
        }
        let inverse: Vec<_> = one.iter().filter(|(from, to)| !one.contains(&(*to, *from))).collect();
        assert!(!relation.is_symmetric() || inverse.is_empty(), "{name} is called symmetric: {inverse:?}");
    }
    assert_eq!(empty, ["addr", "data", "ctrl", "pipelined", "decides", "told", "misses", "contributed"]);
}

#[test]
fn every_tag_is_a_set() {
    let build = example();
    let execution = execution(&build);
    let mut candidate = Candidate::default();
    candidate.choose(&build.unfolding, &execution.traces);
    for &tag in Tag::ALL {
        let expected: Vec<(u32, u32)> = replayed(&build.unfolding, &execution, &format!("[{}]", tag.cat_name()));
        let mut set = vec![0; candidate.shape.words()];
        candidate.fill_set(&build.unfolding, BaseSet::Tagged(tag), &mut set);
        let members = (0..candidate.events.len()).filter(|event| kernel::has(&set, *event));
        let found: Vec<(u32, u32)> = members.map(|event| (event as u32, event as u32)).collect();
        assert_eq!(found, expected, "{}", tag.cat_name());
    }
    assert!(compile_text("chosen", "X86\nflag ~empty gridwait as it").model.is_some());
    assert_eq!(BaseRelation::Gridwait.cat_name(), "gridwait");
}
