//! The definitions of the persistency model, evaluated on a finished list of events: the oracle of the monitor's tests.
//!
//! Nothing is computed on the way here. The persist memory order is the transitive closure of the two rules, by matrices; whether
//! an image is allowed is decided by trying every set of persists.

use super::monitor::{Monitor, Persist, Persists, Source};
use super::random::Random;
use super::state::{Sm, State, Step};
use super::{Outcome, Question, Scopes, Sms, WARPS, refine};
use crate::persist_buffer::buffer::{Kind, Line, PersistBuffer, Point, Scope};
use crate::persist_buffer::rules::{Merge, Rule};
use crate::persist_buffer::warps::Warp;

#[derive(Copy, Clone, PartialEq, Debug)]
enum Action {
    Store(Line),
    Fence,
    Durability,
    Release(Scope),
    /// With the release that it reads from, if it is one.
    Acquire(Scope, Option<usize>),
}

#[derive(Copy, Clone, Debug)]
struct Event {
    warp: Warp,
    action: Action,
}

/// A run: the hardware with the stores that each entry has, and what happened.
struct Run<'q> {
    question: &'q Question,
    buffers: [PersistBuffer<Vec<usize>>; 2],
    waiting: [Option<(Point, usize)>; WARPS],
    events: Vec<Event>,
    /// The stores that arrived in NVM, in their order.
    arrived: Vec<usize>,
    /// Per flag the release that wrote it last.
    flags: [Option<usize>; FLAGS],
}

/// One per warp for releases of any scope, and one per warp for those of the device.
const FLAGS: usize = 2 * WARPS;

type Matrix = Vec<Vec<bool>>;

