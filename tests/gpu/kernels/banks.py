"""Accesses to shared memory with known bank conflicts, one of each kind per kernel.

Both store a tile, wait, and load it again, so that each launch executes each access
once. The syncs keep the compiler from passing values through registers.
"""

import argus as ag


@ag.kernel
def vectors(
    X: ag.float["M N"],
    Y: ag.float["M N"],
    *,
    R: int = 128,
    C: int = 32,
    SWIZZLE: int = 0,
    STORE_W: int = 32,
    STORE_V: int = 1,
    LOAD_W: int = 32,
    LOAD_V: int = 1,
):
    """128 threads go along panels of W columns, each with V elements, then down."""
    s = ag.shared(X.dtype, (R, C), swizzle=SWIZZLE)
    s[:, 0:STORE_W].store(
        ag.load(
            X[0:, 0:],
            (R, STORE_W),
            layout=ag.layouts.blocked((R, STORE_W), 128, STORE_V),
        )
    )
    ag.sync()
    Y[0:, 0:] = s[:, 0:LOAD_W].load(layout=ag.layouts.blocked((R, LOAD_W), 128, LOAD_V))


@ag.kernel
def matrices(
    X: ag.half["M N"],
    Y: ag.half["M N"],
    *,
    C: int = 64,
    SWIZZLE: int = 0,
):
    """An accumulator's registers to shared memory, back as the A operand of mma."""
    s = ag.shared(X.dtype, (64, C), swizzle=SWIZZLE)
    s.store(ag.load(X[0:, 0:], (64, C), layout=ag.layouts.wgmma_accumulator(64, C)))
    ag.sync()
    Y[0:, 0:] = s.load(layout=ag.layouts.mma_a_operand(64, C, warps_m=4))
