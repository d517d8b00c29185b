"""Forms of synchronisation and asynchronous copies: mbarrier, cp.async, barriers.

Where the question is whether a wait waits, the data it protects is written after a long
delay, so that a wait that returns early reads poison.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from isa_device import (
    I32,
    POISON,
    SMEM,
    U32,
    Device,
    Form,
    differences,
    generator,
)

from argus.isa import cp_async
from argus.isa.mbarrier import Mbarrier, MbarrierError

DELAY = "for (long long t = clock64(); clock64() - t < 20000;) {}"
BAR = """\
  __shared__ u64 storage[2];
  const u32 bar = (u32)__cvta_generic_to_shared(storage);
"""
CLUSTER = (
    "argus_cluster_arrive",
    "argus_cluster_wait",
    "argus_cluster_rank",
    "argus_fence_mbarrier_init",
)


def trace_form() -> Form:
    """One thread runs random legal operations; a model says when a phase completes."""
    text = """
extern "C" __global__ void test_mbarrier_trace(
    const int* ops, int count, u32 arrivals, int* out) {
  __shared__ u64 storage;
  const u32 bar = (u32)__cvta_generic_to_shared(&storage);
  argus_mbar_init(bar, arrivals);
  argus_fence_mbarrier_init();
  for (int i = 0; i < count; ++i) {
    int op = ops[2 * i], value = ops[2 * i + 1];
    if (op == 0) argus_mbar_arrive(bar);
    if (op == 1) argus_mbar_expect(bar, value);
    if (op == 2)
      asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;"
                   :: "r"(bar), "r"(value) : "memory");
    if (op == 3) argus_mbar_wait(bar, value);
    out[2 * i] = argus_mbar_try(bar, 0);
    out[2 * i + 1] = argus_mbar_try(bar, 1);
  }
}
"""

    def trace(rng: np.random.Generator, count: int) -> tuple[Any, Any]:
        model = Mbarrier(count)
        ops: list[tuple[int, int]] = []
        want: list[tuple[bool, bool]] = []
        while len(ops) < 60:
            op = int(rng.integers(4))
            value = int(rng.integers(1, 4)) * 16
            before = (model.pending, model.tx, model.completed)
            try:
                match op:
                    case 0:
                        model.arrive()
                    case 1:
                        model.arrive_expect(value)
                    case 2:
                        if model.tx <= 0:
                            continue
                        value = min(value, model.tx)
                        model.complete_bytes(value)
                    case _:
                        value = int(not model.passed(0))
            except MbarrierError:
                model.pending, model.tx, model.completed = before
                continue
            ops.append((op, value))
            want.append((model.passed(0), model.passed(1)))
        return np.array(ops, dtype=np.int32), np.array(want).astype(np.int32)

    def check(device: Device, kernel: Any) -> list[str]:
        rng = generator("trace")
        errors: list[str] = []
        for count in (1, 2, 3, 7):
            ops, want = trace(rng, count)
            out = device.poisoned(want.size)
            device.launch(
                kernel,
                [device.upload(ops), I32(len(ops)), U32(count), out],
                block=1,
            )
            got = device.download(out, want.shape, np.int32)
            errors += differences(f"count {count}, after each operation", got, want)
        return errors

    functions = (
        "argus_mbar_init",
        "argus_mbar_arrive",
        "argus_mbar_expect",
        "argus_mbar_try",
        "argus_mbar_wait",
        "argus_fence_mbarrier_init",
    )
    title = "mbarrier: phases and parity"
    return Form(title, functions, "test_mbarrier_trace", text, check)


def handover_form() -> Form:
    """128 threads write late and arrive; 128 others wait, read and answer; 8 rounds."""
    text = f"""
