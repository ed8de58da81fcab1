//! Outcomes that interleavings of the threads have: no fence rules them out. What is missing makes one of several: one access
//! for the elements of a vector (PTX ISA 8.2.4), one read-modify-write for a look and what is done about it (9.7.15.5).

use fencepost_program::EventId;
use fencepost_program::program::Scope;
use fencepost_program::sections;
use fencepost_program::tag::Tag;
use fencepost_report::CauseKind;
use fencepost_report::Missing;
use fencepost_report::piece::Piece;
use fencepost_report::reason::{Outcome, Reason};
use fencepost_syntax::instruction::Instruction;

use crate::edit::{Change, Edit, SCOPES, scope_word};
use crate::outcome::cycle;
use crate::outcome::story::Story;
use crate::scene::Scene;
use crate::unordered;

const COST: u32 = 0;
const ATOMICITY: &str = "8.2.4, 8.2.5";
const ATOM: &str = sections::ATOM;
/// What `atom` does, and subtraction, which is an addition.
const OPERATIONS: &[&str] = &["add", "sub", "and", "or", "xor", "min", "max"];

pub(crate) fn told(
    scene: &Scene<'_>,
    mends: &dyn Fn(&[Edit]) -> bool,
    is_interleaving: &dyn Fn() -> bool,
) -> Option<Story> {
    let missed = cycle::missed(scene);
    let is_torn = |(read, write): &&(EventId, EventId)| is_torn(scene, *read, *write);
    if let Some(pair) = missed.iter().find(is_torn) {
        return Some(torn(scene, *pair, mends));
    }
    for (pair, edits) in updates(scene, &missed) {
        if mends(&edits) {
            let (reasons, missing) = (story(scene, pair, is_interleaving()), Edit::all_missing(&edits, scene));
            return Some(Story { kind: CauseKind::NotAtomic, pair, reasons, missing, confirmed: true });
        }
    }
    let Some(pair) = missed.into_iter().max_by_key(|pair| rank(scene, *pair)) else { return interleaved(scene) };
    let reasons = story(scene, pair, is_interleaving());
    Some(Story { kind: CauseKind::NotAtomic, pair, reasons, missing: vec![general(scene, pair)], confirmed: false })
}

/// Read-modify-writes instead of looks: of one thread, or of all that look at the location.
fn updates(scene: &Scene<'_>, missed: &[(EventId, EventId)]) -> Vec<((EventId, EventId), Vec<Edit>)> {
    let mut found = Vec::new();
    for pair in missed {
        let alone = [same_update(scene, *pair), one_update(scene, pair.0), claim(scene, pair.0)];
        found.extend(alone.into_iter().flatten().map(|edits| (*pair, edits)));
    }
    for pair in missed {
        let same = |id: &EventId| {
            scene.is_main(*id)
                && scene.has(*id, Tag::Read)
                && scene.event(*id).location() == scene.event(pair.0).location()
        };
        for update in [one_update, claim] {
            let all = scene.execution.events.iter().filter(|id| same(id));
            let mut edits: Vec<Edit> = Vec::new();
            all.filter_map(|id| update(scene, *id)).flatten().for_each(|edit| {
                if !edits.contains(&edit) {
                    edits.push(edit);
                }
            });
            found.push((*pair, edits));
        }
    }
    found.retain(|(_, edits)| !edits.is_empty());
    found
}

/// Every access sees the newest value, and the outcome is that of an order in which the threads may run.
fn interleaved(scene: &Scene<'_>) -> Option<Story> {
    let apart =
        |(from, to): &&(EventId, EventId)| !scene.event(*from).is_init() && scene.thread(*from) != scene.thread(*to);
    let (write, other) = *scene.execution.rf.iter().chain(&scene.execution.co).find(apart)?;
    let (first, second) = (scene.site(write), scene.site(other));
    let reasons = vec![Outcome::MayComeBefore { first: first.clone(), second: second.clone() }.into()];
    let missing = vec![scene.missing(write, Piece::KeptBefore { first, second }, "8.9.4, 9.7.15")];
    Some(Story { kind: CauseKind::Interleaving, pair: (write, other), reasons, missing, confirmed: false })
}

