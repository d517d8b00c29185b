"""Operands whose views no loops can follow become copies before.

A reshape of what was permuted may have rows in which no index is a sum of indices of
loops (channels that are shuffled, and then taken in groups of another size). What is
seen up to there is a value of its own, and the rest is a view of that. So it is where a
table chooses from what has a border, or runs backwards beside it, or from a dimension
that a reshape made, where rows of a scan are several loops, and where loops walk more
dimensions than a tensor has.
"""

from __future__ import annotations

from dataclasses import replace

from argus.programs.tensors.loops import LoopSpace, NeedsSplitError, NotAffineError
from argus.programs.tensors.offsets import source_offset
from argus.programs.tensors.recorder import ProgramRecorder
from argus.programs.tensors.rewriting import ProgramRewriter, with_operands
from argus.programs.tensors.tensor_program import (
    GatherPrimitive,
    MapPrimitive,
    Primitive,
    ProgramValue,
    ScanPrimitive,
    TensorProgram,
    ViewedValue,
)
from argus.programs.tensors.views import OperandView
from argus.programs.tiles.tiling import MOST_DIMS

_MOST_SPLITS = 64


def copy_what_no_loop_follows(program: TensorProgram) -> TensorProgram:
    """The program in which loops can follow the views of all operands of kernels."""
    return _Copying(program).program(program)


def followed(
    operand: ViewedValue, chosen: bool = False, row: int | None = None
) -> bool:
    """Whether loops over an operand's dimensions, or their digits, can follow it.

    ``chosen``: a table has the coordinate of the last dimension. ``row``: a dimension
    that is walked in order, by one loop.
    """
    space = LoopSpace()
    for _ in range(_MOST_SPLITS):
        at = [space.index(f"o{d}", n)[0] for d, n in enumerate(operand.shape)]
        if chosen and operand.shape[-1] > 1:
            at[-1] = space.table(operand.shape[-1])
        try:
            offset = source_offset(operand, at, space, [])
        except NeedsSplitError as need:
            try:
                space.split(need)
            except NotAffineError:
                return False
        except NotAffineError:
            return False
        else:
            if row is not None and len(at[row].terms) > 1:
                return False
            unit = all(factor != 1 for _, factor in offset.terms)
            if len(offset.terms) + unit > MOST_DIMS:
                return False
            return not chosen or not any(
                name in space.borders or (factor < 0 and name not in space.tables)
                for name, factor in offset.terms
            )
    return False


class _Copying(ProgramRewriter):
    def __init__(self, program: TensorProgram) -> None:
        super().__init__()
        self.names = ProgramRecorder()
        for value in program.values:
            self.names.named(value.name)
        self.copies: dict[tuple[ProgramValue, tuple[OperandView, ...]], ViewedValue]
        self.copies = {}

    def replaced(self, value: ProgramValue, made: Primitive) -> Primitive:
        """The primitive of operands that are copied where they have to be."""
        if isinstance(made, GatherPrimitive):
            made = replace(made, operand=self._copied(made.operand, chosen=True))
        if isinstance(made, ScanPrimitive):
            made = replace(made, operand=self._copied(made.operand, row=made.dim))
        return with_operands(made, self._copied)

    def _copied(
        self, operand: ViewedValue, chosen: bool = False, row: int | None = None
    ) -> ViewedValue:
        """The operand, or as much of it as cannot be followed as a view of a copy."""
        if 0 in operand.shape or followed(operand, chosen, row):
            return operand
        views = operand.views
        ahead = next(
            (
                n
                for n in range(len(views) - (row is None), 0, -1)
                if followed(ViewedValue(operand.value, views[:n]))
            ),
            0,
        )
        if not ahead:
            return operand
        key = (operand.value, views[:ahead])
        if key not in self.copies:
            seen = ViewedValue(operand.value, views[:ahead])
            copy = ProgramValue(
                self.names.named(f"{operand.value.name}_copy"),
                seen.shape,
                operand.value.dtype,
                MapPrimitive("cast", (seen,)),
            )
            self.values.append(copy)
            self.copies[key] = ViewedValue(copy)
        found = self.copies[key]
        for view in views[ahead:]:
            found = found.through(view)
        return self._copied(found, chosen, row)
