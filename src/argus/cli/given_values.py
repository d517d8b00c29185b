"""Values that are given on the command line: sizes, element types, parameters."""

from __future__ import annotations

import difflib
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from argus.diagnostics import ArgusError, fail
from argus.evaluation.requests import named_dtypes
from argus.files.typed import natural
from argus.ir.dtypes import DTYPES, DType
from argus.lang import library as inlines
from argus.lang.kernel import InlineFunction, Kernel

if TYPE_CHECKING:
    from argus.lang.frontend.signature import StaticParam

__all__ = ["pairs", "parse_dtypes", "parse_sizes", "parse_statics", "scalar"]


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """`NAME=VALUE` texts. Raises ArgusError AG0908 for another form."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier() or not value:
            raise fail(
                "AG0908",
                None,
                f"`{option} {text}` is not of the form NAME=VALUE",
            )
        if name in found:
            raise fail("AG0908", None, f"`{option}` gives `{name}` twice")
        found[name] = value
    return found


def parse_sizes(texts: Sequence[str]) -> dict[str, int]:
    """Sizes by dimension. Raises ArgusError AG0908 for what is no positive integer."""
    sizes: dict[str, int] = {}
    for name, text in pairs(texts, "--size").items():
        number = natural(text)
        if number is None or not 0 < number < 2**31:
            raise fail(
                "AG0908", None, f"the size `{name}={text}` is no positive integer"
            )
        sizes[name] = number
    return sizes


def parse_dtypes(kernel: Kernel, texts: Sequence[str]) -> dict[str, DType]:
    """Element types by tensor. Raises ArgusError AG0908 for what does not fit."""
    return named_dtypes(kernel, pairs(texts, "--dtype"))


def parse_statics(kernel: Kernel, texts: Sequence[str]) -> dict[str, object]:
    """Static parameters. Raises ArgusError AG0813 for what does not fit."""
    statics = {s.name: s for s in kernel.signature.statics}
    found: dict[str, object] = {}
    for name, text in pairs(texts, "--set").items():
        if name not in statics:
            close = difflib.get_close_matches(name, statics, n=1)
            raise fail(
                "AG0813",
                None,
                f"kernel `{kernel.name}` has no static parameter `{name}`",
                notes=[f"it has {', '.join(statics) or 'none'}"],
                help=f"did you mean `{close[0]}`?" if close else None,
            )
        found[name] = _static(statics[name], text)
    return found


def _static(param: StaticParam, text: str) -> object:
    match param.kind:
        case "int":
            return _integer(param.name, text)
        case "float":
            return _number(param.name, text)
        case "bool":
            return _boolean(param.name, text)
        case "str":
            return text
        case "dtype":
            if text not in DTYPES:
                raise _misfit(param.name, text, f"one of {', '.join(DTYPES)}")
            return DTYPES[text]
        case "inline":
            return _inline(param.name, text)
        case "any":
            return _guess(text)


def scalar(name: str, text: str, dtype: DType) -> float:
    """A run-time scalar of this type, as a launch would take it."""
    value = _number(name, text) if dtype.is_float else _integer(name, text)
    try:
        struct.pack({"i32": "<i", "i64": "<q", "f32": "<f"}[dtype.name], value)
    except (struct.error, OverflowError):
        wanted = f"a number that {dtype} can hold"
        raise _misfit(name, text, wanted) from None
    return value


def _misfit(name: str, text: str, wanted: str) -> ArgusError:
    return fail("AG0813", None, f"`{name}` cannot be `{text}`", help=f"it is {wanted}")


def _integer(name: str, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise _misfit(name, text, "an integer") from None


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _misfit(name, text, "a number") from None


def _boolean(name: str, text: str) -> bool:
    values = {"true": True, "1": True, "false": False, "0": False}
    if text.lower() not in values:
        raise _misfit(name, text, "`true` or `false`")
    return values[text.lower()]


def _inline(name: str, text: str) -> InlineFunction:
    known = {k: v for k, v in vars(inlines).items() if isinstance(v, InlineFunction)}
    if text not in known:
        raise _misfit(name, text, f"one of {', '.join(known)}")
    return known[text]


def _guess(text: str) -> object:
    words: dict[str, object] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if text in DTYPES:
        return DTYPES[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
