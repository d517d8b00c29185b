"""Which specialisation a case needs: kernel, types, statics, divisibility of sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from argus.diagnostics import fail
from argus.ir.dtypes import DTYPES, DType
from argus.kernels.entry import Case, KernelChoice, LibraryEntry, choose
from argus.lang.kernel import Kernel
from argus.requests import Request
from argus.specialisations import SpecialisationSpace, divisor, facts_of


def request_for(
    entry: LibraryEntry, case: Case, target: str
) -> tuple[Request, KernelChoice]:
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
        contiguous_facts(choice.kernel, shapes),
    )
    return request, choice


def with_statics(request: Request, statics: Mapping[str, object]) -> Request:
    """The request with some static parameters overridden."""
    return replace(request, statics={**request.statics, **statics})


def contiguous_facts(
    kernel: Kernel, shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, int]:
    """The facts that a call with contiguous tensors of these shapes chooses."""
    strides = {
        name: [prod(shape[i + 1 :]) for i in range(len(shape))]
        for name, shape in shapes.items()
    }
    return call_facts(kernel, shapes, strides)


def call_facts(
    kernel: Kernel,
    shapes: Mapping[str, tuple[int, ...]],
    strides: Mapping[str, Sequence[int]],
) -> dict[str, int]:
    """The facts that a call with tensors of these shapes and strides chooses.

    Strides in elements; that of a dimension of extent 1 is never used.
    """
    # The divisors that a call chooses do not depend on the element types.
    form = {t.name: t.dtypes[0] for t in kernel.signature.tensors if t.name in shapes}
    divisors = {name: [divisor(s) for s in given] for name, given in strides.items()}
    chosen = SpecialisationSpace.of(kernel.signature).member(form, shapes, divisors)
    return facts_of(kernel.signature, chosen)


def named_dtypes(kernel: Kernel, given: Mapping[str, str]) -> dict[str, DType]:
    """Element types by tensor, from their names.

    Raises ArgusError AG0908 for a tensor or a type that the kernel does not have.
    """
    tensors = {t.name: t for t in kernel.signature.tensors}
    for name, text in given.items():
        if name not in tensors:
            raise fail(
                "AG0908",
                None,
                f"kernel `{kernel.name}` has no tensor `{name}`",
                help=f"its tensors are {', '.join(tensors)}",
            )
        options = tensors[name].dtypes
        if text not in DTYPES or DTYPES[text] not in options:
            raise fail(
                "AG0908",
                None,
                f"the tensor `{name}` cannot be of type `{text}`",
                help=f"it takes {', '.join(d.name for d in options)}",
            )
    return {name: DTYPES[text] for name, text in given.items()}


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


def shown(value: object) -> str:
    """A static parameter as people write it."""
    origin = getattr(value, "origin", None)
    return str(getattr(origin, "name", value))
