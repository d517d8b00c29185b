"""Which specialisation a case needs: kernel, types, statics, divisibility of sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from argus.compiler import Request
from argus.diagnostics import fail
from argus.ir.dtypes import DType
from argus.kernels.library import Case, Choice, Entry
from argus.lang.kernel import Kernel

_DIVISORS = (16, 8, 4, 2)


def choose(entry: Entry, case: Case, target: str) -> Choice:
    """The form of the kernel that the library uses for a case.

    Raises ArgusError AG0602 for a target that the entry does not support.
    """
    if target not in entry.targets:
        raise fail(
            "AG0602",
            None,
            f"`{entry.name}` has no form for {target}",
            help=f"its targets are {', '.join(entry.targets)}",
        )
    return entry.choose(case, target)


def request_for(entry: Entry, case: Case, target: str) -> tuple[Request, Choice]:
    """The specialisation for contiguous arguments of a case, and the choice behind it.

    Raises like :func:`choose`.
    """
    choice = choose(entry, case, target)
    arguments = entry.arguments(case)
    shapes = {a.name: a.shape for a in arguments}
    request = Request(
        choice.kernel,
        {a.name: a.dtype for a in arguments},
        dict(choice.statics),
        target,
        facts_of(choice.kernel, shapes),
    )
    return request, choice


def with_statics(request: Request, statics: Mapping[str, object]) -> Request:
    """The request with some static parameters overridden."""
    return replace(request, statics={**request.statics, **statics})


def facts_of(kernel: Kernel, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Powers of two (at most 16) that divide the extents and strides of shapes.

    Strides are those of contiguous tensors. Dimensions are named as in the signature,
    strides as "A_s0".
    """
    facts: dict[str, int] = {}
    for tensor in kernel.signature.tensors:
        shape = shapes.get(tensor.name)
        if shape is None:
            continue
        for i, dim in enumerate(tensor.dims[: len(shape)]):
            facts[f"{tensor.name}_s{i}"] = _divisor(prod(shape[i + 1 :]))
            if isinstance(dim, str):
                facts[dim] = min(facts.get(dim, 16), _divisor(shape[i]))
    return facts


def _divisor(n: int) -> int:
    return next((d for d in _DIVISORS if n % d == 0), 1)


def default_dtypes(kernel: Kernel, chosen: Mapping[str, DType]) -> dict[str, DType]:
    """Element types of a kernel's tensors where the caller names only some.

    A tensor that may have several takes the first; an optional one that is not named is
    absent.
    """
    return {
        t.name: chosen.get(t.name, t.dtypes[0])
        for t in kernel.signature.tensors
        if t.name in chosen or not t.optional
    }
