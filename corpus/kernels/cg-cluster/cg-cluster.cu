// arch: sm_90a
// A histogram shared by the CTAs of a cluster, with cooperative groups. Correct.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;
constexpr int BINS = 64;

extern "C" __global__ void __cluster_dims__(2, 1, 1) histogram(const int *in, int *out, int count) {
  __shared__ int bins[BINS / 2];
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x < BINS / 2) bins[threadIdx.x] = 0;
  cluster.sync();
  for (int i = cluster.thread_rank(); i < count; i += cluster.num_threads()) {
    int bin = in[i] % BINS;
    atomicAdd(cluster.map_shared_rank(bins, bin / (BINS / 2)) + bin % (BINS / 2), 1);
  }
  cluster.sync();
  if (threadIdx.x < BINS / 2) out[cluster.block_rank() * (BINS / 2) + threadIdx.x] = bins[threadIdx.x];
}
