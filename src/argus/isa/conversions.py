"""Conversions: floats that are packed or encoded in bits, and floats to whole numbers.

What conversions mean stands in `argus.ir.numerics`.
"""

from __future__ import annotations

from argus.ir.dtypes import DType, i8, i16, i32, i64, u8, u16, u32, u64
from argus.isa.record import (
    ALL_TARGETS,
    HOPPER,
    Constraints,
    Effects,
    Instruction,
)
from argus.isa.text import computed, device

__all__ = ["encoding", "record", "records"]

_PERMUTE = "PTX ISA, Data Movement and Conversion Instructions: prmt"
_FUSED = "PTX ISA, Half Precision Floating Point Instructions: fma"
_CONVERT = "PTX ISA, Data Movement and Conversion Instructions: cvt"


def encoding(dtype: str) -> tuple[str, str]:
    """Device functions from f32 to the bits of an encoded type, and back."""
    return f"argus_to_{dtype}", f"argus_from_{dtype}"


def record(
    function: str,
    name: str,
    text: str,
    source: str,
    *,
    rules: tuple[str, ...] = (),
    targets: tuple[str, ...] = ALL_TARGETS,
    needs: tuple[str, ...] = (),
) -> Instruction:
    """An instruction by which each thread computes in its registers."""
    return Instruction(
        name=name,
        family="math",
        targets=targets,
        scope="thread",
        function=function,
        cuda=text,
        effects=Effects(),
        source=source,
        constraints=Constraints(rules=rules),
        needs=needs,
    )


