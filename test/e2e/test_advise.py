"""What real jobs are advised, while they run and when they have ended."""

import json

import schemas
from conftest import PYTHON, wait_until

# And nobody is given up for a silence of a few seconds.
OFTEN = {"tony.task.metrics-interval-ms": "100", "tony.task.heartbeat-interval-ms": "100",
         "tony.task.max-missed-heartbeats": 250}


def until(path):
    """A program of some 30 MiB, which ends when the file is there."""
    return f"""exec {PYTHON} -c '
import os, time
ballast = b"x" * (20 << 20)
while not os.path.exists("{path}"):
    time.sleep(0.05)
'"""


def rules(answer):
    return {row["rule"]: row for row in answer["advice"]}


def asked(job):
    status, body = job.rest("GET", "/v1/advice")
    assert status == 200, body
    return rules(json.loads(body))


def samples(job, task):
    return json.loads(job.rest("GET", "/v1/metrics")[1])["tasks"].get(task, {}).get("samples", 0)


def advised(tony, job):
    answer = tony.run("advise", job.id, "--json")
    assert answer.returncode == 0, answer.stderr
    return rules(schemas.check("advise", json.loads(answer.stdout)))


def test_memory_that_nobody_uses(tony, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    job = tony.submit({"tony.prepare.instances": 1, "tony.prepare.memory": "2g", "tony.prepare.command": until(first),
                       "tony.worker.instances": 1, "tony.worker.memory": "64m", "tony.worker.command": until(second),
                       "tony.application.prepare-stage": "prepare", "tony.application.training-stage": "worker",
                       **OFTEN})
    wait_until(lambda: samples(job, "prepare:0") >= 20, "prepare to be measured")
    # It may yet use it.
    assert asked(job) == {}
    first.touch()
    job.wait_task("worker:0")

    wait_until(lambda: "memory-oversized" in asked(job), "the application master's advice")
    live = asked(job)["memory-oversized"]
    assert live["severity"] == "info" and live["types"] == ["prepare"]
    (setting,) = live["settings"]
    assert setting["key"] == "tony.prepare.memory" and setting["now"] == "2g"
    assert setting["suggested"] in ("192m", "256m")
    assert f"<value>{setting['suggested']}</value>" in live["xml"]
    second.touch()
    assert job.wait() == 0

    job.published()
    assert advised(tony, job)["memory-oversized"]["settings"] == [setting]
    text = tony.run("advise", job.id)
    assert text.returncode == 0
    assert "info      prepare asks for more memory than it uses (memory-oversized)" in text.stdout
    assert f"  tony.prepare.memory: 2g -> {setting['suggested']}\n" in text.stdout
    xml = tony.run("advise", job.id, "--xml")
    (tmp_path / "advice.xml").write_text(xml.stdout)
    shown = tony.run("check", "--conf_file", str(tmp_path / "advice.xml"), "--conf", "tony.prepare.instances=1",
                     "--executes", "true")
    assert shown.returncode == 0, shown.stderr


def test_the_same_failure_thrice(tony):
    answer, job = tony.job({"tony.worker.instances": 2, "tony.am.retry-count": 2, **OFTEN}, "--executes",
                           'if [ "$TASK_INDEX" = 1 ]; then echo "ValueError: no data in part-$RANDOM" >&2; exit 3; fi; '
                           'sleep 1000')
    assert answer.returncode != 0
    said = advised(tony, job)["retries-useless"]
    assert said["severity"] == "critical" and said["types"] == ["worker"]
    assert said["settings"] == [{"key": "tony.am.retry-count", "now": "2", "suggested": "0"}]
    assert "3 failures in a row, the last of worker:1" in said["evidence"][0] and "ValueError" in said["evidence"][0]
    assert f"advice: {said['title']}; see: tony advise {job.id}" in answer.stdout


def test_a_failure_that_a_retry_overcomes(tony, tmp_path):
    marks = tmp_path / "marks"
    answer, job = tony.job({"tony.worker.instances": 1, "tony.worker.memory": "64m", "tony.am.retry-count": 3},
                           "--executes", f"echo x >>{marks}; [ $(wc -l <{marks}) -gt 3 ]")
    assert answer.returncode == 0, answer.stderr
    assert advised(tony, job) == {} and "advice:" not in answer.stdout
    text = tony.run("advise", job.id)
    assert text.returncode == 0 and text.stdout == "" and "nothing to advise" in text.stderr
    assert tony.run("advise", job.id, "--xml").stdout == "<configuration>\n</configuration>\n"


def test_failures_of_a_job_that_runs(tony):
    job = tony.submit({"tony.worker.instances": 1, "tony.am.retry-count": 3}, "--executes",
                      "[ $TONY_EPOCH -gt 3 ] && sleep 1000; exit 3")
    wait_until(lambda: job.status()["epoch"] == 4, "the fourth try")
    wait_until(lambda: "retries-useless" in asked(job), "the application master's advice")
    assert tony.run("kill", job.id).returncode == 0


def test_how_it_is_asked(tony):
    assert tony.run("advise", "tony-nothing").returncode != 0
    answer, job = tony.job({"tony.worker.instances": 1}, "--executes", "true")
    assert answer.returncode == 0
    both = tony.run("advise", job.id, "--json", "--xml")
    assert both.returncode == 2 and "not both" in both.stderr


def test_a_failure_comes_first_with_what_can_be_done(tony):
    """As submit said it, also when no rule has advice."""
    answer, job = tony.job({"tony.worker.instances": 1}, "--executes",
                           f"exec {PYTHON} -c 'import os; os.environ[\"RANK\"]'")
    assert answer.returncode == 1
    remedy = next(line for line in answer.stdout.splitlines() if line.startswith("try: "))
    assert "--framework pytorch" in remedy
    said = tony.run("advise", job.id)
    assert said.returncode == 0 and said.stderr == ""
    first, second = said.stdout.splitlines()[:2]
    assert first.startswith("failed    worker:0") and "KeyError: 'RANK'" in first
    assert second.strip() == remedy
    failure = schemas.check("advise", json.loads(tony.run("advise", job.id, "--json").stdout))["failure"]
    assert f"try: {failure['remedy']}" == remedy and failure["message"] in first
    assert remedy in tony.run("status", job.id).stdout.splitlines()
