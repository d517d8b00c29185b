"""Proofs of a plan's kernels: of the specialisation that its tensors choose."""

from __future__ import annotations

from dataclasses import replace

from argus.compiler import kept_proof, remember_proof
from argus.diagnostics import ArgusError
from argus.diagnostics.warning import warn
from argus.equivalence.programs import KnownPrograms
from argus.equivalence.settling import SETTLED
from argus.evaluation.equal.proof import with_reference
from argus.evaluation.proving import proved
from argus.programs.planning.building import as_line
from argus.programs.planning.kernel_requests import kernel_of, request_for_step
from argus.programs.planning.plan import KernelStep
from argus.requests import Request
from argus.specialisations import SpecialisationSpace
from argus.targets import DEFAULT_TARGET
from argus.verify.collecting import rarely_collected
from argus.verify.verdict import Report, Verdict

_KEPT = 256
"""Reports that are kept in this process, at most."""
_REPORTS: dict[str, Report] = {}


def proof_of(step: KernelStep, target: str = DEFAULT_TARGET) -> Report:
    """What the verifier says of a step's kernel, and of its reference.

    Steps that launch one specialisation have one report, which is kept on disk, too.
    Raises ArgusError for what parsing and placing find: a bug of the emission.
    """
    request, space = request_for_step(kernel_of(step), step, target)
    key = f"{as_line(request, step.source.text)} {space.key}"
    if key not in _REPORTS:
        if len(_REPORTS) >= _KEPT:
            _REPORTS.clear()
        _REPORTS[key] = _report(request, space)
    return _REPORTS[key]


def is_contradicted(step: KernelStep, refused: ArgusError, target: str) -> bool:
    """Whether runs of a kernel contradict what a launch refuses it for.

    A launch proves without runs: names of dimensions refute what terms do not show.
    Where the kernel gives what its reference does at the sizes of the counterexample,
    and wherever else it is run, it is not known whether it is right: a warning says so.
    """
    if not all(d.code in SETTLED for d in refused.diagnostics):
        return False
    if proof_of(step, target).verdict is Verdict.REFUTED:
        return False
    first = refused.diagnostics[0]
    warn(
        "AG0390",
        f"kernel `{step.source.name}` of a program is not proved: {first.code} "
        f"({first.message}) is contradicted by runs",
    )
    return True


def forget() -> None:
    """Keep no reports in this process."""
    _REPORTS.clear()


@rarely_collected()
def _report(request: Request, space: SpecialisationSpace) -> Report:
    about = ("its reference", f"space {space.key}")
    known = kept_proof(request, *about)
    if known is None:
        programs = KnownPrograms()
        proof = proved(request, known=programs)
        report = with_reference([request], proof.report, space, known=programs)
        known = replace(proof, report=report)
        remember_proof(request, known, *about)
    return known.report
