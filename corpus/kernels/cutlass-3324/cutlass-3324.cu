// arch: sm_100a
// Two CTAs copy their halves of the matrices with cp.async; the leader issues a product on both CTAs' shared memory
// once an mbarrier of its own has an arrival from each.
// Wrong: the arrival at the leader's mbarrier and the wait are of CTA scope, so the copies of the other CTA are not
// shown to the leader. cutlass issue #3324.
#include "../sync.cuh"

// A pair of CTAs: A is 256x16 (128 rows in each), B is 32x16 (16 rows in each), f16 in 8x8 cores of 128 bytes.
constexpr uint32_t SHAPE = 1 << 4 | (32 / 8) << 17 | (256 / 16) << 24;

extern "C" __global__ void __cluster_dims__(2, 1, 1) gemm(const uint4 *a, const uint4 *b, float *out, int steps) {
  __shared__ alignas(128) uint4 sa[256];
  __shared__ alignas(128) uint4 sb[32];
  __shared__ uint32_t tensor;
  __shared__ uint64_t both, done;
  int warp = threadIdx.x / 32, rank = cluster_rank();
  if (threadIdx.x == 0) {
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
    for (int e = threadIdx.x; e < 256; e += 128) copy16(&sa[e], &a[(i * 2 + rank) * 256 + e]);
    if (threadIdx.x < 32) copy16(&sb[threadIdx.x], &b[(i * 2 + rank) * 32 + threadIdx.x]);
    copy_commit();
    copy_wait<0>();
    fence_async_all();
    tensor_before();
    __syncthreads();
    tensor_after();
    if (threadIdx.x == 0) {
#ifdef FIXED
      arrive_peer_cluster(peer(&both, 0));
      if (rank == 0) {
        mbarrier_wait_cluster(&both, i & 1);
        fence_async_all();
#else
      arrive_peer_cta(peer(&both, 0));
      if (rank == 0) {
        mbarrier_wait(&both, i & 1);
        fence_async_all();
#endif
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
