"""One judge for the tests: processes are cheap once its fork server has started."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from argus.evaluation.judge import Limits, LocalJudge

LIMITS = Limits(parse=4, verify=40, build=40, simulate=6, memory=4 << 30)


@pytest.fixture(scope="session")
def judge() -> Iterator[LocalJudge]:
    with LocalJudge(workers=2, gpus=(), limits=LIMITS) as made:
        yield made
