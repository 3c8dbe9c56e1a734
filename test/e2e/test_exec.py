"""tony exec and tony shell: commands of people in a task's container, and nothing of them left behind."""

import os
import signal
import subprocess

import pytest
from audit import audit_of
from conftest import wait_until
from patience import PATIENCE_S
from program import find_marked, is_alive
from terminal import Terminal

KINDS = {"plain": {}, "tls": {"tony.application.tls": "true"}, "namespace": {"tony.worker.isolation": "pid-namespace"}}


def submit(tony, keys=None, command="exec sleep 1000", tasks=1):
    job = tony.submit({"tony.worker.instances": tasks, **(keys or {})}, "--executes", command)
    for index in range(tasks):
        job.wait_task(f"worker:{index}")
    return job


def execute(tony, job, *words, **options):
    return tony.run("exec", job.id, "worker:0", "--", *words, **options)


@pytest.mark.parametrize("keys", KINDS.values(), ids=KINDS)
def test_a_command_runs_beside_the_program(tony, keys):
    job = submit(tony, keys | {"tony.worker.envs": "COLOUR=green"})
    answer = execute(tony, job, "sh", "-c", "echo $TONY_TASK $COLOUR; pwd; echo trouble >&2; exit 7")
    assert (answer.returncode, answer.stderr) == (7, "trouble\n")
    task, directory = answer.stdout.splitlines()
    assert task == "worker:0 green"
    assert os.path.samefile(directory, f"/proc/{job.task('worker:0')['pids'][0]}/cwd")
    seen = execute(tony, job, "ps", "-e", "-o", "args").stdout
    assert "sleep 1000" in seen
    assert ("tony-agent am" in seen) == ("tony.worker.isolation" not in keys)


@pytest.mark.parametrize("keys", KINDS.values(), ids=KINDS)
def test_bytes_pass_both_ways(tony, keys, tmp_path):
    job = submit(tony, keys)
    sent = os.urandom(3_000_000)
    (tmp_path / "sent").write_bytes(sent)
    with open(tmp_path / "sent", "rb") as file:
        started = tony.start("exec", "-i", job.id, "--", "cat", stdin=file, stdout=subprocess.PIPE, text=False)
        received, _ = started.communicate(timeout=PATIENCE_S)
    assert started.returncode == 0 and received == sent


def test_a_command_that_reads_nothing_ends_nobodys_input(tony):
    job = submit(tony)
    assert execute(tony, job, "cat").stdout == ""
    started = tony.start("exec", "-i", job.id, "--", "true", stdin=subprocess.PIPE)
    assert started.wait(timeout=PATIENCE_S) == 0


def test_a_shell_has_a_terminal(tony):
    job = submit(tony)
    terminal = Terminal(tony, "shell", job.id, columns=111)
    for typed, shown in [("tty | sed s,pts/.*,is-a-terminal,", "/dev/is-a-terminal"), ("stty size", "24 111"),
                         ("echo $TERM-$TONY_TASK", "xterm-worker:0"), ("echo sleep-$((500 + 55)); sleep 1000", "sleep-555")]:
        terminal.type(typed + "\n")
        terminal.wait_text(shown)
    terminal.type("\x03")
    terminal.type("exit 5\n")
    assert terminal.finish() == 5


def test_a_signal_reaches_the_command(tony):
    job = submit(tony)
    started = tony.start("exec", job.id, "--", "sh", "-c", "trap 'echo caught; exit 4' INT; echo ready; while :; do sleep 0.1; done",
                         stdout=subprocess.PIPE)
    assert started.stdout.readline() == "ready\n"
    started.send_signal(signal.SIGINT)
    assert started.stdout.readline() == "caught\n"
    assert started.wait(timeout=PATIENCE_S) == 4
    assert execute(tony, job, "sh", "-c", "kill -9 $$").returncode == 128 + 9


def marked(name):
    return find_marked(f"MARK={name}")


