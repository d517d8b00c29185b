"""The text of a program is read back: the same program, or an error with its place."""

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from argus.diagnostics import ArgusError
from argus.evaluation.requests import request_for
from argus.ir import ops as o
from argus.ir.equality import difference
from argus.ir.parser import TextError, parse_program
from argus.ir.printer import print_program
from argus.ir.program import Program
from argus.ir.text.syntax import COMMON, STRUCTURE, SYNTAX, Field, Flag, items
from argus.ir.walk import walk
from argus.kernels.library import LIBRARY
from argus.lang.kernel import load_kernels
from argus.requests import Request, placed_program, tile_program
from generate import FAMILIES, generate
from generate.running import request_of

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for folder in (
        "docs/tutorial/step*.py",
        "examples/**/*.py",
        "tests/lang/kernels/*.py",
    )
    for path in ROOT.glob(folder)
    if "@ag.kernel" in path.read_text(encoding="utf-8")
)
TARGETS = ("sm_90a", "sm_80")


def assert_is_read_back(program: Program) -> None:
    text = print_program(program)
    read = parse_program(text)
    assert difference(program, read) is None, text
    assert print_program(read) == text


def both(request: Request) -> Iterator[Program]:
    yield tile_program(request)
    yield placed_program(request)


def test_every_field_of_every_operation_is_in_its_template() -> None:
    assert set(SYNTAX) == set(o.OPS)
    for cls in o.OPS:
        said = [x.name for x in items(cls) if isinstance(x, Field | Flag)]
        other = (*COMMON, *STRUCTURE.get(cls, ()))
        expected = [x.name for x in fields(cls) if x.name not in other]
        assert sorted(said) == sorted(expected), cls


@pytest.mark.parametrize("name", LIBRARY)
def test_the_library_is_read_back(name: str) -> None:
    """As it is launched, for the last of its targets; files are read for both."""
    entry = LIBRARY[name]
    request = request_for(entry, entry.large[0], entry.targets[-1])[0]
    assert_is_read_back(placed_program(request))


@pytest.mark.parametrize("path", FILES, ids=lambda x: f"{x.parent.name}/{x.name}")
def test_kernel_files_are_read_back(path: Path) -> None:
    for kernel in load_kernels(path).kernels.values():
        tensors = [t for t in kernel.signature.tensors if not t.optional]
        dtypes = {t.name: t.dtypes[0] for t in tensors}
        for target in TARGETS:
            try:
                programs = list(both(Request(kernel, dtypes, {}, target)))
            except ArgusError:
                continue  # not for this target, or a mistake on purpose
            for program in programs:
                assert_is_read_back(program)


@pytest.mark.parametrize("seed", range(12))
def test_random_kernels_are_read_back(seed: int) -> None:
    names = list(FAMILIES)
    try:
        programs = list(both(request_of(generate(seed, names[seed % len(names)]))))
    except ArgusError:
        return
    for program in programs:
        assert_is_read_back(program)


def test_operations_of_every_class_are_read_back() -> None:
    """Those that the compiler makes seldom, and each field with another value."""
    program = parse_program(EVERYTHING)
    assert {type(op) for op in walk(program.body)} == set(o.OPS)
    assert difference(program, parse_program(EVERYTHING)) is None
    assert_is_read_back(program)


