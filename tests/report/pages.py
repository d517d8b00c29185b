"""What holds of every page."""

from __future__ import annotations

import re
from collections import Counter

SECTIONS = [
    "trajectory", "trials", "ablation", "roofline", "pipeline", "elements",
    "counterexamples", "policy", "sources", "effort", "again",
]  # fmt: skip


def whole(text: str, read) -> None:
    """What holds of every page."""
    found = read(text)
    assert found.wrong == [] and found.open == []
    twice = [name for name, n in Counter(found.ids).items() if n > 1]
    assert twice == []
    assert [s for s in SECTIONS if s not in found.sections] == []
    assert "script" not in found.tags and "iframe" not in found.tags
    assert [k for k, _ in found.attributes if k.startswith("on")] == []
    outside = [x for x in found.links if not x.startswith(("#", "data:,"))]
    assert outside == []
    lost = {x[1:] for x in found.links if x.startswith("#")} - set(found.ids)
    assert lost == set()
    used = set(re.findall(r"url\(#([^)]+)\)", text))
    assert used <= set(found.ids)
    assert "@import" not in text and "url(http" not in text
    for picture in found.pictures:
        assert picture["role"] == "img" and picture["aria-label"]
    assert len(text.encode()) < 5_000_000
