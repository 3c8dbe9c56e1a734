"""YARN takes containers back: a queue wants what is guaranteed to it, and another one has it."""

# Each of the two queues has a right to half of the 12 GB. Two workers fill a node.
CLUSTER = {"--nodes": 3, "--heartbeat-ms": 100, "--preemption-ms": 10000}
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
