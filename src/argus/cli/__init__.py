"""The command line, `argus`. The top layer: nothing is decided here, only shown.

app.py        the commands
options.py    options that commands share
subjects.py   what FILE or NAME on a command line means
output.py     text for a terminal, or JSON; exit codes
commands.py   what never reached a command: its message, its exit code
streams.py    terminals that cannot show every character
"""

import sys


def main() -> None:
    """Run the command line of this process; does not return."""
    try:
        from argus.cli.app import app
        from argus.cli.streams import ensure, speak

        ensure()
        speak(sys.stdout, sys.stderr)
        app(prog_name="argus")
    except KeyboardInterrupt:  # while modules are imported, before a command begins
        sys.exit(130)


__all__ = ["main"]
