"""Write what `argus optimize` reached into README.md, from records of its runs.

    python tools/document_runs.py                rewrite the block between the markers
    python tools/document_runs.py --check        say whether it is up to date (exit 1)
    python tools/document_runs.py --show FILE..  print the block for other records

Records lie in `benchmarks/h200`: `bars.json` is what `benchmarks/bars.py` wrote, and
each `runs/NAME.json` the `run.json` of `argus runs export RUN`. The first gives the
table of the bars, and `bars.md` with every run; the others the ablation of one matrix
product. Nothing here is edited by hand.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from math import exp, log
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
FOLDER = ROOT / "benchmarks" / "h200"
TABLE = FOLDER / "bars.md"
BEGIN, END = "<!-- optimize:begin -->\n", "<!-- optimize:end -->\n"
NONE = "Not measured yet: there is no record in `benchmarks/h200`.\n"
SHOWN = "gemm 4096x4096x4096"
"""The task whose ablation is shown, where there is a run of it: a usual size."""
CELLS = 24
"""Characters of the longest bar."""
GROUPS = {
    "gemm": "matrix product, bf16",
    "norms": "softmax and rmsnorm",
    "attention": "attention forward",
}
AT_EACH = {"attention"}
"""Groups whose bar is one for each run, not for the mean."""
BESIDE = {"library": "the library's own choice", "torch": "torch, eager"}

Record = dict[str, Any]


def main() -> int:
    """Rewrite, check or show; 1 if it was to be checked and is not up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--show", nargs="+", type=Path, metavar="FILE")
    options = parser.parse_args()
    paths = [*FOLDER.glob("bars.json"), *sorted(FOLDER.glob("runs/*.json"))]
    found = read(options.show or paths)
    if options.show:
        sys.stdout.write(block(found))
        return 0
    old = README.read_text(encoding="utf-8")
    before, rest = old.split(BEGIN)
    _, after = rest.split(END)
    new = before + BEGIN + block(found) + END + after
    rows = every_run(found)
    if options.check:
        table = TABLE.read_text(encoding="utf-8") if TABLE.exists() else ""
        return int(new != old or rows != table)
    README.write_text(new, encoding="utf-8")
    if rows:
        TABLE.write_text(rows, encoding="utf-8")
    return 0


def read(paths: Iterable[Path]) -> list[Record]:
    """The records of all files."""
    return [json.loads(p.read_text(encoding="utf-8")) for p in paths]


def block(found: Sequence[Record]) -> str:
    """The Markdown between the markers."""
    parts = [bars(one) for one in found if "bars" in one]
    products = [
        one
        for one in found
        if one.get("ablation") and one["problem"].get("entry") == "gemm"
    ]
    if products:
        usual = (one for one in products if one["task"] == SHOWN)
        parts.append(ablation(next(usual, products[0])))
    return "\n".join(parts) or NONE


def every_run(found: Sequence[Record]) -> str:
    """What `bars.md` holds; empty without a record of the bars."""
    text = [module().table(one) for one in found if "bars" in one]
    if not text:
        return ""
    head = (
        "# The optimiser's bars\n\n<!-- Made by `python tools/document_runs.py` -->\n"
    )
    return "\n".join([head, *text]) + "\n"


def bars(found: Record) -> str:
    """One row for each group of runs, and where they were measured."""
    beside, least = module().BESIDE, module().BAR
    lines = [
        "| task | runs | beside | ratio, geometric mean | least | bar |",
        "| --- | ---: | --- | ---: | ---: | ---: |",
    ]
    timed = found["bars"]
    for group, title in GROUPS.items():
        times = [module().times_of(b) for b in timed if b["group"] == group]
        times = [t for t in times if beside[group] in t]
        if not times:
            continue
        baseline, bar = beside[group], least[group]
        ratios = [t[baseline] / t["best"] for t in times]
        mean = exp(sum(map(log, ratios)) / len(ratios))
        held = min(ratios) if group in AT_EACH else mean
        missed = "" if held >= bar else ", missed"
        lines.append(
            f"| {title} | {len(ratios)} | {BESIDE.get(baseline, baseline)} "
            f"| {mean:.3f} | {min(ratios):.3f} | {bar:.2f}{missed} |"
        )
    where = found["environment"]
    trials = sum(b["run"]["trials"] for b in timed)
    seconds = sum(b["run"]["gpu_seconds"] for b in timed)
    cut = sum(b["run"]["reason"] == "cut off" for b in timed)
    several = "runs were" if cut > 1 else "run was"
    short = f" ({cut} {several} cut off before the end)" if cut else ""
    same = sum(bool((b.get("side_by_side") or {}).get("same_program")) for b in timed)
    if same:
        short += f"; {same} ended with the very program that the library has"
    lines += [
        "",
        f"{len(timed)} runs from the naive kernel by the built-in agent, {trials} "
        f"trials and {seconds / 60:.0f} GPU minutes together{short}; times are "
        "interleaved with what they are beside, and the ratio is its time over theirs. "
        f"{where['gpu']}, torch {where['torch']}, CUDA {where['cuda']}, "
        f"{where['date'][:10]}. Made by `python benchmarks/bars.py OUT`; each run in "
        "[benchmarks/h200/bars.md](benchmarks/h200/bars.md).",
    ]
    return "\n".join(lines) + "\n"


def module() -> Any:
    """`benchmarks/bars.py`, which knows its bars and needs nothing to be read."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import bars as found

    sys.path.pop(0)
    return found


def ablation(record: Record) -> str:
    """The best kernel without each of its optimisations, as a bar chart in text."""
    best = record["best_microseconds"]
    sort = "measured" if record["measured"] else "predicted"
    where = f"on {record['device']}" if record["measured"] else "without a GPU"
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
        mark = "█" * max(1, round(CELLS * time / longest))
        lines.append(
            f"{text:<{left + 2}}{mark:<{CELLS}} {time:8.1f} µs {time / best:6.2f}x"
        )
    design = " ".join(f"{k}={v}" for k, v in record["design"].items())
    head = (
        f"The best kernel of `argus optimize` for {record['task']} without each of its "
        f"optimisations, {sort} {where}. It was trial {record['best_trial']} of "
        f"{record['trials']} and began at {record['start_microseconds']:.0f} µs; its "
        f"design is `{design}`."
    )
    return "\n".join([head, "", "```text ablation", *lines, "```"]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
