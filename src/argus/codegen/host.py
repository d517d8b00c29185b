"""C++ text of the host side of an exported kernel: memory, tensor maps, launch, timing.

Plain CUDA runtime and driver API. It uses no part of Argus.
"""

HEADER = """\
#include <cuda.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>
"""

FRAME = r"""
namespace argus_host {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

long long floordiv(long long a, long long b) {
  if (b == 0) return 0;
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

long long mod(long long a, long long b) { return b ? a - b * floordiv(a, b) : 0; }

long long min(long long a, long long b) { return a < b ? a : b; }

long long max(long long a, long long b) { return a < b ? b : a; }

void require(bool holds, const char* why) {
  if (holds) return;
  std::fprintf(stderr, "required because %s\n", why);
  std::exit(1);
}

// The text after "name=" on the command line, or null.
const char* find(int argc, char** argv, const char* name) {
  const size_t n = std::strlen(name);
  for (int i = 1; i < argc; ++i)
    if (!std::strncmp(argv[i], name, n) && argv[i][n] == '=') return argv[i] + n + 1;
  return nullptr;
}

[[noreturn]] void refuse(const char* name, const char* text, const char* expected) {
  std::fprintf(stderr, "%s is %s, expected %s\n", name, text, expected);
  std::exit(1);
}

// Every argument has to be one of the names.
void known(int argc, char** argv, std::vector<const char*> names) {
  for (int i = 1; i < argc; ++i) {
    bool found = false;
    for (const char* name : names) found |= find(2, argv + i - 1, name) != nullptr;
    if (!found) refuse("an argument", argv[i], "name=value of a size or scalar");
  }
}

// A whole number from `low` to `high`.
long long whole(int argc, char** argv, const char* name, long long otherwise,
                long long low, long long high) {
  const char* text = find(argc, argv, name);
  char* end = nullptr;
  errno = 0;
  const long long value = text ? std::strtoll(text, &end, 10) : otherwise;
  if (text && (end == text || *end || errno)) refuse(name, text, "a whole number");
  if (value < low || value > high) {
    char range[64];
    std::snprintf(range, sizeof range, "%lld to %lld", low, high);
    refuse(name, text ? text : "its default", range);
  }
  return value;
}

float real(int argc, char** argv, const char* name, double otherwise) {
  const char* text = find(argc, argv, name);
  char* end = nullptr;
  const double value = text ? std::strtod(text, &end) : otherwise;
  if (text && (end == text || *end)) refuse(name, text, "a number");
  if (std::isfinite(value) && std::fabs(value) > 3.4028234663852886e38)
    refuse(name, text ? text : "its default", "a number that f32 can hold");
  return (float)value;
}

float bits(unsigned pattern) {
  float value;
  std::memcpy(&value, &pattern, 4);
  return value;
}

float max(float a, float b) { return a != a || a > b ? a : b; }
float min(float a, float b) { return a != a || a < b ? a : b; }

void aligned(const void* data, int bytes, const char* name) {
  if ((size_t)data % bytes) refuse(name, "not aligned", "a multiple of its vectors");
}

int multiprocessors() {
  int count = 0;
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), "device");
  return count;
}

enum Fill { zeros, random_f32, random_bf16, random_f16 };

unsigned short half_bits(float x) {  // x is normal and small: the range needs no care
  unsigned bits;
  std::memcpy(&bits, &x, 4);
  const int exponent = (int)(bits >> 23 & 0xff) - 112;
  const unsigned short sign = bits >> 16 & 0x8000;
  return exponent <= 0 ? sign : sign | exponent << 10 | (bits >> 13 & 0x3ff);
}

void* tensor(long long elements, int bytes, Fill fill) {
  static std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::vector<unsigned char> host((size_t)elements * bytes);
  // A period that is no power of two, so that large tensors are cheap to fill.
  std::vector<float> values(65521);
  for (float& value : values) value = normal(engine);
  for (long long i = 0; fill != zeros && i < elements; ++i) {
    const float x = values[i % values.size()];
    unsigned bits;
    std::memcpy(&bits, &x, 4);
    const unsigned short half = fill == random_bf16 ? bits >> 16 : half_bits(x);
    if (fill == random_f32) std::memcpy(&host[4 * i], &x, 4);
    else std::memcpy(&host[2 * i], &half, 2);
  }
  void* device = nullptr;
  check(cudaMalloc(&device, host.empty() ? 1 : host.size()), "cudaMalloc");
  check(cudaMemcpy(device, host.data(), host.size(), cudaMemcpyHostToDevice), "copy");
  return device;
}

CUtensorMap tensor_map(CUtensorMapDataType type, unsigned rank, void* data,
                       const cuuint64_t* dims, const cuuint64_t* strides,
                       const cuuint32_t* box, const cuuint32_t* steps,
                       CUtensorMapSwizzle swizzle) {
  CUtensorMap map;
  const CUresult status = cuTensorMapEncodeTiled(
      &map, type, rank, data, dims, strides, box, steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  const char* text = "";
  if (status != CUDA_SUCCESS) cuGetErrorString(status, &text);
  if (status != CUDA_SUCCESS) std::fprintf(stderr, "tensor map: %s\n", text);
  if (status != CUDA_SUCCESS) std::exit(1);
  return map;
}

// The roles share out what a thread is launched with (setmaxnreg): with another number
// one of them might wait for ever. 0: nothing depends on it.
void require_registers(const void* kernel, int registers) {
  cudaFuncAttributes found;
  check(cudaFuncGetAttributes(&found, kernel), "attributes");
  if (!registers || found.numRegs == registers) return;
  std::fprintf(stderr, "built for %d registers per thread, expected %d\n",
               found.numRegs, registers);
  std::exit(1);
}

void launch(const void* kernel, long long blocks, int threads, int cluster,
            int shared_bytes, int registers, void** arguments) {
  if (blocks < 0 || blocks > 2147483647) {
    std::fprintf(stderr, "the grid would have %lld blocks\n", blocks);
    std::exit(1);
  }
  if (blocks % cluster) {
    std::fprintf(stderr, "%lld blocks are no clusters of %d\n", blocks, cluster);
    std::exit(1);
  }
  if (blocks == 0) {
    std::printf("0 blocks: there is nothing to do\n");
    return;
  }
  require_registers(kernel, registers);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             shared_bytes), "shared memory");
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((unsigned)blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.attrs = &attribute;
  config.numAttrs = cluster > 1 ? 1 : 0;
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  const int warm = 3, timed = 20;
  for (int i = 0; i < warm + timed; ++i) {
    if (i == warm) check(cudaEventRecord(begin), "event");
    check(cudaLaunchKernelExC(&config, kernel, arguments), "launch");
  }
  check(cudaEventRecord(end), "event");
  check(cudaEventSynchronize(end), "kernel");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, end), "event");
  std::printf("%lld blocks, %.2f us per launch (mean of %d, L2 warm)\n", blocks,
              1000 * milliseconds / timed, timed);
}

}  // namespace argus_host

int main(int argc, char** argv) {
  (void)argc, (void)argv;
  argus_host::check(cudaFree(nullptr), "CUDA");  // makes the primary context current
@BODY@  return 0;
}
"""
