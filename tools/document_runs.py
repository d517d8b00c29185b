"""Write what `argus optimize` reached into README.md, from records of its runs.

    python tools/document_runs.py                rewrite the block between the markers
    python tools/document_runs.py --check        say whether it is up to date (exit 1)
    python tools/document_runs.py --show FILE..  print the block for other records

Records are `benchmarks/h200/runs/*.json`: the `run.json` of `argus runs export`, one
of each run, under any name. The block has the bars (runs of one kind together), the
ablation of one matrix product, and nothing that was edited by hand. Every run is a row
of `benchmarks/h200/runs.md`, which is written as well.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, log, prod
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
FOLDER = ROOT / "benchmarks" / "h200"
RESULTS = FOLDER / "results.json"
TABLE = FOLDER / "runs.md"
BEGIN, END = "<!-- optimize:begin -->\n", "<!-- optimize:end -->\n"
NONE = "Not measured yet: there is no record in `benchmarks/h200/runs`.\n"
CELLS = 24
"""Characters of the longest bar."""

Record = dict[str, Any]


@dataclass(frozen=True)
class Bar:
    """Runs that one bar is about. ``library``: beside the library's own choice."""

    title: str
    entries: tuple[str, ...]
    baseline: str
    least: float
    library: bool = False


BARS = (
    Bar("matrix product, bf16", ("gemm",), "cuBLAS", 1.0),
    Bar("softmax and rmsnorm", ("softmax", "rmsnorm"), "torch", 1.5),
    Bar("attention forward", ("attention",), "cuDNN", 1.0, library=True),
)


def main() -> int:
    """Rewrite, check or show; 1 if it was to be checked and is not up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--show", nargs="+", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.show:
        sys.stdout.write(block(read(options.show)))
        return 0
    records = read(sorted((FOLDER / "runs").glob("*.json")))
    old = README.read_text(encoding="utf-8")
    before, rest = old.split(BEGIN)
    _, after = rest.split(END)
    new = before + BEGIN + (block(records) if records else NONE) + END + after
    rows = whole(records)
    if options.check:
        table = TABLE.read_text(encoding="utf-8") if TABLE.exists() else ""
        return int(new != old or rows != table)
    README.write_text(new, encoding="utf-8")
    if records:
        TABLE.write_text(rows, encoding="utf-8")
    return 0


def read(paths: Iterable[Path]) -> list[Record]:
    """Records in the order of their tasks; runs that found nothing are an error."""
    records = [json.loads(p.read_text(encoding="utf-8")) for p in paths]
    for record in records:
        if record["best_microseconds"] is None:
            raise SystemExit(f"{record['run']} found no correct kernel")
    return sorted(records, key=lambda r: (entry(r), work(r), r["task"]))


def entry(record: Record) -> str:
    """The library's entry, or the kernel of a file."""
    problem = record["problem"]
    return str(problem.get("entry") or problem["kernel"])


def work(record: Record) -> int:
    """A measure of the size of a task."""
    return prod(record["problem"]["sizes"].values())


def block(records: Sequence[Record]) -> str:
    """The Markdown between the markers: bars, then the ablation of one product."""
    lines: list[str] = []
    measured = [r for r in records if r["measured"]]
    if measured:
        lines += bars(measured)
    products = [r for r in records if entry(r) == "gemm" and r["ablation"]]
    if products:
        # The usual size, if it is there: what people know the times of.
        usual = (r for r in products if r["task"] == "gemm 4096x4096x4096")
        lines += ["", *ablation(next(usual, products[-1]))]
    return "\n".join(lines).lstrip("\n") + "\n"


