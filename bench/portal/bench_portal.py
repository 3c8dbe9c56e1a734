"""bench_portal.py [--jobs N] [--tasks N] [--searches N]: how the portal does with a large history: how
long it takes until all is in its index, lists and searches, the page of a job with many tasks, memory.
The history is made up, in a directory that is removed afterwards.
"""

import argparse
import http.client
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAMES = ["mnist", "bert", "resnet50", "ranker", "speech", "forecast", "embed", "ads-ctr", "vision", "gpt"]
USERS = [f"user{i:02}" for i in range(60)]
QUEUES = ["default", "research", "production", "adhoc"]
FRAMEWORKS = ["tensorflow", "pytorch", "horovod", "generic"]
STATES = ["succeeded"] * 7 + ["failed"] * 2 + ["killed"]
DAY_MS = 86400000
LAST_MS = 1795200000000


# ---- a history ------------------------------------------------------------------------------------


def table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        yield byte


TABLE = list(table())


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def summary(job_id, submitted, chance):
    state = chance.choice(STATES)
    name = f"{chance.choice(NAMES)}-{chance.randrange(500)}"
    return {"format": 1, "id": job_id, "name": name, "user": chance.choice(USERS),
            "framework": chance.choice(FRAMEWORKS), "scheduler": "yarn", "queue": chance.choice(QUEUES),
            "tags": chance.sample(["nightly", "weekly", "sweep", "baseline"], chance.randrange(3)),
            "submitted_ms": submitted, "begun_ms": submitted + 900, "running_ms": submitted + 4000,
            "ended_ms": submitted + 4000 + chance.randrange(36000000), "epoch": 1, "retries": 0,
            "infrastructure_retries": 0, "am_attempt": 1, "state": state, "task_count": 9, "bytes": 20000,
            "message": "the job succeeded" if state == "succeeded"
            else f"worker:{chance.randrange(8)} on node-{chance.randrange(400)} exited with code 1: "
                 "ValueError: the loss is not a number",
            "types": [{"name": "worker", "instances": 8, "memory_mib": 8192, "vcores": 4, "gpus": 1,
                       "max_rss_bytes": chance.randrange(1 << 33), "p95_rss_bytes": 0},
                      {"name": "ps", "instances": 1, "memory_mib": 4096, "vcores": 2, "gpus": 0,
                       "max_rss_bytes": 0, "p95_rss_bytes": 0}]}


def folder(store, submitted):
    return os.path.join(store, time.strftime("%Y/%m/%d", time.gmtime(submitted / 1000)))


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def make_jobs(store, count, chance):
    for i in range(count):
        submitted = LAST_MS - i * (365 * DAY_MS // count)
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(submitted / 1000))
        job_id = f"tony-{stamp}-{i & 0xFFFF:04x}"
        place = os.path.join(folder(store, submitted), job_id)
        os.makedirs(place)
        write(os.path.join(place, "summary.json"), json.dumps(summary(job_id, submitted, chance)))
        # As one that was published a while ago.
        os.utime(place, (submitted / 1000, submitted / 1000))


def journal(tasks):
    """Seven lines for each task, as a job of so many has them."""
    steps = ["waiting", "requested", "allocated", "launching", "registered", "running", "succeeded"]
    records = [{"ev": "am", "attempt": 1, "pid": 1, "address": "node-1:4000", "version": "0.1.0"},
               {"ev": "job", "from": "submitted", "to": "forming", "epoch": 1, "retries": 0,
                "infrastructure_retries": 0}]
    for old, new in zip(steps, steps[1:]):
        if new == "running":
            records.append({"ev": "job", "from": "forming", "to": "running", "epoch": 1, "retries": 0,
                            "infrastructure_retries": 0})
        for i in range(tasks):
            record = {"ev": "task", "task": f"worker:{i}", "from": old, "to": new, "attempt": 1, "epoch": 1,
                      "restart": 0, "restarts_used": 0, "up": new == "running"}
            if new not in ("requested",):
                record |= {"container": f"container_1_0001_01_{i:06}", "host": f"node-{i % 400}"}
            if new in ("registered", "running", "succeeded"):
                record |= {"port": 40000, "log_dir": f"/var/log/containers/{i}"}
            records.append(record)
    records += [{"ev": "job", "from": "running", "to": "finishing", "epoch": 1, "retries": 0,
                 "infrastructure_retries": 0, "outcome": "succeeded"},
                {"ev": "job", "from": "finishing", "to": "succeeded", "epoch": 1, "retries": 0,
                 "infrastructure_retries": 0, "outcome": "succeeded"},
                {"ev": "final", "state": "succeeded", "message": "the job succeeded"}]
    for number, record in enumerate(records, 1):
        line = json.dumps({"seq": number, "t": LAST_MS + number, **record}, separators=(",", ":"))[:-1]
        yield f'{line},"crc":"{crc32c(line.encode()):08x}"}}\n'


def make_large_job(store, tasks, chance, template):
    """What a real job says of itself, with other numbers."""
    job_id = "tony-20261120-200000-ffff"
    place = os.path.join(folder(store, LAST_MS), job_id)
    os.makedirs(place)
    template["types"][0] |= {"name": "worker", "instances": tasks}
    write(os.path.join(place, "job.json"), json.dumps(template | {"id": job_id, "submitted_ms": LAST_MS}))
    write(os.path.join(place, "events.jsonl"), "".join(journal(tasks)))
    write(os.path.join(place, "summary.json"),
          json.dumps(summary(job_id, LAST_MS, chance) | {"task_count": tasks, "name": "large"}))
    return job_id


