"""What is kept of a job when it has ended, however it did, and found again when nothing else is left
of it."""

import json
import os
import pwd
import re
import shutil
import subprocess
import time

import pytest
import schemas
from conftest import PYTHON, wait_until, write_xml
from jhist import finished, jhist, started
from patience import PATIENCE_S
from portal import Portal
from terminal import Terminal

FILES = ("job.json", "tony-final.xml", "events.jsonl", "summary.json")


def day_of(job_id):
    return f"{job_id[5:9]}/{job_id[9:11]}/{job_id[11:13]}"


def kept(tony, job, store=None):
    """The job's directory in the store, once it is there."""
    place = (store or tony.state / "history") / day_of(job.id) / job.id
    wait_until(place.is_dir, f"{job.id} to be published")
    assert all((place / name).is_file() for name in FILES)
    return place


def summary(place):
    return json.loads((place / "summary.json").read_text())


def forget(job):
    """Nothing but its history is left of the job."""
    wait_until(lambda: not job.processes(), f"{job.id} to be over")
    shutil.rmtree(job.directory)


def rows(tony, *options, env=None):
    answer = tony.run("history", "--json", *options, env=env)
    assert answer.returncode == 0, answer.stderr
    return schemas.check("history", json.loads(answer.stdout))


# ---- what is kept ---------------------------------------------------------------------------------


def test_a_refused_submission_was_no_job(tony):
    answer = tony.run("submit", "--src_dir", str(tony.state.parent), "--executes", "true")
    assert answer.returncode != 0 and "would be copied into itself" in answer.stderr
    assert rows(tony) == [] and not list((tony.state / "jobs").iterdir())


def test_success_is_kept(tony):
    answer, job = tony.job({"tony.worker.instances": 2, "tony.application.tags": "nightly"}, "--executes",
                           "echo out; echo err >&2")
    assert answer.returncode == 0, answer.stderr
    place = kept(tony, job)
    said = summary(place)
    assert said["state"] == "succeeded" and said["id"] == job.id and said["task_count"] == 2
    assert said["tags"] == ["nightly"] and "cause" not in said
    assert said["submitted_ms"] <= said["begun_ms"] <= said["running_ms"] <= said["ended_ms"]
    listed = json.loads(tony.run("list", "--all", "--json").stdout)
    assert [row["ended_ms"] for row in listed] == [said["ended_ms"]]
    assert [(row["name"], row["instances"], row["memory_mib"]) for row in said["types"]] == [("worker", 2, 64)]
    assert (place / "events.jsonl").read_bytes() == (job.directory / "journal.jsonl").read_bytes()
    assert (place / "job.json").read_bytes().strip() == (job.directory / "job.json").read_bytes().strip()
    assert "<name>tony.application.tags</name><value>nightly</value>" in (place / "tony-final.xml").read_text()
    for task in ("worker-0", "worker-1"):
        head, _, text = (place / "logs" / task / "stdout").read_text().partition("\n")
        assert text == "out\n" and json.loads(head)["bytes"] == 4
    assert not [path for path in place.parent.iterdir() if path.name.startswith(".")]
    assert place.stat().st_mode & 0o777 == 0o700


def test_failure_is_kept_with_its_cause(tony):
    answer, job = tony.job({"tony.worker.instances": 2}, "--executes",
                           'if [ "$TASK_INDEX" = 1 ]; then echo "ValueError: no data" >&2; exit 3; fi; sleep 1000')
    assert answer.returncode != 0
    said = summary(kept(tony, job))
    assert said["state"] == "failed" and said["cause_task"] == "worker:1"
    assert said["cause"]["exit_code"] == 3 and said["cause"]["headline"] == "ValueError: no data"
    assert "worker:1" in said["message"]


def test_kill_is_kept(tony):
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "sleep 1000")
    job.wait_task("worker:0")
    assert tony.run("kill", job.id).returncode == 0
    said = summary(kept(tony, job))
    assert said["state"] == "killed" and said["cause"]["kind"] == "killed-by-user"


@pytest.mark.promise("R44")
def test_killed_am_is_kept_by_its_guardian(tony):
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "sleep 1000")
    job.wait_task("worker:0")
    job.wear_out_am()
    said = summary(kept(tony, job))
    assert said["state"] == "failed" and "killed 5 times in a row" in said["message"]


