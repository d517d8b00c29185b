"""What the verifier says: obligations with ordered verdicts, joined into a report.

``refuted < unknown < proved < equal``: the verdict of several obligations is their
minimum, so that an unknown never counts as proved and one counterexample refutes a
kernel. No obligation is "equal": a report is, where all of them are proved and the
kernel is shown to compute its reference.
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
    EQUAL = 3

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

    @property
    def is_open(self) -> bool:
        """Whether it binds, and is not proved: refuted, or not known."""
        return self.verdict < Verdict.PROVED and not self.slow


@dataclass(frozen=True)
class Assumption:
    """Something that was not proved: a stated fact or a trusted line."""

    kind: str
    """"assume" (about run-time tables) or "trust" (an unknown that is accepted)."""
    text: str
    span: Span


@dataclass(frozen=True)
class Equality:
    """Whether a kernel computes what its reference says, in real arithmetic.

    ``shown``: every element of every output is shown to be equal, for every size that
    a launch admits. Else ``reason`` says why not, and ``span`` where it stands.
    ``axioms`` are what it rests on, beyond what every proof does. ``tried`` is the
    number of runs against the reference that found no difference, which shows nothing.
    ``untraced``: it is the reference, or a part of it, that has no terms. Where terms
    of ``output`` differ, ``kernel`` and ``specification`` are both, and ``where`` the
    points, as text.
    """

    reference: str
    shown: bool
    reason: str = ""
    span: Span | None = None
    axioms: tuple[str, ...] = ()
    tried: int = 0
    untraced: bool = False
    output: str = ""
    kernel: str = ""
    specification: str = ""
    where: str = ""


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

    ``specialised`` is None where it is about the one that was asked for. ``equality``
    is None where there is no reference, or something else is wrong already.
    """

    kernel: str
    target: str
    obligations: tuple[Obligation, ...]
    assumptions: tuple[Assumption, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """Time of each analysis."""
    specialised: Specialised | None = None
    equality: Equality | None = None
    settled: tuple[Obligation, ...] = ()
    """What rules on data flow left open or refuted, and equality with the reference
    decides instead: it does not bind (`argus.equivalence.settling`)."""
    risks: tuple[Obligation, ...] = ()
    """What is numerically unsafe (`argus.verify.numbers`): it does not bind either."""

    @property
    def verdict(self) -> Verdict:
        """The least verdict of the binding obligations; proved when there is none.

        Equal where all are proved and so is equality with the reference.
        """
        binding = (o.verdict for o in self.obligations if not o.slow)
        least = min(binding, default=Verdict.PROVED)
        equal = self.equality is not None and self.equality.shown
        return Verdict.EQUAL if equal and least is Verdict.PROVED else least
