"""`torch.compile` with the backend of Argus gives what eager torch gives.

Kernels run in the interpreter, so that tensors are on the CPU.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.utils import _pytree  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from argus.diagnostics import fail  # noqa: E402
from argus.programs import backend  # noqa: E402
from argus.programs.backend import GraphReport, argus_backend  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's, about itself

X, Y = (torch.randn(4, 24, generator=torch.Generator().manual_seed(s)) for s in (1, 2))


@pytest.fixture(autouse=True)
def reports() -> Iterator[list[GraphReport]]:
    torch._dynamo.reset()
    found: list[GraphReport] = []
    yield found
    torch._dynamo.reset()


def compiled(model: Any, reports: list[GraphReport], **options: Any) -> Any:
    chosen = {"interpret": True, "report": reports.append, **options}
    return torch.compile(model, backend=argus_backend, options=chosen)


def own(values: tuple[Any, ...], grad: bool) -> list[Any]:
    return [
        v.detach().clone().requires_grad_(grad and v.is_floating_point())
        if isinstance(v, torch.Tensor)
        else v
        for v in values
    ]


def weighed(results: Any) -> Any:
    """One number that all results are part of, each element with its own weight."""
    leaves = _pytree.tree_leaves(results)
    return sum(
        (t * torch.arange(t.numel()).reshape(t.shape).cos()).sum()
        for t in leaves
        if isinstance(t, torch.Tensor) and t.requires_grad
    )


def added_in_place(x: Any) -> Any:
    y = x * 1
    y.add_(1)
    return y[1:] * 2


def broken(x: Any) -> Any:
    y = torch.relu(x)
    torch._dynamo.graph_break()
    return y * x.sum()


def branching(x: Any, n: int) -> Any:
    return x * n if n > 2 else x / n


FORWARD_AND_BACKWARD: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "softmax": (lambda x: x.softmax(-1), (X,)),
    "nested results": (lambda x, y: (x + y, {"a": x * y, "b": [y.t(), 3]}), (X, Y)),
    "inputs and views of them": (lambda x, y: (x, x.t(), x.clone(), y + 1), (X, Y)),
    "views of a result": (lambda x: ((x * 2).t(), (x * 2).t().contiguous()), (X,)),
    "an input that is no row-major tensor": (lambda x: x * 3 + x.sum(0), (X.t(),)),
    "windows that overlap": (lambda x: (x * 2).unfold(1, 3, 2), (X,)),
    "a repeated result": (lambda x: ((x * 2)[:1].expand(4, 24), x * 2, x * 2), (X,)),
    "changed in place": (added_in_place, (X,)),
    "a graph break": (broken, (X,)),
    "a number": (branching, (X, 3)),
    "no elements": (lambda x: (x * 2 + 1, x.sum(1)), (X[:0],)),
    "one element": (lambda x: torch.sqrt(x * x), (torch.tensor(2.0),)),
    "products in torch": (lambda x, y: torch.relu(x @ y.t()) * 2, (X, Y)),
    "pools of one image": (
        lambda x: functional.adaptive_avg_pool2d(x[None], (3, 5)), (X,)
    ),
    "sums of more bits": (lambda x: x.sum(1, dtype=torch.float64), (X,)),
    "scattered": (
        lambda x: functional.cross_entropy(x, torch.tensor([1, 2, 3, 4])), (X,)
    ),
}  # fmt: skip


def layer(**named: Any) -> Any:
    torch.manual_seed(0)
    return nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True, **named)


@pytest.mark.parametrize("norm_first", [False, True])
def test_layers_of_encoders_without_gradients_are_kernels(
    norm_first: bool, reports: list[GraphReport]
) -> None:
    """Torch has one operator for them."""
    model, x = layer(norm_first=norm_first).eval(), X.view(4, 3, 8)
    hidden = torch.arange(3) >= torch.tensor([[3], [2], [1], [3]])
    seen: dict[str, Any] = {"src_mask": torch.ones(3, 3, dtype=torch.bool).triu(1)}
    seen |= {"src_key_padding_mask": hidden} if norm_first else {}
    with torch.no_grad():
        got, wanted = compiled(model, reports)(x, **seen), model(x, **seen)
    torch.testing.assert_close(got, wanted, rtol=3e-5, atol=3e-5)
    assert got.stride() == wanted.stride()
    assert not any(r.left or r.whole for r in reports)


def test_attention_in_a_function_of_torch_is_gathered(
    reports: list[GraphReport],
) -> None:
    model, x = layer(), X.view(4, 3, 8)
    found: list[Any] = []
    for call in (model, compiled(model, reports)):
        weighed(call(x)).backward()
        found.append([p.grad.clone() for p in model.parameters()])
        model.zero_grad()
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-4)
    assert not any(r.left or r.whole for r in reports)


@pytest.mark.parametrize("name", FORWARD_AND_BACKWARD)
def test_results_and_gradients_are_those_of_torch(
    name: str, reports: list[GraphReport]
) -> None:
    function, inputs = FORWARD_AND_BACKWARD[name]
    eager, given = own(inputs, True), own(inputs, True)
    wanted = function(*eager)
    got = compiled(function, reports)(*given)
    torch.testing.assert_close(got, wanted, rtol=3e-5, atol=3e-5)
    pairs = zip(_pytree.tree_leaves(got), _pytree.tree_leaves(wanted), strict=True)
    for a, b in pairs:
        if isinstance(a, torch.Tensor):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            assert 0 in a.shape or a.stride() == b.stride()
    for each in (wanted, got):
        weighed(each).backward()
    for a, b in zip(given, eager, strict=True):
        if isinstance(a, torch.Tensor):
            torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-4)
    assert not any(r.whole for r in reports)


def test_half_complex_numbers_stay_in_torch(reports: list[GraphReport]) -> None:
    x = X.to(torch.complex32)
    torch.testing.assert_close(compiled(lambda x: x * 2, reports)(x), x * 2)
    assert all(r.whole for r in reports)


def test_results_share_memory_as_those_of_torch_do(reports: list[GraphReport]) -> None:
    x = X.clone()
    call = compiled(lambda x: (x, x.t(), x.clone(), x + 0, x[1:]), reports)
    same, turned, clone, sum_, part = call(x)
    assert same is x
    for view in (turned, part):
        assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    places = {t.untyped_storage().data_ptr() for t in (x, clone, sum_)}
    assert len(places) == 3


def test_inputs_are_changed(reports: list[GraphReport]) -> None:
    def change(x: Any) -> Any:
        x.mul_(2)
        return x + 1

    x = X.clone()
    torch.testing.assert_close(compiled(change, reports)(x), 2 * X + 1)
    torch.testing.assert_close(x, 2 * X)


class Trained(nn.Module):
    """Normalised over the batch; counts its calls in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.last = nn.BatchNorm1d(24), nn.Linear(24, 8)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor, *, scale: float) -> torch.Tensor:
        self.calls.add_(1)
        return self.last(torch.relu(self.norm(x))) * scale


