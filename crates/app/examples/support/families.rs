//! Parametric test families whose cost grows with the number of threads: each asks one reachable and one unreachable
//! question. Chains and rings with one value per location exercise wide programs; writers, exchanges and additions on
//! one location exercise coherence and read-modify-write chains.

/// One generated test and whether its condition is reachable.
pub(crate) struct Instance {
    pub family: &'static str,
    pub model: &'static str,
    pub size: u32,
    pub reachable: bool,
    pub text: String,
}

impl Instance {
    /// A file name without extension.
    pub(crate) fn name(&self) -> String {
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
pub(crate) fn all(size: u32) -> Vec<Instance> {
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

/// A test whose executions are counted, all of them.
pub(crate) struct Counted {
    pub family: &'static str,
    pub size: u32,
    pub text: String,
    /// How many executions there are, from the closed form beside each family.
    pub executions: u64,
    /// Seconds of herd7 7.58 for the same question, with the fastest of its own accelerators, where it finishes.
    pub herd: f64,
}

/// The families herd7 was measured on, at the largest sizes where it finishes, x86.
pub(crate) fn counted() -> Vec<Counted> {
    let isa = &isas()[0];
    let mut found = Vec::new();
    counted_rings(isa, &mut found);
    counted_chains(isa, &mut found);
    counted_readers(isa, &mut found);
    counted_locations(isa, &mut found);
    found
}

fn count(
    isa: &Isa,
    family: &'static str,
    (size, herd): (u32, f64),
    executions: u64,
    (threads, condition): (Vec<Vec<String>>, String),
) -> Counted {
    let text = instance(isa, family, size, true, &threads, &condition).text;
    Counted { family, size, text, executions, herd }
}

/// One read per thread, each of two values. With a fence exactly one combination is a cycle, without it none is.
fn counted_rings(isa: &Isa, found: &mut Vec<Counted>) {
    for measured in [(8, 0.17), (12, 6.0), (14, 46.0)] {
        let size = measured.0;
        let threads = ring(size, |here, there| [(isa.store)(here, 1), (isa.load)(0, there)].concat());
        found.push(count(isa, "sb-ring", measured, 1 << size, (threads, every_register(isa, 0..size, 0))));
    }
    for measured in [(8, 0.23), (12, 6.8)] {
        let size = measured.0;
        let threads = ring(size, |here, there| [(isa.store)(here, 1), (isa.fence)(), (isa.load)(0, there)].concat());
        let executions = (1 << size) - 1;
        found.push(count(isa, "sb-ring+mfence", measured, executions, (threads, every_register(isa, 0..size, 0))));
    }
    for measured in [(8, 0.17), (12, 5.8)] {
        let size = measured.0;
        let threads = ring(size, |here, there| [(isa.load)(0, here), (isa.store)(there, 1)].concat());
        let executions = (1 << size) - 1;
        found.push(count(isa, "lb-ring", measured, executions, (threads, every_register(isa, 0..size, 1))));
    }
}

/// `n` choices of two; exactly one combination is a cycle.
fn counted_chains(isa: &Isa, found: &mut Vec<Counted>) {
    for measured in [(8, 0.18), (12, 11.5)] {
        let size = measured.0;
        let threads = ring(size, |here, there| [(isa.store)(here, 2), (isa.store)(there, 1)].concat());
        let finals: Vec<_> = (0..size).map(|location| format!("x{location}=2")).collect();
        found.push(count(isa, "2+2w-ring", measured, (1 << size) - 1, (threads, finals.join(" /\\ "))));
    }
    for measured in [(8, 0.15), (12, 7.3)] {
        let size = measured.0;
        let mut threads = ring(size, |here, there| [(isa.load)(0, here), (isa.store)(there, 1)].concat());
        threads[0] = [(isa.store)("x0", 1), (isa.store)("x1", 1)].concat();
        threads[size as usize - 1] = [(isa.load)(0, &format!("x{}", size - 1)), (isa.load)(1, "x0")].concat();
        let stale = format!("{} /\\ {}=0", every_register(isa, 1..size, 1), (isa.register)(size - 1, 1));
        found.push(count(isa, "mp-chain", measured, (1 << size) - 1, (threads, stale)));
    }
}

/// Independent readers of independent writes.
fn counted_readers(isa: &Isa, found: &mut Vec<Counted>) {
    for measured in [(4, 0.17), (6, 4.8), (7, 36.0)] {
        let size = measured.0;
        let readers = ring(size, |here, there| [(isa.load)(0, here), (isa.load)(1, there)].concat());
        let threads = (0..size).map(|writer| (isa.store)(&format!("x{writer}"), 1)).chain(readers).collect();
        let question = (threads, every_reader(isa, size..2 * size));
        found.push(count(isa, "iriw-n+n", measured, 4u64.pow(size) - 1, question));
    }
    for measured in [(4, 0.08), (6, 1.8), (7, 15.3)] {
        let size = measured.0;
        let reader = |reader: u32| {
            let (first, second) = if reader.is_multiple_of(2) { ("x", "y") } else { ("y", "x") };
            [(isa.load)(0, first), (isa.load)(1, second)].concat()
        };
        let writers = [(isa.store)("x", 1), (isa.store)("y", 1)];
        let threads = writers.into_iter().chain((0..size).map(reader)).collect();
        // Forbidden: a reader of each order that sees its first location new and its second old.
        let apart = |readers: u32| 4u64.pow(readers) - 3u64.pow(readers);
        let executions = 4u64.pow(size) - apart(size.div_ceil(2)) * apart(size / 2);
        found.push(count(isa, "iriw-2+n", measured, executions, (threads, every_reader(isa, 2..size + 2))));
    }
}

/// One location.
fn counted_locations(isa: &Isa, found: &mut Vec<Counted>) {
    let factorial = |number: u32| (1..=u64::from(number)).product::<u64>();
    for measured in [(5, 0.12), (6, 1.04), (7, 7.0), (8, 111.0)] {
        let size = measured.0;
        let mut threads: Vec<_> = (0..size).map(|thread| (isa.store)("x", thread + 1)).collect();
        threads.push([(isa.load)(0, "x"), (isa.load)(1, "x")].concat());
        // The two reads see two of the order's n + 1 values, the second none older than the first.
        let executions = factorial(size) * u64::from((size + 1) * (size + 2) / 2);
        found.push(count(isa, "cow", measured, executions, (threads, every_reader(isa, size..size + 1))));
    }
    for measured in [(4, 0.3), (5, 0.18), (6, 2.2), (7, 37.5)] {
        let size = measured.0;
        let threads = (0..size).map(|thread| (isa.exchange)(0, "x", thread + 1)).collect();
        found.push(count(isa, "xchg", measured, factorial(size), (threads, every_register(isa, 0..size, 0))));
    }
    for measured in [(4, 0.36), (5, 15.4), (6, 8.9)] {
        let size = measured.0;
        let writes: Vec<String> = (1..=size).flat_map(|value| (isa.store)("x", value)).collect();
        let read = |at: u32| format!("MOV {},[x]", CO_R_REGISTERS[at as usize]);
        let seen: Vec<_> = (0..size).map(|at| format!("1:{}={}", CO_R_REGISTERS[at as usize], at + 1)).collect();
        // Sequences of n out of n + 1 values that never step back: 2n over n.
        let executions = (1..=u64::from(size)).fold(1, |all, at| all * (u64::from(size) + at) / at);
        let threads = vec![writes, (0..size).map(read).collect()];
        found.push(count(isa, "cor", measured, executions, (threads, seen.join(" /\\ "))));
    }
}

const CO_R_REGISTERS: [&str; 6] = ["EAX", "EBX", "ECX", "EDX", "ESI", "EDI"];

/// Thread `i` between the locations `x_i` and `x_{i+1}`.
fn ring(size: u32, body: impl Fn(&str, &str) -> Vec<String>) -> Vec<Vec<String>> {
    (0..size).map(|thread| body(&format!("x{thread}"), &format!("x{}", (thread + 1) % size))).collect()
}

/// The first register of each thread has this value.
fn every_register(isa: &Isa, threads: std::ops::Range<u32>, value: u32) -> String {
    let parts: Vec<_> = threads.map(|thread| format!("{}={value}", (isa.register)(thread, 0))).collect();
    parts.join(" /\\ ")
}

/// Each thread sees 1 and then 0.
fn every_reader(isa: &Isa, threads: std::ops::Range<u32>) -> String {
    let seen = |thread: u32| format!("{}=1 /\\ {}=0", (isa.register)(thread, 0), (isa.register)(thread, 1));
    threads.map(seen).collect::<Vec<_>>().join(" /\\ ")
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
