"""Obligations of order, one for each rule at each place that it applies to.

A finding of any walk refutes its obligation. What no walk refutes is proved when the
walks stand for every trip count (`extrapolation.py`), else unknown, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.isa.effects import OpEffects, effects_of
from argus.verify.counting import with_numbers
from argus.verify.evidence import Counterexample, ThreadPlace
from argus.verify.order.control_dependence import study
from argus.verify.order.events import has_events
from argus.verify.order.extrapolation import SizeExplorer
from argus.verify.order.finding import OrderFinding
from argus.verify.order.in_place import in_place
from argus.verify.order.limits import beyond
from argus.verify.order.sharing import SharedOrder
from argus.verify.order.size_walks import WalkOutcome
from argus.verify.verdict import Obligation, Verdict

__all__ = ["CLAIMS", "obligations"]

CLAIMS = {
    "AG0311": "the bytes are written before they are read",
    "AG0401": "every other access to the bytes comes before or after this one",
    "AG0402": "the fill that is read is the one that was waited for",
    "AG0403": "the wait returns",
    "AG0404": "its parity tells the awaited completion from its neighbours",
    "AG0405": "the bytes expected are the bytes that the copies bring",
    "AG0406": "the matrix instructions that read the slot are over when it is released",
    "AG0407": "the registers are not touched while the instruction runs",
    "AG0408": "ordinary accesses are fenced before the async proxy comes",
    "AG0409": "the arrivals of a phase are as many as the barrier counts",
    "AG0410": "nobody leaves before the last use of what is shared",
    "AG0418": "the ring has a stage that can be filled meanwhile",
    "AG0419": "whole warpgroups execute the instruction",
    "AG0420": "the threads of the named barrier add up",
    "AG0421": "a wait covers the copy before its bytes are used again",
    "AG0423": "the array has such a barrier",
    "AG0425": "the instruction can set this budget",
}
"""What each rule says of the place where it holds."""


def obligations(
    program: Program, shared: SharedOrder | None = None
) -> Iterable[Obligation]:
    """Show the order of a placed program for every size that it admits.

    ``shared`` has what was proved of other programs; it is believed, and added to.
    Raises ValueError for a program that is not placed.
    """
    if not program.placed:
        raise ValueError(f"program {program.name} is not placed")
    program = with_numbers(program)
    exceeded = tuple(beyond(program))
    if exceeded:
        return exceeded  # what is launched is another program, if anything
    shown = tuple(in_place(program))
    if not has_events(program.body):
        return shown
    proved = None if shared is None else shared.proved(program, _walked)
    return (*shown, *(_walked(program) if proved is None else proved))


def _walked(program: Program) -> Iterable[Obligation]:
    return _judged(program, SizeExplorer(program, study(program)).run())


def _judged(program: Program, outcome: WalkOutcome) -> Iterator[Obligation]:
    findings = outcome.findings.found
    seen: set[tuple[str, int]] = set()
    for rule, op in _places(program):
        seen.add((rule, id(op)))
        found = findings.get((rule, id(op)))
        if found is not None:
            yield _refuted(found, outcome)
        else:
            yield _shown(rule, op.span, outcome)
    for key, found in findings.items():
        if key not in seen:
            yield _refuted(found, outcome)


def _shown(rule: str, span: Span, outcome: WalkOutcome) -> Obligation:
    if outcome.stuck:
        reason = "the walk ended where the roles wait for ever"
        return Obligation(rule, CLAIMS[rule], span, Verdict.UNKNOWN, "walk", reason)
    if outcome.gaps:
        reason = "; ".join(dict.fromkeys(outcome.gaps))
        return Obligation(rule, CLAIMS[rule], span, Verdict.UNKNOWN, "walk", reason)
    return Obligation(rule, CLAIMS[rule], span, Verdict.PROVED, "walk")


def _refuted(found: OrderFinding, outcome: WalkOutcome) -> Obligation:
    sizes = outcome.sizes.get((found.rule, id(found.op)), {})
    place = ThreadPlace(found.role, found.thread, found.block, found.iteration)
    counterexample = Counterexample(
        found.message,
        found.label,
        place,
        sizes,
        interleaving=found.events,
        notes=found.notes,
        help=found.help,
    )
    return Obligation(
        found.rule,
        CLAIMS[found.rule],
        found.op.span,
        Verdict.REFUTED,
        "walk",
        counterexample=counterexample,
    )


def _places(program: Program) -> Iterator[tuple[str, o.AnyOp]]:
    """Each rule with each operation that it says something about."""
    for op in walk(program.body):
        for rule in _rules(op):
            yield rule, op


def _rules(op: o.AnyOp) -> tuple[str, ...]:
    match op:
        case o.Access() | o.Copy() | o.Dot():
            return _of_accesses(effects_of(op))
        case o.CpAsyncArrive():
            return ("AG0409", "AG0423")
        case o.BarrierExpect():
            return ("AG0405", "AG0409", "AG0423")
        case o.BarrierArrive():
            leaving = ("AG0410",) if op.cluster else ()
            return ("AG0406", "AG0409", "AG0423", *leaving)
        case o.BarrierWait():
            held = ("AG0418",) if op.barrier.alloc.role == "ring full" else ()
            return ("AG0403", "AG0404", "AG0423", *held)
        case o.Sync():
            return ("AG0403", "AG0406", "AG0420")
        case o.ClusterSync():
            return ("AG0410",)
        case o.WgmmaWait():
            return ("AG0407",)
        case o.SetMaxRegisters():
            return ("AG0403", "AG0419", "AG0425")
        case (
            o.Structure() | o.Binding() | o.RegisterOp() | o.Commit() | o.GroupWait()
            | o.Fence() | o.RingOp() | o.Annotation()
        ):  # fmt: skip
            return ()
        case _:
            assert_never(op)


def _of_accesses(does: OpEffects) -> tuple[str, ...]:
    """The rules about accesses to shared memory, and about registers in flight."""
    if not does.touches:
        return ()
    found = {"AG0401"}
    if does.reads:
        found |= {"AG0311", "AG0402"}
    if any(touch.proxy == "async" for touch in does.touches):
        found.add("AG0408")
    if does.scope == "warpgroup":
        found.add("AG0419")
    if does.completes == "mbarrier":
        found |= {"AG0410", "AG0423"}
    if does.later:
        found.add("AG0407" if does.results else "AG0421")
    return tuple(sorted(found))
