//! Small executions built by hand, so that pictures and stories can be tested without a front end or an engine, and a
//! check that a text is well-formed XML.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use fencepost_axiom::execution::Execution;
use fencepost_program::expression::Expression;
use fencepost_program::program::{BarrierKind, BarrierLevel, BarrierRule, Place, Scope};
use fencepost_program::tag::Tags;
use fencepost_program::unfolding::{
    BarrierEvent, BarrierMatching, Event, EventKind, LocationInfo, ThreadUnfolding, Trace, TraceEnd, Traces, Unfolding,
};
use fencepost_program::value::{Type, Value};
use fencepost_program::{AddressId, EventId, LocationId, ThreadId, TraceId};
use fencepost_syntax::{Source, Span};

pub struct Built {
    pub unfolding: Unfolding,
    pub source: Source,
    pub execution: Execution,
}

impl Built {
    pub fn text(&self, span: Span) -> String {
        self.source.slice(span).to_owned()
    }
}

/// Instructions are added thread by thread; `rf`, `co`, … then name events by their letter (`a` is the first).
pub struct Builder {
    unfolding: Unfolding,
    text: String,
    values: Vec<Option<Value>>,
    rf: Vec<(EventId, EventId)>,
    co: Vec<(EventId, EventId)>,
    sync_fence: Vec<(EventId, EventId)>,
    barriers: BarrierMatching,
}

pub const fn gpu(gpu: u32, cta: u32) -> Place {
    Place::Gpu { gpu, cluster: cta, cta }
}

impl Builder {
    pub fn new(locations: &[(&str, i128)]) -> Builder {
        let unfolding = Unfolding {
            barrier_rule: BarrierRule::Ptx,
            events: Vec::new(),
            threads: Vec::new(),
            traces: Vec::new(),
            locations: Vec::new(),
            ..Unfolding::default()
        };
        let mut builder = Builder {
            unfolding,
            text: String::new(),
            values: Vec::new(),
            rf: Vec::new(),
            co: Vec::new(),
            sync_fence: Vec::new(),
            barriers: BarrierMatching::default(),
        };
        for (index, (name, value)) in locations.iter().enumerate() {
            let value = Value(*value);
            let init = EventId::new(index);
            builder.unfolding.locations.push(LocationInfo {
                name: (*name).into(),
                initial: value,
                ty: Type::U32,
                init,
                ..LocationInfo::default()
            });
            let kind = EventKind::Write {
                address: AddressId::new(index),
                generic: AddressId::new(index),
                location: LocationId::new(index),
                value: Expression::Constant(value),
                ty: Type::U32,
            };
            builder.push(None, kind, "", Some(value));
        }
        builder
    }

    pub fn thread(mut self, name: &str, place: Place) -> Builder {
        let thread = ThreadId::new(self.unfolding.threads.len());
        let trace = TraceId::new(self.unfolding.traces.len());
        self.unfolding.threads.push(ThreadUnfolding {
            name: name.into(),
            place,
            traces: Traces::filled(trace, 1),
            ..ThreadUnfolding::default()
        });
        self.unfolding.traces.push(Trace {
            thread,
            events: Vec::new(),
            constraints: Vec::new(),
            assumptions: Vec::new(),
            end: TraceEnd::Exit,
            registers: Vec::new(),
        });
        self
    }

    fn push(&mut self, thread: Option<ThreadId>, kind: EventKind, text: &str, value: Option<Value>) -> EventId {
        let start = self.text.len() as u32;
        self.text.push_str(text);
        let span = Span::new(start, self.text.len() as u32);
        self.text.push('\n');
        let event = EventId::new(self.unfolding.events.len());
        let parent = self.unfolding.traces.last().and_then(|trace| trace.events.last().copied());
        self.unfolding.events.push(Event {
            thread,
            kind,
            tags: Tags::NONE,
            scope: Some(Scope::Gpu),
            parent,
            rmw_partner: None,
            address_deps: Vec::new(),
            data_deps: Vec::new(),
            control_deps: Vec::new(),
            span,
            iteration: 0,
            ..Event::default()
        });
        self.values.push(value);
        if thread.is_some() {
            self.unfolding.traces.last_mut().unwrap().events.push(event);
        }
        event
    }

    fn last_thread(&self) -> Option<ThreadId> {
        Some(ThreadId::new(self.unfolding.threads.len() - 1))
    }

    fn location(&self, name: &str) -> LocationId {
        LocationId::new(self.unfolding.locations.iter().position(|location| location.name == name).unwrap())
    }

