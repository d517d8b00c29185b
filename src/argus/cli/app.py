"""The commands, one file per group. Heavy imports happen inside the commands."""

from typing import Annotated

import typer

from argus.cli.bench import bench
from argus.cli.build import build
from argus.cli.check import check
from argus.cli.commands import Commands
from argus.cli.demo import demo
from argus.cli.doctor import doctor
from argus.cli.equal import equal
from argus.cli.explain import explain
from argus.cli.export import export
from argus.cli.listing import list_library
from argus.cli.mcp import mcp
from argus.cli.optimize import optimize
from argus.cli.output import settings
from argus.cli.plan import plan
from argus.cli.policy import policy
from argus.cli.report import report
from argus.cli.run import run
from argus.cli.runs import runs
from argus.cli.session import session
from argus.cli.test import test

app = typer.Typer(
    name="argus",
    cls=Commands,
    help="Argus: GPU kernels in tile-level Python, checked before they run.",
    epilog="FILE is a kernel file; NAME is a library kernel of `argus list`.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help: fits any width, and needs no import of rich
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from argus import __version__

        typer.echo(f"argus {__version__}")
        raise typer.Exit()


@app.callback()
def _root(  # pyright: ignore[reportUnusedFunction]
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of a bug in Argus.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version, and nothing else.",
            callback=_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Options of all commands."""
    settings.debug = debug


# Short enough for a terminal of 60 columns.
app.command(short_help="Prove a kernel, or refute it.")(check)
app.command(short_help="Show that two kernels are equal.")(equal)
app.command(short_help="Compile to machine code.")(build)
app.command(short_help="Print a kernel at some stage.")(explain)
app.command(short_help="Run, and compare with the reference.")(run)
app.command(short_help="Compare a file with its references.")(test)
app.command(short_help="Time beside baselines (GPU).")(bench)
app.command("list", short_help="List library kernels and cases.")(list_library)
app.command(short_help="Say what works on this machine.")(doctor)
app.command(short_help="Write a standalone .cu for nvcc.")(export)
app.command(short_help="Show the compiler at work.")(demo)
app.command(short_help="Show the kernels of a PyTorch file.")(plan)
app.command(short_help="Find a faster kernel for a task.")(optimize)
app.add_typer(session, name="session", short_help="A coding agent writes kernels.")
app.command(short_help="Write a run as an HTML page.")(report)
app.command(short_help="Serve `session` as tools (MCP).")(mcp)
app.add_typer(policy, name="policy", short_help="What was learnt for all runs.")
app.add_typer(runs, name="runs", short_help="Runs of the optimiser, kept for good.")
