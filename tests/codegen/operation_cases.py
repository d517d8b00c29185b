"""Kernels that go through all operations and element types, made by `cases`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from differential import Array, Case, Output, author_type, numbers
from special_values import plain, special, stored

from argus.ir.dtypes import DTYPES, DType
from argus.ir.functions import FUNCTIONS
from argus.ir.numerics import accumulated, arithmetic
from argus.isa import registry
from argus.isa.memory import ATOMS, REDUCTIONS, reduction
from argus.isa.mma import PRODUCTS
from argus.isa.register_product import RegisterProduct

NAMES = tuple(DTYPES)
FLOATS = tuple(d for d in NAMES if DTYPES[d].is_float)
WHOLE = tuple(d for d in NAMES if DTYPES[d].kind == "int")


def cases() -> Iterator[Case]:
    """All cases, in a fixed order."""
    for dtype in NAMES:
        yield from _elementwise(dtype)
        yield _casts(dtype)
        yield _moves(dtype)
        yield _mapped(dtype)
        yield _selections(dtype)
        yield _axes(dtype)
        yield _flips(dtype)
        yield _widths(dtype)
        yield _fills(dtype)
        if dtype != "bool":
            for warps in (1, 4):
                yield from _reductions(dtype, warps)
        for rows, columns, warps in ((32, 32, 1), (64, 64, 4), (16, 64, 2)):
            yield _transpose(dtype, rows, columns, warps)
    yield _scalars()
    yield _searches()
    for warps in (1, 4):
        yield _votes(warps)
    for dtype in {r.dtype.name: None for r in REDUCTIONS}:
        yield _atomics(dtype)
    for form in REDUCTIONS:
        if form.fn in ("max", "min"):
            yield _extremes(form.dtype.name, form.fn)
    for dtype in {r.dtype.name: None for r in ATOMS}:
        for warps in (1, 4):
            yield _old_values(dtype, warps)
    yield from map(_product, PRODUCTS)


def _elementwise(dtype: str) -> Iterator[Case]:
    kind, n = DTYPES[dtype], 256
    inputs = {
        name: (dtype, "N", special(dtype, n, seed)) for seed, name in enumerate("XYZ")
    }
    inputs["B"] = ("bool", "N", special("bool", n, 9))
    loads = [f"{name.lower()} = ag.load({name}[0:], ({n},))" for name in inputs]
    exact = Case(f"elementwise_{dtype}", list(loads), inputs)
    for fn, function in FUNCTIONS.items():
        inexact = function.among(arithmetic(kind)).error is not None
        if inexact or fn == "where" or not _takes(kind, fn):
            continue
        operator = (
            _OPERATORS.get(fn) or f"ag.{fn}({', '.join('xyz'[: function.arity])})"
        )
        out = "bool" if function.result == "bool" else dtype
        out = "i64" if fn == "philox" else out
        exact.write(operator, "N", Output(out, (n,)))
        if kind.kind == "int" and "x" in operator and " " in operator:
            value = {"u8": 200, "i8": -7}.get(dtype, 1000)
            values: tuple[object, ...] = (value,)
            if fn in ("shl", "shr"):
                values = (3, kind.bits - 1, kind.bits, "(y & 15)")
            for value in values:
                exact.write(operator.replace("y", str(value)), "N", Output(out, (n,)))
    exact.write("ag.where(b, x, y)", "N", Output(dtype, (n,)))
    if kind.is_float:
        exact.write("ag.where(b, x, 0.1)", "N", Output(dtype, (n,)))
        exact.write("ag.where(x < 0.1, 1.5, x)", "N", Output(dtype, (n,)))
    yield exact
    if not kind.is_float:
        return
    rounding = Case(f"functions_{dtype}", list(loads), dict(inputs))
    wide = arithmetic(kind)
    rounding.body += [f"{v} = {v}.to(ag.{wide})" for v in "xyz"]
    for fn, function in FUNCTIONS.items():
        error = function.among(wide).error
        if error is None or wide.bits > function.widest:
            continue
        ranges = [(-1e30, 1e30)] * (function.arity - 1) + [(error.low, error.high)]
        values = [
            f"ag.where(({v} >= {low}) & ({v} <= {high}), {v}, 1.0)"
            for v, (low, high) in zip("xyz", ranges, strict=False)
        ]
        bound = error.relative, error.absolute
        quotient = fn == "div"
        result = " / ".join(values) if quotient else f"ag.{fn}({', '.join(values)})"
        result = f"({result})" if quotient else result
        if dtype != wide.name:
            result = f"{result}.to(ag.{dtype})"
        rounding.write(result, "N", Output(dtype, (n,), bound))
    yield rounding


_OPERATORS = {
    "add": "x + y", "sub": "x - y", "mul": "x * y", "div": "x / y",
    "floordiv": "x // y", "mod": "x % y", "neg": "-x", "eq": "x == y", "ne": "x != y",
    "lt": "x < y", "le": "x <= y", "gt": "x > y", "ge": "x >= y", "and": "x & y",
    "or": "x | y", "xor": "x ^ y", "not": "~x", "shl": "x << y", "shr": "x >> y",
}  # fmt: skip
"""How authors write the functions that are not called by their names."""


def _takes(dtype: DType, fn: str) -> bool:
    if dtype.kind == "bool":
        return fn in ("and", "or", "xor", "not", "eq", "ne")
    if fn == "not":
        return False
    record = FUNCTIONS[fn]
    if dtype.is_float:
        return record.real and dtype.bits <= record.widest
    return record.integer and dtype.bits >= record.narrowest


def _casts(dtype: str) -> Case:
    n = 256
    case = Case(
        f"casts_{dtype}",
        [f"x = ag.load(X[0:], ({n},))"],
        {"X": (dtype, "N", special(dtype, n, 3))},
    )
    for target in NAMES:
        if target != dtype:
            case.write(f"x.to(ag.{author_type(target)})", "N", Output(target, (n,)))
    return case


def _reductions(dtype: str, warps: int) -> Iterator[Case]:
    """Both axes of a tile: within a thread, over lanes, and over warps."""
    rows, columns = (16, 32) if warps == 1 else (32, 64)
    shape = (rows, columns)
    count = rows * columns
    inputs = {
        "X": (dtype, "M N", special(dtype, count, 5).reshape(shape)),
        "E": (dtype, "M N", plain(dtype, shape, 6)),
        "P": (dtype, "M N", _powers(dtype, shape)),
    }
    if DTYPES[dtype].is_float:
        # Most lines without a NaN, so that other numbers count, too.
        values = inputs["X"][2].copy()
        values[np.isnan(numbers(values, dtype))] = stored(np.array(-0.0), DTYPES[dtype])
        values[3, 5] = stored(np.array(np.nan), DTYPES[dtype])
        values[:, 7] = stored(np.array(0.0), DTYPES[dtype])
        values[5] = stored(np.array(-0.0), DTYPES[dtype])
        inputs["X"] = (dtype, "M N", values)
    loads = [f"{n.lower()} = ag.load({n}[0:, 0:], {shape})" for n in inputs]
    for axis, left in (("N", "M"), ("M", "N")):
        # Few operations to a kernel: it holds three tiles, and all registers.
        name = f"reductions_{dtype}_{warps}_{axis.lower()}"
        case = Case(name, list(loads), inputs, warps=warps)
        size = (rows if left == "M" else columns,)
        for fn, value in (
            ("sum", "e"), ("prod", "p"), ("max", "x"), ("min", "x"), ("argmax", "x"),
            ("argmin", "x"), ("argmax", "e"), ("min", "e"),
        ):  # fmt: skip
            out = accumulated(fn, DTYPES[dtype]).name
            case.write(f'ag.{fn}({value}, "{axis}")', left, Output(out, size))
        yield case
    scans = Case(f"scans_{dtype}_{warps}", loads[1:2], {"E": inputs["E"]}, warps=warps)
    out = accumulated("cumsum", DTYPES[dtype]).name
    scans.write('ag.cumsum(e, "N")', "M N", Output(out, shape))
    yield scans
    yield from _sorts(dtype, warps, inputs["X"], inputs["E"])
    if DTYPES[dtype] == arithmetic(DTYPES[dtype]):
        yield from _combined(dtype, warps)


def _sorts(dtype: str, warps: int, *given: tuple[str, str, Array]) -> Iterator[Case]:
    """Numbers that occur often, and special ones, along both dimensions."""
    inputs = dict(zip("XE", given, strict=True))
    rows, columns = given[0][2].shape
    shape = (rows, columns)
    loads = [f"{n.lower()} = ag.load({n}[0:, 0:], {shape})" for n in inputs]
    for axis in "NM":
        extent = columns if axis == "N" else rows
        if extent & (extent - 1):
            continue
        case = Case(f"sorts_{dtype}_{warps}_{axis.lower()}", list(loads), inputs)
        case.warps = warps
        for x, option in (("x", ""), ("e", ", descending=True")):
            for part, kind in ((0, dtype), (1, "i32")):
                call = f'ag.sort({x}, "{axis}"{option})[{part}]'
                case.write(call, "M N", Output(kind, shape))
        yield case


_FUNCTIONS = """
@ag.inline
def affine(a0, b0, a1, b1):
    return a0 * a1, b0 * a1 + b1


