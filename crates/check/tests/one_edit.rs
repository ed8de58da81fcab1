//! Kernels with one mistake: a line that is missing, a word or a number that is wrong. Each has the line named that mends it, in
//! the thread and at the place where it belongs, in its races and in its waits that never end.

use fencepost_check::report::{Report, TerminationAnswer};
use fencepost_check::{Models, Options, check, load};
use fencepost_syntax::Source;

/// A product, its epilogue, and the next product over the same accumulator.
const ACCUMULATOR: &str = r"PTX accumulator
{ .shared .align 16 .b64 sa[2] = 3; .shared .align 16 .b64 sb[2] = 1;
  .shared .mbarrier accfull = 1; .shared .mbarrier accempty = 1; .tmem .b32 d[1] = 0; P0:%t = d; P1:%t = d; }
P0@cta 0 {
    tcgen05.mma.cta_group::1.kind::f16 [%t], sa, sb, 0, 0;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [accfull];
E:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [accempty], 0;
    @!%p bra E;
    tcgen05.fence::after_thread_sync;
    tcgen05.mma.cta_group::1.kind::f16 [%t], sb, sb, 0, 0;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [accfull];
}
P1@cta 0 {
A:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [accfull], 0;
    @!%p bra A;
    tcgen05.fence::after_thread_sync;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r}, [%t];
    tcgen05.wait::ld.sync.aligned;
    tcgen05.fence::before_thread_sync;
    mbarrier.arrive.shared::cta.b64 _, [accempty];
B:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [accfull], 1;
    @!%p bra B;
    tcgen05.fence::after_thread_sync;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%q}, [%t];
    tcgen05.wait::ld.sync.aligned;
}
forall (true)
";

/// Operands by bulk copies, a product, its epilogue.
const PRODUCT: &str = r"PTX product
{ .global .align 16 .b64 ga[2] = 3; .global .align 16 .b64 gb[2] = 1; .shared .align 16 .b64 sa[2] = 0; .shared .align 16 .b64 sb[2] = 0; .shared .align 16 .b32 st[4] = 0; .global .align 16 .b32 out[4] = 0;
  .shared .mbarrier full = 1; .shared .mbarrier accfull = 1; .tmem .b32 d[1] = 0; P1:%t = d; P2:%t = d; }
P0@cta 0 {
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 32;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sa], [ga], 16, [full];
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sb], [gb], 16, [full];
}
P1@cta 0 {
L:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [full], 0;
    @!%p bra L;
    tcgen05.fence::after_thread_sync;
    tcgen05.mma.cta_group::1.kind::f16 [%t], sa, sb, 0, 0;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [accfull];
}
P2@cta 0 {
L:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [accfull], 0;
    @!%p bra L;
    tcgen05.fence::after_thread_sync;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r}, [%t];
    tcgen05.wait::ld.sync.aligned;
    st.shared.b32 [st], %r;
    fence.proxy.async.shared::cta;
    cp.async.bulk.global.shared::cta.bulk_group [out], [st], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
}
forall (true)
";

/// A stage that is multiplied with and refilled.
const REFILL: &str = r"PTX refill
{ .global .align 16 .b64 g[4] = {1,1,2,2}; .shared .align 16 .b64 s[2] = 0; .shared .align 16 .b64 one[2] = 1; .shared .mbarrier full = 1; .shared .mbarrier empty = 1; P1:%d = 0; }
P0@cta 0 {
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [g], 16, [full];
PW:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [empty], 0;
    @!%p bra PW;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [g+16], 16, [full];
}
P1@cta 0 {
CW:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [full], 0;
    @!%p bra CW;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d}, s, one, 0, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    mbarrier.arrive.shared::cta.b64 _, [empty];
CX:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [full], 1;
    @!%p bra CX;
    ld.shared.u64 %v, [s];
}
forall (P1:%v = 2)
";

