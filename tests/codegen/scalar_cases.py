"""Kernels that compute with scalars: random expressions of table entries, and loops.

What a kernel writes is known twice: the interpreter says it, and :class:`Number`, which
knows nothing of expressions and ranges; every operation wraps to 64 bits.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from differential import Array, Case, Output

from argus.interpret.numbers import storage
from argus.ir.dtypes import DTYPES

PER_KERNEL = 24
WIDTH = 32

_ENDS32 = (2**31 - 1, -(2**31), -(2**31) + 1, 60000, -60000, 0, 1, -1, 7, 2**16)
_ENDS64 = (2**63 - 1, -(2**63), 2**33, -(2**33) - 5, 0, -1, 3, 2**62, 2**31)
TABLES: dict[str, tuple[str, tuple[int, ...]]] = {
    "T": ("i32", _ENDS32),
    "U": ("i64", _ENDS64),
    "V": ("u8", (0, 255, 1, 128, 7)),
    "W": ("i8", (-128, 127, 0, -1, 5)),
}
_CONSTANTS = (
    0, 1, -1, 2, 3, -3, 7, 64, 1000, 2**31 - 1, 2**31, -(2**31), 2**33, -(2**62),
    2**63 - 1, -(2**63),
)  # fmt: skip
ARGUMENTS: dict[str, tuple[str, int]] = {
    "p": ("i32", -(2**31) + 5),
    "z": ("i32", 0),
    "q": ("i64", 2**62 + 3),
}


@dataclass(frozen=True)
class Number:
    """A whole number of 64 bits."""

    value: int

    def __add__(self, other: Number) -> Number:
        return wrap(self.value + other.value)

    def __sub__(self, other: Number) -> Number:
        return wrap(self.value - other.value)

    def __mul__(self, other: Number) -> Number:
        return wrap(self.value * other.value)

    def __floordiv__(self, other: Number) -> Number:
        return wrap(self.value // other.value if other.value else 0)

    def __mod__(self, other: Number) -> Number:
        return wrap(self.value % other.value if other.value else 0)

    def __xor__(self, other: Number) -> Number:
        return wrap(self.value ^ other.value)

    def __neg__(self) -> Number:
        return wrap(-self.value)


def wrap(value: int) -> Number:
    """The number that 64 bits hold."""
    return Number((value + 2**63) % 2**64 - 2**63)


_OPERATIONS: dict[str, Callable[[Number, Number], Number]] = {
    "{} + {}": lambda a, b: a + b,
    "{} - {}": lambda a, b: a - b,
    "{} * {}": lambda a, b: a * b,
    "{} // {}": lambda a, b: a // b,
    "{} % {}": lambda a, b: a % b,
    "{} ^ {}": lambda a, b: a ^ b,
    "ag.min({}, {})": lambda a, b: a if a.value < b.value else b,
    "ag.max({}, {})": lambda a, b: a if a.value > b.value else b,
    "ag.where({0} < {1}, {0}, 5)": lambda a, b: a if a.value < b.value else Number(5),
    "ag.where({0} != {1}, {1}, {0})": lambda a, b: b if a != b else a,
}
_UNARY: dict[str, Callable[[Number], Number]] = {
    "(-{})": lambda a: -a,
    "ag.abs({})": lambda a: -a if a.value < (-a).value else a,
}

Term = tuple[str, Number, bool]
"""Its text, its value, and whether it is known while compiling."""


def term(rng: random.Random, depth: int) -> Term:
    """A random expression of table entries."""
    if depth == 0 or rng.random() < 0.1:
        return _leaf(rng)
    if rng.random() < 0.15:
        text, value, static = term(rng, depth - 1)
        form = rng.choice(list(_UNARY))
        if not static:
            return form.format(f"({text})"), _UNARY[form](value), False
    form = rng.choice(list(_OPERATIONS))
    left, right = term(rng, depth - 1), term(rng, depth - 1)
    # What is known while compiling is an error where it has more than 64 bits, or
    # divides by zero: nothing may fold to a constant.
    divides = "//" in form or "%" in form
    while (left[2] and right[2]) or left[0] == right[0] or _folds(form, left, right):
        right = _leaf(rng) if divides else _entry(rng)
        left = _entry(rng) if left[2] else left
    text = form.format(f"({left[0]})", f"({right[0]})")
    return text, _OPERATIONS[form](left[1], right[1]), False


def _folds(form: str, left: Term, right: Term) -> bool:
    """Whether an operand makes a constant of what it meets."""
    constants = [x[1].value for x in (left, right) if x[2]]
    if "//" in form or "%" in form:
        return right[2] and right[1].value in (0, 1)
    return "*" in form and 0 in constants


def _leaf(rng: random.Random) -> Term:
    if rng.random() < 0.2:
        value = rng.choice(_CONSTANTS)
        return f"({value})", Number(value), True
    return _entry(rng)


def _entry(rng: random.Random) -> Term:
    # Sums of i32 arguments alone are refused by the launch where they are too large.
    if rng.random() < 0.15:
        return "q", Number(ARGUMENTS["q"][1]), False
    table = rng.choice(list(TABLES))
    at = rng.randrange(len(TABLES[table][1]))
    value = Number(TABLES[table][1][at])
    if rng.random() < 0.15:
        name = rng.choice(("p", "z"))
        text = f"{table.lower()}{at} * {name}"
        return text, value * Number(ARGUMENTS[name][1]), False
    return f"{table.lower()}{at}", value, False


def tables() -> dict[str, tuple[str, str, Array]]:
    """The inputs of every kernel."""
    return {
        name: (dtype, f"N{name}", np.array(values, storage(DTYPES[dtype])))
        for name, (dtype, values) in TABLES.items()
    }


def loads() -> list[str]:
    """Every entry of every table under a name."""
    return [
        f"{name.lower()}{at} = {name}[{at}]"
        for name, (_, values) in TABLES.items()
        for at in range(len(values))
    ]


@dataclass
class Known:
    """A case, and the numbers that it writes by output."""

    case: Case
    numbers: dict[str, int]

    def put(self, text: str, value: int, dtype: str = "i64") -> None:
        """One more output, all of whose elements are one number."""
        self.numbers[f"O{len(self.case.outputs)}"] = value
        tile = f'ag.full(({WIDTH},), {text}, ag.{dtype}, dims="K")'
        self.case.write(tile, "K", Output(dtype, (WIDTH,)))


def _begin(name: str) -> Known:
    case = Case(name, loads(), tables())
    case.scalars = {n: (d, v) for n, (d, v) in ARGUMENTS.items()}
    return Known(case, {})


def random_scalars(seed: int) -> Known:
    """Random expressions, as i64."""
    rng = random.Random(seed)
    made = _begin(f"scalars_{seed}")
    for _ in range(PER_KERNEL):
        text, value, _ = term(rng, rng.randint(1, 4))
        made.put(text, value.value)
    return made


def chosen_scalars() -> Known:
    """What went wrong, or might: products, ends, loops, conditions, narrow types."""
    made = _begin("scalars_chosen")
    i32, i64 = dict(enumerate(_ENDS32)), dict(enumerate(_ENDS64))
    for text, value in (
        ("ag.where(t3 * t3 > 0, 1, 0)", 1),
        ("t0 + t0", i32[0] * 2),
        ("t1 // t7", 2**31),
        ("t1 // (t7 - z)", 2**31),
        ("-t1", 2**31),
        ("ag.abs(t1)", 2**31),
        ("ag.abs(u1)", -(2**63)),
        ("u1 // u5", -(2**63)),
        ("u0 + 1", -(2**63)),
        ("u2 * u2 * u2", 0),
        ("t0 * t0 * t0", wrap(i32[0] ** 3).value),
        ("t3 // z", 0),
        ("t3 % z", 0),
        ("t3 // t5", 0),
        ("ag.cdiv(t3, t8)", -(-60000 // 7)),
        ("ag.cdiv(t3, v0)", 0),
        ("ag.min(u0, t1)", i32[1]),
        ("ag.max(u1, t1)", i32[1]),
        ("(u7 + u7) // 2", -(2**62)),
        ("ag.where(u7 + u7 < 0, 1, 0)", 1),
        ("(u2 + t0) % 1000", (i64[2] + i32[0]) % 1000),
    ):
        made.put(text, value)
    fraction = np.float32(wrap(60000**4).value) / np.float32(2)
    made.put("(t3 * t3 * t3 * t3) / 2", int(fraction), "f32")
    for text, value in (
        ("t3 * t3", wrap32(60000**2)), ("u2 + 5", 5), ("t0 + t0", -2),
    ):  # fmt: skip
        made.put(text, value, "i32")
    made.put("t3 * t3", 60000**2 % 256, "u8")
    return made


def wrap32(value: int) -> int:
    """The number that 32 bits hold."""
    return (value + 2**31) % 2**32 - 2**31


def loops() -> Known:
    """What loops carry: sums, products, counters; bounds at the end of 32 bits."""
    made = _begin("scalars_loops")
    ends, wide = sum(_ENDS32), wrap(_ENDS64[4] + 3 * sum(_ENDS64)).value
    product, powers = wrap(60000**5), wrap(3**80)
    made.case.body += [
        "total, count, many, power = z, 0, 1, 1",
        "for i in ag.range(0, 10):",
        "    total = total + T[i]",
        "    count = count + 1",
        "three = u4",
        "for i in ag.range(0, 3):",
        "    for j in ag.range(0, 9):",
        "        three = three + U[j]",
        "for i in ag.range(0, 5):",
        "    many = many * t3",
        "for i in ag.range(0, 80):",
        "    power = power * 3",
        "turns, last = 0, 0",
        "for i in ag.range(t0 - 100, t0, 64):",
        "    turns = turns + 1",
        "    last = i",
        "down = t5",
        "for i in ag.range(t1, t1 + 5, 3):",
        "    down = down - 7",
        "longest = 0",
        "for i in ag.range(u0 - 10, u0, 4):",
        "    longest = longest + 1",
        "none = 0",
        "for i in ag.range(t0, t1, 64):",
        "    none = none + 1",
        "swap, other = t0, t1",
        "for i in ag.range(0, 3):",
        "    swap, other = other + 1, swap",
        "chosen = t0",
        "if t3 * t3 > t0:",
        "    chosen = t0 + 1",
    ]
    for text, value in (
        ("total", ends), ("count", 10), ("three", wide), ("many", product.value),
        ("power", powers.value), ("turns", 2), ("last", 2**31 - 1 - 36), ("down", -14),
        ("longest", 3), ("none", 0), ("swap", -(2**31) + 2), ("other", 2**31),
        ("chosen", 2**31),
    ):  # fmt: skip
        made.put(text, value)
    return made


def chosen() -> tuple[Known, ...]:
    """What is not random."""
    return chosen_scalars(), loops()


def cases(seeds: int = 4) -> Iterator[Case]:
    """All of them, to be held against the interpreter."""
    for known in (*chosen(), *map(random_scalars, range(seeds))):
        yield known.case
    yield places()


def places() -> Case:
    """Coordinates from tables, at both ends of their type: masks, slices, bounds."""
    n = 64
    inputs = tables()
    inputs["X"] = ("i32", "N", np.arange(n, dtype=np.int32))
    case = Case("scalars_places", loads(), inputs)
    case.scalars = {name: (d, v) for name, (d, v) in ARGUMENTS.items()}
    one = Output("i32", (WIDTH,))
    for start in (
        "t0", "t1", "t5", "t8", "t0 - 3", "t0 + 5", "t9 * t9", "t9 * t9 + 7", "t1 * 2",
        "u0", "u1", "u2", "u2 * u2", "u0 + 9", "u3 + 8589934597", "t0 - t0 + 40", "z",
    ):  # fmt: skip
        value = f'ag.load(X[{start} :], ({WIDTH},), fill=-1).rename("K")'
        case.write(value, "K", one)
    for end in ("t1", "t7", "t9", "t0", "u1", "u0", "u8", "t9 * t9", "t8 * 2 - 30"):
        value = f'ag.load(X[8 : {end}], ({WIDTH},), fill=-1).rename("K")'
        case.write(value, "K", one)
        value = f'ag.load(X[t8 : {end}], ({WIDTH},), fill=-1).rename("K")'
        case.write(value, "K", one)
    for start, end in (("t8", "t0"), ("t1", "t8"), ("t7", "t8"), ("t0", "t1")):
        case.write("x", "K", one)
        name = f"O{len(case.outputs) - 1}"
        case.body[-1] = f"x = ag.load(X[0:], ({WIDTH},))"
        case.body.append(f'{name}[{start} : {end}] = x.rename("K")')
    for other in ("u7", "t0 + t0", "t3 * t3", "u2", "t1", "t8 * 2"):
        value = f'ag.where(ag.index(x, "N") * 100 < {other}, x, -1).rename("K")'
        case.write(value, "K", one)
    return case
