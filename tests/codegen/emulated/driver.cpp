extern "C" void run(unsigned blocks, unsigned threads, void** given) {
  gridDim.x = blocks;
  for (unsigned b = 0; b < blocks; ++b) {
    blockIdx.x = b;
    std::memset(smem, 0xff, sizeof smem);
    on_threads(threads, [](unsigned t, void** p) { threadIdx.x = t; CALL; }, given);
  }
}
