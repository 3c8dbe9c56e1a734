"""What one application master makes of a job of 10,000 tasks. The AM is the real one, with a scheduler
that gives containers and starts nothing in them; executors are simulated by one process, which speaks
docs/rest.md over a connection for each, with --tls by TLS. CPU time is that of the AM alone, wall time that of both on
this machine. Nothing here fails; the reader judges.
"""

import argparse
import collections
import contextlib
import http.client
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import bench  # noqa: E402

PROGRAMS = Path(bench.BUILD) / "bench/scale"
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = 100
NAME = "tony-scale"
INTERVAL_MS = 900  # of beats: 10,000 tasks are to be heard of more than 10,000 times in a second
SETTLED_S = 3  # after a formation
LOOKING_S = 10  # enough for every list
STRANGERS_S = 10
STRANGERS_PER_S = 1000
STRANGERS_OPEN = 500  # of them, the last ones
WORDS = (b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4", b"GET /v1/job HTTP/1.1\r\n", b"\0" * 64, b"")
CURVE = (1000, 10000, 100000)


def job(tasks, tls):
    """As tony submit describes one of a single task."""
    place = bench.Workplace()
    try:
        name = place.submit(1, "true", "--conf", "tony.am.retry-count=1",
                            "--conf", f"tony.task.heartbeat-interval-ms={INTERVAL_MS}")
        text = (Path(place.path) / "state/jobs" / name / "job.json").read_text()
        place.tony("wait", name)
    finally:
        place.close()
    described = json.loads(text) | {"id": NAME, "scheduler": "bench"}
    described["types"][0]["instances"] = tasks
    if tls:
        described["tls"] = True
    return described


class Master:
    """The AM, the job of which has so many tasks."""

    def __init__(self, directory, tasks, tls):
        self.tls, self.tunnel = tls, None
        self.directory = Path(directory) / NAME
        self.directory.mkdir()
        self.token = secrets.token_hex(32)
        (self.directory / "job.json").write_text(json.dumps(job(tasks, tls)))
        token = self.directory / "token"
        token.touch(mode=0o600)
        token.write_text(self.token)
        self.log = open(self.directory / "am.log", "wb")
        self.process = subprocess.Popen([PROGRAMS / "scale-agent", "am", "--job-dir", self.directory],
                                        stdout=self.log, stderr=self.log, env={"PATH": os.environ["PATH"]})
        door = self.directory / "am.json"
        bench.wait_until(lambda: door.exists() or self.process.poll() is not None)
        if self.process.poll() is not None:
            sys.exit(f"bench: the AM ended: {(self.directory / 'am.log').read_text()}")
        self.door = json.loads(door.read_text())
        self.pid = self.door["pid"]
        if tls:
            self.tunnel = subprocess.Popen([PROGRAMS / "scale-tunnel", self.door["address"], self.directory / "token"],
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = self.tunnel.stdout.readline().strip() if tls else self.door["address"]
        bench.wait_until(lambda: self.get("/v1/job")["progress"].get("launching") == tasks)

    def request(self, method, path, **headers):
        connection = http.client.HTTPConnection(self.address, timeout=bench.PATIENCE_S)
        connection.request(method, path, headers={"Authorization": f"Bearer {self.token}"} | headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        if answer.status != 200:
            sys.exit(f"bench: {path}: {answer.status} {body[:200]}")
        return body

    def get(self, path):
        return json.loads(self.request("GET", path))

    def ask_often(self, seconds):
        """How long (ms) each answer took, over one connection."""
        connection = http.client.HTTPConnection(self.address, timeout=bench.PATIENCE_S)

        def ask():
            connection.request("GET", "/v1/server")
            connection.getresponse().read()

        times, until = [], time.monotonic() + seconds
        while time.monotonic() < until:
            times.append(bench.timed(ask))
            time.sleep(0.005)
        connection.close()
        return times

    def disturb(self, seconds):
        """Strangers connect, say something that is none of a job's words, or nothing, and stay a while. How many came."""
        host, port = self.door["address"].rsplit(":", 1)
        there, count, begun = collections.deque(), 0, time.monotonic()
        while (passed := time.monotonic() - begun) < seconds:
            if count > passed * STRANGERS_PER_S:
                time.sleep(0.001)
                continue
            there.append(socket.create_connection((host, int(port))))
            with contextlib.suppress(OSError):
                there[-1].sendall(WORDS[count % len(WORDS)])
            count += 1
            if len(there) > STRANGERS_OPEN:
                there.popleft().close()
        for stranger in there:
            stranger.close()
        return count

    def lose(self):
        """Its guardian starts another AM."""
        before = self.pid
        os.kill(before, signal.SIGKILL)
        bench.wait_until(lambda: json.loads((self.directory / "am.json").read_text())["pid"] != before)
        self.pid = json.loads((self.directory / "am.json").read_text())["pid"]

    def cpu_s(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def resident_mib(self):
        return int(bench.read_status(self.pid, "VmRSS")) / 1024

    def peak_mib(self):
        return int(bench.read_status(self.pid, "VmHWM")) / 1024

    def journal_bytes(self):
        return (self.directory / "journal.jsonl").stat().st_size

    def end(self):
        self.request("POST", "/v1/job/kill")
        self.process.wait(timeout=bench.PATIENCE_S)
        self.log.close()
        if self.tunnel:
            self.tunnel.communicate()


class Executors:
    def __init__(self, master, tasks):
        self.master = master
        self.process = subprocess.Popen(
            [PROGRAMS / "scale-executors", master.door["address"], master.directory / "token", str(tasks),
             *["tls"] * master.tls],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def phase(self, command, meanwhile=None):
        before = self.master.cpu_s()
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        if meanwhile:
            meanwhile()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"bench: the executors ended: {(self.master.directory / 'am.log').read_text()[-2000:]}")
        return json.loads(line) | {"cpu": self.master.cpu_s() - before}

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=bench.PATIENCE_S)


def show(name, value, unit, goal=""):
    print(f"{name:62} {value:10.2f} {unit:7} {goal}", flush=True)


def show_formation(name, tasks, phase, goal=""):
    show(f"{tasks:,} tasks {name} and released", phase["seconds"], "s", goal)
    show("  the last has registered after", phase["registered_seconds"], "s")
    show("  processor time of the AM", phase["cpu"], "s")
    show("  cluster spec on the wire, for each", phase["spec_bytes"] / tasks / 1024, "KiB")
    if phase["retries"]:
        show("  connections that broke, answers that were refused", phase["retries"], "")


def percentile(values, share):
    return sorted(values)[len(values) * share // 100]


def show_late(name, beats, goal="", late_goal=""):
    show(name, beats["beats"] / beats["seconds"], "1/s", goal)
    show("  answered late by: median", beats["late_ms"]["p50"], "ms")
    show("  p99", beats["late_ms"]["p99"], "ms", late_goal)
    show("  most", beats["late_ms"]["max"], "ms")


def show_requests(master, tasks):
    def ask(name, path, **headers):
        times = [bench.timed(lambda: master.request("GET", path, **headers)) for _ in range(5)]
        size = len(master.request("GET", path, **headers))
        show(f"{name} ({size / 1024:,.0f} KiB)", sorted(times)[2], "ms")

    last = max(0, tasks - PAGE)
    ask("GET /v1/job", "/v1/job")
    ask(f"GET /v1/tasks, the first {PAGE}", f"/v1/tasks?limit={PAGE}")
    ask(f"GET /v1/tasks, {PAGE} from {last:,}", f"/v1/tasks?offset={last}&limit={PAGE}")
    ask("GET /v1/tasks, all", "/v1/tasks")
    ask("GET /v1/metrics, JSON", "/v1/metrics")
    ask("GET /v1/metrics, Prometheus", "/v1/metrics", Accept="text/plain")
    ask("GET /v1/events, all", "/v1/events")


def measure(tasks, seconds, tls, directory):
    master = Master(directory, tasks, tls)
    show("RSS of the AM before", master.resident_mib(), "MiB")
    executors = Executors(master, tasks)
    show_formation("registered", tasks, executors.phase("form"), "<= 5")
    show_late(f"beats in the {SETTLED_S} s after that", executors.phase(f"beat {SETTLED_S}"))
    asked = []
    beats = executors.phase(f"beat {seconds}", lambda: asked.extend(master.ask_often(seconds)))
    show_late(f"beats in {seconds} s, every {INTERVAL_MS} ms", beats, f">= {tasks:,}" if tasks >= 10000 else "", "<= 20")
    show("  processor time of the AM for each", beats["cpu"] / max(1, beats["beats"]) * 1e6, "us")
    show("  share of a core", 100 * beats["cpu"] / beats["seconds"], "%")
    show("a question that is not held meanwhile, answered after: median", percentile(asked, 50), "ms")
    show("  p99", percentile(asked, 99), "ms")
    show("RSS of the AM", master.resident_mib(), "MiB", "<= 100")
    show_late("beats meanwhile", executors.phase(f"beat {LOOKING_S}", lambda: show_requests(master, tasks)))
    came = []
    disturbed = executors.phase(f"beat {STRANGERS_S}", lambda: came.append(master.disturb(STRANGERS_S)))
    show("strangers that connect meanwhile", came[0] / STRANGERS_S, "1/s", f"{STRANGERS_PER_S:,}")
    show_late("  beats", disturbed, "", "<= 200")
    show("  tasks that are lost", tasks - master.get("/v1/job")["progress"].get("running", 0), "", "0")
    failure = executors.phase("fail")
    show("one failure told to all", failure["seconds"], "s", "<= 1")
    show("  processor time of the AM", failure["cpu"], "s")
    show_formation("registered again", tasks, executors.phase("form"), "<= 5")
    show("the most RSS of the AM", master.peak_mib(), "MiB", "<= 100")
    show("journal, for each task", master.journal_bytes() / tasks, "bytes")
    time.sleep(SETTLED_S)
    adopted = executors.phase("adopt", master.lose)
    show(f"AM killed: {tasks:,} tasks registered with the next one", adopted["seconds"], "s")
    show("  processor time of that AM", master.cpu_s(), "s")
    start = time.monotonic()
    master.end()
    show("killed, to the end of the AM", time.monotonic() - start, "s")
    executors.close()


def show_curve():
    """The state machine alone: simulated schedulers and executors, no I/O."""
    for size in CURVE:
        runs = [json.loads(subprocess.run([PROGRAMS / "scale-curve", str(size)], capture_output=True, text=True,
                                          check=True).stdout) for _ in range(3)]
        line = min(runs, key=lambda run: run["ns_per_event"])  # the one least disturbed
        show(f"state machine, {size:,} tasks, {line['events']:,} events", line["ns_per_event"], "ns each", "flat")
        show("  the whole simulation", line["seconds"], "s", "<= 60" if size == CURVE[-1] else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=10000)
    parser.add_argument("--seconds", type=int, default=30, help="of beats")
    parser.add_argument("--tls", action="store_true", help="tony.application.tls is on")
    options = parser.parse_args()
    print(bench.describe_machine(), "\n")
    with tempfile.TemporaryDirectory(prefix="tony-bench-") as directory:
        measure(options.tasks, options.seconds, options.tls, directory)
    show_curve()


if __name__ == "__main__":
    main()
