"""What is compiled: one specialisation of a kernel, as the programs it becomes.

request = Request(kernel, {"A": bf16, ...}, {"BM": 128}, "sm_90a")
tile_program(request)       what the author wrote, typed
placed_program(request)     with layouts, instructions, waits and fences
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from argus.diagnostics import fail
from argus.ir.dtypes import DType
from argus.ir.program import Program
from argus.lang.kernel import InlineFunction, Kernel
from argus.specialisations import Specialisation, facts_of
from argus.targets import DEFAULT_TARGET, TARGETS, Target

__all__ = [
    "Request",
    "key_of",
    "of_each_form",
    "placed_program",
    "request_of",
    "target_named",
    "tile_program",
]


@dataclass(frozen=True)
class Request:
    """One specialisation of a kernel.

    ``dtypes`` of the tensors that are passed (an optional tensor left out is absent);
    ``statics`` override defaults; ``facts`` are powers of two (at most 16) known to
    divide dimensions ("M") and strides ("A_s0"); what is not named is divisible by 16.
    ``values``: dimensions and strides for which alone there is machine code, which has
    them as constants; what is proved, is proved for all.
    """

    kernel: Kernel
    dtypes: Mapping[str, DType]
    statics: Mapping[str, object] = field(default_factory=dict[str, object])
    target: str = DEFAULT_TARGET
    facts: Mapping[str, int] = field(default_factory=dict[str, int])
    values: Mapping[str, int] = field(default_factory=dict[str, int])


def request_of(
    kernel: Kernel,
    statics: Mapping[str, object],
    target: str,
    chosen: Specialisation,
) -> Request:
    """The request for one of the specialisations of a kernel."""
    facts = facts_of(kernel.signature, chosen)
    return Request(kernel, chosen.form, statics, target, facts)


def of_each_form(requests: Iterable[Request]) -> list[Request]:
    """The first request of each combination of tensors and element types."""
    found: dict[object, Request] = {}
    for request in requests:
        found.setdefault(tuple(sorted(request.dtypes.items(), key=str)), request)
    return list(found.values())


def target_named(name: str) -> Target:
    """The target of that name. Raises ArgusError AG0601 for an unknown one."""
    if name not in TARGETS:
        known = ", ".join(TARGETS)
        raise fail("AG0601", None, f"there is no target `{name}`", help=f"try {known}")
    return TARGETS[name]


def tile_program(request: Request) -> Program:
    """Parse and specialise. Raises ArgusError for every mistake of the author."""
    from argus.lang.frontend import specialise

    kernel = request.kernel
    present = {t.name: t.name in request.dtypes for t in kernel.signature.tensors}
    return specialise(
        kernel,
        dtypes=request.dtypes,
        statics=request.statics,
        target=target_named(request.target),
        present=present,
        facts=request.facts,
    )


def placed_program(request: Request) -> Program:
    """Parse and place. Raises ArgusError where the target cannot honour the kernel."""
    from argus.lower import place

    return place(tile_program(request))


def key_of(request: Request, *also: str) -> str:
    """What a result for a request is kept under on disk: all that it depends on.

    That is every text outside the package, what the request chooses, and the package
    itself; but for ``values``, which proofs do not know. ``also``: what else the result
    is about.
    """
    from argus.lang.frontend.module import dependencies
    from argus.runtime.keys import specialisation_key

    inlines = [v for v in request.statics.values() if isinstance(v, InlineFunction)]
    return specialisation_key(
        sources=[*dependencies(request.kernel, inlines), *also],
        kernel=request.kernel.name,
        statics=request.statics,
        dtypes={k: v.name for k, v in request.dtypes.items()},
        target=request.target,
        facts=request.facts,
    )
