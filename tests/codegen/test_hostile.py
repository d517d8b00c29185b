"""Nothing that a name or a text says becomes code, and no name meets another.

Every text of a placed program, and of its sources, is replaced by hostile ones: the
tokens of what is printed stay the same up to renamed variables. Every name that a
source can choose is replaced: the interpreter and the printed code still agree, with
each other and with the plain kernel, and so does the verdict. `ARGUS_HOSTILE_RUNS=100`
tries about 3000 pairs of a name and a place; the default is a sample.
"""

from __future__ import annotations

import copy
import os
import re
import shutil
import subprocess
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import emulator
import numpy as np
import pytest
from hostile import PAYLOAD, TEXTS, names, same_program, tokens, unescaped
from nvrtc_compile import compiled
from placed_builder import BLOCK, Build
from placed_programs import PROGRAMS

import pieces
from argus.codegen import CodegenError, emit
from argus.codegen.export import export, nvcc_flags
from argus.codegen.names import Identifiers
from argus.codegen.writer import Writer, comment, literal
from argus.diagnostics import register_source
from argus.interpret import run
from argus.ir import ops as o
from argus.ir.dtypes import f32
from argus.ir.expr import Arithmetic, Const, Expr, Sym, binary
from argus.ir.memory import GlobalTensor
from argus.ir.op import Op
from argus.ir.program import (
    HARDWARE,
    LaunchRequirement,
    Program,
    ScalarParam,
    stride_symbol,
)
from argus.ir.walk import walk
from argus.lang.frontend import specialise
from argus.lang.kernel import load_kernels
from argus.layout import blocked
from argus.lower import place
from argus.targets import TARGETS
from argus.verify.verdict import Verdict
from argus.verify.verifier import verify

RUNS = int(os.environ.get("ARGUS_HOSTILE_RUNS", "2"))
HARDWARE_NAMES = {s.name for s in HARDWARE}


# --------------------------------------------------------- texts of placed programs


class Renaming:
    """A copy of a program with other names, drawn in turn from a list."""

    def __init__(self, program: Program, words: list[str], start: int) -> None:
        self.words, self.at = words, start
        self.names: dict[str, str] = {}
        self.places = 0
        self.program = self._copied(program)
        self._texts()

    def next(self) -> str:
        self.places += 1
        self.at += 1
        return self.words[self.at % len(self.words)]

    def name(self, old: str) -> str:
        """Another name, which nothing else has."""
        if old not in self.names:
            new = self.next()
            while new in self.names.values():
                new += "\n"
            self.names[old] = new
        return self.names[old]

    def _copied(self, program: Program) -> Program:
        def symbol(sym: Sym, _memo: dict[int, Any]) -> Sym:
            if sym.name in HARDWARE_NAMES or sym.kind in ("axis", "gather", "thread"):
                return sym
            return replace(sym, name=self.name(sym.name))

        with pytest.MonkeyPatch.context() as patch:
            patch.delattr(Arithmetic, "__deepcopy__")  # copies share expressions
            patch.setattr(Sym, "__deepcopy__", symbol, raising=False)
            return copy.deepcopy(program)

    def _texts(self) -> None:
        p = self.program
        p.name, p.file = self.next(), f"/tmp/{self.next()}"
        p.statics = {self.next(): self.next(), self.next(): 3}
        for n, param in enumerate(p.params):
            if isinstance(param, ScalarParam):
                p.params[n] = replace(param, name=self.name(f"scalar {param.name}"))
        tensors = {t.name: t for t in p.params if isinstance(t, GlobalTensor)}
        for old, tensor in tensors.items():
            # Views hold the same object; `name` keys what the printer knows of it.
            object.__setattr__(tensor, "name", self.name(f"tensor {old}"))
        p.facts = {self.names.get(k, k): v for k, v in p.facts.items()}
        p.outputs = [tensors[name].name for name in p.outputs]
        for item in (*p.shared, *p.barriers):
            item.name = self.next()
        for barrier in p.barriers:
            barrier.role = self.next()
        for op in walk(p.body):
            op.note = self.next()
            file = self.next()
            register_source(file, "\n".join(self.next() for _ in range(40)))
            op.span = replace(op.span, file=file)
            if isinstance(op, o.Roles):
                for role in op.roles:
                    role.name = self.next()
            for tile in _tiles(op):
                tile.name = self.next()
        fact = next((s for t in tensors.values() for s in t.shape), None)
        if isinstance(fact, Sym):
            cond = binary(">=", fact, 0)
            p.requirements.append(LaunchRequirement(cond, self.next(), p.span))


