//! Random programs about ways: what a thread reads decides where it goes, which address it uses and what it writes.
//! Few accesses, much between them: branches whose ways are the same or not, counters, pointers in memory, values that
//! are computed from a read and do not depend on it, loops that wait, memory of one thread.

use super::program::{Entry, Step, Style, Test, Thread};
use super::random::Random;

const WORDS: [&str; 2] = ["x", "y"];

struct Draft<'r> {
    random: &'r mut Random,
    registers: Vec<String>,
    label: usize,
    scope: &'static str,
    has_pointers: bool,
    has_loops: bool,
    has_own: bool,
}

pub(crate) fn test(random: &mut Random) -> Test {
    let mut declarations = Vec::new();
    let mut declare = |text: &str| declarations.push(Entry { thread: None, text: text.to_string() });
    let (has_pointers, has_loops, has_own) = (random.percent(35), random.percent(40), random.percent(20));
    for word in WORDS {
        declare(&format!(".global .u32 {word} = {}", random.pick(&["0", "0", "0", "1"])));
    }
    if has_pointers {
        declare(".global .u64 p = &x");
        declare(".param .u64 q = &y");
    }
    if has_own {
        declare(".shared .u32 s = 0");
    }
    let count = random.pick(&[2, 2, 2, 3]);
    let scope = random.pick(&["gpu", "gpu", "sys", "cta"]);
    let mut threads = Vec::new();
    for index in 0..count {
        let mut draft =
            Draft { random, registers: Vec::new(), label: 10 * index, scope, has_pointers, has_loops, has_own };
        let code = draft.code(if count == 2 { 4 } else { 3 });
        threads.push(Thread { cta: index as u8, gpu: 0, code });
    }
    Test { style: Style::Ptx, declarations, threads, condition: Vec::new(), connective: "/\\", filter: Vec::new() }
}

fn step(weight: usize, lines: &[&str]) -> Step {
    Step::new(weight, &lines.iter().map(|line| (*line).to_string()).collect::<Vec<String>>())
}

