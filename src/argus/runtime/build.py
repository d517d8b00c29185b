"""From CUDA C++ to a cubin, with the compiler's warnings taken seriously.

    cubin = build(source, "sm_90a", BuildOptions())

Needs neither a GPU nor a driver. Nothing is cached here (`cache` does that) and nothing
is loaded. Builds may run in several threads at once.
"""

from dataclasses import dataclass

from argus.diagnostics import ArgusError, Diagnostic, Reporter
from argus.runtime import log as logs
from argus.runtime import nvrtc
from argus.runtime.log import LogFinding, ResourceUsage

__all__ = ["BuildOptions", "Cubin", "ResourceUsage", "build", "builds_as_named"]

_SOURCE_NAME = "kernel.cu"

_QUIET = (
    177,  # a variable that is never read: an index that one branch has no use for
    550,  # a variable that is set and never read: likewise
)
"""Numbers of the front end's warnings about what is harmless in generated code."""


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How to build. Everything here is part of the cache key.

    ``line_info`` keeps line numbers in the binary, for profilers. ``registers`` is how
    many a thread must be launched with, where the proof counts on it (setmaxnreg).
    """

    line_info: bool = False
    registers: int | None = None

    def flags(self, target: str) -> tuple[str, ...]:
        """NVRTC's command line for ``target`` ("sm_90a")."""
        flags = [
            f"--gpu-architecture={target}",
            "--std=c++17",
            "--no-cache",  # a remembered result of NVRTC comes without its log
            "--ptxas-options=-v",  # each ptxas flag needs an option of its own
            *(f"--diag-suppress={number}" for number in _QUIET),
        ]
        if self.line_info:
            flags.append("--generate-line-info")
        return tuple(flags)

    def deciding(self, target: str) -> tuple[str, ...]:
        """All that decides what a build returns: flags, what is an error, the compiler.

        Raises ArgusError AG0705 if there is no NVRTC at all.
        """
        return (*self.flags(target), str(self.registers), nvrtc.compiler_version())


@dataclass(frozen=True, slots=True)
class Cubin:
    """A built kernel.

    ``image`` is an ELF file for the driver; ``log`` what the compiler said;
    ``findings`` what is worth telling the author and no error (severity `slow` or
    `warning`); ``compiler`` the version that built it; ``source`` the CUDA C++ that it
    was built from.
    """

    image: bytes
    log: str
    usage: ResourceUsage
    target: str
    compiler: str
    source: str
    findings: tuple[Diagnostic, ...] = ()


def builds_as_named() -> bool:
    """Whether the compiler that `BuildOptions.deciding` names is the one that builds.

    It names the installed one, but another copy of the library may have been loaded
    before (by LD_LIBRARY_PATH, by another package).
    """
    wheel = nvrtc.installed_version()
    if wheel is None:
        return True
    return wheel.split(".")[:2] == [str(n) for n in nvrtc.loaded_version()]


def build(
    source: str,
    target: str,
    options: BuildOptions | None = None,
    *,
    file: str | None = None,
) -> Cubin:
    """Compile ``source`` for ``target`` ("sm_90a").

    ``file`` is the path of the kernel that the source was printed for: diagnostics then
    point at the kernel's lines.

    Raises:
        ArgusError: AG0701 and AG0702 (the code is rejected), AG0703 (wgmma serialised),
            AG0704 (setmaxnreg ignored), AG0705 (no NVRTC), AG0706 (unknown target),
            AG0708 (a warning that is not known), AG0710 (no usage in the log),
            AG0711 (launched with other registers than ``options.registers``).
    """
    options = options or BuildOptions()
    done = nvrtc.compile_source(source, _SOURCE_NAME, options.flags(target))
    if not done.succeeded or done.image is None:
        raise ArgusError(_why_failed(done, source, target, file))
    usage = logs.resource_usage(done.log)
    if usage is None:
        raise ArgusError(
            Diagnostic(
                "AG0710",
                "the compiler's log does not say what the kernel needs",
                None,
                notes=(done.log or "the log is empty",),
            )
        )
    reporter = Reporter()
    _report_findings(reporter, done.log, source, target, options, file)
    _report_registers(reporter, usage, options)
    _report_spills(reporter, usage)
    return Cubin(
        image=done.image,
        log=done.log,
        usage=usage,
        target=target,
        compiler=nvrtc.compiler_version(),
        source=source,
        findings=reporter.finish(),
    )


def _why_failed(
    done: nvrtc.Compilation, source: str, target: str, file: str | None
) -> Diagnostic:
    found = logs.failure(done.status, done.log, source, file)
    if found.code != "AG0706":
        return found
    known = ", ".join(f"sm_{n}" for n in nvrtc.supported_architectures())
    version = ".".join(map(str, nvrtc.loaded_version()))
    return Diagnostic(
        "AG0706",
        f"NVRTC {version} does not know the target {target}",
        None,
        notes=(f"it knows {known}",),
    )


def _report_findings(
    reporter: Reporter,
    log: str,
    source: str,
    target: str,
    options: BuildOptions,
    file: str | None,
) -> None:
    found = list(logs.findings(log))
    if not found:
        return
    # ptxas names PTX lines. A second compilation with line information has both its
    # own log and the PTX that the log speaks of; it costs time only where something is
    # wrong.
    ptx: str | None = None
    if any(finding.ptx_line is not None for finding in found):
        flags = [*options.flags(target), "--generate-line-info"]
        again = nvrtc.compile_source(source, _SOURCE_NAME, list(dict.fromkeys(flags)))
        located = list(logs.findings(again.log))
        if [f.code for f in located] == [f.code for f in found]:
            found, ptx = located, again.ptx
    for finding in found:
        reporter.add(_diagnostic(finding, source, ptx, file))


def _diagnostic(
    finding: LogFinding, source: str, ptx: str | None, file: str | None
) -> Diagnostic:
    number = logs.source_line(finding, ptx)
    notes = [finding.line]
    if number is not None:
        notes.append("\n".join(logs.excerpt(source, number)))
    return Diagnostic(
        finding.code,
        finding.message,
        None if number is None else logs.kernel_span(source, number, file),
        notes=tuple(notes),
        help=_HELP.get(finding.code),
        severity=finding.severity,
    )


_HELP = {
    "AG0703": "keep ordinary code away from the accumulator between `ag.dot` and the "
    "wait, and keep fragments within the register budget of the role",
    "AG0704": "give every role `registers=`, and the kernel a fixed number of threads",
}


def _report_registers(
    reporter: Reporter, usage: ResourceUsage, options: BuildOptions
) -> None:
    if options.registers in (None, usage.registers):
        return
    reporter.report(
        "AG0711",
        None,
        f"a thread is launched with {usage.registers} registers, and the budgets of "
        f"the roles were checked for {options.registers}",
        notes=[
            "setmaxnreg shares out what a block is launched with; with another number "
            "a role might wait for ever",
            f"NVRTC {nvrtc.compiler_version()}",
        ],
    )


def _report_spills(reporter: Reporter, usage: ResourceUsage) -> None:
    """Spills cost time. They are an error with `ag.expect(spills=0)` only."""
    spilled = max(usage.spill_stores, usage.spill_loads)
    if spilled == 0:
        return
    reporter.report(
        "AG0506",
        None,
        f"{spilled} bytes of registers are spilled per thread",
        severity="slow",
        notes=[
            f"{usage.spill_stores} bytes of stores, {usage.spill_loads} bytes of "
            f"loads, {usage.registers} registers per thread",
        ],
        help="make the tile smaller, or spread it over more warps; "
        "`ag.expect(spills=0)` makes spills an error",
    )
