"""Objects that are equal when what they say is equal.

Every atom, integer, leaf and term has a `key`: a text that determines it. Long keys are
replaced by a digest of 128 bits, so that comparing two terms costs the same whatever
their size. Hashes follow from keys and not from Python's seeded hash of strings: sets
and dictionaries of terms are walked in the same order in every process.
"""

from collections.abc import Iterable
from hashlib import blake2b
from zlib import crc32

_LONG = 96
"""Characters above which a key is replaced by its digest."""


class Keyed:
    """Base of immutable objects with a key; equal keys, equal objects."""

    __slots__ = ("_hash", "key")
    key: str
    _hash: int

    def identify(self, text: str) -> None:
        """Set the key, which follows from the text."""
        if len(text) > _LONG:
            text = f"#{blake2b(text.encode(), digest_size=16).hexdigest()}"
        self.key = text
        self._hash = crc32(text.encode())

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Keyed) and self.key == other.key)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return str(self)


def keys(objects: Iterable[Keyed]) -> str:
    """The keys of several objects, in their order."""
    return ",".join(o.key for o in objects)
