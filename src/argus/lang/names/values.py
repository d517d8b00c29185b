"""The kinds of value in a kernel: their attributes and methods, as an editor sees them.

Run-time scalars (sizes, loop counters, block indices) have no class of their own here:
they are typed as `int` or `float`, whose operators they share.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Literal

from argus.lang.names.outside import outside
from argus.lang.names.types import ElementType

Per = Literal["role", "warpgroup", "warp", "thread"]
Via = Literal["tma", "cp_async"]
Evict = Literal["first", "last", "normal"]


class View:
    """A slice of a tensor: which elements, not their values."""


class _Operators:
    """Arithmetic of register tiles; also the operators of masks."""

    def _operator(self, other: object) -> Tile:
        raise outside("an operator of a tile")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _operator
    __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = _operator
    __and__ = __or__ = __xor__ = __lt__ = __le__ = __gt__ = __ge__ = _operator

    def __matmul__(self, other: Tile | SharedTile) -> Tile:
        raise outside("@")

    def __neg__(self) -> Tile:
        raise outside("-")

    def __invert__(self) -> Tile:
        raise outside("~")


class Tile(_Operators):
    """A register tile: values spread over the threads of a role."""

    shape: tuple[int, ...]
    dims: tuple[str | None, ...]
    dtype: ElementType
    T: Tile

    def to(self, dtype: ElementType) -> Tile:
        """Every element converted, round to nearest even."""
        raise outside("to")

    def rename(self, dims: str) -> Tile:
        """The same elements under other dimension names, `"M N"`, one for each axis."""
        raise outside("rename")


class Tensor:
    """A tensor argument in global memory; slice it to load and store tiles."""

    shape: tuple[int, ...]
    dims: tuple[str, ...]
    dtype: ElementType

    def __getitem__(self, index: object) -> View:
        raise outside("a slice of a tensor")

    def __setitem__(self, index: object, value: Tile | float) -> None:
        raise outside("a slice of a tensor")

    def view(
        self,
        dims: str,
        shape: tuple[int, ...],
        at: Callable[..., tuple[int, ...]],
    ) -> Tensor:
        """An affine map of the tensor that can be sliced like one.

        `at` takes a coordinate along each of `dims` and returns one for each dimension
        of the tensor. Outside `shape` or outside the tensor an element reads as zero,
        and is not written.
        """
        raise outside("view")


class SharedTile:
    """A tile in shared memory; index it first by stage where it has several."""

    shape: tuple[int, ...]
    dims: tuple[str | None, ...]
    dtype: ElementType
    T: SharedTile

    def __getitem__(self, index: object) -> SharedTile:
        raise outside("a slice of a shared tile")

    def __matmul__(self, other: Tile | SharedTile) -> Tile:
        raise outside("@")

    def store(self, tile: Tile) -> None:
        """Write a register tile of the same shape."""
        raise outside("store")

    def load(
        self,
        view: View | None = None,
        *,
        layout: object = None,
        via: Via | None = None,
        multicast: int = 1,
        evict: Evict | None = None,
    ) -> Tile:
        """Without `view`: read it into registers. With `view`: fill a slot's field."""
        raise outside("load")

    def copy(
        self,
        view: View,
        barrier: Barrier | None = None,
        *,
        via: Via | None = None,
        multicast: int = 1,
        evict: Evict | None = None,
    ) -> None:
        """Start an asynchronous copy from global memory; the author waits for it."""
        raise outside("copy")


class Slot:
    """One slot of a ring: its fields are attributes."""

    def __getattr__(self, field: str) -> SharedTile:
        raise outside(field)

    def release(self) -> None:
        """Hand a drained slot back to the producer."""
        raise outside("release")


class Ring:
    """A circular buffer in shared memory between a producer and its consumers."""

    def fill(self) -> AbstractContextManager[Slot]:
        """`with ring.fill() as slot:` waits for an empty slot, then publishes it."""
        raise outside("fill")

    def drain(self) -> AbstractContextManager[Slot]:
        """`with ring.drain() as slot:` waits for a full slot, then releases it."""
        raise outside("drain")

    def wait(self) -> Slot:
        """Wait for the next full slot; `slot.release()` hands it back."""
        raise outside("wait")


class Barrier:
    """One mbarrier, or an array of them: index it then."""

    def __getitem__(self, index: int) -> Barrier:
        raise outside("an index of barriers")

    def expect(self, bytes: int) -> None:
        """Arrive once and announce `bytes` of asynchronous copies."""
        raise outside("expect")

    def arrive(self, per: Per = "role", *, cluster: bool = False) -> None:
        """Arrive once per role, warpgroup, warp or thread."""
        raise outside("arrive")

    def wait(self, n: int) -> None:
        """Wait for completion number `n`, counted from 0."""
        raise outside("wait")


class Turns:
    """Warpgroup roles that take turns, in a fixed circular order."""

    def wait(self, i: int) -> None:
        """Role number `i` waits for its turn."""
        raise outside("wait")

    def next(self, i: int) -> None:
        """Role number `i` gives the turn to role `i + 1`."""
        raise outside("next")
