//! The changes that a repair may be made of. A *place* is an instruction or a gap between two; its *options* are what may stand
//! there instead, and of those at most one is taken. Every option here makes the program do less and nothing else: a stronger
//! or wider word, a fence or a wait more. An option that is `below` another of its place allows all that the other does.

use fencepost_check::judge::refusal::refusal;
use fencepost_check::model::load::LoadedModel;
use fencepost_check::test::Test;
use fencepost_program::ThreadId;
use fencepost_program::lower::lower;
use fencepost_program::program::{LocationRole, Place as Home, Scope};
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::{Arch, Litmus, Statement};
use fencepost_syntax::sorted::SortedMap;
use fencepost_syntax::{Severity, Span};

use super::costs::Costs;
use crate::edit::{Change, Edit, Semantics, scope_word};
use crate::scene::anchor::{Anchor, Side, instruction, position};
use crate::scene::slots::{UnitKind, units};

/// All options, place by place, down the text.
pub(super) struct Space {
    pub(super) options: Vec<Choosable>,
    /// Per option.
    pub(super) places: Vec<usize>,
    pub(super) costs: Vec<u32>,
    /// Per place: the option that allows least.
    pub(super) strongest: Vec<usize>,
}

/// What may stand at a place.
#[derive(Clone, Debug)]
pub(super) struct Choosable {
    pub(super) edits: Vec<Edit>,
    level: Level,
}

/// How strong an option is among those of its place: what it does, and how far it reaches.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Level {
    kinds: u8,
    reach: u8,
}

impl Level {
    fn is_below(self, other: Level) -> bool {
        self.kinds & !other.kinds == 0 && self.reach <= other.reach
    }
}

impl Space {
    pub(super) fn new(test: &Test, model: &LoadedModel, costs: &Costs, is_kept: &dyn Fn(Span) -> bool) -> Space {
        let mut maker = Maker { test, model, costs, scopes: scopes(test), sound: SortedMap::new() };
        let mut space = Space { options: Vec::new(), places: Vec::new(), costs: Vec::new(), strongest: Vec::new() };
        for (at, thread) in test.litmus.threads.iter().enumerate() {
            let id = ThreadId(at as u32);
            let arch = thread.arch;
            if arch == Arch::C {
                continue;
            }
            for found in thread.body.iter().filter_map(instruction) {
                if arch == Arch::Ptx && !is_kept(found.span()) {
                    space.add(maker.words(id, found));
                }
            }
            for anchor in gaps(&thread.body, id).into_iter().filter(|gap| !is_kept(gap.span)) {
                let pieces = if arch == Arch::Ptx { maker.pieces(&thread.body) } else { x86_pieces() };
                for piece in pieces {
                    space.add(maker.put(anchor, piece));
                }
            }
        }
        space
    }

    fn add(&mut self, options: Vec<(Choosable, u32)>) {
        let place = self.strongest.len();
        let first = self.options.len();
        for (option, cost) in options {
            self.options.push(option);
            self.places.push(place);
            self.costs.push(cost);
        }
        let own = first..self.options.len();
        let is_top = |at: &usize| own.clone().all(|other| self.options[other].level.is_below(self.options[*at].level));
        match own.clone().find(is_top) {
            Some(top) => self.strongest.push(top),
            // No option is the strongest: each is a place of its own, so that all can be taken.
            None => {
                for at in own {
                    self.places[at] = self.strongest.len();
                    self.strongest.push(at);
                }
            }
        }
    }

    pub(super) fn of_place(&self, place: usize) -> impl Iterator<Item = usize> {
        (0..self.options.len()).filter(move |at| self.places[*at] == place)
    }

    /// Whether what one allows includes what the other does.
    pub(super) fn is_below(&self, one: usize, other: usize) -> bool {
        self.places[one] == self.places[other] && self.options[one].level.is_below(self.options[other].level)
    }

    pub(super) fn edits<'s>(&'s self, chosen: &[usize]) -> Vec<&'s Edit> {
        chosen.iter().flat_map(|at| &self.options[*at].edits).collect()
    }
}

