"""Softmax and root-mean-square norm in a graph, as one operator or taken apart."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from argus.kernels.graph import (
    arg,
    is_node,
    last,
    number,
    op,
    shape,
    through,
)
from argus.kernels.norms.entry import EPS
from argus.kernels.pattern import Computation, Match, Pattern, Refusal, cast_notes
from argus.runs.records import LibraryProblem

if TYPE_CHECKING:
    from torch import Tensor
    from torch.fx import Node

    from argus.kernels.pattern import Runner


@dataclass(frozen=True)
class Rows(Computation):
    """Softmax or root-mean-square norm over the last dimension of ``x``."""

    x: Node
    weight: Node | None
    eps: float | None

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The rows, and the weights where there are any."""
        return tuple(n for n in (self.x, self.weight) if n is not None)

    def run(
        self, problem: LibraryProblem, runner: Runner, tensors: tuple[Tensor, ...]
    ) -> Tensor:
        """The rows (M, N), in bf16."""
        import torch

        m, n = problem.sizes["M"], problem.sizes["N"]
        x = tensors[0].reshape(m, n).to(torch.bfloat16).contiguous()
        out = torch.empty_like(x)
        if self.eps is None:
            runner(problem, {"X": x, "Y": out}, {})
            return out
        if self.weight is not None:
            weight = tensors[1].reshape(n).to(torch.bfloat16).contiguous()
        else:
            weight = torch.ones(n, dtype=torch.bfloat16, device=x.device)
        runner(problem, {"X": x, "W": weight, "Y": out}, {"eps": self.eps})
        return out


def rows_at(node: Node, target: str) -> Match | Refusal | None:
    """The norm whose last node this is."""
    match op(node):
        case "aten.softmax" | "aten._softmax":
            return _softmax(node, target)
        case "aten.rms_norm":
            return _rms_norm(node, target)
        case "aten.div":
            return _softmax_apart(node, target) or _root_apart(node, target)
        case "aten.mul":
            return _root_apart(node, target)
        case _:
            return None


def _made(
    root: Node,
    nodes: tuple[Node, ...],
    entry: str,
    x: Any,
    target: str,
    *,
    weight: Any = None,
    eps: float | None = None,
    notes: tuple[str, ...] = (),
) -> Match | Refusal:
    sizes = shape(x)
    if sizes is None or not sizes or 0 in sizes:
        return Refusal(root, "its sizes are not fixed, or zero")
    problem = LibraryProblem(
        entry=entry,
        sizes={"M": prod(sizes[:-1]), "N": sizes[-1]},
        target=target,
    )
    said = (*cast_notes(x), *notes)
    return Match(root, nodes, problem, Rows(x, weight, eps), 1, said)


def _softmax(node: Node, target: str) -> Match | Refusal:
    x = node.args[0]
    sizes = shape(x)
    if sizes is None:
        return Refusal(node, "its sizes are not fixed")
    if not last(arg(node, 1, "dim"), len(sizes)):
        return Refusal(node, f"it is over dimension {node.args[1]}, not the last")
    return _made(node, (node,), "softmax", x, target)


def _softmax_apart(node: Node, target: str) -> Match | Refusal | None:
    """exp(x - max) / sum: `e / sum(e)` with `e = exp(x - amax(x))`."""
    e, total = arg(node, 0, "self"), arg(node, 1, "other")
    if not (is_node(e) and is_node(total)):
        return None
    if op(e) != "aten.exp" or op(total) != "aten.sum" or total.args[0] is not e:
        return None
    inner: Any = e.args[0]
    if not is_node(inner) or op(inner) != "aten.sub":
        return None
    x, top = inner.args[0], inner.args[1]
    sizes = shape(x)
    nodes = [inner, e, total, node]
    if is_node(top) and str(top.target) == "<built-in function getitem>":
        nodes.insert(0, top)
        top = top.args[0]
    if not is_node(top) or op(top) not in ("aten.amax", "aten.max"):
        return None
    nodes.insert(0, top)
    if sizes is None or top.args[0] is not x:
        return None
    for reduction in (top, total):
        if not last(arg(reduction, 1, "dim"), len(sizes)):
            return Refusal(node, "its softmax is not over the last dimension")
    return _made(node, tuple(nodes), "softmax", x, target)


