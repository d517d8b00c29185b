"""Pass: choose how each asynchronous copy travels: TMA, cp.async, or registers.

TMA where the target has it and every tensor dimension is either fixed or one tile axis
(no gathers, no affine views); cp.async otherwise; plain loads and stores where not even
its smallest access is aligned. An author's ``via=`` is honoured or an error.
"""

from typing import assert_never

from argus.diagnostics import fail
from argus.ir import ops as o
from argus.ir.program import Program
from argus.isa import cp_async
from argus.lower.groups import Group, groups, rewrite
from argus.lower.tma import BrokenRule, tma_plan, why_not_tma
from argus.lower.vectors import copy_plan


def select_copies(program: Program) -> None:
    """Set the plan of CopyAsync and CopyOut.

    Raises ArgusError: AG0602 (target has no TMA), AG0603, AG0608, AG0609, AG0611 (what
    of the copy TMA or cp.async cannot do: its form, alignment, box, tensor).
    """
    for group in groups(program):

        def rule(op: o.AnyOp, group: Group = group) -> list[o.AnyOp] | None:
            match op:
                case o.CopyAsync():
                    return _copy_in(program, group, op)
                case o.CopyOut():
                    op.plan = tma_plan(program, op, op.dst, op.src, 1)
                    return None
                case (
                    o.Structure() | o.Binding() | o.RegisterOp() | o.Dot()
                    | o.Access() | o.Synchronisation() | o.RingOp() | o.Annotation()
                ):  # fmt: skip
                    return None
                case _:
                    assert_never(op)

        rewrite(group.block, rule)


def _copy_in(program: Program, group: Group, op: o.CopyAsync) -> list[o.AnyOp] | None:
    asked = op.via is not None
    why = why_not_tma(program, op.src, op.dst)
    if op.ring is None:
        _check_completion(op, why)
    if op.via == "tma" or op.multicast > 1 or (op.via is None and why is None):
        op.plan = tma_plan(program, op, op.src, op.dst, op.multicast)
        op.via = "tma"
        return None
    if group.role is not None and op.via is None and not op.src.gathers:
        assert why is not None
        raise fail(
            why.code,
            op.span,
            f"TMA cannot load this tile: {why.text}",
            help='write `via="cp_async"` if the role has enough threads to copy it',
        )
    op.via = "cp_async"
    plan = copy_plan(program, op.src, op.dst, group.warps)
    if plan is not None:
        op.plan = plan
        return None
    least = cp_async.SIZES[0]
    if asked or (op.ring is not None and group.role is not None):
        raise fail(
            "AG0608",
            op.span,
            f"the rows are not {least}-byte aligned: no asynchronous copy can load "
            "this tile",
            help="pad the tensor, or leave `via=` out in a kernel without roles",
        )
    note = f"rows are not {least}-byte aligned: copied through registers"
    tile = o.Tile(op.src.dtype, op.src.shape, op.src.dims, op.span, name="copied")
    return [
        o.LoadGlobal(result=tile, view=op.src, span=op.span, note=note),
        o.StoreShared(view=op.dst, src=tile, span=op.span, note=note),
    ]


def _check_completion(op: o.CopyAsync, why: BrokenRule | None) -> None:
    """Settle how a copy outside of rings completes: on a barrier by TMA, or as a group.

    Raises ArgusError: a TMA copy without a barrier, or a cp.async copy with one
    (AG0613); a copy with a barrier that TMA cannot do (the code of ``why``).
    """
    if op.barrier is None:
        if op.via == "tma" or op.multicast > 1:
            raise fail(
                "AG0613",
                op.span,
                "a copy by TMA completes on a barrier, and none is given",
                help="make one with `ag.barriers()` and give `bar[i]`",
            )
        op.via = "cp_async"
    elif op.via == "cp_async":
        raise fail(
            "AG0613",
            op.span,
            "a cp.async copy completes with its group, not on a barrier",
            help="leave the barrier out: `ag.cp_async_wait` waits, "
            "`ag.cp_async_arrive(bar[i])` arrives",
        )
    elif why is not None:
        raise fail(
            why.code,
            op.span,
            f"a barrier waits for a copy by TMA, which cannot do this one: {why.text}",
            help='copy without a barrier: `via="cp_async"` and `ag.cp_async_wait`',
        )
