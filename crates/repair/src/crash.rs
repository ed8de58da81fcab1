//! What a test lacks that a crash may leave in a state that must not be: the weakest single change with which no crash does.
//!
//! The changes are those of the language of persistency, at every place: an `ofence` or a `dfence` put in, a `dfence` for an
//! `ofence`, a wider scope of a `prel` or `pacq` or of both ends of a pair, a `prel` for a store and a `pacq` for a load. They are
//! tried by what they cost the hardware, and of equally cheap ones the one that rules out fewest states is told. Each changed test is
//! checked again: the question holds, and no other answer is worse.
//!
//! A change that leaves the crash possible that breaks the promise is no cure, which is mostly seen without a check: a fence orders
//! only persists of its thread before it, so one of those must be lost; and a release or acquire orders only over a message
//! that was read. Of what is left, whether the changed program can still crash so is asked before anything else.

use fencepost_check::judge::found::{Checked, Crashed, Shown};
use fencepost_check::judge::layers::check_as_read;
use fencepost_check::look::crash::{self, is_persist};
use fencepost_check::model::facts::Watched;
use fencepost_check::model::load::LoadedModel;
use fencepost_check::options::{CrossCheck, Options, Outcomes, Wanted};
use fencepost_check::test::{Test, load_litmus, persist_granularity};
use fencepost_program::program::{self, Condition, Question, Term};
use fencepost_program::value::Value;
use fencepost_program::{EventId, ThreadId};
use fencepost_report::crash::{Crashes, RecoveryAnswer};
use fencepost_report::piece::Piece;
use fencepost_report::verdict::Verdict;
use fencepost_report::{Missing, RaceAnswer, Report};
use fencepost_syntax::instruction::{Instruction, Operand};
use fencepost_syntax::litmus::{Arch, Comparison, Litmus, QuestionKind, print};
use fencepost_syntax::sorted::SharedSort as _;
use fencepost_syntax::sorted::{SortedMap, SortedSet};
use fencepost_syntax::{Severity, Source};

use crate::edit::{Change, Edit, SCOPES};
use crate::scene::Scene;
use crate::scene::anchor::{Anchor, Side, instruction};

/// No more changed tests than this are checked.
const MOST_TRIED: usize = 400;

/// What each change costs: an order that is buffered, a release or acquire by its scope, a wait for the memory.
const ORDER: u32 = 1;
const RELEASE: u32 = 2;
const DURABILITY: u32 = 8;

/// Says what is missing where a crash breaks a promise.
pub(crate) fn diagnose_crashes(test: &Test, model: &LoadedModel, options: &Options, checked: &mut Checked) {
    let Some(crashes) = &checked.report.crashes else { return };
    let own = |kind: &str, verdict: &Verdict| *verdict == Verdict::Violated && kind != "exists";
    let broken = crashes.questions.iter().enumerate().filter(|(_, answer)| own(&answer.kind, &answer.verdict));
    let broken: Vec<Promise> = broken.map(|(at, _)| Promise::Crash(at)).collect();
    let answers = crashes.recovery.iter().flat_map(|recovery| &recovery.questions).enumerate();
    let unrecovered = answers.filter(|(_, answer)| own(&answer.kind, &answer.verdict));
    let unrecovered: Vec<Promise> = unrecovered.map(|(at, _)| Promise::Recovery(at)).collect();
    let cross_check = CrossCheck::Off;
    let options = Options { outcomes: Outcomes::Skip, races: Wanted::No, cross_check, ..options.clone() };
    for promise in broken.into_iter().chain(unrecovered) {
        let attempt = Attempt { test, model, options: &options, before: &checked.report, promise };
        let found = attempt.weakest(checked);
        if let (Some(missing), Some(crashes)) = (found, &mut checked.report.crashes) {
            promise.tell(crashes, missing);
        }
    }
}

/// A question that must not be broken.
#[derive(Copy, Clone)]
enum Promise {
    Crash(usize),
    Recovery(usize),
}

