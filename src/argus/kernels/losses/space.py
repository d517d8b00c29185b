"""The design space of cross-entropy: passes over rows, or one with sums of threads."""

from __future__ import annotations

from typing import ClassVar

from argus.kernels.knobs import usual
from argus.kernels.losses.choice import row_loss_statics
from argus.kernels.losses.entry import CROSS_ENTROPY
from argus.kernels.norms.space import RowSpace, uneven
from argus.kernels.resources import REGISTERS, WARP, number
from argus.kernels.space import (
    Design,
    Form,
    Knob,
    by_name,
    library_problem,
)
from argus.runs.records import Problem, Value

_PACKAGE = "argus.kernels.losses"
_BN = Knob(
    "BN",
    tuple(1 << i for i in range(3, 16)),
    "columns of a tile",
    "tile-shape",
)
_ROWS = Knob("ROWS", (1, 2, 4, 8), "rows of a block", "tile-shape")
_V = Knob("V", _BN.values, "columns that are taken together", "vectorised-access")
_APART = Knob(
    "APART",
    (False, True),
    "what is taken together lies apart, where rows are read element by element",
    "vectorised-access",
)
_WARPS = usual("WARPS", 1, 2, 4, 8, 16)
_BLOCKS = usual("MIN_BLOCKS")
_ONLINE = usual("ONLINE")
_FOLD = usual("FOLD")
_EACH = 64
"""Elements of a thread, at most."""
_COMMON: dict[str, tuple[Value, ...]] = {
    "WARPS": _WARPS.values,
    "MIN_BLOCKS": _BLOCKS.values,
}


class CrossEntropy(RowSpace):
    """Cross-entropy over rows of logits."""

    name = "cross_entropy"
    entries: ClassVar = {CROSS_ENTROPY.name: CROSS_ENTROPY}
    together = (*RowSpace.together, ("BN", "V"))
    weighted = False
    knobs = by_name(_BN, _ROWS, _V, _APART, _WARPS, _BLOCKS, _ONLINE, _FOLD)
    forms: ClassVar = {
        "passes": Form(
            name="passes",
            title="passes over each row, a part at a time",
            package=f"{_PACKAGE}.forms",
            file="cross_entropy_passes.py",
            kernel="cross_entropy_passes",
            defaults={
                "BN": 256,
                "WARPS": 4,
                "MIN_BLOCKS": 1,
                "ONLINE": False,
                "FOLD": False,
            },
            domains={
                "BN": (256, 512, 1024, 2048, 4096, 8192),
                **_COMMON,
                "ONLINE": _ONLINE.values,
                "FOLD": _FOLD.values,
            },
            optimisations=("tail-masking",),
        ),
        "lanes": Form(
            name="lanes",
            title="one pass, in which threads have sums of their own",
            package=_PACKAGE,
            file="kernel.py",
            kernel="cross_entropy",
            defaults={
                "BN": 8192,
                "ROWS": 1,
                "V": 8,
                "APART": False,
                "WARPS": 8,
                "MIN_BLOCKS": 1,
            },
            domains={
                "BN": _BN.values,
                "ROWS": _ROWS.values,
                "V": _V.values,
                "APART": _APART.values,
                **_COMMON,
            },
            optimisations=(
                "tail-masking",
                "vectorised-access",
                "online-softmax",
                "exp2-folding",
            ),
            after=("passes",),
            via="online-softmax",
        ),
    }

    def entered(self, form: str, problem: Problem) -> Design:
        """What the library has for rows of this length, one block at a time."""
        if form == "passes":
            return self.apply({}, {"form": form})
        found = row_loss_statics(library_problem(problem).sizes["N"])
        edit = {k: v for k, v in found.items() if isinstance(v, bool | int)}
        return self.apply({}, {"form": form, **edit, "MIN_BLOCKS": 1})

    def fixed(self, design: Design, problem: Problem) -> dict[str, Value]:
        """Whether labels are smooth."""
        return {"SMOOTH": "smooth" in library_problem(problem).options}

    def repaired(self, design: Design, pinned: frozenset[str]) -> Design:
        """Blocks that fit together; no more taken together than a tile has."""
        new = super().repaired(design, pinned)
        if "V" in new and number(new["V"]) > number(new["BN"]) and "V" not in pinned:
            new["V"] = new["BN"]
        return new

    def invalid(self, design: Design, problem: Problem) -> str | None:
        """Threads share a tile, and registers hold it."""
        n = library_problem(problem).sizes["N"]
        columns, rows = number(design["BN"]), number(design.get("ROWS", 1))
        warps, blocks = number(design["WARPS"]), number(design["MIN_BLOCKS"])
        if (why := uneven(rows, columns, warps, blocks)) is not None:
            return why
        elements = rows * columns // (WARP * warps)
        if elements > _EACH:
            return f"a thread would hold {elements} elements"
        if columns > max(256, 2 * n - 1):
            return f"a tile of {columns} columns is mostly outside rows of {n}"
        carried = 0
        if "V" in design:
            together = number(design["V"])
            if together > columns:
                return f"{together} columns of {columns} cannot be taken together"
            carried = 2 * max(1, elements // together)
        room = min(255, REGISTERS // (WARP * warps * blocks) // 8 * 8)
        need = elements + carried + 24
        if need > room:
            return f"a thread needs about {need} registers and has {room}"
        return None


SPACES = (CrossEntropy(),)
