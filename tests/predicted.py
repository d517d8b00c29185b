"""Placed programs for the tests of the model, by case of the library or by sizes."""

from __future__ import annotations

from functools import cache

from argus.evaluation.requests import contiguous_facts, request_for
from argus.ir.dtypes import bf16
from argus.ir.program import Program
from argus.kernels.gemm.kernel import gemm_sm80, gemm_sm90
from argus.kernels.library import LIBRARY, Case
from argus.lang.kernel import Kernel
from argus.requests import Request, placed_program

FORMS: dict[str, Kernel] = {"sm90": gemm_sm90, "sm80": gemm_sm80}


@cache
def gemm(form: str = "sm90", **statics: int) -> Program:
    """A matrix product with 16-byte rows, for static parameters."""
    kernel = FORMS[form]
    shapes = {"A": (4096, 4096), "B": (4096, 4096), "C": (4096, 4096)}
    facts = contiguous_facts(kernel, shapes)
    return placed_program(
        Request(kernel, dict.fromkeys("ABC", bf16), statics, "sm_90a", facts)
    )


def sizes(m: int, n: int, k: int) -> dict[str, int]:
    """By dimension."""
    return {"M": m, "N": n, "K": k}


def every_size(entry: str, case: Case) -> dict[str, int]:
    """Sizes of a case, with dimensions that only arguments have."""
    request, _ = request_for(LIBRARY[entry], case, "sm_90a")
    shapes = {a.name: a.shape for a in LIBRARY[entry].arguments(case)}
    found = dict(case.sizes)
    for tensor in request.kernel.signature.tensors:
        for name, extent in zip(tensor.dims, shapes.get(tensor.name, ()), strict=False):
            found.setdefault(str(name), extent)
    return found


def library(entry: str, case: Case) -> Program:
    """The program that the library runs for a case."""
    return placed_program(request_for(LIBRARY[entry], case, "sm_90a")[0])
