"""Operators under torch's compiler, with functions in place of kernels."""

import pytest
import torch

from argus.diagnostics import ArgusError
from argus.runtime.torch_op import (
    OpParameter,
    as_functional_op,
    as_torch_op,
    schema,
    tensor,
)

SCALE = (tensor("X"), tensor("Y"), OpParameter("alpha", "float", 2.0))


def scale(x: torch.Tensor, y: torch.Tensor, alpha: float) -> None:
    y.copy_(x * alpha)


def test_the_schema() -> None:
    assert schema(SCALE, ["Y"]) == "(Tensor X, Tensor(a!) Y, float alpha=2.0) -> ()"
    optional = OpParameter("B", "optional_tensor", None)
    assert schema([tensor("X"), optional], ["X", "B"], 2) == (
        "(Tensor(a!) X, Tensor(b!)? B=None) -> (Tensor, Tensor)"
    )
    with pytest.raises(ValueError, match="no tensor parameter"):
        schema(SCALE, ["alpha"])


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_compiled_graph_takes_it_whole(backend: str) -> None:
    op = as_torch_op(scale, "argus_test::scale", SCALE, ["Y"])

    def model(x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        op(x + 1, y, 3.0)
        return y.relu() - 1

    x = torch.randn(4, 8)
    compiled = torch.compile(model, fullgraph=True, backend=backend)
    assert torch.equal(compiled(x), ((x + 1) * 3).relu() - 1)
    assert torch.equal(model(x), compiled(x))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_functional_operator_allocates(backend: str) -> None:
    def both(x: torch.Tensor, n: int, y: torch.Tensor, z: torch.Tensor) -> None:
        y.copy_(x[:, :n])
        z.copy_(x.sum(1))

    def allocate(x: torch.Tensor, n: int) -> tuple[torch.Tensor, torch.Tensor]:
        return x.new_empty(x.shape[0], n), x.new_empty(x.shape[0])

    op = as_functional_op(
        both,
        f"argus_test::both_{backend}",
        (tensor("X"), OpParameter("n", "int")),
        allocate,
        outputs=2,
    )

    def model(x: torch.Tensor) -> torch.Tensor:
        y, z = op(x, 3)
        return y * z[:, None]

    x = torch.randn(4, 8)
    expected = x[:, :3] * x.sum(1)[:, None]
    compiled = torch.compile(model, fullgraph=True, backend=backend)
    assert torch.allclose(compiled(x), expected)
    assert torch.allclose(compiled(x[:2]), expected[:2])


def test_torch_checks_the_operator() -> None:
    op = as_torch_op(scale, "argus_test::scale_checked", SCALE, ["Y"])
    torch.library.opcheck(op, (torch.randn(3, 4), torch.empty(3, 4), 2.0))


def test_the_default_and_the_version_counter() -> None:
    op = as_torch_op(scale, "argus_test::scale_default", SCALE, ["Y"])
    x, y = torch.ones(3), torch.zeros(3)
    before = y._version
    assert op(x, y) is None
    assert y.tolist() == [2.0] * 3
    assert y._version > before


def test_registering_again() -> None:
    name = "argus_test::scale_again"
    op = as_torch_op(scale, name, SCALE, ["Y"])
    assert as_torch_op(scale, name, SCALE, ["Y"]) is op
    with pytest.raises(ValueError, match="another function"):
        as_torch_op(lambda x, y, alpha: None, name, SCALE, ["Y"])
    with pytest.raises(ValueError, match="namespace::name"):
        as_torch_op(scale, "scale", SCALE, ["Y"])


def test_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "torch.library", None)
    with pytest.raises(ArgusError) as caught:
        as_torch_op(scale, "argus_test::without", SCALE, ["Y"])
    assert caught.value.code == "AG0906"
