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
