"""Arithmetic: approximate functions, wrapping sums, floor division, min and max.

The approximate functions flush subnormal f32 operands and results to zero (.ftz). Their
errors are in `ERROR_BOUNDS`.
"""

from __future__ import annotations

from argus.ir.philox import MULTIPLIERS, ROUNDS, WEYL
from argus.isa.conversions import record as _record
from argus.isa.record import Instruction
from argus.isa.text import computed, device

__all__ = ["ERROR_BOUNDS", "records"]

ERROR_BOUNDS = {
    "argus_exp2": 2.0**-22,
    "argus_rcp": 2.0**-23,
    "argus_tanh": 2.0**-11,
    "argus_log1p": 2.0**-23,
    "argus_div": 2.0**-23,
}
"""Largest relative error over the normal range (PTX ISA, Floating Point Instructions:
ex2.approx 2**-22 (2 ulp), rcp.approx 1 ulp, tanh.approx 2**-11; of sequences as
tried, on a GPU too)."""

_FLOAT = "PTX ISA, Floating Point Instructions: "


def _approximate(function: str, name: str) -> Instruction:
    bound = ERROR_BOUNDS[function]
    return _record(
        function,
        name,
        computed(f"float {function}(float x)", f"{name} %0, %1", "float f", '"f"(x)'),
        _FLOAT + name.split(".")[0],
        rules=(f"relative error at most {bound:.3g} (normal range)",),
    )


_LOG1P = (
    -0.5, 0.3333345, -0.2500023, 0.19990993, -0.16642937, 0.14467801, -0.13192843,
    0.10592155, -0.04620477,
)  # fmt: skip
"""(log1p(f) - f) / f**2 for f from -0.25 to 0.5: coefficients by powers of f, fitted to
the least largest error."""


def _log1p() -> Instruction:
    """Without branches, so that those of several elements are computed side by side.

    1 + x is 2**e (1 + f); of a sum that is 0, less, infinite or NaN it is what lg2 is.
    """
    function = "argus_log1p"
    steps = "".join(f"p = fmaf(p, f, {c!r}f);\n" for c in _LOG1P[-2::-1])
    text = device(
        f"float {function}(float x)",
        "float sum = 1.0f + x, log2;\n"
        "int e = (__float_as_int(sum) - 0x3f400000) & 0xff800000;\n"
        "float f = __int_as_float(__float_as_int(x) - e);\n"
        "f += fmaf(0.25f, __int_as_float(0x40800000 - e), -1.0f);\n"
        f"float p = {_LOG1P[-1]!r}f;\n{steps}"
        "float y = fmaf((float)e, 0x1.62e43p-24f, fmaf(p * f, f, f));\n"
        'asm("lg2.approx.f32 %0, %1;" : "=f"(log2) : "f"(sum));\n'
        "return sum > 0.0f && sum < __int_as_float(0x7f800000) ? y : log2;",
    )
    bound = ERROR_BOUNDS[function]
    rule = f"relative error at most {bound:.3g} (normal range)"
    return _record(function, "fma.rn.f32", text, _FLOAT + "fma", rules=(rule,))


def _div() -> Instruction:
    """Without branches, which div.rn has: a step of Newton's behind rcp.approx.

    What is divided by one number shares its inverse. A quotient that is a number of f32
    is that number.
    """
    function = "argus_div"
    text = device(
        f"float {function}(float a, float b)",
        "float scale = fabsf(b) > 0x1p120f ? 0x1p-16f : 1.0f, inverse;\n"
        "a *= scale, b *= scale;\n"
        'asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));\n'
        "float q = a * inverse;\n"
        "float near = fmaf(fmaf(-b, q, a), inverse, q);\n"
        "return fabsf(near) < __int_as_float(0x7f800000) ? near : q;",
    )
    rule = "the nearest number but for ties within 2**-20 ulp; divisors are normal"
    return _record(function, "rcp.approx.ftz.f32", text, _FLOAT + "rcp", rules=(rule,))


def _nearest_tf32() -> Instruction:
    function, name = "argus_nearest_tf32", "cvt.rna.tf32.f32"
    text = device(
        f"float {function}(float x)",
        f'u32 bits;\nasm("{name} %0, %1;" : "=r"(bits) : "f"(x));\n'
        "return __uint_as_float(bits);",
    )
    rule = "the nearest number with 11 bits, ties away from zero"
    source = "PTX ISA, Data Movement and Conversion Instructions: cvt"
    return _record(function, name, text, source, rules=(rule,))


def _extreme(name: str) -> Instruction:
    function = f"argus_{name}"
    text = computed(
        f"float {function}(float a, float b)",
        f"{name}.NaN.f32 %0, %1, %2",
        "float f",
        '"f"(a)',
        '"f"(b)',
    )
    sign = "<" if name == "min" else ">"
    integers = "".join(
        device(f"{t} {function}({t} a, {t} b)", f"return a {sign} b ? a : b;")
        for t, _ in _WHOLE
    )
    return _record(
        function,
        f"{name}.NaN.f32, {name}.s32",
        text + _double_extreme(function, sign) + integers,
        _FLOAT + name,
        rules=("NaN if either operand is, as np.maximum and np.minimum",),
    )


