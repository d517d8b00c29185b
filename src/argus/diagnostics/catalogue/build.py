"""AG07xx: from printed CUDA C++ to a binary."""

from argus.diagnostics.catalogue.code import Code

CODES = (
    Code(
        "AG0701",
        "the generated code does not compile",
        "NVRTC rejected the code that Argus printed. This is a fault of Argus. The "
        "note has the compiler's words.",
    ),
    Code(
        "AG0702",
        "ptxas rejected the generated code",
        "The PTX could not be assembled. This is a fault of Argus. The note has the "
        "assembler's words.",
    ),
    Code(
        "AG0703",
        "matrix instructions are serialised",
        "ptxas reports that wgmma instructions are serialised: something touches "
        "their registers between issue and wait. The result is right, the speed is "
        "lost.",
    ),
    Code(
        "AG0704",
        "a register budget is ignored",
        "ptxas ignored `setmaxnreg`, so the declared register budgets do not hold "
        "and the kernel may not launch.",
    ),
    Code(
        "AG0705",
        "the compiler cannot be loaded",
        "The NVRTC library is missing or damaged. It comes with the package "
        "`nvidia-cuda-nvrtc`.",
    ),
    Code(
        "AG0706",
        "the compiler is too old for the target",
        "This version of NVRTC does not know the architecture that was asked for.",
    ),
    Code(
        "AG0707",
        "the binary lacks an instruction that was asked for",
        "The disassembly does not contain the instruction that the kernel was "
        "placed on.",
    ),
    Code(
        "AG0708",
        "a compiler warning",
        "NVRTC or ptxas warned about the generated code. Argus treats a warning "
        "that it does not know as an error.",
    ),
    Code(
        "AG0709",
        "the compiler did not finish in time",
        "Compiling took longer than the limit. The kernel is probably unrolled too "
        "far.",
    ),
    Code(
        "AG0710",
        "the binary cannot be read",
        "The compiled object is damaged, or not of the kind that was expected.",
    ),
    Code(
        "AG0711",
        "the binary is launched with other registers than its budgets share out",
        "Register budgets of roles were checked for the registers that a block is "
        "launched with. The compiler chose another number, with which a role might "
        "wait for registers for ever. This is a fault of Argus.",
    ),
)