@pytest.mark.promise("R43")
def test_job_without_am_and_guardian_is_kept_by_who_looks(tony):
    job = tony.submit({"tony.worker.instances": 1, "tony.task.metrics-interval-ms": 100}, "--executes", "sleep 1000")
    job.wait_task("worker:0")
    measured = job.directory / "metrics.jsonl"
    wait_until(lambda: measured.exists() and "max_rss_bytes" in measured.read_text(), "some metrics to be kept")
    job.lose_am()
    wait_until(lambda: tony.run("list").returncode == 0 and
               (tony.state / "history" / day_of(job.id) / job.id).is_dir(), f"{job.id} to be closed")
    said = summary(kept(tony, job))
    assert said["state"] == "failed" and "application master was killed" in said["message"]
    assert said["types"][0]["max_rss_bytes"] >= said["types"][0]["p95_rss_bytes"] > 0
    assert rows(tony)[0]["id"] == job.id


@pytest.mark.promise("R43")
def test_job_without_am_and_guardian_is_kept_by_a_portal(tony):
    """Whose processes may start no other program."""
    portal = Portal(tony)
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "sleep 1000")
    portal.wait_job(job, "running")
    job.wait_task("worker:0")
    job.lose_am()
    portal.wait_kept(job, "failed")
    said = summary(kept(tony, job))
    assert said["state"] == "failed" and "application master was killed" in said["message"]
    portal.stop()


def test_of_long_logs_the_end_is_kept(tony):
    _, job = tony.job({"tony.worker.instances": 1}, "--executes",
                      f"{PYTHON} -c \"print('x' * 1000000); print('the end')\"")
    log = kept(tony, job) / "logs/worker-0/stdout"
    head, _, text = log.read_text().partition("\n")
    said = json.loads(head)
    assert said["bytes"] == 1000009 and said["bytes"] - said["from"] == len(text) == 256 * 1024
    assert text.endswith("the end\n")
    assert "only" not in tony.run("logs", job.id).stderr
    forget(job)
    assert "of stdout of worker:0 only the last 256 KiB of 976 KiB are left" in tony.run("logs", job.id).stderr


def test_a_beginning_that_was_rotated_away_is_told(tony):
    keys = {"tony.worker.instances": 1, "tony.task.log-rotate-size": "1m", "tony.task.log-keep": 1}
    _, job = tony.job(keys, "--executes", "seq 1000000 1400000")

    def check(told):
        answer = tony.run("logs", job.id)
        assert re.fullmatch(rf"tony: of stdout of worker:0 only the last .* of 3\.1 MiB are left: {told}\n", answer.stderr), answer
        assert answer.stdout.endswith("1400000\n")

    check(r"what stood before was rotated away \(tony\.task\.log-rotate-size, tony\.task\.log-keep\)")
    kept(tony, job)
    forget(job)
    check("the history has no more of the job")


def test_of_several_logs_and_containers_one_line_says_what_is_not_kept(tony):
    _, job = tony.job({"tony.worker.instances": 2, "tony.worker.max-restarts": 1, "tony.am.retry-count": 1}, "--executes",
                      f"seq 100000; [ $TASK_INDEX = 1 ] || [ -e {tony.directory}/go ] || {{ touch {tony.directory}/go; kill -9 $PPID; }}")
    kept(tony, job)
    forget(job)
    answer = tony.run("logs", job.id)
    assert "of 2 logs only the ends are left, 512 KiB of 1.1 MiB; of " in answer.stderr and "earlier container" in answer.stderr, answer
    assert answer.stderr.count("\n") == 1
    bundle = json.loads(tony.run("bundle", "--json", "-o", tony.directory / "b.tar.gz", job.id).stdout)
    assert any("logs/tasks.log: of 2 logs only the ends" in line for line in bundle["missing"]), bundle


# ---- what was held --------------------------------------------------------------------------------


def sums(tony, what, *options):
    answer = tony.run("history", "--sum-by", what, "--json", *options)
    assert answer.returncode == 0, answer.stderr
    return schemas.check("history-sums", json.loads(answer.stdout)), answer.stderr


