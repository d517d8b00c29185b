"""The search for witnesses on a kernel of a file's text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from argus.equivalence.references import Reference, load, reference_of
from argus.evaluation.equal.refuting import SECONDS, Tried, refute
from argus.evaluation.requests import default_dtypes
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request, tile_program

TYPES = "bf16, e4m3, e5m2, f16, f32, i8, i16, i32, u8"
HEAD = f"import argus as ag\nfrom argus import {TYPES}\n\n"


def kernels(body: str) -> Mapping[str, Kernel]:
    """Kernels of a file with this text below its imports."""
    return load_kernels("made.py", HEAD + body).kernels


@cache
def tried(
    body: str, *, present: tuple[str, ...] = (), seed: int = 0, seconds: float = SECONDS
) -> Tried:
    """The search on the kernel `k` of a file, for so many seconds of CPU time."""
    kernel = kernels(body)["k"]
    types = {t.name: t.dtypes[0] for t in kernel.signature.tensors if t.name in present}
    request = Request(kernel, default_dtypes(kernel, types))
    program = tile_program(request)
    return refute(request, program, loaded(kernel), seed=seed, seconds=seconds)


def loaded(kernel: Kernel) -> Reference:
    """Its reference, ready to be called."""
    declared = reference_of(kernel)
    assert declared is not None
    return load(declared)
