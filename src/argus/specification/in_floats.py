"""Whole numbers in floats of few bits, which do not hold them all.

Terms take floats for real numbers. Of what is measured that is a matter of rounding. Of
positions and sizes it is not: 2049 is no number of float16, and a row that was one in
between is another row. So what is computed of these alone has to be held exactly; of
entries of tables it is assumed.
"""

from __future__ import annotations

from argus.specification.array import SymbolicArray, positions
from argus.specification.tracing import depends_on_data
from argus.terms import Integer, Unknown
from argus.terms.narrowing import fits

__all__ = ["hold"]

_BITS = {"float16": 11, "bfloat16": 8, "float8_e4m3fn": 4, "float8_e5m2": 3}
"""Of significands: whole numbers up to 2 to their number are held."""


def hold(array: SymbolicArray, dtype: str) -> None:
    """That whole numbers are held by a type of floats, as a need.

    A number that is written down is none that is measured: it is taken as it is.
    """
    bits = _BITS.get(dtype)
    if bits is None or array.kind == "truth":
        return
    tracing, world, most = array.tracing, array.tracing.world, 1 << bits
    try:
        value = array.at(positions(tracing, array.sizes, "i"))
    except Unknown:
        return  # so it is wherever it is asked for
    for where, x in value.cases:
        whole = x if isinstance(x, Integer) else x.integer
        if whole is None or whole.constant is not None:
            continue
        if fits(world, where, whole, (-most, most)):
            continue
        if depends_on_data(whole):
            tracing.assume(
                f"whole numbers of tables that the reference has as {dtype} fit it"
            )
            continue
        held = world.compare(whole, ">=", -most) & world.compare(whole, "<=", most)
        tracing.need(held | ~where, f"{dtype} holds {whole}")
