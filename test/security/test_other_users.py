"""A stranger sees nothing of a job but the names of its processes, and a user without rights leaves none behind."""

from pathlib import Path

import pytest

from conftest import PYTHON, wait_until


@pytest.mark.promise("S54")
def test_no_argument_list_shows_a_value_of_the_environment(machine):
    path = machine.owner.write("job.env", "IN_FILE=hidden-in-file\n")
    client = machine.owner.start(machine.bin / "tony", "submit", "--env-file", path, "-e", "TAKEN", "--",
                                 "sh", "-c", 'echo "$IN_FILE $TAKEN"; sleep 600', env={"TAKEN": "hidden-taken"})
    # The client watches the job by now.
    wait_until(lambda: "hidden-in-file hidden-taken" in machine.owner.run(
        "sh", "-c", f"cat {machine.owner.state}/jobs/*/containers/*/stdout").stdout, "the program to have its environment")
    machine.jobs.append((machine.owner, machine.owner.run("ls", machine.owner.state / "jobs").stdout.strip()))
    seen = machine.stranger.run("sh", "-c", "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null").stdout
    assert "--env-file" in seen and "hidden" not in seen
    assert client.poll() is None


@pytest.mark.promise("S23")
def test_a_strangers_find_meets_no_file_of_a_job(machine):
    """The state directory is one that everybody may enter, so nothing but tony's own modes is in the way."""
    owner, stranger = machine.owner, machine.stranger
    owner.state = machine.root / "state"
    owner.env["TONY_STATE_DIR"] = str(owner.state)
    machine.run("install", "-d", "-m", "755", "-o", owner.uid, "-g", owner.uid, owner.state)
    job = owner.submit({"tony.worker.instances": 1, "tony.worker.memory": "64m",
                        "tony.worker.command": "echo hidden; umask 0; touch made; sleep 600"},
                       "--src_dir", owner.write("src/program", "").parent)
    owner.wait_task(job, "worker:0")
    portal = owner.start(machine.bin / "tony", "portal", "--listen", "127.0.0.1:0")
    assert "http://" in portal.stdout.readline()
    names = {path.rsplit("/", 1)[-1] for path in owner.run("find", owner.state).stdout.split()}
    assert names >= {"token", "job.json", "journal.jsonl", "am.log", "stdout", "made", "checkpoint", "index.sqlite"}
    assert not stranger.run("find", owner.state, "-type", "f", "-readable").stdout
    assert not stranger.run("find", owner.state, "-mindepth", "1", "-type", "d", "-executable").stdout
    assert stranger.read(owner.state / "jobs" / job / "token") is None


@pytest.mark.promise("R50")
@pytest.mark.parametrize("is_killed", [False, True], ids=["ended", "killed"])
def test_escaped_processes_end_with_the_job_of_a_user_without_control_groups(machine, is_killed):
    owner = machine.owner
    program = machine.copy(Path(__file__).parents[1] / "e2e/programs/escape.py")
    job = owner.submit({"tony.worker.instances": 2, "tony.worker.stop-grace": "200ms", "tony.worker.memory": "64m",
                        "tony.worker.command": f"{PYTHON} {program}{'' if is_killed else ' --exit'}"})
    if is_killed:
        wait_until(lambda: all("left" in owner.logs(job, f"worker:{index}") for index in range(2)), "both programs to fork")
        assert owner.tony("kill", job).returncode == 0
    assert owner.wait_end(job)["state"] == ("killed" if is_killed else "succeeded")
    wait_until(lambda: not owner.run("pgrep", "--uid", owner.uid, "--full", "escape.py").stdout, "the escaped processes to end")
