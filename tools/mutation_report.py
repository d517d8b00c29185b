"""Writes docs/mutations.md: what the verifier and the interpreter say of mutants.

    python tools/mutation_report.py [--per-operator N] [--seed S] [--minutes M]

Applies every operator of tests/verifier/mutate.py and mutate_order.py to the library
kernels that tests/verifier/report/subjects.py lists. The order is random, so that what
is done after M minutes is a fair sample. Exits with 1 if a bar is missed. Nothing is
built and no GPU is used.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

from verifier.report.subjects import (  # noqa: E402
    OPERATORS,
    SUBJECTS,
    Mutant,
    mutants,
)
from verifier.report.trials import Outcome, trial  # noqa: E402

PAGE = ROOT / "docs" / "mutations.md"
LIMIT = 60
"""Seconds of processor time for one mutant."""

HEAD = """# Mutations

Written by `tools/mutation_report.py`. Each operator of `tests/verifier/mutate.py`
(data) and `tests/verifier/mutate_order.py` (order) changes one thing in the placed
program of a library kernel, at up to {per} places drawn at random (seed {seed}). The
verifier judges the mutant for all sizes; the interpreter runs it at a few sizes, three
times each, with other data and schedules, and at the sizes of the counterexample.

- *refuted, shown*: the interpreter shows a fault or wrong numbers, too.
- *refuted, not shown*: it does not, in these runs. They are listed below.
- *unknown*: not decided.
- *proved, right*: equivalent, as far as the interpreter can tell.
- *proved, wrong*: the interpreter shows it to be wrong. There must be none.
- *proved, not run*: no size that is tried is one that the mutant admits.
- *failed*: the verifier crashed, or took more than a minute of processor time.
- *line*: of the refuted, those whose counterexample names the changed line; in
  brackets with those that name a line that it leads to.

What no operator does, since the invariants do not speak of it: change an arithmetic
operation, a constant, the causal mask, a scale, the maximum that a softmax subtracts.

Why a mutant may be refuted and not shown: a padded key more in a softmax
(`mask_bound`) changes less than the tolerance; rows past a ragged end (`limit_...`) are
written again by the block that owns them, which the interpreter runs later; a phase
that is ambiguous (AG0404) or an arrival too many (AG0409) needs a schedule that is
rarely drawn; a warpgroup's rows may not exist at the sizes that are run.

