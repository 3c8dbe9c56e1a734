"""Disks that are full: of the logs, of a container, of the job's files, of a checkpoint, of the state directory."""

import json
import os
import re
import resource
import subprocess

import pytest
import schemas
from conftest import BUILD, PROGRAMS, wait_until
from patience import PATIENCE_S

LOST = r"(\d+) lines \([^)]*\) of {} output were lost between \S+ and \S+: no space left on \S+ \(tmpfs: 0 B of 1 MiB free\)"
TONY = f"{BUILD}/tony"

# The first task mounts a small disk where the container of the second will be.
MOUNT = 'd=$(dirname "$PWD")/../worker-0-1; mkdir "$d" && mount -t tmpfs -o {} none "$d"{}'
IS_SMALL = '[ "$(stat -f -c %T ..)" = tmpfs ] || exit 99'  # before a program fills any other disk
PRINT = ('seq -f "line %.0f." 100; until grep -q "line 100" ../stdout; do sleep 0.05; done; '
         'cat /dev/zero >../fill 2>/dev/null; seq -f "line %.0f." 101 100000; '  # 1.2 MB
         '{}echo afterwards; exit 0')
ROOM_AGAIN = 'rm ../fill; until grep -q "were lost" ../stdout; do sleep 0.05; done; '


def run_on_small_disk(tony, command, disk="size=1m", fill="", keys=()):
    """The answer of a job whose worker has a small disk of its own, and then of `status`, `status --json`, `events`
    and `logs`: those see the disk, too."""
    tony.state.mkdir(parents=True, exist_ok=True)
    own = tony.directory / "own"  # so that each task has a directory of its own
    own.mkdir()
    program = tony.directory / "program.sh"
    program.write_text(f"{IS_SMALL}; {command}\n")
    first = tony.directory / "first.sh"
    first.write_text(MOUNT.format(disk, fill) + "\n")
    keys = {"tony.first.instances": 1, "tony.first.memory": "64m", "tony.first.command": f"sh {first}",
            "tony.worker.instances": 1, "tony.worker.memory": "64m", "tony.worker.command": f"sh {program}",
            "tony.worker.depends-on": "first",
            "tony.am.retry-delay": "1ms", "tony.application.src-dir": own, **dict(keys)}
    conf = " ".join(f"--conf '{name}={value}'" for name, value in keys.items())
    verbs = "".join(f"; echo ====; {TONY} {verb}" for verb in ("status", "status --json", "events", "logs --task worker:0"))
    mount = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    answer = subprocess.run([*mount, "sh", "-c", f"{TONY} submit {conf}; echo code $?{verbs}"], env=tony.env,
                            cwd=tony.directory, capture_output=True, text=True, timeout=PATIENCE_S)
    submit, status, as_json, events, logs = answer.stdout.split("====\n")
    return submit + answer.stderr, status, schemas.check("status", json.loads(as_json)), events, logs


def assert_loss_is_told(submit, status, as_json, events):
    lost = re.compile(LOST.format("its"))
    told = lost.search(submit)
    assert told and "code 0" in submit, submit
    assert f"warning: worker:0: {told.group(0)}" in submit
    assert told.group(0) in re.sub(r"\s+", " ", status)
    assert f"output of worker:0: {told.group(0)}" in events
    worker = next(task for task in as_json["tasks"] if task["task"] == "worker:0")
    assert worker["output_lost"]["text"] == told.group(0)
    assert worker["output_lost"]["lines"] == int(told.group(1)) > 0
    assert as_json["state"] == "succeeded", "the result is what the program's exit says"
    return int(told.group(1))


@pytest.mark.promise("R57", "R58")
def test_output_goes_on_behind_a_mark_when_there_is_room_again(tony):
    submit, status, as_json, events, logs = run_on_small_disk(tony, PRINT.format(ROOM_AGAIN))
    lost = assert_loss_is_told(submit, status, as_json, events)
    lines = logs.splitlines()
    [mark] = [number for number, line in enumerate(lines) if re.search(LOST.format("this"), line)]
    numbers = [int(line[5:-1]) for line in lines if re.fullmatch(r"line \d+\.", line)]
    assert len(numbers) == 100000 - lost and numbers[-1] == 100000, "the newest lines are kept"
    assert numbers == sorted(numbers)
    first = int(lines[mark + 1][5:-1])
    assert first - max(number for number in numbers if number < first) == lost + 1
    assert lines[-1] == "afterwards"


