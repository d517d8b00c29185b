"""A PyTorch file on a GPU by KernelBench's rules: is it right, and how fast?

A part of `programs.py`. The model is made once, from seed 42. For each of five seeds
there are inputs of their own, and the program's result stands beside eager torch's:

    tolerance   the least number t with |got - wanted| <= t + t |wanted| everywhere, as
                `torch.allclose` says it (KernelBench asks for 1e-4 of f32 and 1e-2 of
                f16 and bf16; its first versions for 1e-2)
    error       the norm of what the program's result is off from that in f64, over the
                norm of the latter; `error_torch` is that of eager torch
    worst       the tolerance beside that in f64; `worst_torch` is eager torch's

Before the first call what is free of the GPU's memory is filled with NaN, so that
nothing may be left out. Inputs are compared with a copy after each call. A second
call with the same inputs has memory of its own, and the same result.

Times are medians of single calls between two events; the L2 cache is written over
before each, and what the host does counts as far as the GPU waits for it.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.utils import _pytree

SEEDS = 5
FLUSHED = 256 << 20
"""Bytes written over before a call that is timed."""
REPEATS = 30
LEAST_REPEATS = 5
SECONDS = 0.12
"""About how long a call is repeated."""
CHUNK = 1 << 26
"""Elements compared at a time."""
POISONED = 16 << 30
"""Most bytes that are filled with NaN."""


class TorchModule:
    """A file of KernelBench's form: its model, and inputs by seed, on a GPU."""

    def __init__(self, path: Path) -> None:
        self.names = ModuleType(f"file_{path.stem}")
        self.names.__file__ = str(path)
        text = path.read_text(encoding="utf-8")
        exec(compile(text, str(path), "exec"), vars(self.names))

    def model(self) -> Any:
        """The module in evaluation mode, from seed 42."""
        torch.manual_seed(42)
        made = getattr(self.names, "get_init_inputs", tuple)()
        torch.manual_seed(42)
        with torch.device("cuda"):
            return self.names.Model(*made).eval().to("cuda")

    def inputs(self, seed: int) -> list[Any]:
        """The arguments of a call."""
        torch.manual_seed(seed)
        with torch.device("cuda"):
            made = self.names.get_inputs()
        return [x.to("cuda") if isinstance(x, torch.Tensor) else x for x in made]


def flat(value: Any) -> list[Any]:
    """The tensors of a result."""
    return [t for t in _pytree.tree_leaves(value) if isinstance(t, torch.Tensor)]


def copied(inputs: Sequence[Any]) -> list[Any]:
    """Inputs in memory of their own."""
    return [x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]


def same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether two lists have the same bits in their tensors."""
    pairs = zip(flat(list(a)), flat(list(b)), strict=True)
    return all(
        bool(torch.equal(x, y)) or bool(torch.equal(x.isnan(), y.isnan())
        and torch.equal(x.nan_to_num(), y.nan_to_num()))
        for x, y in pairs
    )  # fmt: skip


def _chunks(tensor: Any) -> Any:
    return tensor.contiguous().view(-1).split(CHUNK)


def tolerance(got: Any, wanted: Any) -> float:
    """The least tolerance with which all elements are close; infinite: none."""
    pairs = list(zip(flat(got), flat(wanted), strict=True))
    worst = 0.0
    for a, b in pairs:
        if a.shape != b.shape or a.dtype != b.dtype:
            return float("inf")
        for x, y in zip(_chunks(a), _chunks(b), strict=True):
            x, y = x.double(), y.double()
            off = (x - y).abs() / (1 + y.abs())
            alike = (x == y) | (x.isnan() & y.isnan())
            off = torch.where(alike, 0.0, torch.where(off.isnan(), torch.inf, off))
            worst = max(worst, float(off.max()) if off.numel() else 0.0)
    return worst


def alike(exact: Any, got: Any) -> list[Any]:
    """The tensors of a result in f64 in another result's types."""
    pairs = zip(flat(exact), flat(got), strict=True)
    return [x.to(y.dtype) for x, y in pairs]


def error(got: Any, exact: Any) -> float:
    """The norm of the difference over that of what is exact; several: the largest."""
    worst = 0.0
    for a, b in zip(flat(got), flat(exact), strict=True):
        off = size = 0.0
        for x, y in zip(_chunks(a), _chunks(b), strict=True):
            off += float((x.double() - y.double()).square().sum())
            size += float(y.double().square().sum())
        worst = max(worst, (off / size) ** 0.5 if size else off**0.5)
    return worst


def exact_result(model: Any, inputs: Sequence[Any]) -> Any:
    """The result in f64; of 16 bits in f32 where an operator takes nothing wider."""
    floats = [
        x.dtype
        for x in (*model.parameters(), *flat(list(inputs)))
        if x.is_floating_point()
    ]
    try:
        return _in_type(model, inputs, torch.float64)
    except (RuntimeError, NotImplementedError):
        if any(t.itemsize > 2 for t in floats):
            raise
        return _in_type(model, inputs, torch.float32)


def _in_type(model: Any, inputs: Sequence[Any], dtype: torch.dtype) -> Any:
    def wide(x: Any) -> Any:
        floats = isinstance(x, torch.Tensor) and x.is_floating_point()
        return x.to(dtype) if floats else x

    return copy.deepcopy(model).to(dtype)(*[wide(x) for x in inputs])


