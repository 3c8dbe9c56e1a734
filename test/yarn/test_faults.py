"""What happens when parts of the cluster die under a job, one at a time, and what users see of it. The file has a cluster of
its own to break. Several at once, by seeds, are test/fault's: `./dev fault --kind yarn`."""

import contextlib
import json
import os
import signal

import pytest
from program import PATIENCE_S, PYTHON, stand_still, wait_until
from test_am_restart import kill_am, wait_am
from test_full import WELL_AGAIN, expect_end, metric, submit_writer, told

CLUSTER = {"--nodes": 3, "--heartbeat-ms": 100, "--expiry-ms": 10000, "--recovery": None}
PYTORCH = {"tony.application.framework": "pytorch", "tony.am.retry-delay": "10ms"}


@pytest.fixture
def tony(own_tony):
    return own_tony


@contextlib.contextmanager
def silent(*pids):
    """They take connections, and say nothing."""
    stand_still(*pids)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def pid_of(tony, daemon):
    return int((tony.cluster.directory / "pid" / daemon).read_text().split()[0])


def node_of(host):
    return int(host.rpartition(".")[2]) - 1


def start(tony, workers=2, **keys):
    job = tony.submit({"tony.worker.instances": workers, **PYTORCH, **keys}, "--executes",
                      f"./exit_after.sh {tony.directory}/go 0")
    for index in range(workers):
        job.wait_task(f"worker:{index}")
    return job


def finish(tony, job):
    (tony.directory / "go").touch()
    return job.wait(180)


def test_a_node_is_lost_with_a_task_on_it(tony):
    """The machine is gone: its task gets another container, the job forms anew and succeeds."""
    job = start(tony, 3, **{"tony.worker.memory": "1500m"})   # of which a node has room for two
    am = job.application()["amHostHttpAddress"].split(":")[0]
    task = next(task for task in job.status()["tasks"] if task["host"] != am)
    node = node_of(task["host"])
    tony.cluster.kill("nm", node, containers=True)
    try:
        replaced = job.wait_task(task["task"], attempt=task["attempt"] + 1)
        assert replaced["host"] != task["host"]
        assert finish(tony, job) == 0
    finally:
        tony.cluster.restart("nm", node)


def test_a_killed_executor_is_replaced(tony):
    job = start(tony)
    before = job.wait_task("worker:1")
    os.kill(before["executor_pid"], 9)
    assert job.wait_task("worker:1", attempt=2)["container"] != before["container"]
    assert finish(tony, job) == 0


def test_the_resource_manager_restarts_under_a_job(tony):
    """The AM registers again and goes on; no task notices."""
    job = start(tony)
    before = {name: job.wait_task(name)["pids"] for name in ("worker:0", "worker:1")}
    tony.cluster.restart("rm")
    wait_until(lambda: {name: job.task(name).get("pids") for name in before} == before, "the same processes")
    assert finish(tony, job) == 0
    job.wait_final("SUCCEEDED")


def test_who_follows_a_job_outlasts_the_resource_manager(tony):
    """The AM is still there to be asked; the end comes once the ResourceManager is back to be told."""
    job = start(tony)
    said = tony.directory / "said"
    with said.open("w") as output:
        client = tony.start("events", "-f", job.id, stdout=output)
    wait_until(said.read_text, "the job's beginning")
    tony.cluster.kill("rm")
    try:
        (tony.directory / "go").touch()
        wait_until(lambda: "job finishing" in said.read_text(), "the end to begin")
    finally:
        tony.cluster.restart("rm")
    _, errors = client.communicate(timeout=180)
    assert "end: succeeded" in said.read_text() and client.returncode == 0, said.read_text() + errors
    assert errors.count("trying again") <= 1 + errors.count("answers again"), errors
    wait_until(lambda: job.application()["finalStatus"] == "SUCCEEDED", "the ResourceManager to know")


def test_a_job_is_asked_while_the_resource_manager_is_away(tony):
    job = start(tony)
    pids = job.wait_task("worker:0")["pids"]
    tony.cluster.kill("rm")
    try:
        answer = tony.run("status", "--json", job.id, timeout=180)
        assert answer.returncode == 0, answer.stderr
        assert pids == next(task["pids"] for task in json.loads(answer.stdout)["tasks"] if task["task"] == "worker:0")
        assert answer.stderr.count("trying again") == 1
        answer = tony.run("status", timeout=180)
        assert answer.returncode == 5 and "which job is the newest is not known" in answer.stderr, answer.stdout
    finally:
        tony.cluster.restart("rm")
    assert finish(tony, job) == 0


