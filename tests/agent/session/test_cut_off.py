"""A process that is killed loses what it was doing, and nothing else."""

import random
import time
from pathlib import Path

import pytest
from stand_ins import begun, desk_at, submitting

from argus.agent import session
from argus.agent.session import Desk
from argus.diagnostics import ArgusError
from argus.runs.records import Event, Learned, Proposed
from argus.runs.store import Run
from forked import Forked


class Killed(BaseException):
    """Stands for the end of the process, which nothing catches."""


def killed_after(monkeypatch: pytest.MonkeyPatch, events: int, call) -> None:
    """Call, and let the process die before it writes one event more."""
    written, left = Run.append, [events]

    def append(self: Run, event: Event) -> None:
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        written(self, event)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "append", append)
        with pytest.raises(Killed):
            call()


def draft(desk: Desk) -> str:
    found = session.next_(desk).draft
    assert found is not None
    return found.source


@pytest.mark.parametrize("events", [0, 1])
def test_a_submission_cut_off_before_its_verdict_is_made_again(
    desk: Desk, monkeypatch, events: int
):
    begun(desk)
    source = draft(desk)
    killed_after(monkeypatch, events, lambda: session.submit(desk, source))
    found = session.status(desk)
    assert (found.open_trial, len(found.trials)) == (1, 1)
    asked = session.next_(desk)
    assert asked.trial == 1
    words = "cut off before its verdict" if events else "still open"
    assert words in asked.notes[0]
    other = source + "# another one\n# faster\n"
    assert session.submit(desk, other).trial == 1
    best = session.status(desk).best_source
    assert best is not None and "# another one" in best.source


def test_a_submission_cut_off_before_its_verdict_can_be_skipped(
    desk: Desk, monkeypatch
):
    begun(desk)
    source = draft(desk)
    killed_after(monkeypatch, 1, lambda: session.submit(desk, source))
    asked = session.next_(desk, skip="another idea")
    assert asked.trial == 2
    row = session.status(desk).trials[1]
    assert (row.status, row.note) == (None, "skipped: another idea")


def test_a_verdict_is_kept(desk: Desk, monkeypatch):
    """Cut off between the verdict and learning: the next operation completes it."""
    run = begun(desk)
    source = draft(desk)
    killed_after(monkeypatch, 2, lambda: session.submit(desk, source))
    found = session.status(desk)
    assert found.open_trial is None
    assert "was judged and cut off" in found.notes[0]
    asked = session.next_(desk)
    assert asked.trial == 2
    assert asked.notes[0].endswith("cut off after its verdict, which is kept: correct")
    with desk.store.read(run) as record:
        learned = [e for e in record.events() if isinstance(e, Learned)]
    assert [e.trial for e in learned] == [0, 1]


def test_the_same_submission_again_answers_with_the_verdict_that_was_kept(
    desk: Desk, bench, monkeypatch
):
    begun(desk)
    source = draft(desk)
    killed_after(monkeypatch, 2, lambda: session.submit(desk, source))
    bench.asked.clear()
    answer = session.submit(desk, source)
    assert (answer.trial, answer.verdict.status) == (1, "correct")
    assert bench.asked == []  # nothing is judged twice
    with pytest.raises(ArgusError) as raised:
        session.submit(desk, source)
    assert raised.value.diagnostics[0].code == "AG1032"


@pytest.mark.parametrize("events", [0, 1, 2, 3])
def test_a_start_that_was_cut_off_is_completed(desk: Desk, monkeypatch, events: int):
    """The first event of all is the run itself."""
    killed_after(monkeypatch, 1 + events, lambda: begun(desk))
    assert session.status(desk).trials == ()
    with pytest.raises(ArgusError) as raised:
        session.submit(desk, "nothing was asked for yet")
    assert raised.value.diagnostics[0].code == "AG1032"
    asked = session.next_(desk)
    assert asked.trial == 1
    assert len(session.status(desk).trials) == 1


def test_an_end_that_was_cut_off_is_made_again(desk: Desk, monkeypatch):
    begun(desk)
    session.submit(desk, draft(desk) + "# faster\n")
    killed_after(monkeypatch, 0, lambda: session.finish(desk))
    assert session.status(desk).state == "open"
    assert session.finish(desk).best_trial == 1
    assert session.status(desk).state == "finished"


# ------------------------------------------------------------------------ for real


def child(folder: Path, source: Path, delay: float) -> Forked:
    """A process that submits. ``delay``: seconds of its judge; 0: until told again."""
    made = Forked(submitting, folder, source.read_text(), delay)
    assert made.told() == "ready"
    return made


def test_kill_9_while_a_submission_is_judged(desk: Desk, home: Path, tmp_path: Path):
    """At random moments; the run goes on as if nothing had been submitted, or as if
    all of it had been."""
    run = begun(desk)
    path = tmp_path / "kernel.py"
    drawn = random.Random(7)
    submitted = 0
    for turn in range(3):
        asked = session.next_(desk)
        assert asked.draft is not None
        path.write_text(asked.draft.source)
        process = child(home / "runs", path, 0.3)
        process.tell()
        time.sleep(drawn.uniform(0.0, 0.5) if turn else 0.15)
        process.kill()
        again = session.next_(desk)
        done = len(session.status(desk).trials) - 1
        assert done in (submitted, submitted + 1)
        assert again.trial == done + 1
        submitted = done
    session.submit(desk, path.read_text())
    with desk.store.read(run) as record:
        events = record.events()
    numbers = [e.trial for e in events if isinstance(e, Proposed)]
    assert numbers == list(range(len(numbers)))  # none is proposed twice
    assert session.finish(desk).trials == submitted + 2


def test_two_submissions_at_once(desk: Desk, home: Path, tmp_path: Path):
    """One is judged; the other is told that it has to wait, and does no harm."""
    begun(desk)
    path = tmp_path / "kernel.py"
    path.write_text(draft(desk))
    both = [child(home / "runs", path, 0) for _ in range(2)]
    for process in both:
        process.tell()
    while all(process.runs() for process in both):
        time.sleep(0.05)
    (judged,) = (process for process in both if process.runs())
    judged.tell()
    assert sorted(process.told() for process in both) == ["1", "AG1002"]
    assert [process.ended() for process in both] == [0, 0]
    found = session.status(desk)
    assert [r.trial for r in found.trials] == [0, 1]
    assert session.next_(desk).trial == 2


def test_a_lock_dies_with_its_process(home: Path, tmp_path: Path):
    desk = desk_at(home / "runs")
    begun(desk)
    path = tmp_path / "kernel.py"
    path.write_text(draft(desk))
    process = child(home / "runs", path, 30.0)
    process.tell()
    until = time.monotonic() + 20
    while session.status(desk).state != "busy" and time.monotonic() < until:
        time.sleep(0.05)
    assert session.status(desk).state == "busy"
    process.kill()
    assert session.status(desk).state == "open"
