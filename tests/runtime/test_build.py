"""Building, and the compiler's warnings as errors. The sources make ptxas complain."""

import pytest

from argus.diagnostics import ArgusError
from argus.isa.registers import at_launch
from argus.runtime import log as logs
from argus.runtime import nvrtc
from argus.runtime.build import BuildOptions, build
from argus.targets import TARGETS

pytestmark = pytest.mark.compiler

COPY = """\
extern "C" __global__ void copy(const float* x, float* y, int n) {
  // copy.py:4  y[i] = x[i]
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
"""

SERIALISED = """\
extern "C" __global__ void __launch_bounds__(128, 1)
dots(float* p, unsigned long long a, unsigned long long b) {
  float acc[4] = {0, 0, 0, 0};
#define DOT asm volatile( \\
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 " \\
    "{%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" \\
    : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3]) : "l"(a), "l"(b))
  asm volatile("wgmma.fence.sync.aligned;");
  // dots.py:12  acc = ag.dot(a, b, acc)
  DOT;
  // dots.py:13  acc = acc + 1.0
  acc[0] += 1.0f;
  // dots.py:14  acc = ag.dot(a, b, acc)
  DOT;
  asm volatile("wgmma.commit_group.sync.aligned;");
  asm volatile("wgmma.wait_group.sync.aligned 0;");
  p[threadIdx.x] = acc[0] + acc[1] + acc[2] + acc[3];
}
"""

SPILLS = """\
extern "C" __global__ void __launch_bounds__(1024, 2) many(float* p) {
  float a[128];
#pragma unroll
  for (int i = 0; i < 128; ++i) a[i] = p[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 128; ++i) p[i * 1024 + threadIdx.x] = a[i] * a[(i * 7) % 128];
}
"""


def failing(source: str, target: str = "sm_90a", **options: int) -> ArgusError:
    with pytest.raises(ArgusError) as caught:
        build(source, target, BuildOptions(**options))
    return caught.value


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_a_cubin_is_an_elf_file_with_its_usage(target: str) -> None:
    cubin = build(COPY, target)
    assert cubin.image[:4] == b"\x7fELF"
    assert b"copy" in cubin.image
    assert 4 <= cubin.usage.registers <= 32
    assert cubin.usage.spill_stores == cubin.usage.spill_loads == 0
    assert cubin.usage.stack == 0
    assert (cubin.source, cubin.target) == (COPY, target)
    assert cubin.findings == ()


def test_static_shared_memory_and_barriers_are_counted() -> None:
    cubin = build(
        'extern "C" __global__ void k(float* p) { __shared__ float s[64];'
        " s[threadIdx.x] = p[threadIdx.x]; __syncthreads();"
        " p[threadIdx.x] = s[63 - threadIdx.x]; }",
        "sm_90a",
    )
    assert cubin.usage.shared_static == 256
    assert cubin.usage.barriers == 1


def test_equal_builds_are_equal() -> None:
    assert build(COPY, "sm_90a").usage == build(COPY, "sm_90a").usage


def test_a_syntax_error_shows_the_generated_line_and_the_kernel_line() -> None:
    error = failing(COPY.replace("y[i] = x[i];", "y[i] = z[i];"))
    (diagnostic,) = error.diagnostics
    assert error.code == "AG0701"
    assert "z" in diagnostic.message
    assert diagnostic.span is not None
    assert (diagnostic.span.file, diagnostic.span.line) == ("copy.py", 4)
    assert ">    4 |   if (i < n) y[i] = z[i];" in diagnostic.notes[0]


def test_ptxas_errors_are_told_from_front_end_errors() -> None:
    error = failing('extern "C" __global__ void k() { asm volatile("nonsense;"); }')
    assert error.code == "AG0702"
    assert "nonsense" in error.diagnostics[0].notes[0]


def test_an_unknown_target_lists_the_known_ones() -> None:
    error = failing(COPY, "sm_999")
    assert error.code == "AG0706"
    assert "sm_90" in error.diagnostics[0].notes[0]


def test_serialised_wgmma_is_an_error_at_the_kernel_line() -> None:
    error = failing(SERIALISED)
    found = {d.code: d for d in error.diagnostics}
    assert error.code == "AG0703"
    span = found["AG0703"].span
    assert span is not None
    assert span.file == "dots.py"
    assert span.line in (12, 13, 14)


def test_wgmma_without_the_touch_is_accepted() -> None:
    assert build(SERIALISED.replace("acc[0] += 1.0f;", ""), "sm_90a").findings == ()


def test_ignored_setmaxnreg_is_an_error() -> None:
    body = (
        'k(float* p) { asm volatile("setmaxnreg.dec.sync.aligned.u32 40;"); *p = 1; }'
    )
    error = failing(f'extern "C" __global__ void {body}')
    assert error.code == "AG0704"
    bounded = f'extern "C" __global__ void __launch_bounds__(128, 1) {body}'
    assert build(bounded, "sm_90a").findings == ()


BUDGETS = """\
extern "C" __global__ void __launch_bounds__({threads}, {blocks}) k(float* p) {{
  if (threadIdx.x < 128) {{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    *p = 1;
  }}
}}
"""


@pytest.mark.parametrize("blocks", [1, 2, 3, 5])
@pytest.mark.parametrize("warps", [4, 5, 8, 9, 11, 12])
def test_what_budgets_share_out_is_what_ptxas_reserves(warps: int, blocks: int) -> None:
    """Whatever the code needs: the rule of `at_launch`, by the compiler itself."""
    source = BUDGETS.format(threads=32 * warps, blocks=blocks)
    registers = at_launch(warps, blocks, TARGETS["sm_90a"])
    assert build(source, "sm_90a").usage.registers == registers
    build(source, "sm_90a", BuildOptions(registers=registers))
    assert failing(source, registers=registers - 8).code == "AG0711"


def test_spills_are_a_finding_about_speed() -> None:
    built = build(SPILLS, "sm_90a")
    assert built.usage.spill_stores > 0
    assert built.usage.stack > 0
    (finding,) = built.findings
    assert (finding.code, finding.severity) == ("AG0506", "slow")
    spilled = max(built.usage.spill_stores, built.usage.spill_loads)
    assert finding.message.startswith(f"{spilled} bytes")


def test_a_warning_that_is_not_known_is_an_error_and_unused_variables_are_not() -> None:
    unused = 'extern "C" __global__ void k(unsigned* p) { int unused; p[0] = 1; }'
    assert build(unused, "sm_90a").findings == ()
    error = failing('extern "C" __global__ void k(unsigned* p) { int u; p[1] = u; }')
    assert error.code == "AG0708"


def test_line_information_reaches_the_compiler() -> None:
    lined = build(COPY, "sm_90a", BuildOptions(line_info=True))
    assert len(lined.image) > len(build(COPY, "sm_90a").image)


def test_versions_agree() -> None:
    wheel = nvrtc.installed_version()
    assert wheel is not None
    assert wheel.split(".")[:2] == [str(n) for n in nvrtc.loaded_version()]
    assert 90 in nvrtc.supported_architectures()


def test_inlined_ptx_lines_count_where_they_are_called() -> None:
    ptx = ".loc\t1 5 2\nadd;\n.loc 1 3 1, function_name $L0, inlined_at 1 40 3\nmul;\n"
    assert logs.source_line_of_ptx(ptx, 2) == 5
    assert logs.source_line_of_ptx(ptx, 4) == 40
    assert logs.source_line_of_ptx("add;", 1) is None


def test_an_empty_log_has_no_usage() -> None:
    assert logs.resource_usage("") is None
