"""Every verb of `tony` on a cluster: the same as on one machine, while the job runs and after its end."""

import contextlib
import json
import os
import re
import signal
import urllib.error
import urllib.request

import pytest
from patience import let_pass
from program import PATIENCE_S, PYTHON, describe, read_environ, wait_until
from site_files import as_system_files


@pytest.fixture
def running(tony):
    job = tony.submit({"tony.application.name": "fox", "tony.worker.instances": 2}, "--executes",
                      f"echo hello from $TASK_INDEX; echo trouble >&2; ./exit_after.sh {tony.directory}/go 0")
    job.wait_task("worker:0")
    job.wait_task("worker:1")
    return job


def finish(tony, job):
    (tony.directory / "go").touch()
    return job.wait()


@pytest.mark.short
def test_logs_of_a_running_job_and_of_an_ended_one(tony, running):
    running.wait_log("worker:0", "hello from 0")
    running.wait_log("worker:1", "hello from 1")
    running.wait_log("worker:1", "trouble", "stderr")
    for moment in ("live", "collected"):
        assert tony.run("logs", "--grep", "from [1]", running.id).stdout == "worker:1| hello from 1\n", moment
        assert tony.run("logs", "--grep", "from 2", running.id).returncode == 1, moment
        if moment == "live":
            follower = tony.start("logs", "-f", "--grep", "llo from 1", running.id)
            assert follower.stdout.readline() == "worker:1| hello from 1\n"
            assert finish(tony, running) == 0
    assert follower.communicate(timeout=PATIENCE_S)[0] == "" and follower.returncode == 0
    assert running.logs("worker:1") == "hello from 1\n"
    assert running.logs("worker:1", "stderr") == "trouble\n"
    merged = tony.run("logs", running.id).stdout
    assert "hello from 0" in merged and "hello from 1" in merged


def send(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):   # what the program had started
            os.kill(pid, number)


def test_a_search_finds_all_of_a_container_that_ends_meanwhile(tony):
    """Its executor is asked for the lines, and killed before it has answered: its node is asked."""
    job = tony.submit({"tony.worker.instances": 2, "tony.am.retry-count": 1}, "--executes",
                      f"echo attempt $TONY_TASK_ATTEMPT; ./exit_after.sh {tony.directory}/go 0")
    job.wait_log("worker:0", "attempt 1")
    job.wait_log("worker:1", "attempt 1")
    mark = f"CONTAINER_ID={job.wait_task('worker:0')['container']}".encode()
    container = [pid for pid in job.processes() if mark in read_environ(pid)]
    send(container, signal.SIGSTOP)
    search = tony.start("logs", "--grep", "attempt 1", job.id)
    let_pass(2)
    send(container, signal.SIGKILL)
    lines = search.communicate(timeout=PATIENCE_S)[0].splitlines()
    assert set(lines) == {"worker:0| attempt 1", "worker:1| attempt 1"}   # the latter starts anew, perhaps before
    assert search.returncode == 0
    assert finish(tony, job) == 0


def test_what_yarn_collects_while_the_job_runs_is_the_programs_own_alone(tony):
    """A NodeManager deletes what it has collected: that must not be the journal, or a log that is still written."""
    keys = {"tony.worker.instances": 1, "tony.yarn.rolled-log-include": ".*", "tony.yarn.rolled-log-exclude": "^kept"}
    said = tony.run("check", "--conf", "tony.yarn.rolled-log-include=.*", "--type", "worker=1", "--memory", "64m", "--executes", "true")
    assert 'tony.yarn.rolled-log-include: ".*" means stdout, too' in said.stderr, said.stdout + said.stderr
    program = ("cd ${LOG_DIRS%%,*}; echo before; echo mine >mine.log; echo kept >kept.log; while [ -e mine.log ]; do sleep 0.1; done; "
               "ls; echo after; echo trouble >&2")
    answer, job = tony.job(keys, "--executes", program)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    names = job.logs("worker:0").splitlines()
    assert (names[0], names[-1]) == ("before", "after")
    assert {"stdout", "stderr", "stdout.times", "executor.log", "kept.log", "prelaunch.err"} < set(names)
    assert job.logs("worker:0", "stderr") == "trouble\n"
    assert "registered with the ResourceManager" in tony.run("logs", "--am", job.id).stdout
    status = job.status()
    assert (status["message"], status["tasks"][0]["state"]) == ("the job succeeded", "succeeded")


