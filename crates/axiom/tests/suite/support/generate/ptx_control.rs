//! Control and barriers in real PTX: guards, branches, loops, locks, `bar.sync`, `bar.arrive`, `bar.red`.

use super::Draft;
use crate::support::program::Step;

impl Draft<'_> {
    pub(super) fn ptx_control(&mut self) -> Step {
        let choice = self.random.below(8);
        match choice {
            0..4 if self.taste.barriers => self.ptx_barrier(),
            0..2 if self.taste.spins => self.ptx_spin(),
            2..4 if self.taste.spins && self.taste.bits >= 32 => self.ptx_lock(),
            4..6 if self.taste.branches && !self.registers.is_empty() => self.ptx_branch(),
            6 if self.taste.branches => self.ptx_counted(),
            7 if self.taste.branches && !self.registers.is_empty() => self.ptx_guarded_exit(),
            _ if self.taste.branches && !self.registers.is_empty() => self.ptx_guarded(),
            _ => {
                self.nested = true;
                let step = self.ptx_step();
                self.nested = false;
                step
            }
        }
    }

    /// A step without control of its own.
    fn ptx_inner(&mut self) -> Step {
        self.nested = true;
        let step = self.ptx_step();
        self.nested = false;
        step
    }

    fn ptx_predicate(&mut self, register: &str) -> String {
        let comparison = self.random.pick(&["eq", "ne", "eq", "gt"]);
        let sign = self.random.pick(&["u32", "s32"]);
        format!("setp.{comparison}.{sign} %p1, {register}, {};", self.small())
    }

    /// One access under a guard; lines that compute its address are not guarded.
    fn ptx_guarded(&mut self) -> Step {
        let source = self.loaded().unwrap_or_else(|| "%r0".to_string());
        let test = self.ptx_predicate(&source);
        let mut step = self.ptx_inner();
        let guard = self.random.pick(&["@%p1", "@!%p1"]);
        if let Some(last) = step.lines.last_mut() {
            *last = format!("{guard} {last}");
        }
        step.lines.insert(0, test);
        step
    }

    fn ptx_branch(&mut self) -> Step {
        let source = self.loaded().unwrap_or_else(|| "%r0".to_string());
        let test = self.ptx_predicate(&source);
        let label = self.new_label();
        let inner = self.ptx_inner();
        let mut lines = vec![test, format!("@%p1 bra L{label};")];
        lines.extend(inner.lines);
        let mut weight = inner.weight;
        if self.random.percent(30) {
            let other = self.ptx_inner();
            lines.push(format!("bra M{label};"));
            lines.push(format!("L{label}:"));
            lines.extend(other.lines);
            lines.push(format!("M{label}:"));
            weight = weight.max(other.weight);
        } else {
            lines.push(format!("L{label}:"));
        }
        Step { lines, weight: weight.max(1), sets: inner.sets }
    }

    fn ptx_guarded_exit(&mut self) -> Step {
        let source = self.loaded().unwrap_or_else(|| "%r0".to_string());
        Step::new(0, &[self.ptx_predicate(&source), "@%p1 exit;".to_string()])
    }

    /// The loop's read is its only access: it spins.
    fn ptx_spin(&mut self) -> Step {
        let label = self.new_label();
        let load = self.ptx_load();
        let register = load.sets.first().cloned().unwrap_or_default();
        let comparison = self.random.pick(&["ne", "eq", "lt"]);
        let value = self.random.pick(&["0", "1"]);
        let mut lines = vec![format!("L{label}:")];
        lines.extend(load.lines);
        lines.push(format!("setp.{comparison}.u32 %p2, {register}, {value};"));
        lines.push(format!("@%p2 bra L{label};"));
        Step { lines, weight: 2, sets: load.sets }
    }

    /// A spin lock around one access, or a lock that is never released.
    fn ptx_lock(&mut self) -> Step {
        let label = self.new_label();
        let (bits, scope) = (self.taste.bits, self.scope());
        let order = self.random.pick(&["acquire", "relaxed", "acq_rel"]);
        let name = self.location();
        let register = self.ptx_register();
        let operation = match self.random.below(3) {
            0 => format!("exch.b{bits} {register}, [{name}], 1"),
            _ => format!("cas.b{bits} {register}, [{name}], 0, 1"),
        };
        let mut lines = vec![
            format!("L{label}:"),
            format!("atom.{order}.{scope}.{operation};"),
            format!("setp.ne.u32 %p3, {register}, 0;"),
            format!("@%p3 bra L{label};"),
        ];
        let releases = self.random.percent(40);
        if releases {
            lines.push(format!("st.release.{scope}.u{bits} [{name}], 0;"));
        }
        Step::new(2 + usize::from(releases), &lines).sets(&register)
    }

    /// Twice round, by a counter.
    fn ptx_counted(&mut self) -> Step {
        let label = self.new_label();
        let inner = self.ptx_inner();
        let mut lines = vec!["mov.u32 %r8, 0;".to_string(), format!("L{label}:")];
        lines.extend(inner.lines);
        lines.push("add.u32 %r8, %r8, 1;".to_string());
        lines.push("setp.lt.u32 %p4, %r8, 2;".to_string());
        lines.push(format!("@%p4 bra L{label};"));
        Step { lines, weight: (inner.weight * 2).max(1), sets: inner.sets }
    }

    fn ptx_barrier(&mut self) -> Step {
        let mut lines = Vec::new();
        let number = self.random.pick(&["0", "0", "0", "1"]);
        // By a register: a constant, or something read.
        let id = match self.random.below(6) {
            0 => {
                lines.push(format!("mov.u32 %r7, {number};"));
                "%r7".to_string()
            }
            1 if self.random.percent(40) => self.loaded().unwrap_or_else(|| number.to_string()),
            _ => number.to_string(),
        };
        let count = self.taste.count;
        let operands = count.map_or(id.clone(), |count| format!("{id}, {count}"));
        match (self.random.below(4), count) {
            (0, Some(_)) if !self.taste.reduces => lines.push(format!("bar.arrive {operands};")),
            _ if self.taste.reduces => {
                let source = self.loaded().unwrap_or_else(|| "%r0".to_string());
                lines.push(format!("setp.ne.u32 %p6, {source}, 0;"));
                if self.random.percent(60) {
                    let register = self.ptx_register();
                    lines.push(format!("bar.red.popc.u32 {register}, {operands}, %p6;"));
                    return Step::new(0, &lines).sets(&register);
                }
                let operation = self.random.pick(&["and", "or"]);
                lines.push(format!("bar.red.{operation}.pred %p6, {operands}, %p6;"));
                let register = self.ptx_register();
                lines.push(format!("selp.u32 {register}, 1, 0, %p6;"));
                return Step::new(0, &lines).sets(&register);
            }
            _ => {
                let opcode =
                    self.random.pick(&["bar.sync", "barrier.sync", "bar.cta.sync", "barrier.cta.sync.aligned"]);
                lines.push(format!("{opcode} {operands};"));
            }
        }
        Step::new(0, &lines)
    }
}