def held_hours(places):
    """(cores, GiB) of all containers."""
    types = [row for place in places for row in summary(place)["types"]]
    return [pytest.approx(sum(row["container_ms"] * row[what] for row in types) / 3600000 / unit)
            for what, unit in (("vcores", 1), ("memory_mib", 1024))]


def test_hours_of_containers_are_summed(tony):
    """A job counts once for its user and its queue, and for each tag that its user gave it: none that a sweep, a pipeline or an
    array did."""
    given = ["nightly", "vision", "array-20260101-000000-0123abcd", "array-20260101-000000-0123abcd_1",
             "sweep=tony-20260101-000000-0123abcd", "pipeline-20260101-000000-0123abcd_train", f"inputs-{'0' * 32}"]
    keys = {"tony.worker.instances": 2, "tony.application.tags": ",".join(given), "tony.application.queue": "ml"}
    jobs = [tony.job(keys, "--executes", "true")[1], tony.job({"tony.worker.instances": 1}, "--executes", "exit 3")[1]]
    places = [kept(tony, job) for job in jobs]
    assert all(row["container_ms"] > 0 for place in places for row in summary(place)["types"])
    user = summary(places[0])["user"]
    (row,), said = sums(tony, "user")
    assert (row["user"], row["job_count"], row["estimated_job_count"], row["gpu_hours"]) == (user, 2, 0, 0) and not said
    assert [row["core_hours"], row["memory_gib_hours"]] == held_hours(places)
    by_queue = {row["queue"]: row for row in sums(tony, "queue")[0]}
    assert by_queue["ml"]["core_hours"] == held_hours(places[:1])[0] and by_queue["default"]["job_count"] == 1
    by_tag = {row.get("tag"): row["core_hours"] for row in sums(tony, "tag")[0]}
    first, second = held_hours(places[:1])[0], held_hours(places[1:])[0]
    assert by_tag == {"nightly": first, "vision": first, None: second}
    assert sums(tony, "queue", "--state", "failed")[0] == [by_queue["default"]]


def test_sums_are_a_table_and_csv_too(tony):
    kept(tony, tony.job({"tony.worker.instances": 1, "tony.application.tags": "=cmd()"}, "--executes", "true")[1])
    table = tony.run("history", "--sum-by", "tag").stdout.splitlines()
    assert table[0].split() == ["TAG", "JOBS", "GPU-HOURS", "CORE-HOURS", "GIB-HOURS"]
    assert table[1].split()[:3] == ["=cmd()", "1", "0.00"]
    head, row = tony.run("history", "--sum-by", "tag", "--csv").stdout.splitlines()
    assert head == "tag,job_count,estimated_job_count,gpu_hours,core_hours,memory_gib_hours"
    assert row.startswith("\"'=cmd()\",1,0,0,"), "a spreadsheet would run it"
    for options in (("--prune",), ("--last", "3"), ("--csv", "--json")):
        assert tony.run("history", "--sum-by", "tag", *options).returncode == 2
    assert tony.run("history", "--csv").returncode == 2


def test_sums_are_of_a_span_and_older_histories_are_estimated(tony):
    """As a version wrote them that did not count containers."""
    place = kept(tony, tony.job({"tony.worker.instances": 2}, "--executes", "true")[1])
    begun = 1795241640000
    old = {**summary(place), "id": "tony-20261121-061400-0001", "submitted_ms": begun, "running_ms": begun, "ended_ms": begun + 1800000}
    for row in old["types"]:
        del row["container_ms"]
    store = tony.directory / "store"
    copy = store / "2026/11/21" / old["id"]
    shutil.copytree(place, copy)
    (copy / "summary.json").write_text(json.dumps(old))
    there = ("--location", str(store))
    (row,), note = sums(tony, "user", *there, "--since", "2026-11-21", "--until", "2026-11-21T06:14:01Z")
    assert (row["core_hours"], row["estimated_job_count"]) == (1.0, 1), "two tasks of a core for half an hour"
    assert "of 1 job the histories do not have the time of containers" in note
    assert sums(tony, "user", *there, "--until", "2026-11-21T06:14:00Z")[0] == []
    assert rows(tony, *there, "--until", "2026-11-21T06:14:00Z") == [] != rows(tony, *there)