@pytest.mark.promise("R57", "R58")
def test_output_lost_to_the_end_is_marked_at_the_end_of_the_log(tony):
    submit, status, as_json, events, logs = run_on_small_disk(tony, PRINT.format(""))
    assert_loss_is_told(submit, status, as_json, events)
    assert re.search(LOST.format("this"), logs.splitlines()[-1]), logs[-1000:]


@pytest.mark.promise("R58")
def test_a_task_that_is_stopped_tells_what_it_lost(tony):
    """Its output was in memory until the end."""
    stopper = "until [ -d ../../worker-0-1/printed ]; do sleep 0.05; done; exit 1"
    _, _, as_json, events, _ = run_on_small_disk(
        tony, "cat /dev/zero >../fill 2>/dev/null; seq 10000; mkdir ../printed; exec sleep 1000",
        keys={"tony.stopper.instances": 1, "tony.stopper.memory": "64m", "tony.stopper.command": stopper,
              "tony.stopper.depends-on": "first", "tony.application.stop-on-failure-jobtypes": "stopper"})
    worker = next(task for task in as_json["tasks"] if task["task"] == "worker:0")
    assert worker["state"] == "stopped" and worker["output_lost"]["lines"] > 0, events


def assert_not_repeated(as_json, events, kind):
    assert as_json["cause"]["kind"] == kind, as_json["cause"]
    assert as_json["infrastructure_retries"] == as_json["retries"] == 0
    assert "worker:0 is not tried again: a disk of its machine is full, and there is no other machine" in events


@pytest.mark.promise("R59")
def test_a_container_without_room_fails_the_job_at_once(tony):
    submit, _, as_json, events, _ = run_on_small_disk(tony, "true", "size=1m,nr_inodes=1")
    assert_not_repeated(as_json, events, "no-space")
    assert re.search(r"worker-0-1/\S+: No space left on device; make room on \S+worker-0-1 \(tmpfs: [^)]* no inodes\)",
                     submit), submit


@pytest.mark.promise("R59")
def test_an_executor_that_cannot_be_recorded_fails_the_job_at_once(tony):
    """Directories and empty files still fit."""
    submit, _, as_json, events, _ = run_on_small_disk(tony, "true", "size=1m", '; cat /dev/zero >"$d"/fill 2>/dev/null || true')
    assert_not_repeated(as_json, events, "no-space")
    assert re.search(r"could not start its executor: \S+worker-0-1: No space left on device; make room on \S+worker-0-1 "
                     r"\(tmpfs: 0 B of 1 MiB free\)", submit), submit


@pytest.mark.promise("R59")
def test_files_of_the_job_without_room_fail_the_job_at_once(tony):
    source = tony.directory / "src"
    source.mkdir()
    (source / "big").write_bytes(os.urandom(3 << 20))
    submit, _, as_json, events, _ = run_on_small_disk(tony, "true", keys={"tony.application.src-dir": source})
    assert_not_repeated(as_json, events, "no-space")
    assert re.search(r"No space left on device; make room on \S+worker-0-1 \(tmpfs: \S+ \S+ of 1 MiB free\)", submit), submit
    assert all(line.count("make room") <= 1 for line in submit.splitlines()), submit


@pytest.mark.promise("R59")
def test_a_program_that_met_a_full_disk_is_not_repeated_on_the_only_machine(tony):
    answer, job = tony.job({"tony.worker.instances": 1, "tony.am.retry-count": 2}, "--executes",
                           "echo state >/dev/full")
    assert answer.returncode == 1
    assert_not_repeated(job.status(), tony.run("events", job.id).stdout, "exit")


