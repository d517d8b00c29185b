"""Names of tensors, dimensions and variables in the text of a kernel."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from argus.programs.lowering.expressions import Border, ElementNode, TableIndex
from argus.programs.lowering.lowering import LoweredGroup
from argus.programs.tensors.affine import Affine
from argus.programs.tensors.tensor_program import GivenPrimitive, ProgramValue

_LETTERS = ("I", "J", "K", "L", "M", "N", "P", "Q")
_TAKEN = {"ag", "f32", "f16", "bf16", "i32", "i64", "boolean", "np"}


@dataclass(frozen=True)
class TableDim:
    """A dimension whose coordinates are numbers of the program."""

    extent: int
    stride: int


TensorDim = str | Border | TableDim
"""A dimension of a parameter: a loop, or one that an element walks in its own way."""

ParameterKey = tuple[ProgramValue, Affine, tuple[Border, ...], tuple[TableDim, ...]]


def parameter_key(node: ElementNode) -> ParameterKey:
    """Elements with the same key are of one parameter."""
    return node.buffer, node.offset, node.borders, tuple(map(table_dim, node.tables))


def table_dim(table: TableIndex) -> TableDim:
    """The dimension from which a table chooses."""
    return TableDim(table.extent, table.stride)


@dataclass(frozen=True)
class KernelTensor:
    """A parameter of a kernel: a buffer, walked with strides.

    ``dims`` are loops, borders and tables, outermost first, ``strides`` in elements;
    ``start`` is where its first element is, in launches that are repeated
    ``advance`` elements further each time. ``unit``: a last dimension of size 1 is
    added, since the innermost stride has to be 1.
    """

    name: str
    buffer: ProgramValue
    dims: tuple[TensorDim, ...]
    strides: tuple[int, ...]
    start: int
    unit: bool
    advance: int = 0

    def begin(self, time: int) -> int:
        """Where its first element is in a launch that is repeated; 0: the first."""
        return self.start + time * self.advance

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Sizes of its dimensions."""
        found = (sizes[d] if isinstance(d, str) else d.extent for d in self.dims)
        return (*found, *((1,) if self.unit else ()))

    @property
    def loops(self) -> tuple[str, ...]:
        """Those of its dimensions that are loops."""
        return tuple(d for d in self.dims if isinstance(d, str))

    @property
    def walked(self) -> tuple[str | Border, ...]:
        """Its dimensions in order, but for those that tables choose from."""
        return tuple(d for d in self.dims if not isinstance(d, TableDim))

    @property
    def borders(self) -> tuple[Border, ...]:
        """Those of its dimensions that have a border."""
        return tuple(d for d in self.dims if isinstance(d, Border))

    @property
    def tables(self) -> tuple[TableDim, ...]:
        """Those of its dimensions that tables choose from."""
        return tuple(d for d in self.dims if isinstance(d, TableDim))

    @property
    def all_strides(self) -> tuple[int, ...]:
        """Strides of its dimensions."""
        return (*self.strides, *((1,) if self.unit else ()))


def accessed(
    name: str,
    buffer: ProgramValue,
    offset: Affine,
    borders: Sequence[Border] = (),
    tables: Sequence[TableIndex] = (),
) -> KernelTensor:
    """The parameter for accesses of a buffer at an offset."""
    terms: list[tuple[TensorDim, int]] = [*offset.terms]
    terms += [(b, b.stride) for b in borders]
    terms += [(t, t.stride) for t in map(table_dim, tables)]
    terms.sort(key=lambda term: -term[1])
    unit = not terms or terms[-1][1] != 1
    return KernelTensor(
        name,
        buffer,
        tuple(n for n, _ in terms),
        tuple(c for _, c in terms),
        offset.constant,
        unit,
    )


def fixed_loops(group: LoweredGroup) -> frozenset[str]:
    """Loops on which borders depend, or that no tensor has: their sizes are static."""
    borders = (b.index.loops for e in group.elements for b in e.borders)
    walked = (e.offset.loops for e in group.elements)
    stored = (s.offset.loops for s in group.stores)
    own = {*group.rows, *group.columns}.difference(*walked, *stored)
    return frozenset(group.flat).union(own, *borders, *group.flat.values())


def loop_letters(group: LoweredGroup) -> dict[str, str]:
    """The name of each loop's dimension."""
    loops = (*group.rows, *group.columns, *group.flat)
    names = [*_LETTERS, *(f"D{i}" for i in range(len(loops)))]
    return dict(zip(loops, names, strict=False))


class UsedNames:
    """Names that are used; the others are free."""

    def __init__(self, used: set[str]) -> None:
        self._used = used | _TAKEN

    def fresh(self, wish: str) -> str:
        """A name that is not used yet, and is from now on."""
        name, count = wish, 1
        while name in self._used or keyword.iskeyword(name):
            count += 1
            name = f"{wish}{count}"
        self._used.add(name)
        return name

    def tensor(self, value: ProgramValue, wish: str = "X") -> str:
        """A name for a tensor: what a weight is called in its layer, else ``wish``.

        It does not say where the value stands in the program, so that kernels of equal
        layers have equal texts.
        """
        made = value.made
        if isinstance(made, GivenPrimitive) and made.kind == "weight":
            own = re.findall("[A-Za-z]+", str(made.source).rpartition(".")[2])
            wish = "".join(w[:1].upper() + w[1:] for w in own) or wish
        return self.fresh(wish)

    def result(self, value: ProgramValue) -> str:
        """A name for a tensor that is written."""
        return self.tensor(value, "Y")
