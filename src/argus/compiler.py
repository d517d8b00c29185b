"""From a kernel's source to machine code: parse, place, prove, emit, build.

    prove(request)              what the verifier says, from the disk cache if it can
    cuda_source(request)        CUDA C++ and the launch contract
    build(request)              cubin, from the disk cache where possible
    launchable(request)         the same, of what is proved

Each step calls the one before it; the first ones are in ``argus.requests``. Nothing is
decided here: each step has a package of its own. What calling a kernel does is in
``argus.calls``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from argus.files.settings import switch
from argus.ir.program import Program
from argus.requests import Request, key_of, placed_program

if TYPE_CHECKING:
    from argus.codegen import CudaSource
    from argus.equivalence.programs import KnownPrograms
    from argus.equivalence.settling import StatedReference
    from argus.ir.launch import LaunchSpec
    from argus.runtime.build import Cubin
    from argus.verify.expectations import Usage
    from argus.verify.order.sharing import SharedOrder
    from argus.verify.verdict import Report

_PROOFS, _VERDICTS = "proofs", "verdicts"
"""Kinds of cache entries: a proof, and nothing but its verdict."""


@dataclass(frozen=True)
class BuiltKernel:
    """A kernel ready to load: launch contract, and machine code with its usage."""

    spec: LaunchSpec
    cubin: Cubin


@dataclass(frozen=True)
class Proof:
    """What the verifier says of a specialisation, and what a block of it takes."""

    report: Report
    threads: int
    shared_bytes: int
    cluster: int
    replayed: bool = False
    """Whether its counterexamples were given to the interpreter."""


def prove(
    request: Request,
    *of: str,
    fresh: bool = False,
    program: Program | None = None,
    known: KnownPrograms | None = None,
) -> Proof:
    """Parse, place and verify; from the disk cache unless ``fresh``.

    ``of``: see :func:`remember_proof`. ``program``: the placed one, if there is one
    already; ``known``: what else is asked of the kernel. Raises ArgusError for what
    parsing and placing find. What the verifier finds is in the report.
    """
    kept = None if fresh else kept_proof(request, *of)
    if kept is not None:
        return kept
    from argus.equivalence.programs import KnownPrograms
    from argus.equivalence.references import reference_of

    if known is None and reference_of(request.kernel) is not None:
        known = KnownPrograms()
    if program is None:
        program = known.of(request).placed if known else placed_program(request)
    proof = prove_placed(request, program, known=known)
    remember_proof(request, proof, *of)
    return proof


def prove_placed(
    request: Request,
    program: Program,
    *,
    only: Sequence[str] | None = None,
    shared: SharedOrder | None = None,
    known: KnownPrograms | None = None,
    said: StatedReference | None = None,
) -> Proof:
    """Verify what a request was placed to; nothing is kept. Options: see `verify`.

    Its reference is asked first: the one that is ``said``, or that of the kernel's
    file; then names of dimensions, of which it settles what they leave open
    (`argus.equivalence.settling`). ``known``: what else is asked of the kernel.
    """
    from argus.equivalence.programs import KnownPrograms
    from argus.equivalence.settling import settled, terms_first
    from argus.verify.expectations import about_machine_code
    from argus.verify.verifier import verify

    usage = _usage(request) if about_machine_code(program) else None
    known = known or KnownPrograms()
    equal = terms_first(request, known, said)
    report = verify(program, only=only, usage=usage, shared=shared, equal=equal)
    report = settled(report, request, known)
    return Proof(report, program.threads, program.shared_bytes, program.cluster)


def kept_proof(request: Request, *of: str) -> Proof | None:
    """The proof on disk, if there is one. ``of``: see :func:`remember_proof`."""
    from argus.runtime.cache import default_cache

    return default_cache().store.read(_PROOFS, _proof_key(request, of), _proof_of)


def remember_proof(request: Request, proof: Proof, *of: str) -> None:
    """Keep a proof on disk; it replaces the one that was kept before.

    ``of``: which others it is about, too, where it is not about the request alone.
    """
    from argus.runtime.cache import default_cache
    from argus.verify.render.data import report_json

    data = {
        "report": report_json(proof.report),
        "block": [proof.threads, proof.shared_bytes, proof.cluster, proof.replayed],
    }
    content = json.dumps(data).encode()
    store = default_cache().store
    store.put(_PROOFS, _proof_key(request, of), content)
    if of:
        return
    # Calls need no more than this, and read it without importing the verifier.
    verdict = str(proof.report.verdict).encode()
    store.put(_VERDICTS, key_of(request), verdict)


def _proof_of(raw: bytes) -> Proof:
    """The proof of a cache entry; raises what `report_of` raises."""
    from argus.verify.render.data import report_of

    data: dict[str, Any] = json.loads(raw)
    block = data["block"]
    if [type(part) for part in block] != [int, int, int, bool]:
        raise ValueError(f"not what a block takes: {block!r}")
    return Proof(report_of(data["report"]), *block)


def _proof_key(request: Request, of: Sequence[str] = ()) -> str:
    """Like that of a build, and with the file's name, which reports point into."""
    return key_of(request, f"file {request.kernel.file}", *(f"of {t}" for t in of))


