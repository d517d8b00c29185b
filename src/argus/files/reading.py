"""Reading a source file that somebody names: anywhere, or below one folder only.

    Reader().read("k.py")                the user's own word, on the command line
    Reader(Path("/project")).read(...)   a stranger's word, such as a tool's argument

Below a folder means: of its own tree. A path is taken to pieces, and each is opened
from the one before without following a link, so that no link, `..` or swapped folder
leads out; a file with a second name (a hard link) may be one from elsewhere, and is
refused.
Only regular files are opened, since a pipe or a device may never end or never begin,
and no more is read than a source may have.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from argus.diagnostics import ArgusError, fail
from argus.files.sources import note_source

LONGEST = 1_000_000
"""Bytes of a source file that are read; the judge reads no more characters either."""


class Reader:
    """Reads source files. ``root``: the folder that all must lie in; None: anywhere."""

    def __init__(self, root: Path | None = None) -> None:
        self._given = None if root is None else os.path.abspath(root)
        self.root = None if root is None else os.path.realpath(root)

    def read(self, path: str) -> str:
        """The text of a file; a relative path is one below the folder.

        Raises ArgusError: AG0901 (no file, or no regular one), AG0902 (it cannot be
        read, is too long, or is no text in UTF-8), AG0915 (outside of the folder).
        """
        try:
            raw = self._raw(path)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise fail("AG0901", None, f"there is no file `{_shown(path)}`") from error
        except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
            text = f"the file `{_shown(path)}` cannot be read"
            raise fail("AG0902", None, text, notes=[str(error)]) from error
        if len(raw) > LONGEST:
            text = f"the file `{_shown(path)}` has more than {LONGEST} bytes"
            raise fail("AG0902", None, text)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            text = f"the file `{_shown(path)}` is not text in UTF-8"
            raise fail("AG0902", None, text, notes=[str(error)]) from error

    def _raw(self, path: str) -> bytes:
        if self.root is None:
            return _content(os.path.expanduser(path), path, None)
        *folders, name = self._parts(path)
        at = os.open(self.root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for folder in folders:
                following = _step(folder, path, at)
                os.close(at)
                at = following
            found = os.fstat(file := _step(name, path, at))
            os.close(file)
            if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
                raise outside(path, "has a second name (a hard link)")
            return _content(name, path, at)
        finally:
            os.close(at)

    def _parts(self, path: str) -> list[str]:
        """The names that lead from the folder to the file."""
        assert self.root is not None and self._given is not None
        for top in (self.root, self._given):
            whole = os.path.normpath(os.path.join(top, path))
            inside = os.path.relpath(whole, top).split("/")
            if inside[0] not in ("..", "."):
                return inside
        raise outside(path, f"is not below {self.root}")


def outside(path: str, why: str) -> ArgusError:
    """The error for a file that is not to be read."""
    return fail(
        "AG0915",
        None,
        f"the file `{_shown(path)}` {why}",
        help="hand the kernel in as text, or start the server with "
        "`argus mcp --root FOLDER`",
    )


def _step(name: str, path: str, folder: int) -> int:
    """What stands under a name, not opened for reading. Raises AG0915 for a link."""
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    found = os.open(name, flags, dir_fd=folder)
    if stat.S_ISLNK(os.fstat(found).st_mode):
        os.close(found)
        raise outside(path, f"goes through the link `{_shown(name)}`")
    return found


def _content(name: str, path: str, folder: int | None) -> bytes:
    """What a regular file holds, as far as a source goes."""
    found = os.stat(name, dir_fd=folder, follow_symlinks=folder is None)
    if not stat.S_ISREG(found.st_mode):
        raise fail("AG0901", None, f"`{_shown(path)}` is no regular file")
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        file = os.open(
            name, flags | (0 if folder is None else os.O_NOFOLLOW), dir_fd=folder
        )
    except OSError as error:
        if folder is not None and error.errno == errno.ELOOP:
            raise outside(path, "is a link") from error
        raise
    with os.fdopen(file, "rb") as opened:
        now = os.fstat(file)
        if (now.st_dev, now.st_ino) != (found.st_dev, found.st_ino):
            raise OSError(errno.EAGAIN, "it was replaced while it was opened")
        if folder is not None and now.st_nlink > 1:
            raise outside(path, "has a second name (a hard link)")
        note_source(now)
        return opened.read(LONGEST + 1)


def _shown(path: str) -> str:
    """A path in a message: one line, and text whatever it holds."""
    safe = path.encode("utf-8", "backslashreplace").decode()
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in safe)
