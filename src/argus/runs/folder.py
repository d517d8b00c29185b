"""Where runs and what was learnt from them are kept on this machine."""

from __future__ import annotations

import os
from pathlib import Path


def data_folder() -> Path:
    """``$ARGUS_HOME``, else ``argus`` in the user's data folder (XDG). Not created."""
    home = os.environ.get("ARGUS_HOME", "")
    if home:
        return Path(home).expanduser()
    data = os.environ.get("XDG_DATA_HOME", "")
    return (Path(data) if data else Path.home() / ".local" / "share") / "argus"
