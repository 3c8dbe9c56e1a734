"""Files of HDFS for programs (TONY_FILES): who gets there, and what is refused. Reading them is test/yarn's."""

import os
import subprocess

import pytest
from program import PATIENCE_S, PYTHON, ROOT, wait_until, write_xml

ASK = "from tony import _hdfs; print(_hdfs.read({!r}, 0, 1))"


@pytest.fixture
def site(tony):
    """Names an HDFS that nobody serves."""
    write_xml(tony.directory / "core-site.xml", {"fs.defaultFS": "hdfs://127.0.0.1:9"})
    return {"HADOOP_CONF_DIR": str(tony.directory)}


def submit(tony, env=None):
    job = tony.submit({"tony.worker.instances": 1}, "--scheduler", "local", "--executes",
                      f"echo at ${{TONY_FILES-nowhere}}; until test -e {tony.directory}/go; do sleep 0.1; done", env=env)
    return job, job.wait_log("worker:0", "at ").split()[-1]


def ask(place, url, *before):
    """How a program's question ends: the last line of what it prints."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "TONY_TASK": "worker:0", **({"TONY_FILES": place} if place else {})}
    done = subprocess.run([*before, PYTHON, "-c", ASK.format(url)], env=env, capture_output=True, text=True, timeout=PATIENCE_S)
    return (done.stdout + done.stderr).splitlines()[-1]


@pytest.mark.promise("S120")
def test_another_user_does_not_connect_and_no_other_file_system_is_served(tony, site):
    job, place = submit(tony, site)
    assert os.stat(place).st_mode & 0o777 == 0o600
    if os.geteuid() == 0:
        assert "Permission denied" in ask(place, "hdfs:///a", "setpriv", "--reuid=65534", "--clear-groups")
    for url in ("file:///etc/passwd", "hdfs://127.0.0.1:10/a", "s3://bucket/a"):
        assert "in none of the job's file systems, which are hdfs://127.0.0.1:9" in ask(place, url)
    assert "PermissionError" in ask(place, "file:///etc/passwd")
    (tony.directory / "go").touch()
    assert job.wait() == 0
    wait_until(lambda: not os.path.exists(place), "the socket to be gone")


def test_a_job_that_names_no_hdfs_has_no_socket(tony):
    job, place = submit(tony, {"HADOOP_CONF_DIR": ""})
    assert place == "nowhere"
    assert "TONY_FILES is not set: the job names no HDFS; set HADOOP_CONF_DIR" in ask(None, "hdfs:///a")
    (tony.directory / "go").touch()
    assert job.wait() == 0