/// Partial sums behind a semaphore, and a result behind a flag.
const SEMAPHORE: &str = r"PTX semaphore
{ .global .u32 part = 0; .global .u32 sem = 0; .global .u32 res = 0; .global .u32 ready = 0; }
P0@cta 0 {
    st.global.u32 [part], 7;
    bar.sync 0;
}
P1@cta 0 {
    bar.sync 0;
    red.release.gpu.global.add.u32 [sem], 1;
}
P2@cta 1 {
S:
    ld.acquire.gpu.global.u32 %c, [sem];
    setp.ne.u32 %p, %c, 1;
    @%p bra S;
    bar.sync 0;
}
P3@cta 1 {
    bar.sync 0;
    ld.global.u32 %v, [part];
    st.global.u32 [res], %v;
    fence.acq_rel.gpu;
    st.relaxed.gpu.global.u32 [ready], 1;
}
P4@cta 2 {
S:
    ld.relaxed.gpu.global.u32 %c, [ready];
    setp.ne.u32 %p, %c, 1;
    @%p bra S;
    fence.acq_rel.gpu;
    ld.global.u32 %w, [res];
}
forall (P4:%w = 7)
";

/// A lock of tickets.
const TICKET: &str = r"PTX ticket
{ .global .u32 next = 0; .global .u32 serving = 0; .global .u32 x = 0; }
P0@cta 0 {
    atom.relaxed.gpu.global.add.u32 %my, [next], 1;
S:
    ld.acquire.gpu.global.u32 %c, [serving];
    setp.ne.u32 %p, %c, %my;
    @%p bra S;
    ld.global.u32 %v, [x];
    add.u32 %v, %v, 1;
    st.global.u32 [x], %v;
    add.u32 %n, %my, 1;
    st.release.gpu.global.u32 [serving], %n;
}
P1@cta 1 {
    atom.relaxed.gpu.global.add.u32 %my, [next], 1;
S:
    ld.acquire.gpu.global.u32 %c, [serving];
    setp.ne.u32 %p, %c, %my;
    @%p bra S;
    ld.global.u32 %v, [x];
    add.u32 %v, %v, 1;
    st.global.u32 [x], %v;
    add.u32 %n, %my, 1;
    st.release.gpu.global.u32 [serving], %n;
}
forall (x = 2)
";

/// A mailbox in a peer CTA, twice.
const MAILBOX: &str = r"PTX mailbox
{ .shared .b32 box = 0; .shared .mbarrier bx = 1; .shared .mbarrier fr = 1; }
P0@cta 0, cluster 0 {
    mapa.shared::cluster.u32 %rb, box, 1;
    mapa.shared::cluster.u32 %rm, bx, 1;
    st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%rb], 9, [%rm];
W:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [fr], 0;
    @!%p bra W;
    st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%rb], 8, [%rm];
    barrier.cluster.arrive;
    barrier.cluster.wait;
}
P1@cta 1, cluster 0 {
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bx], 4;
W:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [bx], 0;
    @!%p bra W;
    ld.shared.u32 %a, [box];
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bx], 4;
    fence.proxy.async.shared::cta;
    mapa.shared::cluster.u32 %rf, fr, 0;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%rf];
V:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [bx], 1;
    @!%p bra V;
    ld.shared.u32 %c, [box];
    barrier.cluster.arrive;
    barrier.cluster.wait;
}
forall (P1:%a = 9 /\ P1:%c = 8)
";

/// A tensor map that another CTA made.
const MAP: &str = r"PTX map
{ .global .align 16 .b64 g0[2] = 1; .global .align 16 .b64 g1[2] = 2; .global .tensormap m = g0; .shared .tensormap sm = g1; .shared .align 16 .b64 s[2] = 0; .shared .mbarrier f = 1; .global .u32 go = 0; }
P0@cta 0 {
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [m], [sm], 128;
    st.release.gpu.global.u32 [go], 1;
}
P1@cta 1 {
S:
    ld.acquire.gpu.global.u32 %g, [go];
    setp.ne.u32 %p, %g, 1;
    @%p bra S;
    fence.proxy.tensormap::generic.acquire.gpu [m], 128;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [f], 16;
    cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [m, {0}], [f];
W:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [f], 0;
    @!%p bra W;
    ld.shared.u64 %v, [s];
}
forall (P1:%v = 2)
";

