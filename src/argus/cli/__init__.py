"""The command line, `argus`. The top layer: nothing is decided here, only shown.

app.py        the commands
options.py    options that commands share
subjects.py   what FILE or NAME on a command line means
output.py     text for a terminal, or JSON; exit codes
"""


def main() -> None:
    """Run the command line of this process; does not return."""
    from argus.cli.app import app

    app(prog_name="argus")


__all__ = ["main"]
