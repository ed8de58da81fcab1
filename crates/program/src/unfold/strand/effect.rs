//! What an asynchronous operation does to memory and registers: copies, stores, loads, products.

use crate::ids::{AddressId, EventId};
use crate::program::asynchronous::{
    Accumulator, Combine, Coverage, Effect, Factor, How as Operator, Order, Product, Reduced, Region, RegionId, Start,
    Valid,
};
use crate::program::{Content, Operand};
use crate::tag::{Tag, Tags};
use crate::unfold::UnfoldError;
use crate::unfold::run::dependency::Reads;
use crate::unfold::run::fold;
use crate::unfold::run::runner::Runner;
use crate::unfold::run::state::{Slot, State};
use crate::unfold::strand::region::Located;
use crate::unfold::strand::{How, Opened};
use crate::unfolding::Extent;
use crate::value::Type;
use crate::value::expression::{BinaryOperator, Expression};

/// The lanes of its columns that a product writes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Written {
    AllLanes,
    SomeLanes,
}

impl Runner<'_> {
    /// Emits the accesses. What was written, per destination CTA.
    pub(crate) fn effect(
        &mut self,
        state: &mut State,
        start: &Start,
        located: &Located,
        opened: &mut Opened,
    ) -> Result<Vec<Vec<EventId>>, UnfoldError> {
        let region = |id: RegionId| (&start.regions[id.0], located.region(id));
        match &start.effect {
            Effect::Copy { .. } => self.copy_strand(state, start, located, opened),
            Effect::Store { destination, values, ty, combine } => {
                let given = self.stored(state, located.first(*destination), values, *ty)?;
                self.spread(state, opened, region(*destination), &given, *combine)
            }
            Effect::Load { .. } => {
                self.load_strand(state, start, located, opened)?;
                Ok(Vec::new())
            }
            Effect::Look { region: id } => {
                for target in located.first(*id).to_vec() {
                    self.strand_read(state, opened, how(&start.regions[id.0], target), &[])?;
                }
                Ok(Vec::new())
            }
            Effect::Rewrite { region: id } => {
                let targets = located.region(*id).concat();
                self.rewrite(state, opened, &start.regions[id.0], targets)?;
                Ok(Vec::new())
            }
            Effect::Answer { destination } => {
                let range = located.first(*destination);
                // Bit 0: granted. The coordinates of the cluster whose launch was cancelled follow: (1, 0, 0).
                let answer = |index: usize| if index == 0 && located.chosen { 3 } else { 0 };
                let given: Vec<Given> =
                    (0..range.len()).map(|index| (Expression::constant(answer(index)), Reads::new(), None)).collect();
                let (written, copies) = region(*destination);
                let mut written = written.clone();
                if !located.chosen {
                    written.tags = written.tags.with(Tag::Refused);
                }
                self.spread(state, opened, (&written, copies), &given, None)
            }
            Effect::Product(product) => {
                self.product(state, start, located, opened, product)?;
                Ok(Vec::new())
            }
        }
    }

    fn copy_strand(
        &mut self,
        state: &mut State,
        start: &Start,
        located: &Located,
        opened: &mut Opened,
    ) -> Result<Vec<Vec<EventId>>, UnfoldError> {
        let Effect::Copy { source, destination, combine, valid } = &start.effect else { return Ok(Vec::new()) };
        let to = (&start.regions[destination.0], located.region(*destination));
        let sources = located.region(*source).len();
        if let Valid::Mask(mask) = valid {
            return self.masked_copy(state, start, located, opened, (*source, *destination, *mask));
        }
        if sources <= 1 {
            let values = self.copied(state, start, located, opened, (*source, *destination, *valid, 0))?;
            let written = self.spread(state, opened, to, &values, *combine)?;
            if combine.is_none() {
                let reads = values.iter().map_while(|(_, _, read)| *read).collect();
                self.join_elements(&start.regions[source.0], located.first(*source), reads);
                for (copy, events) in to.1.iter().zip(&written) {
                    self.join_elements(to.0, copy, events.clone());
                }
            }
            return Ok(written);
        }
        // A pair of CTAs: each from its own memory to its own.
        let mut written = Vec::new();
        for (copy, copies) in to.1.chunks((to.1.len() / sources).max(1)).take(sources).enumerate() {
            let values = self.copied(state, start, located, opened, (*source, *destination, *valid, copy))?;
            written.extend(self.spread(state, opened, (to.0, copies), &values, *combine)?);
        }
        Ok(written)
    }

    /// A strong bulk copy is one of elements of 16 bytes, each accessed as a whole (`.b128`, PTX ISA 9.7.10.28.4.1).
    fn join_elements(&mut self, region: &Region, targets: &[AddressId], events: Vec<EventId>) {
        const ELEMENT: i128 = 16;
        if !region.tags.has(Tag::Relaxed) {
            return;
        }
        let mut rest: &[AddressId] = targets;
        let mut events = events.into_iter();
        while !rest.is_empty() {
            let ends = rest.iter().scan(0, |end, target| {
                *end += self.width(*target);
                Some(*end)
            });
            let count = ends.take_while(|end| *end <= ELEMENT).count().max(1);
            let (element, behind) = rest.split_at(count);
            rest = behind;
            let events: Vec<EventId> = events.by_ref().take(count).collect();
            let (Some(operation), true) = (events.first().copied(), count > 1 && events.len() == count) else {
                continue;
            };
            let extent = Extent { operation, first: self.location_of(element[0]), count: count as u32 };
            for event in events {
                self.unfolding.events[event.index()].extent = Some(extent);
            }
        }
    }

    fn load_strand(
        &mut self,
        state: &mut State,
        start: &Start,
        located: &Located,
        opened: &mut Opened,
    ) -> Result<(), UnfoldError> {
        let Effect::Load { source, destinations, ty, reduced } = &start.effect else { return Ok(()) };
        let mut loaded = Vec::new();
        for (target, destination) in located.first(*source).to_vec().into_iter().zip(destinations) {
            let read = self.strand_read(state, opened, how(&start.regions[source.0], target), &[])?;
            let value = self.convert(*ty, Expression::Read(read));
            loaded.push((value.clone(), read));
            if let Some(register) = destination {
                self.set(state, *register, Slot { value, reads: Reads::from([read]) })?;
            }
        }
        // The lanes of the quarter that have locations of their own.
        for target in located.region(*source).iter().skip(1).flatten() {
            self.strand_read(state, opened, how(&start.regions[source.0], *target), &[])?;
        }
        if let Some(reduced) = reduced {
            let reads = loaded.iter().map(|(_, read)| *read).collect();
            let value = extreme(reduced, loaded.into_iter().map(|(value, _)| value));
            self.set(state, reduced.destination, Slot { value, reads })?;
        }
        Ok(())
    }

    /// Every location read and written again.
    fn rewrite(
        &mut self,
        state: &mut State,
        opened: &mut Opened,
        region: &Region,
        targets: Vec<AddressId>,
    ) -> Result<(), UnfoldError> {
        for target in targets {
            let at = how(region, target);
            let read = self.strand_read(state, opened, at, &[])?;
            let value = (Expression::Read(read), Reads::from([read]));
            self.strand_write(state, opened, at, value, &[read])?;
        }
        Ok(())
    }

    /// The values of a store, one per location of its destination.
    fn stored(
        &self,
        state: &State,
        range: &[AddressId],
        values: &[Operand],
        ty: Type,
    ) -> Result<Vec<Given>, UnfoldError> {
        let fits = |address: &AddressId| self.width(*address) == i128::from(ty.bits / 8);
        if range.len() != values.len() || !range.iter().all(fits) {
            let location = range.first().map(|first| self.program.addresses[first.index()].name.clone());
            let location = location.unwrap_or_default();
            return Err(UnfoldError::MixedSize { span: self.span_at(state.at), location: location.to_string() });
        }
        let given = |value: &Operand| {
            let (value, reads) = self.read_operand(state, *value);
            (fold::convert(ty, value), reads, None)
        };
        Ok(values.iter().map(given).collect())
    }

    /// Reads the source, location by location; where it does not reach, zeros.
    fn copied(
        &mut self,
        state: &mut State,
        start: &Start,
        located: &Located,
        opened: &mut Opened,
        (source, destination, valid, copy): (RegionId, RegionId, Valid, usize),
    ) -> Result<Vec<Given>, UnfoldError> {
        let limit = match valid {
            Valid::All => i128::MAX,
            // More than the copy has is undefined (PTX ISA 9.7.10.28.3.1).
            Valid::Bytes(bytes) => {
                let limit = self.constant(state, bytes)?;
                let whole: i128 = located.first(destination).iter().map(|target| self.width(*target)).sum();
                if !(0..=whole).contains(&limit) {
                    return Err(UnfoldError::AsyncOperand { span: self.span_at(state.at) });
                }
                limit
            }
            Valid::Unless(_) if located.chosen => 0,
            Valid::Unless(_) | Valid::Mask(_) => i128::MAX,
        };
        // A column of tensor memory takes an element, however wide it is.
        let to_columns = start.regions[destination.0].tags.has(Tag::TensorMemory);
        let range = |id: RegionId| located.region(id).get(copy).cloned().unwrap_or_default();
        let (from, to) = (range(source), range(destination));
        let mut given = Vec::new();
        let mut offset = 0;
        for (index, target) in to.iter().enumerate() {
            let end = offset + self.width(*target);
            given.push(match from.get(index) {
                Some(from) if offset < limit => {
                    if (self.width(*from) != self.width(*target) && !to_columns) || end > limit {
                        let location = self.program.addresses[from.index()].name.clone();
                        return Err(UnfoldError::MixedSize {
                            span: self.span_at(state.at),
                            location: location.to_string(),
                        });
                    }
                    let read = self.strand_read(state, opened, how(&start.regions[source.0], *from), &[])?;
                    (Expression::Read(read), Reads::from([read]), Some(read))
                }
                _ => (Expression::constant(0), Reads::new(), None),
            });
            offset = end;
        }
        Ok(given)
    }

    /// `.cp_mask`: of every 16 bytes those are copied whose bit is set. A location that is copied in part holds a value
    /// without a model.
    fn masked_copy(
        &mut self,
        state: &mut State,
        start: &Start,
        located: &Located,
        opened: &mut Opened,
        (source, destination, mask): (RegionId, RegionId, Operand),
    ) -> Result<Vec<Vec<EventId>>, UnfoldError> {
        let mask = self.constant(state, mask)?;
        let (from, to) = (located.first(source).to_vec(), located.first(destination).to_vec());
        let (mut offset, mut written) = (0, Vec::new());
        for (from, to) in from.into_iter().zip(to) {
            let width = self.width(to);
            if self.width(from) != width {
                let location = self.program.addresses[from.index()].name.clone();
                return Err(UnfoldError::MixedSize { span: self.span_at(state.at), location: location.to_string() });
            }
            let kept = (offset..offset + width).filter(|byte| mask >> (byte % 16) & 1 == 1).count() as i128;
            offset += width;
            let read = self.strand_read(state, opened, how(&start.regions[source.0], from), &[])?;
            if kept == 0 {
                continue;
            }
            let mut at = how(&start.regions[destination.0], to);
            if kept < width {
                at.tags = at.tags.with(Tag::Opaque);
            }
            let value = (Expression::Read(read), Reads::from([read]));
            written.push(self.strand_write(state, opened, at, value, &[read])?);
        }
        Ok(vec![written])
    }

    /// Writes the values to each copy of the destination, or combines them with what is there.
    fn spread(
        &mut self,
        state: &mut State,
        opened: &mut Opened,
        (region, copies): (&Region, &[Vec<AddressId>]),
        given: &[Given],
        combine: Option<Combine>,
    ) -> Result<Vec<Vec<EventId>>, UnfoldError> {
        let mut written = Vec::new();
        for copy in copies.iter().cloned() {
            let mut here = Vec::new();
            for (target, (value, reads, after)) in copy.into_iter().zip(given) {
                let after: Vec<EventId> = after.iter().copied().collect();
                here.push(match combine {
                    None => {
                        let value = (value.clone(), reads.clone());
                        self.strand_write(state, opened, how(region, target), value, &after)?
                    }
                    Some(combine) => {
                        self.combine(state, opened, how(region, target), (combine, value, reads), &after)?
                    }
                });
            }
            written.push(here);
        }
        Ok(written)
    }

    fn combine(
        &mut self,
        state: &mut State,
        opened: &mut Opened,
        at: How,
        (combine, value, reads): (Combine, &Expression, &Reads),
        after: &[EventId],
    ) -> Result<EventId, UnfoldError> {
        let tags = at.tags.with(Tag::Atomic).with(Tag::NoReturn);
        // Only the writing half can release.
        let reading = if tags.has(Tag::Release) { without(tags, Tag::Release).with(Tag::Relaxed) } else { tags };
        let read = self.strand_read(state, opened, How { tags: reading, ..at }, &[])?;
        // An element that is not one location has no value of its own here.
        let location = &self.program.locations[self.location_of(at.target).index()];
        let own = location.ty;
        let combine = match (combine.ty == Type::UNTYPED, location.content) {
            (true, Content::Float) => Combine { ty: own, how: Operator::Float },
            (true, Content::Integer) => Combine { ty: own, ..combine },
            _ => combine,
        };
        let is_element = combine.ty == own || i128::from(combine.ty.bits / 8) == self.width(at.target);
        let is_opaque = combine.how == Operator::Float || !is_element;
        let tags = if is_opaque { tags.with(Tag::Opaque) } else { tags };
        let combined = combined(combine, Expression::Read(read), value.clone());
        let mut data = reads.clone();
        data.insert(read);
        let after: Vec<EventId> = after.iter().copied().chain([read]).collect();
        let write = self.strand_write(state, opened, How { tags, ..at }, (combined, data), &after)?;
        self.pair(read, write);
        Ok(write)
    }

    /// The sum of all that is read of a region's copies.
    fn sum(
        &mut self,
        state: &mut State,
        start: &Start,
        opened: &mut Opened,
        id: RegionId,
        range: &[AddressId],
    ) -> Result<(Expression, Reads), UnfoldError> {
        let (mut sum, mut reads) = (Expression::constant(0), Reads::new());
        for target in range {
            let read = self.strand_read(state, opened, how(&start.regions[id.0], *target), &[])?;
            reads.insert(read);
            sum = fold::binary(BinaryOperator::Add, Type::UNTYPED, sum, Expression::Read(read));
        }
        Ok((sum, reads))
    }

    fn product(
        &mut self,
        state: &mut State,
        start: &Start,
        located: &Located,
        opened: &mut Opened,
        product: &Product,
    ) -> Result<(), UnfoldError> {
        let (right, mut reads) =
            self.sum(state, start, opened, product.right, &located.region(product.right).concat())?;
        for other in &product.others {
            reads.extend(self.sum(state, start, opened, *other, &located.region(*other).concat())?.1);
        }
        let mut lefts = Vec::new();
        match &product.left {
            Factor::Memory(id) => {
                let from = opened.events.len();
                for copy in located.region(*id).to_vec() {
                    lefts.push(self.sum(state, start, opened, *id, &copy)?);
                }
                let is_shared = |event: &&EventId| !self.unfolding.events[event.index()].has(Tag::TensorMemory);
                opened.left = opened.events[from..].iter().filter(is_shared).copied().collect();
            }
            Factor::Registers(registers) => {
                let (mut sum, mut reads) = (Expression::constant(0), Reads::new());
                for register in registers {
                    let slot = state.registers[register.index()].clone();
                    sum = fold::binary(BinaryOperator::Add, Type::UNTYPED, sum, slot.value);
                    reads.extend(slot.reads);
                }
                lefts.push((sum, reads));
            }
        }
        match &product.accumulator {
            Accumulator::Registers(registers) => {
                let (left, left_reads) = lefts.into_iter().next().unwrap_or((Expression::constant(0), Reads::new()));
                reads.extend(left_reads);
                let value = fold::binary(BinaryOperator::Multiply, Type::UNTYPED, left, right);
                let (counts, counts_reads) = self.read_operand(state, product.accumulate);
                reads.extend(counts_reads);
                for register in registers {
                    let old = state.registers[register.index()].clone();
                    let kept = fold::select(counts.clone(), old.value, Expression::constant(0));
                    let sum = fold::binary(BinaryOperator::Add, Type::U32, kept, value.clone());
                    let reads = reads.union(&old.reads).copied().collect();
                    self.set(state, *register, Slot { value: sum, reads })?;
                }
                Ok(())
            }
            Accumulator::Memory(id) => {
                let written = self.written(state, &product.coverage);
                let given = (*id, written, lefts.as_slice(), &right, &reads);
                self.accumulate(state, start, located, opened, given)
            }
        }
    }

    /// Which lanes a product writes, as far as its masks are known where it is issued.
    fn written(&self, state: &State, coverage: &Coverage) -> Written {
        let is_empty = |mask: &Operand| {
            let value = fold::substitute(&self.operand(state, *mask).value, &state.known);
            value == Expression::constant(0)
        };
        match coverage {
            Coverage::Masked(masks) if !masks.iter().all(is_empty) => Written::SomeLanes,
            Coverage::Masked(_) | Coverage::Whole => Written::AllLanes,
        }
    }

    /// The columns of the result. A pair of CTAs has the rows of one factor each and shares the other factor; so have the
    /// quarters of the lanes, where that factor is in tensor memory.
    fn accumulate(
        &mut self,
        state: &mut State,
        start: &Start,
        located: &Located,
        opened: &mut Opened,
        (id, written, lefts, right, reads): (RegionId, Written, &[(Expression, Reads)], &Expression, &Reads),
    ) -> Result<(), UnfoldError> {
        let operands: Vec<EventId> = opened.events.iter().copied().filter(|event| self.is_operand(*event)).collect();
        let copies = located.region(id).to_vec();
        let of_each = (copies.len() / lefts.len().max(1)).max(1);
        for (index, copy) in copies.into_iter().enumerate() {
            let left = lefts.get(index / of_each).or_else(|| lefts.first());
            let Some((left, left_reads)) = left else { continue };
            let value = fold::binary(BinaryOperator::Multiply, Type::UNTYPED, left.clone(), right.clone());
            let data: Reads = reads.union(left_reads).copied().collect();
            for target in copy {
                let mut at = how(&start.regions[id.0], target);
                let (mut sum, mut data, mut after) = (value.clone(), data.clone(), operands.clone());
                if written == Written::SomeLanes {
                    at.tags = at.tags.with(Tag::Opaque);
                }
                if located.chosen || written == Written::SomeLanes {
                    let read = self.strand_read(state, opened, at, &[])?;
                    let ty = self.program.locations[self.location_of(target).index()].ty;
                    sum = fold::binary(BinaryOperator::Add, ty, Expression::Read(read), sum);
                    data.insert(read);
                    after.push(read);
                }
                self.strand_write(state, opened, at, (sum, data), &after)?;
            }
        }
        Ok(())
    }

    fn is_operand(&self, event: EventId) -> bool {
        self.unfolding.events[event.index()].is_read()
    }
}