# ---- where ----------------------------------------------------------------------------------------


def test_store_on_another_directory(tony):
    store = tony.directory / "elsewhere"
    store.mkdir()
    store.chmod(0o1777)
    _, job = tony.job({"tony.worker.instances": 1, "tony.history.location": f"file://{store}",
                       "tony.history.permissions": "all"}, "--executes", "true")
    place = kept(tony, job, store)
    assert place.stat().st_mode & 0o7777 == 0o755
    assert (place / "summary.json").stat().st_mode & 0o777 == 0o644
    assert place.parent.stat().st_mode & 0o7777 == 0o1777
    assert rows(tony, "--location", store)[0]["id"] == job.id


def test_site_says_where(tony):
    store = tony.directory / "shared"
    write_xml(tony.directory / "conf/tony-site.xml", {"tony.history.location": store})
    _, job = tony.job({"tony.worker.instances": 1}, "--executes", "echo hello")
    kept(tony, job, store)
    forget(job)
    assert [row["id"] for row in rows(tony)] == [job.id]
    assert tony.run("logs", job.id).stdout == "hello\n"


def test_logs_of_a_silent_program_are_empty_in_a_history(tony):
    store = tony.directory / "shared"
    write_xml(tony.directory / "conf/tony-site.xml", {"tony.history.location": store})
    _, job = tony.job({"tony.worker.instances": 1}, "--executes", "true")
    kept(tony, job, store)
    forget(job)
    answer = tony.run("logs", job.id)
    assert (answer.returncode, answer.stdout) == (0, "") and "has written nothing" in answer.stderr, answer
    answer = tony.run("logs", job.id, "--task", "worker:0", "--stream", "stderr")
    assert answer.returncode == 0 and "has written nothing of what is asked for" in answer.stderr, answer


def test_a_damaged_record_is_told_by_its_name_and_removed_by_its_id(tony):
    _, job = tony.job({"tony.worker.instances": 1}, "--executes", "true")
    place = kept(tony, job)
    events = place / "events.jsonl"
    forget(job)
    whole = events.read_text()
    events.write_text(whole.replace('"seq":3,"t":1', '"seq":3,"t":2'))
    for verb in ("status", "logs", "wait"):
        answer = tony.run(verb, job.id)
        assert (answer.returncode, answer.stderr) == (70, f"tony: {events}: line 3 does not match its checksum\n"), answer
    events.write_text(whole)
    assert tony.run("wait", job.id).returncode == 0, "no copy of the damage is left"
    events.write_text(whole.replace('"seq":3,"t":1', '"seq":3,"t":2'))
    shutil.rmtree(tony.state / "kept")
    answer = tony.run("rm", job.id)
    assert answer.returncode == 0 and str(place) in answer.stdout and not place.exists(), answer


@pytest.mark.promise("S193")
def test_a_record_whose_end_is_cut_is_shown_to_its_cut(tony):
    """A verb that follows it says that there will be no end, and does not wait for one."""
    _, job = tony.job({"tony.worker.instances": 1}, "--executes", "echo hello")
    _, whole = tony.job({"tony.worker.instances": 1}, "--executes", "echo whole")
    events = kept(tony, job) / "events.jsonl"
    forget(job)
    lines = events.read_text().splitlines(keepends=True)
    events.write_text("".join(lines[:5]))
    cut = f"tony: {job.id}: the record of its end is cut or damaged, and nothing else is left of it\n"
    answer = tony.run("logs", "-f", job.id)
    assert (answer.returncode, answer.stdout, answer.stderr) == (70, "hello\n", cut)
    answer = tony.run("logs", "-f", "--stream", "stdout", job.id, whole.id)
    assert (answer.returncode, answer.stdout, answer.stderr) == (70, f"{job.id}| hello\n{whole.id}| whole\n", cut)
    answer = tony.run("logs", job.id)
    assert (answer.returncode, answer.stdout) == (0, "hello\n"), answer.stderr
    answer = tony.run("wait", job.id, whole.id)
    assert answer.returncode == 70 and f"{whole.id} succeeded" in answer.stdout and answer.stderr == cut, answer
    terminal = Terminal(tony, "top", job.id, columns=200)
    assert terminal.finish() == 70 and "worker:0" in terminal.text and cut in terminal.text, terminal.text
    answer = tony.run("status", job.id)
    assert answer.returncode == 0 and "worker:0" in answer.stdout and answer.stderr == cut, answer


