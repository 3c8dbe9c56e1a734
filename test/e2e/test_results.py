"""TONY_OUTPUT_DIR: each task has a directory of its own, which stays, and comes to where its user wants
it."""

import fcntl
import json
import os
import shutil
import signal
import stat
from pathlib import Path

import pytest
import schemas
from conftest import wait_until
from terminal import Terminal

WRITE = 'echo "$TONY_TASK $TONY_EPOCH" >> "$TONY_OUTPUT_DIR/log"; mkdir -p "$TONY_OUTPUT_DIR/a b"; echo model > "$TONY_OUTPUT_DIR/a b/model"'


def submit(tony, command, *options, **keys):
    return tony.submit({"tony.worker.instances": 2, "tony.worker.command": command, **keys}, *options)


def files_of(directory):
    return {str(path.relative_to(directory)): path.read_text() for path in directory.rglob("*") if path.is_file()}


BOTH = {"worker-0/log": "worker:0 1\n", "worker-1/log": "worker:1 1\n", "worker-0/a b/model": "model\n", "worker-1/a b/model": "model\n"}


@pytest.mark.promise("R63")
def test_results_are_where_the_user_wants_them(tony):
    job = submit(tony, WRITE, "--output", "home")
    assert job.wait() == 0
    there = tony.directory / "home" / job.id
    assert files_of(there) == BOTH
    assert tony.run("results", job.id).stdout == f"{there}\n"
    assert f"results: {there}\n" in tony.run("status", job.id).stdout
    assert job.status()["output"] == str(there)
    answer = tony.run("rm", job.id)
    assert answer.returncode == 0 and str(there) in answer.stdout + answer.stderr
    assert files_of(there) == BOTH, "they are not the job's to remove"


def test_results_stay_with_the_job_and_are_brought_later(tony):
    job = submit(tony, WRITE)
    assert job.wait() == 0
    place = job.directory / "output"
    assert job.status()["output"] == str(place)
    assert tony.run("results", job.id).stdout == f"{place}\n" and files_of(place) == BOTH
    assert oct(place.stat().st_mode & 0o777) == "0o700"
    answer = tony.run("results", job.id, "--output", "home")
    there = tony.directory / "home" / job.id
    assert (answer.returncode, answer.stdout) == (0, f"{there}\n") and files_of(there) == BOTH
    # Once more: what the user put there stays, what is the job's is as it is there.
    (there / "notes").write_text("mine")
    (there / "worker-0" / "log").write_text("changed")
    assert tony.run("results", job.id, "--output", "home").returncode == 0
    assert files_of(there) == {**BOTH, "notes": "mine"}
    assert os.listdir(tony.directory / "home") == [job.id], "nothing is left beside it"
    shutil.rmtree(place)
    gone = tony.run("results", job.id)
    assert (gone.returncode, gone.stdout) == (4, "") and f"{place} is not there" in gone.stderr, gone


def copies_of(directory):
    return {str(path): (info.st_ino, info.st_ctime_ns) for path in directory.rglob("*") if path.is_file() for info in [path.stat()]}


def test_results_that_are_there_are_not_brought_again(tony):
    """Of the same size and time; a clock's tick after it was written, a file may be written to again without another time."""
    job = submit(tony, WRITE + '; touch -d "2026-01-01" "$TONY_OUTPUT_DIR/log" "$TONY_OUTPUT_DIR/a b/model"')
    assert job.wait() == 0
    there = tony.directory / "home" / job.id
    with_bar = Terminal(tony, "results", job.id, "--output", "home")
    assert with_bar.finish() == 0 and f"fetching {job.id} [" in with_bar.text
    before = copies_of(there)
    assert len(before) == 4 and files_of(there) == BOTH
    assert tony.run("results", job.id, "--output", "home").returncode == 0
    assert copies_of(there) == before
    # A file that changed on either side is brought.
    with (job.directory / "output" / "worker-0" / "log").open("a") as log:
        log.write("more\n")
    (there / "worker-1" / "log").write_text("other")
    assert tony.run("results", job.id, "--output", "home").returncode == 0
    assert files_of(there) == {**BOTH, "worker-0/log": "worker:0 1\nmore\n"}
    after = copies_of(there)
    assert {path.removeprefix(f"{there}/") for path in before if before[path] != after[path]} == {"worker-0/log", "worker-1/log"}


