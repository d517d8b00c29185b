"""The design space of any kernel file: its static parameters that are numbers.

There is one form, the file as it is. Integers are tried at half and double of their
default, two steps each way; truth values both ways. What a value means is not known:
ruled out are what is no positive integer, and parameters of which the task says that
they change the result (``FileProblem.settled``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product
from random import Random
from typing import ClassVar

from argus.diagnostics import fail
from argus.kernels.space import Design, DesignSpace, Form, Knob, Move
from argus.lang.kernel import Kernel, literal, load_kernels
from argus.runs.records import Candidate, FileProblem, Problem, Value

_STEPS = 2
_CHANGED = 3
"""Parameters that are changed together, at most."""
OPTIMISATION = "tile-shape"
"""What an unknown number is taken for."""


class Statics(DesignSpace):
    """Static parameters of a kernel file, whatever they mean."""

    name = "statics"
    forms: ClassVar[Mapping[str, Form]] = {}
    knobs: ClassVar[Mapping[str, Knob]] = {}

    def searched(self, problem: Problem) -> Mapping[str, Knob]:
        """The static parameters of a file that are searched, by name.

        Raises ArgusError for what reading the file finds.
        """
        of = file_problem(problem)
        found = _searched(of.name, of.reference, of.kernel)
        return {k: v for k, v in found.items() if k not in of.settled}

    def start(self, problem: Problem) -> Design:
        """The defaults of the file."""
        of = file_problem(problem)
        found = _defaults(of.name, of.reference, of.kernel)
        return {k: v for k, v in found.items() if k not in of.settled}

    def library(self, problem: Problem) -> Design:
        """The same as the start: nobody has chosen anything else."""
        return self.start(problem)

    def entered(self, form: str, problem: Problem) -> Design:
        """The start: there is one form."""
        return self.start(problem)

    def repaired(self, design: Design, pinned: frozenset[str]) -> Design:
        """Nothing: no knob is known to need another."""
        return design

    def invalid(self, design: Design, problem: Problem) -> str | None:
        """Only that numbers are positive where the default is."""
        start = self.start(problem)
        for knob, value in design.items():
            if knob not in start:
                return f"the kernel has no number {knob}"
            if type(value) is not type(start[knob]):
                return f"{knob} is not of the type of its default"
            usual = start[knob]
            if isinstance(value, int) and isinstance(usual, int) and value < 1 <= usual:
                return f"{knob} is not positive"
        return None

    def apply(self, design: Design, edit: Mapping[str, Value]) -> Design:
        """The edited design. Raises ValueError for a knob that it does not have."""
        unknown = [k for k in edit if k not in design]
        if unknown:
            raise ValueError(f"the kernel has no knob {unknown[0]!r}")
        return {**design, **edit}

    def moves(self, design: Design, problem: Problem) -> tuple[Move, ...]:
        """Every other value of each parameter."""
        return tuple(
            Move(knob.optimisation, {name: value}, f"{name}: {design[name]} to {value}")
            for name, knob in self.searched(problem).items()
            for value in knob.values
            if value != design[name]
        )

    def candidate(self, design: Design, problem: Problem) -> Candidate:
        """The file with these parameters."""
        of = file_problem(problem)
        statics = {k: v for k, v in design.items() if k != "form"}
        return Candidate(
            source=of.reference,
            kernel=of.kernel,
            statics=statics,
            design=dict(design),
        )

    def optimisations(self, design: Design) -> tuple[str, ...]:
        """None: what the parameters of a file mean is not known."""
        return ()

    def without(
        self, design: Design, optimisation: str, problem: Problem
    ) -> Design | None:
        """None, see :meth:`optimisations`."""
        return None

    def sample(self, problem: Problem, random: Random) -> Design:
        """A design that differs from the file's in a few parameters.

        Of a kernel with many, nearly all combinations of values are none: they belong
        together in ways that nobody has said.
        """
        knobs = self.searched(problem)
        changed = random.sample([*knobs], min(len(knobs), random.randint(1, _CHANGED)))
        return {
            **self.start(problem),
            **{k: random.choice(knobs[k].values) for k in changed},
        }

    def designs(self, problem: Problem) -> Iterator[Design]:
        """Every combination of values."""
        knobs, start = self.searched(problem), self.start(problem)
        for values in product(*(k.values for k in knobs.values())):
            yield {**start, **dict(zip(knobs, values, strict=True))}


def tried(problem: FileProblem) -> dict[str, tuple[Value, ...]]:
    """For each parameter that may be a knob the nearest values but its default."""
    found: dict[str, tuple[Value, ...]] = {}
    of = problem.name, problem.reference, problem.kernel
    defaults = _defaults(*of)
    for name, knob in _searched(*of).items():
        at = knob.values.index(defaults[name])
        near = knob.values[max(at - 1, 0) : at] + knob.values[at + 1 : at + 2]
        found[name] = near
    return found


def domain(default: object) -> tuple[Value, ...]:
    """The values that are tried for a default; none for what is no number."""
    match default:
        case bool():
            return (False, True)
        case int() if default > 0:
            less = [default >> i for i in range(_STEPS, 0, -1) if default >> i]
            more = [default << i for i in range(1, _STEPS + 1)]
            return tuple(dict.fromkeys((*less, default, *more)))
        case _:
            return ()


def file_problem(problem: Problem) -> FileProblem:
    """The problem as one of a file. Raises ValueError for any other."""
    if not isinstance(problem, FileProblem):
        raise ValueError(f"{problem.entry} is a problem of the library")
    return problem


@lru_cache(maxsize=32)
def _kernel(file: str, text: str, name: str) -> Kernel:
    """A kernel of a file's text.

    Raises ArgusError AG0011 where the file has no such kernel, and for what reading
    finds.
    """
    kernels = load_kernels(file, text).kernels
    if name not in kernels:
        raise fail(
            "AG0908",
            None,
            f"`{file}` has no kernel `{name}`",
            help=f"its kernels are {', '.join(kernels)}",
        )
    return kernels[name]


@lru_cache(maxsize=32)
def _searched(file: str, text: str, name: str) -> Mapping[str, Knob]:
    signature = _kernel(file, text, name).signature
    found: dict[str, Knob] = {}
    for static in signature.statics:
        values = domain(literal(static.default))
        if static.name in signature.dims or len(values) < 2:
            continue
        meaning = f"static parameter of {name}"
        found[static.name] = Knob(static.name, values, meaning, OPTIMISATION)
    return found


@lru_cache(maxsize=32)
def _defaults(file: str, text: str, name: str) -> Design:
    knobs = _searched(file, text, name)
    design: Design = {"form": name}
    for static in _kernel(file, text, name).signature.statics:
        value = literal(static.default)
        if static.name in knobs and isinstance(value, bool | int):
            design[static.name] = value
    return design
