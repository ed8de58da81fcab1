//! Loops that the threads of a CTA go round together.
//!
//! A CTA that waits for a flag or takes a lock goes round as a whole in the code that compilers write: one thread tries, and
//! tells the others through shared memory (a *board*) or a `bar.red`; all meet at barriers and go round again if it failed.
//! No thread spins alone, since the barrier and the board are effects; but the CTA does. A *joint round* is an iteration in
//! every thread of the CTA, through the same barriers of all threads, with no effect but writes to boards, that returns to
//! its head with every live register unchanged. It can be left out of an execution in all threads at once, as a spin is out
//! of one (see `loops::spin`): what remains has less order, if no event that remains reads from a write that goes. That is so if
//! a board is written by one thread, once in each round and before a barrier, and others read it behind that barrier and,
//! if the next round can write it before its first barrier, before the last one: barriers and coherence then let a read
//! return nothing but the write of its own round. [`settle`] looks at all runs for it, and where it does not hold the loops
//! are unrolled.
//!
//! At most one thread decides by anything else than boards and what `bar.red` returns: so no thread leaves because of what
//! another does in a later round. That they leave in the same round is not seen here, still: an execution in which one thread leaves in the round
//! after which another goes on must not exist. Whoever asks for joint rounds to be spins ([`Joint::Spins`]) has to look for one (a
//! round that all go through before it can be left out, so one that begins with that round is enough).

use fencepost_syntax::Span;
use fencepost_syntax::sorted::{SortedMap, SortedSet};

use crate::ids::{AddressId, EventId, LocationId, ThreadId, TraceId};
use crate::program::{Barrier, Place, Program};
use crate::unfold::control::flow::Flow;
use crate::unfold::loops::joint::{Walk, loops, meets_all};
use crate::unfold::run::runner::Runner;
use crate::unfold::run::state::{Begun, State};
use crate::unfolding::{Event, EventKind, TraceEnd, Unfolding};
use crate::value::expression::{Expression, Leaf};

impl Runner<'_> {
    /// Whether a joint round may go through this barrier.
    pub(crate) fn meets_all(&self, at: usize, barrier: &Barrier) -> bool {
        self.together.is_inside(at) && meets_all(barrier.kind, barrier.level, barrier.count.is_some())
    }

    /// Whether a joint round may write this.
    pub(crate) fn is_board(&self, at: usize, targets: &[AddressId]) -> bool {
        let is_shared =
            |target: &AddressId| self.together.memory.contains(&self.program.addresses[target.index()].location);
        self.together.is_inside(at) && targets.iter().all(is_shared)
    }

    pub(crate) fn is_board_write(&self, event: EventId) -> bool {
        let event = &self.unfolding.events[event.index()];
        match event.kind {
            EventKind::Write { location, .. } => {
                event.rmw_partner.is_none() && self.together.memory.contains(&location)
            }
            _ => false,
        }
    }

    /// Whether effects since an arrival at a head, that a joint round may have, are those of one: it meets the others.
    pub(crate) fn is_excused(&self, state: &State, (excused, path): (u32, usize)) -> bool {
        let meets = |event: &EventId| is_meeting(&self.unfolding.events[event.index()]);
        state.excused == excused || state.path[path..].iter().any(meets)
    }

    /// The effects that tell one arrival at a head from another.
    pub(crate) fn effects_for(&self, head: usize, state: &State) -> u32 {
        match self.together.loops.contains_key(&head) {
            true => state.effects - state.excused,
            false => state.effects,
        }
    }

    pub(crate) fn note_begun(&self, state: &mut State, head: usize, again: bool) {
        if self.together.loops.contains_key(&head) {
            state.begun.push(Begun { path: state.path.len(), again });
        }
    }

    /// The trace that was recorded last.
    pub(crate) fn note_walk(&mut self, trace: TraceId, at: usize, begun: Vec<Begun>) {
        if self.together.loops.is_empty() {
            return;
        }
        let recorded = &self.unfolding.traces[trace.index()];
        let round = begun.last().and_then(|begun| recorded.events.get(begun.path..)).unwrap_or_default();
        let spins = matches!(recorded.end, TraceEnd::Spin { .. }) && self.together.loops.contains_key(&at);
        let meets = round.iter().any(|event| is_meeting(&self.unfolding.events[event.index()]));
        let sits = spins && meets;
        if sits {
            self.unfolding.joint.push(trace);
        }
        self.walks.push(Walk { trace, begun, sits });
    }
}

fn is_meeting(event: &Event) -> bool {
    matches!(&event.kind, EventKind::Barrier(barrier) if meets_all(barrier.kind, barrier.level, barrier.count.is_some()))
}

