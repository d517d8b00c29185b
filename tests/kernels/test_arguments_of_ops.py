"""What a function of the library says of arguments that are no tensors."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch")

from argus import ops  # noqa: E402
from argus.diagnostics import ArgusError  # noqa: E402

TAKEN = [
    (name, parameter, annotation)
    for name in ops.__all__
    for parameter, found in inspect.signature(getattr(ops, name)).parameters.items()
    if (annotation := str(found.annotation)).startswith("Tensor")
]
OTHERS = {"array": np.ones((16, 16), np.float32), "list": [1.0], "number": 2.0}


def _arguments(name: str) -> dict[str, Any]:
    """A tensor for each parameter that has no default."""
    return {
        n: torch.ones(16, 16, dtype=torch.bfloat16)
        for n, found in inspect.signature(getattr(ops, name)).parameters.items()
        if found.default is inspect.Parameter.empty
    }


@pytest.mark.parametrize(("name", "parameter", "annotation"), TAKEN)
def test_what_is_no_tensor(name: str, parameter: str, annotation: str) -> None:
    values = dict(OTHERS) if "None" in annotation else {**OTHERS, "None": None}
    for value in values.values():
        named = {**_arguments(name), parameter: value}
        with pytest.raises(ArgusError, match=f"`{parameter}` of ops.{name}") as caught:
            getattr(ops, name)(**named)
        assert caught.value.codes == ("AG0812",)


def test_by_position_too() -> None:
    x = torch.ones(16, 16, dtype=torch.bfloat16)
    with pytest.raises(ArgusError, match=r"`b` of ops\.gemm takes a torch tensor"):
        ops.gemm(x, OTHERS["array"])
    assert ops.gemm(x, x, None)[0, 0] == 16


RANKS = [
    (name, parameter, int(annotation[6]))
    for name, parameter, annotation in TAKEN
    if annotation[6:7].isdigit()
]


@pytest.mark.parametrize("rank", [0, 1, 2, 3, 4, 5])
def test_tensors_of_other_ranks(rank: int) -> None:
    """Of all parameters that are needed: none is an error of Python's."""
    for name in ops.__all__:
        parameters = inspect.signature(getattr(ops, name)).parameters.values()
        x = torch.ones((16,) * rank, dtype=torch.bfloat16)
        named = {
            p.name: x if str(p.annotation).startswith("Tensor") else 2
            for p in parameters
            if p.default is p.empty
        }
        wanted = {p: r for n, p, r in RANKS if n == name and p in named}
        if {*wanted.values()} <= {rank}:
            continue
        with pytest.raises(ArgusError):
            getattr(ops, name)(**named)


def test_a_rank_is_named() -> None:
    x = torch.ones(16, 16, dtype=torch.bfloat16)
    with pytest.raises(ArgusError, match=r"`a` of ops\.gemm has rank 1, expected 2"):
        ops.gemm(x[0], x)
    assert len(RANKS) > 80
