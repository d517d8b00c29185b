"""Which configurations are measured for the performance model, as data.

A case is a problem (an entry of the library with sizes); a build is a specialisation of
a kernel; a job is a build launched on a case. Forms are the library's kernels and the
steps of the tutorial, which are the rungs of the optimiser's ladder. Knobs make full
grids, so that the measurements can stand in for the GPU when searches are compared.

Nothing is built, measured or checked for validity here: what cannot be built is found
by building it, and recorded as such.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from argus.evaluation.requests import contiguous_facts
from argus.ir.dtypes import DTYPES
from argus.kernels.attention.kernel import attention
from argus.kernels.gemm.entry import REGISTERS
from argus.kernels.gemm.kernel import gemm_sm80, gemm_sm90, gemm_small, gemm_thin
from argus.kernels.gemm.tiles import table
from argus.kernels.grouped.kernel import grouped_gemm
from argus.kernels.layernorm.entry import EPS as LAYERNORM_EPS
from argus.kernels.layernorm.entry import FORMS as LAYERNORM
from argus.kernels.library import LIBRARY, Case, KernelChoice, LibraryEntry
from argus.kernels.norms.choice import RowForms, row_statics
from argus.kernels.norms.entry import EPS, RMSNORM_FORMS, SOFTMAX_FORMS
from argus.kernels.single.kernel import single_sm90
from argus.lang.kernel import Kernel, load_kernels
from argus.model.data import Measurement
from argus.requests import Request

TARGET = "sm_90a"
TUTORIAL = Path(__file__).parent.parent / "docs" / "tutorial"
STEPS = {
    "step1": "step1_naive",
    "step2": "step2_ring",
    "step4": "step4_roles",
    "step5": "step5_persistent",
}
Statics = dict[str, int | bool]
FAMILIES = {
    "gemm": "gemm",
    "tf32_gemm": "gemm",
    "softmax": "norms",
    "rmsnorm": "norms",
    "layernorm": "norms",
    "attention": "attention",
    "grouped": "grouped",
}
_EPS = {"rmsnorm": EPS, "layernorm": LAYERNORM_EPS}
ROWS = {
    "softmax": SOFTMAX_FORMS,
    "rmsnorm": RMSNORM_FORMS,
    "layernorm": LAYERNORM,
}
_LIBRARY = (
    *(gemm_sm80, gemm_sm90, gemm_small, gemm_thin, single_sm90),
    *(attention, grouped_gemm),
    *(kernel for forms in ROWS.values() for kernel in (forms.held, forms.passes)),
)


@dataclass(frozen=True, eq=False)
class Job:
    """One configuration. ``form`` names the kernel (see `kernel_of`)."""

    entry: str
    form: str
    case: Case
    statics: tuple[tuple[str, int | bool], ...]

    @property
    def build(self) -> tuple[object, ...]:
        """What the binary depends on: equal for jobs that share one."""
        request = request_of(self)
        return (self.form, self.statics, tuple(sorted(request.facts.items())))


@cache
def kernel_of(form: str) -> Kernel:
    """The kernel of a form."""
    if form in STEPS:
        return load_kernels(TUTORIAL / f"{STEPS[form]}.py").kernels["gemm"]
    return {k.name: k for k in _LIBRARY}[form]


def problem_of(job: Job) -> tuple[LibraryEntry, Case]:
    """Entry and case with what arguments depend on (the tile height of `grouped`)."""
    entry = LIBRARY[job.entry]
    if job.entry != "grouped":
        return entry, job.case
    tile = {"BM": dict(job.statics)["BM"]}
    case = Case(job.case.name, job.case.sizes, {**job.case.options, **tile})
    return entry, case


def choice_of(job: Job) -> KernelChoice:
    """Kernel, statics and scalars."""
    scalars: Mapping[str, int | float] = {}
    if job.entry == "attention":
        scalars = {"scale": job.case.sizes["D"] ** -0.5}
    if job.entry in _EPS:
        scalars = {"eps": _EPS[job.entry]}
    return KernelChoice(kernel_of(job.form), dict(job.statics), scalars)


def request_of(job: Job) -> Request:
    """The specialisation that a job needs."""
    entry, case = problem_of(job)
    arguments = entry.arguments(case)
    kernel = kernel_of(job.form)
    facts = contiguous_facts(kernel, {a.name: a.shape for a in arguments})
    return Request(
        kernel, {a.name: a.dtype for a in arguments}, dict(job.statics), TARGET, facts
    )


# ----------------------------------------------------------- what was measured, again


def family_of(measured: Measurement) -> str:
    """What predictions are judged by: "gemm", "norms", "attention", "grouped"."""
    return FAMILIES[measured.entry]


def measured_request(measured: Measurement) -> Request:
    """The specialisation that was measured."""
    return Request(
        kernel_of(measured.form),
        {name: DTYPES[dtype] for name, dtype in measured.dtypes.items()},
        dict(measured.statics),
        measured.target,
        dict(measured.facts),
    )


def measured_sizes(measured: Measurement) -> dict[str, int]:
    """Every dimension of the kernel's tensors."""
    case = Case(measured.case, measured.sizes, measured.options)
    job = Job(measured.entry, measured.form, case, tuple(measured.statics.items()))
    entry, whole = problem_of(job)
    shapes = {a.name: a.shape for a in entry.arguments(whole)}
    found = dict(measured.sizes)
    for tensor in kernel_of(measured.form).signature.tensors:
        for name, extent in zip(tensor.dims, shapes.get(tensor.name, ()), strict=False):
            found.setdefault(str(name), extent)
    return found


