"""Blocks, loops, roles and declarations about the launch."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from argus.lang.names.outside import outside

__all__ = [
    "at_most",
    "block",
    "block_tile",
    "cdiv",
    "cluster",
    "cluster_rank",
    "dim",
    "launch",
    "persistent",
    "persistent_tiles",
    "range",
    "require",
    "role",
    "static_range",
]


def block(*extents: int) -> tuple[int, ...]:
    """One block for each index tuple, the last index fastest.

    Returns this block's indices; a single index may be unpacked or not.
    """
    raise outside("block")


def block_tile(gm: int, gn: int, group: int = 8) -> tuple[int, int]:
    """One block for each tile of a gm x gn grid, `group` rows of tiles at a time.

    Blocks that run together then share rows and columns in L2. In a kernel with
    `ag.cluster(n)` the blocks of a cluster take consecutive rows.
    """
    raise outside("block_tile")


def persistent_tiles(gm: int, gn: int, group: int = 8) -> Iterable[tuple[int, int]]:
    """A loop over the tiles of a gm x gn grid with as many blocks as fit the device."""
    raise outside("persistent_tiles")


def persistent(*extents: int) -> Iterable[Any]:
    """A loop over all index tuples with as many blocks as fit the device.

    The last index is the fastest. With one extent the loop variable is a number.
    """
    raise outside("persistent")


def range(
    start: int, stop: int | None = None, step: int = 1, *, unroll: int = 0
) -> Iterable[int]:
    """A loop that runs on the GPU. `unroll`: 0 lets the compiler choose, 1 forbids."""
    raise outside("range")


def at_most(n: int, condition: bool) -> bool:
    """`while ag.at_most(n, condition):` runs while it holds, at most `n` times.

    Where the condition still holds after `n` iterations, the loop ends all the same.
    """
    raise outside("at_most")


def static_range(start: int, stop: int | None = None, step: int = 1) -> Iterable[int]:
    """A loop that is unrolled by the frontend; its bounds are static."""
    raise outside("static_range")


def role(
    name: str,
    *,
    warps: int | None = None,
    warpgroups: int | None = None,
    registers: int | None = None,
) -> AbstractContextManager[None]:
    """Warps with their own program; `registers` is a budget per thread (setmaxnreg)."""
    raise outside("role")


def cluster(n: int) -> None:
    """Blocks are launched in clusters of n along x."""
    raise outside("cluster")


def cluster_rank() -> int:
    """Rank of this block in its cluster."""
    raise outside("cluster_rank")


def launch(*, warps: int | None = None, min_blocks: int = 1) -> None:
    """Warps of a kernel without roles, blocks per multiprocessor."""
    raise outside("launch")


def require(cond: bool, why: str) -> None:
    """A condition on sizes and scalar arguments, checked before every launch."""
    raise outside("require")


def dim(name: str) -> int:
    """Size of a dimension by its name in the signature."""
    raise outside("dim")


def cdiv(a: int, b: int) -> int:
    """Ceiling division of a non-negative by a positive number."""
    raise outside("cdiv")