/// The read is over before the write, and why that may be.
fn story(scene: &Scene<'_>, (read, write): (EventId, EventId), is_interleaving: bool) -> Vec<Reason> {
    let story = Outcome::OverBefore { read: scene.site(read), write: scene.site(write) };
    let why = if is_interleaving { Outcome::EndsSoInTurns } else { Outcome::NothingMakesItWait };
    vec![story.into(), why.into()]
}

/// What is missing where no change is known that brings it.
fn general(scene: &Scene<'_>, (read, write): (EventId, EventId)) -> Missing {
    if scene.has(read, Tag::Mbarrier) || !scene.is_main(read) || !scene.is_main(write) {
        return unordered::order(scene, (read, write));
    }
    scene.missing(read, Piece::OneAtomic { read: scene.site(read), location: scene.variable(read) }, ATOM)
}

/// Which of several missed writes the story is about: a read on which more depends, one that is no part of an update.
fn rank(scene: &Scene<'_>, (read, write): (EventId, EventId)) -> (bool, usize, EventId) {
    let plain = scene.event(read).rmw_partner.is_none();
    let depends = |id: &&EventId| {
        let event = scene.event(**id);
        [&event.control_deps, &event.data_deps, &event.address_deps].into_iter().any(|deps| deps.contains(&read))
    };
    (plain, scene.execution.events.iter().filter(depends).count(), write)
}

/// Whether the read misses an element of a vector of which another element of its own vector sees one.
fn is_torn(scene: &Scene<'_>, read: EventId, write: EventId) -> bool {
    let (Some(reads), Some(writes)) = (scene.event(read).group, scene.event(write).group) else { return false };
    let sees = |(from, to): &(EventId, EventId)| {
        scene.event(*to).group == Some(reads) && scene.event(*from).group == Some(writes)
    };
    scene.execution.rf.iter().any(sees)
}

fn torn(scene: &Scene<'_>, pair: (EventId, EventId), mends: &dyn Fn(&[Edit]) -> bool) -> Story {
    let (read, write) = pair;
    let reasons = vec![Outcome::TornVector { read: scene.site(read), write: scene.site(write) }.into()];
    let scope = scene.common(read, write);
    let both: Option<Vec<Edit>> = [write, read].into_iter().map(|id| whole(scene, id, scope)).collect();
    if let Some(edits) = both.filter(|edits| mends(edits)) {
        return Story {
            kind: CauseKind::TornVector,
            pair,
            reasons,
            missing: Edit::all_missing(&edits, scene),
            confirmed: true,
        };
    }
    let (at, location) = (scene.site(write), scene.variable(write));
    let what = Piece::OneScalarAccess { write: at, read: scene.site(read), location };
    let missing = vec![scene.missing(write, what, ATOMICITY)];
    Story { kind: CauseKind::TornVector, pair, reasons, missing, confirmed: false }
}

/// An instruction's words and operands.
struct Text {
    words: Vec<String>,
    operands: String,
}

impl Text {
    fn of(scene: &Scene<'_>, id: EventId) -> Option<Text> {
        let instruction = scene.statement(id).filter(|found| found.guard.is_none())?;
        let text = scene.text(id);
        let (_, operands) = text.split_once(char::is_whitespace)?;
        let modifiers = instruction.modifiers.iter().map(|word| word.node.to_string());
        let words = [instruction.opcode.node.to_string()].into_iter().chain(modifiers).collect();
        Some(Text { words, operands: operands.trim().to_owned() })
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|own| own == word)
    }

    /// "[line+8]".
    fn address(&self) -> Option<&str> {
        let (start, end) = (self.operands.find('[')?, self.operands.rfind(']')?);
        self.operands.get(start..=end)
    }

    /// "%rd1, %rd2".
    fn elements(&self) -> Option<Vec<&str>> {
        let (_, rest) = self.operands.split_once('{')?;
        let (inside, _) = rest.split_once('}')?;
        Some(inside.split(',').map(str::trim).collect())
    }

    fn space(&self) -> Option<&str> {
        self.words.iter().map(String::as_str).find(|word| matches!(*word, "global" | "shared" | "shared::cta"))
    }

    /// Without its own, a strong access of this scope.
    fn strength(&self, scope: Scope) -> (&str, &str) {
        let semantics = self.words.iter().map(String::as_str).find(|word| matches!(*word, "acquire" | "release"));
        let own = self.words.iter().map(String::as_str).find(|word| SCOPES.contains(word));
        (semantics.unwrap_or("relaxed"), own.unwrap_or(scope_word(scope)))
    }

    fn bits(&self) -> Option<u32> {
        let kind = self.words.last()?;
        kind.get(1..)?.parse().ok().filter(|_| kind.starts_with(['b', 'u', 's', 'f']))
    }
}

