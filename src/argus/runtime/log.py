"""What NVRTC and ptxas say, as numbers and as diagnostics.

Reads logs only: nothing is compiled here. Texts are matched by their words, because the
numbers in front of them (C7511 and the like) differ between compiler versions.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from argus.diagnostics import Diagnostic, Severity, Span, source_text

_CONTEXT_LINES = 12
"""Lines of a log that a diagnostic quotes at most."""


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """What ptxas says that a source needs, the worst over all its functions.

    ``registers`` per thread; ``shared_static``, ``stack`` (per thread),
    ``spill_stores`` and ``spill_loads`` (per thread, static count) in bytes;
    ``barriers`` are named ones. ``lines`` are the assembler's own words.
    """

    registers: int
    shared_static: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    stack: int = 0
    barriers: int = 0
    lines: tuple[str, ...] = ()


_REGISTERS = re.compile(r"Used (\d+) registers")
_BARRIERS = re.compile(r"used (\d+) barriers")
_SHARED = re.compile(r"(\d+) bytes smem")
_FRAME = re.compile(
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
)


def resource_usage(log: str) -> ResourceUsage | None:
    """Read the lines that ``--ptxas-options=-v`` makes; None if there are none."""
    registers = [int(n) for n in _REGISTERS.findall(log)]
    frames = [tuple(map(int, f)) for f in _FRAME.findall(log)]
    if not registers or not frames:
        return None
    return ResourceUsage(
        registers=max(registers),
        shared_static=max((int(n) for n in _SHARED.findall(log)), default=0),
        spill_stores=max(f[1] for f in frames),
        spill_loads=max(f[2] for f in frames),
        stack=max(f[0] for f in frames),
        barriers=max((int(n) for n in _BARRIERS.findall(log)), default=0),
        # Times differ between runs, and would make equal builds unequal.
        lines=tuple(
            line for line in log.splitlines() if "ptxas" in line and "time" not in line
        ),
    )


# ------------------------------------------------------------- places in the source

_MARKER = re.compile(r"//\s*([^\s:]+\.py):(\d+)")
_ERROR_LINE = re.compile(r"^[^\s(]+\((\d+)\): (?:catastrophic )?(error|warning)\b")
_PTX_LINE = re.compile(r"\bline (\d+)")
_LOC = re.compile(r"^\s*\.loc\s+\d+\s+(\d+)\s+\d+(?:.*inlined_at\s+\d+\s+(\d+))?")


def kernel_span(source: str, line: int, file: str | None = None) -> Span | None:
    """The kernel line that generated line ``line`` (from 1) was printed for.

    The code generator leaves markers ``// kernel.py:12`` above what it prints; the
    nearest one at or above ``line`` counts. ``file`` is the path of the kernel source,
    which replaces a marker of the same base name. None where there is no marker.
    """
    for text in reversed(source.splitlines()[:line]):
        marker = _MARKER.search(text)
        if marker is None:
            continue
        name, number = marker[1], int(marker[2])
        if file is not None and PurePath(file).name == PurePath(name).name:
            name = file
        lines = source_text(name)
        words = (lines.line(number) if lines else None) or ""
        start = len(words) - len(words.lstrip()) + 1
        return Span(name, number, start, number, max(start, len(words.rstrip()) + 1))
    return None


def source_line_of_ptx(ptx: str, line: int) -> int | None:
    """Line of the CUDA source that PTX line ``line`` (from 1) comes from.

    ``ptx`` was made with ``-lineinfo``. An inlined device function counts as the place
    where it is called (PTX ISA, ".loc").
    """
    for text in reversed(ptx.splitlines()[:line]):
        loc = _LOC.match(text)
        if loc is not None:
            return int(loc[2] or loc[1])
    return None


def excerpt(source: str, line: int, around: int = 3) -> list[str]:
    """Numbered lines of ``source`` around ``line``, which an arrow points out."""
    lines = source.splitlines()
    first, last = max(1, line - around), min(len(lines), line + around)
    return [
        f"{'>' if n == line else ' '} {n:4d} | {lines[n - 1]}"
        for n in range(first, last + 1)
    ]


# ------------------------------------------------------------------------ failures


def failure(status: str, log: str, source: str, file: str | None) -> Diagnostic:
    """Why a compilation failed: AG0701 (C++), AG0702 (ptxas) or AG0706 (target)."""
    lines = log.splitlines()
    if "gpu-architecture" in log:
        return Diagnostic(
            "AG0706", "NVRTC does not know the target", None, notes=(log,)
        )
    for text in lines:
        found = _ERROR_LINE.match(text)
        if found is not None and found[2] == "error":
            number = int(found[1])
            message = text.partition("error: ")[2] or text
            return Diagnostic(
                "AG0701",
                f"the generated code does not compile: {message}",
                kernel_span(source, number, file),
                notes=(
                    "\n".join(excerpt(source, number)),
                    _quote(lines, "error"),
                    "this is a fault of Argus, not of the kernel",
                ),
            )
    by_ptxas = any("ptxas" in text for text in lines)
    return Diagnostic(
        "AG0702" if by_ptxas else "AG0701",
        f"{'ptxas' if by_ptxas else 'NVRTC'} rejected the generated code ({status})",
        None,
        notes=(_quote(lines, "error", "fatal") or "the log is empty",),
    )


def _quote(lines: list[str], *words: str) -> str:
    picked = [text for text in lines if any(word in text for word in words)]
    return "\n".join(picked[:_CONTEXT_LINES])


# ------------------------------------------------------------------------ warnings


@dataclass(frozen=True, slots=True)
class LogFinding:
    """A line of a log that matters, and the PTX line that it names, if any."""

    code: str
    severity: Severity
    message: str
    line: str
    ptx_line: int | None


_SERIALIZED = "wgmma.mma_async instructions are serialized"
_SETMAXNREG = "'setmaxnreg' ignored"


def findings(log: str) -> Iterator[LogFinding]:
    """Warnings of NVRTC and ptxas in order, each kind of message with its code.

    Serialised wgmma (AG0703), an ignored setmaxnreg (AG0704) and a warning that is not
    known (AG0708) are errors; a loss that ptxas calls potential is `slow`.
    """
    for line in log.splitlines():
        at = _PTX_LINE.search(line)
        ptx_line = int(at[1]) if at and "ptxas" in line else None
        if _SERIALIZED in line:
            reason = line.partition(_SERIALIZED)[2].strip().removeprefix("due to ")
            message = f"wgmma instructions are serialised: {_words(reason)}"
            yield LogFinding("AG0703", "error", message, line, ptx_line)
        elif _SETMAXNREG in line:
            reason = line.partition(_SETMAXNREG)[2].strip(" ;.")
            message = f"the register budgets of the roles are ignored: {_words(reason)}"
            yield LogFinding("AG0704", "error", message, line, ptx_line)
        elif "Potential Performance Loss" in line:
            message = line.partition("Potential Performance Loss:")[2].strip()
            yield LogFinding("AG0708", "slow", message, line, ptx_line)
        elif "wgmma.wait_group is injected" in line:
            yield LogFinding("AG0708", "slow", _after_number(line), line, ptx_line)
        elif re.match(r"ptxas\s+warning\s*:", line) or (
            (found := _ERROR_LINE.match(line)) and found[2] == "warning"
        ):
            message = line.partition("warning")[2].lstrip(" :")
            yield LogFinding("AG0708", "error", message, line, ptx_line)


def _words(reason: str) -> str:
    text = re.sub(r" in (the )?function '[^']*'.*", "", reason).strip()
    return text or "ptxas gives no reason"


def _after_number(line: str) -> str:
    return re.sub(r"^ptxas info\s*:\s*(\(C\d+\)\s*)?", "", line)


def source_line(finding: LogFinding, ptx: str | None) -> int | None:
    """The line of the CUDA source that a finding is about, where that is known."""
    at = _ERROR_LINE.match(finding.line)
    if at is not None:
        return int(at[1])
    if finding.ptx_line is None or ptx is None:
        return None
    return source_line_of_ptx(ptx, finding.ptx_line)
