"""Large data sets that the tasks of a job share, as the application master sees them: the memory that it takes for them, how long it takes to
put their lists there and to lease them, and until another application master has them. The job is a real one, of a task that sleeps;
the calls are those of docs/rest.md, "Splits", from this process. Nothing here fails; the reader judges.
"""

import argparse
import http.client
import json
import os
import signal
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import bench  # noqa: E402

AT_ONCE = 5000  # items of a PUT
LEASES = 100  # of a question
WHO = {"holder": "worker:0", "attempt": 1, "epoch": 1, "restart": 0}


def item(number):
    """Eight pieces of each file of a log that is kept by the hour."""
    file = number // 8
    return {"path": f"hdfs://cluster/data/clicks/2026/{file // 2400 % 12 + 1:02}/{file // 100 % 24:02}/part-{file:06}.avro",
            "start": number % 8 * 134217728, "length": 134217728}


class Master:
    def __init__(self, place, job):
        self.place, self.job = place, job
        self.find()

    def find(self):
        status = self.place.status(self.job)
        self.pid = status["am_pid"]
        self.address = urlsplit(status["am_url"]).netloc
        self.token = (Path(self.place.path) / "state/jobs" / self.job / "token").read_text().strip()
        self.connection = http.client.HTTPConnection(self.address, timeout=bench.PATIENCE_S)

    def call(self, method, path, body=None):
        self.connection.request(method, path, json.dumps({**WHO, **body}) if body is not None else None,
                                {"Authorization": f"Bearer {self.token}"})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status not in (200, 201):
            sys.exit(f"bench: {method} {path}: {answer.status} {text[:200]}")
        return json.loads(text)

    def resident(self):
        return int(bench.read_status(self.pid, "VmRSS")) / 1024

    def cpu(self):
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")

    def put(self, name, count):
        at = 0
        while at < count:
            items = [item(number) for number in range(at, min(at + AT_ONCE, count))]
            at = self.call("PUT", f"/v1/splits/{name}", {"fingerprint": "ab", "seed": 1, "first": at, "items": items,
                                                         "complete": at + AT_ONCE >= count})["items"]

    def lease(self, name, times):
        """The ms that each question takes, for LEASES splits that are done at once."""
        def once():
            answer = self.call("POST", f"/v1/splits/{name}/lease", {"count": LEASES})
            self.call("POST", f"/v1/splits/{name}/done", {"leases": answer["leases"]})
        return sorted(bench.timed(once) for _ in range(times))

    def replace(self):
        """The ms until the next application master tells of the data sets."""
        attempt = self.place.status(self.job)["am_attempt"]
        begun = time.monotonic()
        os.kill(self.pid, signal.SIGKILL)
        bench.wait_until(lambda: self.place.status(self.job)["am_attempt"] > attempt)
        self.find()
        self.call("GET", "/v1/splits")
        return (time.monotonic() - begun) * 1000


def show(name, value, unit, goal=""):
    print(f"{name:62}{value:10.1f} {unit:5}{goal}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1000000)
    options = parser.parse_args()
    place = bench.Workplace()
    try:
        job = place.submit(1, "sleep 100000")
        bench.wait_until(lambda: place.status(job)["tasks"][0]["state"] == "running")
        master = Master(place, job)
        show("resident memory of the application master", master.resident(), "MiB")
        show("100,000 items put, in calls of 5,000", bench.timed(lambda: master.put("small", 100000)), "ms", "goal: 5000")
        show("CPU time of the application master until then", master.cpu(), "ms")
        show(f"{options.items:,} items put", bench.timed(lambda: master.put("large", options.items)), "ms")
        show("resident memory with both", master.resident(), "MiB", "goal: 100, of 1,000,000")
        times = master.lease("large", 100)
        show(f"{LEASES} splits leased and done, median of 100", times[50], "ms")
        show("the same, the slowest of 100", times[-1], "ms")
        show("killed: until the next application master tells of them", master.replace(), "ms")
        show("resident memory of that", master.resident(), "MiB", "goal: 100, of 1,000,000")
        place.end(job)
    finally:
        place.close()


if __name__ == "__main__":
    main()
