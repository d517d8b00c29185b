"""What an author says about a kernel, for the verifier. It leaves no trace in the code.

Each is a statement of its own, written with the module's name (`ag.check(...)`), and
names values that are there: it computes no tile and loads nothing.
"""

from collections.abc import Callable

from argus.lang.names.outside import outside
from argus.lang.names.values import SharedTile, Tensor, Tile

__all__ = [
    "assume",
    "check",
    "expect",
    "tag",
    "trust",
]


def tag(
    target: Tensor | Tile | SharedTile, components: Callable[..., dict[str, int]]
) -> None:
    """Give the elements of a tensor or tile further components in their tag.

    `components` maps an element's coordinates to integers by name:
    `ag.tag(V, lambda b, h, t, d: {"T": t, "parity": d % 2})`.
    """
    raise outside("tag")


def check(relation: Callable[..., bool], *values: Tile | SharedTile) -> None:
    """A relation between the tags of elements that is to be proved.

    `ag.check(lambda p, v: p.T == v.T, p, v)`: for all elements of `p` and `v` at the
    same place along the dimensions that they share.
    """
    raise outside("check")


def assume(
    fact: bool | Callable[..., bool], *tables: Tensor, pairs: bool = False
) -> None:
    """A fact about run-time values that is taken as true, and listed in every report.

    A condition on scalars; or a function of an element of each table, which holds for
    all of them: `ag.assume(lambda row: row < T, Rows)`. With `pairs` the function takes
    two elements of each table, from two different positions:
    `ag.assume(lambda a, b: a != b, Rows, pairs=True)`.
    """
    raise outside("assume")


def expect(
    *,
    bank_conflicts: int | None = None,
    excess_sectors: int | None = None,
    access_bytes: int | None = None,
    occupancy: int | None = None,
    spills: int | None = None,
    registers: int | None = None,
) -> None:
    """Performance facts that are binding for this kernel.

    At most so many wavefronts (`bank_conflicts`) or sectors of 32 bytes
    (`excess_sectors`) beyond the ideal in any access, at least `access_bytes` per
    thread in any access to global memory, at least `occupancy` blocks resident on a
    multiprocessor, at most `spills` bytes and `registers` per thread.
    """
    raise outside("expect")


def trust(reason: str, *, whole: bool = False) -> None:
    """Accept what the verifier cannot decide about the next statement.

    It is listed in every report. What is refuted stays refuted. `whole`: what cannot be
    decided about the kernel as a whole, too.
    """
    raise outside("trust")
