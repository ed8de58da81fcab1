//! The words in the boxes. Elements that one instruction accesses are named together (`s[0] to s[3]`), and an
//! mbarrier is described by its phase and not by the number that packs its state.

use fencepost_axiom::execution::Execution;
use fencepost_program::mbarrier::State;
use fencepost_program::program::{Cover, LocationRole, Scope};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, Unfolding};
use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId};
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::SortedMap;

use crate::render::scene::proxy_marks::{Gate, Mark};
use crate::render::{Options, RacingPair};
use crate::rounds::Rounds;

/// Longer instructions are cut: a column stays a column.
const LONGEST_TEXT: usize = 48;
/// Calls of C are put on several lines instead.
const LONGEST_CALL: usize = 160;
/// Values of more elements are not all written.
const MOST_VALUES: usize = 4;

/// A line of a box.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    pub(crate) text: String,
    /// Of an access: the proxy it goes through, if not the generic one.
    pub(crate) mark: Option<Mark>,
    pub(crate) kind: LineKind,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum LineKind {
    /// The text of the program.
    Program,
    /// What it does.
    Effect,
}

impl Line {
    pub(crate) fn plain(text: String) -> Line {
        Line { text, mark: None, kind: LineKind::Effect }
    }

    pub(crate) fn program(text: String) -> Line {
        Line { kind: LineKind::Program, ..Line::plain(text) }
    }
}

/// What the words are taken from.
pub(crate) struct Words<'a> {
    pub(crate) unfolding: &'a Unfolding,
    values: SortedMap<EventId, Value>,
    addresses: &'a SortedMap<Value, String>,
    races: &'a [RacingPair],
    lines: &'a SortedMap<EventId, u32>,
    rounds: Rounds,
}

