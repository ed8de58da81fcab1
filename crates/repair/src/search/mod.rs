//! The search for what a race lacks: ways through the synchronisation first, then smaller changes than the best of them.
//! A cure is cut down: pieces that are not needed go, and pieces that are needed only because another stands at the wrong
//! place go with it moved. Of two cures the smaller one is told, unless the larger one leaves no race or answers the questions.

use fencepost_check::model::role::Relation;
use fencepost_program::EventId;
use fencepost_report::reason::{Reason, Strength};
use fencepost_syntax::sorted::SharedSort as _;

use crate::edit::{Change, Edit, Moved, Polled, Semantics, size};
use crate::propose::catalogue::{ALIKE, LIKELY, LINES, OTHER_MISTAKES, Proposer, SEVERAL, SMALLER, offered};
use crate::propose::way::SKIPPED;
use crate::propose::way::link::Plan;
use crate::propose::{adjust, combined};
use crate::scene::anchor::{Anchor, Side};
use crate::scene::{Scene, loops};
use crate::scene::{slots, statement};
use crate::verify::{Found, Verifier};
use crate::verify::{observe, rounds};

/// Plans that are tried for one race.
const MOST_PLANS: usize = 8;
/// How far a piece is moved so that another is not needed.
const NEAR: usize = 3;
/// The size of an instruction that is put in.
const SMALL: u32 = 6;
/// The size of a loop that waits.
const LIKELY_SIZE: u32 = 7;
/// What a cure that leaves other races, or leaves a question answered as it should not be, counts more.
const OTHERS_LEFT: u32 = 3;
const NOT_RIGHT: u32 = 6;
/// And one with which a thread reads what comes next.
const SKIPS: u32 = 8;

/// A cure.
#[derive(Clone)]
pub(crate) struct Cure {
    pub(crate) from: EventId,
    pub(crate) to: EventId,
    pub(crate) edits: Vec<Edit>,
    found: Found,
    /// The order skips what the reader has waited for.
    is_skip: bool,
}

impl Cure {
    /// What it says of the other races of the test: nothing is left of them.
    pub(crate) fn is_clean(&self) -> bool {
        self.found == Found::Clean
    }

    /// Whether it is a loop that waits and nothing else.
    fn waits(&self) -> bool {
        matches!(self.edits.as_slice(), [Edit { change: Change::Poll { .. }, .. }])
    }

    fn is_likely(&self) -> bool {
        self.is_clean() && self.score() <= LIKELY_SIZE
    }

    /// Whether a question that is answered wrongly still is.
    pub(crate) fn leaves_wrong(&self) -> bool {
        self.found == Found::Gone
    }

    /// Whether the thread would use what comes next instead of what it waited for: the last thing that is meant.
    fn is_of_next(&self) -> bool {
        let next = |edit: &Edit| {
            matches!(
                edit.change,
                Change::Poll { polled: Polled::Again | Polled::EveryRound, .. }
                    | Change::Move { what: Moved::Access, .. }
            )
        };
        self.is_skip || self.edits.iter().any(next)
    }

    /// Whether it is one proxy fence between accesses that are in base causality order.
    fn is_proxy_fence(&self, scene: &Scene<'_>) -> bool {
        let [edit] = self.edits.as_slice() else { return false };
        let fences = |at: &[(Anchor, String)]| at.iter().all(|(_, text)| text.starts_with("fence.proxy."));
        matches!(&edit.change, Change::Insert { at } if fences(at))
            && scene.holds(Relation::BaseCausality, self.from, self.to)
    }

    fn score(&self) -> u32 {
        let more = match self.found {
            Found::Clean => 0,
            Found::Right => OTHERS_LEFT,
            Found::Gone | Found::Against | Found::Stays | Found::Unknown => NOT_RIGHT,
        };
        size(&self.edits) + more + if self.is_skip { SKIPS } else { 0 }
    }
}

/// Whether something else than a fence is moved.
fn moves_other(scene: &Scene<'_>, edit: &Edit) -> bool {
    matches!(edit.change, Change::Move { span, .. } if !scene.test.instruction_text(span).starts_with("fence."))
}

