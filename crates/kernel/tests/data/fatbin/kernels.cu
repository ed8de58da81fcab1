// nvcc 13.4: nvcc -fatbin -gencode arch=compute_90,code=compute_90 --compress-mode={none,speed,default} kernels.cu
// gives plain.fatbin, lz4.fatbin and zstd.fatbin.
__global__ void scale(float *x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= a;
}
__global__ void neighbour(int *x) {
    __shared__ int s[128];
    s[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = s[threadIdx.x ^ 33];
}
