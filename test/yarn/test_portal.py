"""The portal of a cluster: jobs that go on there, and those that have ended, out of a history in HDFS."""

import os
import signal
import time
from pathlib import Path

import jhist
import pytest
from portal import Portal
from program import PYTHON, wait_until

KEPT = 16 << 20  # bytes of a log


@pytest.fixture
def portal(tony, shared):
    portal = Portal(tony, "--history", f"hdfs://{shared}")
    yield portal
    portal.stop()


def keys(shared, **more):
    return {"tony.worker.instances": 1, "tony.history.location": shared, **more}


@pytest.mark.short
def test_a_job_is_found_live_and_when_it_has_ended(tony, shared, portal):
    go = tony.directory / "go"
    job = tony.submit(keys(shared), "--executes", f"echo here; until [ -e {go} ]; do sleep 0.1; done; echo done")
    job.wait_task("worker:0")
    job.wait_log("worker:0", "here")
    row = portal.wait_job(job, "running", "state=running")
    assert row["user"] == tony.cluster.user
    base = f"v1/jobs/{job.id}"
    assert portal.get(f"{base}/tasks")["tasks"][0]["pids"]  # which only the AM knows
    assert portal.call(f"{base}/tasks/worker:0/logs/stdout")[1] == b"here\n"
    go.touch()
    assert job.wait() == 0
    portal.wait_kept(job, "succeeded")
    about = portal.get(f"{base}/job")
    assert about["state"] == "succeeded" and about["scheduler"] == "yarn"
    assert portal.get(f"{base}/tasks")["tasks"][0]["state"] == "succeeded"
    assert b'"ev":"final"' in portal.call(f"{base}/events")[1]
    portal.wait_logs(job, "worker:0")
    assert portal.call(f"{base}/tasks/worker:0/logs/stdout")[1] == b"here\ndone\n"


def ended_job(tony, shared, portal, program):
    job = tony.submit(keys(shared), "--executes", program)
    assert job.wait() == 0
    portal.wait_kept(job, "succeeded")
    portal.wait_logs(job, "worker:0")
    return job, f"v1/jobs/{job.id}/tasks/worker:0/logs"


def test_collected_logs_are_those_of_tony_logs(tony, shared, portal):
    job = tony.submit(keys(shared, **{"tony.task.log-rotate-size": "10m"}), "--executes", "seq 3000000; echo warned >&2")
    assert job.wait() == 0
    portal.wait_kept(job, "succeeded")
    sizes = portal.wait_logs(job, "worker:0")
    logs = f"v1/jobs/{job.id}/tasks/worker:0/logs"
    out = portal.call(f"{logs}/stdout")[1]
    whole = job.logs("worker:0").encode()
    assert whole == b"".join(b"%d\n" % number for number in range(1, 3000001))
    assert out == whole[-KEPT:] and sizes["stdout"] == KEPT
    assert portal.call(f"{logs}/stderr")[1] == job.logs("worker:0", "stderr").encode() == b"warned\n"
    assert sizes["executor"] == len(portal.call(f"{logs}/executor")[1])
    assert portal.call(f"{logs}/stdout?from=tail:2")[1] == b"2999999\n3000000\n"
    assert portal.call(f"{logs}/stdout?from=offset:{KEPT - 8}&limit=3")[1] == b"300"
    assert portal.call(f"{logs}/stdout?attempt=1")[1] == out
    head, rest = portal.call(f"{logs}/stdout?frames=1&from=tail:1")[1].split(b"\n", 1)
    assert int(head.split()[0]) > portal.jobs()[job.id]["submitted_ms"] and rest.startswith(b"3000000\n")
    assert portal.call(f"{logs}/stdout?attempt=2")[0] == 404
    assert portal.call(f"{logs}/stdout-7")[0] == 404


def test_logs_of_a_job_of_tonys_are_read_where_yarn_still_has_them(tony, shared, portal):
    """TonY's executor wrote them to files of its own. The logs in YARN are real, made by a job of ours."""
    job = tony.submit({"tony.worker.instances": 1}, "--executes",
                      'echo trained > "${LOG_DIRS%%,*}/execution.out"; echo warned > "${LOG_DIRS%%,*}/execution.err"')
    assert job.wait() == 0
    task, = job.status()["tasks"]
    user, place = tony.cluster.user, f"{shared}/finished/2026/11/23/{job.id}"
    now = int(time.time() * 1000)
    tony.cluster.put(f"{place}/tony-final.xml", b"<configuration><property><name>tony.worker.instances</name><value>1"
                                                b"</value></property></configuration>")
    tony.cluster.put(f"{place}/{job.id}-{now - 9000}-{now}-{user}-SUCCEEDED.jhist", jhist.jhist(
        jhist.started(now - 5000, "worker", 0, task["host"], task["container"]), jhist.finished(now, "worker", 0, "SUCCEEDED")))
    portal.wait_kept(job, "succeeded")
    logs = f"v1/jobs/{job.id}/tasks/worker:0/logs"
    status, answer, _ = portal.call(f"{logs}/stdout")
    assert status == 403 and b"others than" in answer
    for depth in range(5):
        tony.cluster.hdfs("PUT", place.rsplit("/", depth)[0], op="SETPERMISSION", permission="755")
    portal.wait_logs(job, "worker:0")
    assert portal.call(f"{logs}/stdout")[1] == b"trained\n"
    assert portal.call(f"{logs}/stderr")[1] == b"warned\n"


