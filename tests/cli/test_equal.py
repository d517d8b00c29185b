"""`argus check` of a kernel with a reference."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from argus.runtime.keys import package_stamp

HALVES = '''"""Halves of a row."""

import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["M N"], Y: f32["M N"], *, BN: int = 64):
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    Y[m, j * BN :] = ag.load(X[m, j * BN :], (BN,)) * 0.5


@ag.reference
def ref(X):
    return X / 2
'''


def test_a_kernel_that_is_not_its_reference_is_refuted(argus, tmp_path: Path):
    file = tmp_path / "halves.py"
    file.write_text(HALVES.replace("0.5", "0.25"))
    report = tmp_path / "found.sarif"
    ran = argus("check", str(file), "--sarif", str(report))
    assert ran.code == 1
    assert "AG0322" in ran.out
    assert "and `ref` says" in ran.out
    assert "`Y` is written here" in ran.out
    [result] = json.loads(report.read_text())["runs"][0]["results"]
    assert result["ruleId"] == "AG0322"
    data = argus("check", str(file), "--json").json
    [proof] = [kernel["proof"] for kernel in data["kernels"]]
    assert proof["verdict"] == "refuted"
    [refuted] = [o for o in proof["obligations"] if o["verdict"] == "refuted"]
    assert refuted["counterexample"]["sizes"].keys() == {"M", "N"}
    assert refuted["counterexample"]["replayed"] is True


def test_what_was_only_tried_is_said_so(argus, tmp_path: Path):
    file = tmp_path / "halves.py"
    unmodelled = "return np.nextafter(X / 2, X / 2)"
    text = HALVES.replace("return X / 2", unmodelled)
    file.write_text(text)
    ran = argus("check", str(file), width=200)
    assert ran.code == 0
    assert "proved  k" in ran.out
    assert "not shown equal to `ref`" in ran.out
    data = argus("check", str(file), "--json").json
    equality = data["kernels"][0]["proof"]["equality"]
    assert equality["shown"] is False
    assert equality["tried"] > 0


def test_a_kernel_without_a_reference_has_no_equality(argus, tmp_path: Path):
    file = tmp_path / "halves.py"
    file.write_text(HALVES[: HALVES.index("@ag.reference")])
    data = argus("check", str(file), "--json").json
    assert data["kernels"][0]["proof"]["equality"] is None


def test_a_kernel_that_is_its_reference_is_equal(argus, tmp_path: Path):
    file = tmp_path / "halves.py"
    file.write_text(HALVES)
    ran = argus("check", str(file), width=200)
    assert ran.code == 0
    assert "equal   k" in ran.out
    assert "equal to `ref` for all sizes, in real arithmetic" in ran.out
    proof = argus("check", str(file), "--json").json["kernels"][0]["proof"]
    assert proof["verdict"] == "equal"
    assert proof["equality"]["shown"] is True
    assert "casts between floats are the identity" in proof["equality"]["axioms"]
    ran = argus("equal", str(file), width=200)
    assert ran.code == 0
    assert "k and `ref`: every element, for all sizes" in ran.out


def test_two_kernels_are_compared(argus, tmp_path: Path):
    file = tmp_path / "two.py"
    other = HALVES[HALVES.index("@ag.kernel") : HALVES.index("@ag.reference")]
    other = other.replace("def k", "def other").replace("* 0.5", "/ 2.0")
    file.write_text(HALVES.replace("@ag.reference", other + "@ag.reference"))
    ran = argus("equal", f"{file}:k", f"{file}:other", width=200)
    assert ran.code == 0, ran.out
    assert "equal   k and `other`" in ran.out
    file.write_text(file.read_text().replace("/ 2.0", "/ 4.0"))
    ran = argus("equal", str(file), str(file), "--kernel", "k", "--kernel", "other")
    assert ran.code == 1
    assert "AG0322" in ran.out
    assert "and `other` says" in ran.out


def test_why_equality_is_open_is_said(argus, tmp_path: Path):
    text = """import argus as ag
from argus import f32


