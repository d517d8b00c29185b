"""A folder of checksummed files: atomic, shared between processes, bounded in size.

Knows nothing about kernels: bytes by key. Never raises for a folder that cannot be
used: a cache that fails must cost time and nothing else. It warns once and goes on
without.
"""

import contextlib
import fcntl
import hashlib
import os
import tempfile
import time
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from argus.diagnostics import ArgusWarning

_MAGIC = b"argus-cache-1\n"
"""Opens every entry. The number grows with the form of what is kept: an entry of
another form is a damaged one."""

_STALE_SECONDS = 3600
"""A temporary file of that age was left by a process that was killed."""


class CacheWarning(ArgusWarning):
    """The cache cannot be used, or an entry was damaged; results are not affected."""


class Store:
    """Entries ``root/<kind>/<key>``, each a header, a SHA-256 and the content.

    ``root`` None is a store that keeps nothing. ``limit`` is in bytes: beyond it, the
    entries that were not used for longest go. Safe for any number of threads and
    processes on one host; locks are advisory (``flock``).
    """

    def __init__(self, root: Path | None, limit: int) -> None:
        self.root = root
        self.limit = limit
        self._warned = False

    def get(self, kind: str, key: str) -> bytes | None:
        """The content; None if there is none. A damaged entry is removed (AG0907)."""
        if self.root is None:
            return None
        path = self.root / kind / key
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._unusable(error)
            return None
        content = _open(raw)
        if content is None:
            warnings.warn(
                f"AG0907: the cache entry {kind}/{key[:12]} is damaged; "
                "it is removed and made again",
                CacheWarning,
                stacklevel=2,
            )
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):  # a read-only cache still serves
            os.utime(path)
        return content

    def put(self, kind: str, key: str, content: bytes) -> None:
        """Write an entry at once or not at all; it replaces one of the same key."""
        if self.root is None:
            return
        folder = self.root / kind
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(prefix=".tmp-", dir=folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_seal(content))
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(name, folder / key)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(name)
                raise
        except OSError as error:
            self._unusable(error)
            return
        self._evict()

    @contextmanager
    def lock(self, key: str) -> Generator[None, None, None]:
        """Hold the lock of ``key``, so that of several builders only one builds.

        A process that dies releases its locks. Where locks do not work, nothing is
        locked: the work is then done twice, with the same result.
        """
        if self.root is None:
            yield
            return
        try:
            folder = self.root / "locks"
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            # 256 lock files serve all keys, so that they need no cleaning up.
            handle = os.open(folder / key[:2], os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            self._unusable(error)
            yield
            return
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
            except OSError as error:  # a network file system without locks
                self._unusable(error)
            yield
        finally:
            os.close(handle)  # releases the lock

    def size(self) -> int:
        """Bytes of all entries; 0 for a store that keeps nothing."""
        return sum(size for _, size, _ in self._entries())

    def clear(self) -> int:
        """Remove every entry; how many there were."""
        entries = list(self._entries())
        for _, _, path in entries:
            with contextlib.suppress(OSError):
                path.unlink()
        return len(entries)

    def writable(self) -> str | None:
        """None if entries can be written, else why not, in words."""
        if self.root is None:
            return "there is no cache folder"
        try:
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.TemporaryFile(dir=self.root) as file:
                file.write(b"x")
        except OSError as error:
            return str(error)
        return None

    def _entries(self) -> Generator[tuple[float, int, Path], None, None]:
        """(time of last use, bytes, path) of each entry."""
        if self.root is None:
            return
        for path in self.root.glob("*/*"):
            if path.parent.name == "locks":
                continue
            try:
                status = path.stat()
            except OSError:  # gone meanwhile
                continue
            if not path.name.startswith(".tmp-"):
                yield status.st_mtime, status.st_size, path
            elif time.time() - status.st_mtime > _STALE_SECONDS:
                with contextlib.suppress(OSError):
                    path.unlink()

    def _evict(self) -> None:
        entries = sorted(self._entries())
        total = sum(size for _, size, _ in entries)
        if total <= self.limit:
            return
        # Down to nine tenths, so that not every write has to evict.
        for _, size, path in entries:
            if total <= self.limit * 9 // 10:
                return
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size

    def _unusable(self, error: OSError) -> None:
        if self._warned:
            return
        self._warned = True
        warnings.warn(
            f"AG0902: the cache {self.root} cannot be used, going on without: {error}",
            CacheWarning,
            stacklevel=3,
        )


def _seal(content: bytes) -> bytes:
    return _MAGIC + hashlib.sha256(content).digest() + content


def _open(raw: bytes) -> bytes | None:
    start = len(_MAGIC) + hashlib.sha256().digest_size
    content = raw[start:]
    return content if raw == _seal(content) else None