"""


class TimeUpError(Exception):
    """A mutant that took too long."""


def _alarm(*_: object) -> None:
    raise TimeUpError


def one(mutant: Mutant) -> Outcome:
    """A trial with a limit of time."""
    signal.signal(signal.SIGPROF, _alarm)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        return trial(mutant)
    except TimeUpError:
        return Outcome(mutant, 0, "timeout")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def column(outcome: Outcome) -> str:
    """Which column of the table a mutant is counted in."""
    wrong = outcome.shown in ("wrong", "fault")
    match outcome.verdict:
        case "refuted":
            return "refuted, shown" if outcome.shown else "refuted, not shown"
        case "proved" if outcome.shown == "refused":
            return "proved, not run"
        case "proved":
            return "proved, wrong" if wrong else "proved, right"
        case other:
            return "unknown" if other == "unknown" else "failed"


COLUMNS = (
    "refuted, shown", "refuted, not shown", "unknown", "proved, right",
    "proved, wrong", "proved, not run", "failed",
)  # fmt: skip


def row(name: str, found: list[Outcome]) -> str:
    """One line of a table."""
    counts = Counter(column(x) for x in found)
    refuted = [x for x in found if x.verdict == "refuted"]
    exact = sum(x.named == "line" for x in refuted)
    near = sum(x.named != "" for x in refuted)
    line = f"{exact} ({near})" if refuted else ""
    cells = " | ".join(str(counts[c] or "") for c in COLUMNS)
    return f"| {name} | {len(found)} | {cells} | {line} |"


def table(title: str, groups: dict[str, list[Outcome]]) -> list[str]:
    """A table of groups of mutants."""
    head = f"| {title} | mutants | {' | '.join(COLUMNS)} | line |"
    rule = "|" + " --- |" * (len(COLUMNS) + 3)
    return [head, rule, *(row(n, x) for n, x in groups.items() if x), ""]


def bars(found: list[Outcome]) -> dict[str, float]:
    """The numbers that the bars are about."""
    shown = [x for x in found if x.shown in ("wrong", "fault")]
    refuted = [x for x in found if x.verdict == "refuted"]
    caught = [x for x in shown if x.verdict == "refuted"]
    return {
        "mutants": len(found),
        "wrong": len(shown),
        "wrong_refuted": len(caught),
        "wrong_refuted_share": len(caught) / max(1, len(shown)),
        "wrong_proved": sum(x.verdict == "proved" for x in shown),
        "wrong_unknown": sum(x.verdict == "unknown" for x in shown),
        "proved_not_run": sum(column(x) == "proved, not run" for x in found),
        "failed": sum(column(x) == "failed" for x in found),
        "names_line": sum(x.named == "line" for x in refuted) / max(1, len(refuted)),
        "names_chain": sum(x.named != "" for x in refuted) / max(1, len(refuted)),
    }


def listing(title: str, found: Iterable[Outcome]) -> list[str]:
    """A section that lists single mutants."""
    lines: list[str] = []
    for x in found:
        rules, m = ", ".join(x.rules) or "no rule", x.mutant
        detail = " ".join(x.detail.replace(f"{ROOT}/", "").split())[:160]
        text = f"{m.subject}, `{m.operator}` {m.number}, line {x.line}: {rules}"
        lines.append(f"- {text}{f' ({detail})' if detail else ''}")
    return [f"## {title}", "", *(lines or ["None."]), ""]


def page(found: list[Outcome], per: int, seed: int) -> str:
    """The whole document."""
    numbers = bars(found)
    by_operator = {
        f"`{name}` {(sites.__doc__ or name).splitlines()[0]}": [
            x for x in found if x.mutant.operator == name
        ]
        for name, (_, sites) in OPERATORS.items()
    }
    by_subject = {n: [x for x in found if x.mutant.subject == n] for n in SUBJECTS}
    unused = [n for n, x in by_operator.items() if not x]
    text = [
        HEAD.format(per=per, seed=seed),
        f"{numbers['mutants']} mutants, of which the interpreter shows "
        f"{numbers['wrong']} to be wrong: {numbers['wrong_refuted']} of them "
        f"({100 * numbers['wrong_refuted_share']:.1f} %) are refuted, "
        f"{numbers['wrong_unknown']} unknown, {numbers['wrong_proved']} proved. "
        f"{100 * numbers['names_line']:.1f} % of the counterexamples name the changed "
        f"line, {100 * numbers['names_chain']:.1f} % that or a line that it leads to.",
        "",
        "## By operator",
        "",
        *table("operator", by_operator),
        "Operators without a place in any of these kernels: "
        + ("; ".join(unused) or "none") + ".",
        "",
        "## By kernel",
        "",
        *table("kernel", by_subject),
    ]  # fmt: skip
    for title in (
        "proved, wrong", "proved, not run", "unknown", "failed", "refuted, not shown"
    ):  # fmt: skip
        chosen = [x for x in found if column(x) == title]
        text += listing(title.capitalize(), chosen)
    return "\n".join(text)


def main() -> None:
    """Run, write, and judge by the bars."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per-operator", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--subject", action="append", choices=list(SUBJECTS))
    parser.add_argument("--operator", action="append", choices=list(OPERATORS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--minutes", type=float, default=1e9)
    args = parser.parse_args()
    chosen = [
        m
        for m in mutants(
            args.subject or SUBJECTS, per_operator=args.per_operator, seed=args.seed
        )
        if not args.operator or m.operator in args.operator
    ]
    Random(args.seed).shuffle(chosen)
    begin = time.perf_counter()
    found: list[Outcome] = []
    with multiprocessing.Pool(args.workers) as pool:
        for i, outcome in enumerate(pool.imap_unordered(one, chosen), 1):
            found.append(outcome)
            if i % 100 == 0:
                print(f"{i} of {len(chosen)}", file=sys.stderr, flush=True)
            if time.perf_counter() - begin > 60 * args.minutes:
                break
        pool.terminate()
    found.sort(key=lambda x: (x.mutant.subject, x.mutant.operator, x.mutant.number))
    numbers = bars(found) | {"seconds": round(time.perf_counter() - begin, 1)}
    print(json.dumps(numbers, indent=2))
    if args.json:
        data = {"bars": numbers, "mutants": [asdict(x) for x in found]}
        args.json.write_text(json.dumps(data, indent=1) + "\n")
    args.page.write_text(page(found, args.per_operator, args.seed))
    bad = numbers["wrong_proved"] or numbers["proved_not_run"] or numbers["failed"]
    if bad or numbers["wrong_refuted_share"] < 0.99 or numbers["names_chain"] < 0.95:
        sys.exit(1)


if __name__ == "__main__":
    main()
