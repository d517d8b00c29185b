"""A kernel file in the making: parameters, lines, and the reference beside them.

Whoever adds an operation writes it twice, once in the language (`Draft.line`) and once
in numpy (`Draft.ref`), with the same names. The reference is computed on whole arrays
in fp64 (integers: int64), the kernel on tiles in the types that it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

HALVES = ("bf16", "f16")
FLOATS = ("bf16", "f16", "f32")
INTEGERS = ("i8", "u8", "i32", "i64")
TOLERANCES = {"f32": 2e-4, "f16": 6e-3, "bf16": 3e-2}
"""Relative to an element and to the root mean square of its output."""


@dataclass(frozen=True)
class Tensor:
    """A tensor parameter. ``draw`` says what an input holds, `running.py` draws it:

    normal, ints (in [low, high)), bits (any value of the type), table (entries in
    [low, high) where `high` may name a dimension, -1 and too large ones among them if
    ``wild``), ends (near the ends of the type, its half and zero), distinct (no two
    equal, below `high`), zeros. ``kind``: input, output (poisoned), both (in place: an
    input that changes).
    """

    name: str
    dtype: str
    dims: tuple[str | int, ...]
    kind: str = "input"
    draw: str = "normal"
    low: int = -4
    high: int | str = 5
    wild: bool = False
    optional: bool = False
    present: bool = True
    group: str = ""


@dataclass(frozen=True)
class Generated:
    """A kernel file and how to run it.

    ``sizes`` are several launches of one specialisation; ``tolerances`` are those of
    outputs against ``reference``, the name of a function of ``source`` that takes all
    tensors that are present, scalars and sizes by name and returns the outputs in
    order. ``features`` name what the kernel uses; ``expects_refusal`` says why the
    compiler may refuse it.
    """

    seed: int
    family: str
    source: str
    tensors: tuple[Tensor, ...]
    scalars: Mapping[str, int | float]
    statics: Mapping[str, object]
    sizes: tuple[Mapping[str, int], ...]
    tolerances: Mapping[str, float]
    features: frozenset[str]
    expects_refusal: str = ""
    kernel: str = "k"
    reference: str = "reference"

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of what the kernel writes, in the order of its parameters."""
        return tuple(t.name for t in self.tensors if t.kind != "input" and t.present)


@dataclass(frozen=True)
class Value:
    """A tile and its counterpart in the reference: one name for both.

    ``dims`` are the axes of the tile in order; ``exact``: no rounding has happened, so
    that even what jumps (floor, comparison with a number) agrees with the reference.
    """

    name: str
    dims: tuple[str, ...]
    dtype: str
    exact: bool = False


@dataclass(frozen=True)
class Place:
    """Where a tile lies: each dimension's start and size (None: a scalar index)."""

    axes: Mapping[str, tuple[str, str | None]]
    order: tuple[str, ...]
    """Dimensions of the arrays of the reference, in order."""

    @property
    def tile(self) -> tuple[str, ...]:
        """The dimensions that tiles have."""
        return tuple(d for d in self.order if self.axes[d][1] is not None)

    def index(self, dims: tuple[str | int, ...]) -> str:
        """The subscript of a tensor of these dimensions, its sizes left open."""
        parts = [self.axes[str(d)] for d in dims]
        return ", ".join(
            start if size is None else f"{start} :" for start, size in parts
        )

    def shape(self, dims: tuple[str | int, ...]) -> str:
        """The sizes of a tile of these dimensions, as a tuple in text."""
        sizes = [s for d in dims if (s := self.axes[str(d)][1]) is not None]
        return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"

    def load(self, name: str, dims: tuple[str | int, ...], more: str = "") -> str:
        """A load of the part of a tensor that lies here."""
        return f"ag.load({name}[{self.index(dims)}], {self.shape(dims)}{more})"

    def spread(self, name: str, dims: tuple[str, ...]) -> str:
        """An array of these dimensions in the reference, to meet one of all."""
        picks = [":" if d in dims else "None" for d in self.order]
        return name if "None" not in picks else f"{name}[{', '.join(picks)}]"


