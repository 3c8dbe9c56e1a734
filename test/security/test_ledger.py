"""The local jobs of several users share one machine: nobody gets a GPU that somebody else's job has, and each is told by name
who holds what. Whatever a user writes into the shared ledger, the jobs of others are not hurt."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import FINAL, wait_until
from patience import PATIENCE_S, assert_never

GPUS = 2
ROUNDS = 6
ONE = {"tony.worker.instances": 1, "tony.worker.memory": "64m", "tony.worker.gpus": 1, "tony.local.gpus": GPUS}


def holding(gpus, **keys):
    return {**ONE, "tony.worker.gpus": gpus, "tony.worker.command": "sleep 600", **keys}


def waiting(user, job):
    return wait_until(lambda: user.status(job).get("waiting"), f"{job} to wait")


class Contender:
    """A job that takes a mark of the only GPU, which no other may have then, and gives it back when it is told to."""

    def __init__(self, user):
        machine = user.machine
        marks, self.user, self.told = machine.root / "marks", user, machine.root / f"told-{len(machine.jobs)}"
        machine.run("mkfifo", "-m", "666", self.told)
        machine.run("install", "-d", "-m", "777", marks)
        command = f"mkdir {marks}/$CUDA_VISIBLE_DEVICES && cat {self.told} && rmdir {marks}/$CUDA_VISIBLE_DEVICES"
        self.job = user.submit({**ONE, "tony.local.gpus": 1, "tony.worker.command": command})

    def status(self):
        status = self.user.status(self.job)
        assert status["state"] not in FINAL, self.user.logs(self.job, "worker:0", "stderr")
        return status

    def waits_for(self, holder):
        return holder.job in (self.status().get("waiting") or "")

    def runs(self):
        return self.status()["tasks"][0]["state"] == "running"

    def end(self):
        self.user.run("sh", "-c", f": > {self.told}")
        assert self.user.wait_end(self.job)["state"] == "succeeded"

    def stop(self):
        """Both processes of the AM; their ids."""
        return self.user.machine.stop(f"/jobs/{self.job}")

    def wake(self):
        """As a change in its user's own ledger does: the AM looks as soon as it goes on."""
        self.user.run("sh", "-c", f'for folder in {self.user.state}/ledger/*; do : > "$folder/wake"; done')


def lengthen_looks(machine):
    """A look at the ledger takes some milliseconds: entries of other users are still being made, and are looked at each
    time."""
    fill = 'cd "$1"; for uid in $(seq 61003 61018); do touch $(seq -f "$uid-%016.0f.job" 256); chown $uid $uid-*; done; chmod 600 *'
    machine.run("sh", "-c", fill, "sh", machine.ledger)


@pytest.mark.promise("S51")
def test_two_users_never_get_the_same_gpu(machine):
    """The GPU becomes free while the AMs of two waiting jobs are stopped: both look for it in the same instant."""
    lengthen_looks(machine)
    holder = Contender(machine.owner)
    wait_until(holder.runs, "the first job to have the GPU")
    waiting = {}
    for _ in range(ROUNDS):
        for user in (machine.owner, machine.stranger):
            waiting[user] = waiting.get(user) or Contender(user)
            wait_until(lambda user=user: waiting[user].waits_for(holder), "both jobs to wait")
        pids = [pid for job in waiting.values() for pid in job.stop()]
        holder.end()
        for job in waiting.values():
            job.wake()
        machine.run("kill", "-CONT", *pids)
        holder = wait_until(lambda: next((job for job in waiting.values() if job.runs()), None), "one to have the GPU")
        waiting[holder.user] = None
        loser = next(filter(None, waiting.values()))
        wait_until(lambda: loser.waits_for(holder) or loser.runs(), "the other to wait")
        assert not loser.runs()


@pytest.mark.promise("S51")
def test_who_waits_is_told_by_name_and_goes_on_when_the_owner_is_killed(machine):
    held = machine.owner.submit(holding(GPUS))
    machine.owner.wait_task(held, "worker:0")
    job = machine.stranger.submit(holding(1))
    text = waiting(machine.stranger, job)
    assert re.search(rf"2 of 2 GPUs are held by owner, uid {machine.owner.uid} \({held}, since \d\d:\d\d\)", text), text
    assert text in machine.stranger.tony("status", job).stdout
    assert "2 of 2 GPUs are held by owner" in check(machine.stranger)
    pids = [pid for pid in machine.processes() if uid_of(pid) == machine.owner.uid]
    # Children first, and their parents stopped: none sees the end of another.
    machine.run("sh", "-c", 'kill -STOP "$@"; kill -KILL "$@"', "sh", *sorted(pids, reverse=True))
    machine.stranger.wait_task(job, "worker:0")


