"""On YARN a waiting job has its AM, and no other container; the ResourceManager tells it how the other job stands."""

import os
import signal

from program import wait_until


def submit(tony, *options, command="true"):
    return tony.submit({"tony.worker.instances": 1}, *options, "--executes", command)


def wait_waiting(job, text):
    wait_until(lambda: text in job.status().get("waiting", ""), f"{job.id} to wait: {text}")


def test_jobs_on_yarn_wait_for_each_other_also_with_another_am(tony):
    first = submit(tony, command=f"./exit_after.sh {tony.directory}/go 0")
    second = submit(tony, "--after", first.id, "--hold")
    failing = submit(tony, "--after", f"{second.id}:any", command="exit 3")
    canceled = submit(tony, "--after", failing.id)
    first.wait_task("worker:0")
    wait_waiting(second, "is held")
    assert tony.run("release", second.id).returncode == 0
    wait_waiting(second, f"waits for job {first.id} to succeed")
    assert second.status()["tasks"][0]["state"] == "waiting"
    for process in second.am():
        os.kill(process, signal.SIGKILL)
    wait_until(lambda: second.status()["am_attempt"] == 2, "the next AM")
    wait_waiting(second, f"waits for job {first.id} to succeed")
    assert "is held" not in second.status()["waiting"]
    (tony.directory / "go").touch()
    assert [job.wait() for job in (first, second, failing, canceled)] == [0, 0, 1, 8]
    assert canceled.status()["message"].startswith(
        f"canceled: job {failing.id}, after which it was to begin, failed: ")


def test_an_array_on_yarn_is_found_by_its_id(tony):
    answer = tony.run("submit", "--array", "1-3%1", "--scheduler", "yarn", "--executes", "echo $TONY_ARRAY_TASK_ID",
                      "--workers", "1")
    assert answer.returncode == 0, answer.stderr
    array = answer.stdout.strip()
    assert tony.run("wait", array).returncode == 0
    assert len(tony.run("list", "-o", "name", array).stdout.split()) == 3
    assert tony.run("logs", f"{array}_2").stdout.strip() == "2"
