"""No file asks a target for its name, or writes down how many threads a warp has.

Adding a target is then a matter of its record (`argus.targets`), of the records of its
instructions and of what its toolchain is; whatever computes with warps asks.
"""

import ast
from pathlib import Path

import argus
from argus.isa import wgmma
from argus.isa.registers import WARPGROUP
from argus.isa.registry import has_family
from argus.layout import WARP_LANES
from argus.targets import TARGETS

SOURCE = Path(argus.__file__).parent
PARTS = (
    "ir", "isa", "lang", "lower", "verify", "interpret", "codegen", "model", "runtime",
    "evaluation", "calls.py", "compiler.py", "cli", "report",
)  # fmt: skip
ALLOWED = {
    ("evaluation/judge/inputs.py", "1 / 32"),
    ("kernels/attention/space.py", "32 * stages"),
    ("lower/infer.py", "tile.layout.num_regs * tile.dtype.bits // 32"),
}
"""Other meanings of 32: a scale of inputs, bytes of barriers, bits of a register."""
OPERATORS = (ast.Mult, ast.FloorDiv, ast.Mod, ast.Div)


def is_literal(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value in (32, 32.0)


def is_name_of_target(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value in TARGETS


def literals(tree: ast.AST) -> list[ast.expr]:
    """Arithmetic with a literal 32, divisions by it, and comparisons with a target."""
    found: list[ast.expr] = []
    for node in ast.walk(tree):
        match node:
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, OPERATORS):
                wrong = is_literal(left) or is_literal(right)
            case ast.Call(func=ast.Name(id="divmod"), args=args):
                wrong = any(map(is_literal, args))
            case ast.Compare(left=left, comparators=others):
                sides = [left, *others]
                wrong = any(map(is_name_of_target, sides))
                wrong |= any(
                    is_name_of_target(x)
                    for side in sides
                    if isinstance(side, ast.Tuple | ast.List | ast.Set)
                    for x in side.elts
                )
            case _:
                wrong = False
        if wrong:
            assert isinstance(node, ast.expr)
            found.append(node)
    return found


def test_the_search_finds_what_it_is_for() -> None:
    for text in (
        "warps * 32", "32 * warps", "threads // 32", "thread % 32", "weight * 32.0",
        "divmod(thread, 32)", 'target == "sm_90a"', '"sm_80" != name',
        'name in ("sm_80", "x")',
    ):  # fmt: skip
        assert literals(ast.parse(text)), text
    for text in ("2**32", "x < 32", "range(32)", 'record("sm_90a")', "swizzle == 128"):
        assert not literals(ast.parse(text)), text


def test_warps_and_targets_are_asked() -> None:
    found: set[tuple[str, str]] = set()
    spaces = (SOURCE / "kernels").rglob("space.py")
    for place in (*(SOURCE / part for part in PARTS), *spaces):
        for path in place.rglob("*.py") if place.is_dir() else [place]:
            name = path.relative_to(SOURCE).as_posix()
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found |= {(name, ast.unparse(node)) for node in literals(tree)}
    assert found == ALLOWED


def test_a_target_with_instructions_of_ptx_has_the_warps_of_ptx() -> None:
    """Fragments are laws of instructions, and sizes those of a chip: they agree."""
    assert wgmma.THREADS == WARPGROUP * WARP_LANES
    for name, target in TARGETS.items():
        families = ("mma", "ldmatrix", "wgmma")
        if any(has_family(family, name) for family in families):
            assert target.warp_threads == WARP_LANES, name


def test_only_isa_knows_families_of_register_products() -> None:
    """Whoever reads a plan asks the registry for the record by its name."""
    families = {"argus.isa.mma"}
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "argus.isa" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom)
        and families
        & {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    }
    assert found == {"isa/registry.py"}
