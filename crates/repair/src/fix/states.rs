//! What a program computes: the final states that interleavings reach without a race, and the accesses to data on the way. A
//! change after which one of them is out of reach is no repair but another program. Asynchronous operations have no
//! interleavings: of those programs the executions of their own model count that neither race nor do what must not be.
//!
//! An access counts that some execution makes which does nothing that must not be, unless a read that races decided that it is
//! made. Where every execution races, it also counts that a thread accesses the same data in the order of the text.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use fencepost_axiom::engine::{Ends, Exploration, Goal};
use fencepost_axiom::execution::Execution;
use fencepost_check::judge::found::Aspect;
use fencepost_check::judge::question::looked_for;
use fencepost_check::judge::refusal::refusal;
use fencepost_check::look::outcome::{self, Reader};
use fencepost_check::look::race::RaceSet;
use fencepost_check::model::load::{LoadedModel, Models};
use fencepost_check::options::Options;
use fencepost_check::session::Session;
use fencepost_check::test::Test;
use fencepost_program::program::{Condition, LocationRole, Program, Term};
use fencepost_program::unfolding::{Event, Unfolding};
use fencepost_program::value::Value;
use fencepost_program::{EventId, LocationId, RegisterId, ThreadId, TraceId};
use fencepost_syntax::Span;
use fencepost_syntax::litmus::Litmus;
use fencepost_syntax::short::ShortText;
use fencepost_syntax::sorted::{SharedSort as _, SortedSet};

use super::swapped::{self, Ordered};
use super::want::Want;
use crate::edit::Edit;
use crate::scene::anchor::position;

/// Work for the interleavings of one program, in the engine's units.
const WORK: u64 = 400_000;

type States = BTreeSet<Vec<Value>>;

/// Instructions that access data: the thread, where they stand in the text, and the data.
type Accesses = SortedSet<(ThreadId, u32, ShortText)>;

/// The states of a test that its repairs must reach too, and the accesses that they must make.
pub(crate) struct Kept {
    /// None for the model of the test itself.
    interleaving: Option<LoadedModel>,
    /// By thread and name, or by name alone.
    observed: Vec<(Option<ThreadId>, String)>,
    states: States,
    accesses: Accesses,
    /// In which each thread accesses the same data.
    order: Ordered,
}

/// What was seen of a program.
#[derive(Default)]
struct Seen {
    states: States,
    /// The ways that threads take.
    traces: SortedSet<TraceId>,
    /// The same of executions that do nothing that must not be, with the instructions that race there.
    meant: BTreeSet<(TraceId, Vec<u32>)>,
}

impl Kept {
    /// None where there are too many to be known, or interleavings have no meaning for the test.
    pub(crate) fn new(test: &Test, model: &LoadedModel, options: &Options, wants: &[Want]) -> Option<Kept> {
        let interleaving = Models::shipped("sc").filter(|sc| refusal(test, sc).is_none());
        let bad = wants.iter().filter(|want| !want.possible).filter_map(|want| match want.aspect {
            Aspect::Question(at) => test.program.questions.get(at),
            _ => None,
        });
        let bad: Vec<Condition> = bad.map(|question| looked_for(&test.program, question).into_owned()).collect();
        let program = &test.program;
        let is_data = |at: &usize| program.locations[*at].role == LocationRole::Data;
        let memory = (0..program.locations.len()).filter(is_data).map(|at| Term::Memory(LocationId::new(at)));
        let mut terms = outcome::terms(program);
        terms.retain(|term| matches!(term, Term::Register(..)));
        terms.extend(memory);
        let name = |term: &Term| match term {
            Term::Register(thread, register) => {
                let register = program.threads.get(thread.index())?.registers.get(register.index())?;
                Some((Some(*thread), register.name.to_string()))
            }
            Term::Memory(location) => Some((None, program.locations.get(location.index())?.name.to_string())),
            Term::Constant(_) => None,
        };
        let observed = terms.iter().filter_map(name).collect();
        let under = interleaving.as_ref().unwrap_or(model);
        let session = Session::new(program, under, options);
        let seen = seen(&session, Some((model, &bad)), &terms, &|_| false)?;
        let unfolding = session.unfolding().ok()?;
        let accesses = seen.meant.iter().flat_map(|(trace, racing)| made(unfolding, *trace, racing)).collect();
        let order = swapped::ordered(unfolding, &|_, _| true);
        Some(Kept { interleaving, observed, states: seen.states, accesses, order })
    }

