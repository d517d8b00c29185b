"""PyTorch's own inventory of operators as programs of kernels: right, left, or wrong.

    python benchmarks/operators.py                         every operator, two samples
    python benchmarks/operators.py --match softmax --samples 8 --types float32 int64

Operators and samples are those of torch's own tests (`op_db`, which needs the package
`expecttest`). Each sample is a module of one operator: planned, run in the interpreter
and compared with eager torch.

    right    all of it is kernels, and results are torch's
    torch    some of it stays in torch, by name; what there is is right
    refused  there is no plan, and a diagnostic says why (complex numbers, f64)
    random   torch does not give the same twice; nothing is compared
    wrong    results are not torch's
    crash    no diagnostic: an error of Argus

A row for each sample goes to `--out`, a line of JSON each.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LARGEST = 20_000
"""Elements of a tensor, at most: the interpreter is slow."""
NEAR = {"rtol": 1e-4, "atol": 1e-5}
WORST = ("wrong", "crash", "slow")


class SlowError(Exception):
    """It takes longer than the limit."""


def own_copy(tensor: Any) -> Any:
    """A tensor like it, in memory of its own, that begins as far inside of it."""
    import torch

    if tensor.layout is not torch.strided:
        return tensor.clone()
    offset, size = tensor.storage_offset(), tensor.untyped_storage().nbytes()
    whole = tensor.as_strided((size // tensor.itemsize,), (1,), 0).clone()
    return whole.as_strided(tensor.shape, tensor.stride(), offset)


def module_of(function: Any, leaves: list[Any], spec: Any) -> tuple[Any, list[Any]]:
    """A module of the tensors among the leaves of a call; all others are constants."""
    import torch
    from torch.utils import _pytree

    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    class Call(torch.nn.Module):
        def forward(self, *tensors: Any) -> Any:
            filled = list(leaves)
            for i, tensor in zip(places, tensors, strict=True):
                filled[i] = tensor
            args, named = _pytree.tree_unflatten(filled, spec)
            return function(*args, **named)

    return Call(), [leaves[i] for i in places]


def tensors_of(result: Any) -> list[Any]:
    """The tensors and numbers of a result, in order."""
    from torch.utils import _pytree

    return list(_pytree.tree_flatten(result)[0])


def differs(got: list[Any], wanted: list[Any]) -> str:
    """What is different, or nothing."""
    import torch

    if len(got) != len(wanted):
        return f"{len(got)} results, not {len(wanted)}"
    for one, other in zip(got, wanted, strict=True):
        if not isinstance(other, torch.Tensor):
            continue
        if one.dtype != other.dtype or one.shape != other.shape:
            return f"{one.dtype} {tuple(one.shape)}: {other.dtype} {tuple(other.shape)}"
        near = NEAR if other.dtype == torch.float32 else {}
        try:
            torch.testing.assert_close(
                one, other, equal_nan=True, check_stride=False, **near
            )
        except AssertionError as error:
            return " ".join(str(error).split())[:200]
    return ""


def _draws(step: Any) -> bool:
    """Whether torch draws random numbers in a step: the tests set seeds inside."""
    import torch

    tags = getattr(step.call.target, "tags", ()) if step.call else ()
    return torch.Tag.nondeterministic_seeded in tags


def judged(function: Any, leaves: list[Any], spec: Any) -> dict[str, Any]:
    """What becomes of one sample."""
    from argus.diagnostics import ArgusError
    from argus.programs.planning.plan import plan_of
    from argus.programs.running.execution import in_interpreter, run_plan

    model, inputs = module_of(function, leaves, spec)
    wanted = [
        tensors_of(model(*(own_copy(x) for x in inputs)))  # what it changes is not ours
        for _ in range(2)
    ]
    if differs(wanted[0], wanted[1]):
        return {"is": "random"}
    try:
        plan = plan_of(model, tuple(own_copy(x) for x in inputs))
        made = run_plan(
            plan, [own_copy(x) for x in inputs], plan.program.tensors, in_interpreter
        )
    except ArgusError as error:
        text = error.diagnostics[0]
        kind = "refused" if text.code == "AG1041" else "crash"
        return {"is": kind, "why": f"{text.code} {text.message}"}
    if any(_draws(step) for step in plan.left):
        return {"is": "random"}
    wrong = differs(tensors_of(made), wanted[0])
    left = [f"{s.what}: {s.why}" for s in plan.left]
    row = {"kernels": len(plan.kernels), "left": left}
    if wrong:
        return {"is": "wrong", "why": wrong, **row}
    if any("its translation fails" in one for one in left):
        return {"is": "crash", "why": str(left), **row}
    return {"is": "torch" if left else "right", **row}


def samples_of(op: Any, options: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """Samples of an operator with their element types, spread over all there are."""
    import torch
    from torch.utils import _pytree

    for name in options.types:
        dtype = getattr(torch, name)
        if dtype not in op.dtypes:
            continue
        torch.manual_seed(0)
        whole: list[Any] = []
        for sample in op.sample_inputs("cpu", dtype):
            call = ((sample.input, *sample.args), sample.kwargs)
            leaves, spec = _pytree.tree_flatten(call)
            tensors = [x for x in leaves if isinstance(x, torch.Tensor)]
            if tensors and max(x.numel() for x in tensors) <= LARGEST:
                whole.append((leaves, spec))
        step = max(1, len(whole) // options.samples)
        for picked in whole[::step][: options.samples]:
            yield name, picked


def rows_of(op: Any, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each sample of an operator."""
    name = f"{op.name}.{op.variant_test_name}".rstrip(".")
    try:
        samples = list(samples_of(op, options))
    except Exception as error:  # noqa: BLE001 - torch's own
        yield {"op": name, "is": "none", "why": repr(error)}
        return
    for i, (dtype, (leaves, spec)) in enumerate(samples):
        begun = time.monotonic()
        signal.alarm(options.limit)
        try:
            row = judged(op.op, leaves, spec)
        except SlowError:
            row = {"is": "slow"}
        except Exception as error:  # noqa: BLE001 - what is looked for
            row = {"is": "crash", "why": f"{type(error).__name__}: {error}"[:300]}
        finally:
            signal.alarm(0)
        row["s"] = round(time.monotonic() - begun, 2)
        yield {"op": name, "type": dtype, "sample": i, **row}


def main() -> None:
    """Judge, print, count."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--match", default="")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--types", nargs="+", default=["float32"])
    parser.add_argument("--limit", type=int, default=60, help="seconds of a sample")
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()

    def late(*_: Any) -> None:
        raise SlowError

    signal.signal(signal.SIGALRM, late)
    warnings.simplefilter("ignore")
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    first, count = (int(n) for n in options.shard.split("/"))
    chosen = [op for op in op_db if re.search(options.match, op.name)][first::count]
    counts: Counter[str] = Counter()
    out = options.out.open("a", encoding="utf-8") if options.out else None
    for op in chosen:
        for row in rows_of(op, options):
            counts[row["is"]] += 1
            if row["is"] in WORST or (options.match and row["is"] != "right"):
                print(json.dumps(row), flush=True)
            if out is not None:
                print(json.dumps(row), file=out, flush=True)
    print(dict(counts))
    sys.stdout.flush()
    os._exit(1 if any(counts[w] for w in WORST) else 0)


if __name__ == "__main__":
    main()
