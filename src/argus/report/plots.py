"""Plots of a run as SVG text, drawn with matplotlib. No page, no reading of runs.

Text stays text (the page's font, searchable), and sizes are relative: the page scales
the pictures to the screen.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

# Matplotlib's annotations leave keyword arguments open: its objects are `Any` here.

Mark = Literal["start", "better", "correct", "failed"]

BLUE, GREEN, GREY, RED, INK = "#2f6fb0", "#2e8b57", "#9aa3ad", "#c2453d", "#1d2733"
_SIZE = (7.2, 3.4)


@dataclass(frozen=True)
class Attempt:
    """A trial on the trajectory; no time where it failed."""

    trial: int
    mark: Mark
    microseconds: float | None


@dataclass(frozen=True)
class Level:
    """A horizontal line to compare with: a baseline or the speed of light."""

    name: str
    microseconds: float


@dataclass(frozen=True)
class Bar:
    """The time without one optimisation, over the time with all of them."""

    name: str
    slowdown: float | None


@dataclass(frozen=True)
class Point:
    """A kernel in the roofline plot; ``kind`` chooses its mark."""

    name: str
    tflops: float
    kind: Literal["trial", "best", "baseline", "start"]


@dataclass(frozen=True)
class Roof:
    """The device: peak operations and bytes per second, and the work's intensity."""

    tflops: float
    terabytes: float
    intensity: float


def trajectory(attempts: Sequence[Attempt], levels: Sequence[Level], kind: str) -> str:
    """Time of every trial, and the best so far as a line. ``kind`` names the times."""
    figure, axes = _axes()
    timed = [(a.trial, a.microseconds, a.mark) for a in attempts if a.microseconds]
    marks = {"start": (INK, "s"), "better": (GREEN, "o"), "correct": (GREY, "o")}
    for mark, (colour, shape) in marks.items():
        at = [(x, y) for x, y, m in timed if m == mark]
        if at:
            x, y = zip(*at, strict=True)
            axes.scatter(x, y, c=colour, marker=shape, s=28, zorder=3, label=mark)
    if timed:
        best: list[float] = []
        for _, y, _ in timed:
            best.append(min(y, best[-1]) if best else y)
        last = attempts[-1].trial
        xs = [x for x, _, _ in timed] + [last]
        axes.step(xs, [*best, best[-1]], where="post", color=GREEN, lw=1.6, zorder=2)
    failed = [a.trial for a in attempts if a.microseconds is None]
    if failed:
        bottom = [0.03] * len(failed)
        axes.scatter(
            failed, bottom, c=RED, marker="x", s=26, label="failed", zorder=3,
            transform=axes.get_xaxis_transform(),
        )  # fmt: skip
    for number, level in enumerate(levels):
        style = ("--", ":", "-.")[number % 3]
        axes.axhline(level.microseconds, color=BLUE, lw=1.1, ls=style, zorder=1,
                     label=level.name)  # fmt: skip
    axes.set_yscale("log")
    axes.set_xlabel("trial")
    axes.set_ylabel(f"{kind} time, µs")
    axes.xaxis.get_major_locator().set_params(integer=True)
    _plain_ticks(axes)
    axes.legend(frameon=False, fontsize=8, ncols=3, loc="upper right")
    return _svg(figure, "time of every trial")


def ablation(bars: Sequence[Bar]) -> str:
    """How much longer the final kernel takes without each optimisation."""
    height = 0.9 + 0.34 * len(bars)
    figure, axes = _axes((_SIZE[0], height))
    names = [b.name for b in bars]
    values = [b.slowdown if b.slowdown is not None else 0.0 for b in bars]
    axes.barh(names, values, color=BLUE, height=0.62)
    axes.axvline(1.0, color=INK, lw=1)
    axes.invert_yaxis()
    for row, bar in enumerate(bars):
        text = f"{bar.slowdown:.2f}x" if bar.slowdown is not None else "not correct"
        axes.text(values[row], row, f" {text}", va="center", fontsize=9)
    axes.set_xlim(0, 1.15 * max([1.1, *values]))
    axes.set_xlabel("time without it, relative to the final kernel")
    axes.grid(visible=False, axis="y")
    return _svg(figure, "the final kernel without each optimisation")


