// arch: sm_90a
// The largest magnitude of a row of tiles: thread 0 copies tiles into two stages, all threads read them.
// Wrong: between the reads of a stage and the bulk copy of the next tile into it stand barriers and no proxy fence.
// TransformerEngine PR #2695.
#include "../sync.cuh"

constexpr int STAGES = 2, ELEMENTS = 512, BYTES = ELEMENTS * 4;

extern "C" __global__ void amax(const float *in, float *out, int tiles) {
  __shared__ alignas(128) float stages[STAGES][ELEMENTS];
  __shared__ uint64_t full[STAGES];
  in += blockIdx.x * tiles * ELEMENTS;
  auto load = [&](int i) {
    mbarrier_arrive_expect(&full[i % STAGES], BYTES);
    bulk_load(stages[i % STAGES], in + i * ELEMENTS, BYTES, &full[i % STAGES]);
  };
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; s++) mbarrier_init(&full[s], 1);
    mbarrier_init_fence();
  }
  __syncthreads();
  if (threadIdx.x == 0) load(0);
  float most = 0;
  for (int i = 0; i < tiles; i++) {
    if (threadIdx.x == 0 && i + 1 < tiles) load(i + 1);
    mbarrier_wait(&full[i % STAGES], i / STAGES & 1);
    for (int e = threadIdx.x; e < ELEMENTS; e += blockDim.x) most = fmaxf(most, fabsf(stages[i % STAGES][e]));
#ifdef FIXED
    fence_async();
#endif
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = most;
}
