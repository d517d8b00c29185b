"""Explicit ordering: what the policies insert by themselves, to be written by hand."""

from argus.lang.names.outside import outside
from argus.lang.names.values import Barrier

__all__ = [
    "arrive",
    "cluster_sync",
    "cp_async_arrive",
    "cp_async_commit",
    "cp_async_wait",
    "fence_async",
    "sync",
    "wgmma_wait",
]


def sync(name: str | None = None, *, threads: int | None = None) -> None:
    """All threads of the role wait for each other; with a name: a shared barrier."""
    raise outside("sync")


def arrive(name: str, *, threads: int) -> None:
    """Arrive on a named barrier without waiting (bar.arrive)."""
    raise outside("arrive")


def fence_async() -> None:
    """What these threads did to shared memory comes before what TMA and wgmma do next.

    It goes before the arrival or sync that hands on what they have written, or read
    where TMA writes again (fence.proxy.async).
    """
    raise outside("fence_async")


def cluster_sync() -> None:
    """All threads of all blocks of the cluster wait for each other."""
    raise outside("cluster_sync")


def cp_async_commit() -> None:
    """Close the group of cp.async copies issued so far."""
    raise outside("cp_async_commit")


def cp_async_wait(pending: int = 0) -> None:
    """Wait until at most `pending` groups of cp.async copies remain."""
    raise outside("cp_async_wait")


def cp_async_arrive(barrier: Barrier) -> None:
    """Arrive on a barrier when this thread's cp.async copies completed."""
    raise outside("cp_async_arrive")


def wgmma_wait(pending: int = 0) -> None:
    """Wait until at most `pending` groups of wgmma instructions remain."""
    raise outside("wgmma_wait")
