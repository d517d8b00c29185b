"""What the verifier says: obligations with ordered verdicts, joined into a report.

``refuted < unknown < proved``: the verdict of several obligations is their minimum, so
that an unknown never counts as proved and one counterexample refutes a kernel.
"""

from dataclasses import dataclass, field
from enum import IntEnum

from argus.diagnostics import Span
from argus.verify.evidence import Counterexample


class Verdict(IntEnum):
    """Ordered: combining verdicts is ``min``."""

    REFUTED = 0
    UNKNOWN = 1
    PROVED = 2

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class Obligation:
    """One thing that must hold, at one place of the source.

    ``rule`` is a code of the catalogue (AG03xx data, AG04xx order, AG06xx performance
    where severity is "slow"). ``method`` names what decided it ("normal form",
    "enumeration", "z3", "walk"); ``reason`` says why it is unknown, else is empty.
    """

    rule: str
    claim: str
    span: Span
    verdict: Verdict
    method: str = ""
    reason: str = ""
    counterexample: Counterexample | None = None
    slow: bool = False
    """A performance finding: binding only where the kernel expects otherwise."""
    specialisation: str = ""
    """Where it is so, in words, if the report is about several specialisations."""


@dataclass(frozen=True)
class Assumption:
    """Something that was not proved: a stated fact or a trusted line."""

    kind: str
    """"assume" (about run-time tables) or "trust" (an unknown that is accepted)."""
    text: str
    span: Span


@dataclass(frozen=True)
class Placed:
    """One of the programs that specialisations become, and its verdict.

    ``dtypes`` and ``facts`` are those of the specialisation that knows least of those
    that become it: what is proved of that one holds for the others, too.
    """

    text: str
    verdict: Verdict
    dtypes: dict[str, str]
    facts: dict[str, int]


@dataclass(frozen=True)
class Refused:
    """Specialisations that a call is refused with an error: nothing is launched."""

    text: str
    code: str
    message: str


@dataclass(frozen=True)
class Specialised:
    """Which specialisations a report is about.

    ``text`` says in words what calls may choose and ``count`` how many choices that
    are. Each becomes one of the ``programs`` or is ``refused``; of ``left`` nothing is
    known.
    """

    text: str
    count: int
    programs: tuple[Placed, ...]
    refused: tuple[Refused, ...] = ()
    left: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """Everything that was to be shown about one placed program, or about several.

    ``specialised`` is None where it is about the one that was asked for.
    """

    kernel: str
    target: str
    obligations: tuple[Obligation, ...]
    assumptions: tuple[Assumption, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """Time of each analysis."""
    specialised: Specialised | None = None

    @property
    def verdict(self) -> Verdict:
        """The least verdict of the binding obligations; proved when there is none."""
        binding = (o.verdict for o in self.obligations if not o.slow)
        return min(binding, default=Verdict.PROVED)
