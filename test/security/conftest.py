"""Two users of one machine: the owner of jobs, and a stranger who wants them.

`machine` is a network namespace of its own, with two uids that have no accounts, each with a home that only it may read. The
programs of test/security/attacks/ are what the stranger runs. All that a test started is ended with it.
"""

import json
import os
import re
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

# pylint: disable=wrong-import-position
from outcome import pytest_runtest_makereport  # noqa: F401
from program import BUILD, FINAL, PYTHON, children_of, describe, is_alive, write_xml  # noqa: F401
from patience import PATIENCE_S, wait_until

ATTACKS = Path(__file__).parent / "attacks"
OWNER, STRANGER = 61001, 61002  # host uids when root runs the tests, else uids of a user namespace
AS_ROOT = [] if os.geteuid() == 0 else ["--user", "--map-root-user", "--map-auto"]


class User:
    """One user of the machine. Commands run as nobody else, in the machine's network namespace."""

    def __init__(self, machine, name, uid):
        self.machine, self.name, self.uid = machine, name, uid
        self.home = machine.root / name
        machine.run("install", "-d", "-m", "700", "-o", uid, "-g", uid, self.home, self.home / "conf")
        self.env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home), "USER": name, "LANG": "C.UTF-8",
                    "TONY_CONF_DIR": str(self.home / "conf"), "TONY_LEDGER_DIR": str(machine.ledger),
                    "ASAN_OPTIONS": f"log_path={self.home}/sanitizer",
                    "UBSAN_OPTIONS": f"log_path={self.home}/sanitizer:print_stacktrace=1"}
        self.state = self.home / ".local/state/tony"

    def command(self, *words):
        return self.machine.command("setpriv", "--reuid", self.uid, "--regid", self.uid, "--clear-groups",
                                    "--inh-caps=-all", "--", *words)

    def options(self, env, options):
        return {"cwd": "/", "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
                "env": {**self.env, **(env or {})}, **options}

    def run(self, *words, env=None, timeout=PATIENCE_S, **options):
        """A command to its end. Relative paths are those of the home with cwd=user.home."""
        return subprocess.run(self.command(*words), timeout=timeout, check=False, **self.options(env, options))

    def start(self, *words, env=None, **options):
        """A command that runs on: it is ended with the test."""
        child = subprocess.Popen(self.command(*words), **self.options(env, options))
        self.machine.children.append(child)
        return child

    def attack(self, name, *arguments, **options):
        """Starts attacks/NAME.py and waits for its first line: (the process, the line)."""
        child = self.start(PYTHON, "-u", self.machine.copy(ATTACKS / f"{name}.py"), *arguments, **options)
        return child, child.stdout.readline().strip()

    def tony(self, *arguments, **options):
        return self.run(self.machine.bin / "tony", *arguments, **options)

    def tony_contained(self, *arguments, **options):
        """Where a user namespace has no uid but this user's, as in Apptainer: root and all others are "nobody" there."""
        return self.run("unshare", "--user", "--map-current-user", self.machine.bin / "tony", *arguments, **options)

    def write(self, name, text, mode="600"):
        """A file of the user's, below its home; its path."""
        path = self.home / name
        wrote = self.run("sh", "-c", 'mkdir -p "$(dirname "$1")" && cat > "$1" && chmod "$2" "$1"', "sh", path, mode,
                         stdin=None, input=text)
        assert wrote.returncode == 0, wrote.stderr
        return path

    def submit(self, keys=None, *options, env=None):
        """Submits a job and lets it run on; its id."""
        xml = self.write(f"conf-{len(self.machine.jobs)}.xml", self.machine.xml(keys or {}))
        answer = self.tony("submit", "--detach", "--conf_file", xml, *options, env=env)
        found = re.search(r"tony-\d{8}-\d{6}-[0-9a-f]+", answer.stdout)
        assert answer.returncode == 0 and found, answer.stdout + answer.stderr
        self.machine.jobs.append((self, found.group()))
        return found.group()

    def status(self, job):
        answer = self.tony("status", "--json", job)
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)

    def task(self, job, name):
        return next(task for task in self.status(job)["tasks"] if task["task"] == name)

    def wait_task(self, job, name, state="running"):
        """The task, once it is in this state; when running, with a process to see."""
        def there():
            task = self.task(job, name)
            return task["state"] == state and (state != "running" or task.get("pids")) and task
        return wait_until(there, f"{job}: {name} {state}")

    def wait_end(self, job):
        self.tony("wait", job)
        return self.status(job)

    def read(self, path):
        """A file's text as this user sees it; None when it may not or it is not there."""
        answer = self.run("cat", path)
        return answer.stdout if answer.returncode == 0 else None

    def logs(self, job, task, file="stdout"):
        pattern = f"{self.state}/jobs/{job}/containers/{task.replace(':', '-')}-*/{file}"
        return self.run("sh", "-c", f"cat {pattern}").stdout


