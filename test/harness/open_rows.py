"""`tony open`: a link to the job's page, for a browser that has no token, and the door to what its tasks serve: the same
functions for each scheduler, whose suite gives them its own `tony`."""

import base64
import http.client
import http.cookiejar
import json
import os
import signal
import socket
import sys
import urllib.error
import urllib.parse
import urllib.request

import pytest

from patience import PATIENCE_S
from program import PROGRAMS, PYTHON, wait_until

sys.path.insert(0, str(PROGRAMS))
from web_program import frame  # noqa: E402


class Browser:
    """Keeps cookies, follows redirects."""

    def __init__(self):
        self.cookies = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))

    def ask(self, url, data=None, **headers):
        """(status, body, where it led to)"""
        request = urllib.request.Request(url, data, {name.replace("_", "-"): value for name, value in headers.items()})
        try:
            with self.opener.open(request, timeout=PATIENCE_S) as answer:
                return answer.status, answer.read(), answer.url
        except urllib.error.HTTPError as error:
            return error.code, error.read(), error.url

    def cookie(self):
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.cookies)


def open_job(tony, *arguments):
    answer = tony.run("open", *arguments)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


def root_of(url):
    return url.split("/login")[0]


def submit(tony, command):
    return tony.submit({"tony.worker.instances": 1, **tony.no_proxy}, "--executes", command)


@pytest.mark.promise("S7", "S8", "S12")
def test_a_link_lets_look_and_no_more(tony):
    job = submit(tony, "exec sleep 1000")
    job.wait_task("worker:0")
    link = open_job(tony, job.id)
    assert job.token() not in link
    browser = Browser()
    root = root_of(link)
    assert browser.ask(root + "/v1/job")[0] == 401
    status, page, where = browser.ask(link)
    assert status == 200 and b"<!DOCTYPE html>" in page and where == root + "/"
    assert json.loads(browser.ask(root + "/v1/job")[1])["id"] == job.id
    assert json.loads(browser.ask(root + "/v1/tasks/worker:0/attempts")[1])[0]["started_ms"] > 0
    logs = json.loads(browser.ask(root + "/v1/tasks/worker:0/logs")[1])
    assert {log["log"] for log in logs} >= {"stdout", "stderr"}
    assert browser.ask(root + "/v1/job/kill", b"{}", Origin=root)[0] == 401
    assert job.status()["state"] == "running"
    # A link is good once, and a cookie for its own job.
    assert Browser().ask(link)[0] == 403
    other = submit(tony, "exec sleep 1000")
    other.wait_task("worker:0")
    assert browser.ask(root_of(open_job(tony, other.id)) + "/v1/job")[0] == 401
    tony.run("kill", job.id)
    job.wait()
    ended = tony.run("open", job.id)
    assert ended.returncode != 0 and "has ended (" in ended.stderr


@pytest.mark.promise("S100", "S101")
def test_a_link_with_control_ends_the_job(tony):
    job = submit(tony, "exec sleep 1000")
    job.wait_task("worker:0")
    refused = tony.run("open", "--control", job.id, "worker:0")
    assert refused.returncode == 2 and "leave worker:0 out" in refused.stderr
    link, browser = open_job(tony, "--control", job.id), Browser()
    root, looker = root_of(link), Browser()
    status, _, where = browser.ask(link)
    secret = where.partition("#/?control=")[2]
    assert status == 200 and len(secret) == 64 and secret not in browser.cookie()
    assert json.loads(browser.ask(root + "/v1/server")[1])["actions"] == ["kill", "restart", "scale"]
    assert looker.ask(open_job(tony, job.id))[2] == root + "/"
    restart, kill = f"{root}/v1/tasks/worker:0/restart", f"{root}/v1/job/kill"
    assert looker.ask(kill, b"{}", Origin=root, X_Tony_Control=secret)[0] == 401
    assert browser.ask(kill, b"{}", Origin=root)[0] == 401
    assert browser.ask(kill, b"{}", Origin="http://evil.example", X_Tony_Control=secret)[0] == 401
    assert browser.ask(restart, b"{}", Origin=root, X_Tony_Control=secret)[0] == 200
    wait_until(lambda: job.task("worker:0").get("restart") == 1 and job.task("worker:0")["state"] == "running",
               "the next program")
    assert browser.ask(kill, b'{"reason": "enough"}', Origin=root, X_Tony_Control=secret)[0] == 200
    job.wait()
    assert job.status()["state"] == "killed" and job.status()["message"] == "killed by the user: enough"


@pytest.fixture
def served(tony):
    """A job whose one worker has a web interface, once told so."""
    job = submit(tony, f"exec {PYTHON} web_program.py {tony.directory}/go")
    job.wait_task("worker:0")
    return job


