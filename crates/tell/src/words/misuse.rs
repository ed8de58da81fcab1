//! Misused mbarriers as sentences, whose subject is the mbarrier (PTX ISA 9.7.15.16).

use fencepost_report::misuse::{LifeEnd, Misuse};

/// "is used before `mbarrier.init`".
pub(super) fn text(misuse: &Misuse) -> String {
    match misuse {
        Misuse::UsedBeforeInit => "is used before `mbarrier.init`".to_owned(),
        Misuse::UsedAfterInval => "is used after `mbarrier.inval`, which ended it".to_owned(),
        Misuse::InitialisedLive => "is initialised while live, without `mbarrier.inval`".to_owned(),
        Misuse::CountOutOfRange => "is used wrongly: a count outside 1 to 1048575 (511 in layout 1)".to_owned(),
        Misuse::TooManyArrivals => "is used wrongly: more arrivals than the phase waits for".to_owned(),
        Misuse::TxOutOfRange => "is used wrongly: a tx-count outside ±1048575".to_owned(),
        Misuse::LastArrivalDropped => "is used wrongly: dropped the last expected arrival".to_owned(),
        Misuse::NoCompleteCompleted => "is used wrongly: a `.noComplete` arrive completed the phase".to_owned(),
        Misuse::WrittenAsData => {
            "is written as data while it is a live mbarrier: mbarrier.inval must come first".to_owned()
        }
        Misuse::ReadAsData => "is read as data while it is a live mbarrier".to_owned(),
        Misuse::NotAParity { operand } => {
            format!("is waited on with the parity {operand}, which is neither 0 nor 1")
        }
        Misuse::WaitTooLate { meant, returned, about } => {
            let meant = meant.map_or("the phase before the first".to_owned(), |phase| format!("phase {phase}"));
            format!(
                "is waited on for {meant} too late: the parity stands for phase {about} by now, and the answer \
                 `{returned}` is about that"
            )
        }
        Misuse::ArrivesUnawaited { phase } => {
            let before = phase.saturating_sub(1);
            format!("has an arrival in phase {phase} without a successful wait for phase {before} before it")
        }
        Misuse::ArrivalsNeverCome { phase, pending, expected } => {
            format!("is waited on for ever: phase {phase} lacks {pending} of {expected} arrivals")
        }
        Misuse::BytesNeverCome { phase, bytes } => {
            format!("is waited on for ever: phase {phase} expects {bytes} bytes more than arrive")
        }
        Misuse::BytesTooMany { phase, bytes } => {
            format!("is waited on for ever: phase {phase} gets {bytes} bytes more than it expects")
        }
        Misuse::BytesPending { expected, brought, end, phase, bytes } => {
            let end = match end {
                LifeEnd::Inval => "`mbarrier.inval` ends it",
                LifeEnd::Exit => "every thread ends",
            };
            format!("{}: when {end}, phase {phase} still waits for {bytes}", total(*expected, *brought))
        }
        Misuse::BytesLeftOver { expected, brought, phase, bytes, meant_before } => {
            let over = match phase.checked_sub(1).filter(|_| *meant_before) {
                Some(over) => format!(", which expects none: phase {over} may be over without them"),
                None => String::new(),
            };
            format!("{}: {bytes} are too many in phase {phase}{over}", total(*expected, *brought))
        }
        Misuse::BytesUnexpected { phase, bytes } => {
            format!("gets {bytes} bytes in phase {phase}, which nobody expects or waits for")
        }
    }
}

fn total(expected: u32, brought: u32) -> String {
    format!("expects {expected} bytes in all and gets {brought}")
}
