"""Limits of tony's own processes, and that the programs they start are free of them."""

import os
import re
import resource
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import BUILD, PYTHON, children_of, parent_of, wait_until
from portal import Portal

# Of a user's shell before `tony submit`: none, a number of KiB, all that is allowed.
SOFT_LIMITS = ("0", "1024", "hard")
PRINT_LIMIT = "ulimit -Sc"


def set_core_limit(tony, soft):
    """tony is started in such a shell from here on; the shell's word for the limit."""
    tony.env["ASAN_OPTIONS"] += ":disable_coredump=0"  # ASan would lower both limits, and before main()
    tony.enter = ["bash", "-c", 'ulimit -Sc "$0" && exec "$@"', soft]
    return subprocess.run([*tony.enter, "bash", "-c", PRINT_LIMIT], check=True, capture_output=True, text=True).stdout


def core_limits(*pids):
    return {resource.prlimit(pid, resource.RLIMIT_CORE) for pid in pids}


def no_core():
    """The soft limit of tony's own processes; the hard one is as it was."""
    return {(0, resource.getrlimit(resource.RLIMIT_CORE)[1])}


def own_processes(job, task):
    """Of the AM and of the task's executor, both halves."""
    return [pid for worker in (job.am_pid(), task["executor_pid"]) for pid in (worker, parent_of(worker))]


