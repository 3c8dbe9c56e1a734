"""A stranger sees nothing of a job but the names of its processes."""

import pytest

from conftest import wait_until


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