/// The scopes that differ: what is wider than all threads orders nothing more, and a cluster of one CTA is that CTA.
pub(crate) fn scopes(test: &Test) -> Vec<Scope> {
    let widest = widest(test);
    let homes = || test.program.threads.iter().map(|thread| thread.place);
    let has_clusters = homes().any(|one| {
        homes().any(|other| match (one, other) {
            (Home::Gpu { gpu, cluster, cta }, Home::Gpu { gpu: gpu2, cluster: cluster2, cta: cta2 }) => {
                (gpu, cluster) == (gpu2, cluster2) && cta != cta2
            }
            _ => false,
        })
    });
    SCOPES.into_iter().filter(|scope| *scope <= widest && (has_clusters || *scope != Scope::Cluster)).collect()
}

/// The scope that includes every thread.
fn widest(test: &Test) -> Scope {
    let homes: Vec<Home> = test.program.threads.iter().map(|thread| thread.place).collect();
    let alike = |same: &dyn Fn(&Home, &Home) -> bool| homes.windows(2).all(|pair| same(&pair[0], &pair[1]));
    if homes.contains(&Home::Host) {
        return Scope::Sys;
    }
    let parts = |home: &Home| match *home {
        Home::Gpu { gpu, cluster, cta } => (gpu, cluster, cta),
        Home::Host => (0, 0, 0),
    };
    if alike(&|one, other| parts(one) == parts(other)) {
        Scope::Cta
    } else if alike(&|one, other| (parts(one).0, parts(one).1) == (parts(other).0, parts(other).1)) {
        Scope::Cluster
    } else if alike(&|one, other| parts(one).0 == parts(other).0) {
        Scope::Gpu
    } else {
        Scope::Sys
    }
}

pub(crate) const SCOPES: [Scope; 4] = [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys];

/// A text that may be put into a gap: its row of costs, and how strong it is among others of its kind.
struct Piece {
    /// Those of one kind are options of one place.
    kind: &'static str,
    text: String,
    cost: (&'static str, &'static str),
    level: Level,
}

const ONE: Level = Level { kinds: 1, reach: 1 };

fn x86_pieces() -> Vec<Vec<Piece>> {
    vec![vec![Piece { kind: "mfence", text: "mfence".to_owned(), cost: ("mfence", "-"), level: ONE }]]
}

struct Maker<'m> {
    test: &'m Test,
    model: &'m LoadedModel,
    costs: &'m Costs,
    scopes: Vec<Scope>,
    /// Which spellings and pieces have a meaning.
    sound: SortedMap<String, bool>,
}

