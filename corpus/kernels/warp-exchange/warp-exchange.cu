// arch: sm_80
// Each warp turns 32 values round in shared memory, several times.
// Wrong: no __syncwarp between the writes and the reads, nor between the reads and the next writes. That the lanes of a
// warp often run in step orders nothing.
#include "../sync.cuh"

extern "C" __global__ void turn(const int *in, int *out, int times) {
  __shared__ int space[4][32];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = 0; i < times; i++) {
    space[warp][lane] = in[(blockIdx.x * times + i) * 128 + threadIdx.x];
#ifdef FIXED
    __syncwarp();
#endif
    out[(blockIdx.x * times + i) * 128 + threadIdx.x] = space[warp][31 - lane];
#ifdef FIXED
    __syncwarp();
#endif
  }
}