/// One copy for two CTAs.
const MULTICAST: &str = r"PTX multicast
{ .global .align 16 .b64 g[2] = 6; .shared .align 16 .b64 s[2] = 0; .shared .mbarrier f = 1; }
P0@cta 0, cluster 0 {
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [f], 16;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [g], 16, [f], 3;
W:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [f], 0;
    @!%p bra W;
    ld.shared.u64 %a, [s];
    barrier.cluster.arrive;
    barrier.cluster.wait;
}
P1@cta 1, cluster 0 {
    st.shared.u64 [s], 5;
    fence.proxy.async.shared::cta;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [f], 16;
    barrier.cluster.arrive;
    barrier.cluster.wait;
W:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [f], 0;
    @!%p bra W;
    ld.shared.u64 %b, [s];
    barrier.cluster.arrive;
    barrier.cluster.wait;
}
forall (P0:%a = 6 /\ P1:%b = 6)
";

/// A bulk reduction behind a flag.
const REDUCTION: &str = r"PTX reduction
{ .global .align 16 .b32 acc[4] = 1; .shared .align 16 .b32 s[4] = 0; .global .u32 fl = 0; }
P0@cta 0 {
    st.shared.v4.u32 [s], {2,2,2,2};
    fence.proxy.async.shared::cta;
    bar.sync 0;
}
P1@cta 0 {
    bar.sync 0;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [acc], [s], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    fence.proxy.async;
    st.release.gpu.global.u32 [fl], 1;
}
P2@cta 1 {
S:
    ld.acquire.gpu.global.u32 %f, [fl];
    setp.eq.u32 %p, %f, 0;
    @%p bra S;
    ld.global.u32 %v, [acc];
}
forall (P2:%v = 3)
";

/// Two stages and their phases.
const RING: &str = r"PTX ring
{ .global .align 16 .b64 g[8] = {1,1,2,2,3,3,4,4}; .shared .align 16 .b64 s[4] = 0; .shared .mbarrier full[2] = 1; .shared .mbarrier empty[2] = 1; }
P0@cta 0 {
    mov.u32 %i, 0;
    mov.u32 %par, 1;
    mov.u64 %src, g;
PL:
    and.b32 %st, %i, 1;
    shl.b32 %o8, %st, 3;
    shl.b32 %o16, %st, 4;
    mov.u32 %e, empty;
    add.u32 %e, %e, %o8;
    mov.u32 %f, full;
    add.u32 %f, %f, %o8;
    mov.u32 %b, s;
    add.u32 %b, %b, %o16;
PW:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [%e], %par;
    @!%p bra PW;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%f], 16;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%b], [%src], 16, [%f];
    add.u64 %src, %src, 16;
    xor.b32 %par, %par, %st;
    add.u32 %i, %i, 1;
    setp.lt.u32 %q, %i, 4;
    @%q bra PL;
}
P1@cta 0 {
    mov.u32 %i, 0;
    mov.u32 %par, 0;
    mov.u64 %sum, 0;
CL:
    and.b32 %st, %i, 1;
    shl.b32 %o8, %st, 3;
    shl.b32 %o16, %st, 4;
    mov.u32 %e, empty;
    add.u32 %e, %e, %o8;
    mov.u32 %f, full;
    add.u32 %f, %f, %o8;
    mov.u32 %b, s;
    add.u32 %b, %b, %o16;
CW:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [%f], %par;
    @!%p bra CW;
    ld.shared.u64 %v, [%b];
    add.u64 %sum, %sum, %v;
    fence.proxy.async.shared::cta;
    mbarrier.arrive.shared::cta.b64 _, [%e];
    xor.b32 %par, %par, %st;
    add.u32 %i, %i, 1;
    setp.lt.u32 %q, %i, 4;
    @%q bra CL;
}
forall (P1:%sum = 10)
";