def _tiles(op: Op) -> Iterator[o.Tile]:
    for value in vars(op).values():
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, o.Tile):
                yield item


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_text_becomes_code(name: str) -> None:
    """Each text once in each place of every program."""
    plain = Renaming(PROGRAMS[name](), ["plain"], 0)
    parts = printed(plain.program)
    own = {x for part in parts for x in tokens(part) if x.startswith('"')}
    for start in range(0, len(TEXTS), max(1, len(TEXTS) // (4 * RUNS))):
        hostile = Renaming(PROGRAMS[name](), TEXTS, start)
        assert hostile.places == plain.places
        given = [
            *hostile.names.values(),
            *(r.why for r in hostile.program.requirements),
        ]
        said = {text.encode("utf-8", "surrogatepass") for text in given}
        for before, after in zip(parts, printed(hostile.program), strict=True):
            assert re.fullmatch("[ -~\n]*", after), "not printable ASCII"
            assert same_program(before, after) is None
            read = tokens(after)
            assert (PAYLOAD, "(") not in pairwise(read)
            texts = {x for x in read if x.startswith('"')} - own
            assert all(unescaped(x) in said for x in texts)


def printed(program: Program) -> tuple[str, str, str]:
    """The device functions, the kernel, and the rest of its exported file."""
    whole, _ = export(program)
    text = emit(program).text
    assert text in whole
    functions, begin, kernel = text.partition('\nextern "C" __global__')
    return functions, begin + kernel, whole.replace(text, "")


# ------------------------------------------------------------- names of a source

SOURCE = """
import argus as {ag}
from argus import f32, i32


@{ag}.inline
def {inline}({given}, {by}):
    {inner} = {given} * {by}
    return {inner} + {given}


@{ag}.kernel
def {kernel}(
    {X}: f32["{M} {N}"], {Y}: f32["{M} {N}"], {T}: i32["{M}"], {count}: i32,
    {scale}: f32, *, {rows}: int = 4, {columns}: int = 64, {mode}: str = "mul",
):
    {ag}.require({ag}.dim("{N}") <= {columns}, {why!r})
    {ag}.launch(warps=2)
    {tile} = {ag}.block({ag}.cdiv({ag}.dim("{M}"), {rows}))
    {low} = {tile} * {rows}
    {x} = {ag}.load({X}[{low}:, 0:], ({rows}, {columns}))
    {top} = {ag}.sum({x}, "{N}")
    {total} = {x} - {top}
    {step} = {low}
    for {turn} in {ag}.range(0, {count}):
        {part} = {inline}({total}, {scale})
        if {turn} > 1:
            {total} = {part} + {step}.to(f32) if False else {part}
        else:
            {total} = {part} - {x}
        {step} = {step} + {turn} * {ag}.dim("{N}")
    {shared} = {ag}.shared(f32, ({rows}, {columns}))
    {shared}[:, :] = {total}
    {ag}.sync()
    {back} = {ag}.load({shared}[:, :])
    {table} = {ag}.load({T}[{low}:], ({rows},))
    {sums} = {ag}.cumsum({back}, "{N}")
    {mixed} = {sums} + {ag}.where({table} > 2, {top}, 1.0)
    {Y}[{low}:, 0:] = {mixed} + {step}
"""
PLACES = sorted(set(re.findall(r"{(\w+)}", SOURCE)))


def written(chosen: dict[str, str], why: str) -> str:
    return SOURCE.format(**chosen, why=why)


def made(text: str, file: str, chosen: dict[str, str]) -> Program:
    found = load_kernels(file, text).kernels
    facts = {chosen["M"]: 2, chosen["N"]: 2}
    facts |= {stride_symbol(chosen[t], 0).name: 2 for t in "XY"}
    (kernel,) = found.values()
    program = specialise(kernel, {}, {}, TARGETS["sm_90a"], {}, facts)
    return place(program)


def computed(program: Program, chosen: dict[str, str], how: str) -> np.ndarray:
    rng = np.random.default_rng(5)
    x = rng.integers(-3, 4, size=(10, 50)).astype(np.float32)
    table = rng.integers(0, 5, size=10).astype(np.int32)
    arrays = {chosen["X"]: x, chosen["Y"]: np.zeros_like(x), chosen["T"]: table}
    scalars = {chosen["count"]: 3, chosen["scale"]: -0.5}
    if how == "interpreter":
        run(program, arrays, scalars).check()
    else:
        sizes = {chosen["M"]: 10, chosen["N"]: 50, **scalars}
        emulator.launch(emit(program), sizes, arrays)
    return arrays[chosen["Y"]]


def choices(start: int) -> dict[str, str]:
    """A name for each place, all different as Python reads them."""
    known = names()
    chosen = {
        place: known[(start * len(PLACES) + n) % len(known)]
        for n, place in enumerate(PLACES)
    }
    # A dimension has no name of the frontend's: AG0219, AG0112 and `_` for none.
    strides = {stride_symbol(chosen[t], 0).name for t in "XYT"}
    others = iter(w for w in names() if w not in chosen.values())
    for dim in "MN":
        while (
            chosen[dim] in HARDWARE_NAMES | strides | {"_"}
            or unicodedata.normalize("NFKC", chosen[dim]) != chosen[dim]
        ):
            chosen[dim] = next(others)
    return chosen


def read_as(chosen: dict[str, str]) -> dict[str, str]:
    """The names as Python reads them."""
    return {p: unicodedata.normalize("NFKC", name) for p, name in chosen.items()}


@pytest.fixture(scope="module")
def plain() -> np.ndarray:
    """What the kernel computes, whatever anything in it is called."""
    chosen = {place: place for place in PLACES}
    program = made(written(chosen, "few"), "plain.py", chosen)
    assert verify(program).verdict is Verdict.PROVED
    found = computed(program, chosen, "interpreter")
    assert np.unique(found).size > 100
    return found


@pytest.mark.compiler
@pytest.mark.skipif(not emulator.available(), reason="needs g++")
@pytest.mark.parametrize("start", range(RUNS))
def test_no_name_meets_another(start: int, plain: np.ndarray) -> None:
    chosen = choices(start)
    why = TEXTS[start % len(TEXTS)]
    # No system has a file with a NUL in its name, and Python reads none.
    file = TEXTS[(start + 7) % len(TEXTS)].replace("\0", "") + ".py"
    program = made(written(chosen, why), file, read_as(chosen))
    names = read_as(chosen)
    assert np.array_equal(computed(program, names, "interpreter"), plain)
    assert np.array_equal(computed(program, names, "emulator"), plain)
    assert verify(program).verdict is Verdict.PROVED


# ------------------------------------------------------------------- the writer


@pytest.mark.parametrize("text", TEXTS)
def test_a_comment_is_one_line_of_nothing_else(text: str) -> None:
    made = comment(text)
    assert re.fullmatch("//[ -~]*", made)
    assert tokens(f"{made}\nx") == ["x"]
    assert tokens(f"/* {made} */ x") == ["x"]
    assert len(made) < 1000


@pytest.mark.parametrize("text", TEXTS)
def test_a_literal_is_its_text(text: str) -> None:
    made = literal(text)
    assert tokens(made) == [made]
    assert unescaped(made) == text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize(
    "code",
    ["a\nb", "a\rb", "a\\", "a // b", "a /* b", "a */ b", "a ??/", "é", "\u2028", "\0"],
)
def test_code_that_is_not_one_visible_line_is_refused(code: str) -> None:
    out = Writer()
    with pytest.raises(CodegenError, match="in a line of code"):
        out.line(code)
    with pytest.raises(CodegenError, match="in a line of code"):
        out.reserve().line(code)


# ------------------------------------------------------------- what compilers have


def identifiers(wanted: list[str]) -> list[str]:
    given = Identifiers()
    marks = [given.unique(name) for name in wanted]
    given.settle("")
    return [given.spell(mark) for mark in marks]


def test_identifiers_are_short_ascii_and_different() -> None:
    found = identifiers([*names(), *TEXTS, *names(), *TEXTS])
    assert all(re.fullmatch("[A-Za-z][A-Za-z0-9_]{0,79}", name) for name in found)
    assert not any("__" in name for name in found)
    assert len(set(found)) == len(found)


@pytest.mark.compiler
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_no_identifier_is_a_macro() -> None:
    """Of what an exported file includes, and more; CUDA's only where it is there."""
    headers = "cerrno cfenv cfloat climits clocale cmath complex cstdarg cstddef"
    headers += " cstdint cstdio cstdlib cstring ctime cwchar random vector"
    included = "".join(f"#include <{name}>\n" for name in headers.split())
    command = ["g++", "-x", "c++", "-std=gnu++20", "-E", "-dM", "-"]
    cuda = next(Path("/usr/local").glob("cuda*/include/cuda_runtime.h"), None)
    if cuda is not None:
        command[1:1] = ["-I", str(cuda.parent)]
        included += "#include <cuda.h>\n#include <cuda_runtime.h>\n"
    done = subprocess.run(
        command, input=included, capture_output=True, text=True, check=True
    )
    # A macro with parameters is none where no parenthesis follows, as after a variable.
    macros = set(re.findall(r"^#define (\w+)(?!\w|\()", done.stdout, re.MULTILINE))
    assert len(macros) > 500
    for word in macros:
        wanted = identifiers([word] * 3)
        assert not macros & set(wanted), word


def all_names() -> Program:
    """A kernel with a scalar of every name, all of which are read."""
    b = Build("exp", warps=1)
    total: Expr = Const(0)
    for n, name in enumerate(names()):
        sym = Sym(name, "let")
        b.add(o.Let(sym=sym, value=BLOCK * n, span=b.here()))
        total = total + sym
    y = pieces.tensor("INFINITY", f32, "64")
    layout = blocked((64,), 32, 2)
    t = b.full("M_PI", f32, layout, 1.0)
    t = b.apply("errno", "add", t, total)
    b.store(pieces.window(y, (64,), Const(0)), t, 2)
    return b.program([y], ["INFINITY"], Const(1))


@pytest.mark.compiler
def test_nvrtc_takes_every_name() -> None:
    compiled(emit(all_names()).text, "sm_90a")


@pytest.mark.compiler
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_nvcc_takes_every_name(tmp_path: Path) -> None:
    file = tmp_path / "names.cu"
    file.write_text(export(all_names())[0])
    command = ["nvcc", *nvcc_flags("sm_90a").split(), "-c", str(file)]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "names.o")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr


# -------------------------------------------------------- names of other things

TAKEN = "r rr tid v cluster_rank block_x grid_x sm_count N_s0 cluster"
SHARED = f"""
import argus as ag
from argus import f32, i32


@ag.kernel
def taken(
    N: f32["M N"], Y: f32["M N"], {", ".join(f"{name}: i32" for name in TAKEN.split())},
    *, C: int = 64,
):
    ag.require(ag.dim("N") <= C, "one block has a row")
    ag.launch(warps=1)
    m = ag.block(ag.dim("M"))
    x = ag.load(N[m : m + 1, 0:], (1, C))
    s = ag.sum(x, "N")
    Y[m : m + 1, 0:] = x + s + {
    " + ".join(f"{name} * {4**n}" for n, name in enumerate(TAKEN.split()))
}
"""


@pytest.mark.compiler
@pytest.mark.skipif(not emulator.available(), reason="needs g++")
def test_scalars_and_tensors_have_the_names_of_other_things() -> None:
    """A tensor that of its dimension, scalars those of strides and of the hardware."""
    (kernel,) = load_kernels("taken.py", SHARED).kernels.values()
    facts = {"M": 1, "N": 1, "N_s0": 1, "Y_s0": 1}
    program = place(specialise(kernel, {}, {}, TARGETS["sm_90a"], {}, facts))
    assert verify(program).verdict is Verdict.PROVED
    x = np.random.default_rng(2).integers(-9, 9, size=(3, 60)).astype(np.float32)
    scalars = {name: n % 4 for n, name in enumerate(TAKEN.split())}
    exact = x + x.sum(1, keepdims=True)
    exact += sum((n % 4) * 4**n for n in range(len(scalars)))
    for how in ("interpreter", "emulator"):
        arrays = {"N": x.copy(), "Y": np.zeros_like(x)}
        if how == "interpreter":
            run(program, arrays, scalars).check()
        else:
            emulator.launch(emit(program), {"M": 3, "N": 60, **scalars}, arrays)
        assert np.array_equal(arrays["Y"], exact), how
