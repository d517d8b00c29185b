"""What can be shown of a candidate; correctness alone; what hung elsewhere."""

import pytest

from argus.agent.tasks import library_task
from argus.evaluation.judge import LocalJudge
from argus.evaluation.judge.inspecting import kind_of

TASK = library_task("softmax", {"M": 64, "N": 256})
PROBLEM, START = TASK.problem, TASK.start


@pytest.fixture(scope="module")
def judge():
    with LocalJudge(workers=1, gpus=()) as made:
        yield made


@pytest.mark.compiler
@pytest.mark.parametrize(
    ("view", "words"),
    [
        ("tile", "program softmax_passes"),
        ("placed", "program softmax_passes"),
        ("cuda", "__global__"),
    ],
)
def test_stages_are_texts(judge, view: str, words: str):
    assert words in judge.inspect(PROBLEM, START, view)["text"]


@pytest.mark.compiler
def test_a_proof_lists_its_obligations(judge):
    report = judge.inspect(PROBLEM, START, "proof")["proof"]
    assert report["verdict"] == "proved"
    assert len(report["obligations"]) > 5
    wrong = START.model_copy(
        update={"source": START.source.replace("Y[m:, n:] =", "Y[0:, n:] =")}
    )
    report = judge.inspect(PROBLEM, wrong, "proof")["proof"]
    bad = [o for o in report["obligations"] if o["verdict"] == "refuted"]
    assert {o["rule"] for o in bad} == {"AG0305", "AG0307"}
    assert all(o["counterexample"] for o in bad)


@pytest.mark.compiler
def test_a_profile_counts(judge):
    told = judge.inspect(PROBLEM, START, "profile")
    assert told["predicted"]["microseconds"] > 0
    assert told["occupancy"]["blocks"] >= 1
    assert told["resources"]["threads"] == 128
    assert told["sectors"]["line"] > 0
    if not told["not_counted"]:  # nvdisasm is there
        assert told["instructions"]["special functions"] > 0
        assert told["instructions"]["global memory"] > 0


def test_why_there_is_no_view(judge):
    def found(source: str) -> str:
        made = START.model_copy(update={"source": source})
        (one,) = judge.inspect(PROBLEM, made, "profile")["findings"]
        return one["code"]

    assert found("import os\n") == "AG0022"
    assert found("x" * 1_000_001) == "AG0001"
    assert found("\ud800") == "AG0001"
    # Too deep for the compiler: it gives up in its own process.
    assert found("(" * 20_000) in ("AG0001", "AG1013")


@pytest.mark.compiler
def test_correctness_alone(judge):
    wrong = START.model_copy(
        update={"source": START.source.replace("Y[m:, n:] =", "Y[0:, n:] =")}
    )
    right, refuted = judge.simulate(PROBLEM, [START, wrong])
    assert (right.status, right.stage) == ("correct", "compare")
    assert right.measured is None
    assert refuted.status == "refuted"


def test_programs_that_hung_elsewhere_are_refused():
    with LocalJudge(workers=1, gpus=()) as judge:
        judge.refuse(["abc", ""])
        assert judge.hung == {"abc"}


@pytest.mark.parametrize(
    ("opcode", "kind"),
    [
        ("HGMMA", "tensor cores"),
        ("HMMA", "tensor cores"),
        ("QGMMA", "tensor cores"),
        ("LDSM", "shared memory"),
        ("STSM", "shared memory"),
        ("LDS", "shared memory"),
        ("LDG", "global memory"),
        ("STG", "global memory"),
        ("LDL", "local memory"),
        ("UTMALDG", "bulk copies"),
        ("LDGSTS", "bulk copies"),
        ("MUFU", "special functions"),
        ("FFMA", "floating point"),
        ("FMNMX", "floating point"),
        ("HFMA2", "floating point"),
        ("F2FP", "conversion"),
        ("SHFL", "between threads"),
        ("SYNCS", "waiting"),
        ("BAR", "waiting"),
        ("WARPGROUP", "waiting"),
        ("BRA", "control"),
        ("IMAD", "integers and addresses"),
        ("UIADD3", "integers and addresses"),
    ],
)
def test_kinds_of_instructions(opcode: str, kind: str):
    assert kind_of(opcode) == kind