impl Promise {
    fn is_kept(self, report: &Report) -> bool {
        let Some(crashes) = &report.crashes else { return false };
        let recovery = |at: usize| crashes.recovery.as_ref().and_then(|recovery| recovery.questions.get(at));
        let verdict = match self {
            Promise::Crash(at) => crashes.questions.get(at).map(|answer| &answer.verdict),
            Promise::Recovery(at) => recovery(at).map(|answer| &answer.verdict),
        };
        verdict == Some(&Verdict::Holds)
    }

    fn tell(self, crashes: &mut Crashes, missing: Vec<Missing>) {
        let recovery = crashes.recovery.as_mut().map(|recovery| &mut recovery.questions);
        let own = match self {
            Promise::Crash(at) => crashes.questions.get_mut(at).map(|answer| &mut answer.missing),
            Promise::Recovery(at) => recovery.and_then(|all| all.get_mut(at)).map(|answer| &mut answer.missing),
        };
        if let Some(own) = own {
            *own = missing;
        }
    }
}

/// A change, and what it costs.
struct Guess {
    edits: Vec<Edit>,
    cost: u32,
}

impl Guess {
    fn one(change: Change, cost: u32) -> Guess {
        Guess { edits: vec![Edit { change, reason: None, section: "", cost }], cost }
    }

    fn both(self, other: Guess) -> Guess {
        let edits = self.edits.into_iter().chain(other.edits).collect();
        Guess { edits, cost: self.cost + other.cost }
    }
}

struct Attempt<'a> {
    test: &'a Test,
    model: &'a LoadedModel,
    options: &'a Options,
    before: &'a Report,
    promise: Promise,
}

/// Whose threads are changed.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Part {
    Program,
    Recovery,
}

