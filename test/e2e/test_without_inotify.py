"""A user's instances of inotify are counted: without one, tony finds changes by looking."""

import pytest
from conftest import wait_until


@pytest.fixture
def tony(tony):
    """In a user namespace the limit is its own."""
    tony.enter = ["unshare", "--user", "--map-root-user", "sh", "-c", 'echo 0 > /proc/sys/user/max_inotify_instances && exec "$@"',
                  "sh"]
    yield tony
    tony.enter = []


def test_a_job_is_submitted_and_followed(tony):
    answer, _ = tony.job({"tony.worker.instances": 1}, "--follow", "--executes", "echo hello")
    assert answer.returncode == 0 and "hello" in answer.stdout, answer


def test_a_removed_entry_in_the_shared_ledger_is_told(tony):
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "sleep 1000")
    job.wait_task("worker:0")
    [entry] = wait_until(lambda: list(tony.ledger.glob("*.job")), "the job's entry")
    entry.unlink()
    wait_until(lambda: any("entry is gone" in event.get("text", "") for event in job.events()), "the note")