def entry_of(portal, shared, job):
    """Where the job's history is."""
    day = time.gmtime(portal.jobs()[job.id]["submitted_ms"] / 1000)
    return time.strftime(f"{shared}/%Y/%m/%d/{job.id}", day)


def refused(portal, logs):
    status, said, _ = portal.call(f"{logs}/stdout")
    assert portal.get(logs) == [] and status == 403
    return said.decode()


def test_an_entry_of_somebody_else_has_no_logs(tony, shared, portal):
    job, logs = ended_job(tony, shared, portal, "echo secret")
    entry = entry_of(portal, shared, job)
    tony.cluster.hdfs("PUT", entry, op="SETOWNER", owner="mallory")
    said = refused(portal, logs)
    assert f"written by mallory, and says that the job was {tony.cluster.user}'s" in said and "secret" not in said
    tony.cluster.hdfs("PUT", entry, op="SETOWNER", owner=tony.cluster.user)
    assert portal.call(f"{logs}/stdout")[1] == b"secret\n"


def test_an_entry_that_others_can_replace_has_no_logs(tony, shared, portal):
    job, logs = ended_job(tony, shared, portal, "echo secret")
    entry = entry_of(portal, shared, job)
    day = entry.rpartition("/")[0]
    tony.cluster.hdfs("PUT", day, op="SETOWNER", owner="mallory")
    assert "is mallory's, who can replace what" in refused(portal, logs)
    tony.cluster.hdfs("PUT", day, op="SETOWNER", owner=tony.cluster.user)
    tony.cluster.hdfs("PUT", day, op="SETPERMISSION", permission="777")
    assert "chmod +t" in refused(portal, logs)
    tony.cluster.hdfs("PUT", day, op="SETPERMISSION", permission="755")
    tony.cluster.hdfs("PUT", entry, op="SETPERMISSION", permission="775")
    assert "can write to it" in refused(portal, logs)
    tony.cluster.hdfs("PUT", entry, op="SETPERMISSION", permission="755")
    assert portal.call(f"{logs}/stdout")[1] == b"secret\n"


def test_a_job_whose_am_was_killed_for_good_is_closed_as_yarn_says(tony, shared, portal):
    job = tony.submit(keys(shared, **tony.one_am), "--executes", "exec sleep 1000")
    job.wait_task("worker:0")
    portal.wait_job(job, "running")
    os.kill(job.status()["am_pid"], 9)
    wait_until(lambda: job.application()["state"] == "FAILED", "the application to end")
    portal.wait_kept(job, "failed")
    assert portal.get(f"v1/jobs/{job.id}/job")["state"] == "failed"


def test_a_job_that_was_killed_at_yarns_is_closed_as_yarn_says(tony, shared, portal):
    job = tony.submit(keys(shared), "--executes", "exec sleep 1000")
    job.wait_task("worker:0")
    os.kill(job.status()["am_pid"], 9)
    tony.kill_application(job.id)
    portal.wait_kept(job, "killed")
    assert portal.get(f"v1/jobs/{job.id}/job")["state"] == "killed"


# ---- TensorBoard of event files in HDFS -----------------------------------------------------------

TENSORBOARD = """#!{python}
import http.server, json, pathlib, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
place = pathlib.Path(options["--logdir"])
def read(path):
    try:
        return path.read_text()
    except OSError:  # a directory, or another file is there by now
        return None
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        files = {{str(path.relative_to(place)): read(path) for path in place.rglob("*")}}
        body = json.dumps([str(place), {{name: text for name, text in files.items() if text is not None}}]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.HTTPServer((options["--host"], int(options["--port"])), Handler).serve_forever()
"""


@pytest.fixture
def board(tony, shared):
    program = tony.directory / "tensorboard"
    program.write_text(TENSORBOARD.format(python=PYTHON))
    program.chmod(0o755)
    portal = Portal(tony, "--history", f"hdfs://{shared}", "--tensorboard", program)
    yield portal
    if portal.child.poll() is None:
        portal.stop()