EVERYTHING = (Path(__file__).parent / "everything.txt").read_text(encoding="utf-8")
MISTAKES = [
    ("setmaxnreg dec 24", "setmaxnreg dce 24", "dce"),
    ("sync 128 threads\n", "sink 128 threads\n", "sink"),
    ("sync 128 threads\n", "sync 128 theads\n", "theads"),
    ("= reduce max", "= reduce mix", "mix"),
    ("= fma %x", "= fna %x", "fna"),
    ("cast %y", "cast %yy", "%yy"),
    ("evict first", "evict frist", "frist"),
    ("atomic add", "atomic sub", "sub"),
    ("fence proxy.async", "fence proxy.asink", "proxy.asink"),
    ("via tma", "via dma", "dma"),
    ("= s - s.1", "= s - s.2", "s.2"),
    ("= s - s.1", "= s - q", "q"),
    ("= s - s.1", "= s - s.1 - s", "-"),
    ("= s - s.1", "= 01x", "01x"),
    ("expect {spills", "expect {spils", "spils"),
    ("[ldmatrix x8 * 1 L0]", "[ldmatrix x8 * 1 L9]", "L9"),
    ("[ld.global x1 * 1]", "[ld.globl x1 * 1]", "ld.globl"),
    ("[ld.global x1 * 1]", "[ld.global x1 * 2]", "2"),
    ("[ld.global x1 * 1]", "[ld.global x0 * 1]", "1"),
    ("[cp.async x8 * 1 L0]", "[cp.async x8 * 1]", "]"),
    ("* 2]\n", "* 3]\n", "3"),
    ("copy $a(1)", "copy $c(1)", "$c"),
    ("barrier full[k % 2] multicast", "barrier ful[k % 2] multicast", "ful"),
    ("= load I[x + %0]", "= load J[x + %0]", "J"),
    ("ring_wait r", "ring_wait q", "q"),
    ("bf16[M:16 _:64] = load", "bf17[M:16 _:64] = load", "bf17"),
    ("%acc.4: f32", "%acc.3: f32", "%acc.3"),
    ("yield %acc.3, u + 1", "yield %acc.3", "%acc.3"),
    ("-> %acc.4: f32[M:16 N:16], one", "pass", "pass"),
    ("128 threads 8*8@1", "64 threads 8*8@1", "8*1@1"),
    ("target sm_90a", "target sm_90b", "sm_90b"),
    ("symbols sms:", "symbols sm:", "sm"),
    ("symbols loop: k", "symbols loop: k, x", ""),
    ("require ((X", "requires ((X", "requires"),
    ("param I: i32", "param I: i23", "i23"),
    ("strides (1)", "stride (1)", "stride"),
    ("empty full.1", "empty full.2", "full.2"),
    ("shared b: bf16", "shared a: bf16", ":"),
    ("2*64; swizzle", "2*64; swizle", "swizle"),
    ("(64*32, 16*2;", "(64*32, 8*2;", "64"),
    ("statics A", "statik A", "statik"),
    ("cluster 2, warps", "clusters 2, warps", "clusters"),
    ("per warpgroup", "per warpgroups", "warpgroups"),
    ("role load warps", "role load warp", "warp"),
    ("from line 77", "form line 77", "form"),
    ("%acc.2, %x.1\n", "%acc.2 %x.1\n", "%x.1"),
    ("      if flag\n        pass\n", "      if flag\n", ""),
]  # fmt: skip


@pytest.mark.parametrize(("right", "wrong", "place"), MISTAKES)
def test_a_mistake_is_an_error_with_its_place(
    right: str, wrong: str, place: str
) -> None:
    assert right in EVERYTHING
    text = EVERYTHING.replace(right, wrong, 1)
    with pytest.raises(TextError) as caught:
        parse_program(text)
    line = text.split("\n")[caught.value.line - 1]
    assert line[caught.value.column - 1 :].startswith(place), caught.value
    assert f"column {caught.value.column}" in str(caught.value)


def test_what_is_left_over_is_an_error() -> None:
    """A word more at the end of any line is one word too many."""
    lines = EVERYTHING.split("\n")
    for i, line in list(enumerate(lines))[::2]:
        if line and "# " not in line:
            changed = [*lines[:i], line + " nothing", *lines[i + 1 :]]
            with pytest.raises(TextError) as caught:
                parse_program("\n".join(changed))
            assert caught.value.line == i + 1


CHANGES: dict[str, tuple[str, str]] = {
    "a number": ("completion u // 2", "completion u // 4"),
    "the type of a number": ("fill -0.0", "fill 0.0"),
    "another tile": ("(%acc.1, %acc)", "(%acc, %acc.1)"),
    "a note": ("# budget", "# Budget"),
    "a line": ("    4 setmaxnreg", "    5 setmaxnreg"),
    "a kind of symbol": ("symbols loop: k", "symbols let any sign: k"),
    "a plan": ("leading 16", "leading 32"),
    "a layout": ("16*1@0 | 8 regs 8*1@1", "16*1@0 1*- | 8 regs 8*1@1"),
    "a step": ("(4 0 4)", "(4 0 8)"),
    "a requirement": ("1e-05", "1e-06"),
    "a fact": ("`a b` % 8", "`a b` % 4"),
    "an order of outputs": ("outputs Y, X", "outputs X, Y"),
    "storage": ("L0 @2", "L0 @3"),
    "what is trusted": ("trust 3:1 - 4:20:", "trust 3:2 - 4:20:"),
    "another buffer": ("ring r x2 cluster (a: $r_a)", "ring r x2 cluster (a: $a)"),
}


@pytest.fixture(scope="module")
def everything() -> Program:
    return parse_program(EVERYTHING)


@pytest.mark.parametrize("change", CHANGES)
def test_programs_that_differ_are_not_equal(change: str, everything: Program) -> None:
    before, after = CHANGES[change]
    assert before in EVERYTHING
    second = parse_program(EVERYTHING.replace(before, after, 1))
    assert difference(everything, second) is not None
    assert_is_read_back(second)