/// Tensor memory that one thread allocates and another reads.
const ALLOCATED: &str = r"PTX allocated
{ .shared .b32 slot = 0; .tmem .b32 d[1] = 0; }
P0@cta 0 {
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    bar.sync 0;
    ld.shared.b32 %t, [slot];
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%t], {5};
    tcgen05.wait::st.sync.aligned;
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 32;
}
P1@cta 0 {
    bar.sync 0;
    ld.shared.b32 %t, [slot];
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r}, [%t];
    tcgen05.wait::ld.sync.aligned;
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
}
forall (P1:%r = 5)
";

/// Two groups of copies.
const GROUPS: &str = r"PTX groups
{ .global .align 16 .b32 a[4] = 4; .global .align 16 .b32 b[4] = 5; .shared .align 16 .b32 s[2][4] = 0; .shared .align 16 .b64 one[2] = 1; P0:%d = 0; }
P0@cta 0 {
    cp.async.cg.shared.global [s], [a], 16;
    cp.async.commit_group;
    cp.async.cg.shared.global [s+16], [b], 16;
    cp.async.commit_group;
    cp.async.wait_group 1;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    ld.shared.u32 %r0, [s];
    cp.async.wait_group 0;
    bar.sync 0;
    ld.shared.u32 %r1, [s+16];
}
P1@cta 0 {
    bar.sync 0;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d}, s, one, 0, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    bar.sync 0;
    ld.shared.u32 %q1, [s+16];
    wgmma.wait_group.sync.aligned 0;
}
forall (P0:%r0 = 4 /\ P0:%r1 = 5 /\ P1:%q1 = 5)
";

/// Two threads that arrive, and wait with their tokens.
const SPLIT: &str = r"PTX split
{ .shared .u32 a = 0; .shared .u32 b = 0; .shared .mbarrier m = 2; }
P0@cta 0 {
    st.shared.u32 [a], 1;
    mbarrier.arrive.shared::cta.b64 %t, [m];
W:
    mbarrier.try_wait.shared::cta.b64 %p, [m], %t;
    @!%p bra W;
    ld.shared.u32 %r, [b];
}
P1@cta 0 {
    st.shared.u32 [b], 2;
    mbarrier.arrive.shared::cta.b64 %t, [m];
W:
    mbarrier.try_wait.shared::cta.b64 %p, [m], %t;
    @!%p bra W;
    ld.shared.u32 %r, [a];
}
forall (P0:%r = 2 /\ P1:%r = 1)
";

/// An mbarrier that one thread initialises.
const MADE: &str = r"PTX made
{ .shared .b64 m; .shared .u32 x = 0; }
P0@cta 0 {
    mbarrier.init.shared::cta.b64 [m], 1;
    bar.sync 0;
    st.shared.u32 [x], 3;
    mbarrier.arrive.shared::cta.b64 _, [m];
}
P1@cta 0 {
    bar.sync 0;
W:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [m], 0;
    @!%p bra W;
    ld.shared.u32 %r, [x];
}
forall (P1:%r = 3)
";

/// A barrier of the grid.
const GRID: &str = r"PTX grid
{ .global .u32 g = 0; .global .u32 cnt = 0; }
P0@cta 0 {
    st.global.u32 [g], 3;
    bar.sync 0;
}
P1@cta 0 {
    bar.sync 0;
    fence.acq_rel.gpu;
    atom.relaxed.gpu.global.add.u32 %o, [cnt], 1;
}
P2@cta 1 {
    atom.relaxed.gpu.global.add.u32 %o, [cnt], 1;
S:
    ld.relaxed.gpu.global.u32 %c, [cnt];
    setp.lt.u32 %p, %c, 2;
    @%p bra S;
    fence.acq_rel.gpu;
    bar.sync 0;
}
P3@cta 1 {
    bar.sync 0;
    ld.global.u32 %r, [g];
}
forall (P3:%r = 3)
";

/// The kernel, what is mistaken in it and how, and what is missing then.
struct Mistake {
    kernel: &'static str,
    right: &'static str,
    wrong: &'static str,
    missing: &'static [&'static str],
}

const fn mistake(
    kernel: &'static str,
    right: &'static str,
    wrong: &'static str,
    missing: &'static [&'static str],
) -> Mistake {
    Mistake { kernel, right, wrong, missing }
}

