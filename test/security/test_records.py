"""The record of a job in a history that users share is its owner's: nobody acts on another user's, unless told to."""

import json
import re

import pytest

from patience import wait_until
from program import PYTHON, ROOT
from test_history import name_of, place_of, shared_store, wait_published  # noqa: F401

KEYS = {"tony.worker.instances": 1, "tony.worker.memory": "64m"}


@pytest.fixture(name="bait")
def strangers_job(machine, store):
    """An ended job of the stranger's, of which the history alone tells the owner: its id. Its command says who runs it."""
    (machine.root / "ran").mkdir()
    (machine.root / "ran").chmod(0o1777)
    job = machine.stranger.submit({**KEYS, "tony.worker.command": f"touch {machine.root}/ran/$(id -u); echo bait"},
                                  "--name", "bait", "--tag", "shared")
    wait_published(machine.stranger, store, job)
    assert runners(machine) == [str(machine.stranger.uid)]
    return job


def runners(machine):
    """The uids that the command of the bait ran as."""
    return sorted(path.name for path in (machine.root / "ran").iterdir())


ACTS = {
    "rerun": ["rerun", "JOB"],
    "rerun with another command": ["rerun", "JOB", "--", "true"],
    "rerun from the checkpoints": ["rerun", "--resume", "JOB"],
    "wait": ["wait", "JOB"],
    "after": ["submit", "--after", "JOB", "--", "true"],
    "results": ["results", "JOB"],
    "results to a directory": ["results", "--output", "out", "JOB"],
    "bundle": ["bundle", "JOB"],
    "advise": ["advise", "--xml", "JOB"],
    "open": ["open", "JOB"],
    "kill": ["kill", "JOB"],
    "restart": ["restart", "JOB", "worker:0"],
    "scale": ["scale", "JOB", "worker=2"],
    "release": ["release", "JOB"],
    "exec": ["exec", "JOB", "worker:0", "--", "true"],
    "cp": ["cp", "JOB/worker:0:file", "."],
    "ssh-config": ["ssh-config", "JOB"],
    "port-forward": ["port-forward", "JOB", "worker:0", "80"],
    "stacks": ["stacks", "JOB"],
}


@pytest.mark.promise("S130")
@pytest.mark.parametrize("words", ACTS.values(), ids=ACTS)
def test_no_verb_acts_on_another_users_record(machine, bait, words):
    answer = machine.owner.tony(*[word.replace("JOB", bait) for word in words], cwd=machine.owner.home)
    assert answer.returncode == 6, answer
    assert f"{bait}: its record is not acted upon: it is {name_of(machine.stranger)}'s" in answer.stderr
    assert machine.owner.run("ls", machine.owner.home / "out", f"{bait}.tar.gz", cwd=machine.owner.home).stdout == ""
    assert runners(machine) == [str(machine.stranger.uid)]
    assert machine.owner.tony("list", "--all", "--output", "name", "--user", name_of(machine.owner)).stdout == ""


@pytest.mark.promise("S130")
@pytest.mark.parametrize("words", [["rerun"], ["wait"], ["results"], ["advise"], ["bundle"]], ids=lambda words: words[0])
def test_a_record_is_taken_as_it_is_with_the_name_of_its_user(machine, bait, words):
    wrong = machine.owner.tony(*words, "--of", "nobody", bait, cwd=machine.owner.home)
    assert wrong.returncode == 4 and "--of nobody" in wrong.stderr or "no job" in wrong.stderr, wrong
    answer = machine.owner.tony(*words, "--of", name_of(machine.stranger), bait, cwd=machine.owner.home)
    assert answer.returncode == 0, answer
    uids = [machine.owner.uid, machine.stranger.uid] if words == ["rerun"] else [machine.stranger.uid]
    assert runners(machine) == [str(uid) for uid in uids]


@pytest.mark.promise("S131")
@pytest.mark.parametrize("words", [["status", "JOB"], ["events", "JOB"], ["logs", "JOB"], ["metrics", "JOB"], ["compare", "JOB", "own"],
                                   ["list", "--all"], ["history"]], ids=lambda words: words[0])
def test_a_verb_that_shows_another_users_job_says_whose_it_is(machine, bait, words):
    machine.owner.wait_end(machine.owner.submit({**KEYS, "tony.worker.command": "true"}, "--name", "own"))
    answer = machine.owner.tony(*[word.replace("JOB", bait) for word in words])
    assert answer.returncode == 0, answer
    assert name_of(machine.stranger) in answer.stdout + answer.stderr


