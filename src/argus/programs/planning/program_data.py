"""A plan as plain data, and back: what a file holds that runs its kernels.

    sources = KernelFiles()
    data = sources.plan_data(plan)               # dicts, lists, numbers and text
    plan = plan_of_data(data, sources.texts, "cuda:0")

The data says what a call needs and no more: values with shapes and element types,
launches with the tensors that they walk, calls of torch, results. Of what a kernel
computes its file says everything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from argus.diagnostics import fail
from argus.programs.capturing.sequence_losses import sequence_operators
from argus.programs.lowering.kernel_file import KernelSource
from argus.programs.lowering.naming import KernelTensor
from argus.programs.planning.plan import (
    KernelStep,
    PlanStep,
    ProgramPlan,
    RepeatedStep,
    TorchStep,
)
from argus.programs.planning.value_parts import parts_of
from argus.programs.tensors.tensor_program import (
    CallOperand,
    ContractPrimitive,
    FilledPrimitive,
    GatherPrimitive,
    GivenPrimitive,
    MapPrimitive,
    PositionPrimitive,
    Primitive,
    ProgramValue,
    ReducePrimitive,
    ScanPrimitive,
    ShownMemory,
    TensorProgram,
    TorchCall,
    TorchPrimitive,
    ViewedValue,
    WrittenPrimitive,
    stored_type,
)
from argus.programs.tensors.views import (
    BorderedView,
    LinearView,
    OperandView,
    ReshapedView,
)

if TYPE_CHECKING:
    from torch import Tensor

Data = dict[str, Any]
"""What JSON can say."""

_VIEWS = {"linear": LinearView, "reshaped": ReshapedView, "bordered": BorderedView}
_MADE = {
    "map": MapPrimitive,
    "filled": FilledPrimitive,
    "position": PositionPrimitive,
    "reduce": ReducePrimitive,
    "scan": ScanPrimitive,
    "contract": ContractPrimitive,
    "gather": GatherPrimitive,
}
"""What torch computes where there is no kernel, by its word in the data."""


# ------------------------------------------------------------------------- to data


class KernelFiles:
    """The kernel files of some plans, by name; ``texts``."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def plan_data(self, plan: ProgramPlan) -> Data:
        """A plan as data, with the names of its kernel files.

        Raises ArgusError AG1048 for a call of torch with an argument that has no text.
        """
        return _plan_data(plan, self.named)

    def named(self, source: KernelSource) -> str:
        """The name of a kernel's file: its kernel's, and a number if texts differ."""
        name, count = source.name, 1
        while self.texts.setdefault(name, source.text) != source.text:
            count += 1
            name = f"{source.name}_{count}"
        return name


def _plan_data(plan: ProgramPlan, named: Callable[[KernelSource], str]) -> Data:
    program = plan.program
    tree = program.tree
    used: dict[ProgramValue, None] = {}
    for step in plan.steps:
        used.update(dict.fromkeys((*step.read, *step.written)))
    used.update((r.value, None) for r in program.results if isinstance(r, ViewedValue))
    own = [v for v in program.values if v in used or isinstance(v.made, GivenPrimitive)]
    values = dict.fromkeys([*own, *used])  # a recurrence has more between its kernels
    return {
        "device": program.device,
        "values": {v.name: _value_data(v) for v in values},
        "steps": [_step_data(step, named) for step in plan.steps],
        "results": [_viewed_data(r) for r in program.results],
        "strides": [None if told is None else [*told] for told in program.told],
        "updates": [*program.updates],
        "shown": [_shown_data(s) for s in program.shown] if any(program.shown) else [],
        "pairs": sorted(program.pairs),
        "numbers": {str(i): _plain(n) for i, n in program.fixed.items()},
        "nested": None if tree is None else _nesting(tree),
    }


def _shown_data(shown: ShownMemory | None) -> Data | None:
    if shown is None:
        return None
    return {
        "source": shown.source,
        "within": [*shown.within],
        "shape": [*shown.shape],
        "strides": [*shown.strides],
        "offset": shown.offset,
    }


def _shown(said: Data | None) -> ShownMemory | None:
    if said is None:
        return None
    within, shape, strides = (tuple(said[k]) for k in ("within", "shape", "strides"))
    return ShownMemory(said["source"], within, shape, strides, said["offset"])


def _nesting(tree: Any) -> str:
    from torch.utils import _pytree

    try:
        return _pytree.treespec_dumps(tree)
    except NotImplementedError as error:
        raise _unsaid(f"a class of its results has no name: {error}") from error


def constants_data(tensors: Mapping[str, Tensor]) -> Data:
    """Tensors with their elements."""
    return {
        name: {
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "shape": [*tensor.shape],
            "elements": _plain(cast("Any", tensor.detach().flatten()).tolist()),
        }
        for name, tensor in tensors.items()
    }


