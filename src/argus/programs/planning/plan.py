"""The plan of a program: its launches in order, and what stays in torch.

    plan = plan_of(model, inputs)
    plan.kernels, plan.left

Nothing is searched, timed or launched here.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from argus.programs.attention.attention_form import AttentionForm
from argus.programs.attention.chained_form import ChainedForm
from argus.programs.capturing.capture import capture
from argus.programs.lowering.expressions import (
    ApplyNode,
    ElementNode,
    ExpressionNode,
    ReduceNode,
    ScanNode,
    walked,
)
from argus.programs.lowering.kernel_file import KernelSource
from argus.programs.lowering.naming import KernelTensor
from argus.programs.planning.alike import KnownKernels
from argus.programs.planning.copying import copy_what_no_loop_follows
from argus.programs.planning.early_maps import with_early_maps
from argus.programs.planning.grouping import grouped
from argus.programs.planning.kernel_group import KernelGroup
from argus.programs.planning.merging import merged
from argus.programs.planning.product_operands import prepare_products
from argus.programs.planning.recurrences import steps_of
from argus.programs.planning.splitting import split_reductions
from argus.programs.products.product_forms import ProductForm
from argus.programs.tensors.joining import join
from argus.programs.tensors.recurrent_calls import RecurrentCall
from argus.programs.tensors.row_order import in_order_of_readers
from argus.programs.tensors.tensor_program import (
    ContractPrimitive,
    ProgramValue,
    ReducePrimitive,
    TensorProgram,
    TorchCall,
    TorchPrimitive,
    operands_of,
)
from argus.verify.collecting import rarely_collected

if TYPE_CHECKING:
    from torch.nn import Module


@dataclass(frozen=True)
class KernelStep:
    """A launch. ``source`` has the kernel and the buffers of its tensors.

    ``loops``: how often each loop runs of which those are walked. ``planned``: the
    group that it computes; None in a plan that was read back (`program_data.py`).
    """

    source: KernelSource
    computes: str
    loops: Mapping[str, int]
    planned: KernelGroup | None = None

    @property
    def group(self) -> KernelGroup:
        """The group, of a plan that was made here."""
        assert self.planned is not None
        return self.planned

    def shape(self, tensor: KernelTensor) -> tuple[int, ...]:
        """The shape of a parameter of its kernel."""
        return tensor.shape(self.loops)

    @property
    def read(self) -> tuple[ProgramValue, ...]:
        """Values that it reads, each once."""
        outputs = self.source.outputs
        found = (t.buffer for t in self.source.tensors if t.name not in outputs)
        return tuple(dict.fromkeys(found))

    @property
    def written(self) -> tuple[ProgramValue, ...]:
        """Values that it writes, each once."""
        outputs = self.source.outputs
        found = (t.buffer for t in self.source.tensors if t.name in outputs)
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class RepeatedStep:
    """Launches in order, all of them ``times`` times.

    Each time their tensors begin ``KernelTensor.advance`` elements further. What one
    time reads, one before it may have written.
    """

    body: tuple[KernelStep, ...]
    times: int

    @property
    def read(self) -> tuple[ProgramValue, ...]:
        """Values that it reads before it writes them, each once."""
        found: dict[ProgramValue, None] = {}
        written: set[ProgramValue] = set()
        for step in self.body:
            found.update((v, None) for v in step.read if v not in written)
            written.update(step.written)
        return tuple(found)

    @property
    def written(self) -> tuple[ProgramValue, ...]:
        """Values that it writes, each once."""
        return tuple(dict.fromkeys(v for step in self.body for v in step.written))


@dataclass(frozen=True)
class TorchStep:
    """What torch computes: a call, or a value for which there is no kernel."""

    what: str
    why: str
    call: TorchCall | None
    results: tuple[ProgramValue, ...]

    @property
    def read(self) -> tuple[ProgramValue, ...]:
        """Values that it reads, each once."""
        operands = self.call.operands if self.call else operands_of(self.results[0])
        return tuple(dict.fromkeys(o.value for o in operands))

    @property
    def written(self) -> tuple[ProgramValue, ...]:
        """Values that it writes."""
        return self.results


PlanStep = KernelStep | RepeatedStep | TorchStep


@dataclass(frozen=True)
class ProgramPlan:
    """Steps in order. ``program`` has the inputs, weights and results.

    ``open_sizes``: there are such plans for many sizes, one after the other, and they
    share the machine code of kernels.
    """

    program: TensorProgram
    steps: tuple[PlanStep, ...]
    open_sizes: bool = False

    @property
    def kernels(self) -> tuple[KernelStep, ...]:
        """The launches in order; those that are repeated once."""
        return tuple(step for step, _ in self.counted())

    @property
    def launches(self) -> tuple[tuple[KernelStep, int], ...]:
        """The launches, those of one kernel that follow each other as one, counted."""
        found: list[tuple[KernelStep, int]] = []
        for step, times in self.counted():
            before, count = found[-1] if found else (None, 0)
            own = step.source
            if before and (own.text, own.sizes) == (
                before.source.text, before.source.sizes
            ):  # fmt: skip
                found[-1] = (before, count + times)
            else:
                found.append((step, times))
        return tuple(found)

    def counted(self) -> Iterator[tuple[KernelStep, int]]:
        """The kernels of each step in order, and how often it launches them."""
        for step in self.steps:
            if isinstance(step, KernelStep):
                yield step, 1
            elif isinstance(step, RepeatedStep):
                yield from ((own, step.times) for own in step.body)

    @property
    def left(self) -> tuple[TorchStep, ...]:
        """What stays in torch, with the reason."""
        return tuple(s for s in self.steps if isinstance(s, TorchStep))

    @property
    def whole(self) -> bool:
        """Whether nothing stays in torch."""
        return not self.left


def plan_of(model: Module, inputs: Sequence[Any]) -> ProgramPlan:
    """The plan of a module for inputs of these shapes.

    Raises ArgusError AG1041 where torch cannot export the module.
    """
    return plan_program(capture(model, tuple(inputs)))


@rarely_collected()
def plan_program(program: TensorProgram) -> ProgramPlan:
    """The plan of a tensor program, after products and long sums are prepared."""
    program = copy_what_no_loop_follows(in_order_of_readers(join(program)))
    program = with_early_maps(split_reductions(prepare_products(program)))
    known = KnownKernels()
    found = merged(program, grouped(program, known), known)
    groups = {g.stored: g for g in found}
    names = _KernelNames()
    steps: list[PlanStep] = []
    called: dict[TorchCall, list[ProgramValue]] = {}
    for value in program.values:
        if isinstance(value.made, TorchPrimitive):
            called.setdefault(value.made.call, []).append(value)
    for value in program.values:
        if isinstance(value.made, TorchPrimitive):
            results = called.pop(value.made.call, None)
            if results is not None:
                taken = {v.name for v in program.values}
                steps += _call_steps(value.made.call, tuple(results), names, taken)
        elif value in groups:
            steps.append(_step(groups[value], names, known))
    return ProgramPlan(program, tuple(steps))


def _call_steps(
    call: TorchCall,
    results: tuple[ProgramValue, ...],
    names: _KernelNames,
    taken: set[str],
) -> list[PlanStep]:
    """A call of torch, or the kernels of a recurrence."""
    if not isinstance(call, RecurrentCall):
        return [TorchStep(call.name, call.why, call, results)]
    body = plan_program(call.body)
    assert body.whole, body.left  # its operations are all known
    ahead = call.name.rpartition(".")[2]
    own = tuple(
        replace(s, source=names.named(s.source.renamed(f"{ahead}_{s.source.name}")))
        for s in body.kernels
    )
    return [*steps_of(call, results, replace(body, steps=own), taken)]


class _KernelNames:
    """Names of a plan's kernels: one for each text, however often it is launched."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()

    def named(self, source: KernelSource) -> KernelSource:
        """The kernel under the name that its text has, its own one if that is free."""
        name = self._names.get(source.text)
        if name is None:
            name, count = source.name, 1
            while name in self._taken:
                count += 1
                name = f"{source.name}_{count}"
            self._names[source.text] = name
            self._taken.add(name)
        return source.renamed(name)


