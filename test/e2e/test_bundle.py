"""tony bundle: all that is known of a job in one archive."""

import io
import json
import os
import shutil
import signal
import subprocess
import tarfile

import pytest
import schemas
from conftest import wait_until
from patience import PATIENCE_S

PARTS = {"README.txt", "advice.json", "events.jsonl", "events.txt", "job.json", "logs", "logs/am.log", "logs/executors.log",
         "logs/tasks.log", "machine.json", "metrics.jsonl", "status.json", "tony-final.xml"}
SECRET = "hunter2-and-more"


def unpack(path, place):
    """The archive's own directory, and the names of its parts."""
    with tarfile.open(path) as archive:
        assert all(member.isdir() or member.isreg() for member in archive)
        assert all(member.mode & 0o077 == 0 for member in archive)
        archive.extractall(place)
    root, = place.iterdir()
    return root, {str(part.relative_to(root)) for part in root.rglob("*")}


def bundle(tony, *words):
    answer = tony.run("bundle", "--json", *words)
    assert answer.returncode == 0, answer.stderr
    return schemas.check("bundle", json.loads(answer.stdout))


def speaking(tony, ending):
    return tony.submit({"tony.worker.instances": 2, "tony.worker.envs": f"API_TOKEN={SECRET}"}, "--executes",
                       f"echo said by $TASK_INDEX; echo complained >&2; {ending}")


def published(tony, job):
    day = f"{job.id[5:9]}/{job.id[9:11]}/{job.id[11:13]}"
    wait_until((tony.state / "history" / day / job.id / "summary.json").is_file, "the history")


def test_bundle_of_an_ended_job_has_all_parts_and_no_secret(tony, tmp_path):
    job = speaking(tony, "exit 0")
    assert job.wait() == 0
    published(tony, job)
    said = bundle(tony, "--output", str(tmp_path / "all.tgz"), job.id)
    assert said["id"] == job.id and said["path"] == str(tmp_path / "all.tgz") and said["missing"] == []
    assert (tmp_path / "all.tgz").stat().st_mode & 0o777 == 0o600
    root, parts = unpack(said["path"], tmp_path / "all")
    assert root.name == job.id and parts == PARTS
    assert not [part for part in root.rglob("*") if part.is_file() and SECRET in part.read_text()]
    lines = [line.split(" ", 1)[1] for line in (root / "logs/tasks.log").read_text().splitlines()]
    assert sorted(lines) == ["worker:0 stderr| complained", "worker:0| said by 0", "worker:1 stderr| complained",
                             "worker:1| said by 1"]
    assert "worker:1 executor| " in (root / "logs/executors.log").read_text()
    assert (root / "logs/am.log").read_text()
    assert json.loads((root / "status.json").read_text())["state"] == "succeeded"
    assert (root / "events.jsonl").read_text() == (job.directory / "journal.jsonl").read_text()
    assert "  end: succeeded: the job succeeded\n" in (root / "events.txt").read_text()
    assert "  worker:0 succeeded\n" in (root / "events.txt").read_text()


def test_bundle_of_a_job_that_runs_names_what_is_not_there_yet(tony, tmp_path):
    job = speaking(tony, "sleep 1000")
    for name in ("worker:0", "worker:1"):
        wait_until(lambda: "said by" in job.logs(name), "the first line")
    said = bundle(tony, "--output", str(tmp_path), "--tail", "0", job.id)
    assert said["path"] == str(tmp_path / f"{job.id}.tar.gz")
    assert [line.split(":")[0] for line in said["missing"]] == ["metrics.jsonl"]
    root, parts = unpack(said["path"], tmp_path / "all")
    assert parts == PARTS - {"metrics.jsonl"}
    assert (root / "logs/tasks.log").read_text() == ""
    assert "metrics.jsonl: " in (root / "README.txt").read_text()
    assert tony.run("kill", job.id).returncode == 0


