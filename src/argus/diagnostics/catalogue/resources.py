"""AG05xx: budgets, and what a kernel costs beyond being right."""

from argus.diagnostics.catalogue.code import Code

CODES = (
    Code(
        "AG0501",
        "too much shared memory",
        "The tiles, rings and barriers of a block need more bytes than the target "
        "gives to one block. The note lists them by size.",
    ),
    Code(
        "AG0502",
        "too many registers",
        "The fragments that are live at once need more registers per thread than "
        "the target has.",
    ),
    Code(
        "AG0503",
        "a register budget that is not possible",
        "`registers=` is a multiple of 8 between 24 and 256. Budgets share out what "
        "the warpgroups that have one are launched with, which is the same for all "
        "threads: as many as fit the multiprocessor, in steps of 8. Roles without a "
        "budget give nothing.",
    ),
    Code(
        "AG0504",
        "too many threads in a block",
        "The warps of all roles together are more than the target runs in one block.",
    ),
    Code(
        "AG0505",
        "a role of an impossible size",
        "A role has a whole number of warps, at least one. `setmaxnreg` and wgmma "
        "need whole warpgroups of four warps.",
    ),
    Code(
        "AG0506",
        "registers are spilled to memory",
        "The compiler ran out of registers and keeps some values in local memory, "
        "which is slow. Make the tile smaller, or spread it over more warps.",
    ),
    Code(
        "AG0507",
        "too many barriers",
        "A block has 16 named barriers; more roles or turns than that cannot be "
        "told apart.",
    ),
    Code(
        "AG0508",
        "a cluster that is not possible",
        "A cluster has at most 8 blocks (16 with opt-in), and the grid is a "
        "multiple of its size.",
    ),
    Code(
        "AG0509",
        "a grid that is too large",
        "The number of blocks along a grid dimension exceeds what the target can "
        "launch.",
    ),
    Code(
        "AG0510",
        "fewer blocks per multiprocessor than declared",
        "Shared memory, registers or threads leave room for fewer resident blocks "
        "than `min_blocks=` promises.",
    ),
    Code(
        "AG0511",
        "bank conflicts",
        "Threads of a warp access different words of the same shared memory bank at "
        "once, so that the access takes several passes.",
    ),
    Code(
        "AG0512",
        "uncoalesced or narrow accesses to global memory",
        "The threads of a warp touch more sectors than their bytes need, or move "
        "fewer bytes per instruction than they could.",
    ),
    Code(
        "AG0513",
        "a performance expectation does not hold",
        "An `ag.expect` is not met. The note has the number that was found.",
    ),
    Code(
        "AG0515",
        "the generated code would be too large",
        "Unrolling static loops makes more operations than the limit. Use "
        "`ag.range` for the outer loop.",
    ),
    Code(
        "AG0516",
        "a stage count that is not possible",
        "A ring has at least one stage.",
    ),
    Code(
        "AG0517",
        "the performance model cannot time the kernel",
        "Its thread groups wait for each other for ever, a size that its loops need is "
        "not given, or no launch can have the sizes: no blocks, too many of them, or "
        "more bytes than a GPU addresses.",
    ),
)