def bars(records: Sequence[Record]) -> list[str]:
    """One row for each bar that there are runs of."""
    lines = [
        "| task | runs | beside | ratio, geometric mean | least | bar |",
        "| --- | ---: | --- | ---: | ---: | ---: |",
    ]
    for bar in BARS:
        found = [ratio(r, bar) for r in records if entry(r) in bar.entries]
        if not found:
            continue
        mean = exp(sum(map(log, found)) / len(found))
        beside = "the library's choice" if bar.library else bar.baseline
        # The bar of attention is one for each size, the others are of the mean.
        held = min(found) if bar.library else mean
        mark = "" if held >= bar.least else ", missed"
        lines.append(
            f"| {bar.title} | {len(found)} | {beside} | {mean:.3f} | {min(found):.3f} "
            f"| {bar.least:.2f}{mark} |"
        )
    first = records[0]
    trials = sum(r["trials"] for r in records)
    seconds = sum(r["cost"]["gpu_seconds"] for r in records)
    where = f"{first['device']}, {first['begin'][:10]}"
    return [
        *lines,
        "",
        f"{len(records)} runs from the naive kernel by the agent `{first['agent']}`, "
        f"{trials} trials and {seconds / 60:.0f} GPU minutes together; {where}. Each "
        "run: [benchmarks/h200/runs.md](benchmarks/h200/runs.md).",
    ]


def ratio(record: Record, bar: Bar) -> float:
    """How many times as fast as what it is held against.

    The library's own choice was timed at another time, beside the same baseline: the
    two ratios to that baseline are compared.
    """
    beside = record["baselines"][bar.baseline] / record["best_microseconds"]
    return beside / library(record, bar.baseline) if bar.library else beside


def library(record: Record, baseline: str) -> float:
    """The recorded ratio of the library's choice to a baseline, for the same task."""
    recorded = json.loads(RESULTS.read_text(encoding="utf-8"))["records"]
    name, sizes = entry(record), record["problem"]["sizes"]
    causal = "causal" in record["problem"]["options"]
    for one in recorded:
        same = one["entry"] == name and one["sizes"] == sizes
        if same and ("causal" in one["case"]) == causal:
            return float(one["ratios"][baseline])
    raise SystemExit(f"{RESULTS} has no case for {record['task']}")


def ablation(record: Record) -> list[str]:
    """The best kernel without each of its optimisations, as a bar chart in text."""
    best = record["best_microseconds"]
    sort = "measured" if record["measured"] else "predicted"
    where = f"on {record['device']}" if record["measured"] else "without a GPU"
    design = " ".join(f"{k}={v}" for k, v in record["design"].items())
    rows = [("everything", best, "")]
    for one in record["ablation"]:
        rows.append((" + ".join(one["without"]), one["microseconds"], one["status"]))
    longest = max(time or 0.0 for _, time, _ in rows)
    left = max(len(name) for name, _, _ in rows) + 2
    lines: list[str] = []
    for number, (name, time, status) in enumerate(rows):
        text = f"{'- ' if number else '  '}{name}"
        if time is None:
            lines.append(f"{text:<{left + 2}}{status}")
            continue
        cells = max(1, round(CELLS * time / longest))
        mark = "█" * cells
        lines.append(
            f"{text:<{left + 2}}{mark:<{CELLS}} {time:8.1f} µs {time / best:6.2f}x"
        )
    return [
        f"The best kernel of `argus optimize` for {record['task']} without each of its "
        f"optimisations, {sort} {where} (trial {record['best_trial']} of "
        f"{record['trials']}, from {record['start_microseconds']:.0f} µs; {design}):",
        "",
        "```text ablation",
        *lines,
        "```",
    ]


def whole(records: Sequence[Record]) -> str:
    """Every run as a row of a table."""
    if not records:
        return ""
    lines = [
        "# Runs of `argus optimize`",
        "",
        "<!-- Made by `python tools/document_runs.py` from runs/*.json. -->",
        "",
        "| task | start µs | best µs | times as fast | beside | of the limit | trials "
        "| GPU s | |",
        "| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | --- |",
    ]
    for record in records:
        start, best = record["start_microseconds"], record["best_microseconds"]
        limit = record["limit_microseconds"]
        beside = ", ".join(
            f"{name} {time / best:.3f}" for name, time in record["baselines"].items()
        )
        faster = f"{start / best:.2f}" if start is not None else "-"
        begin = f"{start:.1f}" if start is not None else "-"
        share = f"{limit / best:.0%}" if limit is not None else "-"
        sort = "measured" if record["measured"] else "predicted"
        seconds = record["cost"]["gpu_seconds"]
        lines.append(
            f"| {record['task']} | {begin} | {best:.1f} | {faster} | {beside or '-'} "
            f"| {share} | {record['trials']} | {seconds:.0f} | {sort} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