def test_a_beginning_that_was_rotated_away_is_told(tony):
    _, job = tony.job({"tony.worker.instances": 1, "tony.task.log-rotate-size": "1m", "tony.task.log-keep": 1}, "--executes",
                      "seq 1000000 1400000")
    answer = tony.run("logs", job.id)
    assert re.match(r"tony: of stdout of worker:0 only the last .* of 3\.1 MiB are left: .* rotated away", answer.stderr), answer.stderr
    assert answer.stdout.endswith("1400000\n")


def test_logs_follow(tony):
    job = tony.submit({"tony.worker.instances": 1}, "--executes",
                      f"echo first; ./exit_after.sh {tony.directory}/go 0; echo last")
    job.wait_task("worker:0")
    follower = tony.start("logs", "-f", job.id)
    assert follower.stdout.readline() == "first\n"
    (tony.directory / "go").touch()
    assert follower.stdout.readline() == "last\n"
    assert follower.wait(PATIENCE_S) == 0


@pytest.mark.short
def test_the_am_tells_logs_of_other_machines_to_their_end(tony):
    job = tony.submit({"tony.worker.instances": 1}, "--executes",
                      f"echo first; ./exit_after.sh {tony.directory}/go 0; echo last")
    job.wait_task("worker:0")
    url, authorization = job.status()["am_url"], {"Authorization": f"Bearer {job.token()}"}

    def ask(query):
        request = urllib.request.Request(f"{url}/v1/tasks/worker:0/logs/{query}", headers=authorization)
        return urllib.request.urlopen(request, timeout=PATIENCE_S)

    def read(query):
        with ask(query) as answer:
            return answer.read().decode()

    followers = [ask("stdout?follow=1&attempt=1") for _ in range(3)]   # whose answers have begun
    wait_until(lambda: read("stdout") == "first\n", "the first line")
    assert read("stdout?offset=-3") == "st\n"
    assert "started process" in read("executor")
    (tony.directory / "go").touch()
    assert {follower.read() for follower in followers} == {b"first\nlast\n"}
    assert job.wait() == 0


@pytest.mark.short
def test_logs_of_a_task_that_has_ended_while_its_job_goes_on(tony):
    """Its executor has left; its node has what it wrote."""
    job = tony.submit({"tony.worker.instances": 2}, "--executes", "echo from $TONY_TASK; test $TONY_TASK = worker:1 || sleep 1000")
    job.wait_task("worker:1", "succeeded")
    for moment in ("its executor is there", "its executor has left"):
        assert tony.run("logs", "--task", "worker:1", job.id).stdout == "from worker:1\n", moment
        wait_until(lambda: b"its node has its logs" in job.rest("GET", "/v1/tasks/worker:1/logs/stdout")[1],
                   "its executor to leave")
    assert sorted(tony.run("logs", job.id).stdout.splitlines()) == ["worker:0| from worker:0", "worker:1| from worker:1"]
    following = tony.start("logs", "--follow", job.id)
    assert sorted(following.stdout.readline() for _ in range(2)) == ["worker:0| from worker:0\n",
                                                                      "worker:1| from worker:1\n"]
    assert tony.run("kill", job.id).returncode == 0
    assert following.communicate(timeout=PATIENCE_S)[0] == ""


def test_status_list_and_events(tony, running):
    listed = tony.run("list").stdout
    assert running.id in listed and "fox" in listed
    assert "worker:1" in tony.run("status", running.id).stdout
    assert finish(tony, running) == 0
    status = running.status()
    assert status["state"] == "succeeded"
    assert {task["state"] for task in status["tasks"]} == {"succeeded"}
    assert "succeeded" in json.dumps(running.events()[-1])


def test_kill(tony, running):
    assert tony.run("kill", running.id).returncode == 0
    assert running.wait() != 0
    assert running.status()["state"] == "killed"
    running.wait_final("KILLED")


def test_ctrl_c_before_there_is_an_am(tony):
    """Its AM may start just then."""
    client = tony.start(*tony.arguments({"tony.worker.instances": 1}, "--executes", "sleep 600"))
    job = tony.found_job(client.stdout.readline())
    client.send_signal(signal.SIGINT)
    output, errors = client.communicate(timeout=PATIENCE_S)
    assert client.returncode == 8, output + errors
    assert "killed by the user: Ctrl-C" in output
    job.wait_final("KILLED")


