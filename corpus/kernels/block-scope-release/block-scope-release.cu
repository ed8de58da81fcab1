// arch: sm_90a
// The first CTA writes and sets a flag, the second waits for the flag and reads.
// Wrong: release and acquire are of block scope, and the CTAs are two.
#include "../sync.cuh"
#include <cuda/atomic>
#ifdef FIXED
constexpr auto SCOPE = cuda::thread_scope_device;
#else
constexpr auto SCOPE = cuda::thread_scope_block;
#endif

extern "C" __global__ void pass(const int *in, int *data, int *flag, int *out) {
  cuda::atomic_ref<int, SCOPE> ready(*flag);
  if (blockIdx.x == 0) {
    data[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) ready.store(1, cuda::std::memory_order_release);
  } else {
    if (threadIdx.x == 0)
      while (ready.load(cuda::std::memory_order_acquire) == 0) {}
    __syncthreads();
    out[threadIdx.x] = data[127 - threadIdx.x];
  }
}
