"""Do walks at a few sizes meet every combination of trip counts?

Sizes are walked in steps of their tile, so that K = 64, 128, ... stand for all K. That
is right as long as K decides the course through one quotient only:

    for k in range(0, K, 64)       (K + 63) // 64 turns
    for k in range(64, K, 64)      (K + 63) // 64 - 1
    if k + 64 < K                  whether k // 64 + 1 < (K + 63) // 64

With ``K // 64`` in another role the two agree at K = 64, 128, ... and nowhere else.
Every loop and condition is brought to normal form; each size must be inside one atom,
the same everywhere, or all loops must turn equally often but for a constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from argus.ir import ops as o
from argus.ir.expr import Binary, Const, Expr, Sym, binary, substitute, symbols
from argus.verify.decide.conditions import context_of
from argus.verify.decide.evaluation import Unmodelled, has_floats
from argus.verify.decide.facts import conjuncts
from argus.verify.decide.normal import Normal
from argus.verify.decide.polynomial import Poly

__all__ = ["Decision", "unrelated"]

_SIZES = ("dim", "param", "stride", "block", "rank", "sms")


@dataclass(frozen=True)
class Decision:
    """What decides the course at an operation: a loop's length, or a condition.

    ``lets`` are expanded; ``around`` are the loops that a condition is in.
    """

    op: o.For | o.If
    value: Expr
    around: tuple[o.For, ...] = ()


def unrelated(
    decisions: Sequence[Decision], requirements: Iterable[Expr]
) -> Iterator[str]:
    """Why walks at multiples of tiles do not stand for all sizes, if so."""
    decisions = [d for d in decisions if _sizes(d.value)]
    loops = [d for d in decisions if isinstance(d.op, o.For)]
    facts = tuple(f for f in conjuncts(requirements) if not has_floats(f))
    context = context_of(facts)
    forms: list[tuple[Decision, Poly]] = []
    for d in loops:
        try:
            forms.append((d, _turns(context, d)))
        except Unmodelled as reason:
            yield f"line {d.op.span.line}: {reason}"
    seen = _Seen(context)
    alike = {form.varying for _, form in forms}
    if len(alike) > 1:
        for d, form in forms:
            if not seen.fits(form):
                yield (
                    f"line {d.op.span.line}: how often this loop turns is not followed"
                    " for sizes between the tiles of another loop"
                )
    elif forms:
        seen.fits(forms[0][1])
    steps = {_step(d.op) for d in loops if isinstance(d.op, o.For)}
    for d in decisions:
        if isinstance(d.op, o.If) and not seen.holds(d, sorted(steps - {0})):
            yield (
                f"line {d.op.span.line}: {d.value} is not followed for sizes between"
                " tiles"
            )


class _Seen:
    """The one atom through which each size is seen."""

    def __init__(self, context: Normal) -> None:
        self.context = context
        self.atom: dict[int, int] = {}

    def fits(self, form: Poly) -> bool:
        """Whether a form sees all sizes as the others do; remembers it if so."""
        through: dict[int, int] = {}
        for atom in form.atoms():
            for size in self.context.reached(atom):
                if through.setdefault(size, atom) != atom:
                    return False
                if self.atom.get(size, atom) != atom:
                    return False
        self.atom |= through
        return True

    def holds(self, d: Decision, steps: Sequence[int]) -> bool:
        """The same for a condition: one of > 0, or several joined."""
        positive = _positive(d.value)
        if positive is None:
            return False
        for e in positive:
            e = _by_turn(e, d.around)
            for step in (*steps, 1):
                rounded = binary("//", binary("+", e, step - 1), step)
                try:
                    if self.fits(self.context.of(rounded)):
                        break
                except Unmodelled:
                    return False
            else:
                return False
        return True


def _turns(context: Normal, d: Decision) -> Poly:
    """The number of turns, or the length where the step is not constant."""
    step = _step(d.op)
    if not step:
        return context.of(d.value)
    return context.of(binary("//", binary("+", d.value, step - 1), step))


def _step(op: o.For | o.If) -> int:
    constant = isinstance(op, o.For) and isinstance(op.step, Const)
    return int(op.step.value) if constant else 0  # type: ignore[union-attr]


def _sizes(e: Expr) -> bool:
    return any(s.kind in _SIZES for s in symbols(e))


def _positive(cond: Expr) -> list[Expr] | None:
    """What has to be > 0, or not, for a condition to hold; None: not known."""
    match cond:
        case Binary(op="and" | "or"):
            left, right = _positive(cond.left), _positive(cond.right)
            return None if left is None or right is None else left + right
        case Binary(op="<"):
            return [binary("-", cond.right, cond.left)]
        case Binary(op=">"):
            return [binary("-", cond.left, cond.right)]
        case Binary(op="<="):
            return [binary("+", binary("-", cond.right, cond.left), 1)]
        case Binary(op=">="):
            return [binary("+", binary("-", cond.left, cond.right), 1)]
        case Binary(op="==" | "!="):
            apart = binary("-", cond.left, cond.right)
            return [apart, binary("-", 0, apart)]
        case _:
            return None


def _by_turn(e: Expr, around: Sequence[o.For]) -> Expr:
    """Variables of loops by the number of the turn."""
    for op in around:
        turn = Sym(f"{op.var.name}#", "loop")
        value = binary("+", op.start, binary("*", turn, op.step))
        e = substitute(e, {op.var.name: value})
    return e
