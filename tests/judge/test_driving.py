"""Blocks on whole tiles: the same numbers as threads, any size, and what was seen."""

from __future__ import annotations

import math
from ast import literal_eval
from collections.abc import Collection
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from argus.agent.spaces import SPACES
from argus.agent.tasks.file import file_task
from argus.evaluation.arrays import NumpyArrays
from argus.evaluation.drawing import constants, specials
from argus.evaluation.judge.agreeing import least_tolerance
from argus.evaluation.judge.candidate import environment, request_of
from argus.evaluation.judge.drawing import LARGE as LARGE_MODE
from argus.evaluation.judge.drawing import MODES, drawn
from argus.evaluation.judge.driving import driven
from argus.evaluation.judge.elsewhere import VariedPrograms
from argus.evaluation.judge.knobs import settled
from argus.evaluation.judge.settings import unbounded
from argus.evaluation.judge.subject import Subject, own_request, subject_of
from argus.evaluation.oracle import make_inputs
from argus.evaluation.tiles import (
    Facet,
    Facets,
    IndexTable,
    Written,
    places,
    run_blocks,
    writers,
)
from argus.evaluation.tiles.tensors import TABLE, Drawn
from argus.interpret import run
from argus.interpret.numbers import compute
from argus.ir.dtypes import DTYPES
from argus.ir.expr import evaluate
from argus.ir.program import SM_COUNT, Program, ScalarParam
from argus.kernels.library import LIBRARY, Case
from argus.kernels.space import Design
from argus.requests import placed_program, tile_program
from argus.runs.records import Candidate, FileProblem, LibraryProblem
from few import EVERY
from judge.cheats import CHEATS, PROBLEMS
from judge.problems import AFFINE, LARGE, TASK

SIZES: dict[str, tuple[dict[str, int], dict[str, object]]] = {
    "gemm": ({"M": 150, "N": 264, "K": 136}, {}),
    "gemm_sm80": ({"M": 70, "N": 72, "K": 100}, {"bias": True, "relu": True}),
    "softmax": ({"M": 3, "N": 1000}, {}),
    "rmsnorm": ({"M": 3, "N": 1000}, {}),
    "layernorm": ({"M": 3, "N": 1000}, {}),
    "attention": (
        {"B": 1, "H": 2, "G": 1, "S": 130, "T": 200, "D": 64},
        {"causal": True},
    ),
    "scaled_gemm": ({"M": 150, "N": 128, "K": 128}, {}),
    "integer_gemm": ({"M": 150, "N": 144, "K": 80}, {}),
    "integer_gemm_sm80": ({"M": 70, "N": 75, "K": 80}, {}),
    "tf32_gemm": ({"M": 150, "N": 136, "K": 76}, {"bias": True}),
    "tf32_gemm_sm80": ({"M": 70, "N": 75, "K": 77}, {}),
    "gemm_to_f32": ({"M": 130, "N": 70, "K": 200}, {}),
    "softmax_backward": ({"M": 3, "N": 1000}, {}),
    "cross_entropy": ({"M": 3, "N": 1000}, {}),
    "cross_entropy_backward": ({"M": 3, "N": 1000}, {}),
    "rotary": ({"B": 2, "S": 5, "H": 3, "D": 64}, {}),
    "add_rmsnorm": ({"M": 3, "N": 1000}, {}),
    "add_layernorm": ({"M": 3, "N": 1000}, {}),
    "quantised_rmsnorm": ({"M": 3, "N": 1000}, {}),
    "swiglu": ({"M": 150, "N": 136, "K": 72}, {}),
    "int4_few": ({"M": 5, "N": 40, "K": 384}, {"zeros": True}),
    "int8_small": ({"M": 5, "N": 40, "K": 544}, {"bias": True}),
    "int4_small": ({"M": 70, "N": 72, "K": 256}, {"bias": True}),
    "mxfp4_few": ({"M": 5, "N": 40, "K": 352}, {}),
    "mxfp4_small": ({"M": 70, "N": 72, "K": 160}, {"bias": True}),
    "masked_attention": (
        {"B": 1, "H": 2, "G": 1, "S": 130, "T": 200, "D": 64},
        {"sinks": True},
    ),
    "varlen_attention": (
        {"B": 5, "H": 2, "G": 1, "S": 130, "T": 150, "D": 64},
        {"sinks": True},
    ),
    "paged_attention": (
        {"B": 3, "G": 2, "R": 5, "M": 3, "D": 64, "P": 2},
        {"sinks": True},
    ),
    "length_attention": ({"B": 3, "G": 2, "R": 5, "T": 100, "D": 64, "P": 2}, {}),
    "paged_merge": ({"B": 3, "G": 2, "R": 5, "T": 500, "D": 64, "P": 3}, {}),
    "attention_training": (
        {"B": 1, "H": 2, "G": 1, "S": 130, "T": 150, "D": 64},
        {"causal": True},
    ),
    "attention_backward_sums": (
        {"B": 1, "H": 2, "G": 1, "S": 130, "T": 150, "D": 64},
        {},
    ),
    "attention_backward_keys": (
        {"B": 1, "H": 2, "G": 1, "S": 130, "T": 150, "D": 64},
        {"causal": True},
    ),
    "attention_backward_queries": (
        {"B": 1, "H": 2, "G": 1, "S": 130, "T": 150, "D": 64},
        {},
    ),
    "moe_route": ({"T": 37, "E": 5, "D": 64}, {"sigmoid": True}),
    "moe_place": ({"T": 37, "E": 5, "D": 64}, {"BM": 64}),
    "moe_rows": ({"T": 37, "E": 5, "D": 64}, {}),
    "moe_sum": ({"T": 37, "E": 5, "D": 300}, {"residual": True}),
    "moe_up": ({"E": 3, "C": 3, "N": 136, "K": 72, "R": 90}, {}),
    "moe_down": ({"E": 3, "C": 3, "N": 136, "K": 72, "R": 90}, {}),
    "moe_quantise": ({"T": 37, "B": 3}, {}),
    "moe_up_eights": ({"E": 3, "C": 3, "N": 128, "K": 256, "R": 90}, {}),
    "moe_down_eights": (
        {"E": 3, "C": 3, "N": 128, "K": 256, "R": 90},
        {"each": True},
    ),
    "grouped": ({"E": 3, "P": 150, "N": 136, "K": 72}, {"gather": True, "R": 90}),
}


