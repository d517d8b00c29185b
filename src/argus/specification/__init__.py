"""What a kernel should compute: references as terms.

    given = trace_numpy(reference, program, world)
    given.outputs["C"].at((m, n))

A reference in numpy is run on symbolic arrays, whose elements are values of
`argus.terms`. What it does that has no meaning there raises `Unknown`, by name.

    specification.py                 a reference and a kernel's parameters: the result
    arguments.py                     which arguments a reference gets
    calling.py, builtin.py, module.py  the names that a traced function finds
    array.py, storage.py, tracing.py   arrays, views, what a trace rests on
    table.py                         which function of numpy is traced where
    padding.py, finiteness.py        borders of arrays; what is finite
    in_floats.py                     whole numbers in floats of few bits
    ufuncs.py ... indirect.py        functions of numpy, by what they do
    own_sources.py, stand_ins.py     those that numpy's own text defines; its classes
    definitions.py, sorted_tables.py, of_each.py   those that are others together
    handlers.py, texts.py            what could hide from the trace; texts of functions
    aten/                            functions and modules of PyTorch
    loops.py, repeating.py, recurrences.py, state.py   loops over symbolic sizes
    turning.py                       branches that a round of a loop decides
    kept.py                          what a reference keeps from call to call
"""

from argus.specification import (
    contracting,
    creating,
    definitions,
    indirect,
    joining,
    of_each,
    padding,
    reducing,
    reordering,
    reshaping,
    rounding,
    sorted_tables,
    writing,
)
from argus.specification.array import SymbolicArray
from argus.specification.ragged import APART
from argus.specification.specification import (
    LibraryCase,
    LibraryReference,
    Specification,
    trace_entry,
    trace_numpy,
)
from argus.specification.tracing import Need

TRACED = (
    contracting,
    creating,
    definitions,
    indirect,
    joining,
    of_each,
    padding,
    reducing,
    reordering,
    reshaping,
    rounding,
    sorted_tables,
    writing,
)
"""Modules that fill the table of functions when they are imported."""

__all__ = [
    "APART",
    "TRACED",
    "LibraryCase",
    "LibraryReference",
    "Need",
    "Specification",
    "SymbolicArray",
    "trace_entry",
    "trace_numpy",
]