@dataclass
class Draft:
    """What is known of the kernel so far. Lines go where the indentation stands."""

    rng: Random
    tensors: list[Tensor] = field(default_factory=list)
    scalars: dict[str, tuple[str, int | float]] = field(default_factory=dict)
    statics: dict[str, tuple[str, object]] = field(default_factory=dict)
    overrides: dict[str, object] = field(default_factory=dict)
    inlines: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    reference: list[str] = field(default_factory=list)
    features: set[str] = field(default_factory=set)
    refusal: str = ""
    worst: str = "f32"
    """The least exact type that a value went through."""
    _depth: int = 1
    _count: int = 0

    def fresh(self, stem: str = "v") -> str:
        """A name that is not used yet."""
        self._count += 1
        return f"{stem}{self._count}"

    def line(self, text: str) -> None:
        """A line of the kernel."""
        self.body.append("    " * self._depth + text)

    def ref(self, text: str) -> None:
        """A line of the reference."""
        self.reference.append("    " + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Lines inside are those of a `for`, `with` or `if`."""
        self.line(head)
        self._depth += 1
        before = len(self.body)
        yield
        if len(self.body) == before:
            self.line("pass")
        self._depth -= 1

    def use(self, *features: str) -> None:
        """Note that the kernel has these features."""
        self.features.update(features)

    def maybe(self, chance: float) -> bool:
        """True in that share of the cases."""
        return self.rng.random() < chance

    def pick(self, **weights: float) -> str:
        """One of the names, by weight."""
        return self.rng.choices(list(weights), list(weights.values()))[0]

    def tensor(
        self, name: str, dtype: str, dims: tuple[str | int, ...], **how
    ) -> Tensor:
        """A further tensor parameter."""
        made = Tensor(name, dtype, dims, **how)
        self.tensors.append(made)
        self.rounded(dtype)
        return made

    def static(self, name: str, kind: str, value: object) -> str:
        """A static parameter; at times it is passed and its default is another one."""
        self.statics[name] = (kind, value)
        return name

    def size(self, name: str, value: int) -> str:
        """A tile's size: a static parameter or the number itself, in text."""
        if self.maybe(0.5):
            self.use("static")
            return self.static(name, "int", value)
        return str(value)

    def scalar(self, name: str, dtype: str, value: int | float) -> str:
        """A run-time scalar argument."""
        self.use("scalar")
        self.scalars[name] = (dtype, value)
        return name

    def rounded(self, dtype: str) -> None:
        """Note that values go through a type."""
        if TOLERANCES.get(dtype, 0) > TOLERANCES[self.worst]:
            self.worst = dtype

    def finished(
        self, seed: int, family: str, sizes: list[dict[str, int]], slack: float = 1.0
    ) -> Generated:
        """The file."""
        outputs = [t for t in self.tensors if t.kind != "input" and t.present]
        tolerances = {
            t.name: slack * TOLERANCES[self.worst] if t.dtype in FLOATS else 0.0
            for t in outputs
        }
        return Generated(
            seed,
            family,
            self._source(outputs),
            tuple(self.tensors),
            {name: value for name, (_, value) in self.scalars.items()},
            dict(self.overrides),
            tuple(sizes),
            tolerances,
            frozenset({family, *self.features}),
            self.refusal,
        )

    def _source(self, outputs: list[Tensor]) -> str:
        head = [*(self._parameter(t) for t in self._ordered())]
        for name, (dtype, value) in self.scalars.items():
            head.append(f"{name}: {dtype} = {value!r}")
        if self.statics:
            head.append("*")
        for name, (kind, value) in self.statics.items():
            shown = value if kind in ("ag.Inline", "ag.dtype") else repr(value)
            head.append(f"{name}: {kind} = {shown}")
        dims = dict.fromkeys(
            d for t in self.tensors for d in t.dims if isinstance(d, str)
        )
        where = {d: f"ag.dim({d!r})" for d in dims if d not in self.statics}
        used = [d for d in where if self._mentions(d)]
        known = [f"    {d} = {where[d]}" for d in used]
        given = [t.name for t in self.tensors if t.present]
        arguments = [*given, *self.scalars, "**sizes"]
        sized = [f"    {d} = sizes[{d!r}]" for d in where if self._referred(d)]
        results = ", ".join(f"out_{t.name}" for t in outputs)
        return "\n".join(
            [
                "import argus as ag",
                "from argus import bf16, boolean, f16, f32, i8, i32, i64, u8",
                "",
                *self.inlines,
                "",
                "@ag.kernel",
                "def k(",
                *(f"    {p}," if p != "*" else "    *," for p in head),
                "):",
                *known,
                *self.body,
                "",
                "",
                "@ag.reference",
                f"def reference({', '.join(arguments)}):",
                "    import numpy as np",
                "",
                *sized,
                *self.reference,
                f"    return ({results},)",
                "",
            ]
        )

    def _ordered(self) -> list[Tensor]:
        """Those with a default come last."""
        return sorted(self.tensors, key=lambda t: t.optional)

    def _parameter(self, t: Tensor) -> str:
        kind = t.group or t.dtype
        text = f'{t.name}: {kind}["{" ".join(map(str, t.dims))}"]'
        return f"{text} | None = None" if t.optional else text

    def _mentions(self, word: str) -> bool:
        return any(_has(text, word) for text in self.body)

    def _referred(self, word: str) -> bool:
        return any(_has(text, word) for text in self.reference)


def _has(text: str, word: str) -> bool:
    bare = re.sub(r"\"[^\"]*\"|'[^']*'", "", text)
    return re.search(rf"\b{word}\b", bare) is not None
