"""Forms of TMA: loads and stores of boxes, 1 to 5 dimensions, all swizzles, multicast.

Boxes lie inside, across the edges and wholly outside the tensor. All of shared memory,
and all of global memory around the tensor, is compared, not just the box.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from isa_device import I32, POISON, SMEM, U32, Device, Form, differences, generator

from argus.isa import tma

WORDS = 16 * 1024
SETUP = (
    "argus_mbar_init",
    "argus_mbar_expect",
    "argus_mbar_wait",
    "argus_fence_mbarrier_init",
    "argus_fence_proxy_async",
    "argus_tma_prefetch",
)
CLUSTER = ("argus_cluster_arrive", "argus_cluster_wait", "argus_cluster_rank")


@dataclass
class Tensor:
    """A strided tensor in poisoned memory; everything is outermost first."""

    dims: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    flat: np.ndarray

    @staticmethod
    def random(
        rng: np.random.Generator, dims: tuple[int, ...], itemsize: int
    ) -> Tensor:
        strides = [itemsize]
        for extent in reversed(dims[1:]):
            row = strides[0] * extent
            strides.insert(0, -(-row // 16) * 16 + 16 * int(rng.integers(0, 3)))
        total = strides[0] * dims[0] // itemsize + 8
        kind = {2: np.uint16, 4: np.uint32}[itemsize]
        flat = rng.integers(0, 1 << (8 * itemsize), total).astype(kind)
        return Tensor(dims, tuple(strides), itemsize, flat)

    def box(
        self, start: tuple[int, ...], box: tuple[int, ...]
    ) -> tuple[np.ndarray, np.ndarray]:
        """(index into flat, inside) of each element of a box, shape `box`."""
        index = np.zeros(box, dtype=np.int64)
        inside = np.ones(box, dtype=bool)
        for axis, extent in enumerate(box):
            along = start[axis] + np.arange(extent)
            shape = [1] * len(box)
            shape[axis] = extent
            valid = (along >= 0) & (along < self.dims[axis])
            inside &= valid.reshape(shape)
            step = self.strides[axis] // self.itemsize
            index = index + np.where(valid, along * step, 0).reshape(shape)
        return index, inside


def coordinates(rank: int) -> tuple[str, str]:
    names = [f"c{i}" for i in range(rank)]
    return ", ".join(f"int {name}" for name in names), ", ".join(names)


def random_box(
    rng: np.random.Generator, rank: int, itemsize: int, swizzle: int
) -> tuple[int, ...]:
    inner = swizzle or 16 * int(rng.integers(1, 9))
    outer = {1: (), 2: (9, 33), 3: (3, 9), 4: (2, 5), 5: (2, 4)}[rank]
    sizes = [int(rng.integers(*outer)) for _ in range(rank - 1)]
    return (*sizes, inner // itemsize)


def starts(
    rng: np.random.Generator, tensor: Tensor, box: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    """Inside, over the low edges, over the high edges, anywhere, wholly outside.

    The innermost coordinate begins a 16-byte chunk: anything else is illegal.
    """
    chunk = 16 // tensor.itemsize
    for *outer, inner in _anywhere(rng, tensor.dims, box):
        yield (*outer, inner // chunk * chunk)


def _anywhere(
    rng: np.random.Generator, dims: tuple[int, ...], box: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    pairs = list(zip(dims, box, strict=True))
    yield tuple(int(rng.integers(0, max(d - b, 0) + 1)) for d, b in pairs)
    yield tuple(-int(rng.integers(1, max(b, 2))) for _, b in pairs)
    yield tuple(d - int(rng.integers(1, max(b, 2))) for d, b in pairs)
    yield tuple(int(rng.integers(-b, d + b)) for d, b in pairs)
    yield tuple(d + 1 for d in dims)


def cases(
    name: str, rank: int, *, whole_chunks: bool = False
) -> Iterator[tuple[str, np.random.Generator, Tensor, tuple[int, ...], int]]:
    rng = generator(name)
    for itemsize in (2, 4):
        for swizzle in (0, 32, 64, 128):
            box = random_box(rng, rank, itemsize, swizzle)
            dims = tuple(int(rng.integers(b, 2 * b + 3)) for b in box)
            if whole_chunks:  # stores write up to the end of a 16-byte chunk
                chunk = 16 // itemsize
                dims = (*dims[:-1], -(-dims[-1] // chunk) * chunk)
            tensor = Tensor.random(rng, dims, itemsize)
            what = f"dims={dims} box={box} item={itemsize} swizzle={swizzle}"
            yield what, rng, tensor, box, swizzle


def shared_image(words: int = WORDS) -> np.ndarray:
    return np.full(words, POISON, dtype=np.uint32)


def place_box(
    image: np.ndarray, at: int, tensor: Tensor, start: Any, box: Any, swizzle: int
) -> None:
    """What a load of the box leaves in shared memory, beginning at byte `at`."""
    index, inside = tensor.box(start, box)
    values = np.where(inside, tensor.flat[index], 0).astype(tensor.flat.dtype)
    offsets = at + tma.box_offsets(box, tensor.itemsize, swizzle)
    image.view(tensor.flat.dtype)[offsets // tensor.itemsize] = values


def load_form(rank: int, hint: bool) -> Form:
    function = f"argus_tma_load_{rank}d" + ("_hint" if hint else "")
    name = function.replace("argus_", "test_")
    parameters, names = coordinates(rank)
    policies = ("argus_policy_evict_first",) if hint else ()
    policy = ", argus_policy_evict_first()" if hint else ""
    text = f"""
