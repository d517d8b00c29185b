"""The page of a run: what stands in it, for runs of every kind, whole."""

from __future__ import annotations

import re
from pathlib import Path

from pages import whole

import sample_run
from argus.runs.records import (
    Budget,
    Candidate,
    FileProblem,
    Finished,
    Judged,
    JudgeVerdict,
    Learned,
    LibraryProblem,
    Lowered,
    Probed,
    Proposed,
    Started,
    Task,
)
from argus.runs.store import RunStore

PLOTS = ["plot-trajectory", "plot-ablation", "plot-roofline", "plot-pipeline"]


class TestMeasured:
    def test_is_whole(self, measured: str, read) -> None:
        whole(measured, read)

    def test_opens_with_the_result(self, measured: str, read) -> None:
        words = " ".join(read(measured).text.split())
        assert "gemm 4096x4096x4096" in words
        assert "2600.0 µs → 185.0 µs 14.05× measured" in words
        assert "cuBLAS 190.0 µs 1.03× as long, measured beside it" in words
        assert "speed of light 139.0 µs a bound; 75% of it is reached" in words
        assert "model 180.0 µs predicted bound by tensor" in words
        assert "none is measured" not in words

    def test_every_plot_says_that_it_is_measured(self, measured: str, read) -> None:
        found = read(measured)
        assert set(PLOTS) <= set(found.ids)
        assert "measured time, µs" in found.sections["trajectory"]
        assert "measured time without it" in found.sections["ablation"]
        assert "measured TFLOP/s" in found.sections["roofline"]
        # The pipeline is the model's even then.
        assert "predicted" in found.sections["pipeline"]
        assert "measured nowhere" in found.sections["pipeline"]

    def test_every_trial_is_in_the_table(self, measured: str, read) -> None:
        found = read(measured)
        assert [f"trial-{n}" in found.ids for n in range(5)] == [True] * 4 + [False]
        table = " ".join(found.sections["trials"].split())
        assert "AG0301: elements that do not share K are multiplied" in table
        assert "cluster-multicast correct 180.0 µs 185.0 µs +2.64" in table
        assert "split-k no kernel +0.00 1.65× / – no design" in table
        assert "tile-shape" in table, "what the planner offered"

    def test_elements_are_followed_through_the_levels(self, measured, read) -> None:
        shown = " ".join(read(measured).sections["elements"].split())
        assert "A global memory → shared memory → tensor cores" in shown
        assert "C registers → shared memory → global memory" in shown
        assert "swizzle 128" in shown and "thread" in shown and "bank" in shown
        titles = re.findall(r"<title>\(5, 19\): ([^<]+)</title>", measured)
        assert "byte 758, bank 29" in titles
        assert any(re.match(r"thread 21 \(warp 0, lane 21\)", t) for t in titles)

    def test_the_pipeline_has_roles_slots_and_units(self, measured, read) -> None:
        shown = read(measured).sections["pipeline"]
        for lane in ("load", "math 1", "math 2", "slot 0", "slot 3", "tensor cores"):
            assert lane in shown
        assert re.search(r"math 1, [\d.]+ to [\d.]+ µs: matrix products", shown)

    def test_source_lines_lead_to_their_cuda(self, measured: str, read) -> None:
        found = read(measured)
        line = next(
            i
            for i, text in enumerate(sample_run.BEST.source.splitlines(), 1)
            if "acc = ag.dot(ahead.a" in text
        )
        assert {f"s{line}", f"c{line}"} <= set(found.ids)
        assert f"#c{line}" in found.links and f"#s{line}" in found.links
        assert "argus_wgmma" in found.sections["sources"]

    def test_how_to_repeat_it(self, measured: str, read) -> None:
        words = " ".join(read(measured).sections["again"].split())
        command = (
            "argus optimize gemm --size=M=4096 --size=N=4096 --size=K=4096 --trials 4 "
            "--seed 3 --cold"
        )
        assert command in words
        assert "argus optimize --resume" in words and "argus runs export" in words


