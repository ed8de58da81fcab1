//! Images of persistent memory: what strict persistency may leave epoch persistency may leave, and what that may leave scoped
//! buffered release persistency may leave, but for four classes of exceptions. Each is known by what the program has, by the
//! rule that `sbrp` has and `epoch` has not, and by its end when the program no longer has it.

#![allow(dead_code, unreachable_pub)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fencepost_axiom::model::shipped;
use fencepost_check::{Session, Test, check, load};
use fencepost_program::tag::Tag;
use fencepost_program::unfolding::{Event, EventKind, Trace};
use fencepost_program::{EventId, LocationId, ThreadId};
use fencepost_syntax::Source;

use super::crash_compare::{Subject, images, loaded, options, state};
use super::crash_literal::State;
use super::crash_programs::{Operation, Order, Program, SPARE};
use super::crash_shrink::shrink;

/// Why an image of `epoch` may be none of `sbrp`.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// Conventional fences order persists (5.2), and are no epoch barriers.
    Fences,
    /// The store of a `prel` is before what its acquirer persists; an epoch ends in front of that store.
    PersistentRelease,
    /// The order of persists is reflected in memory order (5.2), which decides between two threads' writes of one location.
    Coherence,
    /// The same decides what a thread reads of another one's persists, and by that what it persists itself.
    Read,
}

pub const CLASSES: [Class; 4] = [Class::Fences, Class::PersistentRelease, Class::Coherence, Class::Read];

/// Rules that `sbrp` has and `epoch` has not.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Rule {
    Fences,
    PersistentRelease,
    Reflection,
}

impl Class {
    fn rule(self) -> Rule {
        match self {
            Class::Fences => Rule::Fences,
            Class::PersistentRelease => Rule::PersistentRelease,
            Class::Coherence | Class::Read => Rule::Reflection,
        }
    }
}

/// The rules as the text of `sbrp` has them, and the text without each.
const RULES: [(Rule, &str, &str); 3] = [
    (Rule::Fences, "  then OFENCE | DFENCE | ordering-fence\n", "  then OFENCE | DFENCE\n"),
    (Rule::Fences, "else [ordering-fence]; pattern-synchronizes; [ordering-fence]", "else 0"),
    (Rule::Reflection, "synchronizes-with | pmo | (pmo; observation; acquire-pattern)", "synchronizes-with"),
];

/// The models, and `sbrp` without the rules of each set.
pub struct Models {
    pub strict: Subject,
    pub epoch: Subject,
    pub sbrp: Subject,
    without: BTreeMap<BTreeSet<Rule>, Subject>,
}

impl Models {
    pub fn new() -> Models {
        let rules = sets().into_iter().map(|set| rules(&set));
        let without = rules.map(|rules| (rules.clone(), without(&rules))).collect();
        let [strict, epoch, sbrp] = ["strict", "epoch", "sbrp"].map(Subject::shipped);
        Models { strict, epoch, sbrp, without }
    }
}

impl Default for Models {
    fn default() -> Models {
        Models::new()
    }
}

/// The sets of classes, small ones first, without the empty one.
fn sets() -> Vec<BTreeSet<Class>> {
    let members = |bits: usize| CLASSES.iter().enumerate().filter(move |(at, _)| bits >> at & 1 != 0);
    let mut sets: Vec<BTreeSet<Class>> =
        (1..1 << CLASSES.len()).map(|bits| members(bits).map(|(_, class)| *class).collect()).collect();
    sets.sort_by_key(BTreeSet::len);
    sets
}

fn rules(classes: &BTreeSet<Class>) -> BTreeSet<Rule> {
    classes.iter().map(|class| class.rule()).collect()
}

fn without(rules: &BTreeSet<Rule>) -> Subject {
    let mut text = shipped("sbrp").expect("a shipped model").to_owned();
    for (rule, own, instead) in RULES.iter().filter(|(rule, ..)| rules.contains(rule)) {
        assert_eq!(text.matches(own).count(), 1, "the rule {rule:?} has another form");
        text = text.replace(own, instead);
    }
    let subject = Subject::of_text("sbrp-without", &text);
    match rules.contains(&Rule::PersistentRelease) {
        true => subject.with("release-store", "unordered"),
        false => subject,
    }
}

