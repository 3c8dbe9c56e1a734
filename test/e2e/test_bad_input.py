"""What people, files, programs and strangers get wrong. Each is refused or survived, with a message
that names the thing, the value and the remedy, and exit code 3 where the configuration is wrong and
nothing was started."""

import contextlib
import json
import os
import random
import re
import resource
import socket
import subprocess

import pytest
from conftest import BUILD, PROGRAMS, PYTHON, wait_until, write_xml
from patience import PATIENCE_S

CONFIG = 3
USAGE = 2


def refused(tony, answer, *words, code=CONFIG):
    assert answer.returncode == code, answer.stdout + answer.stderr
    for word in words:
        assert word in answer.stderr, answer.stderr
    assert tony.ids() == [], "nothing may be started"


# ---- programs and files


def test_missing_program(tony):
    answer, _ = tony.job({"tony.worker.instances": 1}, "--executes", "no-such-program --flag")
    assert answer.returncode == 3 and "no-such-program" in answer.stderr and "PATH" in answer.stderr
    assert tony.ids() == []


def test_missing_program_that_only_the_shell_knows(tony):
    answer, job = tony.job({"tony.worker.instances": 1}, "--executes", "${UNSET:-no-such-program} --flag")
    assert answer.returncode == 1
    assert job.status()["cause"]["exit_code"] == 127
    assert "no-such-program" in answer.stdout + answer.stderr


def test_missing_interpreter_is_told_by_check(tony):
    answer = tony.run("check", *tony.arguments({"tony.worker.instances": 1}, "--executes", "train.py",
                                               "--python_binary_path", "/no/such/python")[1:])
    assert answer.returncode != 0
    assert "/no/such/python" in answer.stdout + answer.stderr


def test_no_command(tony):
    answer, _ = tony.job({"tony.worker.instances": 1})
    refused(tony, answer, "no command", "tony.containers.command")


def test_missing_src_dir(tony):
    answer, _ = tony.job({"tony.worker.instances": 1}, "--executes", "true", src_dir="/no/such/dir")
    assert answer.returncode != 0 and "/no/such/dir" in answer.stderr
    assert tony.ids() == []


def test_missing_resource(tony):
    answer, _ = tony.job({"tony.worker.instances": 1, "tony.worker.resources": "/no/such/file"},
                         "--executes", "true")
    assert answer.returncode != 0 and "/no/such/file" in answer.stderr
    assert tony.ids() == []


@pytest.mark.parametrize("make", [
    lambda path: path.mkdir(), lambda path: os.mkfifo(path), lambda path: path.symlink_to("nowhere"),
    lambda path: None], ids=["directory", "fifo", "dangling link", "missing"])
def test_unreadable_conf_file(tony, make):
    path = tony.directory / "bad.xml"
    make(path)
    answer = tony.run("submit", "--conf_file", path, "--executes", "true")
    assert answer.returncode in (CONFIG, 1), answer.stderr
    assert "bad.xml" in answer.stderr
    assert tony.ids() == []


def test_unreadable_for_this_user(tony):
    """Run without root's rights, which read everything."""
    xml = write_xml(tony.directory / "secret.xml", {"tony.worker.instances": 1})
    xml.chmod(0)
    command = [BUILD / "tony", "submit", "--conf_file", xml, "--executes", "true"]
    if os.geteuid() == 0:
        command = ["setpriv", "--inh-caps=-all", "--bounding-set=-all", "--", *command]
    answer = subprocess.run(command, env=tony.env, cwd=tony.directory, capture_output=True, text=True,
                            timeout=PATIENCE_S)
    assert answer.returncode != 0
    assert "secret.xml" in answer.stderr and "ermission denied" in answer.stderr


def test_src_dir_with_a_fifo(tony):
    source = tony.directory / "src"
    source.mkdir()
    os.mkfifo(source / "pipe")
    answer, _ = tony.job({"tony.worker.instances": 1}, "--executes", "true", src_dir=source)
    assert answer.returncode != 0 and "pipe" in answer.stderr


# ---- configuration


def test_wrong_xml(tony):
    path = tony.directory / "bad.xml"
    path.write_text("<configuration>\n<property>\n<name>tony.worker.instances</nam>\n")
    answer = tony.run("submit", "--conf_file", path, "--executes", "true")
    refused(tony, answer, "bad.xml:3")


def test_xml_that_is_not_a_configuration(tony):
    path = tony.directory / "bad.xml"
    path.write_text("<html><body/></html>\n")
    refused(tony, tony.run("submit", "--conf_file", path, "--executes", "true"),
            "bad.xml", "configuration")


