"""The layout algebra: where things are, as functions that compose.

    Fragment    (thread, register) -> tile coordinate         fragment.py, fragments.py
    Mode        a digit of thread or register                 modes.py
    Layout      index or coordinate -> offset                 layout.py, algebra.py
    Swizzle     offset -> offset, by xor                      swizzle.py
    SharedLayout  tile coordinate -> byte in shared memory    shared.py

Start reading at `layout.py`. All of them evaluate on ints, numpy arrays and symbolic
expressions alike (`operand.py`). Nothing here knows programs, instructions or types.
"""

from argus.layout.algebra import (
    Tiler,
    blocked_product,
    complement,
    composition,
    left_inverse,
    logical_divide,
    logical_product,
    raked_product,
    right_inverse,
    tiled_divide,
    zipped_divide,
)
from argus.layout.fragment import Fragment
from argus.layout.fragments import (
    WARP_LANES,
    WGMMA_MAX_N,
    blocked,
    mma_a_operand,
    mma_accumulator,
    mma_b_operand,
    row_major_default,
    wgmma_a_operand,
    wgmma_accumulator,
    wgmma_inst_n,
)
from argus.layout.layout import Layout, from_table
from argus.layout.modes import Mode, refined
from argus.layout.shared import SharedLayout
from argus.layout.swizzle import (
    SWIZZLE_32B,
    SWIZZLE_64B,
    SWIZZLE_128B,
    SWIZZLE_NONE,
    Swizzle,
    Swizzled,
    swizzle_mode,
)

__all__ = [
    "SWIZZLE_32B",
    "SWIZZLE_64B",
    "SWIZZLE_128B",
    "SWIZZLE_NONE",
    "WARP_LANES",
    "WGMMA_MAX_N",
    "Fragment",
    "Layout",
    "Mode",
    "SharedLayout",
    "Swizzle",
    "Swizzled",
    "Tiler",
    "blocked",
    "blocked_product",
    "complement",
    "composition",
    "from_table",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "mma_a_operand",
    "mma_accumulator",
    "mma_b_operand",
    "raked_product",
    "refined",
    "right_inverse",
    "row_major_default",
    "swizzle_mode",
    "tiled_divide",
    "wgmma_a_operand",
    "wgmma_accumulator",
    "wgmma_inst_n",
    "zipped_divide",
]
