"""What the suites share: the real programs, run with a state directory of their own, and the jobs that
they start."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import schemas
from patience import PATIENCE_S, wait_until

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TONY_BUILD", ROOT / "build"))
PROGRAMS = ROOT / "test/e2e/programs"
PYTHON = "/usr/bin/python3"
FINAL = ("succeeded", "failed", "killed")


def built(name):
    """A file of the build directory, of those that `./dev build` does not make."""
    if not (BUILD / name).exists():
        pytest.fail(f"{BUILD / name} is not built: run ninja -C {BUILD}", pytrace=False)
    return BUILD / name


def read_environ(pid):
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def is_alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def stand_still(*pids):
    """Until SIGCONT. After the signal one thread of many may run on for a moment."""
    def stands(pid):
        try:
            return all(stat.read_text().rpartition(")")[2].split()[0] == "T"
                       for stat in Path(f"/proc/{pid}/task").glob("*/stat"))
        except OSError:
            return False  # a thread ended meanwhile

    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    for pid in pids:
        wait_until(lambda pid=pid: stands(pid), f"process {pid} to stand still")


def find_marked(*marks):
    """Every live process whose environment holds one of the marks ("KEY=VALUE")."""
    wanted = {mark.encode() for mark in marks}
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid() and is_alive(entry):
            if wanted.intersection(read_environ(entry)):
                found.append(int(entry))
    return found


def describe(pid):
    """Pid, state, parent, name and command line: enough to tell who waits for what."""
    try:
        name, _, rest = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").partition("(")[2].rpartition(")")
        state, parent = rest.split()[:2]
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        return f"{pid} {state} child of {parent}: {name}: {command}"
    except OSError:
        return f"{pid} (gone)"


def read_children(thread):
    try:
        return [int(child) for child in (thread / "children").read_text().split()]
    except OSError:
        return []  # threads come and go


def children_of(pid):
    try:
        return [child for thread in Path(f"/proc/{pid}/task").iterdir() for child in read_children(thread)]
    except OSError:
        return []


def open_files(pid):
    """Paths, and "socket:[1234]" and the like."""
    found = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            pass
    return found


def opens(pid, path):
    """Has the process this file open?"""
    return str(path) in open_files(pid)


def write_xml(path, keys):
    """A tony.xml with these keys; a value may be (value, final)."""
    lines = ["<configuration>"]
    for name, value in keys.items():
        final = ""
        if isinstance(value, tuple):
            value, final = value[0], "<final>true</final>" if value[1] else ""
        text = str(value).replace("&", "&amp;").replace("<", "&lt;")
        lines.append(f"<property><name>{name}</name><value>{text}</value>{final}</property>")
    path.write_text("\n".join(lines + ["</configuration>"]) + "\n")
    return path


_AROUND = dict(os.environ)  # a test may have a HOME of its own, in which each environment would be made anew


def venv_bin(example):
    """Where the programs are of the virtual environment that examples/<example> asks for."""
    made = subprocess.run([ROOT / "test/frameworks/venv", example], capture_output=True, text=True,
                          timeout=1800, env=_AROUND)
    assert made.returncode == 0, made.stderr
    return Path(made.stdout.strip()) / "bin"


def python_for(example):
    """Of an example that Debian's packages run: None, or the newest ones of PyPI where a run asks for these."""
    return venv_bin("torch") if os.environ.get("TONY_TEST_NEWEST") and example in ("pytorch", "torchrun") else None


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])