    /// Whether a changed program reaches them; None where that is too much to say.
    pub(super) fn are_in(
        &self,
        (test, model): (&Test, &LoadedModel),
        (edits, changed): (&[&Edit], &Litmus),
        program: &Program,
        options: &Options,
    ) -> Option<bool> {
        let Some(terms) = self.terms(program) else { return Some(false) };
        let session = Session::new(program, self.under(model), options);
        let unfolding = session.unfolding().ok()?;
        let moved = swapped::moved(edits);
        if !moved.is_empty() && swapped::is_any(&test.litmus, &self.order, unfolding, &moved) {
            return Some(false);
        }
        // Of an instruction that others stand for, its thread still accesses the data.
        let is_of = |thread: ThreadId, name: &ShortText, made: &Accesses| {
            made.iter().any(|(other, _, its)| *other == thread && its == name)
        };
        let are_made = |traces: &SortedSet<TraceId>| {
            let made: Accesses = traces.iter().flat_map(|trace| made(unfolding, *trace, &[])).collect();
            self.accesses.iter().all(|access @ (thread, at, name)| {
                made.contains(access) || !stands(changed, *thread, *at) && is_of(*thread, name, &made)
            })
        };
        if self.states.is_empty() {
            return Some(are_made(&seen(&session, None, &[], &are_made)?.traces));
        }
        let seen = seen(&session, None, &terms, &|_| false)?;
        Some(self.states.is_subset(&seen.states) && are_made(&seen.traces))
    }

    /// Whether it reaches them and no others.
    pub(crate) fn are_all_of(&self, program: &Program, model: &LoadedModel, options: &Options) -> Option<bool> {
        let Some(terms) = self.terms(program) else { return Some(false) };
        let session = Session::new(program, self.under(model), options);
        Some(self.states == seen(&session, None, &terms, &|_| false)?.states)
    }

    fn under<'m>(&'m self, model: &'m LoadedModel) -> &'m LoadedModel {
        self.interleaving.as_ref().unwrap_or(model)
    }

    /// What is observed, in a changed program; None where it is not there any more.
    fn terms(&self, program: &Program) -> Option<Vec<Term>> {
        let term = |(thread, name): &(Option<ThreadId>, String)| match thread {
            Some(thread) => {
                let registers = &program.threads.get(thread.index())?.registers;
                let at = registers.iter().position(|register| register.name == *name)?;
                Some(Term::Register(*thread, RegisterId::new(at)))
            }
            None => {
                let at = program.locations.iter().position(|location| location.name == *name)?;
                Some(Term::Memory(LocationId::new(at)))
            }
        };
        self.observed.iter().map(term).collect()
    }
}

/// Whether an instruction of the text is one of the changed text.
fn stands(changed: &Litmus, thread: ThreadId, at: u32) -> bool {
    position(changed, thread, Span::new(at, at)).is_some()
}

/// The accesses to data on one way of a thread, but for those that one of these reads has decided.
fn made(unfolding: &Unfolding, trace: TraceId, racing: &[u32]) -> Accesses {
    let is_racing = |read: &EventId| racing.contains(&unfolding.event(*read).span.start);
    let access = |event: &Event| {
        let location = &unfolding.locations[event.target()?.index()];
        let is_data = location.role != LocationRole::Mbarrier;
        let is_decided = event.control_deps.iter().chain(&event.address_deps).any(is_racing);
        let thread = event.thread.filter(|_| is_data && !is_decided)?;
        Some((thread, event.span.start, location.name.clone()))
    };
    unfolding.events_of(&[trace]).into_iter().filter_map(|id| access(unfolding.event(id))).collect()
}

