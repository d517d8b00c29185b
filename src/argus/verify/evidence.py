"""What a counterexample says: one record, rendered elsewhere in several forms.

Concrete throughout: a thread, a block, values of sizes and loop counters, the element,
where each operand came from, and for ordering rules the events of the roles in an order
that goes wrong.
"""

from dataclasses import dataclass, field

from argus.diagnostics import Span


@dataclass(frozen=True)
class ThreadPlace:
    """Who: thread of the role (and of the block), in which block and iteration."""

    role: str
    thread: int | None = None
    block: int | None = None
    iteration: dict[str, int] = field(default_factory=dict[str, int])
    """Loop variables and counters by name."""


@dataclass(frozen=True)
class Step:
    """One link of the chain that brought an element somewhere: what, where, line."""

    text: str
    span: Span


@dataclass(frozen=True)
class OperandElement:
    """An element that took part: its tag, its tile coordinate, its way here."""

    label: str
    """"left", "right", "stored", "accumulator", ..."""
    tag: dict[str, int]
    coordinate: tuple[int, ...]
    chain: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Event:
    """One event of a role in a wrong interleaving, in order."""

    role: str
    text: str
    span: Span
    iteration: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class Counterexample:
    """Concrete evidence that an obligation fails.

    ``sizes`` gives dimensions, strides and scalar arguments; ``help`` a fix where one
    is known. ``replayed``: None where the rule allows no replay in the interpreter,
    else whether the interpreter showed the same.
    """

    message: str
    label: str
    place: ThreadPlace
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    operands: tuple[OperandElement, ...] = ()
    interleaving: tuple[Event, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None
    replayed: bool | None = None
