"""`tony rm`, `tony clean` and age where others have their part: a shared history, and links in directories of jobs."""

import json
import re
from datetime import datetime, timezone

import pytest
from patience import wait_until
from test_history import forge, name_of, place_of, shared_store, submit, take_days, wait_published  # noqa: F401 (a fixture)


@pytest.mark.promise("S45")
def test_nothing_of_another_users_history_is_removed(machine, store):
    owner, stranger = machine.owner, machine.stranger
    own, foreign = submit(owner, "true"), submit(stranger, "true")
    for user, job in ((owner, own), (stranger, foreign)):
        wait_published(user, store, job)
        user.wait_end(job)
    forged = re.sub("[0-9a-f]{8}$", "00000000", own)
    forge(stranger, store, forged, "owner")
    for job in (forged, foreign):
        owner.tony("rm", job)
    answer = owner.tony("clean", "--older-than", "0s", "--history")
    assert answer.returncode == 0 and "1 job removed" in answer.stdout, answer.stdout + answer.stderr
    assert owner.read(store / place_of(own) / "summary.json") is None
    assert owner.run("ls", owner.state / "jobs").stdout == ""
    machine.jobs.remove((owner, own))
    for job in (forged, foreign):
        assert stranger.read(store / place_of(job) / "summary.json")
    assert stranger.status(foreign)["state"] == "succeeded"


@pytest.mark.promise("S45")
def test_links_that_programs_left_lead_no_removal_elsewhere(machine, store):
    """A program puts links in the place of all that is removed: the directories of its containers, logs, its sources."""
    owner = machine.owner
    data = owner.write("data/work/stdout", "mine").parent.parent
    owner.write("data/stdout", "mine")
    hostile = (f'cd "$TONY_CHECKPOINT_DIR/.." && ln -s {data} containers/evil-0-1 && ln -s {data} files && '
               f'ln -s {data}/stdout am.log.1 && ln -s {data} output')
    job = submit(owner, hostile)
    assert owner.wait_end(job)["state"] == "succeeded"
    wait_published(owner, store, job)
    folder = owner.state / "jobs" / job
    owner.run("rm", owner.state / "upkeep-local")
    owner.run("touch", "-d", "2 days ago", folder / "journal.jsonl")
    answer = owner.tony("submit", "--conf", "tony.jobs.max-age=1d", "--conf", "tony.worker.instances=1",
                        "--conf", "tony.worker.memory=64m", "--", "true")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    wait_until(lambda: owner.run("test", "-s", folder / "cleared").returncode == 0, "the job to be cleared")
    assert owner.run("readlink", folder / "containers/evil-0-1").returncode == 0
    assert owner.run("ls", folder).stdout.split().count("files") == 0
    assert owner.tony("rm", job).returncode == 0
    machine.jobs.remove((owner, job))
    assert owner.read(data / "stdout") == owner.read(data / "work/stdout") == "mine"


def publish(user, store, command="true"):
    """A job that has ended and is in the history, and nowhere else; its id."""
    job = submit(user, command)
    wait_published(user, store, job)
    user.wait_end(job)
    wait_until(lambda: user.run("rm", "-r", user.state / "jobs" / job).returncode == 0, "the folder of the job to be gone")
    user.machine.jobs.remove((user, job))
    return job


def as_root(machine, *arguments):
    """`tony` of the machine's root."""
    home = machine.root / "root"
    machine.run("install", "-d", "-m", "700", home)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "USER": "root", "LANG": "C.UTF-8", "TONY_LEDGER_DIR": str(machine.ledger)}
    return machine.run(machine.bin / "tony", *arguments, env=env)


def set_bytes(user, store, job, size):
    """The user's own entry says that it takes so much."""
    summary = store / place_of(job) / "summary.json"
    changed = json.dumps({**json.loads(user.read(summary)), "bytes": size})
    path = user.write("changed.json", changed)
    assert user.run("sh", "-c", 'cat "$1" > "$2"', "sh", path, summary).returncode == 0


