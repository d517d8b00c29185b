"""`argus doctor`: what is here, and what will therefore not work."""

from argus.cli.options import JsonOption
from argus.cli.output import USAGE, reporting

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def doctor(json_output: JsonOption = False) -> None:
    """Look at this machine: compiler, driver, GPUs, torch, cache.

    Exits with 2 if something that Argus is for cannot work here at all.
    """
    with reporting("doctor", json_output) as out:
        from argus.runtime.environment import facts

        found = facts()
        out.data["facts"] = [
            {
                "name": fact.name,
                "state": fact.state,
                "found": fact.found,
                "consequence": fact.consequence,
            }
            for fact in found
        ]
        left = max(len(fact.name) for fact in found) + 8
        for fact in found:
            head = f"{fact.state:<6}{fact.name:<{left - 6}}"
            out.line(head + fact.found, style=_STYLES[fact.state], indent=left)
            if fact.consequence is not None:
                out.line(" " * left + fact.consequence, indent=left)
        if any(fact.state == "fail" for fact in found):
            out.fail(USAGE)
