"""The figures that the project promises, measured on this machine: medians of several runs, with the
goal beside each. Nothing here fails; the reader judges. Python's standard library only.
"""

import argparse
import functools
import glob
import http.client
import json
import os
import platform
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("TONY_BUILD", os.path.join(ROOT, "build"))
TONY = os.path.join(BUILD, "tony")
AGENT = os.path.join(BUILD, "tony-agent")
PYTHON = "/usr/bin/python3"
PATIENCE_S = 60
TRIALS = 100


class Workplace:
    """A state directory of its own, so that the user's jobs are neither seen nor disturbed."""

    id_pattern = r"tony-\d{8}-\d{6}-[0-9a-f]+"

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="tony-bench-")
        self.env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self.path, "USER": "bench",
                    "TONY_STATE_DIR": os.path.join(self.path, "state"), "LANG": "C.UTF-8"}

    def tony(self, *arguments):
        done = subprocess.run([TONY, *map(str, arguments)], env=self.env, cwd=self.path,
                              capture_output=True, text=True, timeout=PATIENCE_S)
        if done.returncode != 0:
            sys.exit(f"tony {' '.join(map(str, arguments))}: {done.stdout}{done.stderr}")
        return done.stdout

    def submit(self, tasks, command, *options):
        out = self.tony("submit", "--detach", "--conf", f"tony.worker.instances={tasks}",
                        "--conf", "tony.worker.memory=16m", *options, "--executes", command)
        return re.search(self.id_pattern, out).group()

    def status(self, job):
        return json.loads(self.tony("status", "--json", job))

    def end(self, job):
        self.tony("kill", job)

    def close(self):
        shutil.rmtree(self.path, ignore_errors=True)


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.001)
    sys.exit("bench: waited in vain")


def timed(function):
    start = time.perf_counter()
    function()
    return (time.perf_counter() - start) * 1000


def read_stamps(directory, count):
    """The times (s) that `count` programs wrote, once all are there."""
    def there():
        names = os.listdir(directory)
        texts = [open(os.path.join(directory, name), encoding="ascii").read() for name in names]
        return [float(text) for text in texts] if len(texts) == count and all(
            text.endswith("\n") for text in texts) else None
    return wait_until(there)


def spawned(place, *command):
    """Without what subprocess adds, a millisecond or two."""
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], command, place.env, file_actions=[
        (os.POSIX_SPAWN_OPEN, output, "/dev/null", os.O_WRONLY, 0) for output in (1, 2)])
    status = os.waitpid(pid, 0)[1]
    if status:
        sys.exit(f"bench: {command} ended with {status}")
    return (time.perf_counter() - start) * 1000


def show_cold_start(place):
    for name, command, goal in (("an empty program (true)", ("/bin/true",), ""), ("tony version", (TONY, "version"), "<= 2"),
                                ("tony list, without jobs", (TONY, "list"), "<= 3")):
        show(f"cold start: {name}", [spawned(place, *command) for _ in range(100)], "ms", goal)


def submit_to_running(place):
    directory = tempfile.mkdtemp(dir=place.path)
    start = time.time()
    job = place.submit(1, f"echo $EPOCHREALTIME > {directory}/stamp; sleep 1000")
    stamp = read_stamps(directory, 1)[0]
    place.end(job)
    return (stamp - start) * 1000


class Script:
    """A script of PyTorch's that names a module, torch or another, and writes when it began. The module is a
    made-up one beside it: tony looks for it and does not load it."""

    def __init__(self, place, module):
        self.place, self.directory = place, tempfile.mkdtemp(dir=place.path)
        os.mkdir(os.path.join(self.directory, module))
        with open(os.path.join(self.directory, module, "__init__.py"), "w", encoding="ascii"):
            pass
        with open(os.path.join(self.directory, "train.py"), "w", encoding="ascii") as file:
            file.write("import os, sys, time\nbegun = time.time()\nwith open(sys.argv[1] + '/stamp', 'w') as file:\n"
                       f"    file.write(str(begun) + '\\n')\ntime.sleep(1000)\nimport {module}\n")

    def submit_to_running(self):
        stamps = tempfile.mkdtemp(dir=self.place.path)
        start = time.time()
        out = self.place.tony("submit", "--detach", "--framework", "pytorch", "--workers", "1", "--memory", "64m", "--",
                              PYTHON, f"{self.directory}/train.py", stamps)
        took = read_stamps(stamps, 1)[0] - start
        self.place.end(re.search(self.place.id_pattern, out).group())
        return took * 1000

    def forget(self):
        """As on a new day: the interpreter is asked anew."""
        shutil.rmtree(os.path.join(self.place.env["TONY_STATE_DIR"], "cache"), ignore_errors=True)


