// arch: sm_90a
// A product of one warpgroup: threads write both matrices into shared memory, wgmma reads them.
// Wrong: no proxy fence between the writes (generic proxy) and wgmma (async proxy).
#include "../sync.cuh"

// A is 64x16 (in memory), B is 8x16; 8x8 cores of 128 bytes, those along k one after the other.
extern "C" __global__ void gemm(const uint4 *a, const uint4 *b, float *out, int steps) {
  __shared__ alignas(128) uint4 sa[128];
  __shared__ alignas(128) uint4 sb[16];
  float d[4] = {};
  for (int i = 0; i < steps; i++) {
    sa[threadIdx.x] = a[i * 128 + threadIdx.x];
    if (threadIdx.x < 16) sb[threadIdx.x] = b[i * 16 + threadIdx.x];
#ifdef FIXED
    fence_async();
#endif
    __syncthreads();
    wgmma_fence();
    wgmma_m64n8k16(d, matrix(sa, 128, 256), matrix(sb, 128, 256));
    wgmma_commit();
    wgmma_wait();
    __syncthreads();
  }
  for (int r = 0; r < 4; r++) out[(blockIdx.x * 128 + threadIdx.x) * 4 + r] = d[r];
}
