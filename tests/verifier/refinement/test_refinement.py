"""Placed programs refine their tile programs, and mistakes of placing are found."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import argus
from argus.diagnostics import ArgusError
from argus.equivalence.programs import programs_of
from argus.evaluation.requests import default_dtypes
from argus.ir import ops as o
from argus.ir.expr import Const, binary
from argus.ir.placement import MmaPlan, TmaPlan, WgmmaPlan
from argus.ir.printer import print_program
from argus.ir.program import Program
from argus.ir.walk import blocks, walk
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request
from argus.verify.refinement import gaps
from few import EVERY

KERNELS = Path(argus.__file__).parent / "kernels"
FEW = KERNELS / "four_bit" / "few.py"
FILES = sorted([*KERNELS.glob("*/kernel.py"), *KERNELS.glob("*/forms/*.py"), FEW])


TARGETS = ("sm_90a", "sm_80")


def programs() -> Iterator[tuple[str, Kernel]]:
    for file in FILES:
        for name, kernel in load_kernels(str(file)).kernels.items():
            yield f"{file.parent.name}-{name}", kernel


ACROSS_WARPS = """
import argus as ag
from argus import f32

@ag.kernel
def norm(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    i = ag.block(M)
    x = ag.load(X[i:, 0:], (1, 4096))
    y = x - ag.broadcast(ag.max(x, "N"), x)
    Y[i:, 0:] = y / ag.broadcast(ag.sum(y, "N"), x)
"""
"""Rows that are spread over several warps: placing takes the reductions apart."""

ALL = dict(programs())


@cache
def each(name: str) -> list[tuple[Program, Program]]:
    """Tile and placed programs of a kernel, those that are alike for targets once."""
    found: dict[str, tuple[Program, Program]] = {}
    for target in TARGETS:
        with suppress(ArgusError):  # the target cannot do it
            made = placed(ALL[name], target)
            texts = (print_program(p).replace(target, "any") for p in made)
            found.setdefault("".join(texts), made)
    if not found:
        pytest.skip("what it takes by default is no kernel")
    return list(found.values())


def placed(kernel: Kernel, target: str) -> tuple[Program, Program]:
    """Both programs. Raises ArgusError for what the target cannot do."""
    made = programs_of(Request(kernel, default_dtypes(kernel, {}), {}, target))
    return made.tile, made.placed


@pytest.mark.parametrize("name", ALL)
def test_library_programs_refine_their_tile_programs(name: str):
    for tile, made in each(name):
        assert gaps(tile, made) == ()


MOVING = """
import argus as ag
from argus import f32

@ag.kernel
def k(X: f32["M N"], Y: f32["M N"]):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 32))
    s = ag.shared(f32, (32, 256))
    s.store(ag.load(X[i * 32 :, 0:256], (32, 256)))
    for j in ag.range(0, 8):
        c = j * {step}
        Y[i * 32 :, c:] = s[:, c : c + 32].load().rename("M N")
"""


DIVIDED = """
import argus as ag
from argus import bf16

