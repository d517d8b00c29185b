"""How long a first start may take. `benchmarks/startup.py` measures the same.

What is compared is processor time, with several times the bar: another program on the
machine cannot make this fail, a change of the order of growth does.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "startup.py"
SLACK = 3


@pytest.mark.compiler
def test_each_stage_is_within_its_bar() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--repeat", "1"],
        check=True,
        capture_output=True,
        text=True,
    )
    stages = json.loads(done.stdout)["stages"]
    assert {name: s["bar_ms"] for name, s in stages.items()}.items() >= {
        "import argus": 300,
        "parse, place and print gemm": 500,
        "compile gemm by NVRTC": 1500,
        "build gemm, warm cache": 30,
    }.items()
    slow = {n: s for n, s in stages.items() if s["cpu_ms"] > SLACK * s["bar_ms"]}
    assert not slow
