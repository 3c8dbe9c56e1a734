"""What a job costs on YARN, on a cluster of three NodeManagers on this machine, beside the floor: the
smallest application master that asks for as many containers, runs the command and finishes. In one
run on one cluster, with the heartbeat that Hadoop has by default and with a fast one. Nothing here
fails; the reader judges.
"""

import argparse
import json
import os
import re
import resource
import statistics
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "test/yarn")]

import bench  # noqa: E402
import kit  # noqa: E402

CLUSTER = {"--nodes": 3, "--heartbeat-ms": 1000, "--node-vcores": 16}
HEARTBEATS_MS = (1000, 100)
SIZES = ((1, 0), (4, 0), (8, 1))  # workers and parameter servers
FLOOR = Path(bench.BUILD) / "bench/yarn/yarn-floor-am"
MEMORY_MIB = 64
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

    def uploaded(self):
        """Bytes that are in HDFS below the user's directory for tony."""
        answer = self.cluster.hdfs("GET", f"/user/{self.cluster.user}/.tony", op="GETCONTENTSUMMARY")
        return json.loads(answer)["ContentSummary"]["length"] if answer else 0


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
        bench.wait_until(lambda: self.cluster.application(app)["state"] in ENDED)
        report = self.cluster.application(app)
        if report["finalStatus"] != "SUCCEEDED":
            sys.exit(f"bench: the floor failed: {report['diagnostics']}")


def set_heartbeat(cluster, milliseconds):
    site = cluster.directory / "conf/yarn-site.xml"
    text = re.sub(r"(<name>yarn.resourcemanager.nodemanagers.heartbeat-interval-ms</name><value>)\d+",
                  rf"\g<1>{milliseconds}", site.read_text())
    site.write_text(text)
    cluster.restart("rm")


def started_after(place, count, submit, wait):
    """ms from submit() until the last of `count` user processes has started."""
    directory, script = place.stamping()
    start = time.time()
    app = submit(f"bash {script}")
    last = max(bench.read_stamps(directory, count))
    open(f"{directory}.go", "w", encoding="ascii").close()
    wait(app)
    return (last - start) * 1000


def beside_the_floor(what, runs, ours, floor, goal):
    """Ours and the floor's take turns, so that both see the same machine."""
    pairs = [(ours(), floor()) for _ in range(runs)]
    bench.show(what, [pair[0] for pair in pairs], "ms", "")
    bench.show("  the floor", [pair[1] for pair in pairs], "ms", "")
    medians = [statistics.median(column) for column in zip(*pairs)]
    bench.show("  ratio", [medians[0] / medians[1]], "x", goal)


def start_up(place, floor, runs, goal):
    def end(job):
        bench.wait_until(lambda: place.cluster.application(job)["state"] in ENDED)

    for workers, others in SIZES:
        count = workers + others
        name = f"{workers}+{others}" if others else str(workers)
        beside_the_floor(
            f"submit -> last of {name} user processes started", runs,
            lambda: started_after(place, count, lambda command: place.submit(workers, command, others=others), end),
            lambda: started_after(place, count, lambda command: floor.submit(count, command), floor.wait), goal)
        beside_the_floor(
            f"whole job, {name} x true", runs, lambda: bench.timed(lambda: place.run(workers, "true", others)),
            lambda: bench.timed(lambda: floor.wait(floor.submit(count, "true"))), goal)


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


def report(place, floor, runs):
    first, second = uploads(place)
    bench.show("bytes uploaded by the first submit", [first], "KiB", "")
    bench.show("  by the second", [second], "KiB", "no files")
    for heartbeat in HEARTBEATS_MS:
        set_heartbeat(place.cluster, heartbeat)
        print(f"\nheartbeat of the NodeManagers: {heartbeat} ms")
        start_up(place, floor, runs, "<= 1.15" if heartbeat == 1000 else "")
        bench.show("kill -9 of one of 4 workers -> all running again",
                   [bench.recover(place) for _ in range(min(runs, 3))], "ms", "")
    print()
    sizes = [bench.resident_sizes(place) for _ in range(min(runs, 3))]
    bench.show("RSS of the AM and its guardian, 8 tasks", [am for am, _ in sizes], "MiB", "")
    bench.show("RSS of an executor and its guardian (largest of 8)", [executor for _, executor in sizes], "MiB", "")
    bench.show("CPU time of the client, a job of 8+1", [client_cpu(place) for _ in range(runs)], "ms", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    print(bench.describe_machine())
    print(f"medians of {runs} runs\n")
    watched = kit.Watched(CLUSTER)
    place = YarnPlace(watched.cluster)
    try:
        print(f"{'':58} {'median':>9} {'':4} {'goal':>12}   least .. most")
        report(place, Floor(watched.cluster), runs)
    finally:
        place.close()
        watched.close()


if __name__ == "__main__":
    main()