def _step(group: KernelGroup, names: _KernelNames, known: KnownKernels) -> PlanStep:
    if group.lowered is None or group.form is None:
        return TorchStep(_words(group.stored), group.why, None, (group.stored,))
    computes = computed(group)
    wish = re.sub(r"\W+", "_", "_".join(computes.split(", ")[-3:])) or "copy"
    if keyword.iskeyword(wish):  # "not", "and", "or" alone
        wish = f"logical_{wish}"
    title = f"{computes}, {group.stored.dtype}."
    source = known.source(
        (*group.beside, group.stored),
        group.inside,
        group.lowered,
        group.form,
        (wish, title),
    )
    source = names.named(source)
    return KernelStep(source, computes, group.lowered.sizes, group)


def computed(group: KernelGroup) -> str:
    """The functions of a kernel, in order and each once."""
    assert group.lowered is not None
    if isinstance(group.form, AttentionForm):
        return "attention"
    if isinstance(group.form, ChainedForm):
        return "chained products"
    names: list[str] = []
    inner: set[ExpressionNode] = set()
    if isinstance(group.form, ProductForm):
        inner = set(walked([group.form.reduction.body]))
    for node in group.lowered.nodes:
        match node:
            case _ if node in inner:
                pass
            case ElementNode(tables=tables) if tables:
                names.append("gather")
            case ApplyNode(function=function) if function != "cast":
                names.append(function)
            case ReduceNode(function=function, body=body):
                product = body in inner or (
                    isinstance(body, ApplyNode) and body.function == "mul"
                )
                names.append(
                    "sum of products" if product and function == "sum" else function
                )
            case ScanNode(function=function):
                names.append(f"cum{function}")
            case _:
                pass
    return ", ".join(dict.fromkeys(names)) or "copy"


def _words(value: ProgramValue) -> str:
    match value.made:
        case ContractPrimitive():
            return "product"
        case ReducePrimitive(function=function):
            return function
        case _:
            return value.name
