"""Classes of tiles that have one layout."""

import time

from argus.diagnostics import Span
from argus.ir import ops as o
from argus.ir.dtypes import f32
from argus.lower.classes import Classes


def test_a_long_chain_is_one_class_and_costs_little() -> None:
    """Each tile is joined behind the one before, as in a kernel of 20000 lines.

    Following the chain from every tile to its end would take 200 million steps.
    """
    span = Span("k.py", 1, 0, 1, 1)
    tiles = [o.Tile(f32, (32,), (None,), span) for _ in range(20_000)]
    classes = Classes()
    begin = time.process_time()
    for after, before in zip(tiles[1:], tiles, strict=False):
        classes.join((after, before))
    assert len({classes.find(tile) for tile in tiles}) == 1
    assert time.process_time() - begin < 3
    assert [len(c.tiles) for c in classes.classes().values()] == [len(tiles)]
