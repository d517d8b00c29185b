"""Files of `ModelNew`: what is written runs by itself, and is the model."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.utils import _pytree  # noqa: E402

from argus.diagnostics import ArgusError  # noqa: E402
from argus.lang.kernel import load_kernels  # noqa: E402
from argus.programs.model_file import (  # noqa: E402
    model_plans,
    write_model,
    written_model,
)
from argus.programs.tensors import joining  # noqa: E402
from few import few  # noqa: E402

HEAD = "import torch\nfrom torch import nn\n\n\nclass Model(nn.Module):\n"

MODELS = {
    "normalised": """
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        self.norm = nn.BatchNorm1d(n)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))


def get_inputs():
    return [torch.randn(4, 8)]


def get_init_inputs():
    return [8]
""",
    "joined": """
    def __init__(self):
        super().__init__()
        self.one = nn.Conv2d(3, 16, 1)
        self.two = nn.Conv2d(3, 4, 1)

    def forward(self, x):
        return torch.cat([torch.relu(self.one(x)), self.two(x)], 1)


def get_inputs():
    return [torch.randn(1, 3, 8, 8)]
""",
    "dropout": """
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(x) * 2


def get_inputs():
    return [torch.randn(64)]
""",
    "nested": """
    def forward(self, x, more, scale=1.0):
        return {"a": x * scale, "b": (more["k"].sum(-1), x.t()[1:])}


def get_inputs():
    return [torch.randn(4, 8), {"k": torch.randn(3, 5)}, 3.0]
""",
    "constants": """
    def __init__(self):
        super().__init__()
        self.mask = torch.tril(torch.ones(8, 8))
        self.register_buffer("shift", torch.arange(8.0), persistent=False)

    def forward(self, x):
        limits = torch.tensor([1.0, 2.0, float("inf"), 4.0, 5.0, 6.0, 7.0, 8.0])
        return torch.minimum(x * self.mask[2] + self.shift, limits)


def get_inputs():
    return [torch.randn(4, 8)]
""",
    "partly torch's": """
    def forward(self, x):
        values, places = (x + 1).mode(-1)
        return values * 2, places, torch.full((3,), float("-inf"))


def get_inputs():
    return [torch.randn(4, 8)]
""",
    "product": """
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 8, bias=False)

    def forward(self, x):
        return torch.softmax(self.second(torch.sigmoid(self.first(x))), -1)


def get_inputs():
    return [torch.randn(5, 16)]
""",
}


def file_of(folder: Path, text: str) -> Path:
    path = folder / "model.py"
    path.write_text(HEAD + text)
    return path


@pytest.fixture(scope="module")
def names_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    """The names of a file that is written for a model of `MODELS`, anew each time."""

    @cache
    def text(name: str) -> str:
        file = file_of(tmp_path_factory.mktemp("model"), MODELS[name])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(joining, "_LEAST", 0)  # small tensors, too
            return written_model(model_plans(file)).text

    return lambda name: executed(text(name))


def executed(text: str) -> dict[str, Any]:
    """The names of a file's text, which need not be on disk."""
    names: dict[str, Any] = {}
    exec(compile(text, "<string>", "exec"), names)
    return names


def made(names: dict[str, Any], kind: str) -> Any:
    torch.manual_seed(3)
    return names[kind](*names.get("get_init_inputs", list)())


# Two have modules that do something else while they are trained.
MODES = [
    *((name, False) for name in MODELS),
    *((name, True) for name in few(MODELS, "normalised", "dropout")),
]