# ------------------------------------------------------------------------ the space


def jobs() -> Iterator[Job]:
    """Everything that is to be measured."""
    yield from _gemm()
    yield from _further()
    yield from _norms()
    yield from _attention()
    yield from _grouped()


def _grid(**axes: tuple[int | bool, ...]) -> list[Statics]:
    return [
        dict(zip(axes, values, strict=True))
        for values in itertools.product(*axes.values())
    ]


def _jobs(entry: str, form: str, cases: list[Case], grid: list[Statics]) -> list[Job]:
    return [Job(entry, form, c, tuple(s.items())) for c in cases for s in grid]


FEW = ((16, 4096, 4096), (64, 8192, 4096), (256, 512, 8192))
THIN = ((1, 4096, 4096), (4, 5000, 3001))
SINGLE = ((4096, 4096, 4096), (512, 8192, 8192), (1024, 1024, 1024), (333, 5000, 2000))


def _further() -> Iterator[Job]:
    """Other kernels of products, with tiles that the library chooses among."""
    for form, sizes in (("small", FEW), ("thin", THIN)):
        tiles = [dict(t.statics) for t in table().tiles if t.form == form]
        yield from _jobs(
            "gemm", f"gemm_{form}", [_sized("MNK", s) for s in sizes], tiles
        )
    tiles = (
        (64, 64, 8, 1, 1), (64, 128, 8, 1, 1), (64, 256, 5, 1, 1), (128, 128, 6, 2, 1),
        (128, 128, 6, 2, 2), (128, 192, 5, 2, 2), (128, 256, 4, 2, 1),
    )  # fmt: skip
    names = ["BM", "BN", "STAGES", "WARPGROUPS", "CLUSTER"]
    for tile in tiles:
        chosen = dict(zip(names, tile, strict=True))
        registers = REGISTERS[chosen["WARPGROUPS"]]
        statics = {**chosen, "BK": 32, "REGISTERS": registers, "STEPWISE": False}
        cases = [_sized("MNK", s) for s in SINGLE]
        yield from _jobs("tf32_gemm", "single_sm90", cases, [statics])


