"""Pass: what powers of two divide the program's scalars.

The specialisation says what divides sizes and strides; this adds loop variables, named
scalars and what loops carry. Vector widths and TMA's alignment rules rest on these
facts: those that were given become conditions of every launch, the others follow.
"""

from functools import partial

from argus.ir import ops as o
from argus.ir.divisors import Facts, define, fact_requirements, settled
from argus.ir.dtypes import DType
from argus.ir.expr import Expr, Sym, divisor
from argus.ir.program import Program
from argus.ir.scalar_flow import ScalarFlow


def derive_facts(program: Program) -> None:
    """Add to ``program.facts`` the divisors of loop variables and named scalars."""
    _Divisors(program.facts).block(program.body)


def require_facts(program: Program) -> None:
    """Make every divisor that the specialisation was given a condition of launching.

    Nothing else of the program follows from facts after that.
    """
    program.facts = settled(program.facts)
    program.requirements += fact_requirements(program)


class _Divisors(ScalarFlow):
    """Adds to ``facts`` what divides the scalars that are bound."""

    def __init__(self, facts: dict[str, int]) -> None:
        self.facts = facts

    def bind(self, sym: Sym, values: tuple[Expr, ...]) -> None:
        if len(values) == 1:
            define(self.facts, sym.name, partial(divisor, values[0]))
        else:
            self.facts[sym.name] = min(divisor(v, self.facts) for v in values)

    def data(self, sym: Sym, dtype: DType) -> None:
        """It may be anything."""

    def loop(self, op: o.For) -> None:
        """A carried scalar keeps the divisor that its yielded value keeps."""
        facts = self.facts
        start, step = op.start, op.step

        def of_variable(known: Facts) -> int:
            return min(divisor(start, known), divisor(step, known))

        define(facts, op.var.name, of_variable)
        for c in op.scalars:
            facts[c.arg.name] = divisor(c.init, facts)
        while True:
            self.block(op.body)
            shrunk = False
            for c in op.scalars:
                kept = min(facts[c.arg.name], divisor(c.yielded, facts))
                shrunk = shrunk or kept < facts[c.arg.name]
                facts[c.arg.name] = kept
            if not shrunk:
                break
        for c in op.scalars:
            # Without an iteration the result is the initial value.
            facts[c.result.name] = min(facts[c.arg.name], divisor(c.init, facts))
