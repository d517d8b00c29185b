"""The plots of a report. No page, no reading of runs: numbers in, a picture out.

Every plot says whether its times are predicted or measured: ``kind`` is that word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from argus.report import figure as f
from argus.report.figure import Plot, Sheet, drawn
from argus.report.words import duration

Mark = Literal["start", "better", "correct", "failed"]


@dataclass(frozen=True)
class Attempt:
    """A trial on the trajectory; no time where it failed. ``what``: for the pointer."""

    trial: int
    mark: Mark
    microseconds: float | None
    what: str = ""


@dataclass(frozen=True)
class Level:
    """A horizontal line to compare with: a baseline or the speed of light."""

    name: str
    microseconds: float


@dataclass(frozen=True)
class Bar:
    """The time without an optimisation, over the time with all of them.

    ``said``: why there is no such time.
    """

    name: str
    slowdown: float | None
    said: str = ""


@dataclass(frozen=True)
class RooflinePoint:
    """A kernel in the roofline plot; ``kind`` chooses its mark."""

    name: str
    tflops: float
    kind: Literal["trial", "best", "baseline", "start"]
    link: str = ""


@dataclass(frozen=True)
class Roof:
    """The device: peak operations and bytes per second, and the work's intensity."""

    tflops: float
    terabytes: float
    intensity: float


def trajectory(attempts: Sequence[Attempt], levels: Sequence[Level], kind: str) -> Plot:
    """Time of every trial, and the best so far as a line."""
    timed = [(a, a.microseconds) for a in attempts if a.microseconds is not None]
    failed = [a for a in attempts if a.microseconds is None]

    def draw(sheet: Sheet) -> None:
        axes = sheet.axes
        looks = {
            "start": (f.INK, "s"),
            "better": (f.GREEN, "o"),
            "correct": (f.GREY, "o"),
        }
        names = {"better": "a new best", "correct": "correct, no better"}
        for mark, (colour, shape) in looks.items():
            named = False
            for a, y in timed:
                if a.mark != mark:
                    continue
                label = None if named else names.get(mark, mark)
                point = axes.scatter(
                    [a.trial], [y], c=colour, marker=shape, s=30, zorder=3, label=label,
                    edgecolors=f.SHEET, linewidths=0.6,
                )  # fmt: skip
                sheet.tip(point, _of_trial(a), f"#trial-{a.trial}")
                named = True
        if timed:
            best: list[float] = []
            for _, y in timed:
                best.append(min(y, best[-1]) if best else y)
            xs = [a.trial for a, _ in timed] + [attempts[-1].trial]
            axes.step(
                xs, [*best, best[-1]], where="post", color=f.GREEN, lw=1.6, zorder=2
            )
        for number, a in enumerate(failed):
            cross = axes.scatter(
                [a.trial], [0.035], c=f.RED, marker="x", s=26, zorder=3, lw=1.4,
                label="" if number else "not correct",
                transform=axes.get_xaxis_transform(),
            )  # fmt: skip
            sheet.tip(cross, _of_trial(a), f"#trial-{a.trial}")
        for number, level in enumerate(levels):
            style = ("--", ":", "-.")[number % 3]
            axes.axhline(
                level.microseconds, color=f.BLUE, lw=1.2, ls=style, zorder=1,
                label=f"{level.name} {duration(level.microseconds)}",
            )  # fmt: skip
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        axes.set_ylim(low / 1.12 if failed else low, high)
        axes.set_xlabel("trial")
        axes.set_ylabel(f"{kind} time, µs")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.margins(x=0.03)
        sheet.plain_ticks(axes.yaxis)
        sheet.legend()

    label = f"{kind} time of every trial, and of the best so far"
    return drawn("trajectory", label, draw, 3.5)


def _of_trial(a: Attempt) -> str:
    time = "" if a.microseconds is None else f", {duration(a.microseconds)}"
    return f"trial {a.trial}{time}: {a.what}" if a.what else f"trial {a.trial}{time}"


