extern "C" __global__ void __launch_bounds__(384, 1)
attention_kernel(
    const __grid_constant__ TensorMap Q_map,
    const __grid_constant__ TensorMap K_map,
    const __grid_constant__ TensorMap V_map,
    u16* __restrict__ Out,
    int H,
    int S,
    int T,
    long long Out_s0,
    long long Out_s1) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 smem_base = (u32)__cvta_generic_to_shared(smem);
  // the same in all lanes of a warp, and known to be
  const int warp = argus_shfl_idx((int)threadIdx.x / 32, 0);
  const int block_x = blockIdx.x;

  // barriers: initialised by one thread before any other uses them
  if (threadIdx.x == 0) {
    argus_mbar_init(smem_base + 81920, 1);  // q_ring_full (ring full)
    argus_mbar_init(smem_base + 81928, 2);  // q_ring_empty (ring empty)
    for (int i = 0; i < 2; ++i)  // ring_full (ring full)
      argus_mbar_init(smem_base + 81936 + 8 * i, 1);
    for (int i = 0; i < 2; ++i)  // ring_empty (ring empty)
      argus_mbar_init(smem_base + 81952 + 8 * i, 2);
    argus_fence_mbarrier_init();
    argus_tma_prefetch(&Q_map);
    argus_tma_prefetch(&K_map);
    argus_tma_prefetch(&V_map);
  }
  __syncthreads();

  // what earlier launches wrote is there from here on
  argus_await_launches();
  argus_release_launches();

  // hopper.py:50: i, h = ag.block(ag.cdiv(S, BQ), H)
  const int i_2 = block_x / H;
  const int h = block_x % H;

  // hopper.py:53: with ag.role("load", warps=1, registers=24):

  // role load: 1 warp from warp 0
  if (warp < 4) {
    // budget of role load
    argus_setmaxnreg_dec<24>();
    if (warp == 0) {
      const bool load_elected = argus_elect();

      // hopper.py:54: with q_ring.fill() as slot:
      // slot of q_ring is free
      argus_mbar_wait(smem_base + 81928, 1);
      if (load_elected) {
        // bytes that this fill of q_ring brings
        argus_mbar_expect(smem_base + 81920, 16384);

        // hopper.py:55: slot.q.load(Q[h, i * BQ :, :])
        argus_tma_load_3d(smem_base, &Q_map, smem_base + 81920, 0, i_2 * 128, h);
      }

      // hopper.py:56: for t in ag.range(0, T, BT):
      int ring_fill = 0;
      for (int t_13 = 0; t_13 < T; t_13 += 128) {
        // hopper.py:57: with ring.fill() as slot:
        // slot of ring is free
        argus_mbar_wait(smem_base + ring_fill % 2 * 8 + 81952, (ring_fill / 2 - 1) & 1);
        if (load_elected) {
          // bytes that this fill of ring brings
          argus_mbar_expect(smem_base + ring_fill % 2 * 8 + 81936, 32768);

          // hopper.py:58: slot.k.load(K[h, t:, :])
          argus_tma_load_3d(smem_base + ring_fill % 2 * 16384 + 16384, &K_map, smem_base + ring_fill % 2 * 8 + 81936, 0, t_13, h);

          // hopper.py:59: slot.v.load(V[h, t:, :])
          argus_tma_load_3d(smem_base + ring_fill % 2 * 16384 + 49152, &V_map, smem_base + ring_fill % 2 * 8 + 81936, 0, t_13, h);
        }
        ring_fill = ring_fill + 1;
      }
    }
  }

  // role math: 8 warps from warp 4
  else if (warp >= 4 && warp < 12) {
    const int tid = threadIdx.x - 128;
    const int math_wg = argus_shfl_idx(tid / 128, 0);
    const int thread_t = tid % 4 * 2;
    const int thread_s = tid / 4 % 8 + tid / 32 % 4 * 16 + tid / 128 * 64;

    // hopper.py:60: with ag.role("math", warpgroups=2, registers=240):
    // budget of role math
    argus_setmaxnreg_inc<240>();

    // hopper.py:61: m = ag.full((BQ,), -1e30, f32)
    float m[2];
    #pragma unroll
    for (int r = 0; r < 2; ++r)
      m[r] = -1e+30f;

    // hopper.py:62: total = ag.zeros((BQ,), f32)
    float total[2];
    #pragma unroll
    for (int r = 0; r < 2; ++r)
      total[r] = 0.0f;

    // hopper.py:63: o = ag.zeros((BQ, D), f32)
    float o[32];
    #pragma unroll
    for (int r = 0; r < 32; ++r)
      o[r] = 0.0f;

    // hopper.py:64: query = q_ring.wait()
    // slot of q_ring is full
    argus_mbar_wait(smem_base + 81920, 0);

    // hopper.py:65: for t in ag.range(0, T, BT):
    int ring_drain_1 = 0;
    for (int t_1 = 0; t_1 < T; t_1 += 128) {
      // hopper.py:66: with ring.drain() as slot:
      // slot of ring is full
      argus_mbar_wait(smem_base + ring_drain_1 % 2 * 8 + 81936, (ring_drain_1 / 2) & 1);

      // hopper.py:67: s = ag.dot(query.q, slot.k.T)
      float s[64];
      const u64 q_ring_q_desc = argus_desc(smem_base + math_wg * 8192, 16, 1024, 128);
      const u64 ring_k_desc = argus_desc(smem_base + ring_drain_1 % 2 * 16384 + 16384, 16, 1024, 128);
      argus_wgmma_fence();
      argus_wgmma_m64n128k16_bf16_ss_00(s, q_ring_q_desc, ring_k_desc, 0);
      argus_wgmma_m64n128k16_bf16_ss_00(s, q_ring_q_desc + 2, ring_k_desc + 2, 1);
      argus_wgmma_m64n128k16_bf16_ss_00(s, q_ring_q_desc + 4, ring_k_desc + 4, 1);
      argus_wgmma_m64n128k16_bf16_ss_00(s, q_ring_q_desc + 6, ring_k_desc + 6, 1);
      // one group per dot
      argus_wgmma_commit();

      // hopper.py:68: s = ag.where(t + ag.index(s, "T") < T, s, -1e30)
      int t[32];
      #pragma unroll
      for (int r = 0; r < 32; ++r)
        t[r] = thread_t + r % 2 + r / 2 * 8;
      int t_2[32];
      #pragma unroll
      for (int r = 0; r < 32; ++r)
        t_2[r] = argus_add(t_1, t[r]);
      bool t_3[32];
      #pragma unroll
      for (int r = 0; r < 32; ++r)
        t_3[r] = t_2[r] < T;
      bool t_4[64];
      #pragma unroll
      for (int r = 0; r < 64; ++r)
        t_4[r] = t_3[r % 2 + r / 4 * 2];
      // the result is read next
      argus_wgmma_wait<0>();
      argus_wgmma_tie<64>(s);
      float s_2[64];
      #pragma unroll
      for (int r = 0; r < 64; ++r)
        s_2[r] = t_4[r] ? s[r] : (-1e+30f);

      // hopper.py:69: m_new = ag.maximum(m, ag.max(s, "T"))
      float t_5[2];
      #pragma unroll
      for (int r = 0; r < 2; ++r) {
        float v0 = s_2[r * 2], v1 = s_2[r * 2 + 1], v2 = s_2[r * 2 + 4], v3 = s_2[r * 2 + 5];
        #pragma unroll
        for (int rr = 0; rr < 7; ++rr) {
          v0 = argus_max(v0, s_2[r * 2 + 8 + rr * 8]);
          v1 = argus_max(v1, s_2[r * 2 + 9 + rr * 8]);
          v2 = argus_max(v2, s_2[r * 2 + 12 + rr * 8]);
          v3 = argus_max(v3, s_2[r * 2 + 13 + rr * 8]);
        }
        v0 = argus_max(v0, v2);
        v1 = argus_max(v1, v3);
        v0 = argus_max(v0, v1);
        v0 = argus_max(v0, argus_shfl_xor(v0, 1));
        v0 = argus_max(v0, argus_shfl_xor(v0, 2));
        t_5[r] = v0;
      }
      float m_new[2];
      #pragma unroll
      for (int r = 0; r < 2; ++r)
        m_new[r] = argus_max(m[r], t_5[r]);

      // hopper.py:70: p = ag.exp2(s - m_new)
      float m_new_2[64];
      #pragma unroll
      for (int r = 0; r < 64; ++r)
        m_new_2[r] = m_new[r / 2 % 2];
      float t_6[64];
      #pragma unroll
      for (int r = 0; r < 64; ++r)
        t_6[r] = s_2[r] - m_new_2[r];
      float p[64];
      #pragma unroll
      for (int r = 0; r < 64; ++r)
        p[r] = argus_exp2(t_6[r]);

      // hopper.py:71: alpha = ag.exp2(m - m_new)
      float t_7[2];
      #pragma unroll
      for (int r = 0; r < 2; ++r)
        t_7[r] = m[r] - m_new[r];
      float alpha[2];
      #pragma unroll
      for (int r = 0; r < 2; ++r)
        alpha[r] = argus_exp2(t_7[r]);

      // hopper.py:72: total = total * alpha + ag.sum(p, "T")
      float t_8[2];
      #pragma unroll
      for (int r = 0; r < 2; ++r)
        t_8[r] = total[r] * alpha[r];
      float t_9[2];
      #pragma unroll
      for (int r = 0; r < 2; ++r) {
        float v0 = p[r * 2], v1 = p[r * 2 + 1], v2 = p[r * 2 + 4], v3 = p[r * 2 + 5];
        #pragma unroll
        for (int rr = 0; rr < 7; ++rr) {
          v0 = v0 + p[r * 2 + 8 + rr * 8];
          v1 = v1 + p[r * 2 + 9 + rr * 8];
          v2 = v2 + p[r * 2 + 12 + rr * 8];
          v3 = v3 + p[r * 2 + 13 + rr * 8];
        }
        v0 = v0 + v2;
        v1 = v1 + v3;
        v0 = v0 + v1;
        v0 = v0 + argus_shfl_xor(v0, 1);
        v0 = v0 + argus_shfl_xor(v0, 2);
        t_9[r] = v0;
      }
      #pragma unroll
      for (int r = 0; r < 2; ++r)
        total[r] = t_8[r] + t_9[r];

      // hopper.py:73: o = ag.dot(p.to(bf16), slot.v, o * alpha)
      u32 t_10[32];
      #pragma unroll
      for (int r = 0; r < 32; ++r)
        t_10[r] = argus_pack_bf16(p[r * 2], p[r * 2 + 1]);
      float alpha_2[32];
      #pragma unroll
      for (int r = 0; r < 32; ++r)
        alpha_2[r] = alpha[r / 2 % 2];
      #pragma unroll
      for (int r = 0; r < 32; ++r)
        o[r] = o[r] * alpha_2[r];
      const u64 ring_v_desc = argus_desc(smem_base + ring_drain_1 % 2 * 16384 + 49152, 16, 1024, 128);
      argus_wgmma_fence();
      argus_wgmma_m64n64k16_bf16_rs_1(o, t_10, ring_v_desc, 1);
      argus_wgmma_m64n64k16_bf16_rs_1(o, t_10 + 4, ring_v_desc + 128, 1);
      argus_wgmma_m64n64k16_bf16_rs_1(o, t_10 + 8, ring_v_desc + 256, 1);
      argus_wgmma_m64n64k16_bf16_rs_1(o, t_10 + 12, ring_v_desc + 384, 1);
      argus_wgmma_m64n64k16_bf16_rs_1(o, t_10 + 16, ring_v_desc + 512, 1);
      argus_wgmma_m64n64k16_bf16_rs_1(o, t_10 + 20, ring_v_desc + 640, 1);
      argus_wgmma_m64n64k16_bf16_rs_1(o, t_10 + 24, ring_v_desc + 768, 1);
      argus_wgmma_m64n64k16_bf16_rs_1(o, t_10 + 28, ring_v_desc + 896, 1);
      // one group per dot
      argus_wgmma_commit();

      // hopper.py:66: with ring.drain() as slot:
      // the slot must not be read any more
      argus_wgmma_wait<0>();
      argus_wgmma_tie<32>(o);
      // slot of ring is read
      if (tid % 128 == 0) argus_mbar_arrive(smem_base + ring_drain_1 % 2 * 8 + 81952);
      #pragma unroll
      for (int r = 0; r < 2; ++r)
        m[r] = m_new[r];
      ring_drain_1 = ring_drain_1 + 1;
    }

    // hopper.py:75: query.release()
    // slot of q_ring is read
    if (tid % 128 == 0) argus_mbar_arrive(smem_base + 81928);

    // hopper.py:76: Out[h, i * BQ :, :] = (o / total).to(bf16)
    float total_2[32];
    #pragma unroll
    for (int r = 0; r < 32; ++r)
      total_2[r] = total[r / 2 % 2];
    float t_11[32];
    #pragma unroll
    for (int r = 0; r < 32; ++r)
      t_11[r] = argus_div(o[r], total_2[r]);
    u32 t_12[16];
    #pragma unroll
    for (int r = 0; r < 16; ++r)
      t_12[r] = argus_pack_bf16(t_11[r * 2], t_11[r * 2 + 1]);
    #pragma unroll
    for (int r = 0; r < 16; ++r) {
      const int i1 = i_2 * 128 + thread_s + r % 2 * 8;
      if (h < H && i1 < S) *reinterpret_cast<u32*>(Out + h * Out_s0 + i1 * Out_s1 + thread_t + r / 2 * 8) = t_12[r];
    }
  }
}