def test_nothing_outlives_its_command(tony, request):
    job = submit(tony)
    mark = request.node.name
    answer = execute(tony, job, "env", f"MARK={mark}", "sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo started")
    assert (answer.returncode, answer.stdout) == (0, "started\n")
    wait_until(lambda: not marked(mark), "what the command has started to be ended")
    started = tony.start("exec", job.id, "--", "env", f"MARK={mark}", "sleep", "1000")
    wait_until(lambda: marked(mark), "the command")
    started.kill()
    started.wait()
    wait_until(lambda: not marked(mark), "the command of a client that was killed to be ended")
    assert job.status()["state"] == "running"


def test_a_command_keeps_no_task(tony, request):
    """It ends with the task's program, also with one that has done its work."""
    job = submit(tony, command="until test -e go; do sleep 0.1; done")
    mark = request.node.name
    started = tony.start("exec", job.id, "--", "env", f"MARK={mark}", "sleep", "1000", stderr=subprocess.PIPE)
    wait_until(lambda: marked(mark), "the command")
    assert execute(tony, job, "touch", "go").returncode == 0
    assert job.wait() == 0
    assert started.wait(timeout=PATIENCE_S) != 0
    assert not marked(mark)


def test_a_restarted_task_ends_its_commands(tony, request):
    job = submit(tony)
    mark = request.node.name
    started = tony.start("exec", job.id, "--", "env", f"MARK={mark}", "sleep", "1000")
    wait_until(lambda: marked(mark), "the command")
    assert tony.run("restart", job.id, "worker:0").returncode == 0
    assert started.wait(timeout=PATIENCE_S) != 0
    job.wait_task("worker:0", restart=1)
    assert execute(tony, job, "echo", "again").stdout == "again\n"


def test_the_am_is_killed(tony, request):
    """Its connections go with it; the program goes on."""
    job = submit(tony)
    mark = request.node.name
    started = tony.start("exec", job.id, "--", "env", f"MARK={mark}", "sleep", "1000", stderr=subprocess.PIPE)
    pids = job.task("worker:0")["pids"]
    wait_until(lambda: marked(mark), "the command")
    job.kill_am()
    assert started.wait(timeout=PATIENCE_S) != 0 and "connection" in started.stderr.read()
    wait_until(lambda: not marked(mark), "the command to be ended")
    assert all(map(is_alive, pids))
    assert wait_until(lambda: execute(tony, job, "echo", "again").stdout, "the next application master") == "again\n"


def test_what_is_refused(tony):
    job = submit(tony, tasks=2)
    for words, text in [(("exec", job.id, "--", "true"), "has several tasks: name one"),
                        (("exec", job.id, "worker", "--", "true"), "which worker? write worker:0"),
                        (("exec", job.id, "worker:7", "--", "true"), "worker:7"),
                        (("exec", job.id, "worker:0"), "no command stands behind --"),
                        (("shell", job.id, "worker:0", "--", "true"), "tony exec --stdin --tty"),
                        (("shell", job.id, "worker:0"), "is no terminal"),
                        (("exec", job.id, "worker:0", "--", "no-such-program"), "cannot start no-such-program")]:
        answer = tony.run(*words)
        assert answer.returncode != 0 and text in answer.stderr, (words, answer.stderr)
    assert tony.run("kill", job.id).returncode == 0
    ended = execute(tony, job, "true")
    assert ended.returncode != 0 and "has already ended" in ended.stderr


def test_an_administrator_forbids_it(tony):
    job = submit(tony, {"tony.am.allow-exec": "false"})
    answer = execute(tony, job, "true")
    assert answer.returncode != 0 and "tony.am.allow-exec is false" in answer.stderr


@pytest.mark.promise("S98")
def test_each_command_leaves_an_audit_line(tony):
    job = submit(tony)
    assert execute(tony, job, "true").returncode == 0
    status, _ = job.rest("POST", "/v1/tasks/worker:0/exec", token="wrong")
    assert status == 401
    lines = [line for line in audit_of((job.directory / "am.log").read_text()) if line["action"] == "exec"]
    assert [(line["proof"], line["outcome"]) for line in lines] == [("token", "done"), ("wrong-token", "refused")]
    assert lines[0]["detail"] == "worker:0"
