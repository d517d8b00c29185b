extern "C" __global__ void __launch_bounds__(128, 1)
scan_kernel(
    const float* __restrict__ X,
    float* __restrict__ Y,
    int M,
    int N,
    long long X_s0,
    long long Y_s0) {
  const int block_x = blockIdx.x;
  const int tid = threadIdx.x;
  const int thread_m = tid / 32;
  const int thread_n = tid % 32 * 4;
  const int scan_lane = tid % 32;
  const int scan_last = tid % 32 - scan_lane + 31;

  // kernel.py:2
  float x[8];
  #pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int i0 = block_x * 4 + thread_m;
    const int i1 = thread_n + r * 128;
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (i0 < M && i1 < N) v = *reinterpret_cast<const float4*>(X + i0 * X_s0 + i1);
    x[r * 4] = v.x;
    x[r * 4 + 1] = v.y;
    x[r * 4 + 2] = v.z;
    x[r * 4 + 3] = v.w;
  }

  // kernel.py:3
  float sums[8];
  {
    float scan_carry = 0;
    {
      const float v0 = x[0];
      const float v1 = v0 + x[1];
      const float v2 = v1 + x[2];
      const float v3 = v2 + x[3];
      float scan_sum = v3;
      {
        const float scan_up = argus_shfl_up(scan_sum, 1);
        if (scan_lane >= 1) scan_sum = scan_sum + scan_up;
      }
      {
        const float scan_up = argus_shfl_up(scan_sum, 2);
        if (scan_lane >= 2) scan_sum = scan_sum + scan_up;
      }
      {
        const float scan_up = argus_shfl_up(scan_sum, 4);
        if (scan_lane >= 4) scan_sum = scan_sum + scan_up;
      }
      {
        const float scan_up = argus_shfl_up(scan_sum, 8);
        if (scan_lane >= 8) scan_sum = scan_sum + scan_up;
      }
      {
        const float scan_up = argus_shfl_up(scan_sum, 16);
        if (scan_lane >= 16) scan_sum = scan_sum + scan_up;
      }
      const float scan_below = argus_shfl_up(scan_sum, 1);
      const float scan_base = scan_carry + (scan_lane > 0 ? scan_below : (float)0);
      sums[0] = scan_base + v0;
      sums[1] = scan_base + v1;
      sums[2] = scan_base + v2;
      sums[3] = scan_base + v3;
      scan_carry = scan_carry + argus_shfl_idx(scan_sum, scan_last);
    }
    {
      const float v0 = x[4];
      const float v1 = v0 + x[5];
      const float v2 = v1 + x[6];
      const float v3 = v2 + x[7];
      float scan_sum = v3;
      {
        const float scan_up = argus_shfl_up(scan_sum, 1);
        if (scan_lane >= 1) scan_sum = scan_sum + scan_up;
      }
      {
        const float scan_up = argus_shfl_up(scan_sum, 2);
        if (scan_lane >= 2) scan_sum = scan_sum + scan_up;
      }
      {
        const float scan_up = argus_shfl_up(scan_sum, 4);
        if (scan_lane >= 4) scan_sum = scan_sum + scan_up;
      }
      {
        const float scan_up = argus_shfl_up(scan_sum, 8);
        if (scan_lane >= 8) scan_sum = scan_sum + scan_up;
      }
      {
        const float scan_up = argus_shfl_up(scan_sum, 16);
        if (scan_lane >= 16) scan_sum = scan_sum + scan_up;
      }
      const float scan_below = argus_shfl_up(scan_sum, 1);
      const float scan_base = scan_carry + (scan_lane > 0 ? scan_below : (float)0);
      sums[4] = scan_base + v0;
      sums[5] = scan_base + v1;
      sums[6] = scan_base + v2;
      sums[7] = scan_base + v3;
    }
  }

  // kernel.py:4
  #pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int i0 = block_x * 4 + thread_m;
    const int i1 = thread_n + r * 128;
    if (i0 < M && i1 < N) *reinterpret_cast<float4*>(Y + i0 * Y_s0 + i1) = make_float4(sums[r * 4], sums[r * 4 + 1], sums[r * 4 + 2], sums[r * 4 + 3]);
  }
}
