//! Each point where Lean and the appendix differ that a small program shows.

use fencepost_machine::lostpop::rules::{Difference, Rules, Text};

use crate::support::Verdict::{Allowed, Forbidden};
use crate::support::{lostpop, parse};

/// Under Lean's text, and under the appendix's.
fn both(difference: Difference, text: &str) -> (crate::support::Verdict, crate::support::Verdict) {
    let program = parse(text);
    let under = |text| lostpop(&program, Rules::default().with(difference, text));
    (under(Text::Lean), under(Text::Appendix))
}

#[test]
fn without_predecessors_at_acceptance_even_sc_allows_iriw() {
    for architecture in ["SC", "x86"] {
        let iriw = "A: W x=1 || A: R x // 1; R y // 0 || A: R y // 1; R x // 0 || A: W y=1".replace('A', architecture);
        assert_eq!(both(Difference::AcceptMarksPredecessors, &iriw), (Forbidden, Allowed), "{architecture}");
    }
    let wrc = "x86: W x=1 || x86: R x // 1; W y=1 || x86: R y // 1; R x // 0";
    assert_eq!(both(Difference::AcceptMarksPredecessors, wrc), (Forbidden, Allowed));
}

#[test]
fn an_mfence_without_write_to_read_is_none() {
    let sb = "x86: W x=1; MFENCE; R y // 0 || x86: W y=1; MFENCE; R x // 0";
    assert_eq!(both(Difference::MfenceKinds, sb), (Forbidden, Allowed));
}

#[test]
fn lean_takes_the_system_for_gpu_where_nothing_is_nested() {
    let figure_2b = "PTX: W x=1; W.rel.gpu y=1 || x86: R y // 1; R x // 0";
    assert_eq!(both(Difference::GpuScope, figure_2b), (Forbidden, Allowed));
}

#[test]
fn a_weak_read_with_its_own_scope_orders_nothing_for_others() {
    let mp = "PTX: W x=1; W.rel.sys y=1 || PTX@1: R.weak y // 1; R.acq.sys x // 0";
    assert_eq!(both(Difference::WeakScope, mp), (Forbidden, Allowed));
}

#[test]
fn between_and_fence_order_change_no_small_verdict() {
    for difference in [Difference::Between, Difference::FenceOrder, Difference::FinalState] {
        for text in [
            "PTX: W x=1; F.rel.sys; W y=1 || PTX@1: R y // 1; F.acq.sys; R x // 0",
            "PTX: W x=1; F.rel.sys; R y // 0 || PTX@1: W y=1; F.rel.sys; R x // 0",
            "PTX: W x=1; W x=2 || PTX@1: R x // 2; R x // 1",
            "x86: W x=1; R x // 1; R y // 0 || x86: W y=1; R y // 1; R x // 0",
        ] {
            let (lean, appendix) = both(difference, text);
            assert_eq!(lean, appendix, "{} on {text}", difference.name());
        }
    }
}
