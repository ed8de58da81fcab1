//! The transitions: what hardware and warps can do in a state, and what comes of it.

use super::monitor::{Monitor, Persist, Source, Violation};
use super::state::{Sm, State, Step};
use super::{Question, Scopes, Search, Stores, Timing, WARPS, reduce};
use crate::persist_buffer::buffer::{Line, PersistBuffer, Point, Scope};
use crate::persist_buffer::warps::Warp;

impl Question {
    pub(super) fn initial(&self) -> State {
        let rules = match self.search {
            Search::Full => self.rules,
            Search::Reduced => reduce::relax(self.rules),
        };
        State {
            buffers: [PersistBuffer::new(rules), PersistBuffer::new(rules)],
            monitor: Monitor::default(),
            waiting: [None; WARPS],
            written: 0,
            is_released: false,
        }
    }

    /// What the hardware can do.
    pub(super) fn hardware_steps(&self, state: &State, steps: &mut Vec<Step>) {
        for sm in self.all_sms() {
            let buffer = state.buffer(sm);
            match (self.search, self.timing) {
                (Search::Full, Timing::Any) => {
                    steps.extend(buffer.can_drain().then_some(Step::Drain(sm)));
                    let behind = buffer.entries().skip(1).filter_map(|entry| entry.line());
                    steps.extend(behind.filter(|line| buffer.can_evict(*line)).map(|line| Step::Evict(sm, line)));
                    acknowledgements(sm, buffer, steps);
                }
                (Search::Full, Timing::Eager) => acknowledgements(sm, buffer, steps),
                (Search::Reduced, _) => reduce::hardware_steps(sm, buffer, steps),
            }
        }
    }

    /// What the warps can do. A store that would have to wait is not enabled: it happens later, and until then the warp may be
    /// part of another program.
    pub(super) fn operations(&self, state: &State, steps: &mut Vec<Step>) {
        for warp in self.all_warps() {
            let buffer = state.buffer(self.sm(warp));
            if !buffer.is_stalled(warp) {
                self.stores(state, warp, steps);
                self.points(state, warp, steps);
            }
        }
    }

    fn stores(&self, state: &State, warp: Warp, steps: &mut Vec<Step>) {
        let buffer = state.buffer(self.sm(warp));
        let entries = buffer.entries().filter_map(|entry| entry.line());
        let in_flight = buffer.in_flight().iter().map(|flight| flight.line);
        // A line in flight is a new one for the buffer; the reduced search does not tell them apart.
        let used = match self.search {
            Search::Full => entries.chain(in_flight).fold(0u32, |used, line| used | 1 << line.0),
            Search::Reduced => entries.fold(0u32, |used, line| used | 1 << line.0),
        };
        let again = (0..u32::BITS).filter(|line| used >> line & 1 == 1).map(Line);
        let is_bounded = self.stores == Stores::OncePerLine;
        let (count, fresh) = match self.stores {
            Stores::Any => (used.count_ones(), used.trailing_ones()),
            Stores::OncePerLine => (state.written.into(), state.written.into()),
        };
        let fresh = (count < u32::from(self.lines)).then_some(Line(fresh));
        let lines = again.filter(|_| !is_bounded).chain(fresh);
        steps.extend(lines.filter(|line| buffer.check_store(warp, *line).is_ok()).map(|line| Step::Store(warp, line)));
    }

    fn points(&self, state: &State, warp: Warp, steps: &mut Vec<Step>) {
        let buffer = state.buffer(self.sm(warp));
        let fits = |point: Point| buffer.check_point(warp, point).is_ok();
        let scopes: &[Scope] = match self.scopes {
            Scopes::Block => &[Scope::Block],
            Scopes::BlockAndDevice => &[Scope::Block, Scope::Device],
        };
        let releases = scopes.iter().map(|scope| (Point::Release(*scope), self.alphabet.releases));
        let fences = [(Point::OFence, self.alphabet.order_fences), (Point::DFence, self.alphabet.durability_fences)];
        let points = fences.into_iter().chain(releases).filter(|(point, is_used)| *is_used && fits(*point));
        steps.extend(points.map(|(point, _)| Step::Issue(warp, point, Source::Unrelated)));
        // For the reduced search the wider scope: it reads from more releases, and the buffer does the same.
        let scopes = if self.search == Search::Reduced { &scopes[scopes.len() - 1..] } else { scopes };
        for scope in scopes.iter().filter(|scope| self.alphabet.acquires && fits(Point::Acquire(**scope))) {
            match self.search {
                Search::Full => self.acquires(state, warp, *scope, steps),
                Search::Reduced => reduce::acquires(self, state, warp, *scope, steps),
            }
        }
    }

