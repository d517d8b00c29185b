"""`torch.compile(model, backend="argus")`: graphs of torch as programs of kernels.

Torch traces a module, differentiates it and makes its graphs free of mutation
(AOTAutograd); each graph, forward or backward, becomes a plan as `argus.compile` makes
it. What has no kernel stays in torch, and so does a graph that cannot be a program;
both are named in a `GraphReport`, and to the logger "argus.programs".

| option | is |
| --- | --- |
| ``strict`` | what would stay in torch is an error (AG1043) |
| ``graph`` | replay as CUDA graphs; ``mode="reduce-overhead"`` says the same |
| ``report`` | a function that is given a `GraphReport` of each graph |
| ``interpret`` | kernels in the interpreter, on tensors of the CPU: for tests |

``mode="max-autotune"`` is accepted: nothing is searched, and this is said.
"""

from __future__ import annotations

import logging
import operator
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from argus.diagnostics import ArgusError, fail
from argus.programs.capturing.attention_calls import gather_attention
from argus.programs.capturing.capture import decompositions
from argus.programs.capturing.graph_capture import GivenFrom, GraphCapture
from argus.programs.capturing.input_updates import without_updates
from argus.programs.compiled import called, require_whole
from argus.programs.planning.kept_plans import kept_plan
from argus.programs.planning.plan import ProgramPlan
from argus.programs.running.copies import copy_all
from argus.programs.running.execution import in_interpreter
from argus.programs.running.given import as_pairs, relaid
from argus.programs.tensors.tensor_program import GivenPrimitive
from argus.programs.tensors.torch_calls import leaves_of
from argus.runtime.dlpack import share_memory

if TYPE_CHECKING:
    from torch.fx import GraphModule

logger = logging.getLogger("argus.programs")

_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_SIZES = 64
"""Sizes for which the programs of a graph are kept."""
_AT_ONCE = 8
"""Sizes that have a program in their first call; others have one in their second. A
plan takes as long as many calls, and sizes of a text that grows come once."""
_SEEN = 4096
"""Sizes that are known to have come."""
_OWN_MISTAKES = (
    "AG01", "AG02", "AG03", "AG04", "AG05", "AG06", "AG0701", "AG0702", "AG0703",
    "AG0704", "AG0711", "AG1044", "AG1045",
)  # fmt: skip
"""How codes begin of what is found of a plan and its kernels before anything runs: who
wrote the module can do nothing about it."""


@dataclass(frozen=True)
class GraphReport:
    """What became of one graph of torch.

    ``role`` is "inference", "forward" or "backward"; ``left`` are operators that stay
    in torch, each with the reason. ``whole``: why all of the graph stays there, else
    "".
    """

    role: str
    kernels: tuple[str, ...] = ()
    left: tuple[tuple[str, str], ...] = ()
    whole: str = ""

    def __str__(self) -> str:
        if self.whole:
            return f"{self.role} graph: all of it stays in torch: {self.whole}"
        text = f"{self.role} graph: {len(self.kernels)} kernels"
        named = "; ".join(f"{what}: {why}" for what, why in self.left)
        return f"{text}; in torch: {named}" if named else text


@dataclass(frozen=True)
class BackendOptions:
    """See the module."""

    strict: bool = False
    graph: bool = False
    report: Callable[[GraphReport], None] | None = field(default=None, repr=False)
    interpret: bool = False

    @staticmethod
    def of(mode: str | None, options: Mapping[str, Any] | None) -> BackendOptions:
        """What torch was asked. Raises ArgusError AG1046 for what there is not."""
        known = tuple(BackendOptions.__dataclass_fields__)
        for name in options or ():
            if name not in known:
                raise fail(
                    "AG1046",
                    None,
                    f"there is no option `{name}`",
                    help=f"options are {', '.join(known)}",
                )
        mode = mode or "default"
        if mode not in _MODES:
            raise fail(
                "AG1046",
                None,
                f'there is no mode "{mode}"',
                help=f"modes are {', '.join(_MODES)}",
            )
        if mode.startswith("max-autotune"):
            logger.warning(
                'mode="%s": the backend of Argus searches nothing; '
                "`argus optimize` does",
                mode,
            )
        found = BackendOptions(**(options or {}))
        if mode in ("reduce-overhead", "max-autotune"):
            return BackendOptions(found.strict, True, found.report, found.interpret)
        return found


