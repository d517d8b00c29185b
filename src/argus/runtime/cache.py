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
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path
from typing import Any, Protocol, cast

from argus.diagnostics import Diagnostic, Json, Span, fail
from argus.ir.launch import LaunchSpec
from argus.runtime import nvrtc
from argus.runtime.build import BuildOptions, Cubin, ResourceUsage, build
from argus.runtime.keys import build_key
from argus.runtime.store import Store

DEFAULT_LIMIT = 1 << 30
"""Bytes of the cache unless ``ARGUS_CACHE_LIMIT_MB`` says otherwise."""

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
class Specialisation:
    """What a warm start gets: everything needed to launch."""

    spec: LaunchSpec
    cubin: Cubin


class Cache:
    """Cubins and launch specifications in a `Store`."""

    def __init__(self, store: Store) -> None:
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
            if _trustworthy(made):
                self.store.put(_BUILDS, key, _pack(made))
            return made

    def find(self, key: str) -> Specialisation | None:
        """What :meth:`remember` kept under ``key`` (a `specialisation_key`)."""
        raw = self.store.get(_SPECIALISATIONS, key)
        if raw is None:
            return None
        data = cast("Mapping[str, str]", json.loads(raw))
        cubin = self._cubin(data["build"])
        if cubin is None:
            return None
        return Specialisation(LaunchSpec.from_json(data["spec"]), cubin)

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
        raw = self.store.get(_BUILDS, key)
        return None if raw is None else _unpack(raw)


def default_cache() -> Cache:
    """The cache of this user: ``ARGUS_CACHE_DIR``, else the platform's cache folder.

    ``ARGUS_CACHE_DIR`` set to nothing turns it off. ``ARGUS_CACHE_LIMIT_MB`` bounds it.
    Raises ArgusError AG0908 for a limit that is no number.
    """
    return _cache_of(cache_directory(), _limit())


@once
def _cache_of(root: Path | None, limit: int) -> Cache:
    return Cache(Store(root, limit))  # one per folder, so that warnings come once


def cache_directory() -> Path | None:
    """The folder of the cache; None where there is none."""
    chosen = os.environ.get("ARGUS_CACHE_DIR")
    if chosen is not None:
        return Path(chosen).expanduser() if chosen else None
    platform = os.environ.get("XDG_CACHE_HOME")
    if platform:
        return Path(platform) / "argus"
    try:
        return Path.home() / ".cache" / "argus"
    except RuntimeError:  # a user without a home
        return None


def _limit() -> int:
    text = os.environ.get("ARGUS_CACHE_LIMIT_MB")
    if text is None:
        return DEFAULT_LIMIT
    if not text.isdecimal():
        raise fail(
            "AG0908",
            None,
            f"ARGUS_CACHE_LIMIT_MB is {text!r}",
            help="set it to a whole number of mebibytes",
        )
    return int(text) << 20


def _trustworthy(cubin: Cubin) -> bool:
    """Whether the compiler that the key names is the one that built it."""
    wheel = nvrtc.installed_version()
    if wheel is None:
        return True
    # The key has the wheel's version, but another copy of the library may have been
    # loaded before (by LD_LIBRARY_PATH, by another package).
    return wheel.split(".")[:2] == [str(n) for n in nvrtc.loaded_version()]


# What follows is the form of an entry. `store` has its version number: change that too.


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
    meta = json.loads(head)
    return Cubin(
        image=image,
        log=meta["log"],
        usage=_usage_in(meta["usage"]),
        target=meta["target"],
        compiler=meta["compiler"],
        source=meta["source"],
        findings=tuple(_finding_in(finding) for finding in meta["findings"]),
    )


def _usage_out(usage: ResourceUsage) -> Json:
    numbers: list[Json] = [getattr(usage, name) for name in _NUMBERS]
    return [numbers, list(usage.lines)]


def _usage_in(data: tuple[list[int], list[str]]) -> ResourceUsage:
    numbers, lines = data
    return ResourceUsage(*numbers, lines=tuple(lines))


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


def _finding_in(data: dict[str, Any]) -> Diagnostic:
    span = data["span"]
    return Diagnostic(
        data["code"],
        data["message"],
        None if span is None else Span(**span),
        notes=tuple(data["notes"]),
        help=data["help"],
        severity=data["severity"],
    )
