"""tony.application.tls: tony, the AM and the executors of a job speak TLS 1.3 to each other, by the job's token, and
nothing else; programs and people reach the AM as before."""

import contextlib
import hashlib
import hmac
import json
import os
import signal
import socket
import subprocess

import pytest
from conftest import PYTHON, wait_until
from patience import PATIENCE_S
from open_rows import Browser, open_job, root_of
from wire import private_network

TLS = {"tony.application.tls": "true"}
# A program that keeps an entry in the AM's store (docs/rest.md), and reads it again.
KEEPS = """
import os, urllib.request
token = open(os.environ["TONY_TOKEN_FILE"]).read().strip()
def call(method, data=None):
    request = urllib.request.Request(os.environ["TONY_AM_URL"] + "/v1/kv/entry", data, method=method)
    request.add_header("Authorization", "Bearer " + token)
    return urllib.request.urlopen(request).read().decode()
call("PUT", b"kept-0451")
print("the entry:", call("GET"), flush=True)
"""


def address_of(job):
    host, port = json.loads((job.directory / "am.json").read_text())["address"].split(":")
    return host, int(port)


def submit(tony, keys, command="exec sleep 1000"):
    return tony.submit(TLS | {"tony.worker.instances": 1} | keys, "--executes", command)


def kept(tony):
    (tony.directory / "keeps.py").write_text(KEEPS)
    return f"{PYTHON} {tony.directory}/keeps.py"


def test_a_machines_openssl_configuration_has_no_say(tony):
    """It may name modules that a static program cannot load."""
    (tony.directory / "openssl.cnf").write_text("openssl_conf = init\n[init]\nproviders = providers\n[providers]\nabsent = absent\n"
                                                "[absent]\nactivate = 1\nmodule = /nonexistent.so\n")
    tony.env["OPENSSL_CONF"] = str(tony.directory / "openssl.cnf")
    job = submit(tony, {})
    job.wait_task("worker:0")
    killed = tony.run("kill", job.id)
    assert killed.returncode == 0, killed.stderr


def test_programs_and_people_reach_the_am(tony):
    job = submit(tony, {}, f"{kept(tony)}; exec sleep 1000")
    job.wait_log("worker:0", "the entry: kept-0451")
    assert job.status()["am_url"].startswith("https://")
    with job.tunnel() as (link, root):
        assert job.rest("GET", "/v1/kv/entry", url=root) == (200, b"kept-0451")
        assert Browser().ask(root + "/v1/job")[0] == 401
        browser = Browser()
        assert browser.ask(link)[0] == 200
        assert json.loads(browser.ask(root + "/v1/job")[1])["id"] == job.id
    assert tony.run("restart", job.id, "worker:0").returncode == 0
    wait_until(lambda: job.task("worker:0").get("restart") == 1 and job.task("worker:0")["state"] == "running",
               "the next program")
    assert tony.run("kill", job.id).returncode == 0
    assert job.status()["state"] == "killed"


@pytest.mark.promise("S93")
def test_browsers_have_a_port_of_their_own(tony):
    job = submit(tony, {})
    job.wait_task("worker:0")
    link = open_job(tony, job.id)
    root, browser = root_of(link), Browser()
    assert root != job.status()["am_url"].replace("https", "http")
    assert browser.ask(link)[0] == 200
    assert json.loads(browser.ask(root + "/v1/job")[1])["id"] == job.id
    # The token would be shown in clear there: it is of no use.
    assert job.rest("GET", "/v1/job", url=root)[0] == 401
    assert job.rest("POST", "/v1/job/kill", {}, url=root)[0] == 401


@pytest.mark.promise("S101")
def test_a_link_controls_through_tls_alone(tony):
    job = submit(tony, {})
    job.wait_task("worker:0")
    refused = tony.run("open", "--control", job.id)
    assert refused.returncode == 2 and "add --tunnel" in refused.stderr
    with job.tunnel("--control") as (link, root):
        browser = Browser()
        secret = browser.ask(link)[2].partition("#/?control=")[2]
        assert browser.ask(root + "/v1/job/kill", b"{}", Origin=root, X_Tony_Control=secret)[0] == 200
    job.wait()
    assert job.status()["state"] == "killed"


def ask_plainly(job, text):
    with socket.create_connection(address_of(job), PATIENCE_S) as connection:
        connection.sendall(text.encode())
        with contextlib.suppress(ConnectionResetError):
            return connection.recv(1 << 16)
    return b""


