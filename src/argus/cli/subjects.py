"""What FILE or NAME on a command line means: which kernels, in which specialisations.

A library entry stands for the specialisations that its cases need; a file for each of
its kernels with default parameters. Options override both alike.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from argus.cli.given_values import (
    pairs,
    parse_dtypes,
    parse_sizes,
    parse_statics,
    scalar,
)
from argus.diagnostics import ArgusError, fail
from argus.evaluation.loose import sizes_of
from argus.evaluation.requests import (
    contiguous_facts,
    default_dtypes,
    request_for,
    shown,
    with_statics,
)
from argus.files.reading import Reader
from argus.files.typed import natural
from argus.kernels.library import LIBRARY, Case, LibraryEntry, entry_named
from argus.lang.kernel import Kernel, load_kernels
from argus.programs.capturing.torch_file import is_torch_text
from argus.requests import Request, target_named
from argus.specialisations import SpecialisationSpace
from argus.targets import DEFAULT_TARGET

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class SubjectOptions:
    """The options, as they were given."""

    target: str | None = None
    kernel: str | None = None
    case: str | None = None
    settings: Sequence[str] = ()
    dtypes: Sequence[str] = ()
    sizes: Sequence[str] = ()


@dataclass(frozen=True)
class CommandSubject:
    """One specialisation to work on. ``case`` is None for a kernel of a file.

    ``entry``: the library's, of which the case is one.
    ``scalars`` are those given, or the case's; ``sizes`` those of a file's kernel.
    ``space``: the specialisations that the options leave open of a file's kernel, of
    which the request is one; None for a case, which is about its own.
    """

    request: Request
    case: Case | None = None
    scalars: Mapping[str, float] = field(default_factory=dict[str, float])
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    space: SpecialisationSpace | None = None
    entry: LibraryEntry | None = None

    @property
    def defaults(self) -> dict[str, int | float]:
        """Sizes and scalars to run with where nothing else is said, by name."""
        if self.case is None:
            return {**self.sizes, **self.scalars}
        return {**self.case.sizes, **self.scalars}

    @property
    def is_whole(self) -> bool:
        """Whether the options leave every specialisation open."""
        return self.space == SpecialisationSpace.of(self.request.kernel.signature)

    @property
    def label(self) -> str:
        """Kernel, and the case that asked for it."""
        name = self.request.kernel.name
        return name if self.case is None else f"{name} ({self.case.name})"

    @property
    def statics(self) -> dict[str, str]:
        """Static parameters that differ from their defaults, as text."""
        return {k: shown(v) for k, v in self.request.statics.items()}


# --------------------------------------------------------------------- library


def is_file(source: str) -> bool:
    """Whether FILE|NAME is meant as a file."""
    if source in LIBRARY:
        return False
    return source.endswith(".py") or "/" in source or os.path.lexists(source)


def cases_of(entry: LibraryEntry) -> tuple[Case, ...]:
    """All cases in the order of their numbers: small ones first."""
    return (*entry.small, *entry.large)


def case_named(entry: LibraryEntry, text: str) -> Case:
    """A case by number or name. Raises ArgusError AG0908 for one that there is not."""
    cases = cases_of(entry)
    number = natural(text)
    if number is not None and number < len(cases):
        return cases[number]
    for case in cases:
        if case.name == text:
            return case
    raise fail(
        "AG0908",
        None,
        f"`{entry.name}` has no case `{text}`",
        help=f"`argus list {entry.name}` shows its {len(cases)} cases",
    )


def resized(entry: LibraryEntry, case: Case, sizes: Mapping[str, int]) -> Case:
    """A case with other sizes. Raises ArgusError AG0908 for an unknown dimension."""
    if not sizes:
        return case
    for name in sizes:
        if name not in case.sizes:
            raise fail(
                "AG0908",
                None,
                f"`{entry.name}` has no size `{name}`",
                help=f"its sizes are {', '.join(case.sizes)}",
            )
    whole = {**case.sizes, **sizes}
    # Static parameters of a case are for its own sizes, and maybe for another kernel.
    options = {w: v for w, v in case.options.items() if w not in case.statics}
    words = [w for w in options if w.islower()]
    name = " ".join(["x".join(map(str, whole.values())), *words])
    return replace(case, name=name, sizes=whole, options=options)


def entry_target(entry: LibraryEntry, target: str | None) -> str:
    """The target asked for, or the entry's best. Raises ArgusError for no target."""
    if target is not None:
        return target_named(target).name
    return DEFAULT_TARGET if DEFAULT_TARGET in entry.targets else entry.targets[0]


def entry_cases(
    entry: LibraryEntry, selection: SubjectOptions, default: Iterable[Case]
) -> list[Case]:
    """Cases that the options select; `default` ones if none is named."""
    sizes = parse_sizes(selection.sizes)
    if selection.case is not None:
        chosen = [case_named(entry, selection.case)]
    else:
        chosen = list(default)[:1] if sizes else list(default)
    return [resized(entry, case, sizes) for case in chosen]


