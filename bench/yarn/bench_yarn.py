"""What a job costs on YARN, on a cluster of three NodeManagers on this machine, beside the floor: the
smallest application master that asks for as many containers, runs the command and finishes. In one
run on one cluster, with the heartbeat that Hadoop has by default and with a fast one. The floor
starts each container as it comes, and an end brings it the next one at once, where tony starts a
gang when the last has come: the whole job of many short tasks is where that shows. Nothing here
fails; the reader judges.
"""

import argparse
import json
import os
import random
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "test/yarn")]

import bench  # noqa: E402
import kit  # noqa: E402

NODES = 3
CLUSTER = {"--nodes": NODES, "--heartbeat-ms": 1000, "--node-vcores": 16}
LARGE_NODES = 8
LARGE_CLUSTER = {"--nodes": LARGE_NODES, "--heartbeat-ms": 1000, "--expiry-ms": 300000, "--node-vcores": 1024,
                 "--node-memory": 65536}
LARGE_PATIENCE_S = 900
FAKE_NODES = 100
FAKE_CLUSTER = LARGE_CLUSTER | {"--nodes": 1, "--labels": "am"}  # the real one runs the AM
FAKE_AM_MEMORY = "512m"  # a node kills an AM that uses more
SETTLED_S = 20
LOAD_S = 5  # after a start: what it has left to do
GOALS = {1000: "<= 1.15", 100: ""}  # by the interval between two heartbeats, ms
SIZES = ((1, 0), (4, 0), (8, 1))  # workers and parameter servers
FLOOR = Path(bench.BUILD) / "bench/yarn/yarn-floor-am"
FAKES = Path(bench.BUILD) / "bench/yarn/yarn-fake-nodes"
MEMORY_MIB = 64
KILLS = 20
TASKS = 8  # of a job whose AM is killed
MOMENTS_S = 2  # after its start, in which
ENDED = ("FINISHED", "FAILED", "KILLED")


class YarnPlace(bench.Workplace):
    """A workplace whose jobs run on the cluster."""

    id_pattern = r"application_\d+_\d+"

    def __init__(self, cluster):
        super().__init__()
        self.cluster = cluster
        self.env |= {name: cluster.env[name] for name in ("HADOOP_CONF_DIR", "HADOOP_USER_NAME")}

    def options(self, workers, others=0):
        types = {"worker": workers, "ps": others} if others else {"worker": workers}
        keys = {"tony.am.memory": f"{MEMORY_MIB}m"}
        for name, count in types.items():
            keys |= {f"tony.{name}.instances": count, f"tony.{name}.memory": f"{MEMORY_MIB}m"}
        return [part for key, value in keys.items() for part in ("--conf", f"{key}={value}")]

    def submit(self, tasks, command, *options, others=0):
        out = self.tony("submit", "--detach", *self.options(tasks, others), *options, "--executes", command)
        return re.search(self.id_pattern, out).group()

    def run(self, tasks, command, others=0):
        return self.tony("submit", *self.options(tasks, others), "--executes", command)

    def stamping(self):
        """(a directory, the script that leaves the time in it and stays until it is told to go)."""
        directory = tempfile.mkdtemp(dir=self.path)
        script = f"{directory}.sh"
        with open(script, "w", encoding="ascii") as file:
            file.write(f"echo $EPOCHREALTIME > {directory}/$CONTAINER_ID; "
                       f"until [ -e {directory}.go ]; do sleep 0.05; done\n")
        return directory, script

    def tasks_that_beat(self, job, attempt):
        """Those that this AM has heard of; None: it is not there."""
        done = subprocess.run([bench.TONY, "status", "--json", job], env=self.env, cwd=self.path, capture_output=True,
                              text=True, timeout=bench.PATIENCE_S)
        status = json.loads(done.stdout) if done.returncode == 0 else {}
        if status.get("am_attempt") != attempt or "am_pid" not in status:
            return None, []
        return status["am_pid"], [task for task in status["tasks"] if task.get("pids")]

    def uploaded(self):
        """Bytes that are in HDFS below the user's directory for tony."""
        answer = self.cluster.hdfs("GET", f"/user/{self.cluster.user}/.tony", op="GETCONTENTSUMMARY")
        return json.loads(answer)["ContentSummary"]["length"] if answer else 0


