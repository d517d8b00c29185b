"""A bug in Argus as a diagnostic, at the line of the kernel that was worked on.

    except Exception as error:
        show(bug(error, help="please report it"))

No layer notes what it is doing: the frames of the exception still hold it. The line is
that of the innermost frame with something that has a span, which is the operation that
is being placed, proved, printed or run, or the piece of syntax that is being read. What
a frame knows of the kernel as a whole counts only where there is nothing smaller.
"""

import ast
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from argus.diagnostics.diagnostic import Diagnostic
from argus.diagnostics.span import Span

_PACKAGE = Path(__file__).parents[1]
_WHOLE = ("program", "kernel")
"""Names of locals that stand for a kernel as a whole."""
_WORKED_ON = ("op", "node", "statement")
"""Names of locals that are what a function works on, before all others of a frame."""


def bug(error: BaseException, *, help: str) -> Diagnostic:
    """AG0913: what was raised, by which line of the package, at which of the kernel."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if Path(f.filename).is_relative_to(_PACKAGE)]
    notes = [f"{type(error).__name__}: {error}"]
    if own:
        where = Path(own[-1].filename).relative_to(_PACKAGE.parent)
        notes.append(f"raised at {where.as_posix()}:{own[-1].lineno}")
    return Diagnostic(
        "AG0913",
        "this is a bug in Argus, not in the kernel",
        worked_on(error),
        notes=tuple(notes),
        help=help,
    )


def worked_on(error: BaseException) -> Span | None:
    """Where in the kernel Argus was when it raised, if a frame knows."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    whole: Span | None = None
    for frame in reversed(frames):
        found = dict(_spans(frame))
        for name in (*_WORKED_ON, *reversed(found)):
            if name in found and name not in _WHOLE:
                return found[name]
        whole = whole or next(iter(found.values()), None)
    return whole


def _spans(frame: FrameType) -> Iterator[tuple[str, Span]]:
    """The locals of a frame that stand at a place of a source."""
    values = {n: v for n, v in frame.f_locals.items() if v is not None}
    spans = [_span_of(v) for v in values.values() if _is_ours(v)]
    readers = [span for span in spans if callable(span)]
    for name, value in values.items():
        if isinstance(value, Span):
            yield name, value
        elif isinstance(value, ast.expr | ast.stmt | ast.arg | ast.keyword):
            for reader in readers[:1]:
                if isinstance(span := reader(value), Span):
                    yield name, span
        elif _is_ours(value) and isinstance(span := _span_of(value), Span):
            yield name, span


def _span_of(value: object) -> object:
    return getattr(value, "span", None)


def _is_ours(value: object) -> bool:
    """Whether a value may be asked for its span without surprises."""
    return type(value).__module__.partition(".")[0] == "argus"
