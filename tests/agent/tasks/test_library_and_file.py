"""Tasks from library entries and from kernel files, and what cannot be one."""

from pathlib import Path

import pytest

from argus.agent.spaces import space_for
from argus.agent.tasks import file_task, library_task
from argus.diagnostics import ArgusError
from argus.kernels.library import LIBRARY, parts
from argus.runs.records import FileProblem, LibraryProblem, Task

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_library_task_starts_from_the_naive_kernel() -> None:
    task = library_task("gemm", {"M": 512, "N": 256, "K": 128}, {"relu": True})
    assert task.family == "gemm"
    assert task.problem == LibraryProblem(
        entry="gemm", sizes={"M": 512, "N": 256, "K": 128}, options={"relu": True}
    )
    assert task.start.kernel == "gemm_naive"
    assert task.start.statics["ACTIVATION"] == "relu"
    assert task.start.design["form"] == "naive"
    family = space_for(task.problem)
    assert task.start == family.candidate(family.start(task.problem), task.problem)


def test_features_are_sizes_work_and_design() -> None:
    features = library_task("gemm", {"M": 512, "N": 256, "K": 128}).features
    assert features["flops"] == 2 * 512 * 256 * 128
    assert features["bytes"] == 2 * (512 * 128 + 256 * 128 + 512 * 256)
    assert features["intensity"] == features["flops"] / features["bytes"]
    assert (features["M"], features["dtype"], features["BM"]) == (512, "bf16", 64)


SEARCHED = [name for part in parts("space") for s in part.SPACES for name in s.entries]


@pytest.mark.parametrize("name", sorted(set(LIBRARY) - set(SEARCHED)))
def test_an_entry_without_a_design_space_is_no_task(name: str) -> None:
    with pytest.raises(ArgusError, match=f"`{name}` has no design space") as caught:
        library_task(name, LIBRARY[name].large[0].sizes)
    assert caught.value.code == "AG0909"


@pytest.mark.parametrize("name", SEARCHED)
def test_every_other_entry_is_a_task_that_survives_json(name: str) -> None:
    entry = LIBRARY[name]
    options = {k: 1 for k in entry.large[-1].options if k.islower()}
    task = library_task(name, entry.large[-1].sizes, options)
    assert task.problem.target in entry.targets
    assert Task.model_validate_json(task.model_dump_json()) == task


def test_sizes_of_attention_that_are_usually_the_same() -> None:
    task = library_task("attention", {"B": 1, "H": 8, "S": 256, "D": 128})
    assert task.problem.sizes == {"B": 1, "H": 8, "G": 8, "S": 256, "T": 256, "D": 128}


@pytest.mark.parametrize(
    ("code", "entry", "sizes", "options", "target"),
    [
        ("AG0909", "gem", {}, {}, None),
        ("AG0908", "gemm", {"M": 1, "N": 1}, {}, None),
        ("AG0908", "gemm", {"M": 1, "N": 1, "K": 1, "Q": 1}, {}, None),
        ("AG0908", "gemm", {"M": 0, "N": 1, "K": 1}, {}, None),
        ("AG0908", "softmax", {"M": 8, "N": 8}, {"bias": True}, None),
        ("AG0601", "softmax", {"M": 8, "N": 8}, {}, "sm_70"),
        ("AG0602", "attention", {"B": 1, "H": 8, "S": 256, "D": 128}, {}, "sm_80"),
    ],
)
def test_what_is_no_library_task(
    code: str,
    entry: str,
    sizes: dict[str, int],
    options: dict[str, bool],
    target: str | None,
) -> None:
    with pytest.raises(ArgusError, match=code):
        library_task(entry, sizes, options, target)