def test_a_retry_finds_what_was_written_before(tony):
    job = submit(tony, WRITE + '; [ "$TONY_EPOCH" = 2 ] || exit 3', "--output", "home",
                 **{"tony.am.retry-count": 1, "tony.am.retry-delay": "10ms"})
    assert job.wait() == 0
    # The one that failed had written; the other may not have come to it.
    files = files_of(tony.directory / "home" / job.id)
    assert any(f"worker:{index} 1\nworker:{index} 2\n" in files[f"worker-{index}/log"] for index in range(2)), files


def test_results_of_a_job_that_runs_and_is_killed(tony):
    job = submit(tony, WRITE + "; sleep 600")
    wait_until(lambda: len(files_of(job.directory / "output")) == 4, "both tasks to write")
    assert tony.run("results", job.id, "--output", "home").returncode == 0
    assert files_of(tony.directory / "home" / job.id) == BOTH
    assert tony.run("kill", job.id).returncode == 0
    assert job.wait() == 8
    assert tony.run("results", job.id, "--output", "again").returncode == 0
    assert files_of(tony.directory / "again" / job.id) == BOTH


def test_a_job_without_results_says_so(tony):
    job = submit(tony, "true")
    assert job.wait() == 0
    answer = tony.run("results", job.id, "--output", "home")
    assert answer.returncode == 4 and "no program of" in answer.stderr
    assert not (tony.directory / "home" / job.id).exists()
    assert "output:" not in tony.run("status", job.id).stdout


def test_nothing_is_written_through_a_symbolic_link(tony):
    job = submit(tony, WRITE)
    assert job.wait() == 0
    elsewhere, there = tony.directory / "elsewhere", tony.directory / "home" / job.id
    elsewhere.mkdir()
    there.mkdir(parents=True)
    (there / "worker-0").symlink_to(elsewhere)
    answer = tony.run("results", job.id, "--output", "home")
    assert answer.returncode != 0 and "worker-0 is a file or a link, but the results need a directory" in answer.stderr and "are not all in" in answer.stderr
    assert not list(elsewhere.iterdir())


def test_a_live_jobs_results_are_not_replaced_by_a_copy_of_themselves(tony):
    """Whatever spelling its directory has: a program goes on writing to the file that it has open."""
    real, go = tony.directory / "real", tony.directory / "go"
    real.mkdir()
    (tony.directory / "link").symlink_to("real")
    script = f'exec > "$TONY_OUTPUT_DIR/log"; echo one; while [ ! -e {go} ]; do sleep 0.01; done; echo two'
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.command": script}, "--output", "link")
    log = real / job.id / "worker-0" / "log"
    wait_until(lambda: log.exists() and log.read_text() == "one\n", "the first line")
    inode = log.stat().st_ino
    assert tony.run("results", job.id, "--output", "real").returncode == 0
    assert log.stat().st_ino == inode
    inside = tony.run("results", job.id, "--output", f"real/{job.id}/worker-0")
    assert inside.returncode == 2 and "lie one in the other" in inside.stderr
    go.touch()
    assert job.wait() == 0
    assert log.read_text() == "one\ntwo\n"
    assert [path.name for path in real.iterdir()] == [job.id]


def test_results_are_not_brought_to_what_holds_them(tony):
    job = submit(tony, WRITE)
    assert job.wait() == 0
    answer = tony.run("results", job.id, "--output", str(job.directory.parent))
    assert answer.returncode == 2 and "lie one in the other" in answer.stderr
    assert files_of(job.directory / "output") == BOTH


