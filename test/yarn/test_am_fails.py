"""An AM that fails before its job begins: everybody who asks for the job hears its last words, or those of the
NodeManager when it never ran."""

import json

import pytest

ONE = {"tony.worker.instances": 1}
FAILED = "failed to start: the application master"
SCRIPT = b"#!/bin/sh\necho 'info: looking for a moon' >&2\necho 'no such moon' >&2\nexit 3\n"


class Agent:
    """The agent of a user who submits nothing else: the file in HDFS can be broken without harm to others."""

    def __init__(self, tony, user):
        self.cluster, self.user, self.env = tony.cluster, user, {"HADOOP_USER_NAME": user}
        self.cluster.hdfs("PUT", f"/user/{user}", op="MKDIRS")
        self.cluster.hdfs("PUT", f"/user/{user}", op="SETOWNER", owner=user)
        answer, _ = tony.job(ONE, "--executes", "true", src_dir=None, env=self.env)
        assert answer.returncode == 0, answer.stderr
        cache = f"/user/{user}/.tony/cache"
        self.path, = (f"{cache}/{name}" for name in self.cluster.list(cache))

    def replace(self, script):
        """By one that looks the same from outside."""
        length = self.cluster.status(self.path)["length"]
        self.cluster.put(self.path, script.ljust(length, b"\n"))

    def forbid(self):
        """NodeManagers have the old one."""
        self.replace(SCRIPT)
        self.cluster.hdfs("PUT", self.path, op="SETPERMISSION", permission="000")


def run(tony, agent, verb, *arguments):
    answer = tony.run(verb, *arguments, env=agent.env)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def check_told(tony, agent, *words):
    """The text of `tony logs --am`, after a look at all other places."""
    answer, job = tony.job(ONE, "--executes", "true", src_dir=None, env=agent.env)
    assert answer.returncode == 1
    listed = {row["id"]: row for row in json.loads(run(tony, agent, "list", "--all", "--json"))}[job.id]
    told = (answer.stdout, run(tony, agent, "status", job.id), run(tony, agent, "events", job.id),
            run(tony, agent, "history", "--user", agent.user))
    for word in (FAILED, *words):
        assert all(word in text for text in told), f"{word!r} is not in each of {told}"
    assert all(word in listed["message"] for word in (FAILED, *words)), listed
    assert f"see: tony logs {job.id} --am" in answer.stdout
    return run(tony, agent, "logs", job.id, "--am")


@pytest.fixture
def agent(tony, request):
    return Agent(tony, request.node.name.replace("_", "-"))


def test_an_am_that_exits_is_told_in_its_own_words(tony, agent):
    agent.replace(SCRIPT)
    assert check_told(tony, agent, "exited with code 3", "no such moon").count("looking for a moon") >= 1


def test_an_am_that_never_ran_is_told_in_its_nodes_words(tony, agent):
    agent.forbid()
    assert "Permission denied" in check_told(tony, agent, "could not be started by its node", "Permission denied")


@pytest.mark.short
def test_logs_of_tonys_own_programs(tony):
    """While they run, and after."""
    job = tony.submit({"tony.worker.instances": 2}, "--executes", "sleep 1000")
    job.wait_state("running")
    for moment in ("live", "ended"):
        am = tony.run("logs", "--am", job.id)
        assert am.returncode == 0 and "registered with the ResourceManager" in am.stdout, (moment, am)
        executors = tony.run("logs", "--executor", "worker", job.id)
        assert executors.returncode == 0, (moment, executors.stderr)
        for task in ("worker:0", "worker:1"):
            assert f"{task} executor| " in executors.stdout and f"exec {task}: started process" in executors.stdout
        if moment == "live":
            tony.run("kill", job.id)
            assert job.wait() != 0