def poison(bytes_: int) -> None:
    """Fill memory that is allocated next with NaN."""
    free = torch.cuda.mem_get_info()[0]
    size = min(bytes_, POISONED, free // 3)
    torch.empty(size, dtype=torch.uint8, device="cuda").fill_(0xFF)


def correctness(
    file: TorchModule, model: Any, call: Callable[..., Any], exact: bool
) -> dict[str, Any]:
    """What five seeds say."""
    torch.manual_seed(42)
    seeds = [int(torch.randint(0, 2**32 - 1, (1,)).item()) for _ in range(SEEDS)]
    said: dict[str, Any] = {"tolerance": 0.0, "complaints": []}
    for number, seed in enumerate(seeds):
        inputs = file.inputs(seed)
        kept = copied(inputs)
        torch.manual_seed(seed)  # a model may draw numbers: the same in each call
        wanted = model(*inputs)
        if not number:
            poison(2 * sum(t.nbytes for t in flat([inputs, wanted])))
        torch.manual_seed(seed)
        got = call(*inputs)
        torch.cuda.synchronize()
        if not same(inputs, kept):
            said["complaints"].append("the program changes its inputs")
        del kept
        said["tolerance"] = max(said["tolerance"], tolerance(got, wanted))
        if number:
            continue
        torch.manual_seed(seed)
        again = call(*inputs)
        places = {t.data_ptr() for t in flat([got, inputs, list(model.parameters())])}
        if any(t.numel() and t.data_ptr() in places for t in flat(again)):
            shared = {t.data_ptr() for t in flat(wanted)}
            own = {t.data_ptr() for t in flat(inputs)}
            if not shared & own:  # torch itself returns no input
                said["complaints"].append("a result lies in memory that is in use")
        said["same_again"] = same(flat(got), flat(again))
        del again
        said["nan"] = any(bool(t.isnan().any()) for t in flat(wanted))
        if exact:
            try:
                right = exact_result(model, inputs)
                said["error"] = error(got, right)
                said["error_torch"] = error(wanted, right)
                said["worst"] = tolerance(got, alike(right, got))
                said["worst_torch"] = tolerance(wanted, alike(right, wanted))
            except Exception as problem:  # noqa: BLE001 - the row says so
                said["no_f64"] = f"{type(problem).__name__}: {problem}"[:200]
    return said


def median_us(call: Callable[[], Any], seconds: float = SECONDS) -> float:
    """The median of single calls with a cold L2 cache, by events, in microseconds."""
    buffer = torch.empty(FLUSHED, dtype=torch.uint8, device="cuda")
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < REPEATS:
        if len(times) >= LEAST_REPEATS and time.perf_counter() - began > seconds:
            break
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        buffer.fill_(42)
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1000)
    return sorted(times)[len(times) // 2]


def in_graph(model: Any, inputs: Sequence[Any]) -> Callable[[], Any]:
    """Eager torch, recorded once as a CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            model(*inputs)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(*inputs)
    return graph.replay


def baseline(name: str, model: Any, inputs: Sequence[Any]) -> Callable[[], Any]:
    """A baseline, ready to be timed."""
    match name:
        case "eager":
            return partial(model, *inputs)
        case "graph":
            return in_graph(model, inputs)
        case "compile":
            return partial(torch.compile(model), *inputs)
        case "autotune":
            return partial(torch.compile(model, mode="max-autotune"), *inputs)
        case _:
            raise ValueError(f"no baseline is called {name}")


def kernel_times(plan: Any, inputs: Sequence[Any]) -> list[tuple[str, str, float, int]]:
    """The kernels of a plan in order: name, sizes, microseconds by itself, launches."""
    from argus.programs.running.bases import PlannedMemory
    from argus.programs.running.execution import ProgramCall
    from argus.programs.running.given import GivenTensors
    from argus.programs.running.launches import LaunchSegment

    given = GivenTensors(plan.program)(inputs, plan.program.tensors)
    memory = ProgramCall(plan).launched(*given)
    pointers = [0 if t is None else t.data_ptr() for t in memory]
    place = PlannedMemory(plan).place
    rows: list[tuple[str, str, float, int]] = []
    for step, count in plan.launches:
        launch = LaunchSegment([step], place, "cuda", torch.cuda.current_device())
        taken = median_us(partial(launch, memory, pointers), SECONDS / 10)
        sizes = " ".join(f"{n}={size}" for n, size in step.source.sizes.items())
        rows.append((step.source.name, sizes, taken, count))
    return rows


def timed(
    names: Sequence[str],
    model: Any,
    inputs: Sequence[Any],
    programs: dict[str, Callable[..., Any]],
) -> dict[str, Any]:
    """Medians in microseconds of baselines and programs; what fails says so."""
    said: dict[str, Any] = {}
    calls: dict[str, Callable[[], Callable[[], Any]]] = {
        name: partial(baseline, name, model, inputs) for name in names
    }
    for name, program in programs.items():
        calls[name] = partial(partial, program, *inputs)
    for name, make in calls.items():
        try:
            said[f"{name}_us"] = median_us(make())
        except Exception as problem:  # noqa: BLE001 - the row says so
            first = str(problem).strip().partition("\n")[0]
            said[f"{name}_failed"] = f"{type(problem).__name__}: {first}"[:200]
        torch.cuda.synchronize()
    return said
