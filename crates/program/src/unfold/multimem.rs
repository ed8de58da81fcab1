//! `multimem` operations: one access per replica, in no order among each other (PTX ISA 8.2.3).

use crate::expression::{BinaryOperator, Expression};
use crate::ids::{AddressId, EventId};
use crate::program::{Multimem, MultimemAction, Operand};
use crate::unfold::access::Half;
use crate::unfold::run::{Deps, Runner};
use crate::unfold::state::{Reads, Slot, State};
use crate::unfold::{UnfoldError, fold};

impl Runner<'_> {
    pub(crate) fn multimem(&mut self, mut state: State, operation: &Multimem, guard: Reads) -> Result<(), UnfoldError> {
        let bytes = i128::from(operation.ty.bits / 8);
        let mut replicas = Vec::new();
        for replica in &operation.replicas {
            let (alternatives, _) = self.range(state, replica, bytes)?;
            let Some((next, targets)) = alternatives.into_iter().next() else { return Ok(()) };
            self.check_alignment(&targets, bytes, next.at)?;
            replicas.push(targets);
            state = next;
        }
        let read = Half { ty: operation.ty, tags: operation.read_tags, scope: operation.scope };
        let write = Half { tags: operation.write_tags, ..read };
        let deps = Deps { guard: guard.clone(), ..Deps::default() };
        match operation.action {
            MultimemAction::LoadReduce { destination, operator } => {
                let loaded = self.load_replicas(&mut state, &replicas, read, &deps)?;
                let reads: Reads = loaded.iter().flat_map(|(events, _)| events).copied().chain(guard).collect();
                let values = loaded.into_iter().map(|(_, value)| value);
                let value = values.reduce(|left, right| fold::binary(operator, operation.ty, left, right));
                if let (Some(destination), Some(value)) = (destination, value) {
                    self.set(&mut state, destination, Slot { value, reads })?;
                }
            }
            MultimemAction::Store { value } => {
                let Slot { value, reads } = self.operand(&state, value);
                let values = vec![value; replicas.len()];
                self.store_replicas(&mut state, &replicas, values, write, &vec![reads; replicas.len()], &deps)?;
            }
            MultimemAction::Reduce { value, operator } => {
                self.reduce_replicas(&mut state, &replicas, (read, write), (value, operator), &deps)?;
            }
        }
        self.proceed(state);
        Ok(())
    }

    fn load_replicas(
        &mut self,
        state: &mut State,
        replicas: &[Vec<AddressId>],
        half: Half,
        deps: &Deps,
    ) -> Result<Vec<(Vec<EventId>, Expression)>, UnfoldError> {
        let mut group = None;
        let mut loaded = Vec::new();
        for targets in replicas {
            let (events, value) = self.read_events(state, targets, half, deps, &mut group)?;
            group = group.or(events.first().copied());
            loaded.push((events, value));
        }
        self.join(state, group);
        Ok(loaded)
    }

    fn store_replicas(
        &mut self,
        state: &mut State,
        replicas: &[Vec<AddressId>],
        values: Vec<Expression>,
        half: Half,
        data: &[Reads],
        deps: &Deps,
    ) -> Result<Vec<Vec<EventId>>, UnfoldError> {
        let mut group = None;
        let mut stored = Vec::new();
        for ((targets, value), data) in replicas.iter().zip(values).zip(data) {
            let deps = Deps { data: data.clone(), ..deps.clone() };
            let events = self.write_events(state, targets, value, half, &deps, &mut group)?;
            group = group.or(events.first().copied());
            stored.push(events);
        }
        self.join(state, group);
        state.effects += 1;
        Ok(stored)
    }

    /// A read-modify-write per replica, each atomic by itself.
    fn reduce_replicas(
        &mut self,
        state: &mut State,
        replicas: &[Vec<AddressId>],
        (read, write): (Half, Half),
        (operand, operator): (Operand, BinaryOperator),
        deps: &Deps,
    ) -> Result<(), UnfoldError> {
        let loaded = self.load_replicas(state, replicas, read, deps)?;
        let slot = self.operand(state, operand);
        let (mut values, mut data) = (Vec::new(), Vec::new());
        for (events, old) in &loaded {
            values.push(fold::binary(operator, read.ty, old.clone(), slot.value.clone()));
            data.push(slot.reads.iter().chain(events).copied().collect::<Reads>());
        }
        let stored = self.store_replicas(state, replicas, values, write, &data, deps)?;
        for ((reads, _), writes) in loaded.iter().zip(&stored) {
            reads.iter().zip(writes).for_each(|(read, write)| self.pair(*read, *write));
        }
        Ok(())
    }
}
