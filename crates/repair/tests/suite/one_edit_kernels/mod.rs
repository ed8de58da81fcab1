//! Kernels that are right: each line that synchronises is needed, or stands there by habit.

/// A product, its epilogue, and the next product over the same accumulator.
pub(crate) const ACCUMULATOR: &str = r"PTX accumulator
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
pub(crate) const PRODUCT: &str = r"PTX product
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
pub(crate) const REFILL: &str = r"PTX refill
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
pub(crate) const SEMAPHORE: &str = r"PTX semaphore
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
pub(crate) const TICKET: &str = r"PTX ticket
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
pub(crate) const MAILBOX: &str = r"PTX mailbox
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
pub(crate) const MAP: &str = r"PTX map
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
pub(crate) const MULTICAST: &str = r"PTX multicast
{ .global .align 16 .b64 g[2] = 6; .shared .align 16 .b64 s[2] = 0; .shared .mbarrier f = 1; }
P0@cta 0, cluster 0 {
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [f], 16;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    fence.proxy.async.shared::cluster;
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
pub(crate) const REDUCTION: &str = r"PTX reduction
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
pub(crate) const RING: &str = r"PTX ring
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
pub(crate) const ALLOCATED: &str = r"PTX allocated
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
pub(crate) const GROUPS: &str = r"PTX groups
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
pub(crate) const SPLIT: &str = r"PTX split
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
pub(crate) const MADE: &str = r"PTX made
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
pub(crate) const GRID: &str = r"PTX grid
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
