//! Values that justify themselves, by an oracle that shares nothing with the unfolding or the models.
//!
//! The family: P0 reads x and does what it does by whether that was 1; it, or P1 behind a flag or a barrier, reads a
//! location that P0 may have written and writes what it finds to y; a third thread copies y to x. So P0 reads 1 only if the
//! reader finds 1. Programs are trees here, and a small interpreter says what the reader may find if P0 read 1 and if it read
//! something else, with the flag found as it was. If 1 is among the former only, the 1 that P0 reads comes out of thin air
//! (PTX ISA 8.10.4), and `ptx` must refute it, if P0 released the flag. If the reader finds a 1 that was there before P0
//! decided anything, and 1 is among the latter too, what it finds does not depend on what P0 read, and `ptx` must not refute
//! it. What lies between, dependencies that the tool keeps although a compiler might find them false, is counted: a 1 that
//! P0 writes on one of its ways, and what P0 itself does behind ways that need not meet, or of which one has a fence.

mod text;
use crate::support;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use fencepost_axiom::engine::enumerate::Enumerate;
use fencepost_axiom::engine::{Ends, Engine, Exploration, Goal, Limits};
use fencepost_axiom::replay::final_states;
use fencepost_program::program::{Condition, Term};
use fencepost_program::unfold::{Dependencies, Rewriting, UnfoldOptions, unfold};
use fencepost_program::unfolding::FinalState;

use support::random::Random;
use support::{Subject, front_end};
use text::text;

const NO_LIMITS: Limits<'static> = Limits { deadline: None, memory: None, cancelled: None, work: None };

/// And whether it was there before P0 decided anything.
type Value = (u32, bool);

const FIRST: Value = (1, true);
const COPIED: Value = (0, false);

/// What P0 does. Locations are the elements of an array, all 1 at first.
#[derive(Clone, Debug)]
enum Step {
    Store(usize, u32),
    Exchange(usize, u32),
    /// A store to the one place if the predicate holds, to the other if not; how the pointer is chosen.
    Pointer(usize, usize, u32, Pointer),
    /// It swaps for 0 where it finds what it compares with: 1 if the predicate is this, else 7.
    Swap(usize, bool),
    /// By `cp.async`, the value 0.
    Copy(usize),
    Wait,
    /// By `cp.async.bulk`, the value 0, after an arrival at the mbarrier.
    Bulk(usize),
    /// Arrives there without a copy.
    Arrive,
    /// Waits there.
    WaitBulk,
    /// Releases the flag.
    Flag,
    /// Sets it only.
    Relaxed,
    Fence,
    Guarded(bool, Box<Step>),
    Branch(Vec<Step>, Vec<Step>),
    Twice(Vec<Step>),
}

#[derive(Copy, Clone, Debug)]
enum Pointer {
    Selected,
    Moved,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Reader {
    /// P0, at its end.
    Own,
    /// P1, which acquires the flag and does not branch on it.
    Acquires,
    /// P1, which reads the flag and does not acquire it.
    Relaxed,
    /// P1 behind a barrier that P0 comes to at its end.
    Barrier,
}

#[derive(Clone, Debug)]
struct Case {
    steps: Vec<Step>,
    reader: Reader,
    read: usize,
}

// ---- The oracle ----

/// What a location may be found to hold; and of copies to it that nobody has waited for, what was written meanwhile.
#[derive(Clone, Default)]
struct Memory {
    holds: BTreeMap<usize, BTreeSet<Value>>,
    copied: BTreeMap<(usize, Copying), BTreeSet<Value>>,
}

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Copying {
    Group,
    Bulk,
}

impl Memory {
    fn of(&self, place: usize) -> BTreeSet<Value> {
        self.holds.get(&place).cloned().unwrap_or_else(|| BTreeSet::from([FIRST]))
    }

    fn set(&mut self, place: usize, value: Value) {
        self.set_one_of(place, BTreeSet::from([value]));
    }

