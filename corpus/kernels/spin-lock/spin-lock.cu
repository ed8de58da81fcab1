// arch: sm_90a
// Thread 0 takes a lock for its CTA, whose threads add to a row that all CTAs share: the idiom of Triton's layernorm.
// Without the fence before the lock is given back, the next CTA may read the row before it is written.

extern "C" __global__ void accumulate(const float *in, float *row, int *lock) {
  float own = in[blockIdx.x * blockDim.x + threadIdx.x];
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
  }
  __syncthreads();
  row[threadIdx.x] += own;
  __syncthreads();
  if (threadIdx.x == 0) {
#ifdef FIXED
    __threadfence();
#endif
    atomicExch(lock, 0);
  }
}