def real_job(build, environment):
    """The job.json of a job of one task that has run."""
    subprocess.run([os.path.join(build, "tony"), "submit", "--", "true"], env=environment, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    jobs = os.path.join(environment["TONY_STATE_DIR"], "jobs")
    with open(os.path.join(jobs, os.listdir(jobs)[0], "job.json"), encoding="utf-8") as file:
        return json.load(file)


# ---- the portal -----------------------------------------------------------------------------------


class Portal:
    def __init__(self, build, store, environment):
        self.begun = time.monotonic()
        self.process = subprocess.Popen(
            [os.path.join(build, "tony"), "portal", "--history", store, "--listen", "127.0.0.1:0"],
            env=environment, stdout=subprocess.PIPE, text=True)
        self.address = re.search("http://([^/]*)/", self.process.stdout.readline())[1]
        with open(os.path.join(environment["TONY_STATE_DIR"], "portal/token"), encoding="utf-8") as file:
            self.headers = {"Authorization": f"Bearer {file.read().strip()}"}
        self.connection = http.client.HTTPConnection(self.address)

    def get(self, path):
        """The answer, and how many ms it took until all of it was there."""
        begin = time.monotonic()
        self.connection.request("GET", path, headers=self.headers)
        answer = self.connection.getresponse()
        body = answer.read()
        took = (time.monotonic() - begin) * 1000
        assert answer.status == 200, (path, body)
        return body, took

    def wait(self, jobs):
        while json.loads(self.get("/v1/jobs?limit=1")[0])["total"] < jobs:
            time.sleep(0.5)
        return time.monotonic() - self.begun

    def memory(self):
        """MiB of the server, and of its readers and its indexer beside it, shared pages in proportion."""
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
            children = file.read().split()
        return resident(pid, "Rss"), sum(resident(child, "Pss") for child in children)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def resident(pid, what):
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
        return int(re.search(rf"^{what}: *(\d+)", file.read(), re.MULTILINE)[1]) / 1024


def random_search(chance):
    """What people type and click."""
    filters = [lambda: f"q={chance.choice(NAMES)}", lambda: f"q={chance.choice(NAMES)}-{chance.randrange(500)}",
               lambda: f"user={chance.choice(USERS)}", lambda: f"state={chance.choice(STATES)}",
               lambda: f"queue={chance.choice(QUEUES)}", lambda: f"name={chance.choice(NAMES)}",
               lambda: f"tag={chance.choice(['nightly', 'sweep'])}", lambda: "type=ps",
               lambda: f"from={LAST_MS - chance.randrange(365) * DAY_MS}", lambda: "q=nowhere-to-be-found"]
    parts = [one() for one in chance.sample(filters, chance.randrange(4))]
    if chance.random() < 0.2:
        parts.append(f"offset={chance.randrange(20) * 100}")
    if chance.random() < 0.2:
        parts.append(f"sort={chance.choice(['name', 'user', 'state', 'task_count'])}")
    return "/v1/jobs?" + "&".join(parts)


def show(name, times, promised):
    times = sorted(times)
    print(f"{name:34} p50 {statistics.median(times):7.1f} ms   p95 {times[int(len(times) * 0.95)]:7.1f} ms   "
          f"promised {promised} ms", flush=True)


def measure(portal, options, large, chance):
    print(f"{'until all is in the index':34} {portal.wait(options.jobs + 1):.1f} s", flush=True)
    show("list, as the page asks for it", [portal.get("/v1/jobs?offset=0&limit=100")[1] for _ in range(50)], 100)
    show("random searches", [portal.get(random_search(chance))[1] for _ in range(options.searches)], 100)
    base = f"/v1/jobs/{large}"
    page = lambda: sum(portal.get(f"{base}/{path}")[1] for path in ("job", "tasks"))
    print(f"{f'page of {options.tasks} tasks, opened':34} {page():.0f} ms   promised 300 ms", flush=True)
    show("the same, when it is open", [page() for _ in range(20)], 300)
    server, children = portal.memory()
    print(f"{'memory, server':34} {server:.0f} MiB   promised 64 MiB")
    print(f"{'memory, its readers and indexer':34} {children:.0f} MiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--jobs", type=int, default=100000)
    parser.add_argument("--tasks", type=int, default=10000)
    parser.add_argument("--searches", type=int, default=300)
    options = parser.parse_args()
    build = os.environ.get("TONY_BUILD", os.path.join(ROOT, "build"))
    chance = random.Random(1)
    place = tempfile.mkdtemp(prefix="tony-bench-")
    store = os.path.join(place, "history")
    environment = {**os.environ, "TONY_STATE_DIR": os.path.join(place, "state"),
                   "TONY_CONF_DIR": place}
    # All of it is kept, however old.
    write(os.path.join(place, "tony-site.xml"), "<configuration><property><name>tony.history.retention-sec</name>"
                                                "<value>0</value></property></configuration>")
    try:
        make_jobs(store, options.jobs, chance)
        large = make_large_job(store, options.tasks, chance, real_job(build, environment))
        portal = Portal(build, store, environment)
        try:
            measure(portal, options, large, chance)
        finally:
            portal.stop()
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    sys.exit(main())
