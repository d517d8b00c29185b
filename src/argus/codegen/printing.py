"""`ag.print`: a call of printf, whose texts are string literals of this file's making.

The author's text is an argument, and never the format. What is printed is what
`argus.interpret.ops_print` prints.
"""

from __future__ import annotations

import numpy as np

from argus.codegen.code import CppExpression, binary, call, converted, name
from argus.codegen.context import TID, Emission, Ints, RegisterIteration
from argus.codegen.memory import owner
from argus.codegen.registers import read
from argus.codegen.storage import layout_of
from argus.codegen.writer import literal
from argus.ir import ops as o
from argus.ir.dtypes import u64

__all__ = ["print_values"]


def print_values(cx: Emission, op: o.Print) -> None:
    """A line of scalars by the first thread of the group, or one for each element."""
    formats = ["block %d, thread %d: %s"]
    given = [name("(int)blockIdx.x"), name("(int)threadIdx.x"), _text(cx, op.text)]
    for value in op.values:
        if not isinstance(value, o.Tile):
            formats.append(_format(value.type == "float"))
            given.append(_wide(cx.code(value), value.type == "float"))
    tiles = [v for v in op.values if isinstance(v, o.Tile)]
    if not tiles:
        first = binary("==", cx.code(TID), name("0"))
        cx.out.line(f"if ({first.bare}) {_printf(cx, formats, given)}")
    for tile in tiles:
        _elements(cx, tile, formats, given)


def _elements(
    cx: Emission, tile: o.Tile, formats: list[str], given: list[CppExpression]
) -> None:
    layout = layout_of(tile)
    real = tile.dtype.is_float
    places = ", ".join(["%d"] * layout.rank)
    unsigned = tile.dtype == u64
    line = [*formats, f"[{places}]", "%llu" if unsigned else _format(real)]
    by_thread = [cx.coordinate(tile.dims, layout, a) for a in range(layout.rank)]
    by_register = layout.reg_part(np.arange(layout.num_regs))
    who = owner(cx, layout)

    def one(step: RegisterIteration) -> list[str]:
        regs: Ints = step.values
        zero = np.zeros(layout.num_regs, np.int64)
        at = [
            cx.code(thread + step.index((zero + part)[regs]))
            for thread, part in zip(by_thread, by_register, strict=True)
        ]
        value = read(cx, cx.array(tile), step, regs)
        value = value if unsigned else _wide(value, real)
        said = _printf(cx, line, [*given, *at, value])
        return [said if who is None else f"if ({who.bare}) {said}"]

    if not tile.dtype.packed:
        cx.loop(layout.num_regs, one)
        return
    for register in range(layout.num_regs):
        cx.out.lines(one(RegisterIteration(None, np.array([register]))))


def _format(real: bool) -> str:
    return "%.9g" if real else "%lld"


def _wide(value: CppExpression, real: bool) -> CppExpression:
    return converted("double" if real else "long long", value)


def _text(cx: Emission, text: str) -> CppExpression:
    return name(cx.names.verbatim(literal(text)))


def _printf(cx: Emission, formats: list[str], given: list[CppExpression]) -> str:
    line = _text(cx, f"{' '.join(formats)}\n")
    return f"{call('printf', line, *given).bare};"
