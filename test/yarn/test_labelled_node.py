"""What takes a node of its own: labels, and jobs that compete. The suite's fourth node is reached by its
label only and offers 4096 MB, so that this file alone decides how full it is."""

import json
import os
import signal

import kit
import pytest
from program import PATIENCE_S, wait_until
from test_am_restart import identity, kill_am, wait_am
from tony_rows import NO_RETRIES

pytestmark = pytest.mark.usefixtures("labelled_node")

HOST = f"127.0.0.{kit.LABELLED_NODE + 1}"
LABELLED = {"tony.worker.node-label": "fast", **NO_RETRIES}


def go_command(tony, name="go"):
    return f"./exit_after.sh {tony.directory}/{name} 0"


def test_label_of_a_type(tony):
    job = tony.submit({"tony.worker.instances": 2, "tony.ps.instances": 1, **LABELLED}, "--executes",
                      go_command(tony))
    assert {job.wait_task(f"worker:{i}")["host"] for i in (0, 1)} == {HOST}
    assert job.wait_task("ps:0")["host"] != HOST
    (tony.directory / "go").touch()
    assert job.wait() == 0


def test_label_of_the_application_and_of_the_am(tony):
    job = tony.submit({"tony.application.node-label": "fast", "tony.am.node-label": "fast",
                       "tony.worker.instances": 1}, "--executes", go_command(tony))
    assert job.wait_task("worker:0")["host"] == HOST
    assert job.application()["amHostHttpAddress"].split(":")[0] == HOST
    (tony.directory / "go").touch()
    assert job.wait() == 0


def test_an_executor_is_lost_on_the_only_node_of_its_label(tony):
    """No other node has the label: if this one were avoided, the job would wait for ever."""
    job = tony.submit({"tony.worker.instances": 2, "tony.worker.node-label": "fast"}, "--executes", go_command(tony))
    job.wait_task("worker:0")
    job.wait_task("worker:1")
    os.kill(wait_until(lambda: job.task("worker:1").get("executor_pid"), "the AM to be found"), signal.SIGKILL)
    assert job.wait_task("worker:1", attempt=2)["host"] == HOST
    (tony.directory / "go").touch()
    assert job.wait() == 0


def test_AllocationTimeoutShouldFail_because_another_job_holds_the_node(tony):
    large = {"tony.worker.instances": 1, "tony.worker.memory": "3g", **LABELLED}
    first = tony.submit(large, "--executes", "sleep 1000")
    first.wait_task("worker:0")
    answer, second = tony.job({**large, "tony.container.allocation.timeout": 2000}, "--executes", "exit 0")
    assert answer.returncode != 0
    assert second.status()["cause"]["kind"] == "allocation-timeout"
    assert first.task("worker:0")["state"] == "running"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, "kill"])
def test_a_job_that_waits_for_its_am_is_ended_at_once(tony, how):
    """Nothing of it runs that could need time to stop. The node is full to the end, so its AM never comes."""
    first = tony.submit({"tony.worker.instances": 1, "tony.worker.memory": "3g", **LABELLED}, "--executes", "sleep 1000")
    first.wait_task("worker:0")
    client = tony.start(*tony.arguments({"tony.worker.instances": 1, "tony.am.memory": "3g", "tony.am.node-label": "fast"},
                                        "--executes", "true"))
    second = tony.found_job(client.stdout.readline())
    if how == "kill":
        answer = tony.run("kill", second.id)
        assert (answer.returncode, answer.stdout) == (0, f"{second.id} killed\n"), answer.stderr
    else:
        client.send_signal(how)
    output, errors = client.communicate(timeout=PATIENCE_S)
    assert client.returncode == 8 and "killed by the user" in output, output + errors
    second.wait_final("KILLED")
    assert tony.cluster.list(second.files) == []
    assert first.task("worker:0")["state"] == "running"


@pytest.mark.parametrize("detached, key", [(False, "tony.am.startup-timeout"), (True, "tony.am.startup-timeout"),
                                          (False, "tony.application.timeout")],
                         ids=["watched", "detached", "whole"])
@pytest.mark.promise("T29")
def test_AMStartupTimeoutShouldFail(tony, detached, key):
    """There is no room for its AM; who watches the job, or waits for it later, ends it and says why."""
    large = {"tony.worker.instances": 1, "tony.worker.memory": "3g", **LABELLED}
    first = tony.submit(large, "--executes", "sleep 1000")
    first.wait_task("worker:0")
    late = {"tony.worker.instances": 1, "tony.am.memory": "3g", "tony.am.node-label": "fast",
            key: 1000}
    if detached:
        second = tony.submit(late, "--executes", "true")
        answer = tony.run("wait", second.id)
    else:
        answer, second = tony.job(late, "--executes", "true")
    assert answer.returncode != 0
    assert second.ended_application()["state"] == "KILLED"
    status = second.status()
    assert status["outcome"] == "killed"
    assert status["message"] == f"the application master has not started within 1.0 s ({key})"
    assert status["message"] in answer.stdout
    assert first.task("worker:0")["state"] == "running"


