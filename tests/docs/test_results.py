"""The results in the README are those that were recorded."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_readme_shows_the_recorded_results() -> None:
    command = [sys.executable, str(ROOT / "tools/document_results.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"run tools/document_results.py\n{done.stderr}"
