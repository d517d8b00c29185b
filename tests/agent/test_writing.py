from argus.agent.spaces import space_for
from argus.agent.writing import as_file
from argus.lang.kernel import literal, load_kernels
from argus.runs.records import Candidate, LibraryProblem

SOURCE = """import argus as ag


@ag.kernel
def other(X: ag.float["N"], *, BN: int = 7):
    X[0:] = ag.load(X[0:], (BN,))


@ag.kernel
def double(X: ag.float["N"], Y: ag.float["N"], *, BN: int = 64, FAST: bool = False):
    b = ag.block(ag.cdiv(X.shape[0], BN))
    Y[b * BN :] = ag.load(X[b * BN :], (BN,)) * 2
"""


def test_parameters_become_defaults_of_that_kernel_only():
    candidate = Candidate(
        source=SOURCE, kernel="double", statics={"BN": 128, "FAST": True}
    )
    text = as_file(candidate, "a title")
    assert text.startswith("# a title\n")
    assert "BN: int = 128, FAST: bool = True" in text
    assert "BN: int = 7" in text


def test_what_cannot_be_a_default_is_named():
    candidate = Candidate(
        source=SOURCE, kernel="double", statics={"BN": 32, "ACTIVATION": "relu"}
    )
    assert "# To be passed as well: ACTIVATION=relu." in as_file(candidate, "t")


def test_the_file_is_a_kernel_file_with_the_design(tmp_path):
    problem = LibraryProblem(entry="gemm", sizes={"M": 4096, "N": 4096, "K": 4096})
    family = space_for(problem)
    design = family.start(problem)
    path = tmp_path / "best.py"
    path.write_text(as_file(family.candidate({**design, "BM": 32}, problem), "gemm"))
    kernel = load_kernels(str(path)).kernels["gemm_naive"]
    defaults = {s.name: s.default for s in kernel.signature.statics}
    assert literal(defaults["BM"]) == 32
