"""Jobs that wait before they begin: for other jobs, for a time, for their user, for their turn in an array."""

import json
import os
import shutil
import signal
import time

import pytest
import schemas
from conftest import wait_until
from patience import PATIENCE_S, assert_never


def submit(tony, *options, command="true"):
    answer = tony.run("submit", "-d", *options, "--", "sh", "-c", command)
    assert answer.returncode == 0, answer.stderr
    return tony.job_class(tony, answer.stdout.strip())


def sleeper(tony, name="first"):
    return submit(tony, "--name", name, command=f"until [ -e {tony.directory}/{name}.go ]; do sleep 0.05; done")


def go(tony, name="first"):
    (tony.directory / f"{name}.go").touch()


def wait_waiting(job, text):
    return wait_until(lambda: text in job.status().get("waiting", ""), f"{job.id} to wait: {text}")


def begin_of(job):
    """When it asked for its first container."""
    return next(event["t"] for event in job.events() if event["ev"] == "job" and event["to"] == "forming")


def test_a_job_begins_after_the_success_of_another_and_says_for_what_it_waits(tony):
    first = sleeper(tony)
    second = submit(tony, "--after", "first", "--name", "second")
    wait_waiting(second, f"waits for job {first.id} to succeed")
    listed = json.loads(tony.run("list", "--json", "second").stdout)
    assert [job["state"] for job in schemas.check("list", listed)] == ["submitted"]
    assert first.id in tony.run("list", "second").stdout
    go(tony)
    assert second.wait() == 0
    assert begin_of(second) >= first.status()["ended_ms"]


def test_several_jobs_are_waited_for_and_any_end_may_do(tony):
    first, other = sleeper(tony), sleeper(tony, "other")
    second = submit(tony, "--after", f"{first.id}:any", "--after", f"{other.id}:success")
    wait_waiting(second, f"waits for job {first.id} to end; waits for job {other.id} to succeed")
    tony.run("kill", first.id)
    wait_until(lambda: "to end" not in second.status()["waiting"], "the first one to count")
    go(tony, "other")
    assert second.wait() == 0


@pytest.mark.parametrize("end, word", [("kill", "was killed"), ("fail", "failed")])
def test_a_job_is_canceled_when_the_one_before_it_does_not_succeed(tony, end, word):
    first = sleeper(tony) if end == "kill" else submit(
        tony, "--name", "first", command=f"until [ -e {tony.directory}/first.go ]; do sleep 0.05; done; exit 3")
    second = submit(tony, "--after", "first")
    third = submit(tony, "--after", second.id)
    wait_waiting(second, first.id)
    wait_waiting(third, second.id)
    if end == "kill":
        tony.run("kill", first.id)
    else:
        go(tony)
    assert second.wait() == third.wait() == 8, "as a job that was killed"
    status = second.status()
    assert status["cause"]["kind"] == "canceled"
    assert status["message"].startswith(f"canceled: job {first.id}, after which it was to begin, {word}")
    assert third.status()["message"].startswith(f"canceled: job {second.id}, after which it was to begin, was killed: "
                                                "canceled")


def test_what_can_never_be_is_refused_at_once(tony):
    failed = submit(tony, "--name", "failed", command="exit 1")
    failed.wait()
    for options, words in [
        (["--after", "nobody"], '--after nobody: no job "nobody"'),
        (["--after", "failed"], "has failed, so the job would never begin; write failed:any"),
        (["--after", "failed:sometimes"], '"failed:sometimes" is not JOB, JOB:success or JOB:any'),
        (["--begin", "soon"], '"soon" is no time; write now+1h, 22:00 or 2026-11-21T06:14:11'),
        (["--begin", "24:61"], "is no time"),
        (["--begin", "2026-11-31T06:00:00"], '"2026-11-31T06:00:00": there is no such day'),
        (["--begin", "2027-02-29"], '"2027-02-29": there is no such day'),
        (["--priority", "high"], '"high" is not a whole number'),
        (["--array", "5-1"], '"5-1" is no range of numbers'),
        (["--array", "1-3%0"], "behind % stands how many jobs may run at a time"),
        (["--array", "1-100000000000"], "an array has 1000 jobs at most"),
        (["--array", "100000000000"], '"100000000000" is no range of numbers'),
        (["--array", "0-5000"], "an array has 1000 jobs at most"),
        (["--array", "1-2", "--conf_file", "-"], "--array and --conf_file - contradict"),
        (["--array", "1-2", "--follow"], "--array and --follow contradict"),
    ]:
        answer = tony.run("submit", *options, "--", "true")
        assert answer.returncode in (2, 4) and words in answer.stderr, (options, answer.stderr)
    assert submit(tony, "--after", "failed:any").wait() == 0
    assert "after: " in tony.run("check", "--after", "failed:any", "--", "true").stdout


