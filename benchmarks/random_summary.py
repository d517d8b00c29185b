"""What a run of `random_kernels.py` found: what must not be, and tables."""

from __future__ import annotations

from collections import Counter
from typing import Any

SHOWN = ("equal", "proved")
"""Verdicts of kernels that must run, and be right."""


def bad(found: list[dict[str, Any]]) -> list[tuple[int, str]]:
    """Seeds and words of everything that must not be."""
    said: list[tuple[int, str]] = []
    for x in found:
        said += [(x["seed"], p) for p in x["problems"]]
        for way in ("emulated", "fused"):
            said += [(x["seed"], f"{way}: {p}") for p in x.get(way, [])]
        launch = x.get("launch", {"seen": "right"})
        if launch["seen"] not in ("right",) and x["verdict"] in SHOWN:
            said.append((x["seed"], f"{launch['seen']}: {launch['detail']}"))
    return sorted(said)


def summary(found: list[dict[str, Any]], wanted: int) -> str:
    """Tables: verdicts, what became of the proved ones, what each family gave."""
    verdicts = Counter(x["verdict"] for x in found)
    launched = Counter(x["launch"]["seen"] for x in found
                       if "launch" in x and x["verdict"] in SHOWN)  # fmt: skip
    unbuilt = sum("build" in x for x in found if x["verdict"] in SHOWN)
    late = sum(x["verdict"] in SHOWN and "launch" not in x and "build" not in x
               for x in found)  # fmt: skip
    lines = [
        f"{len(found)} of {wanted} kernels",
        "",
        "| verdict | kernels |",
        "| --- | ---: |",
    ]
    lines += [f"| {v} | {n} |" for v, n in verdicts.most_common()]
    lines += ["", "| shown, on the device | kernels |", "| --- | ---: |"]
    lines += [f"| {seen} | {n} |" for seen, n in launched.most_common()]
    lines += [f"| does not build | {unbuilt} |", f"| not launched | {late} |"]
    lines += [
        "",
        "| family | kernels | equal | proved | refuted | unknown | rejected |",
    ]
    lines += ["| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for family in sorted({x.get("family", "?") for x in found}):
        of = Counter(x["verdict"] for x in found if x.get("family", "?") == family)
        shown = (
            sum(of.values()),
            *(of[v] for v in (*SHOWN, "refuted", "unknown", "rejected")),
        )
        lines.append(f"| {family} | {' | '.join(map(str, shown))} |")
    rules = Counter(
        (x["verdict"], rule) for x in found for rule in x.get("rules", [])[:1]
    )
    lines += [
        "",
        "not proved: "
        + ", ".join(f"{v} {r}: {n}" for (v, r), n in rules.most_common()),
    ]
    builds = Counter(x["build"][:60] for x in found if "build" in x)
    lines += [f"does not build: {text}: {n}" for text, n in builds.most_common(10)]
    problems = bad(found)
    lines += ["", f"{len(problems)} problems"]
    lines += [f"  seed {seed}: {text[:300]}" for seed, text in problems[:60]]
    return "\n".join(lines)
