"""Source spans, the catalogue of error codes, and the rendering of diagnostics.

    raise fail("AG0101", span, "there is no name `slots`", help="did you mean `slot`?")

This package knows nothing about kernels: whoever finds a mistake words it.
"""

from argus.diagnostics.bug import bug
from argus.diagnostics.catalogue import (
    CATALOGUE,
    Category,
    Code,
    UnknownCodeError,
    lookup,
)
from argus.diagnostics.diagnostic import Diagnostic, Json, Label, Severity
from argus.diagnostics.errors import (
    ArgusError,
    ArgusWarning,
    ErrorList,
    Reporter,
    diagnostics_json,
    fail,
)
from argus.diagnostics.render import render, render_all
from argus.diagnostics.span import SourceText, Span, register_source, source_text

__all__ = [
    "CATALOGUE",
    "ArgusError",
    "ArgusWarning",
    "Category",
    "Code",
    "Diagnostic",
    "ErrorList",
    "Json",
    "Label",
    "Reporter",
    "Severity",
    "SourceText",
    "Span",
    "UnknownCodeError",
    "bug",
    "diagnostics_json",
    "fail",
    "lookup",
    "register_source",
    "render",
    "render_all",
    "source_text",
]
