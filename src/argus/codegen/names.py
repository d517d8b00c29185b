"""C++ identifiers: near the author's names, and never those of anything else.

What an author calls things is not text of the printer. It is printed as a mark, which
neither the printer nor C++ can spell; when the whole kernel is there, each mark gets an
identifier that the kernel's own text does not mention:

    float acc[4]; acc[r] = x[r];      the author's `acc` and `x`, the printer's `r`
    float r_2[4]; r_2[r] = x[r];      the author's is called `r`, too

So there is no list of the printer's own names that could lack one. What the compiler
has without the kernel mentioning it are keywords, which the language lists, macros,
which :func:`_may_be_macro` knows by their shape, and functions of its headers, which
may not share the kernel's own name, and do not: it ends in `_kernel`.
"""

from __future__ import annotations

import re
import unicodedata

MARK = re.compile("\N{MATHEMATICAL LEFT ANGLE BRACKET}([0-9]+)"
                  "\N{MATHEMATICAL RIGHT ANGLE BRACKET}")  # fmt: skip
"""A name in printed text that has no identifier yet."""

LONGEST = 64
"""Characters that an identifier keeps of a name."""

_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*", re.ASCII)
_LITERAL = re.compile(r'"[^"]*"')

# C++23 [lex.key] with its alternative spellings and contextual ones, and GNU's typeof.
_KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t
    char16_t char32_t class co_await co_return co_yield compl concept const const_cast
    consteval constexpr constinit continue decltype default delete do double
    dynamic_cast else enum explicit export extern false final float for friend goto if
    import inline int long module mutable namespace new noexcept not not_eq nullptr
    operator or or_eq override private protected public register reinterpret_cast
    requires restrict return short signed sizeof static static_assert static_cast struct
    switch template this thread_local throw true try typedef typeid typename typeof
    union unsigned using virtual void volatile wchar_t while xor xor_eq
    """.split()  # noqa: SIM905
)
# Object-like macros of C++, POSIX and GNU that look like a variable.
_MACROS = frozenset(
    "errno linux math_errhandling sched_priority stderr stdin stdout unix".split()  # noqa: SIM905
)


def words(code: str) -> set[str]:
    """Identifiers that a piece of C++ without comments mentions.

    Not members of structures, nor what stands in texts.
    """
    return set(_WORD.findall(_LITERAL.sub("", code)))


def _may_be_macro(name: str) -> bool:
    """Whether a header may define ``name``: no macro ends in a single `_`.

    Macros begin with two capitals or have nothing else, or are CUDA's (`cudaSuccess`),
    or constants of the C library with a suffix (`M_PIf`, `L_tmpnam`), or a few words.
    """
    return (
        (len(name) > 1 and not re.search("[a-z]", name))
        or bool(re.match("[A-Z]{2}|cu[A-Z]|cuda|[LMP]_", name))
        or name in _MACROS
    )


def _variable(name: str) -> str:
    return f"{name}_" if _may_be_macro(name) else name


def _readable(wanted: str) -> str:
    """The part of a name that C++ takes: ASCII, no `__`, no digit in front."""
    plain = unicodedata.normalize("NFKD", wanted)
    ascii_only = "".join(c for c in plain if not unicodedata.combining(c))
    base = re.sub(r"[\W_]+", "_", ascii_only, flags=re.ASCII)[:LONGEST].strip("_")
    # Names such as argus_mma, 2d, v0 and i1b belong to the printer, or to nobody.
    return f"t_{base}" if re.match(r"argus_|\d|[iv]\d+b?$", base) else base or "t"


class Identifiers:
    """Gives out marks, and later identifiers; the first to ask gets a name bare."""

    def __init__(self) -> None:
        self._wanted: list[str] = []
        self._spelled: list[str] = []
        self._texts: dict[int, str] = {}

    def unique(self, wanted: str, *, prefix: str = "", suffix: str = "") -> str:
        """The mark of a new name, to be spelled like ``wanted`` where that is free.

        ``wanted`` is anything: an author's name, also with marks of others in it. It
        gets the prefix and the suffix whatever it is.
        """
        known = dict(enumerate(self._wanted))
        base = MARK.sub(lambda mark: known.get(int(mark[1]), ""), wanted)
        self._wanted.append(f"{prefix}{_readable(base)}{suffix}")
        n = len(known)
        return (
            "\N{MATHEMATICAL LEFT ANGLE BRACKET}"
            f"{n}\N{MATHEMATICAL RIGHT ANGLE BRACKET}"
        )

    def verbatim(self, text: str) -> str:
        """A mark that is spelled as ``text``, which is no name: a literal."""
        mark = self.unique("")
        self._texts[len(self._wanted) - 1] = text
        return mark

    def settle(self, code: str) -> None:
        """Choose identifiers; ``code`` is the text of the printer, with the marks."""
        taken = words(MARK.sub(" ", code)) | _KEYWORDS
        self._spelled = []
        for place, wanted in enumerate(self._wanted):
            if place in self._texts:
                self._spelled.append(self._texts[place])
                continue
            name, number = _variable(wanted), 2
            while name in taken:
                name, number = _variable(f"{wanted}_{number}"), number + 1
            taken.add(name)
            self._spelled.append(name)

    def spell(self, text: str) -> str:
        """``text`` with an identifier for each mark."""
        return MARK.sub(lambda mark: self._spelled[int(mark[1])], text)
