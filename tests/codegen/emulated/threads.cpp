// What needs headers that take longer to read than a kernel: compiled once.
#include <barrier>
#include <memory>
#include <thread>
#include <vector>
static std::unique_ptr<std::barrier<>> block;
static std::vector<std::unique_ptr<std::barrier<>>> warps;
void meet_block() { block->arrive_and_wait(); }
void meet_warp(int w) { warps[w]->arrive_and_wait(); }
void on_threads(unsigned threads, void (*call)(unsigned, void**), void** p) {
  block = std::make_unique<std::barrier<>>(threads);
  warps.clear();
  for (unsigned w = 0; w < threads / 32; ++w)
    warps.push_back(std::make_unique<std::barrier<>>(32));
  std::vector<std::thread> pool;
  for (unsigned t = 0; t < threads; ++t) pool.emplace_back(call, t, p);
  for (auto& t : pool) t.join();
}
