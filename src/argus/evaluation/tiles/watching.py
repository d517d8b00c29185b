"""Who looks on while blocks run on whole tiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from argus.evaluation.tiles.order import Env
from argus.interpret.numbers import Array
from argus.ir import ops as o

__all__ = ["Watch"]


class Watch(Protocol):
    """Told what is about to happen, in a block's terms."""

    def before(self, op: o.AnyOp, tiles: Mapping[o.Tile, Array], env: Env) -> None:
        """An operation is about to run."""
        ...

    def ended(self, op: o.AnyOp, tiles: Mapping[o.Tile, Array], env: Env) -> None:
        """What an operation contains is over; its results are evaluated next."""
        ...

    def existed(self, op: o.AnyOp, exists: Array, env: Env) -> None:
        """Which elements of its view an access touches."""
        ...
