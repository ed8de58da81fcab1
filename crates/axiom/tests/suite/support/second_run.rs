//! One thread by itself, with numbers in its registers and guessed answers to its reads (see [`super::second`]).

use std::collections::{BTreeMap, BTreeSet};

use fencepost_program::program::{
    AddressOperand, Cover, FailedCas, FenceCover, Initial, LocalValue, Operand, Operation, Polarity, Program, Scope,
    Space, Thread, Update,
};
use fencepost_program::tag::{Tag, Tags};
use fencepost_program::{AddressId, LocationId, RegisterId};

use super::machine::{compute, local, operator, wrap};

/// Longer runs are cut.
const MOST_STEPS: usize = 90;
const MOST_READS: usize = 6;
/// How often a thread goes on in a state that it has been in.
const MOST_RETURNS: usize = 1;

/// An instruction, and how often it was executed before.
pub(super) type Place = (usize, usize);

/// What a thread did.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) events: Vec<Happened>,
    pub(super) registers: Vec<i128>,
    pub(super) end: End,
    /// What each read returned.
    pub(super) answers: BTreeMap<Place, i128>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum End {
    Exit,
    /// It is where it was, having read these.
    Spin(Vec<usize>),
    /// Too long, or an access to nowhere.
    Cut,
    /// The next read has no answer.
    Asks(LocationId),
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Access {
    pub(super) address: AddressId,
    pub(super) location: LocationId,
    /// Of the location's type.
    pub(super) value: i128,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum What {
    Read(Access),
    Write(Access),
    Fence,
}

#[derive(Clone, Debug)]
pub(super) struct Happened {
    pub(super) what: What,
    pub(super) place: Place,
    pub(super) tags: Tags,
    pub(super) scope: Option<Scope>,
    pub(super) cover: Cover,
    /// The other half of a read-modify-write.
    pub(super) partner: Option<usize>,
    /// Reads before it, of this run.
    pub(super) dependencies: BTreeSet<usize>,
}

impl Happened {
    pub(super) fn read(&self) -> Option<&Access> {
        if let What::Read(access) = &self.what { Some(access) } else { None }
    }

    pub(super) fn write(&self) -> Option<&Access> {
        if let What::Write(access) = &self.what { Some(access) } else { None }
    }

    /// Whether others see the same of both: not the value that a read is given.
    pub(super) fn does_as(&self, other: &Happened) -> bool {
        let same = match (&self.what, &other.what) {
            (What::Read(one), What::Read(other)) => one.address == other.address,
            (one, other) => one == other,
        };
        same && (self.tags, self.scope) == (other.tags, other.scope) && self.cover == other.cover
    }
}

/// Where the values of reads come from.
pub(super) enum Answers<'a> {
    /// One after the other.
    Given(&'a [i128]),
    /// By where they are asked for; anywhere else by location.
    By(&'a BTreeMap<Place, i128>, &'a dyn Fn(LocationId) -> i128),
}

type Reads = BTreeSet<usize>;

struct Walk<'p> {
    program: &'p Program,
    thread: &'p Thread,
    at: usize,
    registers: Vec<i128>,
    /// The reads that each register was computed from.
    from: Vec<Reads>,
    control: Reads,
    events: Vec<Happened>,
    answers: BTreeMap<Place, i128>,
    times: Vec<usize>,
}

/// The run with these answers, and before it those that stay in a state where they have been. None is longer than to the
/// first read without an answer.
pub(super) fn run(program: &Program, thread: usize, answers: &mut Answers<'_>) -> Vec<Run> {
    let code = &program.threads[thread];
    let initial = |register: &fencepost_program::program::Register| {
        let value = match register.initial {
            Initial::Value(value) => value.0,
            Initial::Address(address) => program.addresses[address.index()].value.0,
        };
        wrap(register.ty, value)
    };
    let mut walk = Walk {
        program,
        thread: code,
        at: 0,
        registers: code.registers.iter().map(initial).collect(),
        from: vec![Reads::new(); code.registers.len()],
        control: Reads::new(),
        events: Vec::new(),
        answers: BTreeMap::new(),
        times: vec![0; code.code.len()],
    };
    let mut seen: BTreeMap<(usize, Vec<i128>, usize), usize> = BTreeMap::new();
    let (mut found, mut returns) = (Vec::new(), 0);
    for _ in 0..MOST_STEPS {
        let writes = walk.events.iter().filter(|event| event.write().is_some()).count();
        let state = (walk.at, walk.registers.clone(), writes);
        if let Some(since) = seen.insert(state, walk.events.len()) {
            let is_read = |at: &usize| walk.events[*at].read().is_some();
            let reads: Vec<usize> = (since..walk.events.len()).filter(is_read).collect();
            // Stated when its last answer was asked for, and not again with each answer after it.
            if is_fresh(answers, &walk) {
                found.push(walk.ended(End::Spin(reads)));
            }
            returns += 1;
            if returns > MOST_RETURNS {
                return found;
            }
            seen.clear();
        }
        if walk.at >= code.code.len() {
            found.push(walk.ended(End::Exit));
            return found;
        }
        match walk.step(answers) {
            Ok(()) => {}
            Err(end) => {
                found.push(walk.ended(end));
                return found;
            }
        }
    }
    found.push(walk.ended(End::Cut));
    found
}

/// Whether all answers have been used.
fn is_fresh(answers: &Answers<'_>, walk: &Walk<'_>) -> bool {
    match answers {
        Answers::Given(given) => given.len() == walk.answers.len(),
        Answers::By(..) => true,
    }
}

impl Walk<'_> {
    fn ended(&self, end: End) -> Run {
        Run { events: self.events.clone(), registers: self.registers.clone(), end, answers: self.answers.clone() }
    }

    fn value(&self, operand: Operand) -> i128 {
        match operand {
            Operand::Register(register) => self.registers[register.index()],
            Operand::Constant(value) => value.0,
            Operand::Address(address) => self.program.addresses[address.index()].value.0,
        }
    }

    fn reads(&self, operand: Operand) -> Reads {
        match operand {
            Operand::Register(register) => self.from[register.index()].clone(),
            Operand::Constant(_) | Operand::Address(_) => Reads::new(),
        }
    }

    fn set(&mut self, register: Option<RegisterId>, value: i128, from: Reads) {
        if let Some(register) = register {
            self.registers[register.index()] = value;
            self.from[register.index()] = from;
        }
    }

    fn step(&mut self, answers: &mut Answers<'_>) -> Result<(), End> {
        let instruction = &self.thread.code[self.at];
        let place = (self.at, self.times[self.at]);
        self.times[self.at] += 1;
        let mut guard = Reads::new();
        let mut is_done = true;
        if let Some((register, polarity)) = instruction.guard {
            guard = self.from[register.index()].clone();
            is_done = (self.registers[register.index()] != 0) == (polarity == Polarity::NonZero);
        }
        // What is under a guard is behind a branch.
        self.control.extend(&guard);
        let operation = &instruction.operation;
        self.at += 1;
        if !is_done {
            // It is what it was because it was not set.
            if let Some(register) = destination(operation) {
                self.from[register.index()].extend(guard);
            }
            return Ok(());
        }
        match operation {
            Operation::Local { destination, ty, value } => {
                let result = local(*ty, value, &|operand| self.value(operand));
                let used = operands(value).into_iter().flat_map(|operand| self.reads(operand));
                let from = guard.into_iter().chain(used).collect();
                self.set(Some(*destination), result, from);
                Ok(())
            }
            Operation::Branch { target } => {
                self.at = target.0 as usize;
                Ok(())
            }
            Operation::BranchIf { comparison, ty, left, right, target } => {
                self.control.extend(self.reads(*left).into_iter().chain(self.reads(*right)));
                if compute(operator(*comparison), *ty, self.value(*left), self.value(*right)) != 0 {
                    self.at = target.0 as usize;
                }
                Ok(())
            }
            Operation::Exit => {
                self.at = self.thread.code.len();
                Ok(())
            }
            Operation::Nothing => Ok(()),
            _ => self.access(place, operation, guard, answers),
        }
    }

    fn access(
        &mut self,
        place: Place,
        operation: &Operation,
        guard: Reads,
        answers: &mut Answers<'_>,
    ) -> Result<(), End> {
        match operation {
            Operation::Load { destination, address, ty, tags, scope, .. } => {
                let (address, of_address) = self.address(address)?;
                let depends: Reads = of_address.union(&guard).copied().collect();
                let read = self.ask(place, address, (*tags, *scope), depends, answers)?;
                let value = wrap(*ty, self.events[read].read().map_or(0, |access| access.value));
                self.set(*destination, value, guard.into_iter().chain([read]).collect());
                Ok(())
            }
            Operation::Store { address, value, tags, scope, .. } => {
                let (address, of_address) = self.address(address)?;
                let depends = of_address.into_iter().chain(guard).chain(self.reads(*value)).collect();
                let value = self.value(*value);
                self.put(place, address, value, (*tags, *scope), depends);
                Ok(())
            }
            Operation::ReadModifyWrite { .. } => self.modify(place, operation, guard, answers),
            Operation::Fence { tags, scope, cover: FenceCover::Fixed(cover) } => {
                let (tags, scope, cover) = (*tags, *scope, cover.clone());
                self.happen(Happened {
                    what: What::Fence,
                    place,
                    tags,
                    scope,
                    cover,
                    partner: None,
                    dependencies: guard,
                });
                Ok(())
            }
            other => unreachable!("no program of this test has {other:?}"),
        }
    }

    /// PTX ISA 9.7.15.5 `atom`.
    fn modify(
        &mut self,
        place: Place,
        operation: &Operation,
        guard: Reads,
        answers: &mut Answers<'_>,
    ) -> Result<(), End> {
        let Operation::ReadModifyWrite { destination, address, update, ty, read_tags, write_tags, scope, .. } =
            operation
        else {
            return Ok(());
        };
        let (address, of_address) = self.address(address)?;
        let depends: Reads = of_address.union(&guard).copied().collect();
        let read = self.ask(place, address, (*read_tags, *scope), depends.clone(), answers)?;
        let old = wrap(*ty, self.events[read].read().map_or(0, |access| access.value));
        let (new, used) = self.updated(update, *ty, old);
        if let Some(new) = new {
            let own = (!matches!(update, Update::Exchange(_))).then_some(read);
            let depends = depends.into_iter().chain(used).chain(own).collect();
            let write = self.put(place, address, new, (*write_tags, *scope), depends);
            self.events[read].partner = Some(write);
            self.events[write].partner = Some(read);
        }
        self.set(*destination, old, guard.into_iter().chain([read]).collect());
        Ok(())
    }

    fn updated(&self, update: &Update, ty: fencepost_program::value::Type, old: i128) -> (Option<i128>, Reads) {
        match update {
            Update::Exchange(operand) => (Some(self.value(*operand)), self.reads(*operand)),
            Update::Apply(operator, operand) => {
                (Some(compute(*operator, ty, old, self.value(*operand))), self.reads(*operand))
            }
            Update::Increment(limit) => {
                let is_over = old >= wrap(ty, self.value(*limit));
                (Some(if is_over { 0 } else { old + 1 }), self.reads(*limit))
            }
            Update::Decrement(limit) => {
                let last = wrap(ty, self.value(*limit));
                (Some(if old == 0 || old > last { last } else { old - 1 }), self.reads(*limit))
            }
            Update::CompareAndSwap { expected, new, on_failure } => {
                let is_equal = old == wrap(ty, self.value(*expected));
                let used = self.reads(*expected).into_iter().chain(self.reads(*new)).collect();
                match on_failure {
                    _ if is_equal => (Some(self.value(*new)), used),
                    FailedCas::WritesOldValue => (Some(old), used),
                    FailedCas::NoWrite | FailedCas::Ordered { .. } => (None, used),
                }
            }
        }
    }

    fn address(&self, address: &AddressOperand) -> Result<(AddressId, Reads), End> {
        let addresses = &self.program.addresses;
        match address {
            AddressOperand::Static(address) => Ok((addresses[address.index()].canonical, Reads::new())),
            AddressOperand::Register(register) => {
                let value = self.registers[register.index()];
                let found = addresses.iter().position(|address| address.value.0 == value && address.within == 0);
                let found = found.ok_or(End::Cut)?;
                Ok((addresses[found].canonical, self.from[register.index()].clone()))
            }
        }
    }

    fn ask(
        &mut self,
        place: Place,
        address: AddressId,
        how: (Tags, Option<Scope>),
        depends: Reads,
        answers: &mut Answers<'_>,
    ) -> Result<usize, End> {
        let location = self.program.addresses[address.index()].location;
        let used = self.answers.len();
        let value = match answers {
            Answers::Given(given) => *given.get(used).ok_or(End::Asks(location))?,
            Answers::By(places, otherwise) => places.get(&place).copied().unwrap_or_else(|| otherwise(location)),
        };
        if used >= MOST_READS {
            return Err(End::Cut);
        }
        self.answers.insert(place, value);
        Ok(self.happened(What::Read(Access { address, location, value }), place, how, depends))
    }

    fn put(
        &mut self,
        place: Place,
        address: AddressId,
        value: i128,
        how: (Tags, Option<Scope>),
        depends: Reads,
    ) -> usize {
        let location = self.program.addresses[address.index()].location;
        let value = wrap(self.program.locations[location.index()].ty, value);
        self.happened(What::Write(Access { address, location, value }), place, how, depends)
    }

    fn happened(
        &mut self,
        what: What,
        place: Place,
        (tags, scope): (Tags, Option<Scope>),
        dependencies: Reads,
    ) -> usize {
        let location = match &what {
            What::Read(access) | What::Write(access) => &self.program.locations[access.location.index()],
            What::Fence => unreachable!("a fence has no location"),
        };
        let mut tags = tags;
        if location.space == Some(Space::Shared) {
            tags = tags.with(Tag::Shared);
            if location.owner.is_some_and(|owner| owner != self.thread.place) {
                tags = tags.with(Tag::Remote);
            }
        }
        let cover = Cover::Everything;
        self.happen(Happened { what, place, tags, scope, cover, partner: None, dependencies })
    }

    fn happen(&mut self, mut event: Happened) -> usize {
        event.dependencies.extend(&self.control);
        self.events.push(event);
        self.events.len() - 1
    }
}

fn destination(operation: &Operation) -> Option<RegisterId> {
    match operation {
        Operation::Load { destination, .. } | Operation::ReadModifyWrite { destination, .. } => *destination,
        Operation::Local { destination, .. } => Some(*destination),
        _ => None,
    }
}

fn operands(value: &LocalValue) -> Vec<Operand> {
    match value {
        LocalValue::Operand(source) | LocalValue::Unary(_, source) => vec![*source],
        LocalValue::Binary(_, left, right) => vec![*left, *right],
        LocalValue::Select { condition, then, otherwise } => vec![*condition, *then, *otherwise],
    }
}
