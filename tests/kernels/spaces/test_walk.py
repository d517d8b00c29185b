"""Every family: what its single steps, samples and ablations must be like."""

from itertools import islice
from random import Random

import pytest

from argus.agent.spaces import SPACES, space_for
from argus.diagnostics import ArgusError
from argus.kernels.space import Design, DesignSpace, source_text
from argus.lang.kernel import load_kernels
from argus.runs.records import LibraryProblem, Problem

OPTIMISATIONS = {
    *("software-pipelining", "cp-async", "tma", "mma-tensor-cores", "wgmma", "split-k"),
    *("stream-k", "warp-specialisation", "persistent-grid", "cluster-multicast"),
    *("ping-pong", "l2-rasterisation", "swizzling", "vectorised-access", "unrolling"),
    *("epilogue-fusion", "tma-store", "register-budget", "register-operand"),
    *("online-softmax", "exp2-folding", "lazy-rescale", "gather-fusion"),
    *("tail-masking", "instruction-ordering", "launch-bounds", "stagger-k"),
    *("guarded-loads", "tile-shape"),
}


def library(entry: str, *options: str, target: str = "sm_90a", **sizes: int) -> Problem:
    return LibraryProblem(
        entry=entry, sizes=sizes, options=dict.fromkeys(options, 1), target=target
    )


HEADS = {"B": 4, "H": 32, "G": 8, "S": 4096, "T": 4096}
PROBLEMS = {
    "gemm": library("gemm", M=4096, N=4096, K=4096),
    "gemm of few rows": library("gemm", M=16, N=4096, K=4096),
    "gemm of odd rows": library("gemm", "bias", M=300, N=333, K=77),
    "gemm, epilogue": library(
        "gemm", "bias", "relu", "residual", M=8192, N=8192, K=8192
    ),
    "gemm on Ampere": library("gemm_sm80", target="sm_80", M=4096, N=4096, K=4096),
    "Ampere's gemm on Hopper": library("gemm_sm80", M=4096, N=4096, K=4096),
    "softmax": library("softmax", M=16384, N=8192),
    "softmax of odd rows": library("softmax", M=8191, N=5001),
    "rmsnorm": library("rmsnorm", M=4096, N=4096),
    "rmsnorm of long rows": library("rmsnorm", M=100, N=100_000),
    "layernorm": library("layernorm", M=100_000, N=64),
    "layernorm of long rows": library("layernorm", M=100, N=100_000),
    "cross-entropy": library("cross_entropy", M=4096, N=128256),
    "cross-entropy of short rows": library("cross_entropy", "smooth", M=9999, N=77),
    "attention": library("attention", **HEADS, D=128),
    "attention, causal": library("attention", "causal", **HEADS, D=128),
    "attention, narrow": library("attention", **HEADS, D=64),
    "grouped": library("grouped", E=8, P=16384, N=14336, K=4096),
    "grouped, gather": library("grouped", "gather", E=64, P=16384, N=4096, K=4096),
}


@pytest.fixture(params=PROBLEMS.values(), ids=PROBLEMS)
def problem(request: pytest.FixtureRequest) -> Problem:
    return request.param


@pytest.fixture
def family(problem: Problem) -> DesignSpace:
    return space_for(problem)


def ladder(family: DesignSpace, problem: Problem) -> list[Design]:
    """The start, and each design that the last step to another form gives."""
    found = [family.start(problem)]
    while True:
        steps = [m for m in family.moves(found[-1], problem) if "form" in m.edit]
        if not steps:
            return found
        found.append(family.apply(found[-1], steps[0].edit))


def test_start_is_valid_and_embodies_least(
    family: DesignSpace, problem: Problem
) -> None:
    start = family.start(problem)
    assert family.invalid(start, problem) is None
    form = next(iter(family.forms.values()))
    assert start["form"] == form.name and not form.after
    assert not {"wgmma", "tma", "persistent-grid", "software-pipelining"} & set(
        family.optimisations(start)
    )


def test_forms_lead_to_that_of_the_library(
    family: DesignSpace, problem: Problem
) -> None:
    best = family.library(problem)
    if family.invalid(best, problem) is None:
        assert best["form"] in [d["form"] for d in ladder(family, problem)]


