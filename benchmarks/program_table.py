"""Rows of `programs.py` as text."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, log
from typing import Any

BASELINES = ("eager", "graph", "compile", "autotune")
PROGRAMS = ("argus", "argus_graph")
TOLERANCE = 1e-4
"""KernelBench's for f32: `torch.allclose` with it as rtol and atol."""
FIRST_TOLERANCE = 1e-2
"""That of KernelBench's first versions, for all element types."""
TF32 = 2.0**-11
"""The most that rounding an operand to TF32 changes it, relatively."""
NO_WORSE = 2.0
"""Factor of torch's own error up to which a result is as near to that in f64."""


def wrong(row: dict[str, Any]) -> str:
    """Why a row is not right; "" where it is.

    It is where all elements are close to eager torch's, or where the program is as near
    to the result in f64 as torch is (or as rounding to TF32, where its kernels multiply
    so by torch's flag), and close by the tolerance of the first versions, or in each
    element as near as torch: torch in TF32 is off by more than 1e-4 itself, and in 16
    bits often by more than 1e-2.
    """
    if "tolerance" not in row:
        return "; ".join(row.get("failed", ())) or "not run"
    if row["complaints"]:
        return "; ".join(row["complaints"])
    if not row.get("same_again", True):
        return "another result in the second call"
    if row["tolerance"] <= TOLERANCE:
        return ""
    own = max(NO_WORSE * row.get("error_torch", 0.0), TF32 * row.get("tf32", False))
    near = row.get("error", inf) <= own
    each = row.get("worst", inf) <= NO_WORSE * row.get("worst_torch", 0.0)
    if near and (each or row["tolerance"] <= FIRST_TOLERANCE):
        return ""
    return f"off by {row['tolerance']:.1e}"


def ratio(row: dict[str, Any], names: Sequence[str]) -> float | None:
    """The best of baselines over the best of the program's times."""
    base = [row[f"{n}_us"] for n in names if f"{n}_us" in row]
    own = PROGRAMS[:1] if tuple(names) == ("eager",) else PROGRAMS
    mine = [row[f"{n}_us"] for n in own if f"{n}_us" in row]
    return min(base) / min(mine) if base and mine else None


def shown(row: dict[str, Any]) -> str:
    """A row of the table."""
    times = " ".join(
        f"{name} {row[f'{name}_us']:.0f}"
        for name in (*BASELINES, *PROGRAMS)
        if f"{name}_us" in row
    )
    parts = [
        f"{row['file'].replace('.py', '')[:40]:40}",
        f"k {row.get('kernels', '?'):>2} left {len(row.get('left', ())):>2}",
    ]
    if "small" in row:
        parts.append(f"small {row['small']:.1e}")
    if "tolerance" in row:
        parts.append(f"{'WRONG' if wrong(row) else 'right'} {row['tolerance']:.0e}")
    if "error" in row:
        parts.append(f"f64 {row['error']:.0e} torch {row['error_torch']:.0e}")
    parts.append(times)
    against = [ratio(row, ("eager",)), ratio(row, BASELINES)]
    parts += [f"{r:.2f}" for r in against if r is not None]
    parts.append(" ".join(f"{k} {n}" for k, n in row.get("verdicts", {}).items()))
    seconds = row.get("seconds", {})
    parts.append(" ".join(f"{n} {s:.0f}s" for n, s in seconds.items() if s >= 1))
    said = [*row.get("failed", ()), *row.get("complaints", ())]
    said += [f"{n}: {row[n]}" for n in row if n.endswith("_failed") or n == "no_f64"]
    parts.append("; ".join(said)[:160])
    lines = ["  ".join(p for p in parts if p)]
    for name, sizes, spent, *times in row.get("by_kernel", ()):
        often = f" x {times[0]}" if times and times[0] > 1 else ""
        lines.append(f"      {spent:9.1f} us{often} {name} {sizes}"[:120])
    return "\n".join(lines)


