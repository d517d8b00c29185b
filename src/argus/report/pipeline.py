"""The pipeline of a block as a picture: who does what when, and what slots hold."""

from __future__ import annotations

from argus.model.timeline import Kind, Stay, Timeline
from argus.report import figure as f
from argus.report.figure import Plot, Sheet, drawn, library

LOOKS: dict[Kind, tuple[str, str, str]] = {
    "copy": (f.BLUE, "", "copies"),
    "load": (f.BLUE, "", "loads"),
    "full": (f.PALE_BLUE, "", "slot full"),
    "read": (f.PALE_GREEN, "", "slot is read"),
    "product": (f.GREEN, "", "matrix products"),
    "work": (f.AMBER, "", "instructions"),
    "store": (f.PURPLE, "", "stores"),
    "wait data": (f.PALE, "////", "waits for data"),
    "wait slot": (f.PALER, "", "waits for a slot"),
    "sync": (f.GREY, "", "waits for threads"),
}
"""Colour, hatch and name of what a lane is busy with, in the order of the legend."""


def pipeline(found: Timeline) -> Plot:
    """One row for each lane; what is drawn is said by the model, never measured."""

    def draw(sheet: Sheet) -> None:
        from matplotlib import patches

        patch = library(patches).Patch
        axes = sheet.axes
        for stay in found.stays:
            colour, hatch, _ = LOOKS[stay.kind]
            (bar,) = axes.barh(
                stay.lane, stay.end - stay.begin, left=stay.begin, height=0.72,
                color=colour, hatch=hatch, edgecolor=f.SHEET, linewidth=0.4,
            )  # fmt: skip
            sheet.tip(bar, said(found, stay))
        axes.set_yticks(range(len(found.lanes)), [lane.name for lane in found.lanes])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(found.lanes) - 0.45, -0.55)
        for row in _borders(found):
            axes.axhline(row - 0.5, color=f.GRID, lw=0.8)
        axes.set_xlim(0, max((s.end for s in found.stays), default=1.0))
        axes.set_xlabel("µs since the block began, predicted")
        axes.grid(visible=False, axis="y")
        kinds = {s.kind for s in found.stays}
        names: dict[Kind, str] = {kind: look[2] for kind, look in LOOKS.items()}
        if {"copy", "load"} <= kinds:  # they look alike
            kinds.remove("load")
            names["copy"] = "copies, loads"
        handles = [
            patch(
                facecolor=LOOKS[kind][0], hatch=LOOKS[kind][1], label=names[kind],
                edgecolor=f.SHEET, linewidth=0.4,
            )
            for kind in LOOKS
            if kind in kinds
        ]  # fmt: skip
        sheet.legend(handles, columns=9)

    label = "what each role, slot and unit does over a few iterations, by the model"
    height = 1.35 + 0.27 * len(found.lanes)
    return drawn("pipeline", label, draw, height)


def _borders(found: Timeline) -> list[int]:
    """Rows before which another sort of lanes begins."""
    lanes = found.lanes
    return [i for i in range(1, len(lanes)) if lanes[i].what != lanes[i - 1].what]


def said(found: Timeline, stay: Stay) -> str:
    """In words: `load, 1.84 to 1.87 µs: copies to shared memory, slot 0`."""
    lane = found.lanes[stay.lane]
    slot = ""
    if stay.slot is not None and lane.what != "slot":
        slot = f", slot {stay.slot}"
    what = LOOKS[stay.kind][2]
    return f"{lane.name}, {stay.begin:.2f} to {stay.end:.2f} µs: {what}{slot}"
