"""`argus test`: a file's kernels against their references, on drawn inputs.

On a GPU if there is one, else in the interpreter. Nothing is timed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from argus.cli.options import (
    DtypeOption,
    JsonOption,
    KernelOption,
    SetOption,
    SizeOption,
    TargetOption,
)
from argus.cli.output import USAGE, Output, reporting
from argus.cli.places import chosen_place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from argus.cli.subjects import CommandSubject
    from argus.diagnostics import Json
    from argus.evaluation.equal.refuting import Tried
    from argus.evaluation.testing.tested import TestedRow
    from argus.requests import Request

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="A kernel file; its references are executed as Python."
    ),
]


def test(
    file: File,
    kernel: KernelOption = None,
    sizes: SizeOption = None,
    dtypes: DtypeOption = None,
    seeds: Annotated[
        int, typer.Option("--seeds", metavar="N", min=1, help="Inputs of each size.")
    ] = 2,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The first one.")] = 0,
    settings: SetOption = None,
    target: TargetOption = None,
    interpret: Annotated[
        bool, typer.Option("--interpret", help="Use the interpreter even with a GPU.")
    ] = False,
    no_proof: Annotated[
        bool, typer.Option("--no-proof", help="Launch what is not proved, too.")
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Compare each kernel of a file with its `@ag.reference`.

    The reference is Python of yours, and is executed; kernels are not. Tried are small
    sizes, sizes that are no multiples of the tiles, sizes at which conditions turn out
    otherwise, all element types of the signature, and several seeds. Each result may be
    off by the rounding of its types. Exits with 1 where something is wrong,
    and with 2 where a kernel has no reference: -k chooses one that has.
    """
    with reporting("test", json_output) as out:
        from argus.cli.given_values import parse_sizes
        from argus.cli.subjects import SubjectOptions, file_subjects
        from argus.equivalence.references import reference_of
        from argus.evaluation.testing.tested import no_reference

        selection = SubjectOptions(
            target, kernel, None, settings or (), dtypes or (), sizes or ()
        )
        where, on_device = chosen_place(out, target, interpret)
        command = _Tests(
            out,
            parse_sizes(selection.sizes),
            range(seed, seed + seeds),
            where,
            on_device,
            no_proof,
        )
        subjects = file_subjects(file, selection)
        known = [s for s in subjects if reference_of(s.request.kernel) is not None]
        out.data["kernels"] = [command.kernel(s) for s in known]
        # What was not compared does not pass.
        missing = [s.request.kernel for s in subjects if s not in known]
        out.show(d for k in missing for d in no_reference(k).diagnostics)
        if missing:
            out.fail(USAGE)