extern "C" __global__ void {name}(
    const __grid_constant__ TensorMap map, u32* out, int words, u32 bytes,
    {parameters}) {{
{SMEM}
  __shared__ u64 storage;
  const u32 bar = (u32)__cvta_generic_to_shared(&storage);
  for (int i = tid; i < words; i += 128) ((u32*)smem)[i] = {POISON}u;
  if (tid == 0) {{
    argus_tma_prefetch(&map);
    argus_mbar_init(bar, 1);
    argus_fence_mbarrier_init();
  }}
  argus_fence_proxy_async();
  __syncthreads();
  if (tid == 0) {{
    argus_mbar_expect(bar, bytes);
    {function}(base, &map, bar, {names}{policy});
  }}
  argus_mbar_wait(bar, 0);
  for (int i = tid; i < words; i += 128) out[i] = ((u32*)smem)[i];
}}
"""

    def check(device: Device, kernel: Any) -> list[str]:
        errors: list[str] = []
        for what, rng, tensor, box, swizzle in cases(name, rank):
            pointer = device.upload(tensor.flat)
            tensor_map = device.tensor_map(
                pointer, tensor.dims, tensor.strides, box, tensor.itemsize, swizzle
            )
            for start in starts(rng, tensor, box):
                out = device.poisoned(WORDS)
                size = tma.box_bytes(box, tensor.itemsize)
                device.launch(
                    kernel,
                    [tensor_map, out, I32(WORDS), U32(size), *map(I32, start[::-1])],
                    shared=4 * WORDS,
                )
                want = shared_image()
                place_box(want, 0, tensor, start, box, swizzle)
                got = device.download(out, WORDS, np.uint32)
                errors += differences(f"{what} at {start}", got, want)
            device.free()
        return errors

    return Form(function, (function, *SETUP, *policies), name, text, check)


def multicast_form(rank: int, hint: bool, size: int) -> Form:
    """Block r loads the box r boxes further along axis 0 into slot r of every block."""
    function = f"argus_tma_load_{rank}d_multicast" + ("_hint" if hint else "")
    name = function.replace("argus_", "test_") + f"_x{size}"
    parameters, _ = coordinates(rank)
    moved = [f"c{i}" for i in range(rank - 1)]
    moved.append(f"c{rank - 1} + (int)rank * step")
    policies = ("argus_policy_evict_last",) if hint else ()
    policy = ", argus_policy_evict_last()" if hint else ""
    text = f"""
