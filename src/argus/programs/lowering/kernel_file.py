"""What every kernel file of a program has: imports, a head, sizes, a reference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from argus.ir.dtypes import DTYPES
from argus.programs.lowering.expression_text import type_name
from argus.programs.lowering.naming import KernelTensor

__all__ = ["KernelSource", "file_text"]


@dataclass(frozen=True)
class KernelSource:
    """A kernel file. ``tensors`` are its parameters in order, the last are outputs.

    ``sizes`` are the numbers of elements of its dimensions, by their names.
    """

    name: str
    text: str
    tensors: tuple[KernelTensor, ...]
    outputs: tuple[str, ...]
    sizes: dict[str, int]

    def renamed(self, name: str) -> KernelSource:
        """The same kernel under another name."""
        declared = rf"^def {re.escape(self.name)}(?=\(|_reference\()"
        text = re.sub(declared, f"def {name}", self.text, flags=re.MULTILINE)
        return replace(self, name=name, text=text)


def file_text(
    name: str,
    title: str,
    tensors: Iterable[str],
    statics: Mapping[str, int],
    sizes: Iterable[str],
    lines: Sequence[str],
    reference: Sequence[str],
    before: Sequence[str] = (),
) -> str:
    """The text of a kernel's file.

    ``tensors`` are its parameters as they are declared, ``sizes`` names of dimensions,
    of which those that its ``lines`` mention are read. ``before`` stands ahead of it.
    """
    parameters = [f"    {t}," for t in tensors]
    body = "\n".join(lines)
    whole = "\n".join([*before, *parameters, body])
    types = sorted(_words(whole).intersection(map(type_name, DTYPES.values())))
    mentioned = _words(body)
    read = [n for n in sizes if n not in statics and n in mentioned]
    return "\n".join(
        [
            f'"""{title}"""',
            "",
            "import argus as ag",
            f"from argus import {', '.join(types)}",
            "",
            "",
            *before,
            "@ag.kernel",
            f"def {name}(",
            *parameters,
            *(["    *,"] if statics else []),
            *(f"    {n}: int = {v}," for n, v in statics.items()),
            "):",
            f'    """{title}"""',
            *(f'    {n} = ag.dim("{n}")' for n in read),
            *lines,
            "",
            "",
            "@ag.reference",
            *reference,
            "",
        ]
    )


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))
