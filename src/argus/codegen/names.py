"""C++ identifiers: deterministic, unique in a kernel, near the author's names."""

from __future__ import annotations

import re

# Keywords that may be a variable's name, and what the printed kernel itself uses.
_RESERVED = frozenset(
    """
    alignas alignof and asm auto bool break case catch char class const constexpr
    continue default delete do double else enum explicit export extern false float for
    friend goto if inline int long mutable namespace new not nullptr operator or
    private protected public register return short signed sizeof static struct switch
    template this throw true try typedef typename union unsigned using virtual void
    volatile while xor u16 u32 u64 TensorMap smem smem_base tid warp warpgroup elected
    lane r v ok min max threadIdx blockIdx blockDim gridDim block_x grid_x
    cluster_rank uint2 uint4 int2 int4 float2 float4 abs exp log sin cos sqrt floor
    ceil round pow tanh erf fmaf main y0 y1 yn j0 j1 jn gamma rr
    rank arg_index arg_other arg_at scan_carry scan_sum scan_up scan_below scan_base
    """.split()  # noqa: SIM905
)


class Names:
    """Gives out identifiers; the first to ask for a name gets it bare."""

    def __init__(self) -> None:
        self._taken: set[str] = set(_RESERVED)

    def unique(self, wanted: str) -> str:
        """``wanted`` as an identifier that nobody else has, with a number if needed."""
        base = re.sub(r"\W", "_", wanted, flags=re.ASCII).strip("_") or "t"
        # v0, v1, ... and i0, i0b, ... are temporaries inside register loops.
        if re.fullmatch(r"[iv]\d+b?|argus_.*|\d.*", base):
            base = f"t_{base}"
        name, number = base, 2
        while name in self._taken:
            name, number = f"{base}_{number}", number + 1
        self._taken.add(name)
        return name
