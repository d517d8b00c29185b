"""The page in a browser: nothing is fetched, all is to be seen, on wide and narrow.

Needs Chromium on the path; is skipped, and says so, where there is none.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from argus.cli.app import app
from command_line import Commands

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    None,
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the path")

WIDE, NARROW = 1280, 400
SCREENS = [(w, s) for w in (WIDE, NARROW) for s in ("light", "dark")]

OVERFLOWING = """() => [...document.querySelectorAll('main *')].filter(e => {
  if (e.getBoundingClientRect().right <= innerWidth + 1) return false;
  for (let q = e.parentElement; q; q = q.parentElement)
    if (getComputedStyle(q).overflowX != 'visible') return false;
  return true;
}).map(e => e.tagName + '.' + e.className)"""

CHECKED = """import argus as ag
from argus import f32


@ag.kernel
def fine_NAME(X: f32["N"], Y: f32["N"]):
    i = ag.block(ag.cdiv(X.shape[0], 128))
    Y[i * 128 :] = ag.load(X[i * 128 :], (128,))


@ag.kernel
def twice_NAME(X: f32["N"], Y: f32["N"]):
    i = ag.block(ag.cdiv(X.shape[0], 128))
    Y[i * 128 :] = ag.load(X[i * 128 :], (128,)) * 2.0


@ag.reference
def twice_NAME_reference(X):
    return X * 3


@ag.kernel
def askew_NAME(X: f32["M N"], Y: f32["M N"]):
    Y[0:, 0:] = ag.load(X[0:, 0:], (64, 64)) + ag.load(X[0:, 0:], (64, 32))
