"""The service behind the null scheduler: a cloud that is one process, and whose interface is files (null.h).

engine.py STATE, until it is told to end. For each job in STATE/null it starts the AM, and another one for one that was
killed, AMS at most; and a process for each container that the AM asks for, at once. It tells a container as allocated
after its executor has registered at the AM: the order that an AM must live with where containers start by themselves.
"""

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

AMS = 4
IN_MODIFY, IN_CREATE, IN_MOVED_TO = 0x2, 0x100, 0x80
LIBC = ctypes.CDLL(None, use_errno=True)


def marked(mark):
    """The processes that have this in their environment."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if mark.encode() in Path("/proc", entry, "environ").read_bytes().split(b"\0"):
                yield int(entry)
        except OSError:
            pass


def kill_all(mark):
    while pids := list(marked(mark)):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.005)


def say(code):
    return f"killed by signal {-code}" if code < 0 else f"it left with exit code {code}"


class Container:
    def __init__(self, job, name):
        self.job, self.name, self.ask, self.process = job, name, None, None
        self.mark = f"TONY_CONTAINER={job.id}/{name}"
        self.is_allocated = self.has_ended = False
        self.kill_at = None

    def start(self, ask):
        """An executor that has not registered is at the AM before: it makes place for another one."""
        if self.has_ended or self.is_allocated or ask == self.ask:
            return
        if self.process:
            kill_all(self.mark)
            self.process.wait()
        self.ask = ask
        task, attempt, address = ask.split()
        place = self.job.directory / "containers" / self.name
        (place / "work").mkdir(parents=True, exist_ok=True)
        mark, value = self.mark.split("=", 1)
        with open(place / "executor.log", "ab") as log:
            self.process = subprocess.Popen(self.command(), cwd=place / "work", stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, start_new_session=True, env={
                **os.environ, mark: value, "TONY_JOB_ID": self.job.id, "TONY_JOB_FILE": f"{self.job.directory}/job.json",
                "TONY_TOKEN_FILE": f"{self.job.directory}/token", "TONY_CONTAINER_DIR": str(place), "TONY_TASK": task,
                "TONY_TASK_ATTEMPT": attempt, "TONY_AM_ADDRESS": address, "TONY_HOST": "127.0.0.1",
                "TONY_MEMORY_WATCH": "1"})

    def command(self):
        """A test may want executors that stand still before they do anything."""
        if (self.job.directory.parent / ".stopped").exists():
            return ["/bin/sh", "-c", 'kill -STOP $$; exec "$0" exec', self.job.agent]
        return [self.job.agent, "exec"]

    def step(self, registered):
        if self.has_ended:
            return
        if self.kill_at is not None and time.monotonic() >= self.kill_at:
            kill_all(self.mark)
        if self.process is None or self.process.poll() is not None:
            if self.process or self.kill_at is not None:
                kill_all(self.mark)
                self.has_ended = True
                self.job.write(f"ended-{self.name}", say(self.process.returncode) if self.process else "never started")
        elif not self.is_allocated and self.ask and tuple(self.ask.split()[:2]) in registered:
            self.is_allocated = True
            self.job.write(f"allocated-{self.name}", "")


class Job:
    def __init__(self, directory):
        self.directory, self.id, self.api = directory, directory.name, directory / "api"
        self.agent = (self.api / "job").read_text()
        self.containers, self.registered = {}, set()
        self.am, self.ams, self.read, self.is_final, self.is_over = None, 0, 0, False, False

    def write(self, name, text):
        draft = self.api / f".{name}"
        draft.write_text(text)
        draft.rename(self.api / name)

    def start_am(self):
        self.ams += 1
        with open(self.directory / "am.log", "ab") as log:
            self.am = subprocess.Popen([self.agent, "am", "--job-dir", self.directory], cwd=self.directory, stdout=log,
                                       stderr=log, stdin=subprocess.DEVNULL, start_new_session=True, env={
                **os.environ, "TONY_JOB_ID": self.id, "TONY_AM": f"{self.id}/{self.ams}"})

    def read_journal(self):
        """Which attempts of which tasks have registered, and whether the job has ended."""
        try:
            with open(self.directory / "journal.jsonl", "rb") as journal:
                journal.seek(self.read)
                lines = journal.read().rpartition(b"\n")[0]
        except FileNotFoundError:
            return
        self.read += len(lines) + bool(lines)
        for line in map(json.loads, lines.splitlines()):
            record = line
            if record.get("ev") == "task" and record.get("to") == "registered":
                self.registered.add((record["task"], str(record["attempt"])))
            self.is_final = self.is_final or record.get("ev") == "final"

    def container(self, name):
        return self.containers.setdefault(name, Container(self, name))

    def take(self, name):
        """One file of the AM's, unless it is not whole yet."""
        verb, _, container = name.partition("-")
        if "." in name:
            return
        text = (self.api / name).read_text()
        if verb == "ask":
            self.container(container).start(text)
        elif verb == "kill" and container:
            self.container(container).kill_at = time.monotonic() + int(text) / 1000
        elif verb == "adopt":
            for other in self.containers.values():
                if other.name not in text.split() and other.kill_at is None:
                    other.kill_at = 0
        else:
            return
        (self.api / name).unlink()

    def end(self, text):
        kill_all(f"TONY_JOB_ID={self.id}")
        for process in [self.am, *(container.process for container in self.containers.values())]:
            if process:
                process.wait()
        self.is_over = True
        self.write("over", text)

    def step(self):
        names = sorted(os.listdir(self.api))  # adopt, ask, kill
        self.read_journal()
        if "kill" in names:
            return self.end("killed by the user")
        for name in names:
            self.take(name)
        for container in list(self.containers.values()):
            container.step(self.registered)
        if self.am is None or self.am.poll() is not None:
            if self.am is not None:
                kill_all(f"TONY_AM={self.id}/{self.ams}")
                self.read_journal()
            if self.is_final or self.ams == AMS:
                return self.end(say(self.am.returncode))
            self.start_am()

    def deadlines(self):
        return [container.kill_at for container in self.containers.values()
                if container.kill_at is not None and not container.has_ended]


class Engine:
    def __init__(self, state):
        self.folder, self.jobs, self.watched = Path(state, "null").absolute(), {}, set()
        self.inotify = LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        wake, self.woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)[::-1]
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def watch(self, path):
        if path not in self.watched:
            self.watched.add(path)
            LIBC.inotify_add_watch(self.inotify, os.fsencode(path), IN_MODIFY | IN_CREATE | IN_MOVED_TO)

    def wait(self):
        deadlines = [at for job in self.jobs.values() if not job.is_over for at in job.deadlines()]
        timeout = max(0, min(deadlines) - time.monotonic()) if deadlines else None
        for ready in select.select([self.inotify, self.woken], [], [], timeout)[0]:
            os.read(ready, 65536)

    def step(self):
        self.watch(self.folder)
        for directory in self.folder.glob("null-*"):
            self.watch(directory)
            if (directory / "api").is_dir():
                self.watch(directory / "api")
            if directory not in self.jobs and (directory / "api/job").exists():
                self.jobs[directory] = Job(directory)
        for job in self.jobs.values():
            if not job.is_over and job.api.is_dir():
                job.step()

    def run(self):
        while True:
            self.step()
            self.wait()


if __name__ == "__main__":
    Engine(sys.argv[1]).run()