def entry_subjects(
    entry: LibraryEntry, selection: SubjectOptions, default: Iterable[Case]
) -> list[CommandSubject]:
    """Each distinct specialisation of the selected cases, with the first such case."""
    target = entry_target(entry, selection.target)
    if selection.dtypes:
        raise fail(
            "AG0908",
            None,
            f"the element types of `{entry.name}` are those of the library",
            help="give its source file instead to choose others",
        )
    found: dict[object, CommandSubject] = {}
    for case in entry_cases(entry, selection, default):
        request, choice = request_for(entry, case, target)
        statics = parse_statics(request.kernel, selection.settings)
        request = with_statics(request, statics)
        key = (
            request.kernel.name,
            tuple(sorted((k, shown(v)) for k, v in request.statics.items())),
            tuple(request.dtypes.items()),
            tuple(sorted(request.facts.items())),
        )
        subject = CommandSubject(request, case, choice.scalars, entry=entry)
        found.setdefault(key, subject)
    return list(found.values())


# ----------------------------------------------------------------------- files


def file_subjects(source: str, selection: SubjectOptions) -> list[CommandSubject]:
    """The kernels of a file.

    Raises ArgusError: AG0901 (no file), AG0908 and AG0813 (options that do not fit, a
    kernel that it does not have), and what reading finds.
    """
    if selection.case is not None:
        raise fail("AG0908", None, "a file has no cases", help="use --size DIM=N")
    kernels = kernels_of_file(source)
    if selection.kernel is not None:
        if selection.kernel not in kernels:
            raise fail(
                "AG0908",
                None,
                f"`{source}` has no kernel `{selection.kernel}`",
                help=f"its kernels are {', '.join(kernels)}",
            )
        kernels = {selection.kernel: kernels[selection.kernel]}
    return [_file_subject(kernel, selection) for kernel in kernels.values()]


def kernels_of_file(source: str) -> dict[str, Kernel]:
    """The kernels of a file. Raises AG0908 for one of PyTorch, and what reading finds.

    What is no kernel file at all is told as such, not line by line.
    """
    try:
        return load_kernels(source).kernels
    except ArgusError as error:
        # What cannot be read is told as such; of a pipe nothing is left to be read.
        again = os.path.isfile(source) or "AG0002" in error.codes
        if again and is_torch_text(Reader().read(source)):
            raise fail(
                "AG0908",
                None,
                f"`{source}` is a PyTorch file, and kernels are asked for",
                help=f"`argus plan {source}` shows the kernels that it becomes",
            ) from None
        raise


def _file_subject(kernel: Kernel, selection: SubjectOptions) -> CommandSubject:
    declared = {s.name: s.dtype for s in kernel.signature.scalars}
    given = pairs(selection.settings, "--set")
    scalars = {n: scalar(n, t, declared[n]) for n, t in given.items() if n in declared}
    settings = [f"{n}={t}" for n, t in given.items() if n not in declared]
    statics = parse_statics(kernel, settings)
    types = parse_dtypes(kernel, selection.dtypes)
    dtypes = default_dtypes(kernel, types)
    sizes = parse_sizes(selection.sizes)
    whole = sizes_of(kernel, sizes, statics)
    shapes = {
        t.name: tuple(d if isinstance(d, int) else whole[d] for d in t.dims)
        for t in kernel.signature.tensors
        if t.name in dtypes
    }
    target = DEFAULT_TARGET if selection.target is None else selection.target
    facts = contiguous_facts(kernel, shapes)
    request = Request(kernel, dtypes, statics, target_named(target).name, facts)
    space = SpecialisationSpace.of(kernel.signature).restricted(types, sizes)
    return CommandSubject(request, None, scalars, whole, space)


def subjects(source: str, selection: SubjectOptions) -> list[CommandSubject]:
    """Everything that FILE|NAME stands for.

    Raises ArgusError, see :func:`entry_subjects` and :func:`file_subjects`.
    """
    if is_file(source):
        return file_subjects(source, selection)
    entry = entry_named(source)
    found = entry_subjects(entry, selection, cases_of(entry))
    if selection.kernel is None:
        return found
    named = [s for s in found if s.request.kernel.name == selection.kernel]
    if not named:
        names = dict.fromkeys(s.request.kernel.name for s in found)
        raise fail(
            "AG0908",
            None,
            f"no case of `{source}` uses a kernel `{selection.kernel}`",
            help=f"its kernels are {', '.join(names)}",
        )
    return named


def one_or_all(source: str, selection: SubjectOptions) -> list[CommandSubject]:
    """Like :func:`subjects`, but of a library entry one case: the first large one."""
    if not is_file(source) and selection.case is None:
        entry = entry_named(source)
        if selection.kernel is None:
            return entry_subjects(entry, selection, entry.large[:1])
        return subjects(source, selection)[:1]
    return subjects(source, selection)


# --------------------------------------------------------------------- options
