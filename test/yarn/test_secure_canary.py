"""Marked secrets on a cluster with Kerberos, all of whose wires are sealed: those of the user, of tony, of YARN and HDFS, and
of Kerberos. They are looked for in every file of the cluster, HDFS's blocks among them, in processes, answers and pages,
and in every byte that crosses the network from submit to the job's end."""

import os
import re
import resource
import signal
from pathlib import Path

import kit
import pytest
from browsing import Curl, port_of
from canary import Canary
from certificate import make_certificate
from credentials import keys_of_keytab, keys_of_tickets, tokens_of
from portal import Portal
from program import wait_until
from test_am_restart import wait_am
from test_canary import CONTAINER, IN_ENVIRONMENT, places, search
from test_logs import aggregated
from wire import own_network, recorded

# New tokens live for as long as those that the scheduler renews.
CLUSTER = {"--nodes": 1, "--secure": None, "--https": None, "--protection": "privacy", "--kms": None, "--recovery": None,
           "--token-life-sec": 86400, "--token-renew-sec": 86400}
SECRET_FOLDERS = ("krb5", "tls")   # of the cluster's own: where its keys are made
USERS = ("variable", "file", "password")


@pytest.fixture(scope="module")
def own_cluster():
    """In a network of its own, where nobody else speaks. Containers may leave core files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    with own_network():
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
        watched = kit.Watched(CLUSTER)
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
        yield watched.cluster
        watched.close()


def add_kerberos(canary, env):
    """Keys of the user's, from which all else that Kerberos proves follows, and of his tickets."""
    canary.add("key of a keytab", *keys_of_keytab(Path(env["TONY_YARN_KEYTAB"]).read_bytes()))
    canary.add("key of a ticket", *keys_of_tickets(Path(env["KRB5CCNAME"].removeprefix("FILE:")).read_bytes()))


def credentials(cluster, job):
    """Of each container that runs."""
    return sorted(cluster.directory.glob(f"data/nm*/local/usercache/*/appcache/{job.id}/*/container_tokens"))


def add_tokens(canary, cluster, job):
    """Delegation tokens and that of the AM, as they are in the credentials now."""
    for path in credentials(cluster, job):
        for kind, password in tokens_of(path.read_bytes()).items():
            canary.add(kind, password)


def search_web(canary, cluster, job):
    """YARN and HDFS answer their administrators."""
    node = cluster.rm("nodes")["nodes"]["node"][0]["nodeHTTPAddress"]
    attempts = f"ws/v1/cluster/apps/{job.id}/appattempts"
    pages = {"ResourceManager": (cluster.env["YARN_RM_WEB"], f"{attempts}/{attempt_of(cluster, job)}/containers",
                                 f"cluster/app/{job.id}", "conf", "jmx"),
             "NodeManager": (f"https://{node}", "ws/v1/node/apps", "ws/v1/node/containers", "conf", "jmx"),
             "NameNode": (cluster.env["WEBHDFS_URL"].replace("/webhdfs/v1", ""), "conf", "jmx")}
    for name, (root, *paths) in pages.items():
        for path in paths:
            canary.search(f"{name} {path}", cluster.curl("hdfs" if name == "NameNode" else "yarn", f"{root}/{path}"))


def search_logs_again(canary, cluster):
    """Those of Hadoop's daemons. WebHDFS, and KMS when a token is renewed, have it in the URL, and they log URLs."""
    canary.found = {(mark, place) for mark, place in canary.found if not place.startswith("log/")}
    for log in (cluster.directory / "log").iterdir():
        canary.search(f"log/{log.name}", re.sub(rb"\b(delegation|token)=[^&\s\"]+", b"", log.read_bytes()))


def attempt_of(cluster, job):
    return cluster.rm(f"apps/{job.id}/appattempts")["appAttempts"]["appAttempt"][-1]["appAttemptId"]


def marks_in_blocks(canary, cluster):
    """Those of files that were deleted are among them, until the DataNode has removed them."""
    kept, canary.found = canary.found, set()
    canary.search_files(cluster.directory / "data/dn")
    found, canary.found = canary.found, kept
    return {mark for mark, _ in found}


