extern "C" __global__ void __launch_bounds__(128, 1)
mma_kernel(
    const u16* __restrict__ A,
    const u16* __restrict__ B,
    float* __restrict__ C,
    int M,
    int K,
    int N,
    long long A_s0,
    long long B_s0,
    long long C_s0) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 smem_base = (u32)__cvta_generic_to_shared(smem);
  const int tid = threadIdx.x;
  const int sa_at = tid * 16;
  const int sa_at_2 = sa_at ^ (sa_at / 128 % 8 * 16);
  const int thread_m = tid / 8;
  const int thread_k = tid % 8 * 8;
  const int sa_row = tid % 16 * 128 + tid / 16 % 2 * 16 + tid / 32 % 2 * 4096;
  const int sa_row_2 = sa_row ^ (sa_row / 128 % 8 * 16);
  const int sb_row = tid % 32 * 128 + tid / 64 * 64;
  const int sb_row_2 = sb_row ^ (sb_row / 128 % 8 * 16);
  const int thread_m_2 = tid / 4 % 8 + tid / 32 % 2 * 32;
  const int thread_n = tid % 4 * 2 + tid / 64 * 32;

  // kernel.py:2
  #pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int i0 = thread_m + r * 16;
    argus_cp_async_16(smem_base + 8192 + sa_at_2 + r * 2048, A + i0 * A_s0 + thread_k, i0 < M && thread_k < K);
  }

  // kernel.py:3
  #pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int i0 = thread_m + r * 16;
    argus_cp_async_16(smem_base + 16384 + sa_at_2 + r * 2048, B + i0 * B_s0 + thread_k, i0 < K && thread_k < N);
  }

  // kernel.py:4
  argus_cp_async_commit();

  // kernel.py:5
  argus_cp_async_wait<0>();

  // kernel.py:6
  __syncthreads();

  // kernel.py:7
  u32 a[32];
  #pragma unroll
  for (int r = 0; r < 8; ++r)
    argus_ldmatrix_x4(a + r * 4, smem_base + 8192 + (sa_row_2 ^ (r % 4 * 32)) + r / 4 * 2048);

  // kernel.py:8
  u32 b[32];
  #pragma unroll
  for (int r = 0; r < 8; ++r)
    argus_ldmatrix_x4_trans(b + r * 4, smem_base + 16384 + (sb_row_2 ^ (r / 2 * 16)) + r % 2 * 4096);

  // kernel.py:9
  float acc[32];
  #pragma unroll
  for (int r = 0; r < 32; ++r)
    acc[r] = 0.0f;
  #pragma unroll
  for (int r = 0; r < 32; ++r)
    argus_mma_m16n8k16_bf16(acc + r % 8 * 4, a + r / 4 % 2 * 16 + r / 8 * 4, b + r % 4 * 8 + r / 8 * 2);

  // kernel.py:10
  #pragma unroll
  for (int r = 0; r < 16; ++r) {
    const int i0 = thread_m_2 + r % 2 * 8 + r / 8 * 16;
    const int i1 = thread_n + r / 2 % 4 * 8;
    if (i0 < M && i1 < N) *reinterpret_cast<float2*>(C + i0 * C_s0 + i1) = make_float2(acc[r * 2], acc[r * 2 + 1]);
  }
}
