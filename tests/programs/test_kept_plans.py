"""Plans on disk: found by all that they depend on, and by nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import argus  # noqa: E402
from argus.programs.backend import argus_backend  # noqa: E402
from argus.programs.capturing.capture import capture  # noqa: E402
from argus.programs.planning import kept_plans  # noqa: E402
from argus.programs.planning.kept_plans import kept_plan, program_key  # noqa: E402
from argus.programs.planning.plan import plan_program  # noqa: E402
from argus.programs.planning.program_data import KernelFiles  # noqa: E402
from argus.programs.tensors import joining  # noqa: E402
from argus.runtime.cache import default_cache  # noqa: E402
from argus.runtime.store import CacheWarning  # noqa: E402
from few import few  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's, about itself


class Formula(nn.Module):
    def __init__(self, function: Callable[..., Any], **modules: nn.Module) -> None:
        super().__init__()
        self.function, self.inner = function, nn.ModuleDict(modules)

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs, **self.inner)


def drawn(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


CASES: dict[str, tuple[Callable[..., Any], dict[str, nn.Module], tuple[Any, ...]]] = {
    "layers": (
        lambda x, a, b, n: n(b(torch.relu(a(x)))),
        {"a": nn.Linear(8, 16), "b": nn.Linear(16, 8), "n": nn.LayerNorm(8)},
        (drawn(4, 8),),
    ),
    "convolution": (
        lambda x, c, n: torch.nn.functional.max_pool2d(n(c(x)), 2),
        {"c": nn.Conv2d(3, 8, 3), "n": nn.BatchNorm2d(8)},
        (drawn(1, 3, 6, 8),),
    ),
    "joined": (
        lambda x, a, b: torch.cat([torch.relu(a(x)), b(x)], 1),
        {"a": nn.Conv2d(3, 16, 1), "b": nn.Conv2d(3, 4, 1)},
        (drawn(1, 3, 8, 8),),
    ),
    "recurrence": (lambda x, r: r(x), {"r": nn.LSTM(6, 5)}, (drawn(3, 2, 6),)),
    "table": (lambda i, e: e(i), {"e": nn.Embedding(9, 6)}, (torch.arange(5) % 9,)),
    "torch's": (
        lambda x: (*torch.linalg.qr(x + 1), torch.full((3,), float("-inf"))), {},
        (drawn(4, 8),),
    ),
    "nested": (
        lambda x, more, scale: {"a": x * scale, "b": (more["k"].sum(-1), x.t()[1:])},
        {}, (drawn(4, 8), {"k": drawn(3, 5)}, 3.0),
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And small tensors are joined, too."""
    monkeypatch.setattr(joining, "_LEAST", 0)
    monkeypatch.setenv("ARGUS_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Programs that were planned."""
    found: list[Any] = []

    def counted(program: Any) -> Any:
        found.append(program)
        return plan_program(program)

    monkeypatch.setattr(kept_plans, "plan_program", counted)
    return found


def said(plan: Any) -> object:
    files = KernelFiles()
    return files.plan_data(plan), files.texts


@pytest.mark.parametrize("name", CASES)
def test_a_plan_is_made_once_and_is_the_same(name: str, planned: list[Any]) -> None:
    function, modules, inputs = CASES[name]
    model = Formula(function, **modules).eval()
    first = argus.compile(model, inputs)
    assert len(planned) == 1
    second = argus.compile(model, inputs)
    assert len(planned) == 1
    fresh = plan_program(planned[0])
    assert said(first.plan) == said(second.plan) == said(fresh)
    torch.testing.assert_close(second(*inputs), model(*inputs), equal_nan=True)


def test_weights_are_those_of_the_module_at_hand(planned: list[Any]) -> None:
    x = drawn(4, 8)
    for seed in (1, 2, 3):
        torch.manual_seed(seed)
        model = Formula(lambda x, a, b: b(a(x)), a=nn.Linear(8, 8), b=nn.BatchNorm1d(8))
        model.eval()
        made = argus.compile(model, (x,))
        torch.testing.assert_close(made(x), model(x))
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(1.5)
        torch.testing.assert_close(made(x), model(x))
    assert len(planned) == 1


def changed(x: Any) -> dict[str, Callable[[], Any]]:
    """Programs that are told apart, each by one thing."""
    product = nn.Linear(8, 8)
    scales = {n: torch.tensor(n) for n in (2.0, 3.0)}
    return {
        "the product": lambda: capture(product, (x,)),
        "more rows": lambda: capture(product, (drawn(5, 8),)),
        "another type": lambda: capture(nn.Linear(8, 8).half(), (x.half(),)),
        "other strides": lambda: capture(product, (drawn(8, 4).t(),)),
        "without a bias": lambda: capture(nn.Linear(8, 8, bias=False), (x,)),
        "times 2": lambda: capture(Formula(lambda x: x * 2.0), (x,)),
        "times 3": lambda: capture(Formula(lambda x: x * 3.0), (x,)),
        "the negative zero": lambda: capture(Formula(lambda x: x + -0.0), (x,)),
        "zero": lambda: capture(Formula(lambda x: x + 0.0), (x,)),
        "a folded 2": lambda: capture(Formula(lambda x: x / scales[2.0]), (x,)),
        "a folded 3": lambda: capture(Formula(lambda x: x / scales[3.0]), (x,)),
        "a number given": lambda: capture(Formula(lambda x, n: x - n), (x, 2.0)),
        "another one": lambda: capture(Formula(lambda x, n: x - n), (x, 3.0)),
        "rows": lambda: capture(Formula(lambda x: x.sum(1)), (x,)),
        "columns": lambda: capture(Formula(lambda x: x.sum(0)), (x,)),
        "both results": lambda: capture(Formula(lambda x: (x.sum(0), x.sum(1))), (x,)),
        "in training": lambda: capture(nn.BatchNorm1d(8), (x,), training=True),
        "in evaluation": lambda: capture(nn.BatchNorm1d(8), (x,)),
        "torch's call": lambda: capture(Formula(lambda x: torch.linalg.qr(x).R), (x,)),
        "with another argument": lambda: capture(
            Formula(lambda x: torch.linalg.qr(x, "complete").R), (x,)
        ),
        "the device": lambda: replace(capture(product, (x,)), device="cuda:1"),
    }


def test_what_differs_has_another_key_and_what_does_not_the_same() -> None:
    found: dict[str, str] = {}
    programs = changed(drawn(4, 8))
    twice = few(
        programs, "the product", "a folded 2", "a number given", "both results",
        "in training", "torch's call",
    )  # fmt: skip
    for name, made in programs.items():
        key = program_key(made())
        assert key is not None, name
        assert name not in twice or key == program_key(made()), name
        assert key not in found, (name, found[key])
        found[key] = name


def test_flags_of_torch_are_in_the_program() -> None:
    matrices, images = drawn(4, 64), drawn(1, 64, 8, 8)
    product, convolution = nn.Linear(64, 64), nn.Conv2d(64, 64, 3)
    for flags, model, x in (
        (torch.backends.cuda.matmul, product, matrices),
        (torch.backends.cudnn, convolution, images),
    ):
        was, keys = flags.allow_tf32, set()
        try:
            for allowed in (True, False):
                flags.allow_tf32 = allowed
                keys.add(program_key(capture(model, (x,))))
        finally:
            flags.allow_tf32 = was
        assert len(keys) == 2


def test_other_code_of_argus_plans_anew(
    planned: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = capture(Formula(torch.tanh), (drawn(4, 8),))
    kept_plan(program)
    monkeypatch.setattr(kept_plans, "package_stamp", lambda: "of other files")
    kept_plan(program)
    assert len(planned) == 2


def test_a_damaged_plan_is_made_again(planned: list[Any]) -> None:
    program = capture(Formula(torch.tanh), (drawn(4, 8),))
    wanted = said(kept_plan(program))
    key = program_key(program)
    assert key is not None
    for content in (b"[]", b"{", b'{"plan": {}, "files": {}}'):
        default_cache().store.put("plans", key, content)
        with pytest.warns(CacheWarning, match="AG0907"):
            assert said(kept_plan(program)) == wanted
    assert len(planned) == 4


def test_what_has_no_text_is_planned_each_time(planned: list[Any]) -> None:
    """A call of what is no operator is known by its identity alone."""
    program = capture(Formula(lambda x: torch.linalg.qr(x).R), (drawn(4, 8),))
    for value in program.values:
        if call := getattr(value.made, "call", None):
            object.__setattr__(call, "target", torch.linalg.qr)
    assert program_key(program) is None
    assert kept_plan(program).left
    assert kept_plan(program).left
    assert len(planned) == 2


def test_without_a_cache_nothing_is_kept(
    planned: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARGUS_CACHE_LIMIT_MB", "0")
    program = capture(Formula(torch.tanh), (drawn(4, 8),))
    assert said(kept_plan(program)) == said(kept_plan(program))
    assert len(planned) == 2


def test_graphs_of_torch_forward_and_backward(planned: list[Any]) -> None:
    model = Formula(lambda x, a, n: n(torch.tanh(a(x))), a=nn.Linear(8, 8),
                    n=nn.LayerNorm(8))  # fmt: skip
    x = drawn(4, 8).requires_grad_()
    wanted = torch.autograd.grad(model(x).square().sum(), (x, *model.parameters()))
    for _ in range(2):
        torch._dynamo.reset()
        options = {"interpret": True}
        made = torch.compile(model, backend=argus_backend, options=options)
        found = torch.autograd.grad(made(x).square().sum(), (x, *model.parameters()))
        torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)
    assert len(planned) == 2
