//! Lanes of tensor memory (PTX ISA 9.7.18.2, 9.7.18.8). It has 128 lanes and up to 512 columns; bits 16 and up of an address
//! count lanes. A warp loads and stores the 32 lanes of its number modulo 4, a *quarter*, so that four warps work on one
//! column without meeting. A column is one location, unless loads and stores of the program name several quarters: then it
//! has one for each. Products, copies, shifts, allocations access every lane of their columns: products of each shape
//! spread over all four quarters, and of the rest that is the safe side.
//!
//! The shapes `.16x64b`, `.16x128b` and `.16x256b` access 16 lanes, one half of the quarter. Where a program accesses both
//! halves of one so, the quarter has a location for each, unless a load takes the whole quarter: its registers have values
//! of their own in each half then, and the thread of a test has one value.
//!
//! Which quarters an address may name is followed without regard to control flow. A quarter that is missed here is told
//! apart from nothing, which reports too much and never too little.

use fencepost_syntax::Span;
use fencepost_syntax::sorted::SortedSet;

use crate::ids::{AddressId, LocationId, RegisterId};
use crate::lower::builder::ThreadBuilder;
use crate::lower::cut::Asked;
use crate::lower::cut::growing_set::{Operands, add, ascending};
use crate::lower::findings::{Findings, Refusal};
use crate::lower::memory::layout::{HALF_SHIFT, LANES, lane, quarter};
use crate::lower::names::{Names, VariableId};
use crate::program::asynchronous::{Action, Lanes, Start, Tensor, TensorKind};
use crate::program::def_use::defined;
use crate::program::lint::LintKind;
use crate::program::{Address, AddressOperand, Initial, Instruction, LocalValue, Location, Operand, Operation, Space};
use crate::sections;
use crate::value::Value;

const SECTION: &str = sections::TENSOR_LOAD_STORE;
/// More values of a register than this are not followed.
const MOST_VALUES: usize = 64;

/// Cuts the columns of tensor memory, and warns of quarters that a warp cannot reach.
pub(crate) fn settle(names: &mut Names, threads: &[Box<ThreadBuilder>], asked: &[Asked], findings: &mut Findings) {
    let is_access = |code: &Instruction| accessed(&code.operation).is_some();
    if !threads.iter().any(|thread| thread.code.iter().any(is_access)) {
        return;
    }
    let mut used = Used::default();
    for thread in threads {
        let values = Values::new(names, thread);
        let mut own = SortedSet::new();
        for code in &thread.code {
            let Some((tensor, address)) = accessed(&code.operation) else { continue };
            let addresses = values.address(names, address);
            let quarters: SortedSet<u8> = addresses.iter().copied().map(quarter).collect();
            check(thread, &quarters, &own, code.span, findings);
            addresses.into_iter().for_each(|address| used.add(tensor, lane(address)));
            own.extend(&quarters);
        }
    }
    let further = used.further();
    if further.is_empty() || names.variables.iter().any(|variable| is_alias(names, variable.target.map(|(id, _)| id))) {
        return;
    }
    let columns = |id: &VariableId| is_columns(names, *id);
    let variables: Vec<VariableId> = (0..names.variables.len()).map(VariableId).filter(columns).collect();
    if let Some(asked) = asked.iter().find(|asked| variables.contains(&asked.variable)) {
        let shown = &names.variables[asked.variable.0].shown;
        let what = format!("a condition on `{shown}`, whose lanes hold values of their own: load them into registers");
        findings.refuse(Refusal::Unsupported(asked.span, what));
    }
    for part in further {
        variables.iter().for_each(|variable| cut(names, *variable, part));
    }
}

/// Which lanes loads and stores name.
#[derive(Default)]
struct Used {
    quarters: SortedSet<u8>,
    /// Sixteens of lanes, 0 to 7, that shapes of 16 lanes access.
    halves: SortedSet<u8>,
    /// Quarters that are loaded as a whole.
    loaded: SortedSet<u8>,
}