class _Tests:
    """Tests kernels one after another, and says what came of it."""

    def __init__(
        self,
        out: Output,
        sizes: dict[str, int],
        seeds: range,
        where: str,
        on_device: bool,
        no_proof: bool,
    ) -> None:
        self.out = out
        self.sizes = sizes
        self.seeds = seeds
        self.where = where
        self.on_device = on_device
        self.no_proof = no_proof

    def kernel(self, subject: CommandSubject) -> Json:
        """Test one kernel. Raises ArgusError, see `evaluation.testing.tested`."""
        from argus.cli.waiting import doing
        from argus.evaluation.memory import in_words
        from argus.evaluation.testing.tested import tested

        assert subject.space is not None  # of a file
        name = subject.request.kernel.name
        with doing(self.out, f"choosing sizes for {name}"):
            made = tested(
                subject.request,
                subject.space,
                self.sizes,
                subject.scalars,
                seeds=self.seeds,
                on_device=self.on_device,
                first=self._prove,
            )
        self.out.line(
            f"{name} and `{made.reference}` in {self.where}: seeds "
            f"{', '.join(map(str, self.seeds))}; up to {in_words(made.bytes)}",
            style="bold",
            indent=2,
        )
        self.out.line(f"  {'':<8}{'error':>8}{'of tol.':>9}  sizes", indent=4)
        rows: list[TestedRow] = []
        left = iter(made.rows)
        while True:
            with doing(self.out, f"running {name}"):
                row = next(left, None)
            if row is None:
                break
            if not rows or rows[-1].form != row.form:
                types = ", ".join(f"{n} {d.name}" for n, d in row.form.items())
                self.out.line(f"  {types}", indent=4)
            told = any(
                (r.form, r.outcome.why) == (row.form, row.outcome.why)
                for r in rows
                if r.outcome.word == row.outcome.word == "refused"
            )
            rows.append(row)
            if not told:
                self._row(row)
        self._sum(name, rows, made.tried, made.larger)
        return {
            "kernel": name,
            "reference": made.reference,
            "ok": not self._bad(rows, made.tried),
            "bytes": made.bytes,
            "seeds": list(self.seeds),
            "rows": [_row_json(row) for row in rows],
            "left_out": made.larger,
            "conditions_not_shown": list(made.tried.missed),
            "witness": None if made.tried.witness is None else _witness(made.tried),
        }

    def _prove(self, request: Request) -> None:
        """A GPU runs nothing that is refuted; the interpreter may."""
        from argus.cli.proving import proved_first

        if self.on_device:
            proved_first(self.out, request, request.kernel.name, self.no_proof)

    @staticmethod
    def _bad(rows: list[TestedRow], tried: Tried) -> bool:
        words = {row.outcome.word for row in rows}
        return tried.witness is not None or "wrong" in words or "right" not in words

    # -------------------------------------------------------------------- telling

    def _row(self, row: TestedRow) -> None:
        from argus.cli.run import show_mistakes

        made = row.outcome
        sizes = _in_words(row.sizes)
        numbers = f"{made.error:>8.1e}{made.relative:>9.2g}"
        if made.word in ("refused", "unclear"):
            numbers = f"{'-':>8}{'-':>9}"
        tail = f" (seed {row.seed})" if made.word == "wrong" else ""
        style = {"right": "", "wrong": "bold red"}.get(made.word, "yellow")
        self.out.line(
            f"  {made.word:<8}{numbers}  {sizes or 'any sizes'}{tail}",
            style=style,
            indent=29,
        )
        show_mistakes(self.out, made.why)

    def _sum(self, name: str, rows: list[TestedRow], tried: Tried, larger: int) -> None:
        from argus.diagnostics import Diagnostic

        counts = {
            word: sum(r.outcome.word == word for r in rows)
            for word in ("right", "wrong", "refused", "unclear")
        }
        if larger:
            self.out.line(
                f"  {larger} sizes are too large for the interpreter, and were looked "
                "at in exact arithmetic only",
                indent=4,
            )
        if tried.missed:
            self.out.line(
                f"  {len(tried.missed)} conditions of the kernel never turned out in "
                "some way that they may (--json lists them)",
                indent=4,
            )
        if self._bad(rows, tried):
            self.out.fail()
        wrong = next((r for r in rows if r.outcome.word == "wrong"), None)
        notes: list[str] = []
        if wrong is not None:
            sizes = _in_words(wrong.sizes)
            notes.append(f"first at {sizes}, seed {wrong.seed}: {wrong.outcome.why[0]}")
        if tried.witness is not None:
            at = _in_words(tried.witness.sizes)
            notes.append(f"in exact arithmetic, at {at}: {tried.witness.message}")
        if notes:
            self.out.show(
                [
                    Diagnostic(
                        "AG0815",
                        f"`{name}` is not its reference",
                        None,
                        notes=tuple(notes),
                    )
                ],
                error=False,
            )
        said = ", ".join(f"{n} {word}" for word, n in counts.items() if n)
        if not counts["right"] and not notes:
            said += ": nothing was compared"
        self.out.line(f"  {said}", style="bold red" if self.out.code else "green")


def _in_words(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{d}={n}" for d, n in _named(sizes).items())


def _named(sizes: Mapping[str, int]) -> dict[str, int]:
    from argus.equivalence.sizes import named_sizes

    return named_sizes(sizes)


def _row_json(row: TestedRow) -> Json:
    made = row.outcome
    return {
        "verdict": made.word,
        "sizes": dict(_named(row.sizes)),
        "types": {n: d.name for n, d in row.form.items()},
        "seed": row.seed,
        "error": made.error,
        "tolerance": made.tolerance,
        "why": list(made.why),
    }


def _witness(tried: Tried) -> Json:
    found = tried.witness
    assert found is not None
    return {
        "sizes": dict(_named(found.sizes)),
        "element": found.element,
        "message": found.message,
    }
