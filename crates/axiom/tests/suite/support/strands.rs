//! Random programs of asynchronous operations as litmus text: copies, asynchronous stores, mbarriers, groups, proxy
//! fences, tensor memory. Through text, the table of instructions, the lowering and the unfolding of strands are
//! under test too, and what differs is shrunk to a test that can be read.
//!
//! Most programs carry a value through a chain of steps that almost synchronise; steps at random alone would rarely
//! make an asynchronous operation observed. Each step of a chain is dropped once in a while.

use super::program::{Entry, Step, Style, Test, Thread};
use super::random::Random;

/// As the oracle suffers: reads and writes, an RMW counts two.
const MOST_EVENTS: usize = 9;

pub(crate) fn test(random: &mut Random) -> Test {
    let mut draft = Draft { random, next: 0, label: 0 };
    let cluster = draft.random.percent(25);
    let mut threads: Vec<Thread> =
        (0..2).map(|cta| Thread { cta: if cluster { cta } else { 0 }, gpu: 0, code: Vec::new() }).collect();
    match draft.random.below(8) {
        0 => draft.copy_async(&mut threads),
        1 => draft.bulk_load(&mut threads),
        2 => draft.bulk_store(&mut threads),
        3 => draft.store_async(&mut threads),
        4 => draft.tensor_memory(&mut threads),
        5 => draft.flag(&mut threads),
        6 => draft.tensor_commit(&mut threads),
        _ => {}
    }
    draft.drop_some(&mut threads);
    draft.sprinkle(&mut threads);
    let declarations = declarations(draft.random, &threads);
    let mut test =
        Test { style: Style::Ptx, declarations, threads, condition: Vec::new(), connective: "/\\", filter: Vec::new() };
    for _ in 0..1 + random.below(2) {
        let claim = claim(random, &test);
        test.condition.extend(claim);
    }
    test
}

/// Only what is used: every location has an initial write, and the oracle orders them all.
fn declarations(random: &mut Random, threads: &[Thread]) -> Vec<Entry> {
    let uses = |name: &str| {
        threads.iter().flat_map(|thread| &thread.code).flat_map(|step| &step.lines).any(|line| line.contains(name))
    };
    let mut found = Vec::new();
    let mut declare = |name: &str, text: String| {
        if uses(name) {
            found.push(Entry { thread: None, text });
        }
    };
    let count = random.pick(&[1, 1, 1, 2]);
    declare("[g]", ".global .b32 g = 0".to_owned());
    declare("[f]", ".global .b32 f = 0".to_owned());
    declare("[s]", ".shared .b32 s = 0".to_owned());
    declare("[q]", ".shared .b64 q[2] = 0".to_owned());
    declare("[o]", ".global .b64 o[2] = 0".to_owned());
    declare("[t]", ".tmem .b32 t[1] = 0".to_owned());
    declare("[b]", format!(".shared .mbarrier b = {count}"));
    found
}

fn claim(random: &mut Random, test: &Test) -> Option<Entry> {
    let registers: Vec<(usize, &String)> = (test.threads.iter().enumerate())
        .flat_map(|(index, thread)| {
            thread.code.iter().flat_map(|step| &step.sets).map(move |register| (index, register))
        })
        .collect();
    if registers.is_empty() {
        return None;
    }
    let (thread, register) = registers[random.below(registers.len())];
    let value = random.pick(&[0, 1, 1, 2]);
    Some(Entry { thread: Some(thread), text: format!("{register} = {value}") })
}

struct Draft<'r> {
    random: &'r mut Random,
    next: usize,
    label: usize,
}

