extern "C" __global__ void __launch_bounds__(32, 1)
control_kernel(
    const int* __restrict__ X,
    int* __restrict__ Y,
    int N,
    int steps) {
  const int tid = threadIdx.x;
  const int thread_n = tid * 2;

  // what earlier launches wrote is there from here on
  argus_await_launches();
  argus_release_launches();

  // kernel.py:2
  int a[2];
  {
    int2 v = make_int2(0, 0);
    if (thread_n < N) v = *reinterpret_cast<const int2*>(X + thread_n);
    a[0] = v.x;
    a[1] = v.y;
  }

  // kernel.py:3
  int b[2];
  #pragma unroll
  for (int r = 0; r < 2; ++r)
    b[r] = 1;

  // kernel.py:5
  int i = 0;
  int j = 5;
  for (int turn = 0; turn < steps; ++turn) {
    // kernel.py:4
    int total[2];
    #pragma unroll
    for (int r = 0; r < 2; ++r)
      total[r] = argus_add(a[r], b[r]);
    #pragma unroll
    for (int r = 0; r < 2; ++r)
      a[r] = b[r];
    #pragma unroll
    for (int r = 0; r < 2; ++r)
      b[r] = total[r];
    const int i_next = j;
    const int j_next = i + 1;
    i = i_next;
    j = j_next;
  }

  // kernel.py:7
  int merged[2];
  int extra;
  if (i > j) {
    // kernel.py:6
    int doubled[2];
    #pragma unroll
    for (int r = 0; r < 2; ++r)
      doubled[r] = argus_mul(a[r], 2);
    #pragma unroll
    for (int r = 0; r < 2; ++r)
      merged[r] = doubled[r];
    extra = i - j;
  } else {
    #pragma unroll
    for (int r = 0; r < 2; ++r)
      merged[r] = b[r];
    extra = (j - i) & 3;
  }

  // kernel.py:8
  int out[2];
  #pragma unroll
  for (int r = 0; r < 2; ++r)
    out[r] = argus_add(merged[r], extra);

  // kernel.py:9
  if (thread_n < N) *reinterpret_cast<int2*>(Y + thread_n) = make_int2(out[0], out[1]);
}
