// arch: sm_90a
// A cluster barrier for some warps of a CTA, made of mbarriers in each CTA and a counter in shared memory: one thread
// arrives in the other CTA, all wait at home, one thread counts. The low bit of the counter says which of two mbarriers
// is used, the next one its parity: with a single mbarrier a late warp could miss a phase (triton PR #10669).
// Wrong: a thread may count before another warp has read the counter. triton PR #11334.
#include "../sync.cuh"

struct Barrier {
  uint64_t arrived[2];
  uint32_t counter;
};

DEVICE void cross(Barrier *b, uint32_t other) {
  __syncthreads();
  uint32_t counter = b->counter;
  if (threadIdx.x == 0) arrive_peer_cluster(peer(&b->arrived[counter & 1], other));
  mbarrier_wait_cluster(&b->arrived[counter & 1], counter >> 1 & 1);
#ifdef FIXED
  __syncthreads();
#endif
  if (threadIdx.x == 0) b->counter = counter + 1;
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) exchange(const int *in, int *out, int steps) {
  __shared__ Barrier barrier;
  __shared__ int value[128];
  int rank = cluster_rank();
  if (threadIdx.x == 0) {
    mbarrier_init(&barrier.arrived[0], 1);
    mbarrier_init(&barrier.arrived[1], 1);
    barrier.counter = 0;
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
