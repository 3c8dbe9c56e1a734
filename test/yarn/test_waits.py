"""A job whose application master YARN holds back: what the ResourceManager knows of it is told wherever the job is shown."""

import json
import re

import kit
import pytest
from program import wait_until

LIMIT = "Queue's AM resource limit exceeded"
TINY = {"tony.worker.instances": 1, "tony.application.queue": "tiny"}


def listed(tony):
    return {row["id"]: row for row in json.loads(tony.run("list", "--json").stdout)}


@pytest.mark.short
@pytest.mark.skipif((kit.VERSION or "").startswith("2."), reason="Hadoop 2.10 lets it in: usedAMResource 512 MiB of AMResourceLimit 256")
def test_a_job_beyond_the_queues_share_for_application_masters(tony):
    """The queue tiny has room for one of them."""
    first = tony.submit(TINY, "--executes", "sleep 600")
    first.wait_task("worker:0")
    second = tony.submit(TINY, "--executes", "echo came; exec sleep 600")
    told = wait_until(lambda: (text := second.status().get("waiting")) and LIMIT in text and text, "the reason to be told")
    assert told.startswith("the application master waits for a container in queue ")
    assert "Queue Resource Limit for AM = <memory:" in told
    queue = second.application()["queue"]
    assert second.status()["queue"] == queue == listed(tony)[second.id]["queue"], "one name of the queue everywhere"
    assert first.status()["queue"] == queue == listed(tony)[first.id]["queue"]
    for verb in ("status", second.id), ("list",):
        assert re.search(f"waiting: the application master waits .*{LIMIT}", tony.run(*verb).stdout)
    assert LIMIT in listed(tony)[second.id]["waiting"] and not listed(tony)[first.id].get("waiting")
    [line] = wait_until(second.events, "the reason to be told as an event")
    assert (line["seq"], line["ev"]) == (0, "waiting") and LIMIT in line["text"]
    seen = tony.directory / "seen"
    with seen.open("w") as file:
        tony.start("attach", second.id, stdout=file)
    wait_until(lambda: LIMIT in seen.read_text(), "who follows the job to be told")
    for verb in "advise", "open":
        answer = tony.run(verb, second.id)
        assert answer.returncode == 5 and "proxy" not in answer.stderr
        assert re.search(f"has no running application master; waiting: the application master waits .*{LIMIT}", answer.stderr)
    assert re.search(f"waiting: the application master waits .*{LIMIT}", tony.run("logs", second.id).stderr)
    with (tony.directory / "logs").open("w") as logs, (tony.directory / "told").open("w") as told:
        tony.start("logs", "-f", second.id, stdout=logs, stderr=told)
    wait_until(lambda: LIMIT in (tony.directory / "told").read_text(), "who reads its logs to be told")
    tony.run("kill", first.id)
    wait_until(lambda: (tony.directory / "logs").read_text() == "came\n", "the logs to go on")
    assert LIMIT not in json.dumps(second.status()) and not listed(tony)[second.id].get("waiting")
    assert "worker:0" in tony.run("events", second.id).stdout
    tony.run("kill", second.id)


def test_a_job_whose_user_has_no_more_of_the_queue(tony):
    """The ResourceManager says nothing of it to the AM but how much is left."""
    job = tony.submit({"tony.application.framework": "generic", "tony.application.elastic-settle-time": "200ms",
                       "tony.worker.instances": 3, "tony.worker.min-instances": 1, "tony.worker.memory": "512m",
                       "tony.application.queue": "mine"}, "--executes", f"./exit_after.sh {tony.directory}/go 0")
    job.wait_task("worker:0")
    wait_until(lambda: re.search(r"can run with fewer; waits for \d more containers \(worker x \d\) of queue (root\.)?mine: user \S+ can "
                                 r"have .* more, and a worker takes 512 MiB$", job.status().get("waiting") or ""),
               "the reason to be told")
    (tony.directory / "go").touch()
    assert job.wait() == 0
