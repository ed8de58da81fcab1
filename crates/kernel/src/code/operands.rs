//! Operands of one instruction: registers, constants, addresses of variables.

use std::collections::HashMap;

use fencepost_syntax::instruction::{Instruction as Tree, Operand};

use super::directives;
use super::flatten::{Flat, Line};
use super::op::{Order, Place, Register, Scope, Source, Space};
use super::ty::{Kind, Ty};
use super::{Module, Parameter, SPECIALS};

/// What decoding one instruction needs to know.
pub(super) struct Context<'a, 't> {
    pub(super) module: &'a Module,
    pub(super) flat: &'a Flat<'t>,
    pub(super) parameters: &'a [Parameter],
    pub(super) shared: &'a HashMap<String, u32>,
    pub(super) line: &'a Line<'t>,
}

/// Why an instruction has no model here.
pub(super) type Refused = String;
pub(super) type Decoded<T> = Result<T, Refused>;

impl<'t> Context<'_, 't> {
    pub(super) fn tree(&self) -> &'t Tree {
        self.line.tree
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.tree().modifiers.iter().any(|modifier| modifier.node == word)
    }

    pub(super) fn words(&self) -> impl Iterator<Item = &'t str> {
        self.tree().modifiers.iter().map(|modifier| modifier.node.as_str())
    }

    /// The last modifier that is a type: `u32` of `ld.global.u32`, the source's of `cvt.u64.u32`.
    pub(super) fn ty(&self) -> Decoded<Ty> {
        self.words().filter_map(Ty::of).last().ok_or_else(|| "it has no type".to_owned())
    }

    pub(super) fn operand(&self, index: usize) -> Decoded<&'t Operand> {
        let found = self.tree().operands.get(index).map(|operand| &operand.node);
        found.ok_or_else(|| format!("operand {} is missing", index + 1))
    }

    pub(super) fn count(&self) -> usize {
        self.tree().operands.len()
    }

    pub(super) fn to(&self, index: usize) -> Decoded<Register> {
        self.register_of(self.operand(index)?)
    }

    pub(super) fn register_of(&self, operand: &Operand) -> Decoded<Register> {
        let name = match operand {
            Operand::Register(name) | Operand::Symbol(name) => name,
            _ => return Err("a register is expected".to_owned()),
        };
        self.register(name).ok_or_else(|| format!("`{name}` is not declared"))
    }

    pub(super) fn maybe_to(&self, operand: &Operand) -> Decoded<Option<Register>> {
        if *operand == Operand::Sink { Ok(None) } else { self.register_of(operand).map(Some) }
    }

    fn register(&self, name: &str) -> Option<Register> {
        if let Some((register, _)) = self.flat.register(self.line.block, name) {
            return Some(register);
        }
        SPECIALS.iter().position(|special| *special == name).map(|index| index as Register)
    }

    /// The declared type of a register operand.
    pub(super) fn declared(&self, operand: &Operand) -> Option<Ty> {
        match operand {
            Operand::Register(name) | Operand::Symbol(name) => {
                self.flat.register(self.line.block, name).map(|(_, ty)| ty)
            }
            _ => None,
        }
    }

    pub(super) fn from(&self, index: usize, ty: Ty) -> Decoded<Source> {
        self.source(self.operand(index)?, ty)
    }

    pub(super) fn source(&self, operand: &Operand, ty: Ty) -> Decoded<Source> {
        Ok(match operand {
            Operand::Register(name) => match self.register(name) {
                Some(register) => Source::Register(register),
                None => return Err(format!("`{name}` has no model")),
            },
            Operand::Symbol(name) => match self.register(name) {
                Some(register) => Source::Register(register),
                None => match self.variable(name)? {
                    (Space::Shared, address) => Source::Shared(address as u32),
                    (_, address) => Source::Constant(address),
                },
            },
            Operand::Integer(value) if ty.kind == Kind::Predicate => Source::Constant(u64::from(*value != 0)),
            Operand::Integer(value) if ty.kind == Kind::Float => {
                let bits = if ty.bits == 64 { (*value as f64).to_bits() } else { u64::from((*value as f32).to_bits()) };
                Source::Constant(bits)
            }
            Operand::Integer(value) => Source::Constant(ty.cut(*value as u64)),
            Operand::Float(text) => {
                let bits =
                    if text.to_ascii_lowercase().contains("0d") && ty.kind != Kind::Float { 64 } else { ty.bits };
                Source::Constant(directives::float(text, bits).ok_or_else(|| format!("`{text}` is no number"))?)
            }
            Operand::Offset(base, offset) => match self.source(&base.node, ty)? {
                Source::Constant(address) => Source::Constant(address.wrapping_add(*offset as u64)),
                Source::Shared(address) => Source::Shared(address.wrapping_add(*offset as u32)),
                Source::Register(_) => return Err("a register with an offset outside brackets".to_owned()),
            },
            Operand::Sink => Source::Constant(0),
            _ => return Err("an operand of this shape has no model here".to_owned()),
        })
    }

    /// The state space of a variable and its address there; of global and constant ones the generic address.
    fn variable(&self, name: &str) -> Decoded<(Space, u64)> {
        if let Some(variable) = self.flat.variable(self.line.block, name) {
            return Ok((if variable.space == Space::Param { Space::Local } else { variable.space }, variable.address));
        }
        if let Some(parameter) = self.parameters.iter().find(|parameter| parameter.name == name) {
            return Ok((Space::Param, u64::from(parameter.offset)));
        }
        if let Some(offset) = self.shared.get(name) {
            return Ok((Space::Shared, u64::from(*offset)));
        }
        let variable = self.module.variables.iter().find(|variable| variable.name == name);
        let variable = variable.ok_or_else(|| format!("`{name}` is not declared"))?;
        Ok((variable.space, variable.address))
    }

    /// `[%rd1+8]`, `[smem+8]`, in the space that the modifiers name.
    pub(super) fn place(&self, index: usize, space: Space) -> Decoded<Place> {
        self.place_of(self.operand(index)?, space)
    }

    pub(super) fn place_of(&self, operand: &Operand, space: Space) -> Decoded<Place> {
        let Operand::Address(address) = operand else { return Err("an address in brackets is expected".to_owned()) };
        let (mut space, mut offset) = (space, address.offset as i64);
        let base = match &address.base.node {
            Operand::Symbol(name) if self.register(name).is_none() => {
                let (own, at) = self.variable(name)?;
                // A variable of the module is named with its generic address; one in a window with its place there.
                match own {
                    Space::Global | Space::Const => {}
                    own if space == Space::Generic || space == Space::Param => space = own,
                    _ => {}
                }
                offset = offset.wrapping_add(at as i64);
                if own == Space::Shared { Source::Shared(0) } else { Source::Constant(0) }
            }
            Operand::Integer(value) => Source::Constant(*value as u64),
            other => self.source(other, Ty::U64)?,
        };
        Ok(Place { space, base, offset })
    }

    /// The state space that the modifiers name.
    pub(super) fn space(&self) -> Space {
        for word in self.words() {
            match word {
                "global" => return Space::Global,
                "shared" | "shared::cta" => return Space::Shared,
                "shared::cluster" => return Space::SharedCluster,
                "local" => return Space::Local,
                "param" | "param::entry" | "param::func" => return Space::Param,
                "const" => return Space::Const,
                _ => {}
            }
        }
        Space::Generic
    }

    pub(super) fn scope(&self) -> Option<Scope> {
        self.words().find_map(|word| match word {
            "cta" => Some(Scope::Cta),
            "cluster" => Some(Scope::Cluster),
            "gpu" => Some(Scope::Gpu),
            "sys" => Some(Scope::Sys),
            _ => None,
        })
    }

    pub(super) fn order(&self) -> Option<Order> {
        self.words().find_map(|word| match word {
            "weak" => Some(Order::Weak),
            "relaxed" | "volatile" | "mmio" => Some(Order::Relaxed),
            "acquire" => Some(Order::Acquire),
            "release" => Some(Order::Release),
            "acq_rel" => Some(Order::AcquireRelease),
            "sc" => Some(Order::SequentiallyConsistent),
            _ => None,
        })
    }

    /// The elements of `{a, b}`, or the operand itself.
    pub(super) fn elements(&self, operand: &'t Operand) -> Vec<&'t Operand> {
        match operand {
            Operand::Vector(items) => items.iter().map(|item| &item.node).collect(),
            other => vec![other],
        }
    }

    pub(super) fn sources(&self, operand: &'t Operand, ty: Ty) -> Decoded<Vec<Source>> {
        self.elements(operand).into_iter().map(|item| self.source(item, ty)).collect()
    }

    pub(super) fn registers(&self, operand: &'t Operand) -> Decoded<Vec<Register>> {
        self.elements(operand).into_iter().map(|item| self.register_of(item)).collect()
    }

    pub(super) fn maybe_registers(&self, operand: &'t Operand) -> Decoded<Vec<Option<Register>>> {
        self.elements(operand).into_iter().map(|item| self.maybe_to(item)).collect()
    }

    /// The halves of a 128-bit register, or `{low, high}`.
    pub(super) fn halves_to(&self, operand: &'t Operand) -> Decoded<[Option<Register>; 2]> {
        match operand {
            Operand::Vector(_) => self.maybe_registers(operand)?.try_into().map_err(|_| two_halves()),
            operand => {
                let first = self.half(operand)?;
                Ok([Some(first), Some(first + 1)])
            }
        }
    }

    pub(super) fn halves_from(&self, operand: &'t Operand) -> Decoded<[Source; 2]> {
        match operand {
            Operand::Vector(_) => self.sources(operand, Ty::U64)?.try_into().map_err(|_| two_halves()),
            operand => {
                let first = self.half(operand)?;
                Ok([Source::Register(first), Source::Register(first + 1)])
            }
        }
    }

    fn half(&self, operand: &Operand) -> Decoded<Register> {
        if self.declared(operand).is_none_or(|ty| ty.bits != 128) {
            return Err("a register of 128 bits is expected".to_owned());
        }
        self.register_of(operand)
    }

    pub(super) fn constant(&self, index: usize) -> Decoded<u64> {
        match self.from(index, Ty::U64)? {
            Source::Constant(value) => Ok(value),
            Source::Register(_) | Source::Shared(_) => Err("a constant is expected".to_owned()),
        }
    }
}

fn two_halves() -> Refused {
    "128 bits are two halves".to_owned()
}
