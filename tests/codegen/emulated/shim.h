#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
typedef unsigned short u16; typedef unsigned int u32; typedef unsigned long long u64;
template <class T> constexpr T min(T a, T b) { return b < a ? b : a; }
template <class T> constexpr T max(T a, T b) { return a < b ? b : a; }
struct Dim { unsigned x; };
static Dim threadIdx, blockIdx, gridDim;  // of the thread whose turn it is
struct float2 { float x, y; }; struct float4 { float x, y, z, w; };
struct int2 { int x, y; }; struct int4 { int x, y, z, w; };
struct uint2 { u32 x, y; }; struct uint4 { u32 x, y, z, w; };
struct longlong2 { long long x, y; }; struct double2 { double x, y; };
struct ulonglong2 { unsigned long long x, y; };
#define MAKE2(T, E) static T make_##T(E a, E b) { return T{a, b}; }
#define MAKE4(T, E) static T make_##T(E a, E b, E c, E d) { return T{a, b, c, d}; }
MAKE2(float2, float) MAKE4(float4, float) MAKE2(int2, int) MAKE4(int4, int)
MAKE2(uint2, u32) MAKE4(uint4, u32) MAKE2(longlong2, long long)
MAKE2(double2, double) MAKE2(ulonglong2, unsigned long long)
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__
#define __align__(n)
#define __restrict__
extern "C" unsigned char smem[1 << 18];
alignas(1024) unsigned char smem[1 << 18];
static u64 __cvta_generic_to_shared(void* p) { return (unsigned char*)p - smem; }
static float bits_float(u32 b) { float f; std::memcpy(&f, &b, 4); return f; }
static u32 float_bits(float f) { u32 b; std::memcpy(&b, &f, 4); return b; }
static float __int_as_float(u32 b) { return bits_float(b); }
static float __uint_as_float(u32 b) { return bits_float(b); }
static double __longlong_as_double(u64 b) {
  double f; std::memcpy(&f, &b, 8); return f;
}

void meet_block(); void meet_warp(int);  // threads.cpp
void meet_named(int, unsigned); void come_named(int, unsigned);
void on_threads(unsigned, void (*)(unsigned, void**), void**);
static u64 slots[32][32][8];
static int warp_id() { return threadIdx.x / 32; }
static int lane_id() { return threadIdx.x % 32; }
static void warp_sync() { Dim me = threadIdx; meet_warp(warp_id()); threadIdx = me; }
static void __syncwarp() { warp_sync(); }
static void __syncthreads() { Dim me = threadIdx; meet_block(); threadIdx = me; }
static void argus_named_sync(int id, int count) {
  Dim me = threadIdx; meet_named(id, count); threadIdx = me;
}
static void argus_named_arrive(int id, int count) { come_named(id, count); }
static void argus_await_launches() {}
static void argus_release_launches() {}
static u64* slot(int lane) { return slots[warp_id()][lane]; }
template <class T> T exchange(T v, int from) {
  u64 b = 0; std::memcpy(&b, &v, sizeof v);
  slot(lane_id())[0] = b; warp_sync();
  T r; std::memcpy(&r, slot(from), sizeof r); warp_sync();
  return r;
}
template <class T> T __shfl_xor_sync(u32, T v, int m) {
  return exchange(v, lane_id() ^ m);
}
template <class T> T __shfl_up_sync(u32, T v, int d) {
  return exchange(v, lane_id() >= d ? lane_id() - d : lane_id());
}
template <class T> T __shfl_down_sync(u32, T v, int d) {
  return exchange(v, lane_id() + d < 32 ? lane_id() + d : lane_id());
}
template <class T> T __shfl_sync(u32, T v, int lane) { return exchange(v, lane & 31); }