@pytest.mark.promise("S130")
def test_an_own_record_is_acted_upon_whatever_others_have_put_beside_it(machine, store):
    """Of the owner's job its record alone is left. The stranger has put entries of that id into the days around."""
    job = machine.owner.submit({**KEYS, "tony.worker.command": "echo own"})
    wait_published(machine.owner, store, job)
    assert machine.owner.run("rm", "-rf", machine.owner.state / "jobs" / job).returncode == 0
    for day in ("2026/11/01", "2099/01/01"):
        made = machine.stranger.run("sh", "-c", 'umask 022; mkdir -p "$2" && cp -r "$1" "$2"', "sh", store / place_of(job), store / day)
        assert made.returncode == 0, made.stderr
    assert machine.owner.tony("wait", job).returncode == 0
    answer = machine.owner.tony("rerun", job)
    assert answer.returncode == 0, answer
    assert machine.owner.tony("status", job).stderr == ""


@pytest.mark.promise("S130")
def test_a_record_that_took_the_place_of_a_removed_one_is_not_the_users(machine, store):
    job = machine.owner.submit({**KEYS, "tony.worker.command": "true"}, "--name", "precious")
    wait_published(machine.owner, store, job)
    assert machine.owner.run("rm", "-rf", machine.owner.state / "jobs" / job, store / place_of(job)).returncode == 0
    other = machine.stranger.submit({**KEYS, "tony.worker.command": f"touch {machine.root}/evil"})
    wait_published(machine.stranger, store, other)
    forge = ("import pathlib, shutil, sys; old, new, place, target, user = sys.argv[1:]; shutil.copytree(place, target); "
             "[path.write_text(path.read_text().replace(old, new).replace(user, 'owner')) for path in map(pathlib.Path(target).joinpath, "
             "('job.json', 'summary.json'))]")
    made = machine.stranger.run(PYTHON, "-c", forge, other, job, store / place_of(other), store / place_of(job), name_of(machine.stranger))
    assert made.returncode == 0, made.stderr
    for words in (["rerun", job], ["wait", job], ["submit", "--after", job, "--", "true"]):
        answer = machine.owner.tony(*words)
        assert answer.returncode == 6 and f"it is {name_of(machine.stranger)}'s" in answer.stderr, answer
    assert machine.owner.tony("wait", "precious").returncode == 4  # a name finds none but this user's
    assert not (machine.root / "evil").exists()


@pytest.mark.promise("S189")
def test_in_a_user_namespace_nobodys_record_is_not_believed(machine, store, bait):
    """The location's owner and the stranger are one user there to the kernel."""
    path = store / place_of(bait) / "summary.json"
    forged = machine.stranger.run("sed", "-i", f's/"user": *"[^"]*"/"user": "{machine.owner.name}"/', path)
    assert forged.returncode == 0 and '"owner"' in machine.stranger.read(path), forged
    answer = machine.owner.tony_contained("rerun", bait)
    assert answer.returncode == 6 and "its record is not acted upon: it is (nobody)'s" in answer.stderr, answer
    assert runners(machine) == [str(machine.stranger.uid)]


@pytest.mark.promise("S130")
def test_an_own_record_to_which_others_can_write_is_not_acted_upon(machine, store):
    job = machine.owner.submit({**KEYS, "tony.worker.command": "true"})
    wait_published(machine.owner, store, job)
    assert machine.owner.run("rm", "-rf", machine.owner.state / "jobs" / job).returncode == 0
    assert machine.owner.run("chmod", "777", store / place_of(job)).returncode == 0
    answer = machine.owner.tony("rerun", job)
    assert answer.returncode == 6 and "others than" in answer.stderr and f"--of {name_of(machine.owner)}" in answer.stderr, answer
    assert machine.owner.tony("rerun", "--of", name_of(machine.owner), job).returncode == 0


@pytest.mark.promise("S130")
def test_a_publishers_record_of_this_users_job_is_this_users(machine, store):
    job = machine.owner.submit({**KEYS, "tony.worker.command": "true"})
    wait_published(machine.owner, store, job)
    assert machine.owner.run("rm", "-rf", machine.owner.state / "jobs" / job).returncode == 0
    machine.run("chown", "-R", "root:root", store / place_of(job))  # as a service of the location's owner publishes it
    summary = json.loads((store / place_of(job) / "summary.json").read_text())
    (store / place_of(job) / "summary.json").write_text(json.dumps({**summary, "user": name_of(machine.owner)}))
    assert machine.owner.tony("rerun", job).returncode == 0
    assert machine.stranger.tony("rerun", job).returncode == 6


