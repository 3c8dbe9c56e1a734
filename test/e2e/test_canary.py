"""Marked secrets on one machine: while their job runs and afterwards they are where SECURITY.md says, and nowhere else."""

import json
import re
import resource
import signal

import pytest
from browsing import Curl, port_of
from canary import Canary
from certificate import make_certificate
from conftest import PYTHON, wait_until
from portal import Portal
from receiver import Receiver
from wire import private_network

IN_ENVIRONMENT = {(mark, "environ of the program") for mark in ("variable", "password")}


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
    job = canary.submit({"tony.history.permissions": permissions, "tony.application.on-end-timeout": "1s"})
    canary.add_token(job.token())
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
    assert without_job(canary.found, job) == named | IN_ENVIRONMENT

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


@pytest.mark.promise("S80")
def test_a_value_that_a_program_prints_is_nowhere(tony):
    """Neither in its logs, nor in the end of them that is told as the reason of its failure."""
    canary, receiver = Canary(tony), Receiver()
    (canary.source / "canary.py").write_text("import os, sys; sys.stdout.buffer.write(open(os.environ['CANARY_KEY'], 'rb').read()); "
                                             "raise ValueError('not a key: ' + os.environ['CANARY_TOKEN'])")
    answer, job = tony.job({"tony.worker.instances": 1, "tony.worker.command": f"{PYTHON} canary.py",
                            "tony.application.on-end-webhook": receiver.url, "tony.history.permissions": "all"},
                           *canary.options, src_dir=canary.source)
    assert answer.returncode != 0 and "ValueError: not a key: ***" in answer.stdout + answer.stderr
    assert f"left out: {canary.source}/canary.token: is a secret of the job" in answer.stderr
    [(_, _, notice)] = receiver.wait_requests(1)
    assert notice["job"]["cause"]["headline"] == "ValueError: not a key: ***"
    receiver.close()
    job.published()
    portal = Portal(tony)
    portal.wait_kept(job, "failed")
    canary.search("the notice", json.dumps(notice))
    canary.search_files(tony.state)
    canary.search_portal(portal, job)
    canary.search_verbs(job)
    portal.stop()
    assert job.logs("worker:0") == "***"
    assert {found for found in without_job(canary.found, job) if found[0] in ("variable", "file")} == {
        ("variable", "jobs/JOB/job.json"), ("file", "jobs/JOB/job.json")}


# ---- the wire -------------------------------------------------------------------------------------------------


def ask_all(canary, portal, trusted, job, names):
    """People look at a job that runs, through each of its doors."""
    tony = canary.tony
    visitor = Curl(canary, "portal", "--cacert", trusted)
    root = visitor.open(portal.link)
    wait_until(lambda: job.id in visitor.ask(f"{root}v1/jobs"), "the job in the portal")
    for call in ("job", "tasks/worker:0/logs/stdout", "metrics"):
        visitor.ask(f"{root}v1/jobs/{job.id}/{call}")
    link = tony.run("open", job.id).stdout.strip()
    names.setdefault(port_of(link), "the page")
    Curl(canary, "page").open(link)
    with job.tunnel() as (link, _):
        names[port_of(link)] = "a tunnel"
        root = (browser := Curl(canary, "tunnel")).open(link)
        assert json.loads(browser.ask(f"{root}v1/job"))["id"] == job.id


@pytest.mark.promise("S2", "S80", "S90")
@pytest.mark.parametrize("seal", ["true", "false"])
def test_secrets_on_the_wire(tony, seal):
    """Every byte that tony's processes, a program and browsers say to each other, from submit to kill. Without TLS the
    wire has the job's token, and of what the user marked still nothing."""
    canary, names = Canary(tony), {}
    certificate, key = make_certificate(tony.directory)
    canary.add("portal's key", *(line for line in key.read_bytes().splitlines() if b"-----" not in line))
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    with private_network(tony) as wire:
        tony.enter += ["prlimit", f"--core={'unlimited' if hard == resource.RLIM_INFINITY else hard}"]
        portal = Portal(tony, "--certificate", certificate, "--key", key, trusted=certificate)
        job = canary.submit({"tony.application.tls": seal, "tony.task.heartbeat-interval-ms": 100})
        canary.add_token(job.token())
        canary.add("portal's token", portal.token.encode())
        names[port_of(f"//{json.loads((job.directory / 'am.json').read_text())['address']}")] = "the AM"
        names |= {port_of(portal.url): "the portal"}
        ask_all(canary, portal, certificate, job, names)
        job.kill_am(signal.SIGABRT)   # what it dies of leaves a core file, if it may
        assert tony.run("restart", job.id, "worker:0").returncode == 0
        wait_until(lambda: job.task("worker:0").get("restart") == 1 and job.task("worker:0")["state"] == "running", "the next program")
        assert tony.run("kill", "--reason", "enough", job.id).returncode == 0
        portal.stop()
    for url in canary.am_urls():
        names.setdefault(port_of(url), "the executor, for its program")
    canary.search_wire(wire, names)
    if seal == "true":
        heard = {("token", "the executor, for its program"),  # which is on its machine
                 *((mark, "the page") for mark in ("code of page", "session of page")),
                 *((mark, "a tunnel") for mark in ("code of tunnel", "session of tunnel"))}
    else:
        heard = {("token", "the AM"), *((mark, "the AM") for mark in ("code of page", "session of page")),
                 *((mark, place) for mark in ("code of tunnel", "session of tunnel") for place in ("a tunnel", "the AM"))}
    assert canary.found == {(mark, f"the wire: {place}") for mark, place in heard}
    canary.search_files(tony.directory)   # which fails where there is a core file
