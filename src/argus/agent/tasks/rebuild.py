"""A model with kernels in place of the nodes that were matched.

    tasks = torch_task("model.py")
    faster = rebuilt(tasks, on_device(best))
    faster(*tasks.file.inputs)

Each match becomes a module that lays out its operands as the kernel takes them, and
calls a *runner* with them. Runners: on the GPU, in the interpreter, or in torch itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from torch import Tensor, bfloat16, float32, no_grad
from torch import empty as torch_empty
from torch import ones as torch_ones
from torch.nn import Module

from argus.agent.families import family_of
from argus.agent.tasks.graph import FREE, op
from argus.agent.tasks.library import problem_task
from argus.agent.tasks.match import Heads, Match, Product, Rows
from argus.agent.tasks.torch_task import TorchTasks
from argus.calls import launch
from argus.compiler import Request, placed_program
from argus.evaluation.requests import contiguous_facts
from argus.kernels.library import LIBRARY, Case
from argus.lang import library as inlines
from argus.lang.kernel import Kernel, load_kernels
from argus.runs.records import Candidate, LibraryProblem

if TYPE_CHECKING:
    from torch.fx import Graph, GraphModule, Node

Operands = dict[str, Tensor]
"""Tensors by the names of the kernel's parameters; outputs are written in place."""

Runner = Callable[[LibraryProblem, Operands, Mapping[str, float]], None]
"""Computes a problem's outputs from its operands and scalars."""


# ------------------------------------------------------------------------- runners


def by_reference(
    problem: LibraryProblem, operands: Operands, scalars: Mapping[str, float]
) -> None:
    """In torch, in fp32: what the kernels must compute, for tests without a GPU."""
    import torch

    with no_grad():
        x = {n: t.to(float32) for n, t in operands.items()}
        match problem.entry:
            case "gemm":
                out = x["A"] @ x["B"].T
                out = out + x["Bias"] if "Bias" in x else out
                out = torch.relu(out) if "relu" in problem.options else out
                out = out + x["Residual"] if "Residual" in x else out
                operands["C"].copy_(out)
            case "softmax":
                operands["Y"].copy_(torch.softmax(x["X"], -1))
            case "rmsnorm":
                n = x["X"].shape[-1]
                norm = torch.nn.functional.rms_norm
                operands["Y"].copy_(norm(x["X"], (n,), x["W"], scalars["eps"]))
            case "attention":
                attention = torch.nn.functional.scaled_dot_product_attention
                operands["O"].copy_(
                    attention(
                        x["Q"],
                        x["K"],
                        x["V"],
                        is_causal="causal" in problem.options,
                        scale=scalars["scale"],
                        enable_gqa=problem.sizes["H"] != problem.sizes["G"],
                    )
                )
            case other:
                raise ValueError(f"no reference for {other}")


def in_interpreter(best: Mapping[str, Candidate] | None = None) -> Runner:
    """The kernels' placed programs in numpy: slow, for small sizes, and exact.

    ``best``: candidates by task name; the library's choice where there is none.
    """
    from argus.interpret import run

    def runner(
        problem: LibraryProblem, operands: Operands, scalars: Mapping[str, float]
    ) -> None:
        import numpy as np
        from torch import int16

        kernel, statics = _kernel(problem, best or {})
        program = placed_program(_request(problem, kernel, statics))
        arrays = {
            n: t.view(int16).numpy().view(np.uint16)
            if t.dtype is bfloat16
            else t.numpy()
            for n, t in operands.items()
        }
        run(program, arrays, dict(scalars), sm_count=4)

    return runner


def on_device(best: Mapping[str, Candidate] | None = None) -> Runner:
    """The kernels on the GPU; ``best`` as for :func:`in_interpreter`."""

    def runner(
        problem: LibraryProblem, operands: Operands, scalars: Mapping[str, float]
    ) -> None:
        kernel, statics = _kernel(problem, best or {})
        launch(kernel, (), {**operands, **scalars, **statics})

    return runner


_kernels: dict[tuple[str, str], Kernel] = {}


def _kernel(
    problem: LibraryProblem, best: Mapping[str, Candidate]
) -> tuple[Kernel, dict[str, object]]:
    """The kernel of a problem and its static parameters."""
    name = problem_task(problem).name
    if name in best:
        candidate = best[name]
    else:
        family = family_of(problem)
        design = family.library(problem)
        if family.invalid(design, problem) is not None:
            design = family.start(problem)
        candidate = family.candidate(design, problem)
    key = (candidate.source, candidate.kernel)
    if key not in _kernels:
        module = load_kernels(f"{problem.entry}.py", candidate.source)
        _kernels[key] = module.kernels[candidate.kernel]
    kernel = _kernels[key]
    kinds = {s.name: s.kind for s in kernel.signature.statics}
    statics: dict[str, object] = {}
    for static, value in candidate.statics.items():
        if kinds.get(static) == "inline":
            statics[static] = vars(inlines)[str(value)]
        else:
            statics[static] = value
    return kernel, statics


def _request(
    problem: LibraryProblem, kernel: Kernel, statics: Mapping[str, object]
) -> Request:
    case = Case("", problem.sizes, problem.options)
    arguments = LIBRARY[problem.entry].arguments(case)
    return Request(
        kernel,
        {a.name: a.dtype for a in arguments},
        dict(statics),
        problem.target,
        contiguous_facts(kernel, {a.name: a.shape for a in arguments}),
    )