class TestStrangers:
    """Texts of a model: they stay text, and what they hide is shown."""

    def test_is_whole(self, eventful: str, read) -> None:
        whole(eventful, read)

    def test_nothing_becomes_markup(self, eventful: str, read) -> None:
        found = read(eventful)
        assert "img" not in found.tags and "script" not in found.tags
        assert sample_run.HOSTILE in found.text
        assert "<script" not in eventful and "</script" not in eventful
        for section in ("trials", "counterexamples", "policy", "sources", "effort"):
            assert sample_run.HOSTILE in found.sections[section], section

    def test_hidden_characters_are_shown(self, eventful: str) -> None:
        assert "\u202e" not in eventful
        assert "\u27e8U+202E\u27e9" in eventful

    def test_the_counterexample_and_its_fix(self, eventful: str, read) -> None:
        shown = " ".join(read(eventful).sections["counterexamples"].split())
        assert "elements that do not share K are multiplied" in shown
        assert "K = 0 on the left, K = 1 on the right" in shown
        assert "Where the left element is" in shown
        assert "trial 2 tries swizzling again and is correct" in shown
        assert "+ b = ag.load" not in shown
        assert "Attempt 1 of trial 2" in shown
        assert "the kernel of trial 2 followed, which is correct" in shown
        assert "not fixed: no later kernel for cp-async was accepted" in shown
        fixed = re.findall(r'<span class="(add|del)">([^<]*)</span>', eventful)
        wrong = ("del", "        b = ag.load(B[bn * BN :, k + 1 :], (BN, BK))")
        assert ("add", "        b = ag.load(B[bn * BN :, k:], (BN, BK))") in fixed
        # For the trial; for the attempt, whose kernel the conversation has; and there.
        assert fixed.count(wrong) == 3
        assert shown.count("Where the left element is") == 2

    def test_what_an_external_agent_asked_about(self, render, read, refuted) -> None:
        def make(root: Path) -> str:
            name = started(root, sample_run.TASK, sample_run.NAIVE)
            with RunStore(root).open(name) as run:
                run.append(
                    Probed(
                        trial=0, operation="check", verdict=refuted,
                        candidate=run.put(sample_run.shifted().model_dump_json()),
                    )
                )  # fmt: skip
            return name

        found = read(render(make, "running"))
        assert "The run is in progress" in found.text
        shown = " ".join(found.sections["counterexamples"].split())
        assert "Attempt 1 of trial 0" in shown
        assert "the kernel of trial 0 followed, which is not judged" in shown
        assert "Where the right element is" in shown

    def test_how_an_external_agent_goes_on(self, render, read) -> None:
        def make(root: Path) -> str:
            record = RunStore(root)
            name = started(root, sample_run.TASK, sample_run.NAIVE)
            first = record.read(name).started()
            with record.create(first.model_copy(update={"agent": "external"})) as run:
                return run.id

        words = " ".join(read(render(make, "running")).sections["again"].split())
        assert "argus session start gemm --size=M=4096" in words
        assert "argus session start --resume" in words
        assert "argus optimize" not in words

    def test_no_path_of_this_machine(self, eventful: str) -> None:
        assert not re.search(r"/[\w.-]+/kernel\.py", eventful)
        assert "kernel.py:32" in eventful