impl Attempt<'_> {
    fn weakest(&self, checked: &Checked) -> Option<Vec<Missing>> {
        let evidence = checked.evidence.crash.as_ref()?;
        let crashes: Vec<&Crashed> = match self.promise {
            Promise::Crash(at) => evidence.crashes.get(at)?.iter().collect(),
            Promise::Recovery(at) => evidence.recoveries.get(at)?.iter().flat_map(|found| &found.crashes).collect(),
        };
        let mut guesses: Vec<(Part, Guess)> = Vec::new();
        // The first crash is the program's, and the others are of recoveries.
        for (at, part) in [Part::Program, Part::Recovery].into_iter().enumerate() {
            let own = if at == 0 { crashes.get(..1) } else { crashes.get(1..) };
            let (Some(litmus), Some(own)) = (part.of(&self.test.litmus), own) else { continue };
            let helps = Helps::new(own);
            guesses.extend(all(&litmus, &self.test.source, &helps).into_iter().map(|guess| (part, guess)));
        }
        guesses.shared_sort_by_key(|(_, guess)| guess.cost);
        guesses.truncate(MOST_TRIED);
        let by_cost = guesses.chunk_by(|(_, one), (_, other)| one.cost == other.cost);
        let (part, edits) = by_cost.into_iter().find_map(|alike| self.weakest_of(alike, &crashes))?;
        let mut test = self.test.clone();
        test.litmus = part.of(&self.test.litmus)?;
        let unfolding = checked.evidence.unfolding.as_ref()?;
        let execution = evidence.any.as_ref()?;
        let watching = Watched::new(&self.model.model, &self.model.vocabulary);
        let mut missing = Edit::all_missing(&edits, &Scene::new(&test, unfolding, execution, &watching));
        if part == Part::Recovery {
            missing.iter_mut().for_each(of_recovery);
        }
        Some(missing)
    }

    /// Of equally cheap changes that keep the promise, the one that rules out fewest states.
    fn weakest_of(&self, alike: &[(Part, Guess)], crashes: &[&Crashed]) -> Option<(Part, Vec<Edit>)> {
        let mut cures: Vec<(u64, Part, &Guess, Test)> = Vec::new();
        for (part, guess) in alike {
            if self.options.budget.is_over() {
                return None;
            }
            let Some(test) = self.changed(*part, &guess.edits) else { continue };
            let states = match (part, crashes.first()) {
                (Part::Program, Some(crashed)) => self.states_without(&test, crashed),
                _ => Some(0),
            };
            cures.extend(states.map(|states| (states, *part, guess, test)));
        }
        // The first of the text among those that leave most.
        cures.shared_sort_by_key(|(states, ..)| std::cmp::Reverse(*states));
        let mut cures = cures.into_iter();
        cures.find(|(.., test)| self.is_cured(test)).map(|(_, part, guess, _)| (part, guess.edits.clone()))
    }

    /// The changed test.
    fn changed(&self, part: Part, edits: &[Edit]) -> Option<Test> {
        let edits: Vec<&Edit> = edits.iter().collect();
        let changed = Edit::apply_all(&edits, &part.of(&self.test.litmus)?)?;
        let source = Source::new(self.test.source.name.clone(), print(&part.put(changed, &self.test.litmus)));
        let (mut tests, diagnostics) = load_litmus(&source);
        if diagnostics.iter().any(|found| found.severity == Severity::Error) {
            return None;
        }
        let test = tests.pop()?;
        Some(persist_granularity::cut(&test, self.options.persist_granularity).unwrap_or(test))
    }

    /// Whether the changed test keeps the promise, and no other answer is worse.
    fn is_cured(&self, test: &Test) -> bool {
        if self.options.budget.is_over() {
            return false;
        }
        let report = check_as_read(test, self.model, self.options).report;
        self.promise.is_kept(&report) && !is_worse(self.before, &report) && !self.adds_races(test)
    }

    /// Whether accesses race in the changed test that did not, or that may.
    fn adds_races(&self, test: &Test) -> bool {
        let before = &self.before.races;
        if !matches!(before.answer, RaceAnswer::None | RaceAnswer::Found) {
            return false;
        }
        // Whether nothing races is known of executions that were counted.
        let options = Options { races: Wanted::Yes, outcomes: Outcomes::Capped, ..self.options.clone() };
        let after = check_as_read(test, self.model, &options).report.races;
        match after.answer {
            RaceAnswer::None | RaceAnswer::NotDefined => false,
            RaceAnswer::Found => !before.more && (after.more || after.pairs.len() > before.pairs.len()),
            RaceAnswer::Depends | RaceAnswer::Unknown | RaceAnswer::NotAsked => before.answer == RaceAnswer::None,
        }
    }

    /// How many states crashes of the changed program leave; None if the one that broke the promise is among them.
    fn states_without(&self, test: &Test, crashed: &Crashed) -> Option<u64> {
        let terms = crash::terms(&self.test.program);
        let equal = |(term, value): (Term, &Option<Value>)| {
            let right = Term::Constant((*value)?);
            Some(Condition::Compare { op: Comparison::Equal, left: term, right })
        };
        let condition = Condition::And(terms.into_iter().zip(&crashed.state).filter_map(equal).collect());
        let question = Question { kind: QuestionKind::Exists, name: None, condition, span: test.litmus.span() };
        let mut program = test.program.clone();
        program.crash = program::Crash { questions: vec![question], recovery: None };
        program.questions.clear();
        let options = Options { termination: Wanted::No, ..self.options.clone() };
        let report = check_as_read(&test.with_program(program), self.model, &options).report;
        let found = report.crashes?;
        let is_gone = found.questions.iter().all(|answer| answer.verdict == Verdict::Violated);
        is_gone.then(|| found.state_count())
    }
}

/// Threads of the recovery program have names of their own, which are those of other threads too.
fn of_recovery(missing: &mut Missing) {
    let name = |thread: &mut String| thread.push_str(" of the recovery program");
    name(&mut missing.thread);
    match &mut missing.what {
        Piece::Inserted { places, .. } => places.iter_mut().for_each(|place| name(&mut place.thread)),
        Piece::Replaced { at, .. } => name(&mut at.thread.0),
        _ => {}
    }
}

/// Where a change may help against crashes.
struct Helps {
    /// Per thread, where its first persist stands that was lost.
    lost: SortedMap<ThreadId, u32>,
    /// Where the writes and reads stand that pass something from thread to thread.
    messages: SortedSet<(ThreadId, u32)>,
}

