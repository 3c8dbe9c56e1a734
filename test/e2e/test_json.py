"""Every answer of --json is as its schema in docs/json says."""

import json
import re

import pytest
import schemas
from conftest import ROOT, wait_until
from jsonschema import Draft202012Validator

SHARED = {"common", "job"}
SMALL = ("--memory", "64m")


def ask(tony, name, verb, *arguments, code=0):
    verb, *more = verb.split()
    answer = tony.run(verb, "--json", *more, *arguments)
    assert answer.returncode == code, answer.stderr
    return schemas.check(name, json.loads(answer.stdout))


def row_of(job, rows):
    return next(row for row in rows if row["id"] == job)


def check_events(tony, job):
    answer = tony.run("events", "--json", job)
    assert answer.returncode == 0, answer.stderr
    return [schemas.check("events", json.loads(line)) for line in answer.stdout.splitlines()]


def check_ended(tony, job, code):
    """All that tells of a job that has ended, and how."""
    for verb, rc in (("status", 0), ("wait", code)):
        told = ask(tony, verb, verb, job, code=rc)
        assert told["exit_code"] == code and "am_url" not in told
    for name, arguments in (("list", ("list", "--all")), ("history", ("history",))):
        assert row_of(job, ask(tony, name, *arguments))["exit_code"] == code
    ask(tony, "advise", "advise", job)
    assert check_events(tony, job)[-1]["ev"] == "final"
    return told


def run_to_its_end(tony, code, *arguments):
    told = ask(tony, "submit", "submit", *SMALL, *arguments, code=code)
    assert told["exit_code"] == code
    return check_ended(tony, told["id"], code)


# ---- the schemas ----------------------------------------------------------------------------------


def test_every_verb_with_json_has_a_schema_and_every_schema_a_verb(tony):
    verbs = re.findall(r"^  ([a-z]+)  ", tony.run("--help").stdout, re.MULTILINE)
    assert "status" in verbs and "kill" in verbs
    with_json = {verb for verb in verbs if "--json" in tony.run(verb, "--help").stdout}
    assert with_json == {name.partition("-")[0] for name in schemas.names() - SHARED}
    page = (ROOT / "docs/json.md").read_text(encoding="utf-8")
    for name in schemas.names():
        Draft202012Validator.check_schema(schemas.read(name))
        assert f"json/{name}{schemas.SUFFIX})" in page, name


def find_members(schema, name):
    """Each word of the schema, or of a part of it, about a member of this name."""
    if isinstance(schema, list):
        return [found for item in schema for found in find_members(item, name)]
    if not isinstance(schema, dict):
        return []
    own = [schema["properties"][name]] if name in schema.get("properties", {}) else []
    return own + find_members(list(schema.values()), name)


def test_a_name_has_one_type_everywhere():
    for name, kind in (("tasks", "array"), ("types", "array"), ("task_count", "integer")):
        found = [member.get("type") for schema in sorted(schemas.names()) for member in find_members(schemas.read(schema), name)]
        assert set(found) == {kind}, name


def test_a_field_without_a_name_in_the_schema_is_found():
    schemas.check("version", {"version": "1.0.0"})
    row = {"location": "/", "removed": 0, "kept": 0, "failed": 0}
    schemas.check("history-prune", [row])
    cause = {"seq": 1, "t": 1, "ev": "final", "state": "failed", "message": "", "cause": {"kind": "exit"}, "crc": "0" * 8}
    schemas.check("events", cause)
    for name, answer in (("version", {"version": "1.0.0", "more": 1}), ("history-prune", [{**row, "more": 1}]),
                         ("events", {**cause, "cause": {"kind": "exit", "more": 1}})):
        with pytest.raises(AssertionError, match=name):
            schemas.check(name, answer)


# ---- the answers ----------------------------------------------------------------------------------


def test_no_job(tony):
    assert ask(tony, "list", "list") == ask(tony, "list", "list", "--all") == ask(tony, "history", "history") == []


