"""The portal of a team, which reads a history that its users share with the rights of the user that runs it."""

import json
import re

import pytest

from patience import wait_until
from program import PYTHON

# TensorBoard's place is taken by a program that shows all that it can read below its directory.
SHOWS_ALL = """#!{python}
import http.server, os, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        files = [os.path.join(top, name) for top, _, names in os.walk(options["--logdir"]) for name in names]
        body = "".join(f"{{os.path.basename(path)}}: {{open(path).read()}}\\n" for path in sorted(files)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.HTTPServer.allow_reuse_port = True
http.server.HTTPServer((options["--host"], int(options["--port"])), Handler).serve_forever()
"""
CALL = """
import sys, urllib.error, urllib.request
method, url, token = sys.argv[1:]
request = urllib.request.Request(url, method=method, headers={"Authorization": f"Bearer {token}"})
try:
    answer = urllib.request.urlopen(request)
except urllib.error.HTTPError as error:
    answer = error
sys.stdout.write(answer.read().decode())
"""


class Portal:
    """The owner's portal over a history in which everybody may publish."""

    def __init__(self, machine):
        self.machine, self.owner = machine, machine.owner
        self.store = machine.root / "history"
        machine.run("install", "-d", "-m", "1777", self.store)
        for user in (machine.owner, machine.stranger):
            user.write("conf/tony-site.xml", machine.xml({"tony.history.location": self.store,
                                                          "tony.history.permissions": "all"}))
        program = self.owner.write("tensorboard", SHOWS_ALL.format(python=PYTHON), "700")
        child = self.owner.start(machine.bin / "tony", "portal", "--history", self.store, "--listen", "127.0.0.1:0",
                                 "--tensorboard", program)
        self.url = re.search(r"http://\S+", child.stdout.readline()).group().rstrip("/")
        self.token = self.owner.read(self.owner.state / "portal/token").strip()

    def call(self, path, method="GET"):
        return self.owner.run(PYTHON, "-c", CALL, method, f"{self.url}/{path}", self.token).stdout

    def tensorboard(self, user, directory):
        """TensorBoard of a job of the user's over a directory: its state, once it is no more starting, and its page."""
        xml = {"tony.application.tensorboard-log-dir": directory, "tony.worker.instances": 1, "tony.worker.memory": "64m",
               "tony.worker.command": "true"}
        job = user.submit(xml)
        path = f"v1/jobs/{job}/tensorboard"
        wait_until(lambda: "state" in json.loads(self.call(path)), f"the history of {job} in the portal")
        self.call(path, "PUT")
        state = wait_until(lambda: (said := json.loads(self.call(path)))["state"] != "starting" and said, "TensorBoard")
        return state, self.call(f"ui/{job}/tensorboard/") if state["state"] == "running" else ""


@pytest.fixture(name="portal")
def running_portal(machine):
    return Portal(machine)


def test_a_port_that_only_root_may_take_is_told(machine):
    answer = machine.owner.tony("portal", "--listen", "127.0.0.1:80")
    assert answer.returncode == 6 and "127.0.0.1:80: this user may not listen there; choose a port from 1024 on" in answer.stderr


@pytest.mark.promise("S43")
def test_tensorboard_shows_no_directory_that_is_not_the_jobs_owners(machine, portal):
    machine.owner.write("logs/events.out.tfevents.1", "the owner's")
    state, page = portal.tensorboard(machine.stranger, machine.owner.home / "logs")
    assert (state["state"], page) == ("failed", "")
    assert f"{machine.owner.home}/logs: is uid-{machine.owner.uid}'s; only what is uid-{machine.stranger.uid}'s" in state["message"]


@pytest.mark.promise("S43")
def test_tensorboard_follows_no_link_out_of_a_strangers_directory(machine, portal):
    machine.owner.write("logs/events.out.tfevents.1", "the owner's")
    machine.owner.write("secret.txt", "secret")
    logs = machine.stranger.home / "logs"
    machine.stranger.run("sh", "-c", """chmod 755 "$HOME"; mkdir -m 755 "$1" "$1/run"; cd "$1"; umask 022
        echo shown > run/events.out.tfevents.2; echo other > run/notes.txt; ln -s "$2/logs" link
        ln -s "$2/logs/events.out.tfevents.1" run/linked.tfevents; ln -s "$2/secret.txt" secret.tfevents; mkfifo fifo.tfevents
        """, "sh", logs, machine.owner.home)
    state, page = portal.tensorboard(machine.stranger, logs)
    assert (state["state"], page) == ("running", "events.out.tfevents.2: shown\n\n")


def test_tensorboard_of_the_portals_own_user_reads_the_directory_where_it_is(machine, portal):
    machine.owner.write("logs/notes.txt", "the owner's")
    state, page = portal.tensorboard(machine.owner, machine.owner.home / "logs")
    assert (state["state"], page) == ("running", "notes.txt: the owner's\n")