def look(canary, cluster, portal, job, names):
    """People look at the job while it runs, through each of its doors."""
    root = Curl(canary, "portal", "--cacert", portal.trusted).open(portal.ask_link())
    assert port_of(root) == port_of(portal.url)
    link = canary.tony.run("open", job.id).stdout.strip()
    names[port_of(link)] = "the page"
    Curl(canary, "page").open(link)
    assert job.id in cluster.curl(cluster.user, f"{job.tracking_url().rstrip('/')}/v1/job")
    follower = canary.tony.start("logs", "--follow", "--task", "worker:0", job.id)
    assert follower.stdout.readline() == f"{canary.said}\n"
    with job.tunnel() as (link, root):
        names[port_of(link)] = "a tunnel"
        Curl(canary, "tunnel").open(link)
        canary.search_am(job, root)


def am_pid(job):
    """That of the AM itself, whose guardian ends with it."""
    return wait_until(lambda: job.status()["am_pid"], "the AM's process")


@pytest.mark.promise("S2", "S80", "S68")
def test_marked_secrets_are_found_nowhere_else(own_tony, own_cluster):
    canary, names = Canary(own_tony), {}
    add_kerberos(canary, own_cluster.env)
    certificate, key = make_certificate(own_tony.directory)
    canary.add("key of the portal", *(line for line in key.read_bytes().splitlines() if b"-----" not in line))
    with recorded(own_tony.directory / "wire") as wire:
        portal = Portal(own_tony, "--certificate", certificate, "--key", key, trusted=certificate)
        job = canary.submit({"tony.task.heartbeat-interval-ms": 100}, "--principal", own_cluster.env["TONY_YARN_PRINCIPAL"],
                            "--keytab", own_cluster.env["TONY_YARN_KEYTAB"])
        canary.add_token(wait_until(job.token, "the token"))
        canary.add("token of the portal", portal.token.encode())
        portal.wait_job(job, "running")

        before = [path.read_bytes() for path in credentials(own_cluster, job)]
        add_tokens(canary, own_cluster, job)
        answer = own_tony.run("renew", job.id)
        assert answer.returncode == 0, answer.stderr
        wait_until(lambda: all(old != path.read_bytes() for old, path in zip(before, credentials(own_cluster, job), strict=True)),
                   "the new tokens in each container")
        add_tokens(canary, own_cluster, job)
        assert {"HDFS_DELEGATION_TOKEN", "kms-dt", "YARN_AM_RM_TOKEN"} <= set(canary.marks)

        look(canary, own_cluster, portal, job, names)
        search(canary, own_cluster, portal, job, *SECRET_FOLDERS)
        search_web(canary, own_cluster, job)
        search_logs_again(canary, own_cluster)
        kept = {("token", "yarn/JOB/token"), ("token of the portal", "portal/token"), *((mark, "yarn/JOB/job.json") for mark in USERS)}
        running = {("token", "hdfs/token"), ("password", "hdfs/job.json"), ("token", f"{CONTAINER}/token"),
                   ("file", f"{CONTAINER}/secrets/CANARY_KEY")}
        assert places(canary.found, job) == kept | running | IN_ENVIRONMENT
        assert marks_in_blocks(canary, own_cluster) == {"token", "password"}

        os.kill(am_pid(job), signal.SIGABRT)   # what it dies of leaves a core file, if it may
        wait_am(job, 2)
        assert own_tony.run("kill", "--reason", "enough", job.id).returncode == 0
        job.wait_final("KILLED")
        portal.wait_kept(job, "killed")
        wait_until(lambda: not job.processes(), "the job's processes to end")
        collected = own_cluster.get(aggregated(own_cluster, job))
        search(canary, own_cluster, portal, job, *SECRET_FOLDERS)
        search_logs_again(canary, own_cluster)
        canary.search("aggregated logs", collected)
        assert places(canary.found, job) == kept | {("password", "history/job.json")}
        wait_until(lambda: marks_in_blocks(canary, own_cluster) == {"password"}, "the blocks of deleted files to be removed")
        portal.stop()
    names |= {port_of(url): "the executor, for its program" for url in canary.am_urls()}
    canary.found.clear()
    canary.search_wire(wire, names)
    heard = {("token", "the executor, for its program"), ("token", "a tunnel"),   # on the machine of either
             *((f"{what} of page", "the page") for what in ("code", "session")),
             *((f"{what} of tunnel", "a tunnel") for what in ("code", "session"))}
    assert canary.found == {(mark, f"the wire: {place}") for mark, place in heard}