def test_wait_has_the_exit_code_of_the_job(tony):
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "exit 7")
    assert job.wait() == 1
    assert job.status()["cause"]["exit_code"] == 7


def test_restart_of_a_task(tony, running):
    before = running.wait_task("worker:1")["pids"][0]
    answer = tony.run("restart", running.id, "worker:1")
    assert answer.returncode == 0, answer.stderr
    wait_until(lambda: (task := running.task("worker:1"))["state"] == "running" and task.get("pids")
               and task["pids"][0] != before, "another process")
    assert finish(tony, running) == 0


def test_another_machine_can_tell_at_every_moment_of_the_end(tony, running):
    """The AM as long as it is there, then what it has published: nothing in between."""
    (tony.directory / "go").touch()
    looks = []
    while not looks or looks[-1]["state"] != "succeeded":
        state = tony.directory / f"elsewhere-{len(looks)}"   # it has never heard of the job before
        answer = tony.run("status", "--json", running.id, env={"TONY_STATE_DIR": str(state)})
        assert answer.returncode == 0, answer.stderr
        looks.append(json.loads(answer.stdout))
        assert looks[-1]["state"] in ("running", "finishing", "succeeded")
    assert {task["state"] for task in looks[-1]["tasks"]} == {"succeeded"}
    assert running.wait() == 0


def test_the_client_may_go(tony, running):
    """Nothing of the job hangs on the program that submitted it."""
    assert finish(tony, running) == 0


@pytest.mark.short
def test_what_the_resource_manager_says_of_a_failed_job(tony):
    answer, job = tony.job({"tony.worker.instances": 1}, "--executes", "echo ValueError: no data >&2; exit 7")
    assert answer.returncode == 1
    report = job.ended_application()
    assert (report["state"], report["finalStatus"]) == ("FINISHED", "FAILED")
    assert "worker:0" in report["diagnostics"] and "ValueError: no data" in report["diagnostics"]


def test_tracking_url_of_an_ended_job_is_its_page_in_the_portal(tony):
    job = tony.submit({"tony.worker.instances": 1, "tony.portal.url": "http://portal.example:19886/"},
                      "--executes", "true")
    assert tony.run("wait", job.id).returncode == 0
    job.wait_final("SUCCEEDED")
    assert job.final_url() == f"http://portal.example:19886/#/jobs/{job.id}"


def test_tracking_url_through_the_proxy(tony, running):
    url = running.tracking_url()
    assert running.id in url
    with tony.look(url) as answer:
        assert b"<noscript>" in answer.read()
    url = url.rstrip("/")
    for path, text in (("v1/job", b'"fox"'), ("v1/tasks/worker:0", b'"running"'), ("v1/events?wait=1000", b'"seq":1')):
        with tony.look(f"{url}/{path}") as answer:
            assert text in answer.read()
    for method, path in (("PUT", "v1/kv/key"), ("PUT", "ui/tensorboard/"), ("POST", "v1/job/kill")):
        with pytest.raises(urllib.error.HTTPError) as refused:
            tony.look(urllib.request.Request(f"{url}/{path}", b"", method=method))
        assert refused.value.code in (401, 405)
    assert finish(tony, running) == 0


def test_a_web_interface_through_the_proxy(tony):
    (tony.directory / "go").touch()
    job = tony.submit({"tony.worker.instances": 1, "tony.application.ui-origin": "shared-origin"}, "--executes",
                      f"exec {PYTHON} web_program.py {tony.directory}/go")
    url = job.tracking_url().rstrip("/")
    wait_until(lambda: (job.task("worker:0") or {}).get("ui_url"), "the web interface")
    with tony.look(f"{url}/ui/tensorboard/a?b=c") as answer:
        seen = json.load(answer)
    assert seen["path"] == "/a?b=c" and "Authorization" not in seen["headers"]
    tony.run("kill", job.id)


