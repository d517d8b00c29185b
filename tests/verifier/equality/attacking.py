"""Kernels of a text and what comparing them with their reference comes to."""

from __future__ import annotations

from argus.equivalence.deciding import Decided
from argus.equivalence.references import reference_of
from argus.equivalence.traced import decided
from argus.evaluation.requests import default_dtypes
from argus.lang.kernel import load_kernels
from argus.requests import Request

HEAD = """import argus as ag
from argus import bf16, boolean, f16, f32, i8, i16, i32, i64, u8, u16, u32


"""


def decided_text(text: str) -> Decided:
    """The kernel of a text, below the usual imports, against its reference."""
    (kernel,) = load_kernels("attack.py", HEAD + text).kernels.values()
    declared = reference_of(kernel)
    assert declared is not None
    return decided(Request(kernel, default_dtypes(kernel, {})), declared)
