//! Small programs as data that can be shrunk, and their litmus text: what the random generator makes and a failing run
//! prints. Going through text puts the parser, the lowering and the unfolding under test too.

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    Ptx,
    X86,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Test {
    pub(crate) family: Family,
    pub(crate) threads: Vec<Thread>,
    /// A conjunction.
    pub(crate) condition: Vec<Claim>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Thread {
    pub(crate) cta: u8,
    pub(crate) gpu: u8,
    pub(crate) code: Vec<Step>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Claim {
    /// Thread, register, value.
    Register(usize, u8, u8),
    Memory(Name, u8),
}

/// `x`, `y`, `z`, or another way to reach `x`.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Name {
    Plain(u8),
    Alias,
    Texture,
    Surface,
    Constant,
}

/// `""` is weak; otherwise as the ISA spells it.
pub(crate) type Order = &'static str;
pub(crate) type Scope = &'static str;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Operand {
    Number(u8),
    Register(u8),
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Update {
    Add(Operand),
    Exchange(Operand),
    /// Expected, new.
    Swap(Operand, Operand),
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Load {
        order: Order,
        scope: Scope,
        name: Name,
        register: u8,
    },
    Store {
        order: Order,
        scope: Scope,
        name: Name,
        value: Operand,
    },
    Atom {
        order: Order,
        scope: Scope,
        name: Name,
        register: u8,
        update: Update,
    },
    /// `red.add`.
    Red {
        order: Order,
        scope: Scope,
        name: Name,
        value: Operand,
    },
    Fence {
        order: Order,
        scope: Scope,
    },
    ProxyFence(&'static str),
    /// `bar.cta.sync` or `bar.cta.arrive`; instance, id.
    Barrier {
        kind: &'static str,
        instance: u8,
        id: u8,
    },
    /// Skips the next `count` steps unless the register has this value.
    Unless {
        register: u8,
        value: u8,
        count: u8,
    },
    /// register := from + number.
    Add {
        register: u8,
        from: u8,
        number: u8,
    },
    /// Loads until the register has this value.
    Spin {
        order: Order,
        scope: Scope,
        name: Name,
        register: u8,
        value: u8,
    },
}

pub(crate) const REGISTERS: u8 = 6;
const X86_REGISTERS: [&str; 6] = ["EAX", "EBX", "ECX", "EDX", "ESI", "EDI"];

impl Name {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Name::Plain(0) => "x",
            Name::Plain(1) => "y",
            Name::Plain(_) => "z",
            Name::Alias => "a",
            Name::Texture => "t",
            Name::Surface => "s",
            Name::Constant => "c",
        }
    }
}

impl Step {
    pub(crate) fn name(&self) -> Option<Name> {
        match self {
            Step::Load { name, .. } | Step::Store { name, .. } | Step::Atom { name, .. } => Some(*name),
            Step::Red { name, .. } | Step::Spin { name, .. } => Some(*name),
            _ => None,
        }
    }

    /// How many memory events it makes, the spin loop unrolled once.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Step::Load { .. } | Step::Store { .. } => 1,
            Step::Atom { .. } | Step::Red { .. } | Step::Spin { .. } => 2,
            _ => 0,
        }
    }

    /// Whether only a model with proxies can say something about it.
    fn needs_proxies(&self) -> bool {
        matches!(self, Step::ProxyFence(_)) || self.name().is_some_and(|name| !matches!(name, Name::Plain(_)))
    }
}

impl Test {
    pub(crate) fn needs_proxies(&self) -> bool {
        self.threads.iter().flat_map(|thread| &thread.code).any(Step::needs_proxies)
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let columns: Vec<Vec<String>> = match self.family {
            Family::Ptx => {
                text.push_str("PTX random\n{\nx=0; y=0; z=0;\n");
                self.aliases(&mut text);
                for thread in 0..self.threads.len() {
                    (0..REGISTERS).for_each(|register| text.push_str(&format!("P{thread}:r{register}=0; ")));
                }
                self.threads.iter().enumerate().map(|(index, thread)| ptx_column(index, thread)).collect()
            }
            Family::X86 => {
                text.push_str("X86 random\n{\nx=0; y=0; z=0;\n");
                for thread in 0..self.threads.len() {
                    X86_REGISTERS.iter().for_each(|register| text.push_str(&format!("{thread}:{register}=0; ")));
                }
                self.threads.iter().enumerate().map(|(index, thread)| x86_column(index, thread)).collect()
            }
        };
        text.push_str("\n}\n");
        let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
        for row in 0..rows {
            let cells: Vec<&str> = columns.iter().map(|column| column.get(row).map_or("", String::as_str)).collect();
            let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:<28}")).collect();
            text.push_str(&format!(" {} ;\n", cells.join(" | ")));
        }
        let claims: Vec<String> = self.condition.iter().map(|claim| self.claim(claim)).collect();
        let claims = if claims.is_empty() { "true".to_string() } else { claims.join(" /\\ ") };
        text.push_str(&format!("exists ({claims})\n"));
        text
    }

    fn aliases(&self, text: &mut String) {
        for name in [Name::Alias, Name::Texture, Name::Surface, Name::Constant] {
            let used = self.threads.iter().flat_map(|thread| &thread.code).any(|step| step.name() == Some(name));
            let kind = match name {
                Name::Alias => "generic",
                Name::Texture => "texture",
                Name::Surface => "surface",
                _ => "constant",
            };
            if used {
                text.push_str(&format!("{} @ {kind} aliases x;\n", name.text()));
            }
        }
    }

    fn claim(&self, claim: &Claim) -> String {
        match (claim, self.family) {
            (Claim::Register(thread, register, value), Family::Ptx) => format!("P{thread}:r{register}=={value}"),
            (Claim::Register(thread, register, value), Family::X86) => {
                format!("{thread}:{}={value}", X86_REGISTERS[*register as usize])
            }
            (Claim::Memory(name, value), _) => format!("{}={value}", name.text()),
        }
    }
}

