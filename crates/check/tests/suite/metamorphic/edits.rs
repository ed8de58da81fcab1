//! One strengthening of a program: where it may stand, and how it is made. The text of all other statements stays where it
//! is, so that findings of the two programs are at the same places.

use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::{Declaration, Dialect, Litmus, Side, Statement, Thread, parse_named};
use fencepost_syntax::{Span, Spanned};

use super::{Random, is_straight};

#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A memory fence or a proxy fence.
    Fence,
    Scope,
    Semantics,
    /// A barrier of a CTA in all of its threads, between the same barriers of each.
    Barrier,
    /// The same of a cluster.
    Cluster,
    /// An arrive of one thread and a wait of another at an mbarrier of their own.
    Handshake,
    /// A wait for what the thread itself has started.
    Wait,
}

pub const KINDS: [Kind; 7] =
    [Kind::Fence, Kind::Scope, Kind::Semantics, Kind::Barrier, Kind::Cluster, Kind::Handshake, Kind::Wait];

impl Kind {
    /// Whether it makes threads wait for each other.
    pub fn waits(self) -> bool {
        matches!(self, Kind::Barrier | Kind::Cluster | Kind::Handshake)
    }
}

/// Statements that are put in, each before the statement at its place (or at the end of its thread), and words that change.
#[derive(Clone, Debug)]
pub struct Edit {
    pub kind: Kind,
    pub words: String,
    puts: Vec<Put>,
    rewords: Option<(Span, Vec<String>)>,
    declares: Option<&'static str>,
}

#[derive(Clone, Debug)]
struct Put {
    thread: usize,
    /// The statement before which it stands; None for the end.
    before: Option<Span>,
    text: String,
}

const HANDSHAKE: &str = ".shared .mbarrier monotone = 1";

impl Edit {
    /// None where a place is gone.
    pub fn apply(&self, litmus: &Litmus) -> Option<Litmus> {
        let mut changed = litmus.clone();
        if let Some((span, words)) = &self.rewords {
            let mut all = changed.threads.iter_mut().flat_map(|thread| &mut thread.body);
            let instruction = all.find_map(|statement| match statement {
                Statement::Instruction { instruction, .. } if instruction.span() == *span => Some(instruction),
                _ => None,
            })?;
            let here = instruction.opcode.span;
            instruction.modifiers = words.iter().map(|word| Spanned::new(word.into(), here)).collect();
        }
        for put in &self.puts {
            let body = &mut changed.threads.get_mut(put.thread)?.body;
            let at = match put.before {
                Some(span) => body.iter().position(|statement| place(statement) == Some(span))?,
                None => body.len(),
            };
            body.splice(at..at, parsed(&put.text)?);
        }
        if let Some(text) = self.declares {
            changed.declarations.extend(declared(text)?);
        }
        Some(changed)
    }

    /// Whether a statement must stay for the edit to have its place.
    pub fn keeps(&self, statement: &Statement) -> bool {
        let here = place(statement);
        let barrier = matches!(statement, Statement::Instruction { instruction, .. } if is_barrier(instruction));
        // With an arrive or a wait gone the others would not match.
        here.is_none()
            || barrier && self.kind.waits()
            || self.puts.iter().any(|put| put.before == here)
            || self.rewords.as_ref().is_some_and(|(span, _)| Some(*span) == here)
    }
}

fn place(statement: &Statement) -> Option<Span> {
    match statement {
        Statement::Instruction { instruction, .. } => Some(instruction.span()),
        Statement::Label(label) => Some(label.span),
        Statement::C(_) => None,
    }
}

/// Statements that stand nowhere in the text.
fn parsed(text: &str) -> Option<Vec<Statement>> {
    let whole = format!("PTX piece\n{{ }}\nP0@cta 0, gpu 0 {{\n{text}\n}}\nexists (true)\n");
    let mut body = parse_named("piece", &whole).0.pop()?.threads.pop()?.body;
    for statement in &mut body {
        if let Statement::Instruction { instruction, .. } = statement {
            instruction.opcode.span = Span::default();
            instruction.modifiers.iter_mut().for_each(|word| word.span = Span::default());
            instruction.operands.iter_mut().for_each(|operand| operand.span = Span::default());
            if let Some(guard) = &mut instruction.guard {
                guard.register.span = Span::default();
            }
        }
    }
    (!body.is_empty()).then_some(body)
}

fn declared(text: &str) -> Option<Vec<Spanned<Declaration>>> {
    let whole = format!("PTX piece\n{{ {text}; }}\nP0@cta 0, gpu 0 {{\n}}\nexists (true)\n");
    parse_named("piece", &whole).0.pop().map(|tree| tree.declarations)
}

