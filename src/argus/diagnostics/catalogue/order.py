"""AG04xx: roles, rings, barriers, and the order of asynchronous work."""

from argus.diagnostics.catalogue.code import Code

CODES = (
    Code(
        "AG0401",
        "two unordered accesses to the same bytes",
        "One of them is a write, and nothing makes one happen before the other.",
    ),
    Code(
        "AG0402",
        "a read sees the element of another iteration",
        "The bytes are ordered, but the reader finds what an earlier or a later "
        "iteration wrote, or what was written to another buffer at the same place: the "
        "stage index, the phase or the number of stages is off.",
    ),
    Code(
        "AG0403",
        "a wait that is never satisfied",
        "No arrival, copy or role completes what is waited for, or gives back the "
        "registers that are asked for, so that the kernel would hang.",
    ),
    Code(
        "AG0404",
        "a barrier phase that is ambiguous",
        "A barrier tells two neighbouring phases apart, not more. Here the waiter "
        "may be two phases away, so that it could pass too early.",
    ),
    Code(
        "AG0405",
        "bytes expected differ from bytes copied",
        "The barrier expects another number of bytes than the copies that complete "
        "on it bring.",
    ),
    Code(
        "AG0406",
        "a slot is released before its reads have completed",
        "A matrix instruction still reads the slot when it is handed back to the "
        "producer. Wait for the instruction first.",
    ),
    Code(
        "AG0407",
        "registers of a running matrix instruction are touched",
        "The accumulator and register operands of an asynchronous matrix "
        "instruction may not be read or written before its wait.",
    ),
    Code(
        "AG0408",
        "a missing proxy fence",
        "A barrier does not order what threads do to shared memory before what TMA and "
        "wgmma do there. The threads that wrote what these read or overwrite, or read "
        "what TMA overwrites, execute `fence.proxy.async` (`ag.fence_async()`) before "
        "they arrive.",
    ),
    Code(
        "AG0409",
        "a barrier with the wrong arrival count",
        "The number of arrivals that a barrier was made for differs from the number "
        "that arrive in a phase.",
    ),
    Code(
        "AG0410",
        "a role that leaves a collective early",
        "All warps that take part in a barrier or in a cluster must stay until its "
        "last use.",
    ),
    Code(
        "AG0411",
        "two roles with one name",
        "Roles are named so that barriers and counterexamples can say which one is "
        "meant.",
    ),
    Code(
        "AG0413",
        "a ring that nobody fills or nobody drains",
        "A ring needs exactly one role that fills it, and at least one that drains it.",
    ),
    Code(
        "AG0414",
        "a ring is filled and drained a different number of times",
        "Producer and consumer must go round the ring equally often, else one of "
        "them waits for ever.",
    ),
    Code(
        "AG0415",
        "a ring slot used outside its block",
        "The slot belongs to the author only inside `with ring.fill()` or `with "
        "ring.drain()`.",
    ),
    Code(
        "AG0416",
        "a ring slot that is not completely filled",
        "Each field of the slot must be loaded or written in each fill.",
    ),
    Code(
        "AG0417",
        "a ring is filled and drained by the same role",
        "A role that waits for its own later work hangs. Without roles, use a "
        "pipelined loop.",
    ),
    Code(
        "AG0418",
        "a ring with too few stages",
        "A role holds all slots, for matrix instructions in flight or of its own "
        "accord, when it waits for one more: none is left to be filled.",
    ),
    Code(
        "AG0419",
        "a collective operation in only some of the warps it needs",
        "The instruction is executed by a whole warp, warpgroup or role, and some "
        "of its threads do not reach it.",
    ),
    Code(
        "AG0420",
        "a named barrier whose warps do not add up",
        "A named barrier counts whole warps; those that wait and those that arrive "
        "must add up to its count.",
    ),
    Code(
        "AG0421",
        "an asynchronous copy that nobody waits for",
        "The kernel may end, or reuse the bytes, while the copy is still running.",
    ),
    Code(
        "AG0422",
        "an operation outside every role",
        "In a kernel with roles, what stands beside them is executed by all warps: "
        "it may compute uniform values, but not use tiles, rings or barriers.",
    ),
    Code(
        "AG0423",
        "a barrier outside its array",
        "The index of the barrier is negative, or not less than the number of barriers "
        "in the array: another barrier, or other data, would be used.",
    ),
    Code(
        "AG0424",
        "an element of global memory that is read and written without order",
        "Blocks run in any order: what one of them writes no other may read. A block "
        "may read a tile and write the same tile, in one role and by the same threads "
        "or with a sync between.",
    ),
    Code(
        "AG0425",
        "a register budget that the instruction cannot set",
        "`setmaxnreg.inc` raises the registers of a thread and `.dec` lowers them, to "
        "a multiple of 8 from 24 to 256.",
    ),
)
