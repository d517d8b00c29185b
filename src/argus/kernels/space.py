"""What a design space is: forms with knobs, and the single steps between designs.

A *form* is a kernel file, written by hand and kept as data; its *knobs* are static
parameters. A *design* is a form with a value for each of its knobs: a point of the
space. This module knows how to walk such a space; which forms and knobs there are, and
which designs can be, is said by each space. Nothing here predicts, judges or prefers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from math import prod
from random import Random
from typing import ClassVar

from argus.kernels.entry import Case, KernelChoice, LibraryEntry, choose
from argus.lang.kernel import literal
from argus.runs.records import Candidate, LibraryProblem, Problem, Value

Design = dict[str, Value]
"""``form`` and the knobs of that form, by name."""


@dataclass(frozen=True)
class Knob:
    """A static parameter that is searched.

    ``values``: all that any form tries. ``optimisation``: the knowledge entry that it
    belongs to. ``off``: the value at which that optimisation is absent, if there is
    one.
    """

    name: str
    values: tuple[Value, ...]
    meaning: str
    optimisation: str
    off: Value | None = None


@dataclass(frozen=True)
class Move:
    """One step from a design: ``apply(design, edit)`` is the next one.

    ``edit`` holds everything that changes, companions included. ``depends_on``:
    optimisations that the step builds on; the design has them.
    """

    optimisation: str
    edit: dict[str, Value]
    where: str
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class Form:
    """A kernel file and the knobs it has.

    ``package`` and ``file``: where its text is. ``defaults``: every knob of the form;
    ``domains``: those that are searched, with their values. ``optimisations``: what
    the form itself embodies. ``after``: forms that it is one step from, ``via`` the
    optimisation that this step is.
    """

    name: str
    title: str
    package: str
    file: str
    kernel: str
    defaults: Mapping[str, Value]
    domains: Mapping[str, tuple[Value, ...]]
    optimisations: tuple[str, ...]
    after: tuple[str, ...] = ()
    via: str = ""

    def chosen(self, choice: KernelChoice) -> Design:
        """The design that a choice of the library is, all knobs written out."""
        defaults = {s.name: literal(s.default) for s in choice.kernel.signature.statics}
        knobs = {**defaults, **choice.statics}
        design: Design = {"form": self.name}
        for knob in self.defaults:
            value = knobs[knob]
            assert isinstance(value, bool | int)
            design[knob] = value
        return design


def by_name(*knobs: Knob) -> dict[str, Knob]:
    """Knobs by their names."""
    return {k.name: k for k in knobs}


@cache
def source_text(package: str, file: str) -> str:
    """The text of a kernel file that is packaged with Argus."""
    return files(package).joinpath(file).read_text(encoding="utf-8")


class DesignSpace(ABC):
    """A design space. Subclasses say what is in it; the walk is the same for all."""

    name: ClassVar[str]
    entries: ClassVar[Mapping[str, LibraryEntry]] = {}
    """Entries of the library whose problems are searched here, by name."""
    forms: ClassVar[Mapping[str, Form]]
    knobs: ClassVar[Mapping[str, Knob]]
    together: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Pairs of knobs that are also changed in one step."""
    inseparable: ClassVar[frozenset[str]] = frozenset()
    """Optimisations that cannot be taken out, though some forms do not name them."""

    # ---- what each space says

    @abstractmethod
    def start(self, problem: Problem) -> Design:
        """The design of the naive kernel."""

    @abstractmethod
    def entered(self, form: str, problem: Problem) -> Design:
        """The design to begin with in a form."""

    @abstractmethod
    def invalid(self, design: Design, problem: Problem) -> str | None:
        """Why a design cannot be, or cannot be worth it; None if it may be.

        Cheap, and necessary conditions only: a valid design may still fail to build.
        """

    @abstractmethod
    def repaired(self, design: Design, pinned: frozenset[str]) -> Design:
        """The design with other knobs adapted to the pinned ones; a fixed point."""

    def library(self, problem: Problem) -> Design:
        """The library's own choice, all knobs written out."""
        of = library_problem(problem)
        choice = choose(
            self.entries[of.entry], Case("", of.sizes, of.options), of.target
        )
        (form,) = (f for f in self.forms.values() if f.kernel == choice.kernel.name)
        return form.chosen(choice)

    def possible(self, form: str, problem: Problem) -> bool:
        """Whether a form can have a valid design at all; False only if it has none."""
        return True

    def fixed(self, design: Design, problem: Problem) -> dict[str, Value]:
        """Static parameters that the problem settles."""
        return {}

    def always(self, problem: Problem) -> tuple[str, ...]:
        """Optimisations that the problem brings into every design."""
        return ()

    # ---- the walk

    def form(self, design: Design) -> Form:
        """The form of a design. Raises ValueError for one that there is not."""
        name = design.get("form")
        if not isinstance(name, str) or name not in self.forms:
            raise ValueError(f"the space {self.name} has no form {name!r}")
        return self.forms[name]

    def apply(self, design: Design, edit: Mapping[str, Value]) -> Design:
        """The edited design, with whatever else must change.

        A change of form starts from the defaults of the new form. The result may be
        invalid. Raises ValueError for a knob that the form does not have.
        """
        form = self.form({**design, **edit})
        unknown = [k for k in edit if k != "form" and k not in form.defaults]
        if unknown:
            raise ValueError(f"the form {form.name} has no knob {unknown[0]!r}")
        kept = design if design.get("form") == form.name else {}
        merged: Design = {"form": form.name}
        for knob, default in form.defaults.items():
            merged[knob] = edit.get(knob, kept.get(knob, default))
        return self.repaired(merged, frozenset(edit))

    def moves(self, design: Design, problem: Problem) -> tuple[Move, ...]:
        """Every valid single step: to a neighbouring form, or of a knob or a pair."""
        form = self.form(design)
        found: dict[tuple[object, ...], Move] = {}

        def offer(optimisation: str, new: Design, where: str) -> None:
            if new["form"] == design["form"]:
                new = self.apply(design, _changed(design, new))
            if new == design or self.invalid(new, problem) is not None:
                return
            edit = _changed(design, new)
            if new["form"] != design["form"]:
                edit = dict(new)
            after = (form.via,) if form.via and form.via != optimisation else ()
            move = Move(optimisation, edit, where, after)
            found.setdefault(tuple(sorted(new.items())), move)

        for other in self.forms.values():
            if form.name in other.after:
                new = self._entering(design, other, problem)
                offer(other.via, new, f"{form.name} to {other.name}: {other.title}")
        for knob, values in form.domains.items():
            for value in values:
                if value != design[knob]:
                    new = self.apply(design, {knob: value})
                    where = f"{knob}: {design[knob]} to {value}"
                    offer(self.knobs[knob].optimisation, new, where)
        for first, second in self.together:
            if first not in form.domains or second not in form.domains:
                continue
            for a, b in product(form.domains[first], form.domains[second]):
                new = self.apply(design, {first: a, second: b})
                where = f"{first} x {second}: {a} x {b}"
                offer(self.knobs[first].optimisation, new, where)
        return tuple(found.values())

    def _entering(self, design: Design, form: Form, problem: Problem) -> Design:
        """The first design of a form; keeps what was tuned, where it can be kept."""
        new = self.entered(form.name, problem)
        usual = self.entered(self.form(design).name, problem)
        for knob in form.domains:
            tuned = knob in usual and design[knob] != usual[knob]
            if tuned and design[knob] in form.domains[knob]:
                kept = self.apply(new, {knob: design[knob]})
                if self.invalid(kept, problem) is None:
                    new = kept
        return new

    def candidate(self, design: Design, problem: Problem) -> Candidate:
        """The kernel of a design: source text, name, and all its static parameters."""
        form = self.form(design)
        statics = {k: v for k, v in design.items() if k != "form"}
        return Candidate(
            source=source_text(form.package, form.file),
            kernel=form.kernel,
            statics={**statics, **self.fixed(design, problem)},
            design=dict(design),
        )

    def optimisations(self, design: Design) -> tuple[str, ...]:
        """Ids of the optimisations that are in a design."""
        form = self.form(design)
        found = dict.fromkeys(form.optimisations)
        for name in form.defaults:
            knob = self.knobs.get(name)
            if knob and knob.off is not None and design[name] != knob.off:
                found[knob.optimisation] = None
        return tuple(found)

    def without(
        self, design: Design, optimisation: str, problem: Problem
    ) -> Design | None:
        """The nearest valid design without an optimisation; None if there is none.

        Its knobs are switched off where it is a matter of knobs. Otherwise it is the
        form that shares most optimisations with the design, and a third of them at
        least: with less the comparison would be one of two kernels. What else is lost
        with it, ``optimisations`` tells.
        """
        if optimisation in self.inseparable:
            return None
        if optimisation not in self.optimisations(design):
            return None
        off: dict[str, Value] = {
            k: knob.off
            for k, knob in self.knobs.items()
            if knob.optimisation == optimisation and knob.off is not None
        }
        for form in self._near(design):
            for option in (
                self._with_off(design, off, form),
                self._with_off(self.entered(form.name, problem), off, form),
            ):
                if (
                    optimisation not in self.optimisations(option)
                    and self.invalid(option, problem) is None
                ):
                    return option
        return None

    def _near(self, design: Design) -> list[Form]:
        """Forms that share enough with the design: its own, then most shared first."""
        own = self.form(design)
        mine = set(self.optimisations(design))

        def shared(form: Form) -> int:
            able = {self.knobs[k].optimisation for k in form.domains}
            return len(mine & {*form.optimisations, *able})

        near = [
            f for f in self.forms.values() if f is own or 3 * shared(f) >= len(mine)
        ]
        return sorted(near, key=lambda f: (f is not own, -shared(f)))

    def _with_off(self, design: Design, off: Mapping[str, Value], form: Form) -> Design:
        """The design carried over to a form, with the given knobs off."""
        carried: Design = {"form": form.name}
        for knob, default in form.defaults.items():
            value = design.get(knob, default)
            allowed = form.domains.get(knob, ())
            same = design["form"] == form.name
            carried[knob] = value if same or value in allowed else default
        mine = {k: v for k, v in off.items() if k in form.defaults}
        return self.repaired({**carried, **mine}, frozenset(mine))

    def sample(self, problem: Problem, random: Random) -> Design:
        """A valid design, uniformly: what :meth:`designs` lists, without listing it.

        Raises ValueError where no valid design was drawn in 100000 attempts.
        """
        return self.sample_of(self.forms, problem, random)

    def sample_of(
        self, names: Iterable[str], problem: Problem, random: Random
    ) -> Design:
        """A valid design of these forms, uniformly.

        Raises ValueError where no valid design was drawn in 100000 attempts.
        """
        forms = [self.forms[f] for f in names if self.possible(f, problem)]
        sizes = [prod(len(v) for v in f.domains.values()) for f in forms]
        for _ in range(100_000):
            (form,) = random.choices(forms, sizes)
            design = self.entered(form.name, problem)
            design |= {k: random.choice(v) for k, v in form.domains.items()}
            design = self.repaired(design, frozenset(form.domains))
            if self.invalid(design, problem) is None:
                return design
        raise ValueError(f"the space {self.name} has no valid design for {problem}")

    def designs(self, problem: Problem) -> Iterator[Design]:
        """Every valid design of the searched knobs, form by form."""
        for form in self.forms.values():
            if not self.possible(form.name, problem):
                continue
            base = self.entered(form.name, problem)
            for values in product(*form.domains.values()):
                design = {**base, **dict(zip(form.domains, values, strict=True))}
                design = self.repaired(design, frozenset(form.domains))
                if self.invalid(design, problem) is None:
                    yield design


def _changed(old: Design, new: Design) -> Design:
    return {k: v for k, v in new.items() if old.get(k) != v}


def library_problem(problem: Problem) -> LibraryProblem:
    """The problem as one of the library. Raises ValueError for any other."""
    if not isinstance(problem, LibraryProblem):
        raise ValueError(f"{problem.name} is not a problem of the library")
    return problem
