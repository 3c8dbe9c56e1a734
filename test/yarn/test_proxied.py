"""YARN's web proxy with a certificate, by which the AM knows it: yarn.resourcemanager.application-https.policy. The
job is alice's."""

import json
import os
import socket
import ssl
import subprocess

import pytest
from program import wait_until
from test_am_restart import am_processes
from test_who_may import AlicesJob, alice  # noqa: F401

CLUSTER = {"--nodes": 1, "--secure": None, "--protection": "privacy", "--app-https": "STRICT"}
STORE = "yarn_provided.keystore"


def own_certificate(pid, directory):
    """The AM's, in PEM with its key: signed by the proxy's, as those of all AMs are."""
    with open(f"/proc/{pid}/environ", encoding="utf-8") as file:
        environment = dict(entry.partition("=")[::2] for entry in file.read().split("\0"))
    password = environment["KEYSTORE_PASSWORD"]
    store, pem = directory / "am.p12", directory / "am.pem"
    made = subprocess.run(["keytool", "-importkeystore", "-noprompt", "-srckeystore", f"/proc/{pid}/cwd/{STORE}",
                           "-srcstoretype", "JKS", "-srcstorepass", password, "-destkeystore", store, "-deststoretype", "PKCS12",
                           "-deststorepass", password], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    subprocess.run(["openssl", "pkcs12", "-in", store, "-passin", f"pass:{password}", "-nodes", "-out", pem], check=True,
                   capture_output=True)
    return pem


def listeners_of(pid):
    """Its addresses of IPv4."""
    links = [os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd")]
    with open(f"/proc/{pid}/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file][1:]
    return [(socket.inet_ntoa(bytes.fromhex(row[1][:8])[::-1]), int(row[1][9:], 16))
            for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in links]


def ask(address, certificate):
    """The answer of this address to a client with this certificate; "": none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certificate:
        context.load_cert_chain(certificate)
    try:
        with socket.create_connection(address) as plain, context.wrap_socket(plain) as sealed:
            sealed.sendall(b"GET /v1/job HTTP/1.1\r\nHost: a\r\nConnection: close\r\nCookie: proxy-user=alice\r\n\r\n")
            return b"".join(iter(lambda: sealed.recv(65536), b"")).decode()
    except (ssl.SSLError, ConnectionError):
        return ""


@pytest.mark.promise("S97")
def test_the_proxy_is_known_by_its_certificate(alice, tmp_path):  # noqa: F811
    job = AlicesJob(alice, view="bob games")
    for user in ("alice", "bob", "games"):
        assert json.loads(job.at_am(user, "v1/job")[1])["id"] == job.id
    assert "hello from alice" in wait_until(lambda: job.at_am("bob", "v1/tasks/worker:0/logs/stdout")[1], "the log")
    assert job.at_am("gw", "v1/job")[0] == 401
    am = max(am_processes(job.job), key=lambda pid: len(listeners_of(pid)))
    addresses = listeners_of(am)
    assert len(addresses) == 3, "for executors, browsers and the proxy"
    for address in addresses:
        for certificate in (None, own_certificate(am, tmp_path)):
            assert ask(address, certificate) == "", address
    job.end()


@pytest.mark.promise("S97")
def test_a_browser_with_a_ticket_opens_the_dashboard(alice, browse):  # noqa: F811
    """The ResourceManager's proxy asks for the ticket; the job's page lives on, and tells another user nothing."""
    job = AlicesJob(alice, view="bob")
    url = job.job.tracking_url()
    assert url.startswith("http://localhost:")    # Chromium shows no ticket to a numeric address
    bob, games = browse("bob"), browse("games")
    bob.go(url)
    bob.wait_for_rows(lambda rows: [row[1] for row in rows] == ["running"])
    bob.wait(lambda: bob.text(".connection").startswith("Live"))
    assert job.id in bob.text(".facts")
    bob.turn_to("#/tasks/worker:0")
    bob.wait_for_text("hello from alice", ".log")
    games.expected_errors = ["status of 401"]
    games.driver.get(url)
    games.wait_for_text("open a new link", "body")
    assert "worker" not in games.text("body")
    bob.expect_end()
    job.end()
    bob.wait_for_text("Ended", ".connection")
