//! Why an outcome is unreachable. Candidates for it are found with the model's axioms left out; the whole model is then
//! asked what it has against each, and the answer is told that says most of the outcome, of those the shortest
//! ([`crate::explain::derivation::relevance`]). Candidates with the same answer are told once.
//!
//! Axioms that demand coherence edges stay at first: without them coherence would be empty, and "the edge is missing"
//! explains nothing. Only if no candidate is left they go too, and the answer is why the wanted final value is
//! overwritten.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use fencepost_axiom::base::Candidate;
use fencepost_axiom::engine::{Exploration, Goal, Limits, Multiplicity, Observed, Stop};
use fencepost_axiom::execution::Execution;
use fencepost_axiom::model::{Direction, Model};
use fencepost_axiom::reason::{self, Amount, Explainer, Matrices, Shape};
use fencepost_check::model::facts::chosen;
use fencepost_check::model::role::Axiom;
use fencepost_check::session::{EngineName, Executions};
use fencepost_program::EventId;
use fencepost_program::program::{Condition, LocationRole, Term};
use fencepost_program::sections;
use fencepost_syntax::cat::CheckRole;
use fencepost_syntax::sorted::SortedSet;

use super::name::value;
use super::{Context, Explanation, Line, Rejected, Rounds};
use crate::explain::derivation::chain;
use crate::explain::derivation::relevance::{Asked, Relevance};
use crate::explain::derivation::steps::{self, Step};
use crate::explain::vocabulary::{Family, Telling};
use crate::render::HighlightedEdge;

/// How far to look, and how much to tell.
#[derive(Clone, Debug)]
pub struct Search<'a> {
    pub limits: Limits<'a>,
    /// Candidates to look at.
    pub candidates: u64,
    /// Reasons to tell.
    pub shown: u32,
    pub subject: Subject,
}

/// What is unreachable, in the summary.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// The outcome that was asked about.
    Condition,
    /// An outcome that breaks the condition (`forall`).
    OutsideCondition,
}

impl Subject {
    fn name(self) -> &'static str {
        match self {
            Subject::Condition => "This outcome",
            Subject::OutsideCondition => "An outcome that breaks the condition",
        }
    }
}

/// What rules out every candidate for the goal, which the caller knows to be unreachable.
pub fn forbidden(context: &Context<'_>, goal: &Goal<'_>, search: &Search<'_>) -> Explanation {
    let axioms = context.model.checks.iter().filter(|check| check.role == CheckRole::Axiom);
    let names: SortedSet<&str> = axioms.map(|check| check.name.as_str()).collect();
    let demanding: SortedSet<&str> = context
        .model
        .demands
        .iter()
        .filter_map(|demand| Some(context.model.checks.get(demand.check.index())?.name.as_str()))
        .collect();
    let free = |keep: &dyn Fn(&str) -> bool| {
        names.iter().filter(|name| !keep(name)).fold(context.model.clone(), |model, name| model.without_check(name))
    };
    let mut found = Found::default();
    // Of an mbarrier, candidates that miscount arrivals are many and tell nothing: only what orders decide is left open.
    if context.unfolding.locations.iter().any(|location| location.role == LocationRole::Mbarrier) {
        let is_causality = |name: &str| context.vocabulary.axioms.of(name) == Some(Axiom::Causality);
        found.collect(context, &free(&|name| !is_causality(name)), goal, search, Demands::Kept);
        if found.seen > 0 {
            return found.explanation(context, search, None);
        }
        found = Found::default();
    }
    found.collect(context, &free(&|name| demanding.contains(name)), goal, search, Demands::Kept);
    if found.seen == 0 && found.stop != Some(Stop::ThinAir) && !demanding.is_empty() {
        found.collect(context, &free(&|_| false), goal, search, Demands::Dropped);
    }
    let nothing = (found.seen == 0 && found.stop.is_none()).then(|| nothing(context, &free(&|_| false), goal, search));
    found.explanation(context, search, nothing)
}

