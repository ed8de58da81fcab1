// arch: sm_90a
// Two warps write tiles and two read them, handing them over with cuda::barrier. Correct.
#include <cuda/barrier>

using Barrier = cuda::barrier<cuda::thread_scope_block>;
constexpr int HALF = 64, STAGES = 2;

extern "C" __global__ void pairs(const int *in, int *out, int tiles) {
  __shared__ int tile[STAGES][HALF];
  #pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier full[STAGES], empty[STAGES];
  int t = threadIdx.x % HALF;
  in += blockIdx.x * tiles * HALF;
  if (threadIdx.x == 0)
    for (int s = 0; s < STAGES; s++) {
      init(&full[s], 2 * HALF);
      init(&empty[s], 2 * HALF);
    }
  __syncthreads();
  if (threadIdx.x < HALF) {
    for (int i = 0; i < tiles; i++) {
      int s = i % STAGES;
      empty[s].arrive_and_wait();
      tile[s][t] = in[i * HALF + t];
      (void)full[s].arrive();
    }
  } else {
    int sum = 0;
    for (int s = 0; s < STAGES; s++) (void)empty[s].arrive();
    for (int i = 0; i < tiles; i++) {
      int s = i % STAGES;
      full[s].arrive_and_wait();
      sum += tile[s][HALF - 1 - t];
      (void)empty[s].arrive();
    }
    out[blockIdx.x * HALF + t] = sum;
  }
}
