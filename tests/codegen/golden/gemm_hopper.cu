extern "C" __global__ void __launch_bounds__(384, 1)
gemm_kernel(
    const __grid_constant__ TensorMap A_map,
    const __grid_constant__ TensorMap B_map,
    u16* __restrict__ C,
    int M,
    int K,
    int N,
    long long C_s0) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 smem_base = (u32)__cvta_generic_to_shared(smem);
  // the same in all lanes of a warp, and known to be
  const int warp = argus_shfl_idx((int)threadIdx.x / 32, 0);
  const int block_x = blockIdx.x;

  // barriers: initialised by one thread before any other uses them
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4; ++i)  // ring_full (ring full)
      argus_mbar_init(smem_base + 196608 + 8 * i, 1);
    for (int i = 0; i < 4; ++i)  // ring_empty (ring empty)
      argus_mbar_init(smem_base + 196640 + 8 * i, 2);
    argus_fence_mbarrier_init();
    argus_tma_prefetch(&A_map);
    argus_tma_prefetch(&B_map);
  }
  __syncthreads();

  // what earlier launches wrote is there from here on
  argus_await_launches();
  argus_release_launches();

  // hopper.py:21: bm, bn = ag.block_tile(ag.cdiv(M, BM), ag.cdiv(N, BN), group=8)
  const int per_group = (N + 255) / 256 * 8;
  const int group = block_x / per_group;
  const int group_rows = min((M + 127) / 128 - group * 8, 8);
  const int in_group = block_x % per_group;
  const int bm = group * 8 + in_group % group_rows;
  const int bn = in_group / group_rows;

  // hopper.py:23: with ag.role("load", warps=1, registers=40):

  // role load: 1 warp from warp 0
  if (warp < 4) {
    // budget of role load
    argus_setmaxnreg_dec<40>();
    if (warp == 0) {
      const bool load_elected = argus_elect();

      // hopper.py:24: for k in ag.range(0, K, BK):
      int ring_fill = 0;
      for (int k = 0; k < K; k += 64) {
        // hopper.py:25: with ring.fill() as slot:
        // slot of ring is free
        argus_mbar_wait(smem_base + ring_fill % 4 * 8 + 196640, (ring_fill / 4 - 1) & 1);
        if (load_elected) {
          // bytes that this fill of ring brings
          argus_mbar_expect(smem_base + ring_fill % 4 * 8 + 196608, 49152);

          // hopper.py:26: slot.a.load(A[bm * BM :, k:])
          argus_tma_load_2d(smem_base + ring_fill % 4 * 16384, &A_map, smem_base + ring_fill % 4 * 8 + 196608, k, bm * 128);

          // hopper.py:27: slot.b.load(B[bn * BN :, k:])
          argus_tma_load_2d(smem_base + ring_fill % 4 * 32768 + 65536, &B_map, smem_base + ring_fill % 4 * 8 + 196608, k, bn * 256);
        }
        ring_fill = ring_fill + 1;
      }
    }
  }

  // role math: 8 warps from warp 4
  else if (warp >= 4 && warp < 12) {
    const int tid = threadIdx.x - 128;
    const int math_wg = argus_shfl_idx(tid / 128, 0);
    const int thread_m = tid / 4 % 8 + tid / 32 % 4 * 16 + tid / 128 * 64;
    const int thread_n = tid % 4 * 2;

    // hopper.py:28: with ag.role("math", warpgroups=2, registers=232):
    // budget of role math
    argus_setmaxnreg_inc<232>();

    // hopper.py:29: acc = ag.zeros((BM, BN), f32)
    float acc[128];
    #pragma unroll
    for (int r = 0; r < 128; ++r)
      acc[r] = 0.0f;

    // hopper.py:30: for _ in ag.range(0, K, BK):
    int ring_drain_1 = 0;
    for (int t_2 = 0; t_2 < K; t_2 += 64) {
      // hopper.py:31: with ring.drain() as slot:
      // slot of ring is full
      argus_mbar_wait(smem_base + ring_drain_1 % 4 * 8 + 196608, (ring_drain_1 / 4) & 1);

      // hopper.py:32: acc = ag.dot(slot.a, slot.b.T, acc)
      const u64 ring_a_desc = argus_desc(smem_base + ring_drain_1 % 4 * 16384 + math_wg * 8192, 16, 1024, 128);
      const u64 ring_b_desc = argus_desc(smem_base + ring_drain_1 % 4 * 32768 + 65536, 16, 1024, 128);
      argus_wgmma_fence();
      argus_wgmma_m64n256k16_bf16_ss_00(acc, ring_a_desc, ring_b_desc, 1);
      argus_wgmma_m64n256k16_bf16_ss_00(acc, ring_a_desc + 2, ring_b_desc + 2, 1);
      argus_wgmma_m64n256k16_bf16_ss_00(acc, ring_a_desc + 4, ring_b_desc + 4, 1);
      argus_wgmma_m64n256k16_bf16_ss_00(acc, ring_a_desc + 6, ring_b_desc + 6, 1);
      // one group per dot
      argus_wgmma_commit();

      // hopper.py:31: with ring.drain() as slot:
      // the slot must not be read any more
      argus_wgmma_wait<0>();
      argus_wgmma_tie<128>(acc);
      // slot of ring is read
      if (tid % 128 == 0) argus_mbar_arrive(smem_base + ring_drain_1 % 4 * 8 + 196640);
      ring_drain_1 = ring_drain_1 + 1;
    }

    // hopper.py:33: C[bm * BM :, bn * BN :] = acc.to(bf16)
    u32 t[64];
    #pragma unroll
    for (int r = 0; r < 64; ++r)
      t[r] = argus_pack_bf16(acc[r * 2], acc[r * 2 + 1]);
    #pragma unroll
    for (int r = 0; r < 64; ++r) {
      const int i0 = bm * 128 + thread_m + r % 2 * 8;
      const int i1 = bn * 256 + thread_n + r / 2 * 8;
      if (i0 < M && i1 < N) *reinterpret_cast<u32*>(C + i0 * C_s0 + i1) = t[r];
    }
  }
}
