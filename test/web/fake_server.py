"""A server as the dashboard sees one: the files of web/ below any prefix, and the resources of
docs/rest.md for jobs that are made up. For looking at the dashboard without a job:

    python3 test/web/fake_server.py --tasks 10000
    python3 test/web/fake_server.py --portal --prefix /proxy/application_1_0001

and for its tests, which move the jobs themselves. Standard library only.
"""

import argparse
import http.server
import json
import os
import re
import socket
import sys
import threading
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fake_job import Job, Log, fill_portal  # noqa: E402
from packages import WEB  # noqa: E402

POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
          "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
TYPES = {".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8",
         ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}
PIECE = 65536
KEYS = [{"name": "tony.<type>.memory", "type": "size", "default": "2g", "status": "honoured", "doc": "Memory of each task of this type."},
        {"name": "tony.application.name", "type": "text", "default": "TensorFlowApplication", "status": "honoured",
         "doc": "The job's name, for people."},
        {"name": "tony.admin.acl", "type": "text", "status": "site", "doc": "Who may look at all jobs."}]


class Refused(Exception):
    def __init__(self, status, code, message):
        super().__init__(message)
        self.status, self.code = status, code


def family_of(job):
    """The sweep, pipeline or array whose tag it has."""
    tags = [tag.removeprefix("sweep=") for tag in job.tags if tag.startswith(("sweep=", "pipeline-", "array-"))]
    return tags[0] if tags else None


def fold(jobs):
    families = {}
    for job in jobs:
        if family_of(job):
            families.setdefault(family_of(job), []).append(job)
    return families


def describe_family(families, job):
    id_ = family_of(job) or job.id
    found = families.get(id_)
    states = [member.state for member in found or []]
    foremost = min(found or [], key=lambda member: (member.state != "failed", member.state != "killed"), default=None)
    return found and {"id": id_, "count": len(found), "states": {state: states.count(state) for state in set(states)},
                      "submitted_ms": min(member.submitted_ms for member in found),
                      "ended_ms": max(member.ended_ms or 0 for member in found),
                      **({} if id_.startswith("tony-") else {"foremost": foremost.summary()})}


