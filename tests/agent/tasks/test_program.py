"""Tasks from PyTorch files: kernels of plans, and the programs that they make."""

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.agent.spaces import SPACES  # noqa: E402
from argus.agent.statics import Statics  # noqa: E402
from argus.agent.tasks import program_tasks  # noqa: E402
from argus.agent.tasks.program import ProgramTasks, with_kernels  # noqa: E402
from argus.diagnostics import ArgusError  # noqa: E402
from argus.programs.model_file import written_model  # noqa: E402
from argus.programs.planning.plan import KernelStep  # noqa: E402

MODELS = Path(__file__).parent / "models"

NET = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x):
        return torch.softmax(self.second(torch.relu(self.first(x))), -1)


def get_inputs():
    return [torch.randn(96, 64)]
"""


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> ProgramTasks:
    path = tmp_path_factory.mktemp("net") / "net.py"
    path.write_text(NET)
    return program_tasks(path)


def test_each_kernel_is_told_of(net: ProgramTasks) -> None:
    plan = net.plans.plan
    assert sum(k.count for k in net.kernels) == len(plan.kernels)
    assert sum(k.share for k in net.kernels) == pytest.approx(1.0)
    shares = [k.share for k in net.kernels]
    assert shares == sorted(shares, reverse=True)
    for kernel in net.kernels:
        assert (kernel.task is None) == bool(kernel.why)
    # What a reference in real numbers cannot tell is no task.
    split = [k for k in net.kernels if "parts" in k.why]
    assert split and all(k.step.computes.endswith("sub") for k in split)
    assert len(net.notes) == len(net.kernels)


def test_trials_go_where_the_time_is(net: ProgramTasks) -> None:
    tasks = [k for k in net.kernels if k.task is not None]
    for trials in (net.split(100), net.trials(24)):
        assert list(trials) == [k.task.name for k in tasks if k.task]
        assert list(trials.values()) == sorted(trials.values(), reverse=True)
        assert min(trials.values()) >= 2
    assert abs(sum(net.split(1000).values()) - 1000) <= len(tasks) * 2


def test_a_program_with_other_kernels_is_the_same(net: ProgramTasks) -> None:
    best = {}
    for kernel in net.kernels:
        if kernel.task is None:
            continue
        space = SPACES[kernel.task.family]
        assert isinstance(space, Statics)
        design = space.start(kernel.task.problem)
        knob = next(iter(space.searched(kernel.task.problem)))
        for value in space.searched(kernel.task.problem)[knob].values:
            if value != design[knob]:
                design = space.apply(design, {knob: value})
                break
        best[kernel.task.name] = space.candidate(design, kernel.task.problem)
    # Measured: what the model predicts does not decide.
    chosen = with_kernels(net, best, measured=True)
    changed = [k for k in chosen.kernels if k.design]
    assert changed
    for k in chosen.kernels:
        assert bool(k.design) != bool(k.why)
    before = {s.source.text for s in net.plans.plan.kernels}
    after = [s for s in chosen.plans.plan.steps if isinstance(s, KernelStep)]
    assert sum(s.source.text not in before for s in after) == sum(
        k.planned.count for k in changed
    )
    names: dict[str, Any] = {}
    exec(written_model(chosen.plans).text, names)
    torch.manual_seed(0)
    old = names["Model"]().eval()
    torch.manual_seed(0)
    new = names["ModelNew"]().eval()
    (x,) = names["get_inputs"]()
    with torch.no_grad():
        torch.testing.assert_close(new(x), old(x))


def test_what_is_wrong_or_slower_is_not_taken(net: ProgramTasks) -> None:
    (kernel,) = [k for k in net.kernels if "exp" in k.step.source.name]
    assert kernel.task is not None
    start = kernel.task.start
    same = with_kernels(net, {kernel.task.name: start})
    assert not any(k.design for k in same.kernels)
    other_size = start.source.replace(": int = 64", ": int = 32")
    narrow = start.source.replace("BJ: int = 64", "BJ: int = 32")
    for source in (other_size, narrow):
        assert source != start.source
        other = start.model_copy(update={"source": source, "statics": {}})
        kept = with_kernels(net, {kernel.task.name: other}, measured=True)
        assert kept.plans.plan == net.plans.plan
        (why,) = [k.why for k in kept.kernels if k.planned is kernel]
        assert why.startswith("the fastest")


def test_one_kernel_alone(net: ProgramTasks, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    name = next(k.step.source.name for k in net.kernels if k.task is not None)
    only = program_tasks(tmp_path / "net.py", kernel=name)
    assert {k.step.source.name for k in only.kernels if k.task} == {name}
    with pytest.raises(ArgusError, match="AG0908"):
        program_tasks(tmp_path / "net.py", kernel="nothing")


@pytest.mark.parametrize(
    ("code", "file"), [("AG1040", "raises.py"), ("AG1041", "dynamic.py")]
)
def test_what_is_no_program(code: str, file: str) -> None:
    with pytest.raises(ArgusError, match=code):
        program_tasks(MODELS / file)


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
        program_tasks(path)
