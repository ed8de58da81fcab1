//! `barrier.cluster` and `bar.warp.sync`: tags, phases, who waits for whom; and phases against a machine that takes one
//! step at a time and shares nothing with the rule under test.

use crate::common;

use std::collections::{BTreeMap, BTreeSet};

use common::{choices, matchings, program, tags_of, unfolded};
use fencepost_program::EventId;
use fencepost_program::program::Feature;
use fencepost_program::unfolding::{HazardKind, TraceEnd};

const ARRIVE: &str = "barrier.cluster.arrive;";
const WAIT: &str = "barrier.cluster.wait;";

/// Threads with these CTAs and clusters. The register makes it real PTX.
fn threads(blocks: &[(u32, u32, &[&str])]) -> String {
    let block = |(index, (cta, cluster, code)): (usize, &(u32, u32, &[&str]))| {
        format!("P{index}@cta {cta}, cluster {cluster}, gpu 0 {{\nmov.u32 %r0, 0;\n{}\n}}\n", code.join("\n"))
    };
    let blocks: String = blocks.iter().enumerate().map(block).collect();
    format!("PTX t\n{{ x = 0; }}\n{blocks}")
}

/// Where each thread waits for good, and who synchronises with whom, by `(thread, index)`.
type Outcome = (Vec<Option<usize>>, BTreeSet<((usize, usize), (usize, usize))>);

fn outcomes(text: &str) -> BTreeSet<Outcome> {
    let unfolding = unfolded(text, 2);
    let mut found = BTreeSet::new();
    for traces in choices(&unfolding) {
        let sites: BTreeMap<EventId, (usize, usize)> = (traces.iter().enumerate())
            .flat_map(|(thread, trace)| {
                let events = unfolding.traces[trace.index()].events.iter().enumerate();
                events.map(move |(index, event)| (*event, (thread, index)))
            })
            .collect();
        let ends = traces.iter().map(|trace| match &unfolding.traces[trace.index()].end {
            TraceEnd::Blocked { barrier } => Some(sites[barrier].1),
            _ => None,
        });
        let ends: Vec<Option<usize>> = ends.collect();
        for matching in matchings(&unfolding, &traces) {
            let pairs = matching.synchronises.iter().map(|(from, to)| (sites[from], sites[to])).collect();
            found.insert((ends.clone(), pairs));
        }
    }
    found
}

#[test]
fn tags_and_features() {
    let text =
        threads(&[(0, 0, &["barrier.cluster.arrive.relaxed.aligned;", "barrier.cluster.wait.acquire.aligned;"])]);
    assert_eq!(tags_of(&unfolded(&text, 1))[..2], ["B RLX BAR_CLUSTER BAR_ARRIVE", "B BAR_CLUSTER BAR_SYNC"]);
    assert!(program(&text).features.iter().any(|feature| feature.node == Feature::Cluster));
    let release = threads(&[(0, 0, &["barrier.cluster.arrive.release;", WAIT])]);
    assert_eq!(tags_of(&unfolded(&release, 1))[0], "B BAR_CLUSTER BAR_ARRIVE");
    let warp = threads(&[(0, 0, &["bar.warp.sync 0xffffffff;"])]);
    assert_eq!(tags_of(&unfolded(&warp, 1)), ["B BAR_WARP BAR_SYNC"]);
    for code in ["barrier.cluster.arrive.acquire;", "barrier.cluster.sync;"] {
        assert_eq!(program(&threads(&[(0, 0, &[code])])).unsupported.len(), 1, "{code}");
    }
}

#[test]
fn a_wait_follows_every_arrive_of_its_phase() {
    let code: &[&str] = &[ARRIVE, WAIT, ARRIVE, WAIT];
    let found = outcomes(&threads(&[(0, 0, code), (1, 0, code)]));
    let mut expected = BTreeSet::new();
    for phase in [0, 2] {
        for (from, to) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            expected.insert(((from, phase), (to, phase + 1)));
        }
    }
    assert_eq!(found, BTreeSet::from([(vec![None, None], expected)]));
}

#[test]
fn other_clusters_do_not_count_and_missing_threads_do() {
    let once: &[&str] = &[ARRIVE, WAIT];
    let apart = outcomes(&threads(&[(0, 0, once), (1, 1, once)]));
    let own = BTreeSet::from([((0, 0), (0, 1)), ((1, 0), (1, 1))]);
    assert_eq!(apart, BTreeSet::from([(vec![None, None], own)]));
    // One that never arrives and does not exit keeps the others waiting.
    let stuck = outcomes(&threads(&[(0, 0, once), (1, 0, &["bar.sync 1, 2;", ARRIVE, WAIT])]));
    assert_eq!(stuck, BTreeSet::from([(vec![Some(1), Some(0)], BTreeSet::new())]));
    let gone = outcomes(&threads(&[(0, 0, once), (1, 0, &[])]));
    assert_eq!(gone, BTreeSet::from([(vec![None, None], BTreeSet::from([((0, 0), (0, 1))]))]));
    let early: &[&str] = &[WAIT];
    assert_eq!(outcomes(&threads(&[(0, 0, early)])), BTreeSet::from([(vec![Some(0)], BTreeSet::new())]));
}