def test_a_silent_resource_manager_is_told_and_ctrl_c_leaves(tony):
    client = tony.start(*tony.arguments({"tony.worker.instances": 1}, "--executes", "sleep 600"))
    job = tony.found_job(client.stdout.readline())
    job.wait_task("worker:0")
    with silent(pid_of(tony, "rm"), job.status()["am_pid"]):
        client.send_signal(signal.SIGINT)
        wait_until(lambda: "ResourceManager at " in (line := client.stderr.readline()) and "no answer yet; waiting for up to 2 m 00 s" in line,
                   "the client to say for whom it waits")
        client.send_signal(signal.SIGINT)
        output, errors = client.communicate(timeout=PATIENCE_S)
    assert client.returncode == 130 and f"{job.id} could not be asked to stop, and goes on" in output, output + errors
    tony.run("kill", job.id, timeout=PATIENCE_S)
    job.wait_final("KILLED")


def test_a_job_that_waits_is_killed_while_the_name_node_is_silent(tony):
    """It waits since two AMs of this size are more than the cluster has."""
    keys = {"tony.worker.instances": 1, "tony.am.memory": "4000m"}
    jobs = [tony.submit(keys, "--wait-for-capacity", "--executes", "sleep 600") for _ in range(4)]
    last = jobs[-1]
    wait_until(lambda: "waits for a container" in (last.status().get("waiting") or ""), "the last one to wait")
    with silent(pid_of(tony, "nn")):
        answer = tony.run("kill", last.id, timeout=PATIENCE_S)
        assert (answer.returncode, answer.stdout) == (0, f"{last.id} killed\n"), answer.stderr
        assert f"{last.id} is killed; a later tony list or tony submit removes its files" in answer.stderr
    assert last.id in tony.run("list", "--all").stdout
    for job in jobs[:-1]:
        tony.run("kill", "--force", job.id)


def test_containers_are_had_after_the_resource_manager_restarted(tony):
    job = start(tony)
    tony.cluster.restart("rm")
    executor = wait_until(lambda: job.task("worker:1").get("executor_pid"), "the AM to be found")
    os.kill(executor, 9)
    job.wait_task("worker:1", attempt=2)
    assert finish(tony, job) == 0


def test_a_killed_am_is_followed_by_another(tony):
    """A new attempt of the application runs the job; the client finds it by itself."""
    job = start(tony)
    client = tony.start("wait", job.id)
    before = job.status()["am_pid"]
    os.kill(before, 9)
    wait_until(lambda: (status := tony.run("status", "--json", job.id)).returncode == 0
               and f'"am_pid": {before}' not in status.stdout and '"running"' in status.stdout,
               "another AM with running tasks")
    assert finish(tony, job) == 0
    assert client.wait(PATIENCE_S) == 0
    assert len(tony.cluster.rm(f"apps/{job.id}/appattempts")["appAttempts"]["appAttempt"]) == 2


def test_an_am_that_a_signal_ends_says_so_as_a_shell_does(tony):
    """So its node's own reason stays, where the node has ended it."""
    job = start(tony, **{"tony.am.max-attempts": 1})
    os.kill(job.status()["am_pid"], signal.SIGTERM)
    report = wait_until(lambda: (report := job.application())["state"] == "FAILED" and report, "the application to end")
    assert "exitCode: 143" in report["diagnostics"]
    assert job.wait() == 1


def test_the_name_node_is_down_at_submit(tony):
    """Refused with the address that does not answer, and no application is left waiting."""
    before = tony.cluster.rm("apps")
    tony.cluster.kill("nn")
    try:
        answer, job = tony.job({"tony.worker.instances": 1}, "--executes", "true")
        assert answer.returncode != 0 and job is None
        assert tony.cluster.env["WEBHDFS_URL"].split("/")[2] in answer.stderr
    finally:
        tony.cluster.restart("nn")
    assert count(tony.cluster.rm("apps")) == count(before)


def test_a_job_succeeds_while_there_is_no_data_node(tony):
    """Its AM cannot publish it, and leaves. The ResourceManager's word counts until the journal that the AM has kept
    can be read, which is then published."""
    job = start(tony, 1)
    tony.cluster.kill("dn")
    try:
        (tony.directory / "go").touch()
        assert job.ended_application()["finalStatus"] == "SUCCEEDED"
        wait_until(lambda: not job.processes(), "its AM to leave")
        answer = tony.run("wait", job.id)
        assert answer.returncode == 0 and f"{job.id} succeeded: " in answer.stdout, answer.stdout + answer.stderr
    finally:
        tony.cluster.restart("dn")
    wait_until(lambda: tony.run("list").returncode == 0 and "summary.json" in tony.cluster.list(job.history), "its history")
    tony.forget()
    status = job.status()
    assert (status["state"], status["tasks"][0]["state"]) == ("succeeded", "succeeded")
    # A NodeManager tries once to store the logs, and removes them.
    answer = tony.run("logs", "--executor", "worker:0", job.id)
    assert "worker:0" in answer.stdout or "its NodeManager has not stored the logs" in answer.stderr, answer