def status_of(pid):
    try:
        return Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return ""


def uid_of(pid):
    found = re.search(r"^Uid:\t(\d+)", status_of(pid), re.MULTILINE)
    return found and int(found.group(1))


def check(user):
    return user.tony("check", "--conf", f"tony.local.gpus={GPUS}", "--conf", "tony.worker.instances=1",
                     "--conf", "tony.worker.gpus=1", "--", "true").stdout


@pytest.mark.promise("S52")
def test_what_a_stranger_writes_and_locks_hurts_nobody(machine):
    held = machine.owner.submit(holding(1))
    machine.owner.wait_task(held, "worker:0")
    machine.stranger.attack("litter_ledger", machine.ledger)
    assert "1 of 2 GPUs is held by owner" in check(machine.stranger)
    assert "held" not in check(machine.owner).replace(f"held by owner, uid {machine.owner.uid} ({held}", "")
    second = machine.owner.submit(holding(1))
    machine.owner.wait_task(second, "worker:0")
    machine.owner.tony("kill", held)
    machine.owner.wait_end(held)
    third = machine.owner.submit(holding(1))  # his lock keeps no dead entry alive
    machine.owner.wait_task(third, "worker:0")
    assert machine.stranger.run("sh", "-c", f"rm -f {machine.ledger}/{machine.owner.uid}-*").returncode != 0


@pytest.mark.promise("S53")
def test_a_user_gets_no_more_gpus_than_the_site_says(machine):
    for user in (machine.owner, machine.stranger):
        user.write("conf/tony-site.xml", machine.xml({"tony.local.max-gpus-per-user": 1}))
    refused = machine.owner.tony("submit", "--conf", f"tony.local.gpus={GPUS}", "--conf", "tony.worker.instances=1",
                                 "--conf", "tony.worker.gpus=2", "--", "true")
    assert refused.returncode != 0
    assert "needs 2 GPUs; a user may hold 1 here (tony.local.max-gpus-per-user)" in refused.stderr
    override = machine.owner.tony("check", "--conf", "tony.local.max-gpus-per-user=2", "--", "true")
    assert override.returncode != 0 and "leave it to tony-site.xml" in override.stderr
    first = machine.owner.submit(holding(1))
    machine.owner.wait_task(first, "worker:0")
    second = machine.owner.submit(holding(1))
    assert "you hold 1 of the 1 GPUs that a user may hold" in waiting(machine.owner, second)
    other = machine.stranger.submit(holding(1))
    machine.stranger.wait_task(other, "worker:0")
    assert_never(lambda: machine.owner.task(second, "worker:0")["state"] == "running", "the second job runs", 1)


@pytest.mark.promise("S53")
def test_what_a_user_claims_beyond_his_part_does_not_count(machine):
    """He writes that he holds every GPU, with a job of his own to keep the entry."""
    machine.owner.write("conf/tony-site.xml", machine.xml({"tony.local.max-gpus-per-user": 1}))
    greedy = machine.stranger.submit(holding(GPUS))
    machine.stranger.wait_task(greedy, "worker:0")
    job = machine.owner.submit(holding(1))
    machine.owner.wait_task(job, "worker:0")
    assert "1 of 2 GPUs is held by stranger" in check(machine.owner)


@pytest.mark.promise("S51", "S52")
def test_the_memory_and_cores_that_a_user_claims_make_nobody_wait(machine):
    greedy = machine.stranger.submit({**ONE, "tony.worker.gpus": 0, "tony.worker.command": "sleep 600",
                                      "tony.local.memory": "100000g", "tony.worker.memory": "90000g",
                                      "tony.local.vcores": 100000, "tony.worker.vcores": 90000})
    machine.stranger.wait_task(greedy, "worker:0")
    job = machine.owner.submit({**ONE, "tony.local.memory": "1g", "tony.local.vcores": 1, "tony.worker.command": "true"})
    assert machine.owner.wait_end(job)["state"] == "succeeded"
    told = machine.owner.tony("check", "--conf", "tony.worker.instances=1", "--", "true").stdout
    assert re.search(rf" are held by stranger, uid {machine.stranger.uid} \({greedy}", told), told