def _value_data(value: ProgramValue) -> Data:
    data: Data = {"shape": [*value.shape], "dtype": value.dtype.name}
    if value.pitch:
        data["pitch"] = value.pitch
    if isinstance(value.made, GivenPrimitive):
        made = value.made
        data[made.kind] = made.source
        data["given"] = {"shape": [*made.shape], "strides": [*made.strides]}
        data["device"] = made.device
        if made.pairs:
            data["pairs"] = True
    elif ends := parts_of(value):
        data["parts"] = [*ends]
    return data


def _step_data(step: PlanStep, named: Callable[[KernelSource], str]) -> Data:
    if isinstance(step, RepeatedStep):
        own = [_step_data(each, named) for each in step.body]
        return {"repeated": own, "times": step.times}
    if isinstance(step, KernelStep):
        source = step.source
        return {
            "kernel": source.name,
            "file": named(source),
            "computes": step.computes,
            "sizes": dict(source.sizes),
            "tensors": [_tensor_data(t, step) for t in source.tensors],
            "writes": [*source.outputs],
        }
    data: Data = {"torch": step.what, "why": step.why}
    data["writes"] = [v.name for v in step.results]
    if step.call is None:
        return data | {"value": _made_data(step.results[0].made)}
    call = step.call
    if torch_operator(call.name) is not call.target:
        raise _unsaid(f"{call.name} is no operator of torch.ops")
    made = [cast("TorchPrimitive", v.made) for v in step.results]
    data["indices"] = [m.index for m in made]
    data["orders"] = [list(m.order) for m in made]
    data["pairs"] = [m.pairs for m in made]
    data["operands"] = [_viewed_data(o) for o in call.operands]
    data["arguments"] = [_plain(a) for a in call.arguments]
    return data | {"named": {k: _plain(v) for k, v in call.named.items()}}


def _tensor_data(tensor: KernelTensor, step: KernelStep) -> Data:
    data: Data = {
        "name": tensor.name,
        "value": tensor.buffer.name,
        "shape": [*step.shape(tensor)],
        "strides": [*tensor.all_strides],
        "start": tensor.start,
    }
    return data | ({"advance": tensor.advance} if tensor.advance else {})


def _viewed_data(operand: Any) -> Any:
    """An operand; what is none is a number, or nothing."""
    if not isinstance(operand, ViewedValue):
        return {"number": _plain(operand)}
    data: Data = {"value": operand.value.name}
    if operand.views:
        data["views"] = [
            {"is": _word(_VIEWS, view)} | {k: _plain(x) for k, x in vars(view).items()}
            for view in operand.views
        ]
    return data


def _made_data(made: Primitive) -> Data:
    data: Data = {"is": _word(_MADE, made)}
    for name, part in vars(made).items():
        if isinstance(part, ViewedValue):
            data[name] = _viewed_data(part)
        elif name == "operands":
            data[name] = [_viewed_data(p) for p in part]
        else:
            data[name] = _plain(part)
    return data


def _word(words: Mapping[str, type], thing: object) -> str:
    return next(word for word, kind in words.items() if type(thing) is kind)


def _plain(value: Any) -> Any:
    """An argument of torch, or a part of a view, as data."""
    import torch

    match value:
        case float() if not math.isfinite(value):
            return {"float": str(value)}
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple():
            return [_plain(v) for v in cast("list[Any]", value)]
        case CallOperand():
            operand = {"operand": value.index, "strides": [*value.strides]}
            return operand | ({"pairs": True} if value.pairs else {})
        case torch.device():
            return {"device": str(value)}
        case torch.dtype() | torch.memory_format() | torch.layout():
            return {"of torch": str(value).removeprefix("torch.")}
        case _:
            raise _unsaid(f"an argument of torch is a {type(value).__name__}")


def _unsaid(why: str) -> Exception:
    return fail("AG1048", None, f"the program cannot be written to a file: {why}")


# ----------------------------------------------------------------------- from data


def plan_of_data(data: Data, sources: Mapping[str, str], device: str) -> ProgramPlan:
    """The plan of some data, on a device of torch: ``cuda:0``, ``cpu``.

    ``sources``: kernel files by name.
    """
    return _Reader(data, sources, device).plan()


def constants_of_data(data: Data, device: str) -> dict[str, Tensor]:
    """The tensors of `constants_data`."""
    import torch

    return {
        name: torch.tensor(
            [_number(x) for x in one["elements"]],
            dtype=getattr(torch, one["dtype"]),
            device=device,
        ).reshape(one["shape"])
        for name, one in data.items()
    }


