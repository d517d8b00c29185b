"""Built kernels on disk, by what they were built from.

    cache = default_cache()
    found = cache.find(key)                      # a warm start: no parsing, no NVRTC
    if found is None:
        cubin = cache.cubin(source, "sm_90a", options)
        cache.remember(key, spec, cubin, options)

`keys` makes the keys, `store` keeps the bytes. An entry depends on the source text, the
flags and the compiler's version, nothing else and nothing less.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path
from typing import Any, Protocol, cast

from argus.diagnostics import Diagnostic, Json, Span
from argus.files.settings import folder, standard_folder, whole
from argus.ir.launch import LaunchSpec
from argus.runtime.build import (
    BuildOptions,
    Cubin,
    ResourceUsage,
    build,
    builds_as_named,
)
from argus.runtime.keys import build_key
from argus.runtime.store import CacheStore

DEFAULT_LIMIT = 1 << 30
"""Bytes of the cache unless ``ARGUS_CACHE_LIMIT_MB`` says otherwise; 0: no cache."""

_BUILDS, _SPECIALISATIONS = "builds", "specialisations"


class Builder(Protocol):
    """The signature of :func:`argus.runtime.build.build`."""

    def __call__(
        self,
        source: str,
        target: str,
        options: BuildOptions | None = None,
        *,
        file: str | None = None,
    ) -> Cubin:
        """Build, or raise ArgusError."""
        ...


@dataclass(frozen=True, slots=True)
class BuiltSpecialisation:
    """What a warm start gets: everything needed to launch."""

    spec: LaunchSpec
    cubin: Cubin


class Cache:
    """Cubins and launch specifications in a `CacheStore`."""

    def __init__(self, store: CacheStore) -> None:
        self.store = store

    def cubin(
        self,
        source: str,
        target: str,
        options: BuildOptions | None = None,
        *,
        file: str | None = None,
        builder: Builder = build,
    ) -> Cubin:
        """The cubin of ``source``: from disk, or built once and kept.

        Of several processes that want the same one, one builds and the others wait.
        Raises what the builder raises; a failure is not kept.
        """
        options = options or BuildOptions()
        key = build_key(source, target, options)
        found = self._cubin(key)
        if found is not None:
            return found
        with self.store.lock(key):
            found = self._cubin(key)
            if found is not None:
                return found
            made = builder(source, target, options, file=file)
            if builds_as_named():
                self.store.put(_BUILDS, key, _pack(made))
            return made

    def find(self, key: str) -> BuiltSpecialisation | None:
        """What :meth:`remember` kept under ``key`` (a `specialisation_key`)."""
        found = self.store.read(_SPECIALISATIONS, key, _leading)
        if found is None:
            return None
        build, spec = found
        cubin = self._cubin(build)
        return None if cubin is None else BuiltSpecialisation(spec, cubin)

    def holds(self, key: str) -> bool:
        """Whether :meth:`find` has something, as far as undamaged entries say."""
        build = self.store.read(_SPECIALISATIONS, key, _build_of)
        return build is not None and self.store.get(_BUILDS, build) is not None

    def remember(
        self,
        key: str,
        spec: LaunchSpec,
        cubin: Cubin,
        options: BuildOptions | None = None,
    ) -> None:
        """Make ``key`` lead to ``spec`` and ``cubin``, which `cubin()` returned."""
        made = build_key(cubin.source, cubin.target, options or BuildOptions())
        data = {"build": made, "spec": spec.to_json()}
        self.store.put(_SPECIALISATIONS, key, json.dumps(data).encode())

    def _cubin(self, key: str) -> Cubin | None:
        return self.store.read(_BUILDS, key, _unpack)


def default_cache() -> Cache:
    """The cache of this user: ``ARGUS_CACHE_DIR``, else the platform's cache folder.

    ``ARGUS_CACHE_LIMIT_MB`` bounds it, and turns it off where it is 0. Raises
    ArgusError AG0908 for a limit that is no number.
    """
    return _cache_of(cache_directory(), _limit())


@once
def _cache_of(root: Path | None, limit: int) -> Cache:
    return Cache(CacheStore(root, limit))  # one per folder, so that warnings come once


def cache_directory() -> Path | None:
    """The folder of the cache; None where there is none. Raises like the above."""
    if _limit() == 0:
        return None
    chosen = folder("ARGUS_CACHE_DIR")
    if chosen is not None:
        return chosen
    usual = standard_folder("XDG_CACHE_HOME", ".cache")
    return None if usual is None else usual / "argus"


def _limit() -> int:
    found = whole("ARGUS_CACHE_LIMIT_MB", "mebibytes")
    return DEFAULT_LIMIT if found is None else found << 20


# What follows is the form of an entry. `store` has its version number: change that too.
# An entry that has its checksum and not its form raises, which `Store.read` takes for
# damage: there is nothing that a cache could do to a caller but cost time.


def _leading(raw: bytes) -> tuple[str, LaunchSpec]:
    """What a specialisation leads to: the key of a build, and how it is launched."""
    data = _fields(json.loads(raw))
    return _text(data["build"]), LaunchSpec.from_json(_text(data["spec"]))


def _build_of(raw: bytes) -> str:
    """The first of these alone, which takes a tenth of the time."""
    return _text(_fields(json.loads(raw))["build"])


def _pack(cubin: Cubin) -> bytes:
    meta: dict[str, Json] = {
        "log": cubin.log,
        "usage": _usage_out(cubin.usage),
        "target": cubin.target,
        "compiler": cubin.compiler,
        "source": cubin.source,
        "findings": [_finding_out(finding) for finding in cubin.findings],
    }
    return json.dumps(meta).encode() + b"\n" + cubin.image


def _unpack(raw: bytes) -> Cubin:
    head, _, image = raw.partition(b"\n")  # JSON on one line has no newline in it
    meta = _fields(json.loads(head))
    return Cubin(
        image=image,
        log=_text(meta["log"]),
        usage=_usage_in(meta["usage"]),
        target=_text(meta["target"]),
        compiler=_text(meta["compiler"]),
        source=_text(meta["source"]),
        findings=tuple(_finding_in(_fields(f)) for f in meta["findings"]),
    )


def _usage_out(usage: ResourceUsage) -> Json:
    numbers: list[Json] = [getattr(usage, name) for name in _NUMBERS]
    return [numbers, list(usage.lines)]


def _usage_in(data: Any) -> ResourceUsage:
    numbers, lines = data
    if len(numbers) != len(_NUMBERS) or any(type(n) is not int for n in numbers):
        raise ValueError(f"not the resources of a kernel: {numbers!r}")
    return ResourceUsage(*numbers, lines=tuple(_text(line) for line in lines))


_NUMBERS = (
    "registers",
    "shared_static",
    "spill_stores",
    "spill_loads",
    "stack",
    "barriers",
)


def _finding_out(finding: Diagnostic) -> Json:
    return {
        "code": finding.code,
        "message": finding.message,
        "span": None if finding.span is None else dict(finding.span.to_json()),
        "notes": list(finding.notes),
        "help": finding.help,
        "severity": finding.severity,
    }


def _finding_in(data: Mapping[str, Any]) -> Diagnostic:
    span = data["span"]
    return Diagnostic(
        _text(data["code"]),
        _text(data["message"]),
        None if span is None else Span(**span),
        notes=tuple(_text(note) for note in data["notes"]),
        help=data["help"],
        severity=data["severity"],
    )


def _fields(data: Any) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise ValueError(f"not an object: {data!r}")
    return cast("Mapping[str, Any]", data)


def _text(data: Any) -> str:
    if not isinstance(data, str):
        raise ValueError(f"not a text: {data!r}")
    return data