def python(user, code, *words):
    """With the package `tony` in a place that everybody can read."""
    package = user.machine.root / "package"
    if not package.exists():
        user.machine.run("cp", "-r", ROOT / "python", package)
        user.machine.run("cp", ROOT / "meson.build", user.machine.root)  # which has the version
        user.machine.run("chmod", "-R", "a+rX", package, user.machine.root / "meson.build")
    return user.run(PYTHON, "-c", code, *words, env={"PYTHONPATH": str(package), "TONY_PROGRAM": str(user.machine.bin / "tony"),
                                                    "PYTHONDONTWRITEBYTECODE": "1"})


@pytest.mark.promise("S130")
def test_python_takes_no_value_of_another_users_job_and_lists_none(machine, bait):
    answer = python(machine.owner, "import sys, tony; tony.Job(sys.argv[1]).value()", bait)
    assert f"Denied: {bait}: its record is not acted upon" in answer.stderr, answer
    answer = python(machine.owner, "import sys, tony; print(tony.jobs(all=True), tony.jobs(all=True, tag='shared'))")
    assert answer.stdout == "[] []\n", answer
    listed = json.loads(machine.owner.tony("list", "--all", "--json").stdout)
    assert [(job["id"], job["user"], job["own"]) for job in listed] == [(bait, name_of(machine.stranger), False)]


@pytest.mark.promise("S130")
def test_python_reads_no_value_in_a_directory_that_another_user_has_made(machine, store):
    """As in a directory for all, once the owner's results were removed."""
    results = machine.root / "results"
    machine.run("install", "-d", "-m", "1777", results)
    submit = ("import tony; job = tony.submit(['true'], memory='64m', conf={'tony.application.output-dir': '%s'}); job.wait(); print(job.id)"
              % results)
    job = python(machine.owner, submit).stdout.strip()
    machine.jobs.append((machine.owner, job))
    assert machine.owner.run("rm", "-rf", results / job).returncode == 0
    payload = "import os; os.system('touch %s/evil')" % machine.root
    plant = ("import json, pathlib, pickle, sys\nclass Evil:\n def __reduce__(self): return exec, (sys.argv[2],)\n"
             "place = pathlib.Path(sys.argv[1]) / 'driver-0/.tony'; place.mkdir(parents=True)\n"
             "head = {'kind': 'value', 'ran': [1, 1, 1], 'python': list(sys.version_info[:2])}\n"
             "(place / 'outcome-0').write_bytes(json.dumps(head).encode() + b'\\n' + pickle.dumps(Evil()))")
    assert machine.stranger.run(PYTHON, "-c", plant, results / job, payload).returncode == 0
    answer = python(machine.owner, "import sys, tony; print(tony.Job(sys.argv[1]).value())", job)
    assert f"Denied: {results}/{job} belongs to uid {machine.stranger.uid}" in answer.stderr, answer
    assert not (machine.root / "evil").exists()


@pytest.mark.promise("S130")
def test_a_job_that_waits_believes_no_other_users_record(machine, store):
    """The awaited job's folder is lost with its processes: its record in the history is the stranger's, and says that it succeeded."""
    first = machine.owner.submit({**KEYS, "tony.worker.command": "sleep 600"})
    machine.owner.wait_task(first, "worker:0")
    second = machine.owner.submit({**KEYS, "tony.worker.command": f"touch {machine.root}/begun"}, "--after", first)
    wait_until(lambda: machine.owner.status(second).get("waiting"), "the second job to wait")
    other = machine.stranger.submit({**KEYS, "tony.worker.command": "true"})
    wait_published(machine.stranger, store, other)
    forge = ("import pathlib, shutil, sys; old, new, place, target = sys.argv[1:]; shutil.copytree(place, target); "
             "path = pathlib.Path(target, 'summary.json'); path.write_text(path.read_text().replace(old, new))")
    made = machine.stranger.run(PYTHON, "-c", forge, other, first, store / place_of(other), store / place_of(first))
    assert made.returncode == 0, made.stderr
    folder = machine.owner.state / "jobs" / first
    assert machine.owner.run("mv", folder, machine.owner.home / "lost").returncode == 0
    status = machine.owner.wait_end(second)
    assert machine.owner.run("mv", machine.owner.home / "lost", folder).returncode == 0
    assert status["message"] == f"canceled: job {first}, after which it was to begin, is gone, and how it ended is not known"
    assert not (machine.root / "begun").exists()
