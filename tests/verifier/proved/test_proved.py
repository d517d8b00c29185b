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
from argus.equivalence.references import reference_of
from argus.equivalence.settling import settled
from argus.equivalence.traced import decided
from argus.evaluation.requests import request_for
from argus.ir.printer import print_program
from argus.ir.program import Program
from argus.kernels.library import LIBRARY, Case, LibraryEntry
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.verify.order.limits import beyond
from argus.verify.order.sharing import SharedOrder
from argus.verify.verdict import Verdict
from argus.verify.verifier import ANALYSES, verify
from few import EVERY
from verifier.equality.inventory import BY_TERMS, is_compared_elsewhere
from verifier.proved.variants import KERNELS, variants
from verifier.tags.check_tags import ROOT, told


@lru_cache(maxsize=1)
def known_of(file: str) -> tuple[KnownPrograms, SharedOrder]:
    """What specialisations of a file share, as for `argus check`: their terms and their
    order are looked at once where they are the same. Cases of a file follow each other.
    """
    return KnownPrograms(), SharedOrder()


def check(program: Program, request: Request, *, by_terms: bool = False) -> None:
    """Fails unless everything is proved, and nothing was taken on trust.

    ``by_terms``: by its kernel's reference, too.
    """
    known, shared = known_of(request.kernel.file)
    report = verify(program, shared=shared)
    if by_terms:
        report = settled(report, request, known)
    assert set(report.seconds) == set(ANALYSES)
    binding = [o for o in report.obligations if not o.slow]
    assert binding, "nothing was to be shown"
    bad = [o for o in binding if o.verdict is not Verdict.PROVED]
    assert not bad, told(sorted(bad, key=lambda o: o.verdict))
    assert all(a.kind == "assume" for a in report.assumptions)


def check_each(made: list[tuple[Program, Request]], *, by_terms: bool = False) -> None:
    """The same of a program for several targets: once where it is the same for all.

    Then others have to be within the limits of their target.
    """
    proved: set[str] = set()
    for program, request in made:
        text = print_program(program).replace(program.target.name, "any")
        if text in proved:
            assert not told([*beyond(program)])
        else:
            check(program, request, by_terms=by_terms)
            proved.add(text)


LEFT = {
    # Like `mxfp4_few` and `int4_small`.
    "int4_few-16x24x512",
    # Like `causal`, and as keys are shared in `attention`.
    *("attention_training-shared keys", "attention_backward_keys-shared keys"),
    "attention_backward_queries-shared keys",
    # Like `ragged`, and as scores are capped and have sinks in `masked_attention`.
    *("varlen_attention-capped with sinks", "masked_attention-sinks"),
    "masked_attention-capped with sinks",
    # As heads are wide and narrow in `attention`.
    "masked_attention-causal, wide heads",
    # Like fewer experts, and as sigmoids are in the case of one expert.
    "moe_route-9 tokens, 3 of 40 experts, sigmoid",
    # Like `mxfp4_small`, and as parts are in `paged_attention`.
    *("mxfp4_few-9x24x512", "length_attention-two queries, sinks, parts"),
    # Like two queries with sinks, and as `length_attention` has parts.
    "paged_attention-pages of 16, parts",
    # Like `scaled_gemm` of this size.
    "integer_gemm-8192x8192x8192",
}
"""What takes long, and passes next to no code that the other cases do not (measured by
lines).
"""


def _with_each_choice(entry: LibraryEntry) -> list[Case]:
    """Few cases that have each choice that some case has.

    Of kernels that are proved by terms small ones, those with many choices first.
    """
    small = entry.name in BY_TERMS
    cases = entry.small if small else (*entry.small, *entry.large)
    chosen = [(case, _choices(entry, case)) for case in cases]
    if small:
        chosen.sort(key=lambda one: -len(one[1]))
    seen: set[object] = set()
    found: list[Case] = []
    for case, choices in chosen:
        if not choices <= seen:
            seen |= choices
            found.append(case)
    return found


