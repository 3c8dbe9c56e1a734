"""TonY's rows with a third engine."""

from tony_rows import *  # noqa: F401,F403


def test_an_executor_takes_the_face_of_its_own_engine(tony):
    """Its container, a directory of this machine, is like one of a local job."""
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "echo in $NULL_CONTAINER")
    assert job.wait() == 0
    assert job.logs("worker:0").startswith(f"in {job.id}/worker-0-1")
