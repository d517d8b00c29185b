"""Memory as the interpreter sees it: global tensors, and a block's shared memory.

Shared memory starts poisoned (every byte 0xff: a NaN in each float type) and keeps, for
every byte, whether it was ever written, and how many asynchronous operations are
writing or reading it. An access that contradicts one of these is a fault; it is carried
out all the same.

Addresses come in as integer arrays, one per element. Who is ordered before whom is in
`order.py`, what lacks a fence.proxy.async in `proxies.py`, when asynchronous operations
complete in `events.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from argus.interpret.errors import FaultKind, Faults
from argus.interpret.numbers import Array, unsigned
from argus.interpret.order import AccessOrder, Ordered
from argus.interpret.proxies import Proxies
from argus.ir.access import Ints
from argus.ir.memory import GlobalTensor
from argus.isa.record import Proxy

if TYPE_CHECKING:
    from argus.interpret.machine import ThreadGroup

__all__ = ["GlobalArray", "SharedAccess", "SharedMemory"]

POISON = 0xFF


@dataclass
class GlobalArray:
    """A tensor argument: the caller's array (modified in place) and its address.

    `base` is as aligned as the program requires, and no more, so that an access that
    takes more alignment for granted shows.
    """

    tensor: GlobalTensor
    array: Array
    base: int

    def address(self, coords: tuple[Any, ...]) -> Ints:
        """Byte address of elements."""
        total: Any = self.base
        for coord, stride in zip(coords, self.array.strides, strict=True):
            total = total + coord * stride
        return np.asarray(total)

    def read(self, coords: tuple[Any, ...], active: Array) -> Array:
        """The elements that are ``active``; 0 for all others, which may not exist."""
        values = np.zeros(active.shape, self.array.dtype)
        values[active] = self.array[tuple(c[active] for c in coords)]
        return values


@dataclass(frozen=True)
class SharedAccess:
    """Elements of shared memory that threads touch: byte addresses [threads, ...].

    `threads` numbers the rows within the group (None: 0, 1, ...). Addresses are
    multiples of `itemsize`.
    """

    addresses: Ints
    itemsize: int
    threads: Ints | None = None

    @property
    def rows(self) -> Ints:
        """The thread of each row."""
        if self.threads is None:
            return np.arange(self.addresses.shape[0], dtype=np.int64)
        return self.threads


def _ones(itemsize: int) -> int:
    """An element each of whose bytes is 1."""
    return int.from_bytes(b"\x01" * itemsize, "little")


class SharedMemory:
    """The dynamic shared memory of one block, `size` bytes."""

    def __init__(self, size: int, faults: Faults, order: AccessOrder) -> None:
        whole = -(-max(size, 16) // 16) * 16
        self.size = size
        self.faults = faults
        self.order = order
        self.data = np.full(whole, POISON, np.uint8)
        self.written = np.zeros(whole, np.uint8)
        self.writing = np.zeros(whole, np.uint8)
        """Asynchronous writes that no wait has covered yet."""
        self.reading = np.zeros(whole, np.uint8)
        """Asynchronous reads that no wait has covered yet."""
        self.proxies = Proxies(whole, order)

    # ------------------------------------------------- ordinary (generic) access

    def load(self, group: ThreadGroup, access: SharedAccess, proxy: Proxy) -> Array:
        """Bit patterns that the group's threads read."""
        at = self._inside(group, access, "read")
        size = access.itemsize
        self._never_written(group, at, size)
        self._report(
            group,
            at,
            self.writing.view(unsigned(size))[at // size] != 0,
            "in_flight",
            "shared memory is read while a copy to it is in flight: a wait is missing",
        )
        ordered = self.order.read(group, at, access.rows)
        self._fenced(group, at, proxy, ordered, write=False)
        if proxy == "generic":
            self.proxies.read(group, at)
        return self.data.view(unsigned(size))[at // size]

    def store(
        self, group: ThreadGroup, access: SharedAccess, bits: Array, proxy: Proxy
    ) -> None:
        """Bit patterns that the group's threads write."""
        at = self._inside(group, access, "written")
        size = access.itemsize
        self._not_in_use(group, at, size)
        ordered = self.order.write(group, at, access.rows)
        self._fenced(group, at, proxy, ordered, write=True)
        self.data.view(unsigned(size))[at // size] = bits
        self._report(
            group,
            at,
            self.data.view(unsigned(size))[at // size] != bits,
            "unordered",
            "two threads write different values to the same place",
        )
        self.written.view(unsigned(size))[at // size] = _ones(size)
        if proxy == "generic":
            self.proxies.wrote(group, at)
        else:
            self.proxies.overwrote(at)

    # ---------------------------------------------------- asynchronous operations

    def begin_read(
        self,
        group: ThreadGroup,
        access: SharedAccess,
        agent: int,
        count: int,
        proxy: Proxy,
    ) -> None:
        """Operation `count` of an agent, which will read these bytes, is issued."""
        at = self._inside(group, access, f"read by the {proxy} proxy")
        size = access.itemsize
        self._never_written(group, at, size)
        self._report(
            group,
            at,
            self.writing.view(unsigned(size))[at // size] != 0,
            "in_flight",
            "an asynchronous operation reads shared memory while a copy to it is in"
            " flight: a wait is missing",
        )
        ordered = self.order.async_read(group, at, agent, count)
        self._fenced(group, at, proxy, ordered, write=False)
        self.reading.view(unsigned(size))[at // size] += _ones(size)

    def end_read(self, access: SharedAccess) -> None:
        """A wait covers an operation that read these bytes."""
        at, size = self._clipped(access), access.itemsize
        self.reading.view(unsigned(size))[at // size] -= _ones(size)

    def begin_write(
        self, group: ThreadGroup, access: SharedAccess, per_thread: bool, proxy: Proxy
    ) -> None:
        """An asynchronous copy to these bytes is issued, by all threads or by one."""
        at = self._inside(group, access, "written by a copy")
        size = access.itemsize
        self._not_in_use(group, at, size)
        threads = access.rows if per_thread else None
        ordered = self.order.async_write(group, at, threads)
        self._fenced(group, at, proxy, ordered, write=True)
        self.writing.view(unsigned(size))[at // size] += _ones(size)

    def put(self, access: SharedAccess, bits: Array, proxy: Proxy) -> None:
        """The bytes of an asynchronous copy are there, but no wait covers them yet."""
        at, size = self._clipped(access), access.itemsize
        self.data.view(unsigned(size))[at // size] = bits
        self.written.view(unsigned(size))[at // size] = _ones(size)
        if proxy == "generic":
            self.proxies.copied(at)
        else:
            self.proxies.overwrote(at)

    def end_write(
        self, access: SharedAccess, agent: int, count: int, per_thread: bool
    ) -> None:
        """The copy is complete, and known to be so as of an agent's clock `count`."""
        at, size = self._clipped(access), access.itemsize
        self.writing.view(unsigned(size))[at // size] -= _ones(size)
        threads = access.rows if per_thread else None
        self.order.completed(at, agent, count, threads)

    def peek(self, access: SharedAccess) -> Array:
        """Bit patterns as they are now; for operations checked at their issue."""
        at, size = self._clipped(access), access.itemsize
        return self.data.view(unsigned(size))[at // size]

    # ------------------------------------------------------------------- checks

    def _fenced(
        self,
        group: ThreadGroup,
        at: Ints,
        proxy: Proxy,
        ordered: Ordered,
        *,
        write: bool,
    ) -> None:
        """The async proxy comes to bytes that ordinary accesses may still be at."""
        if proxy != "async":
            return
        verb = "overwrites" if write else "reads"
        self._report(
            group,
            at,
            ordered & self.proxies.unfenced_writes(group, at),
            "proxy_fence",
            f"the async proxy {verb} ordinary writes that no fence.proxy.async covers",
        )
        if write:
            self._report(
                group,
                at,
                ordered & self.proxies.unfenced_reads(group, at),
                "proxy_fence",
                "the async proxy overwrites what ordinary reads, which no"
                " fence.proxy.async covers, may still read",
            )

    def _inside(self, group: ThreadGroup, access: SharedAccess, verb: str) -> Ints:
        at = access.addresses
        if at.size and (at.min() < 0 or at.max() + access.itemsize > self.size):
            last = int(at.max()) + access.itemsize - 1
            self.faults.add(
                "bounds",
                group,
                f"bytes {int(at.min())}..{last} of shared memory are {verb};"
                f" the block has {self.size}",
            )
        return self._clipped(access)

    def _clipped(self, access: SharedAccess) -> Ints:
        return np.clip(access.addresses, 0, self.data.size - access.itemsize)

    def _never_written(self, group: ThreadGroup, at: Ints, size: int) -> None:
        self._report(
            group,
            at,
            self.written.view(unsigned(size))[at // size] != _ones(size),
            "uninitialised",
            "shared memory is read that was never written",
        )

    def _not_in_use(self, group: ThreadGroup, at: Ints, size: int) -> None:
        busy = self.writing.view(unsigned(size))[at // size] != 0
        busy |= self.reading.view(unsigned(size))[at // size] != 0
        self._report(
            group,
            at,
            busy,
            "in_flight",
            "shared memory is overwritten while an asynchronous operation uses it",
        )

    def _report(
        self, group: ThreadGroup, at: Ints, bad: Array, kind: FaultKind, message: str
    ) -> None:
        if not bad.any():
            return
        first = np.unravel_index(int(np.argmax(bad)), bad.shape)
        byte = int(at[first])
        self.faults.add(
            kind,
            group,
            f"{message} (byte {byte}; {int(bad.sum())} of {bad.size} elements)",
            thread=int(first[0]) if bad.ndim > 1 else None,
            byte=byte,
        )