def _conversions(dtype: str) -> tuple[Instruction, ...]:
    """Two floats of 16 bits to one register and back."""
    pack, lo, hi = (
        f"argus_pack_{dtype}",
        f"argus_unpack_lo_{dtype}",
        f"argus_unpack_hi_{dtype}",
    )
    narrow, widen = encoding(dtype)
    pack_text = computed(
        f"u32 {pack}(float lo, float hi)",
        f"cvt.rn.{dtype}x2.f32 %0, %1, %2",
        *("u32 r", '"f"(hi)', '"f"(lo)'),
    )
    narrow_text = computed(
        f"u16 {narrow}(float x)", f"cvt.rn.{dtype}.f32 %0, %1", "u16 h", '"f"(x)'
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
        widen_name = "cvt.f32.f16"
        line = f"{widen_name} %0, %1"
        lo_text, hi_text, widen_text = (
            computed(f"float {function}({given} v)", line, "float f", f'"h"({half})')
            for function, given, half in (
                (lo, "u32", "(u16)v"),
                (hi, "u32", "(u16)(v >> 16)"),
                (widen, "u16", "v"),
            )
        )
    rounding = ("rounds to nearest even",)
    return (
        record(pack, f"cvt.rn.{dtype}x2.f32", pack_text, _CONVERT, rules=rounding),
        record(narrow, f"cvt.rn.{dtype}.f32", narrow_text, _CONVERT, rules=rounding),
        record(lo, widen_name, lo_text, _CONVERT),
        record(hi, widen_name, hi_text, _CONVERT),
        record(widen, widen_name, widen_text, _CONVERT),
    )


def _halves(dtype: str) -> tuple[Instruction, ...]:
    """Two whole numbers of 16 bits in one register, and one from it; they wrap."""
    held = "short" if dtype == "i16" else "u16"
    narrow, widen = encoding(dtype)
    texts = {
        f"argus_pack_{dtype}": (
            "u32 {}(int lo, int hi)",
            "return (u32)lo & 0xffffu | (u32)hi << 16;",
        ),
        narrow: ("u16 {}(int x)", "return (u16)x;"),
        f"argus_unpack_lo_{dtype}": ("int {}(u32 v)", f"return ({held})v;"),
        f"argus_unpack_hi_{dtype}": ("int {}(u32 v)", f"return ({held})(v >> 16);"),
        widen: ("int {}(u16 v)", f"return ({held})v;"),
    }
    return tuple(
        record(f, "prmt.b32", device(head.format(f), body), _PERMUTE)
        for f, (head, body) in texts.items()
    )


def _fused(dtype: str) -> Instruction:
    """``a * b + c`` of two floats of 16 bits each, rounded once."""
    function, instruction = f"argus_fma2_{dtype}", f"fma.rn.{dtype}x2"
    text = computed(
        f"u32 {function}(u32 a, u32 b, u32 c)",
        f"{instruction} %0, %1, %2, %3",
        *("u32 r", '"r"(a)', '"r"(b)', '"r"(c)'),
    )
    return record(function, instruction, text, _FUSED)


def _small(dtype: str) -> Instruction:
    """Two whole numbers of a few bits as floats of 16 bits, which are exact.

    ``one``: two floats whose last bit counts 1, ``back``: least - one. The numbers are
    from ``least`` on, and fewer than the significand has.
    """
    function, fused = f"argus_small_{dtype}", f"argus_fma2_{dtype}"
    ones = {"bf16": "0x3f803f80u", "f16": "0x3c003c00u"}[dtype]
    both = "(u32)(lo - least) | (u32)(hi - least) << 16 | one"
    text = device(
        f"u32 {function}(int lo, int hi, int least, u32 one, u32 back)",
        f"const u32 x = {both};\nreturn {fused}(x, {ones}, back);",
    )
    return record(function, f"fma.rn.{dtype}x2", text, _FUSED, needs=(fused,))


def _signed_bytes() -> Instruction:
    """Two whole numbers from -128 to 127 as floats of 8 significant bits.

    The last seven bits of each, above 128, minus 128 or, of negative ones, 256.
    """
    function, fused = "argus_signed_bytes_bf16", "argus_fma2_bf16"
    body = (
        "const u32 x = ((u32)lo & 0xffu) | ((u32)hi & 0xffu) << 16;\n"
        "const u32 above = (x & 0x007f007fu) | 0x43004300u;\n"
        "const u32 from = (x & 0x00800080u) | 0x43004300u;\n"
        f"return {fused}(from, 0xbf80bf80u, above);"
    )
    text = device(f"u32 {function}(int lo, int hi)", body)
    return record(function, "fma.rn.bf16x2", text, _FUSED, needs=(fused,))


def _e2m1(dtype: str) -> Instruction:
    """Twice the numbers of e2m1 in the last four bits of each half, as two floats.

    Sign, exponent and fraction come to where the float has them, of which the exponent
    has another bias; what is subnormal is so in both. A whole number has one zero, and
    0 is added.
    """
    function, fused = f"argus_e2m1_{dtype}", f"argus_fma2_{dtype}"
    # Places that the fraction moves up, and 2 to the power of the difference of biases.
    places, bias = {"bf16": (6, "0x7f007f00u"), "f16": (9, "0x78007800u")}[dtype]
    body = (
        f"const u32 y = (x & 0x00080008u) << 12 | (x & 0x00070007u) << {places};\n"
        f"return {fused}(y, {bias}, 0u);"
    )
    text = device(f"u32 {function}(u32 x)", body)
    return record(function, f"fma.rn.{dtype}x2", text, _FUSED, needs=(fused,))


def _byte_conversions(dtype: str) -> tuple[Instruction, ...]:
    """A float of 8 bits whose conversions make no infinities to f32 and back."""
    narrow, widen = encoding(dtype)
    narrow_text = computed(
        f"unsigned char {narrow}(float x)",
        f"cvt.rn.satfinite.{dtype}x2.f32 %0, %1, %2",
        *("u16 h", '"f"(0.0f)', '"f"(x)'),
        gives="(unsigned char)y",
    )
    widen_text = computed(
        f"float {widen}(unsigned char v)",
        f"cvt.rn.f16x2.{dtype}x2 %0, %1",
        *("u32 r", '"h"((u16)v)'),
        gives="argus_from_f16((u16)y)",
    )
    rounding = ("rounds to nearest even", "what is too large becomes the largest")
    return (
        record(
            *(narrow, f"cvt.rn.satfinite.{dtype}x2.f32", narrow_text, _CONVERT),
            rules=rounding,
            targets=HOPPER,
        ),
        record(
            *(widen, f"cvt.rn.f16x2.{dtype}x2", widen_text, _CONVERT),
            needs=("argus_from_f16",),
            targets=HOPPER,
        ),
    )


def _whole(dtype: DType) -> Instruction:
    """Floats of 32 and 64 bits to whole numbers of a type, or what narrow ones are in.

    cvt to 64 bits, and of f64, makes another number of NaN than 0.
    """
    function = f"argus_whole_{dtype.name}"
    wide = dtype.bits == 64
    ctype = dtype.register if dtype.bits >= 32 else "int"
    text = ""
    for given, convert in (("float", "__float2"), ("double", "__double2")):
        sign = "u" if dtype.bits >= 32 and not dtype.signed else ""
        whole = sign + ("ll" if wide else "int")
        made = f"{convert}{whole}_rz(x)"
        if wide or given == "double":
            made = f"x != x ? 0 : {made}"
        body = f"return {made};"
        if dtype.bits < 32:
            low, high = dtype.integers
            body = (
                f"int v = {made};\nreturn v < {low} ? {low} : v > {high} ? {high} : v;"
            )
        text += device(f"{ctype} {function}({given} x)", body)
    return record(
        function,
        f"cvt.rzi.s{64 if wide else 32}.f32",
        text,
        _CONVERT,
        rules=(
            "rounds to zero; what is too large becomes the extreme of the type",
            "NaN becomes 0",
        ),
    )


def records() -> tuple[Instruction, ...]:
    """All records of this family."""
    return (
        *_conversions("bf16"),
        *_conversions("f16"),
        *_halves("i16"),
        *_halves("u16"),
        _fused("bf16"),
        _fused("f16"),
        _e2m1("bf16"),
        _e2m1("f16"),
        _small("bf16"),
        _small("f16"),
        _signed_bytes(),
        *_byte_conversions("e4m3"),
        *_byte_conversions("e5m2"),
        *map(_whole, (i8, u8, i16, u16, i32, u32, i64, u64)),
    )