def test_xml_bomb(tony):
    path = tony.directory / "bomb.xml"
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10 if i else "ha" * 10}">' for i in range(12))
    path.write_text(f"<!DOCTYPE c [{entities}]>\n<configuration><property><name>tony.application.name"
                    "</name><value>&e11;</value></property></configuration>\n")
    answer = tony.run("submit", "--conf_file", path, "--executes", "true")
    assert answer.returncode == CONFIG and "bomb.xml" in answer.stderr


@pytest.mark.promise("S22")
def test_xml_that_reads_a_file_of_the_machine(tony):
    (tony.directory / "secret").write_text("the secret")
    path = tony.directory / "leak.xml"
    path.write_text(f'<!DOCTYPE c [<!ENTITY leak SYSTEM "file://{tony.directory}/secret">]>\n'
                    "<configuration><property><name>tony.application.name</name><value>&leak;</value>"
                    "</property></configuration>\n")
    answer = tony.run("config", "show", "--conf_file", path, "--executes", "true")
    assert "the secret" not in answer.stdout + answer.stderr


def test_unknown_key(tony):
    answer, _ = tony.job({"tony.worker.instnces": 1}, "--executes", "true")
    refused(tony, answer, "tony.worker.instnces", "tony.worker.instances", ".xml:")


def test_unknown_key_allowed(tony):
    answer, _ = tony.job({"tony.aplication.name": "x"}, "--allow-unknown-keys", "--executes", "true")
    assert answer.returncode == 0, answer.stderr
    assert "tony.aplication.name" in answer.stderr


def test_unknown_option(tony):
    answer, _ = tony.job({"tony.worker.instances": 1}, "--execute", "true")
    refused(tony, answer, "--execute", "--executes", code=USAGE)


def test_unknown_verb(tony):
    refused(tony, tony.run("sumbit"), "sumbit", "submit", code=USAGE)


@pytest.mark.parametrize("key, value, word", [
    ("tony.worker.memory", "2gigs", "2g"), ("tony.worker.memory", "0", ""),
    ("tony.worker.memory", "-1g", ""), ("tony.worker.memory", "99999999t", ""),
    ("tony.worker.instances", "-1", ""), ("tony.worker.instances", "many", ""),
    ("tony.worker.instances", "100001", "100000"), ("tony.worker.vcores", "0", ""),
    ("tony.worker.gpus", "1.5", ""), ("tony.task.heartbeat-interval-ms", "0", ""),
    ("tony.application.timeout", "soon", ""), ("tony.application.distributed-mode", "GNAG", "GANG"),
    ("tony.application.framework", "tensorfow", "tensorflow"),
    ("tony.worker.max-restarts", "-2", ""), ("tony.worker.isolation", "full", "pid-namespace")])
def test_value_out_of_range(tony, key, value, word):
    answer, _ = tony.job({"tony.worker.instances": 1, key: value}, "--executes", "true")
    refused(tony, answer, key, f'"{value}"', word)


def test_all_problems_are_told_together(tony):
    answer, _ = tony.job({"tony.worker.instances": 1, "tony.worker.memory": "2gigs",
                          "tony.worker.vcores": "none", "tony.wroker.gpus": "1"}, "--executes", "true")
    refused(tony, answer, "tony.worker.memory", "tony.worker.vcores", "tony.wroker.gpus")


def test_dependency_cycle(tony):
    answer, _ = tony.job({"tony.a.instances": 1, "tony.b.instances": 1, "tony.a.depends-on": "b",
                          "tony.b.depends-on": "a"}, "--executes", "true")
    refused(tony, answer, "depends-on", "a", "b")


def test_limits_add_up_rightly(tony):
    """TonY squares the number of instances here; 4 of at most 4 are fine, 5 are not."""
    keys = {"tony.task.max-total-instances": 4, "tony.worker.instances": 3, "tony.ps.instances": 1,
            "tony.ps.command": "sleep 1000"}
    answer, _ = tony.job(keys, "--executes", "true")
    assert answer.returncode == 0, answer.stderr
    for job in tony.jobs:
        assert job.wait() == 0
    answer, job = tony.job({**keys, "tony.ps.instances": 2}, "--executes", "true")
    assert answer.returncode == CONFIG and "max-total-instances" in answer.stderr
    assert job is None


def test_cluster_that_can_never_fit(tony):
    answer, job = tony.job({"tony.worker.instances": 3, "tony.worker.memory": "2g"},
                           "--conf", "tony.local.memory=4g", "--executes", "true")
    assert answer.returncode != 0 and job is None
    for word in ("6.0 GiB", "4.0 GiB"):
        assert word in answer.stderr, answer.stderr


# ---- programs that misbehave


