// arch: sm_80
// Threads beyond the end of the input leave, the others exchange values in shared memory behind a barrier.
// Correct: a barrier does not wait for threads that have ended, in whatever warp they were.

extern "C" __global__ void turn(const int *in, int *out, int n) {
  __shared__ int space[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  space[threadIdx.x] = in[i];
  __syncthreads();
  out[i] = space[threadIdx.x ^ 1];
}
