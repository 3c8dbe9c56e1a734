"""The end of a job is told to a webhook and a command, whatever becomes of the AM: at least once, under one id, and without
a wait for those who look."""

import os
import signal

import pytest
from certificate import make_certificate
from conftest import wait_until
from portal import Portal
from receiver import Receiver

WEBHOOK, COMMAND = "tony.application.on-end-webhook", "tony.application.on-end"
UNTIL_GO = "while [ ! -e {go} ]; do sleep 0.01; done"


@pytest.fixture
def receive():
    """Receiver(answers ...)."""
    made = []

    def make(*answers, **options):
        made.append(Receiver(*answers, **options))
        return made[-1]
    yield make
    for receiver in made:
        receiver.close()


def submit(tony, keys, command="true"):
    # In the test's folder: what the command writes is there.
    return tony.submit({"tony.worker.instances": 1, "tony.worker.command": command, "tony.application.name": "told", **keys})


def wait_notices(job):
    """The outcome of each, by the key that asks for it. Clients hear of the end before."""
    notices = wait_until(lambda: job.status().get("notices"), f"the notices of {job.id}")
    last = job.events()[-1]
    assert last["ev"] == "final" and last["notices"] == notices and "notices_due" not in last, "the last line says it, too"
    return {notice["of"]: notice for notice in notices}


def test_a_webhook_is_posted_to_until_it_takes_the_notice(tony, receive):
    receiver = receive(503, 429)
    job = submit(tony, {WEBHOOK: receiver.url, "tony.application.tags": "a,b"}, "echo no data >&2; exit 3")
    assert job.wait() == 1
    notice = wait_notices(job)[WEBHOOK]
    assert notice["text"] == f"http://{receiver.address} took it at try 3" and "failed" not in notice
    assert notice["text"] in tony.run("events", job.id).stdout
    bodies = [body for _, _, body in receiver.requests]
    assert len(bodies) == 3 and bodies[0] == bodies[1] == bodies[2], "a receiver can drop repetitions"
    path, headers, body = receiver.requests[0]
    assert (path, headers["Content-Type"]) == ("/hook", "application/json")
    assert body["id"] == f"{job.id}/end" and job.id in body["text"]
    told, status = body["job"], job.status()
    for name in ("id", "name", "user", "framework", "tags", "state", "message", "exit_code", "submitted_ms", "ended_ms"):
        assert told[name] == status[name], name
    assert told["cause"]["exit_code"] == 3


@pytest.mark.parametrize("answer", [400, 302])
def test_a_webhook_that_will_never_take_it_is_asked_once(tony, receive, answer):
    receiver = receive(answer)
    job = submit(tony, {WEBHOOK: receiver.url})
    assert job.wait() == 0
    notice = wait_notices(job)[WEBHOOK]
    assert notice["failed"] and f"status {answer}" in notice["text"]
    assert len(receiver.requests) == 1
    assert f"warning: {WEBHOOK}: {notice['text']}" in tony.run("status", job.id).stdout


def test_nobody_listens_and_the_job_has_succeeded_all_the_same(tony, receive):
    receiver = receive()
    receiver.close()
    job = submit(tony, {WEBHOOK: receiver.url})
    assert job.wait() == 0
    notice = wait_notices(job)[WEBHOOK]
    assert notice["failed"] and receiver.address in notice["text"] and "at try 3" in notice["text"]


@pytest.mark.slow
def test_a_webhook_that_never_answers_is_asked_three_times(tony, receive):
    receiver = receive(*[Receiver.HOLD] * 3)
    job = submit(tony, {WEBHOOK: receiver.url})
    assert job.wait() == 0
    notice = wait_notices(job)[WEBHOOK]
    assert notice["failed"] and "no answer within 10.0 s" in notice["text"] and len(receiver.requests) == 3


@pytest.mark.promise("R61")
def test_who_waits_for_the_job_does_not_wait_for_the_webhook(tony, receive):
    receiver = receive(Receiver.HOLD)
    job = submit(tony, {WEBHOOK: receiver.url})
    assert job.wait() == 0
    assert job.status()["state"] == "succeeded" and "notices" not in job.status()
    receiver.wait_requests(1)
    receiver.release()
    assert "took it" in wait_notices(job)[WEBHOOK]["text"]
    assert job.published()


