"""Where a command executes kernels: on a GPU if one can, else in the interpreter."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from argus.cli.output import Output


class CommandPlace(NamedTuple):
    """``where`` in words; ``on_device``: whether that is a GPU."""

    where: str
    on_device: bool


def chosen_place(out: Output, target: str | None, interpret: bool) -> CommandPlace:
    """The GPU, unless it cannot run ``target`` or ``interpret`` is set.

    The command's JSON says which: `where`, `device`.
    """
    from argus.evaluation.device import find_device
    from argus.runtime.driver import target_of

    device = None if interpret else find_device()
    if device is not None and target not in (None, target_of(device).name):
        device = None  # it cannot run this target; the interpreter can
    out.data["where"] = "interpreter" if device is None else "gpu"
    out.data["device"] = None if device is None else device.name
    if device is None:
        return CommandPlace("the interpreter", False)
    return CommandPlace(device.name, True)