@pytest.mark.promise("S91")
def test_the_am_answers_nothing_without_tls(tony):
    job = submit(tony, {})
    job.wait_task("worker:0")
    for line in ("GET / HTTP/1.1", "GET /v1/server HTTP/1.1", "POST /v1/job/kill HTTP/1.1"):
        assert ask_plainly(job, f"{line}\r\nHost: localhost\r\nAuthorization: Bearer {job.token()}\r\n\r\n") == b""
    assert job.status()["state"] == "running"


def key_of(token):
    """As docs/rest.md has it."""
    extracted = hmac.digest(bytes(32), token.encode(), "sha256")
    return hmac.new(extracted, b"tony wire, TLS 1.3\x01", hashlib.sha256).hexdigest()


@pytest.mark.promise("S90")
@pytest.mark.parametrize("is_right", [True, False], ids=["the token", "another token"])
def test_any_tls_does_that_knows_the_token(tony, is_right):
    job = submit(tony, {})
    key = key_of(job.token() if is_right else "0" * 64)
    host, port = address_of(job)
    request = (f"GET /v1/job HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {job.token()}\r\n"
               "Connection: close\r\n\r\n")
    answer = subprocess.run(["openssl", "s_client", "-connect", f"{host}:{port}", "-tls1_3", "-psk", key, "-psk_identity", "tony",
                             "-ciphersuites", "TLS_AES_128_GCM_SHA256", "-quiet"], check=False,
                            input=request, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (f'"id":"{job.id}"' in answer.stdout) == is_right, answer.stderr
    assert is_right or answer.stdout == ""


@pytest.mark.parametrize("is_guardian", [False, True], ids=["the AM", "the guardian"])
def test_another_am_goes_on(tony, is_guardian):
    job = submit(tony, {"tony.worker.instances": 2}, f"{kept(tony)}; exec sleep 1000")
    before = [job.wait_task(f"worker:{index}")["pids"] for index in range(2)]
    url, page = job.status()["am_url"], root_of(open_job(tony, job.id))
    os.kill(job.am()[is_guardian], signal.SIGKILL)
    wait_until(lambda: job.status()["am_attempt"] == 2, "another AM")
    assert [job.wait_task(f"worker:{index}")["pids"] for index in range(2)] == before
    assert job.status()["am_url"] == url and root_of(open_job(tony, job.id)) == page
    with job.tunnel() as (_, root):
        assert job.rest("GET", "/v1/kv/entry", url=root) == (200, b"kept-0451")


@pytest.mark.promise("S92")
def test_junk_loses_no_task(tony):
    """1,000 connections that say nothing, half of a greeting, or no TLS at all, while ten tasks beat ten times a
    second: an executor that were kept out for a second would count as lost."""
    job = submit(tony, {"tony.worker.instances": 10, "tony.task.heartbeat-interval-ms": 100,
                        "tony.task.max-missed-heartbeats": 50})
    for index in range(10):
        job.wait_task(f"worker:{index}")
    words = [b"", b"\x16\x03\x01\x02\x00\x01\x00", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"j" * 500]
    held = []
    for number in range(1000):
        connection = socket.create_connection(address_of(job), PATIENCE_S)
        connection.sendall(words[number % len(words)])
        held = [*held[-300:], connection]
    restarted = tony.run("restart", job.id, "worker:0")
    assert restarted.returncode == 0, restarted.stderr
    job.wait_task("worker:0", restart=1)
    beats = [event for event in job.events() if event["ev"] == "task" and event.get("to") == "lost"]
    assert not beats and job.status()["am_attempt"] == 1
    assert all(task["attempt"] == 1 and task["state"] == "running" for task in job.status()["tasks"])
    for connection in held:
        connection.close()


# ---- the wire -------------------------------------------------------------------------------------------------


@pytest.mark.promise("S90")
@pytest.mark.parametrize("seal", ["true", "false"])
def test_nothing_is_read_on_the_wire(tony, seal):
    """Without TLS all of it is: so the recorder hears all that there is."""
    with private_network(tony) as wire:
        job = submit(tony, {"tony.application.tls": seal}, f"{kept(tony)}; exec sleep 1000")
        job.wait_log("worker:0", "the entry: kept-0451")
        _, port = address_of(job)
        assert tony.run("kill", "--reason", "marked-1729", job.id).returncode == 0
    marks = [job.token(), "kept-0451", "marked-1729", "HTTP/1.1", "worker:0", "Bearer"]
    said = wire.of_port(port)
    assert len(said) > 2000
    assert [mark for mark in marks if mark.encode() in said] == ([] if seal == "true" else marks)
