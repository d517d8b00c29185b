"""Obligations as they are found, and counterexamples in the units of the source.

One obligation per rule, claim and place: where a loop body or several cases are looked
at more than once, the least verdict counts. While ``quiet`` (a first pass over a loop
that finds what it carries) nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from argus.diagnostics import Span
from argus.ir.expr import Sym
from argus.ir.memory import GlobalTensor
from argus.ir.program import ScalarParam
from argus.verify.evidence import Counterexample, OperandElement, Step, ThreadPlace
from argus.verify.tags.compare import Agreement, value_of
from argus.verify.tags.scope import PathScope
from argus.verify.tags.values import AbstractValue
from argus.verify.verdict import Obligation, Verdict

__all__ = ["Findings", "Where", "operand"]


@dataclass(frozen=True)
class Where:
    """Who looks: the role, and the scope of the place."""

    role: str
    scope: PathScope
    span: Span


@dataclass
class Findings:
    """What has been shown so far."""

    quiet: int = 0
    _found: dict[tuple[str, str, Span], Obligation] = field(
        default_factory=dict[tuple[str, str, Span], Obligation]
    )

    def add(
        self,
        rule: str,
        claim: str,
        where: Where,
        outcome: Agreement,
        message: str = "",
        label: str = "",
        operands: Sequence[OperandElement] = (),
        thread: int | None = None,
        help: str | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """Record one outcome; a refuted one with its counterexample."""
        if self.quiet:
            return
        counter = None
        if outcome.verdict is Verdict.REFUTED:
            counter = Counterexample(
                message or f"not true: {claim}",
                label or claim,
                place_of(where, outcome.model, thread),
                sizes_of(where.scope, outcome.model),
                tuple(operands),
                notes=tuple(notes),
                help=help,
            )
        reason = outcome.reason or "the decision procedure found no answer"
        made = Obligation(
            rule,
            claim,
            where.span,
            outcome.verdict,
            outcome.method,
            reason if outcome.verdict is Verdict.UNKNOWN else "",
            counter,
        )
        self.include([made])

    def include(self, several: Sequence[Obligation]) -> None:
        """Record obligations: of one rule, claim and place the least verdict counts."""
        for made in several:
            key = (made.rule, made.claim, made.span)
            before = self._found.get(key)
            if before is None or made.verdict < before.verdict:
                self._found[key] = made

    def refuted(self) -> list[Obligation]:
        """What has a counterexample so far."""
        return [x for x in self._found.values() if x.verdict is Verdict.REFUTED]

    def kept(self) -> dict[tuple[str, str, Span], Obligation]:
        """What has been found, for `restore`."""
        return dict(self._found)

    def restore(self, kept: dict[tuple[str, str, Span], Obligation]) -> None:
        """Forget what was found since: it came from a form that did not hold."""
        self._found = kept

    def all(self) -> list[Obligation]:
        """Everything, in the order of lines."""
        return sorted(
            self._found.values(), key=lambda o: (o.span.line, o.span.column, o.rule)
        )


def place_of(where: Where, model: dict[str, int], thread: int | None) -> ThreadPlace:
    """Role, thread, block and iterations at a point."""
    world = where.scope.world
    block = model.get(world.index.name)
    if block is not None and world.cluster > 1:
        block = block * world.cluster + model.get("cluster_rank", 0)
    iteration = {
        loop.name: model[loop.sym.name]
        for loop in where.scope.loops
        if loop.sym.name in model
    }
    return ThreadPlace(where.role, thread, block, iteration)


def sizes_of(scope: PathScope, model: dict[str, int]) -> dict[str, int]:
    """The sizes and scalar arguments of a point."""
    kept = {"dim", "param", "sms", "stride"}
    kinds: dict[str, str] = {}
    for p in scope.world.program.params:
        found = (p.sym,) if isinstance(p, ScalarParam) else (*p.shape, *p.strides)
        kinds.update({e.name: e.kind for e in found if isinstance(e, Sym)})
    kinds["sm_count"] = "sms"
    return {n: v for n, v in model.items() if kinds.get(n) in kept}


def operand(
    label: str,
    value: AbstractValue,
    element: tuple[int, ...],
    model: dict[str, int],
    scope: PathScope,
    coordinate: tuple[int, ...] = (),
) -> OperandElement:
    """An element of a value, with its tag at a point and the way it came."""
    tags: dict[str, int] = {}
    for name, tag in value.tags.items():
        found = value_of(tag, element, model, scope)
        if found is not None:
            tags[name] = found
    return OperandElement(label, tags, coordinate, _located(value, tags, scope))


def _located(
    value: AbstractValue, tags: dict[str, int], scope: PathScope
) -> tuple[Step, ...]:
    """The chain, with the coordinates that a load had for this element."""
    found: list[Step] = []
    params = scope.world.program.params
    tensors = {
        f"loaded from {p.name}": p for p in params if isinstance(p, GlobalTensor)
    }
    for step in value.chain:
        text = step.text
        p = tensors.get(text)
        if p is not None and all(d in tags for d in p.dims):
            at = ", ".join(str(tags[d]) for d in p.dims)
            text = f"{text}[{at}]"
        found.append(Step(text, step.span))
    return tuple(found)