def _rms_norm(node: Node, target: str) -> Match | Refusal:
    x, normalised = arg(node, 0, "input"), arg(node, 1, "normalized_shape")
    if len(normalised) != 1:
        return Refusal(node, "it is over several dimensions")
    weight, eps = arg(node, 2, "weight"), number(arg(node, 3, "eps"))
    notes = () if weight is not None else ("its weights are ones, which are read",)
    # torch's own default is the distance of 1 to the next number of x's type.
    eps = 1.1920929e-07 if eps is None else eps
    return _made(
        node,
        (node,),
        "rmsnorm",
        x,
        target,
        weight=weight,
        eps=eps,
        notes=(*notes, *_eps_note(eps)),
    )


def _eps_note(eps: float) -> tuple[str, ...]:
    if eps == EPS:
        return ()
    return (f"eps is {eps:g}; the task's reference has {EPS:g}",)


def _root_apart(node: Node, target: str) -> Match | Refusal | None:
    """`x * rsqrt(mean(x * x) + eps)` or `x / sqrt(...)`, and a product with weights."""
    for x, root in _ordered(node):
        found = _root_mean_square(root, node)
        if found is None or through(found[0]) is not through(x):
            continue
        of, eps, nodes, dim = found
        sizes = shape(of)
        if sizes is None:
            return Refusal(node, "its sizes are not fixed")
        if not last(dim, len(sizes)):
            return Refusal(node, f"its mean is over dimension {dim}, not the last")
        weight, top, more = _weights(node, sizes[-1])
        notes = () if weight is not None else ("its weights are ones, which are read",)
        return _made(
            top,
            (*nodes, node, *more),
            "rmsnorm",
            x,
            target,
            weight=weight,
            eps=eps,
            notes=(*notes, *_eps_note(eps)),
        )
    return None


def _ordered(node: Node) -> list[tuple[Any, Any]]:
    left, right = node.args[0], node.args[1]
    if op(node) == "aten.div":
        return [(left, right)]
    return [(left, right), (right, left)]


def _root_mean_square(
    value: Any, by: Node
) -> tuple[Any, float, tuple[Node, ...], Any] | None:
    """x, eps, nodes and dimension of rsqrt(mean(x**2) + eps); sqrt under a division."""
    if not is_node(value):
        return None
    nodes: list[Any] = [value]
    if op(value) == "aten.reciprocal":
        value = value.args[0]
        nodes.append(value)
        wanted = "aten.sqrt"
    else:
        wanted = "aten.sqrt" if op(by) == "aten.div" else "aten.rsqrt"
    if not is_node(value) or op(value) != wanted:
        return None
    plus: Any = value.args[0]
    if not is_node(plus) or op(plus) != "aten.add":
        return None
    eps = number(plus.args[1])
    mean: Any = plus.args[0]
    if eps is None or not is_node(mean) or op(mean) != "aten.mean":
        return None
    square: Any = mean.args[0]
    if not is_node(square) or not arg(mean, 2, "keepdim", False):
        return None
    power = op(square) == "aten.pow" and number(square.args[1]) == 2
    product = op(square) == "aten.mul" and square.args[0] is square.args[1]
    if not (power or product or op(square) == "aten.square"):
        return None
    nodes += [plus, mean, square]
    return square.args[0], eps, tuple(nodes), arg(mean, 1, "dim")


def _weights(node: Node, columns: int) -> tuple[Any, Node, tuple[Node, ...]]:
    """The weights that follow, the last node then, and the nodes on the way."""
    passed: list[Node] = []
    here = node
    while len(here.users) == 1:
        user = next(iter(here.users))
        if op(user) in ("aten.to", "aten._to_copy", "aten.type_as"):
            passed.append(user)
            here = user
            continue
        if op(user) != "aten.mul":
            break
        other = user.args[1] if user.args[0] is here else user.args[0]
        if is_node(other) and shape(other) == (columns,):
            return other, user, (*passed, user)
        break
    return None, node, ()


PATTERNS = (Pattern(2, rows_at),)