impl<'a> Words<'a> {
    pub(crate) fn new(unfolding: &'a Unfolding, execution: &Execution, options: &'a Options) -> Words<'a> {
        let values = execution.events.iter().zip(&execution.values);
        let values = values.filter_map(|(event, value)| Some((*event, (*value)?))).collect();
        let rounds = Rounds::new(unfolding, execution);
        let Options { addresses, races, lines, .. } = options;
        Words { unfolding, values, addresses, races, lines, rounds }
    }

    /// The line of the source it stands in.
    pub(crate) fn line(&self, id: EventId) -> Option<u32> {
        self.lines.get(&id).copied()
    }

    /// "iteration 2".
    pub(crate) fn iteration(&self, id: EventId) -> Option<String> {
        self.rounds.name(id)
    }

    /// Whether a pair that is drawn is about this event.
    pub(crate) fn is_racing(&self, id: EventId) -> bool {
        self.races.iter().any(|race| race.first == id || race.second == id)
    }

    pub(crate) fn event(&self, id: EventId) -> Option<&'a Event> {
        self.unfolding.events.get(id.index())
    }

    pub(crate) fn value(&self, id: EventId) -> Option<Value> {
        let untouched = || {
            let info = self.unfolding.locations.get(self.location(id)?.index())?;
            info.is_untouched.then_some(info.initial)
        };
        self.values.get(&id).copied().or_else(untouched)
    }

    fn location(&self, id: EventId) -> Option<LocationId> {
        self.event(id)?.location()
    }

    pub(crate) fn is_mbarrier(&self, id: EventId) -> bool {
        let info = self.location(id).and_then(|location| self.unfolding.locations.get(location.index()));
        info.is_some_and(|info| info.role == LocationRole::Mbarrier)
    }

    /// The state of an mbarrier that the event reads or writes.
    pub(crate) fn state(&self, id: EventId) -> Option<State> {
        self.is_mbarrier(id).then(|| self.value(id).map(State::unpack)).flatten()
    }

    fn name(&self, id: EventId) -> &'a str {
        self.location(id).map_or("?", |location| location_name(self.unfolding, location))
    }

    fn value_text(&self, id: EventId) -> String {
        let Some(value) = self.value(id) else { return "?".to_owned() };
        let info = self.location(id).and_then(|location| self.unfolding.locations.get(location.index()));
        let named = match info.map(|info| info.role) {
            Some(LocationRole::Mbarrier) => Some(state_text(State::unpack(value))),
            Some(LocationRole::TensorMap) => self.addresses.get(&value).cloned(),
            Some(LocationRole::Data) | None => None,
        };
        named.unwrap_or_else(|| value.to_string())
    }

    /// The init writes, one text per variable: `init s[0] to s[3] = 0`.
    pub(crate) fn inits(&self) -> Vec<(Vec<EventId>, String)> {
        let names: Vec<&str> = self.unfolding.locations.iter().map(|location| location.name.as_str()).collect();
        let mut texts = Vec::new();
        for range in ranges(&names) {
            let events: Vec<EventId> =
                self.unfolding.locations.iter().skip(range.first).take(range.count).map(|info| info.init).collect();
            let is_mbarrier = events.first().is_some_and(|event| self.is_mbarrier(*event));
            let text = if is_mbarrier {
                format!("init {}: {}", range.name, self.value_list(&events))
            } else {
                format!("init {} = {}", range.name, self.value_list(&events))
            };
            texts.push((events, text));
        }
        texts
    }

    fn value_list(&self, events: &[EventId]) -> String {
        let mut values: Vec<String> = events.iter().map(|event| self.value_text(*event)).collect();
        if values.iter().all(|value| Some(value) == values.first()) {
            values.truncate(1);
        }
        if values.len() > MOST_VALUES {
            values.truncate(MOST_VALUES);
            values.push("…".to_owned());
        }
        values.join(", ")
    }

    /// What the events of one box do to memory: a line per variable, direction and proxy.
    pub(crate) fn effects(&self, events: &[EventId]) -> Vec<Line> {
        if let [read, write] = events
            && let (Some(before), Some(after)) = (self.state(*read), self.state(*write))
        {
            return vec![Line::plain(format!("{}: {}", self.name(*write), change(before, after)))];
        }
        let mut kinds: Vec<(&'static str, Option<Mark>, Vec<EventId>)> = Vec::new();
        for id in events {
            let Some(event) = self.event(*id).filter(|event| event.location().is_some()) else { continue };
            let kind = (if event.is_read() { "R" } else { "W" }, Mark::of(event));
            match kinds.iter_mut().find(|(letter, mark, _)| (*letter, *mark) == kind) {
                Some((_, _, members)) => members.push(*id),
                None => kinds.push((kind.0, kind.1, vec![*id])),
            }
        }
        // What is read before what is written; a stable sort keeps the order otherwise.
        kinds.shared_sort_by_key(|(letter, ..)| *letter);
        let mut lines = Vec::new();
        for (letter, mark, members) in kinds {
            let names: Vec<&str> = members.iter().map(|id| self.name(*id)).collect();
            for range in ranges(&names) {
                let events: Vec<EventId> = members.iter().copied().skip(range.first).take(range.count).collect();
                let text = self.access(letter, &range.name, &events);
                lines.push(Line { text, mark, kind: LineKind::Effect });
            }
        }
        lines
    }

    fn access(&self, letter: &str, name: &str, events: &[EventId]) -> String {
        match events {
            [id] if self.is_mbarrier(*id) => match (self.event(*id), self.state(*id)) {
                (Some(event), Some(state)) if event.is_read() => format!("{name}: {}", wait(event, state)),
                _ => format!("{name}: {}", self.value_text(*id)),
            },
            _ => format!("{letter} {name} = {}", self.value_list(events)),
        }
    }

    /// What the end of a strand does: `full: complete_tx 16 B`, `phase 0 complete`.
    pub(crate) fn completion(&self, read: EventId, write: EventId) -> Vec<Line> {
        let name = self.name(write);
        let (Some(before), Some(after)) = (self.state(read), self.state(write)) else {
            return self.effects(&[read, write]);
        };
        let bytes = if before.phase == after.phase { before.tx - after.tx } else { before.tx };
        let what = if bytes == 0 { "arrive".to_owned() } else { format!("complete_tx {bytes} B") };
        vec![Line::plain(format!("{name}: {what}")), Line::plain(change(before, after))]
    }

    /// The name of a reads-from edge: of an mbarrier, with the phase that was read.
    pub(crate) fn reads_from(&self, read: EventId) -> String {
        match (self.event(read), self.state(read)) {
            (Some(event), Some(state)) if event.has(Tag::MbarrierWait) && state.phase > 0 => {
                format!("rf: phase {} complete", state.phase - 1)
            }
            (_, Some(state)) if state.is_live() => format!("rf: phase {}", state.phase),
            _ => "rf".to_owned(),
        }
    }

    /// The location of an access, for people.
    pub(crate) fn place(&self, id: EventId) -> Option<&'a str> {
        self.location(id).map(|location| location_name(self.unfolding, location))
    }
}

pub(crate) fn location_name(unfolding: &Unfolding, location: LocationId) -> &str {
    unfolding.locations.get(location.index()).map_or("?", |location| location.name.as_str())
}

/// `phase 0, 1 of 2 pending, 16 B`.
fn state_text(state: State) -> String {
    if !state.is_live() {
        return state.to_string();
    }
    let mut text = format!("phase {}, {} of {} pending", state.phase, state.pending, state.expected);
    if state.tx != 0 {
        text.push_str(&format!(", {} B", state.tx));
    }
    text + &errors(state)
}

