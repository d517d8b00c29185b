"""JSON that is read back: bounded, strict, and told where it is wrong.

    policy = document(Policy, path.read_bytes())     # DocumentError says what is wrong

What a library's reader takes for granted is refused here: numbers that are not finite
(``NaN``, ``1e400``), or longer than any that is meant, a key that stands twice in an
object (of which one would be lost), nesting that exhausts the stack, and texts of any
length. Of what form the values must be, the model says (pydantic).
"""

from __future__ import annotations

import json
import math
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

LONGEST = 1 << 26
"""Bytes of a document."""
DEEPEST = 100
"""Objects and lists in each other."""
_DIGITS = 19
"""Digits of a whole number: those of 64 bits."""
_SHOWN = 5

Model = TypeVar("Model")


class DocumentError(ValueError):
    """What is wrong with a document, in one line for each place."""

    def __init__(self, *places: str) -> None:
        super().__init__("; ".join(places))
        self.places = places


def document(kind: type[Model], raw: bytes | str) -> Model:
    """The model that a document holds. Raises DocumentError."""
    return checked(TypeAdapter(kind), raw)


def checked(adapter: TypeAdapter[Model], raw: bytes | str) -> Model:
    """As `document`, for a type whose adapter is made once."""
    strict(raw)
    try:
        return adapter.validate_json(raw)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        places = [_place(one["loc"], one["msg"]) for one in found[:_SHOWN]]
        more = len(found) - _SHOWN
        raise DocumentError(*places, *([f"{more} more"] if more > 0 else [])) from error


def strict(raw: bytes | str) -> Any:
    """The values of a JSON text. Raises DocumentError for what is none, or absurd."""
    if len(raw) > LONGEST:
        raise DocumentError(f"it has more than {LONGEST} bytes")
    try:
        values = json.loads(
            raw,
            parse_constant=_no_number,
            parse_float=_real,
            parse_int=_whole,
            object_pairs_hook=_object,
        )
    except DocumentError:
        raise
    except RecursionError as error:
        raise DocumentError("it is nested too deeply") from error
    except ValueError as error:  # no JSON, or no text in UTF-8
        raise DocumentError(str(error)) from error
    if _deeper(values, DEEPEST):
        raise DocumentError("it is nested too deeply")
    return values


def _no_number(name: str) -> float:
    raise DocumentError(f"{name} is no number")


def _real(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise DocumentError(f"{_short(text)} is larger than any number")
    return value


def _whole(text: str) -> int:
    if len(text.lstrip("-")) > _DIGITS:
        raise DocumentError(f"{_short(text)} is too long for a number")
    return int(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DocumentError(f"the key {_short(twice)!r} stands twice in an object")
    return found


def _deeper(value: Any, depth: int) -> bool:
    """Whether values lie more than that many objects and lists deep."""
    level: list[Any] = [value]
    for _ in range(depth + 1):
        following: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                following += one.values()  # pyright: ignore[reportUnknownMemberType]
            elif isinstance(one, list):
                following += one
        if not following:
            return False
        level = following
    return True


def _place(names: tuple[int | str, ...], why: str) -> str:
    return f"{'.'.join(map(_short, names)) or 'all of it'}: {_short(why, 200)}"


def _short(text: object, most: int = 40) -> str:
    words = str(text)
    return words if len(words) <= most else f"{words[:most]}..."