@pytest.mark.promise("R59")
def test_a_program_that_met_a_read_only_file_system_is_not_repeated_on_the_only_machine(tony):
    answer, job = tony.job({"tony.worker.instances": 1, "tony.am.retry-count": 2}, "--executes",
                           "echo \"OSError: [Errno 30] Read-only file system: 'out'\" >&2; exit 1")
    assert answer.returncode == 1
    assert "a file system of its machine is read-only, and there is no other machine" in tony.run("events", job.id).stdout
    assert job.status()["infrastructure_retries"] == job.status()["retries"] == 0


@pytest.mark.promise("R59")
def test_the_disk_that_a_program_has_filled_is_named(tony):
    """The last line that dd prints tells how much it has copied."""
    submit, _, as_json, events, _ = run_on_small_disk(tony, "dd if=/dev/zero of=out bs=64k")
    assert_not_repeated(as_json, events, "exit")
    assert re.search(r"exited with code 1; no space left on \S+worker-0-1 \(tmpfs: 0 B of 1 MiB free\): "
                     r"dd: error writing 'out': No space left on device", submit), submit


# ---- a limit on the sizes of files (ulimit -f)


def submit_limited(tony, size, command):
    return subprocess.run([TONY, "submit", "--conf", "tony.worker.instances=1", "--conf", "tony.worker.memory=64m", "--executes",
                           command], env=tony.env, cwd=tony.directory, capture_output=True, text=True, timeout=PATIENCE_S,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))


@pytest.mark.promise("R58")
def test_output_beyond_the_limit_on_file_sizes_is_lost_and_told(tony):
    answer = submit_limited(tony, 300 << 10, "seq 300000")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    told = r"warning: worker:0: \d+ lines \([^)]*\) of its output were lost between \S+ and \S+: File too large"
    assert re.search(told, answer.stdout), answer.stdout


def test_a_program_is_killed_at_the_limit_on_file_sizes(tony):
    answer = submit_limited(tony, 300 << 10, "head -c 1000000 /dev/zero >big")
    assert answer.returncode == 1 and re.search(r"exited with code 153|SIGXFSZ", answer.stdout), answer.stdout + answer.stderr


def test_a_client_at_the_limit_on_file_sizes_says_so(tony):
    answer = submit_limited(tony, 512, "true")
    assert answer.returncode > 0 and "File too large" in answer.stdout + answer.stderr, answer


# ---- of the state directory


def in_small_disk(tony, size, script):
    """Runs the script with the state directory on a tmpfs of its own."""
    tony.state.mkdir(parents=True, exist_ok=True)
    mount = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    command = f'mount -t tmpfs -o size={size},mode=0700 none "{tony.state}" && {script}'
    return subprocess.run([*mount, "sh", "-c", command], env=tony.env, cwd=tony.directory,
                          capture_output=True, text=True, timeout=PATIENCE_S)


@pytest.mark.promise("R60")
def test_disk_full_before_the_start(tony):
    """The sources do not fit; the job that could not start is not there afterwards."""
    source = tony.directory / "src"
    source.mkdir()
    (source / "big").write_bytes(os.urandom(3 << 20))
    answer = in_small_disk(tony, "1m", f"{BUILD}/tony submit --conf tony.worker.instances=1"
                           f" --conf tony.worker.memory=64m --src_dir {source} --executes true;"
                           " code=$?; ls $TONY_STATE_DIR/jobs; exit $code")
    assert answer.returncode not in (0, 134, 139)
    assert "No space left on device; make room on " + f"{tony.state} (tmpfs: " in answer.stderr
    assert "jobs/tony-" not in answer.stdout and not re.search(r"^tony-", answer.stdout, re.MULTILINE), "nothing is left"
    wait_until(lambda: not tony.processes(), "everything to end")


@pytest.mark.promise("R60")
@pytest.mark.parametrize("size", ["16k", "20k", *(f"4m,nr_inodes={count}" for count in (13, 14, 15, 16))])
def test_an_am_that_finds_no_room_says_so(tony, size):
    """The job's description fits; what the AM writes does not."""
    answer = in_small_disk(tony, size, f"{BUILD}/tony submit --conf tony.worker.instances=1 --conf tony.worker.memory=64m"
                           " --executes true")
    assert answer.returncode not in (0, 134, 139), answer.stdout
    told = f"No space left on device; make room on {tony.state} (tmpfs: "
    assert told in answer.stdout + answer.stderr and "exited with code 28" not in answer.stdout + answer.stderr
    assert all(line.count("make room") <= 1 for line in (answer.stdout + answer.stderr).splitlines())
    wait_until(lambda: not tony.processes(), "everything to end")