def seccomp(pid):
    return int(re.search(r"^Seccomp:\s*(\d)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[1])


def filters(pid):
    return int(re.search(r"^Seccomp_filters:\s*(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[1])


def no_new_privs(pid):
    return int(re.search(r"^NoNewPrivs:\s*(\d)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[1])


@pytest.mark.promise("S28", "S29")
@pytest.mark.parametrize("soft", SOFT_LIMITS)
def test_core_limit_is_of_tony_alone(tony, soft):
    """Also after another AM, and another guardian of it, and in the container that these start."""
    said = set_core_limit(tony, soft)
    job = tony.submit({"tony.worker.instances": 1, "tony.am.retry-count": 3, "tony.am.retry-delay": "10ms"},
                      "--executes", f"{PRINT_LIMIT}; exec sleep 1000")
    task = job.wait_task("worker:0")
    job.wait_log("worker:0", said)
    assert core_limits(*own_processes(job, task)) == no_core()
    job.kill_am()
    before = job.am_pid()
    os.kill(parent_of(before), signal.SIGKILL)
    wait_until(lambda: job.status()["am_attempt"] == 3, "the AM to follow its guardian")
    os.kill(task["executor_pid"], signal.SIGKILL)
    task = job.wait_task("worker:0", attempt=2)
    assert wait_until(lambda: (text := job.logs("worker:0")).count("\n") == 2 and text, "the second program") == said * 2
    assert core_limits(*own_processes(job, task)) == no_core()
    for follower in (tony.start("wait", job.id), tony.start("logs", "--follow", job.id)):
        wait_until(lambda: core_limits(follower.pid) == no_core(), "the client to lower its limit")


def test_few_open_files_are_the_programs_alone(tony):
    """Of a user's shell: tony's own processes have more, also those of another AM."""
    tony.enter = ["bash", "-c", 'ulimit -Sn 12 && exec "$@"', "bash"]
    job = tony.submit({"tony.worker.instances": 1, "tony.am.retry-count": 3, "tony.am.retry-delay": "10ms"},
                      "--executes", "ulimit -Sn; exec sleep 1000")
    task = job.wait_task("worker:0")
    job.wait_log("worker:0", "12\n")
    job.kill_am()
    wait_until(lambda: job.status()["am_attempt"] == 2, "the next AM")
    os.kill(task["executor_pid"], signal.SIGKILL)
    task = job.wait_task("worker:0", attempt=2)
    wait_until(lambda: job.logs("worker:0") == "12\n12\n", "the second program")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert {resource.prlimit(pid, resource.RLIMIT_NOFILE) for pid in own_processes(job, task)} == {(hard, hard)}


@pytest.mark.promise("S29")
def test_core_limit_in_a_pid_namespace_and_under_horovod(tony):
    """A program is started by another process there."""
    said = set_core_limit(tony, "1024")
    for keys in ({"tony.worker.isolation": "pid-namespace"},
                 {"tony.application.framework": "horovod", "tony.horovod.driver.mode.debug": "true", "tony.driver.instances": 1,
                  "tony.driver.command": f"{PRINT_LIMIT}; exec {PYTHON} horovod_driver.py 9999"}):
        answer, job = tony.job({"tony.worker.instances": 1, "tony.worker.command": PRINT_LIMIT, **keys})
        assert answer.returncode == 0, answer.stderr
        for task in job.status()["tasks"]:
            assert job.logs(task["task"]).startswith(said), task["task"]


def dumped_memory(pid):
    return int(Path(f"/proc/{pid}/coredump_filter").read_text(), 16)


@pytest.mark.promise("S28", "S29")
@pytest.mark.parametrize("isolation", ["none", "pid-namespace"])
def test_a_dump_holds_no_memory_of_tonys(tony, isolation):
    """A program that the kernel pipes dumps to gets one whatever the limit is. The user's programs have what the user's shell had."""
    own = dumped_memory("self")
    assert own != 0
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.isolation": isolation}, "--executes",
                      "cat /proc/self/coredump_filter; exec sleep 1000")
    task = job.wait_task("worker:0")
    assert int(job.wait_log("worker:0", "\n"), 16) == own
    assert {dumped_memory(pid) for pid in own_processes(job, task)} == {0}
    follower = tony.start("wait", job.id)
    wait_until(lambda: dumped_memory(follower.pid) == 0, "the client to leave its memory out")


TENSORBOARD = """#!/bin/bash
(ulimit -Sc; grep -E "^(NoNewPrivs|Seccomp):" /proc/self/status) >{told}.new && mv {told}.new {told}
exec sleep 1000
"""


@pytest.mark.promise("S28", "S31", "S81")
def test_portal_and_its_processes_gain_no_privileges(tony):
    """A job that runs beside them may."""
    said = set_core_limit(tony, "1024")
    told, program = tony.directory / "told", tony.directory / "tensorboard"
    program.write_text(TENSORBOARD.format(told=told))
    program.chmod(0o755)
    portal = Portal(tony, "--tensorboard", program)
    _, ended = tony.job({"tony.application.tensorboard-log-dir": tony.directory}, "--executes", "true")
    portal.wait_kept(ended, "succeeded")
    running = tony.submit({"tony.worker.instances": 1}, "--executes", "exec sleep 1000")
    task = running.wait_task("worker:0")
    assert portal.call(f"v1/jobs/{ended.id}/tensorboard", "PUT")[0] == 200
    wait_until(told.exists, "TensorBoard to start")
    assert told.read_text() == f"{said}NoNewPrivs:\t1\nSeccomp:\t{seccomp(os.getpid())}\n"
    processes = [portal.child.pid, *children_of(portal.child.pid)]
    assert len(processes) == 4, "the server, its indexer, a reader, and the one that starts TensorBoard"
    assert [no_new_privs(pid) for pid in processes] == [1] * 4 and core_limits(*processes) == no_core()
    name = {pid: Path(f"/proc/{pid}/comm").read_text().strip() for pid in processes}
    assert {name[pid]: filters(pid) - filters(os.getpid()) for pid in processes} == {"tony": 1, "tony-starter": 0}
    own = no_new_privs(os.getpid())
    assert {no_new_privs(pid) for pid in (*own_processes(running, task), *task["pids"])} == {own}
    portal.stop()


def load_address(pid, name):
    """Where the program's first page lies."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    return re.search(rf"^(\w+)-\S+ \S+ 0+ .*{re.escape(str(BUILD / name))}$", maps, re.MULTILINE)[1]


@pytest.mark.promise("S30")
def test_programs_lie_at_another_address_each_time(tony):
    job = tony.submit({"tony.worker.instances": 2}, "--executes", "exec sleep 1000")
    agents = [job.am_pid(), *(job.wait_task(f"worker:{i}")["executor_pid"] for i in (0, 1))]
    assert len({load_address(pid, "tony-agent") for pid in agents}) == 3
    clients = [tony.start("wait", job.id).pid for _ in range(2)]
    assert len({load_address(pid, "tony") for pid in clients}) == 2
