"""Jobs on YARN by name and by tag, several at once: as on one machine (test/e2e/test_job_choice.py)."""

import contextlib
import json
import os
import signal

import pytest
import schemas
from program import PATIENCE_S, stand_still

LINES = 20


class Pair:
    """Two live jobs of one name, which no other test on this cluster has. Both have `tag`, and each one of its own."""

    def __init__(self, tony):
        mark = os.urandom(4).hex()
        self.tony, self.name, self.tag = tony, f"pair-{mark}", f"Both-{mark}"
        self.older_tag, self.newer_tag = f"older-{mark}", f"newer-{mark}"
        self.older, self.newer = self.submit(self.older_tag), self.submit(self.newer_tag)

    def submit(self, tag):
        job = self.tony.submit({"tony.application.name": self.name, "tony.application.tags": f"{self.tag},{tag}",
                                "tony.worker.instances": 1},
                               "--executes", f"echo from {tag}; ./exit_after.sh {self.tony.directory}/{tag} 0")
        job.wait_task("worker:0")
        return job

    def end(self):
        for tag in (self.older_tag, self.newer_tag):
            (self.tony.directory / tag).touch()
        assert self.tony.run("wait", "--tag", self.tag).returncode == 0


@pytest.fixture
def pair(tony):
    return Pair(tony)


def listed(tony, *arguments):
    answer = tony.run("list", "-o", "name", *arguments)
    slow = ("no answer yet", "answers again")   # a DataNode of a busy machine
    assert not [line for line in answer.stderr.splitlines() if not any(words in line for words in slow)], answer.stderr
    return answer.stdout.split()


def shown(tony, *arguments):
    answer = tony.run("status", "--json", *arguments)
    assert answer.returncode == 0, answer.stderr
    rows = json.loads(answer.stdout)
    return [job["id"] for job in schemas.check("status", rows)] if isinstance(rows, list) else rows["id"]


def assert_refused(pair, *arguments):
    """It names both, and does nothing."""
    answer = pair.tony.run(*arguments)
    assert answer.returncode == 2 and answer.stdout == "", answer.stderr
    assert pair.older.id in answer.stderr and pair.newer.id in answer.stderr and "--all" in answer.stderr


def test_jobs_are_found_by_name_and_tag(tony, pair):
    both, older, newer = [pair.newer.id, pair.older.id], pair.older.id, pair.newer.id
    assert listed(tony, pair.name) == listed(tony, "--tag", pair.tag) == both
    assert listed(tony, "--tag", pair.tag.upper(), "--tag", pair.older_tag) == [older]
    assert listed(tony, "--tag", pair.older_tag, "--tag", pair.newer_tag) == []
    assert shown(tony, pair.name) == newer
    assert shown(tony, "--tag", pair.tag) == both and shown(tony, pair.name, "--tag", pair.tag) == both
    waited = tony.run("wait", "--timeout", "1ms", "--tag", pair.tag)
    assert waited.returncode == 9 and older in waited.stderr and newer in waited.stderr
    (tony.directory / pair.newer_tag).touch()
    assert tony.run("wait", newer).returncode == 0
    pair.newer.ended_application()
    assert shown(tony, pair.name) == older, "it lives, be it older"
    assert listed(tony, "--tag", pair.tag) == [older] and listed(tony, "--all", "--tag", pair.tag) == both
    pair.end()
    answer = tony.run("wait", "--json", "--tag", pair.tag)
    assert answer.returncode == 0
    assert [job["id"] for job in schemas.check("wait", json.loads(answer.stdout))] == both