impl Run<'_> {
    fn new(question: &Question) -> Run<'_> {
        let buffers = [PersistBuffer::new(question.rules), PersistBuffer::new(question.rules)];
        Run { question, buffers, waiting: [None; WARPS], events: vec![], arrived: vec![], flags: [None; FLAGS] }
    }

    fn buffer(&mut self, sm: Sm) -> &mut PersistBuffer<Vec<usize>> {
        &mut self.buffers[usize::from(sm.0)]
    }

    fn happens(&mut self, warp: Warp, action: Action) -> usize {
        self.events.push(Event { warp, action });
        self.events.len() - 1
    }

    fn store(&mut self, warp: Warp, line: Line) {
        let event = self.happens(warp, Action::Store(line));
        let sm = self.question.sm(warp);
        self.buffer(sm).store(warp, line).expect("the store is enabled").push(event);
    }

    /// A release writes this flag when it is complete; an acquire reads it at once.
    fn issue(&mut self, warp: Warp, point: Point, flag: usize) {
        let sm = self.question.sm(warp);
        self.buffer(sm).issue(warp, point).expect("the operation is enabled");
        match point {
            Point::OFence => _ = self.happens(warp, Action::Fence),
            Point::Acquire(scope) => {
                let from = self.flags.get(flag).copied().flatten();
                self.happens(warp, Action::Acquire(scope, from));
            }
            Point::DFence | Point::Release(_) => self.waiting[usize::from(warp.0)] = Some((point, flag)),
        }
    }

    fn hardware(&mut self, step: Step) {
        match step {
            Step::Drain(sm) => self.buffer(sm).drain(),
            Step::Evict(sm, line) => self.buffer(sm).flush_early(line),
            Step::Acknowledge(sm, line) => {
                let stores = self.buffer(sm).acknowledge(line).expect("the line is in flight");
                self.arrived.extend(stores);
            }
            other => panic!("{other:?} is no step of the full search"),
        }
    }

    fn complete(&mut self) {
        for warp in self.question.all_warps() {
            let sm = self.question.sm(warp);
            if self.buffer(sm).is_stalled(warp) {
                continue;
            }
            match self.waiting[usize::from(warp.0)].take() {
                Some((Point::DFence, _)) => _ = self.happens(warp, Action::Durability),
                Some((Point::Release(scope), flag)) => {
                    let event = self.happens(warp, Action::Release(scope));
                    self.flags[flag] = Some(event);
                }
                _ => {}
            }
        }
    }

    fn is_po_or_same(&self, first: usize, second: usize) -> bool {
        first <= second && self.events[first].warp == self.events[second].warp
    }

    /// Whether the scope of an event has the thread of another.
    fn has(&self, scope: Scope, from: usize, to: usize) -> bool {
        scope == Scope::Device || self.question.sm(self.events[from].warp) == self.question.sm(self.events[to].warp)
    }

    /// sw = [PREL]; (rf ∩ incl); [PACQ]
    fn synchronises(&self, release: usize, acquire: usize) -> bool {
        match (self.events[release].action, self.events[acquire].action) {
            (Action::Release(wide), Action::Acquire(own, Some(from))) => {
                from == release && self.has(wide, release, acquire) && self.has(own, acquire, release)
            }
            _ => false,
        }
    }

    /// pmo = [P]; ord⁺; [P] \ id, with ord = po?; [OF ∪ DF]; po? ∪ po?; [PREL]; sw; [PACQ]; po?
    fn persist_order(&self) -> Matrix {
        let all = 0..self.events.len();
        let is_fence = |event: &usize| matches!(self.events[*event].action, Action::Fence | Action::Durability);
        let fences: Vec<(usize, usize)> = all.clone().filter(is_fence).map(|fence| (fence, fence)).collect();
        let pairs = all.clone().flat_map(|release| all.clone().map(move |acquire| (release, acquire)));
        let bridges: Vec<(usize, usize)> =
            pairs.filter(|(release, acquire)| self.synchronises(*release, *acquire)).chain(fences).collect();
        let mut order: Matrix = vec![vec![false; self.events.len()]; self.events.len()];
        for (first, row) in order.iter_mut().enumerate() {
            for (second, cell) in row.iter_mut().enumerate() {
                *cell = bridges
                    .iter()
                    .any(|(from, to)| self.is_po_or_same(first, *from) && self.is_po_or_same(*to, second));
            }
        }
        for middle in all.clone() {
            for first in all.clone().filter(|first| order[*first][middle]).collect::<Vec<_>>() {
                for second in all.clone() {
                    order[first][second] |= order[middle][second];
                }
            }
        }
        let is_store = |event: usize| matches!(self.events[event].action, Action::Store(_));
        for first in all.clone() {
            for second in all.clone() {
                order[first][second] &= is_store(first) && is_store(second) && first != second;
            }
        }
        order
    }

    /// Whether some set D of persists is closed (C1), has what dFences promise (C2), and shows what NVM has.
    fn is_image_allowed(&self) -> bool {
        let order = self.persist_order();
        let stores: Vec<(usize, Line)> = (0..self.events.len())
            .filter_map(|event| match self.events[event].action {
                Action::Store(line) => Some((event, line)),
                _ => None,
            })
            .collect();
        // Coherence: in the order of arrival, and what has not arrived after that.
        let age = |event: usize| self.arrived.iter().position(|it| *it == event).unwrap_or(self.arrived.len() + event);
        let image = |line: Line| {
            let here = stores.iter().filter(|(event, of)| *of == line && self.arrived.contains(event));
            here.max_by_key(|(event, _)| age(*event))
        };
        let last = |line: Line, set: u32| {
            let here = stores.iter().enumerate().filter(|(at, (_, of))| *of == line && set >> at & 1 == 1);
            here.map(|(_, store)| store).max_by_key(|(event, _)| age(*event))
        };
        let number = |event: usize| stores.iter().position(|(it, _)| *it == event).expect("a store");
        let is_closed = |set: u32| {
            let inside = stores.iter().filter(|(event, _)| set >> number(*event) & 1 == 1);
            inside.clone().all(|(later, _)| {
                stores.iter().all(|(earlier, _)| !order[*earlier][*later] || set >> number(*earlier) & 1 == 1)
            })
        };
        let promised = stores.iter().filter(|(event, _)| {
            let fences = (0..self.events.len()).filter(|it| self.events[*it].action == Action::Durability);
            fences.clone().any(|fence| self.is_po_or_same(*event, fence))
        });
        let promised = promised.fold(0u32, |set, (event, _)| set | 1 << number(*event));
        (0..1u32 << stores.len()).any(|set| {
            promised & !set == 0 && is_closed(set) && stores.iter().all(|(_, line)| last(*line, set) == image(*line))
        })
    }

    /// What the monitor should know of each persist on its way: the persists that come before the last store of it.
    fn check_monitor(&self, state: &State) {
        let order = self.persist_order();
        let mut on_their_way = Vec::new();
        for (ours, theirs) in self.buffers.iter().zip(&state.buffers) {
            for (our, their) in ours.entries().zip(theirs.entries()) {
                assert_eq!((our.warps, our.line(), our.point()), (their.warps, their.line(), their.point()));
                if let (Kind::Persist(_, stores), Kind::Persist(_, persist)) = (&our.kind, &their.kind) {
                    on_their_way.push((*persist, stores));
                }
            }
            assert_eq!(ours.masks(), theirs.masks());
            let flights = ours.in_flight().iter().zip(theirs.in_flight());
            on_their_way.extend(flights.map(|(our, their)| (their.data, &our.data)));
        }
        for (persist, stores) in &on_their_way {
            let last = *stores.last().expect("an entry has a store");
            let before = on_their_way.iter().filter(|(_, others)| others.iter().any(|other| order[*other][last]));
            let before = before.fold(Persists::NONE, |mut set, (other, _)| {
                set.add(Persists::of(*other));
                set
            });
            assert_eq!(state.monitor.preceding[usize::from(persist.0)], before, "{:?}", self.events);
        }
    }
}

