"""Rebuilt PyTorch models on the device: the same results as the originals."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu
torch = pytest.importorskip("torch")

MODELS = Path(__file__).parents[1] / "agent" / "tasks" / "models"
NAMES = ("matmul", "bmm", "softmax", "rmsnorm", "fused", "scaled", "attention", "block")


@pytest.mark.parametrize("name", NAMES)
def test_rebuilt_model_on_the_device(name: str) -> None:
    from argus.agent.tasks import torch_task
    from argus.agent.tasks.rebuild import on_device, rebuilt

    tasks = torch_task(MODELS / f"{name}.py", device="cuda")
    with torch.no_grad():
        want = tasks.file.model(*tasks.file.inputs)
        got = rebuilt(tasks, on_device())(*tasks.file.inputs)
    assert ((got - want).norm() / want.norm()).item() < 8e-3


@pytest.mark.parametrize("name", NAMES)
def test_rebuilt_model_with_the_kernels_it_started_from(name: str) -> None:
    from argus.agent.tasks import torch_task
    from argus.agent.tasks.rebuild import on_device, rebuilt

    tasks = torch_task(MODELS / f"{name}.py", device="cuda")
    best = {t.name: t.start for t in tasks.tasks}
    with torch.no_grad():
        want = tasks.file.model(*tasks.file.inputs)
        got = rebuilt(tasks, on_device(best))(*tasks.file.inputs)
    assert ((got - want).norm() / want.norm()).item() < 8e-3
