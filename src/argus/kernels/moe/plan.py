"""Tiles of a layer of experts: how many rows, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

_FEW = 64
"""Tokens of an expert, on average, for which tiles have half the rows."""
_SUMMED = 2048
"""Elements that a block of `moe_sum` makes."""


@dataclass(frozen=True)
class ExpertPlan:
    """``rows``: positions of a tile. ``tokens`` of a block that routes them."""

    rows: int
    tokens: int = 16

    def blocks(self, t: int) -> int:
        """Blocks that route t tokens."""
        return -(-t // self.tokens)

    def tiles(self, t: int, e: int, k: int) -> int:
        """Most tiles that the choices of t tokens can need."""
        return t * k // self.rows + min(e, t * k)

    def route(self, e: int, k: int) -> dict[str, object]:
        """Static parameters of `moe_route`, but for weights."""
        return {
            "BT": self.tokens,
            "BE": _power(e),
            "PAIRS": 1 << (k - 1).bit_length(),
            "WARPS": min(16, self.tokens),
        }

    def place(self, e: int) -> dict[str, object]:
        """Static parameters of `moe_place`."""
        return {"BT": self.tokens, "BE": _power(e)}

    def up(self, n: int) -> dict[str, object]:
        """Static parameters of `moe_up`."""
        statics = {"BM": self.rows, "BN": 128 if n > 64 else 64}
        if self.rows == 64:
            statics |= {"WARPGROUPS": 1, "STAGES": 5}
        return dict(statics)

    def down(self, d: int) -> dict[str, object]:
        """Static parameters of `moe_down`."""
        statics = {"BM": self.rows, "BN": 256 if d > 128 else 128}
        if self.rows == 64:
            statics |= {"WARPGROUPS": 1, "STAGES": 5}
        return dict(statics)

    def eights(self) -> dict[str, object]:
        """Static parameters of the products of e4m3."""
        few = {"WARPGROUPS": 1} if self.rows == 64 else {}
        return {"BM": self.rows, **few}

    def sum(self, d: int) -> dict[str, object]:
        """Static parameters of `moe_sum`."""
        width = min(_SUMMED, max(256, _power(d)))
        return {"BT": _SUMMED // width, "BD": width}


def _power(n: int) -> int:
    """The power of two that is n or the next, 32 at least."""
    return max(32, 1 << (n - 1).bit_length())


@lru_cache(maxsize=4096)
def best_plan(t: int, e: int, k: int, d: int, n: int) -> ExpertPlan:
    """The plan for t tokens that choose k of e experts, of D x N weights each."""
    few = t * k <= _FEW * e
    return ExpertPlan(64 if few else 128, 4 if t <= 512 else 16)
