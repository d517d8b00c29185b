import sys
from pathlib import Path

import pytest

# The stand-ins are shared by the modules of this folder.
sys.path.insert(0, str(Path(__file__).parent))

from stand_ins import FakeBench, Moves, desk_at


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs and policy of this test alone, and a planner that takes no time."""
    from argus.agent.session import desk

    monkeypatch.setenv("ARGUS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(desk, "open_planner_of", Moves)
    return tmp_path / "home"


@pytest.fixture
def bench() -> FakeBench:
    return FakeBench()


@pytest.fixture
def desk(home: Path, bench: FakeBench):
    return desk_at(home / "runs", bench)
