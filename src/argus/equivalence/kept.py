"""Comparisons of kernels that are kept on disk, like proofs.

    made = kept_alike(request, programs, other, given)

Kept is what was shown, and what could not be compared at all. What depends on the speed
of the machine is not, nor is what differs: there inputs are looked for that show it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from argus.diagnostics import Span
from argus.equivalence.deciding import Decided, decided_alike
from argus.equivalence.denoted import SECONDS
from argus.equivalence.programs import Programs
from argus.ir.program import Program
from argus.requests import Request, key_of
from argus.runtime.cache import default_cache
from argus.verify.equality import EqualityResult, OutputDecision

__all__ = ["kept_alike"]

_KIND = "equalities"


def kept_alike(
    request: Request,
    programs: Programs,
    other: Request,
    given: Program,
    *,
    seconds: float = SECONDS,
    divisors: Mapping[str, int] | None = None,
) -> Decided:
    """As `decided_alike`, from the disk cache if it can."""
    divided = sorted((divisors or {}).items())
    key = key_of(
        request, f"file {request.kernel.file}", f"other {key_of(other)}", f"{divided}"
    )
    store = default_cache().store
    known = store.read(_KIND, key, _decided_of)
    if known is not None:
        return known
    made = decided_alike(programs, given, seconds, divisors)
    if made.equal or (made.decision is None and made.seconds < seconds):
        store.put(_KIND, key, json.dumps(_data(made)).encode())
    return made


def _data(made: Decided) -> dict[str, object]:
    outputs = () if made.decision is None else made.decision.outputs
    return {
        "outputs": [o.tensor for o in outputs],
        "reason": made.reason,
        "span": None if made.span is None else dict(made.span.to_json()),
        "axioms": list(made.axioms),
    }


def _decided_of(raw: bytes) -> Decided:
    """The decision of a cache entry; raises ValueError, KeyError or TypeError."""
    data: dict[str, Any] = json.loads(raw)
    axioms = tuple(str(a) for a in data["axioms"])
    outputs = tuple(OutputDecision(str(name)) for name in data["outputs"])
    result = EqualityResult(outputs, axioms) if outputs else None
    span = None if data["span"] is None else Span(**data["span"])
    return Decided(result, str(data["reason"]), span, axioms)
