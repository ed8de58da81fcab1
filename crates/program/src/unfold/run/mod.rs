//! The run: one instruction at a time, successors on a stack.

pub(crate) mod dependency;
pub(crate) mod fence;
pub(crate) mod fold;
pub(crate) mod kernel_ends;
pub(crate) mod launch;
pub(crate) mod mbarrier_makers;
pub(crate) mod mbarrier_wait;
pub(crate) mod runner;
pub(crate) mod state;

use fencepost_syntax::litmus::Comparison;
use fencepost_syntax::{Span, limits};

use crate::ids::{EventId, RegisterId, ThreadId, TraceId};
use crate::program::def_use;
use crate::program::{
    Barrier, BarrierKind, BarrierLevel, Feature, Instruction, LocalValue, Operand, Operation, Polarity, Program, Scope,
};
use crate::tag::{Tag, Tags};
use crate::unfold::control::flow::Flow;
use crate::unfold::loops::joint::Together;
use crate::unfold::loops::spin::Arrival;
use crate::unfold::memory::objects;
use crate::unfold::run::dependency::{Deps, Reads};
use crate::unfold::run::mbarrier_makers::Makers;
use crate::unfold::run::runner::{Given, Ran, Runner};
use crate::unfold::run::state::{Decision, Slot, State};
use crate::unfold::strand::allocation::Life;
use crate::unfold::strand::tile_start::Starts;
use crate::unfold::{UnfoldError, UnfoldOptions, omission};
use crate::unfolding::{BarrierEvent, Event, EventKind, FailingIteration, Trace, TraceEnd, Unfolding};
use crate::value::Type;
use crate::value::expression::{BinaryOperator, Expression, Leaf};

/// Deeper expressions would exhaust the stack of the recursive functions on them, and time before that.
const LARGEST_EXPRESSION: u32 = 4096;
const STEPS_PER_EVENT: u64 = 64;

