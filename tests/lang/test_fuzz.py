"""Whatever a kernel file contains, only `ArgusError` may come out of the compiler.

What the frontend accepts is placed and printed, too; NVRTC is not run.

Valid kernels are mutated: tokens are deleted, doubled, swapped and replaced; nodes of
the syntax tree are exchanged for others of the same file. `ARGUS_FUZZ=5000 pytest` runs
more cases than the default; each case is its own seed and can be repeated alone.
"""

import ast
import copy
import io
import os
import random
import tokenize

import pytest
from support import KERNELS, program

from argus.codegen import emit
from argus.diagnostics import ArgusError, render_all
from argus.lang.kernel import Kernel, load_kernels
from argus.lower import place
from argus.targets import TARGETS
from few import EVERY

ROOT = KERNELS.parents[2]
FOLDERS = (
    KERNELS, ROOT / "src/argus/kernels", ROOT / "examples", ROOT / "docs/tutorial",
    ROOT / "tests/codegen/kernels",
)  # fmt: skip
SOURCES = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for folder in FOLDERS
    for path in sorted(folder.glob("*.py"))
    if "@ag.kernel" in path.read_text()
}
CASES = int(os.environ.get("ARGUS_FUZZ", "150" if EVERY else "100"))
WORDS = (  # noqa: SIM905 - a table of words reads better
    "0 1 -1 2 3.5 1e400 10**9 (1<<70) 99999999999999999999 None True '' 'M' 'M K' () "
    "[] ... : , . ( ) [ ] = == + - * / // % ** @ & | ~ not and or if else for in with "
    "as lambda x: ag A slot ring acc k range ag.range ag.zeros ag.load ag.dot ag.role "
    "ag.ring .T .to .shape .load .store bf16 f32 i32 ag.sum ag.where ag.shared "
    "ag.barriers ag.block ag.index return pass assert import def while"
).split(" ")


def tokens(text: str) -> list[tuple[int, str]]:
    read = io.StringIO(text).readline
    return [(t.type, t.string) for t in tokenize.generate_tokens(read)]


def mutate_tokens(text: str, rng: random.Random) -> str:
    parts = tokens(text)
    for _ in range(rng.randint(1, 4)):
        i = rng.randrange(len(parts))
        match rng.randrange(5):
            case 0:
                del parts[i]
            case 1:
                parts.insert(i, parts[i])
            case 2:
                j = rng.randrange(len(parts))
                parts[i], parts[j] = parts[j], parts[i]
            case 3:
                parts[i] = parts[rng.randrange(len(parts))]
            case _:
                parts[i] = (tokenize.NAME, rng.choice(WORDS))
    try:
        return tokenize.untokenize(parts)
    except (ValueError, IndexError):
        return " ".join(string for _, string in parts)


class _Exchange(ast.NodeTransformer):
    """Replaces the n-th expression or statement."""

    def __init__(self, at: int, new: ast.AST, kind: type[ast.AST]) -> None:
        self.at, self.new, self.kind = at, new, kind

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, self.kind):
            self.at -= 1
            if self.at == 0:
                return self.new
        return node


def mutate_tree(text: str, rng: random.Random) -> str:
    tree = ast.parse(text)
    kind = rng.choice((ast.expr, ast.expr, ast.stmt))
    nodes = [n for n in ast.walk(tree) if isinstance(n, kind)]
    for _ in range(rng.randint(1, 3)):
        new = copy.deepcopy(rng.choice(nodes))
        if rng.random() < 0.2 and kind is ast.expr:
            new = ast.parse(rng.choice(("-1", "A", "()", "None", "x.T", "2**40"))).body[
                0
            ]
            new = new.value if isinstance(new, ast.Expr) else new
        tree = _Exchange(rng.randrange(1, len(nodes)), new, kind).visit(tree)
    return unparsed(tree, text, rng)


def unparsed(tree: ast.AST, text: str, rng: random.Random) -> str:
    """The source of a tree; of a tree that has none, a piece of the original text."""
    try:
        return ast.unparse(ast.fix_missing_locations(tree))
    except (AttributeError, ValueError, TypeError, RecursionError):
        return text[: rng.randrange(len(text))]