/// A strengthening of the test, if it has a place for one of the kind that was chosen.
pub fn choose(litmus: &Litmus, random: &mut Random) -> (Kind, Option<Edit>) {
    let kind = KINDS[random.below(KINDS.len())];
    let edit = match kind {
        Kind::Fence => fence(litmus, random),
        Kind::Scope => reword(litmus, random, kind, wider),
        Kind::Semantics => reword(litmus, random, kind, stronger),
        Kind::Barrier => barrier(litmus, random),
        Kind::Cluster => cluster(litmus, random),
        Kind::Handshake => handshake(litmus, random),
        Kind::Wait => wait(litmus, random),
    };
    (kind, edit)
}

fn is_device(thread: &Thread) -> bool {
    thread.placement.side == Side::Device && thread.arch == fencepost_syntax::litmus::Arch::Ptx
}

fn instructions(thread: &Thread) -> impl Iterator<Item = &Instruction> {
    thread.body.iter().filter_map(|statement| match statement {
        Statement::Instruction { instruction, .. } => Some(instruction),
        Statement::Label(_) | Statement::C(_) => None,
    })
}

/// Any place of a thread.
fn anywhere(thread: &Thread, random: &mut Random) -> Option<Span> {
    let at = random.below(thread.body.len() + 1);
    thread.body.get(at).and_then(place)
}

const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];
const FENCES: &[&str] = &[
    "fence.proxy.alias",
    "fence.proxy.async",
    "fence.proxy.async.global",
    "fence.proxy.async.shared::cta",
    "fence.proxy.constant",
    "fence.proxy.surface",
    "fence.proxy.texture",
    "fence.mbarrier_init.release.cluster",
    "tcgen05.fence::before_thread_sync",
    "tcgen05.fence::after_thread_sync",
    "fence.acquire.sync_restrict::shared::cluster.cluster",
    "fence.release.sync_restrict::shared::cta.cluster",
    "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
    "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
];

fn fence(litmus: &Litmus, random: &mut Random) -> Option<Edit> {
    let devices: Vec<usize> = (0..litmus.threads.len()).filter(|at| is_device(&litmus.threads[*at])).collect();
    let thread = *random.pick(&devices)?;
    let text = if litmus.dialect == Dialect::Ptx && random.chance(2) {
        (*random.pick(FENCES)?).to_owned()
    } else {
        let words: &[&str] =
            if litmus.dialect == Dialect::Ptx { &["acq_rel", "sc", "acquire", "release"] } else { &["acq_rel", "sc"] };
        let scopes: &[&str] = if litmus.dialect == Dialect::Ptx { &SCOPES } else { &["cta", "gpu", "sys"] };
        format!("fence.{}.{}", random.pick(words)?, random.pick(scopes)?)
    };
    let before = anywhere(&litmus.threads[thread], random);
    let words = format!("`{text}` in {}", litmus.threads[thread].name.node);
    let puts = vec![Put { thread, before, text: format!("{text};") }];
    Some(Edit { kind: Kind::Fence, words, puts, rewords: None, declares: None })
}

/// An instruction with other words.
fn reword(
    litmus: &Litmus,
    random: &mut Random,
    kind: Kind,
    change: impl Fn(&Litmus, &Instruction, &mut Random) -> Option<Vec<String>>,
) -> Option<Edit> {
    let all: Vec<&Instruction> =
        litmus.threads.iter().filter(|thread| is_device(thread)).flat_map(instructions).collect();
    let start = random.below(all.len());
    for turn in 0..all.len() {
        let instruction = all[(start + turn) % all.len()];
        if let Some(to) = change(litmus, instruction, random) {
            let words =
                format!("`.{}` on `{}.{}`", to.join("."), instruction.opcode.node, spelled(instruction).join("."));
            let rewords = Some((instruction.span(), to));
            return Some(Edit { kind, words, puts: Vec::new(), rewords, declares: None });
        }
    }
    None
}

fn spelled(instruction: &Instruction) -> Vec<String> {
    instruction.modifiers.iter().map(|word| word.node.to_string()).collect()
}

const ORDERED: [&str; 6] = ["ld", "st", "atom", "red", "fence", "mbarrier"];

/// The same with a wider scope.
fn wider(litmus: &Litmus, instruction: &Instruction, random: &mut Random) -> Option<Vec<String>> {
    let mut words = spelled(instruction);
    let opcode = instruction.opcode.node.as_str();
    if !ORDERED.contains(&opcode)
        || words.iter().any(|word| word.starts_with("sync_restrict") || word == "mbarrier_init")
    {
        return None;
    }
    let at = words.iter().position(|word| SCOPES.contains(&word.as_str()))?;
    let scopes: &[&str] = match (opcode, litmus.dialect) {
        ("mbarrier", _) => &["cta", "cluster"],
        (_, Dialect::Ptx) => &SCOPES,
        _ => &["cta", "gpu", "sys"],
    };
    let own = scopes.iter().position(|scope| *scope == words[at])?;
    words[at] = (*random.pick(&scopes[own + 1..])?).to_owned();
    Some(words)
}