    fn set_one_of(&mut self, place: usize, mut values: BTreeSet<Value>) {
        // A copy in flight may come before or after.
        let mut is_copied = false;
        for (_, meanwhile) in self.copied.iter_mut().filter(|((to, _), _)| *to == place) {
            meanwhile.clone_from(&values);
            is_copied = true;
        }
        values.extend(is_copied.then_some(COPIED));
        self.holds.insert(place, values);
    }

    fn copy(&mut self, place: usize, copying: Copying) {
        self.holds.insert(place, self.of(place).into_iter().chain([COPIED]).collect());
        self.copied.entry((place, copying)).or_default();
    }

    fn wait(&mut self, which: Copying) {
        for ((place, copying), mut values) in std::mem::take(&mut self.copied) {
            if copying == which {
                values.insert(COPIED);
                self.holds.insert(place, values);
            } else {
                self.copied.insert((place, copying), values);
            }
        }
    }
}

/// A run of P0 for one value of the predicate.
struct Run {
    predicate: bool,
    read: usize,
    memory: Memory,
    /// What who finds the flag as set there may read: what was there when it was released, and all that came later.
    behind: Vec<BTreeSet<Value>>,
    /// The same of a flag that is set without releasing it: what was there at the last fence or release.
    released: BTreeSet<Value>,
    ever: BTreeSet<Value>,
    has_arrived: bool,
    is_stuck: bool,
    has_relaxed: bool,
    has_decided: bool,
    /// A comparison may fail on either way.
    is_vague: bool,
}

impl Run {
    fn new(case: &Case, predicate: bool) -> Run {
        let mut run = Run {
            predicate,
            read: case.read,
            memory: Memory::default(),
            behind: Vec::new(),
            released: BTreeSet::from([FIRST]),
            ever: BTreeSet::from([FIRST]),
            has_arrived: false,
            is_stuck: false,
            has_relaxed: false,
            has_decided: false,
            is_vague: false,
        };
        run.all(&case.steps);
        run
    }

    fn all(&mut self, steps: &[Step]) {
        steps.iter().for_each(|step| self.step(step));
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Store(place, value) | Step::Exchange(place, value) => self.write(*place, *value),
            Step::Pointer(yes, no, value, _) => {
                self.has_decided = true;
                self.write(if self.predicate { *yes } else { *no }, *value);
            }
            Step::Swap(place, when) => self.swap(*place, *when),
            Step::Copy(place) | Step::Bulk(place) => {
                let is_bulk = matches!(step, Step::Bulk(_));
                self.memory.copy(*place, if is_bulk { Copying::Bulk } else { Copying::Group });
                self.note(*place, &self.memory.of(*place));
                self.is_stuck |= is_bulk && self.has_arrived;
                self.has_arrived |= is_bulk;
            }
            Step::Wait => self.memory.wait(Copying::Group),
            Step::Arrive => {
                self.is_stuck |= self.has_arrived;
                self.has_arrived = true;
            }
            Step::WaitBulk => {
                self.is_stuck |= !self.has_arrived;
                self.memory.wait(Copying::Bulk);
            }
            Step::Flag => {
                self.released = self.memory.of(self.read);
                self.behind.push(self.released.clone());
            }
            Step::Relaxed => {
                self.behind.push(self.released.clone());
                self.has_relaxed = true;
            }
            Step::Fence => self.released = self.memory.of(self.read),
            Step::Guarded(when, step) => {
                self.has_decided = true;
                if self.predicate == *when {
                    self.step(step);
                }
            }
            Step::Branch(yes, no) => {
                self.has_decided = true;
                self.all(if self.predicate { yes } else { no });
            }
            Step::Twice(steps) => {
                self.all(steps);
                self.all(steps);
            }
        }
    }

    fn swap(&mut self, place: usize, when: bool) {
        self.has_decided = true;
        let expected = if self.predicate == when { 1 } else { 7 };
        let found = self.memory.of(place);
        if found.iter().all(|(value, _)| *value == expected) {
            self.write(place, 0);
        } else if found.iter().any(|(value, _)| *value == expected) {
            self.is_vague = true;
            let mut values = found;
            values.insert(COPIED);
            self.note(place, &values);
            self.memory.set_one_of(place, values);
        }
    }

