// arch: sm_100a
// Two CTAs load their halves of the matrices with bulk copies, each on an mbarrier of its own; the leader issues a
// product on both CTAs' shared memory.
// Wrong: nobody waits for the copies of the CTA that does not lead, and its arrival at the leader's mbarrier is of CTA
// scope. cutlass issue #3643, PR #3647.
#include "../sync.cuh"

// A pair of CTAs: A is 256x16 (128 rows in each), B is 32x16 (16 rows in each), f16 in 8x8 cores of 128 bytes.
constexpr uint32_t SHAPE = 1 << 4 | (32 / 8) << 17 | (256 / 16) << 24;

extern "C" __global__ void __cluster_dims__(2, 1, 1) gemm(const uint4 *a, const uint4 *b, float *out, int steps) {
  __shared__ alignas(128) uint4 sa[256];
  __shared__ alignas(128) uint4 sb[32];
  __shared__ uint32_t tensor;
  __shared__ uint64_t full, both, done;
  int warp = threadIdx.x / 32, rank = cluster_rank();
  if (threadIdx.x == 0) {
    mbarrier_init(&full, 1);
    mbarrier_init(&both, 2);
    mbarrier_init(&done, 1);
    mbarrier_init_fence();
  }
  cluster_sync();
  if (warp == 0) tensor_allocate2(&tensor, 32);
  tensor_before();
  cluster_sync();
  tensor_after();
  uint32_t d = tensor;
  for (int i = 0; i < steps; i++) {
    if (threadIdx.x == 0) {
      mbarrier_arrive_expect(&full, 4096 + 512);
      bulk_load(sa, &a[(i * 2 + rank) * 256], 4096, &full);
      bulk_load(sb, &b[(i * 2 + rank) * 32], 512, &full);
#ifdef FIXED
      mbarrier_wait(&full, i & 1);
      fence_async_all();
      arrive_peer_cluster(peer(&both, 0));
#else
      if (rank == 0) mbarrier_wait(&full, i & 1);
      arrive_peer_cta(peer(&both, 0));
#endif
      if (rank == 0) {
        mbarrier_wait_cluster(&both, i & 1);
        fence_async_all();
        tensor_multiply2(d, matrix5(sa, 128, 256), matrix5(sb, 128, 256), SHAPE, i > 0);
        tensor_commit_both(&done);
      }
    }
    mbarrier_wait_cluster(&done, i & 1);
    fence_async_all();
    cluster_sync();
    fence_async_all();
  }
  tensor_after();
  for (int c = 0; c < 32; c++)
    out[(blockIdx.x * 128 + threadIdx.x) * 32 + c] = tensor_load(d + (warp << 21) + c);
  tensor_before();
  cluster_sync();
  tensor_after();
  if (warp == 0) tensor_free2(d, 32);
}