/// Some of the lanes: which sixteen they start with, and how many they are.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    half: u8,
    lanes: u32,
}

impl Used {
    fn add(&mut self, tensor: Tensor, lane: u8) {
        self.quarters.insert(lane / 32);
        if half(tensor.lanes, lane).is_some() {
            self.halves.insert(lane / 16);
        } else if tensor.kind == TensorKind::Ld {
            self.loaded.insert(lane / 32);
        }
    }

    /// The parts that have locations besides the column's own. The first, and with it the lanes that no load or store names,
    /// is that.
    fn further(&self) -> Vec<Part> {
        let is_split = |quarter: u8| {
            let both = [2 * quarter, 2 * quarter + 1];
            both.iter().all(|half| self.halves.contains(half)) && !self.loaded.contains(&quarter)
        };
        let parts = self.quarters.iter().flat_map(|&quarter| match is_split(quarter) {
            true => vec![Part { half: 2 * quarter, lanes: 16 }, Part { half: 2 * quarter + 1, lanes: 16 }],
            false => vec![Part { half: 2 * quarter, lanes: 32 }],
        });
        parts.skip(1).collect()
    }
}

/// Which sixteen of the lanes an access from this lane on is of, if it is of one only.
pub(crate) fn half(lanes: Lanes, lane: u8) -> Option<u8> {
    (lanes == Lanes::Half && lane.is_multiple_of(16)).then_some(lane / 16)
}

/// A `tcgen05.ld` or `tcgen05.st`, and its address.
fn accessed(operation: &Operation) -> Option<(Tensor, &AddressOperand)> {
    let Operation::Async(operation) = operation else { return None };
    let Action::Start(start) = &operation.action else { return None };
    let address = start.regions.first()?.base.address()?;
    start.tensor.filter(|_| by_one_warp(start)).map(|tensor| (tensor, address))
}

/// Whether the operation accesses the lanes of one warp only.
pub(crate) fn by_one_warp(start: &Start) -> bool {
    start.tensor.is_some_and(|tensor| matches!(tensor.kind, TensorKind::Ld | TensorKind::St))
}

fn is_columns(names: &Names, id: VariableId) -> bool {
    matches!(names.name_of(id).space, Some((Space::TensorMemory, _)))
}

fn is_alias(names: &Names, target: Option<VariableId>) -> bool {
    target.is_some_and(|target| is_columns(names, target))
}

/// Locations for a part of each column, at addresses that follow each other as those of the columns do.
fn cut(names: &mut Names, id: VariableId, part: Part) {
    let variable = names.variables[id.0].clone();
    let lanes = i128::from(part.half) << HALF_SHIFT;
    let first = 16 * u32::from(part.half);
    for atom in &variable.atoms {
        let column = &names.locations[atom.location.index()];
        let name = format!("{} (lanes {first}-{})", column.name, first + part.lanes - 1);
        let cut = Location { name: name.as_str().into(), ..column.clone() };
        let (location, own) = (LocationId::new(names.locations.len()), AddressId::new(names.addresses.len()));
        names.locations.push(cut);
        let value = Value(variable.base + atom.offset + lanes);
        let (generic, canonical) = (own, own);
        names.addresses.push(Address {
            name: name.into(),
            location,
            generic,
            value,
            canonical,
            within: 0,
            proxy: None,
        });
    }
}

/// A warp reaches one quarter: the one of its number, where the test says that.
fn check(
    thread: &ThreadBuilder,
    quarters: &SortedSet<u8>,
    before: &SortedSet<u8>,
    span: Span,
    findings: &mut Findings,
) {
    let [quarter] = quarters.iter().copied().collect::<Vec<u8>>()[..] else { return };
    let what = match (warp(thread), before.iter().find(|other| **other != quarter)) {
        (Some(warp), _) if warp % 4 != i128::from(quarter) => LintKind::OtherQuarter { warp, quarter },
        (None, Some(&other)) => LintKind::TwoQuarters { thread: thread.name().to_owned(), quarter, other },
        _ => return,
    };
    findings.lint(span, what, SECTION);
}

