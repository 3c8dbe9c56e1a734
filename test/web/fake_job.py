"""Jobs that are made up, in the forms of docs/rest.md: their journal, tasks, logs and curves. Tests
move them step by step; live() plays one through for people."""

import bisect
import json
import math
import random
import threading
import time
import zlib

ATTACKS = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "\"><svg onload=alert(1)>",
    "'-alert(1)-'",
    "javascript:alert(1)",
    "</textarea></title><iframe src=javascript:alert(1)>",
    "{{constructor.constructor('alert(1)')()}}",
    "\u202egnp.exe \u0000 &lt;b&gt; &amp; ]]>",
]
ENDED = ("succeeded", "failed", "lost", "stopped")
OPTIONAL = ("container", "host", "port", "ui_port", "log_dir")


def now_ms():
    return int(time.time() * 1000)


class Log:
    """Bytes that may grow, in one file."""

    def __init__(self, data=b"", part="a1"):
        self.data = bytearray(data)
        self.part = part
        self.times = [(0, now_ms())]
        self.cut_bytes = 0  # before what is left
        self.grown = threading.Condition()

    def append(self, text, time_ms=None):
        with self.grown:
            self.times.append((len(self.data), time_ms or now_ms()))
            self.data += text.encode() if isinstance(text, str) else text
            self.grown.notify_all()

    def length(self):
        return len(self.data)

    def read(self, part, offset, limit):
        """What was written at one time."""
        place = bisect.bisect_right(self.times, (offset, 1 << 62))
        end = self.times[place][0] if place < len(self.times) else self.length()
        return bytes(self.data[offset:min(end, offset + limit)])

    def next_part(self, part):
        return None

    def wait(self, part, offset):
        with self.grown:
            if self.length() <= offset:
                self.grown.wait(0.5)  # patience: who follows asks again

    def head(self, part, offset, length):
        place = bisect.bisect_right(self.times, (offset, 1 << 62)) - 1
        return f"{self.times[place][1]} {part} {offset} {length}\n".encode()

    def seek(self, position):
        """A position of docs/rest.md as (part, offset)."""
        kind, *rest = position.split(":")
        if kind == "tail":
            return self.part, self.tail_offset(int(rest[0]))
        if kind == "at":
            return (self.part, int(rest[1])) if rest[0] == self.part else (self.part, 0)
        if kind == "offset":
            offset = int(rest[0])
            return self.part, max(0, self.length() + offset) if offset < 0 else offset
        return self.part, 0

    def tail_offset(self, lines):
        place = len(self.data)
        if place and self.data[-1] == 10:
            place -= 1
        for _ in range(lines):
            place = self.data.rfind(b"\n", 0, place)
            if place < 0:
                return 0
        return place + 1


class HugeLog(Log):
    """A gigabyte that takes no memory: line N is made when it is read."""

    LINE = 100

    def __init__(self, lines, needles=()):
        super().__init__()
        self.lines = lines
        self.needles = set(needles)

    def length(self):
        return self.lines * self.LINE

    def line(self, number):
        what = "NEEDLE here" if number in self.needles else f"loss={1 / (number + 1):.9f}"
        return f"step {number:09d} {what} ".ljust(self.LINE - 1, ".").encode() + b"\n"

    def read(self, part, offset, limit):
        end = min(offset + limit, self.length())
        if offset >= end:
            return b""
        first, last = offset // self.LINE, (end - 1) // self.LINE
        data = b"".join(self.line(number) for number in range(first, last + 1))
        start = offset - first * self.LINE
        return data[start:start + end - offset]

    def tail_offset(self, lines):
        return max(0, self.lines - lines) * self.LINE