def test_render_shows_when_a_job_would_begin(tony):
    options = ["--after", "first:any", "--begin", "2030-01-01T00:00:00Z", "--hold", "--priority", "4", "--array", "1-9%2"]
    shown = tony.run("render", *options, "--", "true").stdout
    assert shown.startswith("after: first:any\nbegin: 2030-01-01T00:00:00.000Z\nhold: until tony release\npriority: 4\n"
                            "array: 9 jobs, at most 2 at a time\n")
    start = schemas.check("render", json.loads(tony.run("render", "--json", *options, "--", "true").stdout))["start"]
    assert start == {"after": ["first:any"], "begin_ms": 1893456000000, "hold": True, "priority": 4, "array_jobs": 9,
                     "array_limit": 2}


def test_a_job_begins_at_its_time(tony):
    now_ms = int(time.time() * 1000)
    job = submit(tony, "--begin", "now+2s")
    wait_waiting(job, "waits until 20")
    assert job.wait() == 0
    assert begin_of(job) >= now_ms + 2000
    late = submit(tony, "--begin", "2020-01-01T00:00:00Z")
    assert late.wait() == 0, "a time that has passed"


def test_a_held_job_begins_when_it_is_released_and_only_once(tony):
    job = submit(tony, "--hold")
    wait_waiting(job, f"is held; tony release {job.id} lets it begin")
    answer = tony.run("release", job.id)
    assert (answer.returncode, answer.stdout) == (0, f"{job.id} is released\n")
    assert job.wait() == 0
    assert tony.run("release", job.id).returncode == 4, "it has ended"
    running = sleeper(tony)
    answer = tony.run("release", running.id)
    assert answer.returncode == 2 and f"{running.id} is not held" in answer.stderr
    go(tony)
    assert running.wait() == 0


def test_a_job_that_is_repeated_does_not_wait_as_the_first_one_did(tony):
    job = submit(tony, "--hold", "--begin", "now+1h")
    assert tony.run("kill", job.id).returncode == 0
    assert job.wait() == 8
    assert tony.run("rerun", job.id).returncode == 0


def test_a_job_whose_master_and_guardian_have_died_has_ended(tony):
    first = sleeper(tony)
    job, other = submit(tony, "--after", f"{first.id}:any"), submit(tony, "--after", first.id)
    wait_waiting(job, first.id)
    wait_waiting(other, first.id)
    am, guardian = first.am()
    for process in (guardian, am):
        os.kill(process, signal.SIGSTOP)
    for process in (guardian, am):
        os.kill(process, signal.SIGKILL)
    assert job.wait() == 0
    assert other.wait() == 8
    assert other.status()["message"].endswith("failed: its application master has died")


def test_a_waiting_job_is_killed_at_once(tony):
    job = submit(tony, "--hold", "--begin", "now+1h")
    wait_waiting(job, "waits until")
    assert tony.run("kill", job.id).returncode == 0
    assert job.status()["cause"]["kind"] == "killed-by-user"


