import sys
from pathlib import Path

import pytest

from argus.runs.store import RunStore

# The fakes are shared by the modules of this folder.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs")
