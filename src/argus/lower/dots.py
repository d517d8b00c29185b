"""Pass: choose the matrix instruction of every dot.

wgmma where the target has it, the group is made of warpgroups and the operands allow it
(B in shared memory; A in shared memory or registers; shapes: `isa.wgmma`); otherwise a
product of operands in registers (`isa.register_product`: mma.sync), to which they are
brought. The dot's accumulator gets its layout here: every other layout is inferred from
these.
"""

from dataclasses import dataclass

from argus.diagnostics import fail
from argus.ir import ops as o
from argus.ir.memory import SharedView
from argus.ir.placement import MmaPlan, MmaStep, WgmmaPlan
from argus.ir.program import Program
from argus.isa import descriptor, registry, wgmma
from argus.isa.matrix import MatrixElement, element, element_names
from argus.isa.register_product import RegisterProduct
from argus.layout import (
    Fragment,
    wgmma_a_operand,
    wgmma_accumulator,
)
from argus.lower.descriptors import matrix_operand
from argus.lower.groups import Group, groups, rewrite


def select_dots(program: Program) -> None:
    """Set ``plan`` and accumulator layouts of all dots.

    Raises ArgusError: AG0603 when no instruction of the target can do a dot; AG0602,
    AG0603, AG0604 or AG0605 when wgmma is asked for and cannot do it.
    """
    for group in groups(program):

        def rule(op: o.AnyOp, group: Group = group) -> list[o.AnyOp] | None:
            return _select(program, group, op) if isinstance(op, o.Dot) else None

        rewrite(group.block, rule)