def test_a_job_that_runs(tony):
    """Two workers that are measured, and tell their steps."""
    go = tony.directory / "go"
    answer = tony.run(*tony.arguments(
        {"tony.worker.instances": 2, "tony.task.metrics-interval-ms": 100}, "--detach", "--json", "--executes",
        f"echo 1/2 > $TONY_PROGRESS_FILE; ./exit_after.sh {go} 0"))
    job = tony.job_class(tony, schemas.check("submit-detach", json.loads(answer.stdout))["id"])
    wait_until(lambda: all("step" in task.get("metrics", {}) for task in job.status()["tasks"]), "steps of both")
    told = ask(tony, "status", "status", job.id)
    assert told["exit_code"] is None and told["task_count"] == 2 and told["work"]["steps"] == 2
    assert row_of(job.id, ask(tony, "list", "list"))["exit_code"] is None
    ask(tony, "advise", "advise", job.id)
    check_events(tony, job.id)
    follower = tony.start("events", "-f", "--json", job.id)
    go.touch()
    for line in follower.communicate()[0].splitlines():
        schemas.check("events", json.loads(line))
    assert job.wait() == 0
    check_ended(tony, job.id, 0)


def test_a_job_that_has_succeeded(tony):
    told = run_to_its_end(tony, 0, "--", "true")
    assert [task["task"] for task in told["tasks"]] == ["driver:0"]


def test_a_job_that_has_failed(tony):
    told = run_to_its_end(tony, 1, "--workers", "2", "--", "sh", "-c", "echo no such table >&2; exit 4")
    assert told["cause"]["exit_code"] == 4 and len(told["tasks"]) == told["task_count"] == 2


def test_a_job_that_formed_anew_and_restarted_its_program(tony):
    told = run_to_its_end(tony, 1, "--conf", "tony.driver.max-restarts=1", "--conf", "tony.am.retry-count=1",
                          "--conf", "tony.am.retry-delay=1ms", "--", "sh", "-c", "kill -KILL $$")
    assert told["retries"] == 1 and told["epoch"] == 2 and told["cause"]["signal"] == 9
    assert any(event.get("restart") == 1 for event in check_events(tony, told["id"]))


def test_a_job_that_was_killed(tony):
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "sleep 1000")
    job.wait_task("worker:0")
    assert tony.run("kill", job.id).returncode == 0
    check_ended(tony, job.id, 8)


def test_an_elastic_job_that_waits(tony):
    """Its second slot finds no room on this machine."""
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.min-instances": 1, "tony.worker.max-instances": 2,
                       "tony.worker.vcores": 1}, "--executes", "sleep 1000")
    job.wait_task("worker:0")
    told = ask(tony, "status", "status", job.id)
    assert told["types"][0]["max_instances"] == 2 and [task.get("dormant") for task in told["tasks"]] == [None, True]
    assert tony.run("scale", job.id, "worker=2").returncode == 0
    job.wait_task("worker:1")
    check_events(tony, job.id)
    assert len(ask(tony, "status", "status", job.id)["tasks"]) == 2


def test_summed_and_pruned_histories(tony):
    assert tony.job({"tony.worker.instances": 1}, "--executes", "true")[0].returncode == 0
    assert len(ask(tony, "history-sums", "history", "--sum-by", "user")) == 1
    assert len(ask(tony, "history-prune", "history", "--prune")) == 1


def test_a_job_that_is_not_started(tony):
    job = tony.arguments({"tony.worker.instances": 2}, "--executes", "true")[1:]
    assert len(ask(tony, "render", "render", *job)["processes"]) == 2
    assert ask(tony, "check", "check", *job)["ok"] is True
    assert ask(tony, "check", "check", *job, "--memory", "9000t", code=7)["ok"] is False
    assert ask(tony, "config-show", "config show", *job)["tony.worker.instances"]["value"] == "2"


def test_tony_itself(tony):
    assert ask(tony, "version", "version")["version"]
    assert len(ask(tony, "config-keys", "config keys")) > 100
