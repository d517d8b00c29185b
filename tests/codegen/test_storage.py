"""Which tiles share an array, and where arrays are declared."""

from __future__ import annotations

from placed_builder import Build

from argus.codegen import emit
from argus.codegen.names import Identifiers
from argus.codegen.storage import assign
from argus.ir import ops as o
from argus.ir.dtypes import bf16, f32
from argus.ir.expr import Const, Sym
from argus.layout import blocked
from pieces import at, tile

LAYOUT = blocked((256,), 128, 2)


def test_a_transpose_is_another_name() -> None:
    b = Build("k")
    layout = blocked((16, 16), 128, 2)
    t = b.full("t", f32, layout, 1)
    flipped = tile("flipped", f32, layout.permute((1, 0)), "")
    b.add(o.Transpose(result=flipped, src=t, axes=(1, 0), span=at(2)))
    storage = assign(o.Block(b.ops), Identifiers())
    assert storage.same(t, flipped)


def test_a_transpose_of_what_a_loop_updates_is_a_copy() -> None:
    b = Build("k")
    layout = blocked((16, 16), 128, 2)
    init = b.full("t", f32, layout, 1)
    arg, result = tile("t", f32, layout, ""), tile("t", f32, layout, "")
    flipped = tile("flipped", f32, layout.permute((1, 0)), "")
    body = o.Block([o.Transpose(result=flipped, src=arg, axes=(1, 0), span=at(2))])
    b.add(
        o.For(
            var=Sym("i", "loop"),
            start=Const(0),
            stop=Const(4),
            step=Const(1),
            body=body,
            tiles=[o.TileCarry(init, arg, arg, result)],
            span=at(2),
        )
    )
    storage = assign(o.Block(b.ops), Identifiers())
    assert not storage.same(arg, flipped)
    assert storage.same(arg, result)
    assert storage.same(arg, init), "nobody else reads the initial value"


def test_an_initial_value_that_is_read_again_keeps_its_registers() -> None:
    b = Build("k")
    init = b.full("t", f32, LAYOUT, 1)
    arg, result = tile("t", f32, LAYOUT, ""), tile("t", f32, LAYOUT, "")
    more = tile("more", f32, LAYOUT, "")
    step = o.Elementwise(result=more, fn="add", args=(arg, init), span=at(2))
    b.add(
        o.For(
            var=Sym("i", "loop"),
            start=Const(0),
            stop=Const(4),
            step=Const(1),
            body=o.Block([step]),
            tiles=[o.TileCarry(init, arg, more, result)],
            span=at(2),
        )
    )
    storage = assign(o.Block(b.ops), Identifiers())
    assert not storage.same(arg, init)


def test_shared_storage_is_declared_around_all_its_definitions() -> None:
    b = Build("k")
    first = tile("acc", f32, LAYOUT, "", storage=3)
    second = tile("acc", f32, LAYOUT, "", storage=3)
    cond = Sym("block_x", "block")
    b.add(
        o.If(
            cond=cond,
            then=o.Block([o.Full(result=first, value=Const(0), span=at(2))]),
            other=o.Block([o.Full(result=second, value=Const(1), span=at(3))]),
            span=at(2),
        )
    )
    block = o.Block(b.ops)
    storage = assign(block, Identifiers())
    assert storage.same(first, second)
    assert list(storage.declared) == [(id(block), 0)]


def test_a_permutation_within_one_array_goes_through_a_copy() -> None:
    """A conversion whose result shares the registers of its source."""
    b = Build("k")
    source = tile("t", bf16, blocked((256,), 128, 2), "", storage=1)
    target = tile("t", bf16, blocked((256,), 128, 2), "", storage=1)
    b.add(o.Full(result=source, value=Const(1), span=at(2)))
    b.add(o.Convert(result=target, src=source, span=at(3)))
    text = emit(b.program([], [], Const(1))).text
    assert "_old" not in text, "the identity needs no copy"
