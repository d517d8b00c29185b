"""A user's reference: its file is executed, and the function called, in this process.

That is the user's own program, which the judge runs in a worker of its own; a
candidate's file never comes here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from argus.diagnostics import fail
from argus.diagnostics.user_code import raised
from argus.equivalence.in_torch import array_of, as_tensors, is_in_torch
from argus.equivalence.references import Unusable, by_output
from argus.specification.arguments import named_arguments

REFERENCE_FILE = "reference.py"


def called(
    function: Callable[..., Any],
    xp: Any,
    arrays: dict[str, Any],
    sizes: Collection[str],
    outputs: tuple[str, ...],
    numbers: Mapping[str, object],
    absent: Collection[str] = (),
) -> dict[str, Any]:
    """The reference's outputs, in the library of the arrays that were given.

    Parameters are found by name: tensors, and ``numbers``, of which some are ``sizes``;
    others keep their defaults, and are None where they are ``absent`` tensors.
    A reference that uses torch (`in_torch.py`) gets tensors, any other one arrays.
    """
    wants_torch = is_in_torch(function)
    on_torch = xp.__name__ == "torch"
    device = next((a.device for a in arrays.values()), None) if on_torch else None
    known: dict[str, Any] = {**numbers}
    for key, array in arrays.items():
        if key in outputs:
            continue
        if on_torch and not wants_torch:
            known[key] = array.cpu().numpy()
        elif wants_torch and not on_torch:
            known |= as_tensors({key: array})
        else:
            known[key] = array
    try:
        result = function(**named_arguments(function, known, sizes, absent))
    except (Exception, SystemExit) as error:
        raise fail(
            "AG1018",
            None,
            f"the reference failed: {raised(error)}",
        ) from error
    try:
        named = by_output(result, outputs)
    except Unusable as why:
        raise fail("AG1018", None, str(why)) from why
    found: dict[str, Any] = {}
    for name in outputs:
        if name not in named:
            raise fail("AG1018", None, f"the reference has no output `{name}`")
        value = named[name]
        if on_torch:
            made = xp.as_tensor(value, device=device)
            found[name] = made.double() if made.is_floating_point() else made
        else:
            found[name] = xp.asarray(array_of(value))
        if tuple(found[name].shape) != tuple(arrays[name].shape):
            raise fail(
                "AG1018",
                None,
                f"the reference's `{name}` is {tuple(found[name].shape)}, the "
                f"kernel's {tuple(arrays[name].shape)}",
            )
    return found
