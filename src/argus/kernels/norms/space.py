"""The design spaces of row norms: softmax and root-mean-square norm.

Two forms: `passes` walks over each row several times, a part at a time, as one writes
it first; `held` keeps whole rows in registers and touches memory once, and is the
library's kernel.
"""

from __future__ import annotations

from typing import ClassVar

from argus.kernels.knobs import usual
from argus.kernels.norms.choice import COLUMNS, row_statics
from argus.kernels.norms.entry import RMSNORM, SOFTMAX
from argus.kernels.resources import REGISTERS, RESIDENT, WARP, number
from argus.kernels.space import (
    Design,
    DesignSpace,
    Form,
    Knob,
    by_name,
    library_problem,
)
from argus.runs.records import Problem, Value

_PACKAGE = "argus.kernels.norms"
_BN = Knob("BN", COLUMNS, "columns of a tile", "tile-shape")
_ROWS = Knob("ROWS", (1, 2, 4, 8, 16, 32), "rows of a block", "tile-shape")
_WARPS = usual("WARPS", 1, 2, 4, 8, 16)
_BLOCKS = usual("MIN_BLOCKS")
_ONLINE = usual("ONLINE")
_FOLD = usual("FOLD")
_CROWDED, _SPILLED = 16384, 16
"""Longer rows may spill that many registers of a thread: nothing else can hold them."""
_FEW = 32
"""Elements of a thread that may all be of rows that there are not."""
KNOBS = by_name(_BN, _ROWS, _WARPS, _BLOCKS)
"""What every norm over rows has."""

_PASSES: dict[str, tuple[Value, ...]] = {
    "BN": (256, 512, 1024, 2048, 4096, 8192),
    "ROWS": _ROWS.values,
    "WARPS": _WARPS.values,
    "MIN_BLOCKS": (1, 2, 4, 8),
}
_PASSES_DEFAULTS: dict[str, Value] = {"BN": 256, "ROWS": 1, "WARPS": 4, "MIN_BLOCKS": 1}
_HELD: dict[str, tuple[Value, ...]] = {
    "BN": COLUMNS,
    "ROWS": _ROWS.values,
    "WARPS": _WARPS.values,
    "MIN_BLOCKS": _BLOCKS.values,
}
_HELD_DEFAULTS: dict[str, Value] = {**_PASSES_DEFAULTS, "BN": 8192}


def passes(entry: str, *knobs: Knob, package: str = _PACKAGE) -> Form:
    """The form that walks over rows, with which the space begins."""
    return Form(
        name="passes",
        title="several passes over each row, a part at a time",
        package=f"{package}.forms",
        file=f"{entry}_passes.py",
        kernel=f"{entry}_passes",
        defaults={**_PASSES_DEFAULTS, **{k.name: False for k in knobs}},
        domains={**_PASSES, **{k.name: k.values for k in knobs}},
        optimisations=("tail-masking",),
    )


def held(entry: str, *knobs: Knob, package: str = _PACKAGE) -> Form:
    """The form that holds rows."""
    return Form(
        name="held",
        title="whole rows in registers: memory is read and written once",
        package=package,
        file="kernel.py",
        kernel=entry,
        defaults={**_HELD_DEFAULTS, **{k.name: True for k in knobs}},
        domains={**_HELD, **{k.name: k.values for k in knobs}},
        optimisations=("vectorised-access", "tail-masking"),
        after=("passes",),
        via="vectorised-access",
    )


def uneven(rows: int, columns: int, warps: int, blocks: int) -> str | None:
    """Why threads cannot share such a tile, or blocks a multiprocessor."""
    if WARP * warps * blocks > RESIDENT:
        return f"{blocks} blocks of {warps} warps are more than {RESIDENT} threads"
    if rows * columns % (WARP * warps):
        shared = f"{rows} x {columns} elements"
        return f"{WARP * warps} threads cannot share {shared} evenly"
    return None


