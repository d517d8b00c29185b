"""`argus policy show`, `reset`: what the optimiser has learnt on this machine."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from argus.cli.options import JsonOption
from argus.cli.output import Output, reporting

if TYPE_CHECKING:
    from argus.agent.policy import Policy
    from argus.diagnostics import Json

policy = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="What the optimiser has learnt, for all runs to come.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@policy.command(short_help="Preferences, effects, advice.")
def show(
    family: Annotated[
        str,
        typer.Option(
            "--task-family",
            metavar="NAME",
            help="Only of this family of kernels: gemm, attention, softmax, ...",
        ),
    ] = "",
    json_output: JsonOption = False,
) -> None:
    """Show the policy: what paid at which bottleneck, effects of knobs, advice.

    Preferences are shared by all families; effects and advice are a family's own.
    """
    with reporting("policy show", json_output) as out:
        from argus.agent.policy import load, policy_file
        from argus.agent.spaces import SPACES
        from argus.diagnostics import fail

        if family and family not in SPACES:
            raise fail(
                "AG0908",
                None,
                f"there is no family of kernels `{family}`",
                help=f"there are {', '.join(SPACES)}",
            )
        path = policy_file()
        found = load(path)
        out.data["file"] = str(path)
        out.data["runs"] = len(found.runs)
        out.data["family"] = family or None
        _preferences(out, found)
        _effects(out, found, family)
        _advice(out, found, family)
        if not found.runs:
            out.line("Nothing was learnt yet: `argus optimize` teaches it.")
            return
        out.line()
        out.fields([("runs", str(len(found.runs))), ("file", str(path))])


def _preferences(out: Output, found: Policy) -> None:
    """Mean rewards, the best first within each bottleneck."""
    rows: list[tuple[str, float, str, int]] = []
    for key, one in found.preferences.items():
        bottleneck, _, optimisation = key.partition("/")
        rows.append((bottleneck, -one.mean, optimisation, one.count))
    told: list[Json] = []
    at = None
    for bottleneck, less, optimisation, count in sorted(rows):
        if bottleneck != at:
            out.line(f"where {bottleneck} is the bottleneck", style="bold", indent=2)
            at = bottleneck
        trials = "trial" if count == 1 else "trials"
        text = f"  {-less:+6.3f}  {optimisation}, {count} {trials}"
        out.line(text, style="green" if less < 0 else "", indent=10)
        told.append(
            {
                "bottleneck": bottleneck,
                "optimisation": optimisation,
                "reward": -less,
                "trials": count,
            }
        )
    out.data["preferences"] = told


def _effects(out: Output, found: Policy, family: str) -> None:
    """How many effects are known of each form; they are too many to be read."""
    forms: Counter[tuple[str, str]] = Counter()
    places: dict[tuple[str, str], set[str]] = {}
    for key in found.effects:
        of, form, place, _ = key.split("/", 3)
        if family in ("", of):
            forms[of, form] += 1
            places.setdefault((of, form), set()).add(place)
    if forms:
        out.line("effects of knobs", style="bold")
    for (of, form), count in sorted(forms.items()):
        several = len(places[of, form])
        known = "one size" if several == 1 else f"{several} sizes"
        out.line(f"  {of}, form {form}: {count} at {known}", indent=4)
    told: list[Json] = []
    for (of, form), count in sorted(forms.items()):
        sizes: list[Json] = [*sorted(places[of, form])]
        told.append({"family": of, "form": form, "effects": count, "sizes": sizes})
    out.data["effects"] = told


def _advice(out: Output, found: Policy, family: str) -> None:
    told: list[Json] = []
    for key, one in sorted(found.advice.items()):
        of = key.split("/", 1)[0]
        if family not in ("", of):
            continue
        if not told:
            out.line("advice", style="bold")
        out.line(f"  - {one.text}", indent=4)
        told.append({"key": key, "text": one.text, "trials": list(one.trials)})
    out.data["advice"] = told


@policy.command(short_help="Forget everything.")
def reset(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Forget what was learnt. Runs that are kept still tell what they taught."""
    with reporting("policy reset", json_output) as out:
        from argus.agent.policy import forget, policy_file
        from argus.diagnostics import fail

        path = policy_file()
        if not yes:
            if json_output:
                raise fail(
                    "AG0908",
                    None,
                    "with --json nobody can be asked",
                    help="argus policy reset --yes --json",
                )
            if path.exists():
                typer.confirm(f"Forget what is in {path}?", abort=True)
        removed = forget(path)
        out.data["file"] = str(path)
        out.data["removed"] = removed
        word = "Forgotten" if removed else "There was nothing to forget"
        out.line(f"{word}: {path}", indent=2)
