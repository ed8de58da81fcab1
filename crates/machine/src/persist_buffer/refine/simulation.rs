//! The reduced search simulates the full one: random runs of the full search, followed step by step.
//!
//! For every step of a full run the reduced one takes the steps that `reduce` says stand for it. Each must be enabled, and
//! afterwards the reduced run must know at least the order that the full one knows. So each of the points of `reduce` is tested
//! on its own, not only by what the searches find.

use super::monitor::{Persist, Persists};
use super::random::Random;
use super::state::{Sm, State, Step};
use super::{Question, Scopes, Search, Sms};
use crate::persist_buffer::buffer::{Kind, Line, Point};
use crate::persist_buffer::rules::Merge;
use crate::persist_buffer::warps::Warp;

struct Pair {
    full: Question,
    reduced: Question,
    from: State,
    to: State,
}

fn persist(state: &State, sm: Sm, line: Line) -> Option<Persist> {
    state.buffer(sm).entries().find_map(|entry| match entry.kind {
        Kind::Persist(of, persist) if of == line => Some(persist),
        _ => None,
    })
}

impl Pair {
    fn new(question: &Question) -> Pair {
        let full = Question { search: Search::Full, ..*question };
        let reduced = Question { search: Search::Reduced, ..*question };
        Pair { from: full.initial(), to: reduced.initial(), full, reduced }
    }

    /// The set of the reduced run that stands for a set of the full one.
    fn image(&self, set: Persists) -> Persists {
        let mut image = Persists::NONE;
        for sm in self.full.all_sms() {
            for (of, entry) in self.from.buffer(sm).entries().filter_map(|entry| Some((entry.line()?, entry.kind))) {
                let Kind::Persist(_, own) = entry else { continue };
                if set.contains(own) {
                    image.add(Persists::of(persist(&self.to, sm, of).expect("the line is buffered in both")));
                }
            }
            if self.from.buffer(sm).in_flight().iter().any(|flight| set.contains(flight.data)) {
                image.add(Persists::of(self.to.buffer(sm).in_flight()[0].data));
            }
        }
        image
    }

    fn take(&mut self, step: Step) {
        self.full.take(&mut self.from, step).expect("the paper's buffer breaks nothing");
    }

    fn follow(&mut self, step: Step) {
        self.reduced.take(&mut self.to, step).expect("the reduced search finds nothing either");
    }

    fn enabled(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        self.reduced.hardware_steps(&self.to, &mut steps);
        self.reduced.operations(&self.to, &mut steps);
        steps
    }

    /// A line leaves the buffer.
    fn flush(&mut self, sm: Sm, line: Line) {
        let step = Step::Evict(sm, line);
        assert!(self.enabled().contains(&step), "{line:?} {:?} {:?}", self.from, self.to);
        self.follow(step);
    }

    fn store(&mut self, warp: Warp, line: Line) {
        let sm = self.full.sm(warp);
        let stores = self.enabled().into_iter().filter_map(|step| match step {
            Step::Store(by, line) if by == warp => Some(line),
            _ => None,
        });
        let is_buffered = persist(&self.to, sm, line).is_some();
        let mut alike =
            stores.filter(|it| if is_buffered { *it == line } else { persist(&self.to, sm, *it).is_none() });
        assert!(alike.next().is_some(), "{:?} {:?}", self.from, self.to);
        self.follow(Step::Store(warp, line));
    }

    /// One that says at least as much.
    fn issue(&mut self, warp: Warp, point: Point, content: Persists) {
        let before = self.to.monitor.before[usize::from(warp.0)];
        let alike = |step: &Step| match (*step, point) {
            (Step::Issue(by, Point::Acquire(_), source), Point::Acquire(_)) if by == warp => {
                let mut known = before;
                known.add(self.to.monitor.content(source));
                known.includes(content)
            }
            (Step::Issue(by, other, _), _) => by == warp && other == point,
            _ => false,
        };
        let step = self.enabled().into_iter().find(alike);
        self.follow(step.unwrap_or_else(|| panic!("{point:?} {content:?} {:?} {:?}", self.from, self.to)));
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Drain(sm) => {
                let line = self.from.buffer(sm).entries().next().and_then(|entry| entry.line());
                line.into_iter().for_each(|line| self.flush(sm, line));
            }
            Step::Evict(sm, line) => self.flush(sm, line),
            Step::Acknowledge(sm, _) if self.from.buffer(sm).in_flight().len() == 1 => {
                // The full run has to forget what arrives first, else it knows more than there is.
                self.take(step);
                self.follow(Step::AcknowledgeAll(sm));
                return;
            }
            Step::Acknowledge(..) => {}
            Step::Store(warp, line) => self.store(warp, line),
            Step::Issue(warp, point, source) => {
                let content = self.image(self.from.monitor.content(source));
                self.issue(warp, point, content);
            }
            Step::AcknowledgeAll(_) => panic!("a step of the reduced search"),
        }
        self.take(step);
    }

    fn check(&self) {
        let includes = |reduced: Persists, full: Persists| {
            assert!(reduced.includes(self.image(full)), "{reduced:?} {full:?} {:?} {:?}", self.from, self.to);
        };
        let (from, to) = (&self.from.monitor, &self.to.monitor);
        for warp in self.full.all_warps() {
            let (sm, at) = (self.full.sm(warp), usize::from(warp.0));
            includes(to.before[at], from.before[at]);
            includes(to.issued[at], from.issued[at]);
            assert!(self.from.buffer(sm).is_stalled(warp) || !self.to.buffer(sm).is_stalled(warp));
            for source in self.full.sources(&self.from, warp, crate::persist_buffer::Scope::Device) {
                let content = self.image(from.content(source));
                let known = |more: Persists| {
                    let mut known = to.before[at];
                    known.add(more);
                    known.includes(content)
                };
                let scope = crate::persist_buffer::Scope::Device;
                let mut others = self.reduced.sources(&self.to, warp, scope).map(|source| to.content(source));
                assert!(known(Persists::NONE) || others.any(known), "{source:?} {:?} {:?}", self.from, self.to);
            }
        }
        for sm in self.full.all_sms() {
            for line in self.from.buffer(sm).entries().filter_map(|entry| entry.line()) {
                let [own, image] = [&self.from, &self.to].map(|state| persist(state, sm, line).expect("in both"));
                includes(to.preceding[usize::from(image.0)], from.preceding[usize::from(own.0)]);
            }
        }
    }
}

#[test]
fn the_reduced_search_can_follow_every_run_of_the_full_one() {
    let mut random = Random(5);
    let block = Question::new(Merge::Paper, 10);
    let device = Question { sms: Sms::Two, scopes: Scopes::BlockAndDevice, ..block };
    let wide = Question { scopes: Scopes::BlockAndDevice, ..block };
    for run in 0..3000 {
        let mut pair = Pair::new(&[block, device, wide][run % 3]);
        let mut operations = 0;
        for _ in 0..40 {
            let mut steps = Vec::new();
            pair.full.hardware_steps(&pair.from, &mut steps);
            if operations < 10 && (steps.is_empty() || random.below(3) > 0) {
                let hardware = steps.len();
                pair.full.operations(&pair.from, &mut steps);
                steps.drain(..if steps.len() > hardware { hardware } else { 0 });
            }
            if steps.is_empty() {
                break;
            }
            let step = steps[random.below(steps.len())];
            operations += usize::from(matches!(step, Step::Store(..) | Step::Issue(..)));
            pair.step(step);
            pair.check();
        }
    }
}