#[test]
fn a_warp_meets_by_mask() {
    let full: &[&str] = &["bar.warp.sync 0xffffffff;"];
    let all = outcomes(&threads(&[(0, 0, full), (0, 0, full), (0, 0, &[])]));
    let pair = BTreeSet::from([((0, 0), (1, 0)), ((1, 0), (0, 0))]);
    assert_eq!(all, BTreeSet::from([(vec![None; 3], pair.clone())]));
    // Each half of a warp on its own.
    let (low, high): (&[&str], &[&str]) = (&["bar.warp.sync 3;"], &["bar.warp.sync 12;"]);
    let halves = outcomes(&threads(&[(0, 0, low), (0, 0, low), (0, 0, high)]));
    assert_eq!(halves, BTreeSet::from([(vec![None; 3], pair)]), "a mask with one thread of it here meets no one");
    // Two lanes of three: any two.
    let three = outcomes(&threads(&[(0, 0, low), (0, 0, low), (0, 0, low)]));
    assert_eq!(three.len(), 3);
    let apart = outcomes(&threads(&[(0, 0, full), (1, 0, full)]));
    assert_eq!(apart, BTreeSet::from([(vec![None; 2], BTreeSet::new())]));
}

/// A cluster barrier as a machine: a phase number, who has arrived in it, and what each thread last arrived in.
#[derive(Clone)]
struct Machine {
    next: Vec<usize>,
    exited: Vec<bool>,
    phase: Vec<usize>,
    arrived: Vec<BTreeSet<usize>>,
    mine: Vec<usize>,
    arrives: Vec<(usize, usize, (usize, usize))>,
    pairs: BTreeSet<((usize, usize), (usize, usize))>,
}

impl Machine {
    /// Runs `(cluster, length)` threads (arrive, wait, arrive, …) in the order `pick` chooses.
    fn run(threads: &[(usize, usize)], mut pick: impl FnMut(usize) -> usize) -> Outcome {
        let count = threads.len();
        let mut machine = Machine {
            next: vec![0; count],
            exited: vec![false; count],
            phase: vec![0; 2],
            arrived: vec![BTreeSet::new(); 2],
            mine: vec![0; count],
            arrives: Vec::new(),
            pairs: BTreeSet::new(),
        };
        loop {
            let ready: Vec<usize> = (0..count).filter(|&thread| machine.can_step(threads, thread)).collect();
            if ready.is_empty() {
                let waits = (0..count).map(|thread| (!machine.exited[thread]).then_some(machine.next[thread]));
                return (waits.collect(), machine.pairs);
            }
            let thread = ready[pick(ready.len())];
            machine.step(threads, thread);
        }
    }

    fn can_step(&self, threads: &[(usize, usize)], thread: usize) -> bool {
        let (cluster, length) = threads[thread];
        let at = self.next[thread];
        !self.exited[thread] && (at == length || at.is_multiple_of(2) || self.phase[cluster] > self.mine[thread])
    }

    fn step(&mut self, threads: &[(usize, usize)], thread: usize) {
        let (cluster, length) = threads[thread];
        let at = self.next[thread];
        if at == length {
            self.exited[thread] = true;
        } else if at.is_multiple_of(2) {
            self.mine[thread] = self.phase[cluster];
            self.arrived[cluster].insert(thread);
            self.arrives.push((cluster, self.phase[cluster], (thread, at)));
            self.next[thread] += 1;
        } else {
            let phase = self.mine[thread];
            let of = self.arrives.iter().filter(|(other, number, _)| *other == cluster && *number == phase);
            self.pairs.extend(of.map(|(_, _, from)| (*from, (thread, at))));
            self.next[thread] += 1;
        }
        let mut members = (0..threads.len()).filter(|&other| threads[other].0 == cluster && !self.exited[other]);
        if !self.arrived[cluster].is_empty() && members.all(|other| self.arrived[cluster].contains(&other)) {
            self.phase[cluster] += 1;
            self.arrived[cluster].clear();
        }
    }
}

#[test]
fn phases_are_those_of_the_machine() {
    let mut seed = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % below as u64).expect("small")
    };
    for _ in 0..300 {
        let shape: Vec<(usize, usize)> = (0..1 + random(4)).map(|_| (random(2), random(6))).collect();
        let code = [ARRIVE, WAIT, ARRIVE, WAIT, ARRIVE, WAIT];
        let blocks: Vec<(u32, u32, &[&str])> = (shape.iter().enumerate())
            .map(|(index, (cluster, length))| (index as u32, *cluster as u32, &code[..*length]))
            .collect();
        let expected: BTreeSet<Outcome> = (0..8).map(|_| Machine::run(&shape, &mut random)).collect();
        assert_eq!(expected.len(), 1, "the order of steps makes no difference: {shape:?}");
        assert_eq!(outcomes(&threads(&blocks)), expected, "{shape:?}");
    }
}

/// A thread arrives and waits in turn; what it does out of turn is told with both places.
#[test]
fn a_thread_out_of_turn_is_a_hazard() {
    let hazards = |code: &[&str]| -> Vec<HazardKind> {
        let mut found: Vec<HazardKind> =
            unfolded(&threads(&[(0, 0, code)]), 2).hazards.iter().map(|hazard| hazard.kind).collect();
        found.sort();
        found.dedup();
        found
    };
    assert_eq!(hazards(&[ARRIVE, WAIT, ARRIVE, WAIT]), []);
    assert_eq!(hazards(&[ARRIVE, ARRIVE, WAIT]), [HazardKind::ClusterArriveTwice]);
    assert_eq!(hazards(&[WAIT]), [HazardKind::ClusterWaitAlone]);
    assert_eq!(hazards(&[ARRIVE, WAIT, WAIT]), [HazardKind::ClusterWaitAlone]);
    assert_eq!(hazards(&["L:", ARRIVE, WAIT, "add.u32 %r0, %r0, 1;", "setp.lt.u32 %p, %r0, 3;", "@%p bra L;"]), []);
    let twice = ["L:", ARRIVE, "add.u32 %r0, %r0, 1;", "setp.lt.u32 %p, %r0, 2;", "@%p bra L;", WAIT];
    assert_eq!(hazards(&twice), [HazardKind::ClusterArriveTwice]);
}
