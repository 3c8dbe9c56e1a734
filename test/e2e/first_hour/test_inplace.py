"""A job that names no files runs where `tony submit` is typed. The ids are those of the review of the first hour."""

import os
import pty
import shutil
import re
import signal

import pytest
from patience import PATIENCE_S, wait_until
from program import PYTHON, ROOT
from rows import run_row

TRAIN = "echo 'open(\"result\", \"a\").write(\"x\")' > train.py; "


def quoted(document, begin):
    """The command of a document that begins so, with the lines that it goes on in."""
    text = (ROOT / document).read_text()
    found = re.search(rf"{re.escape(begin)}(.*\\\n)*[^\n\\\"]*", text)
    assert found, f"{document} does not have: {begin}"
    return found.group().removesuffix("\\n")


def tutorial(number, document, begin, tasks):
    line = f"{TRAIN}{quoted(document, begin)} && [ $(cat result | wc -c) = {tasks} ]"
    return (number, line, 0, ["succeeded after", "ran in: "], ["can't open file"])


ROWS = [
    tutorial("1 --help", "src/main_tony.c", "tony submit -- python3 train.py", 1),
    tutorial("1 README", "README.md", "tony submit --framework pytorch --workers 4 -- python3", 4),
    tutorial("1 elastic", "docs/elastic.md", "tony submit --framework pytorch --workers 8", 8),
    ("1 results", "tony submit -- touch made && [ -e made ] && tony status && tony check -- true", 0,
     ["/folder\n", "directory of all tasks: "], ["/work"]),
    ("1 results of copies", "mkdir src && tony submit --src_dir src -- touch made && [ ! -e made ]", 0,
     ["ran in: ", "/containers/driver-0-1/work\n"], []),
    ("1 files", "mkdir src; touch a b; tony check --src_dir src --conf tony.containers.resources=a,b --workers 2 "
     "--memory 64m -- true", 0, ["files: the content of ", "/folder/src, a, b\n"], []),
    ("1 files none", "tony check --memory 64m -- true", 0, ["files: none\n"], []),
    ("1 results of several", "mkdir src && tony submit --workers 2 --memory 64m --src_dir src -- true", 0,
     ["ran in: ", "/containers/*/work\n"], []),
    ("1 elsewhere", TRAIN + "tony submit --scheduler yarn --workers 2 -- python3 train.py", 3,
     ['names "train.py" of the current directory', "scheduler yarn", "add --src_dir .", "whole path"], []),
    # The cluster's site files are missing: that is told after the words of the command.
    ("1 elsewhere words", "mkdir train; touch train.py data.csv; tony check --scheduler yarn -- python3 -m x --mode train "
     "--log data.csv; tony check --scheduler yarn -- python3 $PWD/train.py --mode train", 3,
     ['do not see "data.csv" of the current directory; if they read it, add --src_dir .'], ['"train', "names"]),
    ("2.15", "tony check -- python3 train.py", 3, ['"train.py" is not in the current directory'], []),
    ("3.39", "tony submit --src_dir / -- true", 3, ['src_dir: "/" would be copied into itself', "a directory of its own"],
     ["Permission denied"]),
    ("3.39 home", 'tony submit --src_dir "${TONY_STATE_DIR%/*}" -- true', 3, ["would be copied into itself"], []),
    ("3.44", "mkdir src; echo true > src/run.sh; tony submit --src_dir src -- ./run.sh", 0, [], []),
    ("3.44 of the user's", "echo true > run.sh; tony submit -- ./run.sh; code=$?; [ ! -x run.sh ] && exit $code", 3,
     ['"./run.sh" lacks the permission to be executed; write bash ./run.sh'], []),
    ("3.44 beside", "touch ok.py; tony submit -- ok.py; echo $?; tony check -- ok.py", 3,
     ['"ok.py" is not in PATH, but in the working directory; write python3 ok.py', "3\n"], []),
    ("3.44 interpreter line", "echo '#!/usr/bin/env python3' > ok.py; tony submit -- ok.py; chmod +x ok.py; tony submit -- ./ok.py",
     0, ["; write python3 ok.py, or chmod +x ok.py and ./ok.py"], []),
    ("3.44 elsewhere", "touch run; tony submit -- $PWD/run", 3, ["/run\" lacks the permission", "chmod +x /"], []),
    ("3.73", "mkdir gone; cd gone; rmdir ../gone; tony submit -- true", 0,
     ["the current directory: No such file or directory; each task runs in a directory of its own"], []),
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_row(tony, row):
    run_row(tony, row)


# worker:0 writes a file that all share, as torchrun's snapshot.pt is; worker:1 then dies, once.
SNAPSHOT = """import os, signal, sys, time
from pathlib import Path
snapshot, died = Path("snapshot"), Path(os.environ["TONY_CHECKPOINT_DIR"], "died")
first, is_writer = not died.exists(), os.environ["TONY_TASK"] == "worker:0"
print("epoch", snapshot.read_text() if snapshot.exists() else "none", flush=True)
if first and is_writer:
    Path("new").write_text("2")
    Path("new").rename(snapshot)
while not snapshot.exists():
    time.sleep(0.01)
if first and not is_writer:
    died.touch()
    DIE
if first and WAIT:
    signal.pause()
"""
DEATHS = {"restart": ("sys.exit(1)", ["--max-restarts", "1"]),
          "retry": ("sys.exit(1)", ["--retries", "1"]),
          "container": ("os.kill(os.getppid(), signal.SIGKILL)", [])}


@pytest.mark.parametrize("death", DEATHS)
def test_all_tasks_share_the_directory_also_after_a_restart(tony, death):
    """Torchrun's snapshot.pt is such a file: a rank that starts anew goes on where the others are."""
    folder = tony.directory / "folder"
    folder.mkdir()
    how, options = DEATHS[death]
    program = SNAPSHOT.replace("DIE", how).replace("WAIT", str(death != "restart"))  # nobody else is told then
    (folder / "train.py").write_text(program)
    answer = tony.run("submit", "--workers", "2", "--memory", "64m", *options, "--", PYTHON, "train.py", cwd=folder)
    job = tony.found_job(answer.stdout)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert job.logs("worker:1").splitlines()[-1] == "epoch 2"
    assert sorted(path.name for path in folder.iterdir()) == ["snapshot", "train.py"]
    assert job.description()["work_dir"] == str(folder)


def test_files_of_tony_s_own_stay_in_the_job_s_folder(tony):
    """Also those of a framework, in a namespace of processes, and of checkpoints."""
    folder = tony.directory / "folder"
    folder.mkdir()
    command = 'cat "$TONY_CLUSTER_FILE" && echo 1 > "$TONY_CHECKPOINT_DIR/epoch" && echo "$TONY_CHECKPOINT_DIR" > made'
    answer = tony.run("submit", "--framework", "tensorflow", "--workers", "1", "--conf",
                      "tony.worker.isolation=pid-namespace", "--executes", command, cwd=folder)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    job = tony.found_job(answer.stdout)
    assert [path.name for path in folder.iterdir()] == ["made"]
    assert (folder / "made").read_text().strip() == str(job.directory / "checkpoint")
    files = {path.name for path in (job.directory / "containers/worker-0-1").iterdir()}
    assert {"stdout", "stderr", "executor.log", "cluster.json"} <= files


def size_of(directory):
    return sum(path.lstat().st_size for path in directory.rglob("*") if not path.is_dir())


def results_of(job, container):
    work = job.directory / "containers" / container / "work"
    return sorted(str(path.relative_to(work)) for path in work.rglob("*") if not path.is_dir())


CHANGE = """import os, signal
assert len(open("data").read()) == 3_000_000
os.path.islink("latest") or os.symlink("sub/linked", "latest")
open("result", "w").write("x")
if os.environ["TONY_TASK"] == "worker:1":
    open("sub/edited", "w").write("b")
    if os.environ["TONY_TASK_ATTEMPT"] == "1":
        os.kill(os.getppid(), signal.SIGKILL)
"""


def test_copies_of_sources_are_taken_back(tony):
    """3.40: 3 MB and two workers, one of which loses its executor. Files that a program made, changed or linked to
    stay."""
    source = tony.directory / "src"
    (source / "sub").mkdir(parents=True)
    (source / "data").write_text("x" * 3_000_000)
    (source / "sub/edited").write_text("a")
    (source / "sub/linked").write_text("a")
    (source / "train.py").write_text(CHANGE)
    answer, job = tony.job({"tony.worker.instances": 2}, "--executes", f"{PYTHON} train.py", src_dir=source)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    wait_until(lambda: not job.processes(), "the job's processes to end")
    assert results_of(job, "worker-0-1") == ["latest", "result", "sub/linked"]
    assert results_of(job, "worker-1-1") == results_of(job, "worker-1-2")
    assert results_of(job, "worker-1-2") == ["latest", "result", "sub/edited", "sub/linked"]
    kept = job.directory / "files/src"
    assert (kept / "sub/edited").read_text() == "a"
    assert kept.is_symlink() and kept.resolve().parent == tony.state / "cache", "for other jobs with these sources"
    assert size_of(job.directory) < 7_500_000
    answer, second = tony.job({}, "--", "true", src_dir=source)
    assert answer.returncode == 0, answer.stderr
    wait_until(lambda: not second.processes(), "the job's processes to end")
    assert (second.directory / "files/src").resolve() == kept.resolve()
    assert size_of(tony.state) < 7_500_000


def test_copies_of_a_task_without_an_executor_are_taken_back(tony):
    """Its worker and its guardian are killed at once."""
    source = tony.directory / "src"
    source.mkdir()
    (source / "data").write_text("x")
    (source / "train.py").write_text("""import os, signal
open("result", "w").write("x")
worker = os.getppid()
if os.environ["TONY_TASK_ATTEMPT"] == "1":
    guardian = int(open(f"/proc/{worker}/stat").read().rpartition(")")[2].split()[1])
    os.kill(guardian, signal.SIGSTOP)
    os.kill(worker, signal.SIGKILL)
    os.kill(guardian, signal.SIGKILL)
""")
    answer, job = tony.job({"tony.worker.instances": 1}, "--executes", f"{PYTHON} train.py", src_dir=source)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    wait_until(lambda: not job.processes(), "the job's processes to end")
    assert results_of(job, "worker-0-1") == results_of(job, "worker-0-2") == ["result"]


@pytest.mark.parametrize("attack", ["rm -r data; mv {own}/data data",
                                    "cd ../..; mv driver-0-1 old; mkdir driver-0-1; ln -s {own} driver-0-1/work",
                                    "cd ../..; mv driver-0-1 old; ln -s {own}/.. driver-0-1"],
                         ids=["moved", "linked", "linked above"])
def test_a_users_own_files_are_not_taken_for_copies(tony, attack):
    """Files of the same content, size and time, wherever a program has put them or a link to them."""
    source, own = tony.directory / "src", tony.directory / "own/work"
    (source / "data").mkdir(parents=True)
    (source / "data/table").write_text("1")
    shutil.copytree(source, own)
    answer, job = tony.job({}, "--executes", attack.format(own=own), src_dir=source)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    wait_until(lambda: not job.processes(), "the job's processes to end")
    kept = [job.directory / "containers/driver-0-1/work/data/table", own / "data/table"]
    assert [path for path in kept if path.exists()], "what was moved stays where it is now"
    assert attack.startswith("rm") or (own / "data/table").exists()


def test_what_a_user_wrote_beside_kept_sources_stays(tony):
    source = tony.directory / "src"
    source.mkdir()
    (source / "train.py").write_text("pass")
    jobs = []
    for written in ("results.csv", None):
        answer, job = tony.job({}, "--", "true", src_dir=source)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        jobs.append(job)
        wait_until(lambda: not jobs[-1].processes(), "the job's processes to end")
        if written:
            (job.directory / "files/src" / written).write_text("precious")
    assert (jobs[0].directory / "files/src/results.csv").read_text() == "precious"
    assert sorted(path.name for path in (jobs[1].directory / "files/src").iterdir()) == ["train.py"]


def test_sources_are_kept_also_where_jobs_are_elsewhere(tony):
    """The directory of all jobs is a link, as to a larger disk."""
    source, elsewhere = tony.directory / "src", tony.directory / "large/disk/of/jobs"
    source.mkdir()
    elsewhere.mkdir(parents=True)
    tony.state.mkdir(exist_ok=True)
    (tony.state / "jobs").symlink_to(elsewhere)
    (source / "train.py").write_text("pass")
    for _ in range(2):
        answer, job = tony.job({}, "--", "true", src_dir=source)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        wait_until(lambda: not job.processes(), "the job's processes to end")
        kept = job.directory / "files/src"
        assert (kept / "train.py").read_text() == "pass"
        assert kept.resolve().parent == tony.state / "cache"


def test_how_much_is_copied_is_said_before(tony):
    """3.40: a terminal has a bar meanwhile; Ctrl-C ends the copying, and nothing is left."""
    source = tony.directory / "src"
    source.mkdir()
    with (source / "data").open("wb") as file:
        file.truncate(20 << 30)  # a hole, so that nobody has to write it
    ours, theirs = pty.openpty()
    child = tony.start("submit", "--src_dir", source, "--", "true", stderr=theirs)
    os.close(theirs)
    said = b""
    while b"copying src [" not in said:
        said += os.read(ours, 4096)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=PATIENCE_S)
    os.close(ours)
    assert said.startswith(b"tony: src_dir: copying 20.0 GiB in 1 files from " + bytes(source))
    assert b"; name a smaller folder to copy less\r\n" in said
    assert child.returncode == 130 and tony.ids() == []