"""

CONTRAST = """(element) => {
  // Colours as the browser paints them, whatever notation they have.
  const canvas = document.createElement('canvas'); canvas.width = canvas.height = 1;
  const context = canvas.getContext('2d', {willReadFrequently: true});
  const rgba = c => { context.clearRect(0, 0, 1, 1); context.fillStyle = c;
    context.fillRect(0, 0, 1, 1); return context.getImageData(0, 0, 1, 1).data; };
  const light = ([r, g, b]) => { const f = [r, g, b].map(v => { v /= 255;
    return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
  const svg = element instanceof SVGElement;
  const style = getComputedStyle(element);
  let ground = element;
  while (rgba(getComputedStyle(ground).backgroundColor)[3] < 255)
    ground = ground.parentElement;
  const a = light(rgba(svg ? style.fill : style.color));
  const b = light(rgba(getComputedStyle(ground).backgroundColor));
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}"""


@dataclass
class Shown:
    """A page in the browser, and what it did on the way."""

    page: Any
    messages: list[str] = field(default_factory=list[str])
    requests: list[str] = field(default_factory=list[str])


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Containers, where tests may run as root, have no sandbox to offer.
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        yield chromium
        chromium.close()


Show = Callable[..., Shown]


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Show]:
    opened: list[Any] = []

    def shown(text: str, width: int, scheme: str = "light", at: str = "") -> Shown:
        path = tmp_path / "report.html"
        path.write_text(text, encoding="utf-8")
        page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        opened.append(page)
        found = Shown(page)
        page.on("console", lambda m: found.messages.append(m.text))
        page.on("pageerror", lambda e: found.messages.append(str(e)))
        page.on("dialog", lambda d: found.messages.append(d.message))
        page.on("request", lambda r: found.requests.append(r.url))
        page.goto(path.as_uri() + at)
        return found

    yield shown
    for page in opened:
        page.close()


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_all_is_to_be_seen_and_nothing_is_fetched(
    show: Show, measured: str, width: int, scheme: str
) -> None:
    shown = show(measured, width, scheme)
    page = shown.page
    assert shown.messages == []
    assert [r for r in shown.requests if not r.startswith("file:")] == []
    assert len(shown.requests) == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OVERFLOWING) == []
    plots = page.locator("figure.plot")
    assert plots.count() >= 4
    for i in range(plots.count()):
        drawn = plots.nth(i).locator("svg >> visible=true")
        assert drawn.count() == 1
        box = drawn.bounding_box()
        assert box["width"] > 0.8 * min(width - 80, 1000) and box["height"] > 60
    for level in ("global memory", "shared memory", "registers"):
        assert page.get_by_text(level, exact=True).first.is_visible()


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_text_is_legible(show: Show, eventful: str, width: int, scheme: str) -> None:
    page = show(eventful, width, scheme).page
    places = [
        "h1", ".what span", ".result .times b", ".badge", ".remarks p", "section > p",
        "nav a", ".filters label", "table.rows th", ".finding h2", ".source td",
        ".box .lines span", ".diff .add", ".fix", "blockquote", ".chip s", "footer",
        "#plot-trajectory .wide text" if width == WIDE else
        "#plot-trajectory .narrow text",
        ".way-row svg text.cell",
    ]  # fmt: skip
    for place in places:
        one = page.locator(place).first
        assert one.count() == 1, place
        if place == ".way-row svg text.cell":
            continue  # on coloured cells, whose lightness is fixed
        assert one.evaluate(CONTRAST) >= 4.5, place
    # Letters of plots and of the smallest cells, as they come to the screen.
    letters = "svg text >> visible=true"
    boxes = page.locator(f"figure.plot {letters}").first.bounding_box()
    assert boxes["height"] >= 9
    assert page.locator(f".way-row {letters}").first.bounding_box()["height"] >= 9


def test_fingers_find_what_they_want(show: Show, measured: str) -> None:
    page = show(measured, NARROW).page
    for place in (".filters label", ".trials .toggle", "nav a"):
        for box in (e.bounding_box() for e in page.locator(place).all()):
            assert box["height"] >= 28, place
    # Wide things scroll by themselves.
    table = page.locator("section#trials .scroll").first
    assert table.evaluate("e => e.scrollWidth > e.clientWidth")


def test_the_table_can_be_narrowed_without_a_script(show: Show, measured: str) -> None:
    page = show(measured, WIDE).page
    rows = page.locator(".trials tbody:visible")
    assert rows.count() == 4
    page.get_by_text("refused or refuted 1").click()
    assert rows.count() == 1 and "AG0301" in rows.inner_text()
    page.get_by_text("all 4").click()
    assert rows.count() == 4


def test_trials_open(show: Show, measured: str) -> None:
    page = show(measured, WIDE).page
    inside = page.locator("#trial-2 .inside")
    assert not inside.is_visible()
    page.get_by_label("details of trial 2").check()
    assert inside.is_visible() and "tile-shape" in inside.inner_text()
    page.get_by_label("details of trial 2").uncheck()
    # A mark in the trajectory leads there.
    page.locator("#plot-trajectory .wide a[href='#trial-2']").click()
    assert page.url.endswith("#trial-2") and inside.is_visible()


def test_a_line_leads_to_its_cuda(show: Show, measured: str) -> None:
    page = show(measured, WIDE).page
    line = page.locator(".pair .box").first.locator("a[href^='#c']").nth(3)
    target = page.locator(line.get_attribute("href"))
    line.click()
    box, frame = target.bounding_box(), page.locator(".pair .box").nth(1).bounding_box()
    assert frame["y"] <= box["y"] < frame["y"] + frame["height"]
    before = target.evaluate("e => getComputedStyle(e).backgroundColor")
    assert before != "rgba(0, 0, 0, 0)"


def test_what_strangers_wrote_does_nothing(show: Show, eventful: str) -> None:
    shown = show(eventful, WIDE)
    assert shown.messages == [] and len(shown.requests) == 1
    assert shown.page.title() != "taken"
    assert "taken" in shown.page.title(), "it is shown as text"
    assert shown.page.locator("img, script, iframe, object").count() == 0


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_counterexamples_fit(show: Show, eventful: str, width: int) -> None:
    shown = show(eventful, width)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.page.evaluate(OVERFLOWING) == []
    pictures = shown.page.locator(".finding figure svg")
    assert pictures.count() >= 3 and pictures.first.is_visible()


OPEN = "document.querySelectorAll('details').forEach(d => d.open = true)"


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_conversations_open_and_fit(
    show: Show, talkative: str, width: int, scheme: str
) -> None:
    shown = show(talkative, width, scheme)
    page = shown.page
    first = page.locator("#asked-1-2")
    prompt = first.get_by_text("A line of the prompt.").first
    assert not prompt.is_visible(), "folded, until someone asks"
    assert page.locator(".talk .turn").first.is_hidden()
    box = first.locator("summary").first.bounding_box()
    assert box["height"] >= 28
    first.locator("summary").first.click()
    assert first.get_by_text("What went back to the model").is_visible()
    assert not prompt.is_visible()
    page.evaluate(OPEN)
    assert prompt.is_visible()
    # A line of 20 000 letters, hostile answers and all: within the screen.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OVERFLOWING) == []
    places = ("h4 span", ".label", "blockquote", ".text", "summary", ".badge")
    for place in [".talk summary b", *(f".turn {p}" for p in places)]:
        assert page.locator(place).first.evaluate(CONTRAST) >= 4.5, place
    assert shown.messages == [] and len(shown.requests) == 1
    assert page.title() == "gemm 4096x4096x4096: Argus"
    assert page.locator("img, script, iframe, object, a[href*=javascript]").count() == 0


def test_conversations_are_found_from_the_table(show: Show, talkative: str) -> None:
    page = show(talkative, WIDE).page
    page.get_by_label("details of trial 2").check()
    page.locator("#trial-2 .inside a[href='#asked-2-1']").click()
    talk = page.locator("#asked-2-1")
    box = talk.bounding_box()
    assert 0 <= box["y"] < 900
    talk.locator("summary").first.click()
    talk.locator("summary").nth(1).click()
    assert talk.get_by_text("A line of the prompt.").first.is_visible()
    page.locator("#asked-1-2 summary").first.click()
    page.locator("#asked-1-2 a[href^='#met-']").first.click()
    assert page.locator("#met-attempt-1-of-trial-1").bounding_box()["y"] < 900


LONG = "a_name_that_goes_on_for_more_than_a_narrow_window_can_show_in_a_line_" * 2


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_what_check_writes_fits(
    show: Show, tmp_path: Path, width: int, scheme: str
) -> None:
    """A page of `argus check`: a kernel of each word, with a name that is too long."""
    path = tmp_path / "kernels.py"
    path.write_text(CHECKED.replace("NAME", LONG))
    written = tmp_path / "check.html"
    ran = Commands().invoke(app, ["check", str(path), "--html", str(written)])
    assert ran.exit_code == 1
    page = show(written.read_text(), width, scheme).page
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OVERFLOWING) == []
    for word in ("proved", "refuted", "wrong"):
        badge = page.locator(f"section header .badge.{word}").first
        assert badge.is_visible()
        assert badge.evaluate(CONTRAST) >= 4.5, word
    for place in ("nav a", ".name", ".facts span", "summary", "details td"):
        assert page.locator(place).first.evaluate(CONTRAST) >= 4.5, place
