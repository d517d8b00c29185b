"""Layer normalisation in a graph."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from argus.kernels.graph import arg, number, op, shape
from argus.kernels.layernorm.entry import EPS
from argus.kernels.pattern import Computation, Match, Pattern, Refusal, cast_notes
from argus.runs.records import LibraryProblem

if TYPE_CHECKING:
    from torch import Tensor
    from torch.fx import Node

    from argus.kernels.pattern import Runner


@dataclass(frozen=True)
class Normalised(Computation):
    """Layer norm of ``x`` over its last dimension."""

    x: Node
    weight: Node | None
    bias: Node | None
    eps: float

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The rows, then weight and bias where there are any."""
        return tuple(n for n in (self.x, self.weight, self.bias) if n is not None)

    def run(
        self, problem: LibraryProblem, runner: Runner, tensors: tuple[Tensor, ...]
    ) -> Tensor:
        """The rows (M, N), in bf16."""
        import torch

        m, n = problem.sizes["M"], problem.sizes["N"]
        first, *rest = tensors
        x = first.reshape(m, n).to(torch.bfloat16).contiguous()

        def row(given: Node | None, usual: float) -> Tensor:
            if given is None:
                return torch.full_like(x[0], usual)
            return rest.pop(0).reshape(n).to(torch.bfloat16).contiguous()

        out = torch.empty_like(x)
        operands = {"X": x, "W": row(self.weight, 1.0), "B": row(self.bias, 0.0)}
        runner(problem, {**operands, "Y": out}, {"eps": self.eps})
        return out


def normalised_at(node: Node, target: str) -> Match | Refusal | None:
    """The layer norm that a node is."""
    if op(node) != "aten.layer_norm":
        return None
    x, over = arg(node, 0, "input"), arg(node, 1, "normalized_shape")
    if len(over) != 1:
        return Refusal(node, "it is over several dimensions")
    sizes, eps = shape(x), number(arg(node, 4, "eps", EPS))
    if sizes is None or 0 in sizes or eps is None:
        return Refusal(node, "its sizes are not fixed, or zero")
    weight, bias = arg(node, 2, "weight"), arg(node, 3, "bias")
    notes = cast_notes(x)
    if weight is None or bias is None:
        notes.append("weights of one and biases of zero are read")
    if eps != EPS:
        notes.append(f"eps is {eps:g}; the task's reference has {EPS:g}")
    problem = LibraryProblem(
        entry="layernorm",
        sizes={"M": prod(sizes[:-1]), "N": sizes[-1]},
        target=target,
    )
    computation = Normalised(x, weight, bias, eps)
    return Match(node, (node,), problem, computation, 1, tuple(notes))


PATTERNS = (Pattern(2, normalised_at),)
