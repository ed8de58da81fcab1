//! Parametric test families whose cost grows with the number of threads: each asks one reachable and one unreachable
//! question. Chains and rings with one value per location exercise wide programs; writers, exchanges and additions on
//! one location exercise coherence and read-modify-write chains.

/// One generated test and whether its condition is reachable.
pub struct Instance {
    pub family: &'static str,
    pub model: &'static str,
    pub size: u32,
    pub reachable: bool,
    pub text: String,
}

impl Instance {
    /// A file name without extension.
    pub fn name(&self) -> String {
        let question = if self.reachable { "reachable" } else { "unreachable" };
        format!("{}-{}-{:03}-{question}", self.family, self.model, self.size)
    }
}

/// The instruction spellings of one architecture.
struct Isa {
    model: &'static str,
    header: &'static str,
    place: fn(u32) -> String,
    store: fn(&str, u32) -> Vec<String>,
    load: fn(u32, &str) -> Vec<String>,
    fence: fn() -> Vec<String>,
    exchange: fn(u32, &str, u32) -> Vec<String>,
    add: fn(u32, &str) -> Vec<String>,
    register: fn(u32, u32) -> String,
}

const X86_REGISTERS: [&str; 4] = ["EAX", "EBX", "ECX", "EDX"];

fn isas() -> [Isa; 2] {
    let x86 = Isa {
        model: "x86-tso",
        header: "X86",
        place: |thread| format!("P{thread}"),
        store: |location, value| vec![format!("MOV [{location}],${value}")],
        load: |register, location| vec![format!("MOV {},[{location}]", X86_REGISTERS[register as usize])],
        fence: || vec!["MFENCE".to_string()],
        exchange: |register, location, value| {
            let name = X86_REGISTERS[register as usize];
            vec![format!("MOV {name},${value}"), format!("XCHG [{location}],{name}")]
        },
        add: |register, location| {
            let name = X86_REGISTERS[register as usize];
            vec![format!("MOV {name},$1"), format!("LOCK XADD [{location}],{name}")]
        },
        register: |thread, register| format!("{thread}:{}", X86_REGISTERS[register as usize]),
    };
    let ptx = Isa {
        model: "ptx-7.5",
        header: "PTX",
        place: |thread| format!("P{thread}@cta {thread}, gpu 0"),
        store: |location, value| vec![format!("st.relaxed.gpu.u32 [{location}], {value}")],
        load: |register, location| vec![format!("ld.relaxed.gpu.u32 %r{register}, [{location}]")],
        fence: || vec!["fence.sc.gpu".to_string()],
        exchange: |register, location, value| {
            vec![format!("atom.relaxed.gpu.exch.b32 %r{register}, [{location}], {value}")]
        },
        add: |register, location| vec![format!("atom.relaxed.gpu.add.u32 %r{register}, [{location}], 1")],
        register: |thread, register| format!("P{thread}:%r{register}"),
    };
    [x86, ptx]
}

/// Every family at one size, both architectures, both questions.
pub fn all(size: u32) -> Vec<Instance> {
    let mut instances = Vec::new();
    for isa in isas() {
        writers(&isa, size, &mut instances);
        exchanges(&isa, size, &mut instances);
        additions(&isa, size, &mut instances);
        rings(&isa, size, &mut instances);
        iriw(&isa, size, &mut instances);
    }
    chains(size, &mut instances);
    instances
}

/// `n` writers of one location. Reachable: a reader sees the first and then the last value. Unreachable: two readers
/// see two values in opposite orders.
fn writers(isa: &Isa, size: u32, instances: &mut Vec<Instance>) {
    let writer = |thread: u32| (isa.store)("x", thread + 1);
    let reader = || [(isa.load)(0, "x"), (isa.load)(1, "x")].concat();
    let mut threads: Vec<_> = (0..size).map(writer).collect();
    threads.push(reader());
    let first = format!("{}=1 /\\ {}={size}", (isa.register)(size, 0), (isa.register)(size, 1));
    instances.push(instance(isa, "writers", size, true, &threads, &first));
    threads.push(reader());
    let second = format!("{}={size} /\\ {}=1", (isa.register)(size + 1, 0), (isa.register)(size + 1, 1));
    instances.push(instance(isa, "writers", size, false, &threads, &format!("{first} /\\ {second}")));
}

