"""Jobs that a task of another job submits: siblings of that job on the machine, which end with it."""

import json
import os
import signal

import pytest
from conftest import find_marked, wait_until


def outer(tony, script, *options):
    """A job whose only task runs the script, in which `tony` is this build's."""
    answer = tony.run("submit", "--detach", "--memory", "64m", *options, f"--env=PATH={tony.build}:{os.environ['PATH']}",
                      "--", "sh", "-c", script)
    assert answer.returncode == 0, answer.stderr
    tony.jobs.append(tony.found_job(answer.stdout))
    return tony.jobs[-1]


def listed(tony, *options):
    return json.loads(tony.run("list", "--json", *options).stdout)


def child_of(tony, job):
    """The job that a task of this one has submitted, once it runs."""
    def find():
        return [row for row in listed(tony) if row.get("parent") == job.id and row["state"] == "running"]
    return wait_until(find, "the child to run")[0]["id"]


def test_a_job_within_a_task_has_the_machine_beside_its_parent(tony):
    job = outer(tony, "exec tony submit --memory 256m -- sh -c 'echo within $TONY_JOB_ID'")
    assert job.wait() == 0, tony.run("logs", job.id).stdout
    child, parent = listed(tony, "--all")
    assert child["parent"] == parent["id"] == job.id and child["state"] == "succeeded"
    assert f"within {child['id']}" in tony.run("logs", child["id"]).stdout
    assert f"(within {job.id})" in tony.run("list", "--all").stdout


@pytest.mark.parametrize("follow", ["--follow", "--no-follow", ""])
def test_why_a_child_failed_is_why_its_parent_failed(tony, follow):
    job = outer(tony, f"tony submit {follow} --memory 64m -- sh -c 'exit 4'")
    assert job.wait() == 1
    child = listed(tony, "--all")[0]["id"]
    assert job.status()["cause"]["headline"] == f"tony: {child} failed: driver:0 on 127.0.0.1 exited with code 4"


def test_what_a_task_sees_of_the_machine_is_the_machine(tony):
    job = outer(tony, "tony nodes --json")
    assert job.wait() == 0
    inside, = json.loads(job.logs("driver:0"))
    outside, = json.loads(tony.run("nodes", "--json").stdout)
    assert inside["total"] == outside["total"]


def test_more_than_the_machine_has_beside_its_parent_is_refused(tony):
    conf = ["--conf", "tony.local.memory=300m"]
    job = outer(tony, "exec tony submit --conf tony.local.memory=300m --memory 250m -- true", *conf)
    assert job.wait() != 0
    assert (f"needs 250 MiB; this machine has 236 MiB (tony.local.memory); lower tony.driver.memory; job {job.id}, within "
            "which this one is submitted, holds 64 MiB") in tony.run("logs", job.id).stdout


def test_a_child_for_which_its_parent_has_no_cores_is_refused(tony):
    conf = ["--conf", "tony.local.vcores=1"]
    job = outer(tony, "exec tony submit --conf tony.local.vcores=1 --memory 64m -- true", *conf)
    assert job.wait() != 0
    assert f"job {job.id}, within which this one is submitted, holds all cores that tony.local.vcores has" in job.logs("driver:0", "stderr")


def test_a_child_that_is_asked_for_again_is_the_same(tony):
    """A client asks again when the parent's AM did not answer in time."""
    job = outer(tony, "exec tony submit --memory 64m -- sleep 1000")
    child = child_of(tony, job)
    pid = tony.job_class(tony, child).am()[1]
    status, answer = job.rest("POST", "/v1/children", {"job": child, "agent": str(tony.build / "tony-agent"), "umask": 0o22})
    assert status == 200 and json.loads(answer) == {"pid": pid}, answer
    assert job.rest("POST", "/v1/children", {"job": job.id, "agent": "/bin/true", "umask": 0})[0] in (400, 409)


def test_a_child_is_found_by_the_next_am_of_its_parent(tony):
    """The AM that started it was killed before it could answer: the client asks the next one."""
    job = outer(tony, "tony submit --detach --memory 64m -- sleep 1000; sleep 1000")
    child = tony.job_class(tony, child_of(tony, job))
    pid = child.am()[1]
    job.kill_am()
    status, answer = wait_until(lambda: (told := job.rest("POST", "/v1/children", {
        "job": child.id, "agent": str(tony.build / "tony-agent"), "umask": 0o22}))[0] == 200 and told, "the next AM's answer")
    assert json.loads(answer) == {"pid": pid}, answer
    assert child.status()["state"] == "running"


def test_a_child_gets_what_its_submitter_has_and_not_what_its_parents_task_is(tony):
    shown = "env | grep -E '^(RANK|WORLD_SIZE|MASTER_ADDR|OWN|KEY|TONY_TASK_VARIABLES)='; umask; ulimit -Sn"
    job = outer(tony, f'umask 027; ulimit -Sn 299; OWN=9 exec tony submit --memory 64m -- sh -c "{shown}"', "--framework", "pytorch", "--workers", "1",
                "--env=KEY=users")
    assert job.wait() == 0, tony.run("logs", job.id).stdout
    child = next(row["id"] for row in listed(tony, "--all") if row.get("parent") == job.id)
    lines = tony.run("logs", "--stream", "stdout", child).stdout.splitlines()
    assert {"OWN=9", "KEY=users", "0027"} <= set(lines)
    assert not [line for line in lines if line.startswith(("RANK=", "WORLD_SIZE=", "MASTER_ADDR="))]
    assert "299" not in lines


