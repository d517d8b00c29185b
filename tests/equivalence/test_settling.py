"""Equality decides what rules on data flow cannot: and only where it may."""

from __future__ import annotations

from dataclasses import replace

import pytest

from argus.compiler import prove, require_right
from argus.diagnostics import ArgusWarning, Span
from argus.diagnostics.errors import ErrorList
from argus.equivalence import denoted, settling
from argus.equivalence.deciding import Decided
from argus.equivalence.programs import KnownPrograms
from argus.evaluation.proving import proved_all
from argus.evaluation.requests import default_dtypes
from argus.ir.program import Program
from argus.lang.kernel import Kernel, load_kernels
from argus.requests import Request, placed_program, tile_program
from argus.terms import World
from argus.verify import tags
from argus.verify.denotation import Denotation, denote
from argus.verify.refinement import Gap
from argus.verify.render.data import report_json, report_of
from argus.verify.tags import ProgramScope
from argus.verify.verdict import Obligation, Verdict
from argus.verify.verifier import verify

HEAD = "import argus as ag\nfrom argus import f32\n\n\n"
ADDED = """@ag.kernel
def k(X: f32["B C P"], S: f32["C"], *, BC: int = 16, BP: int = 64):
    B, C, P = X.shape
    b, j, p = ag.block(B, ag.cdiv(C, BC), ag.cdiv(P, BP))
    ag.atomic_add(S[j * BC :], ag.sum(ag.load(X[b, j * BC :, p * BP :], (BC, BP)), "P"))


@ag.reference
def ref(X, S):
    return S + X.sum((0, 2))
"""
"""Sums over two dimensions, of which blocks add parts: rules call that adding twice."""
WINDOW = """@ag.kernel
def k(X: f32["M N"], Y: f32["M"], *, BN: int = 32):
    M, N = X.shape
    m = ag.block(M)
    total = ag.zeros((1,), f32, dims="M")
    for n in ag.range(BN, N, BN):
        total = total + ag.sum(ag.load(X[m : m + 1, n:], (1, BN)), "N")
    Y[m : m + 1] = total


@ag.reference
def ref(X):
    return X[:, FIRST:].sum(1)
"""
"""A sum without its first tile, as its reference has it (or not)."""
STATED = """@ag.kernel
def k(X: f32["N"], Y: f32["N"]):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, 256))
    x = ag.load(X[i * 256 :], (256,))
    ag.check(lambda e: e.N REL N, x)
    Y[i * 256 :] = x + 1.0


@ag.reference
def ref(X):
    return X + 1
"""
"""A kernel whose author states something of its elements."""


def request_of(text: str, **statics: object) -> Request:
    """The specialisation of the only kernel of a text with its default types."""
    kernel = kernel_of(text)
    return Request(kernel, default_dtypes(kernel, {}), statics)


def kernel_of(text: str) -> Kernel:
    (kernel,) = load_kernels("made.py", HEAD + text).kernels.values()
    return kernel


def rules(request: Request) -> set[str]:
    """Rules that are not proved, of what binds."""
    found = prove(request, fresh=True).report.obligations
    return {o.rule for o in found if o.verdict < Verdict.PROVED and not o.slow}


def test_a_launch_takes_what_equality_settles():
    request = request_of(ADDED)
    report = prove(request, fresh=True).report
    assert report.verdict is Verdict.EQUAL
    require_right(request)


def test_names_are_not_asked_where_terms_have_decided(monkeypatch: pytest.MonkeyPatch):
    asked: list[ProgramScope] = []

    def named(known: ProgramScope) -> list[Obligation]:
        asked.append(known)
        return []

    monkeypatch.setattr(tags, "named", named)
    report = prove(request_of(ADDED), fresh=True).report
    assert not asked
    assert settling.SETTLED.isdisjoint(o.rule for o in report.obligations)
    prove(request_of(ADDED.replace("S + X", "S + 2 * X")), fresh=True)
    assert len(asked) == 1


@pytest.mark.parametrize("relation", ["<", ">="])
def test_what_the_author_states_is_asked_of_an_equal_kernel(relation: str):
    report = prove(request_of(STATED.replace("REL", relation)), fresh=True).report
    found = {o.rule: o.verdict for o in report.obligations}
    stated = Verdict.PROVED if relation == "<" else Verdict.REFUTED
    assert found["AG0314"] is stated
    assert report.verdict is stated


def test_names_are_asked_where_something_else_is_open():
    known, request = KnownPrograms(), request_of(ADDED)
    equal = settling.terms_first(request, known)
    assert equal is not None
    assert equal([]) is not None
    for rule in ("AG0311", "AG0320", "AG0401"):
        claim, at = "something holds", Span("made.py", 1, 1, 1, 2)
        assert equal([Obligation(rule, claim, at, Verdict.UNKNOWN, "none")]) is None