/// What a program has. The syntax of it: the events of all its traces.
fn has(test: &Test, model: &Subject) -> BTreeSet<Class> {
    let options = options(model);
    let session = Session::new(&test.program, model.model(), &options);
    let Ok(unfolding) = session.unfolding() else { return BTreeSet::new() };
    let event = |id: &EventId| &unfolding.events[id.index()];
    let any = |wanted: &dyn Fn(&Event) -> bool| unfolding.events.iter().any(wanted);
    let is_fence = |event: &Event| event.has(Tag::Fence) && (event.has(Tag::AcqRel) || event.has(Tag::Sc));
    let is_release = |event: &Event| event.has(Tag::PersistRelease) && event.has(Tag::Persistent);
    let is_persist = |event: &Event| event.has(Tag::Write) && event.has(Tag::Persistent);
    let mut writers: BTreeMap<LocationId, BTreeSet<ThreadId>> = BTreeMap::new();
    for event in unfolding.events.iter().filter(|event| is_persist(event)) {
        if let (EventKind::Write { location, .. }, Some(thread)) = (&event.kind, event.thread) {
            writers.entry(*location).or_default().insert(thread);
        }
    }
    let reads_other = |event: &Event| match (&event.kind, event.thread) {
        (EventKind::Read { location, .. }, Some(thread)) => {
            writers.get(location).is_some_and(|threads| threads.iter().any(|writer| *writer != thread))
        }
        _ => false,
    };
    let decides = |trace: &Trace| {
        let first = trace.events.iter().position(|id| reads_other(event(id)));
        first.is_some_and(|first| trace.events[first..].iter().any(|id| is_persist(event(id))))
    };
    let has = |class: &&Class| match class {
        Class::Fences => any(&is_fence),
        Class::PersistentRelease => any(&is_release),
        Class::Coherence => writers.values().any(|threads| threads.len() > 1),
        Class::Read => unfolding.traces.iter().any(decides),
    };
    CLASSES.iter().filter(has).copied().collect()
}

/// The program without what makes a class.
fn removed(program: &Program, class: Class) -> Program {
    let mut changed = program.clone();
    match class {
        Class::Fences => {
            for thread in &mut changed.threads {
                thread.steps.retain(|step| !matches!(step.operation, Operation::Fence(..)));
            }
        }
        Class::PersistentRelease => {
            for operation in program.operations() {
                if let Operation::Store { to, order: Order::Persist(_), .. } = operation {
                    changed.is_persistent[to] = false;
                }
            }
        }
        Class::Coherence => rename_writes(&mut changed),
        Class::Read => drop_reads(&mut changed),
    }
    changed.claims.clear();
    changed
}

/// Of a persistent location that several threads write, all but the first thread write a location of their own instead; where
/// there are no more of those, they do not write.
fn rename_writes(program: &mut Program) {
    let mut spare = SPARE;
    let mut writers: BTreeMap<usize, usize> = BTreeMap::new();
    for at in 0..program.threads.len() {
        let mut renamed: BTreeMap<usize, Option<usize>> = BTreeMap::new();
        let is_persistent = program.is_persistent;
        program.threads[at].steps.retain_mut(|step| {
            let Some(place) = step.operation.writes().filter(|place| is_persistent[*place]) else { return true };
            if *writers.entry(place).or_insert(at) == at {
                return true;
            }
            let Some(other) = *renamed.entry(place).or_insert_with(|| spare.next()) else { return false };
            match &mut step.operation {
                Operation::Store { to, .. } | Operation::Copy { to, .. } => *to = other,
                Operation::Atomic { on, .. } => *on = other,
                _ => {}
            }
            true
        });
    }
}

/// No thread reads persistent memory; an atomic update that would is a store.
fn drop_reads(program: &mut Program) {
    let is_persistent = program.is_persistent;
    for thread in &mut program.threads {
        thread.steps.retain_mut(|step| match step.operation {
            Operation::Atomic { on, value, scope, .. } if is_persistent[on] => {
                step.operation = Operation::Store { to: on, value, order: Order::Relaxed(scope) };
                true
            }
            operation => operation.reads().is_none_or(|place| !is_persistent[place]),
        });
    }
}

/// What became of one program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Outcome {
    Included,
    /// Not, for these reasons and no fewer.
    Exception(BTreeSet<Class>),
    /// `strict` leaves what `epoch` does not.
    StrictNotEpoch,
    /// `epoch` leaves what `sbrp` does not, and no known reason explains it.
    EpochNotSbrp,
    /// It has a known reason, and is there without that too.
    StillThere(BTreeSet<Class>),
    /// One of the models gave no complete answer.
    Open,
}

impl Outcome {
    pub fn is_finding(&self) -> bool {
        matches!(self, Outcome::StrictNotEpoch | Outcome::EpochNotSbrp | Outcome::StillThere(_))
    }
}

/// Every set of classes whose rules, left out of `sbrp`, let it have the images of `epoch` that it has not; small sets first.
fn explanations(
    (epoch, sbrp): (&BTreeSet<State>, &BTreeSet<State>),
    has: &BTreeSet<Class>,
    images: &dyn Fn(&Subject) -> Option<BTreeSet<State>>,
    models: &Models,
) -> Vec<BTreeSet<Class>> {
    let more: BTreeSet<&State> = epoch.difference(sbrp).collect();
    let explains = |rules: &BTreeSet<Rule>| {
        let weaker = models.without.get(rules).and_then(images);
        weaker.is_some_and(|weaker| more.iter().all(|state| weaker.contains(*state)))
    };
    let mut sets = sets();
    sets.retain(|set| set.is_subset(has));
    let known: BTreeSet<BTreeSet<Rule>> = sets.iter().map(rules).collect();
    let known: BTreeSet<BTreeSet<Rule>> = known.into_iter().filter(explains).collect();
    sets.retain(|set| known.contains(&rules(set)));
    sets
}