/// A vector access as one of its whole width.
fn whole(scene: &Scene<'_>, id: EventId, scope: Scope) -> Option<Edit> {
    let text = Text::of(scene, id)?;
    let (elements, bits, address) = (text.elements()?, text.bits()?, text.address()?);
    let width = bits * u32::try_from(elements.len()).ok()?;
    let word = "%whole";
    let pack = |kind: u32, whole: &str, parts: &str| match scene.has(id, Tag::Write) {
        true => format!("mov.b{kind} {whole}, {{{parts}}};"),
        false => format!("mov.b{kind} {{{parts}}}, {whole};"),
    };
    let mut packs = match (elements.as_slice(), bits, width) {
        ([a, b], 16, 32) | ([a, b], 32, 64) | ([a, b], 64, 128) => vec![pack(width, word, &format!("{a}, {b}"))],
        ([a, b, c, d], 16, 64) => vec![pack(width, word, &format!("{a}, {b}, {c}, {d}"))],
        ([a, b, c, d], 32, 128) => vec![
            pack(64, "%whole1", &format!("{a}, {b}")),
            pack(64, "%whole2", &format!("{c}, {d}")),
            pack(128, word, "%whole1, %whole2"),
        ],
        _ => return None,
    };
    let (semantics, scope) = text.strength(scope);
    let space = text.space().map_or(String::new(), |space| format!(".{space}"));
    let opcode = format!("{}.{semantics}.{scope}{space}.b{width}", text.words.first()?);
    match scene.has(id, Tag::Write) {
        true => packs.push(format!("{opcode} {address}, {word};")),
        false => {
            packs.push(format!("{opcode} {word}, {address};"));
            packs.reverse();
        }
    }
    let reason = Outcome::SeveralAccesses { at: scene.site(id) };
    let change = Change::Replace { thread: scene.thread(id)?, span: scene.event(id).span, by: packs.join("\n") };
    Some(Edit::new(change, reason, ATOMICITY, COST))
}

fn value(scene: &Scene<'_>, id: EventId) -> Option<i128> {
    let at = scene.execution.events.binary_search(&id).ok()?;
    scene.execution.values.get(at).copied().flatten().map(|value| value.0)
}

/// A look at what another thread claims with an `atom`: the same `atom`.
fn same_update(scene: &Scene<'_>, (read, write): (EventId, EventId)) -> Option<Vec<Edit>> {
    let (load, update) = (Text::of(scene, read)?, Text::of(scene, write)?);
    if load.words.first()? != "ld" || update.words.first()? != "atom" || load.has("v2") || load.has("v4") {
        return None;
    }
    let (seen, new) = (value(scene, read)?, value(scene, write)?);
    let operands = match () {
        () if update.has("cas") => format!("{seen}, {new}"),
        () if update.has("exch") => new.to_string(),
        () => return None,
    };
    let (register, _) = load.operands.split_once(',')?;
    let by = format!("{} {}, {}, {operands};", update.words.join("."), register.trim(), load.address()?);
    let reason = Outcome::OnlyLooks { at: scene.site(read) };
    let change = Change::Replace { thread: scene.thread(read)?, span: scene.event(read).span, by };
    Some(vec![Edit::new(change, reason, ATOM, COST)])
}

