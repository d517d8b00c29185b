"""One entry of the knowledge base: its model, and how its file is read.

A file is TOML between two lines ``+++`` (the facts that programs use), then Markdown
(what a person or a model reads) with the sections Why, How in the language, Before,
After and Pitfalls. Code blocks under Before and After are kernel files that are right;
each block under Pitfalls is a kernel file with one mistake, followed by what Argus says
about it. Nothing is compiled here; the tests do that.
"""

from __future__ import annotations

import re
import tomllib
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from argus.knowledge.conditions import Condition, parse
from argus.targets import DEFAULT_TARGET, known_target

SECTIONS = ("Why", "How in the language", "Before", "After", "Pitfalls")

TargetName = Annotated[str, AfterValidator(known_target)]

_FENCE = re.compile(r"^```(\S[^\n]*)\n(.*?)^```$", re.M | re.S)


class EntryError(ValueError):
    """The text is not an entry; the message says where and why."""


class Gain(BaseModel):
    """What to expect: natural logarithms of the speed-up, from ``low`` to ``high``.

    ``basis``: "measured" (in this repository), "published" (a paper or a vendor's
    manual), "derived" (arithmetic that the source spells out), "unmeasured" (nobody
    knows: the range is 0 to 0 and the source says why). ``source`` says where
    the numbers come from and under which circumstances they hold.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    low: float
    high: float
    basis: Literal["measured", "published", "derived", "unmeasured"]
    source: str = Field(min_length=20)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low > self.high:
            raise ValueError("low is greater than high")
        return self

    @property
    def middle(self) -> float:
        """The middle of the range: a prior for who has measured nothing."""
        return (self.low + self.high) / 2


class CodeBlock(BaseModel):
    """A fenced block with a kernel file, complete with its imports."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    target: str = DEFAULT_TARGET
    build: bool = False
    """Whether what it shows needs machine code (registers, spills)."""


class Pitfall(BaseModel):
    """A mistake: the kernel, the rule that finds it, the line, and the text shown."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    text: str
    code: CodeBlock
    rule: str
    line: int
    """Where it is reported; 0 if it is about the whole kernel."""
    shown: str


class Front(BaseModel):
    """What stands between the lines ``+++``; docs/knowledge.md explains each field."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    title: str
    category: Literal["global", "local", "isa"]
    architectures: tuple[TargetName, ...] = Field(min_length=1)
    applies_when: str
    """A condition (`argus.knowledge.conditions`) over features of task and design."""
    knobs: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    invariants: tuple[str, ...] = Field(min_length=1)
    gain: Gain

    @cached_property
    def condition(self) -> Condition:
        """``applies_when``, parsed."""
        return parse(self.applies_when)


class KnowledgeEntry(Front):
    """An optimisation: when it applies, what it brings, how it is written."""

    body: str
    """The Markdown, as it stands in the file."""
    why: str
    how: str
    before: tuple[CodeBlock, ...] = Field(min_length=1)
    after: tuple[CodeBlock, ...] = Field(min_length=1)
    pitfalls: tuple[Pitfall, ...] = Field(min_length=1)


def read_entry(text: str, name: str) -> KnowledgeEntry:
    """Read a file's text. ``name`` is the file's name without ``.md``.

    Raises EntryError: a part is missing, a field is wrong, or the id is not the name.
    """
    parts = text.split("+++\n", 2)
    if len(parts) != 3 or parts[0].strip():
        raise EntryError(f"{name}: front matter between two lines `+++` is missing")
    try:
        front = Front.model_validate(tomllib.loads(parts[1]))
        if front.id != name:
            raise ValueError(f"the id is {front.id}")
        parse(front.applies_when)
        sections = _sections(parts[2])
        return KnowledgeEntry(
            **{k: getattr(front, k) for k in Front.model_fields},
            body=parts[2].strip() + "\n",
            why=sections["Why"],
            how=sections["How in the language"],
            before=tuple(_kernels(sections["Before"])),
            after=tuple(_kernels(sections["After"])),
            pitfalls=tuple(_pitfalls(sections["Pitfalls"])),
        )
    except ValueError as error:  # TOML, pydantic and conditions raise kinds of it, too
        raise EntryError(f"{name}: {error}") from error


def _sections(body: str) -> dict[str, str]:
    """The text below each heading of the second level."""
    found = re.split(r"^## (.+)$", body, flags=re.M)
    titles = tuple(t.strip() for t in found[1::2])
    if titles != SECTIONS:
        raise ValueError(f"the sections are {titles}, not {SECTIONS}")
    return {t: s.strip() for t, s in zip(titles, found[2::2], strict=True)}


def _options(info: str) -> dict[str, str]:
    """``python target=sm_80 build`` as {"target": "sm_80", "build": ""}."""
    pairs = (word.partition("=") for word in info.split()[1:])
    return {key: value for key, _, value in pairs}


def _code(info: str, source: str) -> CodeBlock:
    options = _options(info)
    target = known_target(options.get("target", DEFAULT_TARGET))
    return CodeBlock(source=source, target=target, build="build" in options)


def _kernels(section: str) -> list[CodeBlock]:
    blocks = _FENCE.findall(section)
    return [_code(info, source) for info, source in blocks if info.startswith("python")]


def _pitfalls(section: str) -> list[Pitfall]:
    """Each heading of the third level: words, a ``python`` block, a ``text`` block."""
    parts = re.split(r"^### (.+)$", section, flags=re.M)
    found: list[Pitfall] = []
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        blocks = _FENCE.findall(text)
        kinds = [info.split()[0] for info, _ in blocks]
        if kinds != ["python", "text"]:
            raise ValueError(f"pitfall {title!r} has blocks {kinds}")
        (info, source), (_, shown) = blocks
        options = _options(info)
        if "rule" not in options or "line" not in options:
            raise ValueError(f"pitfall {title!r} names no rule or no line")
        found.append(
            Pitfall(
                title=title.strip(),
                text=_FENCE.sub("", text).strip(),
                code=_code(info, source),
                rule=options["rule"],
                line=int(options["line"]),
                shown=shown,
            )
        )
    return found
