"""The registry: every record complete and consistent, lookup, the prelude's text."""

import ast
import dataclasses
import re
import types
from functools import cache
from pathlib import Path

import pytest

import argus
from argus.ir.dtypes import DTYPES
from argus.isa import (
    cp_async,
    ldmatrix,
    matrix,
    memory,
    registers,
    registry,
    tma,
    wgmma,
)  # fmt: skip
from argus.isa.record import (
    ALL_TARGETS,
    Constraints,
    Effects,
    Instruction,
    InstructionCost,
)
from argus.targets import TARGETS

EVERY = registry.all_instructions()
FIXED = [r for r in EVERY if not r.function.startswith("argus_wgmma_m64")]


def test_functions_are_unique_and_all_forms_are_there() -> None:
    names = [record.function for record in EVERY]
    assert len(names) == len(set(names))
    # bf16, f16 in both majors; e4m3, e5m2, tf32; N of whole numbers: 3 + 15.
    forms = 32 * 2 * (4 + 2) + 32 * 3 * (1 + 1) + 18 * 2 * (1 + 1)
    assert len(names) - len(FIXED) == forms
    assert set(wgmma.forms()) <= set(names)


@pytest.mark.parametrize("record", FIXED, ids=lambda record: record.function)
def test_record_is_complete(record: Instruction) -> None:
    check_record(record)


def test_matrix_product_records_are_complete() -> None:
    for name in wgmma.forms():
        check_record(registry.lookup(name))


def check_record(record: Instruction) -> None:
    assert record.name
    assert record.source.startswith("PTX ISA")
    assert record.targets
    assert set(record.targets) <= set(ALL_TARGETS)
    assert len(re.findall(rf"\b{record.function}\(", record.cuda)) >= 1
    assert "__device__ __forceinline__" in record.cuda
    # An opcode cannot be broken, however long it is.
    assert all(
        len(line) <= 88 or record.name in line for line in record.cuda.splitlines()
    )
    match = re.search(rf"{record.function}\(([^)]*)\)", record.cuda)
    assert match is not None
    parameters = {p.split()[-1] for p in match[1].split(",") if p.strip()}
    parameters |= set(re.findall(r"template <int (\w+)>", record.cuda))
    # The record speaks of the function's own parameters, or memory behind them.
    spoken = [
        *record.effects.reads,
        *record.effects.writes,
        *(operand for operand, _ in record.constraints.alignment),
    ]
    assert {name.strip("[]") for name in spoken} <= parameters
    for need in record.needs:
        assert need == "TensorMap" or registry.lookup(need)
    assert ("TensorMap" in record.cuda) == ("TensorMap" in record.needs)


def test_targets_are_those_of_the_compiler() -> None:
    assert set(ALL_TARGETS) == set(TARGETS)


def test_asynchronous_records_say_when_they_complete() -> None:
    """What goes through the async proxy, or reads after issue, names its group."""
    for record in EVERY:
        if record.effects.proxy == "async":
            assert record.effects.completes in ("bulk_group", "wgmma_group", "mbarrier")
    assert registry.lookup("argus_cp_async_16").effects.completes == "cp_async_group"


def test_lookup_ignores_template_arguments() -> None:
    assert registry.lookup("argus_wgmma_wait<3>") is registry.lookup("argus_wgmma_wait")


@pytest.mark.parametrize(
    "name",
    [
        "argus_nonsense",
        "argus_wgmma_m64n12k16_bf16_ss_00",
        "argus_wgmma_m64n264k16_bf16_ss_00",
        "argus_wgmma_m64n16k16_f32_ss_00",
        "argus_wgmma_m64n16k32_e4m3_ss_01",
        "argus_wgmma_m64n40k32_i8_ss_00",
        "argus_wgmma_m64n16k16_bf16_rs_00",
    ],
)
def test_unknown_functions(name: str) -> None:
    with pytest.raises(registry.UnknownInstructionError, match=name):
        registry.lookup(name)


def test_prelude_has_each_function_once_in_a_fixed_order() -> None:
    names = [
        "argus_wgmma_wait<0>",
        "argus_mbar_wait",
        "argus_wgmma_wait<1>",
        "argus_max",
    ]
    text = registry.cuda_prelude(names)
    assert text == registry.cuda_prelude(reversed(names))
    assert text.count("argus_wgmma_wait()") == 1
    assert text.count("typedef unsigned int u32;") == 1
    assert "struct alignas(64) TensorMap" not in text
    assert text.index("argus_max") < text.index("argus_mbar_wait")


def test_prelude_brings_the_tensor_map_along() -> None:
    assert "struct alignas(64) TensorMap" in registry.cuda_prelude(["TensorMap"])
    text = registry.cuda_prelude(["argus_tma_load_2d"])
    assert text.index("struct alignas(64) TensorMap") < text.index("argus_tma_load_2d")


def test_prelude_refuses_unknown_functions() -> None:
    with pytest.raises(registry.UnknownInstructionError):
        registry.cuda_prelude(["argus_mbar_wait", "argus_mbar_wiat"])


