"""Random small programs, placed and interpreted, give what numpy gives."""

from __future__ import annotations

import numpy as np
import pytest
from builder import Builder, rounded
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from argus.ir import ops as o
from argus.ir.dtypes import bf16, f32
from argus.ir.expr import binary
from argus.ir.memory import SharedView
from argus.ir.program import GRID_SIZE
from argus.isa.mma import PRODUCTS
from argus.lower.dots import warp_grid
from few import EVERY

EXTENTS = (1, 2, 3, 4, 6, 8, 16, 24, 40, 64, 96, 128)

PRODUCT = next(p for p in PRODUCTS if p.element.dtype == bf16)


class Both:
    """A program and the value of each of its tiles, built side by side."""

    def __init__(self, draw: st.DrawFn, target: str) -> None:
        self.draw = draw
        warps = draw(st.sampled_from((1, 2, 3, 4, 4, 8)))
        self.b = Builder(target, warps)
        self.rng = np.random.default_rng(draw(st.integers(0, 1000)))
        self.arrays: dict[str, np.ndarray] = {}
        self.known: list[tuple[o.Tile, np.ndarray]] = []
        self.expected: dict[str, np.ndarray] = {}
        self.odd = draw(st.booleans())

    def array(self, shape: tuple[int, ...]) -> np.ndarray:
        """Small integers: every sum is exact."""
        return self.rng.integers(-4, 5, shape).astype(np.float32)

    def load(self, rank: int | None = None) -> None:
        draw, b = self.draw, self.b
        rank = rank or draw(st.integers(1, 2))
        shape = tuple(draw(st.sampled_from(EXTENTS)) for _ in range(rank))
        dtype = draw(st.sampled_from((f32, bf16)))
        name = f"X{len(self.arrays)}"
        # The tensor may be smaller than the tile: then zero is read.
        real = tuple(draw(st.sampled_from((n, max(1, n - 3), n + 5))) for n in shape)
        x = self.array(real)
        tensor = b.tensor(name, " ".join("MN"[:rank]), dtype, self.fact(x))
        tile = b.load(tensor, shape, *(0,) * rank)
        value = np.zeros(shape, np.float32)
        part = tuple(slice(0, min(a, c)) for a, c in zip(shape, real, strict=True))
        value[part] = x[part]
        self.arrays[name] = x
        self.add(tile, value)

    def fact(self, x: np.ndarray) -> int:
        """A power of two that divides extents and strides, or 1."""
        if self.odd:
            return 1
        sizes = np.gcd.reduce([*x.shape, *(s // x.itemsize for s in x.strides[:-1])])
        return int(sizes & -sizes)

    def add(self, tile: o.Tile, value: np.ndarray) -> None:
        self.known.append((tile, value))

    def pick(self, rank: int | None = None) -> tuple[o.Tile, np.ndarray]:
        """A tile so far, of a rank where one is asked for; the newest most often."""
        fits = [x for x in self.known if rank in (None, x[1].ndim)]
        if not fits:
            self.load(rank)
            return self.known[-1]
        return fits[-1 - self.draw(st.integers(0, len(fits) - 1))]

    def step(self) -> None:
        kinds = ("binary", "broadcast", "reduce", "cast", "shared", "transpose",
                 "load", "loop", "branch", "scan", "dot", "arg")  # fmt: skip
        getattr(self, self.draw(st.sampled_from(kinds)))()

    def binary(self) -> None:
        tile, value = self.pick()
        others = [(t, v) for t, v in self.known if t.shape == tile.shape]
        other, with_ = others[self.draw(st.integers(0, len(others) - 1))]
        a, c = self.as_f32(tile), self.as_f32(other)
        fn, apply = self.draw(
            st.sampled_from([("maximum", np.maximum), ("minimum", np.minimum)])
        )
        self.add(self.b.apply(fn, a, c), apply(value, with_))

    def as_f32(self, tile: o.Tile) -> o.Tile:
        return tile if tile.dtype == f32 else self.b.cast(tile, f32)

    def broadcast(self) -> None:
        tile, value = self.pick(1)
        extent = self.draw(st.sampled_from(EXTENTS))
        if self.draw(st.booleans()):
            shape, axes = (tile.shape[0], extent), (0,)
            wide = np.repeat(value[:, None], extent, 1)
        else:
            shape, axes = (extent, tile.shape[0]), (1,)
            wide = np.repeat(value[None, :], extent, 0)
        self.add(self.b.broadcast(tile, shape, axes), wide)

    def reduce(self) -> None:
        tile, value = self.pick(2)
        along = self.draw(st.integers(0, len(tile.shape) - 1))
        fn, apply = self.draw(st.sampled_from([("max", np.max), ("min", np.min)]))
        self.add(self.b.reduce(self.as_f32(tile), along, fn), apply(value, axis=along))

    def scan(self) -> None:
        tile, value = self.pick(2)
        small = self.b.apply("minimum", self.as_f32(tile), 1.0)
        along = self.draw(st.integers(0, 1))
        if tile.shape[along] > 64:
            return
        self.add(
            self.b.apply("minimum", self.b.scan(small, along), 4.0),
            np.minimum(np.cumsum(np.minimum(value, 1), axis=along), 4),
        )

    def cast(self) -> None:
        tile, value = self.pick()
        dtype = bf16 if tile.dtype == f32 else f32
        self.add(self.b.cast(tile, dtype), rounded(value))

    def transpose(self) -> None:
        tile, value = self.pick(2)
        self.add(self.b.transpose(tile), value.T)

    def shared(self) -> None:
        tile, value = self.pick()
        if sum(np.prod(s.shape) * 4 for s in self.b.program.shared) > 80_000:
            return
        buffer = self.b.shared(tile.shape, tile.dtype)
        self.b.sts(self.b.part(buffer), tile)
        self.add(self.b.lds(self.b.part(buffer)), value)

    def dot(self) -> None:
        """Small values times small values, operands in registers or shared memory."""
        b, warps = self.b, self.b.program.warps
        fits = [
            x
            for x in self.known
            if x[1].ndim == 2 and not x[1].shape[0] % 16 and not x[1].shape[1] % 16
        ]
        n = self.draw(st.sampled_from((8, 16, 64)))
        hopper = b.program.target.name == "sm_90a" and warps % 4 == 0
        if not fits or hopper or self.draw(st.booleans()):
            m = 16 * warps if hopper else self.draw(st.sampled_from((16, 64, 64, 128)))
            k = self.draw(st.sampled_from((16, 48, 64)))
            value = self.array((m, k))
            name = f"X{len(self.arrays)}"
            tensor = b.tensor(name, "M N", bf16, self.fact(value))
            self.arrays[name] = value
            tile = b.load(tensor, (m, k), 0, 0)
        else:
            tile, value = fits[-1]
        m, k = tile.shape
        room = sum(np.prod(s.shape) * 4 for s in b.program.shared) < 60_000
        if warp_grid(PRODUCT, m, n, warps) is None or not room:
            return
        clipped = b.apply("maximum", b.apply("minimum", self.as_f32(tile), 4.0), -4.0)
        left = b.cast(clipped, bf16)
        right = self.array((k, n))
        name = f"X{len(self.arrays)}"
        self.arrays[name] = right
        tensor = b.tensor(name, "M N", bf16, self.fact(right))
        operand = b.load(tensor, (k, n), 0, 0)

        def staged(t: o.Tile, always: bool = False) -> o.Tile | SharedView:
            if not always and self.draw(st.integers(0, 2)) == 0:
                return t
            buffer = b.shared(t.shape, bf16)
            b.sts(b.part(buffer), t)
            return b.part(buffer)

        x, y = staged(left), staged(operand, hopper)
        product = b.dot(x, y)
        result = np.clip(value, -4, 4) @ right
        match self.draw(st.sampled_from(("once", "again", "loop", "both"))):
            case "again":
                product, result = b.dot(x, y, product), 2 * result
            case "loop":
                with b.loop(2, tiles=[product]) as loop:
                    loop.carry(b.dot(x, y, loop.args[0]))
                product, result = loop.results[0], 3 * result
            case "both":
                product = b.apply("sub", b.dot(x, y, product), product)
            case _:
                pass
        low = b.apply("minimum", b.apply("maximum", product, -8.0), 8.0)
        self.add(low, np.clip(result, -8, 8))

    def arg(self) -> None:
        tile, value = self.pick(2)
        along = self.draw(st.integers(0, 1))
        found = self.b.reduce(self.as_f32(tile), along, "argmax")
        small = self.b.apply("minimum", self.b.cast(found, f32), 9.0)
        self.add(small, np.minimum(np.argmax(value, axis=along), 9))

    def loop(self) -> None:
        tile, value = self.pick()
        start = self.as_f32(tile)
        trips = self.draw(st.integers(0, 2))
        with self.b.loop(trips, tiles=[start]) as loop:
            (arg,) = loop.args
            lowered = self.b.apply("sub", arg, 1.0)
            if self.draw(st.booleans()) and len(tile.shape) == 2:
                top = self.b.reduce(lowered, 1, "max")
                wide = self.b.broadcast(top, tile.shape, (0,))
                loop.carry(self.b.apply("minimum", lowered, wide))
            else:
                loop.carry(self.b.apply("maximum", lowered, start))
                self.add(loop.results[0], value)
                return
        self.add(loop.results[0], value - trips)

    def branch(self) -> None:
        tile, value = self.pick()
        taken = self.draw(st.booleans())
        src = self.as_f32(tile)
        (result,) = self.b.branch(
            binary("==", GRID_SIZE, 1 if taken else 2),
            lambda: [self.b.apply("maximum", src, 0.0)],
            lambda: [src],
        )
        self.add(result, np.maximum(value, 0) if taken else value)

    def finish(self) -> None:
        """Store the last tiles, in a program that keeps all others alive."""
        for number, (tile, value) in enumerate(self.known[-3:]):
            name = f"Y{number}"
            out = np.full(value.shape, 99, np.float32)
            rank = len(value.shape)
            tensor = self.b.tensor(
                name, " ".join("MN"[:rank]), tile.dtype, self.fact(out)
            )
            self.b.store(tensor, tile, *(0,) * rank)
            self.arrays[name] = out
            self.expected[name] = value


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
@settings(
    max_examples=60 if EVERY else 40,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(data=st.data())
def test_random_programs_agree_with_numpy(target: str, data: st.DataObject) -> None:
    both = Both(data.draw, target)
    both.load()
    for _ in range(data.draw(st.integers(2, 9))):
        both.step()
    both.finish()
    both.b.run(both.arrays)
    for name, value in both.expected.items():
        np.testing.assert_array_equal(both.arrays[name], value)
