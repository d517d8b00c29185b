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

  // what earlier launches wrote is there from here on
  argus_await_launches();
  argus_release_launches();

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
    float scan_carry_0;
    {
      float scan_v0_0;
      scan_v0_0 = x[0];
      float scan_v1_0;
      scan_v1_0 = x[1];
      scan_v1_0 = scan_v0_0 + scan_v1_0;
      float scan_v2_0;
      scan_v2_0 = x[2];
      scan_v2_0 = scan_v1_0 + scan_v2_0;
      float scan_v3_0;
      scan_v3_0 = x[3];
      scan_v3_0 = scan_v2_0 + scan_v3_0;
      float scan_sum_0;
      scan_sum_0 = scan_v3_0;
      {
        const float scan_up_0 = argus_shfl_up(scan_sum_0, 1);
        if (scan_lane >= 1) {
          scan_sum_0 = scan_up_0 + scan_sum_0;
        }
      }
      {
        const float scan_up_0 = argus_shfl_up(scan_sum_0, 2);
        if (scan_lane >= 2) {
          scan_sum_0 = scan_up_0 + scan_sum_0;
        }
      }
      {
        const float scan_up_0 = argus_shfl_up(scan_sum_0, 4);
        if (scan_lane >= 4) {
          scan_sum_0 = scan_up_0 + scan_sum_0;
        }
      }
      {
        const float scan_up_0 = argus_shfl_up(scan_sum_0, 8);
        if (scan_lane >= 8) {
          scan_sum_0 = scan_up_0 + scan_sum_0;
        }
      }
      {
        const float scan_up_0 = argus_shfl_up(scan_sum_0, 16);
        if (scan_lane >= 16) {
          scan_sum_0 = scan_up_0 + scan_sum_0;
        }
      }
      const float scan_below_0 = argus_shfl_up(scan_sum_0, 1);
      if (scan_lane > 0) {
        scan_v0_0 = scan_below_0 + scan_v0_0;
        scan_v1_0 = scan_below_0 + scan_v1_0;
        scan_v2_0 = scan_below_0 + scan_v2_0;
        scan_v3_0 = scan_below_0 + scan_v3_0;
      }
      sums[0] = scan_v0_0;
      sums[1] = scan_v1_0;
      sums[2] = scan_v2_0;
      sums[3] = scan_v3_0;
      const float scan_total_0 = argus_shfl_idx(scan_sum_0, scan_last);
      scan_carry_0 = scan_total_0;
    }
    {
      float scan_v0_0;
      scan_v0_0 = x[4];
      float scan_v1_0;
      scan_v1_0 = x[5];
      scan_v1_0 = scan_v0_0 + scan_v1_0;
      float scan_v2_0;
      scan_v2_0 = x[6];
      scan_v2_0 = scan_v1_0 + scan_v2_0;
      float scan_v3_0;
      scan_v3_0 = x[7];
      scan_v3_0 = scan_v2_0 + scan_v3_0;
      float scan_sum_0;
      scan_sum_0 = scan_v3_0;
      {
        const float scan_up_0 = argus_shfl_up(scan_sum_0, 1);
        if (scan_lane >= 1) {
          scan_sum_0 = scan_up_0 + scan_sum_0;
        }
      }
      {
        const float scan_up_0 = argus_shfl_up(scan_sum_0, 2);
        if (scan_lane >= 2) {
          scan_sum_0 = scan_up_0 + scan_sum_0;
        }
      }
      {
        const float scan_up_0 = argus_shfl_up(scan_sum_0, 4);
        if (scan_lane >= 4) {
          scan_sum_0 = scan_up_0 + scan_sum_0;
        }
      }
      {
        const float scan_up_0 = argus_shfl_up(scan_sum_0, 8);
        if (scan_lane >= 8) {
          scan_sum_0 = scan_up_0 + scan_sum_0;
        }
      }
      {
        const float scan_up_0 = argus_shfl_up(scan_sum_0, 16);
        if (scan_lane >= 16) {
          scan_sum_0 = scan_up_0 + scan_sum_0;
        }
      }
      const float scan_below_0 = argus_shfl_up(scan_sum_0, 1);
      float scan_base_0;
      scan_base_0 = scan_carry_0 + scan_below_0;
      scan_base_0 = scan_lane > 0 ? scan_base_0 : scan_carry_0;
      scan_v0_0 = scan_base_0 + scan_v0_0;
      scan_v1_0 = scan_base_0 + scan_v1_0;
      scan_v2_0 = scan_base_0 + scan_v2_0;
      scan_v3_0 = scan_base_0 + scan_v3_0;
      sums[4] = scan_v0_0;
      sums[5] = scan_v1_0;
      sums[6] = scan_v2_0;
      sums[7] = scan_v3_0;
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