@pytest.mark.promise("R61")
def test_a_late_report_of_an_executor_does_not_follow_the_last_line(tony, receive):
    """The guardian would take such a journal for one without an end, and tell another one."""
    receiver = receive(Receiver.HOLD)
    go = tony.directory / "go"
    job = submit(tony, {WEBHOOK: receiver.url}, UNTIL_GO.format(go=go))
    job.wait_task("worker:0")
    url = job.status()["am_url"]
    go.touch()
    assert job.wait() == 0
    receiver.wait_requests(1)
    lost = {"lines": 1, "bytes": 9, "text": "1 line of its output was lost"}
    beat = {"attempt": 1, "epoch": 1, "restart": 0, "state": "exited", "output_lost": lost, "checkpoint_trouble": "none",
            "used": {"ms": 1, "cpu_ms": 1, "max_rss_bytes": 1}}
    assert job.rest("POST", "/v1/tasks/worker:0/beat", beat, url=url)[0] == 200
    receiver.release()
    wait_notices(job)
    assert len(receiver.requests) == 1
    ends = [event["state"] for event in job.events() if event["ev"] == "final"]
    assert set(ends) == {"succeeded"}


def kill_the_am(job, pids):
    os.kill(pids[0], signal.SIGKILL)


def kill_the_guardian(job, pids):
    os.kill(pids[1], signal.SIGKILL)


def kill_both(job, pids):
    os.kill(pids[1], signal.SIGSTOP)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("kill", [kill_the_am, kill_the_guardian, kill_both])
@pytest.mark.promise("R62")
def test_a_notice_whose_am_is_killed_is_told_again_under_the_same_id(tony, receive, kill):
    """When both are killed the next tony that looks at the job sees to it."""
    receiver = receive(Receiver.HOLD)
    go = tony.directory / "go"
    job = submit(tony, {WEBHOOK: receiver.url}, UNTIL_GO.format(go=go))
    pids = job.am()
    go.touch()
    receiver.wait_requests(1)
    kill(job, pids)
    assert "took it" in wait_notices(job)[WEBHOOK]["text"]
    assert len(receiver.requests) >= (1 if kill == kill_the_guardian else 2)
    assert len({body["id"] for _, _, body in receiver.requests}) == 1
    events = job.events()
    assert {event["state"] for event in events if event["ev"] == "final"} == {"succeeded"}
    assert job.published()


@pytest.mark.promise("R62")
def test_the_guardian_of_an_am_that_is_killed_for_good_tells_the_failure(tony, receive):
    receiver = receive()
    job = submit(tony, {WEBHOOK: receiver.url}, "sleep 600")
    job.wear_out_am()
    body = receiver.wait_requests(1)[0][2]
    assert body["job"]["state"] == "failed" and body["job"]["cause"]["kind"] == "am-failed"
    assert "took it" in wait_notices(job)[WEBHOOK]["text"]


@pytest.mark.promise("R62")
def test_the_next_tony_tells_the_end_of_a_job_whose_am_and_guardian_were_killed(tony, receive):
    receiver = receive()
    job = submit(tony, {WEBHOOK: receiver.url}, "sleep 600")
    job.wait_task("worker:0")
    job.lose_am()
    assert job.status()["state"] == "failed"
    assert receiver.wait_requests(1)[0][2]["job"]["state"] == "failed"
    assert "took it" in wait_notices(job)[WEBHOOK]["text"]
    assert job.published()


@pytest.mark.promise("R62")
def test_a_portal_publishes_a_dead_job_and_leaves_its_notice_to_the_next_tony(tony, receive):
    receiver = receive()
    portal = Portal(tony)
    job = submit(tony, {WEBHOOK: receiver.url}, "sleep 600")
    job.wait_task("worker:0")
    job.lose_am()
    portal.wait_kept(job, "failed")
    assert portal.get(f"v1/jobs/{job.id}/job")["state"] == "failed" and not receiver.requests
    portal.stop()
    assert f"{job.id}: the notices of its end wait for `tony status {job.id}`: cannot start " in portal.child.stderr.read()
    assert job.status()["state"] == "failed"
    assert "took it" in wait_notices(job)[WEBHOOK]["text"]
    assert len(receiver.requests) == 1


def test_a_command_finds_the_facts_in_its_environment(tony):
    told = tony.directory / "told"
    job = submit(tony, {COMMAND: f"env | sort > {told}; echo out; echo err >&2; tr '\\0' '\\n' < /proc/$$/cmdline > {told}.argv"},
                 "echo '$(touch oops) no data' >&2; exit 3")
    assert job.wait() == 1
    assert wait_notices(job)[COMMAND] == {"of": COMMAND, "text": "the command exited with code 0"}
    environment = dict(line.partition("=")[::2] for line in told.read_text().splitlines())
    status = job.status()
    for name in ("id", "name", "user", "framework", "state", "message"):
        assert environment[f"TONY_JOB_{name.upper()}"] == status[name], name
    assert environment["TONY_JOB_EXIT_CODE"] == "1" and environment["TONY_JOB_ENDED_MS"] == str(status["ended_ms"])
    assert environment["TONY_NOTICE_ID"] == f"{job.id}/end"
    argv = (told.parent / "told.argv").read_text()
    assert status["message"] not in argv and job.id not in argv
    log = (job.directory / "am.log").read_text()
    assert "\nout\n" in log and "\nerr\n" in log


