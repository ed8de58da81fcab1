// arch: sm_80
// Two warps write a tile and two read it, with two tiles and a pair of named barriers for each: full and empty.
// Wrong: for the second tile the consumers wait at the barrier that says empty and hand back at the one that says full.
#include "../sync.cuh"

constexpr int HALF = 64, ALL = 128;

extern "C" __global__ void pairs(const int *in, int *out, int tiles) {
  __shared__ int tile[2][HALF];
  int t = threadIdx.x % HALF;
  in += blockIdx.x * tiles * HALF;
  if (threadIdx.x < HALF) {
    for (int i = 0; i < tiles; i++) {
      int b = i & 1, full = 1 + b, empty = 3 + b;
      if (i >= 2) named_sync(empty, ALL);
      tile[b][t] = in[i * HALF + t];
      named_arrive(full, ALL);
    }
  } else {
    int sum = 0;
    for (int i = 0; i < tiles; i++) {
#ifdef FIXED
      int b = i & 1, full = 1 + b, empty = 3 + b;
#else
      int b = i & 1, full = b ? 4 : 1, empty = b ? 2 : 3;
#endif
      named_sync(full, ALL);
      sum += tile[b][HALF - 1 - t];
      if (i + 2 < tiles) named_arrive(empty, ALL);
    }
    out[blockIdx.x * HALF + t] = sum;
  }
}
