"""tony exec and tony shell: commands of people in a task's container, and nothing of them left behind."""

import fcntl
import os
import signal
import struct
import subprocess
import termios

import pytest
from audit import audit_of
from conftest import wait_until
from patience import PATIENCE_S, let_pass
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
    seen = tony.run("exec", f"{job.id}/worker:0", "--", "ps", "-e", "-o", "args").stdout  # as tony cp has it
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
    with open("/dev/zero", "rb") as endless:
        answer = tony.start("exec", "-i", job.id, "--", "sh", "-c", "head -c 1 >/dev/null; exec <&-; sleep 1; echo on; exit 6",
                            stdin=endless, stdout=subprocess.PIPE)
        assert (answer.communicate(timeout=PATIENCE_S)[0], answer.returncode) == ("on\n", 6)


def test_a_slow_reader_gets_all(tony, tmp_path):
    """More than the pipe of its standard output takes, after the command has ended."""
    job = submit(tony)
    started = tony.start("exec", job.id, "--", "sh", "-c", f"head -c 300000 /dev/zero; touch {tmp_path}/over",
                         stdout=subprocess.PIPE, text=False)
    wait_until((tmp_path / "over").exists, "the command to end")
    assert len(started.communicate(timeout=PATIENCE_S)[0]) == 300000 and started.returncode == 0


def test_a_writer_in_the_background_keeps_nobody(tony, request):
    job = submit(tony)
    mark = request.node.name
    answer = execute(tony, job, "env", f"MARK={mark}", "sh", "-c", "yes & yes & exit 3")
    assert answer.returncode == 3
    wait_until(lambda: not marked(mark), "what the command has started to be ended")


def test_a_reader_that_goes_ends_the_command(tony, request):
    job = submit(tony)
    mark = request.node.name
    reading, writing = os.pipe()
    started = tony.start("exec", job.id, "--", "env", f"MARK={mark}", "yes", stdout=writing)
    os.close(writing)
    assert os.read(reading, 2) == b"y\n"
    os.close(reading)
    assert started.wait(timeout=PATIENCE_S) == 128 + signal.SIGPIPE
    wait_until(lambda: not marked(mark), "the command to be ended")


def test_a_terminal_without_input_is_interrupted(tony):
    """Not `sleep 1000`: dash, while it starts a program, notes SIGINT for afterwards, and keeps it from that program."""
    job = submit(tony)
    terminal = Terminal(tony, "exec", "--tty", job.id, "--", "sh", "-c", "echo ready-$((500 + 55)); while :; do sleep 0.1; done")
    terminal.wait_text("ready-555")
    terminal.type("\x03")
    assert terminal.finish() == 128 + signal.SIGINT


def test_a_shell_has_a_terminal(tony):
    job = submit(tony)
    terminal = Terminal(tony, "shell", job.id, columns=111)
    for typed, shown in [("tty | sed s,pts/.*,is-a-terminal,", "/dev/is-a-terminal"), ("stty size", "24 111"),
                         ("echo $TERM-$TONY_TASK", "xterm-worker:0"),
                         ("sh -c 'echo sleep-$((500 + 55)); while :; do sleep 0.1; done'", "sleep-555")]:
        terminal.type(typed + "\n")
        terminal.wait_text(shown)
    terminal.type("\x03")
    fcntl.ioctl(terminal.master, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 44, 0, 0))
    terminal.type("until test \"$(stty size)\" = '33 44'; do sleep 0.1; done; echo sized-$((500 + 55))\n")
    terminal.wait_text("sized-555")
    terminal.type("exit 5\n")
    assert terminal.finish() == 5


def test_a_second_interrupt_does_not_wait(tony):
    job = submit(tony)
    started = tony.start("exec", job.id, "--", "sh", "-c", "trap 'echo caught' INT; echo ready; while :; do sleep 0.1; done",
                         stdout=subprocess.PIPE)
    assert started.stdout.readline() == "ready\n"
    started.send_signal(signal.SIGINT)
    assert started.stdout.readline() == "caught\n"
    started.send_signal(signal.SIGINT)
    assert started.wait(timeout=PATIENCE_S) == 128 + signal.SIGINT


def test_a_stopped_command_is_no_frozen_task(tony, request):
    """People press Ctrl-Z."""
    job = submit(tony, {"tony.worker.frozen-timeout": "1s"})
    mark = request.node.name
    tony.start("exec", job.id, "--", "env", f"MARK={mark}", "sh", "-c", "kill -STOP $$")
    pid, = wait_until(lambda: marked(mark), "the command")
    wait_until(lambda: state_of(pid) == "T", "it to be stopped")
    let_pass(3)
    assert job.status()["state"] == "running" and state_of(pid) == "T"


def test_a_signal_reaches_the_command(tony):
    job = submit(tony)
    started = tony.start("exec", job.id, "--", "sh", "-c", "trap 'echo caught; exit 4' INT; echo ready; while :; do sleep 0.1; done",
                         stdout=subprocess.PIPE)
    assert started.stdout.readline() == "ready\n"
    started.send_signal(signal.SIGINT)
    assert started.stdout.readline() == "caught\n"
    assert started.wait(timeout=PATIENCE_S) == 4
    assert execute(tony, job, "sh", "-c", "kill -9 $$").returncode == 128 + 9