# TMA can address all rows; the second group has rows of 16, not 32, bytes.
GEMM = (
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (2048, 2048, 2048),
    (1024, 1024, 1024),
    (512, 8192, 8192),
    (64, 4096, 4096),
    (2048, 2048, 16384),
    (4000, 4000, 4000),
    (3072, 5120, 1024),
    (8192, 8192, 512),
    (1000, 1000, 1000),
    (4104, 2056, 3000),
)
GEMM_ODD = ((1023, 1025, 1027), (510, 2050, 1030))
"""Rows that only elements, or 4-byte copies, can load."""
TILES = (
    (64, 64, 1),
    (64, 128, 1),
    (64, 256, 1),
    (128, 128, 1),
    (128, 128, 2),
    (128, 192, 2),
    (128, 256, 2),
    (256, 128, 2),
)
"""BM, BN, WARPGROUPS."""
DEPTHS = ((64, 2), (64, 3), (64, 4), (64, 6), (128, 2))
"""BK, STAGES."""


def _sized(name: str, sizes: tuple[int, ...]) -> Case:
    text = "x".join(map(str, sizes))
    return Case(text, dict(zip(name, sizes, strict=True)))


def _hopper(
    orders: tuple[int, ...] = (1, 16), stores: tuple[bool, ...] = (True, False)
) -> Iterator[Statics]:
    for (bm, bn, groups), (bk, stages) in itertools.product(TILES, DEPTHS):
        for rest in _grid(GROUP=orders, CLUSTER=(1, 2), TMA_STORE=stores):
            tile: Statics = {"BM": bm, "BN": bn, "BK": bk, "STAGES": stages}
            yield {**tile, "WARPGROUPS": groups, **rest}


def _gemm() -> Iterator[Job]:
    cases = [_sized("MNK", s) for s in GEMM]
    odd = [_sized("MNK", s) for s in GEMM_ODD]
    rising = {"BM": (64, 128), "BN": (64, 128)}
    yield from _jobs("gemm", "gemm_sm90", cases[:-2], list(_hopper()))
    # Another specialisation: fewer of them, since building takes most of the time.
    yield from _jobs("gemm", "gemm_sm90", cases[-2:], list(_hopper((16,), (True,))))
    naive = _grid(**rising, BK=(16, 32, 64))
    yield from _jobs("gemm", "step1", [*cases, *odd], naive)
    ring = _grid(**rising, BK=(32, 64), STAGES=(2, 3, 4))
    yield from _jobs("gemm", "step2", [*cases, *odd[1:]], ring)
    roles = _grid(BM=(128,), BN=(64, 128, 256), BK=(64, 128), STAGES=(2, 3, 4))
    for form in ("step4", "step5"):
        yield from _jobs("gemm", form, cases, roles)
    ampere = _grid(**rising, BK=(32, 64), STAGES=(2, 3), WARPS=(4, 8))
    yield from _jobs("gemm", "gemm_sm80", [*cases, *odd[1:]], ampere)
    elements = _grid(**rising, BK=(32, 64), STAGES=(2, 3), VECTORS=(False,))
    yield from _jobs("gemm", "gemm_sm80", odd[:1], elements)


NORMS = (
    (16384, 8192),
    (4096, 4096),
    (8192, 16384),
    (8191, 5000),
    (65536, 1024),
    (1024, 1024),
    (32768, 2048),
    (200, 8192),
    (131072, 256),
    (1000, 333),
    (262144, 64),
    (20000, 512),
    (30000, 100),
)
LONG = ((4096, 24576), (1024, 50257), (2048, 128256))


