"""What a call chooses when it specialises a kernel, as data: every choice, and one.

A kernel with its static parameters and its target is compiled again for each

    form         which optional tensors are there, and the element type of each tensor
    alignment    for each dimension that is innermost in some tensor ("rows" lie along
                 it): which power of two divides its extent, and which divides all
                 strides of the tensors that have it innermost

and for nothing else: other sizes, run-time scalars and addresses are looked at when the
kernel is launched. `SpecialisationSpace` enumerates the choices; its `member` is the
one that a call makes. `argus check` proves the members of a space, `argus.calls`
compiles one of them, and both know them only through this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod

from argus.diagnostics import fail
from argus.ir.dtypes import DType
from argus.lang.frontend.signature import Signature

DIVISORS = (16, 8, 4, 2, 1)
"""What is asked of a size or a stride: the first of these that divides it is known.

16 bytes are the widest access; elements have one byte at least.
"""

Form = Mapping[str, DType]
"""Element types of the tensors that are there; an optional one left out is absent."""


def divisor(n: int) -> int:
    """The largest power of two that divides n, at most 16."""
    return next(d for d in DIVISORS if n % d == 0)


@dataclass(frozen=True)
class InnermostDimension:
    """One innermost dimension and the tensors whose rows lie along it.

    ``extent`` divides the dimension, ``stride`` all strides of ``tensors``; None where
    there is nothing to divide: a fixed extent, tensors of one dimension.
    """

    dim: str
    tensors: tuple[str, ...]
    extent: int | None
    stride: int | None

    @property
    def level(self) -> tuple[int, ...]:
        """What divides the strides and the extent, where there is something."""
        return tuple(n for n in (self.stride, self.extent) if n is not None)


@dataclass(frozen=True)
class Specialisation:
    """One choice: a member of a `SpecialisationSpace`."""

    form: Form
    rows: tuple[InnermostDimension, ...]


@dataclass(frozen=True)
class SpecialisationSpace:
    """Every specialisation that calls may choose of a kernel.

    ``fixed``: dimensions with a static parameter's name, which no call leaves open.
    ``types``: what the caller of a tensor may pass, by tensor; None means absent.
    ``extents``: dimensions of which a divisor was chosen (a restriction).
    """

    signature: Signature
    types: Mapping[str, tuple[DType | None, ...]]
    fixed: frozenset[str] = frozenset()
    extents: Mapping[str, int] = field(default_factory=dict[str, int])

    @staticmethod
    def of(signature: Signature) -> SpecialisationSpace:
        """Everything that the signature allows."""
        types = {
            t.name: ((None,) if t.optional else ()) + t.dtypes
            for t in signature.tensors
        }
        statics = {s.name for s in signature.statics}
        fixed = frozenset(d for d in signature.dims if d in statics)
        return SpecialisationSpace(signature, types, fixed)

    def restricted(
        self,
        types: Mapping[str, DType | None],
        extents: Mapping[str, int],
    ) -> SpecialisationSpace:
        """The part with these element types and these sizes of dimensions."""
        chosen = {n: (types[n],) if n in types else t for n, t in self.types.items()}
        known = {d: divisor(n) for d, n in extents.items() if d not in self.fixed}
        return replace(self, types=chosen, extents={**self.extents, **known})

    @property
    def key(self) -> str:
        """A text that is the same for the same choices."""
        types = {n: [d and d.name for d in t] for n, t in self.types.items()}
        return f"{types} {dict(sorted(self.extents.items()))}"

    # ---------------------------------------------------------------- enumerating

    @property
    def form_count(self) -> int:
        """How many forms there are."""
        return prod(len(t) for t in self.types.values())

    def forms(self) -> Iterator[Form]:
        """Every form; absent tensors and the first element types come first."""
        for chosen in product(*self.types.values()):
            pairs = zip(self.types, chosen, strict=True)
            yield {name: dtype for name, dtype in pairs if dtype is not None}

    def levels(self, form: Form) -> tuple[tuple[int, ...], ...]:
        """Divisors to choose from, for each number of the rows of a form in order."""
        found: list[tuple[int, ...]] = []
        for row in self._rows(form):
            chosen = self.extents.get(row.dim)
            for number in ("stride", "extent"):
                if getattr(row, number) is None:
                    continue
                known = number == "extent" and chosen is not None
                found.append((chosen,) if known and chosen else DIVISORS)
        return tuple(found)

    def at(self, form: Form, numbers: Sequence[int]) -> Specialisation:
        """The member with these numbers, in the order of `levels`."""
        left = list(numbers)
        rows: list[InnermostDimension] = []
        for row in self._rows(form):
            stride = None if row.stride is None else left.pop(0)
            extent = None if row.extent is None else left.pop(0)
            rows.append(replace(row, stride=stride, extent=extent))
        return Specialisation(form, tuple(rows))

    def count(self, form: Form) -> int:
        """How many members have this form."""
        return prod(len(numbers) for numbers in self.levels(form))

    def __contains__(self, chosen: Specialisation) -> bool:
        """Whether this is one of the space."""
        for name, allowed in self.types.items():
            if chosen.form.get(name) not in allowed:
                return False
        shape = self._rows(chosen.form)
        if len(shape) != len(chosen.rows):
            return False
        for own, row in zip(shape, chosen.rows, strict=True):
            same = (own.dim, own.tensors) == (row.dim, row.tensors)
            open_ = [
                (a is None) == (b is None)
                for a, b in ((own.stride, row.stride), (own.extent, row.extent))
            ]
            if not same or not all(open_):
                return False
            if any(n not in DIVISORS for n in row.level):
                return False
            known = self.extents.get(row.dim)
            if known is not None and row.extent not in (None, known):
                return False
        return True

    def _rows(self, form: Form) -> tuple[InnermostDimension, ...]:
        """The rows of a form, everything divisible by the most."""
        of: dict[str, list[str]] = {}
        ranks: dict[str, int] = {}
        for tensor in self.signature.tensors:
            if tensor.name in form:
                dim = str(tensor.dims[-1])
                of.setdefault(dim, []).append(tensor.name)
                ranks[dim] = max(ranks.get(dim, 1), len(tensor.dims))
        most = DIVISORS[0]
        rows = [
            InnermostDimension(
                dim,
                tuple(names),
                None if dim.isdigit() or dim in self.fixed else most,
                most if ranks[dim] > 1 else None,
            )
            for dim, names in of.items()
        ]
        return tuple(r for r in rows if r.level)

    # -------------------------------------------------------------------- choosing

    def member(
        self,
        form: Form,
        extents: Mapping[str, Sequence[int]],
        strides: Mapping[str, Sequence[int]],
    ) -> Specialisation:
        """What a call with these tensors chooses.

        ``extents`` and ``strides`` by tensor, or what divides them; the latter as
        `stride_divisors` gives them.
        """
        declared = {t.name: t for t in self.signature.tensors}
        rows: list[InnermostDimension] = []
        for row in self._rows(form):
            extent, stride = row.extent, row.stride
            if stride is not None:
                for name in row.tensors:
                    stride = min([stride, *map(divisor, strides[name][:-1])])
            if extent is not None:
                for name in form:
                    for dim, size in zip(
                        declared[name].dims, extents[name], strict=True
                    ):
                        if dim == row.dim:
                            extent = min(extent, divisor(size))
            rows.append(replace(row, extent=extent, stride=stride))
        return Specialisation(form, tuple(rows))


Described = tuple[DType, tuple[int, ...], tuple[int, ...]]
"""Element type, divisors of the extents, divisors of the strides of a tensor."""


def specialisation(
    signature: Signature, described: Mapping[str, Described]
) -> Specialisation:
    """The member of a kernel's space that these tensors choose.

    Raises ArgusError: AG0801 (a tensor is missing), AG0802 (element type), AG0803
    (rank).
    """
    for tensor in signature.tensors:
        given = described.get(tensor.name)
        if given is None:
            if tensor.optional:
                continue
            raise fail("AG0801", None, f"the tensor `{tensor.name}` is not given")
        dtype, extents, _ = given
        if dtype not in tensor.dtypes:
            options = " or ".join(str(d) for d in tensor.dtypes)
            raise fail(
                "AG0802",
                None,
                f"`{tensor.name}` has elements of {dtype}, expected {options}",
            )
        if len(extents) != len(tensor.dims):
            dims = " ".join(map(str, tensor.dims))
            raise fail(
                "AG0803",
                None,
                f"`{tensor.name}` has rank {len(extents)}, expected "
                f"{len(tensor.dims)}: {dims}",
            )
    space = SpecialisationSpace.of(signature)
    chosen = space.member(
        {
            t.name: described[t.name][0]
            for t in signature.tensors
            if t.name in described
        },
        {name: given[1] for name, given in described.items()},
        {name: given[2] for name, given in described.items()},
    )
    assert chosen in space, chosen
    return chosen


def stride_divisors(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """What divides the strides of a tensor, in elements.

    The stride of a dimension of extent 1 is never used, and producers put anything
    there: a launch rounds it up to a multiple of everything that is asked for.
    """
    return tuple(
        DIVISORS[0] if n == 1 else divisor(step)
        for n, step in zip(shape, strides, strict=True)
    )


def facts_of(signature: Signature, chosen: Specialisation) -> dict[str, int]:
    """Divisors by symbol ("K", "A_s0"), as the frontend takes them.

    Accesses are as wide as strides and innermost extents allow; of a dimension that is
    innermost nowhere nothing is said, so that a new batch size is no new
    specialisation.
    """
    facts: dict[str, int] = {}
    declared = {t.name: t for t in signature.tensors}
    for name in chosen.form:
        for i, dim in enumerate(declared[name].dims):
            facts[f"{name}_s{i}"] = 1
            if isinstance(dim, str):
                facts[dim] = 1
    for row in chosen.rows:
        if row.extent is not None:
            facts[row.dim] = row.extent
        for name in row.tensors:
            for i in range(len(declared[name].dims) - 1):
                facts[f"{name}_s{i}"] = row.stride or 1
    return facts
