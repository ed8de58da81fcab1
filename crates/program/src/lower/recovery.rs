//! The recovery program: a test of its own, over the same memory.

use std::collections::BTreeSet;

use fencepost_syntax::litmus::{Litmus, Moment, Question, locations_of};

use crate::lower::findings::Findings;
use crate::lower::lower_cut;
use crate::program::Recovery;
use crate::value::Value;

/// Its threads and registers are its own. Of the crashed program it has the locations, and of the test the questions about
/// recovery.
pub(crate) fn lower(litmus: &Litmus, cuts: &BTreeSet<Value>, findings: &mut Findings) -> Option<Recovery> {
    let recovery = litmus.recovery.as_ref()?;
    let asked = litmus.questions.iter().filter(|question| question.moment == Moment::Recovered);
    let own = Litmus {
        declarations: locations_of(&litmus.declarations).chain(recovery.declarations.iter().cloned()).collect(),
        threads: recovery.threads.clone(),
        filter: None,
        recovery: None,
        questions: asked.map(|question| Question { moment: Moment::End, ..question.clone() }).collect(),
        locations: Vec::new(),
        ..litmus.clone()
    };
    let (program, diagnostics) = lower_cut(&own, cuts);
    findings
        .diagnostics
        .extend(diagnostics.into_iter().filter(|found| !findings.diagnostics.contains(found)).collect::<Vec<_>>());
    Some(Recovery { program: Box::new(program?), span: recovery.span.span })
}
