//! Persistent memory: which locations can be, and what can be asked about crashes.

use fencepost_syntax::litmus::{Condition, Litmus, Moment, Term};
use fencepost_syntax::{Diagnostic, Span, Spanned};

use crate::lower::findings::Findings;
use crate::lower::names::{Names, stem};
use crate::program::{LocationRole, Space};

/// After spaces are known.
pub(crate) fn settle(litmus: &Litmus, names: &Names, findings: &mut Findings) {
    for (name, span) in &names.persistent {
        let Some(entry) = names.get(name) else { continue };
        let space = entry.space.as_ref().map_or(Space::Global, |(space, _)| *space);
        if space != Space::Global {
            let message = format!("`{name}` is {}, which no crash leaves anything of", space.memory());
            let error = Diagnostic::error(*span, message).label("not persistent");
            findings.diagnostics.push(error.help("only global memory can be declared `nvm`"));
        } else if entry.role != LocationRole::Data {
            let error = Diagnostic::error(*span, format!("`{name}` is no data")).label("not persistent");
            findings.diagnostics.push(error.help("an mbarrier or a tensor map is no state that survives a crash"));
        }
    }
    let crashes = litmus.questions.iter().filter(|question| question.moment != Moment::End);
    for question in crashes {
        let span = question.span.span;
        if names.persistent.is_empty() {
            return findings.diagnostics.push(nothing_persistent(span));
        }
        if question.moment == Moment::Crash {
            volatile(&question.condition.node, names, findings);
        }
        if question.moment == Moment::Recovered && litmus.recovery.is_none() {
            let error = Diagnostic::error(span, "there is no recovery program").label("nothing runs after a crash");
            findings.diagnostics.push(error.help("add one: `recover { P0@cta 0 { … } }`"));
        }
    }
    if let Some(recovery) = litmus.recovery.as_ref().filter(|_| names.persistent.is_empty()) {
        findings.diagnostics.push(nothing_persistent(recovery.span.span));
    }
}

fn nothing_persistent(span: Span) -> Diagnostic {
    let error = Diagnostic::error(span, "nothing survives a crash: no location is declared `nvm`");
    error.label("about crashes").help("declare persistent locations: `nvm x = 0;`")
}

/// A crash leaves nothing of memory that is not persistent.
fn volatile(condition: &Condition, names: &Names, findings: &mut Findings) {
    let mut refuse = |term: &Spanned<Term>| {
        let Term::Location { name, .. } = &term.node else { return };
        if names.get(name).is_some() && !names.persistent.contains_key(stem(name)) {
            let error =
                Diagnostic::error(term.span, format!("a crash leaves nothing of `{name}`")).label("not persistent");
            let help = format!("declare `nvm {name} = 0`, or ask for a register that has read it");
            findings.diagnostics.push(error.help(help));
        }
    };
    match condition {
        Condition::True | Condition::False => {}
        // On the right a name is an address, unless a number stands on the left.
        Condition::Compare { left, right, .. } => match left.node {
            Term::Integer(_) => refuse(right),
            _ => refuse(left),
        },
        Condition::Not(inner) => volatile(&inner.node, names, findings),
        Condition::And(parts) | Condition::Or(parts) => {
            parts.iter().for_each(|part| volatile(&part.node, names, findings));
        }
    }
}