impl Draft<'_> {
    fn register(&mut self) -> String {
        self.next += 1;
        format!("%r{}", self.next)
    }

    fn load(&mut self, operation: &str, address: &str) -> Step {
        let register = self.register();
        Step::new(1, &[format!("{operation} {register}, {address};")]).sets(&register)
    }

    /// One of two, the first more often.
    fn or(&mut self, usual: &str, otherwise: &str) -> Step {
        let line = if self.random.percent(75) { usual } else { otherwise };
        Step::new(0, &[line.to_owned()])
    }

    fn arrive(&mut self) -> Step {
        let word = self.random.pick(&["", ".release.cta", ".release.cluster", ".relaxed.cta", ".relaxed.cluster"]);
        Step::new(2, &[format!("mbarrier.arrive{word}.shared::cta.b64 _, [b];")])
    }

    fn expect(&mut self, bytes: usize) -> Step {
        Step::new(2, &[format!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [b], {bytes};")])
    }

    /// A loop, or one look.
    fn wait(&mut self) -> Step {
        let word = self.random.pick(&["", "", ".acquire.cluster", ".relaxed.cta", ".relaxed.cluster"]);
        let parity = if self.random.percent(90) { 0 } else { 1 };
        if self.random.percent(20) {
            let register = self.register();
            return Step::new(
                1,
                &[
                    format!("mbarrier.test_wait.parity{word}.shared::cta.b64 %p1, [b], {parity};"),
                    format!("selp.u32 {register}, 1, 0, %p1;"),
                ],
            )
            .sets(&register);
        }
        self.label += 1;
        let label = format!("W{}", self.label);
        Step::new(
            1,
            &[
                format!("{label}: mbarrier.try_wait.parity{word}.shared::cta.b64 %p1, [b], {parity};"),
                format!("@!%p1 bra {label};"),
            ],
        )
    }

    fn copy_async(&mut self, threads: &mut [Thread]) {
        let source = Step::new(1, &["st.global.u32 [g], 1;".to_owned()]);
        let copy = Step::new(2, &["cp.async.ca.shared.global [s], [g], 4;".to_owned()]);
        let joined = self.random.percent(60);
        let reads = self.load("ld.shared.u32", "[s]");
        threads[0].code.extend([source, copy]);
        if joined {
            let arrival = self.or(
                "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [b];",
                "cp.async.mbarrier.arrive.shared::cta.b64 [b];",
            );
            threads[0].code.push(Step { weight: 2, ..arrival });
            let waits = self.wait();
            threads[1].code.extend([waits, reads]);
        } else {
            let waits = self.or("cp.async.wait_all;", "cp.async.wait_group 1;");
            threads[0].code.extend([Step::new(0, &["cp.async.commit_group;".to_owned()]), waits, reads]);
        }
    }

    fn bulk_load(&mut self, threads: &mut [Thread]) {
        let source = Step::new(1, &["st.global.u64 [o], 1;".to_owned()]);
        let gate = self.or("fence.proxy.async.global;", "fence.proxy.async;");
        let expects = self.expect(16);
        let copy = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [q], [o], 16, [b];".to_owned();
        let waits = self.wait();
        let reads = self.load("ld.shared.u64", "[q]");
        threads[0].code.extend([source, gate, expects, Step::new(4, &[copy])]);
        let reader = self.random.below(2);
        threads[reader].code.extend([waits, reads]);
    }

    fn bulk_store(&mut self, threads: &mut [Thread]) {
        let source = Step::new(1, &["st.shared.u64 [q], 1;".to_owned()]);
        let gate = self.or("fence.proxy.async.shared::cta;", "fence.proxy.async;");
        let copy = Step::new(4, &["cp.async.bulk.global.shared::cta.bulk_group [o], [q], 16;".to_owned()]);
        let waits = self.or("cp.async.bulk.wait_group 0;", "cp.async.bulk.wait_group.read 0;");
        let last = if self.random.percent(60) {
            self.load("ld.global.u64", "[o]")
        } else {
            Step::new(1, &["st.shared.u64 [q], 2;".to_owned()])
        };
        threads[0].code.extend([
            source,
            gate,
            copy,
            Step::new(0, &["cp.async.bulk.commit_group;".to_owned()]),
            waits,
            last,
        ]);
    }

    fn store_async(&mut self, threads: &mut [Thread]) {
        let operation = self.random.pick(&["st.async", "st.async", "red.async.relaxed.cluster"]);
        let rest = "shared::cluster.mbarrier::complete_tx::bytes";
        let line = match operation {
            "st.async" => format!("st.async.{rest}.u32 [s], 1, [b];"),
            _ => format!("{operation}.{rest}.add.u32 [s], 1, [b];"),
        };
        let expects = self.expect(4);
        let waits = self.wait();
        let reads = self.load("ld.shared.u32", "[s]");
        threads[0].code.push(Step::new(4, &[line]));
        threads[1].code.extend([expects, waits, reads]);
    }

    fn tensor_memory(&mut self, threads: &mut [Thread]) {
        let store =
            Step::new(1, &["mov.b32 %v, 1;".to_owned(), "tcgen05.st.sync.aligned.32x32b.x1.b32 [t], {%v};".to_owned()]);
        let waits = Step::new(0, &["tcgen05.wait::st.sync.aligned;".to_owned()]);
        let before = Step::new(0, &["tcgen05.fence::before_thread_sync;".to_owned()]);
        let after = Step::new(0, &["tcgen05.fence::after_thread_sync;".to_owned()]);
        let register = self.register();
        let load = format!("tcgen05.ld.sync.aligned.32x32b.x1.b32 {{{register}}}, [t];");
        let reads = Step::new(1, &[load, "tcgen05.wait::ld.sync.aligned;".to_owned()]).sets(&register);
        let (arrives, looks) = (self.arrive(), self.wait());
        threads[0].code.extend([store, waits, before, arrives]);
        threads[1].code.extend([looks, after, reads]);
    }

    fn tensor_commit(&mut self, threads: &mut [Thread]) {
        let copy = Step::new(2, &["tcgen05.shift.cta_group::1.down [t];".to_owned()]);
        let commit = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [b];".to_owned();
        let after = Step::new(0, &["tcgen05.fence::after_thread_sync;".to_owned()]);
        let register = self.register();
        let load = format!("tcgen05.ld.sync.aligned.32x32b.x1.b32 {{{register}}}, [t];");
        let reads = Step::new(1, &[load, "tcgen05.wait::ld.sync.aligned;".to_owned()]).sets(&register);
        let looks = self.wait();
        threads[0].code.extend([copy, Step::new(2, &[commit])]);
        threads[1].code.extend([looks, after, reads]);
    }

    /// No strand: what an mbarrier orders for its threads.
    fn flag(&mut self, threads: &mut [Thread]) {
        let store = Step::new(1, &["st.shared.u32 [s], 1;".to_owned()]);
        let (arrives, looks, reads) = (self.arrive(), self.wait(), self.load("ld.shared.u32", "[s]"));
        threads[0].code.extend([store, arrives]);
        threads[1].code.extend([looks, reads]);
    }

    fn drop_some(&mut self, threads: &mut [Thread]) {
        for thread in threads {
            let random = &mut *self.random;
            thread.code.retain(|_| !random.percent(8));
        }
    }

    /// Steps at random, in between and behind.
    fn sprinkle(&mut self, threads: &mut Vec<Thread>) {
        if self.random.percent(15) {
            threads.push(Thread { cta: 0, gpu: 0, code: Vec::new() });
        }
        let weight = |threads: &[Thread]| -> usize {
            threads.iter().flat_map(|thread| &thread.code).map(|step| step.weight).sum()
        };
        for _ in 0..1 + self.random.below(4) {
            let step = self.stray();
            if weight(threads) + step.weight > MOST_EVENTS {
                continue;
            }
            let thread = self.random.below(threads.len());
            let code = &mut threads[thread].code;
            let at = self.random.below(code.len() + 1);
            code.insert(at, step);
        }
    }

    fn stray(&mut self) -> Step {
        #[rustfmt::skip]
        const LINES: &[(usize, &str)] = &[
            (1, "st.shared.u32 [s], 2;"), (1, "st.global.u32 [g], 2;"), (1, "st.relaxed.cta.shared.u32 [s], 2;"),
            (1, "st.release.gpu.global.u32 [f], 1;"), (2, "red.release.cta.global.add.u32 [f], 1;"),
            (0, "fence.proxy.async;"), (0, "fence.proxy.async.shared::cta;"), (0, "fence.proxy.async.global;"),
            (0, "fence.acq_rel.cta;"), (0, "fence.sc.cluster;"), (0, "fence.release.cluster;"), (0, "fence.acquire.cta;"),
            (0, "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;"),
            (0, "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;"),
            (0, "tcgen05.fence::before_thread_sync;"), (0, "tcgen05.fence::after_thread_sync;"),
            (0, "cp.async.bulk.commit_group;"), (0, "cp.async.bulk.wait_group 0;"), (0, "cp.async.wait_all;"),
            (2, "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [b], 4;"),
            (2, "mbarrier.complete_tx.relaxed.cluster.shared::cta.b64 [b], 4;"),
            (2, "mbarrier.arrive_drop.shared::cta.b64 _, [b];"),
            (2, "cp.async.ca.shared.global [s], [g], 4;"), (0, "bar.sync 0;"), (0, "bar.warp.sync 0xffffffff;"),
        ];
        match self.random.below(10) {
            0 => self.arrive(),
            1 => self.wait(),
            2 => self.load("ld.shared.u32", "[s]"),
            3 => self.load("ld.acquire.gpu.global.u32", "[f]"),
            4 => self.load("ld.global.u32", "[g]"),
            _ => {
                let (weight, line) = self.random.pick(LINES);
                Step::new(weight, &[line.to_owned()])
            }
        }
    }
}