def serve(tony, job):
    (tony.directory / "go").touch()
    wait_until(lambda: job.task("worker:0").get("ui_url"), "the web interface")


@pytest.mark.promise("S24")
def test_the_door_leads_to_what_a_task_serves(tony, served):
    browser = Browser()
    link = open_job(tony, served.id, "tensorboard")
    status, page, _ = browser.ask(link, Accept="text/html")
    assert status == 503 and b'http-equiv="refresh"' in page   # it is not there yet, and tries again
    serve(tony, served)
    root = root_of(link)
    links = json.loads(browser.ask(root + "/v1/job")[1])["links"]
    assert links == [{"name": "tensorboard", "task": "worker:0", "path": "ui/tensorboard/"}]
    status, body, where = browser.ask(root + "/ui/tensorboard/a/b?c=d")
    door = where.removesuffix("/a/b?c=d")
    origin = door.removesuffix("/ui/tensorboard")
    assert origin.rpartition(":")[0] == root.rpartition(":")[0] and origin != root   # another port of the same host
    seen = json.loads(body)
    assert status == 200 and seen["path"] == "/a/b?c=d"
    assert "Cookie" not in seen["headers"] and "Authorization" not in seen["headers"]
    assert seen["headers"]["X-Forwarded-Prefix"] == "/ui/tensorboard"
    assert json.loads(browser.ask(door + "/")[1])["headers"]["Cookie"] == "mine=1"
    assert browser.ask(door + "/away")[2] == door + "/there"
    big = os.urandom(3 << 20)
    assert browser.ask(door + "/", big, Origin=origin)[:2] == (200, big)
    assert browser.ask(door + "/", b"x", Origin="http://elsewhere")[0] == 401
    assert browser.ask(door + "/", b"x", Origin=root)[0] == 401
    assert browser.ask(root + "/ui/tensorboard/", b"x", Origin=root)[0] == 403
    assert Browser().ask(door + "/")[0] == Browser().ask(root + "/ui/tensorboard/")[0] == 401
    assert json.loads(served.rest("GET", "/ui/tensorboard/x")[1])["path"] == "/x"  # programs have the token
    assert browser.ask(root + "/ui/worker:1/")[0] == 404
    other = tony.run("open", served.id, "worker:1")
    assert other.returncode != 0 and "no task" in other.stderr


def receive(file, size):
    data = file.read(size)
    assert len(data) == size
    return data


@pytest.mark.promise("S11")
def test_web_sockets_pass(tony, served):
    serve(tony, served)
    link = open_job(tony, served.id, "worker:0")
    browser = Browser()
    place = urllib.parse.urlsplit(browser.ask(link)[2])

    def shake_hands(origin):
        connection = socket.create_connection((place.hostname, place.port), timeout=PATIENCE_S)
        connection.sendall(f"GET /ui/worker:0/ws HTTP/1.1\r\nHost: {place.netloc}\r\nOrigin: {origin}\r\n"
                           f"Cookie: {browser.cookie()}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                           "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                           f"{base64.b64encode(bytes(16)).decode()}\r\n\r\n".encode())
        return connection, connection.makefile("rb")
    connection, file = shake_hands(f"http://{place.netloc}")
    assert file.readline().startswith(b"HTTP/1.1 101 ")
    assert http.client.parse_headers(file)["Sec-WebSocket-Accept"] == "ICX+Yqv66kxgM0FcWaLWlFLwTAI="
    for size in (5, 1000, 2 << 20):
        message = os.urandom(size)
        connection.sendall(frame(0x82, message, mask=128))
        answer = frame(0x82, message)
        assert receive(file, len(answer)) == answer
    connection.close()
    # Another site's page must not use the cookie for one, nor the dashboard's.
    for origin in ("http://elsewhere", root_of(link)):
        connection, file = shake_hands(origin)
        assert file.readline().startswith(b"HTTP/1.1 401 ")
        connection.close()


def test_two_ports_of_this_machine_lead_there(tony, served):
    serve(tony, served)
    tunnel = tony.start("open", "--tunnel", served.id, "tensorboard")
    link = tunnel.stdout.readline().strip()
    root = root_of(link)
    words = tunnel.stderr.readline()
    assert root != served.status()["am_url"]
    browser = Browser()
    status, body, where = browser.ask(link)
    assert status == 200 and json.loads(body)["path"] == "/"
    assert json.loads(browser.ask(root + "/v1/server")[1])["viewer"]
    assert root.removeprefix("http://") in words and urllib.parse.urlsplit(where).netloc in words
    tunnel.send_signal(signal.SIGINT)
    assert tunnel.wait(PATIENCE_S) == 0
    with pytest.raises(urllib.error.URLError):
        browser.ask(root + "/")
