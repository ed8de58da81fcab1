// arch: sm_90a
// A cluster barrier made of an mbarrier in each CTA: one thread arrives in the other CTA, all wait at home.
// Wrong: the other CTA may pass its own mbarrier and arrive again before a late warp has looked at this one, which then
// waits for a phase that is gone. Two mbarriers by turns cure it. triton PR #10669.
#include "../sync.cuh"

#ifdef FIXED
constexpr int SLOTS = 2;
#else
constexpr int SLOTS = 1;
#endif

extern "C" __global__ void __cluster_dims__(2, 1, 1) exchange(const int *in, int *out, int steps) {
  __shared__ uint64_t arrived[SLOTS];
  __shared__ int value[2][128];
  int rank = cluster_rank();
  if (threadIdx.x == 0) {
    for (int s = 0; s < SLOTS; s++) mbarrier_init(&arrived[s], 1);
    mbarrier_init_fence();
  }
  cluster_sync();
  int sum = 0;
  for (int i = 0; i < steps; i++) {
    value[i & 1][threadIdx.x] = in[(i * 2 + blockIdx.x) * 128 + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) arrive_peer_cluster(peer(&arrived[i % SLOTS], rank ^ 1));
    mbarrier_wait_cluster(&arrived[i % SLOTS], i / SLOTS & 1);
    sum += load_peer(peer(&value[i & 1][127 - threadIdx.x], rank ^ 1));
  }
  out[blockIdx.x * 128 + threadIdx.x] = sum;
  cluster_sync();
}
