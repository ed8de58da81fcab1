//! Random programs: 2 to 4 threads, at most 3 locations, few memory events, so that the oracle can keep up. Half of them
//! are rings, the shape of most tests with a name; the others are steps at random.

mod dartagnan;
mod ptx;
mod ptx_control;
mod x86;

use super::program::{Entry, Step, Style, Test, Thread};
use super::random::Random;

const LOCATIONS: [&str; 3] = ["x", "y", "z"];
/// An RMW counts two.
const MOST_EVENTS: usize = 7;
/// Steps of a thread without memory events of their own are limited by this.
const MOST_STEPS: usize = 6;

/// What this program may contain: fixed first, so that programs differ in kind and not only in detail.
pub(super) struct Taste {
    locations: usize,
    proxies: bool,
    barriers: bool,
    spins: bool,
    branches: bool,
    pointers: bool,
    /// Bits of the locations; 0 in the notations without types.
    bits: u8,
    /// How many threads a barrier of this program waits for, where not all.
    count: Option<usize>,
    /// Whether its barriers are `bar.red`, which PTX does not let stand beside the other forms.
    reduces: bool,
    /// The only location of the next access.
    forced: Option<usize>,
}

/// A test in the making, at one of its threads.
pub(super) struct Draft<'r> {
    random: &'r mut Random,
    taste: Taste,
    declarations: Vec<Entry>,
    thread: usize,
    /// Registers with a value, oldest first.
    registers: Vec<String>,
    next: usize,
    label: usize,
    /// Barrier instances of this thread (Dartagnan).
    instance: usize,
    /// Inside a branch or loop: no further one.
    nested: bool,
}