def _double_extreme(function: str, sign: str) -> str:
    """Of f64, of which PTX has none that is NaN where an operand is.

    Zeros are left, and NaN: sums of them are what is asked for (-0 is less than +0).
    """
    rest = "a + b" if sign == ">" else "-(-a + -b)"
    return device(
        f"double {function}(double a, double b)",
        f"if (a {sign} b || (a == b && a != 0)) return a;\n"
        f"return b {sign} a ? b : {rest};",
    )


_WIDE = (("int", "u32"), ("long long", "u64"))
_UNSIGNED = (("u32", "u32"), ("u64", "u64"))
_WHOLE = (*_WIDE, *_UNSIGNED)
"""Types in which whole numbers are computed, and their unsigned counterparts."""

_INTEGERS = "PTX ISA, Integer Arithmetic Instructions: "


def _abs() -> Instruction:
    floats = device("float argus_abs(float a)", "return fabsf(a);") + device(
        "double argus_abs(double a)", "return fabs(a);"
    )
    text = floats + "".join(
        device(f"{t} argus_abs({t} a)", f"return a < 0 ? ({t})(0 - ({u})a) : a;")
        for t, u in _WIDE
    )
    text += "".join(device(f"{t} argus_abs({t} a)", "return a;") for t, _ in _UNSIGNED)
    return _record(
        "argus_abs", "abs.f32, abs.s32", text, _FLOAT + "abs", rules=(_WRAPS,)
    )


_WRAPS = "what does not fit wraps (C++ leaves overflow of signed numbers undefined)"


def _wrapping(name: str, operator: str) -> Instruction:
    function = f"argus_{name}"
    text = "".join(
        device(
            f"{t} {function}({t} a, {t} b)", f"return ({t})(({u})a {operator} ({u})b);"
        )
        for t, u in _WHOLE
    )
    ptx = "mul.lo" if name == "mul" else name
    return _record(function, f"{ptx}.s32", text, _INTEGERS + name, rules=(_WRAPS,))


def _neg() -> Instruction:
    text = "".join(
        device(f"{t} argus_neg({t} a)", f"return ({t})(0 - ({u})a);") for t, u in _WHOLE
    )
    return _record("argus_neg", "neg.s32", text, _INTEGERS + "neg", rules=(_WRAPS,))


_DIVISION = "by zero it is 0, and the smallest number by -1 wraps (C++: undefined)"


def _unsigned(name: str, operator: str) -> str:
    """Of two unsigned numbers, which are preferred to what is a template."""
    return "".join(
        device(f"{t} argus_{name}({t} a, {t} b)", f"return b ? a {operator} b : 0;")
        for t, _ in _UNSIGNED
    )


def _floordiv() -> Instruction:
    text = device(
        "auto argus_floordiv(A a, B b) -> decltype(a + b)",
        # Narrow types are computed in the one that they promote to.
        "decltype(a + b) x = a, y = b;\n"
        "if (y == 0) return 0;\n"
        "if (y == -1) return (decltype(a + b))(0 - (u64)x);\n"
        "auto q = x / y, r = x % y;\n"
        "return q - (r != 0 && (r < 0) != (y < 0));",
        "template <class A, class B>",
    )
    return _record(
        "argus_floordiv",
        "div.s32, rem.s32",
        text + _unsigned("floordiv", "/"),
        _INTEGERS + "div, rem",
        rules=("rounds down, as Python's //", _DIVISION),
    )


def _mod() -> Instruction:
    text = device(
        "auto argus_mod(A a, B b) -> decltype(a + b)",
        "decltype(a + b) x = a, y = b;\n"
        "if (y == 0 || y == -1) return 0;\n"
        "auto r = x % y;\n"
        "return r != 0 && (r < 0) != (y < 0) ? r + y : r;",
        "template <class A, class B>",
    )
    return _record(
        "argus_mod",
        "rem.s32",
        text + _unsigned("mod", "%"),
        _INTEGERS + "rem",
        rules=("has the sign of b, as Python's %; by zero it is 0",),
    )


_SHIFTS = "an amount below 0, or from the width on, leaves "


def _rest(name: str, kind: str, width: int) -> str:
    """What an amount that is no place of a bit leaves."""
    return "0" if name == "shl" or kind[0] == "u" else f"a >> {width - 1}"