/// The same with stronger semantics.
fn stronger(litmus: &Litmus, instruction: &Instruction, random: &mut Random) -> Option<Vec<String>> {
    let mut words = spelled(instruction);
    let opcode = instruction.opcode.node.as_str();
    let has = |word: &str| words.iter().any(|own| own == word);
    if has("proxy") || has("mbarrier_init") || has("volatile") || has("mmio") || has("nc") || has("async") {
        return None;
    }
    if opcode == "barrier" && has("cluster") && has("arrive") && has("relaxed") {
        words.retain(|word| word != "relaxed");
        return Some(words);
    }
    if let Some(at) = words.iter().position(|word| SEMANTICS.contains(&word.as_str())) {
        let reads = matches!(opcode, "ld" | "atom") || has("try_wait") || has("test_wait");
        let writes = matches!(opcode, "st" | "red" | "atom") || has("arrive") || has("arrive_drop");
        let next: &[&str] = match (words[at].as_str(), opcode) {
            ("acq_rel", "fence") => &["sc"],
            ("acquire" | "release", "fence") => &["acq_rel", "sc"],
            ("acquire" | "release", "atom") => &["acq_rel"],
            ("relaxed", "atom") => &["acquire", "release", "acq_rel"],
            ("relaxed", _) if reads => &["acquire"],
            ("relaxed", _) if writes => &["release"],
            ("weak", "ld" | "st") => {
                words[at] =
                    (*random.pick(if opcode == "ld" { &["relaxed", "acquire"] } else { &["relaxed", "release"] })?)
                        .to_owned();
                let scope = if litmus.dialect == Dialect::Ptx { *random.pick(&SCOPES)? } else { "sys" };
                words.insert(at + 1, scope.to_owned());
                return Some(words);
            }
            _ => &[],
        };
        words[at] = (*random.pick(next)?).to_owned();
        return Some(words);
    }
    let is_weak = litmus.dialect == Dialect::Ptx && matches!(opcode, "ld" | "st");
    let is_plain = !words
        .iter()
        .any(|word| ["const", "param", "local", "v2", "v4", "v8"].iter().any(|start| word.starts_with(start)));
    (is_weak && is_plain).then(|| {
        let word = ["relaxed", if opcode == "ld" { "acquire" } else { "release" }][random.below(2)];
        let scope = SCOPES[random.below(SCOPES.len())];
        [word.to_owned(), scope.to_owned()].into_iter().chain(words).collect()
    })
}

const SEMANTICS: [&str; 6] = ["weak", "relaxed", "acquire", "release", "acq_rel", "sc"];

fn is_barrier(instruction: &Instruction) -> bool {
    matches!(instruction.opcode.node.as_str(), "bar" | "barrier")
}

/// Places behind so many barriers and before the next, in a thread without branches.
fn behind_barriers(thread: &Thread, number: usize) -> Vec<Option<Span>> {
    let mut passed = 0;
    let mut places = Vec::new();
    for statement in &thread.body {
        if passed == number {
            places.push(place(statement));
        }
        passed +=
            usize::from(matches!(statement, Statement::Instruction { instruction, .. } if is_barrier(instruction)));
    }
    if passed == number {
        places.push(None);
    }
    places
}

/// The same piece in all of these threads, between the same barriers of each.
fn everywhere(litmus: &Litmus, group: &[usize], text: &str, kind: Kind, random: &mut Random) -> Option<Edit> {
    let threads: Vec<&Thread> = group.iter().map(|at| &litmus.threads[*at]).collect();
    if threads.is_empty() || !threads.iter().all(|thread| thread.body.iter().all(is_straight)) {
        return None;
    }
    let barriers = |thread: &Thread| instructions(thread).filter(|instruction| is_barrier(instruction)).count();
    let number = barriers(threads[0]);
    if threads.iter().any(|thread| barriers(thread) != number) {
        return None;
    }
    let number = random.below(number + 1);
    let mut puts = Vec::new();
    for (at, thread) in group.iter().zip(&threads) {
        let before = *random.pick(&behind_barriers(thread, number))?;
        puts.push(Put { thread: *at, before, text: text.to_owned() });
    }
    let names: Vec<&str> = threads.iter().map(|thread| thread.name.node.as_str()).collect();
    let words = format!("`{}` in {}", text.replace('\n', " "), names.join(", "));
    Some(Edit { kind, words, puts, rewords: None, declares: None })
}