@pytest.mark.parametrize("is_guardian", [False, True])
def test_the_next_am_goes_on_to_wait(tony, is_guardian):
    """It does not ask again for what was settled before: the first job is removed meanwhile."""
    first, other = sleeper(tony), sleeper(tony, "other")
    job = submit(tony, "--after", first.id, "--after", other.id, "--hold", "--begin", "now+3s")
    wait_waiting(job, first.id)
    assert tony.run("release", job.id).returncode == 0
    go(tony)
    assert first.wait() == 0
    wait_until(lambda: any(first.id in event.get("met", []) for event in job.events()), "it to be noted")
    assert tony.run("rm", first.id).returncode == 0
    os.kill(job.am()[is_guardian], signal.SIGKILL)
    wait_until(lambda: job.status()["am_attempt"] == 2, "the next AM")
    waiting = wait_until(lambda: job.status().get("waiting"), "it to wait")
    assert "is held" not in waiting and first.id not in waiting and other.id in waiting
    go(tony, "other")
    assert job.wait() == 0
    assert begin_of(job) >= max(other.status()["ended_ms"], job.status()["submitted_ms"] + 2900)


def test_a_job_that_was_removed_is_looked_for_in_the_history(tony):
    first = sleeper(tony)
    kept = submit(tony, "--after", first.id)
    wait_waiting(kept, first.id)
    am, guardian = kept.am()
    for process in (guardian, am):
        os.kill(process, signal.SIGSTOP)
    go(tony)
    assert first.wait() == 0
    wait_until(lambda: list(tony.state.glob(f"history/*/*/*/{first.id}/summary.json")), "its history")
    wait_until(lambda: not first.processes(), "the job to be gone")
    shutil.rmtree(tony.state / "jobs" / first.id)
    for process in (am, guardian):
        os.kill(process, signal.SIGCONT)
    assert kept.wait() == 0


def test_a_job_that_is_gone_with_its_history_cancels_the_one_after_it(tony):
    first = sleeper(tony)
    job = submit(tony, "--after", first.id)
    wait_waiting(job, first.id)
    am, guardian = job.am()
    for process in (guardian, am):
        os.kill(process, signal.SIGSTOP)
    go(tony)
    assert first.wait() == 0
    assert tony.run("rm", first.id).returncode == 0
    for process in (am, guardian):
        os.kill(process, signal.SIGCONT)
    assert job.wait() == 8
    assert job.status()["message"].endswith("is gone, and how it ended is not known")


def test_of_waiting_jobs_the_one_with_the_highest_priority_goes_first(tony):
    room = ["--vcores", "1", "--conf", "tony.local.vcores=1"]
    first = submit(tony, *room, command=f"until [ -e {tony.directory}/first.go ]; do sleep 0.05; done")
    first.wait_task("driver:0")
    low = submit(tony, *room)
    wait_waiting(low, "waits for")
    high = submit(tony, *room, "--priority", "7")
    wait_waiting(high, "waits for")
    go(tony)
    assert low.wait() == high.wait() == 0
    assert high.status()["ended_ms"] <= low.status()["running_ms"]


# ---- arrays

def array(tony, numbers, *options, command):
    answer = tony.run("submit", "--array", numbers, "--json", *options, "--", "sh", "-c", command)
    assert answer.returncode == 0, answer.stderr
    submitted = schemas.check("submit-array", json.loads(answer.stdout))
    return submitted["array"], [tony.job_class(tony, job["id"]) for job in submitted["jobs"]]


def test_the_jobs_of_an_array_know_their_numbers(tony):
    name, jobs = array(tony, "1,4-8:2", "--name", "sweep", command='echo "$TONY_ARRAY_ID is $TONY_ARRAY_TASK_ID"')
    assert len(jobs) == 4
    assert tony.run("wait", name).returncode == 0
    for number, job in zip([1, 4, 6, 8], jobs, strict=True):
        assert job.logs("driver:0").strip() == f"{name} is {number}"
        assert job.status()["name"] == f"sweep_{number}"
        assert tony.run("logs", f"{name}_{number}").stdout.strip() == f"{name} is {number}"
    assert tony.run("list", "-o", "name", name).stdout.split() == [job.id for job in reversed(jobs)]
    assert [job["id"] for job in json.loads(tony.run("status", "--json", name).stdout)] == [job.id for job in jobs]
    assert tony.run("logs", name).stdout.count(f"| {name} is ") == 4
    again = tony.run("rerun", f"{name}_6", "--follow")
    assert f"{name} is 6" in again.stdout + again.stderr