def ablation(bars: Sequence[Bar], kind: str) -> Plot:
    """How much longer the final kernel takes without each optimisation."""

    def draw(sheet: Sheet) -> None:
        axes = sheet.axes
        values = [1.0 if b.slowdown is None else b.slowdown for b in bars]
        rows = range(len(bars))
        # Bars begin at 1, which is the final kernel: their length is what is lost.
        drawn_bars = axes.barh(
            rows, [v - 1 for v in values], left=1.0, color=f.BLUE,
            height=0.34 if sheet.narrow else 0.6,
        )  # fmt: skip
        reach = max([1.1, *values]) - 1
        least = min([1.0, *values])
        axes.set_xlim(least - 0.02 * reach, 1 + 1.22 * reach)
        axes.spines["left"].set_visible(False)
        axes.axvline(1.0, color=f.INK, lw=1)
        axes.set_ylim(len(bars) - 0.4, -0.75 if sheet.narrow else -0.6)
        if sheet.narrow:  # names above their bars: beside them they would take half
            axes.set_yticks([])
            for row, bar in enumerate(bars):
                axes.annotate(
                    bar.name, (1.0, row - 0.2), (5, 0), textcoords="offset points",
                    va="bottom",
                )  # fmt: skip
        else:
            axes.set_yticks(rows, [b.name for b in bars])
            axes.tick_params(axis="y", length=0)
        for row, bar in enumerate(bars):
            known = bar.slowdown is not None
            text = f"{bar.slowdown:.2f}×" if known else f"({bar.said})"
            axes.annotate(
                text, (max(values[row], 1.0), row), (5, 0), va="center",
                textcoords="offset points", color=f.INK if known else f.RED,
            )  # fmt: skip
            sheet.tip(drawn_bars[row], f"without {bar.name}: {text}")
        axes.set_xlabel(f"{kind} time without it, over the best kernel's")
        axes.grid(visible=False, axis="y")

    each = 0.36
    height = 0.75 + each * len(bars)
    return drawn("ablation", "the final kernel without each optimisation", draw, height)


def roofline(roof: Roof, points: Sequence[RooflinePoint], kind: str) -> Plot:
    """Operations per second against operations per byte, under the device's limits."""
    ridge = roof.tflops / roof.terabytes
    low, high = min(ridge, roof.intensity) / 4, max(ridge, roof.intensity) * 4
    peak = min(roof.tflops, roof.intensity * roof.terabytes)

    def draw(sheet: Sheet) -> None:
        axes = sheet.axes
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.plot(
            [low, ridge, high],
            [low * roof.terabytes, roof.tflops, roof.tflops],
            color=f.INK,
            lw=1.6,
        )
        axes.axvline(roof.intensity, color=f.GREY, lw=1, ls=":")
        limit = axes.scatter(
            [roof.intensity], [peak], facecolors=f.SHEET, edgecolors=f.INK, s=34,
            label="speed of light", zorder=2,
        )  # fmt: skip
        sheet.tip(limit, f"speed of light at this intensity: {peak:.0f} TFLOP/s")
        looks = {
            "trial": (f.GREY, "o", 18),
            "start": (f.INK, "s", 34),
            "baseline": (f.BLUE, "D", 34),
            "best": (f.GREEN, "*", 130),
        }
        for sort, (colour, shape, size) in looks.items():
            named: set[str] = set()
            for p in (p for p in points if p.kind == sort):
                name = p.name if sort == "baseline" else sort
                dot = axes.scatter(
                    [roof.intensity], [p.tflops], c=colour, marker=shape, s=size,
                    label=None if name in named else name, zorder=3,
                    edgecolors=f.SHEET, linewidths=0.5,
                )  # fmt: skip
                named.add(name)
                sheet.tip(dot, f"{p.name}: {p.tflops:.3g} TFLOP/s {kind}", p.link)
        worst = min([peak, *(p.tflops for p in points)])
        axes.set_xlim(low, high)
        axes.set_ylim(worst / 2.5, roof.tflops * 2.6)
        axes.text(
            high / 1.15, roof.tflops * 1.2, f"{roof.tflops:.0f} TFLOP/s, tensor cores",
            ha="right", fontsize=8.5,
        )  # fmt: skip
        x = max(low * 1.2, 1.3 * worst / 2.5 / roof.terabytes)
        axes.annotate(
            f"{roof.terabytes:.1f} TB/s, memory", (x, x * roof.terabytes), (4, -9),
            textcoords="offset points", fontsize=8.5,
        )  # fmt: skip
        axes.set_xlabel("operations per byte")
        axes.set_ylabel(f"{kind} TFLOP/s")
        sheet.plain_ticks(axes.yaxis)
        sheet.plain_ticks(axes.xaxis)
        sheet.legend()

    label = f"roofline: {kind} operations per second of every trial"
    return drawn("roofline", label, draw, 3.7)


