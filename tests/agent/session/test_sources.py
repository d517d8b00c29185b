"""Files become candidates without being executed, and designs where they are some."""

import os
from pathlib import Path

import pytest

from argus.agent.session.sources import candidate_of
from argus.agent.spaces import SPACES
from argus.agent.tasks import file_task, library_task
from argus.agent.writing import as_file
from argus.diagnostics import ArgusError
from argus.files.reading import LONGEST, Reader
from argus.kernels.library import LIBRARY
from argus.runs.records import Task

CASES = {
    "gemm": {"relu": True},
    "gemm_sm80": {},
    "softmax": {},
    "rmsnorm": {},
    "attention": {"causal": True},
    "grouped": {},
}


def task_of(entry: str) -> Task:
    return library_task(entry, LIBRARY[entry].large[0].sizes, CASES[entry])


@pytest.mark.parametrize("entry", CASES)
def test_every_form_of_a_family_is_recognised(entry: str):
    """What `next` gives as a draft is a point of the space when it comes back."""
    task = task_of(entry)
    family = SPACES[task.family]
    seen = 0
    for form in family.forms:
        design = family.entered(form, task.problem)
        if family.invalid(design, task.problem) is not None:
            continue
        made = family.candidate(design, task.problem)
        text = as_file(made, "a title")
        found = candidate_of(text, task, family, task.start, wanted=made.kernel)
        assert found.design == design
        assert found.kernel == made.kernel
        seen += 1
    assert seen


def test_a_knob_that_was_edited_is_the_designs():
    task = task_of("softmax")
    family = SPACES["softmax"]
    text = as_file(task.start, "x")
    edited = text.replace("FOLD: bool = False", "FOLD: bool = True  # fast")
    assert edited != text
    found = candidate_of(edited, task, family, task.start)
    assert found.design == {**task.start.design, "FOLD": True}
    beside = candidate_of(text, task, family, task.start, statics={"FOLD": True})
    assert beside.design == found.design


def test_another_program_is_no_design():
    task = task_of("softmax")
    family = SPACES["softmax"]
    text = as_file(task.start, "x")
    for old, new in (
        ("fill=-ag.inf", "fill=-1e30"),
        ("WARPS: int = 4", "WARPS: int = 4 * 2"),
        ("WARPS: int = 4", "WARPS: float = 4.0"),
        ("@ag.kernel", "X = 1\n\n\n@ag.kernel"),
    ):
        assert old in text
        found = candidate_of(text.replace(old, new), task, family, task.start)
        assert found.design == {}, new


def test_what_a_file_cannot_carry_goes_on():
    task = task_of("gemm")
    family = SPACES["gemm"]
    text = as_file(task.start, "x")
    assert candidate_of(text, task, family, task.start).statics == {
        "ACTIVATION": "relu"
    }
    without = text.replace("    ACTIVATION: ag.Inline = plain,\n", "")
    assert candidate_of(without, task, family, task.start).statics == {}


def test_which_kernel_is_meant():
    task = task_of("gemm")
    family = SPACES["gemm"]
    made = family.candidate(family.library(task.problem), task.problem)
    text = as_file(made, "x")
    assert candidate_of(text, task, family, made).kernel == made.kernel
    with pytest.raises(ArgusError) as raised:
        candidate_of(text, task, family, task.start)
    assert raised.value.diagnostics[0].code == "AG0011"
    named = candidate_of(text, task, family, task.start, kernel="gemm_sm80")
    assert named.kernel == "gemm_sm80"


def test_a_file_of_the_user_has_a_design_too(tmp_path: Path):
    source = Path(__file__).parent / "kernels" / "scale.py"
    task = file_task(source, {"M": 64, "N": 128})
    family = SPACES["statics"]
    text = source.read_text().replace("BN: int = 128", "BN: int = 64")
    found = candidate_of(text, task, family, task.start)
    assert found.design == {"form": "scale", "BM": 1, "BN": 64}


HOSTILE = [
    "import os\nos.system('touch {sentinel}')\n",
    "__import__('os').system('touch {sentinel}')\n",
    "@ag.kernel\ndef f(x=open('{sentinel}', 'w')): pass\n",
    "(" * 5000,
    "x = " + "-" * 50_000 + "1",
    "f(" * 3000 + ")" * 3000,
    "def f(:\n",
    "\x00",
    "\ud800",
    "",
    "# -*- coding: rot13 -*-\nimport bf\n",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_is_executed(text: str, tmp_path: Path):
    task = task_of("softmax")
    sentinel = tmp_path / "sentinel"
    source = text.replace("{sentinel}", str(sentinel))
    found = candidate_of(source, task, SPACES["softmax"], task.start)
    assert found.source == source
    assert found.design == {}
    assert not sentinel.exists()


def test_files_that_are_none(tmp_path: Path):
    pipe = tmp_path / "pipe.py"
    os.mkfifo(pipe)
    binary = tmp_path / "binary.py"
    binary.write_bytes(b"\xff\xfe\x00")
    long = tmp_path / "long.py"
    long.write_bytes(b"#" * (LONGEST + 1))
    for path, code in (
        (tmp_path / "none.py", "AG0901"),
        (tmp_path, "AG0901"),
        (pipe, "AG0901"),
        (Path("/dev/zero"), "AG0901"),
        (binary, "AG0902"),
        (long, "AG0902"),
        (Path("a\x00b"), "AG0902"),
    ):
        with pytest.raises(ArgusError) as raised:
            Reader().read(str(path))
        assert raised.value.diagnostics[0].code == code, path
