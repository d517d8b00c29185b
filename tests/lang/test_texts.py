"""Where the text of a decorated function comes from, and when it is not known."""

from __future__ import annotations

import importlib
import itertools
import linecache
import os
import pickle
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from argus.diagnostics import ArgusError

KERNEL = """@ag.kernel
def twice(X: f32["N"], Y: f32["N"]):
    i = ag.block(ag.cdiv(X.shape[0], 128))
    Y[i * 128 :] = ag.load(X[i * 128 :], (128,)) * 2.0
"""
IMPORTS = "import argus as ag\nfrom argus import f32\n"
_numbers = itertools.count()


def result(kernel: Any) -> float:
    """What it makes of 1."""
    x, y = np.ones(3, np.float32), np.zeros(3, np.float32)
    kernel.unchecked(x, y)
    return float(y[0])


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module with the kernel, in a file of its own."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    name = f"texts_{next(_numbers)}"
    (tmp_path / f"{name}.py").write_text(IMPORTS + KERNEL)
    importlib.invalidate_caches()
    return importlib.import_module(name)


def rewrite(module: ModuleType, text: str) -> None:
    """Another text in the module's file, at a later time than any before."""
    assert module.__file__ is not None
    Path(module.__file__).write_text(text)
    later = 2_000_000_000 + next(_numbers)
    os.utime(module.__file__, (later, later))


