"""Marked secrets on one machine: while their job runs and afterwards they are where SECURITY.md says, and nowhere else."""

import re

import pytest
from canary import Canary
from conftest import PYTHON
from portal import Portal


def without_job(found, job):
    """(mark, place), whatever the job and its day are called."""
    return {(mark, re.sub(r"history/\d+/\d+/\d+", "history/DAY", place.replace(job.id, "JOB"))) for mark, place in found}


@pytest.mark.promise("S80", "S2", "S26")
@pytest.mark.parametrize("permissions", ["owner", "all"])
def test_marked_secrets_are_found_nowhere_else(tony, permissions):
    canary = Canary(tony)
    portal = Portal(tony)
    webhook = "http://127.0.0.1:9/hook?key=canary-of-a-webhook-5Hd1"
    (tony.directory / "conf/tony-site.xml").write_text(
        "<configuration><property><name>tony.application.on-end-webhook</name><value>" + webhook +
        "</value></property></configuration>")
    canary.add("webhook", b"canary-of-a-webhook-5Hd1")
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.command": f"{PYTHON} canary.py",
                       "tony.history.permissions": permissions, "tony.application.on-end-timeout": "1s"},
                      *canary.options, src_dir=tony.directory / "src")
    job.wait_log("worker:0", canary.said)
    canary.add("token", job.token().encode())
    canary.add("portal's token", portal.token.encode())
    portal.wait_job(job, "running")

    canary.search_files(tony.state)
    canary.search_processes()
    canary.search_am(job)
    canary.search_portal(portal, job)
    canary.search_verbs(job)
    canary.search_memory("AM", job.am_pid())
    container = "jobs/JOB/containers/worker-0-1"
    named = {("token", "jobs/JOB/token"), ("portal's token", "portal/token"), ("file", f"{container}/secrets/CANARY_KEY"),
             ("token", "AM"), ("password", "AM"), ("webhook", "AM"),  # and no value of --secret
             *((mark, "jobs/JOB/job.json") for mark in ("variable", "file", "password", "webhook"))}
    assert without_job(canary.found, job) == named

    (tony.directory / "go").touch()
    assert job.wait() == 0
    published = job.published()
    portal.wait_kept(job, "succeeded")
    canary.found.clear()
    canary.search_files(tony.state)
    canary.search_processes()
    canary.search_portal(portal, job)
    canary.search_verbs(job)
    named -= {("file", f"{container}/secrets/CANARY_KEY"), ("token", "AM"), ("password", "AM"), ("webhook", "AM")}
    if permissions == "owner":  # which nobody else can read
        named |= {("password", "history/DAY/JOB/job.json")}
        assert (published / "job.json").stat().st_mode & 0o077 == 0
    assert without_job(canary.found, job) == named
    for name in ("job.json", "token"):
        assert (job.directory / name).stat().st_mode & 0o777 == 0o600
    portal.stop()
