"""Which sizes and element types a kernel is tried at.

Sizes are those of the search for a witness (`evaluation.equal`): small ones first, all
but a few no multiples of the tiles, then those at which a condition turns out in a way
that none has shown. The search compares in exact arithmetic by itself, and a witness
that it finds is kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from argus.equivalence.deciding import TrialPlace
from argus.equivalence.references import Reference
from argus.equivalence.sizes import (
    elements_of,
    fixed_sizes,
    free_sizes,
    mended,
)
from argus.evaluation.equal.refuting import Tried, refute, tried_at
from argus.evaluation.equal.sizes import drawn, whole_tiles
from argus.evaluation.loose import not_admitted
from argus.ir.program import Program
from argus.requests import Request, request_of
from argus.specialisations import DIVISORS, Form, SpecialisationSpace

__all__ = ["Planned", "forms_of", "least_request", "planned", "widened"]

SECONDS = 3.0
"""CPU time of the search for sizes, of one kernel."""
MOST_FORMS = 8
"""Combinations of element types that are tried one by one."""
_SMALL, _DRIVEN = 6, 4
"""Sizes that are tried: of the search's first, and of its last."""
_DRAWN = 64
"""Sizes that are drawn, at most, where the search has none."""
INTERPRETED = 1 << 18
"""Elements of all tensors of a run in the interpreter, at most, where sizes are not
given."""


@dataclass(frozen=True)
class Planned:
    """Sizes to try, and what the search for them found.

    ``larger``: how many sizes were left out since they are too large to interpret.
    """

    sizes: Sequence[Mapping[str, int]]
    tried: Tried
    larger: int


def forms_of(space: SpecialisationSpace) -> list[Form]:
    """Element types to try: all combinations, or where they are many each type once.

    The first has the first type of each tensor, and no optional one.
    """
    if space.form_count <= MOST_FORMS:
        return list(space.forms())
    longest = max(len(types) for types in space.types.values())
    found: list[Form] = []
    for i in range(longest):
        chosen = {n: types[i % len(types)] for n, types in space.types.items()}
        found.append({n: d for n, d in chosen.items() if d is not None})
    return found


def least_request(space: SpecialisationSpace, form: Form, like: Request) -> Request:
    """The specialisation of a form that knows nothing of what divides sizes."""
    numbers = [min(n) for n in space.levels(form)]
    chosen = space.at(form, numbers)
    return request_of(like.kernel, like.statics, like.target, chosen)


def planned(
    request: Request,
    program: Program,
    reference: Reference,
    given: Mapping[str, int],
    *,
    seed: int = 0,
    interpreted: bool = True,
    seconds: float = SECONDS,
) -> Planned:
    """Sizes for a kernel, beside those that are ``given``.

    ``program``: what the request is typed as. Raises ArgusError AG0808 for sizes that
    the kernel's requirements do not admit.
    """
    rng = np.random.default_rng(seed)
    if given:
        found = _beside(program, given, _drawn(program, rng))
        tried = tried_at(
            request,
            program,
            reference,
            TrialPlace(found[0]),
            seconds=seconds,
            seed=seed,
        )
        return Planned(found[:_SMALL], tried, 0)
    tried = refute(request, program, reference, seconds=seconds, seed=seed)
    found = list(tried.sizes) or list(_drawn(program, rng))
    if not found:
        raise not_admitted(program, given)
    whole = whole_tiles(program)
    found = _once(found if whole is None else [whole, *found])
    small = [
        s for s in found if not interpreted or elements_of(program, s) < INTERPRETED
    ]
    larger = len(found) - len(small)
    return Planned(_some(small), tried, larger)


def widened(
    program: Program, sizes: Mapping[str, int], given: Mapping[str, int]
) -> dict[str, int] | None:
    """Sizes at which rows are multiples of the widest access; None if none are found.

    Some instructions copy nothing else. The ``given`` sizes stay.
    """
    most = DIVISORS[0]
    made = {d: sizes[d] for t in _dims(program) for d in t if d in sizes}
    for dims in _dims(program):
        if dims[-1] not in given and dims[-1] in free_sizes(program):
            made[dims[-1]] = -(-made.get(dims[-1], 1) // most) * most
    return mended(program, {**fixed_sizes(program), **made})


def _some(sizes: Sequence[Mapping[str, int]]) -> list[Mapping[str, int]]:
    if len(sizes) <= _SMALL + _DRIVEN:
        return list(sizes)
    return [*sizes[:_SMALL], *sizes[-_DRIVEN:]]


def _drawn(program: Program, rng: np.random.Generator) -> Iterable[Mapping[str, int]]:
    some = itertools.takewhile(bool, drawn(program, rng))
    return itertools.islice(some, _DRAWN)


def _beside(
    program: Program, given: Mapping[str, int], others: Iterable[Mapping[str, int]]
) -> list[dict[str, int]]:
    """Sizes with those that are given. Raises ArgusError AG0808 if there are none."""
    found: list[dict[str, int]] = []
    for other in (*others, fixed_sizes(program)):
        if not all(d in other or d in given for t in _dims(program) for d in t):
            continue
        made = mended(program, {**other, **given})
        if made is not None and all(made.get(d, n) == n for d, n in given.items()):
            found.append(made)
    found = _once(found)
    if not found:
        raise not_admitted(program, given)
    return found


def _dims(program: Program) -> Iterable[tuple[str, ...]]:
    from argus.ir.memory import GlobalTensor

    return (p.dims for p in program.params if isinstance(p, GlobalTensor))


def _once(sizes: Iterable[Mapping[str, int]]) -> list[dict[str, int]]:
    return [dict(s) for s in {tuple(sorted(s.items())): s for s in sizes}.values()]
