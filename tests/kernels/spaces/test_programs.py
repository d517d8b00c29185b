"""What designs become: the library's program, and programs that are proved."""

from random import Random

import pytest

from argus.agent.spaces import space_for
from argus.compiler import build, cuda_source, prove
from argus.evaluation.requests import contiguous_facts, request_for
from argus.kernels.library import LIBRARY, Case, parts
from argus.lang import library as inlines
from argus.lang.kernel import load_kernels
from argus.requests import Request
from argus.runs.records import Candidate, LibraryProblem
from argus.verify.verdict import Verdict
from few import EVERY


def request_of(problem: LibraryProblem, candidate: Candidate, name: str) -> Request:
    """The specialisation of a candidate whose file has this name."""
    kernel = load_kernels(name, candidate.source).kernels[candidate.kernel]
    case = Case("", problem.sizes, problem.options)
    arguments = LIBRARY[problem.entry].arguments(case)
    kinds = {s.name: s.kind for s in kernel.signature.statics}
    statics = {
        n: getattr(inlines, str(v)) if kinds[n] == "inline" else v
        for n, v in candidate.statics.items()
    }
    facts = contiguous_facts(kernel, {a.name: a.shape for a in arguments})
    dtypes = {a.name: a.dtype for a in arguments}
    return Request(kernel, dtypes, statics, problem.target, facts)


_CASES = [
    (name, case, target)
    for part in parts("space")
    for space in part.SPACES
    for name in space.entries
    for target in LIBRARY[name].targets[-1 if not EVERY else 0 :]
    for case in (*LIBRARY[name].small[1:], *LIBRARY[name].large[:: 4 if EVERY else 8])
]


@pytest.mark.parametrize(
    ("entry", "case", "target"), _CASES, ids=[f"{e} {c.name} {t}" for e, c, t in _CASES]
)
def test_design_of_the_library_is_its_program(
    entry: str, case: Case, target: str
) -> None:
    problem = LibraryProblem(
        entry=entry, sizes=dict(case.sizes), options=dict(case.options), target=target
    )
    family = space_for(problem)
    design = family.library(problem)
    assert family.invalid(design, problem) is None
    form = family.form(design)
    assert form.file == "kernel.py"
    wanted, _ = request_for(LIBRARY[entry], case, target)
    mine = request_of(problem, family.candidate(design, problem), form.file)
    assert cuda_source(mine).text == cuda_source(wanted).text


def _problem(entry: str, *options: str, **sizes: int) -> LibraryProblem:
    return LibraryProblem(entry=entry, sizes=sizes, options=dict.fromkeys(options, 1))


_HEADS = {"B": 2, "H": 8, "G": 4, "S": 1024, "T": 1000, "D": 128}
_SAMPLED = {
    "gemm": _problem("gemm", M=4096, N=4096, K=4096),
    "gemm, epilogue": _problem("gemm", "bias", "relu", "residual", M=500, N=512, K=264),
    "softmax": _problem("softmax", M=500, N=5000),
    "rmsnorm": _problem("rmsnorm", M=500, N=4096),
    "layernorm": _problem("layernorm", M=500, N=3000),
    "attention": _problem("attention", **_HEADS),
    "attention, causal": _problem("attention", "causal", **_HEADS),
    "grouped": _problem("grouped", "gather", E=4, P=2048, N=512, K=512),
}
_FORMS = [
    (name, form)
    for name, problem in _SAMPLED.items()
    for form in space_for(problem).forms
    if space_for(problem).possible(form, problem)
    # Those of a product alone are these, and all forms of attention have its mask.
    and (EVERY or name != "gemm, epilogue" or form == "roles")
    and (EVERY or name != "attention" or form == "persistent")
]


@pytest.mark.parametrize(("name", "form"), _FORMS)
def test_a_design_of_each_form_is_proved(name: str, form: str) -> None:
    problem = _SAMPLED[name]
    family = space_for(problem)
    design = family.sample_of([form], problem, Random(form))
    candidate = family.candidate(design, problem)
    report = prove(request_of(problem, candidate, "candidate.py")).report
    assert report.verdict >= Verdict.PROVED, candidate.design


@pytest.mark.compiler
@pytest.mark.parametrize("name", ["gemm, epilogue", "rmsnorm", "attention"])
def test_the_naive_kernel_builds(name: str) -> None:
    problem = _SAMPLED[name]
    family = space_for(problem)
    candidate = family.candidate(family.start(problem), problem)
    usage = build(request_of(problem, candidate, "candidate.py")).cubin.usage
    assert usage.spill_stores == 0
    assert usage.registers <= 255