extern "C" __global__ void test_mbarrier_handover(const u32* in, u32* out) {{
{BAR}  __shared__ u32 slot[128];
  const u32 empty = bar + 8;
  const int lane = threadIdx.x % 128;
  if (threadIdx.x == 0) {{
    argus_mbar_init(bar, 128);
    argus_mbar_init(empty, 128);
  }}
  slot[lane] = {POISON}u;
  __syncthreads();
  for (int n = 0; n < 8; ++n) {{
    if (threadIdx.x < 128) {{
      argus_mbar_wait(empty, (n & 1) ^ 1);
      {DELAY}
      slot[lane] = in[n * 128 + lane];
      argus_mbar_arrive(bar);
    }} else {{
      argus_mbar_wait(bar, n & 1);
      out[n * 128 + lane] = slot[127 - lane];
      argus_mbar_arrive(empty);
    }}
  }}
}}
"""

    def check(device: Device, kernel: Any) -> list[str]:
        data = generator("handover").integers(0, 1 << 32, (8, 128), dtype=np.uint32)
        out = device.poisoned(1024)
        device.launch(kernel, [device.upload(data), out], block=256)
        got = device.download(out, (8, 128), np.uint32)
        return differences("data", got, data[:, ::-1])

    functions = ("argus_mbar_init", "argus_mbar_arrive", "argus_mbar_wait")
    title = "mbarrier: arrive, wait, parity over rounds"
    return Form(title, functions, "test_mbarrier_handover", text, check)


def remote_form(size: int) -> Form:
    """Every block writes late, then arrives on the barriers of all blocks."""
    name = f"test_remote_arrive_x{size}"
    text = f"""
extern "C" __global__ void __cluster_dims__({size}, 1, 1) {name}(
    const u32* in, volatile u32* shared_out, u32* out) {{
{BAR}  const u32 rank = argus_cluster_rank();
  if (threadIdx.x == 0) {{
    argus_mbar_init(bar, {size});
    argus_fence_mbarrier_init();
  }}
  argus_cluster_arrive();
  argus_cluster_wait();
  if (threadIdx.x == 0) {{
    if (rank == {size} - 1) {DELAY}
    shared_out[rank] = in[rank];
    for (u32 r = 0; r < {size}; ++r) argus_mbar_arrive_cluster(bar, r);
  }}
  argus_mbar_wait_cluster(bar, 0);
  if (threadIdx.x < {size}) out[rank * {size} + threadIdx.x] = shared_out[threadIdx.x];
  out[{size * size} + rank] = rank;
  argus_cluster_arrive();
  argus_cluster_wait();
}}
"""

    def check(device: Device, kernel: Any) -> list[str]:
        data = generator(name).integers(0, 1 << 32, size, dtype=np.uint32)
        between = device.poisoned(size)
        out = device.poisoned(size * size + size)
        device.launch(kernel, [device.upload(data), between, out], grid=size)
        got = device.download(out, size * size + size, np.uint32)
        want = np.concatenate([np.tile(data, size), np.arange(size)])
        return differences("data, then ranks", got, want.astype(np.uint32))

    functions = (
        "argus_mbar_init",
        "argus_mbar_arrive_cluster",
        "argus_mbar_wait_cluster",
        *CLUSTER,
    )
    return Form(f"remote arrival, cluster of {size}", functions, name, text, check)


def cp_async_form(size: int, how: str) -> Form:
    """Each thread copies `size` bytes from a random place; some are not valid.

    `how`: "wait" all; "group" waits for the first of two groups only; "mbarrier" waits
    for the arrivals made by the copies.
    """
    name = f"test_cp_async_{size}_{how}"
    second = 128 * size
    wait = {
        "wait": "argus_cp_async_commit(); argus_cp_async_wait<0>(); __syncthreads();",
        "group": f"""argus_cp_async_commit();
  argus_cp_async_{size}(base + {second} + tid * {size}, in, true);
  argus_cp_async_commit(); argus_cp_async_wait<1>(); __syncthreads();""",
        "mbarrier": "argus_cp_async_arrive(bar); argus_mbar_wait(bar, 0);",
    }[how]
    text = f"""