impl Helps {
    fn new(crashes: &[&Crashed]) -> Helps {
        let (mut lost, mut messages) = (SortedMap::new(), SortedSet::new());
        for Crashed { shown: Shown { execution, of }, crash, .. } in crashes {
            let place = |event: EventId| {
                let event = of.events.get(event.index())?;
                Some((event.thread?, event.span.start))
            };
            let is_lost = |event: &&EventId| is_persist(of, **event) && !crash.durable.contains(event);
            for (thread, at) in execution.events.iter().filter(is_lost).filter_map(|event| place(*event)) {
                let first = lost.entry(thread).or_insert(at);
                *first = at.min(*first);
            }
            for (write, read) in execution.rf.iter().filter(|(_, read)| crash.happened.contains(read)) {
                if let (Some(write), Some(read)) = (place(*write), place(*read))
                    && write.0 != read.0
                {
                    messages.extend([write, read]);
                }
            }
        }
        Helps { lost, messages }
    }

    /// Whether a persist of the thread was lost that stands before this place.
    fn orders(&self, thread: ThreadId, at: u32) -> bool {
        self.lost.get(&thread).is_some_and(|first| *first < at)
    }

    fn passes(&self, thread: ThreadId, at: u32) -> bool {
        self.messages.contains(&(thread, at))
    }
}

impl Part {
    /// A test with these threads.
    fn of(self, litmus: &Litmus) -> Option<Litmus> {
        match self {
            Part::Program => Some(litmus.clone()),
            Part::Recovery => Some(Litmus { threads: litmus.recovery.as_ref()?.threads.clone(), ..litmus.clone() }),
        }
    }

    /// The whole test with the changed threads in their place.
    fn put(self, changed: Litmus, litmus: &Litmus) -> Litmus {
        match (self, litmus.recovery.clone()) {
            (Part::Recovery, Some(recovery)) => {
                let recovery = Some(fencepost_syntax::litmus::Recovery { threads: changed.threads, ..recovery });
                Litmus { recovery, ..litmus.clone() }
            }
            _ => changed,
        }
    }
}

/// Whether an answer that was right is not any more, or an outcome that was there is gone.
fn is_worse(before: &Report, after: &Report) -> bool {
    let crashes = |report: &Report| -> Vec<Verdict> {
        let Some(found) = &report.crashes else { return Vec::new() };
        let recovered = found.recovery.iter().flat_map(|recovery| &recovery.questions);
        let recovered = recovered.map(|answer: &RecoveryAnswer| answer.verdict.clone());
        found.questions.iter().map(|answer| answer.verdict.clone()).chain(recovered).collect()
    };
    let questions = |report: &Report| -> Vec<Verdict> {
        report.questions.iter().map(|answer| answer.verdict.clone()).chain(crashes(report)).collect()
    };
    let (before, after) = (questions(before), questions(after));
    before.len() != after.len()
        || before.iter().zip(&after).any(|(before, after)| *before == Verdict::Holds && *after != Verdict::Holds)
}

