"""The record of a job in a history that users share is its owner's: nobody acts on another user's, unless told to."""

import json
from datetime import datetime, timedelta, timezone

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


@pytest.fixture(name="days", autouse=True)
def roots_days(machine, store):
    """The set-up of docs/history.md: root makes the days ahead."""
    for day in range(2):
        place = store
        for part in (datetime.now(timezone.utc) + timedelta(days=day)).strftime("%Y/%m/%d").split("/"):
            place = place / part
            machine.run("install", "-d", "-o", "root", "-m", "1777", place)


def runners(machine):
    """The uids that the command of the bait ran as."""
    return sorted(path.name for path in (machine.root / "ran").iterdir())


ACTS = {
    "rerun": ["rerun", "JOB"],
    "rerun with another command": ["rerun", "JOB", "--", "true"],
    "rerun from the checkpoints": ["rerun", "--resume", "JOB"],
    "wait": ["wait", "JOB"],
    "attach": ["attach", "JOB"],
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
    "renew": ["renew", "JOB"],
    "notebook": ["notebook", "JOB"],
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
    assert f"{bait}: this job's record belongs to {name_of(machine.stranger)}, so tony does not use it" in answer.stderr
    assert machine.owner.run("ls", machine.owner.home / "out", f"{bait}.tar.gz", cwd=machine.owner.home).stdout == ""
    assert runners(machine) == [str(machine.stranger.uid)]
    assert machine.owner.tony("list", "--all", "--output", "name", "--user", name_of(machine.owner)).stdout == ""


@pytest.mark.promise("S130")
@pytest.mark.parametrize("words", [["rerun"], ["wait"], ["results"], ["advise"], ["bundle"]], ids=lambda words: words[0])
def test_a_record_is_taken_as_it_is_with_the_name_of_its_user(machine, bait, words):
    wrong = machine.owner.tony(*words, "--of", "nobody", bait, cwd=machine.owner.home)
    assert wrong.returncode == 4 and ("--of nobody" in wrong.stderr or "no job" in wrong.stderr), wrong
    answer = machine.owner.tony(*words, "--of", name_of(machine.stranger), bait, cwd=machine.owner.home)
    assert answer.returncode == 0, answer
    uids = [machine.owner.uid, machine.stranger.uid] if words == ["rerun"] else [machine.stranger.uid]
    assert runners(machine) == [str(uid) for uid in uids]
    assert machine.owner.tony(*words, "--of", str(machine.stranger.uid), bait, cwd=machine.owner.home).returncode == 0, "a uid will do"


@pytest.mark.promise("S130")
def test_another_users_array_is_his(machine, store):
    array = machine.stranger.tony("submit", "--array", "1-2", "--memory", "64m", "--", "true").stdout.split()[0]
    assert array.startswith("array-") and machine.stranger.tony("wait", array).returncode == 0
    for job in machine.stranger.tony("list", "--all", "--each", "--output", "name").stdout.split():
        wait_published(machine.stranger, store, job)
    for words in (["status"], ["wait"], ["logs"], ["rm"], ["rerun"], ["kill"]):
        answer = machine.owner.tony(*words, array, cwd=machine.owner.home)
        assert answer.returncode == 6 and f"{array} is {name_of(machine.stranger)}'s" in answer.stderr, (words, answer)
    assert machine.owner.tony("list", "--all", "--each", array).stdout.count(name_of(machine.stranger)) == 2


def test_that_checkpoints_cannot_be_read_is_not_that_there_are_none(machine, bait):
    answer = machine.owner.tony("rerun", "--resume", "--of", name_of(machine.stranger), bait, cwd=machine.owner.home)
    assert answer.returncode == 6 and "you may not read them" in answer.stderr, answer


@pytest.mark.promise("S131")
@pytest.mark.parametrize("words", [["status", "JOB"], ["events", "JOB"], ["logs", "JOB"], ["metrics", "JOB"], ["compare", "JOB", "own"],
                                   ["list", "--all"], ["history"]], ids=lambda words: words[0])
def test_a_verb_that_shows_another_users_job_says_whose_it_is(machine, bait, words):
    machine.owner.wait_end(machine.owner.submit({**KEYS, "tony.worker.command": "true"}, "--name", "own"))
    answer = machine.owner.tony(*[word.replace("JOB", bait) for word in words])
    assert answer.returncode == 0, answer
    assert name_of(machine.stranger) in answer.stdout + answer.stderr


@pytest.mark.promise("S131")
@pytest.mark.parametrize("variable", ["USER", "LOGNAME", "HADOOP_USER_NAME"])
def test_a_name_in_the_environment_makes_no_job_ones_own(machine, bait, variable):
    env = {"USER": "", variable: name_of(machine.stranger)}
    for words in (["status", bait], ["events", bait], ["logs", bait], ["metrics", bait], ["list", "--all"]):
        answer = machine.owner.tony(*words, env=env)
        assert answer.returncode == 0 and name_of(machine.stranger) in answer.stdout + answer.stderr, (words, answer)
    assert machine.owner.tony("list", "--all", "--output", "name", env=env).stdout == ""
    for words in (["rerun", bait], ["wait", bait], ["results", bait], ["rm", bait]):
        assert machine.owner.tony(*words, env=env).returncode == 6, words
    own = machine.owner.submit({**KEYS, "tony.worker.command": "true"}, env=env)
    assert machine.owner.wait_end(own)["user"] == name_of(machine.owner)


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
        assert answer.returncode == 6 and f"record belongs to {name_of(machine.stranger)}" in answer.stderr, answer
    assert machine.owner.tony("wait", "precious").returncode == 4  # a name finds none but this user's
    assert not (machine.root / "evil").exists()


@pytest.mark.promise("S189")
def test_in_a_user_namespace_nobodys_record_is_not_believed(machine, store, bait):
    """The location's owner and the stranger are one user there to the kernel."""
    path = store / place_of(bait) / "summary.json"
    forged = machine.stranger.run("sed", "-i", f's/"user": *"[^"]*"/"user": "{machine.owner.name}"/', path)
    assert forged.returncode == 0 and '"owner"' in machine.stranger.read(path), forged
    answer = machine.owner.tony_contained("rerun", bait)
    assert answer.returncode == 6 and "this job's record belongs to (nobody), so tony does not use it" in answer.stderr, answer
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
def test_an_own_record_in_another_users_day_is_not_acted_upon(machine, store):
    """The owner of the day can put it there, or another of the user's in its place."""
    good = machine.owner.submit({**KEYS, "tony.worker.command": "true"})
    bad = machine.owner.submit({**KEYS, "tony.worker.command": "false"})
    for job in (good, bad):
        wait_published(machine.owner, store, job)
        assert machine.owner.run("rm", "-rf", machine.owner.state / "jobs" / job).returncode == 0
    machine.run("chown", machine.stranger.uid, (store / place_of(bad)).parent)
    answer = machine.owner.tony("rerun", good)
    assert answer.returncode == 6 and f"is {name_of(machine.stranger)}'s, who can replace what" in answer.stderr, answer
    swap = machine.stranger.run("sh", "-c", 'mv "$1" "$1.h" && mv "$2" "$1" && mv "$1.h" "$2"', "sh", store / place_of(bad), store / place_of(good))
    assert swap.returncode == 0, swap.stderr
    for words in (["wait", bad], ["wait", "--of", name_of(machine.owner), bad], ["rerun", bad], ["submit", "--after", bad, "--", "true"]):
        answer = machine.owner.tony(*words)
        assert answer.returncode not in (0, 1) and "the job in it is another" in answer.stderr, answer
    swap = machine.stranger.run("sh", "-c", 'mv "$1" "$1.h" && mv "$2" "$1" && mv "$1.h" "$2"', "sh", store / place_of(bad), store / place_of(good))
    assert machine.owner.tony("wait", "--of", name_of(machine.owner), bad).returncode == 1


@pytest.mark.promise("S175")
def test_damaged_entries_of_others_are_no_flood(machine, store):
    made = machine.stranger.run("sh", "-c", 'umask 022; for i in $(seq 50); do mkdir -p "$1/tony-20261121-000000-$i" && '
                                'echo "{" > "$1/tony-20261121-000000-$i/summary.json"; done', "sh", (store / place_of("tony-20261121-000000-1")).parent)
    assert made.returncode == 0, made.stderr
    for words, most in ((["list", "--all"], 1), (["history"], 2), (["rerun", "nosuch"], 1), (["rm", "nosuch"], 2)):
        assert len(machine.owner.tony(*words).stderr.splitlines()) <= most, words


@pytest.mark.promise("S130")
def test_a_record_of_another_user_is_found_by_its_name_with_of(machine, bait):
    own = machine.owner.submit({**KEYS, "tony.worker.command": "true"}, "--name", "bait")
    machine.owner.wait_end(own)
    answer = machine.owner.tony("wait", "--of", name_of(machine.stranger), "bait")
    assert answer.returncode == 0 and answer.stdout.startswith(bait), answer
    begun = machine.owner.tony("wait", own[:-2])
    assert begun.returncode == 0 and begun.stdout.startswith(own), begun


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
    assert f"Denied: {bait}: this job's record belongs to" in answer.stderr, answer
    assert f'to use it anyway: tony.Job(..., of="{name_of(machine.stranger)}")' in answer.stderr, answer
    answer = python(machine.owner, "import sys, tony; print(tony.jobs(all=True), tony.jobs(all=True, tag='shared'))")
    assert answer.stdout == "[] []\n", answer
    listed = json.loads(machine.owner.tony("list", "--all", "--json").stdout)
    assert [(job["id"], job["user"], job["own"]) for job in listed] == [(bait, name_of(machine.stranger), False)]


TAKES = """
import asyncio, sys, tony, tony.aio
bait, user, uid = sys.argv[1:]
def refusal(kind, ask, *words):
    try:
        ask(*words)
    except kind as error:
        return str(error)
    raise AssertionError(f"{ask} was not refused")
job = tony.Job(bait)
for ask in (job.wait, job.results, job.advice, job.rerun, job.kill, job.release):
    refusal(tony.Denied, ask)
job = tony.Job(bait, of=user)
for ask in (job.kill, job.release, job.remove, job.value, job.values):
    refusal(tony.Denied, ask)
print(refusal(tony.Denied, job.value))
assert job.wait().succeeded and job.results() and isinstance(job.advice(), list)
assert tony.Job(bait, of=uid).of == user
print(refusal(tony.NotFound, lambda: tony.Job(bait, of="nobody")))
for nobody in ("", 7):
    refusal(tony.BadSubmission, lambda: tony.Job(bait, of=nobody))
async def look():
    job = await tony.aio.find(bait, of=user)
    assert (await job.wait()).succeeded and await job.results() and isinstance(await job.advice(), list)
    try:
        await job.value()
    except tony.Denied:
        pass
    else:
        raise AssertionError("unpickled")
    for wrong in (tony.aio.find(bait, of="nobody"), tony.aio.Job(bait, of="nobody").wait()):
        try:
            await wrong
        except tony.NotFound:
            continue
        raise AssertionError("taken")
asyncio.run(look())
again = job.rerun()
print(again.id, again.of)
again.wait()
"""


@pytest.mark.promise("S130")
def test_python_takes_a_record_with_the_name_of_its_user_and_no_value(machine, bait):
    user = name_of(machine.stranger)
    answer = python(machine.owner, TAKES, bait, user, machine.stranger.uid)
    assert answer.returncode == 0, answer
    value, wrong, again = answer.stdout.splitlines()
    assert value.startswith(f"{bait} is {user}'s: to unpickle its value would run what {user} wrote as you")
    assert wrong == f"{bait} is {user}'s, and not nobody's"
    machine.jobs.append((machine.owner, again.split()[0]))
    assert again.split()[1] == "None" and runners(machine) == [str(machine.owner.uid), str(machine.stranger.uid)]


PLANT = """
import json, os, pathlib, pickle, sys
place, target, payload = sys.argv[1:]
class Evil:
    def __reduce__(self):
        return exec, (payload,)
os.umask(0o022)
if target != place:
    os.symlink(target, place)
folder = pathlib.Path(target, 'driver-0/.tony')
folder.mkdir(parents=True)
head = {'kind': 'value', 'ran': [1, 1, 1], 'python': list(sys.version_info[:2])}
(folder / 'outcome-0').write_bytes(json.dumps(head).encode() + b'\\n' + pickle.dumps(Evil()))
"""


@pytest.mark.promise("S132")
@pytest.mark.parametrize("made", ["all of it", "a link", "a task's directory", "a task's directory in root's"])
def test_python_reads_no_value_that_another_user_has_left(machine, store, made):
    """As in a directory for all, once the owner's results were removed."""
    results, everybodys = machine.root / "results", machine.root / "everybodys"
    machine.run("install", "-d", "-m", "1777", results, everybodys)
    submit = ("import tony; job = tony.submit(['true'], memory='64m', conf={'tony.application.output-dir': '%s'}); job.wait(); print(job.id)"
              % results)
    job = python(machine.owner, submit).stdout.strip()
    machine.jobs.append((machine.owner, job))
    assert machine.owner.run("rm", "-rf", results / job).returncode == 0
    if made == "a task's directory":
        assert machine.owner.run("sh", "-c", 'umask 0; mkdir "$1"', "sh", results / job).returncode == 0
    if made == "a task's directory in root's":
        machine.run("install", "-d", "-m", "1777", results / job)
    payload = "import os; os.system('touch %s/evil')" % machine.root
    target = everybodys if made == "a link" else results / job
    planted = machine.stranger.run(PYTHON, "-c", PLANT, results / job, target, payload)
    assert planted.returncode == 0, planted.stderr
    for module, ask in (("tony", "tony.Job(sys.argv[1]).value()"), ("asyncio, tony.aio", "asyncio.run(tony.aio.Job(sys.argv[1]).value())")):
        answer = python(machine.owner, f"import sys, {module}; print({ask})", job)
        assert f"Denied: {results / job}" in answer.stderr and "nothing is read" in answer.stderr, answer
        assert (f"uid {machine.stranger.uid}" in answer.stderr) == (not made.endswith("root's")), answer
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


@pytest.mark.promise("S193")
def test_a_record_whose_end_is_cut_is_not_waited_for(machine, store, bait):
    events = store / place_of(bait) / "events.jsonl"
    cut = machine.stranger.run("sh", "-c", 'head -n 3 "$1" > "$1.new" && cat "$1.new" > "$1"', "sh", events)
    assert cut.returncode == 0, cut.stderr
    answer = machine.owner.tony("wait", "--of", name_of(machine.stranger), bait)
    assert answer.returncode not in (0, 124) and "the record of its end is cut or damaged" in answer.stderr, answer