def test_a_child_is_one_also_without_its_tasks_environment(tony):
    bare = "env -i PATH=$PATH HOME=$HOME TONY_STATE_DIR=$TONY_STATE_DIR"
    job = outer(tony, f"{bare} setsid sh -c '{bare} tony submit --detach --memory 64m -- sleep 1000'; sleep 1000")
    assert tony.job_class(tony, child_of(tony, job)).status()["state"] == "running"
    assert tony.run("kill", job.id).returncode == 0


def test_a_secret_is_not_handed_on_to_a_child(tony):
    (tony.directory / "token").write_text("hunter2secret")
    job = outer(tony, "exec tony submit -f --memory 64m -- sh -c 'echo has ${TOK:-none}'", "--secret", f"TOK={tony.directory}/token")
    assert job.wait() == 0, tony.run("logs", job.id).stdout
    assert "has none" in tony.run("logs", job.id).stdout


def test_a_child_that_a_session_submits_outlives_the_session(tony):
    job = outer(tony, "sleep 1000")
    job.wait_task("driver:0")
    answer = tony.run("exec", job.id, "--", "tony", "submit", "--detach", "--memory", "64m", "--", "sleep", "1000")
    assert answer.returncode == 0, answer
    child = child_of(tony, job)
    assert tony.run("exec", job.id, "--", "true").returncode == 0, "sessions have ended meanwhile"
    assert tony.job_class(tony, child).status()["state"] == "running"


def test_a_child_that_fits_beside_its_parent_by_the_last_gib_alone_is_refused(tony):
    whole = json.loads(tony.run("nodes", "--json").stdout)[0]["total"]["memory_mib"]
    job = outer(tony, "tony submit --memory 900m -- true", "--memory", f"{whole - 500}m")
    assert job.wait() != 0
    assert f"job {job.id}, within which this one is submitted, holds" in tony.run("logs", job.id).stdout


@pytest.mark.promise("R90")
@pytest.mark.parametrize("way", ["kill", "kill --force", "end"])
def test_a_child_ends_with_its_parent(tony, way):
    job = outer(tony, "tony submit --detach --memory 64m -- sleep 1000; while [ ! -e end ]; do sleep 0.1; done")
    child = child_of(tony, job)
    if way == "end":
        (tony.directory / "end").touch()
    else:
        assert tony.run(*way.split(), job.id).returncode == 0
    tony.run("wait", child)
    said = json.loads(tony.run("status", "--json", child).stdout)
    assert said["state"] == "killed"
    assert said["message"] == f"canceled: job {job.id}, within which it was submitted, has ended"
    wait_until(lambda: not find_marked(f"TONY_JOB_ID={child}"), "its processes to end")


@pytest.mark.promise("R90")
def test_a_child_outlives_the_program_and_the_am_of_its_parent(tony):
    script = "[ -e begun ] || { touch begun; tony submit --detach --memory 64m -- sleep 1000; }; sleep 1000"
    job = outer(tony, script, "--conf", "tony.am.retry-count=2")
    child = child_of(tony, job)
    first = json.loads(tony.run("status", "--json", child).stdout)
    for pid in job.task("driver:0")["pids"]:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: job.status()["retries"], "the next try")
    job.wait_task("driver:0")
    job.kill_am()
    again = json.loads(tony.run("status", "--json", child).stdout)
    assert again["state"] == "running" and again["am_attempt"] == first["am_attempt"] == 1
    assert tony.run("kill", job.id).returncode == 0
    tony.run("wait", child)


# The client of its child is a process of the task, and gets the signals that end the task.
FOLLOWS = "[ -e begun ] || { touch begun; tony submit --memory 64m -- sleep 1000 & echo $! >client; wait; }; sleep 1000"


@pytest.mark.promise("R90")
def test_a_child_that_its_parents_task_follows_outlives_a_restart_of_the_task(tony):
    job = outer(tony, FOLLOWS)
    child = tony.job_class(tony, child_of(tony, job))
    pids = child.wait_task("driver:0")["pids"]
    assert tony.run("restart", job.id, "driver:0").returncode == 0
    job.wait_log("driver:0", f"{child.id} goes on; tony attach")
    assert child.status()["state"] == "running" and child.task("driver:0")["pids"] == pids
    assert tony.run("kill", job.id).returncode == 0
    assert tony.run("wait", child.id).returncode == 8
    assert child.status()["message"] == f"canceled: job {job.id}, within which it was submitted, has ended"


