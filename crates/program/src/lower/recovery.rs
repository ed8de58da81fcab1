//! The recovery program: a test of its own, over the same memory.

use fencepost_syntax::Diagnostic;
use fencepost_syntax::litmus::{Litmus, Moment, Question, locations_of};
use fencepost_syntax::sorted::SortedSet;

use crate::lower::findings::Findings;
use crate::lower::lower_cut;
use crate::program::{Operation, Recovery, Thread};
use crate::value::Value;

/// Its threads and registers are its own. Of the crashed program it has the locations, and of the test the questions about
/// recovery.
pub(crate) fn lower(litmus: &Litmus, cuts: &SortedSet<Value>, findings: &mut Findings) -> Option<Recovery> {
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
    let program = program?;
    for thread in program.threads.iter().filter(|thread| !may_end(thread)) {
        let span = thread.code.last().map_or(recovery.span.span, |code| code.span);
        let message = format!("{} of the recovery program never ends", thread.name);
        let error = Diagnostic::error(span, message).label("no way leads from its start to its end");
        findings.diagnostics.push(error.help("nothing is recovered by a program that goes on for ever"));
    }
    Some(Recovery { program: Box::new(program), span: recovery.span.span })
}

/// Whether a way through the code, whatever branches decide, leads to the thread's end.
fn may_end(thread: &Thread) -> bool {
    let mut seen = vec![false; thread.code.len()];
    let mut waiting = vec![0];
    while let Some(at) = waiting.pop() {
        let Some(code) = thread.code.get(at) else { return true };
        if std::mem::replace(&mut seen[at], true) {
            continue;
        }
        let is_guarded = code.guard.is_some();
        match &code.operation {
            Operation::Exit => return true,
            Operation::Branch { target } => {
                waiting.push(target.0 as usize);
                waiting.extend(is_guarded.then_some(at + 1));
            }
            Operation::BranchIf { target, .. } => waiting.extend([target.0 as usize, at + 1]),
            Operation::Trap => waiting.extend(is_guarded.then_some(at + 1)),
            _ => waiting.push(at + 1),
        }
    }
    false
}
