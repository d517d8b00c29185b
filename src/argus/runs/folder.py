"""Where runs and what was learnt from them are kept on this machine."""

from __future__ import annotations

from pathlib import Path

from argus.diagnostics import fail
from argus.files.settings import folder, standard_folder


def data_folder() -> Path:
    """``$ARGUS_HOME``, else ``argus`` in the user's data folder (XDG). Not created.

    Raises ArgusError AG0902 for a user without a home.
    """
    chosen = folder("ARGUS_HOME")
    if chosen is not None:
        return chosen
    usual = standard_folder("XDG_DATA_HOME", ".local", "share")
    if usual is None:
        text = "there is no home folder to keep runs in"
        raise fail("AG0902", None, text, help="set ARGUS_HOME to a folder")
    return usual / "argus"
