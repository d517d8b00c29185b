"""AG08xx: calling a kernel, and what the device answers."""

from argus.diagnostics.catalogue.code import Code

CODES = (
    Code(
        "AG0801",
        "wrong arguments in a call of a kernel",
        "Too many, too few, or unknown by name.",
    ),
    Code(
        "AG0802",
        "a tensor of the wrong element type",
        "The kernel was compiled for another element type than the tensor has.",
    ),
    Code(
        "AG0803",
        "a tensor of the wrong rank",
        "The annotation of the parameter names another number of dimensions than "
        "the tensor has.",
    ),
    Code(
        "AG0804",
        "sizes that contradict each other",
        "A dimension that several tensors share has different sizes in them.",
    ),
    Code(
        "AG0805",
        "a tensor whose strides the kernel cannot use",
        "The kernel needs a contiguous innermost dimension, and strides that are "
        "multiples of its access width.",
    ),
    Code(
        "AG0806",
        "a tensor whose address is not aligned",
        "The kernel's accesses need an address that is a multiple of their width.",
    ),
    Code(
        "AG0807",
        "a tensor on the wrong device",
        "All tensors of one call are on the same CUDA device, or all on the CPU, where "
        "the kernel is interpreted.",
    ),
    Code(
        "AG0808",
        "a value that breaks the contract of the kernel",
        "The kernel was verified under assumptions that the arguments do not satisfy.",
    ),
    Code(
        "AG0809",
        "an output that cannot be written, or overlaps another tensor",
        "The kernel was verified for tensors that do not share memory, and writes each "
        "element of an output at an address of its own.",
    ),
    Code(
        "AG0810",
        "the launch failed",
        "The driver refused the launch. The note has its words.",
    ),
    Code(
        "AG0811",
        "the kernel failed on the device",
        "The device reported an error while or after the kernel ran. Its context is "
        "lost, and the process must be restarted.",
    ),
    Code(
        "AG0812",
        "an argument that is not a tensor",
        "The parameter takes a torch tensor, a numpy array, or an object with DLPack.",
    ),
    Code(
        "AG0813",
        "a compile-time parameter that does not exist or has the wrong type",
        "Only the parameters after `*` can be chosen at compile time.",
    ),
    Code(
        "AG0814",
        "an empty tensor",
        "A dimension has size 0, and the kernel was not verified for that.",
    ),
    Code(
        "AG0815",
        "the result differs from the reference",
        "The kernel's output is further from the reference than the tolerance of "
        "its precision allows.",
    ),
    Code(
        "AG0816",
        "a call that was interpreted had a fault",
        "A call with tensors of the host is interpreted, and the kernel did what a GPU "
        "does not define. A kernel that is proved does not: it was called unproved.",
    ),
    Code(
        "AG0817",
        "a name was bound anew",
        "A kernel is read once. What a name outside of it stood for then is part of "
        "it, and is another value now.",
    ),
)