    fn write(&mut self, place: usize, value: u32) {
        let value = (value, !self.has_decided);
        self.memory.set(place, value);
        self.note(place, &BTreeSet::from([value]));
    }

    fn note(&mut self, place: usize, values: &BTreeSet<Value>) {
        if place == self.read {
            self.behind.iter_mut().for_each(|found| found.extend(values));
            self.released.extend(values);
            self.ever.extend(values);
        }
    }

    /// What the reader may find. None if it does not find the flag set.
    fn found(&self, reader: Reader) -> Option<BTreeSet<Value>> {
        if self.is_stuck {
            return None;
        }
        match reader {
            Reader::Own | Reader::Barrier => Some(self.memory.of(self.read)),
            Reader::Acquires => (!self.behind.is_empty()).then(|| self.behind.concat()),
            Reader::Relaxed => (!self.behind.is_empty()).then(|| self.ever.clone()),
        }
    }
}

trait Concat {
    fn concat(&self) -> BTreeSet<Value>;
}

impl Concat for Vec<BTreeSet<Value>> {
    fn concat(&self) -> BTreeSet<Value> {
        self.iter().flatten().copied().collect()
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Expected {
    Refuted,
    Reachable,
    Open,
}

/// Whether the ways of every branch meet for sure, and do nothing that is done or not by an address or a comparison.
fn is_plain(steps: &[Step], is_on_way: bool) -> bool {
    steps.iter().all(|step| match step {
        Step::Store(..) | Step::Exchange(..) | Step::Flag | Step::Relaxed => true,
        Step::Fence | Step::Copy(_) | Step::Wait | Step::Bulk(_) | Step::Arrive | Step::WaitBulk => !is_on_way,
        Step::Pointer(..) | Step::Swap(..) => false,
        Step::Guarded(_, step) => is_plain(std::slice::from_ref(step), true),
        Step::Branch(yes, no) => is_plain(yes, true) && is_plain(no, true),
        Step::Twice(steps) => !is_on_way && is_plain(steps, is_on_way),
    })
}

fn is_any(steps: &[Step], wanted: fn(&Step) -> bool) -> bool {
    steps.iter().any(|step| {
        wanted(step)
            || match step {
                Step::Guarded(_, step) => is_any(std::slice::from_ref(step), wanted),
                Step::Branch(yes, no) => is_any(yes, wanted) || is_any(no, wanted),
                Step::Twice(steps) => is_any(steps, wanted),
                _ => false,
            }
    })
}

/// Whether a way has a fence, for which what follows waits.
fn has_fence_on_way(steps: &[Step]) -> bool {
    let is_fence: fn(&Step) -> bool = |step| matches!(step, Step::Fence);
    steps.iter().any(|step| match step {
        Step::Guarded(_, step) => is_any(std::slice::from_ref(step), is_fence),
        Step::Branch(yes, no) => is_any(yes, is_fence) || is_any(no, is_fence),
        Step::Twice(steps) => has_fence_on_way(steps),
        _ => false,
    })
}

/// Whether no address or comparison is chosen by what chooses a way: what the way does is not looked at for those.
fn is_chosen_once(steps: &[Step]) -> bool {
    let is_choice = |step: &Step| matches!(step, Step::Pointer(..) | Step::Swap(..));
    let is_way = |step: &Step| matches!(step, Step::Guarded(..) | Step::Branch(..));
    !is_any(steps, is_choice) || !is_any(steps, is_way)
}

fn expected(case: &Case) -> Expected {
    let [read_one, read_other] = [true, false].map(|predicate| Run::new(case, predicate));
    let (Some(found), other) = (read_one.found(case.reader), read_other.found(case.reader)) else {
        return Expected::Refuted;
    };
    let is_one = |(value, _): &Value| *value == 1;
    if !found.iter().any(is_one) {
        return Expected::Refuted;
    }
    match other {
        // With the other value the flag is not found as it was.
        None => Expected::Open,
        Some(other) if !other.iter().any(is_one) => {
            let is_ordered = case.reader != Reader::Acquires || !read_one.has_relaxed;
            if is_ordered { Expected::Refuted } else { Expected::Open }
        }
        Some(_) => {
            let is_free = match case.reader {
                Reader::Acquires | Reader::Relaxed => is_chosen_once(&case.steps) && !has_fence_on_way(&case.steps),
                Reader::Own | Reader::Barrier => is_plain(&case.steps, false),
            };
            if is_free && found.contains(&FIRST) && !read_other.is_vague { Expected::Reachable } else { Expected::Open }
        }
    }
}

// ---- The comparison ----

/// Whether the question of the program is reached. None if that is not to be decided.
fn is_reached(text: &str, subject: &Subject) -> Result<Option<bool>, String> {
    let Some((program, _)) = front_end(text, 1)? else { return Ok(None) };
    let dependencies = Dependencies::Real;
    let options = UnfoldOptions { bound: 3, rewriting: Rewriting::Spins, dependencies, ..UnfoldOptions::default() };
    let unfolding = unfold(&program, &options).map_err(|error| format!("{error:?}"))?;
    let question = &program.questions[0].condition;
    let mut found = false;
    let goal = Goal::new(Ends::Terminating);
    let end = Enumerate.explore(&unfolding, subject.model(), &goal, &NO_LIMITS, &mut |execution| {
        found |= final_states(&unfolding, execution).iter().any(|state| holds(question, state));
        if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    Ok((found || matches!(end, Exploration::Complete)).then_some(found))
}

fn holds(condition: &Condition, state: &FinalState) -> bool {
    let mut value = |term: &Term| match term {
        Term::Constant(value) => Some(*value),
        Term::Register(thread, register) => state.registers.get(thread.index())?.get(register.index()).copied(),
        Term::Memory(location) => state.memory.get(location.index()).copied(),
    };
    condition.evaluate(&mut value).unwrap_or(false)
}

fn simple_step(random: &mut Random, reader: Reader) -> Step {
    let place = random.below(2);
    match random.below(10) {
        0..4 => Step::Store(place, random.below(3) as u32),
        4 => Step::Exchange(place, random.below(2) as u32),
        5 => Step::Copy(place),
        6 => Step::Wait,
        7 => Step::Fence,
        _ if matches!(reader, Reader::Acquires | Reader::Relaxed) => {
            if random.below(4) == 0 {
                Step::Relaxed
            } else {
                Step::Flag
            }
        }
        _ => Step::Store(place, 0),
    }
}

fn steps(random: &mut Random, reader: Reader, most: usize, depth: usize) -> Vec<Step> {
    let mut made = Vec::new();
    for _ in 0..random.below(most + 1) {
        made.push(match random.below(if depth == 0 { 6 } else { 12 }) {
            0..3 => simple_step(random, reader),
            3..5 => Step::Guarded(random.below(2) == 0, Box::new(simple_step(random, reader))),
            5 => match random.below(3) {
                0 => Step::Swap(random.below(2), random.below(2) == 0),
                1 => Step::Pointer(random.below(2), random.below(2), 0, Pointer::Selected),
                _ => Step::Pointer(random.below(2), random.below(2), 0, Pointer::Moved),
            },
            6..10 => Step::Branch(steps(random, reader, 3, depth - 1), steps(random, reader, 3, depth - 1)),
            _ => Step::Twice(steps(random, reader, 2, depth - 1)),
        });
    }
    made
}

fn case(random: &mut Random) -> Case {
    let reader = random.pick(&[Reader::Own, Reader::Acquires, Reader::Acquires, Reader::Relaxed, Reader::Barrier]);
    let mut steps = steps(random, reader, 3, 2);
    if matches!(reader, Reader::Acquires | Reader::Relaxed) && random.below(3) > 0 {
        steps.push(Step::Flag);
    }
    if random.below(3) == 0 {
        let at = random.below(steps.len() + 1);
        steps.insert(at, Step::Wait);
    }
    if random.below(3) == 0 {
        with_bulk(random, &mut steps);
    }
    Case { steps, reader, read: random.below(2) }
}

/// Adds a bulk copy on a way of a branch, with the wait for it there or behind the ways.
fn with_bulk(random: &mut Random, steps: &mut Vec<Step>) {
    let is_branch = |step: &Step| matches!(step, Step::Branch(..));
    let at = match steps.iter().position(is_branch) {
        Some(at) => at,
        None => {
            let at = random.below(steps.len() + 1);
            steps.insert(at, Step::Branch(Vec::new(), Vec::new()));
            at
        }
    };
    let (place, is_yes, is_behind) = (random.below(2), random.below(3) == 0, random.below(2) == 0);
    let mut put = |steps: &mut Vec<Step>, from: usize, step: Step| {
        let at = from + random.below(steps.len() + 1 - from);
        steps.insert(at, step);
        at
    };
    if let Step::Branch(yes, no) = &mut steps[at] {
        let (way, other) = if is_yes { (yes, no) } else { (no, yes) };
        let copy = put(way, 0, Step::Bulk(place));
        if is_behind {
            put(other, 0, Step::Arrive);
        } else {
            put(way, copy + 1, Step::WaitBulk);
        }
    }
    if is_behind {
        put(steps, at + 1, Step::WaitBulk);
    }
}

/// The programs with one step less.
fn smaller(steps: &[Step]) -> Vec<Vec<Step>> {
    let mut found = Vec::new();
    for at in 0..steps.len() {
        let with = |between: Vec<Step>| [&steps[..at], &between, &steps[at + 1..]].concat();
        found.push(with(Vec::new()));
        match &steps[at] {
            Step::Branch(yes, no) => {
                found.extend(smaller(yes).into_iter().map(|yes| with(vec![Step::Branch(yes, no.clone())])));
                found.extend(smaller(no).into_iter().map(|no| with(vec![Step::Branch(yes.clone(), no)])));
            }
            Step::Twice(steps) => {
                found.push(with(steps.clone()));
                found.extend(smaller(steps).into_iter().map(|steps| with(vec![Step::Twice(steps)])));
            }
            _ => {}
        }
    }
    found
}

/// What is wrong with the answer, and the answer.
fn judge(case: &Case, subject: &Subject) -> (Expected, Option<bool>, Option<String>) {
    let expected = expected(case);
    let answer = match is_reached(&text(case), subject) {
        Ok(answer) => answer,
        Err(message) => return (expected, None, Some(message)),
    };
    let wrong = match (expected, answer) {
        (Expected::Refuted, Some(true)) => Some("a value out of thin air".to_string()),
        (Expected::Reachable, Some(false)) => Some("refuted, and depends on nothing".to_string()),
        _ => None,
    };
    (expected, answer, wrong)
}

#[test]
#[allow(clippy::panic, clippy::print_stdout, reason = "a test may panic and print")]
fn values_that_justify_themselves_are_refuted_and_no_others() {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (first, count) = (number("SEED", 0), number("PROGRAMS", 600));
    let ptx = Subject::ptx();
    let mut tally = BTreeMap::<String, u64>::new();
    for seed in first..first + count {
        let mut case = case(&mut Random::new(seed));
        let (expected, answer, wrong) = judge(&case, &ptx);
        *tally.entry(format!("{expected:?}, reached {answer:?}")).or_default() += 1;
        let Some(mut message) = wrong else { continue };
        while let Some((small, said)) = smaller(&case.steps).into_iter().find_map(|steps| {
            let small = Case { steps, ..case.clone() };
            let (.., wrong) = judge(&small, &ptx);
            wrong.map(|message| (small, message))
        }) {
            (case, message) = (small, said);
        }
        panic!("seed {seed}: {message}\n{}", text(&case));
    }
    println!("{tally:?}");
    let has = |wanted: &str| tally.iter().any(|(name, count)| name.starts_with(wanted) && *count > 0);
    assert!(has("Refuted, reached Some(false)") && has("Reachable, reached Some(true)"), "{tally:?}");
}
