//! Operations of several parts in no order among each other: `multimem` operations, one access per replica and element
//! (PTX ISA 8.2.3), and atomics of vectors (8.2.4).

use crate::few::Few;
use crate::ids::{AddressId, EventId};
use crate::program::{Multimem, MultimemAction, Operand, VectorUpdate};
use crate::unfold::UnfoldError;
use crate::unfold::memory::access::Half;
use crate::unfold::run::dependency::{Deps, Reads};
use crate::unfold::run::fold;
use crate::unfold::run::runner::Runner;
use crate::unfold::run::state::{Slot, State};
use crate::value::expression::{BinaryOperator, Expression};

impl Runner<'_> {
    pub(crate) fn multimem(
        &mut self,
        mut state: Box<State>,
        operation: &Multimem,
        guard: Reads,
    ) -> Result<(), UnfoldError> {
        let count = operation.elements();
        let bytes = i128::from(operation.ty.bits / 8) * count as i128;
        // The elements of each replica, one replica after the other.
        let mut parts = Vec::new();
        for replica in &operation.replicas {
            let (alternatives, _) = self.range(state, replica, bytes)?;
            let Some((next, targets)) = alternatives.into_iter().next() else { return Ok(()) };
            self.check_alignment(&targets, bytes, next.at)?;
            parts.extend(self.elements(&next, &targets, operation.ty)?);
            state = next;
        }
        let read = Half { ty: operation.ty, tags: operation.read_tags, scope: operation.scope };
        let write = Half { tags: operation.write_tags, ..read };
        let deps = Deps { guard: guard.clone(), ..Deps::default() };
        match &operation.action {
            MultimemAction::LoadReduce { destinations, operator } => {
                let loaded = self.load_parts(&mut state, &parts, read, &deps)?;
                for (element, destination) in destinations.iter().enumerate() {
                    let own = || loaded.iter().skip(element).step_by(count);
                    let events: Vec<EventId> = own().flat_map(|(events, _)| events).copied().collect();
                    let values = own().map(|(_, value)| value.clone());
                    if let Some(value) = values.reduce(|left, right| fold::binary(*operator, operation.ty, left, right))
                    {
                        self.deliver(&mut state, *destination, value, &events, &guard)?;
                    }
                }
            }
            MultimemAction::Store { values } => {
                let slots: Vec<Slot> = values.iter().map(|value| self.operand(&state, *value)).collect();
                let of = |index: usize| slots[index % count].clone();
                let (values, data): (Vec<Expression>, Vec<Reads>) =
                    (0..parts.len()).map(of).map(|slot| (slot.value, slot.reads)).unzip();
                self.store_parts(&mut state, &parts, values, write, &data, &deps)?;
            }
            MultimemAction::Reduce { values, operator } => {
                self.reduce_parts(&mut state, &parts, (read, write), (values, *operator), &deps)?;
            }
        }
        self.proceed(state);
        Ok(())
    }

    /// `atom.v2` and `red.v4`: a read-modify-write per element, each atomic by itself (PTX ISA 9.7.15.5, 9.7.15.6).
    pub(crate) fn vector_update(
        &mut self,
        mut state: Box<State>,
        update: &VectorUpdate,
        targets: &[AddressId],
        deps: Deps,
    ) -> Result<(), UnfoldError> {
        let parts = self.elements(&state, targets, update.ty)?;
        let read = Half { ty: update.ty, tags: update.read_tags, scope: update.scope };
        let halves = (read, Half { tags: update.write_tags, ..read });
        let loaded = self.reduce_parts(&mut state, &parts, halves, (&update.values, update.operator), &deps)?;
        for (destination, (events, old)) in update.destinations.iter().zip(loaded) {
            self.deliver(&mut state, *destination, old, &events, &deps.guard)?;
        }
        self.proceed(state);
        Ok(())
    }

    fn load_parts(
        &mut self,
        state: &mut State,
        parts: &[Vec<AddressId>],
        half: Half,
        deps: &Deps,
    ) -> Result<Vec<(Few<EventId>, Expression)>, UnfoldError> {
        let mut group = None;
        let mut loaded = Vec::new();
        for targets in parts {
            let (events, value) = self.read_events(state, targets, half, deps, &mut group)?;
            group = group.or(events.first().copied());
            loaded.push((events, value));
        }
        self.join(state, group);
        Ok(loaded)
    }

    fn store_parts(
        &mut self,
        state: &mut State,
        parts: &[Vec<AddressId>],
        values: Vec<Expression>,
        half: Half,
        data: &[Reads],
        deps: &Deps,
    ) -> Result<Vec<Few<EventId>>, UnfoldError> {
        let mut group = None;
        let mut stored = Vec::new();
        for ((targets, value), data) in parts.iter().zip(values).zip(data) {
            let deps = Deps { data: data.clone(), ..deps.clone() };
            let events = self.write_events(state, targets, value, half, &deps, &mut group)?;
            group = group.or(events.first().copied());
            stored.push(events);
        }
        self.join(state, group);
        state.effects += 1;
        Ok(stored)
    }

    /// A read-modify-write per part, each atomic by itself; the values go round. What each has read.
    fn reduce_parts(
        &mut self,
        state: &mut State,
        parts: &[Vec<AddressId>],
        (read, write): (Half, Half),
        (operands, operator): (&[Operand], BinaryOperator),
        deps: &Deps,
    ) -> Result<Vec<(Few<EventId>, Expression)>, UnfoldError> {
        let loaded = self.load_parts(state, parts, read, deps)?;
        let slots: Vec<Slot> = operands.iter().map(|operand| self.operand(state, *operand)).collect();
        let (mut values, mut data) = (Vec::new(), Vec::new());
        for ((events, old), slot) in loaded.iter().zip(slots.iter().cycle()) {
            values.push(fold::binary(operator, read.ty, old.clone(), slot.value.clone()));
            data.push(slot.reads.iter().chain(events).copied().collect::<Reads>());
        }
        let stored = self.store_parts(state, parts, values, write, &data, deps)?;
        for ((reads, _), writes) in loaded.iter().zip(&stored) {
            reads.iter().zip(writes).for_each(|(read, write)| self.pair(*read, *write));
        }
        Ok(loaded)
    }
}
