"""The design space of matrix products: from the naive kernel to the library's.

Forms, each one step from the one before: `naive` (operands through registers), `ring`
(`cp.async` into shared memory), `roles` (TMA and `wgmma`, a warp that loads), and
`persistent`, which is the library's kernel. Clusters, TMA stores and the order of
tiles are knobs.
"""

from __future__ import annotations

from typing import ClassVar

from argus.isa.registry import has_family
from argus.kernels.gemm.entry import ENTRIES
from argus.kernels.knobs import usual
from argus.kernels.resources import (
    OVERHEAD,
    REGISTERS,
    WARP,
    WARPGROUP,
    cdiv,
    naive_registers,
    number,
    registers_per_thread,
    ring_bytes,
    too_large,
    warp_grid,
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

_FORMS = "argus.kernels.gemm.forms"
_COLUMNS = (32, 64, 96, 128, 160, 192, 224, 256)
"""Odd multiples of 32 as well: they may fill the last wave of tiles better."""
_KNOBS = by_name(
    Knob("BM", (32, 64, 128, 192, 256), "rows of a tile of C", "tile-shape", 64),
    Knob("BN", _COLUMNS, "columns of a tile of C", "tile-shape", 64),
    *map(usual, ("BK", "STAGES", "GROUP", "WARPS", "WARPGROUPS")),
    Knob(
        "CLUSTER",
        (1, 2, 4),
        "blocks of a cluster, which load each tile of B once for all of them",
        "cluster-multicast",
        1,
    ),
    Knob(
        "ACROSS",
        (False, True),
        "the blocks of a cluster are neighbours along N and share A, not along M and B",
        "cluster-multicast",
        False,
    ),
    *map(usual, ("TMA_STORE", "REGISTERS")),
    Knob("BC", (32, 64), "columns that the epilogue finishes at a time", "tma-store"),
    Knob(
        "AHEAD",
        (False, True),
        "a slot is released one product later: one is always in flight",
        "instruction-ordering",
        False,
    ),
)

_HOPPER_DOMAINS: dict[str, tuple[Value, ...]] = {
    "BM": (64, 128, 192, 256),
    "BN": _COLUMNS,
    "BK": (32, 64, 128),
    "STAGES": (2, 3, 4, 5, 6, 8),
    "GROUP": (1, 4, 8, 16, 32),
    "CLUSTER": (1, 2, 4),
    "WARPGROUPS": (1, 2, 3),
    "TMA_STORE": (False, True),
    "BC": (32, 64),
    "AHEAD": (False, True),
}
_HOPPER_DEFAULTS: dict[str, Value] = {
    "BM": 128,
    "BN": 128,
    "BK": 64,
    "STAGES": 4,
    "GROUP": 8,
    "CLUSTER": 1,
    "WARPGROUPS": 2,
    "BC": 64,
    "TMA_STORE": False,
    "AHEAD": False,
    "REGISTERS": 240,
}
_ON_HOPPER = ("tma", "warp-specialisation", "wgmma", "mma-tensor-cores", "swizzling")

_NAIVE = Form(
    name="naive",
    title="one tile per block, operands through registers",
    package=_FORMS,
    file="naive.py",
    kernel="gemm_naive",
    defaults={"BM": 64, "BN": 64, "BK": 32, "WARPS": 4},
    domains={
        "BM": (32, 64, 128),
        "BN": (32, 64, 128),
        "BK": (16, 32, 64),
        "WARPS": (4, 8),
    },
    optimisations=("mma-tensor-cores", "tail-masking"),
)
_RING = Form(
    name="ring",
    title="a ring in shared memory, filled by cp.async while the warps multiply",
    package="argus.kernels.gemm",
    file="kernel.py",
    kernel="gemm_sm80",
    defaults={"BM": 128, "BN": 128, "BK": 32, "STAGES": 3, "GROUP": 1, "WARPS": 8},
    domains={
        "BM": (64, 128, 256),
        "BN": (32, 64, 128, 256),
        "BK": (32, 64),
        "STAGES": (2, 3, 4, 5, 6),
        "GROUP": (1, 4, 8, 16),
        "WARPS": (4, 8),
    },
    optimisations=("cp-async", "mma-tensor-cores", "swizzling", "tail-masking"),
    after=("naive",),
    via="cp-async",
)
_ROLES = Form(
    name="roles",
    title="one warp loads by TMA, warpgroups multiply with wgmma",
    package=_FORMS,
    file="roles.py",
    kernel="gemm_roles",
    defaults=_HOPPER_DEFAULTS,
    domains=_HOPPER_DOMAINS,
    optimisations=(*_ON_HOPPER, "tail-masking"),
    after=("naive", "ring"),
    via="warp-specialisation",
)
_PERSISTENT = Form(
    name="persistent",
    title="as many blocks as the device holds, each doing tile after tile",
    package="argus.kernels.gemm",
    file="kernel.py",
    kernel="gemm_sm90",
    defaults={**_HOPPER_DEFAULTS, "ACROSS": False, "AHEAD": True},
    domains={**_HOPPER_DOMAINS, "ACROSS": (False, True)},
    optimisations=(*_ON_HOPPER, "tail-masking", "persistent-grid"),
    after=("roles",),
    via="persistent-grid",
)


class Gemm(DesignSpace):
    """Matrix products with epilogue."""

    name = "gemm"
    entries: ClassVar = {e.name: e for e in ENTRIES}
    forms: ClassVar = {f.name: f for f in (_NAIVE, _RING, _ROLES, _PERSISTENT)}
    knobs = _KNOBS
    together = (("BM", "BN"), ("BN", "WARPGROUPS"))
    # On Hopper, `ring` multiplies with it, too, where the warps are warpgroups.
    inseparable = frozenset({"wgmma"})

    def start(self, problem: Problem) -> Design:
        """64x64 tiles, four warps."""
        return self.entered("naive", problem)

    def entered(self, form: str, problem: Problem) -> Design:
        """Usual tiles; small ones where C has few rows, or rows are copied singly."""
        m, _, k = _sizes(problem)
        edit: dict[str, Value] = {}
        if form != "naive" and m <= 64:
            edit["BM"] = 64
        if form == "ring" and k % 2:
            edit |= {"BM": 64, "BN": 64}
        return self.apply({}, {"form": form, **edit})

    def possible(self, form: str, problem: Problem) -> bool:
        """Hopper's forms need a target with TMA, and rows that it can address.

        The entry `gemm_sm80` stands for what Ampere can do as well, on any target.
        """
        of = library_problem(problem)
        if form in ("naive", "ring"):
            return True
        return (
            of.entry == "gemm"
            and has_family("tma", of.target)
            and of.sizes["K"] % 8 == 0
        )

    def fixed(self, design: Design, problem: Problem) -> dict[str, Value]:
        """The activation; whether `cp.async` can copy rows."""
        of = library_problem(problem)
        found: dict[str, Value] = {}
        if "relu" in of.options:
            found["ACTIVATION"] = "relu"
        if design["form"] == "ring":
            found["VECTORS"] = of.sizes["K"] % 2 == 0
        return found

    def always(self, problem: Problem) -> tuple[str, ...]:
        """Bias, activation and residual are part of the problem and of every form."""
        return ("epilogue-fusion",) if _epilogue(problem) else ()

    def repaired(self, design: Design, pinned: frozenset[str]) -> Design:
        """Warpgroups that divide the rows, slices that divide the columns, stages."""
        if design["form"] not in ("roles", "persistent"):
            return design
        new = dict(design)
        bm, bn = number(new["BM"]), number(new["BN"])
        if "WARPGROUPS" not in pinned:
            new["WARPGROUPS"] = _warpgroups(bm, bn, number(new["WARPGROUPS"]))
        if bn % number(new["BC"]) and "BC" not in pinned:
            new["BC"] = 32
        if "REGISTERS" not in pinned and new["REGISTERS"] != 0:
            new["REGISTERS"] = 240 if number(new["WARPGROUPS"]) < 3 else 160
        if new["STAGES"] == 1:
            new["AHEAD"] = False
        if "STAGES" not in pinned:
            fits = [
                s
                for s in (1, 2, 3, 4, 5, 6, 8)
                if s <= number(new["STAGES"])
                and too_large(_shared({**new, "STAGES": s}), "sm_90a") is None
            ]
            if fits and fits[-1] > 1:
                new["STAGES"] = fits[-1]
        return new

    def invalid(self, design: Design, problem: Problem) -> str | None:
        """See the form's own rules; no tile may lie mostly outside C."""
        of = library_problem(problem)
        m, n, _ = _sizes(problem)
        bm, bn = number(design["BM"]), number(design["BN"])
        if bm > max(64, 2 * m) or bn > max(64, 2 * n):
            return f"a tile of {bm} x {bn} is mostly outside C of {m} x {n}"
        match design["form"]:
            case "naive":
                return _naive(design)
            case "ring":
                return _ring(design, of)
            case _:
                return _hopper(design, of)


def _sizes(problem: Problem) -> tuple[int, int, int]:
    sizes = library_problem(problem).sizes
    return sizes["M"], sizes["N"], sizes["K"]


def _epilogue(problem: Problem) -> bool:
    return bool({"bias", "relu", "residual"} & set(library_problem(problem).options))


def _warpgroups(bm: int, bn: int, wanted: int) -> int:
    """The wanted number if it can be, else the least that can hold the tile."""
    able = [w for w in (1, 2, 3) if bm % (64 * w) == 0 and _holds(bm, bn, w)]
    if wanted in able or not able:
        return wanted
    return able[0]


def _holds(bm: int, bn: int, warpgroups: int) -> bool:
    accumulator = bm * bn // (WARPGROUP * warpgroups)
    room = registers_per_thread(WARPGROUP * (warpgroups + 1))
    return accumulator + OVERHEAD <= room


def _shared(design: Design) -> int:
    """Bytes of the Hopper forms."""
    bm, bn, stages = (number(design[k]) for k in ("BM", "BN", "STAGES"))
    need = ring_bytes(stages, bm + bn, number(design["BK"])) + 16 * stages
    if design["TMA_STORE"]:
        need += 2 * 2 * bm * number(design["BC"])
    return need


def _naive(design: Design) -> str | None:
    bm, bn, bk, warps = (number(design[k]) for k in ("BM", "BN", "BK", "WARPS"))
    return naive_registers(bm, bn, bk, warps)


def _ring(design: Design, problem: LibraryProblem) -> str | None:
    bm, bn, bk = (number(design[k]) for k in ("BM", "BN", "BK"))
    stages, warps = number(design["STAGES"]), number(design["WARPS"])
    if stages < 2:
        return "one slot would be filled while it is read"
    if warp_grid(bm, bn, warps) == (0, 0):
        return f"{warps} warps cannot divide a tile of {bm} x {bn}"
    accumulator = bm * bn // (WARP * warps)
    room = registers_per_thread(WARP * warps)
    extra = 64 if _epilogue(problem) else 40
    copied = (bm + bn) * bk // (WARP * warps)
    if problem.sizes["K"] % 2:
        extra += 3 * copied  # through registers, an element at a time
    elif problem.sizes["K"] % 8:
        extra += 2 * copied  # narrow copies: an address and a predicate for each pair
    if accumulator + extra > room:
        return f"a thread needs about {accumulator + extra} registers and has {room}"
    return too_large(ring_bytes(stages, bm + bn, bk), problem.target)


def _hopper(design: Design, problem: LibraryProblem) -> str | None:
    if not has_family("tma", problem.target):
        return f"{problem.target} has no TMA"
    if problem.entry != "gemm":
        return f"{problem.entry} is without Hopper's instructions"
    m, n, k = (problem.sizes[d] for d in "MNK")
    if k % 8:
        return f"TMA needs rows of 16-byte steps; K is {k}"
    if design["TMA_STORE"] and n % 8:
        return f"TMA stores need rows of 16-byte steps; N is {n}"
    bm, bn, bc = (number(design[d]) for d in ("BM", "BN", "BC"))
    warpgroups = number(design["WARPGROUPS"])
    if bm % (64 * warpgroups):
        return f"{warpgroups} warpgroups cannot share {bm} rows in parts of 64"
    if bn % bc:
        return f"slices of {bc} do not divide {bn} columns"
    if not _holds(bm, bn, warpgroups):
        return f"{warpgroups} warpgroups cannot hold a tile of {bm} x {bn}"
    if design["REGISTERS"] != 0:
        budget = number(design["REGISTERS"])
        if WARPGROUP * (24 + warpgroups * budget) > REGISTERS:
            return f"{warpgroups} warpgroups cannot have {budget} registers a thread"
    if design["AHEAD"] and number(design["STAGES"]) < 2:
        return "a slot is held while the next is awaited: there must be two"
    return _cluster(design, m, n) or too_large(_shared(design), problem.target)


def _cluster(design: Design, m: int, n: int) -> str | None:
    """Neighbours along M share tiles of B, neighbours along N tiles of A."""
    blocks = number(design["CLUSTER"])
    across = bool(design.get("ACROSS", False))
    shared, tile = (
        ("A", number(design["BM"])) if across else ("B", number(design["BN"]))
    )
    if tile % (8 * blocks):
        return f"{blocks} blocks cannot share {tile} rows of {shared} in parts of 8"
    if across and blocks == 1:
        return "a cluster of one block has no neighbours along N"
    apart = cdiv(n, number(design["BN"])) if across else cdiv(m, number(design["BM"]))
    if blocks > 1 and apart < blocks:
        return f"C has fewer than {blocks} {'columns' if across else 'rows'} of tiles"
    return None


SPACES = (Gemm(),)
