"""The end of a job whose last AM could not tell it is told by the next tony that looks at the job: at least once, under one
id."""

import os
import signal

import pytest
from portal import Portal
from program import describe, find_marked, wait_until
from receiver import Receiver

WEBHOOK, COMMAND = "tony.application.on-end-webhook", "tony.application.on-end"
LAST_AM = {"tony.worker.instances": 1, "tony.am.max-attempts": 1}


@pytest.fixture
def tony(tony):
    """As a user whose jobs nobody else's `tony list` or submission looks at."""
    user = f"told-{os.urandom(4).hex()}"
    home = f"/user/{user}"
    tony.cluster.hdfs("PUT", home, op="MKDIRS")
    tony.cluster.hdfs("PUT", home, op="SETOWNER", owner=user)
    tony.env["HADOOP_USER_NAME"] = user
    yield tony
    wait_quiet(tony)
    tony.cluster.hdfs("DELETE", home, op="DELETE", recursive="true")


@pytest.fixture
def receive():
    """Receiver(answers ...)."""
    made = []

    def make(*answers):
        made.append(Receiver(*answers))
        return made[-1]
    yield make
    for receiver in made:
        receiver.close()


def files(job):
    return f"/user/{job.tony.env['HADOOP_USER_NAME']}/.tony/{job.id}"


def history(job):
    """The day's part of the path is the one that YarnJob knows."""
    return job.history.replace(f"/user/{job.cluster.user}/", f"/user/{job.tony.env['HADOOP_USER_NAME']}/")


def wait_quiet(tony):
    """No submission looks after the user's jobs any more."""
    wait_until(lambda: not find_marked(f"TONY_STATE_DIR={tony.state}"), "every tony to end")


def start(tony, keys, command="sleep 600"):
    job = tony.submit({**LAST_AM, **keys}, "--executes", command)
    job.wait_task("worker:0")
    wait_quiet(tony)
    return job


def kill_am(job):
    """Nobody of tony's looks meanwhile."""
    os.kill(job.status()["am_pid"], signal.SIGKILL)
    return job.ended_application()


def wait_notices(job, env=None):
    """The outcome of each, by the key that asks for it."""
    notices = wait_until(lambda: job.status(env).get("notices"), f"the notices of {job.id}")
    return {notice["of"]: notice for notice in notices}


def check_recorded(job, receiver, state):
    """One id, one end, and what became of it in the last line; then the history is there, and the job's directory gone."""
    finals = [event for event in job.events() if event["ev"] == "final"]
    assert {event["state"] for event in finals} == {state} and finals[-1] == job.events()[-1], finals
    assert finals[-1]["notices"] == [{"of": WEBHOOK, "text": f"http://{receiver.address} took it"}]
    assert "notices_due" not in finals[-1]
    bodies = [body for _, _, body in receiver.requests]
    assert {(body["id"], body["job"]["state"]) for body in bodies} == {(f"{job.id}/end", state)}
    wait_until(lambda: job.tony.cluster.list(files(job)) == [], "its directory to be removed")
    assert b'"notices"' in job.tony.cluster.get(f"{history(job)}/events.jsonl")


@pytest.mark.promise("R62")
def test_a_client_that_waits_tells_the_end_of_a_job_that_yarn_was_told_to_kill(tony, receive):
    receiver = receive()
    child = tony.start(*tony.arguments({**LAST_AM, WEBHOOK: receiver.url}, "--executes", "sleep 600"))
    job = wait_until(lambda: tony.found_job(child.stdout.readline()), "the job's id")
    job.wait_task("worker:0")
    assert not receiver.requests
    tony.kill_application(job.id)
    body = receiver.wait_requests(1)[0][2]
    child.communicate()
    assert child.returncode == 8 and body["job"]["exit_code"] == 8
    assert "took it" in wait_notices(job)[WEBHOOK]["text"]
    check_recorded(job, receiver, "killed")


@pytest.mark.promise("R62")
def test_the_next_tony_tells_the_end_of_a_job_whose_last_am_was_killed(tony, receive):
    """Also where several look at once."""
    receiver = receive()
    job = start(tony, {WEBHOOK: receiver.url})
    kill_am(job)
    assert not receiver.requests
    verbs = [("status", job.id), ("wait", job.id), ("list",), ("events", job.id), ("status", job.id)]
    for child in [tony.start(*words) for words in verbs]:
        child.communicate()
    assert job.status()["state"] == "failed"
    wait_notices(job)
    check_recorded(job, receiver, "failed")
    assert receiver.requests[0][2]["job"]["cause"]["kind"] == "am-failed"


def test_the_next_tony_that_lists_jobs_tells_the_end(tony, receive):
    receiver = receive()
    job = start(tony, {WEBHOOK: receiver.url})
    kill_am(job)
    assert tony.run("list").returncode == 0
    receiver.wait_requests(1)
    wait_notices(job)
    check_recorded(job, receiver, "failed")


@pytest.mark.promise("R62")
def test_a_portal_publishes_a_dead_job_and_leaves_its_notice_to_the_next_tony(tony, receive):
    receiver = receive()
    job = start(tony, {WEBHOOK: receiver.url})
    kill_am(job)
    portal = Portal(tony)
    portal.wait_kept(job, "failed")
    assert not receiver.requests
    portal.stop()
    assert f"{job.id}: the notices of its end wait for `tony status {job.id}`: cannot start " in portal.child.stderr.read()
    assert job.status()["state"] == "failed"
    receiver.wait_requests(1)
    assert "took it" in wait_notices(job)[WEBHOOK]["text"]
    assert len(receiver.requests) == 1


