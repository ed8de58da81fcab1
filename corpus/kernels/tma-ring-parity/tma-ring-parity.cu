// arch: sm_90a
// A ring of three stages: a thread fills them with bulk copies, 128 threads read them and hand them back.
// Wrong: the consumers wait for the parity of the phase before, so that the wait is over at once.
// Cf. tilelang PR #3087.
#include "../sync.cuh"

constexpr int STAGES = 3, ELEMENTS = 512, BYTES = ELEMENTS * 4, CONSUMERS = 128;

extern "C" __global__ void ring(const int *in, int *out, int tiles) {
  __shared__ alignas(128) int stages[STAGES][ELEMENTS];
  __shared__ uint64_t full[STAGES], empty[STAGES];
  in += blockIdx.x * tiles * ELEMENTS;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; s++) {
      mbarrier_init(&full[s], 1);
      mbarrier_init(&empty[s], CONSUMERS);
    }
    mbarrier_init_fence();
  }
  __syncthreads();
  if (threadIdx.x == CONSUMERS) {
    for (int i = 0; i < tiles; i++) {
      int stage = i % STAGES;
      mbarrier_wait(&empty[stage], (i / STAGES & 1) ^ 1);
      mbarrier_arrive_expect(&full[stage], BYTES);
      bulk_load(stages[stage], in + i * ELEMENTS, BYTES, &full[stage]);
    }
  } else if (threadIdx.x < CONSUMERS) {
    int sum = 0;
    for (int i = 0; i < tiles; i++) {
      int stage = i % STAGES;
#ifdef FIXED
      mbarrier_wait(&full[stage], i / STAGES & 1);
#else
      mbarrier_wait(&full[stage], (i / STAGES & 1) ^ 1);
#endif
      for (int e = threadIdx.x; e < ELEMENTS; e += CONSUMERS) sum += stages[stage][e];
      fence_async();
      mbarrier_arrive(&empty[stage]);
    }
    out[blockIdx.x * CONSUMERS + threadIdx.x] = sum;
  }
}
