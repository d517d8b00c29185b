"""What is done with one PyTorch file, and said of it; a part of `programs.py`."""

from __future__ import annotations

import ast
import fcntl
import gc
import tempfile
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LARGEST = 16
MANY = 1024
"""Sizes from here on stay twice as large, so that groups have several elements."""
Told = Callable[[str], None]
"""Is told which part begins: "prepare", "wait" or "gpu"."""


def smaller(n: int) -> int:
    """A small size that has few of the divisors of a large one."""
    largest = LARGEST if n < MANY else 2 * LARGEST
    while n > largest and n % 2 == 0:
        n //= 2
    return n if n <= largest else 5 + n % 8


def reduced(text: str) -> str:
    """The file with small sizes: what its `SMALL` says of names.

    Where it has none, whole numbers that it assigns to names are made smaller.
    """
    tree = ast.parse(text)
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        if [ast.unparse(t) for t in targets] == ["SMALL"]:
            return f"{text}\nglobals().update(SMALL)\n"

    class Sizes(ast.NodeTransformer):
        def visit_Constant(self, node: ast.Constant) -> ast.AST:
            if type(node.value) is int and node.value > LARGEST:
                return ast.copy_location(ast.Constant(smaller(node.value)), node)
            return node

    for node in tree.body:
        if isinstance(node, ast.Assign):
            node.value = Sizes().visit(node.value)
    return ast.unparse(tree)


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


