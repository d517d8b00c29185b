"""Printed kernels: their text, that NVRTC takes them, and what the printer refuses."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import placed_programs as programs
import pytest
from nvrtc_compile import compiled
from placed_builder import Build
from placed_programs import PROGRAMS

import pieces
from argus.codegen import CodegenError, emit, structure
from argus.ir import ops as o
from argus.ir.dtypes import bf16, f32
from argus.ir.expr import Const, Sym
from argus.ir.launch import LaunchSpec
from argus.ir.walk import walk
from argus.layout import blocked
from argus.targets import TARGETS
from pieces import at


@pytest.fixture(autouse=True)
def no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of the pieces has no text, whatever was parsed under its name before."""
    monkeypatch.setattr(structure, "source_text", lambda name: None)


def kernel_text(name: str) -> str:
    """The kernel alone: the device functions above it are the records' business."""
    text = emit(PROGRAMS[name]()).text
    return text[text.index('extern "C"') :]


@pytest.mark.parametrize("name", PROGRAMS)
def test_text(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"{name}.cu", kernel_text(name))


@pytest.mark.parametrize("name", PROGRAMS)
def test_shared_memory_is_dynamic_alone(name: str) -> None:
    """What else there were would shift it: offsets count on its alignment."""
    for line in emit(PROGRAMS[name]()).text.splitlines():
        assert "__shared__" not in line or line.strip().startswith("extern __shared__")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_text_is_a_function_of_the_program(name: str) -> None:
    # Tiles are numbered by a global counter; the text must not show it.
    assert emit(PROGRAMS[name]()).text == emit(PROGRAMS[name]()).text


@pytest.mark.compiler
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiles_without_warnings_or_spills(name: str) -> None:
    program = PROGRAMS[name]()
    log = compiled(emit(program).text, program.target.name)
    assert "0 bytes spill stores, 0 bytes spill loads" in log
    assert "serialized" not in log


@pytest.mark.parametrize("name", PROGRAMS)
def test_arguments_are_those_the_text_declares(name: str) -> None:
    source = emit(PROGRAMS[name]())
    body = source.text[source.text.index('extern "C"') :]
    head, body = body.split(") {\n", 1)
    declared = [line.split()[-1].rstrip(",") for line in head.splitlines()[2:]]
    assert len(declared) == len(source.spec.args)
    for parameter in declared:
        assert re.search(rf"\b{parameter}\b", body), f"{parameter} is never used"


@pytest.mark.parametrize("name", PROGRAMS)
def test_launch_spec_survives_json(name: str) -> None:
    spec = emit(PROGRAMS[name]()).spec
    assert LaunchSpec.from_json(spec.to_json()) == spec


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 1}', '{"format": 2, "entry": "k"}']
)
def test_what_is_no_launch_spec_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        LaunchSpec.from_json(text)


def test_an_author_may_use_any_name() -> None:
    """Keywords, the printer's own names and repeated names stay apart."""
    b = Build("float")
    layout = blocked((256,), 128, 2)
    n = Sym("smem", "dim")
    x = pieces.tensor("tid", f32, "smem")
    t = b.load("class", pieces.window(x, (256,), Const(0)), layout, 2)
    t = b.apply("r", "add", t, Const(1))
    t = b.apply("r", "mul", t, t)
    t = b.apply("argus_max", "maximum", t, t)
    b.store(pieces.window(x, (256,), Const(0)), t, 2)
    program = b.program([x], ["tid"], n)
    compiled(emit(program).text, "sm_90a")


# ------------------------------------------------------------------- refusals


def test_unplaced_programs_are_refused() -> None:
    program = programs.scaled_add()
    program.placed = False
    with pytest.raises(CodegenError, match="not placed"):
        emit(program)


def test_a_reduction_over_several_warps_is_refused() -> None:
    with pytest.raises(CodegenError, match="not inside a warp"):
        emit(programs.softmax(bf16, width=4))


def test_a_tile_without_layout_is_refused() -> None:
    b = Build("bad")
    t = b.full("t", f32, blocked((128,), 128), 0.0)
    t.layout = None
    with pytest.raises(CodegenError, match="has no layout"):
        emit(b.program([], [], Const(1)))


def test_a_layout_over_other_threads_is_refused() -> None:
    b = Build("bad", warps=2)
    t = b.full("t", f32, blocked((128,), 128), 0.0)
    b.index("i", t, 0)
    with pytest.raises(CodegenError, match="over 128 threads in group block of 64"):
        emit(b.program([], [], Const(1)))


def test_unbound_symbols_are_refused() -> None:
    b = Build("bad")
    b.add(o.Let(sym=Sym("a", "let"), value=Sym("nobody", "let") + 1, span=at(1)))
    with pytest.raises(CodegenError, match="nobody"):
        emit(b.program([], [], Const(1)))


def test_ring_operations_are_refused() -> None:
    from argus.ir.memory import Ring

    b = Build("bad")
    ring = Ring("ring", 2, {}, at(1))
    b.add(o.RingWait(ring=ring, n=Const(0), span=at(1)))
    with pytest.raises(CodegenError, match="RingWait is left"):
        emit(b.program([], [], Const(1)))


def test_a_role_may_not_set_the_registers_of_another() -> None:
    program = programs.gemm()
    roles = program.body.ops[-1]
    assert isinstance(roles, o.Roles)
    other = o.Role("other", 1, None, o.Block([]), at(1), 1)
    roles.roles.append(other)
    with pytest.raises(CodegenError, match="role load"):
        emit(program)


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        ("argus_wgmma_m64n256k24_bf16_ss_00", "no instruction has the device function"),
        ("argus_mma_m16n8k16_bf16", "in a plan for wgmma"),
        ("argus_wgmma_m64n128k16_bf16_ss_00", "in a plan for 256 columns"),
        ("argus_wgmma_m64n256k16_bf16_rs_0", "takes A from elsewhere"),
        ("argus_wgmma_m64n256k16_bf16_ss_01", "operands ask for argus_wgmma_.*_ss_00"),
    ],
)
def test_a_product_by_another_instruction(instruction: str, message: str) -> None:
    program = programs.gemm()
    (dot,) = (op for op in walk(program.body) if isinstance(op, o.Dot))
    assert dot.plan is not None
    dot.plan = replace(dot.plan, instruction=instruction)
    with pytest.raises(CodegenError, match=message):
        emit(program)


def test_instructions_that_the_target_has_not() -> None:
    program = programs.gemm()
    program.target = TARGETS["sm_80"]
    with pytest.raises(CodegenError, match="sm_80 has no argus_"):
        emit(program)


def test_a_barrier_that_no_block_has() -> None:
    b = Build("bad")
    b.add(o.Sync(threads=64, barrier=16, name="a", span=at(1)))
    with pytest.raises(CodegenError, match="no barrier 16"):
        emit(b.program([], [], Const(1)))