# ------------------------------------------------------------------------- modules


class KernelCall(Module):
    """One match: takes the tensors of the graph, gives that of the match's root."""

    def __init__(self, match: Match, runner: Runner) -> None:
        super().__init__()
        self.problem = match.problem
        self.computation = match.computation
        self.runner = runner
        value: Any = match.root.meta["val"]
        self.size = tuple(int(n) for n in value.shape)
        self.kind = value.dtype

    def forward(self, *tensors: Tensor) -> Tensor:
        """The result, in the shape and type of the root."""
        tensors = tuple(t.detach() for t in tensors)
        match self.computation:
            case Product() as product:
                out = self._product(product, tensors)
            case Rows() as rows:
                out = self._rows(rows, tensors)
            case Heads() as heads:
                out = self._heads(heads, tensors)
        return out.reshape(self.size).to(self.kind)

    def _product(self, product: Product, tensors: tuple[Tensor, ...]) -> Tensor:
        m, n, k = (self.problem.sizes[d] for d in "MNK")
        a, b, *rest = tensors
        b = b.transpose(-1, -2) if product.turn else b
        left = _rows_of(a.reshape(product.batch, m, k).to(bfloat16))
        right = _rows_of(b.reshape(product.batch, n, k).to(bfloat16))
        out = torch_empty(product.batch, m, n, dtype=bfloat16, device=a.device)
        extra: Operands = {}
        if product.bias is not None:
            extra["Bias"] = rest.pop(0).reshape(n).to(float32).contiguous()
        if product.residual is not None:
            extra["Residual"] = _rows_of(rest.pop(0).reshape(m, n).to(bfloat16))
        for i in range(product.batch):
            operands = {"A": left[i], "B": right[i], "C": out[i], **extra}
            self.runner(self.problem, operands, {})
        return out

    def _rows(self, rows: Rows, tensors: tuple[Tensor, ...]) -> Tensor:
        m, n = self.problem.sizes["M"], self.problem.sizes["N"]
        x = _rows_of(tensors[0].reshape(m, n).to(bfloat16))
        out = torch_empty(m, n, dtype=bfloat16, device=x.device)
        operands = {"X": x, "Y": out}
        if rows.eps is None:
            self.runner(self.problem, operands, {})
            return out
        if rows.weight is not None:
            weight = tensors[1].reshape(n).to(bfloat16).contiguous()
        else:
            weight = torch_ones(n, dtype=bfloat16, device=x.device)
        self.runner(self.problem, {"X": x, "W": weight, "Y": out}, {"eps": rows.eps})
        return out

    def _heads(self, heads: Heads, tensors: tuple[Tensor, ...]) -> Tensor:
        q, k, v = (_rows_of(t.to(bfloat16)) for t in tensors)
        out = torch_empty(q.shape, dtype=bfloat16, device=q.device)
        operands = {"Q": q, "K": k, "V": v, "O": out}
        self.runner(self.problem, operands, {"scale": heads.scale})
        return out


def _rows_of(t: Tensor) -> Tensor:
    """The tensor as it is if it is contiguous, else a contiguous copy."""
    return t.contiguous()


def rebuilt(tasks: TorchTasks, runner: Runner) -> GraphModule:
    """The model with every match replaced; its parameters are shared.

    Inputs have the sizes of the exported ones. Runs without gradients.
    """
    from torch.fx import Graph, GraphModule

    graph = Graph()
    new: dict[Node, Node] = {}
    result: Any = graph.graph_copy(tasks.graph.graph, cast(Any, new))
    graph.output(result)
    graph.set_codegen(tasks.graph.graph._codegen)  # pyright: ignore[reportPrivateUsage]
    calls: dict[str, KernelCall] = {}
    for i, match in enumerate(tasks.matches):
        name = f"argus_{i}"
        calls[name] = KernelCall(match, runner)
        _replace(graph, new, match, name, calls[name])
    owned: dict[str, Any] = {}
    for node in graph.nodes:
        if node.op in ("get_attr", "call_module"):
            target = str(node.target)
            owned[target] = calls.get(target) or _attribute(tasks.graph, target)
    return GraphModule(owned, graph).eval()


def _attribute(module: Any, path: str) -> Any:
    for part in path.split("."):
        module = getattr(module, part)
    return module


def _replace(
    graph: Graph, new: dict[Node, Node], match: Match, name: str, call: KernelCall
) -> None:
    """Put a call after the last node of a match, and take its nodes away."""
    old = new[match.root]
    with graph.inserting_after(old):
        made = graph.call_module(name, tuple(new[n] for n in _inputs(match)))
    made.meta = dict(match.root.meta)
    old.replace_all_uses_with(made)
    for node in reversed(match.nodes):
        for check in [u for u in new[node].users if op(u) in FREE and not u.users]:
            graph.erase_node(check)
        graph.erase_node(new[node])
    # Inputs of later matches may be roots of earlier ones.
    new[match.root] = made


def _inputs(match: Match) -> list[Node]:
    """The tensors that a match's kernel is given, in the order of its module."""
    match match.computation:
        case Product(a, b, _, bias, _, residual, _):
            return [n for n in (a, b, bias, residual) if n is not None]
        case Rows(x, weight, _):
            return [n for n in (x, weight) if n is not None]
        case Heads(q, k, v, _):
            return [q, k, v]
