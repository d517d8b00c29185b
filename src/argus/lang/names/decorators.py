"""`@ag.kernel`, `@ag.inline`, `@ag.reference`, `@ag.baseline`: marks on functions.

A decorator keeps the function's source position and nothing else of it: bodies of
kernels and inline functions are never executed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from argus.lang.kernel import InlineFunction, Kernel

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: Callable[..., object]) -> Kernel:
    """Make a kernel of a function; its source is parsed when it is first needed."""
    return Kernel.of_function(function)


def inline(function: F) -> F:
    """Mark a function that kernels may call; it is expanded where it is called.

    An editor sees the signature that was written; at run time the name is an
    :class:`~argus.lang.kernel.InlineFunction`.
    """
    return cast(F, InlineFunction.of_function(function))


def reference(function: F) -> F:
    """Mark a plain function that computes what a kernel should; it stays as it is."""
    return function


def baseline(function: F) -> F:
    """Mark a plain function that `argus bench` times beside a kernel; it stays so.

    It takes what the reference takes, as torch tensors on the GPU, and gives the same.
    Of the kernel NAME are `NAME_baseline` and `NAME_baseline_...`; in a file of one
    kernel all are.
    """
    return function
