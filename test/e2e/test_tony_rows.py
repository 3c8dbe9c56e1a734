"""TonY's own end-to-end suite on one machine."""

from tony_rows import *  # noqa: F401,F403
from tony_rows import NO_RETRIES


def test_AllocationTimeoutShouldFail_because_another_job_holds_the_machine(tony):
    capacity = ("--conf", "tony.local.memory=100m")
    first = tony.submit({"tony.worker.instances": 1}, *capacity, "--executes", "sleep 1000")
    first.wait_task("worker:0")
    answer, second = tony.job({"tony.worker.instances": 1, "tony.container.allocation.timeout": 1000,
                               **NO_RETRIES}, *capacity, "--executes", "exit 0")
    assert answer.returncode != 0
    assert second.status()["cause"]["kind"] == "allocation-timeout"
    events = [line["ev"] for line in second.events()]
    assert events[-1] == "final" and events.count("final") == 1, events
    assert first.task("worker:0")["state"] == "running"