extern "C" __global__ void {name}(
    const unsigned char* in, const u64* places, const int* valid, u32* out) {{
{SMEM}
{BAR}
  for (int i = tid; i < {size * 32}; i += 128) ((u32*)smem)[i] = {POISON}u;
  if (tid == 0) argus_mbar_init(bar, 128);
  __syncthreads();
  argus_cp_async_{size}(base + tid * {size}, (void const*)places[tid], valid[tid]);
  {wait}
  // Another thread's bytes, so that a missing barrier would show.
  for (int i = 0; i < {size // 4}; ++i) {{
    int word = (tid * 37 + 11) % 128 * {size // 4} + i;
    out[word] = ((u32*)smem)[word];
  }}
  argus_cp_async_wait<0>();
}}
"""

    def check(device: Device, kernel: Any) -> list[str]:
        rng = generator(name)
        data = rng.integers(0, 256, (512, size)).astype(np.uint8)
        rows = rng.integers(0, 512, 128)
        valid = rng.integers(0, 2, 128).astype(np.int32)
        source = device.upload(data)
        # Where not valid: an address that nothing may read.
        places = np.where(valid, source.value + rows * size, size * 3)
        out = device.poisoned(size * 32)
        device.launch(
            kernel,
            [
                source,
                device.upload(places.astype(np.uint64)),
                device.upload(valid),
                out,
            ],
            shared=2 * second,
        )
        got = device.download(out, (128, size), np.uint8)
        return differences("bytes", got, np.where(valid[:, None], data[rows], 0))

    functions = (
        f"argus_cp_async_{size}",
        "argus_cp_async_commit",
        "argus_cp_async_wait",
        "argus_cp_async_arrive",
        "argus_mbar_init",
        "argus_mbar_wait",
    )
    return Form(f"argus_cp_async_{size}, {how}", functions, name, text, check)


def named_form() -> Form:
    """Warps 0-3 write late and arrive; 4-7 sync and read; both halves also by turns."""
    text = f"""
extern "C" __global__ void test_named(const u32* in, u32* out) {{
  __shared__ u32 slot[128];
  const int lane = threadIdx.x % 128;
  slot[lane] = {POISON}u;
  __syncthreads();
  for (int n = 0; n < 8; ++n) {{
    if (threadIdx.x < 128) {{
      {DELAY}
      slot[lane] = in[n * 128 + lane];
      argus_named_arrive(3, 256);
      argus_named_sync(4, 256);
    }} else {{
      argus_named_sync(3, 256);
      u32 value = slot[127 - lane];
      argus_named_sync(5, 128);
      out[n * 128 + lane] = value;
      argus_named_arrive(4, 256);
    }}
  }}
}}
"""

    def check(device: Device, kernel: Any) -> list[str]:
        data = generator("named").integers(0, 1 << 32, (8, 128), dtype=np.uint32)
        out = device.poisoned(1024)
        device.launch(kernel, [device.upload(data), out], block=256)
        got = device.download(out, (8, 128), np.uint32)
        return differences("data", got, data[:, ::-1])

    functions = ("argus_named_sync", "argus_named_arrive")
    return Form("named barriers", functions, "test_named", text, check)


def cluster_form(size: int) -> Form:
    """Block 0 writes late; after the cluster barrier all blocks read it."""
    name = f"test_cluster_x{size}"
    text = f"""
extern "C" __global__ void __cluster_dims__({size}, 1, 1) {name}(
    volatile u32* between, u32* out) {{
  const u32 rank = argus_cluster_rank(), group = blockIdx.x / {size};
  if (rank == 0) {{
    {DELAY}
    between[group * 128 + threadIdx.x] = blockIdx.x + threadIdx.x * 100;
  }}
  argus_cluster_arrive();
  argus_cluster_wait();
  out[blockIdx.x * 128 + threadIdx.x] = between[group * 128 + threadIdx.x] + rank;
}}
"""

    def check(device: Device, kernel: Any) -> list[str]:
        blocks = 3 * size
        out = device.poisoned(128 * blocks)
        device.launch(kernel, [device.poisoned(128 * 3), out], grid=blocks)
        block, lane = np.indices((blocks, 128))
        want = block // size * size + lane * 100 + block % size
        got = device.download(out, (blocks, 128), np.uint32)
        return differences("data", got, want.astype(np.uint32))

    return Form(f"cluster barrier and rank, {size} blocks", CLUSTER, name, text, check)


def setmaxnreg_form() -> Form:
    """One warpgroup gives registers up, two take them and then hold 200 live values."""
    text = """
extern "C" __global__ void __launch_bounds__(384, 1) test_setmaxnreg(
    const float* in, float* out) {
  const int tid = threadIdx.x;
  if (tid < 128) {
    argus_setmaxnreg_dec<40>();
    out[tid] = in[tid] + 1.0f;
  } else {
    argus_setmaxnreg_inc<232>();
    float v[200];
#pragma unroll
    for (int i = 0; i < 200; ++i) v[i] = in[(tid + i) % 384];
    __syncwarp();
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 200; ++i) {
      asm volatile("" : "+f"(v[i]));
      sum += v[i];
    }
    out[tid] = sum;
  }
}
"""

    def check(device: Device, kernel: Any) -> list[str]:
        x = generator("setmaxnreg").integers(-99, 99, 384).astype(np.float32)
        out = device.poisoned(384)
        device.launch(kernel, [device.upload(x), out], block=384)
        want = np.array([np.roll(x, -t)[:200].sum() for t in range(384)])
        want[:128] = x[:128] + 1
        got = device.download(out, 384, np.float32)
        return differences("sums", got, want.astype(np.float32))

    functions = ("argus_setmaxnreg_inc", "argus_setmaxnreg_dec")
    return Form("setmaxnreg", functions, "test_setmaxnreg", text, check)


def elect_form() -> Form:
    text = """