def end(cluster, app):
    bench.wait_until(lambda: cluster.application(app)["state"] in ENDED)


class Floor:
    """Submits the smallest application through the ResourceManager's REST interface."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.path = f"/user/{cluster.user}/yarn-floor-am"
        cluster.put(self.path, FLOOR.read_bytes())
        self.file = cluster.status(self.path)

    def post(self, path, body=None, method="POST"):
        url = f"{self.cluster.env['YARN_RM_WEB']}/ws/v1/cluster/{path}?user.name={self.cluster.user}"
        request = urllib.request.Request(url, json.dumps(body or {}).encode(), method=method,
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or "{}")

    def submit(self, tasks, command):
        app = self.post("apps/new-application")["application-id"]
        scheduler = self.cluster.env["YARN_RM_SCHEDULER"]
        launch = f"./floor {scheduler} {tasks} {MEMORY_MIB} '{command}' 2><LOG_DIR>/stderr"
        place = self.cluster.env["HDFS_URI"] + self.path
        self.post("apps", {
            "application-id": app, "application-name": "floor", "max-app-attempts": 1,
            "resource": {"memory": MEMORY_MIB, "vCores": 1},
            "am-container-spec": {"commands": {"command": launch}, "local-resources": {"entry": [
                {"key": "floor", "value": {"resource": place, "type": "FILE", "visibility": "PUBLIC",
                                           "size": self.file["length"],
                                           "timestamp": self.file["modificationTime"]}}]}}})
        return app

    def wait(self, app):
        end(self.cluster, app)
        report = self.cluster.application(app)
        if report["finalStatus"] != "SUCCEEDED":
            sys.exit(f"bench: the floor failed: {report['diagnostics']}")


def set_heartbeat(cluster, milliseconds):
    site = cluster.directory / "conf/yarn-site.xml"
    text = re.sub(r"(<name>yarn.resourcemanager.nodemanagers.heartbeat-interval-ms</name><value>)\d+",
                  rf"\g<1>{milliseconds}", site.read_text())
    site.write_text(text)
    cluster.restart("rm")


def spread_beats(cluster, interval_s):
    """Nodes beat evenly one after the other. A node beats when a container ends, and then an interval later: after a job
    several do at the same moment, and who comes after a job that ends more at once would wait longer. A beat that is due
    while its node stands still comes when it goes on."""
    nodes = [int((cluster.directory / f"pid/nm{number + 1}").read_text().split()[0]) for number in range(NODES)]
    for node in nodes:
        os.kill(node, signal.SIGSTOP)
    time.sleep(1.1 * interval_s)
    for node in nodes:
        os.kill(node, signal.SIGCONT)
        time.sleep(interval_s / NODES)


def started_after(place, count, submit, wait):
    """ms from submit() until the last of `count` user processes has started."""
    directory, script = place.stamping()
    start = time.time()
    app = submit(f"bash {script}")
    last = max(bench.read_stamps(directory, count))
    open(f"{directory}.go", "w", encoding="ascii").close()
    wait(app)
    return (last - start) * 1000


def beside_the_floor(what, runs, cluster, heartbeat, ours, floor):
    """Ours and the floor's take turns, so that both see the same machine; each begins at any moment between
    two heartbeats, and not at the one at which the job before it was seen to end."""
    def at_any_moment(measure):
        spread_beats(cluster, heartbeat / 1000)
        time.sleep(random.uniform(0, heartbeat / 1000))
        return measure()

    pairs = [(at_any_moment(ours), at_any_moment(floor)) for _ in range(runs)]
    bench.show(what, [pair[0] for pair in pairs], "ms", "")
    bench.show("  the floor", [pair[1] for pair in pairs], "ms", "")
    medians = [statistics.median(column) for column in zip(*pairs)]
    bench.show("  ratio", [medians[0] / medians[1]], "x", GOALS[heartbeat])


def warm_up(place, floor):
    """From then on all nodes have both programs in their caches."""
    for _ in range(2):
        end(place.cluster, place.submit(TASKS, "sleep 1"))
        floor.wait(floor.submit(TASKS, "sleep 1"))


def start_up(place, floor, runs, heartbeat):
    for workers, others in SIZES:
        count = workers + others
        name = f"{workers}+{others}" if others else str(workers)
        beside_the_floor(
            f"submit -> last of {name} user processes started", runs, place.cluster, heartbeat,
            lambda: started_after(place, count, lambda command: place.submit(workers, command, others=others),
                                  lambda job: end(place.cluster, job)),
            lambda: started_after(place, count, lambda command: floor.submit(count, command), floor.wait))
        beside_the_floor(
            f"whole job, {name} x true", runs, place.cluster, heartbeat,
            lambda: bench.timed(lambda: place.run(workers, "true", others)),
            lambda: bench.timed(lambda: floor.wait(floor.submit(count, "true"))))


def uploads(place):
    """Bytes of a first and of a second submit, counted in HDFS while the job runs."""
    sizes = []
    for _ in range(2):
        before = place.uploaded()
        job = place.submit(1, "sleep 1000")
        bench.wait_until(lambda: place.status(job)["state"] == "running")
        sizes.append((place.uploaded() - before) / 1024)
        place.end(job)
    return sizes


def client_cpu(place):
    """User and system time of `tony submit` for a whole job with 8+1 tasks."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    place.run(8, "true", 1)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def am_processes(job):
    """Of the containers of its AMs."""
    number = job.removeprefix("application_").encode()
    pattern = re.compile(rb"\0CONTAINER_ID=container_(e\d+_)?" + number + rb"_\d\d_000001\0")
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if pattern.search(b"\0" + Path(f"/proc/{entry}/environ").read_bytes()):
                yield int(entry)
        except OSError:
            pass  # it has ended, or is another user's


