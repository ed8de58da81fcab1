// arch: sm_80
// Threads count in shared memory what they find.
// Wrong: no barrier between the thread that sets the counter to zero and the threads that count.

extern "C" __global__ void count(const int *in, int *out, int n) {
  __shared__ int found;
  if (threadIdx.x == 0) found = 0;
#ifdef FIXED
  __syncthreads();
#endif
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    atomicAdd(&found, in[blockIdx.x * n + i] % 3 == 0);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = found;
}