def test_a_stubborn_program_gets_a_port_that_is_not_held(tony):
    """It sets neither SO_REUSEADDR nor SO_REUSEPORT, so the held port refuses it: after the first of its tasks they get all open ones."""
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 6, "tony.worker.memory": "64m", "tony.worker.command": f"{PYTHON} serve.py plain {go}",
                       "tony.am.retry-delay": "1ms"})
    for index in range(6):
        job.wait_log(f"worker:{index}", "bound")
    go.touch()
    assert job.wait() == 0
    assert 1 < job.status()["epoch"] <= 3 and job.status()["infrastructure_retries"] == 0, "another port costs no retry"


def test_port_that_a_program_never_gets(tony):
    """We say what to do."""
    command = "echo 'OSError: [Errno 98] Address already in use' >&2; exit 1"
    answer, job = tony.job({"tony.worker.instances": 4, "tony.worker.memory": "64m", "tony.worker.command": command, "tony.am.retry-delay": "1ms"})
    assert answer.returncode == 1
    assert job.status()["cause"]["kind"] == "port-taken"
    assert job.status()["epoch"] <= 3, "it is presumed to be another user's fault twice at most"
    assert "let one process alone bind TONY_PORT" in answer.stdout + answer.stderr and "hold-port" not in answer.stdout + answer.stderr


def test_stubborn_program_gets_its_port_when_asked_for(tony):
    go = tony.directory / "go"
    # Somebody else may take the port before the program does: then there is another one.
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.hold-port": "false", "tony.am.retry-count": 2,
                       "tony.worker.command": f"{PYTHON} serve.py plain {go}"})
    job.wait_log("worker:0", "bound")
    go.touch()
    assert job.wait() == 0


def test_server_listens_on_the_held_port(tony):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1,
                       "tony.worker.command": f"{PYTHON} serve.py reuse {go}"})
    job.wait_log("worker:0", "bound")
    with socket.create_connection(("127.0.0.1", job.task("worker:0")["port"]), PATIENCE_S):
        pass
    go.touch()
    assert job.wait() == 0


def test_output_that_is_not_text(tony):
    answer, job = tony.job({"tony.worker.instances": 1},
                           "--executes", "head -c 100000 /dev/urandom | tr '\\r' x >&2; exit 1")
    assert answer.returncode == 1
    json.dumps(job.status())
    copied = subprocess.run([BUILD / "tony", "logs", job.id], env=tony.env, capture_output=True,
                            timeout=PATIENCE_S)
    assert copied.returncode == 0 and len(copied.stdout) >= 100000


# ---- strangers at the AM


@pytest.fixture
def running(tony):
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "sleep 1000")
    job.wait_task("worker:0")
    return job


REGISTER = {"attempt": 1, "epoch": 0, "host": "127.0.0.1", "port": 40001, "ui_port": 0, "pid": 1,
            "log_dir": "/"}
BEAT = {"attempt": 1, "epoch": 1, "restart": 0, "state": "running", "seen": 0, "pids": []}


@pytest.mark.parametrize("token", ["0" * 64, "", "x", "f" * 64])
@pytest.mark.promise("S3")
def test_executor_with_a_wrong_token(running, token):
    port = running.task("worker:0")["port"]
    for path, body in (("register", {**REGISTER, "port": port - 1}), ("beat", BEAT)):
        status, answer = running.rest("POST", f"/v1/tasks/worker:0/{path}", body, token=token or " ")
        assert status == 401
        assert json.loads(answer)["error"]["code"] == "unauthorized"
    assert running.task("worker:0")["port"] == port


@pytest.mark.promise("S3")
def test_every_call_needs_the_token(running):
    for method, path in (("GET", "/v1/job"), ("GET", "/v1/tasks"), ("GET", "/v1/events"),
                         ("GET", "/v1/metrics"), ("POST", "/v1/job/kill"), ("GET", "/v1/kv/x"),
                         ("POST", "/v1/tasks/worker:0/restart"), ("GET", "/v1/tasks/worker:0/logs/stdout")):
        status, _ = running.rest(method, path, {} if method == "POST" else None, token="0" * 64)
        assert status == 401, path


def run_of(job):
    """Which process of the task runs, and in which state: all but what it uses."""
    task = job.wait_task("worker:0")
    return [task[key] for key in ("state", "attempt", "epoch", "restart", "port", "pids", "executor_pid")]


EXIT = {"cause": "exit", "exit_code": 1, "signal": 0, "text": "stale"}


@pytest.mark.promise("S17")
def test_executor_of_another_attempt_is_refused(running):
    before = run_of(running)
    for call, body in (("beat", {}), ("exit", EXIT)):
        status, answer = running.rest("POST", f"/v1/tasks/worker:0/{call}", {**BEAT, **body, "attempt": 2})
        assert (status, json.loads(answer)["error"]["code"]) == (409, "stale"), call
    assert run_of(running) == before