/// Whether joint rounds may be left out. What the threads that sit in one read from boards is then no wait.
pub(crate) fn settle(program: &Program, unfolding: &mut Unfolding, walks: &[Walk]) -> bool {
    let place = |walk: &Walk| program.threads[unfolding.traces[walk.trace.index()].thread.index()].place;
    let places: SortedSet<Place> = walks.iter().filter(|walk| walk.sits).map(place).collect();
    let mut boards = SortedSet::new();
    for at in places {
        let walks: Vec<&Walk> = walks.iter().filter(|walk| place(walk) == at).collect();
        let Some(group) = Group::new(program, unfolding, at, walks) else { return false };
        if !group.walks.iter().all(|walk| group.admits(walk)) || group.asking().len() > 1 {
            return false;
        }
        boards.extend(group.boards.into_keys());
    }
    for index in 0..unfolding.joint.len() {
        let trace = unfolding.joint[index];
        let events = &unfolding.events;
        if let TraceEnd::Spin { reads, .. } = &mut unfolding.traces[trace.index()].end {
            reads.retain(|read| events[read.index()].location().is_none_or(|own| !boards.contains(&own)));
        }
    }
    true
}

/// Who writes a board, and behind how many barriers of the round.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Written {
    by: ThreadId,
    behind: usize,
}

/// The threads of a CTA.
struct Group<'a> {
    unfolding: &'a Unfolding,
    walks: Vec<&'a Walk>,
    boards: SortedMap<LocationId, Written>,
    /// The barriers of a joint round.
    barriers: usize,
    /// The instructions of the loops, by thread.
    bodies: SortedMap<ThreadId, SortedSet<Span>>,
}

/// An event of a trace, and how many barriers its round has had before it.
type Step<'a> = (&'a Event, usize);

