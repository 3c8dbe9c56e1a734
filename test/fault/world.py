"""A job in a world of its own, struck by the faults of a schedule: what is the same on one machine and on a cluster.

A world's program is the first process of a pid namespace, with network and mount namespaces of its own (fault.py makes
them): whatever the job leaves behind is seen, and ends with the world. run() tells what happened; it is 1 when a promise
was broken (check() lists them).
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

import chaos
import clock
import schedule as schedules

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "harness"))
from patience import PATIENCE_S  # noqa: E402

BUILD = Path(os.environ.get("TONY_BUILD", HERE.parents[1] / "build"))
PYTHON = "/usr/bin/python3"
JOB_ID = re.compile(r"(tony-\d|application_)[\w-]+")
TAIL = 4000  # bytes of each log that are told
ADDED = ("notices", "history_trouble")  # to a final record that is repeated
WEBHOOK = "tony.application.on-end-webhook"
TOLD_S = 60  # after the end, until a webhook was told: three tries of 10 s, with pauses, and of two processes
LOOK_S = 0.05  # between two looks at what is left


def read(path):
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


class Process:
    def __init__(self, pid):
        self.pid = pid
        head, _, tail = read(f"/proc/{pid}/stat").decode(errors="replace").rpartition(")")
        fields = tail.split()
        self.name = head.partition("(")[2]
        self.is_alive = bool(fields) and fields[0] not in "ZX"
        self.state = fields[0] if fields else "X"
        self.parent = int(fields[1]) if fields else 0
        self.words = read(f"/proc/{pid}/cmdline").decode(errors="replace").split("\0")

    def is_agent(self, verb):
        return self.is_alive and self.words[0].endswith("tony-agent") and self.words[1:2] == [verb]

    def is_guardian(self):
        return self.name == "tony-guardian"

    def task(self):
        for item in read(f"/proc/{self.pid}/environ").split(b"\0"):
            if item.startswith(b"TONY_TASK="):
                return item.partition(b"=")[2].decode()
        return ""

    def __str__(self):
        return f"{self.pid} {self.state} child of {self.parent}: {self.name}: {' '.join(self.words)}"


def processes():
    return [process for process in (Process(int(entry)) for entry in os.listdir("/proc") if entry.isdigit())
            if process.is_alive]


def send(pid, number):
    """False: there is none, or none any more."""
    try:
        if pid is not None:
            os.kill(pid, number)
    except ProcessLookupError:
        return False
    return pid is not None


async def stand_still(pid, seconds):
    if not send(pid, signal.SIGSTOP):
        return "nobody there"
    await asyncio.sleep(seconds)
    return f"process {pid} goes on" if send(pid, signal.SIGCONT) else f"process {pid}, which is gone"


def max_restarts(description, task):
    """Some frameworks have a number of their own for some types."""
    types = {row["name"]: row for row in description["types"]}
    return types[task.partition(":")[0]].get("max_restarts", 0)


def is_one_end(lines):
    """The final record is the journal's last line. It may be repeated with what became of the notices, and with why no
    history was published; the job has ended with the first."""
    finals = [line for line in lines if line["ev"] == "final"]
    said = [{"ended_ms": line["t"], **{key: line[key] for key in line if key not in ("seq", "t", "crc", "notices_due", *ADDED)}}
            for line in finals]
    added = [{name for name in ADDED if name in line} for line in finals]
    return finals and lines[-len(finals):] == finals and all(end == said[0] for end in said) and \
        all(earlier < later for earlier, later in zip(added, added[1:]))


class Webhook:
    """Takes notices; what it was told, and of which end while the job had none."""

    def __init__(self, world):
        self.world, self.port, self.told, self.early = world, 0, [], []

    async def open(self):
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        try:
            message = await chaos.read_message(reader)
            if body := message.partition(b"\r\n\r\n")[2]:
                self.told.append(json.loads(body))
                self.early += [] if await self.world.has_ended() else [body]
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # its client was killed
        writer.close()


class World:
    END_S = PATIENCE_S  # a job that has not ended by then never will
    CLEAN_S = 5  # after the end, until nothing is left

    def __init__(self, schedule, directory, proxy):
        self.schedule = schedule
        self.directory = directory
        self.state = directory / "state"
        (directory / "conf").mkdir(parents=True, exist_ok=True)
        self.env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(directory), "USER": "tester",
                    "LANG": "C.UTF-8", "TONY_STATE_DIR": str(self.state), "TONY_CONF_DIR": str(directory / "conf"),
                    "ASAN_OPTIONS": f"log_path={directory}/sanitizer",
                    "UBSAN_OPTIONS": f"log_path={directory}/sanitizer:print_stacktrace=1"}
        self.chaos = proxy
        self.webhook = Webhook(self)
        self.job = None
        self.begun = time.monotonic()
        self.restarted_by_user = 0

    def say(self, text):
        print(f"{time.monotonic() - self.begun:6.2f} s  {text}", flush=True)

    # ---- the job ----

    async def tony(self, *arguments, timeout=PATIENCE_S):
        child = await asyncio.create_subprocess_exec(
            BUILD / "tony", *arguments, env=self.env, cwd=self.directory, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = await asyncio.wait_for(child.communicate(), timeout)
        except asyncio.TimeoutError:
            child.kill()
            await child.wait()
            return None, "", f"tony {' '.join(map(str, arguments))}: not done after {timeout} s"
        return child.returncode, out.decode(errors="replace"), err.decode(errors="replace")

    def write_job(self):
        keys = dict(self.schedule.keys)
        if self.schedule.has_webhook():
            keys[WEBHOOK] = f"http://127.0.0.1:{self.webhook.port}/"
        lines = ["<configuration>"]
        lines += [f"<property><name>{name}</name><value>{value}</value></property>" for name, value in keys.items()]
        (self.directory / "tony.xml").write_text("\n".join(lines + ["</configuration>"]))
        (self.directory / "plan.json").write_text(json.dumps(self.schedule.plan))

    async def submit(self):
        self.write_job()
        leaves = "yes" if self.schedule.leaves_behind else "no"
        code, out, err = await self.tony(
            "submit", "--detach", "--conf_file", self.directory / "tony.xml", "--executes",
            f"{PYTHON} -I -S {HERE}/program.py {self.directory} {leaves}")
        if code != 0:
            raise AssertionError(f"submit: exit code {code}: {out}{err}")
        self.job = JOB_ID.search(out).group()

    async def description(self):
        """What job.json says."""
        raise NotImplementedError

    # ---- whom a fault strikes ----

    def find(self, fault):
        """The process to be struck; None: there is none at this moment."""
        if fault.target == "program":
            starts = read(self.directory / f"{fault.task}.starts").split(b"\n")
            pid = int(starts[-2].split()[0]) if len(starts) > 1 else 0
            return pid if pid and Process(pid).is_alive else None
        verb = "am" if fault.target in schedules.AM else "exec"
        found = [process for process in processes() if process.is_agent(verb)]
        guardians = [process for process in found if process.is_guardian()]
        if verb == "exec":
            guardians = [process for process in guardians if process.task() == fault.task]
        if fault.target.endswith("guardian"):
            return guardians[-1].pid if guardians else None
        pids = [guardian.pid for guardian in guardians]
        workers = [process.pid for process in found if not process.is_guardian() and process.parent in pids]
        return workers[-1] if workers else None

    async def wait_whole(self, fault):
        """Until what the schedule takes for granted when this fault strikes is so."""

    async def strike(self, fault):
        await asyncio.sleep(max(fault.at - (time.monotonic() - self.begun), 0))
        await self.wait_whole(fault)
        self.say(f"fault: {fault}: {await getattr(self, 'fault_' + fault.kind.replace('-', '_'))(fault) or 'done'}")

    async def fault_kill(self, fault):
        pid = self.find(fault)
        return f"process {pid}" if send(pid, signal.SIGKILL) else "nobody there"

    async def fault_stop(self, fault):
        return await stand_still(self.find(fault), fault.seconds)

    async def fault_partition(self, fault):
        """No packet passes between executors and the AM, then all do."""
        await chaos.nft("table ip cut { chain out { type filter hook output priority 0; meta mark 7 drop; }; }")
        await asyncio.sleep(fault.seconds)
        await chaos.nft("table ip cut { }\ndelete table ip cut")

    async def fault_chaos(self, fault):
        self.chaos.rate = 0.3
        await asyncio.sleep(fault.seconds)
        self.chaos.rate = 0
        return str(self.chaos.counts)

    async def fault_clock(self, fault):
        """Of all that live now."""
        count = 0
        for process in self.processes():
            try:
                count += clock.set_ahead(process.pid, int(fault.hours * 3600))
            except OSError:
                pass  # it is gone
        return f"{count} processes"

    async def fault_user_kill(self, fault):
        code, _, err = await self.tony("kill", self.job)
        return f"exit code {code} {err}"

    async def fault_user_restart(self, fault):
        self.restarted_by_user += 1  # perhaps: the answer may be lost
        code, _, err = await self.tony("restart", self.job, fault.task)
        return f"exit code {code} {err}"

    async def fault_scale(self, fault):
        code, _, err = await self.tony("scale", self.job, f"worker={fault.count}")
        return f"exit code {code} {err}"

    # ---- what must hold ----

    async def lines(self):
        """The journal's."""
        raise NotImplementedError

    async def left(self):
        """What there is of the job beside its records."""
        raise NotImplementedError

    def processes(self):
        """Of the world, but for those that make it."""
        return [process for process in processes() if process.pid not in (1, os.getpid())]

    def starts(self, task):
        """When its processes were started."""
        return [float(line.split()[1]) for line in read(self.directory / f"{task}.starts").splitlines()]

    def forgotten(self, task):
        """How many of these an AM may have taken with it before they were kept."""
        return 0

    async def check(self, code):
        """What was promised and is not so."""
        broken = []
        await self.wait_told()
        lines = await self.lines()
        finals = [line for line in lines if line["ev"] == "final"]
        if not is_one_end(lines):
            broken.append(f"{len(finals)} final records, the last line is {lines[-1]}")
        if [line["seq"] for line in lines] != list(range(1, len(lines) + 1)):
            broken.append("the journal's lines do not count 1, 2, 3 ...")
        state = finals[-1]["state"] if finals else None
        if (code == 0) != (state == "succeeded"):
            broken.append(f"`tony wait` left with {code}, the record says {state}")
        broken += [f"at the same time: {line}" for line in read(self.directory / "twice").decode().splitlines()]
        broken += self.check_budgets(lines, await self.description())
        broken += self.check_outcome(state)
        broken += self.check_notices(lines[-1])
        broken += await self.check_left()
        # Processes tell when they end.
        findings = [path.read_text() for path in self.directory.glob("sanitizer.*")]
        return broken + [finding for finding in findings if "Unable to get registers" not in finding]

    async def has_ended(self):
        """As its journal tells at this moment."""
        raise NotImplementedError

    async def wait_told(self):
        """The next `tony` that looks tells the end where the AM and its guardian are gone."""
        passed_s = 0
        while (await self.lines())[-1].get("notices_due") and passed_s < TOLD_S:
            await self.tony("status", self.job)
            await asyncio.sleep(1)
            passed_s += 1

    def check_notices(self, last):
        told, notices = self.webhook.told, last.get("notices", [])
        if not self.schedule.has_webhook():
            return [f"nobody asked for notices: {notices} {told}"] if told or notices else []
        broken = [f"told before the job had ended: {body}" for body in self.webhook.early]
        if [notice["of"] for notice in notices] != [WEBHOOK]:
            broken.append(f"the last line does not say what became of the webhook: {last}")
        elif not told and not notices[0].get("failed"):
            broken.append(f"the webhook took nothing: {notices}")
        if {(body["id"], body["job"]["state"]) for body in told} - {(f"{self.job}/end", last.get("state"))}:
            broken.append(f"the webhook was told {told}, the record says {last}")
        return broken

    def check_budgets(self, lines, description):
        broken = []
        keys = self.schedule.keys
        jobs = [line for line in lines if line["ev"] == "job"]
        if not jobs:
            return []  # no AM has come up
        retries, infrastructure = jobs[-1]["retries"], jobs[-1]["infrastructure_retries"]
        if retries > keys["tony.am.retry-count"]:
            broken.append(f"{retries} retries of {keys['tony.am.retry-count']}")
        if infrastructure > keys["tony.am.infrastructure-retry-count"]:
            broken.append(f"{infrastructure} infrastructure retries")
        formations = 1 + retries + infrastructure + jobs[-1].get("preemptions", 0)
        if self.schedule.is_elastic():  # of which only some are charged
            formations = max(line.get("epoch", 0) for line in lines)
        for task in self.schedule.tasks():
            in_place = max((line.get("restarts_used", 0) for line in lines
                            if line["ev"] == "task" and line["task"] == task), default=0)
            allowed = formations + self.restarted_by_user + in_place + self.forgotten(task)
            count = len(self.starts(task))
            if in_place > max_restarts(description, task):
                broken.append(f"{task} was restarted in place {in_place} times")
            if count > allowed:
                broken.append(f"{task} was started {count} times, where {allowed} are accounted for")
        return broken

    def check_outcome(self, state):
        broken = []
        if state == "killed" and "user-kill" not in self.schedule.kinds():
            broken.append("killed, and nobody did it")
        if not self.schedule.is_calm():
            return broken
        if state != "succeeded":
            broken.append(f"no task was to notice, and the job {state}")
        if self.schedule.is_elastic():  # tasks that come take part
            return broken
        for task, steps in self.schedule.plan.items():
            failures = sum(len(steps) - 1 for steps in self.schedule.plan.values())
            count = len(self.starts(task))
            if count > 1 + failures + self.forgotten(task):
                broken.append(f"no task was to notice, and {task} was started {count} times")
        return broken

    async def check_left(self):
        """The next `tony` that looks may have to help, where both halves of AM and executor are gone."""
        await self.tony("list")
        passed_s = 0  # of this program's own time: a busy machine holds up those that end, and this alike
        while left := await self.left():
            if passed_s > self.CLEAN_S:
                return [f"left behind: {item}" for item in left]
            await asyncio.sleep(LOOK_S)
            passed_s += LOOK_S
        return []

    # ---- all of it ----

    def logs(self):
        """Those of its AM, executors and programs."""
        raise NotImplementedError

    async def dump(self):
        print("\n".join(map(str, processes())))
        print((await self.tony("events", self.job))[1])
        for path in self.logs():
            print(f"== {path}\n{read(path).decode(errors='replace')[-TAIL:]}")

    async def wait_begin(self):
        """Until the schedule begins."""

    async def run(self):
        print(self.schedule, flush=True)
        await self.webhook.open()
        await self.submit()
        self.say(f"submitted: {self.job}")
        await self.wait_begin()
        self.begun = time.monotonic()
        faults = [asyncio.create_task(self.strike(fault)) for fault in self.schedule.faults]
        code, _, err = await self.tony("wait", self.job, timeout=self.END_S)
        self.say(f"ended: {code} {err.strip()}")
        for fault in faults:
            await fault
        broken = await self.check(code) if code is not None else [err]
        for text in broken:
            self.say(f"BROKEN: {text}")
        if broken:
            await self.dump()
        return 1 if broken else 0


def main(run):
    """The first process of a namespace inherits all orphans, so it does nothing but wait for the one that runs run()."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    child = os.fork()
    if child == 0:
        try:
            code = asyncio.run(run())
        except BaseException:
            traceback.print_exc()
            code = 1
        sys.stdout.flush()
        os._exit(code)
    while True:
        pid, status = os.wait()
        if pid == child:
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