def cell(text: str, names: dict[str, object], file: str) -> None:
    """Run a cell of a notebook, whose text Python keeps under a name of no file."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)


@pytest.mark.parametrize("file", ["<ipython-input-1-ab>", "/tmp/ipykernel_1/23.py"])
def test_cells_of_a_notebook(file: str) -> None:
    """Imports are in one cell, the kernel and a constant of it in others."""
    names: dict[str, object] = {"__name__": "__main__"}
    cell(IMPORTS, names, f"{file}0")
    cell("FACTOR = 3.0\n", names, f"{file}1")
    cell(KERNEL.replace("2.0", "FACTOR"), names, f"{file}2")
    assert result(names["twice"]) == 3
    cell(KERNEL.replace("2.0", "5.0"), names, f"{file}3")
    assert result(names["twice"]) == 5


@pytest.mark.parametrize("file", ["<string>", "<stdin>", "/nowhere/k.py"])
def test_what_has_no_text(file: str) -> None:
    names: dict[str, Any] = {}
    exec(compile(IMPORTS + KERNEL, file, "exec"), names)
    with pytest.raises(ArgusError) as caught:
        names["twice"](None, None)
    assert caught.value.codes == ("AG0002",)
    said = " ".join(str(caught.value).split())
    assert f"the text of `twice` is not known: there is no file `{file}`" in said
    assert "a cell of a notebook" in said


def test_a_file_that_changed_before_the_first_call(module: ModuleType) -> None:
    """It is not the kernel that was imported, whatever else it may be."""
    rewrite(module, (IMPORTS + KERNEL).replace("2.0", "4.0"))
    with pytest.raises(ArgusError, match=r"`twice` has changed in") as caught:
        result(module.twice)
    assert caught.value.codes == ("AG0002",)
    importlib.reload(module)
    assert result(module.twice) == 4


def test_a_file_that_changed_elsewhere(module: ModuleType) -> None:
    rewrite(module, IMPORTS + KERNEL + "\n\n# More.\nOTHER = 1\n")
    assert result(module.twice) == 2


@pytest.mark.parametrize("text", ["", "def f(:\n", f"\n\n{IMPORTS}{KERNEL}"])
def test_a_file_that_lost_the_kernel(module: ModuleType, text: str) -> None:
    rewrite(module, text)
    with pytest.raises(ArgusError, match="has changed in"):
        result(module.twice)


def test_a_file_that_changed_after_the_first_call(module: ModuleType) -> None:
    assert result(module.twice) == 2
    rewrite(module, (IMPORTS + KERNEL).replace("2.0", "4.0"))
    assert result(module.twice) == 2


def test_a_constant_that_is_bound_anew_is_refused() -> None:
    """As the documentation says: what a kernel means does not change behind it."""
    names: dict[str, Any] = {"FACTOR": 3.0}
    cell(IMPORTS + KERNEL.replace("2.0", "FACTOR"), names, "<cell-once>")
    assert result(names["twice"]) == 3
    names["FACTOR"] = float("3")
    assert result(names["twice"]) == 3
    names["FACTOR"] = 5.0
    with pytest.raises(ArgusError, match=r"`FACTOR` was 3\.0 when .* and is 5\.0"):
        result(names["twice"])
    names["FACTOR"] = 3
    with pytest.raises(ArgusError) as caught:
        result(names["twice"])
    assert caught.value.codes == ("AG0817",)


def test_inline_functions_have_the_constants_of_python(tmp_path: Path) -> None:
    """Those that no text has, and the value that a name has when it is needed."""
    inline = "@ag.inline\ndef more(v):\n    return v * FACTOR\n\n"
    kernel = KERNEL.replace("ag.load(X[i * 128 :], (128,))", "more(ag.load(X, (128,)))")
    kernel = kernel.replace("X,", "X[i * 128 :],", 1).replace("2.0", "FACTOR")
    file = tmp_path / "constants.py"
    file.write_text(f"import math\n{IMPORTS}FACTOR = math.sqrt(16.0)\n{inline}{kernel}")
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    assert result(names["twice"]) == 16
    names = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    names["FACTOR"] = 3.0
    assert result(names["twice"]) == 9


def test_captured_names_and_those_of_inline_functions_are_looked_at_too() -> None:
    names: dict[str, Any] = {"FACTOR": 3.0, "v": 1.0, "X": 7}
    inline = "@ag.inline\ndef more(v):\n    return v * FACTOR\n\n"
    kernel = KERNEL.replace("* 2.0", "* by")
    call = kernel.replace("ag.load(", "more(ag.load(").replace("* by", ") * by")
    lines = "".join(f"    {line}\n" for line in call.splitlines())
    text = f"{IMPORTS}{inline}def made(by):\n{lines}\n    def again(n):\n"
    text += "        nonlocal by\n        by = n\n\n    return twice, again\n"
    cell(text, names, "<cell-captured>")
    twice, again = names["made"](2.0)
    assert result(twice) == 6
    names["v"], names["X"] = 2.0, 8  # names of its own
    assert result(twice) == 6
    again(4.0)
    with pytest.raises(ArgusError, match=r"`by` was 2\.0"):
        result(twice)
    again(2.0)
    assert result(twice) == 6
    names["FACTOR"] = 4.0
    with pytest.raises(ArgusError, match=r"`FACTOR` was 3\.0"):
        result(twice)


def test_none_that_is_captured_hides_a_global() -> None:
    names: dict[str, Any] = {"by": 2.0}
    kernel = KERNEL.replace("* 2.0", "* (3.0 if by is None else by)")
    lines = "".join(f"    {line}\n" for line in kernel.splitlines())
    cell(f"{IMPORTS}def made(by):\n{lines}\n    return twice\n", names, "<cell-none>")
    assert result(names["made"](None)) == 3


def test_inline_functions_that_are_given_are_looked_at_too() -> None:
    names: dict[str, Any] = {"FACTOR": 3.0}
    inline = "@ag.inline\ndef more(v):\n    return v * FACTOR\n\n"
    kernel = KERNEL.replace('f32["N"])', 'f32["N"], *, F: ag.Inline)')
    kernel = kernel.replace(
        "ag.load(X[i * 128 :], (128,)) * 2.0", "F(ag.load(X[i * 128 :], (128,)))"
    )
    cell(IMPORTS + inline + kernel, names, "<cell-given>")
    x, y = np.ones(3, np.float32), np.zeros(3, np.float32)
    names["twice"].unchecked(x, y, F=names["more"])
    assert y[0] == 3
    names["FACTOR"] = 4.0
    with pytest.raises(ArgusError, match=r"`FACTOR` was 3\.0 when `more` was read"):
        names["twice"].unchecked(x, y, F=names["more"])


def test_kernels_are_named_and_pickled_as_functions_are(module: ModuleType) -> None:
    assert module.twice.__name__ == "twice"
    assert module.twice.__module__ == module.__name__
    assert pickle.loads(pickle.dumps(module.twice)) is module.twice


def test_functions_that_are_no_part_of_the_language_say_how(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    text = f"{IMPORTS}def more(v):\n    return v * 2.0\n\n{KERNEL}"
    call = "more(ag.load(X[i * 128 :], (128,)))"
    text = text.replace("ag.load(X[i * 128 :], (128,)) * 2.0", call)
    cell(text, names, "<cell-more>")
    with pytest.raises(ArgusError, match=r"mark `more` with `@ag\.inline`"):
        result(names["twice"])
