// arch: sm_90a
// Partial results are fetched by one warp with bulk copies into two stages; the other warps add them up, and one lane
// of each hands a stage back.
// Wrong: no proxy fence between the reads of a stage and its hand-back. DeepEP issue #621, PR #642; copied into
// nccl-extensions (issue #8).
#include "../sync.cuh"

constexpr int STAGES = 2, ELEMENTS = 512, BYTES = ELEMENTS * 4, WARPS = 4;

extern "C" __global__ void combine(const float *in, float *out, int parts) {
  __shared__ alignas(128) float stages[STAGES][ELEMENTS];
  __shared__ uint64_t full[STAGES], empty[STAGES];
  in += blockIdx.x * parts * ELEMENTS;
  int warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; s++) {
      mbarrier_init(&full[s], 1);
      mbarrier_init(&empty[s], WARPS);
    }
    mbarrier_init_fence();
  }
  __syncthreads();
  if (warp == WARPS) {
    if (threadIdx.x % 32 == 0) {
      for (int i = 0; i < parts; i++) {
        int stage = i % STAGES;
        mbarrier_wait(&empty[stage], (i / STAGES & 1) ^ 1);
        mbarrier_arrive_expect(&full[stage], BYTES);
        bulk_load(stages[stage], in + i * ELEMENTS, BYTES, &full[stage]);
      }
    }
  } else {
    float4 sum = {0, 0, 0, 0};
    for (int i = 0; i < parts; i++) {
      int stage = i % STAGES;
      mbarrier_wait(&full[stage], i / STAGES & 1);
      float4 part = reinterpret_cast<float4 *>(stages[stage])[threadIdx.x];
      sum = {sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w};
#ifdef FIXED
      fence_async();
#endif
      __syncwarp();
      if (threadIdx.x % 32 == 0) mbarrier_arrive(&empty[stage]);
    }
    reinterpret_cast<float4 *>(out)[blockIdx.x * 128 + threadIdx.x] = sum;
  }
}