@pytest.mark.parametrize("location", ["relative/path", "gs://bucket/x"])
def test_location_that_is_none_is_refused_at_submit(tony, location):
    answer, job = tony.job({"tony.worker.instances": 1, "tony.history.location": location}, "--executes", "true")
    assert answer.returncode != 0 and job is None
    assert "tony.history.location" in answer.stderr and location in answer.stderr


def failure_to_publish(tony, store, command="echo hello"):
    """The result is the job's own, and what is told of the job says why nothing is kept."""
    answer, job = tony.job({"tony.worker.instances": 1, "tony.history.location": store}, "--executes", command)
    assert answer.returncode == 0, answer.stderr
    wait_until(lambda: not job.processes(), "the AM to leave")
    status = job.status()
    told = status["history_trouble"]
    assert told.startswith(f"the history of {job.id} is not in {store}: ")
    assert told in (job.directory / "am.log").read_text() and f"  warning: {told}\n" in tony.run("events", job.id).stdout
    assert status["state"] == "succeeded"
    assert not [path for path in job.directory.iterdir() if "history" in path.name]
    assert [row["id"] for row in rows(tony)] == [job.id], "the job's own directory tells it"
    return told, answer.stdout


def test_store_that_cannot_be_written(tony):
    """At submission nothing stands in its way."""
    store = tony.directory / "store"
    told, submit = failure_to_publish(tony, store, f"touch {store}")
    assert "is not a directory" in told and f"warning: {told}\n" in submit


def test_full_store(tony):
    store = tony.directory / "small"
    store.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", store], check=True)
    try:
        told, _ = failure_to_publish(tony, store)
        assert "No space left on device; make room on " + f"{store} (tmpfs: " in told
        assert not [path for path in store.rglob("*") if path.is_file()]
    finally:
        subprocess.run(["umount", store], check=True)


# ---- TonY's own -----------------------------------------------------------------------------------


def test_jobs_of_tonys_are_read(tony):
    app = "application_1541469337545_0031"
    place = tony.directory / "tony-history/finished/2018/11/15" / app
    place.mkdir(parents=True)
    (place / f"{app}-1542325695566-1542325733637-alice-FAILED.jhist").write_bytes(jhist(
        started(1542325700000, "worker", 0, "node1"), started(1542325700000, "worker", 1, "node2"),
        finished(1542325710000, "worker", 1, "FAILED"), finished(1542325720000, "worker", 0, "SUCCEEDED")))
    write_xml(place / "tony-final.xml", {"tony.application.name": "old", "tony.worker.instances": 2})
    write_xml(tony.directory / "conf/tony-site.xml", {"tony.history.location": tony.directory / "tony-history"})
    other = tony.directory / "tony-history/intermediate/application_1541469337545_0032"
    other.mkdir(parents=True)
    (other / f"{other.name}-1542325695566-alice.jhist.inprogress").write_bytes(jhist(
        started(1542325700000, "worker", 0, "node1")))
    assert "does not tell its end" in tony.run("wait", other.name).stderr
    row, = rows(tony, "--state", "failed")
    assert (row["id"], row["name"], row["user"], row["state"]) == (app, "old", "alice", "failed")
    row, = rows(tony, "--state", "running")
    assert (row["id"], row["user"], row["state"], row["exit_code"]) == (other.name, "alice", "running", None)
    assert "TonY does not tell" in row["message"] and len(rows(tony)) == 2
    line, = (line for line in tony.run("history").stdout.splitlines() if line.startswith(other.name))
    assert line.split()[1:4] == ["running", "-", "-"]
    assert other.name in tony.run("list", "--all").stdout
    status = json.loads(tony.run("status", "--json", app).stdout)
    assert [(task["task"], task["state"], task["host"]) for task in status["tasks"]] == [
        ("worker:0", "succeeded", "node1"), ("worker:1", "failed", "node2")]
    assert "worker:1 failed" in tony.run("events", app).stdout
    assert app in tony.run("list", "--all").stdout


