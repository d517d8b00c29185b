"""Obligations about speed, and the worst number of each kind.

Every finding is `slow`: it binds a kernel only where the kernel says so (`ag.expect`).
An access whose addresses cannot be computed is unknown, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from argus.diagnostics import Span
from argus.ir.placement import VectorPlan
from argus.ir.program import Program
from argus.verify.evidence import Counterexample, ThreadPlace
from argus.verify.performance.bank_conflicts import conflicts_of
from argus.verify.performance.coalescing import access_bytes, sectors_of
from argus.verify.performance.findings import PerformanceFinding
from argus.verify.performance.resources import ResidentBlocks, occupancy
from argus.verify.performance.sites import Site, sites
from argus.verify.verdict import Obligation, Verdict

__all__ = ["PerformanceFacts", "measure", "obligations"]

NARROW = 4
"""Bytes per thread below which a global access is called narrow."""


@dataclass(frozen=True)
class PerformanceFacts:
    """The worst access of each kind; None where the program has no such access.

    ``bank_conflicts`` and ``excess_sectors``: value minus ideal is the number.
    ``access_bytes``: least bytes per thread of a global access. ``unknown`` lists
    accesses that could not be counted, with the reason: while there are any, the
    numbers of their kind are lower bounds only.
    """

    bank_conflicts: PerformanceFinding | None
    excess_sectors: PerformanceFinding | None
    access_bytes: PerformanceFinding | None
    occupancy: ResidentBlocks
    unknown: tuple[tuple[Span, str], ...] = field(default=())

    def worst(self) -> dict[str, int]:
        """The numbers by the names that `ag.expect` has; 0 conflicts without access."""
        found = {
            "bank_conflicts": _excess(self.bank_conflicts),
            "excess_sectors": _excess(self.excess_sectors),
            "occupancy": self.occupancy.blocks,
        }
        if self.access_bytes is not None:
            found["access_bytes"] = self.access_bytes.value
        return found


def _excess(found: PerformanceFinding | None) -> int:
    return 0 if found is None else found.value - found.ideal


def measure(program: Program, registers: int | None = None) -> PerformanceFacts:
    """The worst numbers of a placed program.

    ``registers`` per thread, where machine code was built, makes the occupancy exact.
    """
    conflicts: list[PerformanceFinding] = []
    sectors: list[PerformanceFinding] = []
    widths: list[PerformanceFinding] = []
    unknown: list[tuple[Span, str]] = []
    for site in sites(program):
        shared, apart, width = _counted(program, site)
        for found, into in ((shared, conflicts), (apart, sectors), (width, widths)):
            match found:
                case PerformanceFinding():
                    into.append(found)
                case str():
                    unknown.append((site.op.span, found))
                case None:
                    pass
    return PerformanceFacts(
        max(conflicts, key=_excess, default=None),
        max(sectors, key=_excess, default=None),
        min(widths, key=lambda f: f.value, default=None),
        occupancy(program, registers),
        tuple(unknown),
    )


Counted = PerformanceFinding | str | None
"""A finding; why there is none; None where the question does not arise."""


def _counted(program: Program, site: Site) -> tuple[Counted, Counted, Counted]:
    """Bank conflicts, sectors and width of an access."""
    try:
        shared: Counted = conflicts_of(site, program.facts, program.target)
    except KeyError as missing:
        shared = _depends(missing)
    try:
        apart: Counted = sectors_of(site, program.target)
    except KeyError as missing:
        apart = _depends(missing)
    size = access_bytes(site)
    width = None
    if size is not None:
        what = "an access to global memory"
        width = PerformanceFinding(size, 16, site.op.span, site.role, what, "")
    return shared, apart, width


def _depends(missing: KeyError) -> str:
    return f"its addresses depend on {missing.args[0]}, which has no value here"


def obligations(program: Program) -> Iterable[Obligation]:
    """Findings about every access and about occupancy, all of severity "slow"."""
    for site in sites(program):
        shared, apart, width = _counted(program, site)
        if shared is not None:
            yield _judged(
                "AG0511", "a wavefront for each phase", site, shared, _CONFLICT
            )
        if apart is not None:
            yield _judged("AG0512", "no sector beyond the ideal", site, apart, _SECTOR)
        yield from _wide_enough(site, width)
    yield from _resident(program)


_CONFLICT = (
    "wavefronts",
    "give the buffer a swizzle, or lay the rows out so that threads of a warp reach "
    "different banks",
)
_SECTOR = (
    "sectors",
    "let consecutive threads have consecutive elements, and keep rows aligned to 32 "
    "bytes",
)


def _judged(
    rule: str,
    claim: str,
    site: Site,
    found: PerformanceFinding | str,
    words: tuple[str, str],
) -> Obligation:
    span = site.op.span
    if isinstance(found, str):
        return Obligation(
            rule, claim, span, Verdict.UNKNOWN, "enumeration", found, slow=True
        )
    claim = f"{found.what}: {claim}"
    if found.value <= found.ideal:
        return Obligation(rule, claim, span, Verdict.PROVED, "enumeration", slow=True)
    unit, help_ = words
    return Obligation(
        rule,
        claim,
        span,
        Verdict.REFUTED,
        "enumeration",
        counterexample=Counterexample(
            f"{found.what} takes {found.value} {unit} where {found.ideal} would do",
            f"{found.value} {unit} instead of {found.ideal}",
            ThreadPlace(found.role, found.thread),
            notes=(found.why,),
            help=help_,
        ),
        slow=True,
    )


def _wide_enough(site: Site, width: Counted) -> Iterator[Obligation]:
    """A narrow access where each thread makes several: they could be one."""
    if not isinstance(width, PerformanceFinding):
        return
    plan = site.op.plan
    several = isinstance(plan, VectorPlan) and plan.accesses > 1
    narrow = width.value < NARROW and several
    claim = f"at least {NARROW} bytes per thread and instruction"
    evidence = None
    if narrow:
        evidence = Counterexample(
            f"each thread moves {width.value} bytes per instruction, many times",
            f"{width.value} bytes per thread",
            ThreadPlace(width.role),
            help="state the divisors of sizes and strides, so that vectors fit",
        )
    yield Obligation(
        "AG0512",
        claim,
        site.op.span,
        Verdict.REFUTED if narrow else Verdict.PROVED,
        "enumeration",
        counterexample=evidence,
        slow=True,
    )


def _resident(program: Program) -> Iterator[Obligation]:
    """The declared blocks fit a multiprocessor."""
    found = occupancy(program)
    claim = f"{program.min_blocks} blocks fit a multiprocessor"
    evidence = None
    if found.blocks < program.min_blocks:
        evidence = Counterexample(
            f"{found.by} leave room for {found.blocks} blocks per multiprocessor, "
            f"where {program.min_blocks} are declared",
            f"{found.blocks} instead of {program.min_blocks}",
            ThreadPlace("block"),
            notes=tuple(f"{name}: {n} blocks" for name, n in found.limits.items()),
        )
    yield Obligation(
        "AG0510",
        claim,
        program.span,
        Verdict.PROVED if evidence is None else Verdict.REFUTED,
        "counting",
        counterexample=evidence,
        slow=True,
    )