def show_module_check(place, runs):
    """Pairs, each beginning with the other one: what else the machine does slows both down alike."""
    checked, plain = Script(place, "torch"), Script(place, "another")
    first, later, ratios = [], [], []
    for run in range(runs):
        checked.forget()
        first.append(checked.submit_to_running())
        pair = {}
        for script in (checked, plain) if run % 2 else (plain, checked):
            pair[script] = script.submit_to_running()
        first[-1] -= pair[plain]
        later.append(pair[checked] - pair[plain])
        ratios.append(100 * pair[checked] / pair[plain])
    show("  the module check: a script that imports torch, more", later, "ms", "<= 5")
    show("    of what one takes that does not", ratios, "%", "")
    show("    the first of a day, whose interpreter is asked, more", first, "ms", "")


def no_op_tasks(place, tasks, command="true", memory="16m"):
    return timed(lambda: place.tony("submit", "--conf", f"tony.worker.instances={tasks}",
                                    "--conf", f"tony.worker.memory={memory}", "--executes", command))


def bare_fork_exec(tasks):
    def run():
        children = [subprocess.Popen(["bash", "-c", "true"]) for _ in range(tasks)]
        for child in children:
            child.wait()
    return timed(run)


def torchrun_command(place, processes):
    """Debian's torchrun needs these flags with its own Python."""
    return [PYTHON, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}",
            "--redirects=2", "--tee=1", f"--log_dir={place.path}/torchrun"]