    pub fn read(mut self, text: &str, location: &str, value: i128) -> Builder {
        let location = self.location(location);
        let address = AddressId::new(location.index());
        let kind = EventKind::Read { address, generic: address, location, ty: Type::U32 };
        self.push(self.last_thread(), kind, text, Some(Value(value)));
        self
    }

    pub fn write(mut self, text: &str, location: &str, value: i128) -> Builder {
        let location = self.location(location);
        let address = AddressId::new(location.index());
        let value = Value(value);
        let kind =
            EventKind::Write { address, generic: address, location, value: Expression::Constant(value), ty: Type::U32 };
        self.push(self.last_thread(), kind, text, Some(value));
        self
    }

    pub fn rmw(mut self, text: &str, location: &str, read: i128, written: i128) -> Builder {
        self = self.read(text, location, read).write(text, location, written);
        let count = self.unfolding.events.len();
        self.unfolding.events[count - 2].rmw_partner = Some(EventId::new(count - 1));
        self.unfolding.events[count - 1].rmw_partner = Some(EventId::new(count - 2));
        self.unfolding.events[count - 1].span = self.unfolding.events[count - 2].span;
        self
    }

    pub fn fence(mut self, text: &str) -> Builder {
        self.push(self.last_thread(), EventKind::Fence, text, None);
        self
    }

    pub fn barrier(mut self, text: &str, kind: BarrierKind) -> Builder {
        let event = BarrierEvent {
            kind,
            level: BarrierLevel::Cta,
            instance: None,
            id: None,
            count: None,
            reduction: None,
            contributed: Vec::new(),
        };
        self.push(self.last_thread(), EventKind::Barrier(event), text, None);
        self
    }

    pub fn end(mut self, end: TraceEnd) -> Builder {
        self.unfolding.traces.last_mut().unwrap().end = end;
        self
    }

    /// `x` is an init write, `a` the first event; read-modify-writes take two letters here.
    fn named(&self, name: &str) -> EventId {
        let inits = self.unfolding.locations.len();
        match self.unfolding.locations.iter().find(|location| location.name == name) {
            Some(location) => location.init,
            None => EventId::new(inits + (name.as_bytes()[0] - b'a') as usize),
        }
    }

    fn pairs(&self, text: &str) -> Vec<(EventId, EventId)> {
        let pair = |pair: &str| {
            let (from, to) = pair.split_once('>').unwrap();
            (self.named(from), self.named(to))
        };
        text.split_whitespace().map(pair).collect()
    }

    /// `x>c a>d`.
    pub fn rf(mut self, text: &str) -> Builder {
        self.rf = self.pairs(text);
        self
    }

    /// Transitively closed by the caller; init writes are put before all writes of their location.
    pub fn co(mut self, text: &str) -> Builder {
        self.co = self.pairs(text);
        self
    }

    pub fn sync_fence(mut self, text: &str) -> Builder {
        self.sync_fence = self.pairs(text);
        self
    }

    /// All members wait for each other.
    pub fn meet(mut self, names: &str) -> Builder {
        let group: Vec<EventId> = names.split_whitespace().map(|name| self.named(name)).collect();
        for &from in &group {
            for &to in &group {
                let waits = |event: EventId| match &self.unfolding.events[event.index()].kind {
                    EventKind::Barrier(barrier) => barrier.kind != BarrierKind::Arrive,
                    _ => false,
                };
                if from != to && waits(to) {
                    self.barriers.synchronises.push((from, to));
                }
            }
        }
        self.barriers.groups.push(group);
        self
    }

    pub fn build(mut self) -> Built {
        for (index, event) in self.unfolding.events.iter().enumerate() {
            if let (EventKind::Write { location, .. }, Some(_)) = (&event.kind, event.thread) {
                self.co.push((self.unfolding.locations[location.index()].init, EventId::new(index)));
            }
        }
        self.co.sort();
        self.rf.sort_by_key(|(_, read)| *read);
        let execution = Execution {
            traces: (0..self.unfolding.threads.len()).map(TraceId::new).collect(),
            events: (0..self.unfolding.events.len()).map(EventId::new).collect(),
            rf: self.rf,
            co: self.co,
            sync_fence: self.sync_fence,
            barriers: self.barriers,
            values: self.values,
            weight: 1,
        };
        Built { unfolding: self.unfolding, source: Source::new("test.litmus", self.text), execution }
    }
}

/// Compares with a file under `tests/snapshots`; `UPDATE=1` rewrites it.
pub fn snapshot(name: &str, actual: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == actual, "{name} differs from the snapshot; run with UPDATE=1 and look at the change\n{actual}");
}