@pytest.mark.promise("R90")
def test_a_child_that_its_parents_task_follows_outlives_a_new_try(tony):
    script = f"case $TONY_TASK_INDEX in 0) {FOLLOWS};; *) until [ -e fail ]; do sleep 0.1; done; rm fail; exit 3; esac"
    job = outer(tony, script, "--workers", "2", "--retries", "1")
    child = tony.job_class(tony, child_of(tony, job))
    pids = child.wait_task("driver:0")["pids"]
    (tony.directory / "fail").touch()
    wait_until(lambda: job.status()["retries"] and job.status()["state"] == "running", "the next try")
    assert child.status()["state"] == "running" and child.task("driver:0")["pids"] == pids
    assert tony.run("kill", job.id).returncode == 0


def test_a_child_that_its_parents_task_follows_is_canceled_with_its_parent(tony):
    job = outer(tony, FOLLOWS)
    child = tony.job_class(tony, child_of(tony, job))
    assert tony.run("kill", job.id).returncode == 0
    assert tony.run("wait", child.id).returncode == 8
    assert child.status()["message"] == f"canceled: job {job.id}, within which it was submitted, has ended"


def test_a_program_that_ends_the_client_of_its_child_ends_the_child(tony):
    job = outer(tony, FOLLOWS)
    child = tony.job_class(tony, child_of(tony, job))
    assert tony.run("exec", job.id, "--", "sh", "-c", "kill $(cat client)").returncode == 0
    assert tony.run("wait", child.id).returncode == 8
    assert child.status()["message"] == "killed by the user: SIGTERM to the client"


def test_a_child_that_is_to_outlive_its_parent_does(tony):
    job = outer(tony, "tony submit --detach --memory 64m --conf tony.application.outlives-parent=true -- sleep 1000; sleep 1000")
    child = child_of(tony, job)
    assert tony.run("kill", job.id).returncode == 0
    wait_until(lambda: not find_marked(f"TONY_JOB_ID={job.id}"), "the parent's processes to end")
    assert json.loads(tony.run("status", "--json", child).stdout)["state"] == "running"
    assert tony.run("kill", child).returncode == 0


def test_a_child_that_would_wait_for_its_parents_end_is_refused(tony):
    job = outer(tony, 'tony submit --detach --memory 64m --after $TONY_JOB_ID -- true; sleep 1000')
    wait_until(lambda: "tony.application.outlives-parent=true" in job.logs("driver:0", "stderr"), "the refusal")
    assert f"--after {job.id}: this job is submitted within {job.id}, and ends with it" in job.logs("driver:0", "stderr")
    assert [row["id"] for row in listed(tony, "--all")] == [job.id]


def test_a_child_of_a_child_that_would_wait_for_the_first_ones_end_is_refused(tony):
    inner = "tony submit --detach --memory 64m --after $FIRST:any -- true; sleep 1000"
    job = outer(tony, f"tony submit --detach --memory 64m --env FIRST=$TONY_JOB_ID -- sh -c '{inner}'; sleep 1000")
    child = tony.job_class(tony, child_of(tony, job))
    wait_until(lambda: f"--after {job.id}: this job is submitted within {job.id}" in child.logs("driver:0", "stderr"), "the refusal")


def test_a_child_that_outlives_its_parent_may_wait_for_its_end(tony):
    job = outer(tony, "tony submit --detach --memory 64m --after $TONY_JOB_ID --conf tony.application.outlives-parent=true -- true")
    assert job.wait() == 0, tony.run("logs", job.id).stdout
    child = next(row["id"] for row in listed(tony, "--all") if row.get("parent") == job.id)
    assert tony.run("wait", child).returncode == 0


def test_a_child_of_a_child_ends_with_both(tony):
    inner = "tony submit --detach --memory 64m -- sleep 1000; sleep 1000"
    job = outer(tony, f"tony submit --detach --memory 64m -- sh -c '{inner}'; sleep 1000")
    child = child_of(tony, job)
    grandchild = wait_until(lambda: [row["id"] for row in listed(tony) if row.get("parent") == child], "the grandchild")[0]
    assert tony.run("kill", job.id).returncode == 0
    for other in (child, grandchild):
        tony.run("wait", other)
        assert json.loads(tony.run("status", "--json", other).stdout)["state"] == "killed"


def test_two_parents_that_wait_for_each_other_are_named(tony):
    conf = ["--conf", "tony.local.memory=200m"]
    script = "while [ $(tony list --json | grep -c '\"id\"') -lt 2 ]; do sleep 0.1; done; " \
             "tony submit --conf tony.local.memory=200m --memory 100m -- true"
    first, second = (outer(tony, script, *conf) for _ in range(2))

    def waiting():
        return [row["waiting"] for row in listed(tony) if "parent" in row and "waiting" in row]

    wait_until(lambda: len(waiting()) == 2 and all("which waits, too" in text for text in waiting()),
               "each child to tell for whom it waits")
    assert any(f"job {first.id} holds 64 MiB and submitted this one" in text for text in waiting())
    for job in (first, second):
        assert tony.run("kill", job.id).returncode in (0, 4), "the end of the first lets the other one go on"


def test_no_job_begins_within_a_task_in_namespaces_of_its_own(tony):
    job = outer(tony, "exec tony submit --memory 64m -- true", "--conf", "tony.driver.isolation=pid-namespace")
    assert job.wait() != 0
    assert "no job can be submitted" in tony.run("logs", job.id).stdout