@pytest.mark.promise("R62")
def test_an_end_that_the_last_am_wrote_down_is_told_as_it_was(tony, receive):
    """It was killed while it told the notice: the job has succeeded."""
    receiver, go = receive(Receiver.HOLD), tony.directory / "go"
    job = start(tony, {WEBHOOK: receiver.url}, f"while [ ! -e {go} ]; do sleep 0.1; done")
    am = job.status()["am_pid"]
    go.touch()
    receiver.wait_requests(1)
    assert job.wait() == 0
    os.kill(am, signal.SIGKILL)
    job.ended_application()
    assert job.status()["state"] == "succeeded"
    assert receiver.wait_requests(2)[1][2] == receiver.requests[0][2]
    wait_notices(job)
    check_recorded(job, receiver, "succeeded")


def tellers_of(job):
    """The guardian of no AM, which tells the end, and its child."""
    mirror = str(job.tony.state / "yarn" / job.id)
    return [pid for pid in job.processes() if mirror in describe(pid)]


@pytest.mark.promise("R62")
def test_a_process_that_is_killed_while_it_tells_the_end_is_followed_by_another(tony, receive):
    """And one that is at work is left alone."""
    receiver = receive(*[Receiver.HOLD] * 100)   # it asks again after 10 s
    job = start(tony, {WEBHOOK: receiver.url})
    kill_am(job)
    assert job.status()["state"] == "failed"
    receiver.wait_requests(1)
    tellers = tellers_of(job)
    for _ in range(2):
        status = job.status()
        assert status["state"] == "failed" and "notices" not in status
    assert tellers_of(job) == tellers
    answer = tony.run("rm", job.id)
    assert answer.returncode != 0 and "try again" in answer.stderr, answer
    os.kill(tellers[0], signal.SIGKILL)
    wait_until(lambda: not job.processes(), "it to be gone")
    receiver.answers.clear()
    requests = len(receiver.requests)
    wait_notices(job)
    assert len(receiver.requests) == requests + 1
    check_recorded(job, receiver, "failed")


@pytest.mark.promise("S60")
def test_a_command_runs_where_its_job_was_submitted_and_nowhere_else(tony):
    told = tony.directory / "told"
    jobs = [start(tony, {COMMAND: f'echo "$TONY_NOTICE_ID $TONY_JOB_STATE" >> {told}'}) for _ in range(2)]
    for job in jobs:
        kill_am(job)
    assert wait_notices(jobs[0]) == {COMMAND: {"of": COMMAND, "text": "the command exited with code 0"}}
    elsewhere = {"TONY_STATE_DIR": str(tony.directory / "elsewhere")}
    notice = wait_notices(jobs[1], elsewhere)[COMMAND]
    assert notice["failed"] and "submitted elsewhere" in notice["text"]
    wait_until(lambda: tony.cluster.list(files(jobs[1])) == [], "the history to be published")
    assert wait_notices(jobs[1])[COMMAND] == notice, "the submitting machine hears of it"
    assert told.read_text() == f"{jobs[0].id}/end failed\n"


@pytest.mark.promise("S58")
def test_what_a_webhooks_url_holds_is_told_to_its_server_alone(tony, receive):
    """Also from a machine of the owner's that has it from the cluster."""
    receiver = receive()
    secret = f"http://ada:pass%40word@{receiver.address}/hook/PATHWORD?token=QUERYWORD"
    job = start(tony, {WEBHOOK: secret, "tony.history.permissions": "all"})
    kill_am(job)
    elsewhere = {"TONY_STATE_DIR": str(tony.directory / "elsewhere")}
    assert wait_notices(job, elsewhere)[WEBHOOK]["text"] == f"http://{receiver.address} took it"
    path, headers, _ = receiver.requests[0]
    assert path == "/hook/PATHWORD?token=QUERYWORD" and headers["Authorization"] == "Basic YWRhOnBhc3NAd29yZA=="
    wait_until(lambda: tony.cluster.list(files(job)) == [], "its directory to be removed")
    shown = [tony.run(*words, env=elsewhere).stdout for words in (
        ("status", "--json", job.id), ("events", "--json", job.id), ("logs", job.id, "--am"), ("history", "--json"))]
    shown += [tony.cluster.get(f"{history(job)}/{name}").decode() for name in tony.cluster.list(history(job))]
    shown.append((tony.directory / "elsewhere/yarn" / job.id / "am.log").read_text())
    for word in ("PATHWORD", "QUERYWORD", "pass%40word", "pass@word"):
        assert not [text for text in shown if word in text], word


def test_an_end_is_not_told_again_once_the_job_was_removed(tony, receive):
    """Not by a machine that knows the end, and not what became of the notices."""
    receiver = receive(Receiver.HOLD)
    job = start(tony, {WEBHOOK: receiver.url})
    kill_am(job)
    assert job.status()["state"] == "failed"
    receiver.wait_requests(1)
    journal = tony.state / "yarn" / job.id / "journal.jsonl"
    before = journal.read_bytes()
    assert b"notices_due" in before.splitlines()[-1]
    receiver.release()
    wait_notices(job)
    wait_until(lambda: not job.processes(), "the process that told it to end")
    tony.cluster.hdfs("DELETE", history(job), op="DELETE", recursive="true")
    journal.write_bytes(before)
    assert job.status()["state"] == "failed"
    assert not job.processes() and len(receiver.requests) == 1
