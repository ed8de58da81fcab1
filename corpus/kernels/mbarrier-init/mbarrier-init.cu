// arch: sm_90a
// One thread initialises an mbarrier and loads a tile with a bulk copy, all threads wait for it.
// Wrong: no barrier between the initialisation and the waits of the other threads.
#include "../sync.cuh"

extern "C" __global__ void tile(const int *in, int *out) {
  __shared__ alignas(128) int tile[128];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) {
    mbarrier_init(&full, 1);
    mbarrier_init_fence();
  }
#ifdef FIXED
  __syncthreads();
#endif
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect(&full, 512);
    bulk_load(tile, in + blockIdx.x * 128, 512, &full);
  }
  mbarrier_wait(&full, 0);
  out[blockIdx.x * 128 + threadIdx.x] = tile[127 - threadIdx.x];
}