impl<'a> Runner<'a> {
    pub(crate) fn new(
        program: &'a Program,
        id: ThreadId,
        options: &'a UnfoldOptions,
        Given { failing, staying, constants, alone, named, stores, ran }: Given<'a>,
        unfolding: &'a mut Unfolding,
        (starts, met): (&'a Starts, &'a mut Starts),
    ) -> Runner<'a> {
        let thread = &program.threads[id.index()];
        let stack = vec![Box::new(State::new(program, thread))];
        let flow = Flow::new(program, id, options.dependencies);
        let together = Together::new(program, id, options, &flow);
        Runner {
            program,
            thread,
            id,
            options,
            failing,
            staying,
            constants,
            alone,
            unfolding,
            flow,
            stack,
            makers: Makers::new(program, id, stores),
            named,
            prepared: objects::prepared(program),
            starts,
            met,
            steps: 0,
            lives: ran.lives,
            together,
            walks: ran.walks,
            noted: ran.noted,
        }
    }

    pub(crate) fn run(mut self) -> Result<Ran, UnfoldError> {
        let limit = u64::from(self.options.max_events).saturating_mul(STEPS_PER_EVENT).saturating_add(1 << 20);
        while let Some(mut state) = self.stack.pop() {
            self.steps += 1;
            if limits::tick() {
                break;
            }
            if self.steps > limit {
                return Err(UnfoldError::TooManySteps { limit });
            }
            let Some(instruction) = self.thread.code.get(state.at) else {
                self.finish(state, TraceEnd::Exit)?;
                continue;
            };
            if let Some(&last_jump) = self.flow.heads.get(&state.at) {
                match self.arrive(&mut state, last_jump) {
                    Arrival::Enter => {}
                    Arrival::EndOrEnter(end) => {
                        // Its last iteration is the one it stays in.
                        let mut stays = state.clone();
                        stays.kept_failing = None;
                        self.finish(stays, end)?;
                    }
                    Arrival::Drop => continue,
                    Arrival::End(end) => {
                        self.finish(state, end)?;
                        continue;
                    }
                }
            }
            let at = state.at;
            omission::meet(&mut state, at);
            state.meet(at, &self.flow.joins);
            state.runs[state.at] += 1;
            self.step(state, instruction)?;
        }
        Ok(Ran { lives: self.lives, walks: self.walks, noted: self.noted })
    }

    /// Records a trace. A run that left a write out stands only for a spin (see `loops::spin`).
    pub(crate) fn finish(&mut self, mut state: Box<State>, end: TraceEnd) -> Result<(), UnfoldError> {
        if state.silent.is_some() && !matches!(end, TraceEnd::Spin { .. }) {
            return Ok(());
        }
        if end == TraceEnd::Exit {
            state.meet(self.flow.joins.end, &self.flow.joins);
            omission::meet(&mut state, self.thread.code.len());
            self.note_questions(&mut state)?;
            self.exit(&mut state)?;
        }
        if let TraceEnd::Spin { reads, .. } = &end {
            let asked_again = state.timed.iter().filter(|(wait, _)| reads.contains(wait));
            state.constraints.extend(asked_again.map(|(_, answer)| answer.clone()));
        }
        let limit = self.options.max_events;
        if self.unfolding.traces.len() >= limit as usize {
            return Err(UnfoldError::TooManyTraces { limit });
        }
        let id = TraceId::new(self.unfolding.traces.len());
        self.unfolding.threads[self.id.index()].traces.push(id);
        self.hazards_of(&state, id);
        if end == TraceEnd::Exit {
            let (allocated, deallocated) = (state.outstanding.allocated, state.outstanding.deallocated);
            let collective = state.outstanding.collective;
            self.lives.push(Life { thread: self.id, trace: id, allocated, deallocated, collective });
            self.unfolding.exits.push((id, state.control.of_exit().into_iter().collect()));
        }
        self.noted.omitted.extend(state.omitted.into_iter().map(|omitted| (id, omitted)));
        self.noted.parted.extend(state.parted.into_iter().map(|parted| (id, parted)));
        if let Some(events) = state.kept_failing {
            self.unfolding.failing.push(FailingIteration { trace: id, events });
        }
        self.unfolding.traces.push(Trace {
            thread: self.id,
            events: state.path,
            constraints: state.constraints,
            assumptions: state.assumptions,
            end,
            registers: self.final_values(state.registers),
        });
        self.note_walk(id, state.at, state.begun);
        Ok(())
    }

    /// An instruction may read and write a register in the other signedness (PTX ISA 9.4.1): what is asked of it is the bits it
    /// holds, in its own type.
    fn final_values(&self, slots: Vec<Slot>) -> Vec<Expression> {
        let own = self.thread.registers.iter().map(|register| register.ty);
        slots.into_iter().zip(own).map(|(slot, ty)| self.convert(ty, slot.value)).collect()
    }

    /// The end of a thread is an event where other threads or asynchronous operations may still use its CTA's memory, and
    /// in kernels that are launched: what launches order goes from kernel to kernel through their events, so that every
    /// kernel that ends must have one.
    fn exit(&mut self, state: &mut State) -> Result<(), UnfoldError> {
        let outlives = |feature: Feature| matches!(feature, Feature::Async | Feature::Cluster);
        let is_launched = self.thread.kernel.is_some();
        if !is_launched && !self.program.features.iter().any(|feature| outlives(feature.node)) {
            return Ok(());
        }
        state.at = state.at.min(self.thread.code.len().saturating_sub(1));
        self.event(state, EventKind::Issue, Tags::from_iter([Tag::Exit]), None, Deps::default())?;
        Ok(())
    }

    pub(crate) fn span_at(&self, at: usize) -> Span {
        self.thread.code.get(at).map_or(Span::default(), |instruction| instruction.span)
    }

    /// The guard first: whatever is under one is skipped or done, as if behind a branch.
    fn step(&mut self, mut state: Box<State>, instruction: &Instruction) -> Result<(), UnfoldError> {
        let Some((register, polarity)) = instruction.guard else {
            return self.execute(state, instruction, Reads::new());
        };
        let slot = state.registers[register.index()].clone();
        let condition = match polarity {
            Polarity::NonZero => fold::is_true(slot.value),
            Polarity::Zero => fold::is_false(slot.value),
        };
        self.decided(&mut state, &slot.reads);
        let is_converted = state.control.is_converted(state.at, &self.flow.joins);
        let reads = if is_converted { Reads::new() } else { slot.reads };
        let skip = |runner: &mut Runner<'_>, mut skipped: Box<State>| {
            // The register is what the guard left it: it depends on the guard either way.
            for defined in def_use::defined(&instruction.operation) {
                skipped.registers[defined.index()].reads.extend(&reads);
            }
            omission::went(&mut skipped, 0);
            skipped.at += 1;
            runner.stack.push(skipped);
        };
        match state.decide(&condition) {
            Decision::Always => {
                state.folded += 1;
                omission::went(&mut state, 1);
                self.execute(state, instruction, reads.clone())
            }
            Decision::Never => {
                state.folded += 1;
                skip(self, state);
                Ok(())
            }
            Decision::Open(yes, no) => {
                let mut skipped = state.clone();
                self.constrain(&mut skipped, no);
                skip(self, skipped);
                self.constrain(&mut state, yes);
                omission::went(&mut state, 1);
                self.execute(state, instruction, reads.clone())
            }
        }
    }

    fn execute(&mut self, mut state: Box<State>, instruction: &Instruction, guard: Reads) -> Result<(), UnfoldError> {
        let here = state.at;
        self.note_registers(&mut state, instruction)?;
        match &instruction.operation {
            Operation::Load { .. }
            | Operation::Store { .. }
            | Operation::VectorLoad { .. }
            | Operation::VectorStore { .. }
            | Operation::VectorUpdate(_)
            | Operation::ReadModifyWrite { .. } => {
                return self.access(state, instruction, guard);
            }
            Operation::Fence { tags, scope, cover } => return self.fence(state, *tags, *scope, cover, guard),
            Operation::MbarrierWait(wait) => return self.wait(state, wait, guard),
            Operation::Mark { tags, call } => return self.grid_or_host(state, *tags, *call, guard),
            Operation::Fill { address, bytes, tags } => return self.fill(state, address, (*bytes, *tags), guard),
            Operation::Barrier(barrier) => return self.barrier(state, barrier, guard),
            Operation::Async(operation) => return self.asynchronous(state, operation, guard),
            Operation::Multimem(operation) => return self.multimem(state, operation, guard),
            Operation::Local { destination, ty, value } => {
                let slot = self.local(&state, *ty, value, guard);
                self.set(&mut state, *destination, slot)?;
            }
            Operation::Branch { target } => {
                state.at = target.0 as usize;
                self.stack.push(state);
                return Ok(());
            }
            Operation::BranchIf { comparison, ty, left, right, target } => {
                let (left, right) = (self.operand(&state, *left), self.operand(&state, *right));
                let reads = left.reads.union(&right.reads).copied().collect();
                self.decided(&mut state, &reads);
                let condition = fold::binary(comparison_operator(*comparison), *ty, left.value, right.value);
                self.branch(state, &condition, target.0 as usize);
                return Ok(());
            }
            Operation::Exit => return self.finish(state, TraceEnd::Exit),
            Operation::Trap => {
                let (span, rests_on) = (instruction.span, state.control.all().union(&guard).copied().collect());
                let what = "a `trap`".to_owned();
                return self.finish(state, TraceEnd::Wild { span, what, rests_on });
            }
            Operation::Nothing => {}
        }
        state.at = here + 1;
        self.stack.push(state);
        Ok(())
    }

    fn branch(&mut self, mut state: Box<State>, condition: &Expression, target: usize) {
        match state.decide(condition) {
            Decision::Always => {
                state.folded += 1;
                omission::went(&mut state, 1);
                state.at = target;
            }
            Decision::Never => {
                state.folded += 1;
                omission::went(&mut state, 0);
                state.at += 1;
            }
            Decision::Open(yes, no) => {
                let mut taken = state.clone();
                self.constrain(&mut taken, yes);
                omission::went(&mut taken, 1);
                taken.at = target;
                self.stack.push(taken);
                self.constrain(&mut state, no);
                omission::went(&mut state, 0);
                state.at += 1;
            }
        }
        self.stack.push(state);
    }

    /// The run past the barrier, and the run that waits there for good. An arrive never waits.
    fn barrier(&mut self, mut state: Box<State>, barrier: &Barrier, guard: Reads) -> Result<(), UnfoldError> {
        let mut data = Reads::new();
        let mut read = |operand: Option<Operand>| {
            operand.map(|operand| {
                let slot = self.operand(&state, operand);
                data.extend(slot.reads);
                slot.value
            })
        };
        let (instance, id, count) = (read(barrier.instance), read(barrier.id), read(barrier.count));
        // Which barriers meet would depend on which barriers met.
        let mut leaves = Vec::new();
        [&instance, &id, &count].into_iter().flatten().for_each(|operand| operand.leaves(&mut leaves));
        if leaves.iter().any(|leaf| matches!(leaf, Leaf::BarrierResult(_))) {
            return Err(UnfoldError::BarrierOperand { span: self.span_at(state.at) });
        }
        let predicate = barrier.reduction.as_ref().map(|reduction| self.operand(&state, reduction.predicate));
        let contributed: Reads = predicate.iter().flat_map(|slot| &slot.reads).copied().collect();
        let operation = barrier.reduction.as_ref().map(|reduction| reduction.operation);
        let (kind, level) = (barrier.kind, barrier.level);
        if level == BarrierLevel::Cluster {
            self.note_cluster(&mut state, kind);
        }
        let reduction = operation.zip(predicate.map(|slot| slot.value));
        let reads: Vec<EventId> = contributed.iter().copied().collect();
        let event = BarrierEvent { kind, level, instance, id, count, reduction, contributed: reads };
        let tag = match barrier.kind {
            BarrierKind::Sync => Tag::BarrierSync,
            BarrierKind::Arrive => Tag::BarrierArrive,
            BarrierKind::Red => Tag::BarrierRed,
        };
        let level = match barrier.level {
            BarrierLevel::Cta => None,
            BarrierLevel::Cluster => Some(Tag::BarrierCluster),
            BarrierLevel::Warp => Some(Tag::BarrierWarp),
        };
        let tags = [Tag::Barrier, tag].into_iter().chain(level).fold(barrier.tags, Tags::with);
        let deps = Deps { data, guard, ..Deps::default() };
        let event = self.event(&mut state, EventKind::Barrier(event), tags, None, deps)?;
        state.effects += u32::from(!self.alone.meets_nobody(barrier));
        state.excused += u32::from(self.meets_all(state.at, barrier));
        if barrier.kind != BarrierKind::Arrive {
            self.finish(state.clone(), TraceEnd::Blocked { barrier: event })?;
        }
        if let Some(reduction) = &barrier.reduction {
            // On what the others contributed too, which the barrier stands for.
            let reads = contributed.into_iter().chain([event]).collect();
            let slot = Slot { value: Expression::BarrierResult(event), reads };
            self.set(&mut state, reduction.destination, slot)?;
        }
        state.at += 1;
        self.stack.push(state);
        Ok(())
    }

    fn local(&self, state: &State, ty: Type, value: &LocalValue, guard: Reads) -> Slot {
        let mut reads = guard;
        for operand in fold::mattering(value, self.options.dependencies) {
            reads.extend(self.operand(state, operand).reads);
        }
        let operand = |operand: &Operand| self.operand(state, *operand).value;
        let value = match value {
            LocalValue::Operand(source) => self.convert(ty, operand(source)),
            LocalValue::Unary(operator, source) => fold::unary(*operator, ty, operand(source)),
            LocalValue::Binary(operator, left, right) => fold::binary(*operator, ty, operand(left), operand(right)),
            LocalValue::Select { condition, then, otherwise } => {
                let condition = operand(condition);
                self.convert(ty, fold::select(condition, operand(then), operand(otherwise)))
            }
        };
        Slot { value, reads }
    }

    pub(crate) fn operand(&self, state: &State, operand: Operand) -> Slot {
        match operand {
            Operand::Register(register) => state.registers[register.index()].clone(),
            Operand::Constant(value) => Slot { value: Expression::Constant(value), reads: Reads::new() },
            Operand::Address(address) => {
                Slot { value: Expression::Constant(self.program.addresses[address.index()].value), reads: Reads::new() }
            }
        }
    }

    pub(crate) fn set(&self, state: &mut State, register: RegisterId, slot: Slot) -> Result<(), UnfoldError> {
        if fold::size(&slot.value) > LARGEST_EXPRESSION {
            let span = self.span_at(state.at);
            return Err(UnfoldError::ExpressionTooLarge { span, limit: LARGEST_EXPRESSION });
        }
        state.registers[register.index()] = slot;
        Ok(())
    }

    /// A read's value is of its location's type already.
    pub(crate) fn convert(&self, ty: Type, value: Expression) -> Expression {
        if let Expression::Read(event) = value
            && let EventKind::Read { location, .. } = self.unfolding.events[event.index()].kind
            && self.program.locations[location.index()].ty == ty
        {
            return value;
        }
        fold::convert(ty, value)
    }

    /// Adds a constraint; an equality with a constant fixes the read, since its location's type has one value of those bits.
    pub(crate) fn constrain(&self, state: &mut State, constraint: Expression) {
        if let Expression::Binary(BinaryOperator::Equal, ty, left, right) = &constraint
            && let (Expression::Read(event), Expression::Constant(value))
            | (Expression::Constant(value), Expression::Read(event)) = (&**left, &**right)
            && let Some(location) = self.unfolding.events[event.index()].location()
        {
            let own = self.program.locations[location.index()].ty;
            if ty.bits == 0 || ty.bits == own.bits {
                state.known.insert(*event, own.wrap(*value));
                let copied = self.copies_of(state, *event);
                state.known.extend(copied.into_iter().map(|source| (source, own.wrap(*value))));
            }
        }
        state.constrain(constraint);
    }

    /// Appends an event to the path.
    pub(crate) fn event(
        &mut self,
        state: &mut State,
        kind: EventKind,
        tags: Tags,
        scope: Option<Scope>,
        deps: Deps,
    ) -> Result<EventId, UnfoldError> {
        let limit = self.options.max_events;
        if self.unfolding.events.len() >= limit as usize {
            return Err(UnfoldError::TooManyEvents { limit });
        }
        let id = EventId::new(self.unfolding.events.len());
        // Strands lie beside program order.
        let is_main = |event: &&EventId| self.unfolding.events[event.index()].strand.is_none();
        let parent = state.path.iter().rev().find(is_main).copied();
        let control = state.control.of(state.at, &self.flow.joins).union(&deps.guard).copied().collect::<Reads>();
        let tags = self.space_tags(&kind, tags);
        self.unfolding.events.push(Event {
            thread: Some(self.id),
            kind,
            tags,
            scope,
            parent,
            rmw_partner: None,
            address_deps: deps.address.into_iter().collect(),
            data_deps: deps.data.into_iter().collect(),
            control_deps: control.into_iter().collect(),
            span: self.span_at(state.at),
            iteration: state.runs.get(state.at).map_or(0, |runs| runs.saturating_sub(1)),
            ..Event::default()
        });
        state.path.push(id);
        Ok(id)
    }
}

fn comparison_operator(comparison: Comparison) -> BinaryOperator {
    crate::table::comparison_operator(comparison)
}