def test_each_move_is_one_valid_step(family: DesignSpace, problem: Problem) -> None:
    for design in ladder(family, problem):
        moves = family.moves(design, problem)
        assert moves
        results = [family.apply(design, m.edit) for m in moves]
        for move, result in zip(moves, results, strict=True):
            assert family.invalid(result, problem) is None
            assert result != design
            assert {k: v for k, v in result.items() if k in move.edit} == move.edit
            assert move.optimisation in OPTIMISATIONS
            assert set(move.depends_on) <= set(family.optimisations(design))
            assert move.where
        unique = {tuple(sorted(r.items())) for r in results}
        assert len(unique) == len(results)


def test_moves_of_knobs_stay_in_the_form(family: DesignSpace, problem: Problem) -> None:
    design = ladder(family, problem)[-1]
    for move in family.moves(design, problem):
        if "form" not in move.edit:
            assert set(move.edit) <= set(family.form(design).defaults)


def test_samples_are_valid_and_repairing_keeps_them(
    family: DesignSpace, problem: Problem
) -> None:
    random = Random(3)
    forms = set[object]()
    for _ in range(30):
        design = family.sample(problem, random)
        forms.add(design["form"])
        assert family.invalid(design, problem) is None
        assert family.repaired(design, frozenset(design)) == design
        assert family.apply(design, {}) == design
        form = family.form(design)
        for knob, values in form.domains.items():
            assert design[knob] in values
    assert forms <= set(family.forms)


def test_sampling_is_deterministic(family: DesignSpace, problem: Problem) -> None:
    first, second = Random(8), Random(8)
    for _ in range(5):
        assert family.sample(problem, first) == family.sample(problem, second)


def test_designs_are_valid_and_different(family: DesignSpace, problem: Problem) -> None:
    found = list(islice(family.designs(problem), 500))
    assert len(found) > 50
    assert len({tuple(sorted(d.items())) for d in found}) == len(found)
    assert all(family.invalid(d, problem) is None for d in found[::25])


def test_ablation_takes_out_what_it_says(family: DesignSpace, problem: Problem) -> None:
    best = ladder(family, problem)[-1]
    taken = 0
    for optimisation in family.optimisations(best):
        assert optimisation in OPTIMISATIONS
        without = family.without(best, optimisation, problem)
        if without is None:
            continue
        taken += 1
        assert family.invalid(without, problem) is None
        assert optimisation not in family.optimisations(without)
        if without["form"] == best["form"]:
            changed = [k for k in best if best[k] != without[k]]
            assert changed
    assert taken or len(family.optimisations(best)) <= 2
    absent = OPTIMISATIONS - set(family.optimisations(best))
    assert family.without(best, min(absent), problem) is None


def test_candidate_has_every_static_of_its_design(
    family: DesignSpace, problem: Problem
) -> None:
    for design in ladder(family, problem):
        candidate = family.candidate(design, problem)
        assert candidate.design == design
        kernel = load_kernels("candidate.py", candidate.source).kernels[
            candidate.kernel
        ]
        names = {s.name for s in kernel.signature.statics}
        assert set(candidate.statics) <= names
        assert set(design) - {"form"} <= set(candidate.statics)


def test_forms_are_files_with_their_knobs() -> None:
    for family in SPACES.values():
        for form in family.forms.values():
            text = source_text(form.package, form.file)
            kernel = load_kernels(form.file, text).kernels[form.kernel]
            names = {s.name for s in kernel.signature.statics}
            assert set(form.defaults) <= names
            assert set(form.domains) <= set(form.defaults)
            assert set(form.optimisations) <= OPTIMISATIONS
            assert set(form.after) <= set(family.forms)
            for knob in form.domains:
                assert set(form.domains[knob]) <= set(family.knobs[knob].values)


def test_unknown_entry_and_unknown_knob() -> None:
    with pytest.raises(ArgusError, match="AG0909"):
        space_for(library("fft", N=8))
    gemm = PROBLEMS["gemm"]
    family = space_for(gemm)
    with pytest.raises(ValueError, match="WARPGROUPS"):
        family.apply(family.start(gemm), {"WARPGROUPS": 2})
    with pytest.raises(ValueError, match="no form"):
        family.apply(family.start(gemm), {"form": "systolic"})
