"""What calls are told apart by: a function that makes a key of their values.

    key = key_of((Tensor, float, NoneType), (True, False, False))
    key(options, (X, 2.0, None))      # (options, address, shape, strides, ..., 2.0)

A launch waits for it, and for most kernels it is the larger part of a call. So it is
written for the types of the values, without a loop or a question about any of them: one
display of a tuple, which takes half the time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from types import NoneType
from typing import cast

__all__ = ["FIELDS", "MakeKey", "key_of"]

MakeKey = Callable[[Hashable, Sequence[object]], tuple[object, ...]]
"""Options and values as one key: equal where a call is the same, given their types.

Raises RuntimeError or TypeError for a tensor without memory or strides.
"""

_PARTS = ("data_ptr()", "shape", "stride()", "dtype", "device")
_TENSOR = ", ".join(f"{{0}}.{part}" for part in _PARTS)
FIELDS = len(_PARTS)
"""Parts of a key that a tensor makes, its address first; a number makes one, None
none."""
# By its bits where equal numbers differ (-0.0), or one from itself.
_FLOAT = "{0} if {0} == {0} and {0} else {0}.hex()"
_NUMBERS = {float: _FLOAT, int: "{0}"}


def key_of(kinds: Sequence[type], tensors: Sequence[bool]) -> MakeKey | None:
    """What makes keys of values of these types; ``tensors``: which are torch's.

    None where one is neither a tensor nor a number nor None: it has no key.
    """
    parts = ["options"]
    names = [f"v{i}" for i in range(len(kinds))]
    for name, kind, tensor in zip(names, kinds, tensors, strict=True):
        form = _TENSOR if tensor else _NUMBERS.get(kind)
        if form is not None:
            parts.append(form.format(name))
        elif kind is not NoneType:
            return None
    taken = f"    {', '.join(names)}, = values\n" if names else ""
    text = f"def key(options, values):\n{taken}    return ({', '.join(parts)},)\n"
    made: dict[str, object] = {}
    exec(compile(text, __file__, "exec"), made)  # of the constants above alone
    return cast("MakeKey", made["key"])