def write(tony, path, content):
    """As a program of the job does."""
    tony.cluster.put(path, content, by=tony.cluster.user)


@pytest.fixture
def events(tony):
    """A directory in HDFS with what a program has written for TensorBoard."""
    path = f"/user/{tony.cluster.user}/events-{os.urandom(4).hex()}"
    write(tony, f"{path}/events.out.tfevents.1.host", b"first")
    write(tony, f"{path}/eval/events.out.tfevents.2.host", b"second")
    write(tony, f"{path}/model.bin", b"weights")
    yield path
    tony.cluster.hdfs("DELETE", path, op="DELETE", recursive="true")


def job_with_events(tony, shared, portal, place):
    job = tony.submit(keys(shared, **{"tony.application.tensorboard-log-dir": place}), "--executes", "true")
    assert job.wait() == 0
    portal.wait_kept(job, "succeeded")
    return job, f"v1/jobs/{job.id}/tensorboard"


def started(portal, base):
    """Where the copy is, and what is in it."""
    assert portal.call(base, "PUT")[0] == 200
    there = wait_until(lambda: (said := portal.get(base))["state"] != "starting" and said, "TensorBoard")
    assert there["state"] == "running" and "message" not in there, there
    place, files = portal.get(there["path"])
    return Path(place), files, there["path"]


WRITTEN = {"events.out.tfevents.1.host": "first", "eval/events.out.tfevents.2.host": "second"}


def test_tensorboard_reads_a_copy_that_follows_hdfs(tony, shared, board, events):
    job, base = job_with_events(tony, shared, board, f"hdfs://{events}")
    place, files, page = started(board, base)
    assert files == WRITTEN and place.stat().st_mode & 0o777 == 0o700
    write(tony, f"{events}/events.out.tfevents.1.host", b"first, and more")
    write(tony, f"{events}/later/events.out.tfevents.3.host", b"third")
    wait_until(lambda: board.get(page)[1] == {**WRITTEN, "events.out.tfevents.1.host": "first, and more",
                                              "later/events.out.tfevents.3.host": "third"}, "the copy to follow")
    board.stop()
    wait_until(lambda: not place.exists(), "the copy to be removed")


def test_the_copy_goes_with_a_portal_that_was_killed(tony, shared, board, events):
    job, base = job_with_events(tony, shared, board, events)  # a path of the cluster
    place, files, _ = started(board, base)
    assert files == WRITTEN
    board.child.send_signal(signal.SIGKILL)
    board.child.wait()
    wait_until(lambda: not place.exists(), "the copy to be removed")


def refused_board(portal, base):
    status, said, _ = portal.call(base, "PUT")
    if status != 200:
        assert status == 409
        return said.decode()
    there = wait_until(lambda: (said := portal.get(base))["state"] != "starting" and said, "the refusal")
    assert there["state"] == "failed", there
    return there["message"]


def test_event_files_of_another_user_are_not_read(tony, shared, board, events):
    job, base = job_with_events(tony, shared, board, f"hdfs://{events}")
    other = f"{events}/eval/events.out.tfevents.2.host"
    for path in (events, f"{events}/eval", other):
        tony.cluster.hdfs("PUT", path, op="SETOWNER", owner="mallory")
        assert f"{path}: is mallory's; only" in refused_board(board, base)
        tony.cluster.hdfs("PUT", path, op="SETOWNER", owner=tony.cluster.user)
    place, files, _ = started(board, base)
    assert files == WRITTEN
    tony.cluster.hdfs("PUT", other, op="SETOWNER", owner="mallory")
    wait_until(lambda: board.get(base)["state"] == "failed", "the refusal")
    assert not place.exists() and "is mallory's" in board.get(base)["message"]


def test_an_entry_of_somebody_else_has_no_tensorboard(tony, shared, board, events):
    job, base = job_with_events(tony, shared, board, f"hdfs://{events}")
    entry = entry_of(board, shared, job)
    tony.cluster.hdfs("PUT", entry, op="SETOWNER", owner="mallory")
    assert "this entry of the history is mallory's, and not" in refused_board(board, base)
    tony.cluster.hdfs("PUT", entry, op="SETOWNER", owner=tony.cluster.user)
    assert started(board, base)[1] == WRITTEN


def test_a_job_names_no_other_cluster(tony, shared, board):
    job, base = job_with_events(tony, shared, board, "hdfs://elsewhere.example:8020/logs")
    refusal = "hdfs://elsewhere.example:8020/logs is not in the file system that the site files name, "
    assert refusal in refused_board(board, base)
