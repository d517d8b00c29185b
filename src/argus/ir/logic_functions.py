# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
"""Comparisons, functions of truths and of bits: a part of `functions.py`."""

import numpy as np

from argus.ir.function import ScalarFunction
from argus.ir.function_values import mulhi, popcount, shl, shr, twice_e2m1
from argus.ir.philox import word

__all__ = ["LOGIC"]

LOGIC = (
    ScalarFunction("eq", 2, "{0} == {1}", lambda a, b: a == b, "bool", bends=True),
    ScalarFunction("ne", 2, "{0} != {1}", lambda a, b: a != b, "bool", bends=True),
    ScalarFunction("lt", 2, "{0} < {1}", lambda a, b: a < b, "bool", bends=True),
    ScalarFunction("le", 2, "{0} <= {1}", lambda a, b: a <= b, "bool", bends=True),
    ScalarFunction("gt", 2, "{0} > {1}", lambda a, b: a > b, "bool", bends=True),
    ScalarFunction("ge", 2, "{0} >= {1}", lambda a, b: a >= b, "bool", bends=True),
    ScalarFunction("and", 2, "{0} & {1}", lambda a, b: a & b, real=False),
    ScalarFunction("or", 2, "{0} | {1}", lambda a, b: a | b, real=False),
    ScalarFunction("xor", 2, "{0} ^ {1}", lambda a, b: a ^ b, real=False),
    ScalarFunction("shl", 2, "argus_shl({0}, {1})", shl, real=False, bends=True),
    ScalarFunction("shr", 2, "argus_shr({0}, {1})", shr, real=False, bends=True),
    ScalarFunction(
        "mulhi",
        2,
        "argus_mulhi({0}, {1})",
        mulhi,
        real=False,
        bends=True,
        narrowest=32,
        issue=2.0,
    ),
    ScalarFunction(
        "philox",
        3,
        "argus_philox({0}, {1}, {2})",
        word,
        real=False,
        bends=True,
        narrowest=64,
        issue=100.0,
    ),
    ScalarFunction(
        "popcount",
        1,
        "argus_popcount({0})",
        popcount,
        real=False,
        bends=True,
        narrowest=32,
    ),
    ScalarFunction(
        "twice_e2m1",
        1,
        "argus_twice_e2m1({0})",
        twice_e2m1,
        real=False,
        bends=True,
        issue=5.0,
        widest=32,
    ),
    ScalarFunction("not", 1, "!{0}", np.logical_not, "bool"),
    ScalarFunction("where", 3, "{0} ? {1} : {2}", np.where, law="where", bends=True),
)
