//! Steps in Dartagnan's PTX: integers without types, locations by name, numbered barrier instances with quorums.

use super::Draft;
use crate::support::program::Step;

impl Draft<'_> {
    pub(super) fn dartagnan_step(&mut self) -> Step {
        match self.random.below(100) {
            0..30 => self.dartagnan_load(),
            30..58 => self.dartagnan_store(),
            58..68 => self.dartagnan_atomic(),
            68..72 => self.dartagnan_reduction(),
            72..82 if self.taste.proxies => {
                let kind = self.random.pick(&["alias", "alias", "texture", "surface", "constant", "generic"]);
                Step::new(0, &[format!("fence.proxy.{kind}")])
            }
            72..82 if self.taste.barriers && !self.nested => self.dartagnan_barrier(),
            82..92 if self.taste.spins && !self.nested => self.dartagnan_spin(),
            82..89 if self.taste.branches && !self.registers.is_empty() && !self.nested => self.dartagnan_branch(),
            89..93 if !self.registers.is_empty() => {
                let source = self.loaded().unwrap_or_default();
                let operation = self.random.pick(&["add", "sub", "mul"]);
                let value = self.operand();
                let register = self.dartagnan_register();
                Step::new(0, &[format!("{operation} {register}, {source}, {value}")]).sets(&register)
            }
            _ => {
                let order = self.random.pick(&["acq_rel", "sc", "sc"]);
                Step::new(0, &[format!("fence.{order}.{}", self.scope())])
            }
        }
    }

    fn dartagnan_register(&mut self) -> String {
        let register = format!("r{}", self.next);
        self.next = (self.next + 1).min(5);
        if !self.registers.contains(&register) {
            self.registers.push(register.clone());
        }
        register
    }

    /// A location, or another name of `x`.
    fn dartagnan_name(&mut self, others: &[&'static str]) -> &'static str {
        let name = self.location();
        if self.taste.proxies && name == "x" && self.random.percent(45) { self.random.pick(others) } else { name }
    }

    fn dartagnan_load(&mut self) -> Step {
        let name = self.dartagnan_name(&["a", "t", "s", "c"]);
        let opcode = match name {
            "t" => "tld",
            "s" => "suld",
            "c" => "cold",
            _ => "ld",
        };
        let scope = self.scope();
        let how = match self.random.below(3) {
            1 if opcode == "ld" => format!("relaxed.{scope}"),
            2 if opcode == "ld" => format!("acquire.{scope}"),
            _ => "weak".to_string(),
        };
        let register = self.dartagnan_register();
        Step::new(1, &[format!("{opcode}.{how} {register}, {name}")]).sets(&register)
    }

    fn dartagnan_store(&mut self) -> Step {
        let name = self.dartagnan_name(&["a", "s"]);
        let opcode = if name == "s" { "sust" } else { "st" };
        let scope = self.scope();
        let how = match self.random.below(3) {
            1 if opcode == "st" => format!("relaxed.{scope}"),
            2 if opcode == "st" => format!("release.{scope}"),
            _ => "weak".to_string(),
        };
        Step::new(1, &[format!("{opcode}.{how} {name}, {}", self.operand())])
    }

    fn dartagnan_atomic(&mut self) -> Step {
        let name = self.dartagnan_name(&["a"]);
        let order = self.random.pick(&["relaxed", "acquire", "release", "acq_rel"]);
        let scope = self.scope();
        let operation =
            self.random.pick(&["add", "add", "exch", "exch", "cas", "cas", "cas", "sub", "and", "or", "xor"]);
        let mut operands = self.operand();
        if operation == "cas" {
            operands = format!("{operands}, {}", self.operand());
        }
        let register = self.dartagnan_register();
        Step::new(2, &[format!("atom.{order}.{scope}.{operation} {register}, {name}, {operands}")]).sets(&register)
    }

    fn dartagnan_reduction(&mut self) -> Step {
        let name = self.location();
        let order = self.random.pick(&["relaxed", "release", "acquire", "acq_rel"]);
        let operation = self.random.pick(&["add", "sub", "and", "or", "xor"]);
        Step::new(2, &[format!("red.{order}.{}.{operation} {name}, {}", self.scope(), self.operand())])
    }

    fn dartagnan_barrier(&mut self) -> Step {
        self.instance += 1;
        let kind = self.random.pick(&["sync", "sync", "arrive"]);
        let instance = if self.random.percent(15) { 1 } else { self.instance };
        let id = self.random.pick(&["0", "0", "1"]);
        let mut lines = Vec::new();
        let operands = match (self.random.below(6), self.taste.count) {
            (0, None) => instance.to_string(),
            (1, None) => {
                let source = self.loaded().unwrap_or_else(|| id.to_string());
                format!("{instance}, {source}")
            }
            (2..4, Some(count)) => {
                lines.push(format!("ld r7, {count}"));
                format!("{instance}, {id}, r7")
            }
            (_, Some(count)) => format!("{instance}, {id}, {count}"),
            _ => format!("{instance}, {id}"),
        };
        lines.push(format!("bar.cta.{kind} {operands}"));
        Step::new(0, &lines)
    }

    fn dartagnan_spin(&mut self) -> Step {
        let label = self.new_label();
        if self.random.percent(30) {
            let (name, scope) = (self.location(), self.scope());
            let register = self.dartagnan_register();
            let mut lines = vec![
                format!("LC{label}:"),
                format!("atom.acquire.{scope}.cas {register}, {name}, 0, 1"),
                format!("bne {register}, 0, LC{label}"),
            ];
            let releases = self.random.percent(40);
            if releases {
                lines.push(format!("st.release.{scope} {name}, 0"));
            }
            return Step::new(2 + usize::from(releases), &lines).sets(&register);
        }
        let load = self.dartagnan_load();
        let register = load.sets.first().cloned().unwrap_or_default();
        let branch = self.random.pick(&["bne", "beq", "blt"]);
        let mut lines = vec![format!("LC{label}:")];
        lines.extend(load.lines);
        lines.push(format!("{branch} {register}, {}, LC{label}", self.random.pick(&["0", "1"])));
        Step { lines, weight: 2, sets: load.sets }
    }

    fn dartagnan_branch(&mut self) -> Step {
        let source = self.loaded().unwrap_or_default();
        let label = self.new_label();
        self.nested = true;
        let inner = self.dartagnan_step();
        let other = self.random.percent(30).then(|| self.dartagnan_step());
        self.nested = false;
        let branch = self.random.pick(&["bne", "beq", "bgt", "ble"]);
        let mut lines = vec![format!("{branch} {source}, {}, LC{label}", self.small())];
        lines.extend(inner.lines);
        let mut weight = inner.weight;
        if let Some(other) = other {
            lines.push(format!("goto LC{label}0"));
            lines.push(format!("LC{label}:"));
            lines.extend(other.lines);
            lines.push(format!("LC{label}0:"));
            weight = weight.max(other.weight);
        } else {
            lines.push(format!("LC{label}:"));
        }
        Step { lines, weight: weight.max(1), sets: inner.sets }
    }
}
