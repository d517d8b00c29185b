"""Arithmetic: 16-bit packing, approximate functions, floor division, min and max.

The approximate functions flush subnormal f32 operands and results to zero (.ftz). Their
errors, as stated by the PTX ISA, are in `ERROR_BOUNDS`.
"""

from __future__ import annotations

from argus.isa.record import ALL_TARGETS, Constraints, Cost, Effects, Instruction
from argus.isa.text import asm, device

__all__ = ["ERROR_BOUNDS", "records"]

ERROR_BOUNDS = {
    "argus_exp2": 2.0**-22,
    "argus_rcp": 2.0**-23,
    "argus_tanh": 2.0**-11,
}
"""Largest relative error over the normal range (PTX ISA, Floating Point Instructions:
ex2.approx 2**-22 (2 ulp), rcp.approx 1 ulp, tanh.approx 2**-11)."""

_CONVERT = "PTX ISA, Data Movement and Conversion Instructions: cvt"
_FLOAT = "PTX ISA, Floating Point Instructions: "


def _record(
    function: str,
    name: str,
    text: str,
    source: str,
    issue: float = 1,
    *,
    special: bool = False,
    rules: tuple[str, ...] = (),
) -> Instruction:
    return Instruction(
        name=name,
        family="math",
        targets=ALL_TARGETS,
        scope="thread",
        function=function,
        cuda=text,
        effects=Effects(),
        cost=Cost(issue, "special" if special else "alu"),
        source=source,
        constraints=Constraints(rules=rules),
    )


def _conversions(dtype: str) -> tuple[Instruction, ...]:
    pack, lo, hi = (
        f"argus_pack_{dtype}",
        f"argus_unpack_lo_{dtype}",
        f"argus_unpack_hi_{dtype}",
    )
    narrow, widen = f"argus_to_{dtype}", f"argus_from_{dtype}"
    pack_text = device(
        f"u32 {pack}(float lo, float hi)",
        "u32 v;\n"
        + asm(
            f"cvt.rn.{dtype}x2.f32 %0, %1, %2;",
            ['"=r"(v)'],
            ['"f"(hi)', '"f"(lo)'],
            volatile=False,
            memory=False,
        )
        + "\nreturn v;",
    )
    narrow_text = device(
        f"u16 {narrow}(float x)",
        "u16 v;\n"
        + asm(
            f"cvt.rn.{dtype}.f32 %0, %1;",
            ['"=h"(v)'],
            ['"f"(x)'],
            volatile=False,
            memory=False,
        )
        + "\nreturn v;",
    )
    if dtype == "bf16":
        # A bf16 is the upper half of an f32.
        lo_text = device(f"float {lo}(u32 v)", "return __uint_as_float(v << 16);")
        hi_text = device(
            f"float {hi}(u32 v)", "return __uint_as_float(v & 0xffff0000u);"
        )
        widen_text = device(
            f"float {widen}(u16 v)", "return __uint_as_float((u32)v << 16);"
        )
        widen_name = "shl.b32"
    else:
        widen_body = (
            "float x;\n"
            + asm(
                "cvt.f32.f16 %0, %1;",
                ['"=f"(x)'],
                ['"h"({})'],
                volatile=False,
                memory=False,
            )
            + "\nreturn x;"
        )
        lo_text = device(f"float {lo}(u32 v)", widen_body.replace("{}", "(u16)v"))
        hi_text = device(
            f"float {hi}(u32 v)", widen_body.replace("{}", "(u16)(v >> 16)")
        )
        widen_text = device(f"float {widen}(u16 v)", widen_body.replace("{}", "v"))
        widen_name = "cvt.f32.f16"
    rounding = ("rounds to nearest even",)
    return (
        _record(pack, f"cvt.rn.{dtype}x2.f32", pack_text, _CONVERT, 2, rules=rounding),
        _record(
            narrow, f"cvt.rn.{dtype}.f32", narrow_text, _CONVERT, 2, rules=rounding
        ),
        _record(lo, widen_name, lo_text, _CONVERT),
        _record(hi, widen_name, hi_text, _CONVERT),
        _record(widen, widen_name, widen_text, _CONVERT),
    )


