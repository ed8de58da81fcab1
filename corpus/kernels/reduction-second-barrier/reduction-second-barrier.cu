// arch: sm_80
// Sums of rows: each warp adds up its part, the first warp adds up the parts of the warps.
// Wrong: no barrier between the reads of the parts and the writes for the next row.
#include "../sync.cuh"

extern "C" __global__ void rows(const int *in, int *out, int count) {
  __shared__ int part[8];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int row = 0; row < count; row++) {
    int v = in[(blockIdx.x * count + row) * 256 + threadIdx.x];
    for (int o = 16; o; o /= 2) v += __shfl_down_sync(~0u, v, o);
    if (lane == 0) part[warp] = v;
    __syncthreads();
    if (warp == 0) {
      v = lane < 8 ? part[lane] : 0;
      for (int o = 4; o; o /= 2) v += __shfl_down_sync(~0u, v, o);
      if (lane == 0) out[blockIdx.x * count + row] = v;
    }
#ifdef FIXED
    __syncthreads();
#endif
  }
}
