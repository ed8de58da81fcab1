//! The instructions of a thread, with registers and labels of its own.

use std::collections::{BTreeMap, BTreeSet};

use fencepost_syntax::Spanned;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::tree::{InitialAddress, InitialValue, Litmus, Statement, Thread};
use fencepost_syntax::ptx::{self, tree::Item};
use fencepost_syntax::short::ShortText;

use crate::program::Layout;

use super::tensor::{DESCRIPTOR, SHAPE, SHAPE_OF_PAIR};
use super::{Refused, Translator, element, has, instructions, of_thread, refuse};

/// A thread's lines with registers and labels of its own.
pub(super) struct Body<'a> {
    translator: &'a Translator<'a>,
    index: usize,
    pub(super) registers: BTreeMap<String, &'static str>,
    labels: BTreeSet<String>,
    /// Registers that an instruction writes.
    written: BTreeSet<String>,
    /// Names of instances of other CTAs, and of special registers, whose value stands in a register.
    head: Vec<String>,
    pub(super) lines: Vec<(String, Option<u32>)>,
}

impl<'a> Body<'a> {
    pub(super) fn of(translator: &'a Translator<'a>, index: usize, thread: &Thread) -> Result<Body<'a>, Refused> {
        let label = |statement: &Statement| match statement {
            Statement::Label(name) => Some(name.node.clone()),
            _ => None,
        };
        let labels = thread.body.iter().filter_map(label).collect();
        let mut body = Body {
            translator,
            index,
            registers: BTreeMap::new(),
            labels,
            written: BTreeSet::new(),
            head: Vec::new(),
            lines: Vec::new(),
        };
        for instruction in of_thread(thread) {
            body.find_predicates(instruction);
            if let Some(first) = instruction.operands.first() {
                registers(&first.node, &mut |name| {
                    body.written.insert(name.to_owned());
                });
            }
        }
        let given: Vec<(String, InitialValue)> = (translator.registers.iter())
            .filter(|(thread, ..)| *thread == index as u32)
            .map(|(_, name, value)| (name.clone(), value.clone()))
            .collect();
        for (name, value) in given {
            body.give(&name, &value)?;
        }
        for statement in &thread.body {
            match statement {
                Statement::Label(name) => body.lines.push((format!("T{index}_{}:", name.node), None)),
                Statement::Instruction { assume: Some(_), .. } => return refuse("an assumption"),
                Statement::Instruction { instruction, .. } => body.instruction(instruction)?,
                Statement::C(_) => return refuse("not PTX as kernels have it"),
            }
        }
        let head = std::mem::take(&mut body.head);
        body.lines.splice(0..0, head.into_iter().map(|line| (line, None)));
        Ok(body)
    }

    fn own(&self, name: &str) -> String {
        format!("%T{}_{}", self.index, name.trim_start_matches('%'))
    }

    fn find_predicates(&mut self, instruction: &Instruction) {
        let mut found = Vec::new();
        let mut add = |operand: Option<&Spanned<Operand>>| {
            if let Some(operand) = operand {
                registers(&operand.node, &mut |name| found.push(name.to_owned()));
            }
        };
        let operands = &instruction.operands;
        match instruction.opcode.node.as_str() {
            "setp" | "isspacep" => add(operands.first()),
            "mbarrier" if has(instruction, "test_wait") || has(instruction, "try_wait") => add(operands.first()),
            "selp" => add(operands.get(3)),
            "elect" => {
                if let Some(Operand::Pair(_, second)) = operands.first().map(|operand| &operand.node) {
                    add(Some(second));
                }
            }
            "tcgen05" if has(instruction, "mma") => add(operands.last()),
            _ if has(instruction, "pred") => operands.iter().for_each(|operand| add(Some(operand))),
            _ => {}
        }
        if let Some(guard) = &instruction.guard {
            found.push(guard.register.node.to_string());
        }
        for name in found {
            let name = self.own(&name);
            self.registers.insert(name, "pred");
        }
    }

    /// The register, declared.
    fn register(&mut self, name: &str) -> String {
        let own = self.own(name);
        let wide = has_128(self.translator.litmus, name);
        self.registers.entry(own.clone()).or_insert(if wide { "b128" } else { "b64" });
        own
    }

    fn give(&mut self, name: &str, value: &InitialValue) -> Result<(), Refused> {
        if name.contains('.') {
            // A special register: read where it stands.
            return Ok(());
        }
        let own = self.register(name);
        match value {
            InitialValue::Integer(value) => self.head.push(format!("mov.b64 {own}, {value};")),
            InitialValue::Name(name) => self.address(&own, name, 0)?,
            InitialValue::Address(InitialAddress { name, element, offset }) => {
                let base = name.split('@').next().unwrap_or(name);
                let bytes = self.translator.variables.get(base).map_or(4, |variable| variable.bytes);
                self.address(&own, name, *offset + i128::from(element.unwrap_or(0) * bytes))?;
            }
            InitialValue::List(_) | InitialValue::Unknown => return refuse("an unknown initial value"),
        }
        Ok(())
    }

    /// Puts the address of a name into a register, before anything else.
    fn address(&mut self, own: &str, name: &str, offset: i128) -> Result<(), Refused> {
        let (base, cta) = match name.split_once('@') {
            Some((base, cta)) => (base, cta.parse::<u32>().ok()),
            None => (name, None),
        };
        let Some(variable) = self.translator.variables.get(base) else { return refuse("an address of nothing") };
        match (variable.space, cta) {
            ("param", None) if variable.map.is_some() => {
                self.head.push(format!("mov.b64 {own}, {base};"));
                self.head.push(format!("cvta.param.u64 {own}, {own};"));
            }
            ("tmem", None) => {
                let column = i128::from(self.translator.column(base).unwrap_or(0)) + offset;
                self.head.push(format!("mov.u32 {own}, {column};"));
            }
            ("tmem", Some(_)) => return refuse("tensor memory of another CTA"),
            ("shared", Some(cta)) => {
                let own_cluster = self.translator.seats[self.index].cluster;
                let at =
                    self.translator.litmus.threads.iter().position(|thread| thread.placement.cta.unwrap_or(0) == cta);
                let Some(seat) = at.map(|at| self.translator.seats[at]) else { return refuse("a CTA without threads") };
                if seat.cluster != own_cluster {
                    return refuse("shared memory of another cluster");
                }
                self.head.push(format!("mov.u32 %za8, {base};"));
                self.head.push(format!("add.u32 %za8, %za8, {offset};"));
                self.head.push(format!("mapa.shared::cluster.u32 %za9, %za8, {};", seat.rank));
                self.head.push(format!("cvt.u64.u32 {own}, %za9;"));
                if self.is_generic(own) {
                    self.head.push(format!("cvta.shared::cluster.u64 {own}, {own};"));
                }
            }
            _ => {
                self.head.push(format!("mov.u64 {own}, {base};"));
                if offset != 0 {
                    self.head.push(format!("add.s64 {own}, {own}, {offset};"));
                }
            }
        }
        Ok(())
    }

    /// Whether an access through it names no state space.
    fn is_generic(&self, register: &str) -> bool {
        let through = |operand: &Spanned<Operand>| match &operand.node {
            Operand::Address(address) => {
                matches!(&address.base.node, Operand::Register(name) if self.own(name) == register)
            }
            _ => false,
        };
        let space = |word: &Spanned<ShortText>| word.node.starts_with("shared");
        of_thread(&self.translator.litmus.threads[self.index])
            .any(|own| own.operands.iter().any(through) && !own.modifiers.iter().any(space))
    }

    fn instruction(&mut self, instruction: &Instruction) -> Result<(), Refused> {
        let mut own = instruction.clone();
        let at = instruction.span().start;
        if let Some(guard) = &mut own.guard {
            guard.register.node = self.register(&guard.register.node).into();
        }
        let matrices = self.matrices(&mut own)?;
        for operand in &mut own.operands {
            self.operand(&mut operand.node)?;
        }
        for (at, register) in matrices {
            own.operands[at].node = Operand::Register(register.into());
        }
        let opcode = own.opcode.node.clone();
        let is_type = |word: &Spanned<ShortText>| {
            element(&word.node).is_ok() || matches!(word.node.as_str(), "pred" | "f16" | "f32" | "f64")
        };
        if matches!(opcode.as_str(), "ld" | "st" | "atom" | "red" | "mov" | "add" | "setp" | "ldu")
            && !own.modifiers.iter().any(is_type)
            && !has(&own, "async")
            && !has(&own, "bulk")
        {
            let span = own.opcode.span;
            own.modifiers.push(Spanned { node: "u32".into(), span });
        }
        if matches!(opcode.as_str(), "bar" | "barrier") && !has(&own, "cluster") && !has(&own, "warp") {
            // Other numbers than multiples of 32 count threads of the test.
            if let Some(Operand::Integer(count)) = own.operands.get_mut(1).map(|operand| &mut operand.node)
                && (*count % 32 != 0 || self.translator.layout != Layout::Warps)
            {
                if self.translator.layout != Layout::Warps {
                    return refuse("warps that meet, and lanes");
                }
                *count *= 32;
            }
        }
        let span = own.opcode.span;
        let module = ptx::Module { items: vec![Spanned { node: Item::Instruction(own), span }] };
        self.lines.push((ptx::print(&module).trim().to_owned(), Some(at)));
        Ok(())
    }

    /// Matrices in shared memory get descriptors, and products the shape that goes with 0.
    fn matrices(&mut self, instruction: &mut Instruction) -> Result<Vec<(usize, String)>, Refused> {
        let is_wgmma = instruction.opcode.node == "wgmma" && has(instruction, "mma_async");
        let is_mma = instruction.opcode.node == "tcgen05" && has(instruction, "mma");
        let is_copy = instruction.opcode.node == "tcgen05" && has(instruction, "cp");
        let at: &[usize] = if is_wgmma || is_mma { &[1, 2] } else { &[1] };
        if !is_wgmma && !is_mma && !is_copy {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        let is_pair = has(instruction, "cta_group::2");
        for at in at {
            let Some(operand) = instruction.operands.get(*at) else { continue };
            let name = match &operand.node {
                Operand::Symbol(name) => name.to_string(),
                Operand::Register(name) => {
                    let is_own =
                        |(thread, own, _): &(u32, String, InitialValue)| *thread == self.index as u32 && name == own;
                    match self.translator.registers.iter().find(|own| is_own(own)) {
                        Some((_, _, InitialValue::Name(name)))
                            if !self.written.contains(operand_name(&operand.node)) =>
                        {
                            name.clone()
                        }
                        _ => return refuse("a matrix descriptor that is computed"),
                    }
                }
                Operand::Vector(_) | Operand::Address(_) => continue,
                _ => return refuse("a matrix descriptor that is computed"),
            };
            let register = self.own(&format!("matrix_{}", name.replace('@', "_")));
            if !self.registers.contains_key(&register) {
                if name.contains('@') || self.translator.variables.get(&name).is_none_or(|own| own.space != "shared") {
                    return refuse("a matrix that is not in the CTA's shared memory");
                }
                self.registers.insert(register.clone(), "b64");
                self.address(&register, &name, 0)?;
                self.head.push(format!("shr.u64 {register}, {register}, 4;"));
                self.head.push(format!("or.b64 {register}, {register}, {DESCRIPTOR};"));
            }
            found.push((*at, register));
        }
        if is_mma && let Some(operand) = instruction.operands.get_mut(3) {
            if operand.node != Operand::Integer(0) {
                return refuse("the shape of a product");
            }
            operand.node = Operand::Integer(if is_pair { SHAPE_OF_PAIR } else { SHAPE });
        }
        Ok(found)
    }

    fn operand(&mut self, operand: &mut Operand) -> Result<(), Refused> {
        match operand {
            Operand::Register(name) => {
                let replaced = self.special(name)?;
                *operand = replaced;
            }
            Operand::Symbol(name) if self.labels.contains(name.as_str()) => {
                *name = format!("T{}_{name}", self.index).into()
            }
            Operand::Symbol(name)
                if name.contains('@')
                    || self.translator.column(name).is_some()
                    || self.translator.is_map_parameter(name) =>
            {
                let register = self.own(&format!("at_{}", name.replace('@', "_")));
                if !self.registers.contains_key(&register) {
                    self.registers.insert(register.clone(), "b64");
                    let name = name.clone();
                    self.address(&register, &name, 0)?;
                }
                *operand = Operand::Register(register.into());
            }
            Operand::Address(address) => {
                self.operand(&mut address.base.node)?;
                for item in &mut address.rest {
                    self.operand(&mut item.node)?;
                }
            }
            Operand::Offset(inner, _) | Operand::Negated(inner) => self.operand(&mut inner.node)?,
            Operand::Vector(items) | Operand::List(items) => {
                for item in items {
                    self.operand(&mut item.node)?;
                }
            }
            Operand::Pair(first, second) => {
                self.operand(&mut first.node)?;
                self.operand(&mut second.node)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// What a register is called; numbers of threads and CTAs are those of the test.
    fn special(&mut self, name: &str) -> Result<Operand, Refused> {
        let seat = self.translator.seats[self.index];
        let given = self
            .translator
            .registers
            .iter()
            .find(|(thread, register, _)| *thread == self.index as u32 && register == name && name.contains('.'));
        if let Some((_, _, InitialValue::Integer(value))) = given {
            return Ok(Operand::Integer(*value));
        }
        Ok(match name {
            "%tid.x" => Operand::Integer(i128::from(seat.number)),
            "%ntid.x" => Operand::Integer(i128::from(seat.beside)),
            "%tid.y" | "%tid.z" | "%laneid" | "%warpid" => Operand::Integer(0),
            "%ctaid.x" => {
                let thread = &self.translator.litmus.threads[self.index];
                Operand::Integer(i128::from(thread.placement.cta.unwrap_or(0)))
            }
            "%cluster_ctarank" | "%cluster_ctaid.x" => Operand::Integer(i128::from(seat.rank)),
            _ if name.contains('.') || name.starts_with("%cluster") || name.contains("clock") => {
                Operand::Register(name.into())
            }
            _ => Operand::Register(self.register(name).into()),
        })
    }
}

fn operand_name(operand: &Operand) -> &str {
    match operand {
        Operand::Register(name) => name,
        _ => "",
    }
}

fn registers(operand: &Operand, tell: &mut dyn FnMut(&str)) {
    match operand {
        Operand::Register(name) => tell(name),
        Operand::Negated(inner) => registers(&inner.node, tell),
        Operand::Pair(first, second) => {
            registers(&first.node, tell);
            registers(&second.node, tell);
        }
        _ => {}
    }
}

/// Whether some instruction of 128 bits has it.
fn has_128(litmus: &Litmus, name: &str) -> bool {
    instructions(litmus).any(|instruction| {
        has(instruction, "b128") && {
            let mut found = false;
            instruction.operands.iter().for_each(|operand| registers(&operand.node, &mut |own| found |= own == name));
            found
        }
    })
}
