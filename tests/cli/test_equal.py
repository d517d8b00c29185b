"""`argus check` of a kernel with a reference."""

import json
from pathlib import Path

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
    text = HALVES.replace("return X / 2", "return np.ldexp(X, -1)")  # not modelled
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