/// The threads of the CTA or the cluster of one of them.
fn group(litmus: &Litmus, random: &mut Random, is_whole_cluster: bool) -> Option<Vec<usize>> {
    let one = litmus.threads.get(random.below(litmus.threads.len()))?.placement;
    let together = |thread: &Thread| {
        let own = thread.placement;
        let close = (own.gpu, own.cluster, own.kernel) == (one.gpu, one.cluster, one.kernel);
        close && (own.cta == one.cta || is_whole_cluster && one.cluster.is_some())
    };
    let is_sound = litmus.dialect == Dialect::Ptx && litmus.threads.iter().all(is_device);
    is_sound.then(|| (0..litmus.threads.len()).filter(|at| together(&litmus.threads[*at])).collect())
}

fn barrier(litmus: &Litmus, random: &mut Random) -> Option<Edit> {
    let group = group(litmus, random, false)?;
    let is_free = |instruction: &Instruction| {
        !is_barrier(instruction) || instruction.operands.first().is_none_or(|id| id.node != Operand::Integer(15))
    };
    let threads = group.iter().map(|at| &litmus.threads[*at]);
    if !threads.flat_map(instructions).all(is_free) {
        return None;
    }
    everywhere(litmus, &group, "bar.sync 15;", Kind::Barrier, random)
}

fn cluster(litmus: &Litmus, random: &mut Random) -> Option<Edit> {
    let group = group(litmus, random, true)?;
    let text = if random.chance(2) { "barrier.cluster.arrive;" } else { "barrier.cluster.arrive.relaxed;" };
    let edit = everywhere(litmus, &group, &format!("{text}\nbarrier.cluster.wait;"), Kind::Cluster, random)?;
    // Between an arrive and its wait there is no place for another pair.
    let is_split = |put: &Put| {
        let mut open = false;
        for statement in &litmus.threads[put.thread].body {
            if place(statement) == put.before {
                return open;
            }
            if let Statement::Instruction { instruction, .. } = statement {
                let has = |word: &str| instruction.modifiers.iter().any(|own| own.node == word);
                open = if is_barrier(instruction) && has("cluster") { has("arrive") } else { open };
            }
        }
        open
    };
    (!edit.puts.iter().any(is_split)).then_some(edit)
}

fn handshake(litmus: &Litmus, random: &mut Random) -> Option<Edit> {
    let group = group(litmus, random, false)?;
    let (from, to) = (*random.pick(&group)?, *random.pick(&group)?);
    let straight = |at: usize| litmus.threads[at].body.iter().all(is_straight);
    if from == to || !straight(from) || !straight(to) {
        return None;
    }
    let arrive = "mbarrier.arrive.release.cta.shared::cta.b64 _, [monotone];";
    let wait = "MONOTONE: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %monotone, [monotone], 0;\n\
                @!%monotone bra MONOTONE;";
    let put = |thread: usize, text: &str, random: &mut Random| {
        let before = anywhere(&litmus.threads[thread], random);
        Put { thread, before, text: text.to_owned() }
    };
    let puts = vec![put(from, arrive, random), put(to, wait, random)];
    let words = format!("a handshake from {} to {}", litmus.threads[from].name.node, litmus.threads[to].name.node);
    Some(Edit { kind: Kind::Handshake, words, puts, rewords: None, declares: Some(HANDSHAKE) })
}

/// Waits of the thread that started something, by the first words of what starts it.
const WAITS: &[(&str, &[&str], &str)] = &[
    ("cp", &["async", "ca"], "cp.async.wait_all"),
    ("cp", &["async", "cg"], "cp.async.wait_all"),
    ("cp", &["async", "bulk"], "cp.async.bulk.wait_group 0"),
    ("cp", &["async", "bulk"], "cp.async.bulk.wait_group.read 0"),
    ("wgmma", &["mma_async"], "wgmma.wait_group.sync.aligned 0"),
    ("wgmma", &["mma_async"], "wgmma.fence.sync.aligned"),
    ("tcgen05", &["ld"], "tcgen05.wait::ld.sync.aligned"),
    ("tcgen05", &["st"], "tcgen05.wait::st.sync.aligned"),
];

fn wait(litmus: &Litmus, random: &mut Random) -> Option<Edit> {
    let mut all = Vec::new();
    for (at, thread) in litmus.threads.iter().enumerate().filter(|(_, thread)| is_device(thread)) {
        for (opcode, words, text) in WAITS {
            let starts = |instruction: &Instruction| {
                let own = instruction.modifiers.iter().map(|word| word.node.as_str());
                instruction.opcode.node == *opcode
                    && own.zip(*words).filter(|(own, word)| own == *word).count() == words.len()
            };
            if instructions(thread).any(starts) {
                all.push((at, *text));
            }
        }
    }
    let (thread, text) = *random.pick(&all)?;
    let before = anywhere(&litmus.threads[thread], random);
    let words = format!("`{text}` in {}", litmus.threads[thread].name.node);
    let puts = vec![Put { thread, before, text: format!("{text};") }];
    Some(Edit { kind: Kind::Wait, words, puts, rewords: None, declares: None })
}
