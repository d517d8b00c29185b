"""Matplotlib figures as SVG for a page: its fonts, its colours, tips, two widths.

    def draw(sheet: Sheet) -> None:
        point = sheet.axes.scatter([1], [2], c=GREEN)
        sheet.tip(point, "trial 1: 2 µs", "#trial-1")

    plot = drawn("trajectory", "time of every trial", draw, height=3.3)

Text stays text. Colours are names that the page gives values to, so that a figure
follows the page's light and dark scheme. A figure is drawn twice, wide and narrow, with
letters of the same size; the page shows the one that fits.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

# Matplotlib's annotations leave keyword arguments open: its objects are `Any` here.

INK, GRID = "#1d2733", "#dde2e7"
BLUE, GREEN, GREY, RED = "#2f6fb0", "#2e8b57", "#9aa3ad", "#c2453d"
AMBER, PURPLE, PALE_BLUE, PALE_GREEN = "#d39a2d", "#8467b7", "#a8c6e8", "#a4d4bb"
PALE, PALER, SHEET = "#c6cdd4", "#e3e7eb", "#fdfefe"
SERIES = (BLUE, GREEN, AMBER, PURPLE, RED, GREY, PALE_BLUE, PALE_GREEN)

VARIABLES = {
    INK: "ink", GRID: "grid", BLUE: "blue", GREEN: "green", GREY: "grey", RED: "red",
    AMBER: "amber", PURPLE: "purple", PALE_BLUE: "pale-blue",
    PALE_GREEN: "pale-green", PALE: "pale", PALER: "paler", SHEET: "sheet",
}  # fmt: skip
"""The page's variable (``--plot-...``) for each colour; it is the fallback, too."""

WIDE, NARROW = 10.0, 3.9
"""Inches; the page scales what it shows."""
_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "argus",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "xtick.color": INK,
    "ytick.color": INK,
    "hatch.linewidth": 0.5,
}


@dataclass(frozen=True)
class Plot:
    """One picture in two widths, as SVG elements, and what it shows in words."""

    name: str
    label: str
    wide: str
    narrow: str


@dataclass
class Sheet:
    """What a plot is drawn on. ``narrow``: for a small screen."""

    figure: Any
    axes: Any
    narrow: bool
    tips: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def tip(self, artist: Any, text: str, link: str = "") -> None:
        """What is said of an artist under the pointer, and where a click leads."""
        artist.set_gid(f"tip{len(self.tips)}")
        self.tips.append((text, link))

    def legend(self, handles: list[Any] | None = None, columns: int = 6) -> None:
        """A legend above the axes; ``columns``: how many there may be where it is wide.

        Without ``handles``, of what has a label.
        """
        if handles is None:
            handles, _ = self.axes.get_legend_handles_labels()
        if not handles:
            return
        self.figure.legend(
            handles=handles,
            frameon=False,
            fontsize=8.5,
            loc="outside upper left",
            borderaxespad=0.1,
            borderpad=0.1,
            handletextpad=0.5,
            handlelength=1.4,
            columnspacing=1.4,
            ncols=2 if self.narrow else columns,
        )

    def plain_ticks(self, axis: Any) -> None:
        """Numbers as people write them, instead of powers of ten."""
        from matplotlib import ticker

        ticks = library(ticker)
        low, high = axis.get_view_interval()
        decades = high / low
        steps = (1, 2, 5) if decades < 300 else (1,)
        if decades < 6:
            steps = (1, 1.5, 2, 3, 4, 5, 6, 8)
        axis.set_major_locator(ticks.LogLocator(subs=steps))
        axis.set_major_formatter(ticks.StrMethodFormatter("{x:g}"))
        axis.set_minor_locator(ticks.NullLocator())


def drawn(name: str, label: str, draw: Callable[[Sheet], None], height: float) -> Plot:
    """Both widths of a plot. ``name`` is unique on the page; ``height`` in inches."""
    import matplotlib

    with library(matplotlib).rc_context(_SETTINGS):
        made = [
            _one(f"{name}-{size[0]}", label, draw, size == "narrow", height)
            for size in ("wide", "narrow")
        ]
    return Plot(name, label, *made)


def library(module: Any) -> Any:
    """A module of matplotlib, of which nothing is known."""
    return module


def _one(
    prefix: str, label: str, draw: Callable[[Sheet], None], narrow: bool, height: float
) -> str:
    # The object interface: no global state, no display, no backend to choose.
    from matplotlib import figure as figures

    size = (NARROW if narrow else WIDE, height)
    figure = library(figures).Figure(figsize=size, layout="constrained")
    figure.patch.set_alpha(0.0)
    axes = figure.add_subplot()
    axes.patch.set_alpha(0.0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(visible=True, lw=0.5, color=GRID)
    axes.set_axisbelow(True)
    axes.tick_params(length=3, width=0.7)
    sheet = Sheet(figure, axes, narrow)
    draw(sheet)
    # Once: saving would do it before each of its two passes.
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return _element(buffer.getvalue(), label, prefix, sheet.tips)


def _element(text: str, label: str, prefix: str, tips: list[tuple[str, str]]) -> str:
    """The figure's SVG element for a page, the same text for the same plot."""
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    root = ElementTree.fromstring(text[text.index("<svg") :])
    # Metadata names vocabularies by address; a style here would be one for the page.
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    for size in ("width", "height"):
        root.attrib.pop(size, None)
    for element in root.iter():
        _own_names(element, prefix)
    by_name = {e.attrib["id"]: e for e in root.iter() if "id" in e.attrib}
    for number, (said, link) in enumerate(tips):
        target = by_name.get(f"{prefix}-tip{number}")
        if target is not None:
            _tell(target, said, link)
    title = ElementTree.Element(f"{{{_SVG}}}title")
    title.text = label
    root.insert(0, title)
    root.attrib.update({"role": "img", "aria-label": label})
    made = ElementTree.tostring(root, encoding="unicode")
    for colour, variable in VARIABLES.items():
        made = made.replace(colour, f"var(--plot-{variable}, {colour})")
    # The page's font; matplotlib has measured with another, which is wider.
    return re.sub(r"font: ([\d.]+px) [^;\"]*", r"font: \1 var(--sans)", made)


def _own_names(element: ElementTree.Element, prefix: str) -> None:
    """Names within the figure become names of the page, which has several figures."""
    attributes = element.attrib
    if "id" in attributes:
        attributes["id"] = f"{prefix}-{attributes['id']}"
    for key, value in list(attributes.items()):
        if key == f"{{{_XLINK}}}href":
            del attributes[key]
            attributes["href"] = value.replace("#", f"#{prefix}-", 1)
        elif "url(#" in value:
            attributes[key] = value.replace("url(#", f"url(#{prefix}-")


def _tell(element: ElementTree.Element, said: str, link: str) -> None:
    """Put a title in front of an element's content, and a link around it."""
    content = list(element)
    for child in content:
        element.remove(child)
    title = ElementTree.SubElement(element, f"{{{_SVG}}}title")
    title.text = said
    inside = element
    if link:
        # Nothing that the tab key stops at: the table leads to the same places.
        at = {"href": link, "tabindex": "-1"}
        inside = ElementTree.SubElement(element, f"{{{_SVG}}}a", at)
    inside.extend(content)
