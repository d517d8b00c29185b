"""A folder of checksummed files: atomic, shared between processes, bounded in size.

Knows nothing about kernels: bytes by key. Never raises for a folder that cannot be
used: a cache that fails must cost time and nothing else. It warns once and goes on
without. What is in the cache is believed (that a kernel is proved, what its machine
code is), so that only what this user has written is read (`argus.files.owned`): of a
folder or an entry that others own or may write to, there is a warning and no content.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
import time
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from argus.diagnostics import ArgusWarning
from argus.files import owned

T = TypeVar("T")

_MAGIC = b"argus-cache-2\n"
"""Opens every entry. The number grows with the form of what is kept: an entry of
another form is a damaged one."""

_LONGEST = 1 << 28
"""Bytes of an entry; none that Argus writes comes near."""

_STALE_SECONDS = 3600
"""A temporary file of that age was left by a process that was killed."""

_LOCKS = "locks"
_NOT_THE_FORM = (ValueError, KeyError, IndexError, TypeError, AttributeError)
"""What reading an entry raises that has the checksum and not the form."""


class CacheWarning(ArgusWarning):
    """The cache cannot be used, or an entry was damaged; results are not affected."""


class CacheStore:
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
        return self.read(kind, key, bytes)

    def read(self, kind: str, key: str, decode: Callable[[bytes], T]) -> T | None:
        """The content as what ``decode`` makes of it; None if there is none.

        An entry that is damaged, or that ``decode`` cannot read, is removed (AG0907).
        """
        if self.root is None:
            return None
        try:
            with owned.opened(self.root) as root, owned.opened_in(root, kind) as folder:
                raw = owned.read(folder, key, _LONGEST)
                content = _open(kind, key, raw)
                if content is not None:
                    with contextlib.suppress(OSError):  # a read-only cache still serves
                        os.utime(key, dir_fd=folder, follow_symlinks=False)
                    with contextlib.suppress(*_NOT_THE_FORM, RecursionError):
                        return decode(content)
                with contextlib.suppress(OSError):
                    os.unlink(key, dir_fd=folder)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno != errno.EFBIG:
                self._unusable(error)
                return None
        warnings.warn(
            f"AG0907: the cache entry {kind}/{key[:12]} is damaged; "
            "it is removed and made again",
            CacheWarning,
            stacklevel=2,
        )
        return None

    def put(self, kind: str, key: str, content: bytes) -> None:
        """Write an entry at once or not at all; it replaces one of the same key."""
        if self.root is None:
            return
        try:
            with (
                owned.opened(self.root, create=True) as root,
                owned.opened_in(root, kind, create=True) as folder,
            ):
                owned.write(folder, key, _seal(kind, key, content))
                self._evict(root)
        except OSError as error:
            self._unusable(error)

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
            with (
                owned.opened(self.root, create=True) as root,
                owned.opened_in(root, _LOCKS, create=True) as folder,
            ):
                # 256 lock files serve all keys, so that they need no cleaning up.
                handle = owned.open_file(folder, key[:2], os.O_RDWR | os.O_CREAT)
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
        if self.root is None:
            return 0
        try:
            with owned.opened(self.root) as root:
                return sum(size for _, size, _, _ in _entries(root))
        except OSError:
            return 0

    def clear(self) -> int:
        """Remove every entry; how many there were."""
        if self.root is None:
            return 0
        try:
            with owned.opened(self.root) as root:
                entries = list(_entries(root))
                for _, _, kind, key in entries:
                    _remove(root, kind, key)
        except OSError:
            return 0
        return len(entries)

    def writable(self) -> str | None:
        """None if entries can be written, else why not, in words."""
        if self.root is None:
            return "there is no cache folder"
        name = f".tmp-{os.getpid()}-{os.urandom(8).hex()}"
        try:
            with owned.opened(self.root, create=True) as root:
                owned.write(root, name, b"x")
                os.unlink(name, dir_fd=root)
        except OSError as error:
            return str(error)
        return None

    def _evict(self, root: int) -> None:
        entries = sorted(_entries(root))
        total = sum(size for _, size, _, _ in entries)
        if total <= self.limit:
            return
        # Down to nine tenths, so that not every write has to evict.
        for _, size, kind, key in entries:
            if total <= self.limit * 9 // 10:
                return
            _remove(root, kind, key)
            total -= size

    def _unusable(self, error: OSError) -> None:
        if self._warned:
            return
        self._warned = True
        foreign = isinstance(error, owned.ForeignError)
        code = "AG0914" if foreign else "AG0902"
        help_ = "; set ARGUS_CACHE_DIR to a folder of your own" if foreign else ""
        warnings.warn(
            f"{code}: the cache {self.root} cannot be used, going on without: "
            f"{error}{help_}",
            CacheWarning,
            stacklevel=3,
        )


def _entries(root: int) -> Generator[tuple[float, int, str, str], None, None]:
    """(time of last use, bytes, kind, key) of each entry; what is left over goes."""
    for kind in os.listdir(root):
        if kind == _LOCKS:
            continue
        try:
            with owned.opened_in(root, kind) as folder:
                for key in os.listdir(folder):
                    try:
                        found = os.stat(key, dir_fd=folder, follow_symlinks=False)
                    except OSError:  # gone meanwhile
                        continue
                    if not stat.S_ISREG(found.st_mode):
                        continue
                    if not key.startswith(".tmp-"):
                        yield found.st_mtime, found.st_size, kind, key
                    elif time.time() - found.st_mtime > _STALE_SECONDS:
                        with contextlib.suppress(OSError):
                            os.unlink(key, dir_fd=folder)
        except OSError:  # no folder, or none of ours
            continue


def _remove(root: int, kind: str, key: str) -> None:
    with contextlib.suppress(OSError), owned.opened_in(root, kind) as folder:
        os.unlink(key, dir_fd=folder)


def _seal(kind: str, key: str, content: bytes) -> bytes:
    """An entry under its name: one that was moved to another key is damaged there."""
    name = f"{kind}/{key}\n".encode()
    return _MAGIC + hashlib.sha256(name + content).digest() + content


def _open(kind: str, key: str, raw: bytes) -> bytes | None:
    start = len(_MAGIC) + hashlib.sha256().digest_size
    content = raw[start:]
    return content if raw == _seal(kind, key, content) else None