fn errors(state: State) -> String {
    let found: Vec<String> = state.errors.iter().map(|error| error.to_string()).collect();
    if found.is_empty() { String::new() } else { format!(" ({})", found.join("; ")) }
}

/// What an operation made of an mbarrier: the end of a phase is the news, the next one begins at once.
fn change(before: State, after: State) -> String {
    if before.is_live() && after.is_live() && after.phase == before.phase.wrapping_add(1) {
        return format!("phase {} complete{}", before.phase, errors(after));
    }
    state_text(after)
}

/// What a wait saw.
fn wait(event: &Event, state: State) -> String {
    match (event.has(Tag::MbarrierWait), state.phase) {
        (true, 0) => "true, still in phase 0".to_owned(),
        (true, phase) => format!("true, phase {} complete", phase - 1),
        (false, _) if event.has(Tag::Mbarrier) => format!("false, {}", state_text(state)),
        (false, _) => state_text(state),
    }
}

/// A run of elements of one array, or one location.
pub(crate) struct Range {
    pub(crate) name: String,
    pub(crate) first: usize,
    pub(crate) count: usize,
}

/// Neighbouring names of neighbouring elements joined: `s[0]`, `s[1]`, `s[2]`, `x` are `s[0] to s[2]` and `x`.
pub(crate) fn ranges(names: &[&str]) -> Vec<Range> {
    let mut found: Vec<(Range, Option<(&str, u64)>)> = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let element = element(name);
        if let Some((range, Some((base, from)))) = found.last_mut()
            && element == Some((*base, *from + range.count as u64))
        {
            range.count += 1;
            let (last, join) = (*from + range.count as u64 - 1, if range.count == 2 { "," } else { " to" });
            range.name = format!("{base}[{from}]{join} {base}[{last}]");
            continue;
        }
        found.push((Range { name: (*name).to_owned(), first: at, count: 1 }, element));
    }
    found.into_iter().map(|(range, _)| range).collect()
}

/// `s@1[2]` is element 2 of `s@1`.
fn element(name: &str) -> Option<(&str, u64)> {
    let (base, index) = name.strip_suffix(']')?.rsplit_once('[')?;
    Some((base, index.parse().ok()?))
}

/// One line, short enough for a column. Of a long instruction the operands stay: the qualifiers that do not fit go.
pub(crate) fn shortened(instruction: &str) -> String {
    let words: Vec<&str> = instruction.split_whitespace().collect();
    let text = words.join(" ");
    let text = brief(text.trim_end_matches(';').trim_end());
    let text = text.as_str();
    if text.chars().count() <= LONGEST_TEXT || is_call(text) && text.chars().count() <= LONGEST_CALL {
        return text.to_owned();
    }
    if let Some((opcode, operands)) = text.split_once(' ') {
        let room = LONGEST_TEXT.saturating_sub(operands.chars().count() + 2);
        let mut kept = String::new();
        for part in opcode.split_inclusive('.') {
            if kept.chars().count() + part.chars().count() > room {
                break;
            }
            kept.push_str(part);
        }
        if kept.contains('.') {
            return format!("{}… {operands}", kept.trim_end_matches('.'));
        }
    }
    let mut cut: String = text.chars().take(LONGEST_TEXT - 1).collect();
    cut.push('…');
    cut
}

/// On several lines, where it is a call of C: its order and scope come last, and are what it is about.
pub(crate) fn wrapped(instruction: &str) -> Vec<String> {
    let text = shortened(instruction);
    let mut lines: Vec<String> = Vec::new();
    let mut open = String::new();
    for part in text.split_inclusive(", ") {
        if !open.is_empty() && (open.chars().count() + part.trim_end().chars().count()) > LONGEST_TEXT {
            lines.push(open.trim_end().to_owned());
            open = "  ".to_owned();
        }
        open.push_str(part);
    }
    lines.push(open.trim_end().to_owned());
    lines
}

fn is_call(text: &str) -> bool {
    text.ends_with(')') && text.contains('(')
}

/// C without the words that every call of the library has: `atomic_store(x, 1, relaxed)`. The order must not be cut off.
fn brief(text: &str) -> String {
    let prefixes = ["memory_order_", "memory_scope_", "thread_scope_"];
    if !prefixes.iter().any(|prefix| text.contains(prefix)) {
        return text.to_owned();
    }
    prefixes.iter().fold(text.replace("_explicit(", "("), |text, prefix| text.replace(prefix, ""))
}