/// The pieces of a plan that the text does not have: what was not checked must not deny what is there.
fn lacking(scene: &Scene<'_>, plan: &Plan) -> Plan {
    let has = |anchor: &Anchor, text: &str| {
        let mut own = statement::instructions(scene).into_iter().filter(|here| here.thread == anchor.thread);
        own.any(|here| statement::spelled(scene, here) == text.trim_end_matches(';').trim())
    };
    let is_there = |edit: &Edit| match &edit.change {
        Change::Insert { at } => at.iter().all(|(anchor, text)| has(anchor, text)),
        _ => false,
    };
    // A wait for operations on tensor memory stands best behind them: a fence that is there may need it.
    let behind = scene.anchor(scene.at(plan.from), Side::After);
    let placed = |edit: &Edit| match (&edit.change, behind) {
        (Change::Insert { at }, Some(behind)) if at.iter().any(|(_, text)| text.starts_with("tcgen05.wait")) => {
            let at = at.iter().map(|(_, text)| (behind, text.clone())).collect();
            Edit { change: Change::Insert { at }, ..edit.clone() }
        }
        _ => edit.clone(),
    };
    Plan { edits: plan.edits.iter().filter(|edit| !is_there(edit)).map(placed).collect(), ..plan.clone() }
}

pub(crate) struct Search<'s, 'a> {
    scene: &'s Scene<'a>,
    verifier: &'s Verifier<'a>,
    pair: (EventId, EventId),
    /// The test has loops that do more than to wait.
    is_looped: bool,
    best: Option<Cure>,
    /// The cheapest that was too much to check.
    undecided: Option<Plan>,
    /// The smallest that orders the accesses and leaves no execution with the outcome that is asked for.
    against: Option<Plan>,
}

/// What came of it.
pub(crate) enum Outcome {
    Cured(Cure),
    /// It orders the accesses, and then no execution has the outcome that is asked for.
    Against(Plan),
    /// Too much to check.
    Probably(Plan),
    /// There are ways, and none is a cure.
    Unsolved,
    /// There is nothing to build on.
    Nothing,
}

/// A cure of another race that leaves none.
pub(crate) fn adopt(
    scene: &Scene<'_>,
    verifier: &Verifier<'_>,
    pair: (EventId, EventId),
    edits: &[Edit],
) -> Option<Cure> {
    let search = Search::new(scene, verifier, pair);
    let found = search.check(edits);
    (found == Found::Clean).then(|| Cure { from: pair.0, to: pair.1, edits: edits.to_vec(), found, is_skip: false })
}

/// A cure of another race of the test that leaves none is taken at once if it is small: one mistake, several races.
pub(crate) fn search(
    scene: &Scene<'_>,
    verifier: &Verifier<'_>,
    pair: (EventId, EventId),
    found: &[Plan],
    others: &[Vec<Edit>],
) -> Outcome {
    let mut search = Search::new(scene, verifier, pair);
    for edits in others {
        if size(edits) < search.bound()
            && let Some(cure) = adopt(scene, verifier, pair, edits)
        {
            search.best = Some(cure);
        }
    }
    match search.best.take() {
        Some(cure) if cure.score() <= SMALL || cure.is_clean() && search.is_looped => {
            return Outcome::Cured(cure);
        }
        best => search.best = best,
    }
    search.guesses();
    match search.best.take() {
        Some(cure) if cure.is_clean() => return Outcome::Cured(cure),
        best => search.best = best,
    }
    search.ask(LIKELY);
    if search.best.as_ref().is_some_and(|cure| cure.is_likely() && cure.waits()) {
        search.nearer(found);
    }
    match search.best.take() {
        Some(cure) if cure.is_likely() => return Outcome::Cured(cure),
        best => search.best = best,
    }
    for plan in found.iter().take(MOST_PLANS) {
        search.offer(plan);
        if search.best.as_ref().is_some_and(|best| best.found <= Found::Right && !best.is_of_next()) {
            break;
        }
    }
    search.ask(SMALLER);
    if search.best.is_none() {
        search.several();
    }
    if search.best.is_none() {
        search.alike();
    }
    search.outcome(found)
}

impl<'s, 'a> Search<'s, 'a> {
    fn new(scene: &'s Scene<'a>, verifier: &'s Verifier<'a>, pair: (EventId, EventId)) -> Search<'s, 'a> {
        let is_looped = !loops::loops_of(&scene.test.litmus).is_empty();
        Search { scene, verifier, pair, is_looped, best: None, undecided: None, against: None }
    }

