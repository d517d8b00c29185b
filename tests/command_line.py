"""Commands of `argus` in this process; the tree of all commands is made once.

done = Commands().invoke(app, ["check", "gemm"])
"""

from functools import cache
from typing import Any
from unittest.mock import patch

import typer
from typer import testing
from typer.main import get_command


@cache
def _tree(app: typer.Typer) -> Any:
    return get_command(app)


class Commands(testing.CliRunner):
    """Typer's own makes the tree for each command, which takes longer than some do."""

    def invoke(self, app: typer.Typer, *args: Any, **named: Any) -> testing.Result:
        with patch.object(testing, "_get_command", _tree):
            return super().invoke(app, *args, **named)