/// 0 → a, 25 → z, 26 → aa.
pub(crate) fn letters(mut number: usize) -> String {
    let mut name = Vec::new();
    loop {
        name.push(b'a' + (number % 26) as u8);
        number /= 26;
        if number == 0 {
            break;
        }
        number -= 1;
    }
    name.iter().rev().map(|byte| char::from(*byte)).collect()
}

/// `gate: generic ↔ async, shared::cta`. Nothing for the brackets: their instruction says it.
pub(crate) fn gate_words(unfolding: &Unfolding, event: &Event) -> Option<String> {
    let gate = Gate::of(event)?;
    let kinds = [
        (Tag::Async, "generic ↔ async"),
        (Tag::TensorMap, "generic → tensormap"),
        (Tag::Constant, "generic ↔ constant"),
        (Tag::Texture, "generic ↔ texture"),
        (Tag::Surface, "generic ↔ surface"),
        (Tag::Alias, "between aliases"),
    ];
    let between = kinds.iter().find(|(tag, _)| event.has(*tag)).map_or("all proxies", |(_, words)| *words);
    let between = if event.has(Tag::ReadsOnly) { "generic reads → async" } else { between };
    let (name, half) = match gate {
        Gate::Whole => ("gate", None),
        Gate::Release => ("half gate", Some("release")),
        Gate::Acquire => ("half gate", Some("acquire")),
        Gate::Before | Gate::After => return None,
    };
    let mut parts = vec![between.to_owned()];
    parts.extend(half.map(|half| match event.scope {
        Some(scope) => format!("{half}.{}", scope_name(scope)),
        None => half.to_owned(),
    }));
    parts.extend(match &event.cover {
        Cover::Everything => None,
        Cover::Global => Some("global".to_owned()),
        Cover::SharedCta => Some("shared::cta".to_owned()),
        Cover::SharedCluster => Some("shared::cluster".to_owned()),
        Cover::Locations(locations) => {
            let names: Vec<&str> = locations.iter().map(|location| location_name(unfolding, *location)).collect();
            Some(ranges(&names).into_iter().map(|range| range.name).collect::<Vec<String>>().join(", "))
        }
    });
    Some(format!("{name}: {}", parts.join(", ")))
}

pub(crate) fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Cta => "cta",
        Scope::Cluster => "cluster",
        Scope::Gpu => "gpu",
        Scope::Sys => "sys",
    }
}

#[cfg(test)]
mod tests {
    use fencepost_program::mbarrier::Operator;

    use super::*;

    #[test]
    fn letters_continue_after_z() {
        let names: Vec<String> = [0, 25, 26, 51, 52, 701, 702].into_iter().map(letters).collect();
        assert_eq!(names, ["a", "z", "aa", "az", "ba", "zz", "aaa"]);
    }

    #[test]
    fn elements_of_one_array_are_named_together() {
        let names: Vec<String> =
            ranges(&["s[0]", "s[1]", "s[3]", "x", "s@1[0]", "s@1[1]", "s@1[2]"]).into_iter().map(|r| r.name).collect();
        assert_eq!(names, ["s[0], s[1]", "s[3]", "x", "s@1[0] to s@1[2]"]);
    }

    #[test]
    fn a_long_instruction_keeps_its_operands() {
        let long = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g1], 16, [full];";
        assert_eq!(shortened(long), "cp.async.bulk… [s], [g1], 16, [full]");
        assert_eq!(shortened("ld.weak  %r1, [x] ;"), "ld.weak %r1, [x]");
        let call = "int r0 = atomic_load_explicit(y, memory_order_relaxed, memory_scope_device);";
        assert_eq!(shortened(call), "int r0 = atomic_load(y, relaxed, device)");
        let call = "atomic_compare_exchange_strong_explicit(x, &r2, 7, memory_order_acq_rel, memory_order_acquire, \
                    memory_scope_work_group);";
        let lines = ["atomic_compare_exchange_strong(x, &r2, 7,", "  acq_rel, acquire, work_group)"];
        assert_eq!(wrapped(call), lines);
        assert_eq!(wrapped(long), ["cp.async.bulk… [s], [g1], 16, [full]"]);
    }

    #[test]
    fn an_mbarrier_is_described_by_its_phase() {
        let fresh = State::init(2);
        let expecting = fresh.after(Operator::ArriveExpectTx, Value(16));
        assert_eq!(state_text(fresh), "phase 0, 2 of 2 pending");
        assert_eq!(change(fresh, expecting), "phase 0, 1 of 2 pending, 16 B");
        let done = expecting.after(Operator::ArriveExpectTx, Value(0)).after(Operator::CompleteTx, Value(16));
        assert_eq!(change(expecting, done), "phase 0 complete");
        assert_eq!(state_text(State::default()), "no mbarrier");
    }
}