@pytest.mark.promise("S25")
def test_a_proxy_that_is_not_trusted(tony):
    job = tony.submit({"tony.worker.instances": 1, "tony.am.trust-proxy": "false"}, "--executes", "sleep 1000")
    job.wait_task("worker:0")
    url = job.tracking_url().rstrip("/")
    with tony.look(f"{url}/v1/server") as answer:
        assert json.load(answer) == {"kind": "am"}
    with pytest.raises(urllib.error.HTTPError) as refused:
        tony.look(f"{url}/v1/job")
    assert refused.value.code == 401
    link = tony.run("open", job.id).stdout.strip()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    assert opener.open(link, timeout=PATIENCE_S).status == 200
    assert json.load(opener.open(link.split("/login")[0] + "/v1/job", timeout=PATIENCE_S))["id"] == job.id
    tony.run("kill", job.id)


@pytest.mark.short
def test_nothing_is_uploaded_twice(tony):
    """The second time it is the description of the job that travels, and nothing else."""
    cache = f"/user/{tony.cluster.user}/.tony/cache"

    def staged():
        """What a job has of the cache, and when it was written."""
        answer, job = tony.job({"tony.worker.instances": 1}, "--executes", "true")
        assert answer.returncode == 0, answer.stderr
        paths = set(re.findall(f'{cache}/[^"]+', json.dumps(job.description())))
        return {path: tony.cluster.status(path)["modificationTime"] for path in paths}

    first = staged()
    assert len(first) >= 2   # the agent and the sources
    assert staged() == first


@pytest.mark.promise("S1", "S2")
def test_the_token_is_nobody_elses_to_read(tony, running):
    status = tony.cluster.status(f"{running.files}/token")
    assert status["permission"] == "600"
    assert tony.cluster.status(running.files)["permission"] == "700"
    token = running.token()
    for pid in running.processes():
        assert token.encode() not in b"".join(read_environ(pid)) and token not in describe(pid)
    assert finish(tony, running) == 0


@pytest.mark.promise("R53")
def test_nothing_of_a_job_is_left_in_hdfs(tony, running):
    assert tony.cluster.list(running.files) != []
    assert finish(tony, running) == 0
    wait_until(lambda: tony.cluster.list(running.files) == [], "the job's directory to be removed")


@pytest.mark.promise("R53")
def test_nothing_is_left_when_the_job_is_killed_hard(tony):
    """Processes that do what they can to get away, and an AM that dies with SIGKILL."""
    job = tony.submit({"tony.worker.instances": 2, "tony.worker.stop-grace": "200ms"}, "--executes",
                      f"{PYTHON} escape.py")
    for name in ("worker:0", "worker:1"):
        job.wait_log(name, "left")
    os.kill(job.status()["am_pid"], 9)
    tony.kill_application(job.id)
    wait_until(lambda: not job.processes(), "every process to end")
    wait_until(lambda: job.ended_application()["runningContainers"] <= 0, "the ResourceManager to count no container")


def test_a_job_without_a_description_is_killed_by_force(tony):
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "sleep 600")
    job.wait_task("worker:0")
    place = f"/user/{tony.cluster.user}/.tony/{job.id}"
    tony.cluster.hdfs("DELETE", f"{place}/job.json", op="DELETE")
    (tony.state / "yarn" / job.id / "job.json").write_text("{")
    for verb in "logs", "kill":
        answer = tony.run(verb, job.id)
        assert answer.returncode == 4 and "has no description any more" in answer.stderr
        assert f"tony kill --force {job.id}" in answer.stderr
    answer = tony.run("kill", "--force", job.id)
    assert (answer.returncode, answer.stdout) == (0, f"{job.id} killed\n"), answer.stderr
    job.wait_final("KILLED")
    tony.cluster.hdfs("DELETE", place, op="DELETE", recursive="true")


@pytest.mark.promise("R54")
def test_what_a_job_that_was_killed_from_outside_left_is_published_by_whoever_lists_jobs(tony):
    """Its AM had no time to; another machine of the user's then knows how it ended."""
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "sleep 1000")
    task = job.wait_task("worker:0")
    wait_until(lambda: b'"up":true' in (tony.cluster.get(f"{job.files}/journal-1.jsonl") or b""), "HDFS to know of its process")
    os.kill(job.status()["am_pid"], 9)
    tony.kill_application(job.id)
    wait_until(lambda: job.application()["state"] == "KILLED" and not job.processes(), "the application to end")
    elsewhere = {"TONY_STATE_DIR": str(tony.directory / "elsewhere")}
    # What others have left comes before it, and none of that is waited for longer than 2 s.
    wait_until(lambda: tony.run("list", env=elsewhere).returncode == 0 and tony.cluster.list(job.files) == [],
               "its files to be removed")
    assert {"job.json", "events.jsonl", "summary.json"} <= set(tony.cluster.list(job.history))
    answer = tony.run("status", "--json", job.id, env={"TONY_STATE_DIR": str(tony.directory / "third")})
    status = json.loads(answer.stdout)
    assert status["outcome"] == "killed", answer.stderr
    # All of it, from what its AM had kept in HDFS, though nobody here had followed it.
    assert status["tasks"][0]["host"] == task["host"] and status["tasks"][0]["attempt"] == 1
    events = tony.run("events", job.id, env={"TONY_STATE_DIR": str(tony.directory / "third")}).stdout
    assert "worker:0 allocated" in events and "worker:0 process is up" in events, events


