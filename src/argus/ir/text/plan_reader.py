"""Reading plans: what stands in brackets behind an operation (`plans.py`)."""

from __future__ import annotations

from typing import Any

from argus.ir import ops as o
from argus.ir import placement as p
from argus.ir.memory import GlobalTensor
from argus.ir.text.plans import copied, planned_layout
from argus.ir.text.values import Values
from argus.layout import Fragment

__all__ = ["read_plan", "tensor_map"]

Plan = p.VectorPlan | p.TmaPlan | p.WgmmaPlan | p.MmaPlan
_NAME = r"[^\W\d]\w*(\.\w+)*"


def read_plan(v: Values, op: Any, result: str | None) -> Plan:
    """The plan of ``op``, up to the bracket that closes it.

    ``result`` is the written name of the tile that it makes. Raises TextError for what
    is not so written, or says another number than follows from the rest.
    """
    c = v.cursor
    if c.has("tma"):
        plan: Plan = _tma(v, op)
    else:
        start = c.at
        instruction = c.match(_NAME, "an instruction")[0]
        if c.peek().startswith("x"):
            if instruction not in p.VECTOR_INSTRUCTIONS:
                c.at = start
                raise c.unexpected(" or ".join(p.VECTOR_INSTRUCTIONS))
            plan = _vector(v, instruction, planned_layout(op))
        elif c.has("*"):
            plan = _mma(v, instruction, result)
        else:
            plan = _wgmma(v, instruction)
    c.expect("]")
    return plan


def _vector(v: Values, instruction: str, layout: Fragment | None) -> p.VectorPlan:
    c = v.cursor
    width = int(c.match(r"x(\d+)", "a width")[1])
    c.expect("*")
    at = c.at
    accesses = c.integer()
    unique = c.has("unique")
    if c.peek() != "]":
        layout = v.layout()
    if layout is None:
        raise c.unexpected("a layout")
    plan = p.VectorPlan(layout, width, instruction, unique)
    if width < 1 or plan.accesses != accesses:
        c.at = at
        raise c.error(f"{layout.num_regs} registers are not {accesses} x {width}")
    return plan


def _tma(v: Values, op: o.AnyOp) -> p.TmaPlan:
    c = v.cursor
    tensor = v.tensor() if c.has("of") else copied(op)
    if tensor is None:
        raise c.unexpected("a tensor")
    found = tensor_map(v, tensor)
    c.expect(":")
    boxes: list[p.TmaBox] = []
    while not c.has(","):
        coords = v.indices()
        c.expect("@")
        boxes.append(p.TmaBox(coords, v.part()))
    count = c.integer()
    c.expect("bytes")
    multicast = c.integer() if c.has("multicast") else 1
    return p.TmaPlan(found, tuple(boxes), count, multicast)


def tensor_map(v: Values, tensor: GlobalTensor) -> p.TensorMap:
    """A map of a tensor, behind its name."""
    c = v.cursor
    c.expect("box")
    box = v.integers()
    steps = v.integers() if c.has("steps") else ()
    c.expect("swizzle")
    return p.TensorMap(tensor, box, c.integer(), steps)


def _mma(v: Values, instruction: str, result: str | None) -> p.MmaPlan:
    c = v.cursor
    at = c.at
    count = c.integer()
    steps = v.scope.steps.get(result or "", ())
    if len(steps) != count:
        c.at = at
        raise c.error(f"{len(steps)} steps of {result} are listed, not {count}")
    return p.MmaPlan(instruction, steps)


def _wgmma(v: Values, instruction: str) -> p.WgmmaPlan:
    c = v.cursor
    sizes = c.match(r"(\d+)x(\d+)x(\d+)", "x, *, or atoms and steps")
    m_atoms, n_atoms, k_steps = (int(x) for x in sizes.groups())
    c.expect("n")
    inst_n = c.integer()
    c.expect("a:")
    a = None if c.has("registers") else _operand(v)
    c.expect("; b:")
    b = _operand(v)
    return p.WgmmaPlan(inst_n, m_atoms, n_atoms, k_steps, a, b, instruction)


def _operand(v: Values) -> p.MatrixOperand:
    c = v.cursor
    major = c.match("k|mn", "k or mn")[0]
    c.expect("-major swizzle")
    swizzle = c.integer()
    c.expect("leading")
    leading = c.integer()
    c.expect("stride")
    stride = c.integer()
    c.expect("offsets")
    offsets = tuple(c.several(v.integers, "(", ")"))
    warpgroup = c.integer() if c.has("warpgroup") else 0
    return p.MatrixOperand(leading, stride, swizzle, major == "mn", offsets, warpgroup)
