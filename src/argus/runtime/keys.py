"""Keys of the disk cache: what a result depends on, hashed.

Two keys: of a *build* (the printed CUDA C++, the flags, the compiler) and of a
*specialisation* (the kernel's sources and everything that was chosen for it), which
leads to a build without parsing, placing or printing anything.

Keys are SHA-256 in hex. Fields are length-prefixed, so that moving text from one field
to the next makes another key.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import cast

from argus.ir.dtypes import DType
from argus.runtime import nvrtc
from argus.runtime.build import BuildOptions

_EPOCH = "1"
"""Part of every key; another one makes all that was cached before unreachable."""


def build_key(source: str, target: str, options: BuildOptions) -> str:
    """Key of a cubin: source text, flags (with the architecture), compiler version.

    Raises ArgusError AG0705 if there is no NVRTC at all.
    """
    flags = options.flags(target)
    # spill_bytes decides between success and an error, and is not among the flags.
    return _digest(
        ["build", source, *flags, str(options.spill_bytes), nvrtc.compiler_version()]
    )


def specialisation_key(
    *,
    sources: Sequence[str],
    kernel: str,
    statics: Mapping[str, object],
    dtypes: Mapping[str, str],
    target: str,
    facts: Mapping[str, int] | None = None,
    options: BuildOptions | None = None,
) -> str:
    """Key of a kernel specialised to types, static parameters and a target.

    ``sources`` are the texts of the kernel's file and of every file it takes inline
    functions from. ``statics`` are values of static parameters: None, bool, int, float,
    str, element types, and tuples and dataclasses of these (the handle of an inline
    function); a plain function or class counts by its ``__module__`` and
    ``__qualname__``, its text being among ``sources``. ``facts`` are divisors known of
    sizes and strides.

    Raises TypeError for a static value without a name, ArgusError AG0705 if there is no
    NVRTC.
    """
    options = options or BuildOptions()
    return _digest(
        [
            "specialisation",
            package_stamp(),
            nvrtc.compiler_version(),
            kernel,
            target,
            *(f"source {text}" for text in sources),
            *(f"static {k}={_static(v)}" for k, v in sorted(statics.items())),
            *(f"dtype {k}={v}" for k, v in sorted(dtypes.items())),
            *(f"fact {k}={v}" for k, v in sorted((facts or {}).items())),
            *options.flags(target),
            str(options.spill_bytes),
        ]
    )


def _static(value: object) -> str:
    match value:
        case None | bool() | int() | float() | str() | bytes():
            return f"{type(value).__name__}:{value!r}"
        case DType():
            return f"dtype:{value.name}"
        case tuple():
            items = cast("tuple[object, ...]", value)
            return f"({','.join(_static(item) for item in items)})"
        case _ if is_dataclass(value) and not isinstance(value, type):
            parts = (
                f"{f.name}={_static(getattr(value, f.name))}" for f in fields(value)
            )
            return f"{type(value).__qualname__}({','.join(parts)})"
        case _:
            module = getattr(value, "__module__", None)
            name = getattr(value, "__qualname__", None)
            if not isinstance(module, str) or not isinstance(name, str):
                raise TypeError(f"not a static value: {value!r}")
            return f"object:{module}.{name}"


@cache
def package_stamp() -> str:
    """Hash of every Python file of this package: its version as far as output goes.

    Content and not times, since a checkout gives many files the same time. Takes about
    5 ms, once per process.
    """
    root = Path(__file__).resolve().parent.parent
    texts = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        content = path.read_bytes()
        texts.update(f"{path.relative_to(root)} {len(content)}\n".encode())
        texts.update(content)
    return texts.hexdigest()


def _digest(fields: Iterable[str]) -> str:
    hashed = hashlib.sha256(_EPOCH.encode())
    for field in fields:
        content = field.encode("utf-8", "surrogatepass")
        hashed.update(b"%d:" % len(content))
        hashed.update(content)
    return hashed.hexdigest()
