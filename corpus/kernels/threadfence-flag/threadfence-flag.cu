// arch: sm_90a
// The first CTA writes, every thread fences, one sets a flag behind a barrier; the second CTA waits for the flag.
// Correct, since __threadfence() is a fence.sc: the fences of a thread that wrote and of the thread that reads the flag
// are in one order, and that way round. With fence.acq_rel it would not be.

extern "C" __global__ void pass(const int *in, int *data, volatile int *flag, int *out) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = in[threadIdx.x];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *flag = 1;
  } else {
    if (threadIdx.x == 0) {
      while (*flag == 0) {}
      __threadfence();
    }
    __syncthreads();
    out[threadIdx.x] = data[127 - threadIdx.x];
  }
}
