"""Pass: what the target does not have is an error at the line that asks for it.

Passes before this one choose instructions that there are, where there is a choice. What
is left has none: barriers in memory, fences between proxies, clusters.
"""

from argus.diagnostics import fail
from argus.ir.program import Program
from argus.ir.walk import walk
from argus.isa.effects import effects_of

_WORDS = {
    "mbarrier": "waits on barriers in shared memory (mbarrier.try_wait)",
    "tma": "TMA",
    "cluster": "thread block clusters",
    "wgmma": "wgmma",
}
_LEFT_OUT = "leave it out: there is nothing that it would wait for or order"
_HELP = {
    "mbarrier": "rings between roles need them, too: without roles, the warps that "
    "drain a ring fill it, and `ag.sync()` orders them",
}


def require_instructions(program: Program) -> None:
    """Raise ArgusError AG0602 where the target lacks an operation's instruction."""
    target = program.target.name
    for op in walk(program.body):
        record = effects_of(op).instruction
        if record is None or target in record.targets:
            continue
        raise fail(
            "AG0602",
            op.span,
            f"{target} has no {_WORDS.get(record.family, record.name)}",
            help=_HELP.get(record.family, _LEFT_OUT),
        )
