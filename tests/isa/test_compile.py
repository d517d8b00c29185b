"""Every device function, called once, compiles under NVRTC for each of its targets.

Whether it does what its record says is for tests/gpu/test_isa.py to show.
"""

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from argus.isa.record import Instruction
from argus.isa.registry import all_instructions, cuda_prelude
from argus.runtime.nvrtc import compile_source

TEMPLATE_ARGUMENTS = {
    "argus_setmaxnreg_inc": "232",
    "argus_setmaxnreg_dec": "40",
    "argus_wgmma_tie": "4",
}
SIGNATURE = re.compile(r"(?P<name>argus_\w+)\((?P<parameters>[^)]*)\)")


def argument(declaration: str, record: Instruction) -> str:
    """An expression of the parameter's type that the compiler cannot fold away."""
    kind = declaration.rsplit(" ", 1)[0].removesuffix(" const").strip()
    match kind:
        case "float*" if "wgmma" in record.function:
            return "d"
        case "float*" if record.family == "mma":
            return "d"
        case "int*" if "wgmma" in record.function or record.family == "mma":
            return "w"
        case "u32 const*" | "u32*":
            return "r"
        case "unsigned char const*":
            return "(unsigned char const*)out"
        case "void const*" | "void*" | "int*" | "float*":
            return f"({kind.replace(' const', '')})out"
        case "TensorMap const*":
            return "&map"
        case "int4":
            return "make_int4(n, n, n, n)"
        case "T" | "A" | "B":
            return "n"
        case _:
            return f"({kind})n"


def call(record: Instruction) -> str:
    match = SIGNATURE.search(record.cuda)
    assert match is not None
    assert match["name"] == record.function
    parameters = [p.strip() for p in match["parameters"].split(",") if p.strip()]
    template = ""
    if record.cuda.startswith("template <int"):
        template = f"<{TEMPLATE_ARGUMENTS.get(record.function, '1')}>"
    arguments = ", ".join(argument(p, record) for p in parameters)
    expression = f"{record.function}{template}({arguments})"
    result = record.cuda.split("argus_", 1)[0].split()[-1]
    match result:
        case "void":
            return f"{expression};"
        case "int4":
            return f"n += {expression}.x;"
        case _:
            return f"n += (int){expression};"


def kernel(index: int, records: list[Instruction], registers: int) -> str:
    calls = "\n".join(f"  {call(record)}" for record in records)
    whole = registers if "(w, " in calls else 4
    real = registers if "(d, " in calls else 4
    return f"""
extern "C" __global__ void __launch_bounds__(128, 1) k{index}(
    const __grid_constant__ TensorMap map, float* out, int n) {{
  float d[{real}]; int w[{whole}]; u32 r[4] = {{n + 0u, n + 1u, n + 2u, n + 3u}};
  for (int i = 0; i < {real}; ++i) d[i] = out[i];
  for (int i = 0; i < {whole}; ++i) w[i] = out[i];
{calls}
  for (int i = 0; i < {real}; ++i) out[i] = d[i] + n + r[i % 4];
  for (int i = 0; i < {whole}; ++i) out[i] += w[i];
}}
"""


def program(records: list[Instruction]) -> str:
    """One kernel per matrix product (they need many registers), one for the rest."""
    products = [r for r in records if r.function.startswith("argus_wgmma_m64")]
    others = [r for r in records if r not in products]
    text = cuda_prelude(["TensorMap", *(r.function for r in records)])
    for index, record in enumerate(products):
        text += kernel(index, [record], record.constraints.extent("n") // 2)
    return text + kernel(len(products), others, 4)


def compile_program(text: str, target: str) -> str:
    """The compiler's log; raises AssertionError when it does not compile."""
    done = compile_source(text, "isa.cu", [f"--gpu-architecture={target}"])
    assert done.image, done.log
    return done.log


@pytest.mark.compiler
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_functions_compile(target: str) -> None:
    records = [
        r
        for r in all_instructions()
        if target in r.targets and not r.function.startswith("argus_wgmma_m64")
    ]
    assert "error" not in compile_program(program(records), target)


PRODUCTS = [r for r in all_instructions() if r.function.startswith("argus_wgmma_m64")]


def text_of_its_columns(record: Instruction) -> str:
    """Its text with its own name, element types and majors left out."""
    dtype = record.name.rsplit(".", 1)[1]
    text = record.cuda.replace(record.function, "f").replace(f".{dtype}.{dtype}", "")
    majors = r"(?<= p, 1, 1)(, [01])+;"
    return re.sub(majors, lambda found: ", major" * (len(found[0]) // 3) + ";", text)


@pytest.mark.compiler
def test_matrix_products_compile() -> None:
    """Of bf16 and f16 every N with one of all types and majors, some N with all.

    What is not compiled has the text of what is, but for its types and majors.
    """
    wide = [r for r in PRODUCTS if r.constraints.extent("k") == 16]
    assert len(wide) == 32 * 2 * 6
    of_columns: dict[tuple[int, bool], list[Instruction]] = {}
    for r in wide:
        key = r.constraints.extent("n"), "desc_a" in r.cuda
        of_columns.setdefault(key, []).append(r)
    chosen: list[Instruction] = []
    for place, ((n, _), forms) in enumerate(of_columns.items()):
        assert len({text_of_its_columns(r) for r in forms}) == 1
        one = forms[place // 2 % len(forms)]
        chosen.extend(forms if n in (8, 96) else [one])
    others = [
        r for r in PRODUCTS if r not in wide and r.constraints.extent("n") in (8, 96)
    ]
    assert len(others) == 2 * 5 * 2
    # Each form, and its majors, at many N.
    met = Counter(r.function.split("k16_")[1] for r in chosen)
    assert len(met) == 12
    assert min(met.values()) >= 5
    chosen += others
    parts = [chosen[i::4] for i in range(4)]
    with ThreadPoolExecutor(2) as pool:
        logs = list(
            pool.map(lambda part: compile_program(program(part), "sm_90a"), parts)
        )
    assert not any("error" in log for log in logs)