def torchrun(place, processes):
    program = os.path.join(place.path, "noop.py")
    with open(program, "w", encoding="ascii") as file:
        file.write("")
    command = [*torchrun_command(place, processes), program]
    done = subprocess.run(command, env=place.env, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        return None
    return timed(lambda: subprocess.run(command, env=place.env, capture_output=True, timeout=300))


KEPT = 5000
FEW = 1000
CLEANED = 1000


def keep_job(place):
    """(the folder of jobs, the name of one in it that has ended)"""
    jobs = os.path.join(place.env["TONY_STATE_DIR"], "jobs")
    place.tony("submit", "--memory", "16m", "--", "true")
    [kept] = os.listdir(jobs)
    wait_until(lambda: not os.path.exists(os.path.join(jobs, kept, "am.json")))
    return jobs, kept


def kept_id(number):
    return f"tony-202611{1 + number % 28:02}-000000-{number:08x}"


def show_list_of_few(place):
    spawned(place, TONY, "list")
    show(f"tony list, of {FEW} kept jobs", [spawned(place, TONY, "list") for _ in range(100)], "ms", "<= 8")


def show_kept_jobs(runs):
    """Beside as many ended jobs as a busy user keeps: copies of a real one and of its history, each of a name of its
    own. The first list makes the index of them."""
    place = Workplace()
    try:
        jobs, kept = keep_job(place)
        histories = os.path.join(place.env["TONY_STATE_DIR"], "history")
        [history] = wait_until(lambda: glob.glob(os.path.join(histories, "*", "*", "*", kept)))
        for number in range(KEPT):
            if number == FEW:
                show_list_of_few(place)
            job, name = kept_id(number), f"job-{number}"
            copy_job(jobs, kept, job, name)
            copy_history(histories, history, job, name)
        shutil.rmtree(os.path.join(jobs, kept_id(7)))
        ask = functools.partial(subprocess.run, env=place.env, check=False, capture_output=True)
        show(f"  of {KEPT} kept jobs: the first list of all", [timed(lambda: ask([TONY, "list", "--all"]))], "ms", "")
        for label, *words in (("a job that is none", "status", "no-such-job"), ("one of them by name", "status", "job-8"),
                              ("one whose history is left, by name", "status", "job-7"), ("all of them", "list", "--all")):
            times = [timed(lambda: ask([TONY, *words])) for _ in range(runs)]
            show(f"  of {KEPT} kept jobs: {label}", times, "ms", "<= 50")
    finally:
        place.close()


def show_clean(runs):
    """All of them ended an hour ago, but for the one that they are copies of."""
    place = Workplace()
    try:
        jobs, kept = keep_job(place)
        for number in range(CLEANED):
            copy_job(jobs, kept, kept_id(number), f"job-{number}")
            shutil.copytree(os.path.join(jobs, kept, "containers"), os.path.join(jobs, kept_id(number), "containers"), symlinks=True)
        clean = functools.partial(place.tony, "clean", "--older-than", "30m")
        show(f"  tony clean of {CLEANED} kept jobs: --dry-run", [timed(lambda: clean("--dry-run")) for _ in range(runs)], "ms", "")
        show(f"  tony clean of {CLEANED} kept jobs", [timed(clean)], "ms", "")
        if os.listdir(jobs) != [kept]:
            sys.exit("bench: tony clean has left some of them")
    finally:
        place.close()


def copy_job(jobs, kept, job, name):
    directory = os.path.join(jobs, job)
    os.mkdir(directory)
    with open(os.path.join(jobs, kept, "job.json"), encoding="utf-8") as file:
        description = json.load(file)
    with open(os.path.join(directory, "job.json"), "w", encoding="utf-8") as file:
        json.dump({**description, "id": job, "name": name}, file)
    os.symlink(name, os.path.join(directory, "name"))
    for part in ("journal.jsonl", "origin", "token"):
        shutil.copy(os.path.join(jobs, kept, part), directory)
    an_hour_ago = time.time() - 3600
    os.utime(os.path.join(directory, "journal.jsonl"), (an_hour_ago, an_hour_ago))


def copy_history(histories, history, job, name):
    directory = os.path.join(histories, job[5:9], job[9:11], job[11:13], job)
    os.makedirs(directory)
    for part in ("job.json", "summary.json"):
        with open(os.path.join(history, part), encoding="utf-8") as file:
            told = json.load(file)
        with open(os.path.join(directory, part), "w", encoding="utf-8") as file:
            json.dump({**told, "id": job, "name": name}, file)
    shutil.copy(os.path.join(history, "events.jsonl"), directory)


def read_status(pid, field):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return re.search(rf"^{field}:\s+(\S+)", status.read(), re.M).group(1)


def parent_of(pid):
    return int(read_status(pid, "PPid"))


def resident_mib(pid):
    """Of the process and its guardian, which is its parent."""
    pair = [pid, parent_of(pid)]
    if read_status(pair[1], "Name") != "tony-guardian":
        sys.exit(f"bench: {pid} has no guardian")
    return sum(int(read_status(part, "VmRSS")) for part in pair) / 1024


def resident_sizes(place):
    """(AM, executor) of a job with 8 tasks that have run for a moment."""
    job = place.submit(8, "sleep 1000")
    def running():
        status = place.status(job)
        ready = len(status["tasks"]) == 8 and all(task["state"] == "running" and task.get("pids")
                                                  for task in status["tasks"])
        return status if ready else None
    status = wait_until(running)
    time.sleep(2)  # some beats and metrics later
    sizes = resident_mib(status["am_pid"]), max(resident_mib(task["executor_pid"])
                                                for task in status["tasks"])
    place.end(job)
    return sizes


def recover(place):
    """kill -9 of one of four workers -> the last of the four has started again, in the containers that
    are there. The first retry of a program has no pause before it."""
    directory = tempfile.mkdtemp(dir=place.path)
    command = (f"mkdir -p {directory}/$TONY_EPOCH; "
               f"echo $EPOCHREALTIME > {directory}/$TONY_EPOCH/$TASK_INDEX; exec sleep 1000")
    job = place.submit(4, command, "--framework", "pytorch", "--conf", "tony.am.retry-count=1")
    wait_until(lambda: os.path.isdir(f"{directory}/1"))
    read_stamps(f"{directory}/1", 4)
    task = wait_until(lambda: next((task for task in place.status(job)["tasks"]
                                    if task["task"] == "worker:1" and task.get("pids")), None))
    if os.path.isdir(f"{directory}/2"):
        sys.exit("bench: the job had re-formed before anybody was killed")
    start = time.time()
    os.kill(task["pids"][0], signal.SIGKILL)
    wait_until(lambda: os.path.isdir(f"{directory}/2"))
    stamps = read_stamps(f"{directory}/2", 4)
    if min(stamps) < start:
        sys.exit("bench: a process of the second formation is older than the kill")
    place.end(job)
    return (max(stamps) - start) * 1000


def ask(place, job, path):
    """A GET of the AM's, which waits while there is none."""
    directory = os.path.join(place.env["TONY_STATE_DIR"], "jobs", job)
    with open(os.path.join(directory, "am.json"), encoding="utf-8") as file:
        address = json.load(file)["address"]
    with open(os.path.join(directory, "token"), encoding="utf-8") as file:
        token = file.read().strip()
    request = urllib.request.Request(f"http://{address}{path}", headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.load(answer)
    except (OSError, http.client.HTTPException):
        return None  # its AM was killed with the question in hand


def tasks_that_beat(place, job):
    """Those whose executor the AM that there is now has heard of, and its process."""
    answer = ask(place, job, "/v1/tasks")
    return [task for task in answer["tasks"] if task.get("executor_pid") and task.get("pids")] if answer else []


def adopt(place, tasks=50):
    """kill -9 of the AM -> the next one has every task's registration and beat."""
    job = place.submit(tasks, "sleep 1000")
    before = wait_until(lambda: len(found := tasks_that_beat(place, job)) == tasks and found)
    am = place.status(job)["am_pid"]
    start = time.perf_counter()
    os.kill(am, signal.SIGKILL)
    after = wait_until(lambda: (ask(place, job, "/v1/job") or {}).get("am_attempt") == 2 and
                       len(found := tasks_that_beat(place, job)) == tasks and found)
    took = (time.perf_counter() - start) * 1000
    if [task["pids"] for task in after] != [task["pids"] for task in before]:
        sys.exit("bench: a task was started again")
    place.end(job)
    return took


def lives_through(place, chance):
    """Whether a job keeps all of its four tasks when its AM, or the AM's guardian, is killed at some
    moment from its start on."""
    job = place.submit(4, "sleep 1000")
    am = place.status(job)["am_pid"]
    victim = am if chance.random() < 0.5 else parent_of(am)
    time.sleep(chance.random() * 0.2)
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: place.status(job)["am_attempt"] == 2)
    found = wait_until(lambda: len(found := tasks_that_beat(place, job)) == 4 and found)
    place.end(job)
    return all(task["attempt"] == 1 and task["restart"] == 0 for task in found)


def stripped_agent_mib(place):
    path = os.path.join(place.path, "tony-agent")
    subprocess.run(["strip", "-o", path, os.path.join(BUILD, "tony-agent")], check=True)
    return os.path.getsize(path) / (1 << 20)


def free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


class Hosts:
    """Programs that serve commands (`tony-agent host`), as an MPI job's workers do."""

    def __init__(self, place, count):
        ports = free_ports(count)
        self.env = {**place.env, "TONY_HOST": "127.0.0.1", "TONY_EPOCH": "1",
                    "TONY_TOKEN_FILE": os.path.join(place.path, "token"),
                    "TONY_CLUSTER_FILE": os.path.join(place.path, "cluster.json")}
        with open(self.env["TONY_TOKEN_FILE"], "w", encoding="ascii") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(f"{random.getrandbits(256):064x}")
        with open(self.env["TONY_CLUSTER_FILE"], "w", encoding="ascii") as file:
            json.dump({"epoch": 1, "types": {"worker": [f"127.0.0.1:{port}" for port in ports]}}, file)
        self.children = [subprocess.Popen([AGENT, "host"], env={**self.env, "TONY_PORT": str(port)}) for port in ports]

    def ask(self):
        """A command on each, side by side, to the last one's end."""
        asking = [subprocess.Popen([AGENT, "rsh", f"tony-worker-{i}", "true"], env=self.env) for i in range(len(self.children))]
        for child in asking:
            if child.wait(PATIENCE_S) != 0:
                sys.exit("bench: rsh failed")

    def end(self):
        for child in self.children:
            child.kill()
            child.wait()


def rsh_to_hosts(place, count, runs):
    hosts = Hosts(place, count)
    try:
        hosts.ask()  # all of them serve
        return [timed(hosts.ask) for _ in range(runs)]
    finally:
        hosts.end()


def sample_cost(processes):
    """Processor time of a sample of a task's metrics."""
    done = subprocess.run([os.path.join(BUILD, "bench", "metrics", "bench-sample"), str(processes), "100"],
                          check=True, capture_output=True, text=True, timeout=PATIENCE_S)
    return float(done.stdout.split()[0])


def describe_machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    release = platform.freedesktop_os_release().get("PRETTY_NAME", "?")
    load = os.getloadavg()[0]
    return (f"{model.group(1) if model else platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB, "
            f"Linux {platform.release()}, {release}; load {load:.1f} at the start")


def show(name, values, unit, goal):
    values = [value for value in values if value is not None]
    if not values:
        print(f"{name:58} {'not to be had here':>18}", flush=True)
        return
    spread = f"{min(values):.1f} .. {max(values):.1f}" if len(values) > 1 else ""
    print(f"{name:58} {statistics.median(values):9.1f} {unit:4} {goal:>12}   {spread}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=9)
    runs = parser.parse_args().runs
    place = Workplace()
    try:
        print(describe_machine())
        print(f"medians of {runs} runs (100 for the cold start)\n")
        print(f"{'':58} {'median':>9} {'':4} {'goal':>12}   least .. most")
        show_cold_start(place)
        show("submit -> user process running, 1 task",
             [submit_to_running(place) for _ in range(runs)], "ms", "<= 60")
        show_module_check(place, 3 * runs)
        show("100 no-op tasks, start to end", [no_op_tasks(place, 100) for _ in range(runs)], "ms", "")
        show("  bare fork/exec of the same", [bare_fork_exec(100) for _ in range(runs)], "ms", "")
        show("8 no-op Python tasks, start to end",
             [no_op_tasks(place, 8, f"{PYTHON} -c pass", "64m") for _ in range(runs)], "ms", "")
        show("  torchrun --nproc-per-node 8 of the same", [torchrun(place, 8) for _ in range(3)], "ms", "")
        show_kept_jobs(runs)
        show_clean(runs)
        show("rsh to 3 hosts", rsh_to_hosts(place, 3, 10 * runs), "ms", "")
        sizes = [resident_sizes(place) for _ in range(3)]
        show("RSS of the AM and its guardian, 8 tasks", [am for am, _ in sizes], "MiB", "<= 10")
        show("RSS of an executor and its guardian (largest of 8)", [executor for _, executor in sizes], "MiB", "<= 6")
        show("processor time of a sample of metrics, 20 processes",
             [sample_cost(20) for _ in range(3)], "ms", "<= 2")
        show("size of tony-agent, stripped", [stripped_agent_mib(place)], "MiB", "<= 8")
        show("kill -9 of one of 4 workers -> all running again",
             [recover(place) for _ in range(runs)], "ms", "<= 300")
        show("kill -9 of the AM -> the next one has all of 50 tasks",
             [adopt(place) for _ in range(runs)], "ms", "<= 1000")
        chance = random.Random(1)
        lived = [lives_through(place, chance) for _ in range(TRIALS)]
        print(f"{'kill -9 of the AM or its guardian: no task restarted':58} {sum(lived):4} of {len(lived)}")
    finally:
        place.close()


if __name__ == "__main__":
    main()
