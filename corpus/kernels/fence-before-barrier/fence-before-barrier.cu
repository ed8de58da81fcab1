// arch: sm_90a
// The first CTA writes, every thread fences, one sets a flag behind a barrier; the second CTA waits for the flag.
// Wrong: the fences are acq_rel and stand before the barrier, so the thread that sets the flag releases only what it
// knew before the barrier. Cf. cuml issue #4157.
#include <cuda/atomic>

static __device__ void fence() { cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_device); }

extern "C" __global__ void pass(const int *in, int *data, int *flag, int *out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (blockIdx.x == 0) {
    data[threadIdx.x] = in[threadIdx.x];
#ifndef FIXED
    fence();
#endif
    __syncthreads();
    if (threadIdx.x == 0) {
#ifdef FIXED
      fence();
#endif
      ready.store(1, cuda::memory_order_relaxed);
    }
  } else {
    if (threadIdx.x == 0) {
      while (ready.load(cuda::memory_order_relaxed) == 0) {}
      fence();
    }
    __syncthreads();
    out[threadIdx.x] = data[127 - threadIdx.x];
  }
}