def mutate_gently(text: str, rng: random.Random) -> str:
    """Edits that mostly keep the source valid, to reach deeper into the frontend."""
    tree = ast.parse(text)
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    inside = [n for f in functions for n in ast.walk(f)]
    names = [n for n in inside if isinstance(n, ast.Name)]
    for _ in range(rng.randint(1, 3)):
        match rng.randrange(7):
            case 0:
                rng.choice(names).id = rng.choice(names).id
            case 1:
                numbers = [n for n in inside if isinstance(n, ast.Constant)]
                rng.choice(numbers).value = rng.choice(
                    (0, 1, 2, 3, 7, 64, -1, 0.5, "K")
                )
            case 2 | 3:
                bodies = [
                    n.body
                    for n in inside
                    if isinstance(n, ast.FunctionDef | ast.For | ast.With | ast.If)
                ]
                body = rng.choice(bodies)
                taken = copy.deepcopy(rng.choice(rng.choice(bodies)))
                if rng.random() < 0.5 and len(body) > 1:
                    del body[rng.randrange(len(body))]
                if rng.random() < 0.5:
                    body.insert(rng.randrange(len(body) + 1), taken)
            case 4:
                call = rng.choice([n for n in inside if isinstance(n, ast.Call)])
                rng.shuffle(call.args)
                if call.keywords and rng.random() < 0.5:
                    call.keywords.pop()
            case 5:
                field = rng.choice([n for n in inside if isinstance(n, ast.Attribute)])
                field.attr = rng.choice(
                    ("T", "load", "store", "wait", "sum", "index", "shape", "dot", "a")
                )
            case _:
                sums = [n for n in inside if isinstance(n, ast.BinOp)]
                if sums:
                    rng.choice(sums).op = rng.choice(
                        (ast.Mod(), ast.Div(), ast.FloorDiv(), ast.MatMult(), ast.Sub())
                    )
    return unparsed(tree, text, rng)


SIZES = (1, 2, 3, 4, 5, 7, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 264)
WORDS_FOR = {
    "bf16": ("f16", "f32", "i32", "u8"),
    "f32": ("bf16", "f16", "i32", "i64"),
    "sum": ("max", "cumsum", "argmax", "mean", "prod"),
    "max": ("sum", "min", "argmin", "cumsum"),
    "exp2": ("tanh", "sqrt", "abs"),
    "dot": ("mma", "wgmma", "dot"),
    "load": ("copy", "load"),
    "T": ("shape", "T"),
}


def mutate_values(text: str, rng: random.Random) -> str:
    """Other sizes, element types and functions: most of these reach placing."""
    tree = ast.parse(text)
    nodes = [
        n for f in tree.body if isinstance(f, ast.FunctionDef) for n in ast.walk(f)
    ]
    numbers = [n for n in nodes if isinstance(n, ast.Constant) and type(n.value) is int]
    words = [
        n
        for n in nodes
        if (isinstance(n, ast.Name) and n.id in WORDS_FOR)
        or (isinstance(n, ast.Attribute) and n.attr in WORDS_FOR)
    ]
    calls = [n for n in nodes if isinstance(n, ast.Call) and n.keywords]
    for _ in range(rng.randint(1, 3)):
        match rng.randrange(6):
            case 0 | 1 | 2 if numbers:
                rng.choice(numbers).value = rng.choice(SIZES)
            case 3 if words:
                node = rng.choice(words)
                if isinstance(node, ast.Name):
                    node.id = rng.choice(WORDS_FOR.get(node.id, (node.id,)))
                else:
                    node.attr = rng.choice(WORDS_FOR.get(node.attr, (node.attr,)))
            case 4 if calls:
                call = rng.choice(calls)
                if call.keywords:
                    del call.keywords[rng.randrange(len(call.keywords))]
            case _:
                slices = [n for n in nodes if isinstance(n, ast.Slice) and n.lower]
                if slices:
                    part = rng.choice(slices)
                    offset = ast.Constant(rng.choice((-1, 1, 4, 8)))
                    lower = part.lower or offset
                    part.lower = ast.BinOp(lower, ast.Add(), offset)
    return unparsed(tree, text, rng)


