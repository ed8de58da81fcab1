// arch: sm_90a
// A state is set to zero, changed for each tile of a sequence, and stored by a bulk copy.
// Wrong: the proxy fence between the generic writes and the copy stands in the loop over the tiles, which a sequence of
// length 0 does not enter. FlashKDA issue #24, PR #25. (The report also asks for a fence behind mbarrier.init; an
// mbarrier is operated on through the generic proxy, so none is needed inside a CTA.)
#include "../sync.cuh"

constexpr int ELEMENTS = 1024, BYTES = ELEMENTS * 4;

extern "C" __global__ void state(const float *in, float *out, const int *lengths) {
  __shared__ alignas(128) float state[ELEMENTS];
  __shared__ alignas(128) float tile[ELEMENTS];
  __shared__ uint64_t full;
  int tiles = lengths[blockIdx.x];
  if (threadIdx.x == 0) mbarrier_init(&full, 1);
  for (int e = threadIdx.x; e < ELEMENTS; e += blockDim.x) state[e] = 0;
#ifdef FIXED
  fence_async();
#endif
  __syncthreads();
  for (int i = 0; i < tiles; i++) {
    if (threadIdx.x == 0) {
      mbarrier_arrive_expect(&full, BYTES);
      bulk_load(tile, in + i * ELEMENTS, BYTES, &full);
    }
    mbarrier_wait(&full, i & 1);
    for (int e = threadIdx.x; e < ELEMENTS; e += blockDim.x) state[e] = 0.5f * state[e] + tile[e];
    fence_async();
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    bulk_store(out + blockIdx.x * ELEMENTS, state, BYTES);
    bulk_commit();
    bulk_wait();
  }
}