impl<'a> Group<'a> {
    /// None where the rounds of the threads do not go together.
    fn new(program: &Program, unfolding: &'a Unfolding, place: Place, walks: Vec<&'a Walk>) -> Option<Group<'a>> {
        let mut group = Group { unfolding, walks, boards: SortedMap::new(), barriers: 0, bodies: SortedMap::new() };
        let mut meetings: SortedSet<Vec<Option<String>>> = SortedSet::new();
        let mut sitting = SortedSet::new();
        for walk in group.walks.iter().filter(|walk| walk.sits) {
            let steps = group.last_round(walk);
            let identifier = |id: &Option<Expression>| id.as_ref().map(|id| format!("{id:?}"));
            let meeting = steps.iter().filter_map(|(event, _)| match &event.kind {
                EventKind::Barrier(barrier) => Some(identifier(&barrier.id)),
                _ => None,
            });
            meetings.insert(meeting.collect());
            sitting.insert(group.thread(walk));
        }
        let all = (0..program.threads.len()).map(ThreadId::new);
        let all: SortedSet<ThreadId> = all.filter(|id| program.threads[id.index()].place == place).collect();
        let [meeting] = meetings.iter().collect::<Vec<_>>()[..] else { return None };
        group.barriers = meeting.len();
        for id in &all {
            let thread = &program.threads[id.index()];
            let flow = Flow::new(program, *id, crate::unfold::options::Dependencies::Syntactic);
            let [(head, last)] = loops(thread, &flow).into_iter().collect::<Vec<_>>()[..] else { return None };
            group.bodies.insert(*id, thread.code[head..=last].iter().map(|instruction| instruction.span).collect());
        }
        let boards = group.written()?;
        group.boards = boards;
        (sitting == all).then_some(group)
    }

    fn thread(&self, walk: &Walk) -> ThreadId {
        self.unfolding.traces[walk.trace.index()].thread
    }

    fn steps(&self, events: &'a [EventId]) -> Vec<Step<'a>> {
        let mut barriers = 0;
        let step = |id: &EventId| {
            let event = &self.unfolding.events[id.index()];
            let step = (event, barriers);
            barriers += usize::from(is_meeting(event));
            step
        };
        events.iter().map(step).collect()
    }

    /// What a trace does before its first round, and in and after each.
    fn parts(&self, walk: &Walk) -> (Vec<Step<'a>>, Vec<Vec<Step<'a>>>) {
        let events = &self.unfolding.traces[walk.trace.index()].events;
        let starts = walk.begun.iter().map(|begun| begun.path);
        let ends = starts.clone().skip(1).chain([events.len()]);
        let rounds = starts.clone().zip(ends).map(|(start, end)| self.steps(&events[start..end])).collect();
        let before = starts.clone().next().unwrap_or(events.len());
        (self.steps(&events[..before]), rounds)
    }

    fn last_round(&self, walk: &Walk) -> Vec<Step<'a>> {
        self.parts(walk).1.pop().unwrap_or_default()
    }

    /// Each board has one writer, which writes it once in each joint round, behind as many barriers.
    fn written(&self) -> Option<SortedMap<LocationId, Written>> {
        let mut boards: SortedMap<LocationId, Written> = SortedMap::new();
        for walk in self.walks.iter().filter(|walk| walk.sits) {
            for (event, behind) in self.last_round(walk) {
                let EventKind::Write { location, .. } = event.kind else { continue };
                let written = Written { by: self.thread(walk), behind };
                let is_plain = event.is_main() && event.rmw_partner.is_none() && event.extent.is_none();
                if !is_plain || *boards.entry(location).or_insert(written) != written {
                    return None;
                }
            }
        }
        Some(boards)
    }

    /// Whether no event of this trace can read from a joint round that it is not in, or come between such a round's events.
    fn admits(&self, walk: &Walk) -> bool {
        let thread = self.thread(walk);
        let (before, rounds) = self.parts(walk);
        let visits = walk.begun.iter().filter(|begun| !begun.again).count();
        self.boards.iter().all(|(board, written)| {
            let touches = |(event, _): &Step<'_>| event.location() == Some(*board);
            let of_writer = thread == written.by;
            // A write that follows no barrier is not ordered behind what others did before the loop, or between two visits of it.
            let is_apart = of_writer || written.behind > 0 || visits <= 1 && !before.iter().any(touches);
            let has_order = |round: &Vec<Step<'_>>| {
                let accesses: Vec<Step<'_>> = round.iter().copied().filter(touches).collect();
                match of_writer {
                    true => self.writes_first(thread, *written, &accesses, self.passed(walk, round)),
                    false => accesses.iter().all(|step| self.reads_behind(thread, *written, *step)),
                }
            };
            is_apart && rounds.iter().all(has_order)
        })
    }

    /// The threads that decide what to do in a round by something else than a board or what `bar.red` returns. One may: if
    /// two do, one may leave because of what the other does only in its next round, or when it has left.
    fn asking(&self) -> SortedSet<ThreadId> {
        let asks = |walk: &&&Walk| {
            let trace = &self.unfolding.traces[walk.trace.index()];
            let Some(first) = walk.begun.first() else { return false };
            let inside: SortedSet<EventId> = trace.events[first.path..].iter().copied().collect();
            let decides = |leaf: &Leaf| match leaf {
                Leaf::Read(read) => {
                    let event = &self.unfolding.events[read.index()];
                    let is_told = event.location().is_some_and(|own| self.boards.contains_key(&own));
                    inside.contains(read) && self.is_in_loop(trace.thread, event) && !is_told
                }
                Leaf::BarrierResult(_) => false,
            };
            let mut leaves = Vec::new();
            trace.constraints.iter().chain(&trace.assumptions).for_each(|condition| condition.leaves(&mut leaves));
            leaves.iter().any(decides)
        };
        self.walks.iter().filter(asks).map(|walk| self.thread(walk)).collect()
    }

    /// The barriers that a round passed, all that there can be if it is over. One that the trace ends at is not passed.
    fn passed(&self, walk: &Walk, round: &[Step<'_>]) -> usize {
        let met = round.iter().filter(|(event, _)| is_meeting(event)).count();
        match self.unfolding.traces[walk.trace.index()].end {
            TraceEnd::Blocked { .. } => met.saturating_sub(1),
            TraceEnd::Exit => usize::MAX,
            _ if walk.sits => usize::MAX,
            _ => met,
        }
    }

    fn is_in_loop(&self, thread: ThreadId, event: &Event) -> bool {
        self.bodies.get(&thread).is_some_and(|body| body.contains(&event.span))
    }

    fn writes_first(&self, thread: ThreadId, written: Written, accesses: &[Step<'_>], passed: usize) -> bool {
        let Some(((first, behind), rest)) = accesses.split_first() else { return passed <= written.behind };
        let is_write = |event: &Event| matches!(event.kind, EventKind::Write { .. });
        let again = |(event, _): &Step<'_>| is_write(event) && self.is_in_loop(thread, event);
        is_write(first) && self.is_in_loop(thread, first) && *behind == written.behind && !rest.iter().any(again)
    }

    fn reads_behind(&self, thread: ThreadId, written: Written, (event, behind): Step<'_>) -> bool {
        let is_read = matches!(event.kind, EventKind::Read { .. }) && event.rmw_partner.is_none();
        let is_before_next = behind < self.barriers || written.behind > 0;
        behind > written.behind && (!self.is_in_loop(thread, event) || is_read && is_before_next)
    }
}
