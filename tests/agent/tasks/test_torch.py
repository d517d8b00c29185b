"""PyTorch files: which parts of a model the library has kernels for.

Rebuilt models are run on the CPU, once with the kernels' meaning in torch, once with
their placed programs in the interpreter, and compared with the original.
"""

from pathlib import Path

import pytest

from argus.agent.tasks import TorchTasks, torch_task
from argus.diagnostics import ArgusError
from argus.runs.records import LibraryProblem

torch = pytest.importorskip("torch")

MODELS = Path(__file__).parent / "models"
TASKS = {
    "matmul": ["gemm 96x80x64"],
    "bmm": ["gemm 64x48x32"],
    "softmax": ["softmax 5x300"],
    "softmax_apart": ["softmax 6x256"],
    "rmsnorm": ["rmsnorm 6x264"],
    "fused": ["gemm 80x64x64 bias relu residual"],
    "scaled": ["gemm 70x72x48 bias"],
    "attention": ["attention 1x4x2x96x96x64 causal"],
    "block": [
        "gemm 64x384x128 bias",
        "gemm 64x256x128 bias relu",
        "gemm 64x128x256 bias residual",
        "gemm 64x128x128 bias residual",
        "attention 1x2x2x64x64x64 causal",
        "layernorm 64x128",
        "rmsnorm 64x128",
    ],
}


@pytest.fixture(scope="module", params=TASKS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def tasks(name: str) -> TorchTasks:
    return torch_task(MODELS / f"{name}.py")


def test_tasks_of_a_model(name: str, tasks: TorchTasks) -> None:
    assert sorted(t.name for t in tasks.tasks) == sorted(TASKS[name])
    for task in tasks.tasks:
        assert isinstance(task.problem, LibraryProblem)
        assert task.start.design["form"] in ("naive", "passes", "held")


def test_every_node_that_computes_is_told_of(tasks: TorchTasks) -> None:
    told = [n for m in tasks.report.matched for n in m.nodes]
    told += [u.node for u in tasks.report.unmatched]
    assert len(told) == len(set(told))
    heavy = ("linear", "matmul", "bmm", "mm", "softmax", "norm", "relu", "add", "conv")
    for node in tasks.graph.graph.nodes:
        if node.op == "call_function" and any(h in str(node.target) for h in heavy):
            assert node.name in told


def test_rebuilt_model_computes_the_same(tasks: TorchTasks) -> None:
    from argus.agent.tasks.rebuild import by_reference, in_interpreter, rebuilt

    with torch.no_grad():
        want = tasks.file.model(*tasks.file.inputs)
        for runner in (by_reference, in_interpreter()):
            model = rebuilt(tasks, runner)
            calls = [n for n in model.graph.nodes if str(n.target).startswith("argus_")]
            assert len(calls) == len(tasks.matches)
            got = model(*tasks.file.inputs)
            assert got.shape == want.shape and got.dtype == want.dtype
            assert ((got - want).norm() / want.norm()).item() < 8e-3


def test_rebuilding_leaves_the_original_alone(tasks: TorchTasks) -> None:
    from argus.agent.tasks.rebuild import by_reference, rebuilt

    before = str(tasks.graph.graph)
    rebuilt(tasks, by_reference)
    assert str(tasks.graph.graph) == before


def test_a_kernel_that_is_wrong_is_noticed() -> None:
    from argus.agent.tasks.rebuild import rebuilt

    tasks = torch_task(MODELS / "fused.py")

    def zeros(problem: LibraryProblem, operands: dict, scalars: object) -> None:
        operands["C"].zero_()

    with torch.no_grad():
        want = tasks.file.model(*tasks.file.inputs)
        got = rebuilt(tasks, zeros)(*tasks.file.inputs)
    assert got.abs().sum() == 0 and want.abs().sum() > 0


def test_the_report_says_what_is_left_and_why() -> None:
    block = torch_task(MODELS / "block.py").report
    assert block.unmatched == () and block.share == 1.0
    apart = torch_task(MODELS / "softmax_apart.py").report
    reasons = {u.operator: u.reason for u in apart.unmatched}
    assert reasons["aten.softmax.int"] == "it is over dimension 0, not the last"
    scaled = torch_task(MODELS / "scaled.py").report
    assert [u.operator for u in scaled.unmatched] == [
        "aten.sigmoid.default",
        "aten.mul.Tensor",
    ]


def test_the_report_in_the_document_is_this_one() -> None:
    document = (Path(__file__).parents[3] / "docs" / "tasks.md").read_text()
    quoted = document.split("```text\n")[1].split("```")[0].splitlines()
    lines = torch_task(MODELS / "block.py").report.text().splitlines()
    assert len(quoted) > 8
    assert [q for q in quoted if q != "..." and q not in lines] == []


def test_casts_copies_and_launches_are_told() -> None:
    (product,) = torch_task(MODELS / "matmul.py").report.matched
    assert product.notes == (
        "computed in bf16 instead of f32",
        "B is transposed by a copy: the kernel takes it as (N, K)",
    )
    (batch,) = torch_task(MODELS / "bmm.py").report.matched
    assert batch.launches == 3
    assert batch.notes[-1] == "3 launches, one for each matrix of the batch"


@pytest.mark.parametrize(
    ("code", "file"),
    [
        ("AG0901", "none.py"),
        ("AG1040", "raises.py"),
        ("AG1041", "dynamic.py"),
        ("AG1042", "convolution.py"),
    ],
)
def test_what_is_no_task(code: str, file: str) -> None:
    with pytest.raises(ArgusError, match=code):
        torch_task(MODELS / file)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n", "has no `get_inputs`"),
        ("Model = 1\ndef get_inputs(): return []\n", "raises TypeError"),
        ("def Model(): return 1\ndef get_inputs(): return []\n", "no torch.nn.Module"),
        ("def (", "raises SyntaxError"),
        (
            "import torch\nModel = torch.nn.ReLU\ndef get_inputs(): return 1\n",
            "returns no list",
        ),
    ],
)
def test_files_in_another_format(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "model.py"
    path.write_text(text)
    with pytest.raises(ArgusError, match=words):
        torch_task(path)


def test_file_with_the_new_model(tmp_path: Path) -> None:
    from argus.agent.spaces import space_for
    from argus.agent.tasks.model_new import model_new
    from argus.programs.torch_file import load_file

    tasks = torch_task(MODELS / "fused.py")
    (task,) = tasks.tasks
    family = space_for(task.problem)
    design = family.apply(family.start(task.problem), {"form": "roles", "BM": 64})
    candidate = family.candidate(design, task.problem)
    path = tmp_path / "new.py"
    path.write_text(model_new(tasks, {task.name: candidate, "of no one": candidate}))
    text = path.read_text()
    assert text.startswith((MODELS / "fused.py").read_text())
    assert "gemm_roles" in text and "of no one" not in text

    names: dict = {}
    exec(compile(text, str(path), "exec"), names)
    model = names["ModelNew"](64).eval()
    model.model.load_state_dict(tasks.file.model.state_dict())
    x = load_file(path).inputs
    with torch.no_grad():
        got, want = model(*x), model.model(*x)
    assert ((got - want).norm() / want.norm()).item() < 8e-3
    assert not torch.equal(got, want)