MUTATIONS = (
    mutate_tokens, mutate_tree, mutate_gently, mutate_gently,
    mutate_values, mutate_values, mutate_values, mutate_values,
)  # fmt: skip


def mutated(seed: int) -> str:
    rng = random.Random(seed)
    text = SOURCES[rng.choice(sorted(SOURCES))]
    return MUTATIONS[seed % len(MUTATIONS)](text, rng)


def compiled(text: str, target: str = "sm_90a", divisor: int = 16) -> str:
    """Codes of what the compiler says; any exception but ArgusError escapes.

    Sizes and strides are multiples of `divisor`. A kernel whose target cannot honour it
    does not keep the others of the file from being compiled.
    """
    codes: list[str] = []
    try:
        kernels = load_kernels("<fuzz>", text).kernels
    except ArgusError as error:
        return shown(error)
    for kernel in kernels.values():
        try:
            facts = {} if divisor == 16 else facts_of(kernel, divisor)
            emit(place(program(kernel, target=target, facts=facts)))
        except ArgusError as error:
            codes.append(shown(error))
    return " ".join(codes) or "accepted"


def shown(error: ArgusError) -> str:
    assert render_all(error.diagnostics)
    return " ".join(error.codes)


def facts_of(kernel: Kernel, divisor: int) -> dict[str, int]:
    """Every size and stride is a multiple of `divisor`."""
    tensors = kernel.signature.tensors
    strides = [f"{t.name}_s{i}" for t in tensors for i in range(len(t.dims))]
    return dict.fromkeys([*kernel.signature.dims, *strides], divisor)


@pytest.mark.parametrize("seed", range(CASES))
def test_only_diagnostics_escape(seed: int) -> None:
    rng = random.Random(~seed)
    compiled(mutated(seed), rng.choice(sorted(TARGETS)), rng.choice((1, 2, 4, 16)))


def test_the_unmutated_sources_are_accepted() -> None:
    assert {name: compiled(text) for name, text in SOURCES.items()} == dict.fromkeys(
        SOURCES, "accepted"
    )


def settings(kernel: Kernel, rng: random.Random) -> dict[str, object]:
    """Other values for about half of the static parameters that have a default."""
    chosen: dict[str, object] = {}
    for static in kernel.signature.statics:
        default = static.default
        if not isinstance(default, ast.Constant) or rng.random() < 0.5:
            continue
        if isinstance(default.value, bool):
            chosen[static.name] = not default.value
        elif isinstance(default.value, int):
            chosen[static.name] = rng.choice(SIZES)
    return chosen


@pytest.mark.parametrize("seed", range(CASES // 3))
def test_only_diagnostics_escape_for_other_settings(seed: int) -> None:
    rng = random.Random(seed)
    name = rng.choice(sorted(SOURCES))
    kernels = load_kernels(name, SOURCES[name]).kernels
    kernel = kernels[rng.choice(sorted(kernels))]
    target = rng.choice(sorted(TARGETS))
    facts = facts_of(kernel, rng.choice((1, 2, 4, 8, 16)))
    statics = settings(kernel, rng)
    try:
        emit(place(program(kernel, target=target, facts=facts, **statics)))
    except ArgusError as error:
        assert shown(error)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "AG0011"),
        ("\0", "AG0001"),
        ("\ufeff\ufeff", "AG0001"),
        ("x = " + "(" * 5000, "AG0001"),
        ("x = " + "-" * 400 + "1", "AG0020"),
        ("x = " + "1" * 5000, "AG0001"),
        ("#" * 1_000_001, "AG0001"),
    ],
    ids=["empty", "nul", "marks", "parentheses", "nested", "digits", "long"],
)
def test_hostile_text(text: str, code: str) -> None:
    assert compiled(text) == code
