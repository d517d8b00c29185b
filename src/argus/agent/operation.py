"""What a row of the table of operations says: parameters, effects, help.

Imports nothing of what an operation needs, so that `argus --help` is quick.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, get_type_hints

Value = bool | int | float | str
Numbers = dict[str, int] | None
Words = dict[str, str] | None
Values = dict[str, Value] | None
"""Kinds of parameters: on the command line NAME=VALUE, as often as there are some."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of an operation; ``kind`` is its type.

    ``help`` is for people and agents, ``more`` for agents only, whose help has room.
    ``least`` and ``most`` bound a number. On the command line it is an option: by its
    name unless ``option`` gives another, with a ``short`` letter; or, with
    ``argument``, a word without a name.
    """

    name: str
    kind: Any
    default: Any
    help: str = ""
    more: str = ""
    least: int | None = None
    most: int | None = None
    option: str = ""
    short: str = ""
    metavar: str | None = None
    argument: bool = False


@dataclass(frozen=True)
class WrittenFile:
    """An option of a command that writes a kernel of the answer to a file."""

    name: str
    option: str
    help: str
    text: Callable[[Any], str | None]
    short: str = ""


@dataclass(frozen=True)
class Operation:
    """What can be asked of a session.

    ``says``: what it does, for whoever may call it. ``brief``: the same in a few words,
    for a terminal of 60 columns. ``answers``, ``trial``, ``costs``: its row in the
    documents. ``kernel``: whether it takes a kernel file, which is then its first
    parameter (``source``). ``moves``: whether it changes a run or costs something.
    ``right``: whether an answer says that all is well, which is the exit code.
    ``record``: the class of the module that holds the parameters, if one does.
    """

    name: str
    module: Literal["asking", "beginning", "ending", "running"]
    says: str
    brief: str
    answers: str
    parameters: tuple[Parameter, ...]
    trial: str = ""
    costs: str = ""
    kernel: Literal["", "wanted", "optional"] = ""
    moves: bool = False
    right: Callable[[Any], bool] = lambda answer: True
    writes: tuple[WrittenFile, ...] = ()
    record: str = ""

    @property
    def function(self) -> Callable[..., Any]:
        """The function; imports what it needs."""
        found = vars(import_module(f"argus.agent.session.{self.module}"))
        return found[self.name if self.name in found else f"{self.name}_"]

    @property
    def answer(self) -> type[Any]:
        """The model of what it answers."""
        return get_type_hints(self.function)["return"]

    def call(self, desk: Any, given: Mapping[str, Any]) -> Any:
        """Do it. ``given``: by the names of the parameters, and ``source``."""
        function = self.function
        if self.record:
            record = vars(import_module(function.__module__))[self.record]
            return function(desk, record(**given))
        return function(desk, **given)
