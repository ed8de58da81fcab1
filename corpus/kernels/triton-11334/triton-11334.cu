// arch: sm_90a
// A cluster barrier for some warps of a CTA, made of an mbarrier in each CTA and its parity in shared memory: one thread
// arrives in the other CTA, all wait at home, one thread flips the parity.
// Wrong: a thread may flip the parity before another warp has read it. triton PR #11334.
#include "../sync.cuh"

struct Barrier {
  uint64_t arrived;
  uint32_t parity;
};

DEVICE void cross(Barrier *b, uint32_t other) {
  __syncthreads();
  if (threadIdx.x == 0) arrive_peer_cluster(peer(&b->arrived, other));
  uint32_t parity = *(volatile uint32_t *)&b->parity;
  mbarrier_wait_cluster(&b->arrived, parity);
#ifdef FIXED
  __syncthreads();
#endif
  if (threadIdx.x == 0) *(volatile uint32_t *)&b->parity = parity ^ 1;
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) exchange(const int *in, int *out, int steps) {
  __shared__ Barrier barrier;
  __shared__ int value[128];
  int rank = cluster_rank();
  if (threadIdx.x == 0) {
    mbarrier_init(&barrier.arrived, 1);
    barrier.parity = 0;
    mbarrier_init_fence();
  }
  cluster_sync();
  int sum = 0;
  for (int i = 0; i < steps; i++) {
    value[threadIdx.x] = in[(i * 2 + blockIdx.x) * 128 + threadIdx.x];
    cross(&barrier, rank ^ 1);
    sum += load_peer(peer(&value[127 - threadIdx.x], rank ^ 1));
    cross(&barrier, rank ^ 1);
  }
  out[blockIdx.x * 128 + threadIdx.x] = sum;
  cluster_sync();
}
