"""The command with the real judge, families, model and knowledge base; small sizes."""

import json
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

from argus.agent.policy import load
from argus.cli.app import app
from argus.runs.store import RunStore
from command_line import Commands

SMALL = ["optimize", "softmax", "--shape", "64x256", "--trials", "2"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("ARGUS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "60")
    return tmp_path / "home"


def invoke(*arguments: str):
    return Commands().invoke(app, list(arguments))


def no_page(patch: pytest.MonkeyPatch) -> None:
    """Where it is not the matter: pictures take longer than a trial."""
    patch.setattr("argus.report.page.page", lambda run, state: f"of {run.id}")


def test_a_kernel_gets_faster_and_everything_is_kept(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    best = tmp_path / "best.py"
    done = invoke(*SMALL, "--out", str(best))
    assert done.exit_code == 0, done.output
    assert "no GPU: times are predicted" in done.output
    assert "every time is predicted" in " ".join(done.output.split())
    assert "ablation: the best kernel without" in done.output
    assert "x as fast" in done.output
    lines = done.output.splitlines()  # a path is not cut, so that it can be copied
    assert all(len(line) <= 60 or len(line.split()) == 1 for line in lines)
    assert "@ag.kernel" in best.read_text()
    store = RunStore(home / "runs")
    (name,) = store.names()
    assert name in done.output
    page = home / "runs" / "reports" / f"{name}.html"
    assert "plot-trajectory" in page.read_text()
    assert str(page) in "".join(done.output.split())
    assert load(home / "policy.json").runs == {name: 2}
    with store.read(name) as run:
        kinds = [e.event for e in run.events()]
    assert kinds.count("judged") == 2
    assert kinds.count("learned") == 2
    assert kinds[-1] == "finished"

    no_page(monkeypatch)
    # Nothing is said of limits: those of the run stay, and they are spent.
    same = invoke("optimize", "--resume", "latest", "--no-ablate")
    assert same.exit_code == 0, same.output
    assert "trial 1 of 2" in same.output
    again = f"go on argus optimize --resume {name} --trials N"
    assert again in " ".join(same.output.split())

    # It goes on with more trials; with --json, one object and nothing else.
    resumed = ["optimize", "--resume", "latest", "--trials", "3", "--no-ablate"]
    more = invoke(*resumed, "--json")
    assert more.exit_code == 0, more.output
    (result,) = json.loads(more.output)["runs"]
    assert result["run"] == name
    assert result["trials"] == 3
    assert result["measured"] is False
    assert result["microseconds"] < result["start_microseconds"]
    assert load(home / "policy.json").runs == {name: 3}


def test_a_cold_run_stays_cold(home: Path, monkeypatch: pytest.MonkeyPatch):
    """Also where it goes on, and nobody says it again."""
    no_page(monkeypatch)
    done = invoke(*SMALL[:-1], "1", "--no-ablate", "--cold")
    assert done.exit_code == 0, done.output
    assert "policy not changed: the run is cold" in " ".join(done.output.split())
    words = ["optimize", "--resume", "latest", "--trials", "2", "--no-ablate"]
    more = invoke(*words, "--json")
    assert more.exit_code == 0, more.output
    (result,) = json.loads(more.output)["runs"]
    assert (result["trials"], result["cold"]) == (2, True)
    assert not (home / "policy.json").exists()
    assert "cold: what it learns stays in the run" in invoke("runs", "show").output
    shown = json.loads(invoke("runs", "show", "--json").output)
    assert shown["run"]["cold"] is True


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["optimize"], "AG0908"),
        (["optimize", "gem"], "AG0909"),
        (["optimize", "gemm", "--shape", "64xx64"], "AG0908"),
        (["optimize", "gemm", "--size", "Q=4"], "AG0908"),
        (["optimize", "no-such-file.py"], "AG0901"),
        (["optimize", "--resume", "nothing"], "AG1001"),
        (["optimize", *SMALL[1:], "--agent", "model"], "AG1061"),
    ],
)
def test_mistakes_of_the_user_have_a_code(home: Path, arguments, code):
    done = invoke(*arguments, "--json")
    assert done.exit_code == 2, done.output
    assert json.loads(done.output)["diagnostics"][0]["code"] == code