class Job:
    def __init__(self, tasks=4, name="mnist", hostile=False, identity="tony-20261121-061400-1f3a",
                 began_ms=None, user="ada", queue="research", framework="tensorflow"):
        self.hostile = hostile
        self.id, self.user, self.queue, self.framework = identity, user, queue, framework
        self.name = self.word(name, 0)
        self.random = random.Random(identity)
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.clock_ms = began_ms  # None: the real one
        self.submitted_ms = self.now() - 4000
        self.state, self.epoch, self.retries = "submitted", 0, 0
        self.lines, self.records = [], []
        self.is_final, self.message, self.waiting, self.cause = False, None, None, None
        self.running_ms = self.ended_ms = None
        self.advice, self.tensorboard_asked, self.has_events = [], False, True
        self.work = {"stragglers": {}}
        self.trouble_of_job = {}
        self.logs = {}
        self.refusals = {}  # of logs, by task: status, code, message
        self.scheduler = "yarn"
        self.tags = [self.word("nightly", 1)]
        self.types = self.make_types(tasks)
        self.tasks = [{"task": f"{kind['name']}:{index}", "state": "waiting", "attempt": 0, "epoch": 0,
                       "restart": 0, "restarts_used": 0}
                      for kind in self.types for index in range(kind["instances"])]
        self.by_name = {task["task"]: task for task in self.tasks}
        self.config = self.make_config()
        self.code, self.diff = self.make_code(), None
        self.uses = None  # of the job of a pipeline: "NODE=JOB" of those before it
        self.sweep = None  # the table of its trials
        self.environment = {"worker": {"DATA": self.word("/data/mnist", 2), "OMP_NUM_THREADS": "4"}}
        self.emit(ev="am", attempt=1, pid=4711, address="127.0.0.1:40000", version="0.1.0")

    # ---- what it is ---------------------------------------------------------------------------

    def word(self, plain, number=0):
        return ATTACKS[number % len(ATTACKS)] if self.hostile else plain

    def make_types(self, tasks):
        servers = 2 if tasks > 6 else 1
        kinds = [("chief", 1, "tracked"), ("worker", max(1, tasks - servers - 2), "tracked"),
                 ("ps", servers, "untracked"), ("tensorboard", 1, "sidecar")]
        return [{"name": name, "instances": count, "role": role, "memory_mib": 8192, "vcores": 4,
                 "gpus": 1 if name in ("chief", "worker") else 0,
                 "command": self.word(f"python3 train.py --task {name} --data /data/mnist --batch-size 128", 3)}
                for name, count, role in kinds]

    def make_config(self):
        config = {f"tony.{kind['name']}.{key}": {"value": str(value), "origin": "tony.xml:17"}
                  for kind in self.types for key, value in (("instances", kind["instances"]), ("memory", "8g"))}
        config["tony.application.name"] = {"value": self.name, "origin": self.word("--conf", 4)}
        config["tony.application.framework"] = {"value": self.framework, "origin": "tony-site.xml:3"}
        for number in range(120):
            config[f"tony.example.key-{number:03d}"] = {"value": str(number), "origin": "default"}
        return config

    def make_code(self):
        return {"directory": self.word("/home/ada/mnist", 0), "repository": "/home/ada/mnist", "commit": "3de267a94c12" + "0" * 28,
                "branch": self.word("main", 1), "dirty": False, "files": [{"path": self.word("train.py", 2), "sha256": "e3b0" * 16}]}

    def change_code(self, diff):
        """Of a job that has not been looked at yet."""
        self.diff = diff
        self.code |= {"dirty": True, "changed": [{"path": "model.py", "sha256": "5feceb66" * 8}], "diff_bytes": len(diff)}

    def describe(self):
        progress = {}
        for task in self.tasks:
            progress[task["state"]] = progress.get(task["state"], 0) + 1
        found = {"id": self.id, "name": self.name, "user": self.user, "queue": self.queue, "scheduler": self.scheduler,
                 "framework": self.framework, "tags": self.tags, "state": self.state, "epoch": self.epoch,
                 "retries": self.retries, "infrastructure_retries": 0, "am_attempt": 1, "task_count": len(self.tasks),
                 "progress": progress, "submitted_ms": self.submitted_ms, "running_ms": self.running_ms,
                 "ended_ms": self.ended_ms, "waiting": self.waiting, "cause": self.cause, "types": self.types,
                 "message": self.message, "uses": self.uses, "sweep": self.id if self.sweep else None, "provenance": self.code, "sequence": len(self.lines),
                 "links": [{"name": task["task"].split(":")[0], "task": task["task"],
                            "path": f"ui/{task['task'].split(':')[0]}/"} for task in self.tasks if task.get("ui_port")],
                 **self.trouble_of_job}
        return {key: value for key, value in found.items() if value is not None}

    def summary(self):
        found = self.describe()
        return {**{key: found.get(key) for key in found if key not in ("progress", "links")},
                **({"cause_task": self.cause["task"]} if self.cause else {}),
                **({"work": self.work} if self.state == "running" and "done" in self.work else {}),
                "begun_ms": self.submitted_ms + 4000}

    def lasted_ms(self):
        return (self.ended_ms or now_ms()) - self.submitted_ms

    @staticmethod
    def task_json(task):
        return {key: value for key, value in task.items() if value is not None}

    def cluster(self):
        if self.epoch == 0:
            return {"epoch": 0, "types": {}}
        return {"epoch": self.epoch, "types": {
            kind["name"]: [f"{task.get('host', '-')}:{task.get('port', 0)}" for task in self.tasks
                           if task["task"].startswith(kind["name"] + ":")] for kind in self.types}}

    # ---- journal ------------------------------------------------------------------------------

    def now(self):
        return now_ms() if self.clock_ms is None else self.clock_ms

    def emit(self, **record):
        with self.changed:
            line = json.dumps({"seq": len(self.lines) + 1, "t": self.now(),
                               **{key: value for key, value in record.items() if value is not None}})
            checksum = zlib.crc32(line[:-1].encode())
            self.lines.append(f'{line[:-1]},"crc":"{checksum:08x}"}}')
            self.records.append(json.loads(line))
            self.changed.notify_all()

    def wait_for_lines(self, since, seconds):
        with self.changed:
            if len(self.lines) < since and seconds > 0:
                self.changed.wait_for(lambda: len(self.lines) >= since, seconds)
            return self.lines[since - 1:]

    def move_job(self, state, **more):
        with self.lock:
            before, self.state = self.state, state
            if state == "running" and self.running_ms is None:
                self.running_ms = self.now()
            if state in ("succeeded", "failed", "killed"):
                self.ended_ms = self.now()
            cause = {key: value for key, value in (self.cause or {}).items() if key != "task"} or None
            self.emit(ev="job", **{"from": before, "to": state}, epoch=self.epoch, retries=self.retries,
                      infrastructure_retries=0, cause=cause,
                      cause_task=(self.cause or {}).get("task"), **more)

    def move(self, name, state, **changes):
        with self.lock:
            task = self.by_name[name]
            before, task["state"] = task["state"], state
            task.update(changes)
            task["up"] = changes.get("up", state == "running")
            if state == "running" and task["up"]:
                task["started_ms"], task["ended_ms"] = self.now(), None
            if state in ENDED:
                task["ended_ms"] = self.now()
            self.emit(ev="task", task=name, **{"from": before, "to": state}, up=task["up"],
                      **{key: task.get(key) for key in ("attempt", "epoch", "restart", "restarts_used", *OPTIONAL,
                                                        "cause")})

    def wait_for(self, text):
        self.waiting = text
        self.emit(ev="waiting", text=text)

    def trouble(self, text, task=None):
        """With the store: of the job itself, or of a task. None: it is over."""
        since_ms = self.now()
        target, name = (self.by_name[task], "checkpoint_trouble") if task else (self.trouble_of_job, "store_trouble")
        target.update({name: text, f"{name}_since_ms": text and since_ms})
        self.emit(ev="checkpoints" if task else "store", task=task, text=text or "all is well again",
                  trouble=text is not None or None, since_ms=since_ms)

    def note(self, text):
        self.emit(ev="note", text=text)

    def form(self, names=None, pause=lambda: None):
        """Containers for these tasks, as far as the barrier."""
        names = names or [task["task"] for task in self.tasks]
        if self.state == "submitted":
            self.move_job("forming")
        steps = [("requested", {}), ("allocated", {}), ("launching", {}), ("registered", {})]
        for step, _ in steps:
            for name in names:
                number = self.tasks.index(self.by_name[name])
                changes = {"requested": {"attempt": self.by_name[name]["attempt"] + 1},
                           "allocated": {"container": f"container_1795241651123_0001_01_{number + 2:06d}"},
                           "launching": {},
                           "registered": {"host": self.word(f"node{number % 50:02d}.example.org", number),
                                          "port": 40000 + number % 20000, "log_dir": f"/var/log/yarn/c{number}"}}
                self.move(name, step, **changes[step])
                pause()

    def run(self):
        """The barrier opens."""
        self.epoch += 1
        self.cause = None
        for task in self.tasks:
            if task["state"] == "registered":
                self.move(task["task"], "running", epoch=self.epoch)
        self.move_job("running")

    def start(self):
        self.form()
        self.run()
        return self

    def fail(self, name, lines=None, headline=None):
        """A task fails for good."""
        cause = self.make_cause(lines, headline)
        self.move(name, "failed", cause=cause, up=False)
        self.cause = {**cause, "task": name}

    def make_cause(self, lines=None, headline=None):
        headline = headline or self.word("ValueError: no data in /data/mnist", 0)
        tail = lines or ["Traceback (most recent call last):", '  File "train.py", line 88, in <module>',
                         "    main()", '  File "train.py", line 61, in main', "    batch = next(batches)", headline]
        return {"kind": "exit", "exit_code": 1, "text": self.word("exited with code 1", 1), "headline": headline,
                "tail": tail}

    def end(self, state="succeeded", message=None):
        self.move_job("finishing", outcome=state)
        for task in self.tasks:
            if task["state"] not in ENDED:
                self.move(task["task"], "succeeded" if state == "succeeded" else "stopped", up=False)
        self.move_job(state, outcome=state)
        with self.changed:
            self.message = self.word(message or ("the job succeeded" if state == "succeeded" else f"the job has {state}"), 5)
            self.is_final = True
            self.emit(ev="final", state=state, message=self.message)

    def attempts(self, name):
        found = {}
        for record in self.records:
            number = record.get("attempt", 0)
            if record["ev"] != "task" or record["task"] != name or number == 0:
                continue
            one = found.setdefault(number, {"attempt": number})
            one.update({key: record[key] for key in ("epoch", "restart", "container", "host", "port", "log_dir")
                        if key in record})
            state = {"launching": "launched", "running": "started"}.get(record["to"], record["to"])
            if record["to"] in ENDED:
                one["ended_ms"] = record["t"]
                one["cause"] = record.get("cause")
            else:
                one.setdefault(f"{state}_ms", record["t"])
        return list(found.values())

    # ---- logs and curves ----------------------------------------------------------------------

    def log(self, task, name):
        return self.logs.get((task, name))

    def set_log(self, task, name, log):
        self.logs[task, name] = log
        return log

    def logs_of(self, task):
        return [{"log": name, "bytes": log.length(), "attempt": self.by_name[task]["attempt"],
                 **({"cut_bytes": log.cut_bytes} if log.cut_bytes else {})}
                for (owner, name), log in self.logs.items() if owner == task and log.length()]

    def curve(self, task, name, points):
        seed = zlib.crc32(f"{task} {name}".encode()) % 1000
        base, swing = {"cpu_percent": (180, 160), "rss_bytes": (3e9, 1e9), "pss_bytes": (2.6e9, 9e8),
                       "read_bytes_per_s": (4e7, 4e7), "write_bytes_per_s": (2e6, 2e6),
                       "net_receive_bytes_per_s": (1e7, 8e6), "net_send_bytes_per_s": (9e6, 8e6),
                       "processes": (3, 0), "threads": (40, 4), "gpu_utilization_percent": (70, 28),
                       "gpu_memory_used_bytes": (1.2e10, 1e9), "gpu_memory_total_bytes": (1.6e10, 0),
                       "gpu_power_watts": (210, 70)}[name]
        return [max(0, base + swing * math.sin(seed + i / 9) * math.cos(i / 31 + seed)) for i in range(points)]

    def series(self, task, points):
        end = self.ended_ms or self.now()
        times = [end - (points - i) * 5000 for i in range(points)]
        units = {"cpu_percent": "percent", "rss_bytes": "bytes", "pss_bytes": "bytes",
                 "read_bytes_per_s": "bytes_per_s", "write_bytes_per_s": "bytes_per_s",
                 "net_receive_bytes_per_s": "bytes_per_s", "net_send_bytes_per_s": "bytes_per_s",
                 "gpu_utilization_percent": "percent", "gpu_memory_used_bytes": "bytes",
                 "gpu_memory_total_bytes": "bytes", "gpu_power_watts": "watts"}
        series = [{"name": name, "unit": unit, "kind": "gauge", "gpu": 0 if name.startswith("gpu") else None,
                   "t": times, "v": self.curve(task, name, points)} for name, unit in units.items()]
        loss = [2.3 * math.exp(-i / 60) + 0.05 * math.sin(i * 7) ** 2 for i in range(points)]
        user = [{"name": self.word("loss", 0), "run": self.word("train", 1), "t": times,
                 "step": [i * 100 for i in range(points)], "v": loss}]
        return {"task": task, "series": series, "user": user}

    def all_series(self, name, offset, limit):
        tasks = [task["task"] for task in self.tasks[offset:offset + limit] if task.get("started_ms")]
        curves = {task: self.curve(task, name, 32) for task in tasks}
        return {"name": name, "tasks": {task: {"last": curve[-1], "v": curve} for task, curve in curves.items()}}

    def use(self):
        """Of each running task half of what it asked for."""
        asked = {kind["name"]: kind for kind in self.types}
        found = {}
        for task in self.tasks:
            kind = asked[task["task"].split(":")[0]]
            if task["state"] == "running":
                found[task["task"]] = {"cpu_percent": 50 * kind["vcores"], "memory_bytes": kind["memory_mib"] << 19,
                                       **({"gpus": 1, "gpu_percent": 93, "gpu_memory_used_mib": 30720,
                                           "gpu_memory_total_mib": 81920} if kind["gpus"] else {})}
        return found

    def lag(self, *names, step=120):
        """All are at step 400 of 1,000, but for these."""
        self.work = {"done": 0.316, "least_step": step if names else 400, "most_step": 400, "steps": 1000,
                     "stragglers": {name: {"by": "step", "own": step, "others": 400, "text": self.word(
                         f"{name} is at step {step}, its siblings at 400", number)} for number, name in enumerate(names)}}

    def give_advice(self):
        self.advice = [
            {"rule": "memory-oversized", "severity": "warning", "title": self.word("Workers use a third of their memory", 0),
             "evidence": [self.word("p95 of worker is 2.6 GiB of 8 GiB over 38 attempts", 1), "no attempt went over 3.1 GiB"],
             "types": ["worker"], "settings": [{"key": "tony.worker.memory", "now": "8g", "suggested": "4g"}],
             "xml": "<property>\n  <name>tony.worker.memory</name>\n  <value>4g</value>\n</property>"},
            {"rule": "gpu-idle", "severity": "info", "title": "GPUs wait for input",
             "evidence": ["GPU use 31 % while CPU is at 390 % of 400 %"], "types": ["worker"],
             "settings": [{"key": "tony.worker.vcores", "now": "4", "suggested": "8"}]}]

    # ---- for people ---------------------------------------------------------------------------

    def live(self):
        """Plays a job through for ever: it forms, trains, loses a worker, goes on."""
        few = [task["task"] for task in self.tasks if task["task"].startswith("worker")]
        self.give_advice()
        self.wait_for(f"{len(self.tasks)} containers of the queue {self.queue}")
        self.form(pause=lambda: time.sleep(2 / len(self.tasks)))  # patience: for people
        self.wait_for(None)
        self.run()
        self.move("tensorboard:0", "running", ui_port=6006)
        for task in self.tasks:
            self.set_log(task["task"], "stdout", Log(b"starting\n"))
            self.set_log(task["task"], "stderr", Log(b""))
        self.set_log("chief:0", "executor", Log(b"the executor began\n"))
        self.set_log("ps:0", "stdout", HugeLog(10_000_000, [1234567]))
        for step in range(1 << 30):
            time.sleep(0.25)  # patience: for people
            for task in self.tasks[:50]:
                self.train(task["task"], step)
            if step % 40 == 39:
                self.replace(self.random.choice(few))

    def train(self, task, step):
        text = f"\x1b[32mstep {step}\x1b[0m loss={2.3 * math.exp(-step / 100):.4f} {self.word('ok', step)}\n"
        self.log(task, "stdout").append(text)
        if step % 10 == 0:
            self.log(task, "stderr").append(f"\x1b[33mW\x1b[0m {self.word('slow input', step)}\n")

    def replace(self, task):
        self.fail(task)
        self.retries += 1
        self.move_job("reforming")
        time.sleep(1)  # patience: for people
        self.form([task])
        self.run()


def fill_portal(count):
    """Finished jobs of the past."""
    jobs = []
    people, queues = ["ada", "grace", "alan"], ["research", "default", "production"]
    begin = now_ms() - count * 600_000
    for number in range(count):
        job = Job(tasks=4 + number % 5, name=f"train-{number % 7}", identity=f"tony-20261101-{number:06d}-1f3a",
                  began_ms=begin + number * 600_000, user=people[number % 3], queue=queues[number % 3],
                  framework=["tensorflow", "pytorch", "horovod"][number % 3])
        job.start()
        job.clock_ms += 200_000 + number * 1000
        if number % 5 == 0:
            job.fail("worker:0")
            job.end("failed", "worker:0 exited with code 1: ValueError: no data")
        else:
            job.end("succeeded")
        if number % 2:
            job.config["tony.worker.memory"]["value"] = "16g"
        jobs.append(job)
    return jobs
