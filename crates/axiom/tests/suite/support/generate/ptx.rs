//! Steps in real PTX: typed accesses, atomics that wrap around, pointers in registers.

use super::Draft;
use crate::support::program::{Entry, Step};

impl Draft<'_> {
    pub(super) fn ptx_step(&mut self) -> Step {
        let chance = if self.taste.barriers || self.taste.spins { 40 } else { 25 };
        if !self.nested && self.random.percent(chance) {
            return self.ptx_control();
        }
        match self.random.below(100) {
            0..28 => self.ptx_load(),
            28..54 => self.ptx_store(),
            54..70 if self.taste.bits >= 32 => self.ptx_atomic(),
            70..76 if self.taste.bits >= 32 => self.ptx_reduction(),
            76..84 if !self.registers.is_empty() => self.ptx_local(),
            76..88 if self.taste.proxies => {
                let kind = self.random.pick(&["alias", "alias", "texture", "surface", "constant", "generic"]);
                Step::new(0, &[format!("fence.proxy.{kind};")])
            }
            _ => self.ptx_fence(),
        }
    }

    fn ptx_fence(&mut self) -> Step {
        let scope = self.scope();
        let order = self.random.pick(&["sc", "sc", "acq_rel", "acquire", "release"]);
        let line = match self.random.below(4) {
            0 => format!("membar.{};", self.random.pick(&["cta", "gl", "sys"])),
            _ => format!("fence.{order}.{scope};"),
        };
        Step::new(0, &[line])
    }

    pub(super) fn ptx_register(&mut self) -> String {
        self.next = (self.next + 1).min(6);
        let register = format!("%r{}", self.next);
        if !self.registers.contains(&register) {
            self.registers.push(register.clone());
        }
        register
    }

    pub(super) fn ptx_type(&mut self, signs: &[&'static str]) -> String {
        format!("{}{}", self.random.pick(signs), self.taste.bits)
    }

    /// The address as an operand; lines that compute it go before.
    fn ptx_address(&mut self, lines: &mut Vec<String>) -> String {
        let name = self.location();
        if self.taste.proxies && name == "x" && self.random.percent(20) {
            return "[a]".to_string();
        }
        if !self.taste.pointers || self.random.percent(40) {
            return format!("[{name}]");
        }
        let pointer = format!("%rd{}", 1 + self.random.below(3));
        let source = self.loaded();
        match (self.random.below(4), source) {
            (0, _) => {
                let pointer = format!("%rd_{name}");
                let entry = Entry { thread: Some(self.thread), text: format!("{pointer} = {name}") };
                if !self.declarations.contains(&entry) {
                    self.declarations.push(entry);
                }
                format!("[{pointer}]")
            }
            // The address is one or the other, by what was read.
            (1, Some(source)) => {
                let other = super::LOCATIONS[self.random.below(self.taste.locations)];
                lines.push(format!("setp.eq.u32 %p7, {source}, {};", self.small()));
                lines.push(format!("selp.u64 {pointer}, {name}, {other}, %p7;"));
                format!("[{pointer}]")
            }
            // A dependency without a choice.
            (2, Some(source)) => {
                lines.push(format!("xor.b32 %r9, {source}, {source};"));
                lines.push("cvt.u64.u32 %rd9, %r9;".to_string());
                lines.push(format!("mov.u64 {pointer}, {name};"));
                lines.push(format!("add.u64 {pointer}, {pointer}, %rd9;"));
                format!("[{pointer}]")
            }
            _ => {
                lines.push(format!("mov.u64 {pointer}, {name};"));
                format!("[{pointer}]")
            }
        }
    }

    pub(super) fn ptx_load(&mut self) -> Step {
        let mut lines = Vec::new();
        let ty = self.ptx_type(&["u", "s", "b"]);
        if self.taste.proxies && self.taste.forced.is_none_or(|location| location == 0) && self.random.percent(25) {
            let (opcode, name) = self.random.pick(&[("tld", "t"), ("suld", "s"), ("cold", "c")]);
            let register = self.ptx_register();
            return Step::new(1, &[format!("{opcode}.weak.{ty} {register}, [{name}];")]).sets(&register);
        }
        let address = self.ptx_address(&mut lines);
        let scope = self.scope();
        let how = match self.random.below(8) {
            0..3 => ".weak".to_string(),
            3..5 => format!(".relaxed.{scope}"),
            5..7 => format!(".acquire.{scope}"),
            _ => ".volatile".to_string(),
        };
        let space = self.random.pick(&["", "", ".global"]);
        let register = self.ptx_register();
        lines.push(format!("ld{how}{space}.{ty} {register}, {address};"));
        Step::new(1, &lines).sets(&register)
    }

    pub(super) fn ptx_store(&mut self) -> Step {
        let mut lines = Vec::new();
        let ty = self.ptx_type(&["u", "s", "b"]);
        let value = self.operand();
        if self.taste.proxies && self.taste.forced.is_none_or(|location| location == 0) && self.random.percent(15) {
            return Step::new(1, &[format!("sust.weak.{ty} [s], {value};")]);
        }
        let address = self.ptx_address(&mut lines);
        let scope = self.scope();
        let how = match self.random.below(8) {
            0..3 => ".weak".to_string(),
            3..5 => format!(".relaxed.{scope}"),
            5..7 => format!(".release.{scope}"),
            _ => ".volatile".to_string(),
        };
        lines.push(format!("st{how}.{ty} {address}, {value};"));
        Step::new(1, &lines)
    }

    /// `.op.type` of an atomic; `.exch` and `.cas` only where something is returned.
    fn ptx_operation(&mut self, returns: bool) -> (String, bool) {
        let bits = self.taste.bits;
        let operations: &[(&str, &[&str])] = &[
            ("add", &["u", "s"]),
            ("min", &["u", "s"]),
            ("max", &["u", "s"]),
            ("and", &["b"]),
            ("or", &["b"]),
            ("xor", &["b"]),
            ("inc", &["u"]),
            ("dec", &["u"]),
            ("exch", &["b"]),
            ("cas", &["b"]),
            ("cas", &["b"]),
        ];
        loop {
            let (operation, signs) = self.random.pick(operations);
            let narrow = matches!(operation, "inc" | "dec") && bits != 32;
            if narrow || (!returns && matches!(operation, "exch" | "cas")) {
                continue;
            }
            let sign = self.random.pick(signs);
            // `.add` has no `.s64` in the ISA.
            let sign = if operation == "add" && bits == 64 { "u" } else { sign };
            return (format!("{operation}.{sign}{bits}"), operation == "cas");
        }
    }

    fn ptx_atomic(&mut self) -> Step {
        let mut lines = Vec::new();
        let address = self.ptx_address(&mut lines);
        let scope = self.scope();
        let order = self.random.pick(&["relaxed", "acquire", "release", "acq_rel"]);
        let how = if self.random.percent(10) { String::new() } else { format!(".{order}.{scope}") };
        let (operation, is_swap) = self.ptx_operation(true);
        let mut operands = self.operand();
        if is_swap {
            operands = format!("{operands}, {}", self.operand());
        }
        let register = self.ptx_register();
        lines.push(format!("atom{how}.{operation} {register}, {address}, {operands};"));
        Step::new(2, &lines).sets(&register)
    }

    fn ptx_reduction(&mut self) -> Step {
        let mut lines = Vec::new();
        let address = self.ptx_address(&mut lines);
        let scope = self.scope();
        let order = self.random.pick(&["relaxed", "release"]);
        let (operation, _) = self.ptx_operation(false);
        let value = self.operand();
        lines.push(format!("red.{order}.{scope}.{operation} {address}, {value};"));
        Step::new(2, &lines)
    }

    /// Register arithmetic on something read.
    pub(super) fn ptx_local(&mut self) -> Step {
        let Some(source) = self.loaded() else { return self.ptx_fence() };
        let other = self.operand();
        let sign = self.random.pick(&["u32", "s32"]);
        let line = match self.random.below(8) {
            0 => {
                let comparison = self.random.pick(&["eq", "ne", "lt", "ge"]);
                let (then, otherwise) = (self.operand(), self.operand());
                let register = self.ptx_register();
                let lines = [
                    format!("setp.{comparison}.{sign} %p5, {source}, {other};"),
                    format!("selp.b32 {register}, {then}, {otherwise}, %p5;"),
                ];
                return Step::new(0, &lines).sets(&register);
            }
            1 => format!("mul.lo.{sign} REG, {source}, {other};"),
            2 => format!("{}.b32 REG, {source};", self.random.pick(&["not", "mov"])),
            3 => format!("{}.b32 REG, {source}, 1;", self.random.pick(&["shl", "and", "or", "xor"])),
            4 => format!("{}.{sign} REG, {source}, {other};", self.random.pick(&["min", "max", "shr"])),
            5 => format!("neg.s32 REG, {source};"),
            _ => format!("{}.{sign} REG, {source}, {other};", self.random.pick(&["add", "sub"])),
        };
        let register = self.ptx_register();
        Step::new(0, &[line.replace("REG", &register)]).sets(&register)
    }
}
