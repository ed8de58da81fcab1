// arch: sm_90a
// Each CTA of a cluster writes into the other's shared memory.
// Wrong: nothing makes sure that the other CTA has started when it is written to.
#include "../sync.cuh"

extern "C" __global__ void __cluster_dims__(2, 1, 1) swap(const int *in, int *out) {
  __shared__ int value[128];
  int rank = cluster_rank();
#ifdef FIXED
  cluster_sync();
#endif
  asm volatile("st.shared::cluster.s32 [%0], %1;" ::"r"(peer(&value[threadIdx.x], rank ^ 1)),
               "r"(in[blockIdx.x * 128 + threadIdx.x]) : "memory");
  cluster_sync();
  out[blockIdx.x * 128 + threadIdx.x] = value[threadIdx.x];
}
