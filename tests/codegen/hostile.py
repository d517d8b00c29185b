"""Names and texts that an author might choose to get something past the printer."""

from __future__ import annotations

import keyword
import re

PAYLOAD = "payload_9e3779b9"
"""Stands in every text that tries to become code."""

_CODE = f"{PAYLOAD}();"
TEXTS = [
    f"w\n  {_CODE}\n  //",
    f"w\r{_CODE} //",
    f"w\r\n{_CODE} //",
    f"w\v{_CODE}\f//",
    f"w\x85{_CODE}\u2028{_CODE}\u2029{_CODE}",
    f"w\x00{_CODE}",
    f"w\x1b[2J\x1b]0;{_CODE}\x07",
    "ends in a backslash\\",
    "ends in a backslash and blanks\\  \t",
    "ends in several\\\\\\",
    "ends in a trigraph??/",
    "ends in a trigraph and blanks ??/  ",
    "??/??/\\ ??/ \\",
    f"*/ {_CODE} /*",
    f"/* {_CODE}",
    f'"; {_CODE} "',
    f'\\"; {_CODE} \\"',
    f"'; {_CODE} '",
    f'R"({_CODE})"',
    f'")"; {_CODE} R"(',
    f"#define tid {PAYLOAD}",
    f"\n#define tid {PAYLOAD}\n",
    f'\n#line 1 "{PAYLOAD}"\n',
    f"%:define tid {PAYLOAD}",
    f"$({PAYLOAD}) `{PAYLOAD}` ; {PAYLOAD} | {PAYLOAD}",
    f"a.cu -lcuda; {PAYLOAD} #",
    f"\\u000a{_CODE}",
    f"\\N{{LINE FEED}}{_CODE}",
    f"\u202e{_CODE}\u2066",
    f"\ufeff{_CODE}",
    f"\ud800{_CODE}",
    f"é 漢字 \U0001f4a5 {_CODE}",
    f"k<<<1, 1>>>(); {_CODE}",
    f'extern "C" void {PAYLOAD}() {{}}',
    'argus_no_such_function(1) smem_base TensorMap "smem"',
    "argus_wgmma_m64n256k24_bf16_ss_00(a, b)",
    "\N{MATHEMATICAL LEFT ANGLE BRACKET}0\N{MATHEMATICAL RIGHT ANGLE BRACKET}",
    "\N{MATHEMATICAL LEFT ANGLE BRACKET}99999\N{MATHEMATICAL RIGHT ANGLE BRACKET}",
    "@BODY@ %s %n %d",
    "x" * 5000,
    "",
    " ",
    "__",
    "2d",
]
"""For whatever is a text: file names, notes, reasons, names given as a text."""

_PRINTED = """
r rr v v0 v1 v17 i i0 i1 i2 i0b ok tid warp warpgroup lane elected smem smem_base
block_x grid_x cluster_rank sm_count threadIdx blockIdx blockDim gridDim warpSize u16
u32 u64 TensorMap float2 float4 int2 int4 uint4 dim3 half copy rank arg_index
arg_other arg_at scan_carry_0 scan_sum_0 scan_up_0 scan_below_0 scan_base_0
scan_v0_0 scan_t0 scan_r0 scan_total_0 scan_other_0 scan_low_0 scan_high_0 scan_lane
thread_m thread_n
argus_max argus_mma argus_shfl_xor argus_host min max make_float4 reinterpret_cast
__syncthreads __syncwarp __ldcs __int_as_float __restrict__ __global__ __shared__
__launch_bounds__ X_s0 Y_s0 X_map block_elected role_wg block_wg buffer_at cluster_id
clusters cluster
"""
_CPLUSPLUS = """
alignas and_eq asm auto bitand bool case catch char char8_t co_await compl concept
const constexpr const_cast decltype default delete do double dynamic_cast enum
explicit export extern false final float friend goto inline int int8_t long module
mutable namespace new noexcept nullptr operator override private public register
requires restrict short signed sizeof size_t static static_assert struct switch
template this thread_local throw true typedef typeid typename typeof union unsigned
using virtual void volatile wchar_t xor xor_eq std main
"""
_HEADERS = """
NULL EOF M_PI M_PI_2 M_PIf INFINITY NAN HUGE_VAL RAND_MAX BUFSIZ CHAR_BIT INT_MAX
SEEK_SET L_tmpnam P_tmpdir E_OK CUDA_VERSION CUDART_VERSION cudaStreamLegacy
cudaSuccess cuMemAlloc errno stdin stdout stderr linux unix assert offsetof
math_errhandling abs exp log sin cos sqrt floor round pow tanh erf fmaf gamma y0 y1 yn
j0 j1 jn index div random remove read write printf malloc free memcpy exit abort clock
time signal rsqrtf
"""
_PYTHON = """
é ñandú Ω ß_ 漢字 ªb x̂ ﬁeld Ä ä a_very_long_name_%s _ __ ___x _X __init__ x_ x__ X x xX
XX self print object type lambda_ M_ N_ K_kernel kernel_kernel element0 v1_2 r_2 r_2_2
acc block grid v_M t_X arguments blocks map0 arg0 dims0 argc argv defaults
""" % ("n" * 300)


def names() -> list[str]:
    """Python identifiers, each once as Python reads them."""
    words = f"{_PRINTED} {_CPLUSPLUS} {_HEADERS} {_PYTHON}".split()
    return [
        w for w in dict.fromkeys(words) if w.isidentifier() and not keyword.iskeyword(w)
    ]


_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|(?<![\w.])\.?\d[\w.]*|[A-Za-z_]\w*|\S', re.ASCII
)


def tokens(text: str) -> list[str]:
    """What a compiler reads: trigraphs, spliced lines and comments are done with."""
    text = text.replace("??/", "\\")
    text = re.sub(r"\\[ \t\v\f]*(\r\n|\r|\n)", "", text)
    text = re.sub(
        r'"(?:[^"\\\n]|\\.)*"|//[^\n\r]*|/\*.*?(?:\*/|\Z)',
        lambda m: m[0] if m[0].startswith('"') else " ",
        text,
        flags=re.DOTALL,
    )
    return _TOKEN.findall(text)


def unescaped(literal: str) -> bytes:
    """The bytes of a C string literal."""
    body = literal[1:-1]

    def one(m: re.Match[str]) -> str:
        return chr(int(m[1], 8)) if m[1][0].isdigit() else m[1]

    return re.sub(r"\\([0-7]{1,3}|.)", one, body).encode("latin-1")


def same_program(plain: str, hostile: str) -> str | None:
    """What differs between two texts beside consistently renamed variables, or None.

    A renaming that gives two variables one name, or one the name of something else in
    the text, is a difference.
    """
    a, b = tokens(plain), tokens(hostile)
    if len(a) != len(b):
        return f"{len(a)} and {len(b)} tokens"
    there: dict[str, str] = {}
    back: dict[str, str] = {}
    for n, (x, y) in enumerate(zip(a, b, strict=True)):
        if x.startswith('"') and y.startswith('"'):
            continue
        word = x[0].isalpha() or x[0] == "_"
        if not word or (n and a[n - 1] == "."):
            if x != y:
                return f"{x} became {y}"
        elif there.setdefault(x, y) != y or back.setdefault(y, x) != x:
            return f"{x} became {y}, {there[x]} was {x}, {back[y]} was {y}"
    return None