/// `n` exchanges of distinct values. Reachable: all results differ. Unreachable: two return the initial value.
fn exchanges(isa: &Isa, size: u32, instances: &mut Vec<Instance>) {
    let threads: Vec<_> = (0..size).map(|thread| (isa.exchange)(0, "x", thread + 1)).collect();
    let pairs = (0..size).flat_map(|left| (left + 1..size).map(move |right| (left, right)));
    let different: Vec<_> =
        pairs.map(|(left, right)| format!("~({}={})", (isa.register)(left, 0), (isa.register)(right, 0))).collect();
    instances.push(instance(isa, "exchanges", size, true, &threads, &different.join(" /\\ ")));
    let both = format!("{}=0 /\\ {}=0", (isa.register)(0, 0), (isa.register)(size - 1, 0));
    instances.push(instance(isa, "exchanges", size, false, &threads, &both));
}

/// `n` atomic additions of one. Reachable: the sum is `n`. Unreachable: it is anything else.
fn additions(isa: &Isa, size: u32, instances: &mut Vec<Instance>) {
    let threads: Vec<_> = (0..size).map(|_| (isa.add)(0, "x")).collect();
    instances.push(instance(isa, "additions", size, true, &threads, &format!("x={size}")));
    instances.push(instance(isa, "additions", size, false, &threads, &format!("~(x={size})")));
}

/// SB and 2+2W rings. Unreachable with a full fence in every thread, reachable with one dropped (for 2+2W under TSO the
/// reachable question is the all-last-writes outcome instead: stores never pass each other there).
fn rings(isa: &Isa, size: u32, instances: &mut Vec<Instance>) {
    for reachable in [false, true] {
        let fence = |thread: u32| if reachable && thread == 0 { Vec::new() } else { (isa.fence)() };
        let next = |thread: u32| (thread + 1) % size;
        let sb = |thread: u32| {
            [(isa.store)(&format!("x{thread}"), 1), fence(thread), (isa.load)(0, &format!("x{}", next(thread)))]
                .concat()
        };
        let threads: Vec<_> = (0..size).map(sb).collect();
        let stale: Vec<_> = (0..size).map(|thread| format!("{}=0", (isa.register)(thread, 0))).collect();
        instances.push(instance(isa, "sb-ring", size, reachable, &threads, &stale.join(" /\\ ")));
        let two = |thread: u32| {
            let (here, there) = (format!("x{thread}"), format!("x{}", next(thread)));
            [(isa.store)(&here, 2), fence(thread), (isa.store)(&there, 1)].concat()
        };
        let threads: Vec<_> = (0..size).map(two).collect();
        let last = if reachable && isa.model == "x86-tso" { 1 } else { 2 };
        let finals: Vec<_> = (0..size).map(|location| format!("x{location}={last}")).collect();
        instances.push(instance(isa, "2+2w-ring", size, reachable, &threads, &finals.join(" /\\ ")));
    }
}

/// `n` writers and `n` readers in a ring: reader `i` sees `x_i` but not yet `x_{i+1}`. Unreachable under TSO, and under
/// PTX with `fence.sc` between the reads; reachable without (PTX), or when the last reader sees both (TSO).
fn iriw(isa: &Isa, size: u32, instances: &mut Vec<Instance>) {
    for reachable in [false, true] {
        let fence = || if isa.header == "PTX" && !reachable { (isa.fence)() } else { Vec::new() };
        let writers = (0..size).map(|writer| (isa.store)(&format!("x{writer}"), 1));
        let readers = (0..size).map(|reader| {
            let next = (reader + 1) % size;
            [(isa.load)(0, &format!("x{reader}")), fence(), (isa.load)(1, &format!("x{next}"))].concat()
        });
        let threads: Vec<_> = writers.chain(readers).collect();
        let stale = |reader: u32| u32::from(reachable && isa.header == "X86" && reader + 1 == size);
        let seen = |reader: u32| {
            let thread = size + reader;
            format!("{}=1 /\\ {}={}", (isa.register)(thread, 0), (isa.register)(thread, 1), stale(reader))
        };
        let condition: Vec<_> = (0..size).map(seen).collect();
        instances.push(instance(isa, "iriw-ring", size, reachable, &threads, &condition.join(" /\\ ")));
    }
}