def _norms() -> Iterator[Job]:
    for m, n in NORMS:
        case = _sized("MN", (m, n))
        columns = int(str(row_statics(n)["BN"]))
        grid = [
            s
            for s in _grid(
                BN=(columns,),
                ROWS=(1, 2),
                WARPS=(1, 2, 4, 8, 16),
                MIN_BLOCKS=(1, 4),
            )
            if 4 <= s["ROWS"] * columns // (32 * s["WARPS"]) <= 64
            and s["MIN_BLOCKS"] * s["WARPS"] <= 32
        ]
        own = {k: int(str(v)) for k, v in row_statics(n).items()}
        for name, forms in ROWS.items():
            chosen = grid if name != "layernorm" else grid[::2]
            yield from _jobs(name, forms.held.name, [case], [own, *chosen])
    for m, n in LONG:
        for name, forms in ROWS.items():
            yield from _jobs(
                name, forms.passes.name, [_sized("MN", (m, n))], _walks(forms)
            )


def _walks(forms: RowForms) -> list[Statics]:
    fixed = {name: bool(value) for name, value in forms.fixed.items()}
    parts = ((2048, 4, 8), (4096, 8, 4), (8192, 8, 4), (8192, 16, 2), (16384, 16, 2))
    return [
        {"BN": bn, "WARPS": warps, "MIN_BLOCKS": blocks, "ROWS": 1, **fixed}
        for bn, warps, blocks in parts
    ]


ATTENTION = (
    (4, 32, 32, 4096, 4096, 128, False),
    (4, 32, 32, 4096, 4096, 128, True),
    (1, 32, 8, 8192, 8192, 128, False),
    (1, 32, 8, 8192, 8192, 128, True),
    (3, 16, 4, 3001, 2777, 128, False),
    (2, 8, 8, 1111, 1111, 128, True),
    (8, 16, 16, 1024, 1024, 128, False),
    (1, 16, 16, 512, 512, 128, False),
    (4, 16, 16, 2048, 2048, 64, False),
    (16, 32, 32, 512, 512, 64, True),
)
"""B, H, G, S, T, D, causal."""


def _attention() -> Iterator[Job]:
    for *sizes, causal in ATTENTION:
        options = {"causal": 1} if causal else {}
        b, h, g, s, t, d = sizes
        name = f"{b}x{h}/{g}x{s}:{t} {d}{' causal' * causal}"
        case = Case(name, dict(zip("BHGSTD", sizes, strict=True)), options)
        for queries, groups in ((64, 1), (128, 2), (128, 1)):
            keys = (queries,) if causal else (32, 64, 128, 192)
            grid = _grid(
                D=(d,),
                BQ=(queries,),
                BT=keys,
                STAGES=(1, 2, 3),
                WARPGROUPS=(groups,),
                CAUSAL=(causal,),
            )
            yield from _jobs("attention", "attention", [case], grid)


GROUPED = (
    (8, 4096, 4096, 4096, False),
    (64, 16384, 2048, 2048, False),
    (64, 4096, 4096, 1024, True),
    (16, 8192, 2048, 4096, True),
)
"""E, P, N, K, gather."""


def _grouped() -> Iterator[Job]:
    for *sizes, gather in GROUPED:
        e, p, n, k = sizes
        options = {"gather": 1} if gather else {}
        name = f"{e} experts {p}x{n}x{k}{' gather' * gather}"
        case = Case(name, dict(zip("EPNK", sizes, strict=True)), options)
        for bn, stages in ((64, 4), (128, 3), (128, 4), (256, 3), (256, 4)):
            grid = _grid(
                BM=(128,), BN=(bn,), STAGES=(stages,), GROUP=(1, 16), WARPGROUPS=(2,)
            )
            yield from _jobs("grouped", "grouped_gemm", [case], grid)


def describe() -> dict[str, Any]:
    """How much there is: jobs and distinct builds of each form."""
    found: dict[str, dict[str, Any]] = {}
    for job in jobs():
        of = found.setdefault(job.form, {"jobs": 0, "builds": set(), "cases": set()})
        of["jobs"] += 1
        of["builds"].add(job.build)
        of["cases"].add(job.case.name)
    return {
        form: {k: v if isinstance(v, int) else len(v) for k, v in of.items()}
        for form, of in found.items()
    }