/// The number of the thread's warp, where the declarations say it.
fn warp(thread: &ThreadBuilder) -> Option<i128> {
    let given = |name: &str| {
        let id = (0..thread.register_count()).map(RegisterId::new).find(|id| thread.register_name(*id) == name)?;
        match thread.initial(id) {
            Initial::Value(Value(value)) if thread.is_initialised(id) && value >= 0 => Some(value),
            _ => None,
        }
    };
    given("%warpid").or_else(|| given("%tid.x").map(|thread| thread / 32))
}

/// What the registers of a thread may hold, as far as it is computed: what is loaded from memory counts as an address of
/// lane 0, which is what allocations give.
struct Values(Vec<Vec<i128>>);

impl Values {
    fn new(names: &Names, thread: &ThreadBuilder) -> Values {
        let initial = |id: RegisterId| match thread.initial(id) {
            Initial::Address(address) => vec![names.value(address)],
            Initial::Value(Value(value)) if thread.is_initialised(id) => vec![value],
            Initial::Value(_) => Vec::new(),
        };
        let mut values = Values((0..thread.register_count()).map(RegisterId::new).map(initial).collect());
        let mut seen = vec![Operands::default(); thread.code.len()];
        loop {
            let mut changed = false;
            for (code, seen) in thread.code.iter().zip(&mut seen) {
                let defined = defined(&code.operation);
                // What is full takes no more.
                if defined.iter().all(|register| values.0[register.index()].len() >= MOST_VALUES) {
                    continue;
                }
                let found = values.result(names, &code.operation, seen);
                for register in defined {
                    let slot = &mut values.0[register.index()];
                    let room = MOST_VALUES.saturating_sub(slot.len());
                    let is_new = |value: &i128| slot.binary_search(value).is_err();
                    let new: Vec<i128> = found.iter().copied().filter(is_new).take(room).collect();
                    changed |= add(slot, &new);
                }
            }
            if !changed {
                return values;
            }
        }
    }

    fn address(&self, names: &Names, address: &AddressOperand) -> Vec<i128> {
        let found = match address {
            AddressOperand::Static(address) => vec![names.value(*address)],
            AddressOperand::Register(register) => self.0[register.index()].clone(),
        };
        // A register may hold other things elsewhere.
        let is_column = |value: &i128| {
            let column = value & !LANES;
            column < i128::from(u16::MAX) || names.at(column).is_some_and(|(variable, _)| is_columns(names, variable))
        };
        found.into_iter().filter(is_column).collect()
    }

    fn operand(&self, names: &Names, operand: Operand) -> Vec<i128> {
        match operand {
            Operand::Register(register) => self.0[register.index()].clone(),
            Operand::Constant(Value(value)) => vec![value],
            Operand::Address(address) => vec![names.value(address)],
        }
    }

    /// Ascending, less what it was known to be before.
    fn result(&self, names: &Names, operation: &Operation, seen: &mut Operands) -> Vec<i128> {
        let Operation::Local { ty, value, .. } = operation else { return vec![0] };
        let of = |operand: &Operand| self.operand(names, *operand);
        match value {
            LocalValue::Operand(operand) => ascending(of(operand).into_iter().map(|value| ty.wrap(Value(value)).0)),
            LocalValue::Unary(operator, operand) => {
                ascending(of(operand).into_iter().map(|value| operator.apply(*ty, Value(value)).0))
            }
            LocalValue::Binary(operator, left, right) => {
                let pairs = seen.new_pairs(of(left), of(right)).into_iter();
                ascending(pairs.map(|(left, right)| operator.apply(*ty, Value(left), Value(right)).0))
            }
            LocalValue::Select { then, otherwise, .. } => ascending(of(then).into_iter().chain(of(otherwise))),
        }
    }
}
