"""A model with kernels in place of the nodes that were matched.

    tasks = torch_task("model.py")
    faster = rebuilt(tasks, on_device(best))
    faster(*tasks.file.inputs)

Each match becomes a module that lays out its operands as the kernel takes them, and
calls a *runner* with them. Runners: on the GPU, in the interpreter, or in torch itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from torch import Tensor, bfloat16, float32, no_grad
from torch.nn import Module

from argus.agent.spaces import space_for
from argus.agent.tasks.library import problem_task
from argus.agent.tasks.torch_task import TorchTasks
from argus.calls import launch
from argus.evaluation.requests import contiguous_facts
from argus.kernels.graph import FREE, op
from argus.kernels.library import LIBRARY, Case
from argus.lang import library as inlines
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request, placed_program
from argus.runs.records import Candidate, LibraryProblem

if TYPE_CHECKING:
    from torch.fx import Graph, GraphModule, Node

    from argus.kernels.pattern import Match, Operands, Runner

# ------------------------------------------------------------------------- runners


def by_reference(
    problem: LibraryProblem, operands: Operands, scalars: Mapping[str, float]
) -> None:
    """In torch, in fp32: what the kernels must compute, for tests without a GPU."""
    import torch

    entry, case = LIBRARY[problem.entry], Case("", problem.sizes, problem.options)
    with no_grad():
        arrays = {n: t.to(float32) for n, t in operands.items()}
        for name, value in entry.reference(torch, {**arrays, **scalars}, case).items():
            operands[name].copy_(value)


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
        family = space_for(problem)
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
        out = self.computation.run(self.problem, self.runner, tensors)
        return out.reshape(self.size).to(self.kind)


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
        made = graph.call_module(name, tuple(new[n] for n in match.computation.inputs))
    made.meta = dict(match.root.meta)
    old.replace_all_uses_with(made)
    for node in reversed(match.nodes):
        for check in [u for u in new[node].users if op(u) in FREE and not u.users]:
            graph.erase_node(check)
        graph.erase_node(new[node])
    # Inputs of later matches may be roots of earlier ones.
    new[match.root] = made
