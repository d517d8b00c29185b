"""Loads, stores, shared memory, rings and barriers."""

from argus.lang.names.outside import outside
from argus.lang.names.types import ElementType, TileSpec
from argus.lang.names.values import (
    Barrier,
    Evict,
    Ring,
    SharedTile,
    Tensor,
    Tile,
    Turns,
    View,
)

__all__ = [
    "atomic_add",
    "atomic_cas",
    "atomic_exchange",
    "atomic_max",
    "atomic_min",
    "barriers",
    "load",
    "ring",
    "shared",
    "store",
    "tma_store",
    "tma_store_wait",
    "turns",
    "view",
]


def load(
    view: View | SharedTile,
    shape: int | tuple[int, ...] | None = None,
    *,
    fill: float = 0,
    mask: Tile | None = None,
    dims: str | None = None,
    layout: object = None,
    evict: Evict | None = None,
) -> Tile:
    """Read a slice into registers; elements outside the tensor are `fill`.

    `shape` gives the sizes where the slice is open (`A[i:, k:]`).
    """
    raise outside("load")


def store(view: View, tile: Tile | float, *, mask: Tile | None = None) -> None:
    """Write a tile; elements outside the tensor or with a false mask are skipped."""
    raise outside("store")


def atomic_add(view: View, tile: Tile, *, mask: Tile | None = None) -> Tile:
    """Add a tile to memory, element by element, atomically (relaxed, device scope).

    What memory held before, as a tile, or of one element as a scalar; 0 where nothing
    is changed. As a statement it adds f32, f64, i32, bf16 or f16; old values are f32,
    f64 or i32.
    """
    raise outside("atomic_add")


def atomic_max(view: View, tile: Tile, *, mask: Tile | None = None) -> Tile:
    """Memory becomes what is larger of it and a tile, element by element, atomically.

    NaN where one is; f32 or i32. The result is that of `atomic_add`.
    """
    raise outside("atomic_max")


def atomic_min(view: View, tile: Tile, *, mask: Tile | None = None) -> Tile:
    """Memory becomes what is less of it and a tile, element by element, atomically."""
    raise outside("atomic_min")


def atomic_exchange(view: View, tile: Tile, *, mask: Tile | None = None) -> Tile:
    """Memory becomes a tile, element by element, atomically; f32 or i32.

    The result is that of `atomic_add`.
    """
    raise outside("atomic_exchange")


def atomic_cas(
    view: View, expected: Tile, tile: Tile, *, mask: Tile | None = None
) -> Tile:
    """Compare and swap: memory becomes a tile where it holds what is expected; i32.

    The result is that of `atomic_add`: where it is what was expected, it was swapped.
    """
    raise outside("atomic_cas")


def shared(
    dtype: ElementType,
    shape: int | tuple[int, ...],
    *,
    dims: str | None = None,
    swizzle: int | None = None,
    stages: int = 1,
) -> SharedTile:
    """A tile in shared memory, or `stages` equal ones: index by stage first."""
    raise outside("shared")


def ring(stages: int, **fields: TileSpec) -> Ring:
    """A circular buffer; each slot has one tile for each field."""
    raise outside("ring")


def barriers(n: int = 1, *, arrivals: int = 1) -> Barrier:
    """`n` mbarriers; each completes a phase after `arrivals` arrivals and its bytes."""
    raise outside("barriers")


def turns(name: str, count: int) -> Turns:
    """Named barriers by which `count` equal roles take turns."""
    raise outside("turns")


def tma_store(view: View, source: SharedTile) -> None:
    """Start a TMA copy from shared to global memory, as a group of its own."""
    raise outside("tma_store")


def tma_store_wait(pending: int = 0, *, read: bool = True) -> None:
    """Wait until at most `pending` TMA stores remain (have read shared memory)."""
    raise outside("tma_store_wait")


def view(tensor: Tensor, dims: str, shape: tuple[int, ...], at: object) -> Tensor:
    """The same as `tensor.view(dims, shape, at)`."""
    raise outside("view")