/// Where the programs run.
fn places(merge: Merge, operations: u8) -> [Question; 3] {
    let block = Question::new(merge, operations);
    let device = Question { sms: Sms::Two, scopes: Scopes::BlockAndDevice, ..block };
    [block, Question { warps: 2, ..block }, device]
}

/// The flag that the source stands for: warps release to flags of their own, and read the latest of another warp.
fn flag(warp: Warp, point: Point, source: Source) -> usize {
    match (point, source) {
        (Point::Release(Scope::Block), _) => usize::from(warp.0),
        (Point::Release(Scope::Device), _) => usize::from(warp.0) + WARPS,
        (_, Source::SameBlock(from)) => usize::from(from.0),
        (_, Source::Device(from)) => usize::from(from.0) + WARPS,
        (_, Source::Unrelated) => usize::MAX,
    }
}

/// A random step; every other time one of those that make order matter.
fn pick(random: &mut Random, steps: &[Step]) -> Step {
    let matters = |step: &&Step| match step {
        Step::Store(..) | Step::Acknowledge(..) => true,
        Step::Issue(_, Point::Acquire(_), source) => *source != Source::Unrelated,
        _ => false,
    };
    let chosen: Vec<&Step> = steps.iter().filter(matters).collect();
    if chosen.is_empty() || random.below(2) == 0 {
        steps[random.below(steps.len())]
    } else {
        *chosen[random.below(chosen.len())]
    }
}

/// Random runs: the monitor's order is the order by definition, and it objects exactly when no set of persists explains what NVM
/// has.
#[test]
fn the_monitor_agrees_with_the_definitions() {
    let mut random = Random(7);
    let (mut kept, mut broken) = (0, 0);
    for _ in 0..6000 {
        let merge = Merge::ALL[random.below(2)];
        let mut question = places(merge, 8)[random.below(3)];
        let is_whole = random.below(4) == 0;
        for rule in Rule::ALL.into_iter().filter(|_| !is_whole) {
            if random.below(3) == 0 {
                question.rules = question.rules.without(rule);
            }
        }
        if random_run(&question, &mut random) { kept += 1 } else { broken += 1 }
    }
    assert!(kept > 2000 && broken > 300, "{kept} {broken}");
}

/// Programs alone, without hardware: the order of the persists is the order by definition, however long the chains.
#[test]
fn the_monitor_computes_the_persist_order() {
    let mut random = Random(13);
    let [block, _, device] = places(Merge::Paper, 10);
    let mut ordered = 0;
    for run in 0..4000 {
        let question = if run % 2 == 0 { &block } else { &device };
        let mut monitor = Monitor::default();
        let mut run = Run::new(question);
        let mut stores = Vec::new();
        for _ in 0..16 {
            let warp = Warp(random.below(WARPS) as u8);
            let scope = [Scope::Block, Scope::Device][random.below(2)];
            match random.below(6) {
                0..=1 if stores.len() < 10 => {
                    let persist = Persist(stores.len() as u8);
                    stores.push(run.happens(warp, Action::Store(Line(persist.0.into()))));
                    monitor.store(warp, persist);
                }
                2 => {
                    run.happens(warp, Action::Fence);
                    monitor.fence(warp);
                }
                3 => {
                    let event = run.happens(warp, Action::Release(scope));
                    run.flags[usize::from(warp.0)] = Some(event);
                    if scope == Scope::Device {
                        run.flags[usize::from(warp.0) + WARPS] = Some(event);
                    }
                    monitor.release(warp, scope);
                }
                _ => {
                    let from = Warp(random.below(WARPS) as u8);
                    let is_near = question.sm(from) == question.sm(warp);
                    let source = match scope {
                        _ if is_near => Source::SameBlock(from),
                        Scope::Device => Source::Device(from),
                        Scope::Block => Source::Unrelated,
                    };
                    // Whatever the scopes: the definitions decide whether it synchronises.
                    let flag = usize::from(from.0) + if is_near { 0 } else { WARPS };
                    run.happens(warp, Action::Acquire(scope, run.flags[flag]));
                    monitor.acquire(warp, source);
                }
            }
        }
        let order = run.persist_order();
        for (number, store) in stores.iter().enumerate() {
            for (other, before) in stores.iter().enumerate() {
                let is_before = monitor.preceding[number].contains(Persist(other as u8));
                assert_eq!(is_before, order[*before][*store], "{:?}", run.events);
                ordered += usize::from(is_before);
            }
        }
    }
    assert!(ordered > 2000, "{ordered}");
}