pub(crate) fn test(random: &mut Random) -> Test {
    let style = random.pick(&[Style::Ptx, Style::Ptx, Style::Dartagnan, Style::X86]);
    generate(random, style, Barriers::Sometimes)
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Barriers {
    Sometimes,
    Never,
    Always,
}

pub(crate) fn generate(random: &mut Random, style: Style, barriers: Barriers) -> Test {
    let gpu = style != Style::X86;
    let count = [2, 2, 2, 3, 3, 4][random.below(6)];
    let ring = random.percent(45);
    let barriers = match barriers {
        Barriers::Sometimes => gpu && random.percent(22),
        Barriers::Never => false,
        Barriers::Always => true,
    };
    let taste = Taste {
        locations: if ring { 3 } else { 1 + random.below(3) },
        proxies: gpu && random.percent(20),
        barriers,
        spins: random.percent(18),
        branches: random.percent(30),
        pointers: style != Style::Dartagnan && random.percent(20),
        bits: if style == Style::Ptx { random.pick(&[32, 32, 32, 32, 32, 64, 16, 8]) } else { 0 },
        count: random.percent(40).then(|| 1 + random.below(3)),
        reduces: style == Style::Ptx && random.percent(30),
        forced: None,
    };
    let mut draft = Draft {
        random,
        taste,
        declarations: Vec::new(),
        thread: 0,
        registers: Vec::new(),
        next: 0,
        label: 0,
        instance: 0,
        nested: false,
    };
    draft.declare(style);
    let threads = draft.threads(style, count, ring);
    let mut test = Test {
        style,
        declarations: draft.declarations,
        threads,
        condition: Vec::new(),
        connective: random.pick(&["/\\", "/\\", "/\\", "\\/"]),
        filter: Vec::new(),
    };
    for _ in 0..1 + random.below(3) {
        let claim = claim(random, &test);
        test.condition.extend(claim);
    }
    if random.percent(15) {
        test.filter.extend(claim(random, &test));
    }
    test
}

impl Draft<'_> {
    fn declare(&mut self, style: Style) {
        for &name in &LOCATIONS[..self.taste.locations] {
            let value = self.random.pick(&["0", "0", "0", "0", "1", "-1"]);
            let text = match style {
                Style::Ptx => {
                    let sign = self.random.pick(&["u", "s", "b"]);
                    format!(".global .{sign}{} {name} = {value}", self.taste.bits)
                }
                _ => format!("{name} = {value}"),
            };
            self.declarations.push(Entry { thread: None, text });
        }
        if self.taste.proxies {
            for (name, kind) in [("a", "generic"), ("t", "texture"), ("s", "surface"), ("c", "constant")] {
                self.declarations.push(Entry { thread: None, text: format!("{name} @ {kind} aliases x") });
            }
        }
    }

    fn threads(&mut self, style: Style, count: usize, ring: bool) -> Vec<Thread> {
        let mut threads = Vec::new();
        let count = if ring { count.min(3) } else { count };
        let mut budget = MOST_EVENTS - self.random.below(3);
        for index in 0..count {
            self.begin(index);
            let code = if ring {
                self.link(style, [index, (index + 1) % count])
            } else {
                let share = budget.div_ceil(count - index).max(1);
                let code = self.steps(style, share);
                budget = budget.saturating_sub(code.iter().map(|step| step.weight).sum());
                code
            };
            let (cta, gpu) = (self.random.pick(&[0, 0, 1]), self.random.pick(&[0, 0, 0, 1]));
            let (cta, gpu) = if self.taste.barriers && self.random.percent(80) { (0, 0) } else { (cta, gpu) };
            threads.push(Thread { cta, gpu, code });
        }
        // A copy of a thread: interchangeable ones have code of their own in the engines.
        if self.random.percent(10) && threads.len() > 1 {
            let last = threads.len() - 1;
            threads[last] = threads[0].clone();
            self.declarations.retain(|entry| entry.thread != Some(last));
            let of_first = self.declarations.iter().filter(|entry| entry.thread == Some(0));
            let copies: Vec<Entry> = of_first.map(|entry| Entry { thread: Some(last), ..entry.clone() }).collect();
            self.declarations.extend(copies);
        }
        threads
    }

    fn begin(&mut self, thread: usize) {
        self.thread = thread;
        self.registers.clear();
        (self.next, self.instance, self.taste.forced) = (0, 0, None);
    }

    fn step(&mut self, style: Style) -> Step {
        match style {
            Style::Ptx => self.ptx_step(),
            Style::Dartagnan => self.dartagnan_step(),
            Style::X86 => self.x86_step(),
        }
    }

    fn steps(&mut self, style: Style, share: usize) -> Vec<Step> {
        let mut code: Vec<Step> = Vec::new();
        let mut left = share;
        while left > 0 && code.len() < MOST_STEPS {
            let before = (self.registers.clone(), self.next, self.instance);
            let step = self.step(style);
            if step.weight > left {
                (self.registers, self.next, self.instance) = before;
                continue;
            }
            left -= step.weight;
            code.push(step);
        }
        code
    }

    /// One thread of a ring: an access to one location, perhaps something between, an access to the next thread's. Most
    /// of the tests with a name are such rings (store buffering, message passing, load buffering, 2+2W, …), and steps at
    /// random rarely make one.
    fn link(&mut self, style: Style, locations: [usize; 2]) -> Vec<Step> {
        let mut code = Vec::new();
        for (index, location) in locations.into_iter().enumerate() {
            self.taste.forced = Some(location);
            let mut wants_access = index == 0 || self.random.percent(50);
            loop {
                let before = (self.registers.clone(), self.next, self.instance);
                let step = self.step(style);
                if (wants_access && step.weight == 0) || step.weight > 2 {
                    (self.registers, self.next, self.instance) = before;
                    continue;
                }
                let is_access = step.weight > 0;
                code.push(step);
                if is_access {
                    break;
                }
                wants_access = true;
            }
        }
        self.taste.forced = None;
        code
    }

    fn location(&mut self) -> &'static str {
        LOCATIONS[self.taste.forced.unwrap_or_else(|| self.random.below(self.taste.locations))]
    }

    fn new_label(&mut self) -> usize {
        self.label += 1;
        self.label
    }

    /// Something loaded before.
    fn loaded(&mut self) -> Option<String> {
        if self.registers.is_empty() {
            return None;
        }
        let index = self.random.below(self.registers.len());
        Some(self.registers[index].clone())
    }

    fn small(&mut self) -> &'static str {
        self.random.pick(&["0", "1", "1", "2"])
    }

    /// Something loaded before, or a small number.
    fn operand(&mut self) -> String {
        let loaded = if self.random.percent(35) { self.loaded() } else { None };
        loaded.unwrap_or_else(|| self.random.pick(&["0", "1", "1", "2", "2", "-1"]).to_string())
    }

    fn scope(&mut self) -> &'static str {
        self.random.pick(&["cta", "gpu", "gpu", "sys", "gpu"])
    }
}

/// A claim on a register that some step sets, or on final memory.
fn claim(random: &mut Random, test: &Test) -> Option<Entry> {
    let comparison = random.pick(&["==", "==", "==", "==", "!=", "<", ">="]);
    // herd's conditions on x86 know equality only.
    let comparison = if test.style == Style::X86 { "=" } else { comparison };
    let value = random.pick(&["0", "1", "1", "2", "-1"]);
    let declared = |entry: &&Entry| entry.thread.is_none() && !entry.text.contains("aliases");
    let locations = test.declarations.iter().filter(declared).count();
    if random.percent(35) {
        let name = LOCATIONS[random.below(locations)];
        return Some(Entry { thread: None, text: format!("{name} {comparison} {value}") });
    }
    let thread = random.below(test.threads.len());
    let registers: Vec<&String> = test.threads[thread].code.iter().flat_map(|step| &step.sets).collect();
    if registers.is_empty() {
        return None;
    }
    let register = registers[random.below(registers.len())];
    Some(Entry { thread: Some(thread), text: format!("{register} {comparison} {value}") })
}