@ag.inline
def last(a, b):
    return ag.where(b > 0, b, a)


@ag.inline
def swapped(a0, b0, a1, b1):
    return ag.where(a1 > 0, a0, a1), ag.where(a1 > 0, b0, b1)
"""


def _combined(dtype: str, warps: int) -> Iterator[Case]:
    """Functions of the author's that do not commute, on numbers without rounding."""
    shape = (16, 64)
    rng = np.random.default_rng(11)
    signs = stored(rng.choice([-1.0, 1.0], shape), DTYPES[dtype])
    small = stored(rng.integers(-4, 5, shape).astype(np.float64), DTYPES[dtype])
    inputs = {"A": (dtype, "M N", signs), "B": (dtype, "M N", small)}
    loads = [f"{n.lower()} = ag.load({n}[0:, 0:], {shape})" for n in inputs]
    for axis, left in (("N", "M"), ("M", "N")):
        name = f"combined_{dtype}_{warps}_{axis.lower()}"
        case = Case(name, list(loads), inputs, prelude=_FUNCTIONS, warps=warps)
        size = (shape[0] if left == "M" else shape[1],)
        for part in (0, 1):
            for fn in ("affine", "swapped"):
                call = f'((a, b), "{axis}", {fn})[{part}]'
                case.write(f"ag.scan{call}", "M N", Output(dtype, shape))
                case.write(f"ag.reduce{call}", left, Output(dtype, size))
        for fn in ("last", "ag.maximum"):
            call = f'(b, "{axis}", {fn})'
            case.write(f"ag.scan{call}", "M N", Output(dtype, shape))
            case.write(f"ag.reduce{call}", left, Output(dtype, size))
        yield case
        name = f"reverse_{dtype}_{warps}_{axis.lower()}"
        case = Case(name, list(loads), inputs, prelude=_FUNCTIONS, warps=warps)
        case.write(f'ag.cumsum(b, "{axis}", reverse=True)', "M N", Output(dtype, shape))
        for part in (0, 1):
            call = f'((a, b), "{axis}", affine, reverse=True)[{part}]'
            case.write(f"ag.scan{call}", "M N", Output(dtype, shape))
        yield case


