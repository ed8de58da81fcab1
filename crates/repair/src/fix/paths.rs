//! Changes after which a program may go other ways: a barrier or a wait more, another parity or count, an instruction that
//! stands elsewhere or not at all. Nothing follows from one for another, so each is tried by itself, with whatever the
//! `space` adds to it.

use fencepost_check::test::Test;
use fencepost_program::ThreadId;
use fencepost_program::program::{LocationRole, Place as Home};
use fencepost_syntax::Span;
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::{Arch, Statement};

use super::costs::Costs;
use super::space::{gaps, plain};
use crate::edit::{Change, Edit, Moved, Polled};
use crate::scene::anchor::{Anchor, instruction, position};
use crate::scene::slots::course;

/// A change, and what it costs.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) edits: Vec<Edit>,
    pub(super) cost: u32,
}

/// How far an instruction is moved.
const FAR: usize = 4;
/// By how much a count is off.
const OFF: i128 = 3;
/// Barriers that are tried, those at like places of their threads first.
const MOST_BARRIERS: usize = 256;

/// All of them, the cheapest first.
pub(super) fn paths(test: &Test, costs: &Costs, is_kept: &dyn Fn(Span) -> bool) -> Vec<Path> {
    let maker = Maker { test, costs, is_kept };
    let mut found = Vec::new();
    for (at, thread) in test.litmus.threads.iter().enumerate().filter(|(_, thread)| thread.arch == Arch::Ptx) {
        let thread_id = ThreadId(at as u32);
        let anchors: Vec<Anchor> = gaps(&thread.body, thread_id).into_iter().filter(|it| !is_kept(it.span)).collect();
        for (place, own) in thread.body.iter().enumerate().filter_map(|(at, it)| Some((at, instruction(it)?))) {
            if is_kept(own.span()) || position(&test.litmus, thread_id, own.span()).is_none() {
                continue;
            }
            maker.parities(thread_id, own, &mut found);
            maker.moves(thread_id, place, own, &mut found);
            maker.removals(thread_id, own, &mut found);
        }
        for anchor in &anchors {
            maker.mbarrier_pieces(*anchor, &mut found);
        }
    }
    maker.counts(&mut found);
    maker.barriers(&mut found);
    found.sort_by_key(|path| path.cost);
    found
}

/// A gap outside of loops: how many barriers stand before it, which gap of its thread it is, and where.
type Outside = (usize, usize, Anchor);

struct Maker<'m> {
    test: &'m Test,
    costs: &'m Costs,
    is_kept: &'m dyn Fn(Span) -> bool,
}

fn has(found: &Instruction, word: &str) -> bool {
    found.modifiers.iter().any(|own| own.node == word)
}