_HEAD = (
    ("file", "---"),
    ("kernels", "---:"),
    ("left in torch", "---:"),
    ("right", "---"),
    ("error", "---:"),
    ("torch's", "---:"),
)


def page(rows: Sequence[dict[str, Any]]) -> str:
    """A page of Markdown: what the rows say together, and a table of each folder."""
    lines = ["# PyTorch files as programs", "", "```text", summary(rows), "```", ""]
    lines += [
        "Times in \u00b5s, medians of calls with a cold L2; errors are norms of the"
        " difference to f64 over its norm; the ratios are the time of eager torch, and"
        " of the best beside, over that of Argus (the first without graphs).",
    ]
    names = [
        n for n in (*BASELINES, *PROGRAMS) if any(f"{n}_us" in row for row in rows)
    ]
    head = [*_HEAD, *((n, "---:") for n in (*names, "eager / argus", "best / argus"))]
    for folder in sorted({row["file"].partition("/")[0] for row in rows}):
        lines += ["", f"## {folder}", ""]
        lines += [
            _cells([name for name, _ in head]),
            _cells([rule for _, rule in head]),
        ]
        own = [row for row in rows if row["file"].startswith(f"{folder}/")]
        lines += [_line(row, names) for row in sorted(own, key=_number)]
    return "\n".join(lines) + "\n"


def _line(row: dict[str, Any], names: Sequence[str]) -> str:
    """A row of a page."""
    cells = [row["file"].partition("/")[2].removesuffix(".py").rstrip("_")]
    cells += [str(row.get("kernels", "")), str(len(row.get("left", ())))]
    cells.append(wrong(row) or f"within {row['tolerance']:.0e}")
    cells += [f"{row[n]:.0e}" if n in row else "" for n in ("error", "error_torch")]
    cells += [f"{row[f'{n}_us']:.0f}" if f"{n}_us" in row else "" for n in names]
    found = (ratio(row, ("eager",)), ratio(row, BASELINES))
    cells += [f"{r:.2f}" if r is not None else "" for r in found]
    return _cells(cells)


def _cells(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _number(row: dict[str, Any]) -> tuple[int, str]:
    """Files are ordered by the numbers that their names begin with."""
    name = row["file"].partition("/")[2]
    number = name.partition("_")[0]
    return int(number) if number.isdigit() else 0, name


def geomean(values: Sequence[float]) -> float:
    """The geometric mean."""
    return exp(sum(map(log, values)) / len(values)) if values else float("nan")


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """What the rows say together, by folder."""
    lines: list[str] = []
    for folder in sorted({row["file"].partition("/")[0] for row in rows}):
        own = [row for row in rows if row["file"].startswith(f"{folder}/")]
        whole = [row for row in own if row.get("left") == []]
        lines.append(f"{folder}: {len(whole)} of {len(own)} whole")
        small = [row for row in own if "small" in row]
        if small:
            good = sum(row["small"] < 1e-4 for row in small)
            lines[-1] += f", {good} of {len(small)} right when small"
        ran = [row for row in own if "tolerance" in row]
        if not ran:
            continue
        right = [row for row in ran if not wrong(row)]
        strict = sum(row["tolerance"] <= TOLERANCE for row in right)
        lines[-1] += (
            f", {len(right)} of {len(ran)} right ({strict} within {TOLERANCE:.0e})"
        )
        for names, words in ((("eager",), "eager"), (BASELINES, "the best")):
            found = [r for row in right if (r := ratio(row, names)) is not None]
            if found:
                slow = sum(r < 0.7 for r in found)
                lines.append(
                    f"  against {words}: geomean {geomean(found):.2f} of {len(found)}, "
                    f"least {min(found):.2f}, {slow} below 0.7"
                )
        for row in own:
            if row in ran and wrong(row):
                lines.append(f"  wrong: {row['file']}: {wrong(row)}"[:160])
    return "\n".join(lines)
