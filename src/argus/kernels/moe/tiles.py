"""Cases of products of tokens with the weights of their experts: sizes and tables.

E experts, C tiles of positions, results of N elements, sums of K, R tokens.
"""

from __future__ import annotations

from typing import Any

from argus.kernels.entry import Arrays, Case

__all__ = [
    "expert_tables",
    "experts_of_tiles",
    "positions",
    "rows_of_tile",
    "tile_case",
]


def tile_case(e: int, c: int, n: int, k: int, r: int, **options: object) -> Case:
    """The case of these sizes."""
    name = f"{e} experts, {c} tiles, {n}x{k}"
    return Case(name, {"E": e, "C": c, "N": n, "K": k, "R": r}, options)


def rows_of_tile(case: Case) -> int:
    """Positions of a tile."""
    found = case.options.get("BM", 128)
    assert isinstance(found, int)
    return found


def positions(case: Case) -> int:
    """Of all tiles."""
    return case.sizes["C"] * rows_of_tile(case)


def experts_of_tiles(case: Case) -> list[int]:
    """The expert of each tile; some have several, and some none."""
    e, c = case.sizes["E"], case.sizes["C"]
    return sorted((3 * i * i + i) % e for i in range(c))


def expert_tables(xp: Any, arrays: Arrays, case: Case) -> None:
    """Tiles have their experts in order; some positions have no token."""
    made, table = xp.asarray(experts_of_tiles(case)), arrays["Expert"]
    # torch: to the table's own type and device first.
    table[:] = made.to(table) if hasattr(made, "to") else made
    if "Rows" in arrays:
        arrays["Rows"][5::7] = -1
