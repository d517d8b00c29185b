"""Factors of products: along what they lie, and which a kernel rounds as they lie.

Tensor cores take factors of TF32 along their sum, from shared memory, and cut bits off.
So numbers are rounded before, in a copy along the sum. A large factor that lies along
its own rows is not copied: the kernel reads its tiles into registers, turned, and
rounds them there. What torch calls rounds to the nearest, too: of 24 convolutions of
KernelBench its errors to f64 are those of rounded factors, where cutting bits off errs
twice as much.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, prod

from argus.ir.dtypes import DType, f32
from argus.programs.products.product_forms import addressed
from argus.programs.tensors.affine import Affine
from argus.programs.tensors.offsets import digits_through, offsets_through
from argus.programs.tensors.tensor_program import (
    ContractPrimitive,
    MapPrimitive,
    ViewedValue,
)
from argus.programs.tensors.views import BorderedView, LinearView, OperandView

_ROWS = 8
"""What sizes of rows of results are multiples of, for factors with the same rows."""
_LARGE, _MOST_COLUMNS = 2**24, 512
"""Elements of a factor that no cache holds, so that a copy takes long, and columns of a
product for which it is read several times at most."""
_TILE, _FILLED = 128, 0.9
"""Rows of a tile, and which part of the tiles of a factor has to be filled."""


@dataclass(frozen=True)
class Factor:
    """An operand with its letters. ``rounded``: by the kernel, as it lies."""

    operand: ViewedValue
    letters: str
    rounded: bool = False


def unit_of(factor: Factor, made: ContractPrimitive, dtype: DType) -> str | None:
    """The letter along which a factor lies; None where TMA cannot take it so.

    A batch may have several steps (sequences and heads, say): a kernel walks each.
    What lies in a border of zeros arrives as zeros (`box_tiles.py`).
    """
    inner = _inside(factor.operand)
    found = None if inner is None else digits_through(inner)
    if found is None:
        return None
    both = set(made.left_letters) & set(made.right_letters) & set(made.result)
    steps: dict[str, int] = {}
    for letter, digits in zip(factor.letters, found[0], strict=True):
        if len(digits) > 1 and letter not in both:
            return None
        stepped = [step for size, step in digits if size > 1 and step]
        steps |= {f"{letter}{i}": step for i, step in enumerate(stepped)}
    start = abs(found[1]) if inner is not factor.operand else found[1]
    if not addressed(Affine.of(steps, start), dtype):
        return None
    units = [s[0] for s, step in steps.items() if step == 1 and s[0] not in both]
    if not units or (units[0] in made.result and made.sizes[units[0]] % _ROWS):
        return None  # a kernel knows of such strides what divides those of its result
    return units[0]


def _inside(operand: ViewedValue) -> ViewedValue | None:
    """The same elements where they are inside of borders of zeros; None: of others."""
    views: list[OperandView] = []
    for view in operand.views:
        if isinstance(view, BorderedView):
            if view.fill != 0:
                return None
            each = tuple(((d, 1),) for d in range(len(view.shape)))
            view = LinearView(view.shape, each, tuple(-n for n in view.before))
        views.append(view)
    return operand if [*operand.views] == views else replace(operand, views=(*views,))


def rounded_inside(
    made: ContractPrimitive, left: Factor, right: Factor
) -> tuple[ContractPrimitive, Factor, Factor]:
    """The product with a large factor as it lies, which the kernel rounds.

    The same where there is none.
    """
    if made.precision != "tf32" or made.left.value.dtype != f32:
        return made, left, right
    rounded = replace(made, precision="nearest")
    found = _as_it_lies(left, made)
    if found is not None:
        return rounded, found, right
    found = _as_it_lies(right, made)
    return (made, left, right) if found is None else (rounded, left, found)


def _as_it_lies(factor: Factor, made: ContractPrimitive) -> Factor | None:
    """A factor of rounded numbers before they are rounded, along its own rows.

    None where it is no such factor, where a copy takes little time, or where many tiles
    would each round it.
    """
    match factor.operand.value.made:
        case MapPrimitive(function="nearest_tf32", operands=(ViewedValue() as whole,)):
            pass
        case _:
            return None
    for view in factor.operand.views:
        whole = whole.through(view)
    found = Factor(whole, factor.letters, rounded=True)
    unit = unit_of(found, made, f32)
    if unit is None or unit not in made.result:
        return None
    own = set(made.result) - set(factor.letters)
    columns = prod(made.sizes[s] for s in own)
    length = _side_by_side(found)
    filled = length / (ceil(length / _TILE) * _TILE)
    if prod(whole.shape) < _LARGE or columns > _MOST_COLUMNS or filled < _FILLED:
        return None
    return found


def _side_by_side(factor: Factor) -> int:
    """Elements of a factor's last dimensions that follow each other."""
    found = offsets_through(factor.operand)
    assert found is not None
    length = 1
    for step, n in zip(reversed(found[0]), reversed(factor.operand.shape), strict=True):
        if n > 1 and step == length:
            length *= n
    return length
