"""Graphs are taken apart as torch does it, which looks at all of its operators."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from argus.programs.capturing.capture import decompositions  # noqa: E402
from argus.specification.aten.decomposing import decomposed  # noqa: E402
from few import few  # noqa: E402
from programs.modules import Formula  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # torch's, of itself

F = torch.nn.functional
X = torch.randn(2, 4, 6, 6)
LABELS = torch.tensor([[1, 0, -1, 2], [3, -1, 0, 0]])


def exported(module: Any, *inputs: Any) -> Any:
    with torch.no_grad():
        return torch.export.export(module, inputs, strict=False)


def graph(made: Any) -> str:
    return f"{made.graph}\n{made.graph_signature}"


CASES = {
    "product": (
        torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.GELU()).eval(),
        (X,),
    ),
    "norm": (torch.nn.BatchNorm2d(4).train(), (X,)),
    "pool": (torch.nn.MaxPool2d(3, 2, 1), (X,)),
    "attention": (Formula(lambda x: F.scaled_dot_product_attention(x, x, x)), (X,)),
    "between": (
        Formula(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear")),
        (X,),
    ),
    "nearest": (Formula(lambda x: F.interpolate(x, scale_factor=2)), (X,)),
    "labels": (
        Formula(lambda x, y: F.multilabel_margin_loss(x, y)),
        (X[:, :, 0, 0], LABELS),
    ),
    "einsum": (Formula(lambda x: torch.einsum("abij,abkj->aik", x, x).std(-1)), (X,)),
    "dropout": (Formula(lambda x: F.dropout(x, 0.5, training=True)), (X,)),
}
TORCHS = torch.export.default_decompositions
BOTH = [
    *((decompositions, name) for name in CASES),
    *((TORCHS, name) for name in few(CASES, "product", "attention", "labels")),
]
"""Modules of one kind are taken apart alike, whichever the table."""


@pytest.mark.parametrize(("table", "name"), BOTH)
def test_the_graph_is_torchs(table: Any, name: str) -> None:
    module, inputs = CASES[name]
    found = exported(module, *inputs)
    expected = found.run_decompositions(dict(table()))
    assert graph(decomposed(found, table)) == graph(expected)


def test_an_operator_that_is_new_stays_whole() -> None:
    """One that is composite, of which the tables were not asked."""
    decomposed(exported(torch.nn.ReLU(), X), decompositions)
    library = torch.library.Library("argus_new", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x + x, "CompositeImplicitAutograd")
    found = exported(Formula(lambda x: torch.ops.argus_new.twice(x)), X)
    assert "argus_new.twice" in graph(decomposed(found, decompositions))


def test_operators_are_as_they_were() -> None:
    margins = torch.ops.aten.multilabel_margin_loss_forward.default
    before = dict(margins.py_kernels)
    decomposed(exported(torch.nn.ReLU(), X), decompositions)
    assert before and dict(margins.py_kernels) == before


def test_torch_does_not_look_at_the_table_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of each of its thousand operators, whether it is composite."""
    decomposed(exported(torch.nn.ReLU(), X), decompositions)
    asked: list[Any] = []
    monkeypatch.setattr(
        "torch.export.exported_program._is_preservable_cia_op", asked.append
    )
    decomposed(exported(torch.nn.Tanh(), X), decompositions)
    assert not asked
