//! Tensor maps, matrices and tensor memory: what a kernel makes of what a litmus test calls by its name.

use std::collections::BTreeSet;

use fencepost_kernel::code::Module;
use fencepost_kernel::footprint::tensor_map::{Element, TensorMap};
use fencepost_syntax::Spanned;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::tree::InitialValue;

use crate::program::Lines;

use super::{Refused, Translator, address_of, has, instructions, refuse, symbols};

/// How many columns of tensor memory a variable has: a product writes so many.
pub(super) const TENSOR_COLUMNS: u32 = 32;

/// Of a matrix without a swizzle.
pub(super) const DESCRIPTOR: &str = "0x0000401000080000";
/// 128 rows and 16 columns; of a pair of CTAs 256.
pub(super) const SHAPE: i128 = 0x0804_0010;
pub(super) const SHAPE_OF_PAIR: i128 = 0x1004_0010;

/// The first lane, in an address of tensor memory.
pub(super) const LANE: i128 = 1 << 16;

/// Where the start finds what shared memory is to hold.
pub(super) fn in_constant(name: &str) -> String {
    format!("{name}_at_the_start")
}

/// A tensor map of one dimension, over a variable.
#[derive(Clone)]
pub(super) struct Map {
    of: String,
    element: Element,
    elements: u32,
    /// How many of them a copy takes.
    box_elements: u32,
}

impl Map {
    pub(super) fn bytes(&self, module: &Module) -> Vec<u8> {
        let map = TensorMap {
            address: address_of(module, &self.of),
            element: self.element,
            rank: 1,
            dims: [u64::from(self.elements), 1, 1, 1, 1],
            box_dims: [self.box_elements, 1, 1, 1, 1],
            element_strides: [1; 5],
            ..TensorMap::default()
        };
        map.to_bytes().to_vec()
    }
}

impl Translator<'_> {
    pub(super) fn refuse_tensor_memory(&self) -> Result<(), Refused> {
        if instructions(self.litmus).any(|own| own.opcode.node == "setmaxnreg") {
            return refuse("registers of a warpgroup");
        }
        let is_far = |operand: &Spanned<Operand>| match &operand.node {
            Operand::Integer(number) => *number >= LANE,
            Operand::Address(address) => address.offset >= LANE,
            _ => false,
        };
        let of_tensors = instructions(self.litmus).any(|own| own.opcode.node == "tcgen05");
        if of_tensors && instructions(self.litmus).any(|own| own.operands.iter().any(is_far)) {
            return refuse("lanes of tensor memory in an address");
        }
        let names = |name: &str| {
            let mut found = false;
            let operands = instructions(self.litmus).flat_map(|own| &own.operands);
            operands.for_each(|operand| symbols(&operand.node, &mut |own| found |= own == name));
            found || self.registers.iter().any(|(_, _, value)| matches!(value, InitialValue::Name(own) if own == name))
        };
        let of_columns = |operand: &Spanned<Operand>| match &operand.node {
            Operand::Symbol(name) => self.column(name).is_some(),
            Operand::Register(name) => self.registers.iter().any(|(_, own, value)| {
                name == own && matches!(value, InitialValue::Name(name) if self.column(name).is_some())
            }),
            _ => false,
        };
        let computes = |own: &&Instruction| !matches!(own.opcode.node.as_str(), "tcgen05" | "st");
        if instructions(self.litmus).filter(computes).any(|own| own.operands.iter().any(of_columns)) {
            return refuse("columns of tensor memory that are computed");
        }
        if self.allocates() && self.columns().into_iter().any(|name| names(name)) {
            return refuse("columns that the test has and others that it allocates");
        }
        Ok(())
    }

    /// Whether the test itself asks for tensor memory.
    pub(super) fn allocates(&self) -> bool {
        instructions(self.litmus).any(|own| own.opcode.node == "tcgen05" && has(own, "alloc"))
    }

    /// Maps of one dimension, whose copies move whole shared variables.
    pub(super) fn maps(&self) -> Result<Vec<(String, Map)>, Refused> {
        let mut maps = Vec::new();
        let copies = || instructions(self.litmus).filter(|own| own.opcode.node == "cp" && has(own, "tensor"));
        for (name, variable) in &self.variables {
            let Some(of) = &variable.map else { continue };
            let Some(target) = self.variables.get(of).filter(|own| own.space == "global" && own.map.is_none()) else {
                return refuse("a tensor map over something else than a global variable");
            };
            let element = match target.bytes {
                4 => Element::U32,
                8 => Element::U64,
                2 => Element::U16,
                1 => Element::U8,
                _ => return refuse("a tensor map over something else than a global variable"),
            };
            if copies().any(|own| !has(own, "1d")) {
                return refuse("a tensor map of several dimensions");
            }
            let mut tiles = BTreeSet::new();
            for copy in copies() {
                for operand in &copy.operands {
                    if let Operand::Address(address) = &operand.node
                        && let Operand::Symbol(name) = &address.base.node
                        && let Some(tile) = self.variables.get(name.as_str())
                        && tile.space == "shared"
                        && tile.count.is_none()
                        && tile.map.is_none()
                    {
                        tiles.insert(tile.bytes * tile.elements);
                    }
                }
            }
            let Some(tile) = tiles.first().filter(|_| tiles.len() == 1) else {
                return refuse("tiles of several sizes");
            };
            let box_elements = (tile / target.bytes).min(target.elements);
            let map = Map { of: of.clone(), element, elements: target.elements, box_elements };
            let holder = if variable.space == "shared" { in_constant(name) } else { name.clone() };
            maps.push((holder, map));
        }
        Ok(maps)
    }

    pub(super) fn is_map_parameter(&self, name: &str) -> bool {
        self.variables.get(name).is_some_and(|own| own.space == "param" && own.map.is_some())
    }

    pub(super) fn is_matrix(&self, name: &str) -> bool {
        let multiplies = |instruction: &Instruction| {
            matches!(instruction.opcode.node.as_str(), "wgmma" | "tcgen05")
                && ["mma_async", "mma", "cp"].into_iter().any(|word| has(instruction, word))
        };
        let names = |operand: &Spanned<Operand>| {
            matches!(&operand.node, Operand::Symbol(own) if own == name)
                || matches!(&operand.node, Operand::Register(register) if self.registers.iter().any(|(_, own, value)| {
                    register == own && matches!(value, InitialValue::Name(own) if own == name)
                }))
        };
        instructions(self.litmus).any(|own| multiplies(own) && own.operands.iter().skip(1).any(names))
    }

    /// Variables in tensor memory, each in columns of its own.
    pub(super) fn columns(&self) -> Vec<&String> {
        self.variables.iter().filter(|(_, own)| own.space == "tmem").map(|(name, _)| name).collect()
    }

    pub(super) fn column(&self, name: &str) -> Option<u32> {
        self.columns().iter().position(|own| *own == name).map(|at| at as u32 * TENSOR_COLUMNS)
    }

    /// All that the variables need, by the first warp.
    pub(super) fn allocate(&self, variables: u32, out: &mut Lines) {
        let group = 1 + u32::from(instructions(self.litmus).any(|instruction| has(instruction, "cta_group::2")));
        let columns = (variables * TENSOR_COLUMNS).next_power_of_two();
        out.line(".shared .align 4 .u32 zslot;", None);
        out.line("setp.eq.u32 %zp0, %za2, 0;", None);
        out.line(
            &format!("@%zp0 tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [zslot], {columns};"),
            None,
        );
    }
}