def _powers(dtype: str, shape: tuple[int, int]) -> Array:
    """Few factors other than 1, all powers of two, so that products are exact."""
    rng = np.random.default_rng(7)
    factors = np.ones(shape)
    for _ in range(shape[0]):
        factors[tuple(rng.integers(0, n) for n in shape)] = 2 if dtype[0] == "u" else -2
    return stored(factors, DTYPES[dtype])


def _transpose(dtype: str, rows: int, columns: int, warps: int) -> Case:
    """Through shared memory with the swizzle that placing chooses, and with others."""
    shape = (rows, columns)
    case = Case(
        f"transpose_{dtype}_{rows}x{columns}",
        [f"x = ag.load(X[0:, 0:], {shape})"],
        {"X": (dtype, "M N", special(dtype, rows * columns, 8).reshape(shape))},
        warps=warps,
    )
    turned = Output(dtype, (columns, rows))
    case.write("x.T", "N M", turned)
    for swizzle in (None, 0, 32, 128):
        # A row must hold the swizzle's pattern.
        if swizzle and columns * DTYPES[dtype].bytes % swizzle:
            continue
        name = f"s{swizzle}"
        case.body += [
            f"{name} = ag.shared(ag.{author_type(dtype)}, {shape}, swizzle={swizzle})",
            f"{name}.store(x)",
        ]
        case.write(f"{name}.T.load()", "N M", turned)
        half = Output(dtype, (rows // 2, columns))
        case.write(f'{name}[{rows // 2}:{rows}, :].load().rename("H N")', "H N", half)
    return case


def _moves(dtype: str) -> Case:
    """Broadcasts, windows, masks, gathers and scatters."""
    rows, columns = 16, 64
    shape = (rows, columns)
    order = np.random.default_rng(2).permutation(rows).astype(np.int32)
    missing = order.copy()
    missing[[1, 4]] = -1, rows
    case = Case(
        f"moves_{dtype}",
        [
            f"x = ag.load(X[0:, 0:], {shape})",
            f"v = ag.load(V[0:], ({columns},))",
            f"w = ag.load(W[0:], ({rows},))",
            f"b = ag.load(B[0:, 0:], {shape})",
            f"order = ag.load(I[0:], ({rows},))",
            f"missing = ag.load(J[0:], ({rows},))",
        ],
        {
            "X": (dtype, "M N", special(dtype, rows * columns, 11).reshape(shape)),
            "V": (dtype, "N", special(dtype, columns, 12)),
            "W": (dtype, "M", special(dtype, rows, 13)),
            "B": ("bool", "M N", special("bool", rows * columns, 14).reshape(shape)),
            "I": ("i32", "M", order),
            "J": ("i32", "M", missing),
        },
    )
    whole = Output(dtype, shape)
    case.write("ag.where(b, x, ag.broadcast(v, x))", "M N", whole)
    case.write("ag.where(b, ag.broadcast(w, x), x)", "M N", whole)
    for first, last in ((32, 64), (4, 8), (60, 63), (0, 1)):
        part = Output(dtype, (rows, last - first))
        case.write(f'x[:, {first}:{last}].rename("M K{last}")', f"M K{last}", part)
    steps = ((0, 2), (1, 2), (3, 4), (5, 16), (0, 3), (40, 7), (1, 63))
    for number, (first, step) in enumerate(steps):
        part = Output(dtype, (rows, len(range(first, columns, step))))
        case.write(f'x[:, {first}::{step}].rename("M S{number}")', f"M S{number}", part)
    case.write('x[1::5, 2:62:4].rename("P Q")', "P Q", Output(dtype, (3, 15)))
    case.write('x[2:3, 1:].rename("J L")', "J L", Output(dtype, (1, columns - 1)))
    case.write(f"ag.load(X[missing, 0:], {shape})", "M N", whole)
    case.write("x", "M N", whole, at="order, 0:")
    one = "True" if dtype == "bool" else "1"
    case.write(f"ag.load(X[0:, 0:], {shape}, mask=b, fill={one})", "M N", whole)
    case.write("x", "M N", whole)
    case.body[-1] = f"ag.store(O{len(case.outputs) - 1}[0:, 0:], x, mask=b)"
    return case


def _mapped(dtype: str) -> Case:
    """Stores to maps of a tensor, some of which leave it."""
    rows, columns = shape = 16, 64
    values = special(dtype, rows * columns, 15).reshape(shape)
    case = Case(
        f"mapped_{dtype}",
        [f"x = ag.load(X[0:, 0:], {shape})"],
        {"X": (dtype, "M N", values)},
    )
    for there, at in (
        ((columns, rows), "n, m"),
        (shape, "m, 63 - n"),
        (shape, "15 - m, n"),
        ((rows, 2 * columns), "m, 2 * n + 1"),
        ((8, rows, 8), "n // 8, m, n % 8"),
        ((2, 8, columns), "m % 2, m // 2, n"),
        ((rows * columns,), "m * 64 + n,"),
        (shape, "m - 3, n"),
        (shape, "m, n + 7"),
        (shape, "m + 1, n - 8"),
    ):
        number = len(case.outputs)
        dims = " ".join(f"D{number}{axis}" for axis in range(len(there)))
        case.write("x", dims, Output(dtype, there))
        view = f'O{number}.view("M N", shape={shape}, at=lambda m, n: ({at}))'
        case.body[-1:] = [f"map{number} = {view}", f"map{number}[0:, 0:] = x"]
    return case


def _selections(dtype: str) -> Case:
    """Slices with steps, of tiles that are laid out for something else."""
    shape = rows, columns = 64, 32
    layouts = {
        "a": f"blocked({shape}, 128, 8)",
        "b": f"wgmma_accumulator({rows}, {columns})",
        "c": f"mma_accumulator({rows}, {columns}, 2, 2)",
    }
    case = Case(
        f"selections_{dtype}",
        [
            f"{name} = ag.load(X[0:, 0:], {shape}, layout=ag.layouts.{layout})"
            for name, layout in layouts.items()
        ],
        {"X": (dtype, "M N", special(dtype, rows * columns, 16).reshape(shape))},
        warps=4,
    )
    steps = ((1, 32, 2), (2, 6, 2), (16, 24, 1), (5, 32, 16), (0, 32, 24))
    for name in layouts:
        for first, last, step in steps:
            dim = f"{name.upper()}{first}"
            part = Output(dtype, (rows, len(range(first, last, step))))
            text = f'{name}[:, {first}:{last}:{step}].rename("M {dim}")'
            case.write(text, f"M {dim}", part)
    return case


def _axes(dtype: str) -> Case:
    """Tiles in other shapes and orders, cut and put together, of several layouts."""
    shape = rows, columns = 64, 32
    case = Case(
        f"axes_{dtype}",
        [
            f"x = ag.load(X[0:, 0:], {shape})",
            "a = ag.load(X[0:, 0:], (64, 32), layout="
            "ag.layouts.wgmma_accumulator(64, 32))",
            "s, t = ag.split(x, 1, 2)",
            "u, v = ag.split(a, 0, 2)",
        ],
        {"X": (dtype, "M N", special(dtype, rows * columns, 17).reshape(shape))},
        warps=4,
    )

    def write(text: str, *shape: int) -> None:
        dims = " ".join(f"A{len(case.outputs)}x{i}" for i in range(len(shape)))
        case.write(f'({text}).rename("{dims}")', dims, Output(dtype, shape))

    for name in "xa":
        write(f"ag.reshape({name}, (8, 8, 4, 8))", 8, 8, 4, 8)
        write(f"ag.reshape({name}, (2048,))", 2048)
        write(f"ag.reshape({name}, (4, -1))", 4, 512)
        turned = f"ag.permute(ag.reshape({name}, (64, 2, 16)), (2, 0, 1))"
        write(f"ag.reshape({turned}, (32, 64))", 32, 64)
    write('ag.join(s, t, "N")', 64, 32)
    write("ag.interleave(s, t, 1)", 64, 32)
    write("ag.interleave(t, s, 0)", 128, 16)
    write("ag.join(v, u, 0)", 64, 32)
    write("ag.interleave(u, v, 1)", 32, 64)
    write("ag.join(x[:, 3:8], x[:, 20:25], 1)", 64, 10)
    write("ag.interleave(x[:, 0:3], x[:, 29:32], 1)", 64, 6)
    return case


def _flips(dtype: str) -> Case:
    """The last element first, along axes that threads share out at first."""
    shape = rows, columns = 16, 32
    case = Case(
        f"flips_{dtype}",
        [f"x = ag.load(X[0:, 0:], {shape})"],
        {"X": (dtype, "M N", special(dtype, rows * columns, 23).reshape(shape))},
        warps=4,
    )
    for text, *made in (
        ("ag.flip(x, 0)", 16, 32),
        ("ag.flip(x, 1)", 16, 32),
        ("ag.flip(ag.reshape(x, (16, 4, 8)), 1)", 16, 4, 8),
    ):
        names = " ".join(f"A{len(case.outputs)}x{i}" for i in range(len(made)))
        output = Output(dtype, tuple(made))
        case.write(f'({text}).rename("{names}")', names, output)
    return case


def _widths(dtype: str) -> Case:
    """Rows and tails of odd sizes: narrow accesses and conditions on each element."""
    rows, columns = 7, 37
    case = Case(
        f"widths_{dtype}",
        ["x = ag.load(X[0:, 0:], (8, 64))", "v = ag.load(V[0:], (64,))"],
        {
            "X": (dtype, "M N", special(dtype, rows * columns, 21).reshape(rows, -1)),
            "V": (dtype, "N", special(dtype, columns, 22)),
        },
    )
    case.write("x", "M N", Output(dtype, (rows, columns)))
    case.write("v", "N", Output(dtype, (columns,)))
    value = {"bool": "True", "u8": "200", "i8": "-3"}.get(dtype, "7")
    case.body.append(f"y = ag.load(X[0:, 0:], (8, 64), fill={value})")
    case.write('y.rename("K L")', "K L", Output(dtype, (8, 64)))
    return case


def _fills(dtype: str) -> Case:
    """Wide accesses of rows that end: what is missing has the value of `fill`."""
    rows, columns = 5, 48
    values = special(dtype, rows * columns, 23).reshape(rows, columns)
    case = Case(f"fills_{dtype}", [], {"X": (dtype, "M N", values)})
    case.scalars = {"a": ("i32", 3), "r": ("f32", 0.1)}
    large = {n: (str(DTYPES[n].integers[1] - 5), "a") for n in WHOLE if n[0] == "u"}
    fills = {"bool": ("True",), **large}.get(
        dtype, ("-ag.inf", "r", "0.1", "a") if dtype in FLOATS else ("-3", "a")
    )
    for fill in fills:
        value = f'ag.load(X[0:, 0:], (8, 64), fill={fill}).rename("K L")'
        case.write(value, "K L", Output(dtype, (8, 64)))
    return case


_NO_SCALARS = ("bool", "f64", "u64")
"""Types of which an element is no scalar."""


def _scalars() -> Case:
    """Scalars of every type: loaded, passed, computed, and put into tiles."""
    case = Case("scalars", [], {})
    case.scalars = {
        "p": ("i32", -(2**31) + 5),
        "q": ("i64", 2**40 + 3),
        "r": ("f32", 0.1),
        "big": ("f32", 3e38),
    }
    held = [d for d in NAMES if d not in _NO_SCALARS]
    for name, dtype in zip("ABCDEFGHIJKLMNOP", held, strict=False):
        case.inputs[name] = (dtype, "N", special(dtype, 64, 31)[:64])
        case.body.append(f"{name.lower()} = {name}[3]")

    def put(value: str, dtype: str) -> None:
        tile = f'ag.full((32,), {value}, ag.{author_type(dtype)}, dims="K")'
        case.write(tile, "K", Output(dtype, (32,)))

    case.inputs["W"] = ("f64", "N", special("f64", 64, 32))
    zeros = 'ag.zeros((32,), ag.f64, dims="K")'
    case.inputs["U"] = ("u64", "N", special("u64", 64, 33))
    case.write('ag.zeros((32,), ag.u64, dims="K") + U[9]', "K", Output("u64", (32,)))
    for value in ("W[5]", "W[p - p + 7] * 2.0"):  # tiles without axes
        case.write(f"{zeros} + {value}", "K", Output("f64", (32,)))
    for name, (dtype, _, _) in list(case.inputs.items()):
        if dtype in _NO_SCALARS:
            continue
        put(name.lower(), "f32" if dtype in FLOATS else "i64")
    wide = "ag.min(ag.max(q, p), 5)"
    for value, dtype in (
        ("p // 7", "i64"), ("p % 7", "i64"), ("p // -3", "i64"), ("q // 1000", "i64"),
        ("q % -1000", "i64"), (wide, "i64"), ("q * 3 - p", "i64"),
        ("r * 3.0 + 0.3", "f32"), ("(r + 1) * 1e-3", "f32"), ("r / 3", "f32"),
        ("ag.min(r, 1) - ag.max(r, 0.2)", "f32"), ("ag.where(p < 0, 1, r)", "f32"),
        ("ag.where(r < 0.1, 1.0, 2.0)", "f32"), ("big * big", "f32"),
        ("big * 10.0 - big * 10.0", "f32"), ("16777217 + r", "f32"),
        ("r < 0.1 or p > 0", "bool"), ("not (q == p)", "bool"), ("p / 7", "f32"),
        ("0.1", "f64"), ("r", "f64"), ("q", "f64"), ("q * 3 + p", "f64"),
        ("1e300", "f64"), ("-ag.inf", "f64"), ("r / 3", "f64"),
        ("ag.where(r < 0.1, 0.1, r)", "f64"),
    ):  # fmt: skip
        put(value, dtype)
    return case


def _atomics(dtype: str) -> Case:
    rows, columns = 16, 64
    values = plain(dtype, (rows, columns), 41)
    places = np.array([0, 1, 2, 3] * 4, np.int32)
    case = Case(
        f"atomics_{dtype}",
        [f"x = ag.load(X[0:, 0:], {(rows, columns)})", "rows = ag.load(I[0:], (16,))"],
        {"X": (dtype, "M N", values), "I": ("i32", "M", places)},
    )
    case.write("x", "R N", Output(dtype, (rows, columns)))
    case.body[-1] = "ag.atomic_add(O0[rows, 0:], x)"
    return case


def _searches() -> Case:
    """Bounded `while` loops: one that ends early, one that the bound ends, none."""
    case = Case(
        "searches",
        [
            "low, high, steps = 0, 50, 0",
            "while ag.at_most(20, low < high):",
            "    middle = (low + high) // 2",
            "    steps = steps + 1",
            "    if T[middle] < p:",
            "        low = middle + 1",
            "    else:",
            "        high = middle",
            "rest, count = p, 0",
            "x = ag.load(T[0:], (32,))",
            "while ag.at_most(5, rest > 1):",
            "    rest, count, x = rest // 2, count + 1, x + x",
            "none = 0",
            "while ag.at_most(p - p, rest == rest):",
            "    none = 7",
        ],
        {"T": ("i32", "N", np.arange(50, dtype=np.int32) * 3)},
        scalars={"p": ("i32", 100)},
    )
    for value in ("low", "steps", "rest", "count", "none"):
        name = f"ag.full((32,), {value}, ag.i32)"
        case.write(name, "R", Output("i32", (32,)))
    case.write('x.rename("R")', "R", Output("i32", (32,)))
    return case


def _votes(warps: int) -> Case:
    """Branches that all threads take together, and a loop that they end together."""
    rows, columns = 16, 32
    case = Case(
        f"votes_{warps}",
        [
            f"x = ag.load(X[0:, 0:], ({rows}, {columns}))",
            "y, steps = x, 0",
            "while ag.at_most(9, ag.any(ag.abs(y) > 1.0)):",
            "    y, steps = y * 0.5, steps + 1",
            "said = 0",
        ],
        {"X": ("f32", "M N", plain("f32", (rows, columns), 47))},
        warps=warps,
    )
    votes = "any(x > 2.5)", "any(x > 1e9)", "all(x < 1e9)", "all(x == x + x)"
    for i, vote in enumerate(votes):
        case.body += [f"if ag.{vote}:", f"    said = said + {1 << i}"]
    for value in ("steps", "said"):
        text = f"ag.full((32,), {value}, ag.i32)"
        case.write(text, "R", Output("i32", (32,)))
    case.write("y", "M N", Output("f32", (rows, columns)))
    return case


def _extremes(dtype: str, fn: str) -> Case:
    """Atomics of which the order makes no difference; NaN and both zeros."""
    rows, columns = 16, 64
    values = special(dtype, rows * columns, 43).reshape(rows, columns)
    case = Case(
        f"atomic_{fn}_{dtype}",
        [f"x = ag.load(X[0:, 0:], {(rows, columns)})", "rows = ag.load(I[0:], (16,))"],
        {
            "X": (dtype, "M N", values),
            "I": ("i32", "M", np.array([0, 1, 2, 3] * 4, np.int32)),
        },
    )
    case.write("x", "R N", Output(dtype, (rows, columns)))
    case.body[-1] = f"ag.atomic_{fn}(O0[rows, 0:], x, mask=x == x)"
    case.write("x", "R2 N", Output(dtype, (rows, columns)))
    case.body[-1] = f"ag.atomic_{fn}(O1[rows, 0:], x)"
    return case


def _old_values(dtype: str, warps: int) -> Case:
    """Atomics that say what was there: each element is changed by one thread.

    Tiles of more elements than threads, of fewer, and single elements; 77 is there.
    """
    n = 256
    case = Case(
        f"old_values_{dtype}_{warps}",
        [f"x = ag.load(X[0:], ({n},))", "s = x[0:24].rename('S')"],
        {"X": (dtype, "N", special(dtype, n, 53))},
        warps=warps,
    )
    functions = [
        fn
        for fn in ("add", "max", "min", "exchange")
        if reduction(DTYPES[dtype], fn, old=True)
    ]
    for fn in functions:
        for value, shape in (("x", n), ("s", 24)):
            memory, dim = f"O{len(case.outputs)}", "N" if shape == n else "S"
            case.write(value, dim, Output(dtype, (shape,)))
            case.body.pop()
            change = f"ag.atomic_{fn}({memory}[0:{shape}], {value}, mask={value} == "
            case.write(f"{change}{value})", dim, Output(dtype, (shape,)))
    one = f"O{len(case.outputs)}"
    case.write("x", "F", Output(dtype, (4,)))
    case.body.pop()
    number = "1.5" if dtype in FLOATS else "3"
    for i, fn in enumerate(functions):
        case.body.append(f"old{i} = ag.atomic_{fn}({one}[{i}], {number})")
        value = f"ag.full((8,), old{i}, ag.{dtype})"
        if dtype == "f64":
            value = f'ag.zeros((8,), ag.f64, dims="E") + old{i}'
        case.write(value, "E", Output(dtype, (8,)))
    if dtype == "i32":
        memory = f"O{len(case.outputs)}"
        case.write("x", "N", Output(dtype, (n,)))
        case.body.pop()
        expected = f"ag.where(ag.index({n}, 'N') % 3 == 0, 77, 5)"
        old = f"ag.atomic_cas({memory}[0:{n}], {expected}, x)"
        case.write(old, "N", Output(dtype, (n,)))
    return case


def _product(does: RegisterProduct) -> Case:
    """Loaded (by ldmatrix), multiplied by mma.sync; whole numbers, so it is exact."""
    of = does.element
    dtype = of.dtype.name
    m, n, k = 32, 32, 3 * does.depth
    precision = f", precision={of.ptx!r}" if of.ignored else ""
    case = Case(
        f"product_{dtype}_{does.rows}",
        [
            f"a = ag.load(A[0:, 0:], {(m, k)})",
            f"b = ag.load(B[0:, 0:], {(k, n)})",
            f"s = ag.shared(ag.{dtype}, {(m, k)})",
            "s.store(a)",
            f"c = ag.mma(s.load(), b{precision})",
        ],
        {
            "A": (dtype, "M K", plain(dtype, (m, k), 51)),
            "B": (dtype, "K N", plain(dtype, (k, n), 52)),
        },
        target=registry.lookup(does.function).targets[0],
    )
    case.write("c", "M N", Output(of.accumulator.name, (m, n)))
    case.write(f"c.to(ag.{dtype})", "M N", Output(dtype, (m, n)))
    return case