@ag.kernel
def k(X: bf16["M R C"], Y: bf16["M S"]):
    M, R, C = X.shape
    i = ag.block(ag.cdiv(M, 64))
    n = ag.cdiv(C, 64)
    ring = ag.ring(2, x=bf16.tile(64, 64))
    with ag.role("load", warps=1):
        for t in ag.range(0, R * n):
            with ring.fill() as slot:
                slot.x.load(X[i * 64 :, t // n, t % n * 64 :])
    with ag.role("store", warps=4):
        for t in ag.range(0, R * n):
            with ring.drain() as slot:
                Y[i * 64 :, t * 64 :] = slot.x.load().rename("M S")
"""


def test_a_box_that_begins_where_a_size_divides() -> None:
    """Sizes at which that divides by 0 are no matter: it is the same expression."""
    kernel = load_kernels("divided.py", DIVIDED).kernels["k"]
    assert gaps(*placed(kernel, "sm_90a")) == ()


@pytest.mark.parametrize(("step", "shown"), [(32, True), (16, True), (2, False)])
def test_views_whose_origin_moves(step: int, shown: bool) -> None:
    """Vectors of four at each multiple of what divides the origin, and no other."""
    kernel = load_kernels("moving.py", MOVING.format(step=step)).kernels["k"]
    tile, made = placed(kernel, "sm_90a")
    loads = [op for op in walk(made.body) if isinstance(op, o.LoadShared)]
    assert len(loads) == 1 and loads[0].plan is not None
    assert loads[0].plan.width == (4 if shown else 2)
    assert gaps(tile, made) == ()
    loads[0].plan = replace(loads[0].plan, width=4)
    assert (gaps(tile, made) == ()) == shown


# ------------------------------------------------------------------- mutations

Change = Callable[[], None]


def _lists(block: o.Block) -> Iterator[list[o.AnyOp]]:
    yield block.ops
    for op in block.ops:
        for inner in blocks(op):
            yield from _lists(inner)


def dropped(placed: Program) -> Iterator[Change]:
    """Each operation that moves data or computes is taken out."""
    for ops in _lists(placed.body):
        for op in ops:
            if isinstance(op, o.RegisterOp | o.Dot | o.Access | o.Copy):
                yield lambda ops=ops, op=op: ops.remove(op)


def plans(placed: Program) -> Iterator[Change]:
    """Plans of matrix products and copies, each wrong in one number."""
    for op in walk(placed.body):
        match op:
            case o.Dot(plan=WgmmaPlan() as plan):
                rows = plan.b.offsets
                swapped = ((*rows[0][1:], rows[0][0]), *rows[1:])
                moved = replace(plan.b, offsets=swapped)
                for wrong in (
                    replace(plan, b=replace(plan.b, stride=plan.b.stride + 16)),
                    replace(plan, b=replace(plan.b, mn_major=not plan.b.mn_major)),
                ):
                    yield lambda op=op, wrong=wrong: setattr(op, "plan", wrong)
                if len(rows[0]) > 1:
                    wrong = replace(plan, b=moved)
                    yield lambda op=op, wrong=wrong: setattr(op, "plan", wrong)
            case o.Dot(plan=MmaPlan() as plan):
                first, *rest = plan.steps
                for step in (
                    replace(first, b=plan.steps[-1].b),
                    replace(first, a=plan.steps[-1].a),
                    replace(first, acc=plan.steps[-1].acc),
                ):
                    if step != first:
                        wrong = replace(plan, steps=(step, *rest))
                        yield lambda op=op, wrong=wrong: setattr(op, "plan", wrong)
            case (
                o.CopyAsync(plan=TmaPlan() as plan) | o.CopyOut(plan=TmaPlan() as plan)
            ):
                first, *rest = plan.boxes
                ahead = replace(
                    first, coords=(*first.coords[:-1], binary("+", first.coords[-1], 1))
                )
                later = replace(first, offset=binary("+", first.offset, 1024))
                for boxes in ((ahead, *rest), (later, *rest), (first, first, *rest)):
                    wrong = replace(plan, boxes=boxes)
                    yield lambda op=op, wrong=wrong: setattr(op, "plan", wrong)
                if rest:
                    wrong = replace(plan, boxes=tuple(rest))
                    yield lambda op=op, wrong=wrong: setattr(op, "plan", wrong)
            case _:
                pass


def fields(placed: Program) -> Iterator[Change]:
    """Single fields of operations: constants, functions, axes, fills of rings."""
    for op in walk(placed.body):
        match op:
            case o.Full():
                yield lambda op=op: setattr(op, "value", Const(7.0))
            case o.Reduce(fn="sum" | "max"):
                fn = "max" if op.fn == "sum" else "sum"
                yield lambda op=op, fn=fn: setattr(op, "fn", fn)
            case o.Slice():
                yield lambda op=op: setattr(op, "start", op.start + 1)
            case o.BarrierWait() if op.note and "free" not in op.note:
                wrong = binary("+", op.n, 1)
                yield lambda op=op, wrong=wrong: setattr(op, "n", wrong)
            case o.LoadGlobal():
                view = op.view
                coords = (binary("+", view.coords[0], 1), *view.coords[1:])
                wrong = replace(view, coords=coords)
                yield lambda op=op, wrong=wrong: setattr(op, "view", wrong)
            case o.LoadShared():
                view = op.view
                wrong = replace(view, stage=binary("+", view.stage, 1))
                yield lambda op=op, wrong=wrong: setattr(op, "view", wrong)
            case o.Elementwise(args=[o.Tile() as a, o.Tile() as b]) if (
                op.fn in ("sub", "div") and a is not b
            ):
                yield lambda op=op, a=a, b=b: setattr(op, "args", (b, a))
            case _:
                pass


def storages(placed: Program) -> Iterator[Change]:
    """Operands of one operation that would share registers."""
    for op in walk(placed.body):
        match op:
            case o.Elementwise(args=[o.Tile() as a, o.Tile() as b]) if a is not b:

                def share(a: o.Tile = a, b: o.Tile = b) -> None:
                    a.storage = b.storage = 10_000

                yield share
            case _:
                pass


def layouts(placed: Program) -> Iterator[Change]:
    """Shared tiles whose rows lie upon each other."""
    for alloc in placed.shared:
        layout = alloc.layout
        if layout is not None and layout.shape[0] > 1:
            wrong = replace(
                layout, digits=(((layout.shape[0], 0),), *layout.digits[1:])
            )
            yield lambda alloc=alloc, wrong=wrong: setattr(alloc, "layout", wrong)


MUTATED = [
    name
    for name in ALL
    if any(
        k in f"{name}-" for k in ("gemm_sm", "-attention-", "-softmax-", "layernorm")
    )
]


@pytest.mark.parametrize("mutation", [dropped, plans, fields, storages, layouts])
@pytest.mark.parametrize("name", MUTATED)
def test_every_mistake_of_placing_is_a_gap(
    name: str, mutation: Callable[[Program], Iterator[Change]]
):
    for tile, made in each(name):
        assert missed(tile, made, mutation) == []


@pytest.mark.parametrize("mutation", [dropped, fields, storages, layouts])
def test_reductions_across_warps_are_followed(
    tmp_path: Path, mutation: Callable[[Program], Iterator[Change]]
):
    file = tmp_path / "norm.py"
    file.write_text(ACROSS_WARPS)
    tile, made = placed(load_kernels(str(file)).kernels["norm"], "sm_90a")
    assert any(isinstance(op, o.Reshape) for op in walk(made.body))
    assert gaps(tile, made) == ()
    assert missed(tile, made, mutation) == []


def missed(
    tile: Program, placed: Program, mutation: Callable[[Program], Iterator[Change]]
) -> list[str]:
    """Mutations after which no gap is found; of many, two of three are looked at."""
    found: list[str] = []
    count = len(list(mutation(placed)))
    for number in range(count):
        if count > 12 and number % 3 == 2 and not EVERY:
            continue
        mutant = copy.deepcopy(placed)
        list(mutation(mutant))[number]()
        if not gaps(tile, mutant):
            found.append(f"{mutation.__name__} {number}")
    return found