def not_found(what):
    return Refused(404, "not-found", f"there is no {what}")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Server"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer()

    def do_PUT(self):
        self.answer()

    def do_POST(self):
        self.order = (self.path, json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}"))
        self.answer()

    # ---- the way to an answer -----------------------------------------------------------------

    def answer(self):
        self.close_connection = False
        self.length_known = True
        url = urllib.parse.urlsplit(self.path)
        self.query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        self.server.requests.append(self.path)
        self.server.moves.wait()
        if self.server.away:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if self.server.leads_to and "/v1/" in url.path:
            self.redirect(self.server.leads_to)
            return
        if self.server.is_unknown and "/v1/" in url.path:
            self.send_bytes(b"<!DOCTYPE html><title>none</title>", TYPES[".html"], 404)
            return
        try:
            if not url.path.startswith(self.server.prefix + "/"):
                raise not_found("such page")
            self.dispatch(url.path[len(self.server.prefix):])
        except Refused as refused:
            self.send_json({"error": {"code": refused.code, "message": str(refused)}}, refused.status)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def dispatch(self, path):
        if path == "/":
            self.send_asset("index.html")
        elif path.startswith("/assets/"):
            self.send_asset(path[len("/assets/"):])
        elif path == "/v1/server":
            self.send_json(self.server.describe())
        elif path.startswith("/ui/"):
            self.send_bytes(b"<!DOCTYPE html><title>ui</title>", TYPES[".html"])
        elif not path.startswith("/v1/"):
            raise not_found("such page")
        elif self.server.troubled and path.startswith(self.server.troubled):
            raise Refused(503, "unavailable", "its history does not answer")
        elif self.server.denies:
            raise Refused(401, "unauthorized", "no token, or a wrong one")
        else:
            self.dispatch_resource([urllib.parse.unquote(part) for part in path[len("/v1/"):].split("/")])

    def dispatch_resource(self, parts):
        jobs = self.server.jobs
        if not self.server.is_portal:
            self.send_resource(next(iter(jobs.values())), parts)
        elif parts == ["jobs"]:
            self.send_jobs()
        elif parts == ["words"]:
            self.send_words()
        elif parts == ["compare"]:
            self.send_json(compare([jobs[id_] for id_ in self.query["jobs"].split(",")]))
        elif parts[0] == "jobs" and parts[1] in jobs:
            self.send_resource(jobs[parts[1]], parts[2:])
        else:
            raise not_found("such job")

    def send_resource(self, job, parts):
        if self.command == "POST":
            self.take_order(job)
            return
        plain = {"job": job.describe, "config": lambda: job.config, "cluster": job.cluster,
                 "advice": lambda: {"advice": job.advice},
                 "orders": lambda: self.server.orders_of(job), "work": lambda: job.work, "use": lambda: {"tasks": job.use()}}
        if len(parts) == 1 and parts[0] in plain:
            with job.lock:
                self.send_json(plain[parts[0]]())
        elif parts == ["tasks"]:
            self.send_tasks(job)
        elif parts == ["events"]:
            self.send_events(job)
        elif parts == ["series"]:
            self.send_json(self.series(job))
        elif parts == ["sweep"] and job.sweep:
            self.send_json(job.sweep)
        elif parts == ["diff"] and job.diff:
            self.send_bytes(job.diff.encode(), "text/plain; charset=utf-8")
        elif parts == ["environment"]:
            self.send_json(job.environment.get(self.query.get("type"), {}))
        elif parts == ["tensorboard"]:
            self.send_tensorboard(job)
        elif len(parts) >= 2 and parts[0] == "tasks":
            self.send_task(job, parts[1], parts[2:])
        else:
            raise not_found("such resource")

    def take_order(self, job):
        """Of a page that shows what its cookie does not hold."""
        shown = self.headers.get("X-Tony-Control")
        if not self.server.control or shown != self.server.control or self.headers.get("Origin") != self.server.url.rstrip("/"):
            raise Refused(401, "unauthorized", "no token, or a wrong one")
        if self.server.conflict:
            raise Refused(409, "conflict", self.server.conflict)
        self.server.orders.append(self.order)
        self.send_json({})

    def number(self, name, default):
        return int(self.query.get(name) or default)

    # ---- answers ------------------------------------------------------------------------------

    def head(self, status, kind, length=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        if length is None:
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def redirect(self, location):
        self.send_response(302)
        self.send_header("Location", location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def send_bytes(self, data, kind, status=200):
        self.head(status, kind, len(data))
        self.wfile.write(data)

    def send_json(self, value, status=200):
        self.send_bytes(json.dumps(value).encode(), "application/json", status)

    def send_asset(self, name):
        if name == "keys.json":  # which the build makes
            self.send_json(KEYS)
            return
        if not re.fullmatch(r"(vendor/)?[A-Za-z0-9_.-]+", name) or self.server.lacks_charts and name.startswith("vendor/"):
            raise not_found("such file")
        path = os.path.join(WEB, name)
        if not os.path.isfile(path):
            raise not_found("such file")
        with open(path, "rb") as file:
            self.send_bytes(file.read(), TYPES[os.path.splitext(name)[1]])

    def send_jobs(self):
        counted = [job for job in self.server.jobs.values() if self.is_wanted(job)]
        states = [job.state for job in counted]
        jobs = [job for job in counted if self.query.get("state", job.state) == job.state]
        key = self.query.get("sort") or "submitted_ms"
        jobs.sort(key=lambda job: job.lasted_ms() if key == "duration" else job.summary().get(key) or 0
                  if key.endswith("_ms") or key == "task_count" else str(job.summary().get(key, "")),
                  reverse=self.query.get("order") != "asc")
        groups = {}
        for job in jobs:
            groups.setdefault((job.name, job.user) if self.query.get("group") else job.id, []).append(job)
        families = {id_: list(found) for id_, found in fold(jobs).items()} if self.query.get("fold") else {}
        hidden = {job.id for id_, found in families.items() for job in found if id_ in self.server.jobs or job is not found[0]}
        groups = {key: runs for key, runs in groups.items() if runs[0].id not in hidden}
        offset, limit = self.number("offset", 0), self.number("limit", 100)
        page = list(groups.values())[offset:offset + limit]
        self.send_json({"total": len(groups), "jobs": [runs[0].summary() for runs in page],
                        "runs": [{"count": len(runs), "failed": sum(job.state == "failed" for job in runs)} for runs in page],
                        "families": [describe_family(families, runs[0]) for runs in page],
                        "states": {state: states.count(state) for state in set(states)}})

    def has(self, name, values):
        """Of a query's member: a part of one of the values, or in double quotes one of them."""
        wanted = self.query.get(name, "").lower()
        values = [str(value).lower() for value in values]
        if len(wanted) > 2 and wanted[0] == wanted[-1] == '"':
            return wanted[1:-1] in values
        return any(wanted in value for value in values) or not wanted

    def is_wanted(self, job):
        summary = job.summary()
        return (self.query.get("q", "").lower() in json.dumps(summary).lower() and
                all(self.has(name, [summary.get(name, "")]) for name in ("user", "name", "queue")) and
                self.has("tag", summary["tags"]) and self.has("type", [kind["name"] for kind in summary["types"]]) and
                self.number("from", 0) <= summary["submitted_ms"] <= self.number("to", 1 << 62))

    def send_words(self):
        of = self.query["of"]
        found = {word for job in self.server.jobs.values() for word in
                 (job.tags if of == "tag" else [kind["name"] for kind in job.types] if of == "type" else [getattr(job, of)])}
        self.send_json({"values": sorted(word for word in found if self.query.get("q", "").lower() in word.lower())[:20]})

    def send_tasks(self, job):
        offset, limit = self.number("offset", 0), self.number("limit", 10000)
        with job.lock:
            page = [job.task_json(task) for task in job.tasks[offset:offset + limit]]
        self.send_json({"total": len(job.tasks), "tasks": page})

    def series(self, job):
        if self.query.get("all"):
            offset, limit = self.number("offset", 0), self.number("limit", 10000)
            return job.all_series(self.query["name"], offset, limit)
        if self.query.get("task") not in job.by_name:
            raise not_found("such task")
        return job.series(self.query["task"], self.number("points", 300))

    def send_tensorboard(self, job):
        if self.command == "PUT":
            job.tensorboard_asked = True
            self.send_json({"state": "starting"})
        else:
            self.send_json({"state": "running" if job.tensorboard_asked else
                            "stopped" if job.has_events else "nothing",
                            "path": f"ui/{job.id}/tensorboard/"})

    def send_task(self, job, name, rest):
        if name not in job.by_name:
            raise not_found(f"task {name}")
        if not rest:
            self.send_json(job.task_json(job.by_name[name]))
        elif rest == ["attempts"]:
            self.send_json(job.attempts(name))
        elif rest == ["logs"]:
            self.send_json(job.logs_of(name))
        elif rest[0] == "logs" and len(rest) == 2:
            self.send_log(job, name, rest[1])
        else:
            raise not_found("such resource")

    # ---- streams ------------------------------------------------------------------------------

    def send_events(self, job):
        is_stream = "text/event-stream" in self.headers.get("Accept", "")
        since = self.number("since", 0)
        if not is_stream:
            lines = job.wait_for_lines(max(since, 1), self.number("wait", 0) / 1000)
            self.send_bytes("".join(line + "\n" for line in lines).encode(), "application/x-ndjson")
            return
        self.begin_stream("text/event-stream")
        with self.server.streaming(self.connection):
            next_line = max(since, 1)
            while self.server.goes_on:
                self.write_stream(b"event: pulse\ndata:\n\n")
                lines = job.wait_for_lines(next_line, 1)
                self.server.moves.wait()
                self.write_stream("".join(f"id: {next_line + i}\ndata: {line}\n\n"
                                          for i, line in enumerate(lines)).encode())
                next_line += len(lines)
                if job.is_final and not lines:
                    return

    def begin_stream(self, kind):
        if self.server.holds_streams:
            return
        self.head(200, kind)

    def write_stream(self, data):
        """A proxy that collects what it passes on lets nothing through, not even the head."""
        if data and not self.server.holds_streams:
            self.wfile.write(data)
            self.wfile.flush()

    def send_log(self, job, task, name):
        follows = self.query.get("follow") == "1"
        log = job.log(task, name)
        if task in job.refusals:
            raise Refused(*job.refusals[task])
        if log is None and not follows:
            raise not_found(f"log {name}")
        log = log or job.set_log(task, name, Log())
        left = self.number("limit", 1 << 62)
        framed = self.query.get("frames") == "1"
        part, offset = log.seek(self.query.get("from") or f"offset:{self.number('offset', 0)}")
        (self.begin_stream if follows else lambda kind: self.head(200, kind))(
            "application/x-tony-log" if framed else "application/octet-stream")
        with self.server.streaming(self.connection):
            if self.query.get("count_lines"):
                self.count_lines(log, part, offset)
            elif self.query.get("match") and not follows:
                self.copy_matches(log, part, offset)
            else:
                self.copy_log(job, log, part, offset, left, framed, follows)

    def copy_matches(self, log, part, offset):
        """Whole lines alone, in frames."""
        fold = bytes.lower if self.query.get("ignore_case") == "1" else bytes
        match = fold(self.query["match"].encode())
        rest = b""
        while data := log.read(part, offset, PIECE):
            lines = (rest + data).splitlines(keepends=True)
            place = offset - len(rest)
            offset += len(data)
            rest = lines.pop() if not lines[-1].endswith(b"\n") else b""
            for line in lines:
                if match in fold(line):
                    self.wfile.write(log.head(part, place, len(line)) + line)
                place += len(line)
        self.wfile.write(f"0 {part} {offset - len(rest)} 0\n".encode())

    def count_lines(self, log, part, offset):
        """Of each MiB how many end in it."""
        start, count = offset, 0
        while data := log.read(part, offset, PIECE):
            offset, count = offset + len(data), count + data.count(b"\n")
            if offset - start >= 1 << 20:
                self.wfile.write(f"{count} {part} {offset} 1\n\n".encode())
                start, count = offset, 0

    def copy_log(self, job, log, part, offset, left, framed, follows):
        write = self.write_stream if follows else self.wfile.write
        told = False
        while left > 0 and self.server.goes_on:
            data = log.read(part, offset, min(left, PIECE))
            if data:
                write((log.head(part, offset, len(data)) if framed else b"") + data)
                offset, left, told = offset + len(data), left - len(data), False
            elif log.next_part(part) is not None:
                part, offset = log.next_part(part), 0
            elif not follows or job.is_final:
                return
            else:
                if framed and not told:
                    write(b"0 0 0 0\n")
                    told = True
                log.wait(part, offset)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, jobs, prefix="", is_portal=False, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.jobs = {job.id: job for job in jobs}
        self.prefix, self.is_portal = prefix, is_portal
        self.requests, self.orders = [], []
        self.control = self.conflict = None  # the secret of a session that may change the job; why it may not now
        self.away = self.denies = self.holds_streams = self.lacks_charts = False
        self.moves = threading.Event()  # not set: no byte comes, and no connection breaks off
        self.moves.set()
        self.is_unknown = False  # to the proxy before it, which has a page for that
        self.troubled = ""  # the beginning of paths that are answered with trouble
        self.leads_to = ""  # another server, as YARN's proxy does it once the application master has left
        self.goes_on = True
        self.streams = set()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}{self.prefix}/"

    def describe(self):
        if self.denies:
            return {"kind": "portal" if self.is_portal else "am"}
        kind = {"kind": "portal", "engines": [{"name": "yarn", "id_beginning": "application_"}]} if self.is_portal else {"kind": "am", "job": next(iter(self.jobs))}
        return {**kind, "version": "0.1.0", "viewer": "ada", "actions": ["kill", "restart", "scale"] if self.control else []}

    def orders_of(self, job):
        """A portal's, of whoever looks."""
        may = self.control and not job.is_final
        return {"actions": ["kill", "restart", "scale"], "control": self.control} if may else {"actions": []}

    def streaming(self, connection):
        return Streaming(self, connection)

    def go_away(self):
        """As if it had crashed: what was open breaks off, and nobody is answered until come_back()."""
        self.away = True
        for connection in list(self.streams):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def come_back(self):
        self.away = False

    def handle_error(self, request, client_address):
        """Browsers leave when they like."""

    def stop(self):
        self.goes_on = False
        self.moves.set()
        self.shutdown()
        self.server_close()


class Streaming:
    def __init__(self, server, connection):
        self.server, self.connection = server, connection

    def __enter__(self):
        self.server.streams.add(self.connection)

    def __exit__(self, *_):
        self.server.streams.discard(self.connection)


def compare(jobs):
    summaries = [job.summary() for job in jobs]

    def row(group, key, values):
        return {"group": group, "key": key, "values": values, "differs": any(value != values[0] for value in values)}

    keys = sorted({key for job in jobs for key in job.config})
    return {"runs": [{"id": row["id"], "label": f"{row['name']} {row['id'][-9:]}", "state": row["state"],
                      "types": [kind["name"] for kind in row["types"]]} for row in summaries],
            "rows": [row("summary", key, [summary.get(key.lower()) for summary in summaries])
                     for key in ("State", "Name", "User")] +
                    [row("environment", "LR", [f"0.{place}" for place in range(len(jobs))])] +
                    [row("configuration", key, [job.config.get(key, {}).get("value") for job in jobs]) for key in keys] +
                    [row("metrics", "loss", [0.25 + place for place in range(len(jobs))])]}


def serve(jobs, **options):
    """A server in a thread of its own."""
    server = Server(jobs, **options)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    return server


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--prefix", default="")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--portal", action="store_true", help="all jobs, not one")
    parser.add_argument("--hostile", action="store_true", help="jobs whose every string is an attack")
    parser.add_argument("--hold-streams", action="store_true", help="as a proxy that passes no streams")
    options = parser.parse_args()
    job = Job(tasks=options.tasks, hostile=options.hostile)
    jobs = [job, *fill_portal(300)] if options.portal else [job]
    server = serve(jobs, prefix=options.prefix, is_portal=options.portal, port=options.port)
    server.holds_streams = options.hold_streams
    print(server.url)
    try:
        job.live()
    except KeyboardInterrupt:
        server.stop()


if __name__ == "__main__":
    main()