static u16 argus_to_bf16(float f) {
  u32 b = float_bits(f);
  return f != f ? 0x7fff : (u16)(((u64)b + 0x7fff + (b >> 16 & 1)) >> 16);
}
static float argus_from_bf16(u16 h) { return bits_float((u32)h << 16); }
static u32 argus_pack_bf16(float a, float b) {
  return argus_to_bf16(a) | (u32)argus_to_bf16(b) << 16;
}
static float argus_unpack_lo_bf16(u32 v) { return argus_from_bf16((u16)v); }
static float argus_unpack_hi_bf16(u32 v) { return argus_from_bf16(v >> 16); }
static u32 argus_fma2_bf16(u32 a, u32 b, u32 c) {
  // Sums and products alone, which f32 rounds as often as not.
  return argus_pack_bf16(
      argus_unpack_lo_bf16(a) * argus_unpack_lo_bf16(b) + argus_unpack_lo_bf16(c),
      argus_unpack_hi_bf16(a) * argus_unpack_hi_bf16(b) + argus_unpack_hi_bf16(c));
}
static u16 argus_to_f16(float f) {
  _Float16 h = f; u16 b; std::memcpy(&b, &h, 2); return b;
}
static float argus_from_f16(u16 b) { _Float16 h; std::memcpy(&h, &b, 2); return h; }
static u32 argus_pack_f16(float a, float b) {
  return argus_to_f16(a) | (u32)argus_to_f16(b) << 16;
}
static float argus_unpack_lo_f16(u32 v) { return argus_from_f16((u16)v); }
static float argus_unpack_hi_f16(u32 v) { return argus_from_f16(v >> 16); }
static u32 argus_fma2_f16(u32 a, u32 b, u32 c) {
  // Sums and products alone, which f32 rounds as often as not.
  return argus_pack_f16(
      argus_unpack_lo_f16(a) * argus_unpack_lo_f16(b) + argus_unpack_lo_f16(c),
      argus_unpack_hi_f16(a) * argus_unpack_hi_f16(b) + argus_unpack_hi_f16(c));
}
// PTX ISA, cvt.satfinite of e4m3: 4 bits of exponent (bias 7), 3 of the fraction; no
// infinities, the largest number is 448, NaN is 0x7f.
static unsigned char argus_to_e4m3(float f) {
  if (f != f) return 0x7f;
  int sign = std::signbit(f) ? 0x80 : 0, e;
  float a = std::fabs(f);
  if (a >= 448) return sign | 0x7e;
  std::frexp(a, &e);
  int unit = max(e - 4, -9);
  a = std::ldexp(std::nearbyint(std::ldexp(a, -unit)), unit);
  if (a < 0x1p-6f) return sign | (int)(a * 512);
  std::frexp(a, &e);
  return sign | (e + 6) << 3 | ((int)std::ldexp(a, 4 - e) - 8);
}
static float argus_from_e4m3(unsigned char v) {
  int e = v >> 3 & 15, m = v & 7;
  if ((v & 127) == 127) return NAN;
  float a = e ? std::ldexp(8.0f + m, e - 10) : std::ldexp((float)m, -9);
  return v & 128 ? -a : a;
}
// PTX ISA, cvt.satfinite of e5m2: the upper byte of an f16; the largest is 57344.
static unsigned char argus_to_e5m2(float f) {
  if (f != f) return 0x7f;
  int sign = std::signbit(f) ? 0x80 : 0, e;
  float a = std::fabs(f);
  if (a >= 57344) return sign | 0x7b;
  std::frexp(a, &e);
  int unit = max(e - 3, -16);
  a = std::ldexp(std::nearbyint(std::ldexp(a, -unit)), unit);
  return sign | argus_to_f16(a) >> 8;
}
static float argus_from_e5m2(unsigned char v) { return argus_from_f16(v << 8); }
// What is made here the compiler does not see: so no sum is fused with it.
static float __fmul_rn(float a, float b) {
  float r = a * b; asm("" : "+m"(r)); return r;
}
static double __dmul_rn(double a, double b) {
  double r = a * b; asm("" : "+m"(r)); return r;
}
static int __mulhi(int a, int b) { return (long long)a * b >> 32; }
static long long __mul64hi(long long a, long long b) { return (__int128)a * b >> 64; }
static u32 __umulhi(u32 a, u32 b) { return (u64)a * b >> 32; }
static u64 __umul64hi(u64 a, u64 b) { return (unsigned __int128)a * b >> 64; }
static int __popc(u32 x) { return std::popcount(x); }
static int __popcll(u64 x) { return std::popcount(x); }
static u32 __float_as_uint(float f) { u32 b; std::memcpy(&b, &f, 4); return b; }
static float rsqrtf(float x) { return 1 / std::sqrt(x); }
static double rsqrt(double x) { return 1 / std::sqrt(x); }
static float argus_exp2(float x) { return std::exp2(x); }
static float argus_rcp(float x) { return 1 / x; }
static float argus_tanh(float x) { return std::tanh(x); }
static float argus_log1p(float x) { return std::log1p(x); }
static float argus_div(float a, float b) { return a / b; }
static float argus_nearest_tf32(float x) {
  if (x != x) return x;
  u32 b;
  std::memcpy(&b, &x, 4);
  b = (b + 0x1000) & 0xffffe000;
  std::memcpy(&x, &b, 4);
  return x;
}
static float fast__expf(float x) { return std::exp(x); }
#define __expf fast__expf
static float fast__logf(float x) { return std::log(x); }
#define __logf fast__logf
static float fast__log2f(float x) { return std::log2(x); }
#define __log2f fast__log2f
static float __fdividef(float a, float b) { return a / b; }
static int __float2int_rz(float x) {
  if (x != x) return 0;
  return x >= 0x1p31f ? INT32_MAX : x < -0x1p31f ? INT32_MIN : (int)x;
}
// PTX ISA, cvt: NaN becomes the smallest number of 64 bits.
static long long __float2ll_rz(float x) {
  if (x != x) return INT64_MIN;
  return x >= 0x1p63f ? INT64_MAX : x < -0x1p63f ? INT64_MIN : (long long)x;
}
// PTX ISA, cvt to .u32 and .u64: NaN of f32 becomes 0 in 32 bits; others are left open.
static u32 __double2uint_rz(double x) {
  return x >= 0x1p32 ? UINT32_MAX : !(x > 0) ? 0 : (u32)x;
}
static u64 __double2ull_rz(double x) {
  return x >= 0x1p64 ? UINT64_MAX : !(x == x) ? 1ull << 63 : x < 0 ? 0 : (u64)x;
}
static u32 __float2uint_rz(float x) { return __double2uint_rz(x); }
static u64 __float2ull_rz(float x) { return __double2ull_rz(x); }
static int __double2int_rz(double x) {
  return x >= 0x1p31 ? INT32_MAX : !(x > -0x1p31) ? INT32_MIN : (int)x;
}
static long long __double2ll_rz(double x) {
  return x >= 0x1p63 ? INT64_MAX : !(x > -0x1p63) ? INT64_MIN : (long long)x;
}
// PTX ISA, max.NaN, min.NaN: -0 is less than +0.
static float argus_max(float a, float b) {
  if (a != a || b != b) return NAN;
  if (a == 0 && b == 0) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
static float argus_min(float a, float b) {
  if (a != a || b != b) return NAN;
  if (a == 0 && b == 0) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <class T> T __ldcs(T const* p) { return *p; }
template <class T> void __stcs(T* p, T v) { *p = v; }
static void argus_red_add_i32(int* p, int v) {
  __atomic_fetch_add((u32*)p, (u32)v, __ATOMIC_SEQ_CST);
}
template <class F> void pairwise(void* p, F add) {
  u32* q = (u32*)p;
  u32 old = __atomic_load_n(q, __ATOMIC_SEQ_CST), next;
  do next = add(old);
  while (!__atomic_compare_exchange_n(q, &old, next, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST));
}
static void argus_red_add_bf16x2(void* p, u32 v) {
  pairwise(p, [=](u32 x) { return argus_pack_bf16(
      argus_unpack_lo_bf16(x) + argus_unpack_lo_bf16(v),
      argus_unpack_hi_bf16(x) + argus_unpack_hi_bf16(v)); });
}
static void argus_red_add_f16x2(void* p, u32 v) {
  pairwise(p, [=](u32 x) { return argus_pack_f16(
      argus_unpack_lo_f16(x) + argus_unpack_lo_f16(v),
      argus_unpack_hi_f16(x) + argus_unpack_hi_f16(v)); });
}
static void argus_red_add_f32(float* p, float v) {
  u32 old, next;
  u32* q = reinterpret_cast<u32*>(p);
  do { old = __atomic_load_n(q, __ATOMIC_SEQ_CST);
       next = float_bits(bits_float(old) + v); }
  while (!__atomic_compare_exchange_n(q, &old, next, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST));
}
static double argus_atom_add_f64(double* p, double v) {
  u64* q = (u64*)p;
  u64 old = __atomic_load_n(q, __ATOMIC_SEQ_CST), next;
  double x;
  do { std::memcpy(&x, &old, 8); double y = x + v; std::memcpy(&next, &y, 8); }
  while (!__atomic_compare_exchange_n(q, &old, next, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST));
  return x;
}
static void argus_red_add_f64(double* p, double v) { argus_atom_add_f64(p, v); }
static void argus_red_max_i32(int* p, int v) {
  pairwise(p, [=](u32 x) { return (u32)max((int)x, v); });
}
static void argus_red_min_i32(int* p, int v) {
  pairwise(p, [=](u32 x) { return (u32)min((int)x, v); });
}
static void argus_red_max_f32(float* p, float v) {
  pairwise(p, [=](u32 x) { return float_bits(argus_max(bits_float(x), v)); });
}
static void argus_red_min_f32(float* p, float v) {
  pairwise(p, [=](u32 x) { return float_bits(argus_min(bits_float(x), v)); });
}
template <class F> u32 changing(void* p, F made) {
  u32* q = (u32*)p;
  u32 old = __atomic_load_n(q, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(q, &old, made(old), false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST));
  return old;
}
#define ATOM_I32(fn, made) static int argus_atom_##fn##_i32(int* p, int v) { \
  return changing(p, [=](u32 b) { int x = b; return (u32)(made); }); }
#define ATOM_F32(fn, made) static float argus_atom_##fn##_f32(float* p, float v) { \
  return bits_float(changing(p, [=](u32 b) { \
    float x = bits_float(b); return float_bits(made); })); }
