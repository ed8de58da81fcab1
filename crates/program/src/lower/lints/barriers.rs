//! Barriers of one CTA that PTX does not let meet: `.red` beside `.sync` and `.arrive`, and unequal thread counts (PTX ISA
//! 9.7.15.1). Two counts may follow each other on one barrier if their generations never mix, which only an exploration
//! can tell; both are refused alike, since an answer about an undefined program would be none.

use fencepost_syntax::sorted::SortedMap;
use fencepost_syntax::{Span, limits};

use crate::lower::builder::ThreadBuilder;
use crate::lower::findings::Findings;
use crate::program::lint::LintKind;
use crate::program::{Barrier, BarrierKind, BarrierLevel, Operand, Operation, Place, Unsupported};
use crate::sections;
use crate::unfolding::barrier::participants;
use crate::value::Value;

struct Use<'t> {
    place: Place,
    barrier: &'t Barrier,
    /// None where the count is in a register.
    count: Option<i128>,
    span: Span,
}

pub(crate) fn settle(threads: &[Box<ThreadBuilder>], findings: &mut Findings) {
    let mut uses: Vec<Use<'_>> = Vec::new();
    let mut all = SortedMap::<Place, usize>::new();
    threads.iter().for_each(|thread| *all.entry(thread.place).or_default() += 1);
    for thread in threads {
        let members = all[&thread.place];
        for code in &thread.code {
            let Operation::Barrier(barrier) = &code.operation else { continue };
            if limits::tick() {
                return;
            }
            if barrier.level != BarrierLevel::Cta {
                continue;
            }
            let count = match barrier.count {
                None => Some(members as i128),
                Some(Operand::Constant(count)) => Some(participants(count)),
                Some(_) => None,
            };
            let this = Use { place: thread.place, barrier, count, span: code.span };
            if let Some(what) = uses.iter().find_map(|earlier| conflict(earlier, &this)) {
                findings.lint(this.span, LintKind::BarriersDiffer { what: what.clone() }, sections::BAR);
                findings.unsupported.push(Unsupported { span: this.span, what });
            }
            uses.push(this);
        }
    }
}

/// What is wrong with two uses that may be of one barrier.
fn conflict(one: &Use<'_>, other: &Use<'_>) -> Option<String> {
    let (ids, same) = match (id(one), id(other)) {
        (Some(first), Some(second)) => (format!("barrier {first}"), first == second),
        _ => ("a barrier in a register".to_string(), true),
    };
    if one.place != other.place || !same {
        return None;
    }
    let reduces = |used: &Use<'_>| used.barrier.kind == BarrierKind::Red;
    if reduces(one) != reduces(other) {
        return Some(format!("`.red` beside `.sync` or `.arrive` on {ids} of one CTA"));
    }
    let constant = id(one).is_some() && id(other).is_some();
    match (one.count, other.count) {
        (Some(first), Some(second)) if first != second && constant => {
            let (least, most) = (first.min(second), first.max(second));
            Some(format!("{ids} of one CTA with counts of {least} and {most} threads"))
        }
        _ => None,
    }
}

fn id(used: &Use<'_>) -> Option<i128> {
    match used.barrier.id {
        Some(Operand::Constant(Value(id))) => Some(id),
        _ => None,
    }
}
