// Thin wrappers of the PTX instructions that the kernels of this folder use, one instruction each.
#pragma once
#include <cstdint>

#define DEVICE static __device__ __forceinline__

DEVICE uint32_t address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

// mbarriers
DEVICE void mbarrier_init(uint64_t *b, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(b)), "r"(count) : "memory");
}
DEVICE void mbarrier_init_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
DEVICE void mbarrier_arrive(uint64_t *b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(b)) : "memory");
}
DEVICE void mbarrier_arrive_expect(uint64_t *b, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(b)), "r"(bytes) : "memory");
}
DEVICE void mbarrier_wait(uint64_t *b, uint32_t parity) {
  uint32_t done;
  do {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(address(b)), "r"(parity) : "memory");
  } while (!done);
}
DEVICE void mbarrier_wait_cluster(uint64_t *b, uint32_t parity) {
  uint32_t done;
  do {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
        : "=r"(done) : "r"(address(b)), "r"(parity) : "memory");
  } while (!done);
}

// bulk copies
DEVICE void bulk_load(void *to, const void *from, uint32_t bytes, uint64_t *b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   address(to)), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(address(b)) : "memory");
}
DEVICE void bulk_store(void *to, const void *from, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)),
               "r"(address(from)), "r"(bytes) : "memory");
}
DEVICE void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
DEVICE void bulk_wait() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
template <int N> DEVICE void bulk_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory"); }

// copies of single threads
DEVICE void copy16(void *to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(to)), "l"(__cvta_generic_to_global(from))
               : "memory");
}
DEVICE void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> DEVICE void copy_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

// proxies
DEVICE void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
DEVICE void fence_async_all() { asm volatile("fence.proxy.async;" ::: "memory"); }

// clusters
DEVICE uint32_t cluster_rank() {
  uint32_t r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
DEVICE void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
DEVICE uint32_t peer(const void *p, uint32_t rank) {
  uint32_t a;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(address(p)), "r"(rank));
  return a;
}
DEVICE int load_peer(uint32_t a) {
  int v;
  asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(a) : "memory");
  return v;
}
DEVICE void arrive_peer_cta(uint32_t b) {
  asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" ::"r"(b) : "memory");
}
DEVICE void arrive_peer_cluster(uint32_t b) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(b) : "memory");
}

// named barriers
DEVICE void named_sync(int id, int threads) { asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
DEVICE void named_arrive(int id, int threads) {
  asm volatile("barrier.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// wgmma: matrices without swizzle, 8x8 cores of 128 bytes side by side, then below each other
DEVICE uint64_t matrix(const void *p, uint32_t leading, uint32_t stride) {
  return (uint64_t)((address(p) & 0x3ffff) >> 4) | (uint64_t)(leading >> 4) << 16 | (uint64_t)(stride >> 4) << 32;
}
DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
DEVICE void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }
DEVICE void wgmma_m64n8k16(float (&d)[4], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
}
DEVICE void wgmma_sparse_m64n8k32(float (&d)[4], uint64_t a, uint64_t b, uint32_t which) {
  asm volatile("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, %6, 0, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b), "r"(which));
}

// tcgen05; matrices as above, version 1
#if __CUDA_ARCH__ >= 1000
DEVICE uint64_t matrix5(const void *p, uint32_t leading, uint32_t stride) {
  return matrix(p, leading, stride) | 1ull << 46;
}
DEVICE void tensor_before() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
DEVICE void tensor_after() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }
#define TENSOR(GROUP)                                                                                                  \
  DEVICE void tensor_allocate##GROUP(uint32_t *to, uint32_t columns) {                                                 \
    asm volatile("tcgen05.alloc.cta_group::" #GROUP ".sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(address(to)),      \
                 "r"(columns) : "memory");                                                                             \
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::" #GROUP ".sync.aligned;");                               \
  }                                                                                                                    \
  DEVICE void tensor_free##GROUP(uint32_t at, uint32_t columns) {                                                      \
    asm volatile("tcgen05.dealloc.cta_group::" #GROUP ".sync.aligned.b32 %0, %1;" ::"r"(at), "r"(columns));            \
  }                                                                                                                    \
  DEVICE void tensor_multiply##GROUP(uint32_t d, uint64_t a, uint64_t b, uint32_t shape, uint32_t add) {               \
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0;"                                                               \
                 "  tcgen05.mma.cta_group::" #GROUP ".kind::f16 [%0], %1, %2, %3, p; }" ::"r"(d), "l"(a), "l"(b),      \
                 "r"(shape), "r"(add) : "memory");                                                                     \
  }
TENSOR(1)
TENSOR(2)
DEVICE void tensor_commit1(uint64_t *b) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(address(b))
               : "memory");
}
DEVICE void tensor_commit_both(uint64_t *b) {
  asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::
                   "r"(address(b)), "h"((uint16_t)3) : "memory");
}
DEVICE float tensor_load(uint32_t at) {
  uint32_t v;
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(v) : "r"(at));
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
  return __uint_as_float(v);
}
#endif