def _choices(entry: LibraryEntry, case: Case) -> set[object]:
    """Form, tensors and flags of a case; what is one or several, types and divisors,
    too, where names of dimensions have to prove it.
    """
    found: set[object] = set()
    for target in entry.targets[-1:] if entry.name in BY_TERMS else entry.targets:
        request, _ = request_for(entry, case, target)
        form, statics = request.kernel.name, request.statics.items()
        found |= {form, *request.dtypes}
        found |= {(k, v) for k, v in statics if isinstance(v, bool)}
        if entry.name not in BY_TERMS:
            found |= {(form, k, v == 1) for k, v in statics if isinstance(v, int)}
            found |= {(form, k) for k, v in statics if not isinstance(v, int)}
            found |= {(form, dtype) for dtype in request.dtypes.values()}
            found |= {(form, divisor) for divisor in request.facts.values()}
    return found


def _specialisations() -> list[object]:
    """Every different choice of form, parameters and divisors that a case leads to.

    Targets whose programs are the same share a proof, see :func:`check_each`. Each
    choice and each optional tensor is in one case, but for those in `LEFT`; all cases
    with ``ARGUS_TESTS=all``.
    """
    found: dict[object, object] = {}
    for entry in LIBRARY.values():
        every = [*entry.small, *entry.large]
        for case in every if EVERY else _with_each_choice(entry):
            key: list[object] = []
            for target in entry.targets:
                request, _ = request_for(entry, case, target)
                statics = tuple(sorted((k, str(v)) for k, v in request.statics.items()))
                facts = tuple(sorted(request.facts.items()))
                key += [request.kernel.name, statics, facts, *request.dtypes]
            name = f"{entry.name}-{case.name}"
            if name in LEFT and not EVERY:
                continue
            found.setdefault(tuple(key), pytest.param(entry, case, id=name))
    return list(found.values())


@pytest.mark.parametrize(("entry", "case"), _specialisations())
def test_library(entry: LibraryEntry, case: Case) -> None:
    requests = [request_for(entry, case, target)[0] for target in entry.targets]
    programs = [(placed_program(request), request) for request in requests]
    check_each(programs, by_terms=entry.name in BY_TERMS)
    request = requests[-1]
    if is_compared_elsewhere(entry):
        # Not in `equality/test_inventory.py`, but here: mostly it is known by now.
        known, _ = known_of(request.kernel.file)
        reference = reference_of(request.kernel)
        assert reference is not None
        made = decided(request, reference, known=known)
        assert made.equal, made.reason


@pytest.mark.parametrize("number", range(6 if EVERY else 2))
@pytest.mark.parametrize("kernel", KERNELS)
def test_variant(kernel: str, number: int) -> None:
    (variant,) = variants(kernel, 1, seed=number)
    try:
        check(variant.program, variant.request)
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


SETTLED = {"overlap_add"}
"""Whose names of dimensions do not say it: frames that overlap are added up."""


@pytest.mark.parametrize("divisor", [16, 1])
@pytest.mark.parametrize(("path", "name"), NAMES)
def test_documents(path: Path, name: str, divisor: int) -> None:
    kernel = load_kernels(path).kernels[name]
    dtypes = {t.name: t.dtypes[0] for t in kernel.signature.tensors}
    dims = {d for t in kernel.signature.tensors for d in t.dims if isinstance(d, str)}
    made: list[tuple[Program, Request]] = []
    for target in ("sm_90a", "sm_80"):
        request = Request(kernel, dtypes, {}, target, dict.fromkeys(dims, divisor))
        try:
            made.append((placed_program(request), request))
        except ArgusError:
            continue  # this target, or copies of unaligned rows, are not for it
    check_each(made, by_terms=name in SETTLED)
    assert made or divisor == 1


def test_a_matrix_product_takes_no_time() -> None:
    entry = LIBRARY["gemm"]
    request, _ = request_for(entry, entry.large[0], "sm_90a")
    program = placed_program(request)
    known_of.cache_clear()
    begin = time.process_time()
    check(program, request)
    # The bar is one second; twice that on a busy machine.
    assert time.process_time() - begin < 2.0