class RowSpace(DesignSpace):
    """What norms over rows have in common: a block holds whole rows, or walks on them.

    Other families of row kernels are such spaces, too.
    """

    together = (("ROWS", "WARPS"), ("WARPS", "MIN_BLOCKS"))
    weighted: ClassVar[bool]
    """Whether a row of weights is held beside the row."""

    def start(self, problem: Problem) -> Design:
        """One row per block, 256 columns at a time."""
        return self.entered("passes", problem)

    def possible(self, form: str, problem: Problem) -> bool:
        """Rows of any length are walked over; not all can be held."""
        return form != "held" or library_problem(problem).sizes["N"] <= COLUMNS[-1]

    def entered(self, form: str, problem: Problem) -> Design:
        """Of whole rows: the least power of two of columns, warps to hold them."""
        if form == "passes":
            return self.apply({}, {"form": form})
        found = row_statics(library_problem(problem).sizes["N"])
        edit = {k: v for k, v in found.items() if isinstance(v, bool | int)}
        return self.apply({}, {"form": form, **edit, "MIN_BLOCKS": 1})

    def repaired(self, design: Design, pinned: frozenset[str]) -> Design:
        """Blocks that fit together."""
        new = dict(design)
        threads = WARP * number(new["WARPS"])
        most = RESIDENT // threads
        if number(new["MIN_BLOCKS"]) > most and "MIN_BLOCKS" not in pinned:
            new["MIN_BLOCKS"] = max(v for v in _blocks(self, new) if v <= most)
        return new

    def invalid(self, design: Design, problem: Problem) -> str | None:
        """Threads must share a tile; registers must hold it; it must hold a row."""
        sizes = library_problem(problem).sizes
        m, n = sizes["M"], sizes["N"]
        columns, rows = number(design["BN"]), number(design["ROWS"])
        warps, blocks = number(design["WARPS"]), number(design["MIN_BLOCKS"])
        if (why := uneven(rows, columns, warps, blocks)) is not None:
            return why
        elements = rows * columns // (WARP * warps)
        if rows > m and elements > _FEW:
            return f"{rows} rows of a block, and there are {m}"
        if elements > 128:
            return f"a thread would hold {elements} elements"
        held = design["form"] == "held"
        if held and columns < n:
            return f"a row of {n} columns is held in a tile of {columns}"
        if columns > max(256, 2 * n - 1):
            return f"a tile of {columns} columns is mostly outside rows of {n}"
        room = min(255, REGISTERS // (WARP * warps * blocks) // 8 * 8)
        need = _registers(self, design, n)
        if need > room:
            return f"a thread needs about {need} registers and has {room}"
        return None


def _blocks(family: DesignSpace, design: Design) -> list[int]:
    return [number(v) for v in family.form(design).domains["MIN_BLOCKS"]]


def _registers(family: RowSpace, design: Design, n: int) -> int:
    """About what a thread needs; elements in f32, weights in 16 bits."""
    columns, rows = number(design["BN"]), number(design["ROWS"])
    elements = rows * columns // (WARP * number(design["WARPS"]))
    need = elements + 22 + (elements // 3 if family.weighted else 0)
    if n % 8 or elements % 8:
        need += elements // 2  # narrower loads: an address or a predicate for each
    if design["form"] == "passes":
        need += 12  # what a row carries from part to part, and the loops
    return need - (_SPILLED if columns > _CROWDED else 0)


class Softmax(RowSpace):
    """Softmax over rows."""

    name = "softmax"
    entries: ClassVar = {SOFTMAX.name: SOFTMAX}
    weighted = False
    forms: ClassVar = {
        "passes": passes("softmax", _ONLINE, _FOLD),
        "held": held("softmax", _FOLD),
    }
    knobs = by_name(_BN, _ROWS, _WARPS, _BLOCKS, _ONLINE, _FOLD)


class RmsNorm(RowSpace):
    """Root-mean-square norm over rows."""

    name = "rmsnorm"
    entries: ClassVar = {RMSNORM.name: RMSNORM}
    weighted = True
    forms: ClassVar = {"passes": passes("rmsnorm"), "held": held("rmsnorm")}
    knobs = KNOBS


SPACES = (Softmax(), RmsNorm())
