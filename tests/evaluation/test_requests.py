"""Divisibility facts of cases, and types of a file's kernel."""

from argus.evaluation.requests import contiguous_facts, default_dtypes, request_for
from argus.ir.dtypes import bf16, f16, f32
from argus.kernels.library import LIBRARY

ENTRY = LIBRARY["gemm_sm80"]


def test_facts_divide_sizes_and_strides() -> None:
    case = ENTRY.small[1]  # 100x75x77, with bias and residual
    request, choice = request_for(ENTRY, case, "sm_80")
    assert choice.kernel is request.kernel
    assert request.facts == {
        "M": 1,  # innermost nowhere: nothing is said of it
        "N": 1,
        "K": 1,
        "A_s0": 1,
        "A_s1": 1,
        "B_s0": 1,
        "B_s1": 1,
        "C_s0": 1,
        "C_s1": 1,
        "Bias_s0": 1,
        "Residual_s0": 1,
        "Residual_s1": 1,
    }


def test_a_dimension_of_several_tensors_has_the_least_divisor() -> None:
    kernel = ENTRY.choose(ENTRY.small[0], "sm_80").kernel
    facts = contiguous_facts(kernel, {"A": (32, 48), "B": (8, 12), "C": (32, 8)})
    assert (facts["M"], facts["N"], facts["K"]) == (1, 8, 4)
    # Rows along K lie in A and in B: the strides have one divisor.
    assert (facts["A_s0"], facts["B_s0"], facts["C_s0"]) == (4, 4, 8)
    assert "Bias_s0" not in facts


def test_default_types() -> None:
    kernel = ENTRY.choose(ENTRY.small[0], "sm_80").kernel
    assert default_dtypes(kernel, {}) == {"A": bf16, "B": bf16, "C": bf16}
    given = default_dtypes(kernel, {"A": f16, "Bias": f32})
    assert given == {"A": f16, "B": bf16, "C": bf16, "Bias": f32}