ATOM_I32(add, (u32)x + (u32)v) ATOM_I32(max, max(x, v))
ATOM_I32(min, min(x, v)) ATOM_I32(exchange, v)
ATOM_F32(add, x + v) ATOM_F32(max, argus_max(x, v)) ATOM_F32(min, argus_min(x, v))
ATOM_F32(exchange, v)
static int argus_atom_cas_i32(int* p, int c, int v) {
  return changing(p, [=](u32 b) { return (int)b == c ? (u32)v : b; });
}
template <int n> void cp_async(u32 to, void const* from, bool valid) {
  if (valid) std::memcpy(smem + to, from, n); else std::memset(smem + to, 0, n);
}
#define argus_cp_async_16 cp_async<16>
#define argus_cp_async_8 cp_async<8>
#define argus_cp_async_4 cp_async<4>
static void argus_cp_async_commit() {}
template <int n> void argus_cp_async_wait() {}

// PTX ISA, ldmatrix: row i of matrix j is at the address of lane 8 j + i; lane l gets
// elements 2 (l % 4), + 1 of row l / 4 (transposed: of column l / 4).
template <int n, bool trans> void ldmatrix(u32* r, u32 address) {
  slot(lane_id())[0] = address; warp_sync();
  for (int j = 0; j < n; ++j) {
    u16 h[2];
    for (int e = 0; e < 2; ++e) {
      int row = trans ? lane_id() % 4 * 2 + e : lane_id() / 4;
      int column = trans ? lane_id() / 4 : lane_id() % 4 * 2 + e;
      std::memcpy(&h[e], smem + slot(8 * j + row)[0] + 2 * column, 2);
    }
    r[j] = h[0] | (u32)h[1] << 16;
  }
  warp_sync();
}
template <int n, bool trans> void stmatrix(u32 address, u32 const* r) {
  slot(lane_id())[0] = address; warp_sync();
  for (int j = 0; j < n; ++j)
    for (int e = 0; e < 2; ++e) {
      int row = trans ? lane_id() % 4 * 2 + e : lane_id() / 4;
      int column = trans ? lane_id() / 4 : lane_id() % 4 * 2 + e;
      u16 h = (u16)(r[j] >> 16 * e);
      std::memcpy(smem + slot(8 * j + row)[0] + 2 * column, &h, 2);
    }
  warp_sync();
}
#define argus_ldmatrix_x4 ldmatrix<4, false>
#define argus_ldmatrix_x2 ldmatrix<2, false>
#define argus_ldmatrix_x1 ldmatrix<1, false>
#define argus_ldmatrix_x4_trans ldmatrix<4, true>
#define argus_ldmatrix_x2_trans ldmatrix<2, true>
#define argus_ldmatrix_x1_trans ldmatrix<1, true>
#define argus_stmatrix_x4 stmatrix<4, false>
#define argus_stmatrix_x2 stmatrix<2, false>
#define argus_stmatrix_x1 stmatrix<1, false>
#define argus_stmatrix_x4_trans stmatrix<4, true>
#define argus_stmatrix_x2_trans stmatrix<2, true>
#define argus_stmatrix_x1_trans stmatrix<1, true>

