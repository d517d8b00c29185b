"""Pass: what powers of two divide the program's scalars.

The specialisation says what divides sizes and strides; this adds loop variables, named
scalars and what loops carry. Vector widths and TMA's alignment rules rest on these
facts: those that were given become conditions of every launch, the others follow.
"""

from functools import partial
from typing import assert_never

from argus.ir import ops as o
from argus.ir.divisors import Facts, define, fact_requirements, settled
from argus.ir.expr import divisor
from argus.ir.program import Program


def derive_facts(program: Program) -> None:
    """Add to ``program.facts`` the divisors of loop variables and named scalars."""
    _block(program.body, program.facts)


def require_facts(program: Program) -> None:
    """Make every divisor that the specialisation was given a condition of launching.

    Nothing else of the program follows from facts after that.
    """
    program.facts = settled(program.facts)
    program.requirements += fact_requirements(program)


def _block(block: o.Block, facts: dict[str, int]) -> None:
    for op in block.ops:
        match op:
            case o.Let():
                define(facts, op.sym.name, partial(divisor, op.value))
            case o.For():
                _loop(op, facts)
            case o.If():
                _block(op.then, facts)
                _block(op.other, facts)
                for m in op.scalars:
                    both = min(divisor(m.then, facts), divisor(m.other, facts))
                    facts[m.result.name] = both
            case o.Roles():
                for role in op.roles:
                    _block(role.body, facts)
            case (
                o.LoadScalar() | o.RegisterOp() | o.Dot() | o.Access() | o.Copy()
                | o.Synchronisation() | o.RingOp() | o.Annotation()
            ):  # fmt: skip
                pass
            case _:
                assert_never(op)


def _loop(op: o.For, facts: dict[str, int]) -> None:
    """A carried scalar keeps the divisor that its yielded value keeps, by induction."""
    start, step = op.start, op.step

    def of_variable(known: Facts) -> int:
        return min(divisor(start, known), divisor(step, known))

    define(facts, op.var.name, of_variable)
    for c in op.scalars:
        facts[c.arg.name] = divisor(c.init, facts)
    while True:
        _block(op.body, facts)
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