/// What a program does under a model, up to what is enough. The states are those without a race under another model that do
/// nothing that must not be, if these are given.
fn seen(
    session: &Session<'_>,
    unwanted: Option<(&LoadedModel, &[Condition])>,
    terms: &[Term],
    is_enough: &dyn Fn(&SortedSet<TraceId>) -> bool,
) -> Option<Seen> {
    let unfolding = session.unfolding().ok()?;
    let mut flags = unwanted.map(|(model, _)| model.flags().evaluator());
    let bad = unwanted.map_or(&[] as &[Condition], |(_, bad)| bad);
    let visit = |seen: &mut Seen, execution: &Execution| {
        let known = seen.traces.len();
        seen.traces.extend(&execution.traces);
        let mut races = RaceSet::default();
        if let Some(flags) = &mut flags {
            flags.add(unfolding, execution, &mut races);
        }
        if !bad.iter().any(|condition| outcome::satisfies(unfolding, execution, condition)) {
            let racing = racing(&races);
            if racing.is_empty() {
                seen.states.extend(Reader::new(unfolding, execution).states(terms));
            }
            seen.meant.extend(execution.traces.iter().map(|trace| (*trace, racing.clone())));
        }
        if seen.traces.len() > known && is_enough(&seen.traces) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let searcher = session.searcher().ok()?;
    let found = searcher.run_bounded(&Goal::new(Ends::Terminating), WORK, Seen::default, visit);
    matches!(found.exploration, Exploration::Complete | Exploration::Stopped).then_some(found.results)
}

/// Where the instructions stand that race.
fn racing(races: &RaceSet) -> Vec<u32> {
    let pairs = races.races.keys().filter(|key| key.is_pair());
    let mut found = Vec::new();
    pairs.for_each(|key| found.extend([key.first.start, key.second.start]));
    found.shared_sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use fencepost_check::{Models, Options, load};
    use fencepost_report::fix::What;
    use fencepost_syntax::Source;

    use crate::fix;
    use crate::fix::costs::Costs;
    use crate::fix::{FixReport, Fixing};

    fn fixed(text: &str) -> FixReport {
        let (tests, diagnostics) = load(&Source::new("test.litmus", text));
        let test = tests.first().unwrap_or_else(|| panic!("{diagnostics:?}"));
        let (model, costs, options) = (Models::shipped("ptx").expect("a model"), Costs::default(), Options::default());
        fix(test, &model, &Fixing { options: &options, costs: &costs, said: &|_| None, is_kept: &|_| false }).report
    }

    fn changes(report: &FixReport) -> Vec<&What> {
        report.repair.iter().flat_map(|repair| &repair.changes).map(|change| &change.what).collect()
    }

    /// Every execution races. With the second store before the copy none does, and the first value is lost.
    #[test]
    fn a_value_that_is_copied_is_not_overwritten_before() {
        let report = fixed(
            "PTX reused\n{ .shared .b32 s[4] = 0; .global .b32 g[4] = 0; }\nP0@cta 0 {\nst.shared.u32 [s], 1;\n\
             fence.proxy.async.shared::cta;\ncp.async.bulk.global.shared::cta.bulk_group [g], [s], 16;\n\
             cp.async.bulk.commit_group;\nst.shared.u32 [s], 2;\n}\nexists (g[0] = 1)\n",
        );
        let inserted = |what: &&What| matches!(what, What::Inserted { text, .. } if text.contains("wait_group.read 0"));
        assert!(matches!(changes(&report).as_slice(), [what] if inserted(what)), "{:?}", report.repair);
    }

    /// With one arrival more the phase never ends, and what races is never read.
    #[test]
    fn an_access_is_still_made() {
        let report = fixed(
            "PTX asked\n{ .shared .b32 d = 0; .shared .mbarrier m = 1; }\nP0@cta 0 {\nst.shared.u32 [d], 1;\n\
             mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [m];\n}\nP1@cta 0 {\n\
             mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 %p, [m], 0;\n@!%p bra END;\n\
             ld.shared.u32 %r, [d];\nEND:\n}\n~exists (P1:%p = 1 /\\ P1:%r = 0)\n",
        );
        let is_word = |what: &&What| matches!(what, What::Replaced { .. });
        assert!(!changes(&report).is_empty() && changes(&report).iter().all(is_word), "{:?}", report.repair);
    }
}
