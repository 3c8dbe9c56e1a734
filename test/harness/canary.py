"""Canaries: values that are nobody's business, and a search for them in everything that a job leaves or shows.

The same search runs on each scheduler. `Canary.found` collects the places as (mark, place); a suite says which of them
SECURITY.md names.
"""

import base64
import hashlib
import hmac
import os
import re
import tarfile
import urllib.parse
from pathlib import Path

from program import PYTHON

AM_CALLS = ("/", "/v1/server", "/v1/job", "/v1/tasks", "/v1/tasks/worker:0", "/v1/tasks/worker:0/attempts",
            "/v1/tasks/worker:0/logs", "/v1/tasks/worker:0/logs/stdout", "/v1/tasks/worker:0/logs/stderr", "/v1/advice",
            "/v1/config", "/v1/diff", "/v1/cluster", "/v1/environment?type=worker", "/v1/events?since=0", "/v1/work", "/v1/use", "/v1/metrics",
            "/v1/series?task=worker:0", "/metrics")
PORTAL_CALLS = ("job", "tasks", "tasks/worker:0", "tasks/worker:0/attempts", "tasks/worker:0/logs", "tasks/worker:0/logs/stdout",
                "events", "series?task=worker:0", "advice", "config", "diff", "cluster", "environment?type=worker", "tensorboard")
VERBS = (["status", "JOB"], ["status", "--json", "JOB"], ["list", "--all", "--json"], ["events", "--json", "JOB"],
         ["logs", "--am", "JOB"], ["logs", "JOB"], ["advise", "JOB"], ["history"], ["history", "--json"], ["config", "show"])

# The program asks its AM for something, by the job's token, says that it has its values, by their lengths, and lives until
# it is told to end.
PROGRAM = """
import os, time, urllib.request
token = open(os.environ["TONY_TOKEN_FILE"]).read().strip()
def call(method, data=None):
    request = urllib.request.Request(os.environ["TONY_AM_URL"] + "/v1/kv/entry", data, method=method)
    request.add_header("Authorization", "Bearer " + token)
    urllib.request.urlopen(request).read()
call("PUT", b"an entry")
call("GET")
with open(os.environ["TONY_METRICS_FILE"], "a") as metrics:
    print('{"step": 1, "loss": 0.5}', file=metrics)
with open("DIRECTORY/am-urls", "a") as file:
    print(os.environ["TONY_AM_URL"], file=file)
print(len(os.environ["CANARY_TOKEN"]), len(open(os.environ["CANARY_KEY"], "rb").read()), len(os.environ["CANARY_PASSWORD"]),
      flush=True)
while not os.path.exists("DIRECTORY/go"): time.sleep(0.05)
"""