    fn outcome(self, found: &[Plan]) -> Outcome {
        match (self.best, self.undecided) {
            (Some(cure), _) => Outcome::Cured(cure),
            (None, _) if self.against.is_some() => self.against.map_or(Outcome::Nothing, Outcome::Against),
            (None, Some(plan)) => Outcome::Probably(plan),
            (None, None) if found.is_empty() => Outcome::Nothing,
            (None, None) => Outcome::Unsolved,
        }
    }

    /// What each of these proposers has to offer, where it is smaller than what there is.
    fn ask(&mut self, proposers: &[Proposer]) {
        let scene = self.scene;
        for proposer in proposers.iter().filter(|proposer| proposer.is_for(scene)) {
            for plan in (proposer.propose)(scene, self.pair) {
                let size = proposer.no_guess.unwrap_or_else(|| size(&plan.edits));
                let is_late = proposer.no_guess.is_none() && self.verifier.is_tired();
                if size < self.bound() && !is_late && !self.is_beside_proxy_fence(&plan) {
                    self.offer_quietly(&plan);
                }
            }
        }
    }

    /// Where the order is there and only the fence between the proxies is not, nothing but a fence stands wrong.
    fn is_beside_proxy_fence(&self, plan: &Plan) -> bool {
        self.best.as_ref().is_some_and(|best| best.is_proxy_fence(self.scene))
            && plan.edits.iter().any(|edit| moves_other(self.scene, edit))
    }

    /// What is likely may be too much: ways that are nearly there and need less come first.
    fn nearer(&mut self, found: &[Plan]) {
        for plan in found.iter().take(MOST_PLANS) {
            // Fences that are there already are left out again.
            let is_other = plan.edits.iter().any(|edit| OTHER_MISTAKES.iter().any(|is| is(self.scene, edit)));
            if !is_other && size(&lacking(self.scene, plan).edits) < self.bound() {
                self.offer_quietly(plan);
            }
        }
    }

    fn check(&self, edits: &[Edit]) -> Found {
        let edits: Vec<&Edit> = edits.iter().collect();
        self.verifier.check(&edits, self.pair, self.scene.unfolding)
    }

    /// Whether it is a cure with more rounds too.
    fn lasts(&self, cure: &Cure) -> bool {
        let edits: Vec<&Edit> = cure.edits.iter().collect();
        let race = observe::places(self.scene.unfolding, self.pair);
        self.verifier.lasts(&edits, race, rounds::stages(self.scene))
    }

    fn bound(&self) -> u32 {
        self.best.as_ref().map_or(u32::MAX, Cure::score)
    }

    /// Checks a plan, cuts it down and keeps it if it is better than what there is.
    fn offer(&mut self, plan: &Plan) {
        let found = self.check(&plan.edits);
        // What orders two accesses of an example need not order those of another round.
        if found == Found::Unknown && self.undecided.is_none() && !self.is_looped {
            self.undecided = Some(lacking(self.scene, plan)).filter(|plan| !plan.edits.is_empty());
        }
        self.note(plan, found);
        if found.is_cure() {
            self.keep(plan, plan.edits.clone(), found);
        } else if matches!(found, Found::Stays | Found::Against) {
            self.offer_elsewhere(plan);
        }
    }

    fn note(&mut self, plan: &Plan, found: Found) {
        let smaller = self.against.as_ref().is_none_or(|known| size(&plan.edits) < size(&known.edits));
        if found == Found::Against && smaller {
            self.against = Some(plan.clone());
        }
    }

    /// A wait right before the access may come after an arrive that needs it too.
    fn offer_elsewhere(&mut self, plan: &Plan) {
        let waits = |edit: &Edit| matches!(edit.change, Change::Poll { .. });
        let Some(at) = plan.edits.iter().position(waits) else { return };
        for moved in plan.edits.get(at).map(|edit| self.moved(edit)).unwrap_or_default() {
            let mut edits = plan.edits.clone();
            let Some(slot) = edits.get_mut(at) else { return };
            *slot = moved;
            let found = self.check(&edits);
            if found.is_cure() {
                return self.keep(plan, edits, found);
            }
        }
    }

    fn keep(&mut self, plan: &Plan, edits: Vec<Edit>, found: Found) {
        let is_skip = plan.cost >= SKIPPED;
        let mut cure = Cure { from: plan.from, to: plan.to, edits, found, is_skip };
        self.cut(&mut cure);
        if self.reduce(&mut cure) {
            self.cut(&mut cure);
        }
        self.shift(&mut cure);
        self.raise(&mut cure);
        if cure.score() < self.bound() && self.lasts(&cure) {
            self.best = Some(cure);
        }
    }

