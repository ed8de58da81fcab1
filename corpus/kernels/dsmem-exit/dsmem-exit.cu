// arch: sm_90a
// Each CTA of a cluster reads the other's shared memory.
// Wrong: nothing keeps a CTA alive until the other has read. Cf. sglang PR #32954, triton PR #10656.
#include "../sync.cuh"

extern "C" __global__ void __cluster_dims__(2, 1, 1) swap(const int *in, int *out) {
  __shared__ int value[128];
  int rank = cluster_rank();
  value[threadIdx.x] = in[blockIdx.x * 128 + threadIdx.x];
  cluster_sync();
  out[blockIdx.x * 128 + threadIdx.x] = load_peer(peer(&value[threadIdx.x], rank ^ 1));
#ifdef FIXED
  cluster_sync();
#endif
}
