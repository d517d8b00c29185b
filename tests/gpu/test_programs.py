"""Programs on the device: operators, modules, gradients, graphs give what torch does.

The cases are those that `tests/programs` runs in the interpreter. Wanted is what eager
torch computes on the CPU, of which each has its result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.utils import _pytree  # noqa: E402

import argus  # noqa: E402
from programs import test_attention, test_fourier, test_training_operators  # noqa: E402
from programs.modules import MODULES, Formula  # noqa: E402
from programs.operators import OPERATORS  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    # Torch 2.11 says so of itself when it is imported further.
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),
]

Case = tuple[Callable[[], Any], tuple[Any, ...]]


def _formula(function: Callable[..., Any]) -> Callable[[], Any]:
    return lambda: Formula(function)


PROGRAMS: dict[str, Case] = {
    **{f"operator: {name}": (_formula(f), x) for name, (f, x) in OPERATORS.items()},
    **{f"module: {name}": (made, x) for name, (made, x, _) in MODULES.items()},
    **{
        f"{kind}: {name}": (_formula(f), x)
        for kind, cases in (
            ("transform", test_fourier.CASES),
            ("attention", test_attention.CASES),
        )
        for name, (f, x) in cases.items()
    },
}


def _moved(values: Any, device: str) -> Any:
    return _pytree.tree_map_only(
        torch.Tensor, lambda x: x.detach().clone().to(device), values
    )


def _close(found: Any, wanted: Any) -> None:
    pairs = zip(_pytree.tree_leaves(found), _pytree.tree_leaves(wanted), strict=True)
    for got, other in pairs:
        if not isinstance(other, torch.Tensor):
            assert got == other
            continue
        few_bits = other.dtype in (torch.float16, torch.bfloat16)
        near = 1e-2 if few_bits else 1e-4
        torch.testing.assert_close(
            got.cpu(), other, rtol=near, atol=near, equal_nan=True
        )


@pytest.mark.parametrize("graph", [False, True], ids=["launched", "replayed"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_torch_does(name: str, graph: bool) -> None:
    make, inputs = PROGRAMS[name]
    torch.manual_seed(0)
    model = make().eval()
    with torch.no_grad():
        wanted = model(*_moved(inputs, "cpu"))
    with torch.device("cuda"):
        program = argus.compile(model.cuda(), _moved(inputs, "cuda"), graph=graph)
        given = _moved(inputs, "cuda")
        for _ in range(4 if graph else 1):
            found = program(*given)
    _close(found, wanted)


@pytest.mark.parametrize("name", test_training_operators.GRADIENTS)
def test_gradients_are_those_of_torch(name: str) -> None:
    function, inputs = test_training_operators.GRADIENTS[name]
    torch._dynamo.reset()
    faster = torch.compile(function, backend="argus")
    gradients: list[list[Any]] = []
    for called, device in ((function, "cpu"), (faster, "cuda")):
        given = [x.requires_grad_() for x in _moved(inputs, device)]
        with torch.device(device):
            made = called(*given)
            factors = torch.linspace(0.5, 1.5, made.numel()).view(made.shape)
            (made * factors).sum().backward()
        gradients.append([made.detach(), *(x.grad for x in given)])
    _close(gradients[1], gradients[0])