def test_a_module_is_trained(reports: list[GraphReport]) -> None:
    torch.manual_seed(0)
    first = Trained()
    second = copy.deepcopy(first)
    faster = compiled(second, reports)
    for step in range(3):
        x = torch.randn(6, 24, generator=torch.Generator().manual_seed(step))
        for model, call in ((first, first), (second, faster)):
            loss = (call(x, scale=3.0) ** 2).mean()
            model.zero_grad()
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.1 * p.grad
    wanted, got = first.state_dict(), second.state_dict()
    for name in wanted:
        torch.testing.assert_close(got[name], wanted[name], rtol=1e-4, atol=1e-5)
    assert [r.role for r in reports] == ["forward", "backward"]


def test_random_numbers_are_those_of_torch(reports: list[GraphReport]) -> None:
    def dropped(x: Any) -> Any:
        return functional.dropout(x * 2, 0.5) + torch.rand_like(x)

    call = compiled(dropped, reports)
    torch.manual_seed(3)
    wanted = dropped(X)
    torch.manual_seed(3)
    torch.testing.assert_close(call(X), wanted)
    assert len(reports[0].left) == 2


def dropped(x: Any) -> Any:
    return functional.dropout(x.sin(), 0.4).cos() + torch.rand_like(x) * x


@pytest.mark.parametrize("reentrant", [True, False])
def test_what_is_computed_again_draws_no_other_numbers(
    reports: list[GraphReport], reentrant: bool
) -> None:
    def kept(x: Any) -> Any:
        return checkpoint(dropped, x * 2, use_reentrant=reentrant)

    (x,), (y,) = own((X,), True), own((X,), True)
    call = compiled(kept, reports)
    for given, function in ((x, kept), (y, call)):
        torch.manual_seed(3)
        weighed(function(given)).backward()
    torch.testing.assert_close(y.grad, x.grad)
    assert [r.role for r in reports] == ["forward", "backward"]
    assert not any(r.whole for r in reports) and not reports[1].left


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x.sum().item() + x.argmax().item(),
        lambda x: torch.nonzero(x > 0).sum() + x[x > 0].sin().sum(),
    ],
)
def test_a_graph_that_elements_decide_stays_in_torch(
    reports: list[GraphReport], function: Any
) -> None:
    call = compiled(function, reports)
    with torch._dynamo.config.patch(
        capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True
    ):
        for n in (2, 4):
            torch.testing.assert_close(call(X[:n]), function(X[:n]))
    assert all("depends on elements" in r.whole for r in reports)