fn operand(operand: Operand) -> String {
    match operand {
        Operand::Number(value) => value.to_string(),
        Operand::Register(register) => format!("r{register}"),
    }
}

/// Labels are `LC` with the thread and a running number.
fn ptx_column(index: usize, thread: &Thread) -> Vec<String> {
    let mut cells = vec![format!("P{index}@cta {}, gpu {}", thread.cta, thread.gpu)];
    let mut open: Vec<(usize, String)> = Vec::new();
    for (at, step) in thread.code.iter().enumerate() {
        close(&mut cells, &mut open, at);
        let label = format!("LC{index}{at}");
        match *step {
            Step::Unless { register, value, count } => {
                cells.push(format!("bne r{register}, {value}, {label}"));
                open.push((at + 1 + usize::from(count), label));
            }
            Step::Spin { order, scope, name, register, value } => {
                cells.push(format!("{label}:"));
                cells.push(ptx_step(&Step::Load { order, scope, name, register }));
                cells.push(format!("bne r{register}, {value}, {label}"));
            }
            _ => cells.push(ptx_step(step)),
        }
    }
    close(&mut cells, &mut open, usize::MAX);
    cells
}

/// Labels of the skips that end here.
fn close(cells: &mut Vec<String>, open: &mut Vec<(usize, String)>, at: usize) {
    open.retain(|(end, label)| {
        if *end <= at {
            cells.push(format!("{label}:"));
        }
        *end > at
    });
}

fn ptx_step(step: &Step) -> String {
    let qualified = |opcode: &str, order: Order, scope: Scope| match order {
        "" => format!("{opcode}.weak"),
        _ => format!("{opcode}.{order}.{scope}"),
    };
    match *step {
        Step::Load { order, scope, name, register } => {
            let opcode = match name {
                Name::Texture => "tld",
                Name::Surface => "suld",
                Name::Constant => "cold",
                _ => "ld",
            };
            format!("{} r{register}, {}", qualified(opcode, order, scope), name.text())
        }
        Step::Store { order, scope, name, value } => {
            let opcode = if name == Name::Surface { "sust" } else { "st" };
            format!("{} {}, {}", qualified(opcode, order, scope), name.text(), operand(value))
        }
        Step::Atom { order, scope, name, register, update } => {
            let name = name.text();
            match update {
                Update::Add(value) => format!("atom.{order}.{scope}.add r{register}, {name}, {}", operand(value)),
                Update::Exchange(value) => format!("atom.{order}.{scope}.exch r{register}, {name}, {}", operand(value)),
                Update::Swap(old, new) => {
                    format!("atom.{order}.{scope}.cas r{register}, {name}, {}, {}", operand(old), operand(new))
                }
            }
        }
        Step::Red { order, scope, name, value } => {
            format!("red.{order}.{scope}.add {}, {}", name.text(), operand(value))
        }
        Step::Fence { order, scope } => format!("fence.{order}.{scope}"),
        Step::ProxyFence(kind) => format!("fence.proxy.{kind}"),
        Step::Barrier { kind, instance, id } => format!("bar.cta.{kind} {instance}, {id}"),
        Step::Add { register, from, number } => format!("add r{register}, r{from}, {number}"),
        Step::Unless { .. } | Step::Spin { .. } => String::new(),
    }
}

fn x86_column(index: usize, thread: &Thread) -> Vec<String> {
    let mut cells = vec![format!("P{index}")];
    let mut open: Vec<(usize, String)> = Vec::new();
    let named = |register: u8| X86_REGISTERS[register as usize];
    let value = |operand: Operand| match operand {
        Operand::Number(value) => format!("${value}"),
        Operand::Register(register) => named(register).to_string(),
    };
    for (at, step) in thread.code.iter().enumerate() {
        close(&mut cells, &mut open, at);
        match *step {
            Step::Load { name, register, .. } => cells.push(format!("MOV {},[{}]", named(register), name.text())),
            Step::Store { name, value: stored, .. } => cells.push(format!("MOV [{}],{}", name.text(), value(stored))),
            Step::Atom { name, register, update, .. } => {
                let (operation, source) = match update {
                    Update::Add(source) => ("LOCK XADD", source),
                    Update::Exchange(source) | Update::Swap(_, source) => ("XCHG", source),
                };
                cells.push(format!("MOV {},{}", named(register), value(source)));
                cells.push(format!("{operation} [{}],{}", name.text(), named(register)));
            }
            Step::Fence { .. } => cells.push("MFENCE".to_string()),
            Step::Unless { register, value, count } => {
                let label = format!("LC{index}{at}");
                cells.push(format!("CMP {},${value}", named(register)));
                cells.push(format!("JNE {label}"));
                open.push((at + 1 + usize::from(count), label));
            }
            _ => {}
        }
    }
    close(&mut cells, &mut open, usize::MAX);
    cells
}