ALIKE = (
    *("rmsnorm", "add_layernorm", "softmax_backward", "cross_entropy_backward"),
    *("scaled_gemm", "integer_gemm", "tf32_gemm", "integer_gemm_sm80", "gemm_to_f32"),
    *("tf32_gemm_sm80", "int4_few", "int8_small", "int4_small", "mxfp4_small"),
    *("masked_attention", "attention_training", "moe_up_eights", "moe_down"),
    *("length_attention", "attention_backward_sums", "attention_backward_queries"),
)
"""What these are made of, others are, too: they are tried before a release."""


@pytest.mark.parametrize("name", [n for n in LIBRARY if EVERY or n not in ALIKE])
def test_tiles_are_what_threads_compute(name: str) -> None:
    sizes, options = SIZES[name]
    target = LIBRARY[name].targets[0]
    problem = LibraryProblem(
        entry=name,
        sizes={**sizes, **({"R": 90} if name == "grouped" else {})},
        options={k: v for k, v in options.items() if k != "R"},  # type: ignore[misc]
        target=target,
    )
    subject = subject_of(problem)
    request = own_request(subject)
    inputs = make_inputs(subject.entry, subject.case, NumpyArrays(3))
    program = tile_program(request)
    types = {a.name: a.dtype for a in inputs.arguments}
    tensors = {n: IndexTable(a.copy(), types[n]) for n, a in inputs.arrays.items()}
    outputs: dict[str, Written] = {}
    for n in subject.outputs:
        shape = inputs.arrays[n].shape
        outputs[n] = Written(shape, types[n], np.zeros(TABLE, np.float32), 0)
    env = {**environment(program, inputs.arguments, subject), SM_COUNT.name: 4}
    grid = int(evaluate(program.grid, env))
    run_blocks(program, {**tensors, **outputs}, env, range(grid))
    scalars = dict(subject.scalars)
    run(placed_program(request), inputs.arrays, scalars).check()
    for n, output in outputs.items():
        at, values = output.written()
        right = compute(inputs.arrays[n], types[n]).reshape(-1)
        # What tiles do not write, threads leave as it was.
        least = np.iinfo(right.dtype).min if right.dtype.kind == "i" else np.nan
        assert (np.delete(right, at) == least).all()
        right = right[at]
        assert np.linalg.norm(values - right) <= 4e-3 * np.linalg.norm(right)


