//! A test for each condition of the theorem: it breaks that one, and is not what one run shows.

use fencepost_axiom::engine::determined::Obstacle;

use super::{Compared, Judge};

/// Two phases go by before a wait for the first: it may be about the third (D2, early).
const TOO_LATE: &str = "PTX too-late
{ .shared .u32 x = 0; .shared .mbarrier b = 1; }
P0@cta 0 {
    mbarrier.arrive.shared::cta.b64 _, [b];
    A: mbarrier.try_wait.parity.shared::cta.b64 %p1, [b], 0; @!%p1 bra A;
    mbarrier.arrive.shared::cta.b64 _, [b];
    B: mbarrier.try_wait.parity.shared::cta.b64 %p2, [b], 1; @!%p2 bra B;
    st.shared.u32 [x], 1;
    mbarrier.arrive.shared::cta.b64 _, [b];
}
P1@cta 0 {
    C: mbarrier.try_wait.parity.shared::cta.b64 %p1, [b], 0; @!%p1 bra C;
    D: mbarrier.try_wait.parity.shared::cta.b64 %p2, [b], 0; @!%p2 bra D;
    ld.shared.u32 %r1, [x];
}
forall (P1:%r1 = 1)
";

/// Nothing keeps the second phase from completing before the wait for the first (D2, late): the wait may last for ever.
const OVERTAKEN: &str = "PTX overtaken
{ .shared .mbarrier b = 1; }
P0@cta 0 {
    mbarrier.arrive.shared::cta.b64 _, [b];
    A: mbarrier.try_wait.parity.shared::cta.b64 %p1, [b], 0; @!%p1 bra A;
    mbarrier.arrive.shared::cta.b64 _, [b];
}
P1@cta 0 {
    C: mbarrier.try_wait.parity.shared::cta.b64 %p1, [b], 0; @!%p1 bra C;
}
forall (true)
";

/// The arrival of P3 is the last in the run, but may be of the first phase (D1).
const EITHER: &str = "PTX either
{ .shared .u32 x = 0; .shared .mbarrier b = 2; }
P0@cta 0 {
    st.shared.u32 [x], 1;
    mbarrier.arrive.shared::cta.b64 _, [b];
}
P1@cta 0 {
    mbarrier.arrive.shared::cta.b64 _, [b];
}
P2@cta 0 {
    A: mbarrier.try_wait.parity.shared::cta.b64 %p1, [b], 0; @!%p1 bra A;
    mbarrier.arrive.shared::cta.b64 _, [b];
    ld.shared.u32 %r1, [x];
}
P3@cta 0 {
    mbarrier.arrive.shared::cta.b64 _, [b];
}
forall (P2:%r1 = 1)
";

/// The bytes are expected by a thread that nothing orders with the arrival (C1): the phase may be over before.
const EXPECTED_LATE: &str = "PTX expected-late
{ .global .align 16 .b32 g[4] = {7, 7, 7, 7}; .shared .align 16 .b32 s[4] = 0; .shared .mbarrier b = 1; }
P0@cta 0 {
    mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [b], 16;
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [g], 16, [b];
}
P1@cta 0 {
    mbarrier.arrive.shared::cta.b64 _, [b];
    A: mbarrier.try_wait.parity.shared::cta.b64 %p1, [b], 0; @!%p1 bra A;
    ld.shared.u32 %r1, [s];
}
forall (P1:%r1 = 7)
";

/// Who comes first at the counter decides who stores.
const TICKET: &str = "PTX ticket
{ .shared .u32 n = 0; .shared .u32 x = 0; }
P0@cta 0 {
    atom.relaxed.cta.shared.add.u32 %r1, [n], 1;
    st.shared.u32 [x], %r1;
}
P1@cta 0 {
    atom.relaxed.cta.shared.add.u32 %r1, [n], 1;
}
forall (x = 0)
";

/// Two conflicting accesses, and an mbarrier that orders none of them.
const UNORDERED: &str = "PTX unordered
{ .shared .u32 x = 0; .shared .mbarrier b = 1; }
P0@cta 0 {
    mbarrier.arrive.shared::cta.b64 _, [b];
    st.shared.u32 [x], 1;
}
P1@cta 0 {
    A: mbarrier.try_wait.parity.shared::cta.b64 %p1, [b], 0; @!%p1 bra A;
    ld.shared.u32 %r1, [x];
}
forall (P1:%r1 = 0)
";

pub(super) fn texts() -> impl Iterator<Item = String> {
    [TOO_LATE, OVERTAKEN, EITHER, EXPECTED_LATE, TICKET, UNORDERED].into_iter().map(str::to_owned)
}

#[test]
fn each_condition_is_asked() {
    let judge = Judge::new();
    let obstacle = |text: &str| match judge.compare(text) {
        Compared::Open(obstacle) => obstacle,
        other => panic!("{other:?}\n{text}"),
    };
    assert!(matches!(obstacle(TOO_LATE), Obstacle::Turn(_)), "{:?}", obstacle(TOO_LATE));
    assert!(matches!(obstacle(OVERTAKEN), Obstacle::Turn(_)), "{:?}", obstacle(OVERTAKEN));
    assert!(matches!(obstacle(EITHER), Obstacle::Turn(_)), "{:?}", obstacle(EITHER));
    assert!(matches!(obstacle(EXPECTED_LATE), Obstacle::Phase(_)), "{:?}", obstacle(EXPECTED_LATE));
    assert!(matches!(obstacle(TICKET), Obstacle::Unordered(..)), "{:?}", obstacle(TICKET));
    assert!(matches!(obstacle(UNORDERED), Obstacle::Unordered(..)), "{:?}", obstacle(UNORDERED));
}
