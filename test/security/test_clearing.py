"""`tony rm`, `tony clean` and age where others have their part: a shared history, and links in directories of jobs."""

import re

import pytest
from patience import wait_until
from test_history import forge, place_of, shared_store, submit, wait_published  # noqa: F401 (a fixture)


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
