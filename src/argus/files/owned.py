"""Folders and files that nobody else can have written, so that they may be believed.

    with opened(root, create=True) as folder:        # a descriptor
        with opened_in(folder, "builds") as builds:
            raw = read(builds, key, LIMIT)

What is kept on disk says "this kernel is proved" and "this is its machine code".
Whoever can write there can say so too, and there is no secret that would tell an entry
of ours from another: who owns it does. A folder or file is *owned* if its owner is the
user of this process and nobody else may write to it. The way to it must be ours as
well: its parents belong to this user or to root, and others may write to one only where
the sticky bit keeps them from replacing what is in it (``/tmp``).

Paths are walked by descriptors, a component at a time, and everything is judged after
it was opened (`fstat`): what is swapped in between is judged itself. Links that this
user or root made may lie on the way to the outermost folder, such as a home folder on
another disk; below it none is followed. Raises `ForeignError` for what is not ours and
OSError for what the system refuses.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

FOLDER_MODE, FILE_MODE = 0o700, 0o600
_LINKS = 40
"""Links on the way to a folder, as many as the kernel itself follows."""
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class ForeignError(OSError):
    """A folder or file that another user has written, or could have."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(errno.EPERM, f"{path} {why}")
        self.why = why

    def __str__(self) -> str:
        return str(self.strerror)


# ---- folders -------------------------------------------------------------------------


@contextmanager
def opened(path: Path, *, create: bool = False) -> Generator[int]:
    """The descriptor of an owned folder. ``create``: made, with its parents, if absent.

    Raises ForeignError, FileNotFoundError and other OSError.
    """
    folder = _walked(path, create)
    try:
        yield folder
    finally:
        os.close(folder)


@contextmanager
def opened_in(folder: int, name: str, *, create: bool = False) -> Generator[int]:
    """The descriptor of an owned folder directly in another. Raises like `opened`."""
    _plain(name)
    if create:
        with suppress(FileExistsError):
            os.mkdir(name, FOLDER_MODE, dir_fd=folder)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        found = os.open(name, flags, dir_fd=folder)
    except OSError as error:
        raise _of_a_link(error, name) from error
    try:
        _require_own(os.fstat(found), name)
        yield found
    finally:
        os.close(found)


def _walked(path: Path, create: bool) -> int:
    """The folder's descriptor; every step of the way is checked."""
    whole = str(path) if path.is_absolute() else os.path.join(os.getcwd(), path)
    left = [part for part in reversed(whole.split("/")) if part not in ("", ".")]
    at = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    links = 0
    try:
        while left:
            name = left.pop()
            following = _step(at, name, create)
            found = os.fstat(following)
            if stat.S_ISLNK(found.st_mode):
                links += 1
                try:
                    target = _target(following, found, whole, links)
                finally:
                    os.close(following)
                left += [p for p in reversed(target.split("/")) if p not in ("", ".")]
                if target.startswith("/"):
                    following = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
                    os.close(at)
                    at = following
                continue
            os.close(at)
            at = following
            if not stat.S_ISDIR(found.st_mode):
                raise NotADirectoryError(
                    errno.ENOTDIR, os.strerror(errno.ENOTDIR), name
                )
            if left:
                _require_safe(found, _so_far(at, name))
        _require_own(os.fstat(at), whole)
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=at)
    finally:
        os.close(at)


def _step(folder: int, name: str, create: bool) -> int:
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, FOLDER_MODE, dir_fd=folder)
    return os.open(name, flags, dir_fd=folder)


def _target(link: int, found: os.stat_result, whole: str, links: int) -> str:
    """Where a link leads that this user or root has made."""
    if links > _LINKS:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), whole)
    if found.st_uid not in (0, os.geteuid()):
        raise ForeignError(whole, f"goes through a link that user {found.st_uid} made")
    return os.readlink("", dir_fd=link)


def _so_far(folder: int, name: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{folder}")
    except OSError:
        return name


def _require_safe(found: os.stat_result, path: str) -> None:
    """A folder on the way: others cannot replace what is in it."""
    if found.st_uid not in (0, os.geteuid()):
        raise ForeignError(path, f"belongs to user {found.st_uid}")
    others = found.st_mode & _OTHERS
    if others == stat.S_IWGRP and _own_group(found.st_gid):
        others = 0
    if others and not found.st_mode & stat.S_ISVTX:
        raise ForeignError(path, _writable(found))


def _own_group(number: int) -> bool:
    """Whether a group is that of this user alone, as many systems make one for each."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(number)
    except KeyError:
        return False
    others = [name for name in group.gr_mem if name != user.pw_name]
    return user.pw_gid == number and group.gr_name == user.pw_name and not others


def _require_own(found: os.stat_result, path: str) -> None:
    if found.st_uid != os.geteuid():
        raise ForeignError(path, f"belongs to user {found.st_uid}")
    if found.st_mode & _OTHERS:
        raise ForeignError(path, _writable(found))


def _writable(found: os.stat_result) -> str:
    return f"can be written by other users (mode {stat.S_IMODE(found.st_mode):04o})"


# ---- files ---------------------------------------------------------------------------


def read(folder: int, name: str, limit: int) -> bytes:
    """The content of an owned regular file in a folder, at most ``limit`` bytes.

    Raises ForeignError, FileNotFoundError, OSError (EFBIG where it is longer).
    """
    file = open_file(folder, name, os.O_RDONLY)
    with os.fdopen(file, "rb") as content:
        raw = content.read(limit + 1)
    if len(raw) > limit:
        raise OSError(errno.EFBIG, f"it has more than {limit} bytes", name)
    return raw


def write(folder: int, name: str, content: bytes) -> None:
    """Write a file in a folder at once or not at all, readable by this user only."""
    _plain(name)
    draft = f".tmp-{os.getpid()}-{os.urandom(8).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(draft, flags, FILE_MODE, dir_fd=folder)
    try:
        with os.fdopen(file, "wb") as made:
            made.write(content)
            made.flush()
            os.fsync(made.fileno())
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise


def open_file(folder: int, name: str, flags: int) -> int:
    """The descriptor of an owned regular file; with O_CREAT it is made, for us alone.

    Neither follows a link nor waits for the other end of a pipe.
    """
    _plain(name)
    safe = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    try:
        file = os.open(name, flags | safe, FILE_MODE, dir_fd=folder)
    except OSError as error:
        raise _of_a_link(error, name) from error
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise ForeignError(name, "is no regular file")
        _require_own(found, name)
    except BaseException:
        os.close(file)
        raise
    return file


def _of_a_link(error: OSError, name: str) -> OSError:
    """The error in words where something else than a file or a folder is there."""
    if error.errno == errno.ELOOP:
        return ForeignError(name, "is a link")
    if error.errno == errno.ENOTDIR:
        return ForeignError(name, "is a link, or no folder")
    return error


def _plain(name: str) -> None:
    """A name and no path: what is opened lies in the folder."""
    if not name or "/" in name or "\0" in name or name in (".", ".."):
        raise ValueError(f"not the name of a file: {name!r}")