def age(pid):
    """Seconds since the process began."""
    began = int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - began / os.sysconf("SC_CLK_TCK")


def kill_am(place):
    """kill -9 of all processes of the AM's container: (tasks that were started again; ms from the start of the next AM,
    and from the kill, until that one has heard of all tasks)."""
    job = place.submit(TASKS, "sleep 1000")

    def all_beat(attempt):
        am, found = place.tasks_that_beat(job, attempt)
        return (am, found) if len(found) == TASKS else None

    _, before = bench.wait_until(lambda: all_beat(1))
    time.sleep(random.uniform(0, MOMENTS_S))
    killed = time.time()
    for pid in am_processes(job):
        os.kill(pid, signal.SIGKILL)
    am, after = bench.wait_until(lambda: all_beat(2))
    took = age(am), time.time() - killed
    place.end(job)
    restarted = sum(task["pids"] != other["pids"] for task, other in zip(before, after))
    return restarted, *(1000 * seconds for seconds in took)


def killed_ams(place, kills):
    restarted, adopted, back = zip(*(kill_am(place) for _ in range(kills)))
    what = f"kill -9 of the AM of {TASKS} tasks, {kills} times: no task started again"
    print(f"{what:64} {restarted.count(0):3} of {kills} {f'{kills} of {kills}':>12}", flush=True)
    bench.show("  the next AM's start -> it has heard of all tasks", adopted, "ms", "<= 10000")
    bench.show("  the kill -> it has heard of all tasks", back, "ms", "")


def processor_s(pids):
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def await_state(place, job, wanted):
    """Seconds until the job is so far. Of thousands of tasks each look costs: one a second."""
    start = time.time()
    while time.time() - start < LARGE_PATIENCE_S:
        done = subprocess.run([bench.TONY, "status", "--json", job], env=place.env, cwd=place.path, capture_output=True,
                              text=True, timeout=bench.PATIENCE_S)
        if done.returncode == 0 and wanted(json.loads(done.stdout)):
            return time.time() - start
        time.sleep(1)
    sys.exit("bench: waited in vain")


