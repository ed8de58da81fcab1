// arch: sm_80
// All threads set one flag where they find what they look for, with plain writes.
// Wrong by the letter (8.7): the writes conflict and nothing orders them, though they all write 1.

extern "C" __global__ void any(const int *in, int *found) {
#ifdef FIXED
  if (in[blockIdx.x * 128 + threadIdx.x] % 3 == 0) atomicExch(found, 1);
#else
  if (in[blockIdx.x * 128 + threadIdx.x] % 3 == 0) *found = 1;
#endif
}
