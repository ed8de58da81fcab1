//! Words and numbers that are mistaken: a parity, a count, bytes, a mask, the mbarrier or the window that is named.

use fencepost_program::ThreadId;
use fencepost_program::program::LocationRole;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::sorted::SharedSort as _;

use super::{Maker, Path};
use crate::edit::Change;
use crate::scene::anchor::instruction;
use crate::scene::statement::has;

/// By how much a count is off.
const OFF: i128 = 3;
/// Words of which one is mistaken for the other.
const WORDS: [(&str, &str); 3] = [
    ("shared::cta", "shared::cluster"),
    ("cta_group::1", "cta_group::2"),
    ("mbarrier.arrive.noinc", "mbarrier.arrive"),
];

impl Maker<'_> {
    pub(super) fn corrections(&self, thread: ThreadId, own: &Instruction, found: &mut Vec<Path>) {
        self.parities(thread, own, found);
        self.numbers(thread, own, found);
        self.words(thread, own, found);
        self.names(thread, own, found);
        // A second initialisation of an mbarrier, or an end of its life.
        if own.opcode.node == "mbarrier" && (has(own, "init") || has(own, "inval")) {
            self.add(found, Change::Remove { thread, span: own.span() }, "word");
        }
    }

    fn become_text(&self, thread: ThreadId, own: &Instruction, text: &str, found: &mut Vec<Path>) {
        let change = Change::Replace { thread, span: own.span(), by: format!("{text};") };
        self.add(found, change, "word");
    }

    fn text(&self, own: &Instruction) -> String {
        self.test.instruction_text(own.span()).trim_end_matches(';').trim_end().to_owned()
    }

    /// The text with another last number.
    fn ending(&self, own: &Instruction, number: i128, by: i128) -> Option<String> {
        let text = self.text(own);
        text.strip_suffix(&number.to_string()).map(|head| format!("{head}{by}"))
    }

    /// The other parity of a wait, or what its register starts with.
    fn parities(&self, thread: ThreadId, own: &Instruction, found: &mut Vec<Path>) {
        let Some(operand) = own.operands.last() else { return };
        let Operand::Integer(parity @ (0 | 1)) = operand.node else { return };
        let waits = |it: &Instruction| it.opcode.node == "mbarrier" && has(it, "parity");
        let body = &self.test.litmus.threads[thread.index()].body;
        let starts = || match own.operands.first().map(|it| &it.node) {
            Some(Operand::Register(name)) if own.opcode.node == "mov" => {
                let uses = |it: &Instruction| {
                    waits(it)
                        && matches!(it.operands.last().map(|it| &it.node), Some(Operand::Register(own)) if own == name)
                };
                body.iter().filter_map(instruction).any(uses)
            }
            _ => false,
        };
        if waits(own) || starts() {
            self.ending(own, parity, 1 - parity).iter().for_each(|text| self.become_text(thread, own, text, found));
        }
    }

    /// Bytes that are announced, and the CTAs that are told.
    fn numbers(&self, thread: ThreadId, own: &Instruction, found: &mut Vec<Path>) {
        let Some(Operand::Integer(number)) = own.operands.last().map(|it| &it.node) else { return };
        let others: Vec<i128> = match own.opcode.node.as_str() {
            "mbarrier" if has(own, "expect_tx") || has(own, "complete_tx") => {
                let mut all: Vec<i128> = [number / 2, number * 2].into_iter().chain(self.bytes()).collect();
                all.shared_sort();
                all.dedup();
                all
            }
            "mbarrier" | "tcgen05" | "cp" if own.modifiers.iter().any(|it| it.node.starts_with("multicast")) => {
                vec![1, 2, 3]
            }
            _ => return,
        };
        for by in others.into_iter().filter(|by| by != number && *by > 0) {
            self.ending(own, *number, by).iter().for_each(|text| self.become_text(thread, own, text, found));
        }
    }

    /// What the copies of the test move: each size, and that of all of them in a thread.
    pub(super) fn bytes(&self) -> Vec<i128> {
        let mut all = Vec::new();
        for thread in &self.test.litmus.threads {
            let copies =
                thread.body.iter().filter_map(instruction).filter(|it| it.opcode.node == "cp" && has(it, "bulk"));
            let sizes = copies.flat_map(|it| it.operands.iter()).filter_map(|it| match it.node {
                Operand::Integer(size) => Some(size),
                _ => None,
            });
            let sizes: Vec<i128> = sizes.collect();
            all.push(sizes.iter().sum());
            all.extend(sizes);
        }
        all
    }

    fn words(&self, thread: ThreadId, own: &Instruction, found: &mut Vec<Path>) {
        if !matches!(own.opcode.node.as_str(), "mbarrier" | "cp" | "tcgen05" | "st" | "ld" | "red" | "atom") {
            return;
        }
        let text = self.text(own);
        let (head, rest) = text.split_once(' ').unwrap_or((&text, ""));
        for (one, other) in WORDS {
            let dotted = [(one, other), (other, one)].into_iter().find(|(from, _)| {
                let at = head.find(&format!(".{from}"));
                at.is_some_and(|at| {
                    head[at + 1 + from.len()..].starts_with(['.', ' ']) || head.len() == at + 1 + from.len()
                })
            });
            if let Some((from, to)) = dotted {
                self.become_text(thread, own, &format!("{} {rest}", head.replacen(from, to, 1)), found);
            }
        }
    }

    /// Another mbarrier than the one that is named.
    fn names(&self, thread: ThreadId, own: &Instruction, found: &mut Vec<Path>) {
        let speaks = own.opcode.node == "mbarrier" && !has(own, "init") && !has(own, "inval")
            || own.opcode.node == "tcgen05" && has(own, "commit")
            || own.opcode.node == "cp" && (has(own, "mbarrier") || has(own, "mbarrier::complete_tx::bytes"));
        let text = self.text(own);
        let all = self.mbarriers();
        for name in all.iter().filter(|name| speaks && text.contains(&format!("[{name}]"))) {
            for other in all.iter().filter(|other| *other != name) {
                self.become_text(thread, own, &text.replace(&format!("[{name}]"), &format!("[{other}]")), found);
            }
        }
    }

    /// The mbarriers that the text can name.
    pub(super) fn mbarriers(&self) -> Vec<&str> {
        let names = self.test.program.locations.iter().filter(|it| it.role == LocationRole::Mbarrier);
        let mut names: Vec<&str> = names.map(|it| it.name.split('@').next().unwrap_or(&it.name)).collect();
        names.retain(|name| !name.contains(['[', '+']));
        names.shared_sort();
        names.dedup();
        names
    }

    /// Another number of arrivals.
    pub(super) fn counts(&self, found: &mut Vec<Path>) {
        let off = (1..=OFF).flat_map(|by| [by, -by]);
        for (thread, init) in self.inits().iter().filter(|(_, it)| !(self.is_kept)(it.span())) {
            for by in off.clone() {
                let object = init.operands.first().map_or("", |it| self.test.source.slice(it.span));
                let name = object.trim_matches(['[', ']']).to_owned();
                let change = Change::Count { name, by, inits: vec![(*thread, init.span())] };
                self.add(found, change, "word");
            }
        }
        let names = self.test.program.locations.iter().filter(|it| it.role == LocationRole::Mbarrier);
        let mut names: Vec<&str> = names.map(|it| it.name.split(['@', '[', '+']).next().unwrap_or(&it.name)).collect();
        names.dedup();
        for name in names {
            for by in off.clone() {
                self.add(found, Change::Count { name: name.to_owned(), by, inits: Vec::new() }, "word");
            }
        }
    }

    pub(super) fn inits(&self) -> Vec<(ThreadId, &Instruction)> {
        let threads = self.test.litmus.threads.iter().enumerate();
        threads
            .flat_map(|(at, thread)| {
                let own = thread.body.iter().filter_map(instruction);
                own.filter(|it| it.opcode.node == "mbarrier" && has(it, "init"))
                    .map(move |it| (ThreadId(at as u32), it))
            })
            .collect()
    }
}
