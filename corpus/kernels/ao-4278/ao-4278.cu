// arch: sm_90a
// Threads write a tile into shared memory, one of them stores it with a bulk copy.
// Contested: the proxy fence stands behind the barrier, so it is not in the threads that wrote. pytorch/ao PR #4278
// moved it before the barrier.
#include "../sync.cuh"

extern "C" __global__ void squares(const int *in, int *out, int tiles) {
  __shared__ alignas(128) int tile[512];
  in += blockIdx.x * tiles * 512;
  out += blockIdx.x * tiles * 512;
  for (int i = 0; i < tiles; i++) {
    for (int e = threadIdx.x; e < 512; e += 128) {
      int v = in[i * 512 + e];
      tile[e] = v * v;
    }
#ifdef FIXED
    fence_async();
    __syncthreads();
#else
    __syncthreads();
    fence_async();
#endif
    if (threadIdx.x == 0) {
      bulk_store(out + i * 512, tile, 2048);
      bulk_commit();
      bulk_wait_read<0>();
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) bulk_wait();
}