def expect_trouble(tony, job, *words):
    """Of the checkpoints of its only task, and of what is kept of the job: wherever users look."""
    for kind in WELL_AGAIN:
        wait_until(lambda kind=kind: told(job, kind), f"the trouble of {kind} to be told")
        [event] = told(job, kind)
        assert event["trouble"] and any(word in event["text"] for word in words), event
    status = tony.run("status", job.id).stdout
    for [event] in (told(job, kind) for kind in WELL_AGAIN):
        assert event["text"] in status, status
    assert metric(job, "tony_task_store_trouble_milliseconds") > 0 and metric(job, "tony_job_store_trouble_milliseconds") > 0


def expect_success(tony, job, end):
    expect_end(job, WELL_AGAIN)
    assert "warning" not in tony.run("status", job.id).stdout
    assert metric(job, "tony_task_store_trouble_milliseconds") == metric(job, "tony_job_store_trouble_milliseconds") == 0
    end.touch()
    assert job.wait() == 0
    first = f"/user/{tony.cluster.user}/.tony/checkpoints/{job.id}/first"
    assert tony.cluster.get(first) == b"first\n"


def test_safe_mode_under_a_job(tony):
    """The NameNode takes nothing for a while: told until it is over."""
    job, go, end = submit_writer(tony)
    tony.cluster.kit("hdfs", "dfsadmin", "-safemode", "enter")
    try:
        go.touch()
        expect_trouble(tony, job, "in safe mode")
    finally:
        tony.cluster.kit("hdfs", "dfsadmin", "-safemode", "leave")
    expect_success(tony, job, end)


def by_number(text):
    """Of several lines with a number, the one that was told last."""
    return {line["seq"]: line for line in map(json.loads, text.splitlines()) if line["seq"]}


@pytest.mark.promise("R37")
def test_followers_hear_what_took_the_place_of_events_that_nobody_kept(tony):
    """The AM tells of them while HDFS takes nothing, and is killed then: the next one knows nothing of them."""
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1}, "--executes", f"exec {PYTHON} web_program.py {go}")
    job.wait_task("worker:0")
    follower, waiter = tony.start("events", "--json", "-f", job.id), tony.start("wait", job.id)
    tony.cluster.kit("hdfs", "dfsadmin", "-safemode", "enter")
    try:
        go.touch()
        told = ""
        while '"ev":"store"' not in told:
            told += follower.stdout.readline()
        kill_am(job)
    finally:
        tony.cluster.kit("hdfs", "dfsadmin", "-safemode", "leave")
    wait_am(job, 2)
    wait_until(lambda: "ui_url" in job.task("worker:0"), "the next AM to hear of the interface")
    assert tony.run("kill", job.id).returncode == 0
    assert waiter.wait(PATIENCE_S) != 0
    told += follower.stdout.read()
    numbers = [line["seq"] for line in map(json.loads, told.splitlines()) if line["seq"]]
    assert len(set(numbers)) < len(numbers), "no line took another one's place"
    told = by_number(told)
    assert told == by_number(tony.run("events", "--json", job.id).stdout)
    assert [line["attempt"] for line in told.values() if line["ev"] == "am"] == [1, 2]


@pytest.mark.promise("R69")
def test_an_am_that_follows_hears_of_an_epoch_that_nobody_kept(tony):
    """The cluster forms anew while HDFS takes nothing, and the AM is killed then: its executors are an epoch ahead."""
    go, end = tony.directory / "go", tony.directory / "end"
    script = f'if [ "$TONY_EPOCH$TASK_INDEX" = 10 ]; then until [ -e {go} ]; do sleep 0.1; done; exit 1; fi; ' \
             f"until [ -e {end} ]; do sleep 0.1; done"
    job = tony.submit({"tony.worker.instances": 2, "tony.am.retry-count": 1, **PYTORCH}, "--executes", f"sh -c '{script}'")
    for task in "worker:0", "worker:1":
        job.wait_task(task)
    tony.cluster.kit("hdfs", "dfsadmin", "-safemode", "enter")
    try:
        go.touch()
        for task in "worker:0", "worker:1":
            job.wait_task(task, epoch=2)
        kill_am(job)
    finally:
        tony.cluster.kit("hdfs", "dfsadmin", "-safemode", "leave")
    wait_am(job, 2)
    for task in "worker:0", "worker:1":
        assert job.wait_task(task, epoch=3)["attempt"] == 1
    assert "no store has taken how that began" in tony.run("events", job.id).stdout
    end.touch()
    assert job.wait() == 0


def test_hdfs_is_full_under_a_job(tony):
    """Each DataNode keeps more for others than its disk has."""
    job, go, end = submit_writer(tony)
    site = tony.cluster.directory / "conf/hdfs-site.xml"
    before = site.read_text()
    site.write_text(before.replace("</configuration>", "<property><name>dfs.datanode.du.reserved</name>"
                                   f"<value>{1 << 60}</value></property></configuration>"))
    try:
        tony.cluster.restart("dn")
        go.touch()
        expect_trouble(tony, job, "Failed to find datanode", "could only be written to 0 of the 1 minReplication nodes")
    finally:
        site.write_text(before)
        tony.cluster.restart("dn")
    expect_success(tony, job, end)


def count(apps):
    return len((apps["apps"] or {}).get("app", []))