class TestOthers:
    def test_predicted(self, render, read) -> None:
        text = render(lambda root: sample_run.make(root, measured=False))
        whole(text, read)
        words = " ".join(read(text).text.split())
        assert "2500.0 µs → 180.0 µs 13.89× predicted" in words
        assert "none is measured, since there was no GPU" in words
        assert "baseline none it is measured on a GPU only" in words
        assert "predicted TFLOP/s" in words and "measured TFLOP/s" not in words

    def test_not_finished(self, render, read, monkeypatch) -> None:
        """Cut off before the ablation, and with a trial that nobody judged."""
        for plot in ("trajectory_of", "roofline_of"):  # as of runs that have ended
            monkeypatch.setattr(f"argus.report.figures.{plot}", lambda *_: "Not drawn.")

        def make(root: Path) -> str:
            name = sample_run.make(root, finish=False)
            with RunStore(root).open(name) as run:
                made = run.put(sample_run.NAIVE.model_dump_json())
                run.append(Lowered(trial=4, candidate=made))
            return name

        text = render(make, "interrupted")
        whole(text, read)
        found = read(text)
        words = " ".join(found.text.split())
        assert "The run was cut off before its end" in words
        assert "not taken apart: it ended before that" in found.sections["ablation"]
        assert "2600.0 µs → 185.0 µs" in words
        assert "not judged" in found.sections["trials"]

    def test_nothing_but_a_beginning(self, render, read) -> None:
        text = render(lambda root: started(root, sample_run.TASK), "interrupted")
        whole(text, read)
        found = read(text)
        assert "no correct kernel" in found.text
        assert "No trial was begun" in found.sections["trials"]
        assert "No kernel was correct" in found.sections["sources"]
        assert "No trial has a time" in found.sections["trajectory"]
        assert "Nothing yet" in found.sections["policy"]

    def test_no_kernel_was_correct(self, render, read) -> None:
        def make(root: Path) -> str:
            event = Judged(trial=0, verdict=sample_run.REFUTED)
            return started(root, sample_run.TASK, sample_run.NAIVE, event)

        text = render(make)
        whole(text, read)
        found = read(text)
        assert "1 kernel of 1 trial were refused" in found.text
        assert "AG0301" in found.sections["counterexamples"]

    def test_a_best_kernel_that_cannot_be_compiled_here(self, render, read) -> None:
        odd = Candidate(source="import argus as ag\n<script>", kernel="gemm")

        def make(root: Path) -> str:
            verdict = sample_run.correct(100.0, None)
            return started(root, sample_run.TASK, odd, Judged(trial=0, verdict=verdict))

        text = render(make)
        whole(text, read)
        found = read(text)
        assert "cannot be compiled here" in found.sections["pipeline"]
        assert "cannot be compiled here" in found.sections["elements"]
        assert "<script>" in found.sections["sources"]

    def test_a_problem_that_does_not_exist_any_more(self, render, read) -> None:
        gone = LibraryProblem(entry="gone", sizes={"M": 4})
        task = sample_run.TASK.model_copy(update={"problem": gone})
        verdict = sample_run.correct(100.0, None)
        text = render(
            lambda root: started(
                root, task, sample_run.NAIVE, Judged(trial=0, verdict=verdict)
            )
        )
        whole(text, read)
        shown = read(text).sections["roofline"]
        assert "there is no library kernel `gone`" in shown

    def test_a_file_of_the_user(self, render, read) -> None:
        """Its work is not known: a bandwidth takes the place of the roofline."""
        problem = FileProblem(
            name="step1", kernel="gemm", reference=sample_run.NAIVE.source,
            sizes={"M": 256, "N": 256, "K": 128},
        )  # fmt: skip
        task = Task(
            name="step1 256x256x128", problem=problem, start=sample_run.NAIVE,
            family="statics",
        )  # fmt: skip
        verdict = sample_run.correct(9.0, None)

        def make(root: Path) -> str:
            event = Judged(trial=0, verdict=verdict)
            return started(root, task, sample_run.NAIVE, event)

        text = render(make)
        whole(text, read)
        found = read(text)
        assert "plot-bandwidth" in found.ids
        assert "predicted TB/s, at least" in found.sections["roofline"]
        assert (
            "argus optimize FILE --kernel gemm --size=M=256" in found.sections["again"]
        )


def started(
    root: Path, task: Task, made: Candidate | None = None, judged: Judged | None = None
) -> str:
    """A run with a beginning, and at most one trial."""
    first = Started(
        task=task, agent="builtin", seed=0, budget=Budget(), policy={}, environment={}
    )
    with RunStore(root).create(first) as run:
        if made is not None:
            run.append(
                Proposed(
                    trial=0, parent=None, bottleneck="", proposals=(),
                    probabilities=(), chosen=0,
                )
            )  # fmt: skip
            run.append(Lowered(trial=0, candidate=run.put(made.model_dump_json())))
        if judged is not None:
            run.append(judged)
            run.append(
                Learned(
                    trial=0,
                    reward=0.0,
                    predicted_gain=0.0,
                    actual_gain=None,
                    changes=(),
                )
            )
            best = 0 if judged.verdict.status == "correct" else None
            run.append(Finished(reason="no progress", best=best))
        return run.id


def test_a_large_run_is_quick_and_small(render, read, refuted: JudgeVerdict) -> None:
    """Sixty trials: what grows with trials is bounded."""
    import time

    def make(root: Path) -> str:
        name = sample_run.make_eventful(root, refuted)
        with RunStore(root).open(name) as run:
            events = [e for e in run.events() if getattr(e, "trial", None) == 1]
            for number in range(5, 60):
                for event in events:
                    run.append(event.model_copy(update={"trial": number}))
        return name

    begin = time.process_time()
    text = render(make)
    assert time.process_time() - begin < 20, "some three seconds on an idle machine"
    whole(text, read)
    found = read(text)
    assert "trial-59" in found.ids
    # Twelve with pictures, the others as text.
    assert sum(name.startswith("met-") for name in found.ids) > 60
    assert found.sections["counterexamples"].count("Where the left element is") <= 12
