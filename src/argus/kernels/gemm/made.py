"""Products with a factor that a launch before makes, such as of packed weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from argus.dispatch import Buffer, LaunchSequence, LaunchStep
from argus.kernels.gemm.entry import form_of
from argus.kernels.gemm.plan import Operands, ProductPlan, launches
from argus.lang.library import identity


def made_first(
    make: Callable[[Buffer], LaunchStep],
    plan: ProductPlan,
    given: Operands,
    *,
    tma_store: bool,
) -> LaunchSequence:
    """The launch of ``make``, which writes B (N, K) to a buffer, and those of a plan.

    ``given`` has all other tensors. ``tma_store``: TMA can address the rows of C.
    """
    made = Buffer(given.dtype.name, (given.n, given.k))
    kernel, statics = form_of(
        plan.tile,
        given.m,
        given.n,
        given.k,
        tma_store=tma_store,
        epilogue="Bias" in given.tensors,
    )
    whole = replace(given, tensors={**given.tensors, "B": made})
    rest = launches(plan, whole, kernel, statics, {"ACTIVATION": identity})
    return LaunchSequence((make(made), *rest.steps))
