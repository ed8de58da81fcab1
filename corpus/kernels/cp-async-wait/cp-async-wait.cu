// arch: sm_80
// A double buffer: each thread copies the next tile with cp.async while all work on this one.
// Wrong: wait_group 2 lets the copies of this tile be still under way; 1 does not.
#include "../sync.cuh"

extern "C" __global__ void sums(const int4 *in, int *out, int tiles) {
  __shared__ alignas(16) int4 tile[2][128];
  int t = threadIdx.x, sum = 0;
  in += blockIdx.x * tiles * 128;
  copy16(&tile[0][t], &in[t]);
  copy_commit();
  for (int i = 0; i < tiles; i++) {
    if (i + 1 < tiles) copy16(&tile[(i + 1) & 1][t], &in[(i + 1) * 128 + t]);
    copy_commit();
#ifdef FIXED
    copy_wait<1>();
#else
    copy_wait<2>();
#endif
    __syncthreads();
    int4 v = tile[i & 1][127 - t];
    sum += v.x + v.y + v.z + v.w;
    __syncthreads();
  }
  out[blockIdx.x * 128 + t] = sum;
}