/// Why there is no candidate.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Nothing {
    /// No combination of traces ends.
    NeverEnds,
    /// None ends as the filter wants.
    Filtered,
    /// None gives these values.
    Values,
}

/// `weak` has no axioms: what it does not allow, no choice of which write each read returns gives.
fn nothing(context: &Context<'_>, weak: &Model, goal: &Goal<'_>, search: &Search<'_>) -> Nothing {
    let any = |filter| {
        let goal = Goal { filter, condition: None, multiplicity: Multiplicity::First, ..goal.clone() };
        let mut found = false;
        let mut visit = |_: &Execution| {
            found = true;
            ControlFlow::Break(())
        };
        let limits = search.limits.clone();
        let executions = Executions { unfolding: context.unfolding, model: weak, limits };
        let exploration = executions.explore(EngineName::Enumerate, &goal, &mut visit);
        // Where the search was given up, nothing is claimed.
        found || !matches!(exploration, Exploration::Complete)
    };
    match () {
        () if !any(None) => Nothing::NeverEnds,
        () if goal.filter.is_some() && !any(goal.filter) => Nothing::Filtered,
        () => Nothing::Values,
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Demands {
    Kept,
    Dropped,
}

#[derive(Default)]
struct Found {
    reasons: BTreeMap<(Relevance, usize, String, Vec<String>), Rejected>,
    seen: u64,
    unexplained: u64,
    stop: Option<Stop>,
    capped: bool,
}

impl Found {
    fn collect(&mut self, context: &Context<'_>, weak: &Model, goal: &Goal<'_>, search: &Search<'_>, demands: Demands) {
        let goal = Goal { multiplicity: Multiplicity::All, observed: Observed::Everything, ..goal.clone() };
        let mut matrices = Matrices::new(context.model);
        let limits = search.limits.clone();
        let executions = Executions { unfolding: context.unfolding, model: weak, limits };
        for engine in [EngineName::Enumerate, EngineName::Sat] {
            let mut visit = |execution: &Execution| {
                self.seen += 1;
                match reject(context, &mut matrices, execution, goal.condition, demands) {
                    Some(rejected) => self.add(rejected),
                    None => self.unexplained += 1,
                }
                if self.seen >= search.candidates {
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            };
            match executions.explore(engine, &goal, &mut visit) {
                Exploration::Complete => self.stop = None,
                Exploration::Stopped => self.capped = true,
                Exploration::Incomplete(stop) => {
                    let retry = matches!(stop, Stop::Time | Stop::Memory);
                    self.stop = Some(stop);
                    if self.seen == 0 && retry {
                        continue;
                    }
                }
            }
            return;
        }
    }

    fn add(&mut self, rejected: Rejected) {
        let texts: Vec<String> = rejected.lines.iter().map(|line| line.text.clone()).collect();
        let key = (rejected.relevance, texts.len(), rejected.axiom.clone(), texts);
        match self.reasons.get_mut(&key) {
            Some(known) => known.candidates += 1,
            None => {
                self.reasons.insert(key, rejected);
            }
        }
    }

    fn explanation(self, context: &Context<'_>, search: &Search<'_>, nothing: Option<Nothing>) -> Explanation {
        let reasons = self.reasons.len();
        let rejected: Vec<Rejected> = self.reasons.into_values().take(search.shown as usize).collect();
        let subject = search.subject.name();
        let (summary, line) = match (&self.stop, self.seen) {
            (_, 1..) => (format!("{subject} is forbidden. Each way to reach it breaks a rule:"), None),
            (Some(Stop::ThinAir), 0) => (
                format!("{subject} is forbidden."),
                Some("Only values out of thin air, which depend on themselves, are left to give it"),
            ),
            (Some(_), 0) => {
                (format!("{subject} is forbidden; no candidate for it was found in time to say why."), None)
            }
            (None, 0) => without_candidates(context, subject, nothing.unwrap_or(Nothing::Values)),
        };
        let section = context.section(sections::NO_THIN_AIR_AXIOM);
        let lines = line.map(|text| Line { text: text.to_owned(), section, ..Line::default() }).into_iter().collect();
        let mut remarks = Vec::new();
        if reasons > rejected.len() {
            remarks.push(format!(
                "{} not shown",
                fencepost_check::phrase::count((reasons - rejected.len()) as u64, "more reason")
            ));
        }
        if self.capped || self.stop.is_some() && self.seen > 0 {
            remarks
                .push(format!("looked at the first {} only", fencepost_check::phrase::count(self.seen, "candidate")));
        }
        if self.unexplained > 0 {
            remarks.push(format!(
                "{} could not be put into words",
                fencepost_check::phrase::count(self.unexplained, "candidate")
            ));
        }
        let remark = (!remarks.is_empty()).then(|| format!("({})", remarks.join("; ")));
        Explanation { summary, lines, rejected, remark }
    }
}

/// Where no execution ends, nothing rules an outcome out: there is none. What the threads wait for is the story of the
/// execution that never ends.
pub(crate) fn never_ends(subject: Subject) -> Explanation {
    Explanation { summary: without_end(subject.name()), lines: Vec::new(), rejected: Vec::new(), remark: None }
}

fn without_end(subject: &str) -> String {
    format!("{subject} is impossible: no execution ends, so there is no final state.")
}

fn without_candidates(context: &Context<'_>, subject: &str, nothing: Nothing) -> (String, Option<&'static str>) {
    match nothing {
        Nothing::NeverEnds => (without_end(subject), None),
        Nothing::Filtered => (format!("{subject} is impossible: no execution passes the filter."), None),
        Nothing::Values => {
            let summary =
                format!("{subject} is impossible: no choice of which write each read returns gives these values.");
            // The engines do not guess values that nothing produces.
            let depends = context.unfolding.events.iter().any(|event| !event.data_deps.is_empty());
            (summary, depends.then_some("Values that depend on themselves, out of thin air, do not count"))
        }
    }
}

/// The most telling thing the model has against the candidate.
fn reject(
    context: &Context<'_>,
    matrices: &mut Matrices<'_>,
    execution: &Execution,
    condition: Option<&Condition>,
    demands: Demands,
) -> Option<Rejected> {
    let mut candidate = Candidate::default();
    candidate.choose(context.unfolding, &execution.traces);
    matrices.begin(context.unfolding, &candidate);
    matrices.choose(&chosen(&candidate, execution));
    let explanations = match demands {
        Demands::Kept => reason::explain(context.model, matrices, &candidate.events),
        Demands::Dropped => overwritten(context, matrices, &candidate.events, execution, condition),
    };
    let asked = Asked::new(context, execution, condition);
    let rejections = explanations.iter().map(|explanation| rejection(context, execution, explanation, &asked));
    rejections.min_by_key(|rejected| (rejected.relevance, rejected.lines.len()))
}

/// Violations by pairs that the outcome depends on: a final value that coherence must overwrite.
fn overwritten(
    context: &Context<'_>,
    matrices: &Matrices<'_>,
    events: &[EventId],
    execution: &Execution,
    condition: Option<&Condition>,
) -> Vec<reason::Explanation> {
    let mut explainer = Explainer::new(context.model, matrices);
    let mut found = Vec::new();
    let forward = context.model.demands.iter().filter(|demand| demand.direction == Direction::Forward);
    for demand in forward {
        for violation in explainer.violations(demand.check, events, Amount::UpTo(64)) {
            let Shape::Pair(first, _) = violation.shape else { continue };
            if !decides(context, execution, condition, first) {
                continue;
            }
            let derivations = violation.facts.iter().map(|fact| explainer.derivation(*fact, events)).collect();
            let reason = explainer.reason(&violation.facts, events);
            let check_name = context.model.checks[demand.check.index()].name.clone();
            found.push(reason::Explanation {
                check: demand.check,
                check_name,
                shape: violation.shape,
                derivations,
                reason,
            });
        }
    }
    if found.is_empty() {
        found = reason::explain(context.model, matrices, events);
    }
    found
}

/// Whether the condition needs this write's value to be the final one of its location.
fn decides(context: &Context<'_>, execution: &Execution, condition: Option<&Condition>, write: EventId) -> bool {
    let (Some(condition), Some(location)) = (condition, context.location_of(write)) else { return false };
    let with = |value| {
        condition.evaluate(&mut |term| match term {
            Term::Memory(other) if *other == location => value,
            _ => None,
        })
    };
    let own = value(execution, write);
    let others = execution
        .events
        .iter()
        .filter(|event| context.is_write(**event) && context.location_of(**event) == Some(location));
    let others = others.filter_map(|event| value(execution, *event)).filter(|other| Some(*other) != own);
    let fails: Vec<_> = others.map(|other| with(Some(other)) == Some(false)).collect();
    with(own) != Some(false) && fails.into_iter().any(|fails| fails)
}

fn rejection(
    context: &Context<'_>,
    execution: &Execution,
    explanation: &reason::Explanation,
    asked: &Asked,
) -> Rejected {
    let rounds = Rounds::new(context.unfolding, execution);
    let context = &Context { rounds: &rounds, ..*context };
    let path = steps::of_explanation(explanation, context.model);
    let mut steps: Vec<&Step> = Vec::new();
    chain::tellable(context, &path, &mut steps);
    let told = |step: &&Step| context.telling(&step.name);
    if is_closed(&explanation.shape) {
        // The contradiction comes last: what a read returned although the chain says otherwise.
        let communicates = |telling: Telling| steps.iter().rposition(|step| told(step) == Some(telling));
        if let Some(at) = communicates(Telling::FromRead).or_else(|| communicates(Telling::ReadsFrom)) {
            let count = steps.len();
            steps.rotate_left((at + 1) % count);
        }
    }
    let mut lines = chain::lines(context, execution, &steps);
    let conclusion = conclusion(context, execution, explanation, steps.last().copied());
    let section = context.axiom_section(&explanation.check_name);
    lines.push(Line { text: conclusion.end(), section, ..Line::default() });
    let highlight = steps.iter().filter(|step| step.from != step.to).map(|step| {
        // Inside a thread, a relation of the model that only sums others up is drawn as the program order it is.
        let sums = matches!(told(step), Some(Telling::Through | Telling::Proxy) | None);
        let name = if sums && context.thread(step.from) == context.thread(step.to) { "po" } else { step.name.as_str() };
        HighlightedEdge { name: name.to_owned(), from: step.from, to: step.to }
    });
    let highlight = highlight.collect();
    Rejected {
        axiom: explanation.check_name.clone(),
        called: context.axiom_title(&explanation.check_name),
        section: context.axiom_section(&explanation.check_name),
        lines,
        conclusion: conclusion.sentence(),
        candidates: 1,
        execution: execution.clone(),
        highlight,
        relevance: asked.relevance(context, &steps),
    }
}

fn is_closed(shape: &Shape) -> bool {
    match shape {
        Shape::Cycle(_) => true,
        Shape::Pair(from, to) => from == to,
        Shape::Member(_) | Shape::Nothing => false,
    }
}

/// What a chain of reasons comes to: the last clause of it, or a sentence of its own.
enum Conclusion {
    So(String),
    But(&'static str),
    This(&'static str),
    /// The axiom with this name forbids it, and no more is known of it.
    Axiom(String),
}

impl Conclusion {
    fn end(&self) -> String {
        match self {
            Conclusion::So(clause) => format!("so {clause}"),
            Conclusion::But(clause) => format!("but {clause}"),
            Conclusion::This(what) => format!("which is {what}"),
            Conclusion::Axiom(name) => format!("which the axiom `{name}` forbids"),
        }
    }

    fn sentence(&self) -> String {
        match self {
            Conclusion::So(clause) => clause.clone(),
            Conclusion::But(clause) => (*clause).to_owned(),
            Conclusion::This(what) => format!("This is {what}"),
            Conclusion::Axiom(name) => format!("The axiom `{name}` forbids this"),
        }
    }
}

fn conclusion(
    context: &Context<'_>,
    execution: &Execution,
    explanation: &reason::Explanation,
    last: Option<&Step>,
) -> Conclusion {
    let name = explanation.check_name.as_str();
    let telling = last.and_then(|step| context.telling(&step.name));
    let axiom = context.vocabulary.axioms.of(name);
    match (axiom, &explanation.shape, last, telling) {
        (_, shape, last, _) if !context.is_specified() => own_conclusion(context, name, shape, last),
        // The compound order goes through from-read too: what it leads to is the same under each of its axioms.
        (_, shape, Some(step), Some(Telling::FromRead))
            if axiom == Some(Axiom::Causality) || context.family() == Family::Compound && is_closed(shape) =>
        {
            Conclusion::So(format!(
                "{} may not return {}: it must see {} or a write that is not older",
                context.called(step.from),
                context.value_text(execution, step.from),
                context.called(step.to)
            ))
        }
        (Some(Axiom::Causality), _, Some(step), Some(Telling::ReadsFrom)) => Conclusion::So(format!(
            "{} may not return the value of {}, which comes after it",
            context.called(step.to),
            context.called(step.from)
        )),
        // The other check of this name asks for some order of morally strong writes.
        (Some(Axiom::Coherence), Shape::Pair(first, second), ..) if demands_forward(context, explanation) => {
            Conclusion::So(overwrites(context, execution, *first, *second))
        }
        (Some(Axiom::NoThinAir), ..) if context.family() == Family::C => {
            Conclusion::This("a cycle of program order and reads-from")
        }
        (Some(Axiom::NoThinAir), ..) => {
            Conclusion::This("a cycle of dependencies and reads-from (dependencies are taken syntactically)")
        }
        (Some(Axiom::Sc | Axiom::Tso | Axiom::ScPerLocation), ..) if last.is_some() => {
            let first = last.map_or(String::new(), |step| context.called(step.to));
            Conclusion::So(format!("{first} would come before itself"))
        }
        _ => match context.axiom(name) {
            Some(words) => Conclusion::But(words.rule),
            None => Conclusion::Axiom(name.to_owned()),
        },
    }
}

/// A model of somebody's own: its axiom is cited by its name, and said to mean no more than it says.
fn own_conclusion(context: &Context<'_>, name: &str, shape: &Shape, last: Option<&Step>) -> Conclusion {
    match (shape, last) {
        (Shape::Cycle(_), Some(step)) => {
            let first = context.called(step.to);
            Conclusion::So(format!("{first} would come before itself, which the axiom `{name}` forbids"))
        }
        _ => Conclusion::Axiom(name.to_owned()),
    }
}

fn demands_forward(context: &Context<'_>, explanation: &reason::Explanation) -> bool {
    let demands = context.model.demands.iter();
    demands.filter(|demand| demand.check == explanation.check).any(|demand| demand.direction == Direction::Forward)
}

fn overwrites(context: &Context<'_>, execution: &Execution, first: EventId, second: EventId) -> String {
    let same = |other: &&EventId| {
        **other != first
            && context.is_write(**other)
            && context.location_of(**other) == context.location_of(first)
            && value(execution, **other) == value(execution, first)
    };
    let ends = match execution.events.iter().find(same) {
        None => format!("{} cannot end as {}", context.location_name(first), context.value_text(execution, first)),
        Some(_) => format!("{} cannot end with this write", context.location_name(first)),
    };
    format!("{} overwrites {}, and {ends}", context.called(second), context.called(first))
}
