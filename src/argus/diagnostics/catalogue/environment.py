"""AG09xx: files, cache, drivers, and everything around a kernel."""

from argus.diagnostics.catalogue.code import Code

CODES = (
    Code(
        "AG0901",
        "there is no such file",
        "The path does not exist or is not a file.",
    ),
    Code(
        "AG0902",
        "a file that cannot be read or written",
        "The operating system refused. The note has its words.",
    ),
    Code(
        "AG0903",
        "there is no CUDA device",
        "No driver is loaded, or it sees no device. Verifying and compiling need "
        "none; running does. `argus doctor` says what was found.",
    ),
    Code(
        "AG0904",
        "the driver is too old",
        "The driver does not know the version of the binaries that this compiler "
        "makes.",
    ),
    Code(
        "AG0905",
        "a device that the kernel was not compiled for",
        "The kernel's target and the device's compute capability differ.",
    ),
    Code(
        "AG0906",
        "a package that is needed is not installed",
        "This command needs an optional dependency. The help line names it.",
    ),
    Code(
        "AG0907",
        "a cache entry that is damaged",
        "An entry's content does not match its checksum. It was removed and will be "
        "made again.",
    ),
    Code(
        "AG0908",
        "a setting with a wrong value",
        "An environment variable or an option has a value that it cannot have.",
    ),
    Code(
        "AG0909",
        "there is no such kernel in the library",
        "The name is none of the library's kernels. The note lists similar names.",
    ),
    Code(
        "AG0910",
        "there is no such code",
        "The catalogue has no code of that number.",
    ),
    Code(
        "AG0911",
        "the CUDA driver cannot be loaded",
        "The driver library is missing, or of another version than its kernel module.",
    ),
    Code(
        "AG0912",
        "a tensor does not fit the device memory",
        "There is not enough free memory on the device for the sizes that were "
        "asked for.",
    ),
    Code(
        "AG0913",
        "a bug in Argus",
        "An invariant of the compiler is broken: whatever the kernel says, this should "
        "not happen. The notes say what was broken and where; `argus --debug` shows "
        "the traceback.",
    ),
    Code(
        "AG0914",
        "a folder that others can write to",
        "What Argus keeps on disk is believed: that a kernel is proved, what its "
        "machine code is, what a run's reference is. A folder or file that belongs to "
        "another user, that others may write to, or that is reached through somebody "
        "else's link, is therefore not read. `chmod -R go-w` takes the right from "
        "others; `ARGUS_CACHE_DIR` and `ARGUS_HOME` choose folders.",
    ),
    Code(
        "AG0915",
        "a file that the server may not read",
        "The tool server reads kernels below one folder: that of `argus mcp --root`, "
        "else the one that it was started in. A path that leads elsewhere, also "
        "through a link, is refused; a kernel can be handed in as text.",
    ),
    Code(
        "AG0916",
        "a task that executes Python, where that is forbidden",
        "A PyTorch file is a program that is executed to find its operators, and the "
        "`@ag.reference` of a kernel file is executed to judge results. With "
        "`--no-execute` neither is: tasks are those of the library. A kernel itself is "
        "never executed as Python.",
    ),
)