const MISTAKES: &[Mistake] = &[
    mistake(ACCUMULATOR, "@!%p bra E;", "//", &["`@!%p bra E` in P0 between lines 8 and 10"]),
    mistake(ACCUMULATOR, "@!%p bra B;", "//", &["`@!%p bra B` in P1 between lines 24 and 26"]),
    mistake(
        ACCUMULATOR,
        "[accempty], 0",
        "[accempty], 1",
        &["`mbarrier.try_wait.parity.shared::cta.b64 %p, [accempty], 0` in P0 instead of"],
    ),
    mistake(PRODUCT, "@!%p bra L;", "//", &["`@!%p bra L` in P1 between lines 11 and 13"]),
    mistake(
        PRODUCT,
        "[full], 32",
        "[full], 16",
        &["`mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 32` in P0 instead of"],
    ),
    mistake(REFILL, "@!%p bra CW;", "//", &["`@!%p bra CW` in P1 between lines 14 and 16"]),
    mistake(REFILL, "@!%p bra PW;", "//", &["`@!%p bra PW` in P0 between lines 7 and 9"]),
    mistake(
        SEMAPHORE,
        "setp.ne.u32 %p, %c, 1;\n    @%p bra S;\n    bar",
        "bar",
        &[
            "a loop around `ld.acquire.gpu.global.u32 %c, [sem]` (line 13): `setp.ne.u32 %again, %c, 1; @%again bra S` in P2",
        ],
    ),
    mistake(
        SEMAPHORE,
        "setp.ne.u32 %p, %c, 1;\n    @%p bra S;\n    fence",
        "fence",
        &[
            "a loop around `ld.relaxed.gpu.global.u32 %c, [ready]` (line 27): `setp.ne.u32 %again, %c, 1; @%again bra S` in P4",
        ],
    ),
    mistake(
        SEMAPHORE,
        "S:\n    ld.relaxed.gpu.global.u32 %c, [ready];\n    setp.ne.u32 %p, %c, 1;\n    @%p bra S;\n    fence.acq_rel.gpu;\n",
        "ld.global.u32 %c, [ready];\n",
        &[
            "a loop around `ld.global.u32 %c, [ready]` (line 26): `setp.ne.u32 %again, %c, 1; @%again bra` back to it in P4",
            "`.acquire.gpu` on P4's `ld.global.u32 %c, [ready]`",
        ],
    ),
    mistake(
        SEMAPHORE,
        "red.release.gpu.global.add.u32 [sem], 1;",
        "//",
        &["`st.release.gpu.global.u32 [sem], 1` in P"],
    ),
    mistake(
        TICKET,
        "    st.release.gpu.global.u32 [serving], %n;\n}\nP1",
        "}\nP1",
        &["`st.release.gpu.global.u32 [serving], %n` in P0 behind line 12"],
    ),
    mistake(MAILBOX, "@!%p bra W;\n    st.async", "st.async", &["`@!%p bra W` in P0 between lines 8 and 9"]),
    mistake(
        MAILBOX,
        "[bx], 4",
        "[bx], 8",
        &["`mbarrier.arrive.expect_tx.shared::cta.b64 _, [bx], 4` in P1 instead of"],
    ),
    mistake(
        MAP,
        "release.gpu.sync",
        "release.cta.sync",
        &[
            "`tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [m], [sm], 128` in P0 instead of",
        ],
    ),
    mistake(
        MULTICAST,
        "[f], 3",
        "[f], 1",
        &[
            "`cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [g], 16, [f], 3` in P0 instead of",
        ],
    ),
    mistake(
        REDUCTION,
        "cp.async.bulk.wait_group 0;",
        "//",
        &["`cp.async.bulk.wait_group 0` in P1 between lines 11 and 13"],
    ),
    mistake(REDUCTION, "st.release.gpu.global.u32 [fl], 1;", "//", &["`st.release.gpu.global.u32 [fl], 1` in P"]),
    mistake(
        ALLOCATED,
        "tcgen05.wait::ld.sync.aligned;",
        "//",
        &["`tcgen05.wait::ld.sync.aligned` in P1 between lines 20 and 22"],
    ),
    mistake(
        GROUPS,
        "[s+16], [b], 16;\n    cp.async.commit_group;",
        "[s+16], [b], 16;",
        &["`cp.async.commit_group` in P0 between lines 6 and 7"],
    ),
    mistake(
        RING,
        "mov.u32 %par, 1",
        "mov.u32 %par, 0",
        &["`mov.u32 %par, 1` in P0 instead of `mov.u32 %par, 0` (line 5)"],
    ),
    mistake(RING, "xor.b32 %par, %par, %st;", "//", &["`xor.b32 %par, %par, %st` in P0 between lines 21 and 22"]),
    mistake(RING, "empty[2] = 1", "empty[2] = 2", &["an initial count of 1 for the mbarrier empty"]),
    mistake(
        SPLIT,
        "mbarrier.arrive.shared::cta.b64 %t, [m];",
        "//",
        &["`mbarrier.arrive.shared::cta.b64 %t, [m]` in P0 between lines 4 and 6"],
    ),
    mistake(
        MADE,
        "mbarrier.init.shared::cta.b64 [m], 1;",
        "//",
        &["`mbarrier.init.shared::cta.b64 [m], 1` in P0 before line 5"],
    ),
    mistake(
        GRID,
        "fence.acq_rel.gpu;\n    atom",
        "fence.acq_rel.cta;\n    atom",
        &["`.gpu` on P1's `fence.acq_rel.cta` (line 9)"],
    ),
];