def _usage(request: Request) -> Usage:
    from argus.verify.expectations import Usage

    of_all = replace(request, values={})  # a proof is of all sizes
    found = build(of_all).cubin.usage
    return Usage(found.registers, found.spill_stores)


def require_right(request: Request) -> None:
    """Prove what is to be launched, unless the cache knows that it is proved.

    Raises ArgusError (an ErrorList) if it is refuted. What is not decided passes with
    an ArgusWarning, and everything with ``ARGUS_CHECK=0`` (AG0908: not 0 or 1). Nor is
    it decided where names of dimensions refute what terms could not be compared about.
    """
    if not checking() or _known_right(key_of(request)):
        return
    from argus.diagnostics.errors import ErrorList
    from argus.diagnostics.warning import warn
    from argus.equivalence.settling import is_doubted
    from argus.verify.render.diagnostics import diagnostics
    from argus.verify.verdict import Verdict

    report = prove(request).report
    if report.verdict >= Verdict.PROVED:
        return
    if report.verdict is Verdict.REFUTED and not is_doubted(report):
        raise ErrorList(*(d for d in diagnostics(report) if d.severity == "error"))
    kernel = request.kernel
    first, *others = (o for o in report.obligations if o.is_open)
    reason = first.reason or (report.equality.reason if report.equality else "")
    more = f", and {len(others)} more" if others else ""
    warn(
        "AG0390",
        f"kernel `{kernel.name}` is not proved: at line {first.span.line} it is not "
        f"known whether {first.claim} ({reason}){more}; "
        f"`argus check {kernel.file}` shows all, `ag.trust` accepts what is unknown, "
        "ARGUS_CHECK=0 proves nothing",
    )


def claimed(request: Request) -> str:
    """What may be said of a specialisation's text that goes elsewhere, in a line.

    Raises ArgusError (an ErrorList) if it is refuted; warns as `require_right` does.
    """
    if not checking():
        return "not proved: exported with ARGUS_CHECK=0"
    require_right(request)
    from argus.verify.verdict import Verdict

    report = prove(request).report
    if report.verdict >= Verdict.PROVED:
        return f"{report.verdict}, for arguments that the host program accepts"
    count = sum(o.is_open for o in report.obligations)
    return f"not proved: {count} obligations are not decided"


def _known_right(key: str) -> bool:
    """Whether the disk cache has the verdict that a specialisation is proved."""
    from argus.runtime.cache import default_cache

    return default_cache().store.get(_VERDICTS, key) in (b"proved", b"equal")


def checking() -> bool:
    """Whether kernels are proved before they are launched: unless ``ARGUS_CHECK=0``.

    Raises ArgusError AG0908 for another value than 0 and 1.
    """
    return switch("ARGUS_CHECK", usual=True)


def cuda_source(request: Request) -> CudaSource:
    """Parse, place and print as CUDA C++."""
    from argus.codegen import emit

    return emit(placed_program(request), request.values)


def build(request: Request) -> BuiltKernel:
    """A built kernel: from the disk cache, or made now.

    Raises ArgusError: the author's mistakes, and AG07xx for what the CUDA compiler
    finds (serialised wgmma, ignored register budgets, undeclared spills).
    """
    return _build(request, key_of(request))


def launchable(request: Request, checking: bool = True) -> BuiltKernel:
    """As `build`, of what is proved: see `require_right`, unless not ``checking``."""
    key = key_of(request)
    if checking and not _known_right(key):
        require_right(request)
    return _build(request, key)


def is_ready(request: Request) -> bool:
    """Whether the disk cache has all that `launchable` needs."""
    from argus.runtime.cache import default_cache

    key = key_of(request)
    if checking() and not _known_right(key):
        return False
    return default_cache().holds(_build_key(request, key))


def _build_key(request: Request, key: str) -> str:
    """What machine code is kept under; ``key``: what its proof is."""
    values = [f"{name} = {value}" for name, value in sorted(request.values.items())]
    return key_of(request, *values) if values else key


def _build(request: Request, key: str) -> BuiltKernel:
    from argus.runtime.build import BuildOptions
    from argus.runtime.cache import default_cache

    cache, key = default_cache(), _build_key(request, key)
    found = cache.find(key)
    if found is not None:
        return BuiltKernel(found.spec, found.cubin)
    program = placed_program(request)
    from argus.codegen import emit

    source = emit(program, request.values)
    options = BuildOptions(registers=source.spec.registers)
    cubin = cache.cubin(source.text, request.target, options, file=request.kernel.file)
    cache.remember(key, source.spec, cubin, options)
    return BuiltKernel(source.spec, cubin)
