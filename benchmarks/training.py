"""One training step of models beside eager torch: are gradients right, how fast is it?

    python benchmarks/training.py benchmarks/models/llama.py ...    small, interpreted
    python benchmarks/training.py FILES --gpu --out ROWS.jsonl

A file has `Model`, `get_inputs` and perhaps `get_init_inputs`. A step is the forward
and the backward pass of `torch.compile(model, backend="argus")` in training mode; the
loss weighs each element of the result with a weight of its own. A row, a line of JSON:

    difference   the norm of what all gradients are off from eager torch's, over that of
                 the latter; `worst` is that of a single parameter, among those whose
                 gradients are no rounding errors (1e-3 of the largest norm)
    error        the same to gradients in f64, and `error_torch` of eager torch's; of
                 models that draw no random numbers
    kernels      of the forward and of the backward graph; `left`: what torch computes
    *_us         with --gpu: medians of a step (`eager`, `compile`, `argus`, and
                 `argus_graph`: replayed as CUDA graphs), L2 written over before each
    device       with --profile: of argus, eager and compile, microseconds of a step on
                 the device, and the kernels that take the most of them, each with how
                 often it is launched

Without --gpu sizes are small as in `programs.py`, f32 is multiplied in full, and
kernels are interpreted.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import torch
from program_rows import alone, reduced
from torch.utils import _pytree

from argus.programs.backend import GraphReport

_NEGLIGIBLE = 1e-3
_SHOWN = 14
"""Kernels that a profile names."""


class Step:
    """Forward and backward of a model, on inputs of its own."""

    def __init__(self, path: Path, device: str) -> None:
        text = path.read_text(encoding="utf-8")
        names = ModuleType(f"file_{path.stem}")
        small = reduced(text) if device == "cpu" else text
        exec(compile(small, str(path), "exec"), vars(names))
        torch.manual_seed(0)
        made = getattr(names, "get_init_inputs", list)()
        self.model: Any = names.Model(*made).to(device).train()
        self.weights: dict[tuple[torch.Size, torch.dtype], torch.Tensor] = {}
        inputs = names.get_inputs()
        self.inputs = [x.to(device) if torch.is_tensor(x) else x for x in inputs]

    def _weights(self, x: torch.Tensor) -> torch.Tensor:
        """Those of a result, which are made in the first step."""
        key = x.shape, x.dtype
        if key not in self.weights:
            places = torch.arange(x.numel(), device=x.device).view(x.shape)
            self.weights[key] = places.mul(0.37).cos().to(x.dtype)
        return self.weights[key]

    def wide(self) -> Step:
        """The same in f64."""
        found = copy.copy(self)
        found.model = copy.deepcopy(self.model).double()
        found.inputs = [
            x.double() if torch.is_tensor(x) and x.is_floating_point() else x
            for x in self.inputs
        ]
        return found

    def run(self, call: Callable[..., Any] | None = None) -> None:
        """Gradients are those of this step; ``call`` computes what the model does."""
        self.model.zero_grad(set_to_none=True)
        result = (self.model if call is None else call)(*self.inputs)
        loss: Any = 0.0
        for x in _pytree.tree_leaves(result):
            if torch.is_tensor(x) and x.requires_grad:
                loss = loss + (x * self._weights(x)).sum()
        loss.backward()

    def gradients(self, call: Callable[..., Any] | None = None) -> dict[str, Any]:
        """Those of all parameters, from the same random numbers, and buffers kept."""
        kept = copy.deepcopy(dict(self.model.named_buffers()))
        torch.manual_seed(1)
        self.run(call)
        found = {
            n: p.grad.double()
            for n, p in self.model.named_parameters()
            if p.grad is not None
        }
        with torch.no_grad():
            for name, buffer in self.model.named_buffers():
                buffer.copy_(kept[name])
        return found


def off(found: dict[str, Any], wanted: dict[str, Any]) -> tuple[float, float]:
    """The norm of all differences over that of all gradients, and the worst of one."""
    if found.keys() != wanted.keys():
        return float("inf"), float("inf")
    norms = {n: float(w.norm()) for n, w in wanted.items()}
    parts = {n: float((found[n] - w).norm()) for n, w in wanted.items()}
    least = _NEGLIGIBLE * max(norms.values())
    whole = sum(v * v for v in norms.values()) ** 0.5
    worst = max(parts[n] / norms[n] for n in norms if norms[n] > least)
    return sum(v * v for v in parts.values()) ** 0.5 / whole, worst


def _chance(gpu: bool) -> torch.Tensor:
    """The state of the generator of random numbers."""
    return torch.cuda.get_rng_state() if gpu else torch.random.get_rng_state()


def row_of(
    path: Path, gpu: bool, profiled: bool = False, lock: str = os.devnull
) -> dict[str, Any]:
    """What is said of a file."""
    step = Step(path, "cuda" if gpu else "cpu")
    torch.manual_seed(1)
    began = _chance(gpu)
    wanted = step.gradients()
    draws = not torch.equal(began, _chance(gpu))
    reports: list[GraphReport] = []
    options: dict[str, Any] = {"report": reports.append, "interpret": not gpu}
    call = torch.compile(step.model, backend="argus", options=options)
    start = time.perf_counter()
    found = step.gradients(call)
    row: dict[str, Any] = {"file": f"{path.parent.name}/{path.name}"}
    row["first_step_s"] = round(time.perf_counter() - start, 1)
    row["difference"], row["worst"] = off(found, wanted)
    if not draws:
        try:
            exact = step.wide().gradients()
            row["error"] = off(found, exact)[0]
            row["error_torch"] = off(wanted, exact)[0]
            del exact
        except Exception as problem:  # noqa: BLE001 - the row says so
            row["no_f64"] = f"{type(problem).__name__}: {problem}"[:200]
    row["kernels"] = {r.role: len(r.kernels) for r in reports}
    row["left"] = [f"{r.role}: {what}: {why}" for r in reports for what, why in r.left]
    row["left"] += [f"{r.role}: all of it: {r.whole}" for r in reports if r.whole]
    del found, wanted
    if gpu:
        row |= _times(step, call, profiled, lock)
    return row


def device_times(run: Callable[[], None]) -> dict[str, Any]:
    """Microseconds on the device of one call, and the kernels that take the most.

    Kernels that wait for the one before are begun while it runs: of such a time only
    what comes after its end is theirs.
    """
    from torch.profiler import ProfilerActivity, profile

    run()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as taken:
        run()
        torch.cuda.synchronize()
    spans: list[tuple[float, float, str]] = sorted(
        (e.time_range.start, e.time_range.end, e.name)
        for e in cast("Any", taken.events())
        if e.device_type == torch.autograd.DeviceType.CUDA
    )
    kernels: dict[str, tuple[float, int]] = {}
    ended = 0.0
    for start, end, name in spans:
        us, count = kernels.get(name, (0.0, 0))
        kernels[name] = us + max(0.0, end - max(start, ended)), count + 1
        ended = max(ended, end)
    found = sorted(((us, n, name) for name, (us, n) in kernels.items()), reverse=True)
    return {
        "us": round(sum(us for us, _, _ in found), 1),
        "kernels": [(name[:90], round(us, 1), n) for us, n, name in found[:_SHOWN]],
    }


def _times(
    step: Step, call: Callable[..., Any], profiled: bool, lock: str
) -> dict[str, Any]:
    from program_gpu import median_us

    graphs = {"graph": True}
    calls: dict[str, Callable[[], Any]] = {
        "argus": lambda: call,
        "eager": lambda: None,
        "compile": lambda: torch.compile(step.model),
        "argus_graph": lambda: torch.compile(
            step.model, backend="argus", options=graphs
        ),
    }
    said: dict[str, Any] = {}
    for name, make in calls.items():
        try:
            if name != "argus":
                torch._dynamo.reset()
            made = make()
            step.run(made)
            with alone(lock):
                said[f"{name}_us"] = median_us(lambda made=made: step.run(made))
                if profiled and name != "argus_graph":
                    found = device_times(lambda made=made: step.run(made))
                    said.setdefault("device", {})[name] = found
        except Exception as problem:  # noqa: BLE001 - the row says so
            first = str(problem).strip().partition("\n")[0]
            said[f"{name}_failed"] = f"{type(problem).__name__}: {first}"[:200]
    return said


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--profile", action="store_true", help="times by kernel")
    parser.add_argument("--out", type=Path, help="lines of JSON")
    parser.add_argument("--lock", default=os.devnull, help="one at a time is timed")
    options = parser.parse_args()
    if not options.gpu:  # torch multiplies f32 in full there
        torch.backends.cudnn.allow_tf32 = False
    for path in options.files:
        torch._dynamo.reset()
        try:
            row = row_of(path, options.gpu, options.profile, options.lock)
        except Exception as problem:  # noqa: BLE001 - a row says so
            first = str(problem).strip().partition("\n")[0]
            row = {"file": f"{path.parent.name}/{path.name}"}
            row["failed"] = f"{type(problem).__name__}: {first}"[:300]
        print(json.dumps(row), flush=True)
        if options.out is not None:
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
