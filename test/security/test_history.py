"""A history that users share: a directory of root's in which everybody may write and nobody may remove what is another's."""

import json
import re
from datetime import datetime, timedelta, timezone

import pytest

from patience import wait_until


@pytest.fixture(name="store")
def shared_store(machine):
    """The directory, which the configuration of both users names."""
    store = machine.root / "history"
    machine.run("install", "-d", "-m", "1777", store)
    for user in (machine.owner, machine.stranger):
        user.write("conf/tony-site.xml", machine.xml({"tony.history.location": store, "tony.history.permissions": "all"}))
    return store


def submit(user, command, *options):
    return user.submit({"tony.worker.instances": 1, "tony.worker.memory": "64m", "tony.worker.command": command}, *options)


def wait_published(user, store, job):
    """The summary of a job's history."""
    return json.loads(wait_until(lambda: user.read(store / place_of(job) / "summary.json"), f"the history of {job}"))


def place_of(job):
    year, month, day = re.match(r"tony-(\d{4})(\d\d)(\d\d)", job).groups()
    return f"{year}/{month}/{day}/{job}"


def take_days(machine, store, make):
    """The stranger is first in the year, in the month, and with `make PATH` today and tomorrow."""
    for day in range(2):
        date = datetime.now(timezone.utc) + timedelta(days=day)
        path = store / date.strftime("%Y/%m/%d")
        made = machine.stranger.run("sh", "-c", 'umask 0; mkdir -p "$1" && chmod 1777 "$1/.." "$1"; shift; "$@"', "sh",
                                    path.parent, *make, path)
        assert made.returncode == 0, made.stderr


def am_log(user, job, text):
    """Waits until the log of the job's AM has this text."""
    wait_until(lambda: text in user.read(user.state / "jobs" / job / "am.log"), f"{text} in the log of the AM of {job}")


def forge(user, store, job, claimed):
    """An entry of this user's, which says that the job was another user's, and succeeded."""
    summary = {"format": 1, "id": job, "name": "forged", "user": claimed, "framework": "generic", "scheduler": "local",
               "tags": [], "submitted_ms": 1, "begun_ms": 1, "running_ms": 1, "ended_ms": 2,
               "state": "succeeded", "epoch": 1, "retries": 0, "infrastructure_retries": 0, "am_attempt": 1, "tasks": 0,
               "bytes": 0, "types": []}
    path = user.write("forged.json", json.dumps(summary))
    made = user.run("sh", "-c", 'umask 022; mkdir -p "$2" && cat "$1" > "$2/summary.json"', "sh", path, store / place_of(job))
    assert made.returncode == 0, made.stderr


@pytest.mark.promise("S45")
def test_a_history_is_not_published_through_a_strangers_link(machine, store):
    trap = machine.stranger.home / "trap"
    machine.stranger.run("sh", "-c", 'chmod 755 "$HOME"; umask 0; mkdir -m 777 "$1"', "sh", trap)
    take_days(machine, store, ["ln", "-s", trap])
    job = submit(machine.owner, "true")
    am_log(machine.owner, job, "a symbolic link, through which no history is published")
    assert machine.stranger.run("ls", "-A", trap).stdout == ""
    assert machine.owner.status(job)["state"] == "succeeded"


@pytest.mark.promise("S45")
def test_a_strangers_entry_is_not_taken_for_the_jobs_own(machine, store):
    job = submit(machine.owner, "sleep 600")
    machine.owner.wait_task(job, "worker:0")
    forge(machine.stranger, store, job, "owner")
    assert machine.owner.tony("kill", job).returncode == 0
    am_log(machine.owner, job, f"{store / place_of(job)}: is there already, belongs to uid {machine.stranger.uid}")
    assert machine.owner.status(job)["state"] == "killed"


@pytest.mark.promise("S45")
def test_a_history_that_a_strangers_month_keeps_out_is_told(machine, store):
    """In the stranger's month nobody else can make a day. The month after it is taken, too."""
    for days in (0, 31):
        month = store / (datetime.now(timezone.utc) + timedelta(days=days)).strftime("%Y/%m")
        made = machine.stranger.run("sh", "-c", 'umask 0; mkdir -p -m 1777 "$1" && umask 022 && mkdir -p "$2"', "sh",
                                    month.parent, month)
        assert made.returncode == 0, made.stderr
    answer = machine.owner.tony("submit", "--memory", "64m", "--", "true")
    job = re.search(r"tony-\d{8}-\d{6}-[0-9a-f]+", answer.stdout).group()
    day = (store / place_of(job)).parent
    told = (f"the history of {job} is not in {store}: {day}: Permission denied; "
            f"{day.parent} belongs to uid {machine.stranger.uid}")
    assert answer.returncode == 0 and f"warning: {told}" in answer.stdout, answer.stdout
    wait_until(lambda: machine.owner.status(job).get("history_trouble") == told, "tony status --json to tell")
    assert f"warning: {told}" in re.sub(r"\s+", " ", machine.owner.tony("status", job).stdout)
    assert re.search(rf"  warning: {re.escape(told)}$", machine.owner.tony("events", job).stdout)
    assert machine.owner.status(job)["state"] == "succeeded"


