"""The parts of a graph that the library has kernels for, and what is left.

Larger patterns are looked for first: attention before the products and the softmax that
it is made of. Every node that computes something is in a match, or is listed with a
reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

from argus.kernels.graph import FREE, PRODUCTS, arg, elements, op, shape
from argus.kernels.library import parts
from argus.kernels.pattern import Match, Pattern, Refusal

if TYPE_CHECKING:
    from torch.fx import GraphModule, Node

_PATTERNS: tuple[Pattern, ...] = tuple(
    sorted((x for p in parts("pattern") for x in p.PATTERNS), key=lambda x: x.rank)
)


@dataclass(frozen=True)
class Matched:
    """One kernel's part of the graph. ``problem`` is the name of its task."""

    nodes: tuple[str, ...]
    problem: str
    launches: int
    flops: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Unmatched:
    """A node that stays as it is, and why. ``flops`` is 0 where they are not known."""

    node: str
    operator: str
    reason: str
    flops: int


@dataclass(frozen=True)
class MatchReport:
    """What became of every node that computes something.

    ``share``: floating point operations of matched nodes over those of all whose
    number is known.
    """

    matched: tuple[Matched, ...]
    unmatched: tuple[Unmatched, ...]

    @property
    def share(self) -> float:
        """Between 0 and 1; 0 where nothing is counted."""
        mine = sum(m.flops for m in self.matched)
        whole = mine + sum(u.flops for u in self.unmatched)
        return mine / whole if whole else 0.0

    def text(self) -> str:
        """For people: a line per part."""
        lines = [f"{100 * self.share:.1f} % of the operations have a kernel"]
        for m in self.matched:
            lines.append(f"  {m.problem}: {', '.join(m.nodes)}")
            lines += [f"    {note}" for note in m.notes]
        if self.unmatched:
            lines.append("left as they are:")
        lines += [f"  {u.node} ({u.operator}): {u.reason}" for u in self.unmatched]
        return "\n".join(lines)


def matches_of(graph: GraphModule, target: str) -> tuple[list[Match], list[Refusal]]:
    """All matches, none of which share a node, and what was refused on the way."""
    taken: set[Node] = set()
    found: list[Match] = []
    refused: dict[Node, Refusal] = {}
    for pattern in _PATTERNS:
        for node in graph.graph.nodes:
            if node in taken:
                continue
            made = pattern.find(node, target)
            if isinstance(made, Match) and _free(made, taken):
                found.append(made)
                taken.update(made.nodes)
            elif isinstance(made, Refusal):
                refused.setdefault(node, made)
    order = {node: i for i, node in enumerate(graph.graph.nodes)}
    found = [
        replace(m, nodes=tuple(sorted(m.nodes, key=order.__getitem__))) for m in found
    ]
    found.sort(key=lambda m: order[m.root])
    left = [r for n, r in refused.items() if n not in taken]
    return found, left


def _free(match: Match, taken: set[Node]) -> bool:
    """Whether its nodes are no one else's, and nobody else needs the inner ones."""
    if any(n in taken for n in match.nodes):
        return False
    inner = set(match.nodes)
    return all(
        set(n.users) <= inner or _only_checks(n, inner)
        for n in match.nodes
        if n is not match.root
    )


def _only_checks(node: Node, inner: set[Node]) -> bool:
    others = set(node.users) - inner
    return all(op(u) == "aten._assert_tensor_metadata" for u in others)


def report_of(
    graph: GraphModule,
    found: list[Match],
    refused: list[Refusal],
    name: Callable[[Match], str],
) -> MatchReport:
    """What became of every node, in the order of the graph."""
    taken = {n for m in found for n in m.nodes}
    reasons = {r.node: r.why for r in refused}
    matched = tuple(
        Matched(
            tuple(n.name for n in m.nodes),
            name(m),
            m.count,
            sum(flops(n) for n in m.nodes),
            m.notes,
        )
        for m in found
    )
    unmatched = tuple(
        Unmatched(n.name, str(n.target), reasons.get(n) or _reason(n), flops(n))
        for n in graph.graph.nodes
        if n not in taken and _computes(n)
    )
    return MatchReport(matched, unmatched)


def _computes(node: Node) -> bool:
    if node.op == "call_module":
        return False  # the guards of the export: there are no other modules
    return bool(op(node)) and op(node).startswith("aten.") and op(node) not in FREE


def _reason(node: Node) -> str:
    kind = op(node)
    return f"no kernel of the library computes {kind}"


def flops(node: Node) -> int:
    """Floating point operations of a node; 0 where nothing is known of it."""
    kind = op(node)
    if kind in PRODUCTS:
        left = arg(node, 1 if kind == "aten.addmm" else 0, "input")
        sizes = shape(left)
        return 2 * elements(node) * (sizes[-1] if sizes else 0)
    if kind == "aten.scaled_dot_product_attention":
        return _attention_flops(node)
    if "conv" in kind:
        weights = shape(arg(node, 1, "weight"))
        return 2 * elements(node) * prod(weights[1:]) if weights else 0
    if kind in FREE or not kind.startswith("aten."):
        return 0
    if kind in ("aten.softmax", "aten.log_softmax", "aten.layer_norm", "aten.rms_norm"):
        return 5 * elements(node)
    operands: list[Any] = [a for a in node.args if shape(a) is not None]
    return max((elements(a) for a in [node, *operands]), default=0)


def _attention_flops(node: Node) -> int:
    q, k = shape(arg(node, 0, "query")), shape(arg(node, 1, "key"))
    if q is None or k is None:
        return 0
    whole = 4 * prod(q) * k[-2]
    return whole // 2 if arg(node, 5, "is_causal", False) else whole
