"""Matrix products in a graph: linear, matmul, mm, addmm, bmm, and what follows them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from argus.kernels.graph import (
    PRODUCTS,
    arg,
    is_node,
    keeps,
    op,
    shape,
    through,
    transposed,
    users,
)
from argus.kernels.pattern import Computation, Match, Pattern, Refusal, cast_notes
from argus.runs.records import LibraryProblem, Value

if TYPE_CHECKING:
    from torch import Tensor
    from torch.fx import Node

    from argus.kernels.pattern import Operands, Runner

_VIEWS = ("aten.view", "aten.reshape", "aten._unsafe_view")


@dataclass(frozen=True)
class LinearLayer(Computation):
    """activation(a @ b.T + bias) + residual, ``batch`` times.

    ``a`` has shape (..., M, K). ``b`` has shape (N, K), or (K, N) if ``turn``: then a
    transposed copy is made. With more than one in the batch both have it in front.
    """

    a: Node
    b: Node
    turn: bool
    bias: Node | None
    relu: bool
    residual: Node | None
    batch: int

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Both operands, then bias and residual where there are any."""
        found = (self.a, self.b, self.bias, self.residual)
        return tuple(n for n in found if n is not None)

    def run(
        self, problem: LibraryProblem, runner: Runner, tensors: tuple[Tensor, ...]
    ) -> Tensor:
        """The products (batch, M, N), in bf16."""
        import torch

        m, n, k = (problem.sizes[d] for d in "MNK")
        a, b, *rest = tensors
        b = b.transpose(-1, -2) if self.turn else b
        left = a.reshape(self.batch, m, k).to(torch.bfloat16).contiguous()
        right = b.reshape(self.batch, n, k).to(torch.bfloat16).contiguous()
        out = torch.empty(self.batch, m, n, dtype=torch.bfloat16, device=a.device)
        extra: Operands = {}
        if self.bias is not None:
            extra["Bias"] = rest.pop(0).reshape(n).to(torch.float32).contiguous()
        if self.residual is not None:
            added = rest.pop(0).reshape(m, n)
            extra["Residual"] = added.to(torch.bfloat16).contiguous()
        for i in range(self.batch):
            operands = {"A": left[i], "B": right[i], "C": out[i], **extra}
            runner(problem, operands, {})
        return out


def product_at(node: Node, target: str) -> Match | Refusal | None:
    """The product that begins at a node, with the epilogue that can follow it."""
    if op(node) not in PRODUCTS:
        return None
    a, b, added = _operands(node)
    if any(arg(node, 3 + i, name, 1) != 1 for i, name in enumerate(("beta", "alpha"))):
        return Refusal(node, "it scales its summands")
    sizes_a, sizes_b = shape(a), shape(b)
    if sizes_a is None or sizes_b is None:
        return Refusal(node, "its sizes are not fixed")
    if len(sizes_a) < 2 or len(sizes_b) < 2:
        return Refusal(node, "a product with a vector has no kernel in the library")
    batched = len(sizes_b) > 2
    if batched and sizes_a[:-2] != sizes_b[:-2]:
        return Refusal(node, "its operands do not have the same batch")
    straight = op(node) == "aten.linear"
    other = b if straight else transposed(b)
    turn = other is None
    (n, k) = sizes_b[-2:] if straight else (sizes_b[-1], sizes_b[-2])
    m = sizes_a[-2] if batched else prod(sizes_a[:-1])
    batch = prod(sizes_b[:-2]) if batched else 1
    if 0 in (m, n, k, batch):
        return Refusal(node, "it computes nothing")
    chain = _Chain(node, n)
    if added is not None and not chain.addend(added):
        return Refusal(node, "what it adds is neither a row of N nor of its own shape")
    if not batched:
        chain.follow()
    options: dict[str, Value] = {}
    if chain.bias is not None:
        options["bias"] = 1
    if chain.relu:
        options["relu"] = 1
    if chain.residual is not None:
        options["residual"] = 1
    problem = LibraryProblem(
        entry="gemm", sizes={"M": m, "N": n, "K": k}, options=options, target=target
    )
    notes = [*cast_notes(a, b)]
    if turn:
        notes.append("B is transposed by a copy: the kernel takes it as (N, K)")
    if batch > 1:
        notes.append(f"{batch} launches, one for each matrix of the batch")
    return Match(
        chain.root,
        tuple(chain.nodes),
        problem,
        LinearLayer(
            a, b if turn else other, turn, chain.bias, chain.relu, chain.residual, batch
        ),
        batch,
        tuple(notes),
    )


def _operands(node: Node) -> tuple[Any, Any, Any]:
    """Left, right, and what is added."""
    match op(node):
        case "aten.linear":
            return node.args[0], node.args[1], arg(node, 2, "bias")
        case "aten.addmm":
            return node.args[1], node.args[2], node.args[0]
        case _:
            return node.args[0], node.args[1], None


class _Chain:
    """The product and the nodes after it that its epilogue can take over."""

    def __init__(self, node: Node, columns: int) -> None:
        self.root = node
        self.columns = columns
        self.nodes = [node]
        self.bias: Any = None
        self.residual: Any = None
        self.relu = False

    def addend(self, other: Any) -> bool:
        """Take over a summand, if the epilogue has a place for it."""
        sizes = shape(other)
        if sizes is None or not is_node(other):
            return False
        row = prod(sizes) == self.columns and sizes[-1:] == (self.columns,)
        here = shape(self.root)
        if row and sizes != here and self.bias is None and not self.relu:
            if self.residual is None:
                self.bias = other
                return True
            return False
        if sizes == here and self.residual is None:
            self.residual = other
            return True
        return False

    def follow(self) -> None:
        """Take over one user after the other, as long as it is the only one."""
        while self._step():
            pass

    def _step(self) -> bool:
        following = users(self.root)
        if len(following) != 1:
            return False
        node = following[0]
        sizes = shape(node)
        if keeps(node) or (
            op(node) in _VIEWS and sizes is not None and sizes[-1] == self.columns
        ):
            # Only worth it if something follows that is taken over.
            return self._behind(node)
        if op(node) in ("aten.relu", "aten.relu_"):
            if self.relu or self.residual is not None:
                return False
            self.relu = True
        elif op(node) in ("aten.add", "aten.add_"):
            left, right = node.args[0], node.args[1]
            other = right if through(left) is through(self.root) else left
            plain = arg(node, 2, "alpha", 1) == 1 and left is not right
            if not plain or not self.addend(other):
                return False
        else:
            return False
        self._take(node)
        return True

    def _take(self, node: Node) -> None:
        self.nodes.append(node)
        self.root = node

    def _behind(self, node: Node) -> bool:
        """Whether something behind a view or a cast can be taken over; takes it."""
        before = (self.root, list(self.nodes))
        self._take(node)
        if self._step():
            return True
        self.root, self.nodes = before
        return False


PATTERNS = (Pattern(1, product_at),)