extern "C" __global__ void test_elect(u32* out) {
  out[threadIdx.x] = argus_elect() + 2 * argus_elect();
}
"""

    def check(device: Device, kernel: Any) -> list[str]:
        out = device.poisoned(128)
        device.launch(kernel, [out])
        got = device.download(out, (4, 32), np.uint32)
        if np.array_equal(np.sort(got), np.array([[0] * 31 + [3]] * 4)):
            return []
        return [f"not the same one lane in each warp, both times: {got.tolist()}"]

    return Form("argus_elect", ("argus_elect",), "test_elect", text, check)


def fence_form() -> Form:
    """Generic writes to global memory, fence, then a TMA load of them."""
    text = """
extern "C" __global__ void test_fence_all(
    const __grid_constant__ TensorMap map, const u32* in, u32* tensor, u32* out) {
  __shared__ alignas(128) u32 tile[256];
  __shared__ u64 storage;
  const u32 bar = (u32)__cvta_generic_to_shared(&storage);
  const int tid = threadIdx.x;
  if (tid == 0) {
    argus_mbar_init(bar, 1);
    argus_fence_mbarrier_init();
  }
  for (int i = tid; i < 256; i += 128) tensor[i] = in[i];
  argus_fence_proxy_async_all();
  __syncthreads();
  if (tid == 0) {
    argus_mbar_expect(bar, 1024);
    argus_tma_load_1d_hint((u32)__cvta_generic_to_shared(tile), &map, bar, 0,
                           argus_policy_evict_normal());
  }
  argus_mbar_wait(bar, 0);
  for (int i = tid; i < 256; i += 128) out[i] = tile[i];
}
"""

    def check(device: Device, kernel: Any) -> list[str]:
        data = generator("fence").integers(0, 1 << 32, 256, dtype=np.uint32)
        tensor, out = device.poisoned(256), device.poisoned(256)
        tensor_map = device.tensor_map(tensor, (256,), (4,), (256,), 4, 0)
        device.launch(kernel, [tensor_map, device.upload(data), tensor, out])
        return differences("data", device.download(out, 256, np.uint32), data)

    functions = (
        "argus_fence_proxy_async_all",
        "argus_policy_evict_normal",
        "argus_tma_load_1d_hint",
        "argus_mbar_init",
        "argus_mbar_expect",
        "argus_mbar_wait",
        "argus_fence_mbarrier_init",
    )
    title = "fence.proxy.async before a TMA load"
    return Form(title, functions, "test_fence_all", text, check)


def launches_form() -> Form:
    """A launch that reads what the one before wrote, late."""
    text = f"""
extern "C" __global__ void test_launches(const int* in, int* out) {{
  argus_await_launches();
  argus_release_launches();
  {DELAY}
  out[threadIdx.x] = in[threadIdx.x] + 1;
}}
"""

    def check(device: Device, kernel: Any) -> list[str]:
        x = generator("launches").integers(-99, 99, 128).astype(np.int32)
        at = device.upload(x)
        for _ in range(3):
            out = device.poisoned(128)
            device.launch(kernel, [at, out])
            at = out
        return differences("numbers", device.download(at, 128, np.int32), x + 3)

    functions = ("argus_await_launches", "argus_release_launches")
    return Form(
        "launches that follow each other", functions, "test_launches", text, check
    )


def forms() -> Iterator[Form]:
    """All forms of this file."""
    yield trace_form()
    yield handover_form()
    yield from map(remote_form, (2, 4))
    for size in cp_async.SIZES:
        for how in ("wait", "group", "mbarrier"):
            yield cp_async_form(size, how)
    yield named_form()
    yield from map(cluster_form, (2, 4))
    yield setmaxnreg_form()
    yield elect_form()
    yield fence_form()
    yield launches_form()
