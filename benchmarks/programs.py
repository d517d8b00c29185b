"""A folder of PyTorch files as programs of kernels: planned, proved, right, timed.

    python benchmarks/programs.py FOLDER           plan, prove, run at small sizes
    python benchmarks/programs.py FOLDER --gpu     times beside torch, too
    python benchmarks/programs.py FOLDER --match 2 --json OUT.json

A file has `Model`, `get_inputs` and perhaps `get_init_inputs`, as KernelBench's have.
Each is executed in a process of its own, with a limit.

    plan     kernels, and what stays in torch, at the file's own sizes (no elements)
    proved   kernels by verdict, at the file's own sizes
    small    the plan in the interpreter beside eager torch; sizes of the file (whole
             numbers that it assigns) are halved until they are at most 16
    gpu      medians of eager torch, torch.compile and the program, five seeds with
             inputs of their own; the relative distance from eager torch is given, too
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

LARGEST = 16
SEEDS = 5
REPEATS = 20


def smaller(n: int) -> int:
    """A small size that has few of the divisors of a large one."""
    while n > LARGEST and n % 2 == 0:
        n //= 2
    return n if n <= LARGEST else 5 + n % 8


def reduced(text: str) -> str:
    """The file with small sizes: whole numbers that it assigns to names."""
    tree = ast.parse(text)

    class Sizes(ast.NodeTransformer):
        def visit_Constant(self, node: ast.Constant) -> ast.AST:
            if type(node.value) is int and node.value > LARGEST:
                return ast.copy_location(ast.Constant(smaller(node.value)), node)
            return node

    for node in tree.body:
        if isinstance(node, ast.Assign):
            node.value = Sizes().visit(node.value)
    return ast.unparse(tree)


def planned(path: Path, prove: bool) -> dict[str, Any]:
    """The plan at the file's own sizes, and what the verifier says of its kernels."""
    from argus.programs.capture import capture_shapes
    from argus.programs.plan import plan_program
    from argus.programs.proofs import proof_of

    plan = plan_program(capture_shapes(path))
    said: dict[str, Any] = {
        "kernels": len(plan.kernels),
        "left": [f"{step.what}: {step.why}" for step in plan.left],
    }
    if prove:
        verdicts = [str(proof_of(step).verdict) for step in plan.kernels]
        said["verdicts"] = dict(Counter(verdicts))
    return said


def distance(got: Any, wanted: Any) -> float:
    """The norm of the difference over that of what is wanted; several: the largest."""
    import torch

    if not isinstance(wanted, torch.Tensor):
        pairs = zip(got, wanted, strict=True)
        return max((distance(g, w) for g, w in pairs), default=0.0)
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return float("inf")
    a, b = got.double(), wanted.double()
    size = float(b.norm())
    return float((a - b).norm()) / size if size else float((a - b).norm())


def at_small_sizes(path: Path) -> dict[str, Any]:
    """The plan in the interpreter beside eager torch, at reduced sizes."""
    import torch

    from argus.programs.execution import in_interpreter, run_plan
    from argus.programs.plan import plan_of
    from argus.programs.torch_file import load_file

    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / path.name
        small.write_text(reduced(path.read_text(encoding="utf-8")), encoding="utf-8")
        file = load_file(small)
    plan = plan_of(file.model, file.inputs)
    with torch.no_grad():
        wanted = file.model(*file.inputs)
    got = run_plan(plan, file.inputs, plan.program.tensors, in_interpreter)
    return {"small": distance(got, wanted), "small_kernels": len(plan.kernels)}


def median_us(call: Any) -> float:
    """The median of single calls, by events, after three that are not counted."""
    import torch

    times: list[float] = []
    for _ in range(3):
        call()
    for _ in range(REPEATS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1000)
    return sorted(times)[len(times) // 2]


def on_gpu(path: Path) -> dict[str, Any]:
    """Times of eager torch, torch.compile and the program, and their distance."""
    import torch

    import argus
    from argus.programs.torch_file import load_file

    first = load_file(path, 0, "cuda")
    model = first.model
    calls = {
        "eager": model,
        "compile": torch.compile(model),
        "argus": argus.compile(model, first.inputs),
    }
    rows: list[dict[str, float]] = []
    for seed in range(SEEDS):
        inputs = load_file(path, seed, "cuda").inputs
        with torch.no_grad():
            row = {"distance": distance(calls["argus"](*inputs), model(*inputs))}
            for name, call in calls.items():
                row[f"{name}_us"] = median_us(partial(call, *inputs))
        rows.append(row)
    medians = {
        name: sorted(row[name] for row in rows)[len(rows) // 2] for name in rows[0]
    }
    return {**medians, "distance": max(row["distance"] for row in rows)}


def one(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """All of a file. A part that fails says so, and the others go on."""
    said: dict[str, Any] = {"file": path.name}
    parts = [lambda: planned(path, not options.no_proof)]
    if not options.no_small:
        parts.append(lambda: at_small_sizes(path))
    if options.gpu:
        parts.append(lambda: on_gpu(path))
    for part in parts:
        try:
            said |= part()
        except Exception as error:  # noqa: BLE001 - a row of the table
            text = str(error).strip().splitlines()
            said.setdefault("errors", []).append(
                f"{type(error).__name__}: {text[0] if text else ''}"
            )
    return said


def line(said: dict[str, Any]) -> str:
    """A row of the table."""
    left = len(said.get("left", ())) if "left" in said else "?"
    small = f"{said['small']:.1e}" if "small" in said else "-"
    times = " ".join(
        f"{name} {said[f'{name}_us']:.0f}"
        for name in ("eager", "compile", "argus")
        if f"{name}_us" in said
    )
    parts = [
        f"{said['file'][:44]:44}",
        f"kernels {said.get('kernels', '?'):>3} left {left:>3}",
        f"small {small:>8}",
        times,
        str(said.get("verdicts", "")),
        "; ".join(said.get("errors", ()))[:80],
    ]
    return "  ".join(p for p in parts if p)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--no-proof", action="store_true")
    parser.add_argument("--no-small", action="store_true")
    parser.add_argument("--match", default="", help="begin of the names of files")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for a file")
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    if options.folder.is_file():
        print(json.dumps(one(options.folder, options)))
        return
    flags = [f"--{n}" for n in ("gpu", "no-proof", "no-small")]
    given = [f for f in flags if f in sys.argv]
    rows: list[dict[str, Any]] = []
    for path in sorted(options.folder.glob(f"{options.match}*.py")):
        command = [sys.executable, __file__, str(path), *given]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=options.limit
            )
            last = done.stdout.strip().splitlines()
            said = json.loads(last[-1]) if last else {"errors": ["it ended early"]}
        except subprocess.TimeoutExpired:
            said = {"errors": [f"longer than {options.limit} s"]}
        said = {"file": path.name, **said}
        rows.append(said)
        print(line(said), flush=True)
        if options.json is not None:
            options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    whole = [r for r in rows if r.get("left") == []]
    right = [r for r in whole if r.get("small", 1.0) < 1e-4]
    print(f"{len(whole)} of {len(rows)} whole, {len(right)} of these right when small")


if __name__ == "__main__":
    main()