    /// Leaves out what is not needed, the last pieces first. What another piece needs is not needed once that is left out.
    fn cut(&self, cure: &mut Cure) {
        if self.is_only_strong(cure) {
            return;
        }
        let mut before = usize::MAX;
        while cure.edits.len() < before {
            before = cure.edits.len();
            for at in (0..cure.edits.len()).rev().filter(|_| before > 1) {
                let mut fewer = cure.edits.clone();
                fewer.remove(at);
                let found = if fewer.is_empty() { Found::Stays } else { self.check(&fewer) };
                if found <= cure.found {
                    (cure.edits, cure.found) = (fewer, found);
                }
            }
        }
    }

    /// Whether it makes the two accesses strong and does nothing else: that orders nothing, and one of them alone is not morally
    /// strong with the other (PTX ISA 8.7).
    fn is_only_strong(&self, cure: &Cure) -> bool {
        let is_of_pair = |edit: &Edit| {
            let Change::Strengthen { thread, span, semantics: Some(Semantics::Relaxed), .. } = &edit.change else {
                return false;
            };
            let is = |id: EventId| self.scene.thread(id) == Some(*thread) && self.scene.event(id).span == *span;
            is(self.pair.0) || is(self.pair.1)
        };
        cure.edits.len() == 2 && cure.edits.iter().all(is_of_pair)
    }

    /// A scope or semantics alone may do, or a commit before a wait that is there; whether it does.
    fn reduce(&self, cure: &mut Cure) -> bool {
        let mut reduced = false;
        for at in 0..cure.edits.len() {
            for half in cure.edits.get(at).map(|edit| self.halves(edit)).unwrap_or_default() {
                let mut less = cure.edits.clone();
                let Some(slot) = less.get_mut(at) else { continue };
                *slot = half;
                let found = self.check(&less);
                if found <= cure.found {
                    (cure.edits, cure.found) = (less, found);
                    reduced = true;
                    break;
                }
            }
        }
        reduced
    }

    /// A fence that is put in beside one that is there may be needed only because what is put in with it stands on the
    /// wrong side of the one that is there.
    fn shift(&self, cure: &mut Cure) {
        let mut again = cure.edits.len() > 1;
        while again {
            let shifted = self.without_one(cure);
            again = shifted.as_ref().is_some_and(|cure| cure.edits.len() > 1);
            if let Some(smaller) = shifted {
                *cure = smaller;
            }
        }
    }

    /// A wait for operations stands before the fences that come behind them: these may be about what it waits for.
    fn raise(&self, cure: &mut Cure) {
        for at in 0..cure.edits.len() {
            let Some(raised) = cure.edits.get(at).and_then(|edit| self.raised(edit)) else { continue };
            let mut edits = cure.edits.clone();
            if let Some(slot) = edits.get_mut(at) {
                *slot = raised;
            }
            let found = self.check(&edits);
            if found <= cure.found {
                (cure.edits, cure.found) = (edits, found);
            }
        }
    }

    fn raised(&self, edit: &Edit) -> Option<Edit> {
        let Change::Insert { at } = &edit.change else { return None };
        let [(anchor, text)] = at.as_slice() else { return None };
        let waits = text.starts_with("tcgen05.wait") || text.contains("wait_group");
        let place = slots::before_fences(&self.scene.test.litmus, anchor).filter(|_| waits)?;
        Some(Edit { change: Change::Insert { at: vec![(place, text.clone())] }, ..edit.clone() })
    }

    fn without_one(&self, cure: &Cure) -> Option<Cure> {
        for left_out in (0..cure.edits.len()).rev() {
            let mut fewer = cure.edits.clone();
            fewer.remove(left_out);
            for at in 0..fewer.len() {
                for moved in self.moved(fewer.get(at)?) {
                    let mut edits = fewer.clone();
                    *edits.get_mut(at)? = moved;
                    let found = self.check(&edits);
                    if found <= cure.found {
                        return Some(Cure { edits, found, ..cure.clone() });
                    }
                }
            }
        }
        None
    }

