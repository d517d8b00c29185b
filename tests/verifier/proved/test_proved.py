"""No false alarm: the library and its variants, the tutorial, the examples are proved.

All analyses, nothing unknown, nothing trusted.
"""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path

import pytest

from argus.diagnostics import ArgusError
from argus.equivalence.programs import KnownPrograms
from argus.equivalence.settling import settled
from argus.evaluation.requests import request_for
from argus.ir.program import Program
from argus.kernels.library import LIBRARY, Case, LibraryEntry
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.verify.verdict import Verdict
from argus.verify.verifier import ANALYSES, verify
from verifier.proved.variants import KERNELS, variants
from verifier.tags.check_tags import ROOT, told

BY_TERMS = (
    "cross_entropy",
    "attention_training",
    "attention_backward_keys",
    "attention_backward_queries",
    "masked_attention",
    "paged_attention",
    "length_attention",
    "paged_merge",
    "moe_route",
    "moe_sum",
    "varlen_attention",
    "int4_few",
    "int4_many",
    "mxfp4_few",
    "mxfp4_many",
)
"""Kernels whose data flow follows from being equal to their references: what online
softmax has seen, and which parts; which blocks of keys a mask leaves out; which query
heads a key head has; which columns the numbers of packed weights meet.
"""


@lru_cache(maxsize=1)
def known_of(file: str) -> KnownPrograms:
    """Terms of programs that differ in divisors or types of floats are decided once, as
    `argus check` does. Cases of one file of the library follow each other.
    """
    return KnownPrograms()


def check(program: Program, request: Request | None = None) -> None:
    """Fails unless everything is proved, and nothing was taken on trust.

    With a request, by its kernel's reference, too.
    """
    report = verify(program)
    if request is not None:
        report = settled(report, request, known_of(request.kernel.file))
    assert set(report.seconds) == set(ANALYSES)
    binding = [o for o in report.obligations if not o.slow]
    assert binding, "nothing was to be shown"
    bad = [o for o in binding if o.verdict is not Verdict.PROVED]
    assert not bad, told(sorted(bad, key=lambda o: o.verdict))
    assert all(a.kind == "assume" for a in report.assumptions)


def _specialisations() -> list[object]:
    """Every different choice of form, parameters and divisors that a case leads to."""
    found: dict[object, object] = {}
    for entry in LIBRARY.values():
        for target in entry.targets:
            for case in (*entry.small, *entry.large):
                request, _ = request_for(entry, case, target)
                statics = tuple(sorted((k, str(v)) for k, v in request.statics.items()))
                facts = tuple(sorted(request.facts.items()))
                key = (request.kernel.name, target, statics, facts, *request.dtypes)
                name = f"{entry.name}-{case.name}-{target}"
                found.setdefault(key, pytest.param(entry, case, target, id=name))
    return list(found.values())


@pytest.mark.parametrize(("entry", "case", "target"), _specialisations())
def test_library(entry: LibraryEntry, case: Case, target: str) -> None:
    request, _ = request_for(entry, case, target)
    check(placed_program(request), request if entry.name in BY_TERMS else None)


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("kernel", KERNELS)
def test_variant(kernel: str, number: int) -> None:
    (variant,) = variants(kernel, 1, seed=number)
    try:
        check(variant.program)
    except AssertionError as error:
        raise AssertionError(f"{variant.name}: {error}") from error


FILES = [
    *sorted((ROOT / "docs" / "tutorial").glob("step*.py")),
    *sorted((ROOT / "examples").glob("*.py")),
    ROOT / "benchmarks" / "tiny.py",
]
NAMES = [
    pytest.param(path, name, id=f"{path.stem}-{name}")
    for path in FILES
    for name in load_kernels(path).kernels
]


@pytest.mark.parametrize("divisor", [16, 1])
@pytest.mark.parametrize(("path", "name"), NAMES)
def test_documents(path: Path, name: str, divisor: int) -> None:
    kernel = load_kernels(path).kernels[name]
    dtypes = {t.name: t.dtypes[0] for t in kernel.signature.tensors}
    dims = {d for t in kernel.signature.tensors for d in t.dims if isinstance(d, str)}
    checked = 0
    for target in ("sm_90a", "sm_80"):
        request = Request(kernel, dtypes, {}, target, dict.fromkeys(dims, divisor))
        try:
            program = placed_program(request)
        except ArgusError:
            continue  # this target, or copies of unaligned rows, are not for it
        check(program)
        checked += 1
    assert checked or divisor == 1


def test_a_matrix_product_takes_no_time() -> None:
    entry = LIBRARY["gemm"]
    request, _ = request_for(entry, entry.large[0], "sm_90a")
    program = placed_program(request)
    begin = time.process_time()
    check(program)
    # The bar is one second; twice that on a busy machine.
    assert time.process_time() - begin < 2.0
