"""Reading, filling and moving register arrays, packed or not.

Elements are computed in their compute type (`argus.ir.numerics`). 16-bit floats live
two to a word, so a fill of such a tile works on pairs, and a plain move of such
elements moves bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from argus.codegen.bounds import SmallFloats
from argus.codegen.code import (
    CppExpression,
    binary,
    call,
    converted,
    item,
    joined,
    name,
)
from argus.codegen.context import Emission, Ints, Irregular, RegisterIteration
from argus.codegen.expressions import double_literal, float_literal, literal
from argus.codegen.storage import RegisterArray
from argus.ir.dtypes import DType, u64
from argus.ir.expr import Const, Expr, Sym
from argus.ir.numerics import arithmetic
from argus.isa.conversions import encoding

Value = Callable[[RegisterIteration, Ints], CppExpression]
"""C++ of the element in registers ``regs[i]`` (a table over the steps)."""


def compute_type(dtype: DType) -> str:
    """C++ type in which elements of ``dtype`` are computed."""
    return arithmetic(dtype).register


def at(
    cx: Emission, array: RegisterArray | str, step: RegisterIteration, table: Ints
) -> CppExpression:
    """``name[index]`` for array elements (words of a packed array)."""
    held = array if isinstance(array, str) else array.name
    return item(held, cx.code(step.index(table)))


def read(
    cx: Emission, array: RegisterArray, step: RegisterIteration, regs: Ints
) -> CppExpression:
    """The element in register ``regs``, in its compute type."""
    if not array.packed:
        held = at(cx, array, step, regs)
        return decoded(array.dtype, held) if array.dtype.encoded else held
    side = "hi" if _half(regs) else "lo"
    function = f"argus_unpack_{side}_{array.dtype.name}"
    return call(function, at(cx, array, step, regs // 2))


def raw(
    cx: Emission, array: RegisterArray, step: RegisterIteration, regs: Ints
) -> CppExpression:
    """The element in register ``regs`` as memory holds it."""
    if array.packed:
        return converted("u16", read_bits(cx, array, step, regs))
    return at(cx, array, step, regs)


def decoded(dtype: DType, held: CppExpression) -> CppExpression:
    """The number whose bits are ``held``, of an encoded type."""
    return call(encoding(dtype.name)[1], held)


def encoded(dtype: DType, value: CppExpression) -> CppExpression:
    """The bits of a number, rounded to an encoded type."""
    return call(encoding(dtype.name)[0], value)


def read_bits(
    cx: Emission, array: RegisterArray, step: RegisterIteration, regs: Ints
) -> CppExpression:
    """The 16 bits of an element of a packed array, zero-extended."""
    word = at(cx, array, step, regs // 2)
    if _half(regs):
        return binary(">>", word, name("16"))
    return binary("&", word, name("0xffffu"))


def _half(regs: Ints) -> int:
    halves = regs % 2
    if not (halves == halves[0]).all():
        raise Irregular
    return int(halves[0])


def scalar(cx: Emission, e: Expr, dtype: DType) -> CppExpression:
    """A uniform scalar as an element of ``dtype``, in its compute type."""
    want = compute_type(dtype)
    if isinstance(e, Const):
        if want == "float":
            return float_literal(e.value)
        if want == "double":
            return double_literal(e.value)
        number = bool(e.value) if want == "bool" else int(e.value)
        if dtype == u64:
            number = (number + 2**63) % 2**64 - 2**63  # there are signed literals only
        value = literal(number)
        return value if want in ("int", "bool") else converted(want, value)
    value = cx.code(e)
    return value if cx.ctype(e) == want else converted(want, value)


def pack(dtype: DType, low: CppExpression, high: CppExpression) -> CppExpression:
    """The word that holds two f32 values rounded to a 16-bit float."""
    return call(f"argus_pack_{dtype.name}", low, high)


def both_halves(low: CppExpression, high: CppExpression) -> CppExpression:
    """The word of two 16-bit patterns, each zero-extended to 32 bits."""
    return joined("|", [low, binary("<<", high, name("16"))])


def assign(place: CppExpression, value: CppExpression) -> str:
    """The statement ``place = value;``."""
    return f"{place.bare} = {value.bare};"


def zero(dtype: DType) -> CppExpression:
    """0 in the compute type of ``dtype``."""
    want = compute_type(dtype)
    return name({"float": "0.0f", "double": "0.0"}.get(want, "0"))


def fill(cx: Emission, array: RegisterArray, count: int, value: Value) -> None:
    """Set registers 0 .. count-1 of ``array``, each to its ``value``."""
    if array.packed:
        _fill_pairs(cx, array, count, value)
    elif array.dtype.encoded:
        _fill(cx, array, count, lambda s, r: encoded(array.dtype, value(s, r)))
    else:
        _fill(cx, array, count, value)


def _fill(cx: Emission, array: RegisterArray, count: int, value: Value) -> None:
    """Of an array with an element in each of its own."""
    # A packed operand reads the same half in each iteration only if an iteration has
    # both.
    group = 1
    while group <= 4 and count % group == 0:
        if _fill_in_groups(cx, array, count, value, group):
            return
        group *= 2
    cx.loop(
        count,
        lambda s: [assign(at(cx, array, s, s.values), value(s, s.values))],
    )


def _fill_pairs(cx: Emission, array: RegisterArray, count: int, value: Value) -> None:
    """Of an array with two elements in a word."""

    def pair(step: RegisterIteration) -> list[str]:
        low, high = (value(step, 2 * step.values + half) for half in (0, 1))
        word = at(cx, array, step, step.values)
        return [assign(word, pack(array.dtype, low, high))]

    cx.loop(count // 2, pair)
    if count % 2:
        last = RegisterIteration(None, np.array([count // 2]))
        low = value(last, np.array([count - 1]))
        word = at(cx, array, last, last.values)
        cx.out.line(assign(word, pack(array.dtype, low, name("0.0f"))))


def fill_small(
    cx: Emission,
    target: RegisterArray,
    source: RegisterArray,
    count: int,
    how: SmallFloats,
) -> None:
    """Set an even number of 16-bit floats to whole numbers, by their bits."""
    bits = (name(f"0x{n:08x}u") for n in (how.one, how.back))
    more = (name(str(how.least)), *bits)
    fill_whole(cx, target, source, count, f"argus_small_{target.dtype.name}", *more)


def fill_whole(
    cx: Emission,
    target: RegisterArray,
    source: RegisterArray,
    count: int,
    function: str,
    *more: CppExpression,
) -> None:
    """Set an even number of 16-bit floats to a function of two whole numbers each."""

    def pair(step: RegisterIteration) -> list[str]:
        first = 2 * step.values
        low, high = (read(cx, source, step, first + half) for half in (0, 1))
        made = call(function, low, high, *more)
        return [assign(at(cx, target, step, step.values), made)]

    cx.loop(count // 2, pair)


def in_words(
    cx: Emission, target: RegisterArray, source: RegisterArray, count: int, fn: str
) -> None:
    """Set an even number of 16-bit elements to a function of words of two others."""
    cx.loop(
        count // 2,
        lambda s: [
            assign(at(cx, target, s, s.values), call(fn, at(cx, source, s, s.values)))
        ],
    )


def _fill_in_groups(
    cx: Emission, array: RegisterArray, count: int, value: Value, group: int
) -> bool:
    """Print the fill as a loop of ``group`` statements; False if it is none."""

    def body(step: RegisterIteration) -> list[str]:
        regs = [group * step.values + i for i in range(group)]
        return [assign(at(cx, array, step, r), value(step, r)) for r in regs]

    return cx.try_loop(count // group, body)


def move(
    cx: Emission, target: RegisterArray, source: RegisterArray, registers: Ints
) -> None:
    """``target[r] = source[registers[r]]`` without changing a bit."""
    identity = np.array_equal(registers, np.arange(len(registers)))
    if target is source:
        if identity:
            return
        (copy,) = cx.fresh_arrays(f"{source.name}_old")
        held = RegisterArray(copy, source.dtype, source.regs)
        cx.out.line(held.declaration)
        move(cx, held, source, np.arange(source.regs))
        source = held
    count = len(registers)
    if not target.packed:
        cx.loop(
            count,
            lambda s: [
                assign(
                    at(cx, target, s, s.values),
                    at(cx, source, s, registers[s.values]),
                )
            ],
        )
        return
    even, odd = registers[0 : count - count % 2 : 2], registers[1::2]
    words = bool((even % 2 == 0).all() and (odd == even + 1).all())

    def pair(step: RegisterIteration) -> list[str]:
        word = at(cx, target, step, step.values)
        if words:
            return [assign(word, at(cx, source, step, even[step.values] // 2))]
        low = read_bits(cx, source, step, even[step.values])
        high = read_bits(cx, source, step, odd[step.values])
        return [assign(word, both_halves(low, high))]

    cx.loop(count // 2, pair)
    if count % 2:
        last = RegisterIteration(None, np.array([count // 2]))
        bits = read_bits(cx, source, last, registers[-1:])
        cx.out.line(assign(at(cx, target, last, last.values), bits))


def gather(
    cx: Emission,
    target: RegisterArray,
    sources: Sequence[RegisterArray],
    which: Ints,
    registers: Ints,
) -> None:
    """``target[r] = sources[which[r]][registers[r]]`` without changing a bit.

    The target is none of the sources.
    """
    count = len(registers)

    def source(step: Ints) -> RegisterArray:
        found = which[step]
        if not (found == found[0]).all():
            raise Irregular
        return sources[int(found[0])]

    def single(step: RegisterIteration) -> list[str]:
        held = at(cx, source(step.values), step, registers[step.values])
        return [assign(at(cx, target, step, step.values), held)]

    def pair(step: RegisterIteration) -> list[str]:
        first = 2 * step.values
        low, high = source(first), source(first + 1)
        a, b = registers[first], registers[first + 1]
        word = at(cx, target, step, step.values)
        if low is high and (a % 2 == 0).all() and (b == a + 1).all():
            return [assign(word, at(cx, low, step, a // 2))]
        halves = read_bits(cx, low, step, a), read_bits(cx, high, step, b)
        return [assign(word, both_halves(*halves))]

    if not target.packed:
        cx.loop(count, single)
        return
    cx.loop(count // 2, pair)
    if count % 2:
        last = RegisterIteration(None, np.array([count // 2]))
        bits = read_bits(cx, sources[int(which[-1])], last, registers[-1:])
        cx.out.line(assign(at(cx, target, last, last.values), bits))


def copy(cx: Emission, target: RegisterArray, source: RegisterArray) -> None:
    """Copy a whole array, word by word."""
    if target is source:
        return
    cx.loop(
        min(target.length, source.length),
        lambda s: [assign(at(cx, target, s, s.values), at(cx, source, s, s.values))],
    )


def parallel_copy(
    cx: Emission, pairs: list[tuple[RegisterArray, RegisterArray]]
) -> None:
    """``targets = sources`` all at once: none is overwritten before it is read."""
    waiting: list[tuple[RegisterArray, RegisterArray]] = [
        (t, s) for t, s in pairs if t is not s
    ]
    while waiting:
        ready = next(
            (p for p in waiting if not any(p[0] is s for _, s in waiting)), None
        )
        if ready is not None:
            copy(cx, *ready)
            waiting.remove(ready)
            continue
        # Only cycles are left: save one target, and let its readers read the copy.
        target: RegisterArray = waiting[0][0]
        (name,) = cx.fresh_arrays(f"{target.name}_old")
        saved = RegisterArray(name, target.dtype, target.regs)
        cx.out.line(saved.declaration)
        copy(cx, saved, target)
        waiting = [(t, saved if s is target else s) for t, s in waiting]


def element_symbol(
    cx: Emission, array: RegisterArray, step: RegisterIteration, regs: Ints
) -> Sym:
    """The element in register ``regs`` as a symbol of an integer expression."""
    return cx.opaque(read(cx, array, step, regs), compute_type(array.dtype))
