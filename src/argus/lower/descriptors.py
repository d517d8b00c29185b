"""wgmma operands in shared memory: from a view to matrix-descriptor offsets.

PTX ISA, "Asynchronous warpgroup-level matrix shared memory layout". For the panel
layouts of :mod:`argus.layout.shared` with a swizzle of S bytes (rows of S bytes):

* K-major (K runs along the row): groups of 8 rows are 8*S bytes apart (stride offset);
  the leading offset is unused; step k is 32 bytes further, or a panel further.
* MN-major (M or N runs along the row): groups of 8 rows along K are 8*S bytes apart
  (stride offset), panels along M or N one panel apart (leading offset).
"""

from argus.ir.divisors import divides
from argus.ir.memory import SharedView
from argus.ir.placement import MatrixOperand
from argus.isa.descriptor import CHUNK, ROWS
from argus.isa.matrix import MatrixElement


def matrix_operand(
    view: SharedView,
    rows: int,
    warpgroups: int,
    *,
    of: MatrixElement,
    k_last: bool,
    facts: dict[str, int],
) -> MatrixOperand | str:
    """Descriptor offsets of an operand, or why wgmma cannot read it.

    ``view`` is (rows, K) when ``k_last``, else (K, columns); ``rows`` is the number of
    rows (M or N) of one instruction and ``warpgroups`` how many share the rows.
    """
    buffer = view.alloc
    layout = buffer.layout
    assert layout is not None
    itemsize = buffer.dtype.bytes
    if len(buffer.shape) < 2 or view.axes[-1] == view.axes[-2]:
        return "wgmma reads two-dimensional tiles"
    if not layout.swizzle:
        return f"buffer `{buffer.name}` has no swizzle"
    k_axis, mn_axis = (1, 0) if k_last else (0, 1)
    inner = len(buffer.shape) - 1
    row_axis = inner - 1
    mn, depth = view.shape[mn_axis], view.shape[k_axis]
    swizzle = layout.swizzle
    width = swizzle // itemsize
    row_origin, column_origin = view.origin[row_axis], view.origin[inner]
    if not divides(facts, ROWS, row_origin):
        return f"its first row is not known to be a multiple of {ROWS}"
    panel = layout.digits[inner][1][1] if len(layout.digits[inner]) > 1 else 0
    per_group = mn // warpgroups
    atoms = per_group // rows
    shared = warpgroups == 1  # all warpgroups read the same rows
    step = of.depth
    steps = depth // step
    if view.axes[k_axis] == inner and view.axes[mn_axis] == row_axis:
        if not divides(facts, step, column_origin):
            return f"its first column is not known to be a multiple of {step}"
        if depth > width and not divides(facts, width, column_origin):
            return "its columns straddle swizzle panels unevenly"
        offsets = tuple(
            tuple(
                a * rows * swizzle
                + (k * step // width) * panel
                + k * step % width * itemsize
                for k in range(steps)
            )
            for a in range(atoms)
        )
        return MatrixOperand(
            CHUNK,
            ROWS * swizzle,
            swizzle,
            False,
            offsets,
            0 if shared else per_group * swizzle,
        )
    if view.axes[mn_axis] == inner and view.axes[k_axis] == row_axis:
        if not of.mn_major:
            return f"of {of.dtype}, K has to run along the rows of the buffer"
        if not divides(facts, width, column_origin):
            return f"its first column is not known to be a multiple of {width}"
        if (rows % width and atoms > 1) or (per_group % width and warpgroups > 1):
            return f"instructions of {rows} rows do not fill panels of {width}"
        offsets = tuple(
            tuple(
                (a * rows // width) * panel + k * step * swizzle for k in range(steps)
            )
            for a in range(atoms)
        )
        return MatrixOperand(
            panel or CHUNK,
            ROWS * swizzle,
            swizzle,
            True,
            offsets,
            0 if shared else (per_group // width) * panel,
        )
    return "its two axes are not the innermost axes of the buffer"