def test_what_torch_quantizes_stays_there(reports: list[GraphReport]) -> None:
    def quantized(x: Any) -> Any:
        return torch.quantize_per_tensor(x, 0.1, 3, torch.quint8).dequantize() + 1

    torch.testing.assert_close(compiled(quantized, reports)(X), quantized(X))
    assert "quint8" in reports[0].whole


def test_sizes_may_change(reports: list[GraphReport]) -> None:
    def function(x: Any) -> Any:
        return x.softmax(-1).reshape(-1)[1:] * x.shape[0]

    call = compiled(function, reports)
    for n in (3, 5, 7, 1):
        x = torch.randn(n, 6)
        eager, given = own((x,), True), own((x,), True)
        wanted, got = function(*eager), call(*given)
        torch.testing.assert_close(got, wanted)
        for each in (wanted, got):
            weighed(each).backward()
        torch.testing.assert_close(given[0].grad, eager[0].grad)


def test_on_the_cpu_all_stays_in_torch_and_is_named(reports: list[GraphReport]) -> None:
    got = compiled(torch.relu, reports, interpret=False)(X)
    torch.testing.assert_close(got, torch.relu(X))
    assert [r.whole for r in reports] == ["its tensors are on `cpu`"]


@pytest.mark.parametrize("code", ["AG0303", "AG0702", "AG1044"])
def test_a_mistake_of_argus_leaves_a_graph_in_torch(
    code: str, reports: list[GraphReport], monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(*_: Any) -> Any:
        raise fail(code, None, "elements do not belong together")

    monkeypatch.setattr(backend, "called", mistaken)
    got = compiled(torch.relu, reports)(X)
    torch.testing.assert_close(got, torch.relu(X))
    (report,) = reports
    assert code in report.whole and "do not belong together" in report.whole
    torch._dynamo.reset()
    with pytest.raises(Exception, match="AG1043"):
        compiled(torch.relu, reports, strict=True)(X)


def test_what_a_machine_lacks_is_an_error(
    reports: list[GraphReport], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any) -> Any:
        raise fail("AG0705", None, "the compiler cannot be loaded")

    monkeypatch.setattr(backend, "called", missing)
    with pytest.raises(Exception, match="AG0705"):
        compiled(torch.relu, reports)(X)


@pytest.mark.parametrize(
    ("code", "options"),
    [("AG1043", {"strict": True}), ("AG1046", {"fast": 1})],
)
def test_what_cannot_be_honoured_is_an_error(
    code: str, options: dict[str, Any]
) -> None:
    call = torch.compile(
        lambda x: torch.special.airy_ai(x) + 1, backend=argus_backend, options=options
    )
    with pytest.raises(Exception, match=code):
        call(X)


def test_the_backend_is_an_entry_point() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    points = tomllib.loads(project.read_text())["project"]["entry-points"]
    module, _, name = points["torch_dynamo_backends"]["argus"].partition(":")
    assert getattr(import_module(module), name) is argus_backend
