//! A violation in words: the program, and the run that breaks the promise.
//!
//! The states of the search have canonical names, and every step gives new ones. The run keeps account of them, so that a warp
//! and a line have one name from the beginning to the end.

use super::encode::{self, Names};
use super::monitor::{Persist, Persists, Source, Violation};
use super::state::{Sm, State, Step};
use super::{Acquires, Counterexample, Question, Search, Sms, Stores, Timing, WARPS};
use crate::persist_buffer::buffer::{Kind, Line, Point, Scope};
use crate::persist_buffer::warps::Warp;

/// A run, told step by step.
pub(super) struct Run<'q> {
    question: &'q Question,
    /// Per canonical name of a warp the one that is printed. A warp gets it with its first operation.
    warps: [Option<Warp>; WARPS],
    /// Per SM, per canonical name of a line on its way the one that is printed.
    lines: [Vec<Line>; 2],
    /// How many lines were written, if each is written once.
    written: u32,
    /// The operations, with their warps.
    program: Vec<(Warp, String)>,
    told: Vec<String>,
    last: Option<Step>,
}

impl Run<'_> {
    pub(super) fn new(question: &Question) -> Run<'_> {
        Run {
            question,
            warps: [None; WARPS],
            lines: [Vec::new(), Vec::new()],
            written: 0,
            program: Vec::new(),
            told: Vec::new(),
            last: None,
        }
    }

    /// Tells of a step from a state of the search.
    pub(super) fn take(&mut self, state: &State, step: Step) {
        if let Step::Store(warp, _) | Step::Issue(warp, ..) = step {
            self.name_warp(warp);
        }
        if let Step::Store(warp, line) = step {
            self.name_line(self.question.sm(warp), line);
        }
        self.tell(state, step);
        self.last = Some(step);
        let mut after = state.clone();
        if self.question.take(&mut after, step).is_ok() {
            self.tell_flushes(state, step, &after);
            let mut words = vec![0; encode::words(self.question) as usize];
            let names = encode::pack(self.question, &after, &mut words);
            self.rename(&names);
        }
    }

    /// Gives a warp its name, if it has none: the smallest of its SM that is free.
    fn name_warp(&mut self, warp: Warp) {
        let sm = self.question.sm(warp);
        let is_free = |name: &Warp| self.question.sm(*name) == sm && !self.warps.contains(&Some(*name));
        if self.warps[usize::from(warp.0)].is_none() {
            self.warps[usize::from(warp.0)] = self.question.all_warps().find(is_free);
        }
    }

    /// The printed name.
    fn warp(&self, warp: Warp) -> Warp {
        self.warps[usize::from(warp.0)].unwrap_or(warp)
    }

    /// Gives a line its name, if it has none: the smallest that no line on its way has, or one that no line had.
    fn name_line(&mut self, sm: Sm, line: Line) {
        if (line.0 as usize) < self.lines[usize::from(sm.0)].len() {
            return;
        }
        let is_free = |name: &Line| self.lines.iter().all(|names| !names.contains(name));
        let name = match self.question.stores {
            Stores::Any => (0..).map(Line).find(is_free).unwrap_or(line),
            Stores::OncePerLine => Line(self.written),
        };
        let names = &mut self.lines[usize::from(sm.0)];
        names.resize(line.0 as usize, name);
        names.push(name);
        self.written += 1;
    }

    fn rename(&mut self, names: &Names) {
        self.warps = names.old_warps().map(|old| self.warps[usize::from(old)]);
        for sm in self.question.all_sms() {
            let lines = names.old_lines(sm).iter().map(|old| self.line(sm, *old)).collect();
            self.lines[usize::from(sm.0)] = lines;
        }
    }

    /// The printed name.
    fn line(&self, sm: Sm, line: Line) -> Line {
        self.lines[usize::from(sm.0)].get(line.0 as usize).copied().unwrap_or(line)
    }

    fn line_text(&self, sm: Sm, line: Line) -> String {
        format!("L{}", self.line(sm, line).0)
    }

    fn warp_text(&self, warp: Warp) -> String {
        match self.question.sms {
            Sms::One => format!("w{}", warp.0),
            Sms::Two => format!("w{} (SM{})", warp.0, self.question.sm(warp).0),
        }
    }

    fn tell(&mut self, state: &State, step: Step) {
        let text = match step {
            Step::Drain(sm) => match state.buffer(sm).entries().next().map(|entry| entry.kind) {
                Some(Kind::Persist(line, _)) => format!("SM{}: {} is flushed", sm.0, self.line_text(sm, line)),
                Some(Kind::Point(point)) => format!("SM{}: {} leaves the head of the buffer", sm.0, operation(point)),
                None => String::new(),
            },
            Step::Evict(sm, line) => format!("SM{}: {} is evicted and flushed", sm.0, self.line_text(sm, line)),
            Step::Acknowledge(sm, line) => format!("SM{}: {} is durable", sm.0, self.line_text(sm, line)),
            Step::AcknowledgeAll(sm) => format!("SM{}: all lines in flight are durable", sm.0),
            Step::Store(warp, line) => {
                let line = self.line_text(self.question.sm(warp), line);
                self.tell_operation(warp, format!("store {line}"))
            }
            Step::Issue(warp, point, source) => {
                let flag = self.flag(warp, point, source);
                self.tell_operation(warp, format!("{}{flag}", operation(point)))
            }
        };
        self.told.push(text);
    }

    /// A warp releases the flag with its number. The reduced search does not know who released.
    fn flag(&self, warp: Warp, point: Point, source: Source) -> String {
        let is_reduced = self.question.search == Search::Reduced;
        let flag = |warp: Warp| format!(" f{}", self.warp(warp).0);
        match (point, source) {
            (Point::Release(_), _) => flag(warp),
            (Point::Acquire(_), Source::SameBlock(_) | Source::Device(_)) if is_reduced => " (released)".to_owned(),
            (Point::Acquire(_), Source::SameBlock(from) | Source::Device(from)) => flag(from),
            (Point::Acquire(_), Source::Unrelated) => match self.question.acquires {
                Acquires::Anything => " (initial value)".to_owned(),
                Acquires::Released => " (scopes too narrow)".to_owned(),
            },
            (Point::OFence | Point::DFence, _) => String::new(),
        }
    }

    fn tell_operation(&mut self, warp: Warp, text: String) -> String {
        let warp = self.warp(warp);
        let line = format!("{}: {text}", self.warp_text(warp));
        self.program.push((warp, text));
        line
    }

    /// What the hardware flushes by itself after a step.
    fn tell_flushes(&mut self, state: &State, step: Step, after: &State) {
        if self.question.timing == Timing::Any {
            return;
        }
        for sm in self.question.all_sms() {
            let acknowledged = usize::from(matches!(step, Step::Acknowledge(of, _) if of == sm));
            let known = state.buffer(sm).in_flight().len() - acknowledged;
            for flight in after.buffer(sm).in_flight().iter().skip(known) {
                self.told.push(format!("SM{}: {} is flushed", sm.0, self.line_text(sm, flight.line)));
            }
        }
    }

    /// The whole story; the last step, from this state, breaks the promise.
    pub(super) fn counterexample(mut self, state: &State, violation: Violation) -> Counterexample {
        let text = match violation {
            Violation::Order => self.overtaken(state),
            Violation::Durability => "broken: a dFence is complete, and not all before it is durable".to_owned(),
            Violation::Stuck => "broken: the hardware can do nothing any more".to_owned(),
        };
        self.told.push(text);
        let operations = self.program.len() as u8;
        Counterexample { program: self.programs(), operations, run: self.told, violation }
    }

    fn overtaken(&self, state: &State) -> String {
        let early = match self.last {
            Some(Step::Acknowledge(sm, line)) => {
                state.buffer(sm).in_flight().iter().find(|it| it.line == line).map(|it| (sm, line, it.data))
            }
            Some(Step::Evict(sm, line)) => state.buffer(sm).entries().find_map(|entry| match entry.kind {
                Kind::Persist(other, data) if other == line => Some((sm, line, data)),
                _ => None,
            }),
            _ => None,
        };
        let Some((sm, line, persist)) = early else { return String::new() };
        let preceding = state.monitor.preceding[usize::from(persist.0)].without(Persists::of(persist));
        let missing: Vec<String> = preceding.iter().filter_map(|persist| self.place(state, persist)).collect();
        let line = self.line_text(sm, line);
        format!("broken: {} is ordered before the store to {line}, and can be lost alone", missing.join(", "))
    }

    /// The line of a persist on its way.
    fn place(&self, state: &State, persist: Persist) -> Option<String> {
        self.question.all_sms().find_map(|sm| {
            let buffer = state.buffer(sm);
            let entry = buffer.entries().find_map(|entry| match entry.kind {
                Kind::Persist(line, data) if data == persist => Some(line),
                _ => None,
            });
            let flight = buffer.in_flight().iter().find(|flight| flight.data == persist).map(|it| it.line);
            entry.or(flight).map(|line| self.line_text(sm, line))
        })
    }

    fn programs(&self) -> Vec<String> {
        let of = |warp: Warp| {
            let own = self.program.iter().filter(move |(other, _)| *other == warp).map(|(_, text)| text.as_str());
            own.collect::<Vec<&str>>().join("; ")
        };
        let all = self.question.all_warps().map(|warp| (warp, of(warp))).filter(|(_, code)| !code.is_empty());
        all.map(|(warp, code)| format!("{}: {code}", self.warp_text(warp))).collect()
    }
}

fn operation(point: Point) -> &'static str {
    match point {
        Point::OFence => "oFence",
        Point::DFence => "dFence",
        Point::Acquire(Scope::Block) => "pAcq.block",
        Point::Acquire(Scope::Device) => "pAcq.device",
        Point::Release(Scope::Block) => "pRel.block",
        Point::Release(Scope::Device) => "pRel.device",
    }
}
