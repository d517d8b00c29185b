"""Typical gains of the knowledge base, from the times that `model_data.py` measured.

    PYTHONPATH=src python benchmarks/gains.py [--data benchmarks/h200/model.json]
    PYTHONPATH=src python benchmarks/gains.py --patch

Prints a table; with `--patch` also writes range, basis and source into the entries. A
gain is the logarithm of the ratio of two measured times of one problem. Within a form,
of two kernels that differ in what the entry is about, and in nothing else. Between
forms, of the fastest of each, since every form has parameters that suit it. Only
problems for which the entry's condition may hold count (what the bottleneck was, nobody
knows). The range is from the 10th to the 90th percentile.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from model_space import measured_request

from argus.ir import ops as o
from argus.ir.placement import WgmmaPlan
from argus.ir.walk import walk
from argus.knowledge import entry
from argus.knowledge.conditions import Value
from argus.knowledge.search import applicability
from argus.model.data import Measurement, read
from argus.requests import placed_program

HERE = Path(__file__).parent
DATA = HERE / "h200" / "model.json"
ENTRIES = HERE.parent / "src" / "argus" / "knowledge" / "entries"
FORMS = {"step1": "naive", "step2": "ring", "step4": "roles", "step5": "persistent"}
"""What the knowledge base calls the steps of the tutorial."""
FEW = 6
"""Pairs that a range needs."""

Statics = Mapping[str, int | bool]


@dataclass(frozen=True)
class Pair:
    """Two kernels that differ by an optimisation.

    ``before`` and ``after``: form and static parameters. ``share``: of the logarithm
    that this entry gets, where several entries are in the difference. ``words``: what
    was compared.
    """

    entry: str
    words: str
    before: tuple[str, Statics]
    after: tuple[str, Statics]
    share: float = 1.0
    only: Callable[[Measurement, Measurement], bool] = lambda _b, _a: True


def multiplies_by_wgmma(measured: Measurement) -> bool:
    """Whether all products are `wgmma` instructions."""
    program = placed_program(measured_request(measured))
    plans = [op.plan for op in walk(program.body) if isinstance(op, o.Dot)]
    return all(isinstance(plan, WgmmaPlan) for plan in plans)


def other_instruction(before: Measurement, after: Measurement) -> bool:
    """`mma.sync` became `wgmma`."""
    return not multiplies_by_wgmma(before) and multiplies_by_wgmma(after)


SM90 = "gemm_sm90"
PAIRS = (
    Pair(
        "cp-async",
        "the fastest with operands in registers, and with a ring of two slots",
        ("step1", {}),
        ("step2", {"STAGES": 2}),
    ),
    Pair(
        "software-pipelining",
        "two and four slots, filled by cp.async",
        ("step2", {"STAGES": 2}),
        ("step2", {"STAGES": 4}),
    ),
    Pair(
        "software-pipelining",
        "two and four slots, filled by TMA",
        (SM90, {"STAGES": 2}),
        (SM90, {"STAGES": 4}),
    ),
    Pair(
        "wgmma",
        "mma.sync by eight warps and wgmma by four, same tile",
        ("gemm_sm80", {"WARPS": 8}),
        ("gemm_sm80", {"WARPS": 4}),
        only=other_instruction,
    ),
    Pair(
        "warp-specialisation",
        "the fastest by cp.async, and by TMA with a load role (half of the logarithm)",
        ("step2", {}),
        ("step4", {}),
        share=0.5,
    ),
    Pair(
        "tma",
        "the fastest by cp.async, and by TMA with a load role (half of the logarithm)",
        ("step2", {}),
        ("step4", {}),
        share=0.5,
    ),
    Pair(
        "persistent-grid",
        "the fastest with a block per tile, and with one per multiprocessor",
        ("step4", {}),
        ("step5", {}),
    ),
    Pair(
        "l2-rasterisation",
        "GROUP 1 and 16",
        (SM90, {"GROUP": 1}),
        (SM90, {"GROUP": 16}),
    ),
    Pair(
        "cluster-multicast",
        "CLUSTER 1 and 2",
        (SM90, {"CLUSTER": 1}),
        (SM90, {"CLUSTER": 2}),
    ),
    Pair(
        "tma-store",
        "stores from registers and by TMA",
        (SM90, {"TMA_STORE": False}),
        (SM90, {"TMA_STORE": True}),
    ),
)


@dataclass(frozen=True)
class Found:
    """Log speed-ups of a pair, over ``problems`` problems."""

    pair: Pair
    gains: tuple[float, ...]
    problems: int

    @property
    def range(self) -> tuple[float, float]:
        """10th and 90th percentile, times the share."""
        low, high = np.quantile(self.gains, [0.1, 0.9]) * self.pair.share
        return round(float(low), 2) + 0.0, round(float(high), 2) + 0.0

    @property
    def ratio(self) -> float:
        """Geometric mean of the speed-ups."""
        return math.exp(sum(self.gains) / len(self.gains))


def features(measured: Measurement) -> dict[str, Value]:
    """What a condition may ask of a kernel that was measured."""
    form = FORMS.get(measured.form)
    named: dict[str, Value] = {"form": form} if form else {}
    about = {"entry": measured.entry, "target": measured.target}
    return {**measured.sizes, **measured.statics, **about, **named}


def matched(pair: Pair, measured: Sequence[Measurement]) -> Found:
    """All pairs of measurements that are to be compared."""
    (form, have), (later, become) = pair.before, pair.after
    first = [m for m in measured if m.form == form and _holds(m, have)]
    second = [m for m in measured if m.form == later and _holds(m, become)]
    if not first or not second:
        return Found(pair, (), 0)
    if form != later:
        first, second = _fastest(first), _fastest(second)
    changed = have.keys() | become.keys()
    both = set[str]() if form != later else first[0].statics.keys() - changed
    after = {_name(m, both): m for m in second}
    article = entry(pair.entry)
    gains: list[float] = []
    problems: set[str] = set()
    for b in first:
        a = after.get(_name(b, both))
        if a is None or applicability(article, features(b)).value is False:
            continue
        if not pair.only(b, a):
            continue
        assert a.microseconds is not None
        assert b.microseconds is not None
        gains.append(math.log(b.microseconds / a.microseconds))
        problems.add(b.case)
    return Found(pair, tuple(gains), len(problems))


def _fastest(measured: Sequence[Measurement]) -> list[Measurement]:
    """The fastest kernel of each problem."""
    best: dict[str, Measurement] = {}
    for m in sorted(measured, key=lambda m: m.microseconds or math.inf):
        best.setdefault(m.case, m)
    return list(best.values())


def _holds(measured: Measurement, wanted: Statics) -> bool:
    return all(measured.statics.get(k) == v for k, v in wanted.items())


def _name(measured: Measurement, knobs: set[str]) -> tuple[object, ...]:
    values = tuple((k, measured.statics[k]) for k in sorted(knobs))
    return (measured.case, values)


def patch(found: Sequence[Found], where: str) -> None:
    """Write range, basis and source into the entry that all of ``found`` are about."""
    path = ENTRIES / f"{found[0].pair.entry}.md"
    text = path.read_text(encoding="utf-8")
    low = min(f.range[0] for f in found)
    high = max(f.range[1] for f in found)
    words = [
        f"{f.pair.words}: {f.ratio:.2f}x in the geometric mean of {len(f.gains)} pairs "
        f"of kernels on {f.problems} problems"
        for f in found
    ]
    source = f"{where}: {'; '.join(words)}; 10th to 90th percentile"
    gain = (
        f"[gain]\nlow = {low}\nhigh = {high}\n"
        f'basis = "measured"\nsource = """\\\n{_wrapped(source)}"""\n+++'
    )
    new, count = re.subn(
        r"\[gain\]\n.*?\n\+\+\+", lambda _: gain, text, count=1, flags=re.S
    )
    if count != 1:
        raise SystemExit(f"{path.name} has no [gain]")
    path.write_text(new, encoding="utf-8")


def _wrapped(text: str) -> str:
    """Lines of a TOML string whose line ends are escaped."""
    lines, line = [], ""
    for word in text.split():
        if len(line) + len(word) > 80:
            lines.append(line)
            line = ""
        line += word + " "
    return "\n".join(f"  {x}\\" for x in lines) + f"\n  {line.rstrip()}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--patch", action="store_true", help="rewrite the entries")
    options = parser.parse_args()
    data = read(options.data)
    timed = [m for m in data.measurements if m.microseconds is not None]
    found = [matched(pair, timed) for pair in PAIRS]
    print("| entry | compared | pairs | problems | geometric mean | range of ln |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for f in found:
        if len(f.gains) < FEW:
            print(f"| {f.pair.entry} | {f.pair.words} | {len(f.gains)} | - | - | - |")
            continue
        low, high = f.range
        print(
            f"| {f.pair.entry} | {f.pair.words} | {len(f.gains)} | {f.problems} "
            f"| {f.ratio:.2f}x | {low:.2f} to {high:.2f} |"
        )
    if options.patch:
        where = "benchmarks/gains.py on benchmarks/h200/model.json"
        enough = [f for f in found if len(f.gains) >= FEW]
        for name in dict.fromkeys(f.pair.entry for f in enough):
            patch([f for f in enough if f.pair.entry == name], where)
    print("\n" + json.dumps(data.environment))


if __name__ == "__main__":
    main()