def listed(user, *options):
    """The list of `tony history`: {(id, user): state}."""
    answer = user.tony("history", "--json", *options)
    assert answer.returncode == 0, answer.stderr
    return {(job["id"], job["user"]): job["state"] for job in json.loads(answer.stdout)}


def name_of(user):
    """These users have no accounts."""
    return f"uid-{user.uid}"


@pytest.mark.promise("S44")
def test_an_entry_is_its_owners_whatever_its_summary_says(machine, store):
    job, own = submit(machine.owner, "sleep 600"), submit(machine.owner, "true")
    wait_published(machine.owner, store, own)
    machine.owner.wait_task(job, "worker:0")
    machine.run("chmod", "1777", (store / place_of(job)).parent)
    forge(machine.stranger, store, job, name_of(machine.owner))
    assert machine.owner.tony("kill", job).returncode == 0
    am_log(machine.owner, job, "is there already")
    assert listed(machine.owner, "--user", name_of(machine.owner)) == {(own, name_of(machine.owner)): "succeeded"}
    assert listed(machine.owner) == {(own, name_of(machine.owner)): "succeeded", (job, name_of(machine.stranger)): "succeeded",
                                     (job, "owner"): "killed"}


@pytest.mark.promise("S44")
def test_a_job_that_is_looked_at_is_its_entrys_owners(machine, store):
    """The owner looks at the stranger's entry, and later has one of its own with the same id, under the next day."""
    job = submit(machine.stranger, "true")
    wait_published(machine.stranger, store, job)
    assert machine.owner.status(job)["user"] == name_of(machine.stranger)
    place = store / place_of(job)
    after = store / (datetime.strptime(job[5:13], "%Y%m%d") + timedelta(days=1)).strftime("%Y/%m/%d")
    machine.run("install", "-d", "-m", "1777", after)
    assert machine.owner.run("cp", "-r", place, after).returncode == 0
    assert machine.owner.status(job)["user"] == name_of(machine.owner)


@pytest.mark.promise("S44")
def test_a_publisher_says_whose_the_jobs_are_and_so_does_the_locations_owner(machine, store):
    publisher = machine.stranger
    forge(publisher, store, "tony-20261120-101010-1", "alice")
    assert listed(machine.owner) == {("tony-20261120-101010-1", name_of(publisher)): "succeeded"}
    machine.owner.write("conf/tony-site.xml", machine.xml({"tony.history.location": store,
                                                           "tony.history.publishers": f"nobody,{name_of(publisher)}"}))
    assert listed(machine.owner, "--user", "alice") == {("tony-20261120-101010-1", "alice"): "succeeded"}
    machine.owner.write("conf/tony-site.xml", machine.xml({"tony.history.location": store}))
    machine.run("chown", publisher.uid, store)
    assert listed(machine.owner) == {("tony-20261120-101010-1", "alice"): "succeeded"}


def test_a_day_that_another_user_has_begun_serves_all(machine, store):
    first, second = submit(machine.stranger, "true"), submit(machine.owner, "true")
    for user, job in ((machine.stranger, first), (machine.owner, second)):
        assert wait_published(user, store, job)["state"] == "succeeded"
    assert machine.run("stat", "-c", "%u", store / place_of(second)).stdout.strip() == str(machine.owner.uid)


@pytest.mark.promise("S45")
def test_a_day_in_which_everybody_can_replace_entries_is_not_used(machine, store):
    take_days(machine, store, ["sh", "-c", 'mkdir "$0" && chmod 777 "$0"'])
    job = submit(machine.owner, "true")
    am_log(machine.owner, job, "its sticky bit has to be set")


