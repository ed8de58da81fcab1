//! Accesses and the locations they are made of. Memory is cut so that every access is a whole number of locations (see
//! `lower::cut`); one that is several of them is one event per location, whose values together are the value (little
//! endian). The events of one access, and those of a vector's elements, are in no order (PTX ISA 8.2.4, 8.2.5).

use crate::few::Few;
use crate::ids::{AddressId, EventId};
use crate::program::{AddressOperand, LocationRole, Operand, Space};
use crate::tag::{Tag, Tags};
use crate::unfold::UnfoldError;
use crate::unfold::memory::access::Half;
use crate::unfold::run::dependency::{Deps, Reads};
use crate::unfold::run::fold;
use crate::unfold::run::runner::Runner;
use crate::unfold::run::state::State;
use crate::unfolding::{EventKind, Extent};
use crate::value::expression::{BinaryOperator, Expression};
use crate::value::{Type, Value};

/// The ways an address operand may fall: each with its run and the locations, ascending; and the reads behind the address.
pub(crate) type Ranges = (Vec<(Box<State>, Few<AddressId>)>, Reads);

impl Runner<'_> {
    /// The locations of so many bytes from an address on. A register that may hold an address at which they are no whole
    /// number of locations, or one that the thread cannot access, ends the run there, as a wild access; a run that must hold
    /// one is refused.
    pub(crate) fn range(
        &mut self,
        state: Box<State>,
        address: &AddressOperand,
        bytes: i128,
    ) -> Result<Ranges, UnfoldError> {
        let at = state.at;
        let (alternatives, reads) = self.targets_where(state, address, None, |runner, target| {
            runner.locations_from(target, bytes).is_some() && runner.is_eligible(target, at)
        })?;
        let mut found = Vec::new();
        for (state, target) in alternatives {
            found.push((state, self.locations_of(target, bytes, at)?));
        }
        Ok((found, reads))
    }

    /// [`Runner::locations_from`], or why an access to them is refused.
    pub(crate) fn locations_of(
        &self,
        target: AddressId,
        bytes: i128,
        at: usize,
    ) -> Result<Few<AddressId>, UnfoldError> {
        self.locations_from(target, bytes).ok_or_else(|| {
            let (span, location) = (self.span_at(at), self.program.addresses[target.index()].name.clone());
            self.overrun(at, target, bytes).unwrap_or(UnfoldError::MixedSize { span, location: location.to_string() })
        })
    }

    /// The canonical addresses of the locations that are exactly so many bytes from this one on; 0 bytes are one location
    /// of a dialect without sizes, or an mbarrier.
    pub(crate) fn locations_from(&self, first: AddressId, bytes: i128) -> Option<Few<AddressId>> {
        let addresses = &self.program.addresses;
        let width = |address: AddressId| {
            let location = &self.program.locations[addresses[address.index()].location.index()];
            if location.ty.bits == 0 && bytes == 0 { 0 } else { i128::from(location.bytes) }
        };
        if addresses[first.index()].within != 0 {
            return None;
        }
        let first = addresses[first.index()].canonical;
        // A tensor map is one object: whatever touches it, touches its 128 bytes, and a store puts another tensor's address
        // into it.
        if self.program.locations[addresses[first.index()].location.index()].role == LocationRole::TensorMap {
            return (bytes <= 128).then(|| Few::one(first));
        }
        let mut reached = width(first);
        if reached >= bytes {
            return (reached == bytes).then(|| Few::one(first));
        }
        let mut found = vec![first];
        while reached < bytes {
            let last = *found.last()?;
            let (own, next) = (&addresses[last.index()], addresses.get(last.index() + 1)?);
            if next.canonical.index() != last.index() + 1
                || next.value.0 != own.value.0 + width(last)
                || width(last) == 0
            {
                return None;
            }
            reached += width(next.canonical);
            found.push(next.canonical);
        }
        (reached == bytes).then(|| found.into())
    }

    pub(crate) fn read_events(
        &mut self,
        state: &mut State,
        targets: &[AddressId],
        half: Half,
        deps: &Deps,
        group: &mut Option<EventId>,
    ) -> Result<(Few<EventId>, Expression), UnfoldError> {
        if let ([target], None) = (targets, *group) {
            let (event, value) = self.read_event(state, *target, half, deps.clone())?;
            return Ok((Few::one(event), value));
        }
        let mut events = Vec::new();
        let mut parts = Vec::new();
        for target in targets {
            let ty = self.location_type(*target);
            // As bits: a signed part would spill into those above it.
            let part = if targets.len() == 1 { half.ty } else { Type { signed: false, ..ty } };
            let (event, value) = self.read_event(state, *target, Half { ty: part, ..half }, deps.clone())?;
            events.push(event);
            parts.push((ty.bits, value));
        }
        self.mark(&events, targets, group);
        Ok((events.into(), self.convert(half.ty, combined(half.ty, parts))))
    }

    pub(crate) fn write_events(
        &mut self,
        state: &mut State,
        targets: &[AddressId],
        value: Expression,
        half: Half,
        deps: &Deps,
        group: &mut Option<EventId>,
    ) -> Result<Few<EventId>, UnfoldError> {
        if let ([target], None) = (targets, *group) {
            return Ok(Few::one(self.write_event(state, *target, value, half, deps.clone())?));
        }
        let whole = Type { signed: false, ..half.ty };
        let mut events = Vec::new();
        let mut at = 0;
        for target in targets {
            let part = if targets.len() == 1 {
                value.clone()
            } else {
                let bits = fold::convert(whole, value.clone());
                fold::binary(BinaryOperator::ShiftRight, whole, bits, Expression::constant(at))
            };
            events.push(self.write_event(state, *target, part, half, deps.clone())?);
            at += i128::from(self.location_type(*target).bits);
        }
        self.mark(&events, targets, group);
        Ok(events.into())
    }

    /// `st.bulk` and `discard`.
    pub(crate) fn fill(
        &mut self,
        state: Box<State>,
        address: &AddressOperand,
        (bytes, tags): (Operand, Tags),
        guard: Reads,
    ) -> Result<(), UnfoldError> {
        let bytes = self.constant(&state, bytes)?;
        let (alternatives, reads) = self.targets(state, address)?;
        for (mut state, target) in alternatives {
            let mut reached = 0;
            for location in self.variable(target) {
                if reached >= bytes {
                    break;
                }
                reached += self.width(location);
                let deps = Deps { address: reads.clone(), data: Reads::new(), guard: guard.clone() };
                let half = Half { ty: self.location_type(location), tags, scope: None };
                self.write_event(&mut state, location, Expression::constant(0), half, deps)?;
            }
            let is_short = reached < bytes && !tags.has(Tag::Opaque);
            if is_short || reached > bytes {
                return Err(self.short(&state, target));
            }
            state.effects += 1;
            self.proceed(state);
        }
        Ok(())
    }

    fn location_type(&self, address: AddressId) -> Type {
        self.program.locations[self.program.addresses[address.index()].location.index()].ty
    }

    /// How many bits of memory a location is; that of an mbarrier has no type.
    fn location_bits(&self, address: AddressId) -> u32 {
        let location = &self.program.locations[self.program.addresses[address.index()].location.index()];
        if location.ty.bits == 0 { location.bytes.saturating_mul(8) } else { u32::from(location.ty.bits) }
    }

    /// An access to shared memory says so, and whether it is that of another CTA; one to persistent memory says that.
    pub(crate) fn space_tags(&self, kind: &EventKind, tags: Tags) -> Tags {
        let (EventKind::Read { location, .. } | EventKind::Write { location, .. }) = kind else { return tags };
        let location = &self.program.locations[location.index()];
        if location.is_persistent {
            return tags.with(Tag::Persistent);
        }
        if location.space != Some(Space::Shared) {
            return tags;
        }
        let tags = tags.with(Tag::Shared);
        match location.owner.filter(|owner| *owner != self.thread.place) {
            None => tags,
            Some(owner) if self.prepared.contains(&owner) => tags.with(Tag::Remote),
            Some(_) => tags.with(Tag::Remote).with(Tag::Unprepared),
        }
    }

    /// The locations of each element of a vector.
    pub(crate) fn elements(
        &self,
        state: &State,
        targets: &[AddressId],
        ty: Type,
    ) -> Result<Vec<Vec<AddressId>>, UnfoldError> {
        let mut elements = Vec::new();
        let mut element = Vec::new();
        let mut reached = 0u32;
        let wanted = u32::from(ty.bits);
        for target in targets {
            reached += self.location_bits(*target);
            element.push(*target);
            if reached == wanted {
                elements.push(std::mem::take(&mut element));
                reached = 0;
            } else if reached > wanted {
                let location = self.program.addresses[target.index()].name.clone();
                return Err(UnfoldError::MixedSize { span: self.span_at(state.at), location: location.to_string() });
            }
        }
        Ok(elements)
    }

    /// The first event of a vector is of its group too.
    pub(crate) fn join(&mut self, state: &State, group: Option<EventId>) {
        let Some(first) = group else { return };
        if state.path.last() != Some(&first) {
            self.unfolding.events[first.index()].group = Some(first);
        }
    }

    /// Notes that the events are one operation, and that they are in no order with the others of the group.
    fn mark(&mut self, events: &[EventId], targets: &[AddressId], group: &mut Option<EventId>) {
        let (Some(operation), Some(target)) = (events.first(), targets.first()) else { return };
        let first = self.program.addresses[target.index()].location;
        let count = u32::try_from(targets.len()).unwrap_or(u32::MAX);
        let name = *group.get_or_insert(*operation);
        for event in events {
            let event = &mut self.unfolding.events[event.index()];
            event.group = Some(name);
            if targets.len() > 1 {
                event.extent = Some(Extent { operation: *operation, first, count });
            }
        }
    }
}

/// The value whose parts these are, lowest first, each with its width.
fn combined(ty: Type, parts: Vec<(u8, Expression)>) -> Expression {
    let whole = Type { signed: false, ..ty };
    if parts.len() == 1 {
        return parts.into_iter().next().map_or(Expression::Constant(Value(0)), |(_, part)| part);
    }
    let mut at = 0i128;
    let mut value = Expression::constant(0);
    for (bits, part) in parts {
        let shifted = fold::binary(BinaryOperator::ShiftLeft, whole, part, Expression::constant(at));
        value = fold::binary(BinaryOperator::Or, whole, value, shifted);
        at += i128::from(bits);
    }
    value
}
