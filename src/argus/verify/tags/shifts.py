"""Numbers that are relative to a maximum of a part of a row, as in an online softmax.

A maximum that has not seen all of its row may be subtracted before exp, if everything
that is computed so meets only its like, and what earlier iterations computed is moved
to the new maximum by a factor:

    m_new = maximum(m, max(s))      a number of its row
    p     = exp((s - m_new) * c)    rest * exp(-c * m_new)
    alpha = exp((m - m_new) * c)    1 * exp(c * m - c * m_new)
    l     = l * alpha + sum(p)      both * exp(-c * m_new): they may be added
    o / l                           no maximum is left

:class:`Shift` has these exponents. `shifting.py` has what operations make of them, and
shows that what is added has the same (AG0321). That none is left where it is stored is
shown by `storing.py` (AG0308). A maximum over the whole row is a number like others and
leaves no trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from argus.verify.tags.accumulation import is_zero
from argus.verify.tags.scope import PathScope
from argus.verify.tags.sums import whole
from argus.verify.tags.values import (
    AbstractValue,
    ReducedDimension,
    RowStatistic,
    RowTerm,
    Shift,
)

__all__ = ["EXTREMES", "Factors", "collected", "is_one", "joined_factors", "lost",
           "merged_shift", "renamed_rows", "same", "scaled_like", "scaled_terms",
           "shift_of"]  # fmt: skip

EXTREMES = frozenset({"max", "min", "argmax", "argmin"})


def lost(reason: str) -> Shift:
    """A value that depends on numbers of parts of rows in a way that is not known."""
    return Shift(lost=reason)


def shift_of(scope: PathScope, value: AbstractValue) -> Shift | None:
    """How a value depends on incomplete maxima; None: it does not."""
    if value.shift is not None:
        return _settled(scope, value.shift)
    if value.row is None:
        return None
    over = _extremes(value)
    if not over and not value.sets and not value.lanes:
        return None
    if over and all(whole(scope, s) for _, s in over):
        return None
    row = replace(value.row, dims=frozenset(value.tags), over=over)
    return Shift((RowTerm(row, (), 1.0),), pure=True)


def _extremes(
    value: AbstractValue,
) -> tuple[tuple[str, tuple[ReducedDimension, ...]], ...]:
    return tuple((n, s) for n, s in sorted(value.sums.items()) if s[0].fn in EXTREMES)


def _settled(scope: PathScope, shift: Shift) -> Shift | None:
    """Without numbers that turned out to belong to the whole row."""
    terms = tuple(t for t in shift.terms if not _complete(scope, t.row))
    if shift.lost or terms == shift.terms:
        return shift
    # A factor that moves to a maximum of the whole row is one like others.
    return replace(shift, terms=terms, pure=False) if terms else None


def _complete(scope: PathScope, row: RowStatistic) -> bool:
    known = (s for other, s in scope.world.rows if is_one(scope, other, row))
    over = next(known, row.over)
    return bool(over) and all(whole(scope, s) for _, s in over)


def is_one(scope: PathScope, a: RowStatistic, b: RowStatistic) -> bool:
    """Whether two are one number."""
    return (
        a.op == b.op
        and len(a.at) == len(b.at)
        and all(scope.difference(x, y) == 0 for x, y in zip(a.at, b.at, strict=True))
    )


# ---------------------------------------------------------------------- algebra


def collected(scope: PathScope, terms: Sequence[RowTerm]) -> tuple[RowTerm, ...]:
    """Terms of the same number and factors added up; those that vanish left out."""
    found: list[RowTerm] = []
    for t in terms:
        for i, known in enumerate(found):
            if known.factors == t.factors and is_one(scope, known.row, t.row):
                found[i] = replace(known, times=known.times + t.times)
                break
        else:
            found.append(t)
    return tuple(t for t in found if abs(t.times) > 1e-6)


def scaled_terms(terms: Sequence[RowTerm], x: float) -> tuple[RowTerm, ...]:
    """The terms times a number."""
    return tuple(replace(t, times=t.times * x) for t in terms)


def same(scope: PathScope, a: Shift | None, b: Shift | None) -> bool:
    """Whether two values depend on the same numbers in the same way."""
    if a is None or b is None:
        return a is b
    if a.lost or b.lost:
        return a.lost == b.lost
    apart = collected(scope, (*a.terms, *scaled_terms(b.terms, -1.0)))
    return a.exp == b.exp and a.pure == b.pure and not apart


def merged_shift(scope: PathScope, a: AbstractValue, b: AbstractValue) -> Shift | None:
    """That of a value that is one of two."""
    x, y = shift_of(scope, a), shift_of(scope, b)
    if x is None and y is None:
        return None
    if is_zero(a) and y is not None and y.exp:
        return replace(y, pure=False)
    if is_zero(b) and x is not None and x.exp:
        return replace(x, pure=False)
    if x is not None and y is not None and scaled_like(scope, x, y):
        return replace(x, pure=x.pure and y.pure)
    return lost("two branches leave it relative to different maxima")


def renamed_rows(
    scope: PathScope,
    shift: Shift,
    known: Sequence[tuple[RowStatistic, tuple[RowTerm, ...]]],
) -> Shift:
    """The shift with numbers replaced by what they are known to be."""
    terms: list[RowTerm] = []
    for t in shift.terms:
        found = next((x for row, x in known if is_one(scope, row, t.row)), None)
        if found is None:
            terms.append(t)
            continue
        for x in found:
            factors = joined_factors(t.factors, x.factors, 1)
            terms.append(RowTerm(x.row, factors, t.times * x.times))
    return replace(shift, terms=collected(scope, terms))


def scaled_like(scope: PathScope, a: Shift | None, b: Shift | None) -> bool:
    """Whether values may be added: they are relative to the same numbers."""
    if a is None or b is None:
        return a is b
    apart = collected(scope, (*a.terms, *scaled_terms(b.terms, -1.0)))
    return not a.lost and not b.lost and a.exp == b.exp and not apart


Factors = tuple[tuple[str, int], ...]


def joined_factors(a: Factors, b: Factors, power: int) -> Factors:
    """Factors and the power of others."""
    found = dict(a)
    for name, n in b:
        found[name] = found.get(name, 0) + n * power
    return tuple(sorted((n, p) for n, p in found.items() if p))
