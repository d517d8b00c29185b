"""Printing."""

from __future__ import annotations

from math import prod

from argus.ir.expr import Expr
from argus.ir.ops import Print, Tile
from argus.lang.frontend import coerce
from argus.lang.frontend.calls import BoundCall, builtin
from argus.lang.frontend.values import (
    NOTHING,
    TileValue,
    TupleValue,
    Value,
    counted,
)

MAX_ELEMENTS = 1024
MAX_TEXT = 200


@builtin("print")
def print_values(call: BoundCall) -> Value:
    """Print scalars and at most one tile.

    Raises ArgusError (AG0126) for more than a person reads.
    """
    e, where = call.e, call.where("values")
    text = call.sentence("text")
    given = call.value("values") if "values" in call.args else TupleValue(())
    assert isinstance(given, TupleValue)
    values: list[Tile | Expr] = []
    for item in given.items:
        if isinstance(item, TileValue):
            values.append(item.tile)
        else:
            values.append(coerce.scalar(e, item, where, "what is printed"))
    tiles = [v for v in values if isinstance(v, Tile)]
    if len(tiles) > 1:
        raise e.fail("AG0126", where, "one tile is printed at a time")
    if tiles and prod(tiles[0].shape) > MAX_ELEMENTS:
        raise e.fail(
            "AG0126",
            where,
            f"a tile of {counted(prod(tiles[0].shape), 'element')} would be "
            f"printed, and at most {MAX_ELEMENTS} are",
            help="print a part of it: `x[0:4, 0:8]`",
        )
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    if len(text) > MAX_TEXT:
        raise e.fail("AG0126", call.where("text"), f"a text of {len(text)} characters")
    e.emit(Print(text, tuple(values), span=call.span))
    return NOTHING
