"""YARN takes containers back: a queue wants what is guaranteed to it, and another one has it."""

import os

from program import wait_until
from test_am_restart import kill_am

# Each of the two queues has a right to half of the 12 GB while the others are empty, and "mine" to a tenth. Two workers fill a
# node.
CLUSTER = {"--nodes": 3, "--heartbeat-ms": 100, "--preemption-ms": 10000, "--limited-queues": None}
TRAPS = """exec bash -c 'trap "touch {stopped}-$TASK_INDEX; exit 1" TERM; until [ -e {go} ]; do sleep 0.1; done'"""


def gang(workers, queue):
    return {"tony.worker.instances": workers, "tony.worker.memory": "1900m", "tony.yarn.queue": queue,
            "tony.application.framework": "pytorch", "tony.am.retry-count": 0}


def test_a_queue_gets_what_it_is_entitled_to(own_tony):
    """The job that has more than its share ends tasks in good order as soon as it is told, not when YARN kills
    them, and has others once there is room. That costs none of its retries."""
    tony = own_tony
    command = TRAPS.format(stopped=tony.directory / "stopped", go=tony.directory / "go")
    large = tony.submit(gang(6, "default"), "--executes", command)
    for index in range(6):
        large.wait_task(f"worker:{index}")
    answer, small = tony.job(gang(3, "ml"), "--executes", "true", timeout=180)
    assert answer.returncode == 0, answer.stderr
    (tony.directory / "go").touch()
    assert large.wait(180) == 0
    status = large.status()
    taken = [task for task in status["tasks"] if task["attempt"] > 1]
    assert len(taken) >= 3
    assert all(task["cause"]["kind"] == "preempted" and "is preempted" in task["cause"]["text"] for task in taken)
    assert all((tony.directory / f"stopped-{task['task'].partition(':')[2]}").exists() for task in taken)
    assert status["retries"] == 0


def submit_both(tony):
    """A large job that runs, and the claimant, where each node has room for two workers and some more that is of no use."""
    command = TRAPS.format(stopped=tony.directory / "stopped", go=tony.directory / "go")
    large = tony.submit(gang(6, "default") | {"tony.worker.memory": "1400m", "tony.am.infrastructure-retry-count": 0},
                        "--executes", command)
    for index in range(6):
        large.wait_task(f"worker:{index}")
    small = tony.submit(gang(3, "ml") | {"tony.worker.memory": "1400m", "tony.am.memory": "256m"}, "--executes", "true")
    return large, small


def test_a_claimant_runs_where_memory_is_in_pieces(own_tony):
    """Each node has room for two workers and some more that is of no use. YARN takes two of the large job's containers, and counts
    what the small one has reserved as if it had it: neither would run. The large job gives back what it holds idle."""
    tony = own_tony
    large, small = submit_both(tony)
    assert small.wait() == 0
    assert any("no node has 1.4 GiB free in one piece" in (event.get("text") or "") for event in small.events()
               if event["ev"] == "waiting")
    assert large.status()["state"] in ("running", "reforming")
    (tony.directory / "go").touch()
    assert large.wait() == 0
    status = large.status()
    assert (status["retries"], status["infrastructure_retries"]) == (0, 0)


def test_two_gangs_whose_ams_are_killed(own_tony):
    """The claimant's while it holds one or two containers of three, as YARN takes them, the other one's while its job re-forms."""
    tony = own_tony
    large, small = submit_both(tony)
    wait_until(lambda: (small.status().get("waiting") or "").startswith(("waits for 1 of 3 ", "waits for 2 of 3 ")), "some of three to come")
    kill_am(small)
    wait_until(lambda: large.status()["state"] == "reforming", "it to be preempted")
    kill_am(large)
    assert small.wait() == 0
    (tony.directory / "go").touch()
    assert large.wait() == 0
    status = large.status()
    assert (status["retries"], status["infrastructure_retries"]) == (0, 0)


def latest_am(job):
    return [event["attempt"] for event in job.events() if event["ev"] == "am"][-1]


def test_an_am_is_preempted(own_tony):
    """YARN takes tasks first, so it is the AM of a job that has none: a user gets no more of this queue. The next AM waits for
    room; that is told, and none of the two that a job may lose."""
    tony = own_tony
    alone = tony.submit({"tony.worker.instances": 1, "tony.am.memory": "3g", "tony.yarn.queue": "mine"},
                        "--wait-for-capacity", "--executes", "true")
    wait_until(lambda: (alone.status().get("waiting") or "").startswith("waits for 1 of 1 container"), "its AM to come")
    command = TRAPS.format(stopped=tony.directory / "stopped", go=tony.directory / "go")
    large = tony.submit(gang(4, "default"), "--executes", command)
    for index in range(4):
        large.wait_task(f"worker:{index}")
    small = tony.submit(gang(2, "ml"), "--executes", f"./exit_after.sh {tony.directory}/go 0")
    # YARN may give the next AM a container at once, and take that back, too: then nothing is waited for.
    is_told = wait_until(lambda: "told" if (text := alone.status().get("waiting") or "").startswith(
        "the application master waits for a container in queue ") and text.endswith(
        "; before, the application master was preempted: YARN took its container back for others") else
        latest_am(alone) > 1 and "begun", "its end to be told, or the next AM") == "told"
    assert not is_told or "before, the application master was preempted" in tony.run("events", alone.id).stdout
    (tony.directory / "go").touch()
    assert small.wait() == large.wait() == 0
    attempt = 1
    for is_last in (False, True):
        attempt = wait_until(lambda before=attempt: (last := latest_am(alone)) > before and last, "the next AM")
        status = wait_until(lambda: (status := alone.status())["am_pid"] and status, "the next AM to be heard")
        assert status["state"] == "forming" and status["retries"] == 0
        if not is_last:
            os.kill(status["am_pid"], 9)
    assert tony.run("kill", alone.id).returncode == 0