def large(place, tasks):
    """One job of real containers, each with its executor and program, on this one machine: its two cores start them, and
    YARN's own work per container is most of it."""
    job = place.submit(tasks, "exec sleep 10000")
    running = await_state(place, job, lambda status: sum(len(task.get("pids", ())) > 0 for task in status["tasks"]) == tasks)
    print(f"{tasks:,} containers on {LARGE_NODES} NodeManagers of this machine")
    bench.show("submit -> all programs run", [running], "s", "")
    pids = list(am_processes(job))
    before = processor_s(pids)
    time.sleep(SETTLED_S)
    bench.show("processor time of the AM until then", [before], "s", "")
    bench.show("  share of a core while all run", [100 * (processor_s(pids) - before) / SETTLED_S], "%", "")
    bench.show("RSS of the AM and its guardian", [bench.resident_mib(place.status(job)["am_pid"])], "MiB", "")
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    heard = await_state(place, job, lambda status: status.get("am_attempt") == 2 and
                        sum(len(task.get("pids", ())) > 0 for task in status["tasks"]) == tasks)
    bench.show("kill -9 of the AM -> the next one has heard of all", [heard], "s", "")
    start = time.time()
    subprocess.run([bench.TONY, "kill", job], env=place.env, cwd=place.path, capture_output=True, check=False)
    await_state(place, job, lambda status: status["state"] == "killed")
    bench.show("tony kill -> the job has ended", [time.time() - start], "s", "")


class FakeNodes:
    """NodeManagers that run nothing, registered with the real ResourceManager."""

    def __init__(self, cluster):
        self.cluster = cluster
        tracker = json.loads((cluster.directory / "cluster.json").read_text())["ports"]["rm-tracker"]
        size = str(LARGE_CLUSTER["--node-memory"]), str(LARGE_CLUSTER["--node-vcores"])
        self.process = subprocess.Popen([FAKES, f"127.0.0.1:{tracker}", str(FAKE_NODES), *size], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdout.readline()

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("bench: the fake nodes ended")
        return json.loads(line)

    def await_count(self, job, what, count):
        """All counts and times, once this count of the job's containers is reached."""
        deadline = time.monotonic() + LARGE_PATIENCE_S
        while time.monotonic() < deadline:
            times = self.ask("times")
            if times[what]["times"] >= count:
                return times
            if self.cluster.application(job)["state"] == "FAILED":
                sys.exit(f"bench: {self.cluster.application(job)['diagnostics']}")
            time.sleep(0.5)
        sys.exit(f"bench: waited in vain: {times}")

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=bench.PATIENCE_S)