def test_a_cluster_of_the_machine_needs_no_variable(tony, cluster):
    del tony.env["HADOOP_CONF_DIR"]
    tony.enter = as_system_files(tony.directory / "etc", cluster.env["HADOOP_CONF_DIR"])
    answer, job = tony.job({"tony.worker.instances": 1}, "--executes", "true")
    assert answer.returncode == 0 and job, answer.stderr
    assert "tony: on YARN, from /etc/hadoop/conf\n" in answer.stderr


def test_a_job_is_found_without_the_site_files_of_its_submission(tony, running):
    for nowhere in ("", str(tony.directory)):
        answer = tony.run("status", "--json", running.id, env={"HADOOP_CONF_DIR": nowhere})
        assert answer.returncode == 0, answer.stderr
        assert json.loads(answer.stdout)["state"] == "running"
    assert finish(tony, running) == 0
    answer = tony.run("logs", running.id, env={"HADOOP_CONF_DIR": ""})
    assert "hello from 0" in answer.stdout, answer.stderr


def test_a_job_that_the_resource_manager_has_forgotten_is_found_by_a_part_of_its_id(tony):
    answer, job = tony.job({"tony.worker.instances": 1}, "--executes", "exit 3")
    place = os.path.dirname(job.history)
    wait_until(lambda: "summary.json" in tony.cluster.list(job.history), "the history to be published")
    files = {name: tony.cluster.get(f"{job.history}/{name}") for name in tony.cluster.list(job.history)}
    for forgotten in ("application_1_0041", "application_1_0042"):
        for name, content in files.items():
            tony.cluster.put(f"{place}/{forgotten}/{name}", content.replace(job.id.encode(), forgotten.encode()))
    try:
        assert tony.run("wait", "application_1_0042").returncode == 1
        assert "fits 2 jobs" in tony.run("wait", "application_1_").stderr
        tony.cluster.hdfs("DELETE", f"{place}/application_1_0041", op="DELETE", recursive="true")
        answer = tony.run("wait", "application_1_")
        assert answer.returncode == 1, answer.stderr
        assert answer.stdout.startswith("application_1_0042 failed")
    finally:
        for forgotten in ("application_1_0041", "application_1_0042"):
            tony.cluster.hdfs("DELETE", f"{place}/{forgotten}", op="DELETE", recursive="true")


def test_a_job_is_repeated_with_the_sources_that_it_had(tony):
    """Of a job that has ended: its files are taken from HDFS, where they are by content."""
    sources, elsewhere = tony.directory / "sources", tony.directory / "elsewhere"
    for directory in (sources, elsewhere):
        directory.mkdir()
    (sources / "say.sh").write_text('echo "first $(cat data.txt) $COLOUR"\n')
    (tony.directory / "data.txt").write_text("numbers")
    answer, job = tony.job({"tony.worker.instances": 1}, "--env", "COLOUR=red", "--conf",
                           f"tony.containers.resources={tony.directory}/data.txt", "--", "sh", "say.sh",
                           src_dir=sources)
    assert answer.returncode == 0, answer.stderr
    (sources / "say.sh").write_text("echo second\n")
    (tony.directory / "data.txt").unlink()
    answer = tony.run("rerun", "--detach", job.id, cwd=elsewhere)
    assert answer.returncode == 0, answer.stderr
    again = tony.found_job(answer.stdout)
    tony.jobs.append(again)
    assert again.wait() == 0
    assert again.logs("worker:0") == "first numbers red\n"
    assert again.status()["rerun_of"] == job.id
