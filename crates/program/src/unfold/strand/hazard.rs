//! Rules of the ISA that are broken or kept within one thread, whatever memory does: registers of a `wgmma` in flight
//! (PTX ISA 9.7.17.5), its fence (9.7.17.7.1), the turns at the barrier of a cluster (9.7.15.3), and the life cycle of tensor
//! memory (9.7.18.7). Found while unfolding. A use
//! of a register in flight is an event, and so is an access that a fence should separate from a product, because the
//! behaviour is undefined then and models say so.

use fencepost_syntax::Span;
use fencepost_syntax::sorted::SortedSet;

use crate::ids::{EventId, RegisterId};
use crate::program::asynchronous::{Action, Effect, Family, Start};
use crate::program::def_use;
use crate::program::{BarrierKind, Instruction, Operation, Program, Term};
use crate::tag::{Tag, Tags};
use crate::unfold::UnfoldError;
use crate::unfold::run::dependency::{Deps, Reads};
use crate::unfold::run::runner::Runner;
use crate::unfold::run::state::State;
use crate::unfold::strand::allocation::Life;
use crate::unfold::strand::register::{Flying, Role, is_exempt, roles};
use crate::unfolding::{EventKind, Hazard, HazardKind, Unfolding};

impl Runner<'_> {
    /// Looks at the registers of an instruction that is no `wgmma`.
    pub(crate) fn note_registers(&mut self, state: &mut State, instruction: &Instruction) -> Result<(), UnfoldError> {
        if let Operation::Async(operation) = &instruction.operation
            && operation.family == Family::Wgmma
        {
            return Ok(());
        }
        // Only threads that have a product keep books.
        if !self.flow.has_products {
            return Ok(());
        }
        let mut early = Vec::new();
        for register in def_use::used(instruction).into_iter().chain(def_use::defined(&instruction.operation)) {
            let books = &mut state.outstanding.registers;
            early.extend(books.flying.iter().flatten().filter(|flying| flying.register == register).copied());
            books.touched.insert(register, (instruction.span, None));
        }
        self.used_in_flight(state, &early, instruction.span)
    }

    /// Registers are used before their products are waited for. The use is an event, beside that of the instruction if it
    /// has one: a model says what it means, and it is shown where it happens.
    fn used_in_flight(&mut self, state: &mut State, early: &[Flying], span: Span) -> Result<(), UnfoldError> {
        for flying in early {
            state.outstanding.hazards.push((HazardKind::RegisterInFlight, flying.product, span));
        }
        let issues: Reads = early.iter().map(|flying| flying.issue).collect();
        if issues.is_empty() {
            return Ok(());
        }
        let deps = Deps { data: issues, ..Deps::default() };
        let event = self.event(state, EventKind::Issue, Tags::from_iter([Tag::InFlight]), None, deps)?;
        self.unfolding.events[event.index()].span = span;
        Ok(())
    }

    /// A product starts: its registers must be settled by a fence, and are in flight from now on.
    pub(crate) fn note_product(
        &mut self,
        state: &mut State,
        (family, issue): (Family, EventId),
        start: &Start,
    ) -> Result<(), UnfoldError> {
        let (Family::Wgmma, Effect::Product(product)) = (family, &start.effect) else { return Ok(()) };
        let span = self.span_at(state.at);
        let roles = roles(product);
        // Two products may share registers in the ways that need no fence between them, and in no other.
        let flying = state.outstanding.registers.flying.iter().flatten();
        let clashes = |flying: &&Flying| {
            roles.iter().any(|(register, role)| flying.register == *register && !is_exempt(Some(flying.role), *role))
        };
        let early: Vec<Flying> = flying.filter(clashes).copied().collect();
        self.used_in_flight(state, &early, span)?;
        self.unfenced(state, issue, &roles)?;
        let books = &mut state.outstanding;
        for (register, role) in &roles {
            books.registers.touched.insert(*register, (span, Some(*role)));
        }
        if books.registers.flying.is_empty() {
            books.registers.flying.push(Vec::new());
        }
        if let Some(open) = books.registers.flying.last_mut() {
            open.extend(roles.iter().map(|&(register, role)| Flying { register, role, product: span, issue }));
        }
        Ok(())
    }

    /// The places that a `wgmma.fence` should separate from this product: accesses to its registers, and where there is
    /// none, the product itself if it is the first. Which of the registers a product reads does not matter (`scale-d`).
    fn unfenced(&mut self, state: &mut State, issue: EventId, roles: &[(RegisterId, Role)]) -> Result<(), UnfoldError> {
        let span = self.span_at(state.at);
        let books = &mut state.outstanding.registers;
        let touches = roles.iter().filter_map(|(register, role)| {
            let (earlier, before) = books.touched.get(register)?;
            (!is_exempt(*before, *role)).then_some(*earlier)
        });
        let mut places: SortedSet<Span> = touches.collect();
        if !std::mem::replace(&mut books.is_fenced, true) && places.is_empty() {
            places.insert(span);
        }
        for place in places {
            state.outstanding.hazards.push((HazardKind::NoRegisterFence, place, span));
            let deps = Deps { data: Reads::from_iter([issue]), ..Deps::default() };
            let event = self.event(state, EventKind::Issue, Tags::from_iter([Tag::Unfenced]), None, deps)?;
            self.unfolding.events[event.index()].span = place;
        }
        Ok(())
    }

    /// A question about a register reads it when the thread has ended: what is still in flight then has no value yet.
    pub(crate) fn note_questions(&mut self, state: &mut State) -> Result<(), UnfoldError> {
        let flying: Vec<Flying> = state.outstanding.registers.flying.iter().flatten().copied().collect();
        if flying.is_empty() {
            return Ok(());
        }
        let program = self.program;
        for question in program.questions.iter().chain(&program.crash.questions) {
            let mut early = Vec::new();
            for term in question.condition.terms() {
                let Term::Register(thread, register) = term else { continue };
                early.extend(flying.iter().filter(|flying| thread == self.id && flying.register == register).copied());
            }
            self.used_in_flight(state, &early, question.span)?;
        }
        Ok(())
    }

    /// A thread arrives at the barrier of its cluster and waits, in turn (PTX ISA 9.7.15.3).
    pub(crate) fn note_cluster(&mut self, state: &mut State, kind: BarrierKind) {
        let span = self.span_at(state.at);
        let books = &mut state.outstanding;
        let hazard = match (kind, books.cluster.replace((kind, span))) {
            (BarrierKind::Arrive, Some((BarrierKind::Arrive, before))) => {
                (HazardKind::ClusterArriveTwice, before, span)
            }
            (BarrierKind::Sync, Some((BarrierKind::Sync, before))) => (HazardKind::ClusterWaitAlone, before, span),
            (BarrierKind::Sync, None) => (HazardKind::ClusterWaitAlone, span, span),
            _ => return,
        };
        books.hazards.push(hazard);
    }

    /// The hazards of a run that ends, each once.
    pub(crate) fn hazards_of(&mut self, state: &State, trace: crate::ids::TraceId) {
        let mut told = Vec::new();
        for found in &state.outstanding.hazards {
            if !told.contains(found) {
                told.push(*found);
                let (kind, first, second) = *found;
                self.unfolding.hazards.push(Hazard { kind, first, second, trace });
            }
        }
        debug_assert!(state.outstanding.registers.is_idle() || self.flow.has_products);
    }
}