def test_so_many_jobs_of_an_array_run_at_a_time(tony):
    name, jobs = array(tony, "0-4%2", command=f"touch {tony.directory}/$TONY_ARRAY_TASK_ID.up; "
                       f"until [ -e {tony.directory}/$TONY_ARRAY_TASK_ID.go ]; do sleep 0.05; done")
    def up():
        return sorted(path.stem for path in tony.directory.glob("*.up"))
    wait_until(lambda: up() == ["0", "1"], "two to run")
    wait_waiting(jobs[2], f"waits for its turn in {name}, of which 2 run at a time")
    assert_never(lambda: len(up()) > 2, "a third one runs", 2)
    go(tony, "1")
    wait_until(lambda: up() == ["0", "1", "2"], "the next one")
    tony.run("kill", jobs[0].id)
    wait_until(lambda: up() == ["0", "1", "2", "3"], "the next one after a kill")
    for number in range(2, 5):
        go(tony, str(number))
    assert [job.wait() for job in jobs] == [8, 0, 0, 0, 0]


def test_a_name_that_begins_as_the_id_of_an_array_is_a_name(tony):
    jobs = [submit(tony, "--hold", "--name", "array-model") for _ in range(2)]
    answer = tony.run("kill", "array-model")
    assert answer.returncode == 2 and 'name "array-model"' in answer.stderr and "--all" in answer.stderr
    assert tony.run("kill", "--all", "array-model").returncode == 0
    assert [job.wait() for job in jobs] == [8, 8]


def test_an_array_is_killed_held_and_waited_for_as_a_whole(tony):
    name, jobs = array(tony, "1-3%1", "--hold", command="true")
    after = submit(tony, "--after", f"{name}:any")
    assert tony.run("release", f"{name}_1").returncode == 0
    assert jobs[0].wait() == 0
    assert tony.run("kill", name).returncode == 0
    assert [job.wait() for job in jobs] == [0, 8, 8]
    assert after.wait() == 0


def test_the_row_of_an_array_counts_its_ended_jobs(tony):
    name, jobs = array(tony, "1-3", "--name", "few", command=f"[ $TONY_ARRAY_TASK_ID = 1 ] || until [ -e {tony.directory}/rest.go ]; do sleep 0.05; done")
    other, others = array(tony, "1-2", "--name", "over", command="true")
    assert tony.run("wait", other, jobs[0].id).returncode == 0
    for job in jobs[1:]:
        job.wait_state("running")
    heading, row = tony.run("list").stdout.splitlines()
    assert row.startswith(name) and row.endswith("few (3 jobs: 2 running, 1 succeeded)"), row
    assert tony.run("list", "-o", "name").stdout.split() == [job.id for job in reversed(jobs[1:])]
    assert len(tony.run("list", "--each").stdout.splitlines()) == 3
    assert [job.wait() for job in others] == [0, 0]
    go(tony, "rest")
    assert tony.run("wait", name).returncode == 0


def test_the_name_of_an_array_leads_to_its_id(tony):
    name, jobs = array(tony, "1-2", "--hold", "--name", "held", command="true")
    for verb in ("wait", "kill", "status", "release", "logs", "list"):
        answer = tony.run(verb, "held")
        assert answer.returncode == 4 and f'no job "held"; {name} has this name: write the id {name}' in answer.stderr, answer
    assert tony.run("kill", name).returncode == 0
    assert [job.wait() for job in jobs] == [8, 8]


def test_an_array_that_is_interrupted_while_it_is_submitted_tells_what_was(tony):
    client = tony.start("submit", "--array", "0-500", "--json", "--hold", "--", "true")
    wait_until(lambda: len(json.loads(tony.run("list", "--json").stdout)) >= 2, "two jobs of the array")
    client.send_signal(signal.SIGINT)
    out, err = client.communicate(timeout=PATIENCE_S)
    told = schemas.check("submit-array", json.loads(out))
    assert client.returncode == 130 and f"{len(told['jobs'])} of 501 jobs of {told['array']} were submitted" in err
    assert len(tony.run("list", "-o", "name", told["array"]).stdout.split()) == len(told["jobs"])
    assert tony.run("kill", told["array"]).returncode == 0
