"""The design space of grouped matrix products (mixture of experts).

Forms: `naive` (operands through registers), `roles` (TMA and `wgmma`, a block per
tile), `persistent`, the library's kernel. The rows of a tile are those of the tile
table, which belongs to the problem.
"""

from __future__ import annotations

from typing import ClassVar

from argus.isa.registry import has_family
from argus.kernels.entry import Case
from argus.kernels.grouped.entry import ENTRIES, tile_rows
from argus.kernels.knobs import usual
from argus.kernels.resources import (
    OVERHEAD,
    WARPGROUP,
    naive_registers,
    number,
    registers_per_thread,
    ring_bytes,
    too_large,
)
from argus.kernels.space import (
    Design,
    DesignSpace,
    Form,
    Knob,
    by_name,
    library_problem,
)
from argus.runs.records import LibraryProblem, Problem, Value

_FORMS = "argus.kernels.grouped.forms"
_KNOBS = by_name(
    Knob("BN", (32, 64, 128, 192, 256), "columns of a tile", "tile-shape", 64),
    *map(usual, ("BK", "STAGES", "WARPS")),
    usual("GROUP", 1, 4, 8, 16, 32),
    usual("WARPGROUPS", 1, 2),
)
_ON_HOPPER = (
    *("tma", "warp-specialisation", "wgmma", "mma-tensor-cores", "swizzling"),
    "tail-masking",
)
_DOMAINS: dict[str, tuple[Value, ...]] = {
    "BN": (32, 64, 128, 192, 256),
    "BK": (32, 64, 128),
    "STAGES": (2, 3, 4, 5, 6, 8),
    "GROUP": (1, 4, 8, 16, 32),
    "WARPGROUPS": (1, 2),
}
_DEFAULTS: dict[str, Value] = {
    "BN": 128,
    "BK": 64,
    "STAGES": 4,
    "GROUP": 8,
    "WARPGROUPS": 2,
}
_NAIVE = Form(
    name="naive",
    title="one tile per block, operands through registers",
    package=_FORMS,
    file="naive.py",
    kernel="grouped_naive",
    defaults={"BN": 64, "BK": 32, "WARPS": 8},
    domains={"BN": (32, 64, 128), "BK": (16, 32, 64), "WARPS": (4, 8)},
    optimisations=("mma-tensor-cores", "tail-masking"),
)
_ROLES = Form(
    name="roles",
    title="a role loads by TMA, warpgroups multiply with wgmma",
    package=_FORMS,
    file="roles.py",
    kernel="grouped_roles",
    defaults=_DEFAULTS,
    domains=_DOMAINS,
    optimisations=_ON_HOPPER,
    after=("naive",),
    via="warp-specialisation",
)
_PERSISTENT = Form(
    name="persistent",
    title="as many blocks as the device holds, one product always in flight",
    package="argus.kernels.grouped",
    file="kernel.py",
    kernel="grouped_gemm",
    defaults={**_DEFAULTS, "BN": 256, "GROUP": 16},
    domains=_DOMAINS,
    optimisations=(*_ON_HOPPER, "persistent-grid", "instruction-ordering"),
    after=("roles",),
    via="persistent-grid",
)


class Grouped(DesignSpace):
    """Grouped matrix products, with gather and scatter where the problem has them."""

    name = "grouped"
    entries: ClassVar = {e.name: e for e in ENTRIES}
    forms: ClassVar = {f.name: f for f in (_NAIVE, _ROLES, _PERSISTENT)}
    knobs = _KNOBS
    together = (("BN", "WARPGROUPS"),)

    def start(self, problem: Problem) -> Design:
        """Tiles of 64 columns, eight warps."""
        return self.entered("naive", problem)

    def entered(self, form: str, problem: Problem) -> Design:
        """The form's usual tiles."""
        design = self.apply({}, {"form": form})
        if form != "naive" and _rows(problem) < 128:
            design["WARPGROUPS"] = 1
        return design

    def fixed(self, design: Design, problem: Problem) -> dict[str, Value]:
        """The rows of a tile, as the tile table has them."""
        return {"BM": _rows(problem)}

    def always(self, problem: Problem) -> tuple[str, ...]:
        """Gathered rows are part of the problem, and read by the product itself."""
        gathers = "gather" in library_problem(problem).options
        return ("gather-fusion",) if gathers else ()

    def repaired(self, design: Design, pinned: frozenset[str]) -> Design:
        """Nothing: no knob needs another."""
        return design

    def invalid(self, design: Design, problem: Problem) -> str | None:
        """See the form's own rules."""
        of = library_problem(problem)
        bm, bn, n = _rows(problem), number(design["BN"]), of.sizes["N"]
        if bn > max(64, 2 * n):
            return f"a tile of {bn} columns is mostly outside rows of {n}"
        if design["form"] == "naive":
            warps, bk = number(design["WARPS"]), number(design["BK"])
            return naive_registers(bm, bn, bk, warps)
        return _hopper(design, of, bm)


def _rows(problem: Problem) -> int:
    of = library_problem(problem)
    return tile_rows(Case("", of.sizes, of.options))


def _hopper(design: Design, problem: LibraryProblem, bm: int) -> str | None:
    if not has_family("tma", problem.target):
        return f"{problem.target} has no TMA"
    if problem.sizes["K"] % 8:
        return f"TMA needs rows of 16-byte steps; K is {problem.sizes['K']}"
    bn, bk, stages = (number(design[k]) for k in ("BN", "BK", "STAGES"))
    warpgroups = number(design["WARPGROUPS"])
    if "gather" in problem.options and bk > 64:
        return "the addresses of gathered rows would take too many registers"
    if bm % (64 * warpgroups):
        return f"{warpgroups} warpgroups cannot share {bm} rows in parts of 64"
    accumulator = bm * bn // (WARPGROUP * warpgroups)
    if accumulator + OVERHEAD > registers_per_thread(WARPGROUP * (warpgroups + 1)):
        return f"{warpgroups} warpgroups cannot hold a tile of {bm} x {bn}"
    shared = ring_bytes(stages, bm + bn, bk) + 16 * stages
    return too_large(shared, problem.target)


SPACES = (Grouped(),)