impl Maker<'_> {
    /// Each with how far it reaches.
    fn scopes(&self) -> Vec<(u8, Scope)> {
        (1..).zip(SCOPES).filter(|(_, scope)| self.scopes.contains(scope)).collect()
    }

    /// The same instruction with stronger words.
    fn words(&mut self, thread: ThreadId, found: &Instruction) -> Vec<(Choosable, u32)> {
        let Some(now) = Strength::of(found) else { return Vec::new() };
        if position(&self.test.litmus, thread, found.span()).is_none() {
            return Vec::new();
        }
        let span = found.span();
        let before = self.costs.of(now.row(), now.scope.map_or("-", scope_word));
        let mut options = Vec::new();
        for kinds in now.reachable() {
            for (reach, scope) in self.scopes() {
                if now.scope.is_some_and(|own| own > scope) {
                    continue;
                }
                let level = Level { kinds, reach };
                if kinds == now.kinds && now.scope.is_some_and(|own| own >= scope) {
                    continue;
                }
                let changes = now.changes(thread, span, kinds, scope);
                let row = Strength { kinds, ..now }.row();
                let cost = self.costs.of(row, scope_word(scope)).saturating_sub(before).max(1);
                let edits: Vec<Edit> = changes.into_iter().map(plain).collect();
                let name = format!("{} {kinds} {reach}", spelled(found));
                if self.is_sound(name, &edits) {
                    options.push((Choosable { edits, level }, cost));
                }
            }
        }
        options
    }

    /// What may be put into a gap of this thread.
    fn pieces(&self, body: &[Statement]) -> Vec<Vec<Piece>> {
        let has = |opcode: &str, word: &str| {
            let one = |it: &Instruction| it.opcode.node == opcode && it.modifiers.iter().any(|own| own.node == word);
            body.iter().filter_map(instruction).any(one)
        };
        let fence = |(reach, scope): (u8, Scope), (word, row, kinds): (&str, &'static str, u8)| Piece {
            kind: "fence",
            text: format!("fence.{word}.{}", scope_word(scope)),
            cost: (row, scope_word(scope)),
            level: Level { kinds, reach },
        };
        let words = [("acq_rel", "fence.acq_rel", 1), ("sc", "fence.sc", 3)];
        let fences = self.scopes().into_iter().flat_map(|scope| words.map(|word| fence(scope, word))).collect();
        let one = |text: &str, cost: &'static str| {
            vec![Piece { kind: "one", text: text.to_owned(), cost: (cost, "-"), level: ONE }]
        };
        let litmus = &self.test.litmus;
        let anywhere = |test: &dyn Fn(&Instruction) -> bool| {
            litmus.threads.iter().flat_map(|thread| &thread.body).filter_map(instruction).any(test)
        };
        let modifier = |it: &Instruction, word: &str| it.modifiers.iter().any(|own| own.node == word);
        let is_async = anywhere(&|it| {
            matches!(it.opcode.node.as_str(), "wgmma" | "tcgen05") || it.opcode.node == "cp" && modifier(it, "bulk")
        });
        let addresses = &self.test.program.addresses;
        let is_aliased = addresses
            .iter()
            .any(|one| addresses.iter().any(|other| one.location == other.location && one.generic != other.generic));
        let mut pieces = Vec::new();
        if is_async {
            pieces.push(one("fence.proxy.async", "fence.proxy.async"));
        }
        pieces.push(fences);
        if is_async {
            pieces.push(one("fence.proxy.async", "fence.proxy.async"));
        }
        if is_aliased {
            pieces.push(one("fence.proxy.alias", "fence.proxy.alias"));
        }
        let maps = self.test.program.locations.iter().filter(|it| it.role == LocationRole::TensorMap);
        let maps: Vec<&str> = maps.map(|it| it.name.as_str()).collect();
        if let (false, Some((_, widest))) = (maps.is_empty(), self.scopes().last()) {
            let scope = scope_word(*widest);
            pieces.push(one(&format!("fence.proxy.tensormap::generic.release.{scope}"), "fence.proxy.tensormap"));
            for map in maps {
                let text = format!("fence.proxy.tensormap::generic.acquire.{scope} [{map}], 128");
                pieces.push(one(&text, "fence.proxy.tensormap"));
            }
        }
        if has("cp", "async") && has("cp", "commit_group") && !has("cp", "bulk") {
            pieces.push(one("cp.async.wait_group 0", "cp.async.wait_group"));
        }
        if has("cp", "async") && !has("cp", "bulk") {
            pieces.push(one("cp.async.wait_all", "cp.async.wait_all"));
        }
        if has("cp", "bulk") && has("cp", "commit_group") {
            let wait = |text: &str, cost, kinds| Piece {
                kind: "wait",
                text: text.to_owned(),
                cost: (cost, "-"),
                level: Level { kinds, reach: 1 },
            };
            pieces.push(vec![
                wait("cp.async.bulk.wait_group.read 0", "cp.async.bulk.wait_group.read", 1),
                wait("cp.async.bulk.wait_group 0", "cp.async.bulk.wait_group", 3),
            ]);
        }
        if has("wgmma", "mma_async") {
            pieces.push(one("wgmma.fence.sync.aligned", "wgmma.fence"));
            pieces.push(one("wgmma.wait_group.sync.aligned 0", "wgmma.wait_group"));
        }
        for kind in ["ld", "st"] {
            if has("tcgen05", kind) {
                pieces.push(one(&format!("tcgen05.wait::{kind}.sync.aligned"), "tcgen05.wait"));
            }
        }
        if anywhere(&|it| it.opcode.node == "tcgen05") {
            pieces.push(one("tcgen05.fence::before_thread_sync", "tcgen05.fence"));
            pieces.push(one("tcgen05.fence::after_thread_sync", "tcgen05.fence"));
        }
        pieces
    }

    fn put(&mut self, anchor: Anchor, pieces: Vec<Piece>) -> Vec<(Choosable, u32)> {
        let mut options = Vec::new();
        for Piece { kind, text, cost: (row, scope), level } in pieces {
            let change = Change::Insert { at: vec![(anchor, format!("{text};"))] };
            let edits = vec![plain(change)];
            if self.is_sound(format!("{kind} {text} {:?}", anchor.thread), &edits) {
                options.push((Choosable { edits, level }, self.costs.of(row, scope).max(1)));
            }
        }
        options
    }

    /// Whether a changed test has a meaning: the tables know all its forms.
    fn is_sound(&mut self, name: String, edits: &[Edit]) -> bool {
        let (test, model) = (self.test, self.model);
        *self.sound.entry(name).or_insert_with(|| {
            let changed = changed_program(&test.litmus, &edits.iter().collect::<Vec<_>>());
            changed.is_some_and(|(_, program)| refusal(&test.with_program(program), model).is_none())
        })
    }
}

