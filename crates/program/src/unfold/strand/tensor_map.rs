//! Tensors behind their maps (PTX ISA 5.5, 9.7.10.28.5): what a map's value may describe, and which of its elements the
//! coordinates of a copy mean.

use fencepost_syntax::sorted::SortedSet;

use crate::ids::AddressId;
use crate::program::asynchronous::{Mode, Size};
use crate::program::{Initial, LocalValue, LocationRole, Operand, Operation, Space};
use crate::unfold::UnfoldError;
use crate::unfold::run::dependency::Reads;
use crate::unfold::run::fold;
use crate::unfold::run::runner::Runner;
use crate::unfold::run::state::{Boxed, Decision, Forks, State};
use crate::unfold::strand::region::Located;
use crate::unfolding::TraceEnd;
use crate::value::expression::{BinaryOperator, Expression};
use crate::value::{Type, Value};

/// What a copy wants of a tensor.
#[derive(Copy, Clone)]
pub(crate) struct Wanted<'a> {
    pub(crate) coordinates: &'a [Operand],
    pub(crate) mode: &'a Mode,
    pub(crate) size: Size,
}

impl Runner<'_> {
    /// Every tensor a map's value may describe, with the locations that the coordinates mean and the bytes it has. A value
    /// that is no address ends the run, as any wild access does; so does a tensor that has no such coordinates, where it is
    /// one of several that the map might hold.
    pub(crate) fn tensor(
        &mut self,
        state: Box<State>,
        located: &Located,
        value: &Expression,
        wanted: Wanted<'_>,
    ) -> Result<Vec<(Boxed, Vec<AddressId>, i128)>, UnfoldError> {
        let span = self.span_at(state.at);
        let (alternatives, wild) = self.addresses(state, value);
        let is_known = alternatives.len() == 1 && wild.is_none();
        let mut strays: Vec<Boxed> = wild.into_iter().collect();
        let mut found = Vec::new();
        for (state, base) in alternatives {
            match self.meant(&state, base, located, wanted) {
                Ok(range) => {
                    let bytes = self.bytes(&self.variable(base));
                    found.push((state, range, bytes));
                }
                // Only if the map holds this tensor, which other runs do not, is the copy one that cannot be made.
                Err(UnfoldError::Coordinate { .. } | UnfoldError::Extent { .. }) if !is_known => strays.push(state),
                Err(error) => return Err(error),
            }
        }
        for stray in strays {
            let mut rests_on: Reads = stray.control.all();
            collect_reads(value, &mut rests_on);
            let rests_on = rests_on.into_iter().collect();
            let what = format!("{} with a tensor map that describes no tensor of the test", self.spelling(stray.at));
            self.finish(stray, TraceEnd::Wild { span, what, rests_on })?;
        }
        Ok(found)
    }

    /// The locations of a tensor that a copy means.
    fn meant(
        &self,
        state: &State,
        base: AddressId,
        located: &Located,
        wanted: Wanted<'_>,
    ) -> Result<Vec<AddressId>, UnfoldError> {
        let starts = self.starts(state, base, wanted)?;
        let size = match wanted.size {
            Size::Like(other) => self.bytes(located.first(other)),
            _ => self.bytes(&self.variable(base)),
        };
        let each = size / starts.len().max(1) as i128;
        let mut range = Vec::new();
        for start in &starts {
            let segment = self.segment(state, base, *start, each)?;
            if starts.len() > 1 && self.bytes(&segment) < each {
                return Err(self.short(state, base));
            }
            range.extend(segment);
        }
        Ok(range)
    }

    /// The elements at which the parts of a copy begin. The innermost dimension has the first coordinate.
    fn starts(&self, state: &State, base: AddressId, wanted: Wanted<'_>) -> Result<Vec<i128>, UnfoldError> {
        let span = self.span_at(state.at);
        let constant = |operand: &Operand| self.constant(state, *operand);
        let mut values = wanted.coordinates.iter().map(constant).collect::<Result<Vec<i128>, _>>()?;
        if let Mode::Displaced(offsets) = wanted.mode {
            for (value, offset) in values.iter_mut().skip(1).zip(offsets) {
                *value += constant(offset)?;
            }
        }
        let shape = &self.program.locations[self.location_of(base).index()].shape;
        let stride = |dimension: usize| -> i128 {
            shape.iter().rev().take(dimension).map(|length| i128::from(*length)).product()
        };
        let element = |values: &[i128]| {
            let mut sum = 0;
            for (dimension, value) in values.iter().enumerate() {
                if *value < 0 || (*value != 0 && dimension > shape.len()) {
                    return Err(UnfoldError::Coordinate { span });
                }
                sum += value * stride(dimension);
            }
            Ok(sum)
        };
        match (wanted.mode, values.as_slice()) {
            (Mode::FourRows, [column, rows @ ..]) => rows.iter().map(|row| element(&[*column, *row])).collect(),
            (_, values) => Ok(vec![element(values)?]),
        }
    }

    /// So many bytes from an element on. Beyond its end a tensor reads as zeros, and writes there are lost.
    fn segment(&self, state: &State, base: AddressId, start: i128, bytes: i128) -> Result<Vec<AddressId>, UnfoldError> {
        let element = i128::from(self.program.locations[self.location_of(base).index()].element);
        let at = start * if element == 0 { 8 } else { element };
        let variable = self.variable(base);
        if at >= self.bytes(&variable) {
            return Ok(Vec::new());
        }
        let first = self.program.addresses[base.index()].value.0 + at;
        let from = variable.iter().skip_while(|address| self.program.addresses[address.index()].value.0 < first);
        let mut range = Vec::new();
        let mut reached = 0;
        for address in from.copied() {
            if reached >= bytes {
                break;
            }
            reached += self.width(address);
            range.push(address);
        }
        let is_aligned = range.first().is_some_and(|address| self.program.addresses[address.index()].value.0 == first);
        if is_aligned && reached <= bytes { Ok(range) } else { Err(self.short(state, base)) }
    }

    /// A box is no larger than the tensor of its map.
    pub(crate) fn boxed(&self, copies: &mut [Vec<AddressId>], tensor: i128) {
        for copy in copies {
            let mut reached = 0;
            copy.retain(|address| {
                reached += self.width(*address);
                reached <= tensor
            });
        }
    }

    /// The tensors a value may be the address of, and the run in which it is none of them.
    fn addresses(&self, state: Box<State>, value: &Expression) -> (Forks, Option<Boxed>) {
        let value = fold::substitute(value, &state.known);
        let mut alternatives = Vec::new();
        let mut rest = Some(state);
        for candidate in self.tensors() {
            let Some(open) = rest.as_mut() else { break };
            let here = Expression::Constant(self.program.addresses[candidate.index()].value);
            let condition = fold::binary(BinaryOperator::Equal, Type::UNTYPED, value.clone(), here);
            match open.decide(&condition) {
                Decision::Never => {}
                Decision::Always => alternatives.extend(rest.take().map(|state| (state, candidate))),
                Decision::Open(yes, no) => {
                    let mut chosen = open.clone();
                    self.constrain(&mut chosen, yes);
                    alternatives.push((chosen, candidate));
                    self.constrain(open, no);
                }
            }
        }
        (alternatives, rest)
    }

    /// Global memory whose address some map, pointer, register or instruction has: what a map may describe. An address computed
    /// otherwise is not among them and leads to the wild run, from which nothing is concluded.
    fn tensors(&self) -> SortedSet<AddressId> {
        let initial: SortedSet<Value> = self.program.locations.iter().map(|location| location.initial).collect();
        let named = self.program.threads.iter().flat_map(|thread| {
            let registers = thread.registers.iter().filter_map(|register| match register.initial {
                Initial::Address(address) => Some(address),
                Initial::Value(_) => None,
            });
            registers.chain(thread.code.iter().flat_map(|code| named(&code.operation)))
        });
        let described = (0..self.program.addresses.len()).map(AddressId::new);
        let described = described.filter(|id| initial.contains(&self.program.addresses[id.index()].value));
        let is_global = |id: &AddressId| {
            let location = &self.program.locations[self.location_of(*id).index()];
            location.role == LocationRole::Data && matches!(location.space, None | Some(Space::Global))
        };
        named.chain(described).filter(is_global).collect()
    }
}

/// The addresses an operation has as values.
fn named(operation: &Operation) -> Vec<AddressId> {
    let operands = match operation {
        Operation::Store { value, .. } => vec![*value],
        Operation::Local { value, .. } => match *value {
            LocalValue::Operand(operand) | LocalValue::Unary(_, operand) => vec![operand],
            LocalValue::Binary(_, left, right) => vec![left, right],
            LocalValue::Select { then, otherwise, .. } => vec![then, otherwise],
        },
        _ => Vec::new(),
    };
    let address = |operand| if let Operand::Address(address) = operand { Some(address) } else { None };
    operands.into_iter().filter_map(address).collect()
}

fn collect_reads(value: &Expression, found: &mut Reads) {
    let mut leaves = Vec::new();
    value.leaves(&mut leaves);
    found.extend(leaves.into_iter().map(|leaf| match leaf {
        crate::value::expression::Leaf::Read(event) | crate::value::expression::Leaf::BarrierResult(event) => event,
    }));
}
