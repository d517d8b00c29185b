"""Rings and their slots."""

from __future__ import annotations

from argus.ir.expr import Const
from argus.ir.memory import Ring, SharedAlloc
from argus.ir.ops import RingRelease, RingWait
from argus.lang.frontend.calls import BoundCall, builtin
from argus.lang.frontend.values import (
    NOTHING,
    RingValue,
    SlotValue,
    SpecValue,
    Value,
    describe,
)
from argus.lang.frontend.withs import next_slot


@builtin("ring")
def ring(call: BoundCall) -> Value:
    """A circular buffer; raises ArgusError (AG0516) for less than one stage."""
    e = call.e
    stages = call.int("stages")
    if not 1 <= stages <= 64:
        raise e.fail(
            "AG0516", call.where("stages"), f"a ring of {stages} stages is not possible"
        )
    if not call.extra:
        raise e.fail(
            "AG0104",
            call.span,
            "a ring needs at least one field",
            help="write `ag.ring(STAGES, a=bf16.tile(BM, BK))`",
        )
    name = e.own_name(call.span, "ring")
    fields: dict[str, SharedAlloc] = {}
    for key, arg in call.extra.items():
        spec = arg.value
        if not isinstance(spec, SpecValue):
            raise e.fail(
                "AG0105",
                arg.span,
                f"a field of a ring is described by `dtype.tile(...)`, not by "
                f"{describe(spec)}",
            )
        if key in ("release", "stages"):
            raise e.fail("AG0019", arg.span, f"a field cannot be named `{key}`")
        buffer = f"{name}_{key}"
        fields[key] = SharedAlloc(
            buffer,
            spec.dtype,
            spec.shape,
            e.seeds.get(buffer, spec.dims),
            stages,
            arg.span,
            swizzle=spec.swizzle,
        )
    made = Ring(name, stages, fields, call.span)
    e.program.rings.append(made)
    e.counters[name, "fill"] = e.counters[name, "drain"] = Const(0)
    return RingValue(made)


@builtin("Ring.fill", "Ring.drain")
def in_with(call: BoundCall) -> Value:
    """These stand in `with` statements, which do not come here."""
    word = call.name.split(".")[1]
    raise call.e.fail(
        "AG0016",
        call.span,
        f"`ring.{word}()` stands only in a `with` statement",
        help=f"write `with ring.{word}() as slot:`",
    )


@builtin("Ring.wait")
def wait(call: BoundCall) -> Value:
    """The next full slot, to be released by hand."""
    assert isinstance(call.receiver, RingValue)
    slot = next_slot(call.e, call.receiver, "drain")
    call.e.emit(RingWait(slot.ring, slot.n, span=call.span))
    return slot


@builtin("Slot.release")
def release(call: BoundCall) -> Value:
    """Hand a slot back."""
    slot = call.receiver
    assert isinstance(slot, SlotValue)
    if slot.mode != "drain":
        raise call.e.fail(
            "AG0415",
            call.span,
            "a slot that is being filled is published by its `with`",
        )
    call.e.emit(RingRelease(slot.ring, slot.n, span=call.span))
    return NOTHING