def test_two_jobs_that_each_fit_alone_both_finish(tony):
    """Each gets a part of the node; who holds back what the other needs gives it up, and tries again."""
    gang = {"tony.worker.instances": 3, "tony.worker.memory": "1g", "tony.worker.node-label": "fast",
            "tony.container.allocation.timeout": 0}
    jobs = [tony.submit(gang, "--executes", "sleep 1") for _ in range(2)]
    assert [job.wait(180) for job in jobs] == [0, 0]


def test_what_a_job_waits_for_is_told(tony):
    large = {"tony.worker.instances": 1, "tony.worker.memory": "3g", "tony.worker.node-label": "fast"}
    first = tony.submit(large, "--executes", go_command(tony))
    first.wait_task("worker:0")
    second = tony.submit(large, "--executes", "true")
    wait_until(lambda: (waiting := second.status().get("waiting")) and waiting in tony.run("status", second.id).stdout,
               "the reason to be told")   # which changes
    (tony.directory / "go").touch()
    assert [first.wait(), second.wait()] == [0, 0]


@pytest.mark.parametrize("key", ["tony.worker.node-label", "tony.application.node-label", "tony.am.node-label"])
def test_unknown_label_is_refused_before_anything_is_submitted(tony, key):
    answer, job = tony.job({"tony.worker.instances": 1, key: "slow"}, "--executes", "true")
    assert answer.returncode == 3, answer.stdout + answer.stderr
    assert job is None
    assert key in answer.stderr and "slow" in answer.stderr and "fast" in answer.stderr


SAYS_WHY = """exec bash -c 'trap "cat $TONY_PREEMPTED >{told}; exit 1" TERM; until [ -e {go} ]; do sleep 0.1; done'"""


def test_a_task_moves_before_its_node_is_decommissioned(tony):
    """As one that is preempted: its program ends in good order, knows why, and costs no retry."""
    told, go = tony.directory / "told", tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.node-label": "fast", "tony.worker.stop-grace": "90s"},
                      "--executes", SAYS_WHY.format(told=told, go=go))
    job.wait_task("worker:0")
    tony.cluster.kit("decommission", kit.LABELLED_NODE, "--timeout", 120)
    try:
        wait_until(lambda: told.exists() and told.read_text() == "the scheduler takes its container back\n",
                   "the program to be told")
        wait_until(lambda: job.task("worker:0")["state"] == "requested", "another container to be asked for")
    finally:
        tony.cluster.kit("recommission", kit.LABELLED_NODE)
    job.wait_task("worker:0", attempt=2)
    go.touch()
    assert job.wait() == 0
    status = job.status()
    assert status["tasks"][0]["cause"]["kind"] == "preempted"
    assert f"its machine, {HOST}, is decommissioned in" in status["tasks"][0]["cause"]["text"]
    assert f"{HOST} is decommissioned in 2 m 00 s: worker:0 moves now" in notes(job)
    assert f"{HOST} is not decommissioned after all" in notes(job)
    assert (status["retries"], status["infrastructure_retries"]) == (0, 0)


def notes(job):
    return [event["text"] for event in job.events() if event["ev"] == "note"]


def test_an_am_that_follows_moves_tasks_from_a_node_that_is_decommissioned(tony):
    """The ResourceManager tells no AM a second time: the next one asks."""
    told, go = tony.directory / "told", tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.node-label": "fast"}, "--executes",
                      SAYS_WHY.format(told=told, go=go))
    job.wait_task("worker:0")
    tony.cluster.kit("decommission", kit.LABELLED_NODE, "--timeout", 3600)
    try:
        wait_until(lambda: any("unless it ends sooner" in note for note in notes(job)), "the AM to be told")
        kill_am(job)
        wait_until(told.exists, "the program to be told")
        wait_until(lambda: job.task("worker:0")["state"] == "requested", "another container to be asked for")
    finally:
        tony.cluster.kit("recommission", kit.LABELLED_NODE)
    job.wait_task("worker:0", attempt=2)
    go.touch()
    assert job.wait() == 0
    assert f"{HOST} is decommissioned, for how long already is not known: worker:0 moves now" in notes(job)
    assert f"{HOST} is not decommissioned after all" in notes(job)


def test_a_job_is_told_as_it_was_while_its_next_am_waits_for_a_container(tony):
    job = tony.submit({"tony.worker.instances": 1, "tony.am.node-label": "fast", "tony.task.executor.am-timeout": "10m"},
                      "--executes", go_command(tony))
    before = identity(job.wait_task("worker:0"))
    tony.cluster.kit("decommission", kit.LABELLED_NODE, "--timeout", 120)
    try:
        kill_am(job)
        status = wait_until(lambda: "the application master waits" in ((now := job.status()).get("waiting") or "") and now,
                            "the job to wait for its next AM")
        assert status["state"] == "running"
        assert identity(status["tasks"][0])[1:] == before[1:]   # its processes only an AM knows
        elsewhere = tony.run("status", "--json", job.id, env={"TONY_STATE_DIR": str(tony.directory / "elsewhere")})
        assert identity(json.loads(elsewhere.stdout)["tasks"][0])[1:] == before[1:]
    finally:
        tony.cluster.kit("recommission", kit.LABELLED_NODE)
    wait_am(job, 2)
    assert identity(job.wait_task("worker:0")) == before
    (tony.directory / "go").touch()
    assert job.wait() == 0
