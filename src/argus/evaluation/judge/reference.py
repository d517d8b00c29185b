"""A user's reference: its file is executed, and the function called, in this process.

That is the user's own program, which the judge runs in a worker of its own; a
candidate's file never comes here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from argus.diagnostics import fail
from argus.equivalence.references import Unusable, by_output
from argus.kernels.library import Case
from argus.specification.arguments import named_arguments

REFERENCE_FILE = "reference.py"


def called(
    function: Callable[..., Any],
    xp: Any,
    arrays: dict[str, Any],
    case: Case,
    outputs: tuple[str, ...],
    scalars: Mapping[str, int | float],
) -> dict[str, Any]:
    """The reference's outputs, in the library of the arrays that were given.

    Parameters are found by name: tensors, scalars, sizes; others keep their defaults.
    A reference whose file uses torch gets tensors, any other one numpy arrays.
    """
    wants_torch = "torch" in function.__globals__
    on_torch = xp.__name__ == "torch"
    device = next((a.device for a in arrays.values()), None) if on_torch else None
    known: dict[str, Any] = {**case.sizes, **scalars}
    for key, array in arrays.items():
        if key in outputs:
            continue
        if on_torch and not wants_torch:
            known[key] = array.cpu().numpy()
        elif wants_torch and not on_torch:
            known[key] = function.__globals__["torch"].from_numpy(array)
        else:
            known[key] = array
    try:
        result = function(**named_arguments(function, known, case.sizes))
    except Exception as error:
        raise fail(
            "AG1018",
            None,
            f"the reference failed: {error}",
            notes=[type(error).__name__],
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
            value = value.numpy() if wants_torch else value
            found[name] = xp.asarray(value)
        if tuple(found[name].shape) != tuple(arrays[name].shape):
            raise fail(
                "AG1018",
                None,
                f"the reference's `{name}` is {tuple(found[name].shape)}, the "
                f"kernel's {tuple(arrays[name].shape)}",
            )
    return found
