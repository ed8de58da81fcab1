//! The weaker words of an instruction: less semantics, a narrower scope.

use fencepost_check::test::Test;
use fencepost_program::ThreadId;
use fencepost_program::program::Scope;
use fencepost_syntax::instruction::Instruction;

use super::place::{Level, Place, Weaker, gone, place, saving};
use crate::edit::apply::{SEMANTICS, semantics_position};
use crate::edit::{Change, SCOPES as SCOPE_WORDS, scope_word};
use crate::fix::costs::Costs;
use crate::fix::space::{plain, scopes};
use crate::fix::strength::{ACQUIRES, RELEASES, SC, SCOPES, STRONG, Strength, What, membar};

/// None for an instruction without such words.
pub(super) fn options(test: &Test, costs: &Costs, thread: ThreadId, found: &Instruction) -> Option<Place> {
    if let Some(place) = persist_words(test, costs, thread, found).or_else(|| cluster_arrival(costs, thread, found)) {
        return Some(place);
    }
    // What is volatile stays what it is.
    let now = Strength::of(found).filter(|_| found.modifiers.iter().all(|word| word.node != "volatile"))?;
    let cost = costs.of(now.row(), now.scope.map_or("-", scope_word));
    let mut options = Vec::new();
    for kinds in weaker(now) {
        for scope in reaches(test, now, kinds).into_iter().filter(|scope| may_reach(found, *scope)) {
            let (reach, word) = scope.map_or((0, None), |scope| (reach(scope), Some(scope_word(scope))));
            let row = Strength { kinds, scope, ..now }.row();
            let Some(saves) = saving(cost, costs.of(row, word.unwrap_or("-"))) else { continue };
            let (opcode, modifiers) = match scope {
                Some(scope) if now.what == What::Membar => membar(kinds, scope),
                _ => (found.opcode.node.to_string(), reworded(found, semantics(now, kinds), word)?),
            };
            let reword = reword(thread, found, opcode, modifiers);
            options.push(Weaker { edits: vec![plain(reword)], level: Level { kinds, reach }, saves });
        }
    }
    if matches!(now.what, What::Fence | What::Membar) {
        options.push(gone(thread, found.span(), cost));
    }
    Some(place(thread, found.span(), cost, options))
}

/// What else it may be, itself among them.
fn weaker(now: Strength) -> Vec<u8> {
    let all: &[u8] = match now.what {
        What::Load => &[0, STRONG, STRONG | ACQUIRES],
        What::Store => &[0, STRONG, STRONG | RELEASES],
        What::Atomic => &[STRONG, STRONG | ACQUIRES, STRONG | RELEASES, STRONG | ACQUIRES | RELEASES],
        What::Fence | What::Membar => &[STRONG, STRONG | SC],
        What::Arrive => &[STRONG, STRONG | RELEASES],
        What::Wait => &[STRONG, STRONG | ACQUIRES],
        // It is left out with its wait or not at all.
        What::Meet => &[],
    };
    all.iter().copied().filter(|kinds| kinds & !now.kinds == 0 && now.kinds != 0).collect()
}

/// The scopes that it may have then, none for a weak access; the instruction as it is is left out.
fn reaches(test: &Test, now: Strength, kinds: u8) -> Vec<Option<Scope>> {
    if kinds == 0 {
        return vec![None];
    }
    let Some(own) = now.scope else { return Vec::new() };
    let narrower = scopes(test).into_iter().filter(|scope| *scope < own);
    let same = (kinds != now.kinds).then_some(own);
    narrower.chain(same).map(Some).collect()
}

/// An arrival at an mbarrier of another CTA reaches that CTA.
fn may_reach(found: &Instruction, scope: Option<Scope>) -> bool {
    let is_remote = found.modifiers.iter().any(|word| word.node == "shared::cluster");
    found.opcode.node != "mbarrier" || !is_remote || scope.is_none_or(|scope| scope >= Scope::Cluster)
}

fn reach(scope: Scope) -> u8 {
    (1..).zip(SCOPES).find(|(_, own)| *own == scope).map_or(0, |(reach, _)| reach)
}

