// arch: sm_90a
// Stream-K in small: a CTA has a range of iterations, which need not begin or end with a tile. Who has not the start of a
// tile leaves its part in a workspace and sets a flag; who has the start waits for the others, and adds their parts.
// A relaxed load of the flag orders nothing: the part may be read before it is written.

#include <cuda/atomic>

constexpr int ITERATIONS = 6, TILES = 4;

using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

extern "C" __global__ void stream_k(const float *in, float *out, float *parts, unsigned *flags, int per_cta) {
#ifdef FIXED
  constexpr auto order = cuda::memory_order_acquire;
#else
  constexpr auto order = cuda::memory_order_relaxed;
#endif
  int begin = blockIdx.x * per_cta, end = min(begin + per_cta, ITERATIONS * TILES);
  while (begin < end) {
    int tile = begin / ITERATIONS, first = tile * ITERATIONS, last = min(end, first + ITERATIONS);
    float sum = 0;
    for (int i = begin; i < last; i++) sum += in[i * blockDim.x + threadIdx.x];
    if (begin != first) {
      parts[blockIdx.x * blockDim.x + threadIdx.x] = sum;
      __syncthreads();
      if (threadIdx.x == 0) Flag(flags[blockIdx.x]).store(1, cuda::memory_order_release);
    } else {
      int peer = blockIdx.x;
      for (int done = last; done < first + ITERATIONS; done = min(first + ITERATIONS, (peer + 1) * per_cta)) {
        peer++;
        if (threadIdx.x == 0) while (Flag(flags[peer]).load(order) == 0) {}
        __syncthreads();
        sum += parts[peer * blockDim.x + threadIdx.x];
      }
      out[tile * blockDim.x + threadIdx.x] = sum;
    }
    begin = last;
  }
}