/// The program of a changed test; None where it has no meaning.
pub(crate) fn changed_program(
    litmus: &Litmus,
    edits: &[&Edit],
) -> Option<(Litmus, fencepost_program::program::Program)> {
    let changed = Edit::apply_all(edits, litmus)?;
    let (program, diagnostics) = lower(&changed);
    let is_sound = diagnostics.iter().all(|found| found.severity != Severity::Error);
    let program = program.filter(|program| is_sound && program.unsupported.is_empty())?;
    Some((changed, program))
}

pub(crate) fn plain(change: Change) -> Edit {
    Edit { change, reason: None, section: "", cost: 0 }
}

fn spelled(found: &Instruction) -> String {
    let words: Vec<&str> = found.modifiers.iter().map(|word| word.node.as_str()).collect();
    format!("{}.{}", found.opcode.node, words.join("."))
}

/// The gaps of a thread in which something may be put: behind what touches memory or orders it, and before the first of that
/// in a stretch without labels and branches. What stands behind arithmetic could stand before it as well, but for the
/// registers of `wgmma`.
pub(super) fn gaps(body: &[Statement], thread: ThreadId) -> Vec<Anchor> {
    let mut gaps = Vec::new();
    let mut is_behind = false;
    for unit in units(body) {
        let inside = || body[unit.first..=unit.last].iter().filter_map(instruction);
        let is_worth = inside().any(|it| !computes(it)) && unit.kind != UnitKind::Wall;
        let is_wgmma = inside().any(|it| it.opcode.node == "wgmma");
        if let (true, Some(first)) = (is_worth && (!is_behind || is_wgmma), inside().next()) {
            let before = Anchor { thread, span: first.span(), side: Side::Before };
            // Behind the last instruction is the same place.
            if unit.first == 0 || !gaps.iter().any(|it| is_right_before(body, it, unit.first)) {
                gaps.push(before);
            }
        }
        let has_more =
            body[unit.last + 1..].iter().filter_map(instruction).any(|it| !computes(it) || it.opcode.node == "bra");
        if let (true, Some(last)) = (is_worth && has_more, inside().next_back()) {
            gaps.push(Anchor { thread, span: last.span(), side: Side::After });
        }
        is_behind = is_worth || is_behind && unit.kind != UnitKind::Wall;
    }
    gaps
}

/// Whether an anchor stands behind the statement before this one.
fn is_right_before(body: &[Statement], anchor: &Anchor, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| instruction(body.get(before)?));
    anchor.side == Side::After && before.is_some_and(|before| before.span() == anchor.span)
}

/// Whether an instruction neither touches memory nor orders anything.
pub(crate) fn computes(found: &Instruction) -> bool {
    // An instruction of x86 touches memory where an operand is an address.
    if found.operands.iter().any(|operand| matches!(operand.node, Operand::Address(_))) {
        return false;
    }
    matches!(
        found.opcode.node.as_str(),
        "mov"
            | "add"
            | "sub"
            | "mul"
            | "mad"
            | "div"
            | "rem"
            | "and"
            | "or"
            | "xor"
            | "not"
            | "shl"
            | "shr"
            | "min"
            | "max"
            | "neg"
            | "setp"
            | "selp"
            | "bra"
            | "cvt"
            | "cvta"
            | "ret"
            | "exit"
    )
}

/// The words of an instruction that say what it orders.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Strength {
    pub(crate) what: What,
    /// A bit each: strong, acquire, release; of a fence: acq_rel, sc.
    pub(crate) kinds: u8,
    pub(crate) scope: Option<Scope>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum What {
    Load,
    Store,
    Atomic,
    Fence,
    Arrive,
    Wait,
}