def test_tensors_need_not_exist() -> None:
    table = np.arange(TABLE, dtype=np.float32)
    whole = Drawn((1 << 24, 1 << 24), DTYPES["f32"], table, 7)
    at = np.array([0, 1, (1 << 48) - 1, 1, 1 << 32], np.int64)
    values = whole.read(at)
    assert values[1] == values[3]
    assert len(set(values.tolist())) >= 3
    out = Written(whole.shape, whole.dtype, table, 8)
    before = out.read(at)
    out.write(at[2:3], np.float32([5.0]))
    out.write(at[2:3], np.float32([6.0]))
    assert out.read(at).tolist() == [*before[:2], 6.0, *before[3:]]
    assert [a.tolist() for a in out.written()] == [[(1 << 48) - 1], [6.0]]


def _cheat(why: str) -> tuple[Subject, Facets, dict[str, object]]:
    cheat = next(c for c in CHEATS if c.why == why)
    subject = subject_of(cheat.problem)
    program = tile_program(request_of(cheat.candidate, subject))
    facets = Facets(program)
    env = environment(program, subject.arguments(), subject) | {SM_COUNT.name: 9}
    tensors = drawn(subject.entry, subject.case, MODES[0], 1, (0.0,), frozenset())
    found = places(program, facets.all, tensors, env, float("inf"))
    shown = {f.text.rpartition(": ")[2]: p for f, p in found.items() if f.compares}
    return subject, facets, dict(shown)


def test_a_block_is_found_for_a_condition() -> None:
    _, _, shown = _cheat("one element")
    # Rows 5000 .. 5015 are in tile row 312 of 128 tiles each; column 77 in tile 1.
    assert shown["`and` holds for some element"] == 312 * 128 + 1
    assert shown["`and` fails for some element"] == 0


def test_a_condition_that_never_holds() -> None:
    _, _, shown = _cheat("another size than the problem's")
    assert shown["`(M == 777)` is true"] == "never"
    assert shown["`(M == 777)` is false"] == 0


def test_what_a_block_reads_is_not_known_before() -> None:
    _, _, shown = _cheat("a number above 3.75")
    assert shown["`gt` holds for some element"] == "data"


def test_facets_are_seen_as_blocks_run() -> None:
    cheat = next(c for c in CHEATS if c.why == "one block")
    subject = subject_of(cheat.problem)
    program = tile_program(request_of(cheat.candidate, subject))
    facets = Facets(program)
    env = environment(program, subject.arguments(), subject) | {SM_COUNT.name: 9}
    tensors = drawn(subject.entry, subject.case, MODES[0], 1, (0.0,), frozenset())

    def left() -> list[str]:
        return [f.text for f in facets.unseen() if "== 300" in f.text]

    assert len(left()) == 2
    run_blocks(program, tensors, env, [0], watch=facets)
    assert len(left()) == 1 and "is true" in left()[0]
    run_blocks(program, tensors, env, [300 * 128], watch=facets)
    assert not left()


def test_who_writes_an_element() -> None:
    subject = subject_of(PROBLEMS["elements"])
    program = tile_program(own_request(subject))
    env = environment(program, subject.arguments(), subject) | {SM_COUNT.name: 9}
    tensors = drawn(subject.entry, subject.case, MODES[0], 1, (0.0,), frozenset())
    at = np.array([5000 * 8192 + 77])
    assert writers(program, tensors, env, {"Y": at}).tolist() == [312 * 128 + 1]


def test_special_numbers_hold_constants_and_their_neighbours() -> None:
    cheat = next(c for c in CHEATS if c.why == "a result of one number")
    subject = subject_of(cheat.problem)
    program = tile_program(request_of(cheat.candidate, subject))
    found = specials([program], subject.scalars.values())
    near = np.nextafter(np.float32(2.5), np.float32(9))
    assert {2.5, -2.5, float(near)} <= set(found)
    assert any(np.float32(x) * np.float32(0.75) == np.float32(2.5) for x in found)


def test_a_kernel_agrees_with_itself() -> None:
    for problem in (AFFINE, LARGE):
        subject = subject_of(problem)
        made = driven(subject, own_request(subject), least_tolerance(subject))
        assert made.found is None and not made.missed and not made.why
        assert made.elements > 5_000


