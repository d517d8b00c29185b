"""Sampled designs of each form that is no library kernel compute the right thing.

Small sizes with tails, in the interpreter, compared with the library's reference.
"""

from random import Random

import pytest

from argus.agent.spaces import space_for
from argus.agent.tasks import problem_task
from argus.evaluation.arrays import NumpyArrays
from argus.evaluation.oracle import judge, make_inputs
from argus.evaluation.requests import contiguous_facts
from argus.evaluation.simulate import interpret
from argus.kernels.entry import choose
from argus.kernels.library import LIBRARY, Case
from argus.lang import library as inlines
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program
from argus.runs.records import Candidate, LibraryProblem


def _problem(entry: str, *options: str, **sizes: int) -> LibraryProblem:
    return LibraryProblem(entry=entry, sizes=sizes, options=dict.fromkeys(options, 1))


_SMALL = {
    "gemm": _problem("gemm", "bias", "relu", "residual", M=150, N=136, K=72),
    "softmax": _problem("softmax", M=5, N=1000),
    "rmsnorm": _problem("rmsnorm", M=5, N=1001),
    "layernorm": _problem("layernorm", M=5, N=1001),
    "attention": _problem("attention", B=1, H=2, G=1, S=100, T=130, D=64),
    "causal": _problem("attention", "causal", B=1, H=1, G=1, S=140, T=140, D=128),
    "grouped": _problem("grouped", "gather", E=4, P=150, N=64, K=64),
}
_OWN = [
    (name, form.name)
    for name, problem in _SMALL.items()
    for form in space_for(problem).forms.values()
    if form.file != "kernel.py"
]


def _right(problem: LibraryProblem, candidate: Candidate) -> list[str]:
    """What is wrong with a candidate's results; empty if nothing is."""
    entry, case = LIBRARY[problem.entry], Case("", problem.sizes, problem.options)
    kernel = load_kernels("candidate.py", candidate.source).kernels[candidate.kernel]
    kinds = {s.name: s.kind for s in kernel.signature.statics}
    arguments = entry.arguments(case)
    request = Request(
        kernel,
        {a.name: a.dtype for a in arguments},
        {
            n: getattr(inlines, str(v)) if kinds[n] == "inline" else v
            for n, v in candidate.statics.items()
        },
        problem.target,
        contiguous_facts(kernel, {a.name: a.shape for a in arguments}),
    )
    inputs = make_inputs(entry, case, NumpyArrays(7))
    scalars = choose(entry, case, problem.target).scalars
    done = interpret(placed_program(request), inputs, scalars)
    return [str(f) for f in done.faults] + judge(entry, case, inputs).why()


@pytest.mark.parametrize(("name", "form"), _OWN)
def test_a_design_of_each_form_is_right(name: str, form: str) -> None:
    problem, random = _SMALL[name], Random(f"{name} {form}")
    family = space_for(problem)
    designs = (family.sample(problem, random) for _ in range(2000))
    design = next(d for d in designs if d["form"] == form)
    assert _right(problem, family.candidate(design, problem)) == [], design


def test_a_start_with_another_scale_is_noticed() -> None:
    problem = _SMALL["softmax"]
    start = problem_task(problem).start
    wrong = start.source.replace("e / total", "e / (total + total)")
    assert wrong != start.source
    assert _right(problem, start.model_copy(update={"source": wrong}))
