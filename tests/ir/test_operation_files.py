"""How many files know an operation by its class: the count may fall, and not rise.

What an operation has in common with others is a base class or a fact of its record
(`argus.ir.ops`), and readers ask that. A file that names one more class is a file that
the next operation of this kind has to change.
"""

import ast
import importlib.util
from functools import cache
from pathlib import Path

import pytest

import argus
from argus.ir import ops as o

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location(
    "counts", ROOT / "tools/operation_files.py"
)
assert SPEC is not None
assert SPEC.loader is not None
TOOL = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(TOOL)


@cache
def found() -> dict[str, set[str]]:
    """Files by operation; counted where it is asked for, which takes two seconds."""
    return TOOL.counted(Path(argus.__file__).parent)


MOST = {
    "Assume": 16,
    "Atomic": 16,
    "BarrierArrive": 22,
    "BarrierExpect": 21,
    "BarrierWait": 26,
    "Broadcast": 7,
    "Cast": 23,
    "Check": 10,
    "ClusterSync": 24,
    "Convert": 9,
    "CopyAsync": 57,
    "CopyOut": 46,
    "CopyOutCommit": 11,
    "CopyOutWait": 16,
    "CpAsyncArrive": 18,
    "CpAsyncCommit": 11,
    "CpAsyncWait": 15,
    "Dot": 91,
    "Elementwise": 44,
    "Expect": 12,
    "Extract": 26,
    "Fence": 20,
    "For": 86,
    "Full": 22,
    "If": 67,
    "Index": 16,
    "Let": 43,
    "LoadGlobal": 49,
    "LoadScalar": 36,
    "LoadShared": 39,
    "Print": 12,
    "Reduce": 25,
    "Reinterpret": 19,
    "Reshape": 11,
    "RingAcquire": 12,
    "RingPublish": 14,
    "RingRelease": 12,
    "RingWait": 15,
    "Roles": 70,
    "Scan": 17,
    "ScanTotal": 17,
    "SetMaxRegisters": 22,
    "Sort": 19,
    "StoreGlobal": 50,
    "StoreShared": 41,
    "Sync": 31,
    "Tag": 10,
    "Transpose": 8,
    "Trust": 12,
    "WgmmaCommit": 9,
    "WgmmaWait": 14,
}
"""Files of src for each operation, as `tools/operation_files.py` counts them."""
NEW = 6
"""For an operation that is added."""


@pytest.mark.parametrize("name", sorted(cls.__name__ for cls in o.OPS))
def test_no_more_files_know_an_operation(name: str) -> None:
    files = found()[name]
    assert len(files) <= MOST.get(name, NEW), sorted(files)


def test_the_table_is_of_operations() -> None:
    assert set(MOST) <= {cls.__name__ for cls in o.OPS}


@pytest.mark.parametrize("cls", [x for x in o.OPS if issubclass(x, o.Moving)])
def test_proofs_execution_and_printing_know_moves_by_their_facts(
    cls: type[o.Moving],
) -> None:
    """But for two, of whose coordinates the proof of names says more."""
    readers = ("codegen/", "interpret/", "verify/denotation/", "model/trace")
    named = {x for x in found()[cls.__name__] if x.startswith(readers)}
    assert not named


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from argus.ir import ops as o\nx = o.For", {"For"}),
        ("from argus.ir.ops import If as Branch\ny = Branch", {"If"}),
        ("class Let(Binding): ...", {"Let"}),
        ("class Steps:\n pass\nx = s.For, Name.Let", set()),
    ],
)
def test_what_names_an_operation(text: str, names: set[str]) -> None:
    assert set(TOOL.named(ast.parse(text))) == names
