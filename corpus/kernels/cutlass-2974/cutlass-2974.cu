// arch: sm_100a
// Threads write both matrices of a product into shared memory, one thread issues tcgen05.mma on them, all read the
// result from tensor memory.
// Contested: the threads that read wait for the mbarrier of the commit, and no tcgen05.fence::after_thread_sync stands
// behind that. Cf. cutlass issue #2974.
#include "../sync.cuh"

// A and B are 128x16 and 16x16 of f16 in 8x8 cores of 128 bytes, those along k one after the other.
constexpr uint32_t SHAPE = 1 << 4 | (16 / 8) << 17 | (128 / 16) << 24;

extern "C" __global__ void gemm(const uint4 *a, const uint4 *b, float *out, int steps) {
  __shared__ alignas(128) uint4 sa[256];
  __shared__ alignas(128) uint4 sb[32];
  __shared__ uint32_t tensor;
  __shared__ uint64_t done;
  int warp = threadIdx.x / 32;
  if (warp == 0) tensor_allocate1(&tensor, 32);
  if (threadIdx.x == 0) mbarrier_init(&done, 1);
  tensor_before();
  __syncthreads();
  tensor_after();
  uint32_t d = tensor;
  for (int i = 0; i < steps; i++) {
    for (int e = threadIdx.x; e < 256; e += 128) sa[e] = a[i * 256 + e];
    if (threadIdx.x < 32) sb[threadIdx.x] = b[i * 32 + threadIdx.x];
    fence_async();
    tensor_before();
    __syncthreads();
    tensor_after();
    if (threadIdx.x == 0) {
      tensor_multiply1(d, matrix5(sa, 128, 256), matrix5(sb, 128, 256), SHAPE, i > 0);
      tensor_commit1(&done);
    }
    mbarrier_wait(&done, i & 1);
    // What the product has read is written next: some readings want a fence for that too.
    fence_async();
    __syncthreads();
  }
#ifdef FIXED
  tensor_after();
#endif
  for (int c = 0; c < 16; c++)
    out[(blockIdx.x * 128 + threadIdx.x) * 16 + c] = tensor_load(d + (warp << 21) + c);
  tensor_before();
  __syncthreads();
  tensor_after();
  if (warp == 0) tensor_free1(d, 32);
}
