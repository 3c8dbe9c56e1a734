"""The portal of a team, which reads a history that its users share with the rights of the user that runs it."""

import json
import re

import pytest

from audit import audit_of
from conftest import User
from patience import wait_until
from program import PYTHON
from test_history import place_of

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

LISTENS = """
import signal, socket
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1])
signal.pause()
"""
AS_PROXY = """
import socket, sys
port, address, name = sys.argv[1:]
with socket.create_connection(("127.0.0.1", int(port)), source_address=(address, 0)) as connection:
    connection.sendall(f"GET /v1/jobs HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\nX-Forwarded-User: {name}\\r\\n"
                       "Connection: close\\r\\n\\r\\n".encode())
    print(connection.makefile("rb").readline().split()[1].decode())
"""


class Portal:
    """The owner's portal over a history in which everybody may publish."""

    def __init__(self, machine, *options):
        self.machine, self.owner = machine, machine.owner
        self.store = machine.root / "history"
        machine.run("install", "-d", "-m", "1777", self.store)
        for user in (machine.owner, machine.stranger):
            user.write("conf/tony-site.xml", machine.xml({"tony.history.location": self.store,
                                                          "tony.history.permissions": "all"}))
        program = self.owner.write("tensorboard", SHOWS_ALL.format(python=PYTHON), "700")
        self.child = self.owner.start(machine.bin / "tony", "portal", "--history", self.store, "--listen", "127.0.0.1:0",
                                 "--tensorboard", program, *options)
        self.url = re.search(r"http://\S+", self.child.stdout.readline()).group().rstrip("/")
        self.token = self.owner.read(self.owner.state / "portal/token").strip()

    def call(self, path, method="GET"):
        return self.owner.run(PYTHON, "-c", CALL, method, f"{self.url}/{path}", self.token).stdout

    def ask_as_proxy(self, user, name="owner", address="127.0.0.1"):
        """A program of the user's that calls the portal as its proxy does, from this address: the answer's status."""
        port = self.url.rsplit(":", 1)[1]
        return user.run(PYTHON, "-c", AS_PROXY, port, address, name).stdout.strip()

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


@pytest.mark.promise("S160")
def test_on_its_own_machine_the_portal_believes_only_the_proxys_user(machine):
    """Every user of a machine has its addresses, those of its interfaces too."""
    machine.run("ip", "address", "add", "192.0.2.7/32", "dev", "lo")
    proxy = User(machine, "proxy", 61003)
    portal = Portal(machine, "--auth-header", "X-Forwarded-User", "--auth-from", "127.0.0.1", "--auth-from", "192.0.2.7",
                    "--auth-user", str(proxy.uid))
    for address in ("127.0.0.1", "192.0.2.7"):
        assert portal.ask_as_proxy(proxy, address=address) == "200"
        assert portal.ask_as_proxy(machine, address=address) == "200", "root"
        for user in (machine.stranger, machine.owner):
            assert portal.ask_as_proxy(user, address=address) == "401"
    assert portal.ask_as_proxy(proxy, address="127.0.0.2") == "401", "from another address"
    portal.child.terminate()
    first, *_, last = audit_of(portal.child.stderr.read())
    assert first["detail"] == "GET /v1/jobs, with X-Forwarded-User from a program of a user who is no trusted proxy's"
    assert last["detail"] == "GET /v1/jobs, with X-Forwarded-User from an address that is no trusted proxy's"


def give_addresses(machine):
    """Of its interface, the second one of a subnet; of a route (AnyIP), in both families."""
    machine.run("ip", "address", "add", "192.0.2.7/32", "dev", "lo")
    machine.run("ip", "link", "add", "one", "type", "veth", "peer", "name", "other")
    for device in ("one", "other"):
        machine.run("ip", "link", "set", device, "up")
    for address in ("198.51.100.10/24", "198.51.100.11/24"):
        machine.run("ip", "address", "add", address, "dev", "one")
    machine.run("ip", "route", "add", "local", "203.0.113.0/24", "dev", "lo")
    machine.run("ip", "-6", "route", "add", "local", "2001:db8:7::/64", "dev", "lo")


@pytest.mark.promise("S160")
def test_a_second_address_of_the_portals_subnet_is_its_machines(machine):
    """Another user's program calls from it, as it does from each address of the machine."""
    give_addresses(machine)
    proxy = User(machine, "proxy", 61003)
    portal = Portal(machine, "--auth-header", "X-Forwarded-User", "--auth-from", "198.51.100.11", "--auth-user", str(proxy.uid))
    assert portal.ask_as_proxy(machine.stranger, address="198.51.100.11") == "401"
    assert portal.ask_as_proxy(proxy, address="198.51.100.11") == "200"


@pytest.mark.promise("S160")
@pytest.mark.parametrize("address", ["0.0.0.0", "::"])
def test_any_address_is_no_proxys(machine, address):
    answer = machine.owner.tony("portal", "--listen", "127.0.0.1:0", "--auth-header", "X-Forwarded-User", "--auth-from", address,
                                "--auth-user", "0")
    assert answer.returncode == 2 and f"--auth-from: {address} is no caller's address" in answer.stderr


