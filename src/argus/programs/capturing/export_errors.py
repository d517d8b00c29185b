"""Why torch could not export a module, in words: what, and where in the user's code."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from argus.diagnostics.user_code import at_line, innermost, is_pythons
from argus.programs.tensors.torch_calls import IN_PYTHON

_BY_ELEMENTS = {
    "GuardOnDataDependentSymNode": "what it does depends on elements of a tensor",
    "DynamicOutputShapeException": "the size of a result depends on elements",
    "DataDependentOutputException": "a number in it depends on elements of a tensor",
}
"""What torch raises where it would have to look at elements, and what that says."""

_RESULT = re.compile(r"Found <class '(?:.*\.)?(\w+)'> in output, which is not a known")
"""What torch says of a result in which it finds no tensors."""


def by_elements(error: BaseException) -> bool:
    """Whether torch would have to look at elements, which a graph does not have."""
    return type(error).__name__ in _BY_ELEMENTS


def advice(error: BaseException) -> str | None:
    """What helps against it, where that is known."""
    if by_elements(error):
        return IN_PYTHON
    if _RESULT.search(str(error)):
        return (
            "return a tuple or a dict, or register the class: a dataclass by "
            "`torch.export.register_dataclass`"
        )
    return None


def why(error: BaseException) -> str:
    """What torch says, in a line, and the line of the user's code that it is about."""
    said = str(error).strip().partition("\n")[0]
    result = _RESULT.search(said)
    if result is not None:
        return f"it returns `{result[1]}`, and torch does not know what is in that"
    found = _BY_ELEMENTS.get(type(error).__name__)
    text = f"{type(error).__name__}: {said}" if found is None else f"{found} ({said})"
    return f"{text}{_place(error)}"


def _place(error: BaseException) -> str:
    """The innermost line that is neither torch's, nor Python's, nor ours, if any is."""
    ours = Path(__file__).parents[2]

    def torchs(file: str) -> bool:
        return Path(file).is_relative_to(_torch())

    def others(file: str) -> bool:
        made_up = file.startswith("<") or is_pythons(file)
        return not (made_up or torchs(file) or Path(file).is_relative_to(ours))

    frame = innermost(error, others) if innermost(error, torchs) else None
    if frame is None:
        return ""
    return at_line(frame) + (f": `{frame.line}`" if frame.line else "")


@cache
def _torch() -> Path:
    import torch

    return Path(torch.__path__[0])
