"""The commands, one file per group. Heavy imports happen inside the commands."""

import typer

from argus.cli.bench import bench
from argus.cli.build import build
from argus.cli.check import check
from argus.cli.demo import demo
from argus.cli.doctor import doctor
from argus.cli.explain import explain
from argus.cli.export import export
from argus.cli.listing import list_library
from argus.cli.run import run

app = typer.Typer(
    name="argus",
    help="Argus: GPU kernels in tile-level Python, checked before they run.",
    epilog="FILE is a kernel file; NAME is a library kernel of `argus list`.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help: fits any width, and needs no import of rich
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _root() -> None:  # pyright: ignore[reportUnusedFunction]
    """Keep commands named even if there were only one."""


app.command()(check)
app.command()(build)
app.command()(explain)
app.command()(run)
app.command()(bench)
app.command("list")(list_library)
app.command()(doctor)
app.command()(export)
app.command()(demo)