/// Tags balance, attributes are quoted, entities are known: enough to know that any XML reader accepts it.
pub fn well_formed(text: &str) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        entities(&rest[..at])?;
        let end = rest[at..].find('>').ok_or("unclosed tag")? + at;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            let top = open.pop().ok_or_else(|| format!("</{name}> closes nothing"))?;
            if top != name {
                return Err(format!("</{name}> closes <{top}>"));
            }
            continue;
        }
        let (body, empty) = tag.strip_suffix('/').map_or((tag, false), |body| (body, true));
        let name = body.split(char::is_whitespace).next().unwrap_or("");
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(format!("bad tag name in <{tag}>"));
        }
        attributes(&body[name.len()..])?;
        if !empty {
            open.push(name);
        }
    }
    entities(rest)?;
    if open.is_empty() { Ok(()) } else { Err(format!("left open: {open:?}")) }
}

fn attributes(text: &str) -> Result<(), String> {
    let mut rest = text.trim();
    let mut seen: Vec<&str> = Vec::new();
    while !rest.is_empty() {
        let (name, after) =
            rest.split_once("=\"").ok_or_else(|| format!("attribute without a quoted value: {rest}"))?;
        let (value, after) = after.split_once('"').ok_or("unclosed attribute")?;
        if seen.contains(&name) {
            return Err(format!("attribute {name} twice"));
        }
        seen.push(name);
        entities(value)?;
        rest = after.trim_start();
    }
    Ok(())
}

fn entities(text: &str) -> Result<(), String> {
    if let Some(bad) = text.chars().find(|c| *c == '>' || c.is_control() && *c != '\n') {
        return Err(format!("raw {bad:?}"));
    }
    for part in text.split('&').skip(1) {
        let name = part.split_once(';').map(|(name, _)| name);
        if !matches!(name, Some("amp" | "lt" | "gt" | "quot" | "apos")) {
            return Err(format!("unknown entity in &{part}"));
        }
    }
    Ok(())
}

/// Message passing, the stale read.
pub fn message_passing() -> Built {
    Builder::new(&[("data", 0), ("flag", 0)])
        .thread("P0", gpu(0, 0))
        .write("st.weak data, 1", "data", 1)
        .write("st.release.gpu flag, 1", "flag", 1)
        .thread("P1", gpu(0, 1))
        .read("ld.acquire.gpu r0, flag", "flag", 1)
        .read("ld.weak r1, data", "data", 0)
        .rf("b>c data>d")
        .build()
}

/// Store buffering with sc fences.
pub fn store_buffering() -> Built {
    Builder::new(&[("x", 0), ("y", 0)])
        .thread("P0", gpu(0, 0))
        .write("st.relaxed.gpu x, 1", "x", 1)
        .fence("fence.sc.gpu")
        .read("ld.relaxed.gpu r0, y", "y", 0)
        .thread("P1", gpu(0, 1))
        .write("st.relaxed.gpu y, 1", "y", 1)
        .fence("fence.sc.gpu")
        .read("ld.relaxed.gpu r0, x", "x", 1)
        .rf("y>c a>f")
        .sync_fence("b>e")
        .build()
}

/// Independent reads of independent writes, two GPUs.
pub fn iriw() -> Built {
    Builder::new(&[("x", 0), ("y", 0)])
        .thread("P0", gpu(0, 0))
        .write("st.relaxed.sys x, 1", "x", 1)
        .thread("P1", gpu(0, 1))
        .read("ld.acquire.sys r0, x", "x", 1)
        .read("ld.acquire.sys r1, y", "y", 0)
        .thread("P2", gpu(1, 0))
        .write("st.relaxed.sys y, 1", "y", 1)
        .thread("P3", gpu(1, 1))
        .read("ld.acquire.sys r0, y", "y", 1)
        .read("ld.acquire.sys r1, x", "x", 0)
        .rf("a>b y>c d>e x>f")
        .build()
}

/// A barrier between a producer, an arriver and a consumer, with an atomic.
pub fn barrier() -> Built {
    Builder::new(&[("x", 0), ("n", 0)])
        .thread("P0", gpu(0, 0))
        .write("st.weak x, 1", "x", 1)
        .rmw("atom.add.relaxed.cta r2, n, 1", "n", 0, 1)
        .barrier("bar.sync 0, 96", BarrierKind::Sync)
        .thread("P1", gpu(0, 0))
        .rmw("atom.add.relaxed.cta r2, n, 1", "n", 1, 2)
        .barrier("bar.arrive 0, 96", BarrierKind::Arrive)
        .thread("P2", gpu(0, 0))
        .barrier("bar.sync 0, 96", BarrierKind::Sync)
        .read("ld.weak r1, x", "x", 1)
        .rf("n>b c>e a>i")
        .co("c>f")
        .meet("d g h")
        .build()
}