def state_of(pid):
    """"T": stopped."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0]


def marked(name):
    return find_marked(f"MARK={name}")


@pytest.mark.parametrize("keys", KINDS.values(), ids=KINDS)
def test_nothing_outlives_its_command(tony, request, keys):
    job = submit(tony, keys)
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


PROGRAM_ENDED = "tony: worker:0: its program has ended or is restarted, and the command has ended with it"


def test_a_command_keeps_no_task(tony, request):
    """It ends with the task's program, also with one that has done its work."""
    job = submit(tony, command="until test -e go; do sleep 0.1; done")
    mark = request.node.name
    started = tony.start("exec", job.id, "--", "env", f"MARK={mark}", "sleep", "1000", stderr=subprocess.PIPE)
    wait_until(lambda: marked(mark), "the command")
    assert execute(tony, job, "touch", "go").returncode == 0
    assert job.wait() == 0
    assert started.wait(timeout=PATIENCE_S) == 4
    assert f"tony: {job.id} has ended: succeeded, and the command with it" in (said := started.stderr.read()) or PROGRAM_ENDED in said
    assert not marked(mark)


def test_a_command_is_told_that_its_job_was_killed(tony, request):
    job = submit(tony)
    mark = request.node.name
    started = tony.start("exec", job.id, "--", "env", f"MARK={mark}", "sleep", "1000", stderr=subprocess.PIPE)
    wait_until(lambda: marked(mark), "the command")
    assert tony.run("kill", job.id).returncode == 0
    assert started.wait(timeout=PATIENCE_S) == 4
    assert f"tony: {job.id} has ended: killed, and the command with it" in (said := started.stderr.read()) or PROGRAM_ENDED in said


def test_a_restarted_task_ends_its_commands(tony, request):
    job = submit(tony)
    mark = request.node.name
    started = tony.start("exec", job.id, "--", "env", f"MARK={mark}", "sleep", "1000", stderr=subprocess.PIPE)
    wait_until(lambda: marked(mark), "the command")
    assert tony.run("restart", job.id, "worker:0").returncode == 0
    assert started.wait(timeout=PATIENCE_S) == 4 and PROGRAM_ENDED in started.stderr.read()
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


def test_data_that_the_command_does_not_get_is_told(tony):
    job = submit(tony)
    warning = "warning: standard input is not given to the command; see --stdin"
    for option, said, told in [([], "", True), (["-i"], "data", False)]:
        (tony.directory / "data").write_text("data")
        with open(tony.directory / "data") as data:
            answer = tony.run("exec", *option, job.id, "--", "cat", stdin=data)
        assert answer.returncode == 0 and answer.stdout == said, answer.stderr
        assert (warning in answer.stderr) == told, answer.stderr
    assert "warning" not in tony.run("exec", job.id, "--", "true").stderr


def test_what_is_refused(tony):
    job = submit(tony, tasks=2)
    for words, text in [(("exec", job.id, "--", "true"), "has several tasks: name one"),
                        (("exec", job.id, "worker", "--", "true"), "which worker? write worker:0"),
                        (("exec", job.id, "worker:7", "--", "true"), "worker:7"),
                        (("exec", job.id, "worker:0"), "no command stands behind --"),
                        (("shell", job.id, "worker:0", "--", "true"), "tony exec --stdin --tty"),
                        (("shell", job.id, "worker:0"), "is no terminal; tony exec --stdin JOB TASK -- sh"),
                        (("exec", job.id, "worker:0", "--", os.fsdecode(b"caf\xe9")), "not UTF-8"),
                        (("exec", job.id, "worker:0", "--", "x" * 70000), "more than 65536 bytes"),
                        (("exec", job.id, "worker:0", "--", "echo", *["x"] * 1000), "more than 1000 words"),
                        (("exec", job.id, "worker:0", "--", "no-such-program"), "cannot start no-such-program")]:
        answer = tony.run(*words)
        assert answer.returncode not in (0, 70) and text in answer.stderr, (words, answer.stderr)
    assert answer.returncode == 127
    assert tony.run("kill", job.id).returncode == 0
    ended = execute(tony, job, "true")
    assert ended.returncode != 0 and "has already ended" in ended.stderr


def test_a_task_that_runs_no_program(tony):
    """Not yet, or between two starts."""
    job = tony.submit({"tony.worker.instances": 1}, "--hold", "--executes", "true")
    for words in (("exec", job.id, "--", "true"), ("port-forward", job.id, ":80")):
        answer = tony.run(*words)
        assert answer.returncode == 4 and answer.stderr == "tony: worker:0: it runs no program\n", answer.stderr


def test_an_administrator_forbids_it(tony):
    job = submit(tony, {"tony.am.allow-exec": "false"})
    answer = execute(tony, job, "true")
    assert answer.returncode == 6 and "tony.am.allow-exec is false" in answer.stderr


@pytest.mark.promise("S98")
def test_each_command_leaves_an_audit_line(tony):
    job = submit(tony)
    assert execute(tony, job, "true").returncode == 0
    status, _ = job.rest("POST", "/v1/tasks/worker:0/exec", token="wrong")
    assert status == 401
    lines = [line for line in audit_of((job.directory / "am.log").read_text()) if line["action"] == "exec"]
    assert [(line["proof"], line["outcome"]) for line in lines] == [("token", "done"), ("wrong-token", "refused")]
    assert lines[0]["detail"] == "worker:0"
