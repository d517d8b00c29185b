"""Specialisations in words: a whole space, one member, and what becomes the same.

A space is "X bf16 or f32; Bias absent or given; N and the strides of X, Y divisible by
16, 8, 4, 2 or 1", and a part of it "X f32, Bias given, N divisible by 4, not by 8".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from argus.evaluation.exploring import Box
from argus.ir.dtypes import DType
from argus.requests import Request
from argus.specialisations import DIVISORS, InnermostDimension, SpecialisationSpace
from argus.verify.verdict import Placed, Specialised, Verdict

_MOST = 3
"""Alternatives that are told one by one."""


def space_words(space: SpecialisationSpace) -> str:
    """What calls may choose, choice by choice."""
    parts = [
        f"{name} {_either(_type_words(types))}"
        for name, types in space.types.items()
        if len(types) > 1
    ]
    form = {n: t[-1] for n, t in space.types.items() if t[-1] is not None}
    numbers = iter(space.levels(form))
    for row in space.at(form, [max(n) for n in space.levels(form)]).rows:
        by: dict[str, list[str]] = {}
        for what in _divided(space, row):
            said = f"divisible by {_either([str(n) for n in next(numbers)])}"
            by.setdefault(said, []).insert(0, what)
        parts += [f"{' and '.join(what)} {said}" for said, what in by.items()]
    return "; ".join(parts) or "calls choose nothing"


def box_words(space: SpecialisationSpace, box: Box) -> str:
    """The members of a box: what they have and others have not."""
    types = {n: box.form.get(n) for n in space.types}
    parts = [
        _chosen(name, types[name], choices)
        for name, choices in space.types.items()
        if len(choices) > 1
    ]
    parts += _row_words(space, box)
    return ", ".join(parts) or "every call"


def several_words(space: SpecialisationSpace, boxes: Sequence[Box]) -> str:
    """Like `box_words`, of several boxes together."""
    forms = _form_words(space, boxes)
    rows = list(dict.fromkeys(", ".join(_row_words(space, b)) for b in boxes))
    parts = [_few(forms)] if forms else []
    if "" not in rows:
        parts.append(_few(rows))
    return ", ".join(parts) or "every call"


# ------------------------------------------------------------------------------- types


def _type_words(types: Iterable[DType | None]) -> list[str]:
    found = list(types)
    given = [t for t in found if t is not None]
    words = ["given" if len(given) == 1 else t.name for t in given]
    if None in found:
        words.insert(0, "absent")
    elif len(given) == 1:
        words = [given[0].name]
    return words


def _chosen(name: str, dtype: DType | None, choices: Sequence[DType | None]) -> str:
    if dtype is None:
        return f"{name} absent"
    only = len([c for c in choices if c is not None]) == 1
    return f"{name} given" if only else f"{name} {dtype.name}"


def _form_words(space: SpecialisationSpace, boxes: Sequence[Box]) -> list[str]:
    """The forms of these boxes, without the tensors that make no difference."""
    names = [n for n, types in space.types.items() if len(types) > 1]
    forms = {tuple(b.form.get(n) for n in names) for b in boxes}
    for name in list(names):
        i = names.index(name)
        rest = {f[:i] + f[i + 1 :] for f in forms}
        if len(forms) == len(rest) * len(space.types[name]):
            names.remove(name)
            forms = rest
    if not names:
        return []
    return [
        " with ".join(
            _chosen(n, dtype, space.types[n]) for n, dtype in zip(names, f, strict=True)
        )
        for f in sorted(forms, key=str)
    ]


# -------------------------------------------------------------------------------- rows


def _divided(space: SpecialisationSpace, row: InnermostDimension) -> list[str]:
    """What the numbers of a row divide, in the order of `levels` of the space."""
    strides = f"the strides of {', '.join(_tall(space, row))}"
    found = [] if row.stride is None else [strides]
    return found if row.extent is None else [*found, row.dim]


def _row_words(space: SpecialisationSpace, box: Box) -> list[str]:
    low, high = list(box.low), list(box.high)
    parts: list[str] = []
    for row in space.at(box.form, box.high).rows:
        found: dict[str, list[str]] = {}
        for what in _divided(space, row):
            said = _between(low.pop(0), high.pop(0))
            if said:
                found.setdefault(said, []).insert(0, what)
        parts += [f"{' and '.join(what)} {said}" for said, what in found.items()]
    return parts


def _between(low: int, high: int) -> str:
    """Numbers that the first divides and no power of two beyond the second."""
    words = [] if low == DIVISORS[-1] else [f"divisible by {low}"]
    if high != DIVISORS[0]:
        words.append(f"not {'by' if words else 'divisible by'} {2 * high}")
    return ", ".join(words)


def _either(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _few(words: Sequence[str]) -> str:
    shown = list(words[:_MOST])
    if len(words) > _MOST:
        shown.append(f"{len(words) - _MOST} others")
    return _either(shown)


# --------------------------------------------------------------------------- a request


def specialised_of(request: Request, verdict: Verdict) -> Specialised:
    """The one specialisation that a request is, as a report says it."""
    text = specialisation_words(request)
    dtypes = {name: dtype.name for name, dtype in request.dtypes.items()}
    only = Placed(text, verdict, dtypes, dict(request.facts))
    return Specialised(text, 1, (only,))


def specialisation_words(request: Request) -> str:
    """The one specialisation that a request is."""
    space = SpecialisationSpace.of(request.kernel.signature)
    form, facts = request.dtypes, request.facts
    numbers: list[int] = []
    top = [max(n) for n in space.levels(form)]
    for row in space.at(form, top).rows:
        if row.stride is not None:
            strides = (facts.get(f"{t}_s0", row.stride) for t in _tall(space, row))
            numbers.append(min(strides))
        if row.extent is not None:
            numbers.append(facts.get(row.dim, row.extent))
    return box_words(space, Box(form, tuple(numbers), tuple(top)))


def _tall(space: SpecialisationSpace, row: InnermostDimension) -> list[str]:
    """The tensors of a row that have strides."""
    rank = {t.name: len(t.dims) for t in space.signature.tensors}
    return [name for name in row.tensors if rank[name] > 1]