@pytest.mark.promise("S141")
def test_the_size_that_a_stranger_claims_removes_nothing_of_others(machine, store):
    owner, stranger = machine.owner, machine.stranger
    own, foreign, sly = publish(owner, store), publish(stranger, store), publish(stranger, store)
    set_bytes(stranger, store, foreign, 9 * 10**15)
    set_bytes(stranger, store, sly, 1)
    answer = as_root(machine, "history", "--prune", "--location", store, "--max-size", "10g")
    assert "0 removed, 3 kept" in answer.stdout, answer.stdout
    large = stranger.run("sh", "-c", 'dd if=/dev/zero of="$1/logs" bs=1M count=3', "sh", store / place_of(sly))
    assert large.returncode == 0, large.stderr
    answer = as_root(machine, "history", "--prune", "--location", store, "--max-size", "1m")
    told = rf"{store / place_of(sly)} of \S+, 3.*: removed, the oldest of the user whose histories take most"
    assert re.search(told, answer.stdout), answer.stdout
    assert owner.read(store / place_of(own) / "summary.json")
    assert stranger.read(store / place_of(sly) / "summary.json") is None


@pytest.mark.promise("S142")
@pytest.mark.parametrize("remover", ["owner", "root"])
def test_an_entry_that_the_days_owner_renames_is_no_leftover(machine, store, remover):
    take_days(machine, store, ["mkdir", "-m", "1777"])
    owner, stranger = machine.owner, machine.stranger
    renamed, removed = publish(owner, store), publish(owner, store)
    entry = store / place_of(renamed)
    hidden = entry.parent / f".{renamed}.removed"
    assert stranger.run("mv", entry, hidden).returncode == 0
    if remover == "owner":
        assert owner.tony("rm", removed).returncode == 0
    else:
        answer = as_root(machine, "submit", "--memory", "64m", "--conf", f"tony.history.location={store}", "--", "true")
        own = re.search(r"tony-\d{8}-\d{6}-[0-9a-f]+", answer.stdout).group()
        wait_until(lambda: (store / place_of(own)).is_dir(), "the history of root's job")
        assert str(store) in as_root(machine, "rm", own).stdout
    assert owner.read(hidden / "summary.json")
    assert stranger.run("mv", hidden, entry).returncode == 0
    assert owner.status(renamed)["state"] == "succeeded"


@pytest.mark.promise("S142")
@pytest.mark.parametrize("moved", ["day-as-removed", "old-day", "roots-day", "data-as-removed", "old-data"])
def test_root_prunes_no_directory_that_a_stranger_moved_into_an_old_day(machine, store, moved):
    owner, stranger = machine.owner, machine.stranger
    today = datetime.now(timezone.utc).strftime("%Y/%m/%d")
    take_days(machine, store, ["mkdir", "-m", "1777"])
    team = machine.root / "drop/team"
    machine.run("install", "-d", "-m", "755", team.parent)
    machine.run("chown", stranger.uid, team.parent)
    machine.run("install", "-d", "-m", "1777", team)
    assert owner.run("sh", "-c", 'mkdir -m 700 "$1" && echo mine > "$1/text"', "sh", team / "thesis").returncode == 0
    job = publish(owner, store)
    if moved == "roots-day":
        machine.run("chown", "0:0", store / today)
    old = store / "2020/01/01"
    source = team if "data" in moved else store / today
    target = old.parent / ".x.removed" if moved.endswith("removed") else old / ".y"
    machine.run("touch", "-d", "2020-01-01", source)
    done = stranger.run("sh", "-c", 'mkdir -p "$2" && mv "$1" "$3"', "sh", source, old, target)
    assert done.returncode == 0, done.stderr
    answer = as_root(machine, "history", "--prune", "--location", store, "--older-than", "1d")
    if target.parent == old:
        assert "1 hidden directory of old days stays" in answer.stdout, answer.stdout + answer.stderr
    assert owner.read(target / ("thesis/text" if "data" in moved else f"{job}/summary.json"))


OLD = "tony-20200101-101010-00000001"


def make_old_day(machine, store):
    """A day of root's, as docs/history.md has it; its path."""
    day = store / "2020/01/01"
    machine.run("install", "-d", "-m", "1777", day.parent.parent, day.parent, day)
    return day


def share(machine, name, write):
    """The stranger's directory for all, in which the owner writes: its path, which the stranger may move."""
    drop = machine.root / "drop"
    machine.run("install", "-d", "-m", "755", "-o", machine.stranger.uid, drop)
    path = drop / name
    assert machine.stranger.run("sh", "-c", 'umask 0; mkdir -m 1777 "$1"', "sh", path).returncode == 0
    wrote = machine.owner.run("sh", "-c", write, "sh", cwd=path)
    assert wrote.returncode == 0, wrote.stderr
    return path


