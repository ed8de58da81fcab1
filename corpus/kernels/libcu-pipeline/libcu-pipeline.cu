// arch: sm_80
// All threads copy tiles ahead with cuda::memcpy_async and a cuda::pipeline of the block.
// Wrong, in the library: where the pipeline ends, one lane of each warp counts for the lanes that match.sync finds, and
// the last to count invalidates the mbarriers. match.sync orders no memory, so the arrivals of the other lanes are not
// ordered before that. A barrier before the end cures it.
#include <cooperative_groups.h>
#include <cuda/pipeline>

constexpr int STAGES = 2;

extern "C" __global__ void sums(const int4 *in, int *out, int tiles) {
  __shared__ alignas(16) int4 tile[STAGES][128];
  #pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
  auto block = cooperative_groups::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  int t = threadIdx.x, sum = 0;
  in += blockIdx.x * tiles * 128;
  for (int i = 0, ahead = 0; i < tiles; i++) {
    for (; ahead < tiles && ahead < i + STAGES; ahead++) {
      pipeline.producer_acquire();
      cuda::memcpy_async(&tile[ahead % STAGES][t], &in[ahead * 128 + t], cuda::aligned_size_t<16>(16), pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    int4 v = tile[i % STAGES][127 - t];
    sum += v.x + v.y + v.z + v.w;
    pipeline.consumer_release();
  }
  out[blockIdx.x * 128 + t] = sum;
#ifdef FIXED
  block.sync();
#endif
}