def fake(place, nodes, tasks):
    """One job whose containers are fake executors on fake nodes; ResourceManager and AM are real. Seconds are those of a
    machine that all of them share: processor time says whose they are."""
    master = [int((place.cluster.directory / "pid/rm").read_text().split()[0])]
    resources = {"the ResourceManager": master, "the fake nodes": [nodes.process.pid]}

    def show_used(since, am=()):
        for name, pids in {**({"the AM": am} if am else {}), **resources}.items():
            bench.show(f"  processor time of {name}", [processor_s(pids) - since.get(name, 0)], "s", "")

    def used():
        return {name: processor_s(pids) for name, pids in resources.items()}

    before, submitted = used(), time.time()
    job = place.submit(tasks, "true", "--framework", "pytorch", "--conf", f"tony.am.memory={FAKE_AM_MEMORY}",
                       "--conf", f"tony.am.node-label={FAKE_CLUSTER['--labels']}")
    times = nodes.await_count(job, "run", tasks)
    am = list(am_processes(job))
    print(f"{tasks:,} containers on {FAKE_NODES} fake NodeManagers of this machine, heartbeats of 1 s")
    bench.show("submit -> the AM has started", [time.time() - age(min(am)) - submitted], "s", "")
    for what, event in (("all are allocated, the first is started", times["starts"]["first"]),
                        ("the last is started", times["started"]["last"]),
                        ("the last has registered", times["registered"]["last"]),
                        ("the last was told to run", times["run"]["last"])):
        bench.show(f"submit -> {what}", [event - submitted], "s", "")
    show_used(before, am)
    bench.show("calls that started them", [times["starts"]["times"]], "", "")
    bench.show("connections that broke, answers that were refused", [times["retries"]], "", "")
    time.sleep(LOAD_S)
    before = used() | {"the AM": processor_s(am)}
    beats = nodes.ask(f"beats {SETTLED_S}")
    bench.show("beats of executors", [beats["beats"] / beats["seconds"]], "1/s", "")
    bench.show("  answered late by: median", [beats["late_ms"]["p50"]], "ms", "")
    bench.show("  p99", [beats["late_ms"]["p99"]], "ms", "")
    print(f"in these {SETTLED_S} s")
    show_used(before, am)
    bench.show("RSS of the AM and its guardian", [bench.resident_mib(place.status(job)["am_pid"])], "MiB", "")
    before, killed = used(), time.time()
    for pid in am:
        os.kill(pid, signal.SIGKILL)
    times = nodes.await_count(job, "registered", 2 * tasks)
    am = list(am_processes(job))
    bench.show("kill -9 of the AM -> the next one has heard of all", [times["registered"]["last"] - killed], "s", "")
    show_used(before, am)
    bench.show("RSS of that AM and its guardian", [bench.resident_mib(place.status(job)["am_pid"])], "MiB", "")
    before, killed = used(), time.time()
    place.end(job)
    times = nodes.await_count(job, "ended", tasks)
    bench.show("tony kill -> the last container has ended", [times["ended"]["last"] - killed], "s", "")
    end(place.cluster, job)
    bench.show("tony kill -> the ResourceManager says KILLED", [time.time() - killed], "s", "")
    show_used(before)


def report(place, floor, runs):
    first, second = uploads(place)
    bench.show("bytes uploaded by the first submit", [first], "KiB", "")
    bench.show("  by the second", [second], "KiB", "no files")
    warm_up(place, floor)
    for heartbeat in GOALS:
        set_heartbeat(place.cluster, heartbeat)
        print(f"\nheartbeat of the NodeManagers: {heartbeat} ms")
        start_up(place, floor, runs, heartbeat)
        bench.show("kill -9 of one of 4 workers -> all running again",
                   [bench.recover(place) for _ in range(min(runs, 3))], "ms", "")
    print()
    sizes = [bench.resident_sizes(place) for _ in range(min(runs, 3))]
    bench.show("RSS of the AM and its guardian, 8 tasks", [am for am, _ in sizes], "MiB", "")
    bench.show("RSS of an executor and its guardian (largest of 8)", [executor for _, executor in sizes], "MiB", "")
    bench.show("CPU time of the client, a job of 8+1", [client_cpu(place) for _ in range(runs)], "ms", "")
    killed_ams(place, KILLS)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--large", type=int, metavar="N", help="nothing but this: one job of so many containers")
    parser.add_argument("--fake", type=int, metavar="N",
                        help=f"nothing but this: one job of so many containers on {FAKE_NODES} NodeManagers that run nothing")
    parser.add_argument("--killed-ams", type=int, metavar="N", help="nothing but this: so many AMs are killed")
    options = parser.parse_args()
    runs = options.killed_ams or options.runs
    print(bench.describe_machine())
    print(f"medians of {runs} runs\n")
    watched = kit.Watched(LARGE_CLUSTER if options.large else FAKE_CLUSTER if options.fake else CLUSTER)
    place = YarnPlace(watched.cluster)
    try:
        print(f"{'':58} {'median':>9} {'':4} {'goal':>12}   least .. most")
        if options.large:
            large(place, options.large)
        elif options.fake:
            nodes = FakeNodes(watched.cluster)
            try:
                fake(place, nodes, options.fake)
            finally:
                nodes.close()
        elif options.killed_ams:
            killed_ams(place, runs)
        else:
            report(place, Floor(watched.cluster), runs)
    finally:
        place.close()
        watched.close()


if __name__ == "__main__":
    main()
