// arch: sm_90a
// Threads write a tile into shared memory, one of them stores it with a bulk copy, then comes the next tile.
// Wrong: every thread calls wait_group.read, and no barrier follows. A thread waits for its own copies only, so the
// threads that issued none do not wait. TransformerEngine PR #3417.
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
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk_store(out + i * 512, tile, 2048);
      bulk_commit();
    }
    bulk_wait_read<0>();
#ifdef FIXED
    __syncthreads();
#endif
  }
  if (threadIdx.x == 0) bulk_wait();
}
