"""Libraries that train with PyTorch's DDP, unchanged: each finds its ranks in the variables of the framework pytorch.
With Debian's PyTorch in versions that take it, and with TONY_TEST_NEWEST in those of today."""

import os

import pytest
from conftest import PROGRAMS, venv_bin

pytestmark = pytest.mark.slow


def run(tony, *command, framework="pytorch", **keys):
    """The output of each of two processes. They share a folder, as on one machine they do."""
    path = f"{venv_bin('trainers')}:{os.environ['PATH']}"
    answer, job = tony.job({"tony.application.framework": framework, "tony.worker.memory": "2g",
                            "tony.worker.instances": 2, **keys}, "--", *command, src_dir=None, env={"PATH": path})
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return [job.logs(f"worker:{rank}") for rank in range(2)]


def test_lightnings_trainer_trains_on_two_nodes(tony):
    for rank, output in enumerate(run(tony, "python3", PROGRAMS / "lightning_ddp.py")):
        assert f"rank {rank} of 2: 2.00 x + 1.00\n" in output


def test_transformers_trainer_trains_evaluates_and_predicts(tony):
    for rank, output in enumerate(run(tony, "python3", PROGRAMS / "hf_trainer.py")):
        assert f"rank {rank} of 2: loss 0.000, 45 rows\n" in output


def test_accelerates_own_test_passes(tony):
    output = run(tony, "python3", "-m", "accelerate.test_utils.scripts.test_script",
                 **{"tony.worker.envs": "ACCELERATE_USE_CPU=true"})
    for text in output:
        assert "MULTI_CPU" in text and "Num processes: 2\n" in text and "**Breakpoint trigger test**" in text


@pytest.mark.newest
def test_keras_trains_on_pytorch(tony):
    for rank, output in enumerate(run(tony, "python3", PROGRAMS / "keras_torch.py",
                                      **{"tony.worker.envs": "KERAS_BACKEND=torch"})):
        assert f"rank {rank} of 2: 2.00 x + 1.00\n" in output