@pytest.mark.parametrize("limit", ["size=4k", "nr_inodes=1"])
@pytest.mark.promise("S52")
def test_a_full_ledger_stops_only_jobs_with_gpus(machine, limit):
    fill = f'mount -t tmpfs -o {limit},mode=1777 none {machine.ledger} && exec "$@"'
    def submit(gpus):
        xml = machine.owner.write("tony.xml", machine.xml({**ONE, "tony.worker.gpus": gpus, "tony.worker.command": "true"}))
        words = machine.owner.command(machine.bin / "tony", "submit", "--conf_file", xml)[len(machine.command()):]
        return subprocess.run(machine.command("unshare", "--mount", "sh", "-c", fill, "sh", *words), check=False,
                              timeout=PATIENCE_S, **machine.owner.options(None, {}))
    ran = submit(0)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    why = f"{machine.ledger}: the job's entry cannot be made: No space left on device; "
    assert (ran.stdout + ran.stderr).count(f"{why}the job runs without one") == 1, ran.stderr
    failed = submit(1)
    assert failed.returncode != 0
    assert f"{why}a job with GPUs needs one: free room there, or ask the administrator" in failed.stderr


def test_a_job_goes_on_without_its_entry_and_says_once_what_that_means(machine):
    job = machine.owner.submit(holding(GPUS))
    machine.owner.wait_task(job, "worker:0")
    machine.run("sh", "-c", f"rm {machine.ledger}/*.job")
    told = f"{machine.ledger}: the job's entry is gone, so other users' jobs can get any GPU that it holds; to prevent that"
    wait_until(lambda: told in machine.owner.tony("events", job).stdout, "the loss to be told")
    other = machine.stranger.submit(holding(1))
    machine.stranger.wait_task(other, "worker:0")
    machine.owner.wait_task(job, "worker:0")
    assert machine.owner.tony("events", job).stdout.count(told) == 1


@pytest.mark.promise("S153")
def test_the_entry_of_a_job_that_holds_nothing_is_made_again(machine):
    first = machine.owner.submit(holding(GPUS))
    machine.owner.wait_task(first, "worker:0")
    job = machine.stranger.submit(holding(1))
    waiting(machine.stranger, job)
    for name in machine.stranger.run("sh", "-c", f"ls {machine.ledger}/{machine.stranger.uid}-*.job").stdout.split():
        assert machine.stranger.run("sh", "-c", f"rm {name} && : > {name}").returncode == 0
    machine.owner.tony("kill", first)
    machine.stranger.wait_task(job, "worker:0")
    other = machine.owner.submit(holding(GPUS))
    assert f"1 of 2 GPUs is held by stranger, uid {machine.stranger.uid} ({job}" in waiting(machine.owner, other)


@pytest.mark.promise("S154")
def test_a_job_that_cannot_read_the_ledger_lets_those_behind_it_run(machine):
    holds = machine.owner.submit(holding(GPUS))
    machine.owner.wait_task(holds, "worker:0")
    room = {"tony.local.memory": "128m"}
    job = machine.stranger.submit(holding(1, **room))
    waiting(machine.stranger, job)
    machine.run("chmod", "000", machine.ledger)
    wait_until(lambda: "waits for the ledger of all users" in waiting(machine.stranger, job), "the job to be told")
    later = machine.stranger.submit({**ONE, **room, "tony.worker.gpus": 0, "tony.worker.memory": "128m", "tony.worker.command": "true"})
    assert machine.stranger.wait_end(later)["state"] == "succeeded"
    machine.run("chmod", "1777", machine.ledger)
    machine.owner.tony("kill", holds)
    machine.stranger.wait_task(job, "worker:0")


def test_without_the_ledger_it_is_said_once_that_others_are_not_seen(machine):
    nowhere = {"TONY_LEDGER_DIR": str(machine.root / "nowhere")}
    xml = machine.owner.write("tony.xml", machine.xml({**ONE, "tony.worker.instances": 2, "tony.worker.command": "true"}))
    for verb in ("check", "submit"):
        answer = machine.owner.tony(verb, "--conf_file", xml, env=nowhere)
        assert answer.returncode == 0, answer.stderr
        assert (answer.stdout + answer.stderr).count("jobs of other users are not seen: ") == 1, answer
    assert "install -d -m 1777 -o root" in answer.stderr


def test_a_limit_on_processes_that_is_met_is_named_with_its_remedy(machine):
    """The kernel holds root to none."""
    xml = machine.owner.write("tony.xml", machine.xml({**ONE, "tony.worker.gpus": 0, "tony.worker.instances": 12,
                                                       "tony.am.infrastructure-retry-count": 0, "tony.worker.command": "sleep 600"}))
    answer = machine.owner.run("prlimit", "--nproc=16", machine.bin / "tony", "submit", "--conf_file", xml)
    assert answer.returncode == 1, answer.stdout + answer.stderr
    assert "the limit on processes is met; raise it (ulimit -u, or pids.max of the control group)" in answer.stdout + answer.stderr
