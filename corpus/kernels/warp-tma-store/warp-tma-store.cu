// arch: sm_90a
// Each warp writes a tile of its own into shared memory, its first lane stores it with a bulk copy.
// Contested: only __syncwarp stands between the writes of the other lanes and the copy, and the ISA says of
// bar.warp.sync that it orders the accesses of the lanes; of asynchronous operations it says nothing.
#include "../sync.cuh"

extern "C" __global__ void squares(const int *in, int *out, int tiles) {
  __shared__ alignas(128) int space[4][128];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, *tile = space[warp];
  in += (blockIdx.x * 4 + warp) * tiles * 128;
  out += (blockIdx.x * 4 + warp) * tiles * 128;
  for (int i = 0; i < tiles; i++) {
    for (int e = lane; e < 128; e += 32) {
      int v = in[i * 128 + e];
      tile[e] = v * v;
    }
    fence_async();
#ifdef FIXED
    named_sync(1 + warp, 32);
#else
    __syncwarp();
#endif
    if (lane == 0) {
      bulk_store(out + i * 128, tile, 512);
      bulk_commit();
      bulk_wait_read<0>();
    }
    __syncwarp();
  }
  if (lane == 0) bulk_wait();
}