def hear_signals():
    """In a child: a shell ignores these for what it runs in the background, nohup for all, and so the tests."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Job:
    """A job that was submitted."""

    def __init__(self, tony, job_id):
        self.tony, self.id = tony, job_id
        self.directory = tony.state / tony.folder / job_id

    def status(self, env=None):
        answer = self.tony.run("status", "--json", self.id, env=env)
        assert answer.returncode == 0, answer.stderr
        return schemas.check("status", json.loads(answer.stdout))

    def task(self, name):
        return next((task for task in self.status()["tasks"] if task["task"] == name), None)

    def wait_task(self, name, state="running", patience_s=PATIENCE_S, **members):
        """The task's status once it is in `state` with these members, and when running with a
        process to see."""
        def there():
            task = self.task(name)
            if not task or task["state"] != state:
                return None
            if any(task.get(key) != value for key, value in members.items()):
                return None
            return task if state != "running" or task.get("pids") else None
        return wait_until(there, f"{self.id}: {name} {state} {members}", patience_s)

    def wait_state(self, *states, patience_s=PATIENCE_S):
        return wait_until(lambda: (s := self.status())["state"] in states and s,
                          f"{self.id} {states}", patience_s)

    def wait(self, patience_s=PATIENCE_S):
        """Waits for the end; the exit code that `tony submit` would have had."""
        return self.tony.run("wait", self.id, timeout=patience_s).returncode

    def events(self):
        answer = self.tony.run("events", "--json", self.id)
        assert answer.returncode == 0, answer.stderr
        return [schemas.check("events", json.loads(line)) for line in answer.stdout.splitlines()]

    def logs(self, task, file="stdout"):
        """What the task's containers wrote, the oldest first."""
        pattern = f"{task.replace(':', '-')}-*/{file}"
        files = sorted((self.directory / "containers").glob(pattern))
        return "".join(path.read_text(errors="replace") for path in files)

    def wait_log(self, task, text, file="stdout"):
        return wait_until(lambda: text in (log := self.logs(task, file)) and log,
                          f"{self.id}: {text!r} in {file} of {task}")

    def published(self):
        """Its history, on one machine. Clients hear of the end before it is there."""
        store = self.tony.state / "history"
        return wait_until(lambda: next(store.glob(f"*/*/*/{self.id}"), None), f"{self.id} to be published")

    def description(self):
        """What job.json says."""
        return json.loads((self.directory / "job.json").read_text())

    def token(self):
        return (self.directory / "token").read_text().strip()

    @contextlib.contextmanager
    def tunnel(self, *options):
        """The link that `tony open --tunnel` prints, and the URL of the AM behind it."""
        child = self.tony.start("open", "--tunnel", *options, self.id)
        link = child.stdout.readline().strip()
        try:
            assert link, child.stderr.read()
            yield link, link.split("/login")[0]
        finally:
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=PATIENCE_S)

    def rest(self, method, path, body=None, token=None, url=None):
        """(status, body) of one call of the AM; `url`: where it was, since that of an ended job is not told."""
        url = url or self.status()["am_url"]
        if url.startswith("https://"):   # Python knows no TLS by a token
            with self.tunnel() as (_, root):
                return self.rest(method, path, body, token, root)
        request = urllib.request.Request(url + path, method=method)
        request.add_header("Authorization", "Bearer " + (token or self.token()))
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(request, data, timeout=PATIENCE_S) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def processes(self):
        return find_marked(f"TONY_JOB_ID={self.id}")

    def am_pid(self):
        """An AM listens a moment before it says its own."""
        return wait_until(lambda: self.status()["am_pid"], f"the AM of {self.id}")

    def am(self):
        """The pids of the AM and of its guardian."""
        pid = self.am_pid()
        return pid, parent_of(pid)

    def kill_am(self, number=signal.SIGKILL):
        """Another AM goes on with the job, but it is told of the tasks' processes (wait_task) a moment later;
        this is its pid."""
        before = self.am_pid()
        os.kill(before, number)
        return wait_until(lambda: (pid := self.status()["am_pid"]) != before and pid, f"another AM of {self.id}")

    def lose_am(self):
        """No other AM goes on with the job."""
        am, guardian = self.am()
        os.kill(guardian, signal.SIGSTOP)
        os.kill(am, signal.SIGKILL)
        os.kill(guardian, signal.SIGKILL)
        wait_until(lambda: not is_alive(am) and not is_alive(guardian), f"the AM of {self.id} to be gone")

    def wear_out_am(self, number=signal.SIGKILL):
        """Kills one AM after the other, until the guardian has had enough of it: one that has lived for a while
        counts anew."""
        while (before := self.status())["state"] not in FINAL:
            os.kill(before["am_pid"], number)
            wait_until(lambda: (now := self.status())["state"] in FINAL or now["am_pid"] != before["am_pid"],
                       f"another AM of {self.id}, or its end")


