"""Keras 3 of today on several processes of JAX; on PyTorch it is in test_trainers.py."""

import pytest
from conftest import PROGRAMS, venv_bin


@pytest.mark.slow
@pytest.mark.newest
def test_keras_trains_on_jax(tony):
    python = venv_bin("keras-jax") / "python3"
    answer, job = tony.job({"tony.application.framework": "jax", "tony.worker.instances": 2,
                            "tony.worker.memory": "1g"}, "--", python, PROGRAMS / "keras_jax.py", src_dir=None)
    assert answer.returncode == 0, answer.stdout
    for rank in range(2):
        assert f"rank {rank} of 2: 2.00 x + 1.00\n" in job.logs(f"worker:{rank}")