class FileRow:
    """The row of a file: parts fill it one after the other."""

    def __init__(self, path: Path, options: Namespace, told: Told) -> None:
        self.path, self.options, self.told = path, options, told
        self.row: dict[str, Any] = {"file": f"{path.parent.name}/{path.name}"}
        self.seconds: dict[str, float] = {}
        self.plan: Any = None
        """None until it is made, and where shapes alone are not enough."""

    def made(self) -> dict[str, Any]:
        """All parts. One that fails says so, and the others go on."""
        self.told("prepare")
        parts = [self._planned]
        parts += [] if self.options.no_proof else [self._proved]
        parts += [] if self.options.no_build else [self._built]
        parts += [] if self.options.no_small else [self._small]
        if self.options.gpu:
            parts.append(self._on_gpu)
        for part in parts:
            if self.plan is None and part not in (self._planned, self._on_gpu):
                continue
            began = time.perf_counter()
            try:
                part()
            except Exception as error:  # noqa: BLE001 - a row of the table
                text = str(error).strip().partition("\n")[0]
                name = part.__name__.strip("_")
                self.row.setdefault("failed", []).append(
                    f"{name}: {type(error).__name__}: {text}"[:300]
                )
                if part == self._planned and not self.options.gpu:
                    break
            spent = time.perf_counter() - began
            self.seconds[part.__name__.strip("_")] = round(spent, 2)
        self.row["seconds"] = self.seconds
        return self.row

    # -- without elements

    def _planned(self) -> None:
        """The plan at the file's own sizes."""
        from argus.programs.capturing.capture import capture_shapes
        from argus.programs.planning.plan import plan_program

        device = "cuda:0" if self.options.gpu else None
        self._say(plan_program(capture_shapes(self.path, device)))

    def _say(self, plan: Any) -> None:
        self.plan = plan
        self.row["kernels"] = sum(count for _, count in plan.launches)
        self.row["left"] = [f"{s.what}: {s.why}" for s in plan.left]
        self.row["tf32"] = any('"tf32"' in s.source.text for s in plan.kernels)

    def _proved(self) -> None:
        """What the verifier says of the kernels, at the file's own sizes."""
        from argus.programs.planning.proofs import proof_of

        verdicts = [str(proof_of(step).verdict) for step in self.plan.kernels]
        self.row["verdicts"] = dict(Counter(verdicts))

    def _built(self) -> None:
        """Machine code; it stays on disk."""
        from argus.compiler import launchable
        from argus.programs.planning.kernel_requests import built_request
        from argus.targets import DEFAULT_TARGET

        for step in self.plan.kernels:
            launchable(built_request(step, DEFAULT_TARGET, open_sizes=False))

    def _small(self) -> None:
        """The plan in the interpreter beside eager torch, at reduced sizes."""
        import torch

        from argus.programs.capturing.torch_file import load_file
        from argus.programs.planning.plan import plan_of
        from argus.programs.running.execution import in_interpreter, run_plan

        with tempfile.TemporaryDirectory() as folder:
            small = Path(folder) / self.path.name
            text = reduced(self.path.read_text(encoding="utf-8"))
            small.write_text(text, encoding="utf-8")
            file = load_file(small)
        plan = plan_of(file.model, file.inputs)
        with torch.no_grad():
            wanted = file.model(*file.inputs)
        got = run_plan(plan, file.inputs, plan.program.tensors, in_interpreter)
        self.row["small"] = distance(got, wanted)

    # -- on a GPU

    def _on_gpu(self) -> None:
        """Is it right, and how long does it take?"""
        import program_gpu as gpu
        import torch

        file = gpu.TorchModule(self.path)
        _libraries()
        self.told("wait")
        with alone(self.options.lock), torch.no_grad():
            self.told("gpu")
            began = time.perf_counter()
            model = file.model()
            inputs = file.inputs(0)
            plan, programs = self._programs(model, inputs)
            call = programs["argus"]
            call(*inputs)
            torch.cuda.synchronize()
            self.seconds["first_call"] = round(time.perf_counter() - began, 2)
            found = gpu.correctness(file, model, call, not self.options.no_f64)
            self.row |= found
            self.seconds["right"] = round(time.perf_counter() - began, 2)
            inputs = file.inputs(1)
            self.row |= gpu.timed(self.options.baselines, model, inputs, programs)
            if self.options.profile and plan is not None:
                self.row["by_kernel"] = gpu.kernel_times(plan, inputs)
            self.seconds["timed"] = round(time.perf_counter() - began, 2)
            del model, inputs, plan, call, programs
            gc.collect()
            torch.cuda.empty_cache()

    def _programs(self, model: Any, inputs: Any) -> tuple[Any, dict[str, Any]]:
        """The plan, and what is called: the program, and the same as a CUDA graph.

        A module that cannot be exported (it has a state) goes through torch.compile;
        then there is no plan.
        """
        import torch

        from argus.diagnostics import ArgusError
        from argus.programs.backend import GraphReport
        from argus.programs.compiled import CompiledProgram, bound
        from argus.programs.planning.plan import plan_of

        began = time.perf_counter()
        try:
            if self.plan is None:
                self._say(plan_of(model, inputs))
                self.seconds["planned_again"] = round(time.perf_counter() - began, 2)
            try:
                plan = bound(self.plan, model)
            except ArgusError:  # it has constants, of which shapes are not enough
                plan = plan_of(model, inputs)
            programs = [CompiledProgram(plan), CompiledProgram(plan, graph=True)]
            return plan, dict(zip(("argus", "argus_graph"), programs, strict=True))
        except ArgusError as error:
            if error.diagnostics[0].code != "AG1041":
                raise
        reports: list[GraphReport] = []
        call = torch.compile(model, backend="argus", options={"report": reports.append})
        call(*inputs)
        self.row["kernels"] = sum(len(r.kernels) for r in reports)
        self.row["left"] = [f"{what}: {why}" for r in reports for what, why in r.left]
        self.row["left"] += [r.whole for r in reports if r.whole]
        self.row["not_exported"] = self.row.pop("failed", [])
        self.row["through"] = "torch.compile"
        return None, {"argus": call}


def _libraries() -> None:
    """Load cuBLAS and cuDNN, and the context with them, before the GPU is ours."""
    import torch

    one = torch.ones(1, 1, 4, 4, device="cuda")
    torch.nn.functional.conv2d(one, one)
    one[0, 0] @ one[0, 0]
    torch.cuda.synchronize()


@contextmanager
def alone(lock: str) -> Iterator[None]:
    """The only process with anything on the GPU."""
    with open(lock, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