@ag.kernel
def k(X: f32["M N"], Y: f32["M"], *, BN: int = 64):
    M, N = X.shape
    i = ag.block(ag.cdiv(M, 4))
    acc = ag.zeros((4,), f32, dims="M")
    for n in ag.range(0, N, BN):
        acc = acc + ag.sum(ag.load(X[i * 4 :, n:], (4, BN)), "N")
    Y[i * 4 :] = acc / N


@ag.reference
def ref(X):
    return X.mean(1)
"""
    file = tmp_path / "mean.py"
    file.write_text(text)
    data = argus("equal", str(file), "--json").json["kernels"][0]
    assert data["verdict"] == "refuted"  # a row of nothing has no mean
    text = text.replace("    i =", '    ag.require(N > 0, "a mean")\n    i =')
    file.write_text(text)
    assert argus("equal", str(file)).code == 0
    file.write_text(text.replace("X.mean(1)", "np.sort(X, axis=1).mean(1)"))
    data = argus("equal", str(file), "--json").json["kernels"][0]
    assert data["verdict"] == "unknown"
    assert "np.sort" in data["reason"]


def test_a_kernel_without_a_reference_needs_another_kernel(argus, tmp_path: Path):
    file = tmp_path / "halves.py"
    file.write_text(HALVES[: HALVES.index("@ag.reference")])
    ran = argus("equal", str(file))
    assert ran.code == 2
    assert "has no reference" in ran.err


_READ = """
import sys

from argus.cli.proving import proof_of
from argus.cli.subjects import SubjectOptions, subjects
from argus.runtime.keys import package_stamp

[subject] = subjects(sys.argv[1], SubjectOptions())
heavy = {"islpy", "z3", "argus.model", "argus.verify.tags"} & sys.modules.keys()
print(proof_of(subject).report.verdict, bool(heavy), package_stamp())
"""


def test_a_verdict_on_disk_is_that_of_this_reference(argus, tmp_path: Path):
    file = tmp_path / "halves.py"
    file.write_text(HALVES)
    assert argus("equal", str(file)).code == 0
    # Read by another process, which imports nothing that decides. (Where the package
    # was changed since this one began, nothing is kept for it: its stamp is another.)
    read = [sys.executable, "-c", _READ, str(file)]
    done = subprocess.run(read, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["equal", "False", package_stamp()]
    file.write_text(HALVES.replace("X / 2", "X / 3"))
    assert argus("equal", str(file)).code == 1
    # So is what the reference calls.
    called = HALVES.replace("X / 2", "half(X)") + "\n\n@ag.reference\ndef half(x):\n"
    file.write_text(called.replace("def ref", "def k_reference") + "    return x / 2\n")
    assert argus("equal", str(file)).code == 0
    file.write_text(called.replace("def ref", "def k_reference") + "    return x / 4\n")
    assert argus("equal", str(file)).code == 1


def test_a_library_kernel_is_compared_in_all_cases_and_forms(argus):
    ran = argus("equal", "rmsnorm", width=200)
    assert ran.code == 0
    assert "equal   rmsnorm (5x256) and `rmsnorm.reference`" in ran.out
    assert "equal   rmsnorm_passes (5x256) and `rmsnorm.reference`" in ran.out
    data = argus("check", "rmsnorm", "--case", "0", "--json").json
    [kernel] = data["kernels"]
    assert kernel["proof"]["verdict"] == "equal"


FORMS = """
import argus as ag
from argus import f16, f32


@ag.kernel
def k(X: ag.half["M N"], Y: f32["M N"], W: f32["N"] | None = None, *, BN: int = 64):
    M, N = X.shape
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,)).to(f32)
    if W is not None:
        x = x * ag.load(W[j * BN :], (BN,)){given}
    if X.dtype == f16:
        x = x{half}
    Y[m, j * BN :] = x
"""


@pytest.mark.parametrize("change", [{}, {"given": " + 1.0"}, {"half": " * 2.0"}])
def test_kernels_are_compared_in_every_form(
    argus, tmp_path: Path, change: dict[str, str]
):
    """With optional tensors and without, and of each element type."""
    right = {"given": "", "half": ""}
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    first.write_text(FORMS.format(**right | change))
    second.write_text(FORMS.format(**right))
    data = argus("equal", str(first), str(second), "--json").json["kernels"][0]
    assert data["verdict"] == ("refuted" if change else "equal")
