import json
import math
import multiprocessing
import warnings
from pathlib import Path

import pytest

from absurd import ABSURD, leaves, with_leaf
from argus.agent.policy import Policy, Statistic, feature, load, merge, place_of
from argus.diagnostics import ArgusWarning
from argus.runs.records import Change

HERE = place_of({"M": 8192, "N": 8192})
NEAR = place_of({"M": 4096, "N": 8192})
FAR = place_of({"M": 64, "N": 64})


def change(key: str, after: float | str, *trials: int) -> Change:
    return Change(key=key, before=None, after=after, trials=trials)


def learnt(mean: float, *trials: int, place: str = HERE) -> Policy:
    key = f"effect/gemm/full/{place}/BM=128"
    return Policy().changed([change(key, mean, *trials)], Policy())


def test_place_and_feature_are_rounded_and_sorted():
    assert place_of({"N": 8192, "M": 9000}) == "M=13 N=13"
    assert feature({"BN": 256, "BM": 128}) == "BM=128 BN=256"


def test_an_effect_counts_the_more_the_nearer_the_sizes():
    policy = learnt(0.2, 1, 2, 3, 4, 5, 6, 7, 8)
    here = policy.effect("gemm", "full", HERE, "BM=128")
    near = policy.effect("gemm", "full", NEAR, "BM=128")
    far = policy.effect("gemm", "full", FAR, "BM=128")
    assert 0.17 < here < 0.2
    assert here > near > 0.15
    assert 0 <= far < 0.01
    assert policy.effect("gemm", "full", HERE, "BM=64") == 0.0
    assert policy.effect("gemm", "ring", HERE, "BM=128") == 0.0


def test_few_trials_count_less():
    few, many = learnt(0.2, 1), learnt(0.2, *range(1, 9))
    assert few.effect("gemm", "full", HERE, "BM=128") == pytest.approx(0.1)
    assert many.effect("gemm", "full", HERE, "BM=128") > 0.17


def test_counts_are_those_of_the_base_and_the_cited_trials():
    base = Policy(preferences={"memory/tma": Statistic(mean=0.5, count=4)})
    once = base.changed([change("preference/memory/tma", 0.4, 3)], base)
    twice = once.changed([change("preference/memory/tma", 0.3, 3, 7)], base)
    assert twice.preference("memory", "tma") == Statistic(mean=0.3, count=6)


def test_advice_cites_trials():
    policy = Policy().changed([change("advice/gemm/memory/tma", "do it", 2)], Policy())
    assert policy.advice["gemm/memory/tma"].text == "do it"
    assert policy.advice["gemm/memory/tma"].trials == (2,)


def test_a_file_that_is_not_there_is_an_empty_policy(tmp_path: Path):
    assert load(tmp_path / "policy.json") == Policy()


GOOD = {
    "version": 1,
    "preferences": {"memory/tma": {"mean": 0.5, "count": 4}},
    "effects": {f"gemm/full/{HERE}/BM=128": {"mean": 0.2, "count": 8}},
    "advice": {"gemm/memory/tma": {"text": "do it", "trials": [1, 2]}},
    "runs": {"a": 3},
}


def use(policy: Policy) -> None:
    """What a run does with a policy: nothing of it overflows or stumbles."""
    for key in policy.effects:
        family, form, place, name = key.split("/", 3)
        assert math.isfinite(policy.effect(family, form, place, name))
        assert math.isfinite(policy.effect(family, form, FAR, name))
    key = f"effect/gemm/full/{HERE}/BM=128"
    after = policy.changed(
        [change(key, 1e300, 1), change("advice/x/y", "z", 1)], policy
    )
    assert math.isfinite(after.effect("gemm", "full", HERE, "BM=128"))
    assert Policy.model_validate_json(after.model_dump_json()) == after


def test_absurd_documents_are_told_and_kept(tmp_path: Path):
    path = tmp_path / "policy.json"
    refused = 0
    for place in leaves(GOOD):
        for text in ABSURD:
            whole = with_leaf(GOOD, place, text)
            path.write_text(whole)
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                use(load(path))
            assert path.read_text() == whole
            if told:
                refused += 1
                assert "AG1004" in str(told[0].message)
                assert str(path) in str(told[0].message)
                assert len(str(told[0].message)) < 1500
    assert refused > 0.8 * len(ABSURD) * (len(leaves(GOOD)) - 5)


@pytest.mark.parametrize("key", ["", "gemm", "gemm/full", "a/b/M=/x", "a/b/M=1e9/x"])
def test_keys_that_no_effect_has(tmp_path: Path, key: str):
    path = tmp_path / "policy.json"
    path.write_text(json.dumps({"effects": {key: {"mean": 0.1, "count": 1}}}))
    with pytest.warns(ArgusWarning, match="AG1004"):
        assert load(path) == Policy()


def test_what_cannot_be_read_is_kept_when_something_is_learnt(tmp_path: Path):
    path = tmp_path / "policy.json"
    path.write_text('{"version": 1, "preferences": ')
    with pytest.warns(ArgusWarning, match="AG1004") as told:
        merge(path, "run", 1, [Policy(), learnt(0.1, 1)].__getitem__)
    (kept,) = tmp_path.glob("*.unread")
    assert kept.name in str(told[0].message)
    assert kept.read_text() == '{"version": 1, "preferences": '
    assert load(path).runs == {"run": 1}


def test_a_policy_that_others_could_have_written(tmp_path: Path):
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(GOOD))
    path.chmod(0o666)
    with pytest.warns(ArgusWarning, match="can be written by other users"):
        assert load(path) == Policy()


def test_a_run_is_merged_once_and_may_go_on(tmp_path: Path):
    path = tmp_path / "home" / "policy.json"
    states = [Policy(), learnt(0.1, 1), learnt(0.3, 1, 2)]
    merge(path, "run", 1, states.__getitem__)
    merge(path, "run", 1, states.__getitem__)
    key = f"gemm/full/{HERE}/BM=128"
    assert load(path).effects[key] == Statistic(mean=0.1, count=1)
    merge(path, "run", 2, states.__getitem__)
    assert load(path).effects[key] == Statistic(mean=0.3, count=2)
    assert load(path).runs == {"run": 2}


def test_what_two_runs_learnt_at_once_is_weighted(tmp_path: Path):
    path = tmp_path / "policy.json"
    merge(path, "a", 3, lambda n: learnt(0.1, 1, 2, 3) if n else Policy())
    merge(path, "b", 1, lambda n: learnt(0.5, 1) if n else Policy())
    found = load(path).effects[f"gemm/full/{HERE}/BM=128"]
    assert found.count == 4
    assert found.mean == pytest.approx((3 * 0.1 + 0.5) / 4)


def _merge_many(path: Path, name: str) -> None:
    for i in range(10):
        after = {0: Policy(), 1: learnt(1.0, 1, place=f"M={i}")}
        merge(path, f"{name}{i}", 1, after.__getitem__)


def test_processes_do_not_lose_each_others_runs(tmp_path: Path):
    path = tmp_path / "policy.json"
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_merge_many, args=(path, n)) for n in "xyz"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(load(path).runs) == 30
    assert all(s.count == 3 for s in load(path).effects.values())
    assert not list(tmp_path.glob(".policy-*"))


def test_the_distance_of_sizes_is_in_doublings():
    policy = learnt(1.0, *range(8), place="M=10")
    at = [policy.effect("gemm", "full", f"M={m}", "BM=128") for m in (10, 12, 14)]
    weights = [8 * math.exp(-0.5 * (d / 2.0) ** 2) for d in (0, 2, 4)]
    assert at == pytest.approx([w / (w + 1) for w in weights])
