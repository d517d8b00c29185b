"""A place of a role: scalars, what holds there, and what is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from argus.diagnostics import Span
from argus.ir.expr import Expr
from argus.ir.memory import SharedView
from argus.verify.evidence import OperandElement
from argus.verify.tags.compare import Agreement
from argus.verify.tags.findings import Findings, Where
from argus.verify.tags.loops import Env, close
from argus.verify.tags.scope import PathScope
from argus.verify.tags.world import TagWorld

__all__ = ["WalkPlace"]


@dataclass(eq=False)
class WalkPlace:
    """Where a role (or the code of a kernel without roles) is being walked."""

    world: TagWorld
    findings: Findings
    scope: PathScope
    env: Env
    role: str
    threads: int

    def where(self, span: Span, scope: PathScope | None = None) -> Where:
        """This role at a line."""
        return Where(self.role, scope or self.scope, span)

    def report(
        self,
        rule: str,
        claim: str,
        span: Span,
        outcome: Agreement,
        message: str = "",
        label: str = "",
        operands: Sequence[OperandElement] = (),
        thread: int | None = None,
        help: str | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """Record an outcome at a line."""
        self.findings.add(
            rule,
            claim,
            self.where(span),
            outcome,
            message,
            label,
            operands,
            thread,
            help,
            notes,
        )

    def close(self, e: Expr) -> Expr:
        """An expression of the program in closed form."""
        return close(self.world, e, self.env)

    def stage(self, view: SharedView) -> Expr:
        """The stage of a view in closed form."""
        return self.close(view.stage)