def bandwidth(terabytes: float, points: Sequence[RooflinePoint], kind: str) -> Plot:
    """Bytes per second of each trial; ``tflops`` of a point stands for terabytes."""

    def draw(sheet: Sheet) -> None:
        axes = sheet.axes
        looks = {"trial": f.GREY, "start": f.INK, "baseline": f.BLUE, "best": f.GREEN}
        named: set[str] = set()
        for place, p in enumerate(points):
            name = p.name if p.kind == "baseline" else p.kind
            dot = axes.scatter(
                [place], [p.tflops], c=looks[p.kind], s=34, zorder=3,
                marker="s" if p.kind == "start" else "o",
                label=None if name in named else name,
            )  # fmt: skip
            named.add(name)
            sheet.tip(dot, f"{p.name}: {p.tflops:.3g} TB/s {kind}", p.link)
        axes.axhline(terabytes, color=f.INK, lw=1.6)
        axes.annotate(
            f"{terabytes:.1f} TB/s, memory", (0, terabytes), (4, -11), fontsize=8.5,
            xycoords=axes.get_yaxis_transform(), textcoords="offset points",
        )  # fmt: skip
        axes.set_yscale("log")
        least = min(terabytes, *(p.tflops for p in points))
        axes.set_ylim(least / 2, terabytes * 2)
        axes.set_xticks([])
        axes.set_xlabel("correct trials, in order")
        axes.set_ylabel(f"{kind} TB/s, at least")
        sheet.plain_ticks(axes.yaxis)
        sheet.legend()

    label = f"{kind} bytes per second of every trial"
    return drawn("bandwidth", label, draw, 3.2)


def against(points: Sequence[tuple[int, float, float]], best: int) -> Plot:
    """Measured times of trials against predicted ones: (trial, predicted, measured)."""
    times = [t for _, *pair in points for t in pair]
    low, high = min(times) / 1.25, max(times) * 1.25

    def draw(sheet: Sheet) -> None:
        axes = sheet.axes
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.plot([low, high], [low, high], color=f.INK, lw=1, label="equal")
        for number, predicted, measured in points:
            first = number == best
            dot = axes.scatter(
                [predicted], [measured], c=f.GREEN if first else f.GREY,
                marker="*" if first else "o", s=130 if first else 26, zorder=3,
                edgecolors=f.SHEET, linewidths=0.5, label="best" if first else None,
            )  # fmt: skip
            said = f"{duration(predicted)} predicted, {duration(measured)} measured"
            sheet.tip(dot, f"trial {number}: {said}", f"#trial-{number}")
        axes.set_xlim(low, high)
        axes.set_ylim(low, high)
        axes.set_xlabel("predicted time, µs")
        axes.set_ylabel("measured time, µs")
        sheet.plain_ticks(axes.yaxis)
        sheet.plain_ticks(axes.xaxis)
        sheet.legend()

    return drawn("against", "measured times against predicted ones", draw, 3.4)


def histories(series: Sequence[tuple[str, Sequence[tuple[int, float]]]]) -> Plot:
    """Numbers of the policy over the trials that changed them."""

    def draw(sheet: Sheet) -> None:
        axes = sheet.axes
        for number, (name, points) in enumerate(series):
            x, y = zip(*points, strict=True)
            colour = f.SERIES[number % len(f.SERIES)]
            axes.plot(x, y, color=colour, lw=1.3, marker="o", ms=4, label=name)
        axes.axhline(0, color=f.INK, lw=0.8)
        axes.set_xlabel("trial")
        axes.set_ylabel("mean reward")
        axes.xaxis.get_major_locator().set_params(integer=True)
        sheet.legend(columns=3)

    label = "mean reward of each optimisation, after every trial"
    return drawn("policy", label, draw, 3.4)
