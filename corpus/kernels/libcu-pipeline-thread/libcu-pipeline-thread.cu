// arch: sm_80
// All threads copy tiles ahead with cuda::memcpy_async and a cuda::pipeline of each thread. Correct.
#include <cuda/pipeline>

constexpr int STAGES = 2;

extern "C" __global__ void sums(const int4 *in, int *out, int tiles) {
  __shared__ alignas(16) int4 tile[STAGES][128];
  cuda::pipeline<cuda::thread_scope_thread> pipeline = cuda::make_pipeline();
  int t = threadIdx.x, sum = 0;
  in += blockIdx.x * tiles * 128;
  for (int i = 0, ahead = 0; i < tiles; i++) {
    for (; ahead < i + STAGES; ahead++) {
      pipeline.producer_acquire();
      if (ahead < tiles)
        cuda::memcpy_async(&tile[ahead % STAGES][t], &in[ahead * 128 + t], cuda::aligned_size_t<16>(16), pipeline);
      pipeline.producer_commit();
    }
    cuda::pipeline_consumer_wait_prior<STAGES - 1>(pipeline);
    __syncthreads();
    int4 v = tile[i % STAGES][127 - t];
    sum += v.x + v.y + v.z + v.w;
    __syncthreads();
    pipeline.consumer_release();
  }
  out[blockIdx.x * 128 + t] = sum;
}