    /// The same piece a little before or behind.
    fn moved(&self, edit: &Edit) -> Vec<Edit> {
        let near = |anchor: &Anchor| slots::near(&self.scene.test.litmus, anchor, NEAR);
        let with = |change: Change| Edit { change, ..edit.clone() };
        match &edit.change {
            Change::Insert { at } => {
                let mut found = Vec::new();
                for (which, (anchor, text)) in at.iter().enumerate() {
                    for place in near(anchor) {
                        let mut at = at.clone();
                        at[which] = (place, text.clone());
                        found.push(with(Change::Insert { at }));
                    }
                }
                found
            }
            Change::Poll { at, wait, label, polled } => {
                let poll =
                    |at: Anchor| with(Change::Poll { at, wait: wait.clone(), label: label.clone(), polled: *polled });
                near(at).into_iter().map(poll).collect()
            }
            _ => Vec::new(),
        }
    }

    /// One word instead of two, one instruction instead of two.
    fn halves(&self, edit: &Edit) -> Vec<Edit> {
        match &edit.change {
            Change::Strengthen { thread, span, semantics: Some(semantics), scope: Some(scope) } => {
                let one = |semantics, scope| Change::Strengthen { thread: *thread, span: *span, semantics, scope };
                // Without a scope of its own it needs both words.
                let own = statement::starting_at(self.scene, *thread, *span);
                let Some((reason, section)) = own.and_then(|own| adjust::too_narrow(self.scene, own, *scope)) else {
                    return Vec::new();
                };
                let wider = Edit::new(one(None, Some(*scope)), reason, section, edit.cost);
                vec![wider, Edit { change: one(Some(*semantics), None), ..edit.clone() }]
            }
            Change::Insert { at } if at.len() == 1 => {
                let Some((anchor, text)) = at.first() else { return Vec::new() };
                let instructions: Vec<&str> = text.split_inclusive(';').map(str::trim).collect();
                if instructions.len() < 2 {
                    return Vec::new();
                }
                let mut places = vec![*anchor];
                places.extend(slots::near(&self.scene.test.litmus, anchor, NEAR));
                let mut found = Vec::new();
                for one in instructions {
                    let put = |place: &Anchor| Change::Insert { at: vec![(*place, one.to_owned())] };
                    found.extend(places.iter().map(|place| Edit { change: put(place), ..edit.clone() }));
                }
                found
            }
            _ => Vec::new(),
        }
    }

    /// One forgotten line is all that was wrong, or it was another.
    fn guesses(&mut self) {
        let (scene, verifier) = (self.scene, self.verifier);
        if !self.is_looped {
            return;
        }
        let mut all = offered(LINES, scene, self.pair);
        all.shared_sort_by_key(|plan| size(&plan.edits));
        let stages = rounds::stages(scene);
        let bound = self.bound();
        let mends = |plan: &Plan| verifier.mends(&plan.edits.iter().collect::<Vec<_>>(), stages);
        let found = all.into_iter().find(|plan| size(&plan.edits) < bound && mends(plan));
        if let Some(Plan { from, to, edits, .. }) = found {
            self.best = Some(Cure { from, to, edits, found: Found::Clean, is_skip: false });
        }
    }

    /// A guess that cannot be checked says nothing.
    fn offer_quietly(&mut self, plan: &Plan) {
        let found = self.check(&plan.edits);
        self.note(plan, found);
        if found.is_cure() {
            self.keep(plan, plan.edits.clone(), found);
        }
    }

    fn alike(&mut self) {
        let mut all = offered(ALIKE, self.scene, self.pair);
        let is_relaxed = |edit: &Edit| matches!(edit.reason, Some(Reason::Strength(Strength::Relaxed { .. })));
        all.shared_sort_by_key(|plan| !plan.edits.iter().all(is_relaxed));
        for plan in all {
            let found = self.check(&plan.edits);
            if found.is_cure() {
                return self.keep(&plan, plan.edits.clone(), found);
            }
            if found == Found::Unknown && self.undecided.is_none() {
                self.undecided = Some(plan);
            }
        }
    }

    fn several(&mut self) {
        for plan in offered(SEVERAL, self.scene, self.pair) {
            let found = self.check(&plan.edits);
            let enough = found <= Found::Right || found == Found::Gone && plan.cost <= combined::COST;
            if enough {
                self.keep(&plan, plan.edits.clone(), found);
                return;
            }
        }
    }
}