def test_of_a_commands_output_the_first_mebibyte_is_kept(tony):
    job = submit(tony, {COMMAND: "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last"})
    assert job.wait() == 0
    assert wait_notices(job)[COMMAND]["text"] == "the command exited with code 0"
    log = (job.directory / "am.log").read_text()
    assert log.count("x" * 1024) == 1024 and "\nlast\n" not in log
    assert "bytes of the command's output, or more, are left out" in log


def test_a_command_that_fails_changes_nothing_in_the_job(tony):
    job = submit(tony, {COMMAND: "exit 7"})
    assert job.wait() == 0
    notice = wait_notices(job)[COMMAND]
    assert notice["failed"] and notice["text"] == "the command exited with code 7"


def test_a_command_that_runs_for_too_long_is_ended_with_what_it_started(tony):
    job = submit(tony, {COMMAND: "sleep 601 & exec sleep 600", "tony.application.on-end-timeout": "200ms"})
    assert job.wait() == 0
    notice = wait_notices(job)[COMMAND]
    assert notice["failed"] and "more than 200 ms (tony.application.on-end-timeout)" in notice["text"]
    wait_until(lambda: not job.processes(), "the command's own processes to be gone")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_does_not_end_a_command_before_its_time(tony, number):
    """The process that tells of the end is the command's parent."""
    started, go = tony.directory / "started", tony.directory / "go"
    job = submit(tony, {COMMAND: f"echo $PPID > {started}; {UNTIL_GO.format(go=go)}"})
    assert job.wait() == 0
    teller = int(wait_until(lambda: started.exists() and started.read_text().strip(), "the command"))
    assert os.getpgid(teller) == teller, "a signal to the AM's group is not for it"
    os.kill(teller, number)
    assert "notices" not in job.status()
    go.touch()
    assert wait_notices(job)[COMMAND] == {"of": COMMAND, "text": "the command exited with code 0"}


@pytest.fixture(scope="module", name="certificate")
def certificate_fixture(tmp_path_factory):
    """Its own authority; key and certificate in one file."""
    path, key = make_certificate(tmp_path_factory.mktemp("tls"))
    path.write_text(key.read_text() + path.read_text())
    return path


def test_https_asks_for_a_certificate_that_is_trusted(tony, receive, certificate):
    receiver = receive(certificate=certificate)
    job = submit(tony, {WEBHOOK: receiver.url})
    assert job.wait() == 0
    notice = wait_notices(job)[WEBHOOK]
    assert notice["failed"] and "tony.application.on-end-ca-file" in notice["text"] and not receiver.requests
    job = submit(tony, {WEBHOOK: receiver.url, "tony.application.on-end-ca-file": certificate})
    assert job.wait() == 0
    assert wait_notices(job)[WEBHOOK]["text"] == f"https://{receiver.address} took it"


@pytest.mark.promise("S58")
def test_what_a_webhooks_url_holds_is_told_to_its_server_alone(tony, receive):
    receiver = receive(400)
    secret = f"http://ada:pass%40word@{receiver.address}/hook/PATHWORD?token=QUERYWORD"
    job = submit(tony, {WEBHOOK: secret, "tony.history.permissions": "all"})
    assert job.wait() == 0
    assert wait_notices(job)[WEBHOOK]["failed"]
    path, headers, _ = receiver.requests[0]
    assert path == "/hook/PATHWORD?token=QUERYWORD" and headers["Authorization"] == "Basic YWRhOnBhc3NAd29yZA=="
    published = job.published()
    shown = [tony.run(*words).stdout for words in (
        ("status", job.id), ("status", "--json", job.id), ("events", job.id), ("events", "--json", job.id), ("logs", job.id, "--am"),
        ("history", "--json"), ("config", "show", "--conf", f"{WEBHOOK}={secret}"))]
    shown += [path.read_text(errors="replace") for path in published.rglob("*") if path.is_file()]
    for word in ("PATHWORD", "QUERYWORD", "pass%40word", "pass@word"):
        assert not [text for text in shown if word in text], word


@pytest.mark.parametrize("url", ["ftp://h/PATHWORD", "h/PATHWORD", "http://u:PATHWORD@h:0/", "http://h/PATHWORD#x", "http://h/PATH WORD"])
def test_what_is_no_url_is_refused_without_being_repeated(tony, url):
    answer = tony.run("check", "--conf", f"{WEBHOOK}={url}", "--", "true")
    assert answer.returncode == 2, answer
    text = answer.stdout + answer.stderr
    assert f"{WEBHOOK}: this is not a URL" in text and "WORD" not in text