def test_tonys_directories_may_be_elsewhere(tony):
    """tony.history.finished and tony.history.intermediate"""
    app, other = "application_1541469337545_0031", "application_1541469337545_0032"
    for place, name in (("done/2018/11/14", f"{app}-1542279600000-1542279700000-alice-FAILED.jhist"),
                        ("moving", f"{other}-1542325695566-1542325733637-alice-KILLED.jhist")):
        place = tony.directory / place / name[:len(app)]
        place.mkdir(parents=True)
        (place / name).write_bytes(jhist(started(1542325700000, "worker", 0, "node1")))
        write_xml(place / "tony-final.xml", {"tony.worker.instances": 1})
    write_xml(tony.directory / "conf/tony-site.xml", {"tony.history.finished": tony.directory / "done"})
    assert [row["id"] for row in rows(tony)] == [app]
    write_xml(tony.directory / "conf/tony-site.xml", {"tony.history.finished": tony.directory / "done",
                                                      "tony.history.intermediate": f"file://{tony.directory}/moving"})
    assert {row["id"]: row["state"] for row in rows(tony)} == {app: "failed", other: "killed"}
    # A day of TonY's may be one of any time zone: it is still the 14th in the last of them.
    assert [row["id"] for row in rows(tony, "--since", "2018-11-15T10:00:00Z", "--state", "failed")] == [app]
    write_xml(tony.directory / "conf/tony-site.xml", {"tony.history.finished": "done"})
    answer = tony.run("history")
    assert answer.returncode == 3 and "tony-site.xml: tony.history.finished: " in answer.stderr


# ---- found again ----------------------------------------------------------------------------------


def test_job_is_found_when_only_its_history_is_left(tony):
    _, job = tony.job({"tony.worker.instances": 2}, "--executes",
                      "echo out of $TASK_INDEX; echo err >&2; touch $TONY_CHECKPOINT_DIR/$TASK_INDEX; "
                      "until [ -e $TONY_CHECKPOINT_DIR/0 ]; do sleep 0.01; done; exit $TASK_INDEX")
    kept(tony, job)
    before = {verb: tony.run(verb, job.id).stdout for verb in ("status", "events", "logs")}
    results = f"ran in: {job.directory}/containers/*/work\n"
    assert results in before["status"]
    remedy = f"try: tony rerun {job.id} --resume, which goes on from its checkpoints\n"
    assert remedy in before["status"]
    for line in (results, remedy):  # they go with the job's directory
        before["status"] = before["status"].replace(line, "")
    forget(job)
    assert job.id in tony.run("list", "--all").stdout
    for verb, text in before.items():
        assert tony.run(verb, job.id).stdout == text, verb
    assert tony.run("wait", job.id).returncode == 1
    assert json.loads(tony.run("status", "--json", job.id[:-2]).stdout)["state"] == "failed"
    assert "out of 0" in tony.run("logs", "--task", "worker:0", job.id).stdout.splitlines()
    assert "has already ended" in tony.run("kill", job.id).stderr
    assert tony.run("status", "tony-20200101-000000-0000").returncode != 0


def test_a_job_is_ones_own_whatever_user_was_set_to(tony):
    """USER had another value when it was submitted."""
    _, job = tony.job({"tony.worker.instances": 1}, "--executes", "true", env={"USER": "alias"})
    kept(tony, job)
    forget(job)
    (told,) = schemas.check("list", json.loads(tony.run("list", "--all", "--json").stdout))
    assert told["user"] == pwd.getpwuid(os.geteuid()).pw_name and told["own"] is True
    assert "alias" not in tony.run("status", job.id).stderr
    assert tony.run("wait", job.id).returncode == 0
    assert tony.run("rm", job.id).returncode == 0


def test_the_copy_of_a_record_in_doubt_is_not_the_jobs(tony):
    """While others could write to the record, somebody did."""
    _, job = tony.job({"tony.worker.instances": 1, "tony.application.name": "true-name"}, "--executes", "true")
    place = kept(tony, job)
    forget(job)
    description = place / "job.json"
    written = description.read_text()
    description.write_text(written.replace("true-name", "forged"))
    place.chmod(0o777)
    assert "forged" in tony.run("status", job.id).stdout
    description.write_text(written)
    place.chmod(0o755)
    answer = tony.run("status", job.id)
    assert "true-name" in answer.stdout and "forged" not in answer.stdout, answer