def test_file_task_searches_its_numbers() -> None:
    task = file_task(EXAMPLES / "layernorm.py", {"M": 64, "N": 1000})
    problem = task.problem
    assert isinstance(problem, FileProblem)
    assert problem.kernel == "layernorm"
    assert problem.sizes == {"M": 64, "N": 1000}
    assert problem.reference == (EXAMPLES / "layernorm.py").read_text()
    assert task.start.source == problem.reference
    assert task.start.statics == {"BN": 4096, "WARPS": 4}
    family = space_for(problem)
    assert family.name == task.family == "statics"
    edits = [m.edit for m in family.moves(task.start.design, problem)]
    assert {"BN": 1024} in edits and {"BN": 16384} in edits and {"WARPS": 1} in edits
    assert len(edits) == 8
    moved = family.apply(task.start.design, {"WARPS": 8})
    assert family.candidate(moved, problem).statics == {"BN": 4096, "WARPS": 8}
    assert family.invalid(moved, problem) is None
    assert family.invalid({**moved, "WARPS": 0}, problem) is not None
    assert len(list(family.designs(problem))) == 25


def test_sizes_that_are_not_given_are_admitted() -> None:
    problem = file_task(EXAMPLES / "convolution.py", settle=False).problem
    assert isinstance(problem, FileProblem)
    sizes = problem.sizes
    assert sizes["M"] == sizes["B"] * sizes["H"] * sizes["W"] > 1
    assert sizes["K"] == 9 * sizes["C"]
    with pytest.raises(ArgusError, match="AG0808"):
        file_task(EXAMPLES / "convolution.py", {"M": 7, "B": 2})


def test_statics_that_are_dimensions_are_no_knobs() -> None:
    task = file_task(EXAMPLES / "turns.py")
    assert task.problem.sizes["K"] == 64
    assert "K" not in task.start.design


KERNEL = '''import argus as ag
from argus import f32

@ag.kernel
def double(X: f32["N"], Y: f32["N"], factor: f32, *, BN: int = 256, WIDE: bool = True,
           ACT: ag.Inline = ag.relu):
    """Y = act(X * factor)."""
    i = ag.block(ag.cdiv(X.shape[0], BN))
    Y[i * BN :] = ACT(ag.load(X[i * BN :], (BN,)) * factor)
'''
REFERENCE = """
@ag.reference
def double_reference(X, factor):
    return X * factor
"""


def test_truth_values_and_what_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "double.py"
    path.write_text(KERNEL + REFERENCE)
    task = file_task(path, {"N": 999}, scalars={"factor": 2.0})
    assert task.start.statics == {"BN": 256, "WIDE": True}
    assert isinstance(task.problem, FileProblem)
    assert task.problem.scalars == {"factor": 2.0}
    edits = [m.edit for m in space_for(task.problem).moves(
        task.start.design, task.problem
    )]  # fmt: skip
    assert {"WIDE": False} in edits
    assert {k for e in edits for k in e} == {"BN", "WIDE"}


@pytest.mark.parametrize(
    ("code", "text", "arguments"),
    [
        ("AG1018", KERNEL, {"scalars": {"factor": 1.0}}),
        ("AG0801", KERNEL + REFERENCE, {}),
        ("AG0908", KERNEL + REFERENCE, {"sizes": {"Q": 4}}),
        (
            "AG0908",
            KERNEL + REFERENCE,
            {"sizes": {"N": 0}, "scalars": {"factor": 1.0}},
        ),
        ("AG0908", KERNEL + REFERENCE, {"dtypes": {"X": "bf16"}}),
        ("AG0908", KERNEL + REFERENCE, {"kernel": "triple"}),
        ("AG0011", "import argus as ag\n", {}),
        ("AG0001", "def", {}),
        ("AG0003", KERNEL + REFERENCE + "print(1)\n", {}),
    ],
)
def test_what_is_no_file_task(
    tmp_path: Path, code: str, text: str, arguments: dict[str, object]
) -> None:
    path = tmp_path / "double.py"
    path.write_text(text)
    with pytest.raises(ArgusError, match=code):
        file_task(path, **arguments)  # pyright: ignore[reportArgumentType]


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ArgusError, match="AG0901"):
        file_task(tmp_path / "none.py")


def test_the_planner_has_designs_of_a_file_to_weigh() -> None:
    from argus.agent.pool import Pool

    task = file_task(EXAMPLES / "layernorm.py")
    pool = Pool(space_for(task.problem), task.problem, 0, 200)
    assert pool.forms == ("layernorm",)
    assert len(pool.of("layernorm")) == 25