extern "C" __global__ void __cluster_dims__({size}, 1, 1) {name}(
    const __grid_constant__ TensorMap map, u32* out, int words, u32 bytes, int slot,
    int step, u32 mask, {parameters}) {{
{SMEM}
  __shared__ u64 storage;
  const u32 bar = (u32)__cvta_generic_to_shared(&storage);
  const u32 rank = argus_cluster_rank();
  const bool receives = mask >> rank & 1;
  for (int i = tid; i < words; i += 128) ((u32*)smem)[i] = {POISON}u;
  if (tid == 0) {{
    argus_mbar_init(bar, 1);
    argus_fence_mbarrier_init();
  }}
  argus_fence_proxy_async();
  argus_cluster_arrive();
  argus_cluster_wait();
  if (tid == 0) {{
    if (receives) argus_mbar_expect(bar, bytes * {size});
    {function}(base + rank * slot, &map, bar, {", ".join(moved)}, (u16)mask{policy});
  }}
  if (receives) argus_mbar_wait(bar, 0);
  argus_cluster_arrive();
  argus_cluster_wait();
  for (int i = tid; i < words; i += 128) out[rank * words + i] = ((u32*)smem)[i];
}}
"""

    def check(device: Device, kernel: Any) -> list[str]:
        errors: list[str] = []
        for what, rng, tensor, box, swizzle in cases(name, rank):
            pointer = device.upload(tensor.flat)
            tensor_map = device.tensor_map(
                pointer, tensor.dims, tensor.strides, box, tensor.itemsize, swizzle
            )
            nbytes = tma.box_bytes(box, tensor.itemsize)
            slot = -(-nbytes // 1024) * 1024
            # Along a single axis the boxes, too, begin 16-byte chunks.
            step = box[0]
            words = slot * size // 4
            everyone = (1 << size) - 1
            partial = int(rng.integers(1, everyone))
            for mask in (everyone, partial):
                chunk = 16 // tensor.itemsize
                start = tuple(int(rng.integers(-2, d)) for d in tensor.dims)
                start = (*start[:-1], start[-1] // chunk * chunk)
                out = device.poisoned(words * size)
                device.launch(
                    kernel,
                    [
                        tensor_map,
                        out,
                        I32(words),
                        U32(nbytes),
                        I32(slot),
                        I32(step),
                        U32(mask),
                        *map(I32, start[::-1]),
                    ],
                    grid=size,
                    shared=4 * words,
                )
                received = shared_image(words)
                for block in range(size):
                    moved = (start[0] + block * step, *start[1:])
                    place_box(received, block * slot, tensor, moved, box, swizzle)
                want = [
                    received if mask >> block & 1 else shared_image(words)
                    for block in range(size)
                ]
                got = device.download(out, (size, words), np.uint32)
                line = f"{what} at {start}, mask {mask:#b}"
                errors += differences(line, got, np.stack(want))
            device.free()
        return errors

    functions = (function, *SETUP, *CLUSTER, *policies)
    return Form(f"{function} in a cluster of {size}", functions, name, text, check)


def store_form(rank: int, reuse: bool) -> Form:
    """`reuse`: overwrite shared memory as soon as the store has read it."""
    function = f"argus_tma_store_{rank}d"
    name = function.replace("argus_", "test_") + ("_reuse" if reuse else "")
    parameters, names = coordinates(rank)
    overwrite = f"""\
    argus_tma_store_wait_read<0>();
    for (int i = 0; i < words; ++i) ((volatile u32*)smem)[i] = {POISON}u;
"""
    text = f"""