@pytest.mark.promise("S17")
def test_executor_of_an_earlier_epoch_is_told_the_present_one_and_changes_nothing(running):
    before = run_of(running)
    status, answer = running.rest("POST", "/v1/tasks/worker:0/beat", {**BEAT, "epoch": 0})
    assert status == 200 and json.loads(answer)["epoch"] == 1
    running.rest("POST", "/v1/tasks/worker:0/exit", {**BEAT, **EXIT, "epoch": 0})
    assert run_of(running) == before


def test_executor_of_a_task_that_is_not_there(running):
    for name in ("worker:1", "worker:-1", "nobody:0", "worker", "worker:0:0", "%00", "../job"):
        status, _ = running.rest("POST", f"/v1/tasks/{name}/beat", BEAT)
        assert status in (400, 404), name


@pytest.mark.parametrize("body", [
    None, [], "text", {"attempt": "1"}, {**REGISTER, "port": 70000}, {**REGISTER, "port": -1},
    {**REGISTER, "host": 5}, {**REGISTER, "attempt": 2**70}])
def test_executor_with_a_wrong_body(running, body):
    status, answer = running.rest("POST", "/v1/tasks/worker:0/register", body)
    assert status in (400, 409), answer


@pytest.mark.promise("S4")
def test_limits_of_a_request(running):
    host, port = running.status()["am_url"].removeprefix("http://").split(":")

    def raw(data):
        with socket.create_connection((host, int(port)), PATIENCE_S) as peer, \
                contextlib.suppress(ConnectionError):
            peer.sendall(data)
            return peer.recv(4096).decode("latin-1")
        return ""

    token = f"Host: localhost\r\nAuthorization: Bearer {running.token()}\r\n"
    long_header = raw(f"GET /v1/job HTTP/1.1\r\n{token}X: {'x' * 20000}\r\n\r\n".encode())
    assert " 431 " in long_header or " 400 " in long_header or long_header == ""
    body = raw(f"PUT /v1/kv/x HTTP/1.1\r\n{token}Content-Length: 2000000\r\n\r\n".encode() + b"x" * 2000000)
    assert " 413 " in body or body == "", body
    assert running.rest("GET", "/v1/job")[0] == 200


@pytest.mark.promise("S5")
def test_ten_thousand_junk_connections(tony):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 2}, "--executes", f"./exit_after.sh {go} 0")
    job.wait_task("worker:1")
    host, port = job.status()["am_url"].removeprefix("http://").split(":")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    rng = random.Random(1)
    junk = [b"", b"\r\n\r\n", b"GET / HTTP/1.1\r\n", b"POST /v1/tasks/worker:0/beat HTTP/1.1\r\n"
            b"Content-Length: 999\r\n\r\n{", b"\x16\x03\x01\x02\x00", rng.randbytes(300)]
    for _ in range(10):
        with contextlib.ExitStack() as peers:
            for number in range(1000):
                with contextlib.suppress(OSError):
                    peer = socket.create_connection((host, int(port)), 5)  # patience: who is kept out need not come in
                    peers.enter_context(peer)
                    peer.sendall(junk[number % len(junk)])
    assert job.status()["state"] == "running"
    assert job.task("worker:0")["attempt"] == 1, "no executor may lose its AM over this"
    go.touch()
    assert job.wait() == 0


# ---- files of ours that were damaged


@pytest.mark.parametrize("damage", [
    lambda text: text[:-20], lambda text: text[:len(text) // 2], lambda text: b"",
    lambda text: text.replace(b"worker", b"wurker", 1), lambda text: text + b"\xff\x00garbage"],
    ids=["cut in the last line", "cut in the middle", "empty", "altered", "garbage at the end"])
def test_truncated_journal(tony, damage):
    answer, job = tony.job({"tony.worker.instances": 1}, "--executes", "true")
    assert answer.returncode == 0
    journal = job.directory / "journal.jsonl"
    journal.write_bytes(damage(journal.read_bytes()))
    for verb in ("status", "events", "logs", "history"):
        answer = tony.run(verb, *([job.id] if verb != "history" else []))
        assert answer.returncode >= 0, f"{verb} crashed: {answer.stderr}"
    assert tony.run("list").returncode == 0


def test_job_directory_that_is_not_one(tony):
    answer, job = tony.job({"tony.worker.instances": 1}, "--executes", "true")
    (tony.state / "jobs" / "junk").mkdir()
    broken = tony.state / "jobs" / job.id.replace("tony-2", "tony-1")
    broken.mkdir()
    (broken / "job.json").write_text("{")
    answer = tony.run("list", "--all")
    assert answer.returncode == 0 and job.id in answer.stdout
    assert tony.run("status", job.id).returncode == 0


def test_unknown_job(tony):
    for verb in ("status", "wait", "logs", "events", "kill"):
        answer = tony.run(verb, "tony-20200101-000000-0000")
        assert answer.returncode not in (0, 134, 139), verb
        assert "tony-20200101-000000-0000" in answer.stderr