def test_bundle_out_of_the_history_alone(tony, tmp_path):
    both_spoke = f"test -e {tmp_path}/0 -a -e {tmp_path}/1"
    job = speaking(tony, f"touch {tmp_path}/$TASK_INDEX; until {both_spoke}; do sleep 0.1; done; exit 3")
    assert job.wait() == 1
    published(tony, job)
    wait_until(lambda: not job.processes(), "the AM to be done with the directory")
    shutil.rmtree(job.directory)
    said = bundle(tony, "--output", str(tmp_path / "all.tgz"), job.id)
    root, parts = unpack(said["path"], tmp_path / "all")
    assert parts == PARTS
    assert "worker:0| said by 0" in (root / "logs/tasks.log").read_text()
    assert "exited with code 3" in (root / "events.txt").read_text()


def test_bundle_goes_where_it_is_asked_to_or_nowhere(tony, tmp_path):
    _, job = tony.job({"tony.worker.instances": 1}, "--executes", "true")
    before = set(tmp_path.iterdir())
    nowhere = tony.run("bundle", "--output", str(tmp_path / "no" / "all.tgz"), job.id)
    assert nowhere.returncode == 4 and "No such file or directory" in nowhere.stderr
    assert set(tmp_path.iterdir()) == before
    both = tony.run("bundle", "--json", "--output", "-", job.id)
    assert both.returncode == 2 and "not both" in both.stderr
    assert tony.run("bundle", "--tail", "3", "--whole-logs", job.id).returncode == 2


def test_bundle_leaves_links_and_fifos_what_they_are(tony, tmp_path):
    _, job = tony.job({"tony.worker.instances": 1}, "--executes", "true")
    (tmp_path / "real.tgz").write_text("old")
    (tmp_path / "link.tgz").symlink_to("real.tgz")
    bundle(tony, "--output", str(tmp_path / "link.tgz"), job.id)
    assert (tmp_path / "link.tgz").is_symlink() and tarfile.is_tarfile(tmp_path / "real.tgz")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with subprocess.Popen(["cat", fifo], stdout=(tmp_path / "read.tgz").open("wb")) as reader:
        assert tony.run("bundle", "--json", "--output", str(fifo), job.id).returncode == 2
        answer = tony.run("bundle", "--output", str(fifo), job.id)
        assert answer.returncode == 0, answer.stderr
        assert reader.wait() == 0
    assert fifo.is_fifo() and tarfile.is_tarfile(tmp_path / "read.tgz")
    with (tmp_path / "log").open("ab") as log:
        log.write(b"kept\n")
        log.flush()
        assert tony.start("bundle", "--output", "/dev/stdout", job.id, stdout=log).wait(PATIENCE_S) == 0
    with (tmp_path / "over").open("wb") as over:
        assert tony.start("bundle", "--output", "/dev/stdout", job.id, stdout=over).wait(PATIENCE_S) == 0
        os.write(over.fileno(), b"after")
    assert (tmp_path / "over").read_bytes().endswith(b"after") and tarfile.is_tarfile(tmp_path / "over")
    kept, _, archive = (tmp_path / "log").read_bytes().partition(b"\n")
    assert kept == b"kept" and tarfile.is_tarfile(io.BytesIO(archive))
    for make, told in ((lambda path: path.symlink_to("real.tgz"), "a symbolic link, which is not followed"),
                       (os.mkfifo, "a FIFO, which is not written to")):
        unnamed = tmp_path / f"{job.id}.tar.gz"
        make(unnamed)
        answer = tony.run("bundle", job.id, cwd=tmp_path)
        assert answer.returncode == 6 and f"{unnamed.name} is {told}; remove it, or name the archive with --output FILE" in answer.stderr
        unnamed.unlink()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_bundle_that_is_ended_leaves_nothing(tony, tmp_path, number):
    """An AM that does not answer holds it in the middle of its work."""
    job = speaking(tony, "sleep 1000")
    job.wait_task("worker:1")
    scratch, place = tmp_path / "scratch", tmp_path / "place"
    scratch.mkdir()
    place.mkdir()
    am = job.am_pid()
    os.kill(am, signal.SIGSTOP)
    child = tony.start("bundle", "--output", place / "all.tgz", job.id, env={"TMPDIR": str(scratch)})
    wait_until(lambda: list(scratch.rglob(job.id)) and list(place.iterdir()), "the bundle to be begun")
    child.send_signal(number)
    assert child.wait() == -number
    wait_until(lambda: not list(scratch.iterdir()) and not list(place.iterdir()), "what it made to be gone")
    os.kill(am, signal.SIGCONT)
    assert tony.run("kill", job.id).returncode == 0
