// The threads of a block take turns: each runs until it meets others that are not there.
// What needs headers that take longer to read than a kernel: compiled once.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <sys/mman.h>
#include <ucontext.h>
namespace {
constexpr size_t STACK = 8 << 20;  // bytes of addresses; memory where they are used
struct Meeting { unsigned members, come = 0; unsigned long times = 0; };
struct Thread { ucontext_t at; bool ended = false; };
std::vector<Thread> threads;
std::vector<Meeting> warps;
Meeting block, named[16];
ucontext_t host;
unsigned current, alive, idle;
void (*body)(unsigned, void**);
void** given;

void next() {
  unsigned from = current;
  do current = (current + 1) % threads.size(); while (threads[current].ended);
  if (current != from) swapcontext(&threads[from].at, &threads[current].at);
}
bool comes(Meeting& m) {  // whether it is the last one
  if (++m.come < m.members) return false;
  m.come = 0, ++m.times, idle = 0;
  return true;
}
void meet(Meeting& m) {
  unsigned long time = m.times;
  if (comes(m)) return;
  for (; m.times == time; next())
    if (++idle > 2 * threads.size()) {
      std::fputs("threads wait for others that do not come\n", stderr);
      std::abort();
    }
  idle = 0;
}
void begin() {
  body(current, given);
  threads[current].ended = true;
  idle = 0;
  if (--alive) next(); else setcontext(&host);
}
}  // namespace
void meet_block() { meet(block); }
void meet_warp(int w) { meet(warps[w]); }
void meet_named(int id, unsigned count) { named[id].members = count; meet(named[id]); }
void come_named(int id, unsigned count) { named[id].members = count; comes(named[id]); }
void on_threads(unsigned count, void (*call)(unsigned, void**), void** p) {
  threads = std::vector<Thread>(count);
  warps.assign(count / 32, Meeting{32});
  block = Meeting{count};
  for (Meeting& m : named) m = Meeting{0};
  current = idle = 0, alive = count, body = call, given = p;
  void* stacks = mmap(nullptr, count * STACK, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stacks == MAP_FAILED) std::abort();
  for (unsigned t = 0; t < count; ++t) {
    ucontext_t& at = threads[t].at;
    getcontext(&at);
    at.uc_stack.ss_sp = static_cast<char*>(stacks) + t * STACK;
    at.uc_stack.ss_size = STACK;
    makecontext(&at, begin, 0);
  }
  swapcontext(&host, &threads[0].at);
  munmap(stacks, count * STACK);
}