/// What no single thread shows: tensor memory that nobody frees, and two `.cta_group`s in one kernel.
pub(crate) fn whole_program(program: &Program, unfolding: &mut Unfolding, lives: &[Life]) {
    for life in lives {
        for (variable, span) in &life.allocated {
            let place = |life: &Life| program.threads[life.thread.index()].place;
            let near: Vec<&Life> = lives.iter().filter(|other| place(other) == place(life)).collect();
            // A run of the only thread that deallocates which leaves it out. Which columns it frees is known where its
            // addresses are.
            let is_alone = near.iter().all(|other| other.thread == life.thread || other.deallocated.is_empty());
            let is_left_out = is_alone && life.deallocated.len() < life.allocated.len();
            let is_freed = near.iter().any(|other| other.deallocated.contains(variable)) && !is_left_out;
            let hazard = Hazard { kind: HazardKind::NeverDeallocated, first: *span, second: *span, trace: life.trace };
            if !is_freed && !unfolding.hazards.contains(&hazard) {
                unfolding.hazards.push(hazard);
            }
        }
    }
    for (index, thread) in program.threads.iter().enumerate() {
        let groups = program.threads.iter().filter(|other| other.kernel == thread.kernel);
        let first = groups.flat_map(|thread| &thread.code).find_map(|code| Some((group(&code.operation)?, code.span)));
        let own = thread.code.iter().find_map(|code| {
            let own = group(&code.operation)?;
            first.filter(|(group, _)| *group != own).map(|(_, span)| (span, code.span))
        });
        let trace = unfolding.threads.get(index).and_then(|thread| thread.traces.first()).copied();
        if let (Some((first, second)), Some(trace)) = (own, trace) {
            unfolding.hazards.push(Hazard { kind: HazardKind::MixedCtaGroup, first, second, trace });
        }
    }
}

/// The `.cta_group` of an operation that has one.
fn group(operation: &Operation) -> Option<u8> {
    let Operation::Async(operation) = operation else { return None };
    let group = match &operation.action {
        Action::Start(start) => start.tensor?.group,
        Action::Arrive(arrive) => arrive.group,
        Action::Allocate { group, .. } | Action::Deallocate { group, .. } | Action::Relinquish { group } => *group,
        _ => 0,
    };
    (group != 0).then_some(group)
}