@pytest.mark.promise("S27")
def test_a_history_for_all_tells_others_no_value_of_an_environment(machine, store):
    job = submit(machine.owner, 'test -n "$API_KEY" -a -n "$COLOUR"', "-e", "API_KEY=TOPKEY123", "-e", "COLOUR=cobalt")
    assert wait_published(machine.stranger, store, job)["state"] == "succeeded"
    place = store / place_of(job)
    description = json.loads(machine.stranger.read(place / "job.json"))
    assert set(description["types"][0]["environment"]) >= {"API_KEY=***", "COLOUR=***"}
    assert machine.stranger.run("grep", "-rE", "TOPKEY123|cobalt", place).stdout == ""


@pytest.mark.promise("S175")
def test_closed_entries_of_others_are_one_line_of_the_history_and_none_elsewhere(machine, store):
    """As they are without tony.history.permissions."""
    own = submit(machine.owner, "true")
    wait_published(machine.owner, store, own)
    for number in range(20):
        forge(machine.stranger, store, f"tony-20261120-101010-{number}", "stranger")
    assert machine.stranger.run("sh", "-c", 'chmod 700 "$1"/*', "sh", store / "2026/11/20").returncode == 0
    for verb in (["list", "--all"], ["status", own], ["wait", own], ["status", "TensorFlowApplication"], ["results", own], ["logs", own]):
        answer = machine.owner.tony(*verb)
        assert answer.returncode == 0 and "tony-20261120" not in answer.stdout + answer.stderr, (verb, answer)
    answer = machine.owner.tony("history")
    assert own in answer.stdout and answer.stderr == "tony: 20 jobs of other users cannot be read\n"
    answer = machine.owner.tony("status", "tony-20261120-101010-3")
    assert answer.returncode == 4 and answer.stderr.count("\n") == 1, answer


@pytest.mark.promise("S191")
@pytest.mark.parametrize("place", ["2031", "2031/12", "2031/12/24", "finished", "intermediate"])
def test_a_closed_directory_of_another_user_hides_no_history(machine, store, place):
    owner, stranger = machine.owner, machine.stranger
    own, other = submit(owner, "true"), submit(owner, "true")
    for job in (own, other):
        wait_published(owner, store, job)
        owner.wait_end(job)
        wait_until(lambda job=job: owner.run("rm", "-r", owner.state / "jobs" / job).returncode == 0, f"the folder of {job} to be gone")
    machine.jobs.clear()
    made = stranger.run("sh", "-c", 'umask 022; mkdir -p "$1" && chmod 0 "$1"', "sh", store / place)
    assert made.returncode == 0, made.stderr
    for verb in (["wait", own], ["list", "--all"], ["status", own], ["compare", own, other], ["history", "--prune", "--location", store]):
        answer = owner.tony(*verb)
        assert answer.returncode == 0, (verb, answer)
        assert answer.stderr.count("Permission denied") <= 1, (verb, answer.stderr)
    assert answer.stderr.count("directories that cannot be read are passed over") == 1, answer.stderr
    assert own in owner.tony("list", "--all").stdout
    stranger.run("sh", "-c", 'chmod 755 "$1"; mkdir -p "$1/12/24"', "sh", store / place)
    assert owner.tony("list", "--all").stderr == ""


def test_the_location_itself_has_to_be_readable(machine, store):
    machine.run("chmod", "0", store)
    answer = machine.owner.tony("history", "--prune", "--location", store)
    assert answer.returncode != 0 and "Permission denied" in answer.stderr, answer


def test_what_no_job_can_be_called_is_no_job(machine, store):
    first, long = "tony-20261120-101010-00000001", "tony-20261120-101010-" + "0" * 230
    forge(machine.stranger, store, first, "stranger")
    forge(machine.stranger, store, long, "stranger")
    renamed = machine.stranger.run("sh", "-c", 'sed -i "s/$2/-rf/" "$1/$2/summary.json" && mv -- "$1/$2" "$1/-rf"', "sh", store / "2026/11/20", first)
    assert renamed.returncode == 0, renamed.stderr
    for verb in (["list", "--all"], ["history"], ["list", "--all", "--output", "name", "--user", name_of(machine.stranger)]):
        answer = machine.owner.tony(*verb)
        assert answer.returncode == 0 and "-rf" not in answer.stdout + answer.stderr and "0000" not in answer.stdout + answer.stderr, answer


@pytest.mark.promise("S131")
def test_ids_that_a_script_acts_on_are_the_users_own(machine, store):
    own = submit(machine.owner, "true")
    wait_published(machine.owner, store, own)
    forged = "tony-20261120-101010-00000001"
    forge(machine.stranger, store, forged, "owner")
    assert machine.owner.tony("list", "--all", "--output", "name").stdout.split() == [own]
    assert machine.owner.tony("list", "--all", "--output", "name", "--user", name_of(machine.stranger)).stdout.split() == [forged]
