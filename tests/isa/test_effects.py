"""What operations do: each has effects, and those of its instruction's record."""

import ast
from dataclasses import dataclass, fields
from pathlib import Path
from traceback import extract_tb

import pytest

import argus
from argus.diagnostics import Span
from argus.ir import ops as o
from argus.isa import cp_async, ldmatrix, memory, registry
from argus.isa.effects import OpEffects, Touch, effects_of
from argus.isa.record import Effects


def test_forms_of_one_access_do_the_same() -> None:
    """Placing looks for hazards before it has chosen among these."""

    def alike(*all_of: Effects) -> None:
        assert len({(e.proxy, e.completes, e.released) for e in all_of}) == 1

    load, store = (
        [
            registry.lookup(ldmatrix.function_name(n, load=load, trans=trans)).effects
            for n in ldmatrix.COUNTS
            for trans in (False, True)
        ]
        for load in (True, False)
    )
    alike(memory.ORDINARY["ld.shared"].effects, *load)
    alike(memory.ORDINARY["st.shared"].effects, *store)
    sizes = [registry.lookup(cp_async.function_name(n)) for n in cp_async.SIZES]
    alike(*(record.effects for record in sizes))


def test_who_waits_awaits_what_something_completes_by() -> None:
    """Each kind of group has operations, a commit, and a wait that covers it."""
    records = registry.all_instructions()
    done = {r.effects.completes for r in records} | {
        r.effects.released for r in records
    }
    awaited = {kind for r in records for kind in r.effects.awaits}
    committed = {kind for r in records for kind in r.effects.commits}
    assert awaited - {"threads", "registers"} == done - {"issue", None}
    assert committed == done - {"issue", None, "mbarrier"}


@pytest.mark.parametrize("kind", o.OPS, ids=lambda kind: kind.__name__)
def test_every_operation_has_effects(kind: type[o.Op]) -> None:
    """One that is forgotten ends in `assert_never`, not in "does nothing"."""
    bare = object.__new__(kind)
    passive = o.RegisterOp | o.Structure | o.RingOp | o.Annotation | o.Let | o.Extract
    if issubclass(kind, passive):
        assert effects_of(bare) == OpEffects()
        return
    try:
        found = effects_of(bare)
    except AttributeError as error:
        # What it does depends on its fields, of which it has none here.
        seen = [frame.name for frame in extract_tb(error.__traceback__)]
        assert "assert_never" not in seen
        return
    if kind not in (o.BarrierExpect, o.BarrierArrive):
        assert found.commits or found.awaits or found.later


def test_an_operation_that_nobody_knows_is_an_error() -> None:
    @dataclass(eq=False)
    class New(o.Op):
        pass

    with pytest.raises(AssertionError):
        effects_of(New(span=Span("", 1, 1, 1, 1)))  # type: ignore[arg-type]


def test_every_effect_is_read() -> None:
    """By somebody outside of the package that states it."""
    read: set[str] = set()
    for package in ("lower", "verify", "interpret", "model", "codegen"):
        for path in (Path(argus.__file__).parent / package).rglob("*.py"):
            text = path.read_text()
            if "argus.isa.effects" in text or "effects.of(" in text:
                nodes = ast.walk(ast.parse(text))
                read |= {n.attr for n in nodes if isinstance(n, ast.Attribute)}
    stated = {f.name for kind in (OpEffects, Touch) for f in fields(kind)}
    assert stated <= read
