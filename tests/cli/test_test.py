"""`argus test`: the kernels of a file against their references."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("no_gpu")

ONCE = ("--dtype", "X=f32", "--dtype", "Y=f32", "--seeds", "1")
"""One type, and one draw of inputs."""
SMALL = ("--size", "N=130")
"""Where what is not in long rows alone is the matter."""

SCALED = """import argus as ag
from argus import f32


@ag.kernel
def k(X: ag.float["M N"], Y: ag.float["M N"], *, BN: int = 64):
    M, N = X.shape
    ag.launch(warps=1)
    m, j = ag.block(M, ag.cdiv(N, BN))
    x = ag.load(X[m, j * BN :], (BN,)).to(f32)
    if N > 600:
        x = x * 1.0
    Y[m, j * BN :] = (x * 0.5).to(Y.dtype)


@ag.reference
def k_reference(X):
    return X / 2
"""


def _written(folder: Path, *changes: tuple[str, str]) -> str:
    text = SCALED
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = folder / "scaled.py"
    file.write_text(text)
    return str(file)


def test_a_right_kernel_over_sizes_types_and_seeds(argus, tmp_path: Path):
    ran = argus("test", _written(tmp_path), "--seeds", "3", "--json")
    assert ran.code == 0
    [kernel] = ran.json["kernels"]
    assert kernel["reference"] == "k_reference"
    assert kernel["seeds"] == [0, 1, 2]
    assert {row["verdict"] for row in kernel["rows"]} == {"right"}
    types = {tuple(row["types"].values()) for row in kernel["rows"]}
    assert types == {("bf16", "bf16"), ("f16", "f16"), ("f32", "f32")}
    extents = {row["sizes"]["N"] for row in kernel["rows"]}
    assert any(n % 64 == 0 for n in extents)
    assert any(n % 64 != 0 for n in extents)
    assert any(n > 600 for n in extents)  # a condition of the kernel


def test_a_mistake_that_only_long_rows_have_is_found(argus, tmp_path: Path):
    file = _written(tmp_path, ("x * 1.0", "x * 2.0"))
    ran = argus("test", file, *ONCE, width=200)
    assert ran.code == 1
    assert "AG0815" in ran.out
    wrong = [x for x in ran.out.splitlines() if x.startswith("  wrong")]
    assert wrong
    assert all(int(x.split("N=")[1].split()[0]) > 600 for x in wrong)
    assert "in exact arithmetic" in ran.out


def test_an_error_of_the_size_of_a_rounding_is_told_from_a_mistake(
    argus, tmp_path: Path
):
    for factor, code in (("0.50000003", 0), ("0.50005", 1)):
        file = _written(tmp_path, ("x * 0.5", f"x * {factor}"))
        assert argus("test", file, *ONCE, *SMALL).code == code
    # An error of a tenth of a per cent is within a rounding to bf16.
    file = _written(tmp_path, ("x * 0.5", "x * 0.50005"))
    types = [word.replace("f32", "bf16") for word in ONCE]
    assert argus("test", file, *types, *SMALL).code == 0


def test_what_is_not_written_is_wrong(argus, tmp_path: Path):
    file = _written(tmp_path, ("ag.cdiv(N, BN)", "ag.cdiv(N - 1, BN)"))
    ran = argus("test", file, *ONCE, width=200)
    assert ran.code == 1
    assert "not written, or NaN" in ran.out


def test_sizes_that_are_given_stay(argus, tmp_path: Path):
    ran = argus("test", _written(tmp_path), *ONCE, "--size", "N=100", "--json")
    [kernel] = ran.json["kernels"]
    assert {row["sizes"]["N"] for row in kernel["rows"]} == {100}
    assert len({row["sizes"]["M"] for row in kernel["rows"]}) > 1


def test_sizes_that_the_kernel_does_not_admit(argus, tmp_path: Path):
    needs = (
        "    ag.launch",
        '    ag.require(N % 4 == 0, "whole vectors")\n    ag.launch',
    )
    file = _written(tmp_path, needs)
    ran = argus("test", file, "--size", "N=7")
    assert ran.code == 2
    assert "error[AG0808]: `k`: ((N % 4) == 0) does not hold: N = 7" in ran.err
    assert "required because whole vectors" in ran.err
    [kernel] = argus("test", file, *ONCE, "--json").json["kernels"]
    assert kernel["rows"]
    assert all(row["sizes"]["N"] % 4 == 0 for row in kernel["rows"])


def test_without_a_reference_it_says_what_to_write(argus):
    ran = argus("test", "scale.py", width=200)
    assert ran.code == 2
    assert "AG1018" in ran.err
    assert "`@ag.reference` above `def scale_reference(...)`" in ran.err


def test_more_than_the_memory_is_refused(argus, tmp_path: Path):
    file = _written(tmp_path)
    ran = argus("test", file, "--size", "M=1000000", "--size", "N=1000000", width=200)
    assert ran.code == 2
    assert "error[AG0908]: at M=1000000, N=1000000" in ran.err
    assert "--size DIM=N" in ran.err


def test_a_reference_that_fails_compares_nothing(argus, tmp_path: Path):
    file = _written(tmp_path, ("return X / 2", "raise SystemExit(0)"))
    ran = argus("test", file, *ONCE, width=200)
    assert ran.code == 1
    assert "k_reference failed: SystemExit: 0, at line" in ran.out
    assert "nothing was compared" in ran.out


def test_tables_of_indices_stay_inside(argus):
    ran = argus("test", str(Path(__file__).parents[2] / "examples/embedding.py"))
    assert ran.code == 0
    assert "unclear" not in ran.out
    assert "AG0106" in ran.out  # types that do not go together are told


def test_beside_sizes_that_are_refused_wider_ones_are_tried(argus):
    root = Path(__file__).parents[2]
    file = str(root / "docs/tutorial/step4_roles.py")
    ran = argus(
        "test", file, "--size", "M=65", "--size", "N=80", "--seeds", "1", "--json"
    )
    assert ran.code == 0
    [kernel] = ran.json["kernels"]
    refused = [r for r in kernel["rows"] if r["verdict"] == "refused"]
    right = [r for r in kernel["rows"] if r["verdict"] == "right"]
    assert refused
    assert right
    assert all("AG0611" in r["why"][0] for r in refused)
    assert {(r["sizes"]["M"], r["sizes"]["N"]) for r in right} == {(65, 80)}


def test_a_kernel_without_a_reference_does_not_pass_beside_one_that_has(
    argus, tmp_path: Path
):
    file = tmp_path / "two.py"
    other = SCALED.split("@ag.reference")[0].split("from argus import f32")[1]
    file.write_text(SCALED + other.replace("def k(", "def other("))
    ran = argus("test", str(file), *ONCE, *SMALL, width=200)
    assert ran.code == 2
    assert "k and `k_reference`" in ran.out
    assert "`other` has no reference" in ran.err
    assert argus("test", str(file), *ONCE, *SMALL, "--kernel", "k").code == 0
