// arch: sm_90a
// Two CTAs multiply different matrices with wgmma and store the results.
// Wrong: they store them in the same place.
#include "../sync.cuh"

// A is 64x16 (in memory), B is 8x16; 8x8 cores of 128 bytes, those along k one after the other.
extern "C" __global__ void gemm(const uint4 *a, const uint4 *b, float *out, int steps) {
  __shared__ alignas(128) uint4 sa[128];
  __shared__ alignas(128) uint4 sb[16];
  float d[4] = {};
  for (int i = 0; i < steps; i++) {
    sa[threadIdx.x] = a[(blockIdx.x * steps + i) * 128 + threadIdx.x];
    if (threadIdx.x < 16) sb[threadIdx.x] = b[i * 16 + threadIdx.x];
    fence_async();
    __syncthreads();
    wgmma_fence();
    wgmma_m64n8k16(d, matrix(sa, 128, 256), matrix(sb, 128, 256));
    wgmma_commit();
    wgmma_wait();
    __syncthreads();
  }
#ifdef FIXED
  out += blockIdx.x * 512;
#endif
  for (int r = 0; r < 4; r++) out[threadIdx.x * 4 + r] = d[r];
}