def test_without_its_reference_its_terms_are_asked():
    text, _ = ADDED.split("@ag.reference")
    report = prove(request_of(text), fresh=True).report
    assert report.verdict is Verdict.PROVED
    assert {o.rule for o in report.settled} == {"AG0309"}


def test_another_result_is_not_settled():
    request = request_of(ADDED.replace("S + X", "S + 2 * X"))
    assert rules(request) == {"AG0309"}
    with pytest.raises(ErrorList):
        require_right(request)


def test_names_alone_refuse_no_launch_where_terms_gave_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A right kernel was refused on a machine on which comparing took too long."""

    def slow(*_: object, **__: object) -> Decided:
        return Decided(None, "comparing takes more than 20 s of CPU time")

    monkeypatch.setattr(settling, "decided", slow)
    request = request_of(ADDED)
    report = prove(request, fresh=True).report
    assert report.verdict is Verdict.REFUTED
    assert settling.is_doubted(report)
    with pytest.warns(ArgusWarning, match="AG0390.*comparing takes more than 20 s"):
        require_right(request)


@pytest.mark.parametrize("first", ["32", "0"])
def test_a_sum_that_leaves_out_a_tile_is_right_if_the_reference_does(first: str):
    kernel = kernel_of(WINDOW.replace("FIRST", first))
    report = proved_all(kernel, {}, "sm_90a", fresh=True).report
    if first == "32":
        assert report.verdict is Verdict.EQUAL
    else:
        assert report.verdict is Verdict.REFUTED
        assert "AG0322" in {o.rule for o in report.obligations}


def test_nothing_is_settled_where_placing_is_not_shown_to_be_right(
    monkeypatch: pytest.MonkeyPatch,
):
    gap = Gap(Span("made.py", 1, 1, 1, 2), "an element has no bytes")
    monkeypatch.setattr(settling, "gaps", lambda *_: (gap,))
    assert rules(request_of(ADDED)) == {"AG0309"}


def test_nothing_is_settled_where_the_order_is_open():
    request = request_of(ADDED)
    report = verify(placed_program(request))
    (rule,) = settling.asked(report)
    settled_ = settling.settled(report, request)
    assert settled_.verdict is Verdict.EQUAL
    assert settled_.settled == (rule,)
    for premise in ("AG0311", "AG0401"):
        other = replace(rule, rule=premise, verdict=Verdict.UNKNOWN)
        both = replace(report, obligations=(rule, other), settled=(), equality=None)
        assert settling.settled(both, request) is both
    without = replace(report, obligations=(rule,), settled=(), seconds={"tags": 0.1})
    assert settling.settled(without, request) is without


def test_a_report_keeps_what_was_settled():
    report = prove(request_of(ADDED), fresh=True).report
    assert report_of(report_json(report)) == report


FORGOTTEN = """@ag.kernel
def k(X: f32["N"], Y: f32["N"], Z: f32["N"]):
    N = X.shape[0]
    i = ag.block(ag.cdiv(N, 256))
    x = ag.load(X[i * 256 :], (256,))
    Y[i * 256 :] = x + 1.0
    ag.store(Z[i * 256 :], x * 2.0)


@ag.reference
def ref(X):
    return X + 1, X * 2
"""
"""Two outputs, of which a change forgets one."""


def test_a_result_that_is_not_written_is_not_equal():
    store = "    ag.store(Z[i * 256 :], x * 2.0)\n"
    assert store in FORGOTTEN
    whole, part = (
        proved_all(kernel_of(text), {}, "sm_90a", fresh=True).report
        for text in (FORGOTTEN, FORGOTTEN.replace(store, ""))
    )
    assert whole.verdict is Verdict.EQUAL
    assert part.verdict is not Verdict.EQUAL
    assert part.equality is not None
    assert "2 results, and the kernel writes 1" in part.equality.reason


def test_terms_are_made_once_for_all_that_is_asked_of_them(
    monkeypatch: pytest.MonkeyPatch,
):
    made: list[str] = []

    def counted(program: Program, world: World) -> Denotation:
        made.append(program.name)
        return denote(program, world)

    monkeypatch.setattr(denoted, "denote", counted)
    kernel = kernel_of(ADDED)
    report = proved_all(kernel, {}, "sm_90a", fresh=True).report
    assert report.verdict is Verdict.EQUAL
    assert made == ["k"]


def test_what_a_question_teaches_the_world_is_forgotten():
    program = tile_program(request_of(ADDED))
    terms = denoted.Denoted(program)
    with terms.asked() as denotation:
        world = denotation.world
        size = world.size("B")
        world.require(world.compare(size, ">=", 7), "a reference needs it")
        world.convention("only here")
        assert world.is_empty(world.compare(size, "<", 7))
    with terms.asked() as denotation:
        world = denotation.world
        assert not world.is_empty(world.compare(world.size("B"), "<", 7))
        assert "only here" not in world.conventions