/// The load and the store of a thread on one location, the store behind the load.
struct Update {
    load: Text,
    store: Text,
    write: EventId,
}

impl Update {
    fn of(scene: &Scene<'_>, read: EventId) -> Option<Update> {
        let thread = scene.thread(read).filter(|_| scene.event(read).rmw_partner.is_none())?;
        let location = scene.event(read).location();
        let stores = |id: &EventId| *id > read && scene.has(*id, Tag::Write) && scene.event(*id).location() == location;
        let write = scene.main_events(thread).into_iter().find(stores)?;
        let (load, store) = (Text::of(scene, read)?, Text::of(scene, write)?);
        (load.words.first()? == "ld" && store.words.first()? == "st").then_some(Update { load, store, write })
    }

    /// "relaxed.gpu.global", with the semantics of both.
    fn words(&self) -> String {
        let (_, scope) = self.load.strength(Scope::Gpu);
        let semantics = match (self.load.has("acquire"), self.store.has("release")) {
            (true, true) => "acq_rel",
            (true, false) => "acquire",
            (false, true) => "release",
            (false, false) => "relaxed",
        };
        let space = self.load.space().map_or(String::new(), |space| format!(".{space}"));
        format!("{semantics}.{scope}{space}")
    }

    /// This in place of the load, and nothing in place of the store.
    fn edits(&self, scene: &Scene<'_>, read: EventId, by: String) -> Option<Vec<Edit>> {
        let reason = Outcome::TwoAccesses { first: scene.site(read), second: scene.site(self.write) };
        let one = Change::Replace { thread: scene.thread(read)?, span: scene.event(read).span, by };
        let gone = Change::Remove { thread: scene.thread(read)?, span: scene.event(self.write).span };
        let edit = |change: Change| Edit::new(change, reason.clone(), ATOM, COST);
        Some(vec![edit(one), edit(gone)])
    }
}

/// A load, an operation on what it gives and a store of the result: the `atom` of that operation.
fn one_update(scene: &Scene<'_>, read: EventId) -> Option<Vec<Edit>> {
    let update = Update::of(scene, read)?;
    let (register, _) = update.load.operands.split_once(',')?;
    let (_, result) = update.store.operands.rsplit_once(',')?;
    let operation = |found: &&Instruction| OPERATIONS.contains(&found.opcode.node.as_str());
    let operation = scene.between(read, Some(update.write)).into_iter().find(operation)?;
    let text = scene.test.instruction_text(operation.span());
    let (_, operands) = text.trim_end_matches(';').trim().split_once(char::is_whitespace)?;
    let operands: Vec<&str> = operands.split(',').map(str::trim).collect();
    let [to, from, by] = operands.as_slice() else { return None };
    if *to != result.trim() || *from != register.trim() {
        return None;
    }
    let kind = operation.modifiers.last()?.node.as_str();
    let (name, by) = match operation.opcode.node.as_str() {
        // There is no subtraction.
        "sub" => ("add", format!("-{}", by.parse::<u64>().ok()?)),
        name => (name, (*by).to_owned()),
    };
    let address = update.load.address()?;
    let atom = format!("atom.{}.{name}.{kind} {register}, {address}, {by};", update.words());
    update.edits(scene, read, atom)
}

/// A look at what nobody has claimed, and a store that claims it: `atom.cas`.
fn claim(scene: &Scene<'_>, read: EventId) -> Option<Vec<Edit>> {
    let update = Update::of(scene, read)?;
    let (register, _) = update.load.operands.split_once(',')?;
    let (_, new) = update.store.operands.rsplit_once(',')?;
    let is_number = new.trim().parse::<i128>().is_ok();
    let (seen, bits) = (value(scene, read)?, update.load.bits().filter(|_| is_number)?);
    let address = update.load.address()?;
    let atom = format!("atom.{}.cas.b{bits} {register}, {address}, {seen}, {};", update.words(), new.trim());
    update.edits(scene, read, atom)
}