extern "C" __global__ void {name}(
    const __grid_constant__ TensorMap map, const u32* in, int words, {parameters}) {{
{SMEM}
  for (int i = tid; i < words; i += 128) ((u32*)smem)[i] = in[i];
  argus_fence_proxy_async();
  __syncthreads();
  if (tid == 0) {{
    argus_tma_prefetch(&map);
    {function}(&map, base, {names});
    argus_tma_store_commit();
{overwrite if reuse else ""}    argus_tma_store_wait<0>();
  }}
}}
"""

    def check(device: Device, kernel: Any) -> list[str]:
        errors: list[str] = []
        for what, rng, tensor, box, swizzle in cases(name, rank, whole_chunks=True):
            kind = tensor.flat.dtype
            for anywhere in starts(rng, tensor, box):
                # Stores below 0 are illegal instructions; loads give zeros there.
                start = tuple(max(c, 0) for c in anywhere)
                image = rng.integers(0, 1 << 32, WORDS, dtype=np.uint32)
                nbytes = tma.box_bytes(box, tensor.itemsize)
                words = -(-nbytes // 1024) * 256
                pointer = device.upload(tensor.flat)
                tensor_map = device.tensor_map(
                    pointer, tensor.dims, tensor.strides, box, tensor.itemsize, swizzle
                )
                device.launch(
                    kernel,
                    [tensor_map, device.upload(image), I32(words)]
                    + [I32(c) for c in start[::-1]],
                    shared=4 * WORDS,
                )
                index, inside = tensor.box(start, box)
                offsets = tma.box_offsets(box, tensor.itemsize, swizzle)
                values = image.view(kind)[offsets // tensor.itemsize]
                want = tensor.flat.copy()
                want[index[inside]] = values[inside]
                got = device.download(pointer, want.shape, kind)
                errors += differences(f"{what} at {start}", got, want)
                device.free()
        return errors

    functions = (
        function,
        "argus_tma_store_commit",
        "argus_tma_store_wait",
        "argus_tma_store_wait_read",
        "argus_tma_prefetch",
        "argus_fence_proxy_async",
    )
    title = function + (", shared memory reused" if reuse else "")
    return Form(title, functions, name, text, check)


def narrow_form() -> Form:
    """Where rows narrower than the swizzle go: not documented, so observed only."""
    base = load_form(2, False)

    def check(device: Device, kernel: Any) -> list[str]:
        rng = generator("narrow")
        for swizzle, inner in ((128, 64), (128, 32), (64, 32)):
            box = (8, inner // 2)
            tensor = Tensor.random(rng, (8, inner // 2), 2)
            pointer = device.upload(tensor.flat)
            tensor_map = device.tensor_map(
                pointer, tensor.dims, tensor.strides, box, 2, swizzle
            )
            out = device.poisoned(WORDS)
            device.launch(
                kernel,
                [tensor_map, out, I32(WORDS), U32(prod(box) * 2), I32(0), I32(0)],
                shared=4 * WORDS,
            )
            got = device.download(out, 2 * WORDS, np.uint16)
            index, _ = tensor.box((0, 0), box)
            values = tensor.flat[index]
            found = "neither"
            for pitch in (inner, swizzle):
                row, column = np.indices(box)
                at = row * pitch + column * 2
                at = at ^ (at // 128 % (swizzle // 16) * 16)
                if np.array_equal(got[at // 2], values):
                    found = f"a row pitch of {pitch} bytes"
            device.notes.append(f"rows of {inner}, swizzle {swizzle}: {found}")
            device.free()
        return []

    title = "box rows narrower than the swizzle (observed)"
    return Form(title, base.functions, base.kernel, base.text, check)


def forms() -> Iterator[Form]:
    """All forms of TMA."""
    for rank in tma.RANKS:
        for hint in (False, True):
            yield load_form(rank, hint)
            for size in (2, 4):
                yield multicast_form(rank, hint, size)
        yield store_form(rank, False)
        yield store_form(rank, True)
    yield narrow_form()
