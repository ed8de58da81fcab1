//! Reasons about lifetimes and about outcomes that must not be, as sentences.

use fencepost_report::reason::{
    AddressOrigin, Communication, CycleStep, Lifetime, NamedBy, NamedSite, OperandRule, Outcome,
};

use super::place::{access, called, place};

pub(super) fn lifetime(reason: &Lifetime) -> String {
    match reason {
        Lifetime::OwnCtaMayExit { access: at } => {
            format!("{}, and nothing keeps the CTA from exiting before that is done", access(at))
        }
        Lifetime::CtaMayExit { access: at, cta } => format!(
            "{} in the shared memory of CTA {cta}, and nothing keeps CTA {cta} from exiting before that",
            access(at)
        ),
        Lifetime::CtaMayNotHaveStarted { access: at, cta } => {
            format!("{} in the shared memory of CTA {cta}, and nothing shows that CTA {cta} has started", access(at))
        }
        Lifetime::NoAllocation { access: at, origin: from } => {
            let how = from.as_ref().map_or(String::new(), origin);
            format!("{} goes through an address that no tcgen05.alloc gave{how} (PTX ISA 9.7.18.7.1)", place(at))
        }
        Lifetime::ArrivesTwice { at } => format!(
            "{} arrives again before the thread has waited: a thread arrives once per phase (PTX ISA 9.7.15.3)",
            place(at)
        ),
        Lifetime::WaitsAlone { at } => format!(
            "{} waits for no phase: the thread has not arrived since its last wait (PTX ISA 9.7.15.3)",
            place(at)
        ),
        Lifetime::OperandMisplaced { at, rule, section } => {
            format!("{} {} (PTX ISA {section})", place(at), operand_rule(*rule))
        }
        Lifetime::OutsideOwnWindow { at, location } => format!(
            "{} reaches {location} of another CTA as `.shared::cta`, which is the window of its own CTA: say \
             `.shared::cluster`, or leave the state space out of a generic address (PTX ISA 5.1.7)",
            place(at)
        ),
        Lifetime::AsksAfterRefusal { asks, saw } => format!(
            "{} asks again after {} has seen that nothing was cancelled: then there is nothing left (PTX ISA 9.7.15.18)",
            place(asks),
            place(saw)
        ),
        Lifetime::DeallocatedTwice => "the columns are deallocated twice (PTX ISA 9.7.18.7.1)".to_owned(),
        Lifetime::BothDeallocate { first, second } => {
            format!("{} and {} both deallocate the columns: one may (PTX ISA 9.7.18.7.1)", place(first), place(second))
        }
        Lifetime::UsedAfterDeallocation { at } => format!(
            "{} comes after the columns are deallocated: they may be another CTA's then (PTX ISA 9.7.18.7.1)",
            place(at)
        ),
        Lifetime::ProductInFlight { product, section } => format!(
            "no wgmma.wait_group between them covers the wgmma.mma_async of line {}: its registers have no value yet and must \
             not get another (PTX ISA {section})",
            product.line
        ),
        Lifetime::NoFenceBeforeFirstProduct { product, section } => format!(
            "no wgmma.fence comes before the wgmma.mma_async of line {}, which is the first: the product need not find \
             in its registers what is there (PTX ISA {section})",
            product.line
        ),
        Lifetime::NoFenceBeforeProduct { earlier, product, section } => format!(
            "no wgmma.fence comes between line {} and the wgmma.mma_async of line {}, which uses the same register: \
             the product is not ordered after that access (PTX ISA {section})",
            earlier.line, product.line
        ),
    }
}

fn origin(origin: &AddressOrigin) -> String {
    match origin {
        AddressOrigin::BeforeAllocation => ": it was read before the allocation wrote it".to_owned(),
        AddressOrigin::BeyondColumns { allocation } => {
            format!(": it is beyond the columns that {} was given", place(allocation))
        }
        AddressOrigin::Written { write } => format!(": {} wrote it", place(write)),
    }
}

/// What an operand does, and what the rule is: "writes …: …".
pub(super) fn operand_rule(rule: OperandRule) -> &'static str {
    match rule {
        OperandRule::Alone => "stores in a cluster of one CTA: `st.async` is for clusters of several",
        OperandRule::NotOwn => {
            "writes the shared memory of another CTA: a `.shared::cta` destination lies in the CTA of the thread"
        }
        OperandRule::Own => {
            "writes the shared memory of its own CTA: the destination of this instruction lies in another CTA of the cluster"
        }
        OperandRule::Apart => "tells an mbarrier of another CTA than its destination's: both lie in the same CTA",
        OperandRule::NoPair => {
            "tells an mbarrier of another CTA than its destination's: both lie in the same CTA, unless `.cta_group::2` \
             lets the mbarrier lie in the peer's"
        }
        OperandRule::NotOfPair => {
            "tells an mbarrier outside the pair of CTAs of its destination: with `.cta_group::2` it lies in the CTA of \
             the destination or in the peer's"
        }
        OperandRule::Unsaid => "tells an mbarrier of another CTA than its destination's",
    }
}

pub(super) fn outcome(reason: &Outcome) -> String {
    match reason {
        Outcome::Misses { read, write } => format!("{} misses {}", place(read), place(write)),
        Outcome::CriticalCycle { steps } => steps.iter().map(step).collect::<Vec<_>>().join(", and "),
        Outcome::NothingRulesOut => {
            "no interleaving does that, and no small change that was tried rules it out".to_owned()
        }
        Outcome::MayComeBefore { first, second } => format!(
            "{} may come before {}: the accesses are in order, and interleavings of the threads end so",
            place(first),
            place(second)
        ),
        Outcome::OverBefore { read, write } => format!(
            "{} is over before {}, and {} goes on with what it has seen",
            place(read),
            place(write),
            read.thread.0
        ),
        Outcome::EndsSoInTurns => "interleavings of the threads end so too, so no fence helps".to_owned(),
        Outcome::NothingMakesItWait => "nothing makes it wait".to_owned(),
        Outcome::TornVector { read, write } => format!(
            "{} sees one element of {} and misses another: the elements of a vector are accesses of their own, in no order",
            called(read),
            called(write)
        ),
        Outcome::SeveralAccesses { at } => format!("{} is several accesses", called(at)),
        Outcome::OnlyLooks { at } => format!("{} only loads", called(at)),
        Outcome::TwoAccesses { first, second } => {
            format!("{} and {} are two accesses", called(first), called(second))
        }
    }
}

fn step(step: &CycleStep) -> String {
    let (from, to) = (named(&step.from), named(&step.to));
    match step.step {
        Communication::Misses => format!("{from} misses {to}"),
        Communication::Overwritten => format!("{to} comes after {from}"),
        Communication::Seen => format!("{to} sees {from}"),
    }
}

fn named(site: &NamedSite) -> String {
    match site.by {
        NamedBy::Text => called(&site.at),
        NamedBy::Line => place(&site.at),
    }
}