def test_a_ray_cluster_that_is_not_there_has_a_code(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    """Ray looks for one among all processes of the machine: other tests start one."""
    ray = pytest.importorskip("ray")

    def none(address: str, **_: object) -> None:
        assert address == "auto"
        raise ConnectionError("Could not find any running Ray instance.")

    monkeypatch.setattr(ray, "init", none)
    done = invoke(*SMALL, "--ray", "auto", "--json")
    assert done.exit_code == 2, done.output
    assert json.loads(done.output)["diagnostics"][0]["code"] == "AG0908"


@pytest.mark.filterwarnings("always")
def test_a_damaged_policy_is_told_and_kept(home: Path, monkeypatch: pytest.MonkeyPatch):
    no_page(monkeypatch)
    home.mkdir()
    (home / "policy.json").write_text("{")
    done = invoke(*SMALL, "--no-ablate", "--json")
    told = json.loads(done.stdout)
    assert told["ok"]
    assert {d["code"] for d in told["diagnostics"]} == {"AG1004"}
    (kept,) = home.glob("*.unread")
    assert kept.read_text() == "{"
    assert json.loads((home / "policy.json").read_text())["runs"]


def test_a_model_gets_its_kernels_in_one_file(home: Path, tmp_path: Path):
    torch = pytest.importorskip("torch")
    path = tmp_path / "new.py"
    model = str(Path(__file__).parent / "tasks" / "models" / "softmax.py")
    words = ["--trials", "2", "--no-ablate", "--cold", "--out", str(path)]
    done = invoke("optimize", model, *words, "--json")
    assert done.exit_code == 0, done.output
    data = json.loads(done.output)
    (kernel,) = data["kernels"]
    (run,) = data["runs"]
    assert kernel["task"] == run["task"]
    assert run["trials"] == 2
    page = Path(data["report"]).read_text()
    assert "<svg" in page and f'href="{run["run"]}.html"' in page
    before, after = data["predicted_us"]["before"], data["predicted_us"]["after"]
    assert kernel["predicted_us"] == before >= after == kernel["after_us"]
    file = SimpleNamespace(**runpy.run_path(str(path)))
    (x,) = file.get_inputs()
    assert torch.allclose(file.ModelNew()(x), file.Model()(x), atol=1e-6)


def test_options_that_are_not_for_a_file(home: Path):
    model = str(Path(__file__).parent / "tasks" / "models" / "softmax.py")
    for words in (["--shape", "4x4"], ["--option", "relu"], ["--size", "M=4"]):
        done = invoke("optimize", model, *words, "--json")
        assert done.exit_code == 2
        assert json.loads(done.output)["diagnostics"][0]["code"] == "AG0908"


WINDOW = '''
import argus as ag
from argus import f32


@ag.kernel
def window(X: f32["M N"], Y: f32["M N"], *, BM: int = 16, W: int = 1024):
    """Y[m, n] = X[m, n] where m - n < W, else 0."""
    M, N = X.shape
    i, j = ag.block(ag.cdiv(M, BM), ag.cdiv(N, 64))
    x = ag.load(X[i * BM :, j * 64 :], (BM, 64))
    m = ag.broadcast(i * BM + ag.index(x, "M"), x)
    n = ag.broadcast(j * 64 + ag.index(x, "N"), x)
    Y[i * BM :, j * 64 :] = ag.where(m - n < W, x, 0.0)


@ag.reference
def reference(X):
    import numpy as np

    d = np.arange(X.shape[0])[:, None] - np.arange(X.shape[1])[None]
    return X * (d < 1024)
'''


def test_what_is_not_searched_is_said(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """In the progress, in the JSON object and on the page."""
    file = tmp_path / "window.py"
    file.write_text(WINDOW)
    command = ["optimize", str(file), "--size", "M=2048", "--size", "N=64"]
    command += ["--trials", "1", "--no-ablate"]
    done = invoke(*command)
    assert done.exit_code == 0, done.output
    text = " ".join(done.output.split())
    assert "W is not searched: the result is another at W=" in text
    assert "BM is not searched" not in text
    assert text.index("W is not searched") < text.index("best:")
    (name,) = RunStore(home / "runs").names()
    page = (home / "runs" / "reports" / f"{name}.html").read_text()
    assert "W is not searched: the result is another at W=" in page
    no_page(monkeypatch)
    asked = invoke(*command, "--json")
    (found,) = json.loads(asked.stdout)["runs"]
    assert found["settled"].keys() == {"W"}
    assert "the result is another" in found["settled"]["W"]
