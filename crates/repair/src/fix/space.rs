//! The changes that a repair may be made of. A *place* is an instruction or a gap between two; its *options* are what may stand
//! there instead, and of those at most one is taken. Every option here makes the program do less and nothing else: a stronger
//! or wider word, a fence or a wait more. An option that is `below` another of its place allows all that the other does.

use std::cell::Cell;

use fencepost_check::judge::refusal::refusal_of;
use fencepost_check::model::load::LoadedModel;
use fencepost_check::test::Test;
use fencepost_program::ThreadId;
use fencepost_program::lower::lower;
use fencepost_program::program::{LocationRole, Place as Home, Scope};
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::{Arch, Litmus, Statement, Thread};
use fencepost_syntax::sorted::SortedMap;
use fencepost_syntax::{Severity, Span};

use super::costs::Costs;
use super::difference;
use super::strength::{SCOPES, Strength, What};
use crate::edit::{Change, Edit, scope_word};
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
    /// Per place: whether it is an access to what threads hand over. Of repairs that cost as much, an author puts the words on
    /// what threads ask for.
    is_of_data: Vec<bool>,
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
        let mut maker = Maker::new(test, model, costs);
        let threads = maker.threads(is_kept);
        maker.settle_fences(&threads);
        Space::of(&mut maker, &threads, is_kept)
    }

    fn of(maker: &mut Maker<'_>, threads: &[Fillable], is_kept: &dyn Fn(Span) -> bool) -> Space {
        let mut space = Space {
            options: Vec::new(),
            places: Vec::new(),
            costs: Vec::new(),
            strongest: Vec::new(),
            is_of_data: Vec::new(),
        };
        let test = maker.test;
        for Fillable { thread: id, gaps, pieces } in threads {
            let thread = &test.litmus.threads[id.index()];
            for found in thread.body.iter().filter_map(instruction) {
                if thread.arch == Arch::Ptx && !is_kept(found.span()) {
                    space.add(maker.words(*id, found));
                    space.add(maker.wider(*id, found));
                    space.add(maker.returning(*id, found));
                }
            }
            for anchor in gaps {
                for piece in pieces {
                    space.add(maker.put(*anchor, piece));
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

    /// With words on flags before words on data, where they cost as much.
    pub(super) fn preferring_flags(mut self, test: &Test) -> Space {
        let flags = flags(test);
        let is_of_data = |place: usize| {
            let first = self.of_place(place).next().and_then(|at| self.options[at].edits.first());
            match first.map(|edit| &edit.change) {
                Some(Change::Strengthen { thread, span, .. }) => {
                    let body = &test.litmus.threads[thread.index()].body;
                    let own = body.iter().filter_map(instruction).find(|it| it.span() == *span);
                    own.and_then(|own| location(test, own)).is_some_and(|own| !flags.contains(&own))
                }
                _ => false,
            }
        };
        self.is_of_data = (0..self.strongest.len()).map(is_of_data).collect();
        self
    }

    /// What is taken first, where it does as well.
    pub(super) fn rank(&self, option: usize) -> (u32, bool, usize) {
        let place = self.places[option];
        (self.least(place), self.is_of_data.get(place) == Some(&true), option)
    }

    pub(super) fn of_place(&self, place: usize) -> impl Iterator<Item = usize> {
        (0..self.options.len()).filter(move |at| self.places[*at] == place)
    }

    /// The option itself, or the strongest of its place that is no `fence.sc`.
    pub(super) fn mild(&self, option: usize) -> Option<usize> {
        let is_sc = |at: usize| {
            self.options[at].edits.iter().any(|edit| match &edit.change {
                Change::Insert { at } => at.iter().any(|(_, text)| text.starts_with("fence.sc")),
                Change::Replace { by, .. } => by.starts_with("fence.sc"),
                _ => false,
            })
        };
        if !is_sc(option) {
            return Some(option);
        }
        let milder = self.of_place(self.places[option]).filter(|at| self.is_below(*at, option) && !is_sc(*at));
        milder.max_by_key(|at| self.costs[*at])
    }

    /// What the cheapest option of a place costs.
    pub(super) fn least(&self, place: usize) -> u32 {
        self.of_place(place).map(|at| self.costs[at]).min().unwrap_or(0)
    }

    /// Whether what one allows includes what the other does.
    pub(super) fn is_below(&self, one: usize, other: usize) -> bool {
        self.places[one] == self.places[other] && self.options[one].level.is_below(self.options[other].level)
    }

    /// The texts that may be put into a thread.
    pub(super) fn texts(&self, thread: ThreadId) -> Vec<&str> {
        let mut texts: Vec<&str> = Vec::new();
        for edit in self.options.iter().flat_map(|option| &option.edits) {
            if let Change::Insert { at } = &edit.change
                && let [(anchor, text)] = at.as_slice()
                && anchor.thread == thread
                && !texts.contains(&text.as_str())
            {
                texts.push(text);
            }
        }
        texts
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

/// A text that may be put into a gap: its row of costs, and how strong it is among others of its kind.
struct Piece {
    /// Those of one kind are options of one place.
    kind: &'static str,
    text: String,
    cost: (&'static str, &'static str),
    level: Level,
}

impl Piece {
    /// What is known of it in one gap of a thread is known of it in all.
    fn name(&self, thread: ThreadId) -> String {
        format!("{} {} {thread:?}", self.kind, self.text)
    }

    fn edit(&self, anchor: Anchor) -> Edit {
        plain(Change::Insert { at: vec![(anchor, format!("{};", self.text))] })
    }

    /// Whether it is about its own thread alone, and names nothing (PTX ISA 9.7.15.4).
    fn is_plain_fence(&self) -> bool {
        let opcode = self.text.split('.').next();
        matches!(opcode, Some("fence" | "mfence")) && !self.text.contains(char::is_whitespace)
    }
}

/// A thread, and what may be put into it.
struct Fillable {
    thread: ThreadId,
    gaps: Vec<Anchor>,
    /// Those of one place together.
    pieces: Vec<Vec<Piece>>,
}

/// By how many groups a wait covers too little.
const SHORT: u8 = 4;

const ONE: Level = Level { kinds: 1, reach: 1 };

/// The address of a map, which may be an element of an array.
fn address_of_map(name: &str) -> String {
    let element = name.split_once('[').and_then(|(base, rest)| {
        let index: u32 = rest.trim_end_matches(']').parse().ok()?;
        Some(if index == 0 { base.to_owned() } else { format!("{base}+{}", 128 * index) })
    });
    element.unwrap_or_else(|| name.to_owned())
}

/// For the state spaces that they are about.
fn async_fences() -> Vec<Piece> {
    let fence = |(words, scope, kinds): (&str, &'static str, u8)| Piece {
        kind: "fence.proxy.async",
        text: format!("fence.proxy.async{words}"),
        cost: ("fence.proxy.async", scope),
        level: Level { kinds, reach: 1 },
    };
    [(".shared::cta", "cta", 1), (".global", "gpu", 4), (".shared::cluster", "cluster", 3), ("", "-", 7)]
        .map(fence)
        .into()
}

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
    /// How many changed tests were lowered to know that.
    asked: Cell<u32>,
}

impl<'m> Maker<'m> {
    fn new(test: &'m Test, model: &'m LoadedModel, costs: &'m Costs) -> Maker<'m> {
        Maker { test, model, costs, scopes: scopes(test), sound: SortedMap::new(), asked: Cell::new(0) }
    }

    /// Those that are not written in C.
    fn threads(&self, is_kept: &dyn Fn(Span) -> bool) -> Vec<Fillable> {
        let threads = self.test.litmus.threads.iter().enumerate().filter(|(_, thread)| thread.arch != Arch::C);
        let one = |(at, thread): (usize, &Thread)| {
            let id = ThreadId(at as u32);
            let is_open = |gap: &Anchor| !gap.is_inside(&self.test.litmus, is_kept);
            let gaps = gaps(&thread.body, id).into_iter().filter(is_open).collect();
            let pieces = if thread.arch == Arch::Ptx { self.pieces(&thread.body) } else { x86_pieces() };
            Fillable { thread: id, gaps, pieces }
        };
        threads.map(one).collect()
    }

    /// Puts every fence into every thread at once: if the tables know that test, they know it with each of them, because a
    /// fence is about its own thread alone. Else they are asked one by one: of 100 threads that is 400 times the whole test.
    fn settle_fences(&mut self, threads: &[Fillable]) {
        let mut names = Vec::new();
        let mut edits = Vec::new();
        for Fillable { thread, gaps, pieces } in threads {
            let Some(first) = gaps.first() else { continue };
            let own = names.len();
            for piece in pieces.iter().flatten().filter(|piece| piece.is_plain_fence()) {
                let name = piece.name(*thread);
                if !names[own..].contains(&name) {
                    names.push(name);
                    edits.push(piece.edit(*first));
                }
            }
        }
        if names.len() > 1 && self.has_meaning(&edits) {
            self.sound.extend(names.into_iter().map(|name| (name, true)));
        }
    }

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
        let widest = self.scopes().last().map_or(1, |(reach, _)| *reach);
        for kinds in now.reachable() {
            for (reach, scope) in self.scopes() {
                // What reaches all threads orders as much as what reaches further.
                let is_narrower = now.scope.is_some_and(|own| own > scope) && reach != widest;
                if is_narrower || now.what == What::Meet && scope != Scope::Cluster {
                    continue;
                }
                let level = Level { kinds, reach };
                if kinds == now.kinds && now.scope.is_some_and(|own| own >= scope) {
                    continue;
                }
                let changes = now.changes(thread, span, kinds, scope);
                let row = Strength { kinds, scope: Some(scope), ..now }.row();
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

    /// What a `red` reads is no read operation (PTX ISA 8.11.1): an `atom` reads, and can acquire.
    fn returning(&mut self, thread: ThreadId, found: &Instruction) -> Vec<(Choosable, u32)> {
        let is_async = found.modifiers.iter().any(|word| word.node == "async");
        if found.opcode.node != "red" || is_async || position(&self.test.litmus, thread, found.span()).is_none() {
            return Vec::new();
        }
        let edits = vec![plain(Change::Return { thread, span: found.span() })];
        let level = Level { kinds: 1, reach: 1 };
        let is_sound = self.is_sound(format!("{} returns", spelled(found)), &edits);
        is_sound.then(|| (Choosable { edits, level }, self.costs.of("word", "-").max(1))).into_iter().collect()
    }

    /// The same wait for more groups, the same proxy fence for more threads or more memory.
    fn wider(&mut self, thread: ThreadId, found: &Instruction) -> Vec<(Choosable, u32)> {
        let has = |word: &str| found.modifiers.iter().any(|own| own.node == word);
        let text = self.test.instruction_text(found.span()).trim_end_matches(';').to_owned();
        let mut others: Vec<(String, Level)> = Vec::new();
        if let (true, Some(Operand::Integer(newest))) =
            (has("wait_group"), found.operands.last().map(|operand| &operand.node))
        {
            let newest = u8::try_from(*newest).unwrap_or(u8::MAX);
            let head = text.strip_suffix(&newest.to_string()).unwrap_or_default();
            let whole = head.replacen(".read", "", 1);
            for fewer in (0..=newest).rev().take(usize::from(SHORT)).filter(|_| !head.is_empty()) {
                let reach = newest - fewer;
                others.push((format!("{head}{fewer}"), Level { kinds: 1, reach }));
                others.push((format!("{whole}{fewer}"), Level { kinds: if has("read") { 3 } else { 1 }, reach }));
            }
        }
        let is_async = has("async") && matches!(found.opcode.node.as_str(), "cp" | "red" | "st" | "multimem");
        if found.opcode.node == "fence" && has("proxy") || is_async {
            let own = SCOPES.into_iter().find(|scope| has(scope_word(*scope)));
            for (reach, scope) in self.scopes().into_iter().filter(|(_, scope)| own.is_some_and(|own| own < *scope)) {
                let own = own.map_or("", scope_word);
                let wide = text.replacen(&format!(".{own}"), &format!(".{}", scope_word(scope)), 1);
                others.push((wide, Level { kinds: 1, reach }));
            }
            for narrow in [".shared::cta", ".shared::cluster", ".global"].iter().filter(|_| has("async") && !is_async) {
                others.push((text.replacen(narrow, "", 1), Level { kinds: 1, reach: 1 }));
            }
        }
        others.retain(|(other, _)| *other != text);
        others.dedup_by(|one, other| one.0 == other.0);
        let span = found.span();
        let mut options = Vec::new();
        for (text, level) in others {
            let edits = vec![plain(Change::Replace { thread, span, by: format!("{text};") })];
            let changed = Edit::apply_all(&edits.iter().collect::<Vec<_>>(), &self.test.litmus);
            let cost = changed.and_then(|changed| difference::cost(&self.test.litmus, &changed, self.costs));
            if let (Some(cost), true) = (cost, self.is_sound(format!("{text} {span:?}"), &edits)) {
                options.push((Choosable { edits, level }, cost.max(1)));
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
            matches!(it.opcode.node.as_str(), "wgmma" | "tcgen05" | "clusterlaunchcontrol")
                || it.opcode.node == "cp" && modifier(it, "bulk")
        });
        let addresses = &self.test.program.addresses;
        let is_aliased = addresses
            .iter()
            .any(|one| addresses.iter().any(|other| one.location == other.location && one.generic != other.generic));
        let mut pieces = Vec::new();
        // Before and behind a fence of its own gap.
        if is_async {
            pieces.push(async_fences());
        }
        pieces.push(fences);
        if is_async {
            pieces.push(async_fences());
        }
        if is_aliased {
            pieces.push(one("fence.proxy.alias", "fence.proxy.alias"));
        }
        let is_half = |it: &Instruction| modifier(it, "alias") && (modifier(it, "acquire") || modifier(it, "release"));
        if let (true, Some((_, widest))) = (anywhere(&is_half), self.scopes().last()) {
            for half in ["acquire", "release"] {
                let text = format!("fence.proxy.alias.{half}.{}", scope_word(*widest));
                pieces.push(one(&text, "fence.proxy.alias"));
            }
        }
        if anywhere(&|it| it.opcode.node == "mbarrier" && modifier(it, "init")) {
            pieces.push(one("fence.mbarrier_init.release.cluster", "fence.mbarrier_init"));
        }
        if anywhere(&|it| it.modifiers.iter().any(|word| word.node.starts_with("sync_restrict"))) {
            for (half, memory) in [("acquire", "cluster"), ("release", "cta")] {
                let restricted = format!("{half}.sync_restrict::shared::{memory}.cluster");
                pieces.push(one(&format!("fence.proxy.async::generic.{restricted}"), "fence.proxy.async"));
                pieces.push(vec![Piece {
                    kind: "one",
                    text: format!("fence.{restricted}"),
                    cost: ("fence.acq_rel", "cluster"),
                    level: ONE,
                }]);
            }
        }
        let maps = self.test.program.locations.iter().filter(|it| it.role == LocationRole::TensorMap);
        let maps: Vec<String> = maps.map(|it| address_of_map(&it.name)).collect();
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

    fn put(&mut self, anchor: Anchor, pieces: &[Piece]) -> Vec<(Choosable, u32)> {
        let mut options = Vec::new();
        for piece in pieces {
            let edits = vec![piece.edit(anchor)];
            if self.is_sound(piece.name(anchor.thread), &edits) {
                let (row, scope) = piece.cost;
                options.push((Choosable { edits, level: piece.level }, self.costs.of(row, scope).max(1)));
            }
        }
        options
    }

    fn is_sound(&mut self, name: String, edits: &[Edit]) -> bool {
        if let Some(known) = self.sound.get(&name) {
            return *known;
        }
        let is_sound = self.has_meaning(edits);
        self.sound.insert(name, is_sound);
        is_sound
    }

    /// Whether a changed test has a meaning: the tables know all its forms.
    fn has_meaning(&self, edits: &[Edit]) -> bool {
        self.asked.set(self.asked.get() + 1);
        let changed = changed_program(&self.test.litmus, &edits.iter().collect::<Vec<_>>());
        changed.is_some_and(|(_, program)| refusal_of(self.test, &program, self.model).is_none())
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

/// The text of the address that an instruction accesses.
fn location<'t>(test: &'t Test, own: &Instruction) -> Option<&'t str> {
    let address = own.operands.iter().find(|it| matches!(it.node, Operand::Address(_)))?;
    Some(test.source.slice(address.span))
}

/// What threads ask for: addresses that are updated, and those of which what is loaded is compared.
fn flags(test: &Test) -> Vec<&str> {
    let mut found = Vec::new();
    for thread in &test.litmus.threads {
        let all: Vec<&Instruction> = thread.body.iter().filter_map(instruction).collect();
        let is_compared = |loaded: &Operand| {
            all.iter().any(|it| it.opcode.node == "setp" && it.operands.iter().skip(1).any(|own| own.node == *loaded))
        };
        let asks = |it: &&&Instruction| match it.opcode.node.as_str() {
            "ld" => it.operands.first().is_some_and(|loaded| is_compared(&loaded.node)),
            other => matches!(other, "atom" | "red" | "mbarrier"),
        };
        found.extend(all.iter().filter(asks).filter_map(|it| location(test, it)));
    }
    found
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

#[cfg(test)]
mod tests {
    use fencepost_check::{Models, load};
    use fencepost_syntax::Source;

    use super::*;

    /// The options, and how many changed tests were lowered, with all fences together and one by one.
    fn both(text: &str, model: &str) -> [(String, u32); 2] {
        let (tests, diagnostics) = load(&Source::new("test.litmus", text));
        let test = tests.first().unwrap_or_else(|| panic!("{diagnostics:?}"));
        let (model, costs) = (Models::shipped(model).expect("shipped"), Costs::default());
        [true, false].map(|is_together| {
            let mut maker = Maker::new(test, &model, &costs);
            let threads = maker.threads(&|_| false);
            if is_together {
                maker.settle_fences(&threads);
            }
            let space = Space::of(&mut maker, &threads, &|_| false);
            (format!("{:?} {:?} {:?}", space.options, space.places, space.costs), maker.asked.get())
        })
    }

    fn chain(threads: u32, words: &str) -> String {
        let thread =
            |at: u32| format!("P{at}@cta {at} {{\nld.{words}.u32 %r, [x{at}];\nst.{words}.u32 [x{}], 1;\n}}\n", at + 1);
        let threads: String = (0..threads).map(thread).collect();
        format!("PTX chain\n{{ }}\n{threads}exists (x0 = 0)\n")
    }

    #[test]
    fn fences_of_many_threads_are_lowered_together() {
        let [(together, asked), (one_by_one, each)] = both(&chain(20, "relaxed.gpu"), "ptx");
        assert_eq!(together, one_by_one);
        // Two kinds of fences of two scopes for each thread.
        assert_eq!(each - asked, 4 * 20 - 1);
    }

    /// What answers a request to cancel a launch comes through the async proxy, as a bulk copy does (PTX ISA 9.7.15.18).
    #[test]
    fn fences_of_the_async_proxy_are_there_where_a_launch_is_cancelled() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../corpus/wild/b8-clc-response-slot-no-gates.litmus");
        let text = std::fs::read_to_string(path).expect("the file");
        let [(options, _), _] = both(&text, "ptx");
        for fence in ["fence.proxy.async.shared::cta;", "fence.proxy.async.shared::cluster;"] {
            assert!(options.contains(fence), "{fence}");
        }
    }

    /// An older model knows no clusters: some fences have a meaning there and others have none.
    #[test]
    fn fences_without_a_meaning_are_found_one_by_one() {
        let clusters = "PTX clusters\n{ }\nP0@cta 0, cluster 0 {\nst.weak.u32 [x], 1;\nst.weak.u32 [y], 1;\n}\n\
                        P1@cta 1, cluster 0 {\nld.weak.u32 %r0, [y];\nld.weak.u32 %r1, [x];\n}\n\
                        P2@cta 2, cluster 1 {\nld.weak.u32 %r0, [y];\n}\nexists (P1:%r0 = 1)\n";
        for model in ["ptx-6.0", "ptx-7.5", "ptx"] {
            let [(together, _), (one_by_one, _)] = both(clusters, model);
            assert_eq!(together, one_by_one, "{model}");
            assert_eq!(together.contains("fence.acq_rel.cluster"), model == "ptx", "{model}");
        }
    }
}
