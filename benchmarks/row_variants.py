"""What `row_forms.py` measures: sizes, and the launches that are tried at each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from argus.ir.dtypes import DTYPES, f32
from argus.kernels.layernorm.entry import FORMS as LAYERNORM
from argus.kernels.norms.entry import RMSNORM_FORMS, SOFTMAX_FORMS
from argus.lang.kernel import Kernel
from argus.requests import Request
from argus.runtime.dlpack import contiguous
from argus.specialisations import divisor, facts_of, specialisation, stride_divisors

FAMILIES = {"softmax": SOFTMAX_FORMS, "rmsnorm": RMSNORM_FORMS, "layernorm": LAYERNORM}
WEIGHTS = {"softmax": "", "rmsnorm": "W", "layernorm": "WB"}
EPS = {"softmax": None, "rmsnorm": 1e-6, "layernorm": 1e-5}
ELEMENTS = 1 << 24
"""Of X in the sizes that are searched."""
HELD = ((4, 2048), (8, 2048), (16, 2048), (16, 1024), (32, 1024), (32, 768), (64, 512))
"""Elements of a thread, and threads of a multiprocessor."""


@dataclass(frozen=True)
class Size:
    """X of m x n, with elements of a type."""

    family: str
    m: int
    n: int
    dtype: str = "bf16"

    def __str__(self) -> str:
        return f"{self.family} {self.m}x{self.n} {self.dtype}"


@dataclass(frozen=True)
class Variant:
    """A form with static parameters: "held", "passes", or "parts" (two launches)."""

    family: str
    form: str
    statics: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        values = " ".join(f"{n}={int(v)}" for n, v in self.statics)
        return f"{self.form} {values}"

    @property
    def steps(self) -> tuple[tuple[Kernel, tuple[str, ...]], ...]:
        """Kernels, and their tensors in order."""
        forms = FAMILIES[self.family]
        names = names_of(self.family)
        if self.form == "parts":
            kept = tuple(t.name for t in forms.parts.signature.tensors[1:])
            return (
                (forms.parts, ("X", *kept)),
                (forms.apply, ("X", *kept, *names[1:])),
            )
        return ((forms.held if self.form == "held" else forms.passes, names),)


def names_of(family: str) -> tuple[str, ...]:
    """Tensors of a kernel of one launch, in order."""
    return ("X", *WEIGHTS[family], "Y")


def requests(size: Size, variant: Variant) -> Iterator[Request]:
    """The specialisations that a call of a variant launches."""
    statics = dict(variant.statics)
    own = {"X": (size.m, size.n), "Y": (size.m, size.n)}
    own |= dict.fromkeys(WEIGHTS[size.family], (size.n,))
    for kernel, names in variant.steps:
        described: dict[str, Any] = {}
        for name in names:
            shape = own.get(name, (-(-size.n // statics["BN"]), size.m))
            dtype = DTYPES[size.dtype] if name in own else f32
            steps = stride_divisors(shape, contiguous(shape))
            described[name] = (dtype, tuple(map(divisor, shape)), steps)
        chosen = specialisation(kernel.signature, described)
        facts = facts_of(kernel.signature, chosen)
        yield Request(kernel, chosen.form, dict(variant.statics), "sm_90a", facts)


def held(size: Size) -> Iterator[Variant]:
    """Whole rows: tiles of some rows, so that a thread has 4 to 64 elements."""
    columns = max(16, 1 << (size.n - 1).bit_length())
    for warps in (1, 2, 4, 8, 16):
        for elements, threads in HELD:
            rows, rest = divmod(elements * 32 * warps, columns)
            if rest or rows < 1 or rows > 32 or (warps > 4 and rows > 1):
                continue
            if columns >= 1024 and (elements < 16 or rows > 2):
                continue
            blocks = min(32, threads // (32 * warps))
            yield one_launch(size.family, columns, warps, rows, blocks)


def one_launch(
    family: str, columns: int, warps: int, rows: int, blocks: int, *, walk: bool = False
) -> Variant:
    """One kernel for everything."""
    statics: dict[str, Any] = {
        "BN": columns, "WARPS": warps, "ROWS": rows, "MIN_BLOCKS": blocks
    }  # fmt: skip
    if walk:
        statics |= FAMILIES[family].fixed
    return Variant(family, "passes" if walk else "held", tuple(statics.items()))


def long(size: Size) -> Iterator[Variant]:
    """Parts of rows, one after the other; and whole rows as far as they fit."""
    for columns, warps, blocks in (
        (4096, 4, 4), (4096, 8, 4), (8192, 8, 4), (8192, 8, 2), (8192, 16, 2),
        (16384, 16, 2), (16384, 16, 1), (32768, 16, 1), (2048, 8, 8), (4096, 16, 2),
    ):  # fmt: skip
        yield one_launch(size.family, columns, warps, 1, blocks, walk=True)
    if size.n <= 32768:
        columns = 1 << (size.n - 1).bit_length()
        for blocks in (1, 2):
            yield one_launch(size.family, columns, 16, 1, blocks)


def parts(size: Size) -> Iterator[Variant]:
    """Two launches, and passes."""
    for columns, warps in ((1024, 4), (2048, 4), (2048, 8), (4096, 8), (8192, 16)):
        statics = (("BN", columns), ("WARPS", warps))
        yield Variant(size.family, "parts", statics)
    yield one_launch(size.family, 8192, 16, 1, 1, walk=True)
    yield one_launch(size.family, 16384, 16, 1, 2, walk=True)


def odd(size: Size) -> Iterator[Variant]:
    """Parts of rows, by one block or by several; a thread has few elements, or many."""
    for columns, warps, blocks in (
        (2048, 2, 12), (2048, 4, 8), (2048, 4, 12), (4096, 4, 6), (4096, 4, 8),
        (4096, 8, 3), (4096, 8, 4), (8192, 8, 3), (8192, 16, 2), (16384, 16, 2),
    ):  # fmt: skip
        yield one_launch(size.family, columns, warps, 1, blocks, walk=True)
    for columns, warps in ((1024, 2), (2048, 2), (2048, 4), (4096, 4), (4096, 8)):
        yield Variant(size.family, "parts", (("BN", columns), ("WARPS", warps)))


def chosen(size: Size) -> Iterator[Variant]:
    """What the library has for many rows."""
    forms = FAMILIES[size.family]
    kernel, statics = forms.single(size.n, 8 * DTYPES[size.dtype].bytes)
    form = "held" if kernel is forms.held else "passes"
    given = ((name, cast("int", value)) for name, value in statics.items())
    yield Variant(size.family, form, tuple(given))


def sizes(which: str) -> list[Size]:
    """What is searched."""
    found: list[Size] = []
    if which == "held":
        for n in (
            16,
            64,
            128,
            256,
            512,
            1024,
            2048,
            4096,
            8192,
            100,
            197,
            333,
            1000,
            3333,
        ):
            found.append(Size("softmax", ELEMENTS // n, n))
        for n in (64, 256, 512, 1024, 2048, 333):
            found.append(Size("softmax", ELEMENTS // n, n, "f32"))
        for family in ("rmsnorm", "layernorm"):
            for n in (64, 256, 512, 1024, 2048, 4096, 8192, 333):
                found.append(Size(family, ELEMENTS // n, n))
            for n in (64, 512, 1024):
                found.append(Size(family, ELEMENTS // n, n, "f32"))
    elif which == "long":
        for family in FAMILIES:
            for m, n in (
                (4096, 16384),
                (4096, 24576),
                (2048, 32768),
                (1024, 50257),
                (4096, 128256),
            ):
                found.append(Size(family, m, n))
            for m, n in ((2048, 16384), (1024, 32768), (1024, 50257)):
                found.append(Size(family, m, n, "f32"))
    elif which == "parts":
        for family in FAMILIES:
            for m, n in (
                (1, 8192), (1, 131072), (1, 1 << 20), (8, 16384), (8, 32768),
                (8, 50257), (8, 128256), (32, 16384), (32, 50257), (64, 32768),
                (64, 128256), (132, 50257), (200, 128256), (264, 50257),
            ):  # fmt: skip
                found.append(Size(family, m, n))
    elif which == "odd":
        for family in FAMILIES:
            for m, n in ((132, 50257), (1024, 50257), (4096, 50257), (2048, 50260),
                         (2048, 40000), (512, 131072), (4096, 128256)):  # fmt: skip
                found.append(Size(family, m, n))
            found.append(Size(family, 2048, 50257, "f32"))
            found.append(Size(family, 2048, 65536, "f32"))
    else:
        for family in FAMILIES:
            for m, n in CHOSEN:
                found.append(Size(family, m, n))
            for m, n in CHOSEN[::3]:
                found.append(Size(family, m, n, "f32"))
    return found


CHOSEN = (
    (100000, 64), (65536, 1), (300000, 7), (50000, 33), (40000, 100), (65536, 128),
    (30000, 197), (65536, 256), (20000, 333), (32768, 512), (16384, 768),
    (16384, 1000), (65536, 1024), (8192, 1536), (8191, 2048), (1001, 3333),
    (4096, 4096), (8191, 5000), (16384, 8192), (8192, 11008), (8192, 16384),
    (2048, 24576), (2048, 32768), (1024, 50257), (4096, 128256), (512, 131072),
    (256, 262144), (8, 50257), (1, 131072), (32, 32000), (64, 151936), (1, 64),
    (8, 4096), (200, 8192),
)  # fmt: skip
"""Sizes of all kinds, few rows and many."""


SEARCHES = {"held": held, "long": long, "parts": parts, "odd": odd, "chosen": chosen}
"""What is tried at the sizes of a name."""