def forms(value):
    """The value as it may be written: as it is, in base64 wherever it begins, in hex, in a URL, in JSON."""
    yield from {value, value.hex().encode(), value.hex().upper().encode(), urllib.parse.quote(value).encode()}
    for encode in base64.b64encode, base64.urlsafe_b64encode:
        for shift in range(3):
            text = encode(b"\0" * shift + value)
            yield text[4 * bool(shift):len(text) // 4 * 4 - 4]


def key_of(token):
    """That of TLS, as docs/rest.md has it."""
    extracted = hmac.digest(bytes(32), token, "sha256")
    return hmac.digest(extracted, b"tony wire, TLS 1.3\x01", hashlib.sha256)


def role_of(process):
    """Which of a job's processes it is: its program's, tony's, or another one."""
    try:
        command, program = (process / "cmdline").read_bytes(), os.readlink(process / "exe").rpartition("/")[2]
    except OSError:
        return "ended"
    return "the program" if b"canary.py" in command and not program.startswith("tony") else program


SHADOW_BYTES = 1 << 30   # more are AddressSanitizer's notes on all others


class Canary:
    """The marks of one job: those of its user from the start, and tony's own once the job is there."""

    def __init__(self, tony):
        self.tony, self.found, self.marks = tony, set(), {}
        own = os.urandom(6).hex().encode()   # others run beside this one
        values = {"variable": b"canary-of-a-variable-" + own, "file": b"canary\0of\xffa-file-" + own,
                  "password": b"canary-of-a-password-" + own}
        for name, value in values.items():
            self.add(name, value)
        self.said = " ".join(str(len(value)) for value in values.values())
        self.source = tony.directory / "src"   # secrets lie beside the program, as users have them
        self.source.mkdir()
        (self.source / "canary.token").write_bytes(values["variable"] + b"\n")
        (self.source / "canary.key").write_bytes(values["file"])
        (tony.directory / "canary.env").write_bytes(b"CANARY_PASSWORD=" + values["password"] + b"\n")
        (self.source / "canary.py").write_text(PROGRAM.replace("DIRECTORY", str(tony.directory)))

    options = ("--secret", "CANARY_TOKEN=src/canary.token", "--secret-file", "CANARY_KEY=src/canary.key", "--env-file", "canary.env")

    def submit(self, keys=None, *options):
        """A job of one task, once its program has its values."""
        job = self.tony.submit({"tony.worker.instances": 1, "tony.worker.command": f"{PYTHON} canary.py", **(keys or {})},
                               *self.options, *options, src_dir=self.source)
        job.wait_log("worker:0", self.said)
        return job

    def am_urls(self):
        """By which its programs have reached the AM: that of another container is another."""
        return (self.tony.directory / "am-urls").read_text().split()

    def add(self, name, *values):
        """Further values of a mark count as the same."""
        self.marks[name] = tuple({*self.marks.get(name, ()), *(form for value in values for form in forms(value))})

    def add_token(self, token):
        """As text, as the bytes that it stands for, and the key that follows from it."""
        self.add("token", token.encode(), bytes.fromhex(token))
        self.add("key of TLS", key_of(token.encode()))

    def search(self, place, data):
        if isinstance(data, str):
            data = data.encode()
        self.found |= {(name, place) for name, texts in self.marks.items() if any(text in data for text in texts)}

    def search_files(self, root, *but):
        """Each file below it; `but`: names of directories that are left out."""
        for directory, names, files in os.walk(root):
            names[:] = [name for name in names if name not in but]
            for name in files:
                path = Path(directory, name)
                assert not re.fullmatch(r"core(\.\d+)?", name), f"{path}: a core file"
                if path.is_file() and not path.is_symlink():
                    try:
                        self.search(str(path.relative_to(root)), path.read_bytes())
                    except FileNotFoundError:
                        pass  # its job goes on

    def search_processes(self):
        """Argument lists, and environments by the role of whose they are."""
        for process in Path("/proc").glob("[0-9]*"):
            for name in ("cmdline", "environ"):
                try:
                    self.search(f"{name} of {role_of(process)}", (process / name).read_bytes())
                except OSError:
                    pass  # it has ended

    def search_memory(self, name, pid):
        """All that it can write; a mark that it was once in is there, too, unless it was overwritten."""
        areas = [line.split() for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
        with open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for bounds, rights, *_ in areas:
                if rights.startswith("rw"):
                    start, end = (int(bound, 16) for bound in bounds.split("-"))
                    if end - start > SHADOW_BYTES:
                        continue
                    memory.seek(start)
                    self.search(name, memory.read(end - start))

    def search_verbs(self, job):
        for words in VERBS:
            answer = self.tony.run(*(job.id if word == "JOB" else word for word in words))
            self.search(" ".join(words), answer.stdout + answer.stderr)
        bundle = self.tony.directory / f"{job.id}.bundle"
        answer = self.tony.run("bundle", "--output", bundle, job.id)
        assert answer.returncode == 0, answer.stderr
        with tarfile.open(bundle) as archive:
            for member in archive.getmembers():
                self.search("bundle", member.name)
                if member.isfile():
                    self.search("bundle", archive.extractfile(member).read())

    def search_wire(self, wire, names):
        """`names`: who listens at a port."""
        for stream in wire.streams():
            name = names.get(stream.to_port) or names.get(stream.from_port) or f"{stream.from_port}>{stream.to_port}"
            self.search(f"the wire: {name}", stream.text())

    def search_am(self, job, url=None):
        for path in AM_CALLS:
            status, body = job.rest("GET", path, url=url)
            assert status in (200, 204, 404), (path, status, body)
            self.search(f"AM {path}", body)

    def search_portal(self, portal, job):
        for path in ["", "v1/server", "v1/jobs", "metrics", f"v1/compare?jobs={job.id},{job.id}",
                     *(f"v1/jobs/{job.id}/{call}" for call in PORTAL_CALLS)]:
            status, body, headers = portal.call(path)
            assert status in (200, 204, 404), (path, status, body)
            self.search(f"portal {path.replace(job.id, 'JOB')}", body)
            self.search(f"portal {path.replace(job.id, 'JOB')}", str(headers))
