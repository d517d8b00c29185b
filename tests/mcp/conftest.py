import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

# The client, and the judge and the planner that stand in for the real ones.
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "agent" / "session"))

from stand_ins import FakeBench, Moves


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from argus.agent.session import desk

    monkeypatch.setenv("ARGUS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(desk, "open_planner_of", Moves)
    return tmp_path / "home"


@pytest.fixture
def bench() -> FakeBench:
    return FakeBench()