def test_names_of_device_functions_are_those_of_records() -> None:
    """Each name that placing and printing make is that of the record asked for."""
    for e in matrix.ELEMENTS:
        name = e.dtype.name
        for n in wgmma.columns(e) if e.asynchronous else ():
            major = int(e.mn_major)
            shape = registry.lookup(wgmma.function_name(n, name, False, major, 0))
            assert shape.constraints.shape == (("m", 64), ("n", n), ("k", e.depth))
    for size in cp_async.SIZES:
        record = registry.lookup(cp_async.function_name(size))
        assert dict(record.constraints.alignment)["smem"] == record.cost.bytes == size
    for count in ldmatrix.COUNTS:
        for load in (True, False):
            for trans in (True, False):
                name = ldmatrix.function_name(count, load=load, trans=trans)
                record = registry.lookup(name)
                assert record.name.startswith("ldmatrix" if load else "stmatrix")
                assert record.constraints.extent("matrices") == count
                assert (".trans" in record.name) == trans
    for rank in tma.RANKS:
        assert registry.lookup(tma.store_function(rank)).effects.reads[0] == "[smem]"
        for multicast in (True, False):
            for hint in (True, False):
                name = tma.load_function(rank, multicast=multicast, hint=hint)
                record = registry.lookup(name)
                assert ("multicast" in record.name) == multicast
                assert ("cache_hint" in record.name) == hint
    for grow in (True, False):
        name = registers.setmaxnreg_function(grow=grow)
        assert (".inc." in registry.lookup(name).name) == grow


def test_what_a_target_has() -> None:
    for family in ("tma", "wgmma", "cluster"):
        assert registry.has_family(family, "sm_90a")
        assert not registry.has_family(family, "sm_80")
    assert registry.has_family("cp_async", "sm_80")
    for e in matrix.ELEMENTS:
        float8 = e.dtype.is_float and e.dtype.bits == 8
        found = {t: registry.register_products(e, t) for t in ("sm_80", "sm_90a")}
        assert bool(found["sm_80"]) != float8
        one = found["sm_90a"][0]
        assert (one.rows, one.columns, one.depth) == (16, 8, e.depth)
    for load in (True, False):
        name = ldmatrix.function_name(4, load=load, trans=False)
        assert registry.supports(name, "sm_90a")
        assert registry.supports(name, "sm_80") == load
    assert not registry.supports(registers.setmaxnreg_function(grow=True), "sm_80")
    with pytest.raises(registry.UnknownInstructionError, match="tmma"):
        registry.has_family("tmma", "sm_80")


def test_what_must_hold_is_told_to_who_reads_the_text() -> None:
    """Each alignment and rule stands above its function, and no line is too long."""
    names = [record.function for record in FIXED]
    text = registry.cuda_prelude(names)
    comments = [x for x in text.splitlines() if x.startswith("//")]
    assert max(len(line) for line in comments) <= 88
    words = " ".join(" ".join(line[2:].split()) for line in comments)
    for record in FIXED:
        for said in record.constraints.in_words():
            assert said in words, said
    assert "smem is a multiple of 128 bytes" in words


@cache
def attributes() -> set[tuple[str | None, str]]:
    """Each attribute that the package mentions, and of which attribute it is."""
    found: set[tuple[str | None, str]] = set()
    for path in Path(argus.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                of = node.value.attr if isinstance(node.value, ast.Attribute) else None
                found.add((of, node.attr))
    return found


@pytest.mark.parametrize(
    "cls",
    [Instruction, Effects, InstructionCost, Constraints],
    ids=lambda c: c.__name__,
)
def test_each_field_of_a_record_has_a_reader(cls: type) -> None:
    """In the package; of costs and constraints by way of the record that has them."""
    owner = {InstructionCost: "cost", Constraints: "constraints"}.get(cls)
    reads = {attr for of, attr in attributes() if owner is None or of == owner}
    # What a method says of a field is read where the method is.
    for name in set(reads):
        method = vars(cls).get(name)
        if isinstance(method, types.FunctionType):
            reads |= set(method.__code__.co_names)
    assert {field.name for field in dataclasses.fields(cls)} <= reads


def test_prelude_refuses_what_the_target_has_not() -> None:
    names = ["argus_mma_m16n8k16_bf16", "argus_wgmma_wait<0>"]
    assert registry.cuda_prelude(names, "sm_90a") == registry.cuda_prelude(names)
    with pytest.raises(
        registry.UnsupportedInstructionError, match="sm_80 has no argus_wgmma_wait"
    ):
        registry.cuda_prelude(names, "sm_80")


NOT_ADDED = {"e4m3", "e5m2", "i8", "u8", "i16", "u16", "u32", "i64", "u64", "bool"}
"""Types that global memory does not add to, in records."""


def test_element_types() -> None:
    sizes = {e.dtype.name: e.depth * e.dtype.bytes for e in matrix.ELEMENTS}
    assert sizes.pop("f64") == 64
    assert set(sizes.values()) == {32}
    assert matrix.element_names() == "bf16, f16, e4m3, e5m2, f32, i8, u8 or f64"
    assert matrix.element(DTYPES["i32"]) is None
    for dtype in DTYPES.values():
        form = memory.reduction(dtype)
        assert (form is None) == (dtype.name in NOT_ADDED)
        if form is not None:
            record = registry.lookup(form.function)
            assert record.cost.bytes == form.width * dtype.bytes
    compared = {r.dtype.name for r in memory.REDUCTIONS if r.fn == "max"}
    assert compared == {"f32", "i32"}
