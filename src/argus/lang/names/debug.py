"""What helps to see what a kernel does."""

from argus.lang.names.outside import outside
from argus.lang.names.values import Tile

__all__ = ["print"]


def print(text: str, *values: Tile | float) -> None:
    """Print a text and values: scalars, and at most one tile of at most 1024 elements.

    One line from the first thread of the role, or one for each element of the tile,
    each with its block, thread and coordinates. Lines come in any order. On a GPU it
    is `printf`, whose buffer is read when the device is synchronised. Nothing that is
    proved depends on it; a kernel that prints is not timed.
    """
    raise outside("print")