impl Draft<'_> {
    fn code(&mut self, share: usize) -> Vec<Step> {
        // Most begin with a read: there is something to depend on.
        let mut code = if self.random.percent(80) { vec![self.load()] } else { Vec::new() };
        let mut left = share - code.len();
        for _ in 0..5 {
            let step = self.step();
            if step.weight <= left {
                left -= step.weight;
                code.push(step);
            }
        }
        code
    }

    fn step(&mut self) -> Step {
        match self.random.below(20) {
            0..3 => self.load(),
            3..8 => self.store(),
            8..10 => self.atomic(),
            10..13 => self.arithmetic(),
            13..16 => self.branch(),
            16 => self.guarded(),
            17 | 18 if self.has_loops => self.looping(),
            19 if self.has_own => self.own(),
            19 => step(0, &["fence.acq_rel.gpu;"]),
            _ => self.arithmetic(),
        }
    }

    fn register(&mut self) -> String {
        let name = format!("%r{}", 1 + self.registers.len().min(4));
        if !self.registers.contains(&name) {
            self.registers.push(name.clone());
        }
        name
    }

    fn known(&mut self) -> String {
        if self.registers.is_empty() {
            return "%r0".to_string();
        }
        let index = self.random.below(self.registers.len());
        self.registers[index].clone()
    }

    fn operand(&mut self) -> String {
        if self.random.percent(50) { self.known() } else { self.random.pick(&["0", "1", "1", "2"]).to_string() }
    }

    fn new_label(&mut self) -> usize {
        self.label += 1;
        self.label
    }

    /// An address, what computes it, and how many accesses that takes.
    fn address(&mut self) -> (String, Vec<String>, usize) {
        let word = self.random.pick(&WORDS);
        if !self.has_pointers || self.random.percent(40) {
            return (format!("[{word}]"), Vec::new(), 0);
        }
        let source = self.known();
        match self.random.below(5) {
            0 => ("[%rd1]".to_string(), vec!["ld.weak.u64 %rd1, [p];".to_string()], 1),
            1 => ("[%rd1]".to_string(), vec!["ld.param.u64 %rd1, [q];".to_string()], 1),
            2 => {
                let lines = vec![format!("setp.eq.u32 %p3, {source}, 1;"), "selp.u64 %rd1, x, y, %p3;".to_string()];
                ("[%rd1]".to_string(), lines, 0)
            }
            3 => {
                let lines = vec![format!("and.b32 %r7, {source}, 1;"), "cvt.u64.u32 %rd2, %r7;".to_string()];
                let rest = ["shl.b64 %rd2, %rd2, 2;", "mov.u64 %rd1, x;", "add.u64 %rd1, %rd1, %rd2;"];
                let lines = lines.into_iter().chain(rest.map(String::from)).collect();
                (format!("[{word}]"), lines, 0)
            }
            _ => ("[%rd1]".to_string(), vec![format!("mov.u64 %rd1, {word};")], 0),
        }
    }

    fn load(&mut self) -> Step {
        let (address, mut lines, before) = self.address();
        let how = self.random.pick(&["relaxed", "relaxed", "relaxed", "acquire", "weak"]);
        let how = if how == "weak" { how.to_string() } else { format!("{how}.{}", self.scope) };
        let register = self.register();
        lines.push(format!("ld.{how}.u32 {register}, {address};"));
        Step::new(1 + before, &lines)
    }

    fn store(&mut self) -> Step {
        if self.has_pointers && self.random.percent(15) {
            return step(1, &["mov.u64 %rd4, y;", "st.weak.u64 [p], %rd4;"]);
        }
        let (address, mut lines, before) = self.address();
        let how = self.random.pick(&["relaxed", "relaxed", "relaxed", "release", "weak"]);
        let how = if how == "weak" { how.to_string() } else { format!("{how}.{}", self.scope) };
        let value = self.operand();
        lines.push(format!("st.{how}.u32 {address}, {value};"));
        Step::new(1 + before, &lines)
    }

    fn atomic(&mut self) -> Step {
        let (word, scope) = (self.random.pick(&WORDS), self.scope);
        let operand = self.operand();
        let operation = match self.random.below(7) {
            0 => format!("exch.b32 REG, [{word}], {operand}"),
            1 => format!("cas.b32 REG, [{word}], {}, {operand}", self.operand()),
            2 => format!("and.b32 REG, [{word}], {operand}"),
            3 => format!("max.u32 REG, [{word}], {operand}"),
            4 => format!("inc.u32 REG, [{word}], 1"),
            _ => format!("or.b32 REG, [{word}], {operand}"),
        };
        let register = self.register();
        Step::new(2, &[format!("atom.relaxed.{scope}.{};", operation.replace("REG", &register))])
    }

    /// Values that depend on what was read, and values that only seem to.
    fn arithmetic(&mut self) -> Step {
        let (source, other) = (self.known(), self.operand());
        let target = self.register();
        let lines: Vec<String> = match self.random.below(12) {
            0 => vec![format!("xor.b32 {target}, {source}, {source};")],
            1 => vec![format!("sub.u32 {target}, {source}, {source};"), format!("add.u32 {target}, {target}, 1;")],
            2 => vec![format!("and.b32 {target}, {source}, 0;")],
            3 => vec![format!("mul.lo.u32 {target}, {source}, 0;")],
            4 => vec![format!("setp.eq.u32 %p1, {source}, 1;"), format!("selp.u32 {target}, {other}, {other}, %p1;")],
            5 => vec![format!("setp.ne.u32 %p1, {source}, 0;"), format!("selp.u32 {target}, 1, {other}, %p1;")],
            6 => vec![format!("setp.eq.u32 %p1, {source}, {source};"), format!("selp.u32 {target}, 1, 2, %p1;")],
            7 => vec![format!("min.u32 {target}, {source}, {other};")],
            8 => vec![format!("mov.u32 {target}, {source};")],
            9 => vec![format!("and.b32 {target}, {source}, {other};")],
            _ => vec![format!("mov.u32 {target}, {};", self.random.pick(&["0", "1"]))],
        };
        Step::new(0, &lines)
    }

    fn test_of(&mut self, predicate: &str) -> String {
        let comparison = self.random.pick(&["eq", "ne", "eq", "gt"]);
        format!("setp.{comparison}.u32 {predicate}, {}, {};", self.known(), self.random.pick(&["0", "1", "1"]))
    }

    /// What is done on one way: something without control.
    fn inner(&mut self) -> Step {
        match self.random.below(6) {
            0..3 => self.store(),
            3 => self.load(),
            4 => self.arithmetic(),
            _ => Step::new(0, &[]),
        }
    }

    fn branch(&mut self) -> Step {
        let (test, label) = (self.test_of("%p2"), self.new_label());
        let one = self.inner();
        let other = match self.random.below(4) {
            0 | 1 => one.clone(),
            2 => Step::new(0, &[]),
            _ => self.inner(),
        };
        let (mut ahead, mut behind) = (Vec::new(), Vec::new());
        if self.random.percent(20) {
            ahead = self.arithmetic().lines;
        }
        if self.random.percent(20) {
            behind = self.arithmetic().lines;
        }
        let mut lines = vec![test, format!("@%p2 bra L{label};")];
        lines.extend(ahead.into_iter().chain(one.lines));
        lines.push(format!("bra M{label};"));
        lines.push(format!("L{label}:"));
        lines.extend(other.lines.into_iter().chain(behind));
        lines.push(format!("M{label}:"));
        Step::new(one.weight.max(other.weight), &lines)
    }

    fn guarded(&mut self) -> Step {
        let test = self.test_of("%p2");
        let mut inner = self.inner();
        let guard = self.random.pick(&["@%p2", "@!%p2"]);
        if let Some(last) = inner.lines.last_mut() {
            *last = format!("{guard} {last}");
        }
        inner.lines.insert(0, test);
        inner
    }

    fn looping(&mut self) -> Step {
        let (label, scope) = (self.new_label(), self.scope);
        let word = self.random.pick(&WORDS);
        let (head, back) = (format!("L{label}:"), format!("@%p4 bra L{label};"));
        let register = self.register();
        match self.random.below(6) {
            // Counted, with or without the counter in what it does.
            0 => {
                let value = self.random.pick(&["%r8", "1"]);
                let (store, count) = (format!("st.relaxed.{scope}.u32 [{word}], {value};"), "add.u32 %r8, %r8, 1;");
                step(2, &["mov.u32 %r8, 0;", &head, &store, count, "setp.lt.u32 %p4, %r8, 2;", &back])
            }
            1 => {
                let (load, count) = (format!("ld.relaxed.{scope}.u32 {register}, [{word}];"), "add.u32 %r8, %r8, 1;");
                step(2, &["mov.u32 %r8, 0;", &head, &load, count, "setp.lt.u32 %p4, %r8, 2;", &back])
            }
            2 => {
                let swap = format!("atom.relaxed.{scope}.cas.b32 {register}, [{word}], 0, 1;");
                step(3, &[&head, &swap, &format!("setp.ne.u32 %p4, {register}, 0;"), &back])
            }
            3 => {
                let swap = format!("atom.relaxed.{scope}.exch.b32 {register}, [{word}], 1;");
                step(3, &[&head, &swap, &format!("setp.ne.u32 %p4, {register}, 0;"), &back])
            }
            // Something is kept of the iterations that fail.
            4 => {
                let load = format!("ld.relaxed.{scope}.u32 {register}, [{word}];");
                let wait = format!("setp.ne.u32 %p4, {register}, 1;");
                step(2, &[&head, &load, &wait, "mov.u32 %r8, 1;", &back])
            }
            _ => {
                let load = format!("ld.acquire.{scope}.u32 {register}, [{word}];");
                step(2, &[&head, &load, &format!("setp.eq.u32 %p4, {register}, 0;"), &back])
            }
        }
    }

    /// Memory that nobody else can access.
    fn own(&mut self) -> Step {
        let value = self.operand();
        match self.random.below(4) {
            0 => Step::new(1, &[format!("st.shared.u32 [s], {value};")]),
            1 => {
                let register = self.register();
                Step::new(1, &[format!("ld.shared.u32 {register}, [s];")])
            }
            2 => {
                let register = self.register();
                Step::new(2, &[format!("st.shared.u32 [s], {value};"), format!("ld.shared.u32 {register}, [s];")])
            }
            _ => {
                let (label, scope, register) = (self.new_label(), self.scope, self.register());
                let word = self.random.pick(&WORDS);
                let lines = [
                    format!("L{label}:"),
                    format!("ld.relaxed.{scope}.u32 {register}, [{word}];"),
                    format!("st.shared.u32 [s], {register};"),
                    format!("ld.shared.u32 {register}, [s];"),
                    format!("setp.eq.u32 %p4, {register}, 0;"),
                    format!("@%p4 bra L{label};"),
                ];
                Step::new(3, &lines)
            }
        }
    }
}