def argus_backend(
    graph: GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """The backend, as torch calls it: a graph that dynamo traced, and fake inputs.

    Raises ArgusError AG1043 where something stays in torch and ``strict``, AG1046 for
    an option or mode that there is not, and what proving and building kernels raise.
    """
    from torch._dynamo.backends.common import aot_autograd

    chosen = BackendOptions.of(mode, options)
    each = {
        f"{short}_compiler": partial(_compiled, role, chosen)
        for short, role in (
            ("fw", "forward"), ("bw", "backward"), ("inference", "inference"),
        )
    }  # fmt: skip
    if chosen.interpret or any(
        getattr(x, "is_cuda", False) for x in example_inputs
    ):  # else all of it stays in torch
        gather_attention(graph)
    backend = aot_autograd(
        **each,
        decompositions=decompositions(),
        partition_fn=_partitioned,
        keep_inference_input_mutations=True,  # of training, too
    )
    with _gradients_of_overlapping(graph):
        return backend(graph, example_inputs)


def _gradients_of_overlapping(graph: GraphModule) -> AbstractContextManager[Any]:
    """Gradients of results lie densely, where elements of a result share memory.

    Torch copies a gradient to memory that is laid out as its result is: of windows that
    overlap (``x.unfold(0, 2, 1)``) it would keep the last of several elements.
    """
    import torch
    from torch import _functorch

    made = [
        n.meta.get("example_value") for n in graph.graph.output_node().all_input_nodes
    ]
    if any(isinstance(t, torch.Tensor) and _overlaps(t) for t in made):
        config: Any = vars(_functorch)["config"]
        return config.patch(guess_tangent_strides_as_outputs=False)
    return nullcontext()


def _overlaps(tensor: Any) -> bool:
    """Whether elements may share memory; sizes that are open torch sees to itself."""
    known = all(isinstance(n, int) for n in (*tensor.shape, *tensor.stride()))
    return known and share_memory(tensor.shape, tensor.stride())


def _partitioned(joint: GraphModule, inputs: Any, **named: Any) -> Any:
    """The forward and the backward graph.

    What depends on no input (tables, masks) is in both: known where it is used. Random
    numbers are drawn in the forward graph alone, also where a user asked for the rest
    to be computed again (``torch.utils.checkpoint``): none is drawn twice.
    """
    import torch
    from torch._functorch.partitioners import min_cut_rematerialization_partition
    from torch.utils.checkpoint import CheckpointPolicy

    known: set[Any] = set()
    for node in joint.graph.nodes:
        tags = getattr(node.target, "tags", ())
        drawn = torch.Tag.nondeterministic_seeded in tags
        if drawn:
            for each in (node, *_parts(node)):
                if each.meta.get("recompute") is not None:
                    each.meta["recompute"] = CheckpointPolicy.MUST_SAVE
        if (
            node.op == "call_function"
            and not drawn
            and all(n in known for n in node.all_input_nodes)
        ):
            known.add(node)
            node.meta["recompute"] = CheckpointPolicy.MUST_RECOMPUTE
    return min_cut_rematerialization_partition(joint, inputs, **named)


def _parts(node: Any) -> list[Any]:
    """The tensors among the results of a call, as nodes."""
    import torch

    return [
        user
        for user in node.users
        if user.target is operator.getitem
        and isinstance(user.meta.get("val"), torch.Tensor)
    ]


def _compiled(
    role: str, options: BackendOptions, graph: GraphModule, example_inputs: Any
) -> Callable[[list[Any]], Any]:
    """What runs a graph of ATen operators, for AOTAutograd."""
    call = _GraphCall(role, options, graph)
    call._boxed_call = True  # type: ignore[attr-defined] # torch's: arguments in a list
    if not any(_symbolic(node) for node in graph.graph.nodes):
        call.add(None, lambda: lambda node: node.meta.get("val"))
    return call


class _GraphCall:
    """A graph's programs: one, or one for each choice of its symbolic sizes."""

    def __init__(self, role: str, options: BackendOptions, graph: GraphModule) -> None:
        self._role, self._options, self._whole = role, options, graph
        self._graph, self._updated = without_updates(graph)
        self._programs: OrderedDict[object, Callable[[Sequence[Any]], Any]] = (
            OrderedDict()
        )
        self._only: Callable[[Sequence[Any]], Any] | None = None
        self._seen: OrderedDict[object, None] = OrderedDict()

    def __call__(self, arguments: list[Any]) -> Any:
        """The outputs of the graph; ``arguments`` is emptied."""
        given = tuple(arguments)
        arguments.clear()
        if self._only is not None:
            return self._only(given)
        key = tuple(
            (*a.shape, *a.stride()) if hasattr(a, "stride") else a for a in given
        )
        found = self._programs.get(key)
        if found is None and self._waits(key):
            return self._whole.forward(*given)
        if found is None:
            found = self.add(key, partial(_noted, self._graph, given))
        return found(given)

    def _waits(self, key: object) -> bool:
        """Whether torch computes a call: many sizes came, and these for the first time.

        It is said once.
        """
        few = len(self._programs) < _AT_ONCE
        if few or key in self._seen or self._options.strict:
            return False
        if not self._seen:
            why = f"sizes that come once, behind {_AT_ONCE} others"
            self._say(GraphReport(self._role, whole=why))
        if len(self._seen) >= _SEEN:
            self._seen.popitem(last=False)
        self._seen[key] = None
        return True

    def add(
        self, key: object, noted: Callable[[], Callable[[Any], Any]]
    ) -> Callable[[Sequence[Any]], Any]:
        """The program for sizes that ``noted`` tells; ``key`` None: for all calls."""
        made = self._program(noted, open_sizes=key is not None)
        if key is None:
            self._only = made
        else:
            if len(self._programs) >= _SIZES:
                self._programs.popitem(last=False)
            self._programs[key] = made
        return made

    def _program(
        self, noted: Callable[[], Callable[[Any], Any]], *, open_sizes: bool
    ) -> Callable[[Sequence[Any]], Any]:
        options = self._options
        places: dict[Any, int] = {}
        for node in self._graph.graph.nodes:
            if node.op == "placeholder":
                places[node] = len(places)
        try:
            walk = GraphCapture(self._graph.graph, noted())
            program = walk.program(
                lambda node: GivenFrom("input", places[node], node.name), self._graph
            )
            plan = replace(kept_plan(program), open_sizes=open_sizes)
        except ArgusError as error:
            if error.diagnostics[0].code != "AG1041":
                raise
            return self._in_torch(error.diagnostics[0].message)
        if options.strict:
            require_whole(plan)
        if not plan.kernels:
            return self._in_torch("no operator of it has a kernel", plan)
        on_gpu = program.device.startswith("cuda")
        if not on_gpu and not options.interpret:
            return self._in_torch(f"its tensors are on `{program.device}`", plan)
        run = in_interpreter if options.interpret and not on_gpu else None
        try:
            call = called(plan, run, options.graph)
        except ArgusError as error:
            first = error.diagnostics[0]
            if not first.code.startswith(_OWN_MISTAKES):
                raise
            why = (
                f"a mistake of Argus, {first.code} ({first.message}): please report it"
            )
            return self._in_torch(why, plan)
        self._say(GraphReport(self._role, _kernels(plan), _left(plan)))
        bound = _bound(plan, call, self._tangents(places))
        return self._updating(bound) if self._updated else bound

    def _updating(
        self, call: Callable[[Sequence[Any]], Any]
    ) -> Callable[[Sequence[Any]], Any]:
        """The call, which then changes inputs, and returns what is left."""
        places = self._updated

        def run(given: Sequence[Any]) -> Any:
            results = call(given)
            count = len(results) - len(places)
            copy_all([given[i] for i in places], results[count:])
            return results[:count]

        return run

    def _tangents(self, places: Mapping[Any, int]) -> frozenset[int]:
        """Inputs that come from outside of torch's graphs, and may lie otherwise."""
        return frozenset(
            i for node, i in places.items() if node.name.startswith("tangents")
        )

    def _in_torch(
        self, why: str, plan: ProgramPlan | None = None
    ) -> Callable[[Sequence[Any]], Any]:
        whole_is_fine = plan is not None and not plan.kernels and not plan.left
        if self._options.strict and not whole_is_fine:
            raise fail(
                "AG1043", None, f"all of the {self._role} graph stays in torch: {why}"
            )
        left = _left(plan) if plan is not None else ()
        if not whole_is_fine:
            self._say(GraphReport(self._role, (), left, why))
        forward = self._whole.forward
        return lambda given: forward(*given)

    def _say(self, report: GraphReport) -> None:
        logger.log(logging.WARNING if report.whole else logging.INFO, "%s", report)
        if self._options.report is not None:
            self._options.report(report)


def _bound(
    plan: ProgramPlan, call: Callable[[Sequence[Any]], Any], checked: frozenset[int]
) -> Callable[[Sequence[Any]], Any]:
    """A plan's call, on the arguments of its graph. ``checked``: see `_tangents`."""
    program = plan.program
    made = [v.made for v in program.values if isinstance(v.made, GivenPrimitive)]
    places = [cast("int", m.source) for m in made if m.kind == "input"]
    fixed = [program.tensors[str(m.source)] for m in made if m.kind != "input"]
    expected = [
        (n, m.strides) for n, m in enumerate(made)
        if m.kind == "input" and m.source in checked
    ]  # fmt: skip
    every = places == list(range(len(places))) and not fixed
    pairs = [n for n, m in enumerate(made) if m.pairs]

    def run(given: Sequence[Any]) -> Any:
        if not every or len(given) != len(places):
            given = [*(given[i] for i in places), *fixed]
        if pairs:
            given = list(given)
            for n in pairs:
                given[n] = as_pairs(given[n])
        for n, strides in expected:
            if given[n].stride() != strides:
                given = list(given)
                given[n] = relaid(given[n], strides)
        return call(given)

    return run


def _symbolic(node: Any) -> bool:
    """Whether torch left a size of a node open."""
    import torch

    numbers = (torch.SymInt, torch.SymFloat, torch.SymBool)
    for part in leaves_of(node.meta.get("val")):
        if isinstance(part, numbers):
            return True
        if isinstance(part, torch.Tensor):
            sizes = (*part.shape, *part.stride(), part.storage_offset())
            if any(isinstance(n, torch.SymInt) for n in sizes):
                return True
    return False


def _noted(graph: GraphModule, given: Sequence[Any]) -> Callable[[Any], Any]:
    """What each node of a graph is, for arguments of these sizes.

    Raises ArgusError AG1041 where elements decide that.
    """
    import torch
    from torch._subclasses import DynamicOutputShapeException, FakeTensorMode
    from torch._subclasses.fake_tensor import DataDependentOutputException
    from torch.fx import Interpreter

    found: dict[str, Any] = {}

    class Notes(Interpreter):
        def run_node(self, n: Any) -> Any:
            try:
                found[n.name] = result = super().run_node(n)
            except (DataDependentOutputException, DynamicOutputShapeException):
                what = f"what {n.target} gives depends on elements"
                raise fail("AG1041", None, what) from None
            return result

    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        fake = [
            torch.empty_strided(a.shape, a.stride(), dtype=a.dtype, device=a.device)
            if isinstance(a, torch.Tensor)
            else a
            for a in given
        ]
        Notes(graph).run(*fake)
    return lambda node: found.get(node.name)


def _kernels(plan: ProgramPlan) -> tuple[str, ...]:
    return tuple(step.source.name for step in plan.kernels)


def _left(plan: ProgramPlan) -> tuple[tuple[str, str], ...]:
    return tuple((step.what, step.why) for step in plan.left)