// PTX ISA, fragments of mma.m16n8k16, .m16n8k32 and .m16n8k8: `per` elements in each
// 32-bit register, of which a row of A or a column of B has four, and then four more.
template <int per, class D, D (*from)(u32)> void mma(D* d, u32 const* a, u32 const* b) {
  u64* s = slot(lane_id());
  s[0] = a[0] | (u64)a[1] << 32; s[1] = a[2] | (u64)a[3] << 32;
  s[2] = b[0] | (u64)b[1] << 32; warp_sync();
  auto word = [](int lane, int i) { return (u32)(slot(lane)[i / 2] >> 32 * (i % 2)); };
  for (int i = 0; i < 4; ++i) {
    int row = lane_id() / 4 + 8 * (i / 2), column = lane_id() % 4 * 2 + i % 2;
    for (int k = 0; k < 8 * per; ++k) {
      int quad = k % (4 * per) / per, half = k / (4 * per), low = 32 / per * (k % per);
      u32 x = word(row % 8 * 4 + quad, row / 8 + 2 * half) >> low;
      u32 y = word(column * 4 + quad, 4 + half) >> low;
      d[i] = std::is_same<D, int>() ? (D)((u32)d[i] + (u32)from(x) * (u32)from(y))
                                    : d[i] + from(x) * from(y);
    }
  }
  warp_sync();
}
// PTX ISA, fragments of mma.m16n8k8 and .m8n8k4 of .f64: as of .tf32, without halves.
template <int rows, int deep>
void mma_f64(double* d, double const* a, double const* b) {
  u64* s = slot(lane_id());
  int held = rows / 8 * deep;
  for (int i = 0; i < held; ++i) std::memcpy(&s[i], &a[i], 8);
  for (int i = 0; i < deep; ++i) std::memcpy(&s[held + i], &b[i], 8);
  warp_sync();
  auto number = [](int lane, int i) {
    double x; std::memcpy(&x, &slot(lane)[i], 8); return x;
  };
  for (int i = 0; i < rows / 4; ++i) {
    int row = lane_id() / 4 + 8 * (i / 2), column = lane_id() % 4 * 2 + i % 2;
    for (int k = 0; k < 4 * deep; ++k)
      d[i] += number(row % 8 * 4 + k % 4, row / 8 + rows / 8 * (k / 4)) *
              number(column * 4 + k % 4, held + k / 4);
  }
  warp_sync();
}
#define argus_mma_m16n8k8_f64 mma_f64<16, 2>
#define argus_mma_m8n8k4_f64 mma_f64<8, 1>
static float mma_bf16(u32 x) { return argus_from_bf16(x); }
static float mma_f16(u32 x) { return argus_from_f16(x); }
static float mma_e4m3(u32 x) { return argus_from_e4m3(x); }
static float mma_e5m2(u32 x) { return argus_from_e5m2(x); }
static float mma_tf32(u32 x) {
  float f; x &= ~0x1fffu; std::memcpy(&f, &x, 4); return f;
}
static int mma_s8(u32 x) { return (signed char)x; }
static int mma_u8(u32 x) { return (unsigned char)x; }
#define argus_mma_m16n8k16_bf16 mma<2, float, mma_bf16>
#define argus_mma_m16n8k16_f16 mma<2, float, mma_f16>
#define argus_mma_m16n8k32_e4m3 mma<4, float, mma_e4m3>
#define argus_mma_m16n8k32_e5m2 mma<4, float, mma_e5m2>
#define argus_mma_m16n8k8_f32 mma<1, float, mma_tf32>
#define argus_mma_m16n8k32_i8 mma<4, int, mma_s8>
#define argus_mma_m16n8k32_u8 mma<4, int, mma_u8>
