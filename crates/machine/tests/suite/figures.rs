//! The figures of "Compound Memory Models" under LOST-POP, and each rule by a test that needs it.

use fencepost_machine::lostpop::rules::Rules;

use crate::support::Verdict::{self, Allowed, Forbidden};
use crate::support::{finally, lostpop, parse};

fn verdict(text: &str) -> Verdict {
    lostpop(&parse(text), Rules::default())
}

#[test]
fn figure_2_message_passing_from_gpu_to_cpu() {
    assert_eq!(verdict("PTX: W x=1; W.rel.sys y=1 || x86: R y // 1; R x // 0"), Forbidden);
    assert_eq!(verdict("PTX: W x=1; W.rel.gpu y=1 || x86: R y // 1; R x // 0"), Allowed);
}

/// The paper says that both are forbidden (footnote 3). 3a is allowed: the write from outside the CTA gets no order with
/// the CTA-scoped fence.
#[test]
fn figure_3_independent_reads_of_independent_writes() {
    let a = "x86: W x=1 || PTX: R x // 1; F.sc.sys; R y // 0 || PTX: R y // 1; F.sc.cta; R x // 0 || x86: W y=1";
    let b = "PTX: W x=1 || x86: R x // 1; R y // 0 || x86: R y // 1; R x // 0 || PTX: W y=1";
    assert_eq!(verdict(a), Allowed);
    assert_eq!(verdict(b), Forbidden);
}

#[test]
fn figure_9_the_cpu_thread_needs_no_fence() {
    let text = "PTX: W.rel.sys x=1 || x86: R x // 1; R y // 0 || \
                PTX@1: R.acq.sys y // 1; F.sc.sys; R.acq.sys x // 0 || PTX@2: W.rel.sys y=1";
    assert_eq!(verdict(text), Forbidden);
}

/// Allowed here, as the paper says, and forbidden by its axiomatic model.
#[test]
fn figure_10_a_read_that_does_not_include_the_cpu_makes_no_predecessor() {
    let with =
        |scope: &str| format!("x86: W x=1 || PTX: R.acq.{scope} x // 1; W.rel.sys y=1 || x86: R y // 1; R x // 0");
    assert_eq!(verdict(&with("gpu")), Allowed);
    assert_eq!(verdict(&with("sys")), Forbidden);
}

#[test]
fn figure_11_is_stronger_than_axiomatic_ptx() {
    let two_plus_two = "PTX: W.rel.sys x=1; W.rel.sys y=2; R.acq.sys y // 1 || \
                        PTX: W.rel.sys y=1; W.rel.sys x=2; R.acq.sys x // 1";
    assert_eq!(verdict(two_plus_two), Forbidden);
    for middle in ["acq", "rel", "acqrel"] {
        let isa2 = format!(
            "PTX: W x=1; F.rel.sys; W y=1 || PTX: R y // 1; F.{middle}.sys; W z=1 || PTX: R z // 1; F.acq.sys; R x // 0"
        );
        assert_eq!(verdict(&isa2), Forbidden, "{middle}");
    }
}

#[test]
fn x86_delays_a_write_past_a_read_only() {
    assert_eq!(verdict("x86: W x=1; R y // 0 || x86: W y=1; R x // 0"), Allowed);
    assert_eq!(verdict("x86: W x=1; MFENCE; R y // 0 || x86: W y=1; MFENCE; R x // 0"), Forbidden);
    assert_eq!(verdict("x86: W x=1; W y=1 || x86: R y // 1; R x // 0"), Forbidden);
    assert_eq!(verdict("x86: R x // 1; W y=1 || x86: R y // 1; W x=1"), Forbidden);
    assert_eq!(verdict("x86: W x=1; R x // 1; R y // 0 || x86: W y=1; R y // 1; R x // 0"), Allowed);
}

#[test]
fn sc_orders_everything() {
    assert_eq!(verdict("SC: W x=1; R y // 0 || SC: W y=1; R x // 0"), Forbidden);
    assert_eq!(verdict("SC: W x=1 || SC: R x // 1; R y // 0 || SC: R y // 1; R x // 0 || SC: W y=1"), Forbidden);
    assert_eq!(verdict("SC: W x=1; R y // 1 || SC: W y=1; R x // 0"), Allowed);
}