pub(crate) const STRONG: u8 = 1;
pub(crate) const ACQUIRES: u8 = 2;
pub(crate) const RELEASES: u8 = 4;
/// Of a fence.
pub(crate) const SC: u8 = 2;

impl Strength {
    pub(crate) fn of(found: &Instruction) -> Option<Strength> {
        let has = |word: &str| found.modifiers.iter().any(|own| own.node == word);
        let what = match found.opcode.node.as_str() {
            "ld" if has("nc") || has("async") => return None,
            "ld" => What::Load,
            "st" if has("async") || has("bulk") => return None,
            "st" => What::Store,
            "atom" => What::Atomic,
            "red" if has("async") => return None,
            "red" => What::Atomic,
            "fence" if has("acq_rel") || has("sc") => What::Fence,
            "mbarrier" if has("arrive") || has("arrive_drop") => What::Arrive,
            "mbarrier" if has("try_wait") || has("test_wait") => What::Wait,
            _ => return None,
        };
        // Both are strong at the widest scope, and stay what they are.
        if has("volatile") || has("mmio") {
            return None;
        }
        let scope = SCOPES.into_iter().find(|scope| has(scope_word(*scope)));
        let acquires = if has("acquire") || has("acq_rel") { ACQUIRES } else { 0 };
        let releases = if has("release") || has("acq_rel") { RELEASES } else { 0 };
        let kinds = match what {
            What::Fence => STRONG | if has("sc") { SC } else { 0 },
            What::Arrive => STRONG | if has("relaxed") { 0 } else { RELEASES },
            What::Wait => STRONG | if has("relaxed") { 0 } else { ACQUIRES },
            What::Atomic => STRONG | acquires | releases,
            What::Load | What::Store if has("relaxed") || acquires | releases != 0 => STRONG | acquires | releases,
            What::Load | What::Store => 0,
        };
        let default = match what {
            What::Arrive | What::Wait => Some(Scope::Cta),
            What::Atomic => Some(Scope::Gpu),
            _ => None,
        };
        Some(Strength { what, kinds, scope: scope.or(default) })
    }

    /// What it may be as well.
    fn reachable(self) -> Vec<u8> {
        let all: &[u8] = match self.what {
            What::Load => &[STRONG, STRONG | ACQUIRES],
            What::Store => &[STRONG, STRONG | RELEASES],
            What::Atomic => &[STRONG, STRONG | ACQUIRES, STRONG | RELEASES, STRONG | ACQUIRES | RELEASES],
            What::Fence => &[STRONG, STRONG | SC],
            What::Arrive => &[STRONG | RELEASES],
            What::Wait => &[STRONG | ACQUIRES],
        };
        all.iter().copied().filter(|kinds| self.kinds & !kinds == 0).collect()
    }

    pub(crate) fn row(self) -> &'static str {
        match (self.what, self.kinds) {
            (What::Fence, kinds) if kinds & SC != 0 => "fence.sc",
            (What::Fence, _) => "fence.acq_rel",
            (_, 0) => "weak",
            (_, STRONG) => "relaxed",
            (_, kinds) if kinds & ACQUIRES == 0 => "release",
            (_, kinds) if kinds & RELEASES == 0 => "acquire",
            _ => "acq_rel",
        }
    }

    fn changes(self, thread: ThreadId, span: Span, kinds: u8, scope: Scope) -> Vec<Change> {
        let strengthen = |semantics| Change::Strengthen { thread, span, semantics, scope: Some(scope) };
        if self.what == What::Fence {
            if kinds == self.kinds {
                return vec![strengthen(None)];
            }
            return vec![Change::Replace { thread, span, by: format!("fence.sc.{};", scope_word(scope)) }];
        }
        let mut changes = Vec::new();
        if kinds & RELEASES != 0 {
            changes.push(strengthen(Some(Semantics::Release)));
        }
        if kinds & ACQUIRES != 0 {
            changes.push(strengthen(Some(Semantics::Acquire)));
        }
        if changes.is_empty() {
            changes.push(strengthen(Some(Semantics::Relaxed)));
        }
        changes
    }
}