def test_disk_full_on_the_way(tony):
    """The program's own output fills the disk: the job ends, says so, and leaves nothing."""
    answer = in_small_disk(tony, "2m", f"{BUILD}/tony submit --conf tony.worker.instances=1"
                           " --conf tony.worker.memory=64m --src_dir " + str(PROGRAMS) +
                           " --executes 'yes | head -c 5000000; sleep 0.5; exit 0'")
    assert answer.returncode not in (134, 139), answer.stderr
    wait_until(lambda: not tony.processes(), "everything to end")


@pytest.mark.promise("R45")
def test_full_disk_fails_the_job_with_its_reason(tony):
    """The program fills the disk beside its log, until the AM cannot write the journal."""
    answer = in_small_disk(tony, "4m", f"{BUILD}/tony submit --conf tony.worker.instances=1"
                           " --conf tony.worker.memory=64m --conf tony.worker.max-restarts=1000"
                           " --conf tony.am.retry-delay=1ms"
                           " --executes 'cat /dev/zero >\"$TONY_CHECKPOINT_DIR\"/fill 2>/dev/null; exit 1'")
    assert answer.returncode == 1, answer.stdout + answer.stderr
    assert re.search(rf"journal\.jsonl: write: No space left on device; make room on {tony.state} \(tmpfs: \S+ \S+ of 4 MiB free\)",
                     answer.stdout + answer.stderr), answer.stdout + answer.stderr
    wait_until(lambda: not tony.processes(), "everything to end")


WORKERS = 8  # their records are more than the rest of the journal's last page
FILL_AND_PRINT = """#!/bin/sh
[ "$(stat -f -c %T ..)" = tmpfs ] || exit 99  # before it fills any other disk
trap '' TERM  # a task that is stopped by then has its output, too
mkdir ../../up-$TASK_INDEX
until [ $(ls -d ../../up-* | wc -l) = {workers} ]; do sleep 0.05; done
if [ $TASK_INDEX = 0 ]; then cat /dev/zero >../../fill 2>/dev/null; mkdir ../../full; fi
until [ -d ../../full ]; do sleep 0.05; done
seq 10000
"""


@pytest.mark.promise("R45", "R58")
def test_a_job_on_a_full_state_directory_tells_all_that_was_lost(tony):
    """Each task says what it lost as it exits. The first exit that finds no room in the journal ends the job."""
    own = tony.directory / "own"  # so that each task has a directory of its own
    own.mkdir()
    program = tony.directory / "program.sh"
    program.write_text(FILL_AND_PRINT.format(workers=WORKERS))
    answer = in_small_disk(tony, "4m", f"{TONY} submit --workers {WORKERS} --conf tony.worker.memory=64m --src_dir {own}"
                           f" -- sh {program}; for verb in events 'status --json'; do echo ====; {TONY} $verb; done")
    submit, events, as_json = answer.stdout.split("====\n")
    tasks = schemas.check("status", json.loads(as_json))["tasks"]
    lost = {task["task"] for task in tasks if "output_lost" in task}
    assert lost == {f"worker:{number}" for number in range(WORKERS)}, events
    before_the_end = events.partition("  job finishing")[0]
    exited = set(re.findall(r"output of (worker:\d): \d+ lines", before_the_end))
    assert exited and exited <= {task["task"] for task in tasks if task["state"] == "succeeded"}, events
    full = rf"journal\.jsonl: write: No space left on device; make room on {tony.state} \(tmpfs: 0 B of 4 MiB free\)"
    assert re.search(full, submit), submit
    assert submit.count("output were lost") >= WORKERS, submit
    wait_until(lambda: not tony.processes(), "everything to end")