/// Every change of these threads.
fn all(litmus: &Litmus, source: &Source, helps: &Helps) -> Vec<Guess> {
    let mut guesses = Vec::new();
    let (mut releases, mut acquires) = (Vec::new(), Vec::new());
    for (index, thread) in litmus.threads.iter().enumerate().filter(|(_, thread)| thread.arch == Arch::Ptx) {
        let id = ThreadId::new(index);
        let last = thread.body.iter().filter_map(instruction).count().saturating_sub(1);
        for (at, tree) in thread.body.iter().filter_map(instruction).enumerate() {
            let anchor = Anchor { thread: id, span: tree.span(), side: Side::Before };
            let insert = |text: &str| Change::Insert { at: vec![(anchor, format!("{text};"))] };
            if at > 0 && helps.orders(id, tree.span().start) {
                guesses.push(Guess::one(insert("ofence"), ORDER));
                guesses.push(Guess::one(insert("dfence"), DURABILITY));
            }
            // What waits for the end of the thread, a kernel or the host, goes on when its persists are durable.
            let is_end = at == last && !matches!(tree.opcode.node.as_str(), "ret" | "exit" | "bra");
            if is_end && helps.orders(id, tree.span().start + 1) {
                let behind = Anchor { side: Side::After, ..anchor };
                let insert = |text: &str| Change::Insert { at: vec![(behind, format!("{text};"))] };
                guesses.push(Guess::one(insert("ofence"), ORDER));
                guesses.push(Guess::one(insert("dfence"), DURABILITY));
            }
            let replace = |by: String| Change::Replace { thread: id, span: tree.span(), by };
            if tree.opcode.node == "ofence" && helps.orders(id, tree.span().start) {
                guesses.push(Guess::one(replace("dfence;".to_owned()), DURABILITY));
            }
            let wider = if helps.passes(id, tree.span().start) { scoped(tree, source) } else { Vec::new() };
            for (scope, end) in wider {
                let cost = RELEASE + scope;
                let ends = if is_release(tree) { &mut releases } else { &mut acquires };
                ends.push((address(tree), replace(end.clone()), cost));
                guesses.push(Guess::one(replace(end), cost));
            }
        }
    }
    for (place, release, cost) in &releases {
        for (_, acquire, more) in acquires.iter().filter(|(other, ..)| other == place) {
            guesses.push(Guess::one(release.clone(), *cost).both(Guess::one(acquire.clone(), *more)));
        }
    }
    guesses
}

/// An access as a `prel` or `pacq` of each scope that is wider than its own, or its own if it is neither yet: the number of the
/// scope, and the text. A narrower one would leave threads out that the access has been strong to.
fn scoped(tree: &Instruction, source: &Source) -> Vec<(u32, String)> {
    let own = match tree.opcode.node.as_str() {
        "prel" | "st" => "prel",
        "pacq" | "ld" => "pacq",
        _ => return Vec::new(),
    };
    let words: Vec<&str> = tree.modifiers.iter().map(|word| word.node.as_str()).collect();
    let is_vector = words.iter().any(|word| word.starts_with('v') && word.len() == 2);
    let Some((first, last)) = tree.operands.first().zip(tree.operands.last()).filter(|_| !is_vector) else {
        return Vec::new();
    };
    let is_same = tree.opcode.node == own;
    let before = words.iter().filter_map(|word| SCOPES.iter().position(|scope| scope == word)).next();
    let is_system = words.iter().any(|word| matches!(*word, "volatile" | "mmio"));
    let before = before.or_else(|| is_system.then(|| SCOPES.len() - 1));
    let least = before.map_or(0, |at| if is_same { at + 1 } else { at });
    const STRENGTH: [&str; 5] = ["weak", "relaxed", "acquire", "release", "volatile"];
    let kept: Vec<&str> =
        words.iter().copied().filter(|word| !SCOPES.contains(word) && !STRENGTH.contains(word)).collect();
    let operands = source.slice(first.span.to(last.span));
    let guard = tree
        .guard
        .as_ref()
        .map_or(String::new(), |guard| format!("@{}{} ", if guard.negated { "!" } else { "" }, guard.register.node));
    let text = |scope: &str| {
        let words: Vec<&str> = [own, scope].into_iter().chain(kept.iter().copied()).collect();
        format!("{guard}{} {operands};", words.join("."))
    };
    let wider = SCOPES.iter().enumerate().skip(least).filter(|(_, scope)| **scope != "cluster");
    wider.map(|(at, scope)| (at as u32, text(scope))).collect()
}

fn is_release(tree: &Instruction) -> bool {
    matches!(tree.opcode.node.as_str(), "st" | "prel")
}

/// The text of the address of an access, to find the two ends of a message.
fn address(tree: &Instruction) -> Option<Operand> {
    let is_place = |operand: &&fencepost_syntax::Spanned<Operand>| {
        matches!(operand.node, Operand::Address(_) | Operand::Symbol(_))
    };
    tree.operands.iter().find(is_place).map(|operand| operand.node.clone())
}
