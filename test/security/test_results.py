"""Results that the owner brings to a directory in which the stranger may write, too."""

import pytest

FILES = 200
FETCHES = 15  # each a chance for the link


@pytest.fixture(name="shared")
def shared_directory(machine):
    machine.run("install", "-d", "-m", "1777", machine.root / "scratch")
    return machine.root / "scratch"


def job_with_results(user, files=1):
    job = user.submit({"tony.worker.instances": 1, "tony.worker.memory": "64m",
                       "tony.worker.command": f'for i in $(seq {files}); do echo $i > "$TONY_OUTPUT_DIR/$i"; done'})
    assert user.wait_end(job)["state"] == "succeeded"
    return job


@pytest.mark.promise("S172")
@pytest.mark.parametrize("inside", ["", "/worker-0"], ids=["the-jobs-directory", "a-tasks-directory"])
def test_results_do_not_come_to_a_strangers_directory(machine, shared, inside):
    job = job_with_results(machine.owner)
    maker = machine.owner if inside else machine.stranger
    for user, path in ((maker, shared / job), (machine.stranger, shared / f"{job}{inside}")):
        made = user.run("sh", "-c", 'umask 0; mkdir -p "$1"', "sh", path)
        assert made.returncode == 0, made.stderr
    answer = machine.owner.tony("results", job, "--output", shared)
    assert answer.returncode == 6, answer.stdout + answer.stderr
    assert f"{shared / job}{inside} belongs to uid-{machine.stranger.uid}" in answer.stderr and "name another place" in answer.stderr
    assert machine.run("find", shared, "-type", "f").stdout == "", "nothing was written"


@pytest.mark.promise("S172")
def test_results_do_not_follow_a_link_that_comes_and_goes(machine, shared):
    job = job_with_results(machine.owner, FILES)
    target = machine.owner.home / "precious"
    assert machine.owner.run("sh", "-c", 'mkdir "$1"; umask 0; mkdir "$2"', "sh", target, shared / job).returncode == 0
    flipper, said = machine.stranger.attack("flip", shared / job / "worker-0", target)
    assert said == "flipping"
    for _ in range(FETCHES):
        assert machine.owner.tony("results", job, "--output", shared).returncode in (6, 70)
    assert flipper.poll() is None
    assert machine.owner.run("ls", "-A", target).stdout == ""