GROUPED = """form=roles BM=256 BN=128 BK=32 STAGES=8 GROUP=32 CLUSTER=1 WARPGROUPS=2
BC=32 TMA_STORE=True AHEAD=True REGISTERS=240"""


@pytest.mark.parametrize("equal", [False, True])
def test_groups_that_the_sizes_do_not_fill_are_driven(equal: bool) -> None:
    """Quotients that are 0 in no launch are none of its ways.

    Nor are others, where it is proved which element each stands for.
    """
    (space,) = (s for s in SPACES.values() if "gemm" in s.entries)
    problem = LibraryProblem(entry="gemm", sizes={"M": 4096, "N": 4096, "K": 4096})
    subject = subject_of(problem)
    pairs = (pair.split("=") for pair in GROUPED.split())
    design = Design({k: v if k == "form" else literal_eval(v) for k, v in pairs})
    request = request_of(space.candidate(design, problem), subject)
    made = driven(subject, request, least_tolerance(subject), equal=equal)
    assert made.found is None and not made.missed and not made.why
    facets = Facets(tile_program(request)).all
    quotients = [f for f in facets if "of a quotient" in f.text]
    assert all(f.places for f in quotients)
    assert not any("`((M + 255) // 256)` is of a quotient" in f.text for f in facets)


def test_tiles_that_a_block_takes_later_need_not_be_driven() -> None:
    """A problem that is launched whole shows them: few blocks on tiles cannot."""
    sizes = {"M": 8192, "N": 8192, "K": 64}
    subject = subject_of(LibraryProblem(entry="gemm", sizes=sizes))
    source = (resources.files("argus.kernels.gemm") / "kernel.py").read_text()
    request = request_of(Candidate(source=source, kernel="gemm_sm90"), subject)
    assert Facets(tile_program(request)).shares
    made = driven(subject, request, least_tolerance(subject))
    assert made.found is None and not made.missed and not made.why


def test_each_judgement_draws_other_numbers() -> None:
    subject = subject_of(AFFINE)
    request = request_of(Candidate(source=TASK, kernel="affine"), subject)
    seeds = {
        driven(subject, request, least_tolerance(subject)).tried[0] for _ in range(3)
    }
    assert len(seeds) == 3


def test_cases_have_other_sizes() -> None:
    subject = subject_of(PROBLEMS["sums"])
    case = Case("", {"M": 1 << 20, "N": 1 << 20})
    tensors = drawn(subject.entry, case, MODES[0], 1, (0.0,), frozenset())
    assert tensors["X"].shape == (1 << 20, 1 << 20)


def test_a_parameter_that_changes_the_result_is_no_knob() -> None:
    problem = PROBLEMS["window"]
    made = settled(problem, {"W": (512, 2048), "CAUSAL": (False,)})
    assert made.keys() == {"W", "CAUSAL"}
    assert "the result is another at W=512" in made["W"]
    elements = PROBLEMS["elements"]
    assert settled(elements, {"BM": (8, 32), "BN": (32, 128)}) == {}


def test_what_is_not_decided_is_no_knob() -> None:
    text = PROBLEMS["rows"].reference.replace("# HERE", "y = y + 0.0 * LEAST")
    text = text.replace("BN: int = 1024", "BN: int = 1024, LEAST: int = 7")
    odd = text.replace("y + 0.0 * LEAST", "ag.where(total == LEAST * 99.5, 0.0, y)")
    problem = PROBLEMS["rows"].model_copy(update={"reference": text})
    assert settled(problem, {"LEAST": (14,)}) == {}
    unsure = PROBLEMS["rows"].model_copy(update={"reference": odd})
    assert "is open (not driven" in settled(unsure, {"LEAST": (14,)})["LEAST"]


def test_the_task_of_a_file_says_what_stays(tmp_path: Path) -> None:
    path = tmp_path / "window.py"
    text = PROBLEMS["window"].reference.replace("import numpy as np\n", "")
    path.write_text(text)
    task = file_task(path, {"S": 4096, "T": 4096})
    assert isinstance(task.problem, FileProblem)
    assert "the result is another" in task.problem.settled["W"]
    assert not SPACES["statics"].searched(task.problem).keys() & {"W", "CAUSAL"}
    assert "W" not in task.start.statics


