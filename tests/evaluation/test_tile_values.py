"""What tiles hold of scalars, where the judge runs them whole."""

import numpy as np
import pytest

from argus.evaluation.tiles.values import filled
from argus.ir.dtypes import f32, i32, i64
from argus.ir.expr import Const, Sym, binary

_LARGE = Sym("x", "let")


@pytest.mark.parametrize("exact", [False, True])
def test_whole_numbers_of_more_than_64_bits_wrap(exact: bool) -> None:
    """As sums of 64 bits do: 3 * 2**64 + 5 is 5, 2**63 the least number."""
    env = {"x": 3 * 2**64}
    value = binary("+", _LARGE, Const(5))
    assert filled(value, i64, env, exact) == 5
    assert filled(_LARGE, i64, {"x": 2**63}, exact) == np.iinfo(np.int64).min
    assert filled(value, i32, env, exact) == 5
    assert filled(_LARGE, f32, env, exact) == np.float32(3 * 2**64)
