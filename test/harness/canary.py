"""Canaries: values that are nobody's business, and a search for them in everything that a job leaves or shows.

The same search runs on each scheduler. `Canary.found` collects the places as (mark, place); a suite says which of them
SECURITY.md names.
"""

import base64
import os
import re
import tarfile
import urllib.parse
from pathlib import Path

AM_CALLS = ("/", "/v1/server", "/v1/job", "/v1/tasks", "/v1/tasks/worker:0", "/v1/tasks/worker:0/attempts",
            "/v1/tasks/worker:0/logs", "/v1/tasks/worker:0/logs/stdout", "/v1/tasks/worker:0/logs/stderr", "/v1/advice",
            "/v1/config", "/v1/diff", "/v1/cluster", "/v1/environment?type=worker", "/v1/events?since=0", "/v1/work", "/v1/metrics",
            "/v1/series?task=worker:0", "/metrics")
PORTAL_CALLS = ("job", "tasks", "tasks/worker:0", "tasks/worker:0/attempts", "tasks/worker:0/logs", "tasks/worker:0/logs/stdout",
                "events", "series?task=worker:0", "advice", "config", "diff", "cluster", "environment?type=worker", "tensorboard")
VERBS = (["status", "JOB"], ["status", "--json", "JOB"], ["list", "--all", "--json"], ["events", "--json", "JOB"],
         ["logs", "--am", "JOB"], ["logs", "JOB"], ["advise", "JOB"], ["history"], ["history", "--json"], ["config", "show"])

VARIABLE, KEY, PASSWORD = b"canary-of-a-variable-7Qx2", b"canary\0of\xffa-file-9Zk4-and-more", b"canary-of-a-password-3Wv8"

# The program says that it has its values, by their lengths, and lives until it is told to end.
PROGRAM = ("import os, time; print(len(os.environ['CANARY_TOKEN']), len(open(os.environ['CANARY_KEY'], 'rb').read()), "
           "len(os.environ['CANARY_PASSWORD']), flush=True)\n"
           "while not os.path.exists('GO'): time.sleep(0.05)\n")


def forms(value):
    """The value as it may be written: as it is, in base64 wherever it begins, in hex, in a URL, in JSON."""
    yield from {value, value.hex().encode(), urllib.parse.quote(value).encode()}
    for shift in range(3):
        text = base64.b64encode(b"\0" * shift + value)
        yield text[4 * bool(shift):len(text) // 4 * 4 - 4]


SHADOW_BYTES = 1 << 30   # more are AddressSanitizer's notes on all others

class Canary:
    """The marks of one job: those of its user from the start, and tony's own once the job is there."""

    def __init__(self, tony):
        self.tony, self.found, self.marks = tony, set(), {}
        values = {"variable": VARIABLE, "file": KEY, "password": PASSWORD}
        for name, value in values.items():
            self.add(name, value)
        self.said = " ".join(str(len(value)) for value in values.values())
        (tony.directory / "canary.token").write_bytes(VARIABLE + b"\n")
        (tony.directory / "canary.key").write_bytes(KEY)
        (tony.directory / "canary.env").write_bytes(b"CANARY_PASSWORD=" + PASSWORD + b"\n")
        program = tony.directory / "src/canary.py"
        program.parent.mkdir()
        program.write_text(PROGRAM.replace("GO", str(tony.directory / "go")))

    options = ("--secret", "CANARY_TOKEN=canary.token", "--secret-file", "CANARY_KEY=canary.key", "--env-file", "canary.env")

    def add(self, name, value):
        self.marks[name] = tuple(forms(value))

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
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    self.search("cmdline", Path(f"/proc/{entry}/cmdline").read_bytes())
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

    def search_am(self, job):
        for path in AM_CALLS:
            status, body = job.rest("GET", path)
            assert status in (200, 204, 404), (path, status, body)
            self.search(f"AM {path}", body)

    def search_portal(self, portal, job):
        for path in ["", "v1/server", "v1/jobs", "metrics", f"v1/compare?a={job.id}&b={job.id}",
                     *(f"v1/jobs/{job.id}/{call}" for call in PORTAL_CALLS)]:
            status, body, headers = portal.call(path)
            assert status in (200, 204, 404), (path, status, body)
            self.search(f"portal {path.replace(job.id, 'JOB')}", body)
            self.search(f"portal {path.replace(job.id, 'JOB')}", str(headers))
