"""Verdicts on disk, without importing what makes them.

    known = kept_all(kernel, statics, target, space)     what `proved_all` has kept
    known = kept_case(request, entry, case)              what `proved_case` has kept

An entry is found by everything that it depends on: the sources of the kernel, in which
its reference stands, or the code of Argus, in which that of a library entry does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from argus.compiler import Proof, kept_proof
from argus.requests import Request

if TYPE_CHECKING:
    from argus.kernels.entry import Case, LibraryEntry
    from argus.lang.kernel import Kernel
    from argus.specialisations import SpecialisationSpace

__all__ = ["kept_all", "kept_case", "key_of_all", "key_of_case"]


def key_of_all(space: SpecialisationSpace) -> tuple[str, ...]:
    """What a proof of all specialisations of a space is about, beside its request."""
    return ("all specialisations", space.key)


def key_of_case(entry: LibraryEntry, case: Case) -> tuple[str, ...]:
    """What a proof with the reference of an entry is about, beside its request."""
    return ("a case", entry.name, repr(case))


def kept_all(
    kernel: Kernel,
    statics: Mapping[str, object],
    target: str,
    space: SpecialisationSpace,
) -> Proof | None:
    """What is known of all specialisations of a space, if anything is."""
    return kept_proof(Request(kernel, {}, statics, target), *key_of_all(space))


def kept_case(request: Request, entry: LibraryEntry, case: Case) -> Proof | None:
    """What is known of a kernel and an entry's reference, if anything is."""
    return kept_proof(request, *key_of_case(entry, case))