def test_kill_of_several_asks_for_all(tony, pair):
    assert_refused(pair, "kill", pair.name)
    assert_refused(pair, "kill", "--tag", pair.tag)
    assert pair.older.status()["state"] == pair.newer.status()["state"] == "running"
    assert tony.run("kill", "--tag", pair.tag, "--tag", pair.newer_tag).returncode == 0
    assert pair.newer.wait() == 8 and pair.older.status()["state"] == "running"
    pair.newer.ended_application()
    assert tony.run("kill", pair.name).stdout == f"{pair.older.id} killed\n", "one alone lives"
    again = Pair(tony)
    answer = tony.run("kill", "--all", again.name)
    assert answer.returncode == 0 and answer.stdout.count(" killed\n") == 2, answer.stderr
    assert [job.wait() for job in (pair.older, again.older, again.newer)] == [8, 8, 8]
    pair.older.ended_application()
    assert tony.run("kill", "--tag", pair.tag).returncode == 4


def test_ended_jobs_are_found_by_name_and_removed_by_tag(tony, pair):
    pair.end()
    assert tony.run("logs", pair.name).stdout == f"from {pair.newer_tag}\n"
    for job in (pair.older, pair.newer):
        job.ended_application()
    histories = [pair.older.history, pair.newer.history]
    assert_refused(pair, "rm", pair.name)
    assert_refused(pair, "rm", "--tag", pair.tag)
    answer = tony.run("rm", "--tag", pair.tag, "--tag", pair.newer_tag)
    assert answer.returncode == 0 and f"{pair.newer.id} removed" in answer.stdout, answer.stderr
    assert tony.run("logs", pair.name).stdout == f"from {pair.older_tag}\n"
    assert listed(tony, pair.name) == listed(tony, "--all", "--tag", pair.tag) == [pair.older.id]
    answer = tony.run("rm", "--all", "--json", pair.name)
    assert answer.returncode == 0, answer.stderr
    assert [pair.older.id] == [row["id"] for row in schemas.check("rm", json.loads(answer.stdout))["jobs"]]
    assert not any(map(tony.cluster.status, histories)) and listed(tony, "--all", "--tag", pair.tag) == []
    assert tony.run("status", pair.name).returncode == 4


def test_logs_of_a_job_wait_for_no_other_jobs_frozen_am(tony):
    """YARN ends an AM that is silent for a minute: by then each line has come, of which the program writes one when it has seen that before.
    Logs that are not followed come after 10 s without the lines of the frozen job, and the exit code says so."""
    tag = f"crowd-{os.urandom(4).hex()}"

    def submit(name, command):
        job = tony.submit({"tony.application.name": name, "tony.application.tags": tag, "tony.worker.instances": 1}, "--executes", command)
        job.wait_task("worker:0")
        return job
    frozen = [submit(f"frozen-{number}", "echo hello; sleep 600") for number in range(2)]
    well = submit("well", f"for i in $(seq {LINES}); do echo line $i; until [ -e {tony.directory}/seen-$i ]; do sleep 0.05; done; done; "
                          f"./exit_after.sh {tony.directory}/go 0")
    ams = [job.status()["am_pid"] for job in frozen]
    stand_still(*ams)
    try:
        follower = tony.start("logs", "-f", "--tag", tag)
        seen = 0
        while seen < LINES:
            line = follower.stdout.readline()
            assert line, follower.stderr.read()
            if line.startswith("well| "):
                seen += 1
                assert line == f"well| line {seen}\n"
                (tony.directory / f"seen-{seen}").touch()
        once = tony.run("logs", well.id, frozen[0].id)
        assert (once.returncode, once.stdout.splitlines()) == (5, [f"well| line {number + 1}" for number in range(LINES)]), once
        assert once.stderr == f"tony: the application master of {frozen[0].id} does not answer\n"
    finally:
        for pid in ams:
            with contextlib.suppress(ProcessLookupError):   # YARN has ended it
                os.kill(pid, signal.SIGCONT)
    assert [job.status()["am_attempt"] for job in frozen] == [1, 1]
    (tony.directory / "go").touch()
    assert tony.run("kill", "--all", *(job.id for job in frozen)).returncode == 0
    assert follower.communicate(timeout=PATIENCE_S)[1] == "" and follower.returncode == 0