def roofline(roof: Roof, points: Sequence[Point]) -> str:
    """Operations per second against operations per byte, under the device's limits."""
    figure, axes = _axes()
    ridge = roof.tflops / roof.terabytes
    low, high = min(ridge, roof.intensity) / 8, max(ridge, roof.intensity) * 8
    axes.plot(
        [low, ridge, high],
        [low * roof.terabytes, roof.tflops, roof.tflops],
        color=INK,
        lw=1.6,
    )
    axes.axvline(roof.intensity, color=GREY, lw=1, ls=":")
    looks = {
        "trial": (GREY, "o", 18),
        "start": (INK, "s", 36),
        "baseline": (BLUE, "D", 40),
        "best": (GREEN, "*", 130),
    }
    for kind, (colour, shape, size) in looks.items():
        found = [p for p in points if p.kind == kind]
        if found:
            x, y = [roof.intensity] * len(found), [p.tflops for p in found]
            name = kind if kind in ("trial", "start", "best") else found[0].name
            axes.scatter(x, y, c=colour, marker=shape, s=size, label=name, zorder=3)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("operations per byte")
    axes.set_ylabel("TFLOP/s")
    _plain_ticks(axes)
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    return _svg(figure, "roofline")


@dataclass(frozen=True)
class Span:
    """A box of the pipeline: a lane, its begin and length, and a slot to colour it."""

    lane: int
    begin: float
    length: float
    slot: int


def pipeline(lanes: Sequence[str], spans: Sequence[Span], unit: str) -> str:
    """Who works on which slot when; one row for each lane."""
    from matplotlib import colormaps

    figure, axes = _axes((_SIZE[0], 1.0 + 0.5 * len(lanes)))
    colours: Any = colormaps["tab10"]
    for span in spans:
        axes.barh(
            span.lane,
            span.length,
            left=span.begin,
            height=0.7,
            color=colours(span.slot % 10),
            edgecolor="white",
            linewidth=0.6,
        )
    axes.set_yticks(range(len(lanes)), lanes)
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.grid(visible=False, axis="y")
    return _svg(figure, "pipeline of the roles")


def histories(series: Sequence[tuple[str, Sequence[tuple[int, float]]]]) -> str:
    """Numbers of the policy over the trials that changed them."""
    figure, axes = _axes()
    for name, points in series:
        x, y = zip(*points, strict=True)
        axes.plot(x, y, marker="o", ms=3, lw=1.2, label=name)
    axes.axhline(0, color=INK, lw=0.8)
    axes.set_xlabel("trial")
    axes.set_ylabel("preference")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(frameon=False, fontsize=8, ncols=2)
    return _svg(figure, "preferences of the policy")


def _axes(size: tuple[float, float] = _SIZE) -> tuple[Any, Any]:
    # The object interface: no global state, no display, no backend to choose.
    from matplotlib import figure as figures

    figure = _library(figures).Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(visible=True, lw=0.4, color="#dde2e7")
    axes.set_axisbelow(True)
    return figure, axes


def _plain_ticks(axes: Any) -> None:
    """Numbers as people write them, instead of powers of ten."""
    from matplotlib import ticker

    ticks = _library(ticker)
    axes.yaxis.set_major_locator(ticks.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(ticks.StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(ticks.NullFormatter())


def _library(module: Any) -> Any:
    return module


def _svg(figure: Any, label: str) -> str:
    """The figure's SVG element, scalable, the same text for the same plot."""
    import matplotlib

    settings: dict[str, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "argus",
        "font.family": "sans-serif",
    }
    buffer = io.StringIO()
    with _library(matplotlib).rc_context(settings):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    element = text[text.index("<svg") :]
    # The page sets the size; the viewBox keeps the proportions.
    element = re.sub(r'^(<svg[^>]*?) height="[^"]*"', r"\1", element, count=1)
    element = re.sub(r'^(<svg[^>]*?) width="[^"]*"', r"\1", element, count=1)
    # Matplotlib names a metadata vocabulary that nobody needs, with addresses in it.
    element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.S)
    return element.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