impl Maker<'_> {
    fn add(&self, found: &mut Vec<Path>, change: Change, row: &str) {
        found.push(Path { edits: vec![plain(change)], cost: self.costs.of(row, "-").max(1) });
    }

    /// The other parity of a wait.
    fn parities(&self, thread: ThreadId, own: &Instruction, found: &mut Vec<Path>) {
        let Some(operand) = own.operands.last() else { return };
        let Operand::Integer(parity @ (0 | 1)) = operand.node else { return };
        if own.opcode.node != "mbarrier" || !has(own, "parity") {
            return;
        }
        let text = self.test.instruction_text(own.span());
        let text = text.trim_end_matches(';').trim_end();
        let Some(head) = text.strip_suffix(&parity.to_string()) else { return };
        let change = Change::Replace { thread, span: own.span(), by: format!("{head}{};", 1 - parity) };
        self.add(found, change, "word");
    }

    /// An instruction of memory or synchronisation a little further up or down, over nothing whose registers it uses.
    fn moves(&self, thread: ThreadId, place: usize, own: &Instruction, found: &mut Vec<Path>) {
        let opcode = own.opcode.node.as_str();
        let is_access = matches!(opcode, "ld" | "st" | "atom" | "red");
        let orders =
            matches!(opcode, "fence" | "mbarrier" | "bar" | "barrier" | "cp" | "wgmma" | "tcgen05" | "griddepcontrol");
        if !is_access && !orders || own.guard.is_some() {
            return;
        }
        let body = &self.test.litmus.threads[thread.index()].body;
        for stop in course(&self.test.litmus, thread, place, FAR).unwrap_or_default() {
            let passed = || stop.passed.iter().filter_map(|at| instruction(body.get(*at)?));
            if passed().any(|other| share_a_register(own, other)) || !passed().any(touches) {
                continue;
            }
            let what = if is_access { Moved::Access } else { Moved::Synchronisation };
            self.add(found, Change::Move { span: own.span(), to: stop.anchor, what }, "move");
        }
    }

    /// A second initialisation of an mbarrier.
    fn removals(&self, thread: ThreadId, own: &Instruction, found: &mut Vec<Path>) {
        if own.opcode.node == "mbarrier" && (has(own, "init") || has(own, "inval")) {
            self.add(found, Change::Remove { thread, span: own.span() }, "word");
        }
    }

    /// A wait for a phase of an mbarrier, an arrival, the end of its life.
    fn mbarrier_pieces(&self, anchor: Anchor, found: &mut Vec<Path>) {
        let names = self.test.program.locations.iter().filter(|it| it.role == LocationRole::Mbarrier);
        let mut names: Vec<&str> = names.map(|it| it.name.split('@').next().unwrap_or(&it.name)).collect();
        names.dedup();
        for name in names.into_iter().filter(|name| !name.contains(['[', '+'])) {
            for parity in [0, 1] {
                let wait = format!("mbarrier.try_wait.parity.shared::cta.b64 %waited, [{name}], {parity}");
                let label = "WAITED".to_owned();
                let change = Change::Poll { at: anchor, wait, label, polled: Polled::Once };
                self.add(found, change, "mbarrier.wait");
            }
            let put = |text: String| Change::Insert { at: vec![(anchor, format!("{text};"))] };
            self.add(found, put(format!("mbarrier.arrive.shared::cta.b64 _, [{name}]")), "mbarrier.arrive");
            self.add(found, put(format!("mbarrier.inval.shared::cta.b64 [{name}]")), "mbarrier.inval");
        }
    }

    /// Another number of arrivals.
    fn counts(&self, found: &mut Vec<Path>) {
        let threads = self.test.litmus.threads.iter().enumerate();
        let inits: Vec<(ThreadId, &Instruction)> = threads
            .flat_map(|(at, thread)| {
                let own = thread.body.iter().filter_map(instruction);
                own.filter(|it| it.opcode.node == "mbarrier" && has(it, "init"))
                    .map(move |it| (ThreadId(at as u32), it))
            })
            .collect();
        let off = (1..=OFF).flat_map(|by| [by, -by]);
        for (thread, init) in inits.iter().filter(|(_, it)| !(self.is_kept)(it.span())) {
            for by in off.clone() {
                let change = Change::Count { name: String::new(), by, inits: vec![(*thread, init.span())] };
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

    /// A barrier of all threads of a CTA, or of a cluster.
    fn barriers(&self, found: &mut Vec<Path>) {
        let threads: Vec<(ThreadId, Home)> =
            (0..).zip(&self.test.program.threads).map(|(at, it)| (ThreadId(at), it.place)).collect();
        let of = |same: &dyn Fn(Home) -> Option<(u32, u32, u32)>| {
            let mut groups: Vec<((u32, u32, u32), Vec<ThreadId>)> = Vec::new();
            for (thread, home) in threads.iter().filter_map(|(thread, home)| Some((*thread, same(*home)?))) {
                match groups.iter_mut().find(|(own, _)| *own == home) {
                    Some((_, members)) => members.push(thread),
                    None => groups.push((home, vec![thread])),
                }
            }
            groups.into_iter().map(|(_, members)| members).filter(|members| members.len() > 1).collect::<Vec<_>>()
        };
        let ctas = of(&|home| match home {
            Home::Gpu { gpu, cluster, cta } => Some((gpu, cluster, cta)),
            Home::Host => None,
        });
        for members in &ctas {
            self.meeting(members, &format!("bar.sync {};", self.free_barrier()), "bar.sync", found);
        }
        let clusters = of(&|home| match home {
            Home::Gpu { gpu, cluster, .. } => Some((gpu, cluster, 0)),
            Home::Host => None,
        });
        for members in clusters.iter().filter(|members| !ctas.contains(members)) {
            let text = "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;";
            self.meeting(members, text, "barrier.cluster", found);
        }
    }

    /// A barrier that no thread uses: another one would meet with those that are there.
    fn free_barrier(&self) -> i128 {
        let bodies = self.test.litmus.threads.iter().flat_map(|thread| &thread.body);
        let used: Vec<i128> = bodies
            .filter_map(instruction)
            .filter(|it| matches!(it.opcode.node.as_str(), "bar" | "barrier"))
            .filter_map(|it| match it.operands.first().map(|operand| &operand.node) {
                Some(Operand::Integer(number)) => Some(*number),
                _ => None,
            })
            .collect();
        (0..16).find(|number| !used.contains(number)).unwrap_or(15)
    }

    /// The same text once in each of these threads, outside of loops, with as many barriers before it in each.
    fn meeting(&self, members: &[ThreadId], text: &str, row: &str, found: &mut Vec<Path>) {
        let places: Vec<Vec<Outside>> = members.iter().map(|thread| self.outside(*thread)).collect();
        let mut tuples: Vec<(usize, Vec<Outside>)> = vec![(0, Vec::new())];
        for own in &places {
            let grown = tuples.iter().flat_map(|(spread, tuple)| {
                own.iter().filter_map(move |place| {
                    let first = tuple.first().unwrap_or(place);
                    (first.0 == place.0).then(|| {
                        let mut grown = tuple.clone();
                        grown.push(*place);
                        (spread + first.1.abs_diff(place.1), grown)
                    })
                })
            });
            tuples = grown.collect();
            tuples.sort_by_key(|(spread, _)| *spread);
            tuples.truncate(MOST_BARRIERS);
        }
        let cost = self.costs.of(row, "-").max(1) * members.len() as u32;
        for (_, tuple) in tuples {
            let at = tuple.into_iter().map(|(_, _, anchor)| (anchor, text.to_owned())).collect();
            found.push(Path { edits: vec![plain(Change::Insert { at })], cost });
        }
    }

    /// The gaps of a thread outside of loops and branches.
    fn outside(&self, thread: ThreadId) -> Vec<Outside> {
        let body = &self.test.litmus.threads[thread.index()].body;
        let is_wall = |at: &usize| match &body[*at] {
            Statement::Instruction { instruction, .. } => {
                instruction.opcode.node == "bra" && instruction.guard.is_none()
            }
            Statement::Label(_) | Statement::C(_) => false,
        };
        if (0..body.len()).any(|at| is_wall(&at)) {
            return Vec::new();
        }
        let mut places = Vec::new();
        for (number, anchor) in gaps(body, thread).into_iter().enumerate() {
            let Some(at) = position(&self.test.litmus, thread, anchor.span) else { continue };
            let before = body[..=at].iter().filter_map(instruction);
            let barriers = before.filter(|it| matches!(it.opcode.node.as_str(), "bar" | "barrier")).count();
            if !(self.is_kept)(anchor.span) && !in_loop(body, at) {
                places.push((barriers, number, anchor));
            }
        }
        places
    }
}

/// Whether a branch behind a statement leads to a label before it.
fn in_loop(body: &[Statement], at: usize) -> bool {
    let goes_back = |statement: &Statement| {
        let Some(branch) = instruction(statement).filter(|it| it.opcode.node == "bra") else { return false };
        let to = branch.operands.iter().find_map(|operand| match &operand.node {
            Operand::Symbol(to) => Some(to.as_str()),
            _ => None,
        });
        body[..=at].iter().any(|it| matches!(it, Statement::Label(label) if Some(label.node.as_str()) == to))
    };
    body[at + 1..].iter().any(goes_back)
}

/// Whether an instruction does more than compute.
fn touches(found: &Instruction) -> bool {
    matches!(
        found.opcode.node.as_str(),
        "ld" | "st"
            | "atom"
            | "red"
            | "fence"
            | "mbarrier"
            | "bar"
            | "barrier"
            | "cp"
            | "wgmma"
            | "tcgen05"
            | "griddepcontrol"
    )
}

fn share_a_register(one: &Instruction, other: &Instruction) -> bool {
    let registers = |found: &Instruction| -> Vec<String> {
        let mut all = Vec::new();
        found.operands.iter().for_each(|operand| named(&operand.node, &mut all));
        all.extend(found.guard.iter().map(|guard| guard.register.node.clone()));
        all
    };
    let own = registers(one);
    registers(other).iter().any(|register| own.contains(register))
}

/// The registers of an operand. Those of an address count too: it may be computed between.
pub(crate) fn named(operand: &Operand, all: &mut Vec<String>) {
    match operand {
        Operand::Register(name) => all.push(name.clone()),
        Operand::Address(address) => {
            named(&address.base.node, all);
            address.rest.iter().for_each(|part| named(&part.node, all));
        }
        Operand::Offset(inner, _) | Operand::Negated(inner) => named(&inner.node, all),
        Operand::Pair(one, other) => [one, other].iter().for_each(|part| named(&part.node, all)),
        Operand::Vector(parts) | Operand::List(parts) => parts.iter().for_each(|part| named(&part.node, all)),
        Operand::Symbol(_) | Operand::Integer(_) | Operand::Float(_) | Operand::Sink | Operand::Text(_) => {}
    }
}
