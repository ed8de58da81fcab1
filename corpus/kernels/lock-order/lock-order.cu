// arch: sm_90a
// A transfer between two accounts takes the locks of both. The even CTAs take them the one way round and the odd CTAs the
// other way round: each may hold what the other waits for. Fixed: all take the first lock first.

static __device__ __forceinline__ void take(int *lock) { while (atomicCAS(lock, 0, 1) != 0) {} __threadfence(); }
static __device__ __forceinline__ void give(int *lock) { __threadfence(); atomicExch(lock, 0); }

extern "C" __global__ void transfer(int *locks, int *accounts, int amount) {
  if (threadIdx.x != 0) return;
#ifdef FIXED
  int first = 0;
#else
  int first = blockIdx.x & 1;
#endif
  take(locks + first);
  take(locks + 1 - first);
  accounts[0] -= amount;
  accounts[1] += amount;
  give(locks + 1 - first);
  give(locks + first);
}