/// Whether all promises were kept.
fn random_run(question: &Question, random: &mut Random) -> bool {
    let mut state = question.initial();
    let mut run = Run::new(question);
    let mut operations = 0;
    for _ in 0..24 {
        let mut steps = Vec::new();
        question.hardware_steps(&state, &mut steps);
        if operations < question.operations && (steps.is_empty() || random.below(3) > 0) {
            steps.clear();
            question.operations(&state, &mut steps);
        }
        if steps.is_empty() {
            break;
        }
        let step = pick(random, &steps);
        match step {
            Step::Store(warp, line) => run.store(warp, line),
            Step::Issue(warp, point, source) => {
                // The latest release of a warp, whatever its scope, is in both of its flags.
                run.issue(warp, point, flag(warp, point, source));
            }
            hardware => run.hardware(hardware),
        }
        operations += u8::from(matches!(step, Step::Store(..) | Step::Issue(..)));
        let verdict = question.take(&mut state, step);
        run.complete();
        for warp in 0..WARPS {
            // A device-scoped release is also the latest for readers of the block.
            let (own, wide) = (run.flags[warp], run.flags[warp + WARPS]);
            run.flags[warp] = own.max(wide);
        }
        assert_eq!(verdict.is_ok(), run.is_image_allowed(), "{:?}", run.events);
        if verdict.is_err() {
            return false;
        }
        run.check_monitor(&state);
    }
    true
}

/// Programs with two flags that all warps share, overwrite and read: none breaks a promise with fewer operations than the search
/// over programs with a flag per warp says, and none breaks one that the search says is kept.
#[test]
fn shared_flags_break_nothing_that_a_flag_per_warp_does_not() {
    let mut random = Random(3);
    let mut broken = 0;
    for question in places(Merge::Paper, 4) {
        let off = Rule::ALL.map(|rule| question.rules.without(rule));
        for rules in off.into_iter().chain([question.rules]) {
            let question = Question { rules, ..question };
            let fewest = match refine(&question).outcome {
                Outcome::Breaks(found) => found.operations,
                Outcome::Refines => question.operations + 1,
                Outcome::Limit { .. } => panic!("there is no limit"),
            };
            for operations in (0..500).filter_map(|_| operations_until_broken(&question, &mut random)) {
                assert!(operations >= fewest, "{question:?}");
                broken += 1;
            }
        }
    }
    assert!(broken > 100, "{broken}");
}

fn operations_until_broken(question: &Question, random: &mut Random) -> Option<u8> {
    let mut state = question.initial();
    let mut run = Run::new(question);
    let mut operations = 0;
    for _ in 0..16 {
        let mut steps = Vec::new();
        question.hardware_steps(&state, &mut steps);
        if operations < question.operations {
            question.operations(&state, &mut steps);
        }
        if steps.is_empty() {
            return None;
        }
        let step = pick(random, &steps);
        match step {
            Step::Store(warp, line) => run.store(warp, line),
            Step::Issue(warp, point, _) => run.issue(warp, point, random.below(2)),
            hardware => run.hardware(hardware),
        }
        operations += u8::from(matches!(step, Step::Store(..) | Step::Issue(..)));
        // The monitor of this state knows nothing of the flags; it is here for the steps that are enabled.
        state.monitor.preceding = Default::default();
        state.monitor.issued = Default::default();
        question.take(&mut state, step).expect("the monitor knows of no order");
        run.complete();
        if !run.is_image_allowed() {
            return Some(operations);
        }
    }
    None
}