def test_history_is_filtered(tony):
    jobs = [tony.job({"tony.worker.instances": 1, "tony.application.name": name}, "--executes", command)[1]
            for name, command in (("mnist-1", "true"), ("mnist-2", "false"), ("other", "true"))]
    for job in jobs:
        kept(tony, job)
    forget(jobs[0])
    names = lambda *options: [row["name"] for row in rows(tony, *options)]
    assert names() == ["other", "mnist-2", "mnist-1"]
    assert names("--name", "mnist*") == ["mnist-2", "mnist-1"]
    assert names("--state", "failed") == ["mnist-2"]
    assert names("--last", "1") == ["other"]
    assert "see --last" in tony.run("history", "--last", "2").stderr and tony.run("history", "--last", "3").stderr == ""
    assert names("--user", "nobody") == [] and len(names("--user", rows(tony)[0]["user"])) == 3
    assert names("--since", "1h") == names() and names("--since", "2999-01-01") == []
    assert "neither a time ago" in tony.run("history", "--since", "soon").stderr
    assert '--since: "2026-02-30": there is no such day' in tony.run("history", "--since", "2026-02-30").stderr


def test_damaged_histories_hide_no_other(tony):
    jobs = [tony.job({"tony.worker.instances": 1}, "--executes", "true")[1] for _ in range(4)]
    places = [kept(tony, job) for job in jobs]
    for job in jobs:
        forget(job)
    (places[0] / "summary.json").write_text("{")
    (places[1] / "summary.json").unlink()
    (places[2] / "summary.json").unlink()
    (places[2] / "summary.json").symlink_to(places[3] / "summary.json")
    (places[3].parent / "notes.txt").write_text("of somebody's")
    os.mkfifo(places[3].parent / "fifo")
    answer = tony.run("history", "--json")
    assert [row["id"] for row in json.loads(answer.stdout)] == [jobs[3].id]
    assert f"{jobs[0].id} is passed over" in answer.stderr
    for job in jobs[:3]:
        assert tony.run("status", job.id).returncode >= 0
    assert jobs[0].id in tony.run("status", jobs[0].id[:-1]).stdout


def test_prune(tony):
    jobs = [tony.job({"tony.worker.instances": 1}, "--executes", "true")[1] for _ in range(2)]
    places = [kept(tony, job) for job in jobs]
    old = tony.state / "history/2020/01/02" / "tony-20200102-000000-0000"
    old.parent.mkdir(parents=True)
    shutil.copytree(places[0], old)
    text = (old / "summary.json").read_text().replace(jobs[0].id, old.name)
    (old / "summary.json").write_text(text)
    half = old.parent / ".half.1"
    half.mkdir()
    os.utime(half, (0, 0))  # a younger one may be in publication
    stranger = tony.state / "history/2020/01/03/photos"
    stranger.mkdir(parents=True)
    answer = tony.run("history", "--prune")
    assert "1 removed, 2 kept" in answer.stdout, answer.stderr
    assert not old.parent.exists() and stranger.is_dir() and places[0].is_dir()
    answer = tony.run("history", "--prune", "--max-size", "1m")
    assert "0 removed, 2 kept" in answer.stdout, answer.stderr
    assert tony.run("history", "--max-size", "1m").returncode != 0


def test_two_who_publish_at_the_same_time(tony):
    """The AM's history counts, whoever else finds the job dead meanwhile."""
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "sleep 1000")
    job.wait_task("worker:0")
    job.lose_am()
    children = [tony.start("list") for _ in range(4)]
    for child in children:
        child.communicate(timeout=PATIENCE_S)
    place = kept(tony, job)
    assert [path.name for path in place.parent.iterdir() if not path.name.startswith(".")] == [job.id]
    wait_until(lambda: [path.name for path in place.parent.iterdir()] == [job.id], "nothing half to be left")
    assert time.time() * 1000 >= summary(place)["ended_ms"] > 0
