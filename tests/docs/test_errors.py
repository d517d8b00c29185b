"""docs/errors.md is what the catalogue says."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_errors_document_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "tools/document_errors.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