    fn acquires(&self, state: &State, warp: Warp, scope: Scope, steps: &mut Vec<Step>) {
        let mut add = |source: Source| steps.push(Step::Issue(warp, Point::Acquire(scope), source));
        if self.may_take_nothing(state, warp) {
            add(Source::Unrelated);
        }
        self.sources(state, warp, scope).for_each(add);
    }

    /// Takes an enabled step.
    pub(super) fn take(&self, state: &mut State, step: Step) -> Result<(), Violation> {
        match step {
            Step::Drain(sm) => state.buffer_mut(sm).drain(),
            Step::Evict(sm, line) => {
                state.buffer_mut(sm).flush_early(line);
                if self.search == Search::Reduced {
                    reduce::depart(state, sm)?;
                }
            }
            Step::Acknowledge(sm, line) => {
                if let Some(persist) = state.buffer_mut(sm).acknowledge(line) {
                    state.monitor.arrive(persist)?;
                }
            }
            Step::AcknowledgeAll(sm) => reduce::arrive(state, sm),
            Step::Store(warp, line) => self.store(state, warp, line),
            Step::Issue(warp, point, source) => self.issue(state, warp, point, source),
        }
        match (self.search, self.timing) {
            (Search::Full, Timing::Any) => {}
            (Search::Full, Timing::Eager) => state.buffers.iter_mut().for_each(PersistBuffer::drain_all),
            (Search::Reduced, _) => state.buffers.iter_mut().for_each(reduce::normalise),
        }
        self.complete(state)?;
        if self.search == Search::Reduced {
            reduce::forget_releases(self, state);
        }
        Ok(())
    }

    fn store(&self, state: &mut State, warp: Warp, line: Line) {
        let free = state.free_number();
        if let Ok(data) = state.buffer_mut(self.sm(warp)).store(warp, line) {
            if *data == Persist::default() {
                *data = free;
            }
            let persist = *data;
            state.monitor.store(warp, persist);
        }
        if self.stores == Stores::OncePerLine {
            state.written += 1;
        }
    }

    fn issue(&self, state: &mut State, warp: Warp, point: Point, source: Source) {
        if state.buffer_mut(self.sm(warp)).issue(warp, point).is_ok() {
            match point {
                Point::OFence => state.monitor.fence(warp),
                Point::Acquire(_) => state.monitor.acquire(warp, source),
                Point::DFence | Point::Release(_) => state.waiting[usize::from(warp.0)] = Some(point),
            }
        }
    }

    /// Completes the operations whose warps do not wait any more.
    fn complete(&self, state: &mut State) -> Result<(), Violation> {
        for warp in self.all_warps() {
            if state.buffer(self.sm(warp)).is_stalled(warp) {
                continue;
            }
            match state.waiting[usize::from(warp.0)].take() {
                Some(Point::DFence) => state.monitor.complete_durability(warp)?,
                Some(Point::Release(scope)) => match self.search {
                    Search::Full => state.monitor.release(warp, scope),
                    Search::Reduced => reduce::release(self, state, warp, scope),
                },
                _ => {}
            }
        }
        Ok(())
    }
}

fn acknowledgements(sm: Sm, buffer: &PersistBuffer<Persist>, steps: &mut Vec<Step>) {
    let flights = buffer.in_flight();
    let is_oldest = |at: usize| flights[..at].iter().all(|other| other.line != flights[at].line);
    steps.extend((0..flights.len()).filter(|at| is_oldest(*at)).map(|at| Step::Acknowledge(sm, flights[at].line)));
}