fn report(kernel: &str) -> Report {
    let (mut tests, _) = load(&Source::new("kernel", kernel));
    check(&tests.remove(0), &Models::shipped("ptx").expect("a model"), &Options::default()).report
}

#[test]
fn the_kernels_are_right() {
    let mut kernels: Vec<&str> = MISTAKES.iter().map(|mistake| mistake.kernel).collect();
    kernels.dedup();
    for kernel in kernels {
        let report = report(kernel);
        let (races, ends) = (report.races.pairs.len(), report.termination.answer);
        assert_eq!((races, ends), (0, TerminationAnswer::Terminates), "{kernel}");
    }
}

#[test]
fn one_mistake_is_named() {
    for Mistake { kernel, right, wrong, missing } in MISTAKES {
        let report = report(&kernel.replacen(right, wrong, 1));
        let what = format!("{right} -> {wrong} in {kernel}");
        let hangs = report.termination.answer == TerminationAnswer::MayHang;
        assert!(!report.races.pairs.is_empty() || hangs, "{what}");
        let of_races = report.races.pairs.iter().map(|race| &race.diagnosis.as_ref().expect("a diagnosis").missing);
        let of_waits = hangs.then_some(&report.termination.missing);
        for found in of_races.chain(of_waits) {
            let found: Vec<&str> = found.iter().map(|missing| missing.text.as_str()).collect();
            let named =
                found.len() == missing.len() && found.iter().zip(*missing).all(|(it, piece)| it.starts_with(piece));
            assert!(named, "{what}: {found:#?}");
        }
    }
}

/// A question that only one order of two accesses answers as asked is no reason to say nothing of the other.
#[test]
fn what_orders_against_the_question_is_told_as_that() {
    let text = r"PTX early
{ .global .align 16 .b32 g[4] = 5; .shared .align 16 .b32 s[4] = 0; }
P0@cta 0 {
    cp.async.cg.shared.global [s], [g], 16;
    cp.async.commit_group;
    st.shared.u32 [s], 7;
    cp.async.wait_group 0;
    ld.shared.u32 %r1, [s];
}
forall (P0:%r1 = 5)
";
    let report = report(text);
    let found = report.races.pairs[0].diagnosis.as_ref().expect("a diagnosis");
    assert_eq!(found.missing[0].text, "P0's `cp.async.wait_group 0` (line 7) belongs before line 6");
    assert!(found.why.contains("no execution has the outcome that the test asks for"), "{}", found.why);
}
