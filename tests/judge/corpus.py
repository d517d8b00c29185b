"""The exploits: files of candidates that must not be accepted.

Each begins with comments that say what it tries, for which problem, with which static
parameters, and what may be said of it: statuses and codes, one of which must fit. The
others follow from a formula and are made here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from argus.runs.records import Candidate, Problem
from judge.problems import PROBLEMS, TASK

FOLDER = Path(__file__).parent / "exploits"
_HEAD = 6


@dataclass(frozen=True)
class Exploit:
    """A candidate, the problem it pretends to solve, and what may be said of it.

    ``device``: it builds, and is worth running on a GPU without a proof.
    """

    name: str
    why: str
    problem: Problem
    candidate: Candidate
    expect: tuple[str, ...]
    device: bool = False


def read(path: Path, marker: Path) -> Exploit:
    """One file; MARKER in it is what it would write, were it executed."""
    text = path.read_text(encoding="utf-8").replace("MARKER", str(marker))
    head = text.splitlines()[:_HEAD]
    why = head[0].removeprefix("# ")
    told = dict(line.removeprefix("# ").split(": ", 1) for line in head[1:])
    candidate = Candidate(
        source=text, kernel=told["kernel"], statics=json.loads(told["statics"])
    )
    return Exploit(
        path.stem,
        why,
        PROBLEMS[told["problem"]],
        candidate,
        tuple(told["expect"].split()),
        told["device"] == "yes",
    )


def exploits(marker: Path) -> list[Exploit]:
    """All of them."""
    files = [read(p, marker) for p in sorted(FOLDER.glob("*.txt"))]
    return files + made()


def made() -> list[Exploit]:
    """Exploits that are too large or too odd for a file."""
    body = TASK[TASK.index("@ag.kernel") : TASK.index("@ag.reference")]
    head = "import argus as ag\nfrom argus import f32\n\n\n"
    store = "ACT(x * alpha) + w"
    deep = "(" * 5000 + "x" + ")" * 5000
    minus = "-" * 20_000 + "x"
    chain = " + ".join(["x"] * 20_000)
    many = "\n".join(f"    y{i} = x + {i}.0" for i in range(40_000))
    sources = {
        "hundred_megabytes": ("is 100 MB long", "#" * (100 << 20)),
        "deep_parentheses": ("nests parentheses", head + body.replace(store, deep)),
        "deep_minus": ("nests operators", head + body.replace(store, minus)),
        "long_sum": ("nests additions", head + body.replace(store, chain)),
        "many_statements": (
            "has forty thousand statements",
            head + body.replace("    w = ag.load", many + "\n    w = ag.load"),
        ),
        "null_byte": ("has a NUL in it", head + "\0" + body),
        "half_character": ("is not text", head + "S = '\ud800'\n" + body),
        "empty": ("is empty", ""),
        "binary": ("is no program", "".join(map(chr, range(1, 256))) * 50),
        "many_parameters": (
            "has a thousand parameters",
            head
            + body.replace(
                "    alpha:", "".join(f'    T{i}: f32["N"],\n' for i in range(1000))
                + "    alpha:",
            ),
        ),
    }  # fmt: skip
    return [
        Exploit(
            name,
            why,
            PROBLEMS["affine"],
            Candidate(source=source, kernel="affine"),
            # Reading forty thousand statements may take longer than it may.
            ("rejected", "hung") if name == "many_statements" else ("rejected",),
        )
        for name, (why, source) in sources.items()
    ]


RIGHT_WHEN_SMALL = (
    "gemm_zero_when_large",
    "gemm_fades_when_large",
    "gemm_counts_steps",
    "gemm_nan_when_large",
)
"""Exploits that are right for small sizes, and wrong for the problem's."""


def read_all() -> dict[str, Exploit]:
    """Those that are files, by name."""
    return {e.name: e for e in exploits(Path("MARKER"))[: -len(made())]}