class Machine:
    """A network namespace, a folder that everybody may enter, and the users `owner` and `stranger`."""

    def __init__(self, root):
        self.root, self.children, self.jobs = root, [], []
        self.holder = subprocess.Popen(["unshare", *AS_ROOT, "--net", "--", "sh", "-c",
                                        "ip link set lo up && echo up && exec sleep infinity"],
                                       stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout.readline() == "up\n", "no network namespace: two users need root, or uidmap and ranges in /etc/subuid and /etc/subgid"
        self.bin, self.ledger = root / "bin", root / "ledger"
        self.run("install", "-d", "-m", "755", self.bin)
        self.run("install", "-d", "-m", "1777", self.ledger)
        for name in ("tony", "tony-agent"):
            self.copy(BUILD / name)
        self.owner, self.stranger = User(self, "owner", OWNER), User(self, "stranger", STRANGER)

    def command(self, *words):
        namespaces = ["--net"] + ["--user", "--preserve-credentials"] * bool(AS_ROOT)
        return ["nsenter", "--target", str(self.holder.pid), *namespaces, "--", *map(str, words)]

    def run(self, *words, **options):
        """A command of the machine's root; it must succeed."""
        return subprocess.run(self.command(*words), check=True, capture_output=True, text=True, timeout=PATIENCE_S,
                              **options)

    def copy(self, path):
        """A file that everybody may run: the tree may be root's own."""
        copy = self.bin / path.name
        if not copy.exists():
            self.run("install", "-m", "755", path, copy)
        return copy

    @staticmethod
    def xml(keys):
        with tempfile.TemporaryDirectory() as folder:
            return write_xml(Path(folder) / "tony.xml", keys).read_text()

    def processes(self):
        """All of the namespace, but the one that holds it."""
        namespace = os.stat(f"/proc/{self.holder.pid}/ns/net").st_ino
        def inside(pid):
            try:
                return os.stat(f"/proc/{pid}/ns/net").st_ino == namespace
            except OSError:
                return False
        return [int(pid) for pid in os.listdir("/proc")
                if pid.isdigit() and int(pid) != self.holder.pid and inside(pid) and is_alive(int(pid))]

    def stop(self, words, directory=""):
        """All processes whose description has these words, and that work below this directory, until SIGCONT; their ids."""
        pids = [pid for pid in self.processes() if words in describe(pid) and os.readlink(f"/proc/{pid}/cwd").startswith(directory)]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
            wait_until(lambda pid=pid: describe(pid).split()[1] == "T", f"{pid} to stop")
        return pids

    def tell(self):
        print(*map(describe, self.processes()), sep="\n")
        for user, job in self.jobs:
            print(user.tony("events", job).stdout)
            for path in sorted((user.state / "jobs" / job).glob("**/*")):
                if path.name.startswith(("stderr", "executor", "am.")) and path.is_file() and path.suffix != ".times":
                    print(f"== {path}", path.read_text(errors="replace")[-3000:], sep="\n")

    def finish(self):
        """Ends what the test left; what tony does not end by itself is a failure of the test."""
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.communicate()
        for user, job in self.jobs:
            if user.status(job)["state"] not in FINAL:
                user.tony("kill", "--force", job)

    def remove(self):
        left = self.processes()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self.holder.kill()
        self.holder.communicate()
        enter = ["unshare", *AS_ROOT] if AS_ROOT else []
        subprocess.run([*enter, "rm", "-rf", str(self.root)], check=False)


@pytest.fixture
def machine(request):
    root = Path(tempfile.mkdtemp(prefix="tony-security-", dir="/tmp"))
    root.chmod(0o755)
    machine = Machine(root)
    try:
        yield machine
        if getattr(request.node, "failed", False):
            machine.tell()
        machine.finish()
        wait_until(lambda: not machine.processes(), "every process of the test to end")
        findings = [path.read_text() for path in root.glob("*/sanitizer.*")]
        assert not findings, findings
    finally:
        machine.remove()
