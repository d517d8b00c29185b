"""Keys of the disk cache: what a result depends on, hashed.

Two keys: of a *build* (the printed CUDA C++, the flags, the compiler) and of a
*specialisation* (the kernel's sources and everything that was chosen for it), which
leads to a build without parsing, placing or printing anything.

Keys are SHA-256 in hex. Fields are length-prefixed, so that moving text from one field
to the next makes another key.
"""

import hashlib
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import cast

from argus.ir.dtypes import DType
from argus.runtime.build import BuildOptions
from argus.runtime.store import CacheStore

_STAMPS = "stamps"
"""The kind of cache entry that holds a stamp of the package."""
_SETTLED_NS = 5 * 10**9

_EPOCH = "1"
"""Part of every key; another one makes all that was cached before unreachable."""


def build_key(source: str, target: str, options: BuildOptions) -> str:
    """Key of a cubin: source text, flags (with the architecture), compiler version.

    Raises ArgusError AG0705 if there is no NVRTC at all.
    """
    return _digest(["build", source, *options.deciding(target)])


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
            kernel,
            target,
            *(f"source {text}" for text in sources),
            *(f"static {k}={_static(v)}" for k, v in sorted(statics.items())),
            *(f"dtype {k}={v}" for k, v in sorted(dtypes.items())),
            *(f"fact {k}={v}" for k, v in sorted((facts or {}).items())),
            *options.deciding(target),
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

    By content and not times, since a checkout gives many files the same time; but what
    the content was is read from the disk cache where no file was touched since.
    """
    from argus.runtime.cache import default_cache

    return stamp_of(Path(__file__).resolve().parent.parent, default_cache().store)


def stamp_of(root: Path, store: CacheStore) -> str:
    """Hash of the Python files below a folder, or what ``store`` knows that it is.

    The key of that is each file's path, size, inode and times. The time of the last
    change of an inode (ctime) cannot be set, so that other content has another key. Its
    grain is coarse: a stamp is kept only once the newest change is seconds old.
    """
    paths = _python_files(str(root))
    touched = hashlib.sha256()
    newest = 0
    for path in paths:
        found = os.stat(path)
        newest = max(newest, found.st_ctime_ns)
        state = (found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)
        touched.update(f"{path} {state}\n".encode("utf-8", "surrogateescape"))
    key = touched.hexdigest()
    kept = store.read(_STAMPS, key, lambda raw: raw.decode("ascii"))
    if kept is not None:
        return kept
    texts = hashlib.sha256()
    for path in paths:
        content = Path(path).read_bytes()
        name = path.removeprefix(str(root))
        texts.update(f"{name} {len(content)}\n".encode("utf-8", "surrogateescape"))
        texts.update(content)
    stamp = texts.hexdigest()
    if time.time_ns() - newest > _SETTLED_NS:
        store.put(_STAMPS, key, stamp.encode())
    return stamp


def _python_files(folder: str) -> list[str]:
    found: list[str] = []
    left = [folder]
    while left:
        with os.scandir(left.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    found.append(entry.path)
                elif entry.is_dir() and entry.name != "__pycache__":
                    left.append(entry.path)
    return sorted(found)


def _digest(fields: Iterable[str]) -> str:
    hashed = hashlib.sha256(_EPOCH.encode())
    for field in fields:
        content = field.encode("utf-8", "surrogatepass")
        hashed.update(b"%d:" % len(content))
        hashed.update(content)
    return hashed.hexdigest()
