// arch: sm_90a
// Threads write a tile into shared memory, one of them stores it with a bulk copy, then comes the next tile.
// Wrong: nobody waits until the copy has read the tile before it is written again. Cf. TransformerEngine PR #3417,
// where the thread that issued the copy waits and the others do not hear of it.
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
#ifdef FIXED
      bulk_wait_read<0>();
#endif
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) bulk_wait();
}