def _select(program: Program, group: Group, dot: o.Dot) -> list[o.AnyOp] | None:
    of = element(dot.a.dtype)
    if of is None or dot.a.dtype != dot.b.dtype:
        raise fail(
            "AG0603",
            dot.span,
            f"no matrix instruction multiplies {dot.a.dtype} by {dot.b.dtype}",
            help=f"cast both operands to {element_names()}",
        )
    target = program.target.name
    if dot.instruction == "mma":
        return _in_registers(dot, of, group, target, "it is not asked for")
    reason = _try_wgmma(program, group, dot, of)
    if reason is None:
        return None
    if dot.instruction == "wgmma" or dot.inst_n is not None:
        raise fail(
            reason.code,
            dot.span,
            f"wgmma cannot do this product: {reason.text}",
            help="`ag.dot` without `inst_n=` takes the instruction that fits",
        )
    return _in_registers(dot, of, group, target, reason.text)


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why wgmma cannot do a dot, and the code of that where wgmma is asked for."""

    code: str
    text: str


def _try_wgmma(
    program: Program, group: Group, dot: o.Dot, of: MatrixElement
) -> _Refusal | None:
    """Plan the dot as wgmma, or say why not."""
    if not registry.has_family("wgmma", program.target.name):
        return _Refusal("AG0602", f"{program.target.name} has no wgmma")
    if not isinstance(dot.b, SharedView):
        return _Refusal("AG0605", "it reads its right operand from shared memory")
    if not group.aligned:
        return _Refusal("AG0604", f"{group.warps} warps are not whole warpgroups of 4")
    m, n = dot.result.shape
    k = dot.a.shape[1]
    warpgroups = group.warpgroups
    broken = wgmma.violations(m, n, k, of, warpgroups)
    if broken:
        return _Refusal("AG0604", broken[0])
    facts = program.facts
    inst_n = _instruction_columns(n, dot.b, of, dot.inst_n)
    if inst_n is None:
        asked = "" if dot.inst_n is None else f" of {dot.inst_n} columns"
        return _Refusal(
            "AG0604", f"no instruction{asked} takes whole panels of its right operand"
        )
    b = matrix_operand(dot.b, inst_n, 1, of=of, k_last=False, facts=facts)
    if isinstance(b, str):
        return _Refusal("AG0603", f"B: {b}")
    a = None
    if isinstance(dot.a, SharedView):
        rows = wgmma.ROWS
        a = matrix_operand(dot.a, rows, warpgroups, of=of, k_last=True, facts=facts)
        if isinstance(a, str):
            return _Refusal("AG0603", f"A: {a}")
    dot.plan = WgmmaPlan(
        inst_n=inst_n,
        m_atoms=m // warpgroups // wgmma.ROWS,
        n_atoms=n // inst_n,
        k_steps=k // of.depth,
        a=a,
        b=b,
        instruction=wgmma.function_name(
            inst_n,
            of.dtype.name,
            a is None,
            int(a is not None and a.mn_major),
            int(b.mn_major),
        ),
    )
    dot.result.layout = accumulator_layout(dot, group)
    return None


def _instruction_columns(
    n: int, b: SharedView, of: MatrixElement, asked: int | None
) -> int | None:
    """The instruction asked for, or the widest that divides n; None where none fits.

    An instruction fills whole panels of an MN-major B.
    """
    layout = b.alloc.layout
    inner = len(b.alloc.shape) - 1
    unit = descriptor.ROWS
    if layout is not None and layout.swizzle and b.axes[1] == inner:
        unit = min(layout.swizzle // b.dtype.bytes, n)
    widths = [w for w in wgmma.columns(of) if asked in (None, w)]
    fits = [w for w in widths if n % w == 0 and (w % unit == 0 or w == n)]
    return max(fits, default=None)


def warp_grid(
    product: RegisterProduct, m: int, n: int, warps: int
) -> tuple[int, int] | None:
    """Rows and columns of warps for an (m, n) accumulator in their registers.

    The grid that loads the fewest operand elements (m / rows + n / columns per warp).
    """
    fits = [
        (wm, warps // wm)
        for wm in range(1, warps + 1)
        if warps % wm == 0
        and m % (product.rows * wm) == 0
        and n % (product.columns * (warps // wm)) == 0
    ]
    return min(fits, key=lambda g: (m // g[0] + n // g[1], g[1]), default=None)


def _in_registers(
    dot: o.Dot, of: MatrixElement, group: Group, target: str, reason: str
) -> list[o.AnyOp]:
    """Plan the dot as a product of registers; ``reason``: why it is no wgmma."""
    m, n = dot.result.shape
    k = dot.a.shape[1]
    products = registry.register_products(of, target)
    if not products:
        raise fail(
            "AG0602",
            dot.span,
            f"{target} has no matrix instruction that multiplies {of.dtype}",
            notes=[f"wgmma: {reason}"],
        )
    fits = [
        (product, grid)
        for product in products
        if (grid := warp_grid(product, m, n, group.warps)) and k % product.depth == 0
    ]
    if not fits:
        raise fail(
            "AG0603",
            dot.span,
            f"no matrix instruction does ({m}, {k}) @ ({k}, {n}) with "
            f"{group.warps} warps",
            notes=[
                f"wgmma: {reason}",
                *(
                    f"{p.shape} needs rows and columns that the warps divide into "
                    f"multiples of {p.rows} and {p.columns}, and a depth that is a "
                    f"multiple of {p.depth}"
                    for p in products
                ),
            ],
        )
    product, (rows, columns) = fits[0]
    before: list[o.AnyOp] = []
    a_layout = product.left(m, k, rows, columns)
    b_layout = product.right(n, k, rows, columns).permute((1, 0))
    for side, layout in (("a", a_layout), ("b", b_layout)):
        operand = getattr(dot, side)
        if isinstance(operand, SharedView):
            tile = o.Tile(
                operand.dtype,
                operand.shape,
                operand.dims,
                dot.span,
                name=f"{operand.alloc.name}_{side}",
                layout=layout,
            )
            note = f"operand of {product.name}"
            before.append(
                o.LoadShared(result=tile, view=operand, span=dot.span, note=note)
            )
            setattr(dot, side, tile)
    dot.result.layout = product.accumulator(m, n, rows, columns)
    m_atoms, n_atoms = m // rows // product.rows, n // columns // product.columns
    k_steps = k // product.depth
    acc_size, a_size, b_size = (x.num_regs for x in (product.d, product.a, product.b))
    steps = tuple(
        MmaStep(
            acc=(i * n_atoms + j) * acc_size,
            a=(i * k_steps + s) * a_size,
            b=(j * k_steps + s) * b_size,
        )
        for s in range(k_steps)
        for i in range(m_atoms)
        for j in range(n_atoms)
    )
    dot.plan = MmaPlan(product.function, steps)
    return [*before, dot]


def accumulator_layout(dot: o.Dot, group: Group) -> Fragment:
    """Layout that the plan gives the accumulator and the result."""
    m, n = dot.result.shape
    if isinstance(dot.plan, WgmmaPlan):
        return wgmma_accumulator(m, n, group.warpgroups, dot.plan.inst_n)
    product, grid = _planned(dot, group)
    return product.accumulator(m, n, *grid)


def _planned(dot: o.Dot, group: Group) -> tuple[RegisterProduct, tuple[int, int]]:
    """The product of registers that a dot is planned as, and its grid of warps."""
    assert isinstance(dot.plan, MmaPlan)
    product = registry.register_product(dot.plan.instruction)
    m, n = dot.result.shape
    grid = warp_grid(product, m, n, group.warps)
    assert grid is not None
    return product, grid


def operand_layouts(dot: o.Dot, group: Group) -> list[tuple[str, o.Tile, Fragment]]:
    """Layouts that the dot's register operands must have: (field, tile, layout)."""
    m, n = dot.result.shape
    k, itemsize = dot.a.shape[1], dot.a.dtype.bytes
    found: list[tuple[str, o.Tile, Fragment]] = []
    if isinstance(dot.plan, WgmmaPlan):
        if isinstance(dot.a, o.Tile):
            layout = wgmma_a_operand(m, k, group.warpgroups, itemsize)
            found.append(("a", dot.a, layout))
        return found
    product, grid = _planned(dot, group)
    if isinstance(dot.a, o.Tile):
        found.append(("a", dot.a, product.left(m, k, *grid)))
    if isinstance(dot.b, o.Tile):
        found.append(("b", dot.b, product.right(n, k, *grid).permute((1, 0))))
    return found
