"""Values out of files: the program has them, and nothing else that is kept or shown does."""

import subprocess

import pytest
from conftest import PYTHON, wait_until

PROGRAM = ("import os, hashlib, sys; key = open(os.environ['KEY'], 'rb').read(); "
           "print(hashlib.sha256(os.environ['TOKEN'].encode() + key).hexdigest(), "
           "oct(os.stat(os.environ['KEY']).st_mode & 0o777), os.environ['KEY'], flush=True)")


def digest(token, key):
    return subprocess.run(["sha256sum"], input=token + key, capture_output=True, check=True).stdout.split()[0].decode()


@pytest.fixture
def project(tony):
    (tony.directory / "token").write_text("first-value\n")
    (tony.directory / "key").write_bytes(b"\0second\xffvalue\n")
    return ("--secret", "TOKEN=token", "--secret-file", "KEY=key")


@pytest.mark.promise("S80")
def test_programs_have_secrets_and_their_files_go_with_the_task(tony, project):
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.command": f'{PYTHON} -c "{PROGRAM}"; sleep 600'},
                      "--env", "TOKEN=overridden", *project)
    said, mode, path = job.wait_log("worker:0", "secrets/KEY").split()
    assert said == digest(b"first-value", b"\0second\xffvalue\n") and mode == "0o600"
    assert path == str(job.directory / "containers/worker-0-1/secrets/KEY")
    _, body = job.rest("GET", "/v1/environment?type=worker")
    assert b'"TOKEN":"***"' in body and b'"KEY":"***"' in body
    tony.run("kill", job.id)
    job.wait()
    wait_until(lambda: not (job.directory / "containers/worker-0-1/secrets").exists(), "the secrets to be removed")


def test_logs_do_not_show_the_jobs_token(tony):
    """It orders the job about, and those may read its logs who may only look."""
    command = "echo $(cat $TONY_TOKEN_FILE); cat $TONY_TOKEN_FILE >&2"
    _, job = tony.job({"tony.worker.instances": 1, "tony.worker.command": command})
    assert job.logs("worker:0") == "***\n"
    token = (job.directory / "token").read_bytes().strip()
    assert len(token) == 64
    assert not [path for path in (job.directory / "containers").rglob("std*") if token in path.read_bytes()]


@pytest.mark.promise("S80")
def test_the_files_of_a_killed_executor_are_removed(tony, project):
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.command": "sleep 600", "tony.worker.max-restarts": 0,
                       "tony.am.infrastructure-retry-count": 0}, *project)
    job.wait_task("worker:0")
    secrets = job.directory / "containers/worker-0-1/secrets"
    assert (secrets / "KEY").exists()
    task = job.task("worker:0")
    subprocess.run(["kill", "-9", str(task["executor_pid"])], check=True)
    job.wait()
    wait_until(lambda: not secrets.exists(), "the secrets to be removed")


@pytest.mark.promise("S80")
def test_where_a_hung_program_stood_is_kept_without_its_secrets(tony, project):
    """Argument lists are part of it."""
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.hang-timeout": "1s", "tony.worker.max-restarts": 0,
                       "tony.worker.command": 'exec sh -c "while :; do sleep 1000; done" sh $TOKEN'}, *project)
    assert job.wait() != 0
    stacks = job.logs("worker:0", "hang-stacks.txt")
    assert "sh ***" in stacks and "first-value" not in stacks


def test_a_job_is_repeated_with_its_secrets(tony, project):
    answer, job = tony.job({"tony.worker.instances": 1, "tony.worker.command": f'{PYTHON} -c "{PROGRAM}"'}, *project)
    assert answer.returncode == 0, answer.stderr
    (tony.directory / "other").write_text("other-value")
    for options, token in ((), b"first-value"), (("--secret", "TOKEN=other"), b"other-value"):
        answer = tony.run("rerun", "--follow", *options, job.id)
        tony.jobs.append(tony.found_job(answer.stderr))
        assert digest(token, b"\0second\xffvalue\n") in answer.stdout, answer.stdout + answer.stderr


def test_render_shows_no_value(tony, project):
    answer = tony.run("render", *project, "--", "true")
    assert answer.returncode == 0, answer.stderr
    assert "TOKEN=***" in answer.stdout and "KEY=/.../secrets/KEY" in answer.stdout
    assert "first-value" not in answer.stdout and "second" not in answer.stdout