def _approximate(function: str, name: str) -> Instruction:
    body = (
        "float y;\n"
        + asm(
            f"{name} %0, %1;",
            ['"=f"(y)'],
            ['"f"(x)'],
            volatile=False,
            memory=False,
        )
        + "\nreturn y;"
    )
    bound = ERROR_BOUNDS[function]
    return _record(
        function,
        name,
        device(f"float {function}(float x)", body),
        _FLOAT + name.split(".")[0],
        # 16 lanes per cycle and SM; a warp takes 2 cycles of 4 partitions' units.
        8,
        special=True,
        rules=(f"relative error at most {bound:.3g} (normal range)",),
    )


def _extreme(name: str) -> Instruction:
    function = f"argus_{name}"
    text = device(
        f"float {function}(float a, float b)",
        "float y;\n"
        + asm(
            f"{name}.NaN.f32 %0, %1, %2;",
            ['"=f"(y)'],
            ['"f"(a)', '"f"(b)'],
            volatile=False,
            memory=False,
        )
        + "\nreturn y;",
    )
    sign = "<" if name == "min" else ">"
    integers = "".join(
        device(f"{t} {function}({t} a, {t} b)", f"return a {sign} b ? a : b;")
        for t, _ in _WIDE
    )
    return _record(
        function,
        f"{name}.NaN.f32, {name}.s32",
        text + integers,
        _FLOAT + name,
        2,
        rules=("NaN if either operand is, as np.maximum and np.minimum",),
    )


_WIDE = (("int", "u32"), ("long long", "u64"))
"""Types in which whole numbers are computed, and their unsigned counterparts."""

_INTEGERS = "PTX ISA, Integer Arithmetic Instructions: "


def _abs() -> Instruction:
    text = device("float argus_abs(float a)", "return fabsf(a);") + "".join(
        device(f"{t} argus_abs({t} a)", f"return a < 0 ? ({t})(0 - ({u})a) : a;")
        for t, u in _WIDE
    )
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
        for t, u in _WIDE
    )
    ptx = "mul.lo" if name == "mul" else name
    return _record(function, f"{ptx}.s32", text, _INTEGERS + name, rules=(_WRAPS,))


def _neg() -> Instruction:
    text = "".join(
        device(f"{t} argus_neg({t} a)", f"return ({t})(0 - ({u})a);") for t, u in _WIDE
    )
    return _record("argus_neg", "neg.s32", text, _INTEGERS + "neg", rules=(_WRAPS,))


def _whole(dtype: str, ctype: str, body: str) -> Instruction:
    function = f"argus_whole_{dtype}"
    bits = "64" if dtype == "i64" else "32"
    return _record(
        function,
        f"cvt.rzi.s{bits}.f32",
        device(f"{ctype} {function}(float x)", body),
        _CONVERT,
        2,
        rules=(
            "rounds to zero; what is too large becomes the extreme of the type",
            "NaN becomes 0",
        ),
    )


def _wholes() -> tuple[Instruction, ...]:
    clamped = "int v = __float2int_rz(x);\nreturn v < {0} ? {0} : v > {1} ? {1} : v;"
    return (
        _whole("i8", "int", clamped.format(-128, 127)),
        _whole("u8", "int", clamped.format(0, 255)),
        _whole("i32", "int", "return __float2int_rz(x);"),
        # cvt to 64 bits makes another number of NaN.
        _whole("i64", "long long", "return x != x ? 0 : __float2ll_rz(x);"),
    )


_DIVISION = "by zero it is 0, and the smallest number by -1 wraps (C++: undefined)"


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
        text,
        _INTEGERS + "div, rem",
        20,
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
        text,
        _INTEGERS + "rem",
        20,
        rules=("has the sign of b, as Python's %; by zero it is 0",),
    )


def records() -> tuple[Instruction, ...]:
    """All records of this family."""
    return (
        *_conversions("bf16"),
        *_conversions("f16"),
        _approximate("argus_exp2", "ex2.approx.ftz.f32"),
        _approximate("argus_rcp", "rcp.approx.ftz.f32"),
        _approximate("argus_tanh", "tanh.approx.f32"),
        _extreme("min"),
        _extreme("max"),
        _abs(),
        _wrapping("add", "+"),
        _wrapping("sub", "-"),
        _wrapping("mul", "*"),
        _neg(),
        *_wholes(),
        _floordiv(),
        _mod(),
    )