@pytest.mark.parametrize(
    ("why", "meet"),
    [
        ("nested choices", 1),
        ("a number and a row as masks", 1),
        ("less than a mask", 1),
        ("a cast of a mask", 1),
        ("a number above 3.75", 0),
        ("one row", 0),
    ],
)
def test_conditions_that_meet_have_four_ways(why: str, meet: int) -> None:
    cheat = next(c for c in CHEATS if c.why == why)
    subject = subject_of(cheat.problem)
    facets = Facets(tile_program(request_of(cheat.candidate, subject)))
    found = [f for f in facets.all if "conditions that meet" in f.text]
    assert len(found) == 4 * meet
    assert not any(f.required for f in found)


def test_a_branch_hands_on_what_was_chosen_before() -> None:
    cheat = next(c for c in CHEATS if c.why == "a choice made before a branch")
    subject = subject_of(cheat.problem)
    program = tile_program(request_of(cheat.candidate, subject))
    facets = Facets(program)
    handed = [f for f in facets.all if "the branch hands on" in f.text]
    assert len(handed) == 2
    env = environment(program, subject.arguments(), subject) | {SM_COUNT.name: 9}
    tensors = drawn(subject.entry, subject.case, MODES[0], 1, (0.0,), frozenset())
    run_blocks(program, tensors, env, [0], watch=facets)
    assert not facets.seen.intersection(handed)
    run_blocks(program, tensors, env, [300 * 128], watch=facets)
    assert handed[1] in facets.seen


def _elsewhere(why: str, words: str) -> tuple[VariedPrograms, Program, Facet]:
    cheat = next(c for c in CHEATS if c.why == why)
    subject = subject_of(cheat.problem)
    program = tile_program(request_of(cheat.candidate, subject))
    own = tile_program(own_request(subject))
    others = VariedPrograms(subject, (program, own), constants((program, own)))
    return others, program, next(f for f in Facets(program).all if words in f.text)


def test_scalars_and_sizes_are_found_together() -> None:
    others, program, facet = _elsewhere(
        "a size and a scalar", "(alpha == 3.0)` is true"
    )
    chosen = next(others.scalars(program, facet))
    assert chosen.values == {"alpha": 3.0} and chosen.changed
    solved = others.solved(program, facet, chosen.values)
    assert isinstance(solved, tuple) and solved[0].sizes["M"] == 777


def test_large_sizes_are_found_and_none_where_there_are_none() -> None:
    others, program, facet = _elsewhere("a very large grid", "is true")
    solved = others.solved(program, facet, {"alpha": 0.75})
    assert isinstance(solved, tuple) and solved[0].sizes["M"] > 16 * 65535
    others, program, facet = _elsewhere(
        "a large and narrow problem", "and (N < 100))` is true"
    )
    solved = others.solved(program, facet, {"alpha": 0.75})
    assert isinstance(solved, tuple)
    assert solved[0].sizes["M"] > 1000000 and solved[0].sizes["N"] < 100


def _of(base: str, why: str) -> tuple[Subject, Program]:
    cheat = next(c for c in CHEATS if (c.base, c.why) == (base, why))
    subject = subject_of(cheat.problem)
    return subject, tile_program(request_of(cheat.candidate, subject))


def test_a_grid_of_clusters_has_one() -> None:
    """What a kernel asks of its own grid is known from its sizes."""
    source = (resources.files("argus.kernels.gemm") / "kernel.py").read_text()
    problem = LibraryProblem(entry="gemm", sizes={"M": 512, "N": 512, "K": 64})
    subject = subject_of(problem)
    candidate = Candidate(source=source, kernel="gemm_sm90", statics={"CLUSTER": 2})
    program = tile_program(request_of(candidate, subject))
    others = VariedPrograms(subject, (program,), ())
    asked = [f for f in Facets(program).all if "`(grid_x // 2)`" in f.text]
    never = [f for f in asked if f.text.endswith("a quotient 0")]
    assert never and len(asked) == 2 * len(never)
    for facet in asked:
        found = others.solved(program, facet, {})
        assert (found == "never") == (facet in never)


