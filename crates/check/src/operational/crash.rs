//! What crashes leave on a machine whose memory survives them.
//!
//! A crash may come in any reachable state, and leaves what is durable there. Conditions mean what they mean under an axiomatic
//! model ([`crate::look::crash`]): a register has its value if the reads that it is computed from are done.

use std::collections::BTreeMap;

use fencepost_machine::explore::{Aim, Extent};
use fencepost_machine::machine::CrashState;
use fencepost_machine::model::{self, Wanted};
use fencepost_machine::requests::Requests;
use fencepost_machine::setup::Setup;
use fencepost_program::program::{Condition, Program, Question, Term};
use fencepost_report::verdict::Why;
use fencepost_report::{Assignment, Number, WhyUnknown};

use super::{Found, Outcome, Report, Run, Trace, stopped};
use crate::judge::question;
use crate::look::crash;
use crate::phrase::{self, Notation};
use crate::test::Test;

/// Whether a test asks about crashes, or about recovery from them.
pub(super) fn is_asked(program: &Program) -> bool {
    !program.crash.questions.is_empty() || program.crash.recovery.is_some()
}

fn is_settled(requests: &Requests, term: &Term) -> bool {
    match term {
        Term::Register(thread, register) => requests.is_settled(*thread, *register),
        Term::Constant(_) | Term::Memory(_) => true,
    }
}

/// What a crash state is told by, less the registers that a machine cannot tell of.
pub(super) fn settled(program: &Program, requests: &Requests) -> Vec<Term> {
    crash::terms(program).into_iter().filter(|term| is_settled(requests, term)).collect()
}

/// The same of a whole exploration: its states through the terms.
pub(super) fn states(test: &Test, terms: &[Term], all: &model::Outcomes) -> Vec<Outcome> {
    let mut found: BTreeMap<Assignment, u64> = BTreeMap::new();
    for (left, states) in &all.crashes {
        *found.entry(assignment(test, terms, left)).or_default() += states;
    }
    found.into_iter().map(|(values, states)| Outcome { values, states }).collect()
}

/// What a crash leaves, as reports show it.
pub(crate) fn assignment(test: &Test, terms: &[Term], left: &CrashState) -> Assignment {
    let named = |(term, value): (&Term, &Option<_>)| {
        let name = phrase::term(&test.program, term, Notation::Named);
        value.map(|value: fencepost_program::value::Value| (name.into(), Number::Known(value.0)))
    };
    Assignment(terms.iter().zip(left).filter_map(named).collect())
}

/// A recovery that does not end may wait for ever or be about to go on, and a machine does not tell these apart.
pub(super) fn refused_recovery(test: &Test, setup: &Setup) -> Option<Why> {
    let recovery = test.program.crash.recovery.as_ref()?;
    let what = format!("recovery programs on the machine {setup}, which does not decide whether they end");
    Some(Why::Unsupported { span: recovery.span, what })
}

impl Run<'_> {
    pub(super) fn recovery(&self) -> Option<WhyUnknown> {
        refused_recovery(self.test, self.setup).map(|why| WhyUnknown::new(&why, &self.test.source))
    }

    /// Whether some crash leaves what a question looks for. `all` has what crashes leave of the terms, if that is known.
    pub(super) fn crash(
        &self,
        requests: &Requests,
        asked: &Question,
        (terms, all): (&[Term], Option<&model::Outcomes>),
        report: &mut Report,
    ) -> Result<Found, Why> {
        let condition = question::looked_for_in_crash(asked);
        if let Some(term) = condition.terms().iter().find(|term| !is_settled(requests, term)) {
            let name = phrase::term(&self.test.program, term, Notation::Named);
            let what = format!(
                "the value of {name} after a crash on the machine {}, because it depends on how the thread would have gone on",
                self.setup
            );
            return Ok(Found::Unknown(Why::Unsupported { span: asked.span, what }));
        }
        let (explored, is_found) = match (all, self.options.trace) {
            (Some(all), Trace::None) => {
                let is_found = all.crashes.keys().any(|left| crash::holds(&condition, terms, left));
                (std::borrow::Cow::Borrowed(all), is_found)
            }
            _ => {
                let explored = self.search_crash(requests, &condition, report)?;
                let is_found = explored.extent == Extent::Found;
                (std::borrow::Cow::Owned(explored), is_found)
            }
        };
        Ok(match stopped(explored.extent) {
            _ if is_found => Found::Reached(explored.trace.clone()),
            Some(why) => Found::Unknown(why),
            None => Found::Nowhere,
        })
    }

    fn search_crash(
        &self,
        requests: &Requests,
        condition: &Condition,
        report: &mut Report,
    ) -> Result<model::Outcomes, Why> {
        let wanted = match self.options.trace {
            Trace::Shortest => Wanted::Crash,
            Trace::None => Wanted::Nothing,
        };
        self.explore(requests, &Aim::Crash(condition), wanted, report)
    }
}
