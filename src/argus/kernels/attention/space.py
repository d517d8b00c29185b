"""The design space of attention: from one block of queries to overlapped products.

Forms: `naive` (operands through registers), `ring` (`cp.async` into shared memory),
`roles` (TMA, `wgmma`, a warp that loads), `overlap`, whose two products run while the
softmax is computed, and `persistent`, whose blocks go from tile to tile. The last two
are the library's kernels.
"""

from __future__ import annotations

from typing import ClassVar

from argus.isa.registry import has_family
from argus.kernels.attention.entry import ENTRIES
from argus.kernels.knobs import usual
from argus.kernels.resources import (
    REGISTERS,
    WARP,
    WARPGROUP,
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

_FORMS = "argus.kernels.attention.forms"
_HOPPER = ("roles", "overlap", "persistent")
_KNOBS = by_name(
    Knob("BQ", (64, 128, 192), "queries of a block", "tile-shape", 64),
    Knob(
        "BT", (16, 32, 64, 80, 96, 128, 160, 176), "keys of one step", "tile-shape", 32
    ),
    usual("STAGES", 1, 2, 3, 4),
    Knob(
        "WARPGROUPS",
        (1, 2, 3),
        "warpgroups that multiply: one computes its softmax while another multiplies",
        "ping-pong",
        1,
    ),
    *map(usual, ("WARPS", "FOLD", "REGISTERS", "TMA_STORE")),
    Knob(
        "QUERIES",
        (1, 2),
        "tiles of queries in flight: the next is loaded while one is finished",
        "software-pipelining",
        1,
    ),
)
_ON_HOPPER = (
    *("tma", "warp-specialisation", "wgmma", "mma-tensor-cores", "swizzling"),
    *("register-operand", "online-softmax", "tail-masking"),
)

_NAIVE = Form(
    name="naive",
    title="a loop over keys, operands through registers",
    package=_FORMS,
    file="naive.py",
    kernel="attention_naive",
    defaults={"BQ": 64, "BT": 32, "WARPS": 4},
    domains={"BQ": (64, 128), "BT": (16, 32, 64), "WARPS": (4, 8)},
    optimisations=("mma-tensor-cores", "online-softmax", "tail-masking"),
)
_RING = Form(
    name="ring",
    title="keys and values by cp.async, while the warps multiply",
    package=_FORMS,
    file="ring.py",
    kernel="attention_ring",
    defaults={"BQ": 64, "BT": 64, "STAGES": 2, "WARPS": 4, "FOLD": True},
    domains={
        "BQ": (64, 128),
        "BT": (32, 64, 128),
        "STAGES": (2, 3, 4),
        "WARPS": (4, 8),
        "FOLD": (False, True),
    },
    optimisations=(
        *("cp-async", "mma-tensor-cores", "swizzling", "register-operand"),
        *("online-softmax", "tail-masking"),
    ),
    after=("naive",),
    via="cp-async",
)
_HOPPER_DOMAINS: dict[str, tuple[Value, ...]] = {
    "BQ": (64, 128, 192),
    "BT": (32, 64, 128),
    "STAGES": (1, 2, 3, 4),
    "WARPGROUPS": (1, 2, 3),
    "REGISTERS": (0, 240),
    "FOLD": (False, True),
}
_ROLES = Form(
    name="roles",
    title="one warp loads by TMA, warpgroups multiply with wgmma",
    package=_FORMS,
    file="roles.py",
    kernel="attention_roles",
    defaults={
        "BQ": 64,
        "BT": 128,
        "STAGES": 2,
        "WARPGROUPS": 1,
        "REGISTERS": 240,
        "FOLD": True,
    },
    domains=_HOPPER_DOMAINS,
    optimisations=_ON_HOPPER,
    after=("naive", "ring"),
    via="warp-specialisation",
)
_OVERLAP = Form(
    name="overlap",
    title="both products run while the softmax is computed",
    package="argus.kernels.attention",
    file="kernel.py",
    kernel="attention",
    defaults={**_ROLES.defaults, "BQ": 128, "WARPGROUPS": 2, "TMA_STORE": False},
    domains={**_HOPPER_DOMAINS, "TMA_STORE": (False, True)},
    optimisations=(*_ON_HOPPER, "instruction-ordering"),
    after=("roles",),
    via="instruction-ordering",
)
_PERSISTENT = Form(
    name="persistent",
    title="as many blocks as the device holds, each doing tile after tile",
    package="argus.kernels.attention",
    file="kernel.py",
    kernel="attention_persistent",
    defaults={**_OVERLAP.defaults, "QUERIES": 1},
    domains={
        **_OVERLAP.domains,
        "BT": (32, 64, 80, 96, 128, 160, 176),
        "QUERIES": (1, 2),
    },
    optimisations=(*_OVERLAP.optimisations, "persistent-grid"),
    after=("roles", "overlap"),
    via="persistent-grid",
)


class Attention(DesignSpace):
    """Scaled dot-product attention, forward."""

    name = "attention"
    entries: ClassVar = {e.name: e for e in ENTRIES}
    forms: ClassVar = {
        f.name: f for f in (_NAIVE, _RING, _ROLES, _OVERLAP, _PERSISTENT)
    }
    knobs = _KNOBS
    together = (("BQ", "WARPGROUPS"), ("BQ", "BT"), ("BT", "STAGES"))
    # On Hopper, `ring` multiplies with it, too, where the warps are warpgroups.
    inseparable = frozenset({"wgmma"})

    def start(self, problem: Problem) -> Design:
        """64 queries, 32 keys at a time; where they do not fit, the next form."""
        begins = [self.entered(f, problem) for f in self.forms]
        fitting = (d for d in begins if self.invalid(d, problem) is None)
        return next(fitting, begins[0])

    def entered(self, form: str, problem: Problem) -> Design:
        """The form's usual tiles; the library's for its own form."""
        library = self.library(problem)
        if form == library["form"]:
            return library
        edit: dict[str, Value] = {"form": form}
        of = library_problem(problem)
        if form in _HOPPER and of.sizes["D"] > 128:
            edit["BT"] = 64
            if "causal" in of.options:
                edit["BQ"] = 64
        return self.apply({}, edit)

    def fixed(self, design: Design, problem: Problem) -> dict[str, Value]:
        """The head dimension and the mask."""
        of = library_problem(problem)
        return {"D": of.sizes["D"], "CAUSAL": "causal" in of.options}

    def repaired(self, design: Design, pinned: frozenset[str]) -> Design:
        """Warpgroups of 64 rows or more, their registers; stages that fit."""
        if design["form"] not in _HOPPER:
            return design
        new = dict(design)
        bq, warpgroups = number(new["BQ"]), number(new["WARPGROUPS"])
        if bq % (64 * warpgroups):
            if "WARPGROUPS" not in pinned:
                new["WARPGROUPS"] = bq // 64
            elif "BQ" not in pinned:
                new["BQ"] = 64 * warpgroups
        if "REGISTERS" not in pinned and new["REGISTERS"] != 0:
            new["REGISTERS"] = 240 if number(new["WARPGROUPS"]) < 3 else 160
        return new

    def invalid(self, design: Design, problem: Problem) -> str | None:
        """See the form's own rules."""
        of = library_problem(problem)
        bq, bt = number(design["BQ"]), number(design["BT"])
        if bq > max(64, 2 * of.sizes["S"]) or bt > max(32, 2 * of.sizes["T"]):
            return f"blocks of {bq} queries and {bt} keys are mostly empty"
        if design["form"] != "naive" and "causal" in of.options and bq > 2 * bt:
            # One block of queries more is then four steps more, in which the
            # verifier finds no period.
            return "causal queries come in blocks of at most two steps of keys"
        if design["form"] in _HOPPER:
            return _hopper(design, of)
        return _threads(design, of)


def _threads(design: Design, problem: LibraryProblem) -> str | None:
    """The forms in which every warp does everything."""
    bq, bt, warps = (number(design[k]) for k in ("BQ", "BT", "WARPS"))
    d = problem.sizes["D"]
    if bq % (16 * warps):
        return f"{warps} warps cannot share {bq} queries in parts of 16"
    output, scores = bq * d // (WARP * warps), bq * bt // (WARP * warps)
    if design["form"] == "naive":
        if bq != 16 * warps:
            return "more than 16 queries of a warp do not fit its registers"
        # The operand of queries stays; each warp loads all keys, later all values.
        operands = output // 2 + max(bt * d // 64, scores // 2)
        need = output + scores + operands + 50
        room = registers_per_thread(WARP * warps)
        if need > room:
            return f"a thread needs about {need} registers and has {room}"
        return None
    stages = number(design["STAGES"])
    if stages < 2:
        return "one slot would be filled while it is read"
    if d % 8:
        return f"cp.async needs rows of 16-byte steps; D is {d}"
    need = output + scores + scores // 2 + 40
    room = registers_per_thread(WARP * warps)
    if need > room:
        return f"a thread needs about {need} registers and has {room}"
    shared = ring_bytes(stages, 2 * bt, d) + ring_bytes(1, bq, d)
    return too_large(shared, problem.target)


def _hopper(design: Design, problem: LibraryProblem) -> str | None:
    if not has_family("tma", problem.target):
        return f"{problem.target} has no TMA"
    bq, bt, d = number(design["BQ"]), number(design["BT"]), problem.sizes["D"]
    warpgroups, stages = number(design["WARPGROUPS"]), number(design["STAGES"])
    if d % 16 or d > 256:
        return f"wgmma takes depths of multiples of 16; D is {d}"
    if bq % (64 * warpgroups):
        return f"{warpgroups} warpgroups cannot share {bq} queries in parts of 64"
    overlap = design["form"] != "roles"
    if overlap and "causal" in problem.options and bq != bt:
        return "the mask is applied to one block of keys: it must be as large as BQ"
    output, scores = (bq * n // (WARPGROUP * warpgroups) for n in (d, bt))
    # Scores become probabilities; overlapped, the last probabilities live on.
    need = output + scores + (scores // 2 if overlap else scores // 4) + 8
    room = registers_per_thread(WARPGROUP * (warpgroups + 1))
    budget = number(design["REGISTERS"])
    if budget:
        room = budget - 16
    if need > room:
        return f"a thread needs about {need} registers and has {room}"
    if budget and WARPGROUP * (24 + warpgroups * budget) > REGISTERS:
        return f"{warpgroups} warpgroups cannot have {budget} registers a thread"
    queries = number(design.get("QUERIES", 1))
    shared = ring_bytes(stages, 2 * bt, d) + ring_bytes(queries, bq, d)
    shared += 32 * stages + 16 * queries
    if design.get("TMA_STORE"):
        shared += ring_bytes(1, bq, d)
    return too_large(shared, problem.target)


SPACES = (Attention(),)
