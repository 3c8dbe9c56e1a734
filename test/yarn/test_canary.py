"""Marked secrets on a cluster: while their job runs and afterwards they are where SECURITY.md says, and nowhere else."""

import re

import pytest
from canary import Canary
from portal import Portal
from program import wait_until

# A container's credentials, as YARN keeps and hands them on: files of YARN's own, or of its owner's only.
CREDENTIALS = re.compile(r"data/(rm/yarn-rm-state/.*|nm\d/state/yarn-nm-state/.*|nm\d/local/nmPrivate/(JOB/CONTAINER/)?CONTAINER.tokens"
                         r"|nm\d/local/usercache/\w+/appcache/JOB/CONTAINER/container_tokens)")
CONTAINER = "data/NM/local/usercache/USER/appcache/JOB/CONTAINER/.tony"
IN_ENVIRONMENT = {(mark, "environ of the program") for mark in ("variable", "password")}


def places(found, job):
    """(mark, place) without YARN's credentials, whatever the job, its containers and nodes are called."""
    rules = ((job.id, "JOB"), (r"container_\d[\w]+", "CONTAINER"))
    for pattern, name in rules:
        found = {(mark, re.sub(pattern, name, place)) for mark, place in found}
    found = {(mark, place) for mark, place in found if not CREDENTIALS.fullmatch(place)}
    return {(mark, re.sub(r"data/nm\d/local/usercache/\w+/", "data/NM/local/usercache/USER/", place)) for mark, place in found}


def search_hdfs(canary, cluster, name, path):
    for entry in cluster.list(path):
        status = cluster.status(f"{path}/{entry}")
        if status and status["type"] == "DIRECTORY":
            search_hdfs(canary, cluster, f"{name}/{entry}", f"{path}/{entry}")
        elif status and (data := cluster.get(f"{path}/{entry}")):
            canary.search(f"{name}/{entry}", data)
            assert int(status["permission"], 8) & 0o077 == 0, (path, entry, status)


def search(canary, cluster, portal, job, *but):
    """All but HDFS's blocks, whose files are looked at one by one; `but`: other folders of the cluster."""
    canary.found.clear()
    canary.search_files(canary.tony.state)
    canary.search_files(cluster.directory, "dn", *but)
    search_hdfs(canary, cluster, "hdfs", job.files)
    search_hdfs(canary, cluster, "history", job.history)
    canary.search_processes()
    canary.search_portal(portal, job)
    canary.search_verbs(job)
    for path in (f"apps/{job.id}", f"apps/{job.id}/appattempts"):
        canary.search(f"ResourceManager {path}", str(cluster.rm(path)))


@pytest.mark.promise("S80", "S2", "S26")
def test_marked_secrets_are_found_nowhere_else(tony, cluster):
    canary = Canary(tony)
    portal = Portal(tony)
    job = canary.submit()
    canary.add_token(wait_until(job.token, "the token"))
    canary.add("portal's token", portal.token.encode())
    portal.wait_job(job, "running")
    search(canary, cluster, portal, job)
    canary.search_am(job)
    kept = {("token", "yarn/JOB/token"), ("portal's token", "portal/token"),
            *((mark, "yarn/JOB/job.json") for mark in ("variable", "file", "password"))}
    running = {("token", "hdfs/token"), ("password", "hdfs/job.json"), ("token", f"{CONTAINER}/token"),
               ("file", f"{CONTAINER}/secrets/CANARY_KEY")}
    assert places(canary.found, job) == kept | running | IN_ENVIRONMENT

    (tony.directory / "go").touch()
    assert job.wait() == 0
    portal.wait_kept(job, "succeeded")
    wait_until(lambda: not tony.processes() or not job.processes(), "the job's processes to end")
    search(canary, cluster, portal, job)
    assert places(canary.found, job) == kept | {("password", "history/job.json")}
    portal.stop()