class _Reader:
    def __init__(self, data: Data, sources: Mapping[str, str], device: str) -> None:
        self.data, self.sources, self.device = data, sources, device
        self.values: dict[str, ProgramValue] = {}

    def plan(self) -> ProgramPlan:
        from torch.utils import _pytree

        data = self.data
        made = {n: s for s in data["steps"] if "torch" in s for n in s["writes"]}
        for name, said in data["values"].items():
            if name not in made:
                self.values[name] = self._value(name, said)
        # A step reads what is there before it: its results are made in this order.
        steps = tuple(map(self._step, data["steps"]))
        nested = data["nested"]
        program = TensorProgram(
            tuple(self.values[name] for name in data["values"]),
            tuple(map(self._viewed, data["results"])),
            tree=None if nested is None else _pytree.treespec_loads(nested),
            fixed={int(i): _number(n) for i, n in data["numbers"].items()},
            told=tuple(None if t is None else tuple(t) for t in data["strides"]),
            device=self.device,
            updates=tuple(data["updates"]),
            shown=tuple(map(_shown, data["shown"])),
            pairs=frozenset(data["pairs"]),
        )
        return ProgramPlan(program, steps)

    def _value(
        self, name: str, said: Data, made: Primitive | None = None
    ) -> ProgramValue:
        if made is None:
            made = WrittenPrimitive(tuple(said.get("parts", ())))
            kinds = [k for k in ("input", "weight", "constant") if k in said]
            for kind in kinds:
                shape, strides = said["given"]["shape"], said["given"]["strides"]
                made = GivenPrimitive(
                    kind, said[kind], (*shape,), (*strides,), self._on(said["device"]),
                    said.get("pairs", False),
                )  # fmt: skip
        shape, pitch = tuple(said["shape"]), said.get("pitch", 0)
        return ProgramValue(name, shape, stored_type(said["dtype"]), made, pitch)

    def _on(self, device: str) -> str:
        """Where a tensor is now that was on this device."""
        return self.device if device == self.data["device"] else device

    def _step(self, said: Data) -> PlanStep:
        if "kernel" in said:
            return self._kernel(said)
        if "repeated" in said:
            own = tuple(map(self._kernel, said["repeated"]))
            return RepeatedStep(own, said["times"])
        results = said["writes"]
        values = self.data["values"]
        if "value" in said:
            (name,) = results
            made = self._made(said["value"])
            self.values[name] = self._value(name, values[name], made)
            return TorchStep(said["torch"], said["why"], None, (self.values[name],))
        call = TorchCall(
            said["torch"],
            torch_operator(said["torch"]),
            tuple(map(self._argument, said["arguments"])),
            {k: self._argument(v) for k, v in said["named"].items()},
            tuple(map(self._viewed, said["operands"])),
            said["why"],
        )
        numbers = zip(
            results, said["indices"], said["orders"], said["pairs"], strict=True
        )
        for name, index, order, pairs in numbers:
            made = TorchPrimitive(call, index, tuple(order), pairs)
            self.values[name] = self._value(name, values[name], made)
        found = tuple(self.values[name] for name in results)
        return TorchStep(said["torch"], said["why"], call, found)

    def _kernel(self, said: Data) -> KernelStep:
        loops: dict[str, int] = {}
        tensors: list[KernelTensor] = []
        for one in said["tensors"]:
            dims = [f"{one['name']}.{i}" for i in range(len(one["shape"]))]
            loops.update(zip(dims, one["shape"], strict=True))
            tensors.append(
                KernelTensor(
                    one["name"],
                    self.values[one["value"]],
                    tuple(dims),
                    tuple(one["strides"]),
                    one["start"],
                    unit=False,
                    advance=one.get("advance", 0),
                )
            )
        source = KernelSource(
            said["kernel"],
            self.sources[said["file"]],
            tuple(tensors),
            tuple(said["writes"]),
            said["sizes"],
        )
        return KernelStep(source, said["computes"], loops)

    def _viewed(self, said: Data) -> Any:
        if "value" not in said:
            return _number(said["number"])
        return ViewedValue(
            self.values[said["value"]], tuple(map(_view, said.get("views", ())))
        )

    def _made(self, said: Data) -> Primitive:
        parts: Data = {}
        for name, part in said.items():
            if name == "operands":
                parts[name] = tuple(self._viewed(p) for p in part)
            elif isinstance(part, dict) and "value" in part:
                parts[name] = self._viewed(cast("Data", part))
            elif name != "is":
                parts[name] = _frozen(part)
        return _MADE[said["is"]](**parts)

    def _argument(self, said: Any) -> Any:
        import torch

        match said:
            case list():
                return [self._argument(x) for x in cast("list[Any]", said)]
            case {"operand": int(index)}:
                laid = tuple(cast("Data", said)["strides"])
                return CallOperand(index, laid, cast("Data", said).get("pairs", False))
            case {"device": str(device)}:
                return torch.device(self._on(device))
            case {"of torch": str(name)}:
                return getattr(torch, name)
            case _:
                return _number(said)


def _view(said: Data) -> OperandView:
    parts = {k: _frozen(v) for k, v in said.items() if k != "is"}
    return _VIEWS[said["is"]](**parts)


def _frozen(said: Any) -> Any:
    if isinstance(said, list):
        return tuple(_frozen(x) for x in cast("list[Any]", said))
    return _number(said)


def _number(said: Any) -> Any:
    return float(cast("Data", said)["float"]) if isinstance(said, dict) else said


@cache
def torch_operator(name: str) -> Any:
    """The operator with this name, as torch prints it; None where there is none."""
    import torch

    if name.startswith("argus_programs."):
        sequence_operators()  # which a program in a file is the first to name
    found: Any = torch.ops
    for part in name.split("."):
        found = getattr(found, part, None)
    return found