/// O1 to O5 of PTX, each alone.
#[test]
fn ptx_orders_by_acquire_and_release() {
    let mp = |write: &str, read: &str| format!("PTX: W x=1; {write} || PTX@1: {read}; R x // 0");
    assert_eq!(verdict(&mp("W.rel.sys y=1", "R.acq.sys y // 1")), Forbidden);
    assert_eq!(verdict(&mp("W y=1", "R.acq.sys y // 1")), Allowed);
    assert_eq!(verdict(&mp("W.rel.sys y=1", "R y // 1")), Allowed);
    assert_eq!(verdict(&mp("F.rel.sys; W y=1", "R y // 1; F.acq.sys")), Forbidden);
    assert_eq!(verdict(&mp("F.rel.cta; W y=1", "R y // 1; F.acq.sys")), Allowed);
    // A read before an acquire read.
    assert_eq!(verdict("PTX: W x=1; W.rel.sys y=1 || PTX@1: R y // 1; R.acq.sys x // 0"), Forbidden);
    // A write after a release write.
    assert_eq!(verdict("PTX: W.rel.sys x=1; W y=1 || PTX@1: R.acq.sys y // 1; R x // 0"), Forbidden);
    assert_eq!(verdict("PTX: W x=1 || PTX@1: R x // 1; R x // 0"), Forbidden);
}

#[test]
fn only_xc_has_no_read_read_coherence() {
    assert_eq!(verdict("XC: W x=1 || XC@1: R x // 1; R x // 0"), Allowed);
    assert_eq!(verdict("XC: W x=1 || XC@1: R x // 1; F; R x // 0"), Forbidden);
    assert_eq!(verdict("XC: R x // 1; W y=1 || XC@1: R y // 1; W x=1"), Forbidden);
    assert_eq!(verdict("ARM: W x=1 || ARM: R x // 1; R x // 0"), Forbidden);
}

#[test]
fn arm_orders_by_acquire_release_and_dmb() {
    assert_eq!(verdict("ARM: W x=1; W y=1 || ARM: R y // 1; R x // 0"), Allowed);
    assert_eq!(verdict("ARM: W x=1; W.rel y=1 || ARM: R.acq y // 1; R x // 0"), Forbidden);
    assert_eq!(verdict("ARM: W x=1; F; W y=1 || ARM: R y // 1; F; R x // 0"), Forbidden);
    assert_eq!(verdict("ARM: W x=1; R y // 0 || ARM: W y=1; R x // 0"), Allowed);
    assert_eq!(verdict("ARM: W x=1; F; R y // 0 || ARM: W y=1; F; R x // 0"), Forbidden);
}

/// `;dep` stalls acceptance, so it orders what comes after the read whatever it is.
#[test]
fn a_dependency_waits_for_the_read() {
    assert_eq!(verdict("PTX: R x // 1; W y=1 || PTX@1: R y // 1; W x=1"), Allowed);
    assert_eq!(verdict("PTX: R x // 1; dep; W y=1 || PTX@1: R y // 1; dep; W x=1"), Forbidden);
    assert_eq!(verdict("PTX: W x=1; F.rel.sys; W y=1 || PTX@1: R y // 1; dep; R x // 0"), Forbidden);
}

#[test]
fn read_modify_writes_are_atomic() {
    for architecture in ["SC", "x86", "PTX", "ARM"] {
        let both = parse(&format!("{architecture}: U x+1 // 0 || {architecture}: U x+1 // 0"));
        assert_eq!(lostpop(&both, Rules::default()), Forbidden, "{architecture}");
        let sum = finally(parse(&format!("{architecture}: U x+1 || {architecture}: U x+1")), "x", 2);
        assert_eq!(lostpop(&sum, Rules::default()), Allowed, "{architecture}");
        // A write between the halves would be lost.
        let between = |end| finally(parse(&format!("{architecture}: U x+1 // 0 || {architecture}: W x=5")), "x", end);
        assert_eq!(lostpop(&between(1), Rules::default()), Forbidden, "{architecture}");
        assert_eq!(lostpop(&between(5), Rules::default()), Allowed, "{architecture}");
    }
    assert_eq!(verdict("x86: X x=1; R y // 0 || x86: X y=1; R x // 0"), Forbidden);
    assert_eq!(verdict("PTX: X x=1; R y // 0 || PTX@1: X y=1; R x // 0"), Allowed);
}

#[test]
fn final_memory_is_the_last_write() {
    let two_plus_two = |architecture: &str| {
        let text = format!("{architecture}: W x=1; W y=2 || {architecture}: W y=1; W x=2");
        finally(finally(parse(&text), "x", 1), "y", 1)
    };
    assert_eq!(lostpop(&two_plus_two("x86"), Rules::default()), Forbidden);
    assert_eq!(lostpop(&two_plus_two("PTX"), Rules::default()), Allowed);
    let r = finally(parse("x86: W x=1; W y=1 || x86: W y=2; MFENCE; R x // 0"), "y", 2);
    assert_eq!(lostpop(&r, Rules::default()), Forbidden);
}
