"""Knobs that kernels of several families have, under one name and with one meaning."""

from __future__ import annotations

from dataclasses import replace

from argus.kernels.space import Knob, by_name
from argus.runs.records import Value

__all__ = ["usual"]

_USUAL = by_name(
    Knob("BK", (16, 32, 64, 128), "depth of one step", "tile-shape", 32),
    Knob(
        "STAGES",
        (1, 2, 3, 4, 5, 6, 8),
        "slots of the ring: steps whose operands are on chip at one time",
        "software-pipelining",
        1,
    ),
    Knob(
        "GROUP",
        (1, 2, 4, 8, 16, 32),
        "rows of tiles that are walked together, so that L2 serves both operands",
        "l2-rasterisation",
        1,
    ),
    Knob("WARPS", (4, 8), "warps of a block", "launch-bounds"),
    Knob(
        "MIN_BLOCKS",
        (1, 2, 3, 4, 6, 8, 12, 16, 24, 32),
        "blocks that share a multiprocessor: one loads while another computes",
        "launch-bounds",
        1,
    ),
    Knob(
        "WARPGROUPS",
        (1, 2, 3),
        "warpgroups that multiply, each a part of the tile's rows",
        "tile-shape",
    ),
    Knob(
        "TMA_STORE",
        (False, True),
        "the result leaves through shared memory by TMA",
        "tma-store",
        False,
    ),
    Knob(
        "REGISTERS",
        (0, 160, 240),
        "register budget of a math thread; 0: equal shares",
        "register-budget",
        0,
    ),
    Knob(
        "FOLD",
        (False, True),
        "exponentials by powers of two, factors and divisions as one multiplication",
        "exp2-folding",
        False,
    ),
    Knob(
        "ONLINE",
        (False, True),
        "maximum and sum of a row in one pass",
        "online-softmax",
        False,
    ),
)


def usual(name: str, *values: Value) -> Knob:
    """A knob by its name; with other values than the usual ones where they are given.

    Raises KeyError for a name that is not usual.
    """
    knob = _USUAL[name]
    return replace(knob, values=values) if values else knob