def test_brought_results_are_their_owners_alone(tony):
    job = submit(tony, WRITE + '; chmod 6755 "$TONY_OUTPUT_DIR/log"; chmod 755 "$TONY_OUTPUT_DIR"')
    assert job.wait() == 0
    assert tony.run("results", job.id, "--output", "new/home").returncode == 0
    there = tony.directory / "new" / "home" / job.id
    made = [there.parent.parent, there.parent, there, *(path for path in there.rglob("*") if path.is_dir())]
    assert {oct(stat.S_IMODE(path.stat().st_mode)) for path in made} == {"0o700"}
    assert oct(stat.S_IMODE((there / "worker-0" / "log").stat().st_mode)) == "0o755"


def test_what_is_no_file_is_left_out_and_named(tony):
    job = submit(tony, WRITE + '; mkfifo "$TONY_OUTPUT_DIR/fifo"')
    assert job.wait() == 0
    answer = tony.run("results", job.id, "--output", "home")
    assert answer.returncode == 0, answer.stderr
    assert files_of(tony.directory / "home" / job.id) == BOTH
    named = [line for line in answer.stderr.splitlines() if "left out" in line]
    assert len(named) == 2 and all("/fifo: is neither" in line for line in named)
    assert not list((tony.directory / "home").rglob("fifo"))


def test_an_output_that_is_a_file_is_refused_at_submit(tony):
    (tony.directory / "file").touch()
    answer, job = tony.job({"tony.worker.instances": 1}, "--output", "file", "--executes", "true")
    assert answer.returncode == 3 and job is None
    assert f"--output (tony.application.output-dir): {tony.directory}/file: is not a directory" in answer.stderr


def test_an_output_that_cannot_be_a_directory_here_is_refused(tony):
    for place, options, code, words in (("gs://out/x", (), 2, "no directory of this machine"),
                                        ("hdfs:///out", ("--scheduler", "yarn"), 3, "results come to this machine"),
                                        ("s3://out/x", ("--scheduler", "yarn"), 3, "results come to this machine")):
        answer = tony.run("submit", *options, "--output", place, "--", "true")
        assert answer.returncode == code and words in answer.stderr and place in answer.stderr, answer


def test_an_output_in_hdfs_needs_the_clusters_configuration(tony):
    answer = tony.run("submit", "--output", "hdfs:///out", "--", "true")
    assert answer.returncode == 3 and "tony.application.output-dir: " in answer.stderr, answer
    assert "set HADOOP_CONF_DIR to the directory of the cluster's configuration" in answer.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_copy_that_is_ended_leaves_nothing(tony, number):
    """Nobody reads what it says of the FIFO: that holds it in the middle of its work."""
    job = submit(tony, WRITE + '; mkfifo "$TONY_OUTPUT_DIR/fifo"')
    assert job.wait() == 0
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(writing, bytes(fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ)))
    os.set_blocking(writing, True)
    child = tony.start("results", job.id, "--output", "home", stderr=writing)
    home = tony.directory / "home"
    wait_until(lambda: home.is_dir() and list(home.rglob("worker-*")), "the copy to be begun")
    child.send_signal(number)
    assert child.wait() == -number
    wait_until(lambda: not list(home.iterdir()), "what it made to be gone")
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("options", [("--output", "home"), ()])
def test_a_script_learns_where_the_results_are(tony, options):
    answer = tony.run("submit", *options, "--json", "--", "bash", "-c", 'echo model > "$TONY_OUTPUT_DIR/model"')
    ended = schemas.check("submit", json.loads(answer.stdout))
    assert files_of(Path(ended["output"])) == {"driver-0/model": "model\n"}
    told = schemas.check("wait", json.loads(tony.run("wait", "--json", ended["id"]).stdout))
    assert told["output"] == ended["output"]
    answer = tony.run("submit", *options, "--detach", "--json", "--", "bash", "-c", 'echo model > "$TONY_OUTPUT_DIR/model"')
    begun = schemas.check("submit-detach", json.loads(answer.stdout))
    assert tony.run("wait", begun["id"]).returncode == 0
    assert files_of(Path(begun["output"])) == {"driver-0/model": "model\n"}
    assert (str(tony.directory / "home") in begun["output"]) == bool(options)
