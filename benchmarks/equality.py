"""Times of deciding that kernels are equal to their references, on this machine.

    python benchmarks/equality.py            tables: growth, the library's kernels
    python benchmarks/equality.py --json     the same as JSON

CPU seconds of this process, the least of three: the terms of the kernel and of the
reference, and their comparison; not parsing and placing. Each verdict is given, since a
comparison that fails may be a quick one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

from argus.equivalence.traced import decided_case
from argus.evaluation.forms import form_requests
from argus.evaluation.requests import request_for
from argus.kernels.entry import Case
from argus.kernels.library import LIBRARY
from argus.requests import Request

REPEAT = 3
BARS = {"gemm": 0.4, "attention": 1.5, "library": 15.0}
"""Seconds that each should stay under, on an unloaded machine with two cores."""
_GEMM = {"BM": 128, "BN": 128, "BK": 64, "STAGES": 2, "WARPGROUPS": 2, "CLUSTER": 1}
_GEMM |= {"REGISTERS": 0, "BC": 64}


@dataclass(frozen=True)
class Timed:
    """One comparison: what varies, the verdict, the least CPU seconds."""

    family: str
    what: str
    equal: bool
    seconds: float


def timed(family: str, what: str, request: Request, entry: str, case: Case) -> Timed:
    """Compare a kernel with the reference of an entry several times."""
    reference = LIBRARY[entry].proved_reference
    made = [decided_case(request, reference, case) for _ in range(REPEAT)]
    least = min(one.seconds for one in made)
    return Timed(family, what, all(one.equal for one in made), round(least, 2))


def growth() -> Iterator[Timed]:
    """Tile sizes, stages, roles and forms, one at a time."""
    (case, *_), target = LIBRARY["gemm"].small, "sm_90a"
    request = request_for(LIBRARY["gemm"], case, target)[0]
    changes: list[dict[str, object]] = [
        *({"BM": n} for n in (64, 128, 256)),
        *({"BK": n} for n in (32, 64, 128)),
        *({"STAGES": n} for n in (2, 4, 6)),
        *({"WARPGROUPS": n} for n in (1, 2)),
        *({"CLUSTER": n} for n in (1, 2)),
    ]
    for change in changes:
        made = replace(request, statics={**_GEMM, **change})
        what = ", ".join(f"{k} = {v}" for k, v in change.items())
        yield timed("gemm_sm90", what, made, "gemm", case)
    for entry, words in (("gemm", ""), ("attention", ""), ("attention", "causal")):
        cases = LIBRARY[entry].small
        case = next(c for c in cases if (words in c.options) == bool(words))
        for form, made in form_requests(LIBRARY[entry], case, target):
            yield timed(f"{entry} {words}".strip(), f"form {form}", made, entry, case)


def library() -> Iterator[Timed]:
    """Each kernel of the library once, in each manner of its cases."""
    for entry in LIBRARY.values():
        seen: set[object] = set()
        for case in entry.small:
            request = request_for(entry, case, entry.targets[-1])[0]
            words = " ".join(w for w in case.options if w.islower())
            if (request.kernel.name, words) not in seen:
                seen.add((request.kernel.name, words))
                shown = f"{request.kernel.name} {words}".strip()
                yield timed("library", shown, request, entry.name, case)


def main(arguments: list[str]) -> int:
    """The exit status: 0, or 1 where a bar is not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    found = [*growth(), *library()]
    total = sum(t.seconds for t in found if t.family == "library")
    if given.json:
        print(json.dumps([vars(t) for t in found], indent=1))
    else:
        print("| kernel | what | verdict | seconds |\n| --- | --- | --- | --- |")
        for t in found:
            verdict = "equal" if t.equal else "open"
            print(f"| {t.family} | {t.what} | {verdict} | {t.seconds:.2f} |")
        print(f"\nlibrary, each kernel and manner once: {total:.2f} s")
    late = [t for t in found if t.seconds > BARS.get(t.family.split("_")[0], 15.0)]
    return int(bool(late) or total > BARS["library"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