/// A value to write, the reads it depends on, and the read of the same strand it comes from.
type Given = (Expression, Reads, Option<EventId>);

fn how(region: &Region, target: AddressId) -> How {
    How { target, tags: region.tags, scope: region.scope }
}

fn without(tags: Tags, tag: Tag) -> Tags {
    Tag::ALL.iter().copied().filter(|other| *other != tag && tags.has(*other)).collect()
}

fn combined(combine: Combine, old: Expression, operand: Expression) -> Expression {
    use BinaryOperator as Op;
    let constant = Expression::constant;
    let ty = combine.ty;
    let (old, operand) = (fold::convert(ty, old), fold::convert(ty, operand));
    match combine.how {
        Operator::Apply(operator) => fold::binary(operator, ty, old, operand),
        Operator::Float => fold::binary(Op::Add, ty, old, operand),
        Operator::Increment => {
            let wraps = fold::binary(Op::GreaterEqual, ty, old.clone(), operand);
            fold::select(wraps, constant(0), fold::binary(Op::Add, ty, old, constant(1)))
        }
        Operator::Decrement => {
            let is_zero = fold::binary(Op::Equal, ty, old.clone(), constant(0));
            let is_above = fold::binary(Op::Greater, ty, old.clone(), operand.clone());
            let wraps = fold::binary(Op::Or, Type::UNTYPED, is_zero, is_above);
            fold::select(wraps, operand, fold::binary(Op::Subtract, ty, old, constant(1)))
        }
    }
}