class Tony:
    """Runs build/tony with its own state directory and an environment that holds nothing else."""

    def __init__(self, directory):
        self.directory = directory
        self.state = directory / "state"
        self.home = directory / "home"
        self.home.mkdir(parents=True)
        (directory / "conf").mkdir()
        self.ledger = directory / "ledger"  # of all users: what else runs on this machine is not this test's
        self.ledger.mkdir()
        self.ledger.chmod(0o1777)
        self.env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home), "USER": "tester",
                    "LANG": "C.UTF-8", "TONY_STATE_DIR": str(self.state),
                    "TONY_CONF_DIR": str(directory / "conf"), "TONY_LEDGER_DIR": str(self.ledger),
                    "HADOOP_CONF_DIR": "",  # of no cluster, whatever this machine has
                    # Of a build with sanitizers: what they find, in whichever process.
                    "ASAN_OPTIONS": f"log_path={directory}/sanitizer",
                    "UBSAN_OPTIONS": f"log_path={directory}/sanitizer:print_stacktrace=1"}
        self.enter = []  # a command in front of tony's, to run it in another namespace
        self.jobs = []
        self.children = []

    def run(self, *arguments, timeout=PATIENCE_S, env=None, cwd=None, stdin=subprocess.DEVNULL):
        return subprocess.run([*self.enter, self.build / "tony", *map(str, arguments)], capture_output=True,
                              text=True, timeout=timeout, env={**self.env, **(env or {})},
                              cwd=cwd or self.directory, stdin=stdin)

    def start(self, *arguments, env=None, cwd=None, **options):
        """Starts tony and leaves it running; it is ended with the test."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
                   "stdin": subprocess.DEVNULL, **options,
                   "preexec_fn": hear_signals}
        child = subprocess.Popen([*self.enter, self.build / "tony", *map(str, arguments)],
                                 cwd=cwd or self.directory, env={**self.env, **(env or {})}, **options)
        self.children.append(child)
        return child

    def arguments(self, keys=None, *options, src_dir=PROGRAMS):
        """`submit` with these keys in a tony.xml; every task is small unless a key says otherwise."""
        keys = dict(keys or {})
        for name in list(keys):
            found = re.fullmatch(r"tony\.([a-z0-9_-]+)\.instances", name)
            if found:
                keys.setdefault(f"tony.{found.group(1)}.memory", "64m")
        number = len(list(self.directory.glob("tony-*.xml")))
        xml = write_xml(self.directory / f"tony-{number}.xml", keys)
        source = ["--src_dir", src_dir] if src_dir else []
        return ["submit", "--conf_file", xml, *source, *options]

    id_pattern = r"tony-\d{8}-\d{6}-[0-9a-f]+"
    job_class = Job
    build = BUILD  # where the two programs are
    folder = "jobs"  # of the state directory, with the jobs' directories
    one_host = True
    one_am = {}  # keys with which no other AM follows one that was killed
    no_proxy = {}  # keys with which the AM lets nobody look by the address of a scheduler's proxy

    def found_job(self, text):
        found = re.search(self.id_pattern, text)
        return self.job_class(self, found.group()) if found else None

    def submit(self, keys=None, *options, src_dir=PROGRAMS, env=None):
        """Starts a job in the background."""
        verb, *rest = self.arguments(keys, *options, src_dir=src_dir)
        answer = self.run(verb, "--detach", *rest, env=env)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        job = self.found_job(answer.stdout)
        assert job, answer.stdout
        self.jobs.append(job)
        return job

    def job(self, keys=None, *options, src_dir=PROGRAMS, env=None, timeout=PATIENCE_S):
        """Runs a job to its end in the foreground: (answer, job); job is None if none was made."""
        answer = self.run(*self.arguments(keys, *options, src_dir=src_dir), env=env, timeout=timeout)
        job = self.found_job(answer.stdout + answer.stderr)
        if job:
            self.jobs.append(job)
        return answer, job

    def example(self, name, *options, python=None):
        """Starts examples/<name> as its README says: what `tony init` writes is what was there when
        tony was built. `python` is the directory of the interpreter that is first in PATH, as if
        activated."""
        folder = self.directory / f"example-{len(self.jobs)}"
        made = self.run("init", name, folder)
        assert made.returncode == 0, made.stderr
        python = python or python_for(name)
        path = f"{python}:" * bool(python) + self.env["PATH"]
        answer = self.run("submit", "--detach", *options, env={"PATH": path}, cwd=folder)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        job = self.found_job(answer.stdout)
        assert job, answer.stdout
        self.jobs.append(job)
        return job

    def ids(self):
        jobs = self.state / self.folder
        return sorted(path.name for path in jobs.glob("[!.]*")) if jobs.is_dir() else []

    def first_job(self):
        """Of a job that something else submits: once commands know it."""
        return wait_until(lambda: (ids := self.ids()) and self.run("status", ids[0]).returncode == 0 and self.job_class(self, ids[0]), "a job")

    def processes(self):
        marks = [f"TONY_STATE_DIR={self.state}"] + [f"TONY_JOB_ID={job}" for job in self.ids()]
        return [pid for pid in find_marked(*marks)]

    def held(self):
        """The ledger's files that a process still holds: the kernel's locks are the reservation."""
        return [path for path in (self.state / "ledger").rglob("*") if is_locked(path)]

    def sanitizer_findings(self):
        """What they say but that a process was killed while it was searched for leaks, at its end."""
        lines = [line for path in self.directory.glob("sanitizer.*") for line in path.read_text().splitlines()]
        return "\n".join(line for line in lines if "Unable to get registers from thread" not in line)

    def tell(self):
        """What happened to the jobs of a test that failed, for who reads its report. What still runs
        comes first: any command of tony's may end it."""
        print(*map(describe, self.processes()), sep="\n")
        for job in self.ids():
            print(self.run("events", job).stdout, self.run("stacks", job).stdout, sep="\n")
            directory = self.state / self.folder / job
            logs = directory.glob("am.log"), (directory / "containers").glob("*/*")
            for path in sorted(path for paths in logs for path in paths):
                if path.name.startswith(("stderr", "executor", "am.")) and path.suffix != ".times":
                    print(f"== {path.parent.name}/{path.name}", path.read_text(errors="replace")[-3000:], sep="\n")

    def finish(self):
        """Ends what the test left running."""
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.communicate()
        for job in self.ids():
            if find_marked(f"TONY_JOB_ID={job}"):
                self.run("kill", "--force", job)


def is_locked(path):
    """Does any live process hold a flock on this file? /proc/locks knows, by inode."""
    inode = os.stat(path).st_ino
    return any(line.split()[1] == "FLOCK" and int(line.split()[-3].rpartition(":")[2]) == inode
               for line in Path("/proc/locks").read_text().splitlines() if "->" not in line)


def lend_tony(directory, node):
    """The real programs with a state directory of their own for the test `node`, and the proof that nothing is left of it."""
    built("tony-agent")
    tony = Tony(directory)
    yield tony
    has_failed = getattr(node, "failed", False)
    if has_failed:
        tony.tell()
    tony.finish()
    wait_until(lambda: not tony.processes(), "every process of the test to end")
    assert tony.sanitizer_findings() == ""
    if not has_failed:
        shutil.rmtree(directory, ignore_errors=True)
