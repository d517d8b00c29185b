"""A session on the device: times are measured, and what they cost is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.agent import session
from argus.agent.session import Desk, StartRequest

pytestmark = pytest.mark.gpu


def test_a_session_measures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARGUS_HOME", str(tmp_path))
    desk = Desk(tmp_path / "runs")
    try:
        begun = session.start(
            desk, StartRequest(task="softmax", shape="2048x2048", trials=3)
        )
        assert begun.verdict.time is not None
        assert begun.verdict.time.kind == "measured"
        assert begun.verdict.time.device == begun.where
        assert begun.verdict.baselines

        asked = session.next_(desk)
        assert asked.draft is not None
        before = session.status(desk).spent.gpu_seconds
        assert before > 0
        dry = session.bench(desk, asked.draft.source)
        assert (dry.kind, dry.verdict.status) == ("measured", "correct")
        assert session.status(desk).spent.gpu_seconds > before

        # The interpreter says whether it is right, and takes no time of the GPU.
        spent = session.status(desk).spent.gpu_seconds
        assert session.test(desk, asked.draft.source).ok
        assert session.status(desk).spent.gpu_seconds == spent

        done = session.submit(desk, asked.draft.source)
        assert done.verdict.time is not None
        assert done.verdict.time.kind == "measured"
        assert done.verdict.predicted is not None
        assert not any("predicted" in note for note in done.notes)
        end = session.finish(desk)
        assert end.best is not None and end.best.kind == "measured"
        assert all(t.status == "correct" for t in end.ablation)
    finally:
        desk.judges.close()
