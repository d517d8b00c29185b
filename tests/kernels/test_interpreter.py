"""Every library entry through placing and the interpreter, against the fp64 reference.

The library's main test without a GPU: no fault of any kind, every output written, every
element close, no input changed; for several interleavings.
"""

import pytest

from argus.evaluation.requests import request_for
from argus.evaluation.simulate import simulate
from argus.ir.expr import symbols
from argus.ir.printer import print_program
from argus.ir.program import SM_COUNT
from argus.kernels.library import LIBRARY, Case, LibraryEntry
from argus.requests import placed_program
from few import rest, spread

SMALL = [
    pytest.param(entry, case, id=f"{entry.name}-{case.name}")
    for entry in LIBRARY.values()
    for case in entry.small
]


ENTRIES = list(LIBRARY.values())
# Of other orders of the same programs: each entry with one of two by default.
SOME, OTHERS = (
    pytest.mark.parametrize("entry", entries, ids=lambda entry: entry.name)
    for entries in (spread(ENTRIES, 2), spread(ENTRIES[1:] + ENTRIES[:1], 2))
)


@pytest.mark.parametrize(("entry", "case"), SMALL)
def test_small_case(entry: LibraryEntry, case: Case) -> None:
    """For each target whose program is another."""
    run: set[str] = set()
    for target in entry.targets:
        program = placed_program(request_for(entry, case, target)[0])
        text = print_program(program).replace(target, "any")
        if text not in run:
            done = simulate(entry, case, target)
            assert done.ok, "\n".join(done.why())
            run.add(text)


@pytest.mark.parametrize("seed", [1, *rest(2)])
@SOME
def test_other_interleavings_and_data(entry: LibraryEntry, seed: int) -> None:
    case = entry.small[seed % len(entry.small)]
    done = simulate(entry, case, entry.targets[-1], seed=seed)
    assert done.ok, "\n".join(done.why())


@OTHERS
def test_everything_as_late_as_possible(entry: LibraryEntry) -> None:
    done = simulate(entry, entry.small[0], entry.targets[-1], schedule="in_order")
    assert done.ok, "\n".join(done.why())


@pytest.mark.parametrize("entry", LIBRARY.values(), ids=LIBRARY)
def test_fewer_and_more_multiprocessors_than_tiles(entry: LibraryEntry) -> None:
    case, target = entry.small[0], entry.targets[-1]
    request, _ = request_for(entry, case, target)
    if SM_COUNT not in symbols(placed_program(request).grid):
        return  # a block for each tile, whatever there is
    for sm_count in (2, 64):
        done = simulate(entry, case, target, sm_count=sm_count)
        assert done.ok, "\n".join(done.why())
