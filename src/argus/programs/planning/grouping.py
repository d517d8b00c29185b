"""Which values one kernel computes.

Decided here and nowhere else. From the results backwards, a value joins the kernel that
reads it, if all that read it are in that kernel and it is still one the language can
say; else it is stored by a kernel of its own. What lies between two products of
attention joins at one time: it is a kernel as a whole only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from argus.programs.attention.attention_chains import (
    ProductChains,
    chains_to,
    places_among,
    product_chains,
)
from argus.programs.attention.attention_form import AttentionForm
from argus.programs.attention.chained_form import ChainedForm, chained_form
from argus.programs.lowering.counting import require_provable
from argus.programs.lowering.lowering import LoweredGroup, NotFusedError, lowered
from argus.programs.lowering.unrolling import unrolled
from argus.programs.planning.alike import KnownKernels
from argus.programs.planning.forms import KernelForm, formed, source_of
from argus.programs.planning.kernel_group import KernelGroup
from argus.programs.planning.large_kernels import maps_to_try
from argus.programs.planning.worth import (
    is_all_of_reductions,
    is_alone,
    is_of_computed,
    is_recomputed,
    no_empty_tiles,
    no_gaps,
    no_long_epilogue,
    no_product,
    no_short_sums,
    no_turned_rows,
    worthwhile,
)
from argus.programs.products.product_forms import ProductForm
from argus.programs.tensors.loops import NotAffineError
from argus.programs.tensors.tensor_program import (
    ContractPrimitive,
    FilledPrimitive,
    GatherPrimitive,
    GivenPrimitive,
    JoinedPrimitive,
    MapPrimitive,
    PositionPrimitive,
    ProgramValue,
    ReducePrimitive,
    TensorProgram,
    TorchPrimitive,
    ViewedValue,
    operands_of,
)
from argus.programs.tiles.tile_axes import GroupTiling

_MOST_TENSORS = 24
"""Tensors that a kernel reads, at most, where it need not."""
_REPEATED = 3
"""Kernels that may compute the same map."""
_CHEAP = frozenset({"add", "sub", "mul", "neg", "abs", "maximum", "minimum", "cast"})
"""Functions that take no longer than reading what they give."""
_CHOOSING = frozenset({"where", "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not"})
"""Functions of masks, which attention computes anew for each head."""
_FRACTION = 8
"""A tensor that is so many times smaller than another counts for nothing beside it."""


def grouped(program: TensorProgram, known: KnownKernels) -> list[KernelGroup]:
    """Kernels in the order of their launches. ``known``: those that were made."""
    return _Grouping(program, known).groups()


def _one_kernel(
    stored: ProgramValue, inside: frozenset[ProgramValue]
) -> tuple[LoweredGroup, KernelForm]:
    """The loops and form of a kernel. Raises NotFusedError where there is none."""
    try:
        group, form = formed(lowered([stored], inside))
    except NotFusedError as error:
        product = any(isinstance(v.made, ContractPrimitive) for v in inside)
        if not product or not isinstance(error.__cause__, NotAffineError):
            raise
        group, form = formed(lowered([stored], inside, padded=True))
    worthwhile(group)
    if inside:
        no_turned_rows(group)
        require_provable(group)
        if len({e.buffer for e in group.elements}) > _MOST_TENSORS:
            raise NotFusedError("more tensors than a kernel should read")
    source_of(group, form, "kernel", "")
    return group, form


def _attention(
    stored: Sequence[ProgramValue],
    inside: frozenset[ProgramValue],
    dims: Sequence[tuple[int, ...]],
) -> tuple[LoweredGroup, KernelForm]:
    """The same of attention, with what it stores beside, of which ``dims`` are."""
    group, form = formed(lowered(stored, inside, dims, chained=True))
    source_of(group, form, "kernel", "")
    return group, form


def _chained(
    stored: Sequence[ProgramValue],
    inside: frozenset[ProgramValue],
    dims: Sequence[tuple[int, ...]],
) -> tuple[LoweredGroup, KernelForm]:
    """The same of chained products."""
    group, form = chained_form(unrolled(lowered(stored, inside, dims, chained=True)))
    source_of(group, form, "kernel", "")
    return group, form


def _used(program: TensorProgram) -> set[ProgramValue]:
    """Values that results or calls of torch depend on."""
    used = {r.value for r in program.results if isinstance(r, ViewedValue)}
    for value in reversed(program.values):
        needed = value in used or (value.home is not None and value.home in used)
        if needed or isinstance(value.made, TorchPrimitive):
            used.add(value)
            used |= {operand.value for operand in operands_of(value)}
    return used


class _Grouping:
    def __init__(self, program: TensorProgram, known: KnownKernels) -> None:
        self.program, self.known = program, known
        self.readers: dict[ProgramValue, list[ProgramValue]] = {}
        self.needed: set[ProgramValue] = set()
        self.free: set[ProgramValue] = set()
        """Values that are made of positions alone: each kernel has its own."""
        used = _used(program)
        for value in program.values:
            free = isinstance(value.made, FilledPrimitive | PositionPrimitive)
            if free or (
                isinstance(value.made, MapPrimitive)
                and all(o.value in self.free for o in operands_of(value))
            ):
                self.free.add(value)
            if value.home is not None and value in used:
                self.needed.add(value)
            for operand in operands_of(value) if value in used else ():
                self.readers.setdefault(operand.value, []).append(value)
        for result in program.results:
            if isinstance(result, ViewedValue):
                self.needed.add(result.value)
        self.inside: dict[ProgramValue, set[ProgramValue]] = {}
        self.root: dict[ProgramValue, set[ProgramValue]] = {}
        """Kernels that compute a value, by what they store."""
        self.kernels: dict[ProgramValue, KernelGroup] = {}

    def groups(self) -> list[KernelGroup]:
        given = self.program.values, self.free, self.readers, self.needed
        for chains in product_chains(*given):
            self._chain(chains)
        every = self.program.values[::-1]
        alone = 0  # those before it are tried one by one
        for at, value in enumerate(every):
            if value in self.root:
                continue  # a part of attention, or of its gradients, or of several
            if at >= alone and (several := self._several(every[at:])):
                if self._join_at_once(*several):
                    continue
                alone = at + len(several[1])
            readers = self.readers.get(value, [])
            if (not readers and value not in self.needed) or not value.size:
                continue
            match value.made:
                case GivenPrimitive() | TorchPrimitive() | JoinedPrimitive():
                    continue
                case _:
                    self._place(value, readers)
        order = {v: i for i, v in enumerate(self.program.values)}
        return sorted(self.kernels.values(), key=lambda g: order[g.stored])

    def _several(
        self, values: Sequence[ProgramValue]
    ) -> tuple[ProgramValue, list[ProgramValue]] | None:
        """The root of a large kernel of maps, and maps that it alone reads, to try."""
        readers = self.readers.get(values[0], ())
        roots = {r for v in readers for r in self.root.get(v, ())}
        if len(roots) != 1:
            return None
        (root,) = roots
        inside = {v for v in self.inside[root] if self.root.get(v) == roots}
        kernel, stored = self.kernels[root], self.needed | self.root.keys()
        found = maps_to_try(kernel, inside, values, self.readers, stored)
        return (root, found) if found else None

    def _join_at_once(self, root: ProgramValue, values: list[ProgramValue]) -> bool:
        try:
            self._set(root, {*self.inside[root], *values}, strict=True)
        except NotFusedError:
            return False
        self.root.update((value, {root}) for value in values)
        return True

    def _place(self, value: ProgramValue, readers: list[ProgramValue]) -> None:
        roots: set[ProgramValue] = set()
        stored = value in self.needed or is_of_computed(value)
        stored |= is_all_of_reductions(value, readers)
        for reader in readers:
            found = self.root.get(reader)
            if found is None:  # torch reads it
                stored |= isinstance(reader.made, TorchPrimitive)
                continue
            roots |= found
        having = {r for r in roots if value in self.inside[r]}
        if having and having == roots and not stored:
            self.root[value] = roots
            return  # made of positions, in attention
        roots -= having
        alone = stored or len(roots) != 1
        if self._attends(value, None if alone else next(iter(roots))):
            return
        if not stored and roots and (len(roots) == 1 or self._repeated(value, roots)):
            if all(self._joins(value, root) for root in roots):
                self.root[value] = roots | having
                return
            for root in roots:
                if value in self.inside[root]:
                    self._without(root, value)
            if len(readers) == 1 and self._rounds(value, readers[0]):
                return
        self.inside[value] = set()
        self.root[value] = {value}
        self._set(value, set())

    def _rounds(self, value: ProgramValue, reader: ProgramValue) -> bool:
        """Whether a product that is stored is rounded before, by its own kernel.

        The reader rounds it, in one kernel that the product did not join: else that
        would read it with more bits.
        """
        if len(self.root[reader]) != 1:
            return False
        (root,) = self.root[reader]
        match value.made, reader.made:
            case ContractPrimitive(), MapPrimitive("cast") if not is_alone(value):
                pass
            case _:
                return False
        alike = reader.size == value.size and reader.dtype.bits < value.dtype.bits
        kernel = self.kernels[root]
        if not alike or reader is root or not isinstance(kernel.form, GroupTiling):
            return False
        before = self.inside[root]
        self._without(root, reader)
        self.inside[reader] = set()
        self._set(reader, set())
        joined = self._joins(value, reader)
        if joined:
            self.root[reader] = self.root[value] = {reader}
        else:
            self.inside[root], self.kernels[root] = before, kernel
            del self.inside[reader], self.kernels[reader]
        return joined

    # -- attention

    def _attends(self, value: ProgramValue, root: ProgramValue | None) -> bool:
        """Whether a product is attention, as a part of a root's kernel or by itself."""
        for between in chains_to(value, self.free):
            if root is not None:
                known = {*self.inside[root], root}
                further = self._further(value, between, known)
                ends = () if further is None else tuple(further & self.needed)
                if further is not None and len(ends) <= 1:
                    inside = {*between, value, *known, *further} - {root, *ends}
                    if self._set_attention(root, inside, ends):
                        return True
            further = self._further(value, between, set())
            ends = () if further is None else tuple(further & self.needed)
            if further is None or len(ends) > 1:
                continue
            if self._set_attention(value, {*between, *further} - {*ends}, ends):
                return True
        return False

    def _further(
        self,
        value: ProgramValue,
        between: frozenset[ProgramValue],
        known: set[ProgramValue],
    ) -> set[ProgramValue] | None:
        """What else is made of parts of attention: numbers of rows, such as their sums.

        Some of it may be a result. ``known`` is computed anyway. None: others read
        parts, so that they have to be stored.
        """
        parts = between - self.free
        if parts & self.needed:
            return None
        inside = {*between, *known}
        found: set[ProgramValue] = set()
        open_: set[ProgramValue] = set()
        new: Iterable[ProgramValue] = parts
        while True:
            for part in new:
                if part not in self.needed:
                    readers = self.readers.get(part, [])
                    open_ |= {r for r in readers if r not in inside and r is not value}
            if not open_:
                small = all(v.size < value.size for v in found & self.needed)
                return found if small else None
            if not all(
                isinstance(r.made, MapPrimitive | ReducePrimitive) for r in open_
            ):
                return None  # it is never ready
            new = {
                r
                for r in open_
                if all(
                    o.value in inside or o.value in self.free for o in operands_of(r)
                )
            }
            if not new:
                return None
            found |= new
            inside |= new
            open_ -= new

    def _set_attention(
        self,
        root: ProgramValue,
        inside: set[ProgramValue],
        beside: tuple[ProgramValue, ...],
    ) -> bool:
        """Make it the kernel of a root, if it is attention."""
        chosen = frozenset(inside)
        for dims in places_among(beside[0].shape, root.shape) if beside else [()]:
            try:
                group, form = self.known.of(
                    [*beside, root],
                    chosen,
                    ("attention", dims),
                    lambda dims=dims: _attention(
                        [*beside, root], chosen, [dims] if beside else ()
                    ),
                )
            except NotFusedError:
                continue
            assert isinstance(form, AttentionForm)
            self.inside[root] = set(chosen)
            self.kernels[root] = KernelGroup(root, chosen, group, form, "", beside)
            parts = {*chosen, *beside, root} - self.free
            for value in parts - {root}:
                self.kernels.pop(value, None)
                self.inside.pop(value, None)
            for value in parts:
                others = self.root.get(value, set()) & self.kernels.keys()
                self.root[value] = {root, *others}  # a mask may be in several
            return True
        return False

    # -- gradients of attention

    def _chain(self, chains: ProductChains) -> None:
        """Kernels of chained products, if all of them are some: two together, or one.

        What lies between is in each of them, and stored by none.
        """
        order = {v: i for i, v in enumerate(self.program.values)}
        ends = {self._followed(v): v for v in chains.between}
        left = sorted(ends, key=order.__getitem__)
        made: list[KernelGroup] = []

        def parts(stored: Sequence[ProgramValue]) -> set[ProgramValue]:
            found: set[ProgramValue] = set()
            for value in stored:
                found |= {*chains.between[ends[value]], ends[value]}
                found |= self._followers(ends[value])
            return found - {*stored}

        while left:
            root = left.pop()
            for other in (*reversed(left), None):
                stored = [root] if other is None else [other, root]
                inside = parts(stored)
                read = {o.value for v in (*inside, *stored) for o in operands_of(v)}
                known = {*inside, *stored, *self.free}
                if all(order[v] < order[stored[0]] for v in read - known):
                    stored.reverse()  # the kernel is launched where the first was
                elif other is not None and any(
                    order[r] < order[root] for r in self.readers.get(other, ())
                ):
                    continue
                *beside, last = stored
                found = self._chained_kernel(last, inside, tuple(beside))
                if found is not None:
                    made.append(found)
                    left = [v for v in left if v is not other]
                    break
            else:
                return
        for kernel in made:
            self.kernels[kernel.stored] = kernel
            self.inside[kernel.stored] = set(kernel.inside)
            for value in {*kernel.inside, *kernel.beside, kernel.stored} - self.free:
                self.root[value] = {kernel.stored, *self.root.get(value, ())}

    def _followers(self, value: ProgramValue) -> set[ProgramValue]:
        """What becomes of a product alone, element by element, the product with it."""
        found = {value}
        while value not in self.needed:
            readers = self.readers.get(value, [])
            made = readers[0].made if len(readers) == 1 else None
            if not isinstance(made, MapPrimitive) or made.function not in _CHEAP:
                break
            if any(o.value is not value for o in operands_of(readers[0])):
                break
            if readers[0].size != value.size:
                break
            value = readers[0]
            found.add(value)
        return found

    def _followed(self, value: ProgramValue) -> ProgramValue:
        """The last of them."""
        found = self._followers(value)
        return next(v for v in found if not set(self.readers.get(v, ())) & found)

    def _chained_kernel(
        self,
        root: ProgramValue,
        inside: set[ProgramValue],
        beside: tuple[ProgramValue, ...],
    ) -> KernelGroup | None:
        """The kernel of chained products that a root is the last result of."""
        chosen, stored = frozenset(inside), [*beside, root]
        for dims in places_among(beside[0].shape, root.shape) if beside else [()]:
            try:
                group, form = self.known.of(
                    stored,
                    chosen,
                    ("chained", dims),
                    lambda dims=dims: _chained(
                        stored, chosen, [dims] if beside else ()
                    ),
                )
            except NotFusedError:
                continue
            return KernelGroup(root, chosen, group, form, "", beside)
        return None

    def _joins_chained(self, value: ProgramValue, root: ProgramValue) -> bool:
        """Whether the kernel of chained products computes a value, too."""
        kernel = self.kernels[root]
        made = self._chained_kernel(root, {*kernel.inside, value}, kernel.beside)
        if made is not None:
            self.kernels[root], self.inside[root] = made, set(made.inside)
        return made is not None

    # -- maps, reductions and single products

    def _repeated(self, value: ProgramValue, roots: set[ProgramValue]) -> bool:
        """Whether each kernel computes a value anew: that reads no more than its store.

        It is made of positions, or it is arithmetic on one tensor of its size, or a
        comparison of much smaller ones (of places that a table says with positions).
        """
        if value in self.free:
            return True
        made = value.made
        if not isinstance(made, MapPrimitive) or len(roots) > _REPEATED:
            return False
        if made.function not in _CHEAP | _CHOOSING:
            return False
        large = {
            o.value
            for o in operands_of(value)
            if o.value not in self.free and _FRACTION * o.value.size > value.size
        }
        most = 1 if made.function in _CHEAP else 0
        return len(large) <= most and all(
            v.dtype.bits <= value.dtype.bits for v in large
        )

    def _joins(self, value: ProgramValue, root: ProgramValue) -> bool:
        kernel = self.kernels[root]
        if kernel.why or is_alone(value) or is_recomputed(value, kernel):
            return False
        if isinstance(kernel.form, AttentionForm | ChainedForm):
            plain = isinstance(value.made, MapPrimitive) and (
                value.made.function in _CHEAP | _CHOOSING
            )
            if isinstance(kernel.form, ChainedForm):
                return plain and self._joins_chained(value, root)
            inside = {*self.inside[root], value}
            return plain and self._set_attention(root, inside, kernel.beside)
        tables = self._positions_of(value)
        for beside in [tables, set[ProgramValue]()] if tables else [tables]:
            try:
                self._set(root, {*self.inside[root], value, *beside}, strict=True)
            except NotFusedError:
                continue
            return True
        return False

    def _positions_of(self, value: ProgramValue) -> set[ProgramValue]:
        """What makes the table of a value that it chooses, where that is positions.

        It joins with the value: a table in memory is walked in other tiles.
        """
        rest = (
            [value.made.table.value] if isinstance(value.made, GatherPrimitive) else []
        )
        found: set[ProgramValue] = set()
        while rest:
            one = rest.pop()
            if one in self.free and one not in found and one not in self.needed:
                found.add(one)
                rest += [o.value for o in operands_of(one)]
        return found

    def _without(self, root: ProgramValue, value: ProgramValue) -> None:
        """The kernel of a root as it was before a value joined."""
        kernel, inside = self.kernels[root], self.inside[root] - {value}
        match kernel.form:
            case AttentionForm():
                self._set_attention(root, inside, kernel.beside)
            case ChainedForm():
                made = self._chained_kernel(root, inside, kernel.beside)
                assert made is not None  # it was one
                self.kernels[root], self.inside[root] = made, inside
            case _:
                self._set(root, inside)

    def _set(
        self, root: ProgramValue, inside: set[ProgramValue], *, strict: bool = False
    ) -> None:
        """The kernel of a root.

        If strict, raises NotFusedError where there is none, and where tensor cores
        would not compute it as they did without the last value, or with windows.
        """
        chosen = frozenset(inside)
        try:
            group, form = self.known.of(
                [root], chosen, "kernel", lambda: _one_kernel(root, chosen)
            )
            if strict and isinstance(form, ProductForm):
                no_long_epilogue(group, form)
                no_empty_tiles(group, form)
                no_short_sums(group, form, self.kernels[root])
            elif strict:
                no_product(group, self.kernels[root])
                no_gaps(group, self.kernels[root])
            made = KernelGroup(root, chosen, group, form)
        except NotFusedError as error:
            if strict:
                raise
            made = KernelGroup(root, chosen, None, None, str(error))
        self.inside[root] = set(inside)
        self.kernels[root] = made
