// arch: sm_100a
// Two CTAs of a pair allocate tensor memory together, with cta_group::2.
// Wrong: nothing makes sure that the other CTA has been launched when the warp allocates, as the ISA demands
// (9.7.18.7.1). cutlass PR #3316, tutorials 04 and 05.
#include "../sync.cuh"

extern "C" __global__ void __cluster_dims__(2, 1, 1) allocate(uint32_t *out) {
  __shared__ uint32_t tensor;
  int warp = threadIdx.x / 32;
#ifdef FIXED
  cluster_sync();
#endif
  if (warp == 0) tensor_allocate2(&tensor, 64);
  tensor_before();
  __syncthreads();
  tensor_after();
  out[blockIdx.x * 128 + threadIdx.x] = tensor;
  tensor_before();
  cluster_sync();
  tensor_after();
  if (warp == 0) tensor_free2(tensor, 64);
}