/// Compares one program under the three models.
pub fn outcome(program: &Program, models: &Models) -> Outcome {
    let (Some(strict), Some(epoch), Some(sbrp)) =
        (images(program, &models.strict), images(program, &models.epoch), images(program, &models.sbrp))
    else {
        return Outcome::Open;
    };
    if !strict.is_subset(&epoch) {
        return Outcome::StrictNotEpoch;
    }
    if epoch.is_subset(&sbrp) {
        return Outcome::Included;
    }
    let has = has(&loaded(&program.text()), &models.sbrp);
    let known = explanations((&epoch, &sbrp), &has, &|subject| images(program, subject), models);
    match known.iter().find(|classes| ends_without(program, classes, models)) {
        Some(classes) => Outcome::Exception(classes.clone()),
        None if known.is_empty() => Outcome::EpochNotSbrp,
        None => Outcome::StillThere(known.into_iter().next().unwrap_or_default()),
    }
}

/// Whether the inclusion holds when the program has none of these; what comes then must be of other classes, and so on.
fn ends_without(program: &Program, classes: &BTreeSet<Class>, models: &Models) -> bool {
    let without = classes.iter().fold(program.clone(), |program, class| removed(&program, *class));
    match outcome(&without, models) {
        Outcome::Included => true,
        Outcome::Exception(others) => others.is_disjoint(classes),
        Outcome::Open | Outcome::StrictNotEpoch | Outcome::EpochNotSbrp | Outcome::StillThere(_) => false,
    }
}

/// A smallest program with the same outcome, with the images in question.
pub fn shrunk(program: &Program, models: &Models) -> String {
    let found = outcome(program, models);
    let small = shrink(program, &|program| Some(outcome(program, models)).filter(|other| *other == found));
    let small = Program { claims: Vec::new(), ..small };
    let of = |subject: &Subject| images(&small, subject).unwrap_or_default();
    let (strict, epoch, sbrp) = (of(&models.strict), of(&models.epoch), of(&models.sbrp));
    let more = |these: &BTreeSet<State>, those: &BTreeSet<State>| these.difference(those).cloned().collect::<Vec<_>>();
    format!(
        "{found:?}\n{}in strict and not in epoch: {:?}\nin epoch and not in sbrp: {:?}\n",
        small.text(),
        more(&strict, &epoch),
        more(&epoch, &sbrp)
    )
}

/// The tests of a folder, if it is there.
pub fn tests(folder: &Path) -> Vec<Test> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let of_path = |path: std::path::PathBuf| {
        if path.is_dir() {
            return tests(&path);
        }
        let text = std::fs::read_to_string(&path).ok().filter(|_| path.extension().is_some_and(|end| end == "litmus"));
        text.map(|text| load(&Source::new(path.to_string_lossy(), text)).0).unwrap_or_default()
    };
    paths.into_iter().flat_map(of_path).collect()
}

/// The same of a test that is not random: its classes by what it has and by the rules of the model. Open if it has more
/// events than this, in all its traces.
pub fn outcome_of_test(test: &Test, models: &Models, most: usize) -> Outcome {
    let own = options(&models.sbrp);
    let session = Session::new(&test.program, models.sbrp.model(), &own);
    if session.unfolding().map_or(usize::MAX, |unfolding| unfolding.events.len()) > most {
        return Outcome::Open;
    }
    let mut program = test.program.clone();
    program.crash.recovery = None;
    let test = &test.with_program(program);
    let memory: BTreeSet<String> =
        test.program.persistent().map(|location| test.program.locations[location.index()].name.to_string()).collect();
    let images = |subject: &Subject| {
        let crashes = check(test, subject.model(), &options(subject)).report.crashes?;
        crashes.executions.filter(|executions| executions.complete)?;
        let image = |values: State| values.into_iter().filter(|(name, _)| memory.contains(name)).collect::<State>();
        Some(crashes.states.iter().map(|left| image(state(&left.values))).collect::<BTreeSet<State>>())
    };
    let (Some(strict), Some(epoch), Some(sbrp)) = (images(&models.strict), images(&models.epoch), images(&models.sbrp))
    else {
        return Outcome::Open;
    };
    if !strict.is_subset(&epoch) {
        return Outcome::StrictNotEpoch;
    }
    if epoch.is_subset(&sbrp) {
        return Outcome::Included;
    }
    let known = explanations((&epoch, &sbrp), &has(test, &models.sbrp), &images, models);
    known.into_iter().next().map_or(Outcome::EpochNotSbrp, Outcome::Exception)
}