def prune_as_root(machine, store):
    """`tony history --prune` of root, whatever it exits with: its output."""
    script = '"$0" history --prune --location "$1" --older-than 30d 2>&1 || true'
    home = machine.root / "root"
    machine.run("install", "-d", "-m", "700", home)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "USER": "root", "LANG": "C.UTF-8"}
    return machine.run("sh", "-c", script, machine.bin / "tony", store, env=env).stdout


@pytest.mark.promise("S142")
def test_root_prunes_no_directory_of_another_user_in_an_old_entry(machine, store):
    """The stranger has moved there what it owns and the owner writes to."""
    owner, stranger = machine.owner, machine.stranger
    day = make_old_day(machine, store)
    team = share(machine, "team", "mkdir -m 700 thesis && echo mine > thesis/text")
    forge(stranger, store, OLD, "stranger")
    logs = day / OLD / "logs"
    assert stranger.run("sh", "-c", 'mkdir "$1" && mv "$2" "$1/worker-0"', "sh", logs, team).returncode == 0
    stranger.run("touch", "-d", "2020-01-01", day / OLD)
    for _ in range(2):
        assert f"logs/worker-0/thesis in it is {name_of(owner)}'s, so all of it stays" in prune_as_root(machine, store)
    assert machine.run("cat", logs / "worker-0/thesis/text").stdout == "mine\n"
    machine.run("rm", "-r", logs / "worker-0/thesis")
    prune_as_root(machine, store)
    assert not day.exists()


@pytest.mark.promise("S142")
@pytest.mark.parametrize("verb", ["prune", "rm"])
def test_an_own_entry_with_another_users_directory_stays_whole(machine, store, verb):
    """It is told in one line, with the remedy, at each try, and goes once the directory has gone."""
    owner, stranger = machine.owner, machine.stranger
    if verb == "rm":
        job = publish(owner, store)
    else:
        make_old_day(machine, store)
        forge(owner, store, job := OLD, "owner")
    entry = store / place_of(job)
    words = ["rm", job] if verb == "rm" else ["history", "--prune", "--older-than", "30d", "--location", store]
    assert owner.run("sh", "-c", 'umask 0; mkdir -p "$1/logs/worker-0" && chmod 755 "$1" "$1/logs" && echo 1 > "$1/logs/log"', "sh", entry).returncode == 0
    assert stranger.run("sh", "-c", 'mkdir "$1" && echo theirs > "$1/text"', "sh", entry / "logs/worker-0/theirs").returncode == 0
    before = machine.run("find", entry).stdout
    for _ in range(2):
        answer = owner.tony(*words)
        told = (f"{entry}: logs/worker-0/theirs in it is {name_of(stranger)}'s, so all of it stays; have {name_of(stranger)} take that away, "
                f"or an administrator type: rm -rf --one-file-system {entry}")
        assert answer.returncode == (6 if verb == "rm" else 0), answer
        assert (answer.stdout + answer.stderr).count("theirs in it is") == 1 and told in answer.stdout + answer.stderr, answer
        assert machine.run("find", entry).stdout == before
    assert stranger.run("rm", "-r", entry / "logs/worker-0/theirs").returncode == 0
    assert owner.tony(*words).returncode == 0
    assert not entry.exists()


@pytest.mark.promise("S142")
@pytest.mark.parametrize("remover", ["owner", "root"])
def test_an_experiment_that_is_given_a_days_name_is_no_old_job(machine, store, remover):
    owner, stranger = machine.owner, machine.stranger
    runs = share(machine, "runs", """mkdir exp7 && echo '{"accuracy": 0.93}' > exp7/summary.json && echo mine > exp7/weights.pt &&
                                     touch -d 2020-01-01 exp7""")
    moved = stranger.run("sh", "-c", 'mkdir -p "$2" && mv "$1" "$2/01"', "sh", runs, store / "2020/01")
    assert moved.returncode == 0, moved.stderr
    told = prune_as_root(machine, store) if remover == "root" else owner.tony(
        "history", "--prune", "--location", store, "--older-than", "30d").stdout
    assert "1 entry whose summary is not a job's of that name stays" in told, told
    assert owner.read(store / "2020/01/01/exp7/weights.pt") == "mine\n"