/// Chains of release and acquire over `n` threads: MP and LB unreachable, SB and IRIW (all-pairs readers) reachable.
fn chains(size: u32, instances: &mut Vec<Instance>) {
    let isa = &isas()[1];
    let release = |location: u32| format!("st.release.gpu.u32 [x{location}], 1");
    let acquire = |register: u32, location: u32| format!("ld.acquire.gpu.u32 %r{register}, [x{location}]");
    let mp = |thread: u32| match thread {
        0 => vec!["st.weak.u32 [x0], 1".to_string(), release(1)],
        last if last + 1 == size => vec![acquire(0, last), "ld.weak.u32 %r1, [x0]".to_string()],
        middle => vec![acquire(0, middle), release(middle + 1)],
    };
    let passed: Vec<_> = (1..size).map(|thread| format!("P{thread}:%r0=1")).collect();
    let stale = format!("{} /\\ P{}:%r1=0", passed.join(" /\\ "), size - 1);
    let threads: Vec<_> = (0..size).map(mp).collect();
    instances.push(instance(isa, "mp-chain", size, false, &threads, &stale));
    let next = |thread: u32| (thread + 1) % size;
    let sb: Vec<_> = (0..size).map(|thread| vec![release(thread), acquire(0, next(thread))]).collect();
    let zero: Vec<_> = (0..size).map(|thread| format!("P{thread}:%r0=0")).collect();
    instances.push(instance(isa, "sb-chain", size, true, &sb, &zero.join(" /\\ ")));
    let lb: Vec<_> = (0..size).map(|thread| vec![acquire(0, next(thread)), release(thread)]).collect();
    let one: Vec<_> = (0..size).map(|thread| format!("P{thread}:%r0=1")).collect();
    instances.push(instance(isa, "lb-chain", size, false, &lb, &one.join(" /\\ ")));
    if size < 4 {
        return;
    }
    let half = size / 2;
    let reader = |own: u32| {
        let others = (0..half).filter(move |&other| other != own);
        std::iter::once(acquire(own, own)).chain(others.map(|other| acquire(other, other))).collect()
    };
    let threads: Vec<Vec<String>> = (0..half).map(|own| vec![release(own)]).chain((0..half).map(reader)).collect();
    let value = |own: u32, other: u32| format!("P{}:%r{other}={}", half + own, u32::from(own == other));
    let all: Vec<_> = (0..half)
        .flat_map(|own| (0..half).map(move |other| (own, other)))
        .map(|(own, other)| value(own, other))
        .collect();
    instances.push(instance(isa, "iriw-chain", size, true, &threads, &all.join(" /\\ ")));
}

fn instance(
    isa: &Isa,
    family: &'static str,
    size: u32,
    reachable: bool,
    threads: &[Vec<String>],
    condition: &str,
) -> Instance {
    let mut text = format!("{} {family}-{size}\n{{ }}\n", isa.header);
    let heads: Vec<_> = (0..threads.len()).map(|thread| (isa.place)(thread as u32)).collect();
    text += &format!("{} ;\n", heads.join(" | "));
    let rows = threads.iter().map(Vec::len).max().unwrap_or(0);
    for row in 0..rows {
        let cells: Vec<_> = threads.iter().map(|thread| thread.get(row).map_or("", String::as_str)).collect();
        text += &format!("{} ;\n", cells.join(" | "));
    }
    text += &format!("exists ({condition})\n");
    Instance { family, model: isa.model, size, reachable, text }
}
