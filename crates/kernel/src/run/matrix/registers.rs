//! Registers that `wgmma` reads and writes beside its thread (9.7.17.5.2, 9.7.17.7.1).
//!
//! A register of a product is nobody's until a wait covers the product, and a `wgmma.fence` separates a product from every
//! access to its registers, and from the start of the thread. Products of one shape may follow each other on one accumulator,
//! and several may read one fragment, without either. The results of `tcgen05.ld` need no such books: a true
//! dependency through a register is respected without a wait (9.7.18.6.4).

use std::collections::HashMap;

use crate::code::Instruction;
use crate::code::op::{Op, Pc, Register, Source, WgmmaOperand};
use crate::order::record::StrandId;
use crate::report::{Finding, Protocol};
use crate::run::Run;

/// How a product uses a register.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::run) enum Role {
    /// With the shape of the product.
    Accumulator(String),
    Fragment,
}

/// What a warp has done to registers of products.
#[derive(Clone, Default)]
pub(in crate::run) struct RegisterUse {
    is_fenced: bool,
    /// Accesses since the last fence; by a product, in which role.
    touched: HashMap<Register, Option<Role>>,
    /// Of products that nobody has waited for.
    in_flight: Vec<(StrandId, Vec<(Register, Role)>)>,
}

impl RegisterUse {
    pub(in crate::run) fn fence(&mut self) {
        self.is_fenced = true;
        self.touched.clear();
    }

    pub(in crate::run) fn complete(&mut self, done: &[StrandId]) {
        self.in_flight.retain(|(strand, _)| !done.contains(strand));
    }

    /// A register that is in flight in another role than this one.
    fn is_in_flight(&self, register: Register, role: Option<&Role>) -> bool {
        let clashes = |(own, as_what): &(Register, Role)| *own == register && role != Some(as_what);
        self.in_flight.iter().any(|(_, registers)| registers.iter().any(clashes))
    }
}

/// The registers of an entry's products, by their numbers; none if it has no products.
pub(in crate::run) fn of_products(code: &[Instruction], registers: u32) -> Vec<bool> {
    let mut of_products = Vec::new();
    for instruction in code {
        if let Op::Wgmma { accumulators, a, .. } = &instruction.op {
            of_products.resize(registers as usize, false);
            roles("", accumulators, a).iter().for_each(|(register, _)| of_products[*register as usize] = true);
        }
    }
    of_products
}

fn roles(shape: &str, accumulators: &[Register], a: &WgmmaOperand) -> Vec<(Register, Role)> {
    let mut roles = Vec::new();
    if let WgmmaOperand::Registers(sources) = a {
        roles.extend(sources.iter().filter_map(|source| match source {
            Source::Register(register) => Some((*register, Role::Fragment)),
            Source::Constant(_) | Source::Shared(_) => None,
        }));
    }
    roles.extend(accumulators.iter().map(|register| (*register, Role::Accumulator(shape.to_owned()))));
    roles
}

impl Run<'_> {
    /// Looks at the registers of an instruction that is no product.
    pub(in crate::run) fn note_registers(&mut self, warp: usize, pc: Pc, active: u32, instruction: &Instruction) {
        if active == 0 || matches!(instruction.op, Op::Wgmma { .. }) {
            return;
        }
        for register in instruction.registers.iter().copied() {
            if !self.of_products[register as usize] {
                continue;
            }
            let books = &mut self.warps[warp].groups.registers;
            books.touched.insert(register, None);
            if books.is_in_flight(register, None) {
                self.find_register(warp, pc, active, |name| Protocol::RegisterInFlight { name }, register);
            }
        }
    }

    /// A product starts.
    pub(in crate::run) fn note_product(
        &mut self,
        warp: usize,
        pc: Pc,
        active: u32,
        strand: StrandId,
        (shape, accumulators, a): (&str, &[Register], &WgmmaOperand),
    ) {
        let roles = roles(shape, accumulators, a);
        let books = &mut self.warps[warp].groups.registers;
        let early = roles.iter().find(|(register, role)| books.is_in_flight(*register, Some(role)));
        let early = early.map(|(register, _)| *register);
        let clashes = |(register, role): &&(Register, Role)| {
            books.touched.get(register).is_some_and(|before| before.as_ref() != Some(role))
        };
        let unfenced = roles.iter().find(clashes).map(|(register, _)| *register);
        let first = !std::mem::replace(&mut books.is_fenced, true);
        books.touched.extend(roles.iter().cloned().map(|(register, role)| (register, Some(role))));
        books.in_flight.push((strand, roles));
        if let Some(register) = early {
            self.find_register(warp, pc, active, |name| Protocol::RegisterInFlight { name }, register);
        }
        if let Some(register) = unfenced {
            self.find_register(warp, pc, active, |name| Protocol::NoWgmmaFence { name: Some(name) }, register);
        } else if first {
            let thread = self.thread(warp, active.trailing_zeros());
            self.find(3, pc, Finding::Protocol { pc, thread, what: Protocol::NoWgmmaFence { name: None } });
        }
    }

    fn find_register(
        &mut self,
        warp: usize,
        pc: Pc,
        active: u32,
        what: impl Fn(String) -> Protocol,
        register: Register,
    ) {
        let thread = self.thread(warp, active.trailing_zeros());
        let name = self.entry.register_names[register as usize].0.clone();
        self.find(3, pc, Finding::Protocol { pc, thread, what: what(name) });
    }
}
