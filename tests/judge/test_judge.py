"""Verdicts on ordinary candidates, and what becomes of processes that end early."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from argus.diagnostics import ArgusError
from argus.evaluation.judge import Limits, LocalJudge
from argus.evaluation.judge.candidate import check_program, request_of
from argus.evaluation.judge.process import context
from argus.evaluation.judge.subject import Subject, subject_of
from argus.ir.program import Program
from argus.requests import placed_program
from argus.runs.records import Candidate, FileProblem, JudgeVerdict, LibraryProblem
from judge.corpus import FOLDER
from judge.problems import AFFINE, GEMM, LARGE, PROBLEMS, SOFTMAX, TASK

KERNELS = Path(__file__).parents[2] / "src/argus/kernels"
GOOD = Candidate(source=TASK, kernel="affine")
GEMM_SOURCE = (KERNELS / "gemm/kernel.py").read_text()
NORMS_SOURCE = (KERNELS / "norms/kernel.py").read_text()
SLOW = Candidate(
    source=(FOLDER / "grid_large.txt").read_text(encoding="utf-8"), kernel="affine"
)
"""It hangs in the interpreter; terms say at once that they do not know."""


def one(judge: LocalJudge, problem: object, candidate: Candidate) -> JudgeVerdict:
    (verdict,) = judge.evaluate(problem, [candidate])  # type: ignore[arg-type]
    return verdict


def test_a_good_candidate(judge: LocalJudge) -> None:
    (verdict,) = judge.check(AFFINE, [GOOD])
    assert (verdict.status, verdict.stage) == ("correct", "build")
    assert len(verdict.program) == 64
    assert verdict.resources is not None and verdict.resources.threads == 128
    assert {"parse", "verify", "build"} <= set(verdict.seconds)
    verdict = one(judge, AFFINE, GOOD)
    assert (verdict.status, verdict.stage) == ("correct", "compare")
    assert verdict.measured is None
    assert "interpreter" in verdict.summary


def test_verdicts_come_in_order(judge: LocalJudge) -> None:
    wrong = GOOD.model_copy(update={"source": TASK.replace("x * alpha", "x")})
    broken = GOOD.model_copy(update={"source": TASK.replace("M, N =", "M =")})
    made = judge.evaluate(AFFINE, [wrong, GOOD, broken, GOOD, wrong])
    statuses = [v.status for v in made]
    assert statuses == ["refuted", "correct", "rejected", "correct", "refuted"]
    assert made[1].program == made[3].program != made[0].program


def test_static_parameters(judge: LocalJudge) -> None:
    other = GOOD.model_copy(update={"statics": {"BM": 8, "BN": 32}})
    named = GOOD.model_copy(update={"statics": {"ACT": "relu"}})
    own = TASK.replace(
        "@ag.kernel", "@ag.inline\ndef twice(x):\n    return x + x\n\n\n@ag.kernel"
    )
    twice = Candidate(source=own, kernel="affine", statics={"ACT": "twice"})
    first, second, third = judge.evaluate(AFFINE, [other, named, twice])
    assert first.status == "correct", first.summary
    assert second.status == third.status == "refuted"
    assert first.program


def test_library_problems(judge: LocalJudge) -> None:
    small = Candidate(
        source=GEMM_SOURCE,
        kernel="gemm_sm80",
        statics={"BM": 64, "BN": 64, "BK": 32},
    )
    assert one(judge, GEMM, small).status == "correct"
    large = one(judge, LARGE, small)
    assert large.status == "correct", large.summary
    assert "M as it is" not in large.summary and "M=4096" in large.summary
    assert large.limit_microseconds == pytest.approx(2 * 4096**3 / 989.4e6)
    soft = Candidate(source=NORMS_SOURCE, kernel="softmax", statics={"BN": 1024})
    assert one(judge, SOFTMAX, soft).status == "correct"


def _placed(problem: FileProblem, source: str) -> tuple[Program, Subject]:
    subject = subject_of(problem)
    candidate = Candidate(source=source, kernel="affine")
    return placed_program(request_of(candidate, subject)), subject


def test_assumptions_of_the_problem_may_be_stated() -> None:
    store = "    Y[i * BM :"
    mine = TASK.replace(store, f"    ag.assume(M < 1000)\n{store}")
    problem = AFFINE.model_copy(update={"reference": mine})
    check_program(*_placed(problem, mine))
    check_program(*_placed(problem, TASK))
    with pytest.raises(ArgusError, match="AG1011"):
        check_program(*_placed(AFFINE, mine))
    # The same words about another thing.
    other = TASK.replace(store, f"    M = N\n    ag.assume(M < 1000)\n{store}")
    with pytest.raises(ArgusError, match="N < 1000"):
        check_program(*_placed(problem, other))


def test_a_trust_covers_one_statement() -> None:
    store = "    Y[i * BM :"
    mine = TASK.replace(store, f'    ag.trust("seen")\n{store}')
    problem = AFFINE.model_copy(update={"reference": mine})
    check_program(*_placed(problem, mine))
    for other in (
        mine.replace("(x * alpha) + w", "(x * alpha)"),
        TASK.replace("    w = ag", '    ag.trust("seen")\n    w = ag'),
    ):
        with pytest.raises(ArgusError, match="AG1011"):
            check_program(*_placed(problem, other))


def test_findings_name_a_line(judge: LocalJudge) -> None:
    wide = TASK.replace("BM: int = 16", "BM: int = 128").replace("64", "1024")
    verdict = one(judge, AFFINE, Candidate(source=wide, kernel="affine"))
    assert verdict.status == "rejected"
    (finding,) = verdict.findings
    assert finding.code == "AG0502"
    assert finding.line is not None
    assert wide.splitlines()[finding.line - 1].strip() in finding.text


def test_a_refuted_candidate_has_a_counterexample(judge: LocalJudge) -> None:
    tail = TASK.replace("ag.block(ag.cdiv(M, BM)", "ag.block(M // BM")
    (verdict,) = judge.check(AFFINE, [Candidate(source=tail, kernel="affine")])
    assert verdict.status == "refuted"
    assert verdict.findings[0].counterexample is not None


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (LibraryProblem(entry="nothing", sizes={"M": 1}), "AG0909"),
        (LibraryProblem(entry="gemm", sizes={"M": 64}), "AG1018"),
        (LibraryProblem(entry="gemm", sizes={"M": 64, "N": 0, "K": 8}), "AG1018"),
        (AFFINE.model_copy(update={"kernel": "gone"}), "AG1018"),
        (AFFINE.model_copy(update={"dtypes": {"X": "i8"}}), "AG1018"),
        (AFFINE.model_copy(update={"sizes": {"M": 8}}), "AG1018"),
        (
            AFFINE.model_copy(
                update={"reference": TASK.replace("alpha * X + W", "X @ W")}
            ),
            "AG1018",
        ),
        (
            AFFINE.model_copy(
                update={"reference": TASK.replace("alpha * X + W", "undefined")}
            ),
            "AG1018",
        ),
        (
            AFFINE.model_copy(update={"reference": TASK + "\nraise OSError('no')\n"}),
            "AG1018",
        ),
    ],
)
def test_a_problem_that_cannot_be_judged(
    judge: LocalJudge, problem: FileProblem | LibraryProblem, why: str
) -> None:
    verdict = one(judge, problem, GOOD)
    assert verdict.status == "failed", verdict.summary
    assert verdict.findings[0].code == why


def test_the_reference_may_use_torch() -> None:
    text = TASK + "\nimport torch\n"
    with_torch = text.replace("alpha * X + W", "torch.add(W, X, alpha=alpha)")
    problem = AFFINE.model_copy(update={"reference": with_torch})
    with LocalJudge(workers=1, gpus=()) as judge:  # importing torch takes a while
        verdict = one(judge, problem, GOOD)
    assert verdict.status == "correct", verdict.summary


def test_memory_is_limited(judge: LocalJudge) -> None:
    text = "import numpy as np\n" + TASK.replace(
        "alpha * X + W", "alpha * X + W + np.ones(1 << 34)[0]"
    )
    problem = AFFINE.model_copy(update={"reference": text})
    verdict = one(judge, problem, GOOD)
    assert verdict.status == "failed"
    assert "allocate" in verdict.summary


def test_what_hangs_is_killed_and_not_run_again() -> None:
    limits = Limits(simulate=1.5)
    with LocalJudge(workers=1, gpus=(), limits=limits) as judge:
        begin = time.monotonic()
        first = one(judge, AFFINE, SLOW)
        assert first.status == "hung"
        assert first.findings[0].code == "AG1012"
        assert time.monotonic() - begin < 60
        begin = time.monotonic()
        again = one(judge, AFFINE, SLOW)
        assert again.status == "hung"
        assert time.monotonic() - begin < 0.5
        known = judge.hung
    with LocalJudge(workers=1, gpus=(), limits=limits, hung=known) as resumed:
        begin = time.monotonic()
        assert one(resumed, AFFINE, SLOW).status == "hung"
        assert time.monotonic() - begin < 0.5


def _runs(pid: int) -> bool:
    with suppress(ProcessLookupError):
        return os.getpgid(pid) == pid
    return False


def _child(judged: threading.Thread) -> int | None:
    """The process of the candidate that is being judged, once it runs; None: at end.

    Its end is the judge's to see: how a process ended is told once, to one thread
    (`active_children` and `join` ask for it).
    """
    while judged.is_alive():
        for process in set(vars(multiprocessing.process)["_children"]):
            if process.pid is not None and _runs(process.pid):
                return int(process.pid)
        time.sleep(0.05)
    return None


def test_a_killed_process_costs_one_verdict(judge: LocalJudge) -> None:
    found: list[JudgeVerdict] = []
    slow = SLOW.model_copy(update={"source": SLOW.source + "\n# killed\n"})
    judged = threading.Thread(target=lambda: found.append(one(judge, AFFINE, slow)))
    judged.start()
    # One that ends while terms are compared is started again, without comparing them.
    killed = 0
    while (pid := _child(judged)) is not None:
        os.kill(pid, signal.SIGKILL)
        killed += 1
        for _ in range(200):
            if not _runs(pid):
                break
            time.sleep(0.05)
    judged.join(60)
    assert 1 <= killed <= 2
    assert found[0].status == "crashed"
    assert "SIGKILL" in found[0].summary
    assert one(judge, AFFINE, GOOD).status == "correct"


def test_last_words_of_a_process_are_told(judge: LocalJudge) -> None:
    words = "import os\nos.write(1, b'x' * 9000 + b'\\nlast words\\n')\nos._exit(7)\n"
    problem = AFFINE.model_copy(update={"reference": AFFINE.reference + words})
    before = len(os.listdir("/proc/self/fd"))
    found = one(judge, problem, GOOD)
    assert found.status == "crashed", found
    text = "".join(f.text for f in found.findings)
    assert "last words" in text and 3000 < len(text) < 5000
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_killed_fork_server_is_started_again(judge: LocalJudge) -> None:
    from multiprocessing import forkserver

    assert one(judge, AFFINE, GOOD).status == "correct"
    os.kill(forkserver._forkserver._forkserver_pid, signal.SIGKILL)
    assert one(judge, AFFINE, GOOD).status == "correct"


def test_an_interrupt_ends_what_runs(judge: LocalJudge) -> None:
    slow = SLOW.model_copy(update={"source": SLOW.source + "\n# interrupted\n"})
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        judge.evaluate(AFFINE, [slow] * 4)
    assert time.monotonic() - begin < 8
    assert not multiprocessing.active_children()
    assert one(judge, AFFINE, GOOD).status == "correct"


def test_processes_end_with_the_judge(tmp_path: Path) -> None:
    """Of a script that comes through a pipe, and that no process can run again."""
    script = f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parents[1])!r})
        import multiprocessing, threading, time
        from judge.test_judge import SLOW, AFFINE, GOOD, _child
        from argus.evaluation.judge import LocalJudge
        judge = LocalJudge(workers=1, gpus=())
        print(judge.check(AFFINE, [GOOD])[0].status, flush=True)
        run = threading.Thread(target=judge.evaluate, args=(AFFINE, [SLOW]))
        run.start()
        print(_child(run), flush=True)
        time.sleep(60)
    """
    folder = tmp_path / "t"  # short: it is part of a socket's name
    folder.mkdir()
    running = subprocess.Popen(
        [sys.executable, "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    assert running.stdin is not None and running.stdout is not None
    running.stdin.write(textwrap.dedent(script))
    running.stdin.close()
    assert running.stdout.readline() == "correct\n"
    pid = int(running.stdout.readline())
    os.kill(pid, 0)
    running.kill()
    running.wait()
    running.stdout.close()
    for _ in range(100):
        if _ended(pid):
            break
        time.sleep(0.1)
    else:
        os.kill(pid, signal.SIGKILL)
        raise AssertionError("the candidate's process outlives its judge")
    # Nothing of ours is left; the socket of multiprocessing's fork server is, and what
    # `tempfile` tries a folder with where a process ends just then: 8 letters.
    left = [p for p in folder.iterdir() if p.is_dir() or len(p.name) != 8]
    assert [p.name[:5] for p in left] in ([], ["pymp-"])


def _ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[-1][0] == "Z"
    except OSError:
        return True


def test_the_fork_server_has_no_cuda() -> None:
    assert context() is context()
    code = (
        "import argus.evaluation.judge.preload, sys;"
        "assert 'argus.runtime.driver' not in sys.modules or"
        " not sys.modules['argus.runtime.driver'].cuda_driver.cache_info().currsize;"
        "import threading; assert threading.active_count() == 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_problems_are_json() -> None:
    for problem in PROBLEMS.values():
        assert type(problem).model_validate_json(problem.model_dump_json()) == problem
