//! Instructions of synchronisation that come: a wait for a phase, an arrival and what may stand for one, and whatever else
//! stands somewhere in the test already.

use fencepost_program::ThreadId;
use fencepost_program::program::LocationRole;
use fencepost_syntax::Spanned;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::Declaration;
use fencepost_syntax::sorted::SharedSort as _;

use super::{Maker, Path, gaps_and_end};
use crate::edit::apply::declares_register;
use crate::edit::{Change, Polled};
use crate::fix::difference;
use crate::fix::space::plain;
use crate::scene::anchor::{Anchor, Side, instruction, position};
use crate::scene::statement::{has, named};

/// Messages that are tried.
const MOST_MESSAGES: usize = 256;

impl Maker<'_> {
    /// Into every gap of a thread.
    pub(super) fn pieces(&self, thread: ThreadId, found: &mut Vec<Path>) {
        let body = &self.test.litmus.threads[thread.index()].body;
        let anchors = gaps_and_end(body, thread).into_iter().filter(|it| self.is_open(it));
        let known = self.known(thread);
        for anchor in anchors {
            for (text, cost) in &known {
                let change = Change::Insert { at: vec![(anchor, format!("{text};"))] };
                found.push(Path::new(vec![(plain(change), *cost)]));
            }
            self.of_mbarriers(anchor, found);
        }
    }

    /// A wait for a phase of an mbarrier, an arrival that is counted or not, the end of its life.
    fn of_mbarriers(&self, anchor: Anchor, found: &mut Vec<Path>) {
        let scope = if self.has_clusters() { ".acquire.cluster" } else { "" };
        let (mut addresses, mut parities) = self.registers(anchor.thread);
        addresses.retain(|register| self.is_set(anchor, register));
        parities.retain(|register| self.is_set(anchor, register));
        let names: Vec<String> = self.mbarriers().into_iter().map(str::to_owned).collect();
        let parities: Vec<String> = ["0", "1"].map(str::to_owned).into_iter().chain(parities).collect();
        for name in names.iter().chain(&addresses) {
            for parity in &parities {
                let wait = format!("mbarrier.try_wait.parity{scope}.shared::cta.b64 %waited, [{name}], {parity}");
                let label = "WAITED".to_owned();
                let change = Change::Poll { at: anchor, wait, label, polled: Polled::Once };
                self.add(found, change, "mbarrier.wait");
            }
        }
        for address in &addresses {
            let text = format!("mbarrier.arrive.shared::cta.b64 _, [{address}];");
            self.add(found, Change::Insert { at: vec![(anchor, text)] }, "mbarrier.arrive");
        }
        for name in self.mbarriers() {
            let put = |text: String| Change::Insert { at: vec![(anchor, format!("{text};"))] };
            let arrive = || put(format!("mbarrier.arrive.shared::cta.b64 _, [{name}]"));
            self.add(found, arrive(), "mbarrier.arrive");
            self.add(found, put(format!("mbarrier.inval.shared::cta.b64 [{name}]")), "mbarrier.inval");
            let count = Change::Count { name: name.to_owned(), by: 1, inits: self.inits_of(name) };
            let cost = |row: &str| self.costs.of(row, "-").max(1);
            found.push(Path::new(vec![(plain(arrive()), cost("mbarrier.arrive")), (plain(count), cost("word"))]));
        }
    }

    /// Registers of a thread that hold the address of an mbarrier, and such as hold a parity: one that a wait asks with, or that
    /// is turned over.
    fn registers(&self, thread: ThreadId) -> (Vec<String>, Vec<String>) {
        let (mut addresses, mut parities) = (Vec::new(), Vec::new());
        let add = |list: &mut Vec<String>, operand: Option<&Operand>| {
            if let Some(Operand::Register(name)) = operand
                && list.iter().all(|own| own != name.as_str())
            {
                list.push(name.to_string());
            }
        };
        for own in self.test.litmus.threads[thread.index()].body.iter().filter_map(instruction) {
            let base = own.operands.iter().find_map(|operand| match &operand.node {
                Operand::Address(address) => Some(&address.base.node),
                _ => None,
            });
            match own.opcode.node.as_str() {
                "mbarrier" => {
                    add(&mut addresses, base);
                    add(&mut parities, own.operands.last().map(|it| &it.node).filter(|_| has(own, "parity")));
                }
                "mov" if own.operands.last().is_some_and(|it| self.is_mbarrier(&it.node)) => {
                    add(&mut addresses, own.operands.first().map(|it| &it.node));
                }
                "xor" => add(&mut parities, own.operands.first().map(|it| &it.node)),
                _ => {}
            }
        }
        (addresses, parities)
    }

    /// Whether a register has a value at a place, by the order of the text.
    fn is_set(&self, anchor: Anchor, register: &str) -> bool {
        let litmus = &self.test.litmus;
        let declared = |it: &Spanned<Declaration>| declares_register(&it.node, anchor.thread, register);
        let Some(at) = position(litmus, anchor.thread, anchor.span) else { return false };
        let before = at + usize::from(anchor.side == Side::After);
        let writes = |own: &Instruction| {
            let mut written = Vec::new();
            own.operands.iter().take(1).for_each(|operand| named(&operand.node, &mut written));
            written.iter().any(|name| name == register)
        };
        let mut body = litmus.threads[anchor.thread.index()].body.iter().take(before).filter_map(instruction);
        litmus.declarations.iter().any(declared) || body.any(writes)
    }

    /// Whether an operand is the address of an mbarrier, or of an array of them.
    fn is_mbarrier(&self, operand: &Operand) -> bool {
        let Operand::Symbol(name) = operand else { return false };
        let mut all = self.test.program.locations.iter().filter(|it| it.role == LocationRole::Mbarrier);
        all.any(|it| it.name.split(['@', '[', '+']).next() == Some(name))
    }

    /// A message over an mbarrier that nobody uses: one thread arrives, another waits. The tensor core arrives by a commit, and
    /// the thread that asked it may wait itself.
    pub(super) fn messages(&self, found: &mut Vec<Path>) {
        let text = |it: &Instruction| self.test.instruction_text(it.span());
        let all = || self.test.litmus.threads.iter().flat_map(|thread| &thread.body).filter_map(instruction);
        let cost = |row: &str| self.costs.of(row, "-").max(1);
        let is_free = |name: &&str| !all().any(|it| text(it).contains(&format!("[{name}]")));
        let gaps = |thread: usize| {
            let anchors = gaps_and_end(&self.test.litmus.threads[thread].body, ThreadId(thread as u32));
            anchors.into_iter().filter(|it| self.is_open(it))
        };
        let threads = || 0..self.test.litmus.threads.len();
        let first_new = found.len();
        let mut add = |here: Anchor, there: Anchor, name: &str, (arrival, price): (String, u32)| {
            let wait = format!("mbarrier.try_wait.parity.shared::cta.b64 %waited, [{name}], 0");
            let wait = Change::Poll { at: there, wait, label: "WAITED".to_owned(), polled: Polled::Once };
            let arrives = Change::Insert { at: vec![(here, format!("{arrival};"))] };
            found.push(Path::new(vec![(plain(arrives), price), (plain(wait), cost("mbarrier.wait"))]));
        };
        for name in self.mbarriers().into_iter().filter(is_free) {
            let arrive = (format!("mbarrier.arrive.shared::cta.b64 _, [{name}]"), cost("mbarrier.arrive"));
            for from in threads() {
                let commit = self.commit(ThreadId(from as u32), name).map(|text| (text, cost("mbarrier.arrive")));
                for here in commit.iter().flat_map(|_| gaps(from)) {
                    commit.iter().for_each(|commit| add(here, here, name, commit.clone()));
                }
                for to in threads().filter(|to| *to != from) {
                    for (here, there) in gaps(from).flat_map(|here| gaps(to).map(move |there| (here, there))) {
                        let arrivals = commit.iter().chain([&arrive]);
                        arrivals.for_each(|arrival| add(here, there, name, arrival.clone()));
                    }
                }
            }
        }
        found.truncate(first_new + MOST_MESSAGES);
    }

    /// An arrival of the tensor core, where a thread asks something of it (PTX ISA 9.7.18.6.4).
    fn commit(&self, thread: ThreadId, mbarrier: &str) -> Option<String> {
        let body = self.test.litmus.threads[thread.index()].body.iter().filter_map(instruction);
        let group = body.filter(|it| it.opcode.node == "tcgen05").find_map(|it| {
            it.modifiers.iter().find(|word| word.node.starts_with("cta_group::")).map(|word| word.node.clone())
        })?;
        Some(format!("tcgen05.commit.{group}.mbarrier::arrive::one.shared::cluster.b64 [{mbarrier}]"))
    }

    fn has_clusters(&self) -> bool {
        self.test.litmus.threads.iter().any(|thread| thread.placement.cluster.is_some())
    }

    fn inits_of(&self, name: &str) -> Vec<(ThreadId, fencepost_syntax::Span)> {
        let own = self.inits().into_iter();
        let own = own.filter(|(_, it)| self.test.instruction_text(it.span()).contains(&format!("[{name}]")));
        own.map(|(thread, it)| (thread, it.span())).collect()
    }

    /// An arrival that stands for something else: for what was copied, for what the tensor core does, for bytes.
    pub(super) fn arrivals(&self, thread: ThreadId, own: &Instruction, found: &mut Vec<Path>) {
        let arrives = own.opcode.node == "mbarrier" && has(own, "arrive")
            || own.opcode.node == "tcgen05" && has(own, "commit")
            || own.opcode.node == "cp" && has(own, "mbarrier");
        let text = self.test.instruction_text(own.span());
        let Some(name) = self.mbarriers().into_iter().find(|name| arrives && text.contains(&format!("[{name}]")))
        else {
            return;
        };
        let body = || self.test.litmus.threads[thread.index()].body.iter().filter_map(instruction);
        let mut others = vec![format!("mbarrier.arrive.shared::cta.b64 _, [{name}]")];
        others.extend(self.commit(thread, name));
        if body().any(|it| it.opcode.node == "cp" && has(it, "async") && !has(it, "bulk")) {
            others.push(format!("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [{name}]"));
            others.push(format!("cp.async.mbarrier.arrive.shared::cta.b64 [{name}]"));
        }
        let mut bytes: Vec<i128> = self.bytes();
        bytes.shared_sort();
        bytes.dedup();
        let announced = bytes.into_iter().filter(|bytes| *bytes > 0);
        others.extend(announced.map(|bytes| format!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [{name}], {bytes}")));
        for by in others.into_iter().filter(|other| *other != text) {
            found.extend(self.replaced(thread, own, by));
        }
    }

    /// What synchronises somewhere in the test, and may do so in this thread: it names no register of another one.
    fn known(&self, thread: ThreadId) -> Vec<(String, u32)> {
        let mut known: Vec<(String, u32)> = Vec::new();
        for (at, other) in self.test.litmus.threads.iter().enumerate() {
            for own in other.body.iter().filter_map(instruction).filter(|it| synchronises(it)) {
                let text = self.test.instruction_text(own.span()).trim_end_matches(';').to_owned();
                let is_plain = own.guard.is_none() && (at == thread.index() || !text.contains('%'));
                if is_plain && known.iter().all(|(known, _)| *known != text) {
                    known.push((text, difference::price(own, self.costs).max(1)));
                }
            }
        }
        known
    }
}

/// Whether an instruction commits, arrives or waits without a loop, and is not among the pieces that are tried everywhere.
fn synchronises(own: &Instruction) -> bool {
    let is_plain_arrival = has(own, "arrive") && !has(own, "expect_tx") && has_no_register(own);
    match own.opcode.node.as_str() {
        "mbarrier" => (has(own, "arrive") || has(own, "expect_tx") || has(own, "complete_tx")) && !is_plain_arrival,
        "cp" => has(own, "commit_group") || has(own, "mbarrier") && has(own, "arrive"),
        "wgmma" => has(own, "commit_group"),
        "tcgen05" => has(own, "commit"),
        "barrier" => has(own, "cluster"),
        "bar" | "griddepcontrol" => true,
        _ => false,
    }
}

fn has_no_register(own: &Instruction) -> bool {
    let address = own.operands.iter().find_map(|operand| match &operand.node {
        Operand::Address(address) => Some(&address.base.node),
        _ => None,
    });
    matches!(address, Some(Operand::Symbol(_)))
}
