"""Pictures as SVG text: grids of elements, and tiles inside their tensors.

Sizes are in the SVG's own units; the page scales them. Colours come from the page's
style by class, but for the cells: 32 hues, far apart for neighbours.
"""

from __future__ import annotations

from html import escape

from argus.verify.render.picture import ElementGrid, Region

CELL = 25, 20
"""Width and height of a cell."""
_LEFT, _TOP = 46, 30


def grid(picture: ElementGrid, cell: tuple[int, int] = CELL) -> str:
    """A part of a tile; the marked element has a thick frame. ``cell``: its size."""
    wide, high = cell
    rows, columns = picture.cells.shape
    width = _LEFT + columns * wide + 8
    height = _TOP + rows * high + 8
    parts = [_open(width, height, picture.title)]
    parts.append(_text(_LEFT, 10, picture.axes[1], "axis"))
    if picture.axes[0]:
        parts.append(_text(2, _TOP - 4, picture.axes[0], "axis"))
    for c in range(columns):
        if (picture.column + c) % 4 == 0:
            x = _LEFT + c * wide
            parts.append(_text(x + 3, _TOP - 5, str(picture.column + c), "tick"))
    for r in range(rows):
        y = _TOP + r * high
        number = str(picture.row + r)
        parts.append(_text(_LEFT - 5, y + high / 2 + 4, number, "tick", "end"))
        for c in range(columns):
            value = int(picture.cells[r, c])
            x = _LEFT + c * wide
            parts.append(
                f'<rect x="{x}" y="{y}" width="{wide - 1}" '
                f'height="{high - 1}" fill="{colour(value)}">'
                f"<title>{escape(_place(picture, r, c))}</title></rect>"
            )
            parts.append(
                f'<text x="{x + wide / 2 - 0.5}" y="{y + high / 2 + 3.5}" class="cell">'
                f"{value}</text>"
            )
    r, c = picture.marked[0] - picture.row, picture.marked[1] - picture.column
    x, y = _LEFT + c * wide, _TOP + r * high
    parts.append(
        f'<rect x="{x - 2}" y="{y - 2}" width="{wide + 3}" '
        f'height="{high + 3}" rx="3" class="mark"/>'
    )
    return "".join([*parts, "</svg>"])


def _place(picture: ElementGrid, r: int, c: int) -> str:
    """Where the element of a cell is, for whoever points at it."""
    value, place = int(picture.cells[r, c]), int(picture.places[r, c])
    element = f"({picture.row + r}, {picture.column + c})"
    if picture.kind == "bank":
        return f"{element}: byte {place}, bank {value}"
    warp, lane = divmod(value, picture.lanes)
    return f"{element}: thread {value} (warp {warp}, lane {lane}), register {place}"


def region(picture: Region) -> str:
    """A tensor, the tile inside it, the element inside that; not to scale if tiny."""
    width, height, left, top = 290.0, 190.0, 46.0, 30.0
    box_w, box_h = width - left - 10, height - top - 12
    # A tile may stand out of its tensor: what is drawn holds both.
    (y0, ys), (x0, xs) = (_span(picture, axis) for axis in (0, 1))
    sx, sy = box_w / xs, box_h / ys
    tx, ty = left - x0 * sx, top - y0 * sy
    tw, th = picture.extent[1] * sx, picture.extent[0] * sy
    x, y = tx + picture.at[1] * sx, ty + picture.at[0] * sy
    w, h = max(picture.size[1] * sx, 4.0), max(picture.size[0] * sy, 4.0)
    mx, my = tx + (picture.marked[1] + 0.5) * sx, ty + (picture.marked[0] + 0.5) * sy
    parts = [
        _open(width, height, picture.title),
        _text(left, 10, f"{picture.axes[1]} = {picture.extent[1]}", "axis"),
        _text(2, top - 6, f"{picture.axes[0]} = {picture.extent[0]}", "axis")
        if picture.axes[0]
        else "",
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" '
        'class="tile"/>',
        f'<rect x="{tx:.1f}" y="{ty:.1f}" width="{tw:.1f}" height="{th:.1f}" '
        'class="tensor"/>',
        f'<line x1="{left}" y1="{my:.1f}" x2="{left + box_w}" y2="{my:.1f}" '
        'class="hair"/>',
        f'<line x1="{mx:.1f}" y1="{top}" x2="{mx:.1f}" y2="{top + box_h}" '
        'class="hair"/>',
        f'<circle cx="{mx:.1f}" cy="{my:.1f}" r="4.5" class="dot"/>',
    ]
    return "".join([*parts, "</svg>"])


def _span(picture: Region, axis: int) -> tuple[int, int]:
    """First coordinate that is drawn, and how many."""
    low = min(0, picture.at[axis])
    high = max(picture.extent[axis], picture.at[axis] + picture.size[axis], 1)
    return low, high - low


HUES = 32


def colour(value: int) -> str:
    """One of `HUES`; neighbours differ in hue and every other one in lightness."""
    index = value % HUES
    hue = index * 360 / HUES
    light = 74 if index % 2 else 84
    return f"hsl({hue:.0f} 62% {light}%)"


def _open(width: float, height: float, title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{escape(title, quote=True)}">'
    )


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )
