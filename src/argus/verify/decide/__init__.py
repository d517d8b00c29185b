"""Deciding conditions over integers for all values of their symbols.

    prove(goal, given) -> Decision          is it true wherever the facts are?
    equal(a, b, given) -> Decision

First by normal form (cheap: polynomials with division by constants), then by trying
values, and by Z3 within a time limit:

    evaluation.py   the meaning of an expression, exactly; everything else must agree
    facts.py        ranges and definitions that the facts give to symbols
    polynomial.py   linear combinations of products of atoms
    forms.py        expression -> polynomial; rewriting.py: identities of // % ^ min max
    normal.py       the same with what facts say of symbols
    inequality.py   lower bounds of polynomials from facts
    conditions.py   comparisons, and, or, cases
    search.py       trying values
    solver.py       Z3
    nearest.py      values near wanted ones for which conditions hold
    procedure.py    the order of the layers, the cache

`refuted` always comes with a model that was evaluated and found to break the goal, so
it cannot be wrong; `proved` rests on the layer named in `method`. A time-out or a gap
is `unknown` with its reason.
"""

from argus.verify.decide.decision import Decision
from argus.verify.decide.evaluation import negate
from argus.verify.decide.procedure import equal, prove

__all__ = ["Decision", "equal", "negate", "prove"]