@pytest.mark.parametrize(("rows", "shown"), [(20, False), (32, True)])
def test_what_holds_beside_a_tensor_alone_is_not_shown(rows: int, shown: bool) -> None:
    """Rows beside it are 0 in inputs and outputs; here others are, where all exist."""
    subject, program = _of("elements", "an output that was 0")
    case = Case("", {"M": rows, "N": 64})
    env = environment(program, subject.entry.arguments(case), subject)
    tensors = drawn(subject.entry, case, MODES[0], 1, (), frozenset())
    table = np.zeros(TABLE, np.float32) if shown else np.ones(TABLE, np.float32)
    tensors["Y"] = Written((rows, 64), DTYPES["f32"], table, 1)
    facets = Facets(program)
    blocks = range(-(-rows // 16))
    run_blocks(program, tensors, env | {SM_COUNT.name: 9}, blocks, watch=facets)
    (holds,) = (f for f in facets.all if "`eq` holds" in f.text)
    assert (holds in facets.seen) is shown


def test_branches_are_conditions_that_meet() -> None:
    subject, program = _of("elements", "branches that meet")
    handed = [f for f in Facets(program).all if "the branch hands on" in f.text]
    assert [f.compares for f in handed] == [True, True]
    env = environment(program, subject.arguments(), subject) | {SM_COUNT.name: 9}
    tensors = drawn(subject.entry, subject.case, MODES[0], 1, (), frozenset())
    found = places(program, handed, tensors, env, math.inf)
    assert found[handed[0]] == 300 * 128 + 77


@pytest.mark.parametrize(
    ("base", "why", "words"),
    [
        ("scalars", "a sum of scalars", "== 1000)` is true"),
        ("scalars", "equal scalars", "== d)` is true"),
        ("scalars", "a product of scalars", "> 1000000.0)` is true"),
        ("elements", "a scalar of one sign", "< 0.0)` is true"),
    ],
)
def test_scalars_that_meet_a_condition_are_found(
    base: str, why: str, words: str
) -> None:
    subject, program = _of(base, why)
    own = tile_program(own_request(subject))
    others = VariedPrograms(subject, (program, own), constants((program, own)))
    facet = next(f for f in Facets(program).all if words in f.text)
    params = [p for p in program.params if isinstance(p, ScalarParam)]
    assert facet.when is not None
    found = list(others.scalars(program, facet))
    assert len(found) == (2 if base == "scalars" else 1)
    for chosen in found:
        assert chosen.settled and chosen.changed
        env = {p.sym.name: chosen.values[p.name] for p in params}
        assert evaluate(facet.when, env)


def test_other_scalars_leave_a_condition_on_sizes_too_open() -> None:
    subject, program = _of("elements", "a product of a scalar and a size")
    own = tile_program(own_request(subject))
    others = VariedPrograms(subject, (program, own), constants((program, own)))
    facet = next(f for f in Facets(program).all if "> 10000000.0)` is true" in f.text)
    chosen = next(others.scalars(program, facet))
    assert chosen.values["alpha"] * 8192 > 1e7 and not chosen.settled


def test_scalars_are_drawn_about_as_large_as_they_are() -> None:
    subject, program = _of("scalars", "two scalars")
    others = VariedPrograms(subject, (program,), ())
    rng = np.random.default_rng(0)
    for _ in range(20):
        made = others.drawn_scalars(rng)
        assert 0.25 <= made["a"] <= 1.0 and 3 <= made["c"] <= 15 and made["c"] != 7


@pytest.mark.parametrize(("base", "wide"), [("ints", {"X", "W", "Y"}), ("gather", ())])
def test_whole_numbers_that_are_no_indices_are_of_all_sizes(
    base: str, wide: Collection[str]
) -> None:
    subject = subject_of(PROBLEMS[base])
    found = unbounded(subject, [tile_program(own_request(subject))])
    assert found == set(wide)
    tensors = drawn(subject.entry, subject.case, LARGE_MODE, 1, (0.0,), found)
    if wide:
        inputs = tensors["X"]
        assert isinstance(inputs, Drawn) and abs(inputs.table).max() > 1 << 30


@pytest.mark.parametrize("why", ["a bump at one size", "a pole at one size"])
def test_what_is_large_near_one_size_is_said(why: str) -> None:
    _, program = _of("elements", why)
    (bump,) = (f for f in Facets(program).all if not f.drivable)
    assert "near some sizes or scalars" in bump.text
    _, program = _of("elements", "a difference of a scalar")
    assert all(f.drivable for f in Facets(program).all)
