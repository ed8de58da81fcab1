//! Steps in x86 assembly, Intel order.

use super::Draft;
use crate::support::program::{Entry, Step};

/// `EAX` is left to `cmpxchg`, `EBP` to addresses.
const REGISTERS: [&str; 5] = ["EBX", "ECX", "EDX", "ESI", "EDI"];

impl Draft<'_> {
    pub(super) fn x86_step(&mut self) -> Step {
        match self.random.below(100) {
            0..32 => self.x86_load(),
            32..62 => {
                let address = self.x86_address();
                let value = self.x86_operand();
                Step::new(1, &[format!("MOV {address},{value}")])
            }
            62..80 => self.x86_modify(),
            80..86 if self.taste.branches && !self.registers.is_empty() && !self.nested => self.x86_branch(),
            80..86 if self.taste.spins && !self.nested => self.x86_spin(),
            86..90 if !self.registers.is_empty() => {
                let register = self.loaded().unwrap_or_default();
                let operation = self.random.pick(&["ADD", "SUB", "AND", "OR", "XOR"]);
                let value = self.x86_operand();
                Step::new(0, &[format!("{operation} {register},{value}")]).sets(&register)
            }
            _ => Step::new(0, &[self.random.pick(&["MFENCE", "MFENCE", "SFENCE", "LFENCE"]).to_string()]),
        }
    }

    fn x86_register(&mut self) -> String {
        let register = REGISTERS[self.next].to_string();
        self.next = (self.next + 1).min(REGISTERS.len() - 1);
        if !self.registers.contains(&register) {
            self.registers.push(register.clone());
        }
        register
    }

    fn x86_operand(&mut self) -> String {
        let operand = self.operand();
        if operand.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
            format!("${operand}")
        } else {
            operand
        }
    }

    fn x86_address(&mut self) -> String {
        let name = self.location();
        if !self.taste.pointers || self.random.percent(50) {
            return format!("[{name}]");
        }
        let pointer = self.declarations.iter().find(|entry| entry.thread == Some(self.thread));
        if pointer.is_some_and(|entry| entry.text != format!("EBP = {name}")) {
            return format!("[{name}]");
        }
        if pointer.is_none() {
            self.declarations.push(Entry { thread: Some(self.thread), text: format!("EBP = {name}") });
        }
        "[EBP]".to_string()
    }

    fn x86_load(&mut self) -> Step {
        let address = self.x86_address();
        let register = self.x86_register();
        Step::new(1, &[format!("MOV {register},{address}")]).sets(&register)
    }

    fn x86_modify(&mut self) -> Step {
        let address = self.x86_address();
        let lock = self.random.pick(&["LOCK ", "LOCK ", ""]);
        let value = self.x86_operand();
        match self.random.below(8) {
            0 | 1 => {
                let register = self.x86_register();
                let lines = [format!("MOV {register},{value}"), format!("XCHG {address},{register}")];
                Step::new(2, &lines).sets(&register)
            }
            2 => {
                let register = self.x86_register();
                let lines = [format!("MOV {register},{value}"), format!("{lock}XADD {address},{register}")];
                Step::new(2, &lines).sets(&register)
            }
            3 => Step::new(2, &[format!("{lock}{} {address}", self.random.pick(&["INC", "DEC", "NOT", "NEG"]))]),
            4 => {
                let operation = self.random.pick(&["ADD", "SUB", "AND", "OR", "XOR"]);
                Step::new(2, &[format!("{lock}{operation} {address},{value}")])
            }
            _ => {
                let expected = self.x86_operand();
                let register = self.x86_register();
                let mut lines = vec![
                    format!("MOV EAX,{expected}"),
                    format!("MOV {register},{value}"),
                    format!("{lock}CMPXCHG {address},{register}"),
                ];
                // What became of it, as the zero flag says.
                if self.taste.branches && !self.nested && self.random.percent(40) {
                    let label = self.new_label();
                    lines.push(format!("JNE LC{label}"));
                    lines.push(format!("MOV {register},$7"));
                    lines.push(format!("LC{label}:"));
                }
                Step::new(2, &lines).sets("EAX").sets(&register)
            }
        }
    }

    fn x86_branch(&mut self) -> Step {
        let source = self.loaded().unwrap_or_default();
        let label = self.new_label();
        self.nested = true;
        let inner = self.x86_step();
        self.nested = false;
        let jump = self.random.pick(&["JNE", "JE", "JG", "JLE"]);
        let mut lines = vec![format!("CMP {source},${}", self.small()), format!("{jump} LC{label}")];
        lines.extend(inner.lines);
        lines.push(format!("LC{label}:"));
        Step { lines, weight: inner.weight.max(1), sets: inner.sets }
    }

    fn x86_spin(&mut self) -> Step {
        let label = self.new_label();
        if self.random.percent(50) {
            let address = self.x86_address();
            let register = self.x86_register();
            let lines = [
                format!("MOV {register},$1"),
                format!("LC{label}:"),
                "MOV EAX,$0".to_string(),
                format!("LOCK CMPXCHG {address},{register}"),
                format!("JNE LC{label}"),
            ];
            return Step::new(2, &lines).sets("EAX");
        }
        let load = self.x86_load();
        let register = load.sets.first().cloned().unwrap_or_default();
        let mut lines = vec![format!("LC{label}:")];
        lines.extend(load.lines);
        lines.push(format!("CMP {register},${}", self.random.pick(&["0", "1"])));
        lines.push(format!("{} LC{label}", self.random.pick(&["JNE", "JE"])));
        Step { lines, weight: 2, sets: load.sets }
    }
}