def _shift(name: str, value: str, leaves: str) -> Instruction:
    text = "".join(
        device(
            f"{t} argus_{name}({t} a, {t} b)",
            f"return {value.format(t=t, u=u, width=n, rest=_rest(name, t, n))};",
        )
        for (t, u), n in zip(_WHOLE, (32, 64, 32, 64), strict=True)
    )
    source = "PTX ISA, Logic and Shift Instructions: " + name
    ptx = "shl.b32" if name == "shl" else "shr.s32"
    return _record(f"argus_{name}", ptx, text, source, rules=(_SHIFTS + leaves,))


def _shifts() -> tuple[Instruction, ...]:
    left = "({u})b < {width} ? ({t})(({u})a << b) : {rest}"
    right = "({u})b < {width} ? a >> b : {rest}"
    return _shift("shl", left, "nothing"), _shift("shr", right, "the sign")


def _philox() -> Instruction:
    first, second = (f"{m:#x}u" for m in MULTIPLIERS)
    w0, w1 = (f"{w:#x}u" for w in WEYL)
    body = f"""u32 c0 = (u32)offset, c1 = (u32)((u64)offset >> 32), c2 = 0, c3 = 0;
u32 k0 = (u32)seed, k1 = (u32)((u64)seed >> 32);
#pragma unroll
for (int i = 0; i < {ROUNDS}; ++i) {{
  const u64 a = (u64)c0 * {first}, b = (u64)c2 * {second};
  c0 = (u32)(b >> 32) ^ c1 ^ k0;
  c1 = (u32)b;
  c2 = (u32)(a >> 32) ^ c3 ^ k1;
  c3 = (u32)a;
  k0 += {w0};
  k1 += {w1};
}}
const u32 low = word & 1 ? c1 : c0, high = word & 1 ? c3 : c2;
return (long long)(word & 2 ? high : low);"""
    signature = (
        "long long argus_philox(long long seed, long long offset, long long word)"
    )
    rule = "a word of Philox4x32-10, as argus.ir.philox says"
    text = device(signature, body)
    return _record(
        "argus_philox", "mul.wide.u32", text, _INTEGERS + "mul", rules=(rule,)
    )


def _bits() -> tuple[Instruction, ...]:
    high = device("int argus_mulhi(int a, int b)", "return __mulhi(a, b);") + device(
        "long long argus_mulhi(long long a, long long b)", "return __mul64hi(a, b);"
    )
    high += device("u32 argus_mulhi(u32 a, u32 b)", "return __umulhi(a, b);")
    high += device("u64 argus_mulhi(u64 a, u64 b)", "return __umul64hi(a, b);")
    count = device("int argus_popcount(int a)", "return __popc((u32)a);") + device(
        "long long argus_popcount(long long a)", "return __popcll((u64)a);"
    )
    count += device("u32 argus_popcount(u32 a)", "return __popc(a);")
    count += device("u64 argus_popcount(u64 a)", "return __popcll(a);")
    twice = device(
        "int argus_twice_e2m1(int a)",
        "const int m = a & 7, t = m < 4 ? m : m < 6 ? 2 * m - 4 : 4 * m - 16;\n"
        "return a & 8 ? -t : t;",
    )
    return (
        _record("argus_twice_e2m1", "sub.s32, selp.s32", twice, _INTEGERS + "sub"),
        _philox(),
        _record("argus_mulhi", "mul.hi.s32", high, _INTEGERS + "mul"),
        _record("argus_popcount", "popc.b32", count, _INTEGERS + "popc"),
    )


def _next() -> Instruction:
    text = "".join(
        device(
            f"{t} argus_next({t} k, {t} step, {t} stop)",
            f"return ({u})stop - ({u})k > ({u})step ? k + step : stop;",
        )
        for t, u in _WIDE
    )
    rule = "of k < stop; never more than stop, so that no sum overflows"
    return _record(
        "argus_next", "sub.s32, add.s32", text, _INTEGERS + "add", rules=(rule,)
    )


def _coordinate() -> Instruction:
    text = device(
        "int argus_coordinate(long long x)",
        "return x > 0x7fffffff ? 0x7fffffff : x < -0x7fffffff ? -0x7fffffff : (int)x;",
    )
    rule = "what has more than 32 bits becomes the end of them"
    ptx = "min.s64, max.s64"
    return _record("argus_coordinate", ptx, text, _INTEGERS + "min, max", rules=(rule,))


def records() -> tuple[Instruction, ...]:
    """All records of this family."""
    return (
        _approximate("argus_exp2", "ex2.approx.ftz.f32"),
        _approximate("argus_rcp", "rcp.approx.ftz.f32"),
        _approximate("argus_tanh", "tanh.approx.f32"),
        _log1p(),
        _div(),
        _nearest_tf32(),
        _extreme("min"),
        _extreme("max"),
        _abs(),
        _wrapping("add", "+"),
        _wrapping("sub", "-"),
        _wrapping("mul", "*"),
        _neg(),
        _next(),
        _coordinate(),
        _floordiv(),
        _mod(),
        *_shifts(),
        *_bits(),
    )