/// The least or the greatest of some values.
fn extreme(reduced: &Reduced, values: impl Iterator<Item = Expression>) -> Expression {
    let key = |value: Expression| match reduced.order {
        Order::Integer(ty) => fold::convert(ty, value),
        Order::Float => ordered(value),
        Order::Magnitude => fold::binary(BinaryOperator::And, Type::U32, value, Expression::constant(0x7fff_ffff)),
    };
    let wins = match reduced.operator {
        BinaryOperator::Minimum => BinaryOperator::Less,
        _ => BinaryOperator::Greater,
    };
    let better = |best: Expression, value: Expression| {
        let is_better = fold::binary(wins, Type::UNTYPED, key(value.clone()), key(best.clone()));
        fold::select(is_better, value, best)
    };
    values.reduce(better).unwrap_or(Expression::constant(0))
}

/// An integer that is ordered as the floating-point number of these bits: the sign and a magnitude.
fn ordered(bits: Expression) -> Expression {
    let sign = Expression::constant(0x8000_0000);
    let is_negative = fold::binary(BinaryOperator::GreaterEqual, Type::UNTYPED, bits.clone(), sign.clone());
    let negative = fold::binary(BinaryOperator::Subtract, Type::UNTYPED, sign, bits.clone());
    fold::select(is_negative, negative, bits)
}
