"""Attention in a graph: the fused operator, or its products and softmax apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from argus.kernels.graph import (
    arg,
    is_node,
    last,
    number,
    op,
    shape,
    through,
    transposed,
)
from argus.kernels.pattern import Computation, Match, Pattern, Refusal, cast_notes
from argus.runs.records import LibraryProblem, Value

if TYPE_CHECKING:
    from torch import Tensor
    from torch.fx import Node

    from argus.kernels.pattern import Runner

DEPTHS = (64, 128)
"""Head dimensions that the kernels hold in registers on every form."""


@dataclass(frozen=True)
class Heads(Computation):
    """Attention: ``q`` (B, H, S, D), ``k`` and ``v`` (B, G, T, D)."""

    q: Node
    k: Node
    v: Node
    scale: float

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Queries, keys, values."""
        return (self.q, self.k, self.v)

    def run(
        self, problem: LibraryProblem, runner: Runner, tensors: tuple[Tensor, ...]
    ) -> Tensor:
        """The output (B, H, S, D), in bf16."""
        import torch

        q, k, v = (t.to(torch.bfloat16).contiguous() for t in tensors)
        out = torch.empty_like(q)
        runner(problem, {"Q": q, "K": k, "V": v, "O": out}, {"scale": self.scale})
        return out


def heads_at(node: Node, target: str) -> Match | Refusal | None:
    """The attention whose last node this is."""
    if op(node) == "aten.scaled_dot_product_attention":
        return _fused(node, target)
    if op(node) in ("aten.matmul", "aten.bmm"):
        return _apart(node, target)
    return None


def _fused(node: Node, target: str) -> Match | Refusal:
    q, k, v = node.args[:3]
    if arg(node, 3, "attn_mask") is not None:
        return Refusal(node, "it has a mask of its own")
    if arg(node, 4, "dropout_p", 0.0):
        return Refusal(node, "it drops some of its weights")
    causal = bool(arg(node, 5, "is_causal", False))
    return _made(
        node,
        (node,),
        (q, k, v),
        number(arg(node, 6, "scale")),
        causal,
        target,
        grouped=bool(arg(node, 7, "enable_gqa", False)),
    )


def _made(
    root: Node,
    nodes: tuple[Node, ...],
    heads: tuple[Any, Any, Any],
    scale: float | None,
    causal: bool,
    target: str,
    *,
    grouped: bool,
) -> Match | Refusal:
    sizes = [shape(x) for x in heads]
    q, k, v = sizes
    if q is None or k is None or v is None or not len(q) == len(k) == len(v) == 4:
        return Refusal(root, "its operands do not have four fixed dimensions")
    b, h, s, d = q
    g, t = k[1], k[2]
    if (k[0], k[3]) != (b, d) or v != k:
        return Refusal(root, "keys and values are not alike")
    if h % g or (h != g and not grouped):
        return Refusal(root, "query heads do not share key heads in equal groups")
    if d not in DEPTHS:
        return Refusal(root, f"heads of {d} have no kernel; {DEPTHS} have")
    if causal and s != t:
        return Refusal(root, "its mask is causal, with other queries than keys")
    options: dict[str, Value] = {"causal": 1} if causal else {}
    problem = LibraryProblem(
        entry="attention",
        sizes={"B": b, "H": h, "G": g, "S": s, "T": t, "D": d},
        options=options,
        target=target,
    )
    notes = cast_notes(*heads)
    usual = d**-0.5
    chosen = usual if scale is None else scale
    if abs(chosen - usual) > 1e-6 * usual:
        notes.append(f"the scale is {chosen:g}; the task's reference has {usual:g}")
    return Match(root, nodes, problem, Heads(*heads, chosen), 1, tuple(notes))


def _apart(node: Node, target: str) -> Match | Refusal | None:
    """softmax(q @ k.T * scale) @ v, without a mask, or with a causal one."""
    weights = through(node.args[0])
    if not is_node(weights) or op(weights) not in ("aten.softmax", "aten._softmax"):
        return None
    sizes = shape(weights)
    if sizes is None or len(sizes) != 4 or not last(weights.args[1], 4):
        return None
    nodes: list[Any] = [node, weights]
    scores = through(weights.args[0])
    causal = False
    if is_node(scores) and op(scores) == "aten.masked_fill":
        if not _causal_mask(scores.args[1], sizes) or not _low(scores.args[2]):
            return None
        nodes.append(scores)
        causal = True
        scores = through(scores.args[0])
    scale = 1.0
    if is_node(scores) and op(scores) in ("aten.mul", "aten.div"):
        factor = number(scores.args[1])
        if factor is None or factor == 0:
            return None
        scale = factor if op(scores) == "aten.mul" else 1.0 / factor
        nodes.append(scores)
        scores = through(scores.args[0])
    if not is_node(scores) or op(scores) not in ("aten.matmul", "aten.bmm"):
        return None
    nodes.append(scores)
    keys = transposed(scores.args[1])
    if keys is None or any(len(n.users) != 1 for n in nodes[1:]):
        return None
    made = _made(
        node,
        tuple(nodes),
        (scores.args[0], keys, node.args[1]),
        scale,
        causal,
        target,
        grouped=False,
    )
    # Where the whole has no kernel, its parts may have.
    return None if isinstance(made, Refusal) else made


def _low(value: Any) -> bool:
    found = number(value)
    return found is not None and found <= -1e9


def _causal_mask(mask: Any, sizes: tuple[int, ...]) -> bool:
    """Whether a constant mask is true exactly where a key comes after its query."""
    import torch

    if not is_node(mask):
        return False
    found = constant(mask)
    if found is None or found.dtype != torch.bool or sizes[-1] != sizes[-2]:
        return False
    try:
        whole = torch.broadcast_to(found, sizes)
    except RuntimeError:
        return False
    later = torch.ones(sizes[-2:], dtype=torch.bool, device=whole.device).triu(1)
    return bool((whole == later).all())


def constant(node: Any, budget: int = 32) -> Any:
    """The value of a node that depends on no input and no parameter; None else."""
    if not is_node(node) or budget == 0:
        return None
    if node.op == "get_attr":
        return _buffer(node)
    if node.op != "call_function":
        return None
    arguments: list[Any] = []
    for value in node.args:
        if is_node(value):
            value = constant(value, budget - 1)
            if value is None:
                return None
        arguments.append(value)
    return node.target(*arguments, **node.kwargs)


def _buffer(node: Any) -> Any:
    """A buffer of the graph's module; parameters are trained, and so no constants."""
    import torch

    module: Any = node.graph.owning_module
    for part in str(node.target).split("."):
        module = getattr(module, part, None)
    is_tensor = isinstance(module, torch.Tensor)
    return module if is_tensor and not isinstance(module, torch.nn.Parameter) else None


PATTERNS = (Pattern(0, heads_at),)