@pytest.mark.promise("S160")
@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "192.0.2.7", "198.51.100.10", "198.51.100.11", "203.0.113.9", "2001:db8:7::9"])
def test_a_portal_with_a_proxy_on_its_machine_wants_the_proxys_user(machine, address):
    give_addresses(machine)
    answer = machine.owner.tony("portal", "--listen", "127.0.0.1:0", "--auth-header", "X-Forwarded-User", "--auth-from", address)
    assert answer.returncode == 2 and f"--auth-from: {address} is an address of this machine" in answer.stderr
    assert "say with --auth-user as which user the proxy runs" in answer.stderr
    machine.owner.write("conf/tony-site.xml", machine.xml({"tony.portal.trusted-proxies": address}))
    answer = machine.owner.tony("portal", "--listen", "127.0.0.1:0")
    assert answer.returncode == 3 and "say with tony.portal.proxy-users as which user the proxy runs" in answer.stderr
    machine.owner.write("conf/tony-site.xml", machine.xml({"tony.portal.trusted-proxies": address, "tony.portal.proxy-users": "no-such-user"}))
    answer = machine.owner.tony("portal", "--listen", "127.0.0.1:0")
    assert answer.returncode == 3 and 'tony.portal.proxy-users: this machine has no user "no-such-user"' in answer.stderr


@pytest.mark.promise("S160")
def test_a_user_whom_the_kernel_does_not_tell_from_others_is_no_proxys(machine):
    """In a user namespace all users who are not mapped are one: the unit for systemd has one (PrivateUsers=)."""
    answer = machine.owner.run("unshare", "--user", machine.bin / "tony", "portal", "--listen", "127.0.0.1:0",
                               "--auth-header", "X-Forwarded-User", "--auth-from", "127.0.0.1", "--auth-user", "33")
    assert answer.returncode == 2 and "the kernel does not tell 33 from other users" in answer.stderr


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


@pytest.mark.promise("S161")
@pytest.mark.parametrize("whose, mode, text, words", [
    ("stranger", "444", "x" * 64, "belongs to uid {stranger}, who can write another: let it be yours (uid {owner}) or root's"),
    ("root", "644", "x" * 64, "everybody on this machine may read or write it: chmod o= "),
    ("owner", "604", "x" * 64, "everybody on this machine may read or write it: chmod o= "),
    ("owner", "620", "x" * 64, "its group may write to it: chmod g-w "),
    ("owner", "600", "x" * 31, "its token has 31 characters, and needs 32 or more: remove the file, and tony portal makes one"),
    ("owner", "600", "\n" + "x" * 64, "its token has 0 characters")])
def test_the_portal_takes_no_token_that_others_could_know(machine, whose, mode, text, words):
    token = machine.root / "token"
    token.write_text(text, encoding="ascii")
    users = {user.name: user.uid for user in (machine.owner, machine.stranger)} | {"root": 0}
    machine.run("chown", users[whose], token)
    machine.run("chmod", mode, token)
    answer = machine.owner.tony("portal", "--listen", "127.0.0.1:0", "--token-file", token)
    assert answer.returncode == 3 and f"{token}: it" in answer.stderr and words.format(**users) in answer.stderr


def test_the_portal_takes_a_token_of_roots_that_its_group_reads(machine):
    token = machine.root / "token"
    token.write_text("x" * 32 + "\n", encoding="ascii")
    machine.run("chown", f"0:{machine.owner.uid}", token)
    machine.run("chmod", "640", token)
    child = machine.owner.start(machine.bin / "tony", "portal", "--listen", "127.0.0.1:0", "--token-file", token)
    url = re.search(r"http://\S+", child.stdout.readline()).group().rstrip("/")
    answer = machine.owner.run(PYTHON, "-c", CALL, "GET", f"{url}/v1/jobs", "x" * 32)
    assert json.loads(answer.stdout)["total"] == 0


@pytest.mark.promise("S162")
def test_a_portal_whose_port_is_taken_names_the_user_who_has_it(machine):
    child = machine.stranger.start(PYTHON, "-uc", LISTENS)
    port = child.stdout.readline().strip()
    begun = machine.owner.tony("portal", "--listen", f"127.0.0.1:{port}")
    assert begun.returncode == 2 and f"another program of uid {machine.stranger.uid} has that port; choose another one" in begun.stderr
    assert "nobody listens" in machine.owner.tony("portal", "--link", "--listen", "127.0.0.1:9").stderr


@pytest.mark.promise("S163")
def test_what_the_portals_audit_says_of_an_order_is_its_answer(machine, portal):
    machine.owner.write("logs/events.out.tfevents.1", "the owner's")
    portal.tensorboard(machine.stranger, machine.owner.home / "logs")
    portal.tensorboard(machine.owner, machine.owner.home / "none")
    portal.child.terminate()
    log = portal.child.stderr.read()
    assert [line["outcome"] for line in audit_of(log) if line["action"] == "tensorboard"] == ["done", "conflict"]
    assert f"TensorBoard of {machine.jobs[0][1]}: {machine.owner.home}/logs: is uid-{machine.owner.uid}'s" in log


@pytest.mark.promise("S44")
def test_a_job_with_a_damaged_summary_is_its_entrys_owners_in_the_portal(machine, portal):
    job = machine.stranger.submit({"tony.worker.instances": 1, "tony.worker.memory": "64m", "tony.worker.command": "true"})
    place = portal.store / place_of(job)
    wait_until(lambda: machine.owner.read(place / "summary.json"), f"the history of {job}")
    forged = machine.stranger.run("sh", "-c", """cd "$1" && echo broken > summary.json && sed -i 's/"user": *"[^"]*"/"user":"owner"/' job.json""",
                                  "sh", place)
    assert forged.returncode == 0 and '"user":"owner"' in machine.owner.read(place / "job.json")
    told = wait_until(lambda: "id" in (said := json.loads(portal.call(f"v1/jobs/{job}/job"))) and said, "the page of the job")
    assert told["user"] == f"uid-{machine.stranger.uid}", told
