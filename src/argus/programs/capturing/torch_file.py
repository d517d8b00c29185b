"""A PyTorch file: its model and its inputs.

The file is the user's own program and is executed, in this process: that is what they
ask for.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from argus.diagnostics import ArgusError, fail
from argus.diagnostics.user_code import raised
from argus.files.reading import Reader
from argus.files.settings import installed

if TYPE_CHECKING:
    from torch.nn import Module


@dataclass(frozen=True)
class TorchFile:
    """``model`` in evaluation mode, ``inputs`` of its ``forward``."""

    path: str
    model: Module
    inputs: tuple[Any, ...]


def require_torch() -> None:
    """Raises ArgusError AG0906 where PyTorch is not installed."""
    if not installed("torch"):
        raise fail(
            "AG0906",
            None,
            "a PyTorch file needs PyTorch, which is not installed",
            help="install `argus-gpu[torch]`",
        )


def is_torch_text(text: str) -> bool:
    """Whether a file is one of PyTorch, as its text looks: it has `get_inputs`."""
    return re.search(r"^(def\s+get_inputs\b|get_inputs\s*=)", text, re.M) is not None


def load_file(
    path: str | os.PathLike[str],
    seed: int = 0,
    device: str | None = "cpu",
    *,
    text: str | None = None,
) -> TorchFile:
    """Execute the file, make the model and its inputs; seeded, so always the same.

    Both are moved to ``device``; with None they stay where the file has them. What is
    executed is ``text`` where that is given: what was read before, and no other file
    that may have taken its place.

    Raises ArgusError: AG0906 (no PyTorch), AG0901, AG0902 (the file), AG1040 (what the
    file lacks, or raises).
    """
    where = Path(path)
    if text is None:
        text = Reader().read(str(where))
    require_torch()
    import torch

    torch.manual_seed(seed)  # pyright: ignore[reportUnknownMemberType]
    names = _executed(where, text)
    if "get_inputs" not in names:
        raise fail(
            "AG1040",
            None,
            f"`{where.name}` has no `get_inputs`",
            help="it is a kernel file: `argus check` and its like are for those"
            if "@ag.kernel" in text
            else "it returns a list: the arguments of the module's `forward`",
        )
    kind = _module_class(where, names)
    arguments = _called(where, "get_init_inputs", names) if (
        "get_init_inputs" in names
    ) else ()  # fmt: skip
    made = _attempt(where, f"{kind}(...)", lambda: names[kind](*arguments))
    if not isinstance(made, torch.nn.Module):
        raise fail("AG1040", None, f"`{kind}` of `{where.name}` is no torch.nn.Module")
    inputs = _called(where, "get_inputs", names)
    if device is None:
        return TorchFile(str(where), made.eval(), inputs)
    moved = tuple(t.to(device) if isinstance(t, torch.Tensor) else t for t in inputs)
    return TorchFile(str(where), made.eval().to(device), moved)


def _executed(where: Path, text: str) -> dict[str, Any]:
    name = f"argus_task_{where.stem}"
    module = ModuleType(name)
    module.__file__ = str(where)
    sys.modules[name] = module

    def run() -> None:
        exec(compile(text, str(where), "exec"), vars(module))

    _attempt(where, "the text", run)
    return vars(module)


def _module_class(where: Path, names: dict[str, Any]) -> str:
    """`Model`, or the only class of modules that the file has."""
    import torch

    if "Model" in names:
        return "Model"
    own = [
        name
        for name, value in names.items()
        if isinstance(value, type)
        and issubclass(value, torch.nn.Module)
        and value.__module__ == names["__name__"]
    ]
    if len(own) != 1:
        several = f", and several classes: {', '.join(own)}" if own else ""
        raise fail("AG1040", None, f"`{where.name}` has no `Model`{several}")
    return own[0]


def _called(where: Path, name: str, names: dict[str, Any]) -> tuple[Any, ...]:
    found = _attempt(where, f"{name}()", names[name])
    if not isinstance(found, list | tuple):
        raise fail("AG1040", None, f"`{name}` of `{where.name}` returns no list")
    return tuple(cast("list[Any]", found))


def _attempt(where: Path, what: str, work: Any) -> Any:
    """The result of the user's code. Raises ArgusError AG1040 for what it raises."""
    try:
        return work()
    except ArgusError:
        raise
    except (Exception, SystemExit) as error:
        raise fail(
            "AG1040",
            None,
            f"{what} of `{where.name}` raises {raised(error)}",
        ) from error