fn semantics(now: Strength, kinds: u8) -> &'static str {
    match now.what {
        What::Fence if kinds & SC != 0 => "sc",
        What::Fence => "acq_rel",
        _ => match (kinds & ACQUIRES != 0, kinds & RELEASES != 0) {
            (true, true) => "acq_rel",
            (true, false) => "acquire",
            (false, true) => "release",
            (false, false) if kinds == 0 => "weak",
            (false, false) => "relaxed",
        },
    }
}

/// The modifiers with these words in place of those that are there.
fn reworded(found: &Instruction, semantics: &str, scope: Option<&str>) -> Option<Vec<String>> {
    let first = semantics_position(found)?;
    let is_word = |word: &str| SEMANTICS.contains(&word) || SCOPE_WORDS.contains(&word);
    let modifiers: Vec<&str> = found.modifiers.iter().map(|word| word.node.as_str()).collect();
    let own = (first..modifiers.len()).find(|at| is_word(modifiers[*at])).unwrap_or(first);
    let head = modifiers[..own].iter().copied();
    let tail = modifiers[own..].iter().copied().filter(|word| !is_word(word));
    Some(head.chain([semantics]).chain(scope).chain(tail).map(str::to_owned).collect())
}

pub(super) fn reword(thread: ThreadId, found: &Instruction, opcode: String, modifiers: Vec<String>) -> Change {
    Change::Reword { thread, span: found.span(), opcode, modifiers }
}

/// `prel` and `pacq` are relaxed accesses that order persists: with a narrower scope, or as what they are without that.
fn persist_words(test: &Test, costs: &Costs, thread: ThreadId, found: &Instruction) -> Option<Place> {
    let row = found.opcode.node.as_str();
    let access = match row {
        "prel" => "st",
        "pacq" => "ld",
        _ => return None,
    };
    let has = |word: &str| found.modifiers.iter().any(|own| own.node == word);
    let own = SCOPES.into_iter().find(|scope| has(scope_word(*scope)))?;
    let cost = costs.of(row, scope_word(own));
    let with = |words: [&str; 2]| {
        let words = words.into_iter().filter(|word| !word.is_empty());
        let rest = found.modifiers.iter().map(|word| word.node.as_str()).filter(|word| !SCOPE_WORDS.contains(word));
        words.chain(rest).map(str::to_owned).collect::<Vec<String>>()
    };
    let mut options = Vec::new();
    for scope in scopes(test).into_iter().filter(|scope| *scope < own).chain([own]) {
        let (reach, word) = (reach(scope), scope_word(scope));
        let mut add = |kinds, opcode: &str, modifiers, then: u32| {
            let edits = vec![plain(reword(thread, found, opcode.to_owned(), modifiers))];
            let saves = saving(cost, then);
            options.extend(saves.map(|saves| Weaker { edits, level: Level { kinds, reach }, saves }));
        };
        if scope != own {
            add(3, row, with([word, ""]), costs.of(row, word));
        }
        add(1, access, with(["relaxed", word]), costs.of("relaxed", word));
    }
    Some(place(thread, found.span(), cost, options))
}

/// An arrival at the barrier of a cluster that releases nothing.
fn cluster_arrival(costs: &Costs, thread: ThreadId, found: &Instruction) -> Option<Place> {
    let has = |word: &str| found.modifiers.iter().any(|own| own.node == word);
    if found.opcode.node != "barrier" || !has("cluster") || !has("arrive") || has("relaxed") {
        return None;
    }
    let words = found.modifiers.iter().map(|word| word.node.as_str()).filter(|word| *word != "release");
    let modifiers = words.flat_map(|word| [word].into_iter().chain((word == "arrive").then_some("relaxed")));
    let modifiers = modifiers.map(str::to_owned).collect();
    let (cost, relaxed) = (costs.of("release", "cluster"), costs.of("relaxed", "cluster"));
    let edits = vec![plain(reword(thread, found, found.opcode.node.to_string(), modifiers))];
    let option = Weaker { edits, level: Level { kinds: STRONG, reach: 1 }, saves: saving(cost, relaxed)? };
    Some(place(thread, found.span(), cost, vec![option]))
}
