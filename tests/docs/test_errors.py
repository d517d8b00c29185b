"""Documents that are made from tables say what the tables say."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["document_errors.py", "document_operations.py"])
def test_a_document_is_up_to_date(name: str) -> None:
    done = subprocess.run(
        [sys.executable, f"tools/{name}", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