def test_roots_retention_removes_an_old_entry_that_was_copied_under_another_id(machine, store):
    day = make_old_day(machine, store)
    forge(machine.stranger, store, OLD, "stranger")
    assert machine.stranger.run("mv", day / OLD, day / (OLD + "2")).returncode == 0
    forge(machine.stranger, store, OLD, "stranger")
    assert "0 kept" in (told := prune_as_root(machine, store)), told
    assert not day.exists()


@pytest.mark.promise("S141")
def test_a_user_who_prunes_a_history_of_all_removes_his_own_jobs_alone(machine, store):
    theirs = [publish(machine.owner, store) for _ in range(3)]
    own = publish(machine.stranger, store)
    answer = machine.stranger.tony("history", "--prune", "--location", store, "--max-size", "1k")
    assert answer.returncode == 0 and answer.stderr == "", answer
    assert not (store / place_of(own)).exists()
    assert all((store / place_of(job)).exists() for job in theirs)


@pytest.mark.promise("S142")
def test_own_day_that_a_stranger_renames_is_no_leftover(machine, store):
    owner, stranger = machine.owner, machine.stranger
    take_days(machine, store, ["mkdir", "-m", "1777"])
    removed = publish(owner, store)
    day = (store / place_of(removed)).parent
    own = day.parent / "00"
    assert owner.run("sh", "-c", 'mkdir -m 1777 "$1" && mkdir "$1/job" && echo mine > "$1/job/summary.json"', "sh", own).returncode == 0
    hidden = day / ".old.removed"
    assert stranger.run("mv", own, hidden).returncode == 0
    assert owner.tony("rm", removed).returncode == 0
    assert owner.read(store / place_of(removed) / "summary.json") is None
    assert owner.read(hidden / "job/summary.json")


def test_rm_says_whose_a_job_is(machine, store):
    foreign = publish(machine.stranger, store)
    answer = machine.owner.tony("rm", foreign)
    assert answer.returncode == 6 and f"{foreign} stays: it is " in answer.stderr, answer
    assert answer.stderr.count(" is ") == 1, "it is told once"


def test_check_names_the_user_who_owns_a_day(machine, store):
    answer = machine.owner.tony("check", "--", "true")
    assert "warning" not in answer.stdout and answer.returncode == 0, answer.stdout + answer.stderr
    take_days(machine, store, ["mkdir", "-m", "1777"])
    answer = machine.owner.tony("check", "--", "true")
    assert answer.returncode == 0
    assert re.search(r"warning +history: .* who can hide, and so in effect remove, what others publish there", answer.stdout), answer.stdout


def test_what_cannot_be_removed_is_named_until_it_is_gone(machine, store):
    """A container that ran as root left a directory."""
    owner = machine.owner
    jobs = [submit(owner, "true") for _ in range(2)]
    for job in jobs:
        wait_published(owner, store, job)
        owner.wait_end(job)
    foreign = owner.state / "jobs" / jobs[0] / "output/big"
    machine.run("sh", "-c", 'mkdir -p "$1" && dd if=/dev/zero of="$1/data" bs=1M count=2 && chown -h 0:0 "$1" && chmod 755 "$1"', "sh", foreign)
    answer = owner.tony("rm", jobs[0])
    told = r"2[^ ]* MiB remain in (\S+\.removed): .*Permission denied; sudo rm -rf --one-file-system \1"
    assert answer.returncode == 6 and re.search(told, answer.stderr), answer.stdout + answer.stderr
    assert re.search(r"warning +removed jobs: .* remain in ", owner.tony("check", "--", "true").stdout)
    cut = owner.state / "yarn/.tony-cut.0.removed"
    owner.run("mkdir", "-p", cut)
    for command, code in ((("rm", jobs[1]), 0), (("clean", "--older-than", "9d"), 6)):
        answer = owner.tony(*command)
        assert answer.returncode == code and re.search(told, answer.stderr), answer.stdout + answer.stderr
    assert owner.run("test", "-e", cut).returncode == 1
    left = re.search(told, answer.stderr).group(1)
    machine.run("rm", "-rf", "--one-file-system", left)
    answer = owner.tony("clean", "--older-than", "9d")
    assert answer.returncode == 0 and "remain" not in answer.stderr
    assert "removed jobs" not in owner.tony("check", "--", "true").stdout
    machine.jobs.clear()