@pytest.mark.parametrize(("name", "training"), MODES)
def test_a_written_model_is_the_model(
    name: str, training: bool, names_of: Callable[[str], Any]
) -> None:
    names = names_of(name)
    old, new = made(names, "Model"), made(names, "ModelNew")
    # The same numbers were drawn, and they have the same names.
    for key, tensor in old.state_dict().items():
        assert torch.equal(tensor, new.state_dict()[key])
    new.load_state_dict(old.state_dict(), strict=True)
    assert isinstance(new, torch.nn.Module)
    for call in range(2):
        old.train(training)
        new.train(training)
        inputs = names["get_inputs"]()
        with torch.no_grad():
            torch.manual_seed(call)
            wanted = old(*inputs)
            torch.manual_seed(call)
            found = new(*inputs)
        pairs = zip(*map(_pytree.tree_leaves, (found, wanted)), strict=True)
        for got, want in pairs:
            torch.testing.assert_close(got, want)
            assert got.stride() == want.stride()
        assert _pytree.tree_structure(found) == _pytree.tree_structure(wanted)
        for key, tensor in old.state_dict().items():  # what training changes
            torch.testing.assert_close(tensor, new.state_dict()[key])


def test_weights_are_those_of_the_module(names_of: Callable[[str], Any]) -> None:
    names = names_of("product")
    new = made(names, "ModelNew").eval()
    (x,) = names["get_inputs"]()
    first = new(x)
    twin = copy.deepcopy(new)
    with torch.no_grad():
        twin.second.weight.mul_(-3.0)  # what was kept of it is of no use now
    assert not torch.allclose(twin(x), first)
    assert torch.equal(new(x), first)
    stored = io.BytesIO()
    torch.save(twin.state_dict(), stored)
    stored.seek(0)
    new.load_state_dict(torch.load(stored))
    assert torch.equal(new(x), twin(x))


def test_names_of_inputs_and_other_shapes(names_of: Callable[[str], Any]) -> None:
    names = names_of("nested")
    new = made(names, "ModelNew").eval()
    x, more, scale = names["get_inputs"]()
    assert torch.equal(new(x, scale=scale, more=more)["a"], x * scale)
    with pytest.raises(TypeError):
        new(x, more, size=3)
    for inputs in ((x[:2], more, scale), (x, more), (x.double(), more, scale)):
        with pytest.raises(ArgusError) as error:
            new(*inputs)
        assert error.value.diagnostics[0].code == "AG0801"


def test_kernels_lie_beside_the_file(tmp_path: Path) -> None:
    plans = model_plans(file_of(tmp_path, MODELS["normalised"]))
    file, folder = write_model(plans, tmp_path / "out")
    assert file == tmp_path / "out" / "model_new.py"
    kernels = executed(file.read_text())["KERNELS"]
    training = plans.plans["training"]
    assert not isinstance(training, str)
    launched = {s.source.text for s in (*plans.plan.kernels, *training.kernels)}
    assert set(kernels.values()) == launched
    assert {p.stem: p.read_text() for p in folder.iterdir()} == kernels
    for path in folder.iterdir():
        assert load_kernels(str(path)).references
    with pytest.raises(ArgusError) as error:
        write_model(plans, plans.path)
    assert error.value.diagnostics[0].code == "AG0908"


def test_a_mode_that_torch_cannot_export(tmp_path: Path) -> None:
    text = """
    def forward(self, x):
        if self.training and x.sum() > 0:
            return x
        return x * 2


def get_inputs():
    return [torch.ones(4)]
"""
    names = executed(written_model(model_plans(file_of(tmp_path, text))).text)
    new = made(names, "ModelNew")
    (x,) = names["get_inputs"]()
    with pytest.raises(ArgusError) as error:
        new(x)
    assert error.value.diagnostics[0].code == "AG1049"
    assert torch.equal(new.eval()(x), x * 2)


def test_constants_that_nobody_knows(tmp_path: Path) -> None:
    text = """
    def forward(self, x):
        return x + HELD


HELD = torch.ones(4) * 2


def get_inputs():
    return [torch.ones(4)]
"""
    with pytest.raises(ArgusError) as error:
        model_plans(file_of(tmp_path, text))
    assert error.value.diagnostics[0].code == "AG1048"


def test_results_in_a_class_that_has_no_name(tmp_path: Path) -> None:
    text = """
    def forward(self, x):
        return x.mode(-1)


def get_inputs():
    return [torch.ones(4, 4)]
"""
    with pytest.raises(ArgusError) as error:
        model_plans(file_of(tmp_path, text))
    assert error.value.diagnostics[0].code == "AG1048"
