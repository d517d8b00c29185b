import re
from dataclasses import replace

import argus
from argus import knowledge
from argus.agent.model.prompts import instructions, proposal_prompt
from argus.agent.model.reference import language_reference
from argus.agent.spaces import SPACES
from argus.agent.tasks import library_task
from argus.lang.names import DTYPES

# Decorators of references, names of types, what users of Argus call from Python, and
# what no kernel that is judged may have.
NOT_IN_KERNELS = set(
    re.findall(
        r"\w+",
        "ElementType Inline InlineFunction Kernel Module load_kernels layouts inf "
        "dtype any eight float half mma wgmma print",
    )
) | set(DTYPES)


def test_the_reference_has_every_name_of_the_language():
    text = language_reference()
    listed = set(re.findall(r"^ag\.(\w+)\(", text, re.M))
    assert set(argus.__all__) - NOT_IN_KERNELS - listed == set()
    assert set(DTYPES) <= set(re.findall(r"\w+", instructions()))
    # And none that there is not.
    assert {n for n in listed if not hasattr(argus, n)} == set()


def test_instructions_are_bounded_and_always_the_same():
    assert instructions() == instructions()
    assert len(instructions()) < 18_000  # some 5000 tokens


def test_a_prompt_says_everything_about_a_proposal(desk):
    text = proposal_prompt(desk.order(edit={"BN": 256}, depends_on=("tile-shape",)))
    for word in (
        "Target sm_90a; M = 64, N = 512",
        "def double(X:",
        "BM=1, BN=64",
        "predicts 10.0 us, limited by memory (us of each resource: memory 7.5",
        "Proposal: vectorised-access: wider loads",
        "In the terms of the planner: BN=256",
        "- ag.expect(bank_conflicts=0)",
        "It builds on: tile-shape.",
        "Why: rows are long",
        "- Wider tiles were slower at short rows.",
        "## Before",
        "## After",
        "## Pitfalls",
    ):
        assert word in text, word


def test_prompts_are_bounded_for_every_entry(desk):
    for entry in knowledge.load_entries():
        text = proposal_prompt(desk.order(optimisation=entry))
        assert knowledge.entry(entry).title in text
        assert len(text) < 20_000, entry


def test_a_proposal_without_an_entry_has_no_example(desk):
    text = proposal_prompt(desk.order(optimisation="something-else"))
    assert "What is known of this optimisation" not in text


def test_a_form_of_the_family_is_explained(desk):
    task = library_task("gemm", {"M": 256, "N": 256, "K": 256})
    edit = {"form": "ring", "STAGES": 3}
    order = replace(desk.order("cp-async", edit=edit), task=task, parent=task.start)
    text = proposal_prompt(order)
    title = SPACES["gemm"].forms["ring"].title
    assert f"The form `ring` is: {title}. It has cp-async" in text
    assert "def gemm_naive(" in text


def test_another_form_is_shown_by_what_it_brings(desk):
    """Its name says little; the entries of what is new in it say how it is written."""
    task = library_task("gemm", {"M": 256, "N": 256, "K": 256})
    order = desk.order("swizzling", edit={"form": "roles", "BM": 128})
    text = proposal_prompt(replace(order, task=task, parent=task.start))
    for entry in ("swizzling", "tma", "wgmma"):
        assert knowledge.entry(entry).title in text
    assert text.count("## After") >= 2
    assert len(text) < 20_000
