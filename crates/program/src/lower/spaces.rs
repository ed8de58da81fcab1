//! State spaces (PTX ISA 5.1). A location has one: its declaration's, else that of the first access that says it. Each CTA
//! has its own `.shared` memory, so that one name reached from two CTAs would be two locations.

use std::collections::BTreeMap;

use fencepost_syntax::instruction::Instruction as Tree;
use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::ids::{AddressId, LocationId};
use crate::lower::sizes::access;
use crate::lower::{Context, Findings, Names, Refusal, ThreadBuilder};
use crate::program::{AddressOperand, Instruction, LocalValue, Operand, Operation, Place, Unsupported};
use crate::table::modifier::spelled;

/// `.shared` of an access, and who says so.
#[derive(Clone, Debug)]
pub(crate) struct Qualifier {
    space: Spanned<String>,
    /// "P0's `st.shared.u32`".
    by: String,
}

/// The space of each location, and what says it.
#[derive(Default)]
pub(crate) struct Spaces {
    known: BTreeMap<LocationId, (String, String)>,
}

/// `shared::cta` and `shared::cluster` are windows of one space, as are those of `param`.
fn stem(space: &str) -> &str {
    space.split("::").next().unwrap_or(space)
}

impl Spaces {
    pub(crate) fn declare(&mut self, location: LocationId, space: &str) {
        self.known.insert(location, (stem(space).to_string(), "its declaration".to_string()));
    }

    fn is_shared(&self, location: LocationId) -> bool {
        self.known.get(&location).is_some_and(|(space, _)| space == "shared")
    }
}

impl Names {
    fn qualify(&mut self, address: AddressId, qualifier: &Qualifier) -> Result<(), Refusal> {
        let location = self.addresses[address.index()].location;
        let said = stem(&qualifier.space.node);
        let first = || (said.to_string(), qualifier.by.clone());
        let (space, by) = self.spaces.known.entry(location).or_insert_with(first);
        if space == said {
            return Ok(());
        }
        let name = &self.locations[location.index()].name;
        let message = format!("{} reaches `{name}` as `.{said}`, but it is `.{space}` by {by}", qualifier.by);
        let help = format!("write `.{space}`, or leave the state space out");
        Err(Refusal::Error(Diagnostic::error(qualifier.space.span, message).label("another state space").help(help)))
    }
}

impl Context<'_> {
    /// Notes or compares the state space an access says. A register may get its address from anywhere: what it holds is
    /// looked at when the thread is complete.
    pub(crate) fn qualify(
        &mut self,
        tree: &Tree,
        space: Option<&Spanned<String>>,
        address: &AddressOperand,
    ) -> Result<(), Refusal> {
        let Some(space) = space else { return Ok(()) };
        let qualifier = Qualifier { space: space.clone(), by: format!("{}'s {}", self.thread.name(), spelled(tree)) };
        match address {
            AddressOperand::Static(address) => self.names.qualify(*address, &qualifier),
            AddressOperand::Register(register) => {
                self.thread.qualified.push((*register, qualifier));
                Ok(())
            }
        }
    }
}

pub(crate) fn settle(names: &mut Names, threads: &[ThreadBuilder], findings: &mut Findings) {
    for thread in threads {
        for (register, qualifier) in &thread.qualified {
            let address = thread.fixed_address(*register);
            if let Some(Err(refusal)) = address.map(|address| names.qualify(address, qualifier)) {
                findings.refuse(refusal);
            }
        }
    }
    let mut ctas = BTreeMap::<LocationId, Place>::new();
    let mut spread = BTreeMap::<LocationId, Span>::new();
    for thread in threads {
        let code = thread.code.iter().flat_map(|code| reached(names, code).into_iter().map(|at| (at, code.span)));
        let declared = thread.initial_addresses().flat_map(|(address, span)| spanned(names, address, span));
        for (location, span) in code.chain(declared).filter(|(location, _)| names.spaces.is_shared(*location)) {
            if *ctas.entry(location).or_insert(thread.place) != thread.place {
                spread.entry(location).or_insert(span);
            }
        }
    }
    let what =
        |location: &LocationId| format!("`.shared` `{}` in several CTAs", names.locations[location.index()].name);
    findings
        .unsupported
        .extend(spread.iter().map(|(location, span)| Unsupported { span: *span, what: what(location) }));
}

fn spanned(names: &Names, address: AddressId, span: Span) -> impl Iterator<Item = (LocationId, Span)> {
    names.siblings(address).map(move |address| (names.addresses[address].location, span))
}

/// The locations an instruction accesses, or whose address it takes: from that, pointer arithmetic reaches a whole array.
fn reached(names: &Names, code: &Instruction) -> Vec<LocationId> {
    if let Some((AddressOperand::Static(address), _)) = access(&code.operation) {
        return vec![names.addresses[address.index()].location];
    }
    let Operation::Local { value, .. } = &code.operation else { return Vec::new() };
    let operands = match *value {
        LocalValue::Operand(operand) | LocalValue::Unary(_, operand) => vec![operand],
        LocalValue::Binary(_, left, right) => vec![left, right],
        LocalValue::Select { condition, then, otherwise } => vec![condition, then, otherwise],
    };
    let addresses = operands.into_iter().filter_map(|operand| match operand {
        Operand::Address(address) => Some(address),
        _ => None,
    });
    addresses.flat_map(|address| spanned(names, address, code.span)).map(|(location, _)| location).collect()
}
