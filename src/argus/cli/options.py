"""Options and arguments that several commands share, with their help."""

from typing import Annotated

import typer

from argus.targets import DEFAULT_TARGET, TARGETS

_OTHERS = ", ".join(name for name in TARGETS if name != DEFAULT_TARGET)

Source = Annotated[
    str,
    typer.Argument(
        metavar="FILE|NAME",
        help="A kernel file (parsed, never executed), or a library kernel.",
    ),
]
TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target", metavar="ARCH", help=f"{DEFAULT_TARGET} (default) or {_OTHERS}."
    ),
]
KernelOption = Annotated[
    str | None,
    typer.Option("--kernel", "-k", metavar="K", help="Only this kernel of the file."),
]
CaseOption = Annotated[
    str | None,
    typer.Option(
        "--case", "-c", metavar="CASE", help="Number or name, see `argus list NAME`."
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A static parameter, such as BM=64, or a scalar of a file's kernel.",
    ),
]
DtypeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--dtype",
        metavar="NAME=TYPE",
        help="Element type of a tensor, such as A=f16; makes an optional one present.",
    ),
]
SizeOption = Annotated[
    list[str] | None,
    typer.Option("--size", metavar="DIM=N", help="Size of a dimension, such as M=64."),
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Of the random inputs.")]
JsonOption = Annotated[
    bool, typer.Option("--json", help="One JSON object on stdout, and nothing else.")
]
ShapeOption = Annotated[
    str | None,
    typer.Option("--shape", metavar="AxBxC", help="All sizes, in their order."),
]
WordOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="WORD", help="Of a library kernel: bias, causal, ..."
    ),
]
TrialsOption = Annotated[
    int | None,
    typer.Option("--trials", min=1, help="Trials; 60 with a GPU, 24 without."),
]
MinutesOption = Annotated[float | None, typer.Option("--minutes", min=0.0)]
GpuSecondsOption = Annotated[float | None, typer.Option("--gpu-seconds", min=0.0)]
TokensOption = Annotated[int | None, typer.Option("--tokens", min=0)]
UsdOption = Annotated[float | None, typer.Option("--usd", min=0.0)]
ColdOption = Annotated[
    bool, typer.Option("--cold", help="Neither use nor change what was learnt.")
]
