"""tony port-forward: what listens on the loopback interface of a task's container, from here."""

import hashlib
import os
import re
import signal
import socket
import struct
import subprocess
import threading

import pytest
from audit import audit_of
from conftest import PYTHON, find_marked, wait_until
from patience import PATIENCE_S

KINDS = {"plain": {}, "tls": {"tony.application.tls": "true"}, "namespace": {"tony.worker.isolation": "pid-namespace"}}
SERVER = f"exec {PYTHON} loopback.py"


def submit(tony, keys=None, command=SERVER, tasks=1):
    job = tony.submit({"tony.worker.instances": tasks, **(keys or {})}, "--executes", command)
    for index in range(tasks):
        job.wait_log(f"worker:{index}", "listens at")
        job.wait_task(f"worker:{index}")
    return job


def port_of(job, task="worker:0"):
    return int(re.findall(r"listens at (\d+)", job.logs(task))[-1])


class Forward:
    """`tony port-forward`, once it leads there."""

    def __init__(self, tony, *words, count=1):
        self.child = tony.start("port-forward", *words)
        self.lines = [self.child.stdout.readline() for _ in range(count)]
        assert all(self.lines), self.child.stderr.read()
        self.ports = [int(re.match(r"127\.0\.0\.1:(\d+) -> port", line)[1]) for line in self.lines]

    def connect(self, first="", which=0):
        peer = socket.create_connection(("127.0.0.1", self.ports[which]), timeout=PATIENCE_S)
        peer.sendall(first.encode())
        return peer

    def ask(self, first, which=0):
        with self.connect(first, which) as peer:
            return receive(peer)

    def finish(self, number=signal.SIGINT):
        """Returns its standard error."""
        self.child.send_signal(number)
        _, said = self.child.communicate(timeout=PATIENCE_S)
        assert self.child.returncode == 0, said
        return said


def receive(peer):
    received = b""
    while piece := peer.recv(65536):
        received += piece
    return received


def answers(forward, first="who\n"):
    """b"" where the connection was closed."""
    try:
        return forward.ask(first)
    except (ConnectionError, socket.timeout):
        return b""


@pytest.mark.parametrize("keys", KINDS.values(), ids=KINDS)
def test_connections_are_made_in_the_container(tony, keys):
    job = submit(tony, keys, tasks=2)
    forward = Forward(tony, job.id, "worker:1", f":{port_of(job, 'worker:1')}")
    assert forward.lines == [f"127.0.0.1:{forward.ports[0]} -> port {port_of(job, 'worker:1')} of worker:1\n"]
    assert int(forward.ask("who\n")) > 0
    sent = os.urandom(3_000_000)
    with forward.connect("sum\n") as peer:
        peer.sendall(sent)
        peer.shutdown(socket.SHUT_WR)  # the answer comes all the same
        assert receive(peer).decode() == hashlib.sha256(sent).hexdigest()
    received = forward.ask("send 3000000\n")
    assert received == (bytes(range(256)) * 12000)[:3_000_000]
    assert forward.finish() == ""
    assert job.status()["state"] == "running"


def test_many_connections_at_a_time(tony):
    """More than commands in a task; a slow one holds up none."""
    job = submit(tony)
    forward = Forward(tony, f"0:{port_of(job)}")
    slow = forward.connect("send 5000000\n")
    held = [forward.connect("hold\n") for _ in range(60)]
    answered = []
    threads = [threading.Thread(target=lambda: answered.append(len(forward.ask("send 300000\n")))) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=PATIENCE_S)
    assert answered == [300000] * 30
    assert tony.run("exec", job.id, "--", "true").returncode == 0
    assert len(receive(slow)) == 5_000_000
    for peer in [slow, *held]:
        peer.close()
    assert int(forward.ask("who\n")) > 0
    assert forward.finish(signal.SIGTERM) == ""


def test_several_ports(tony):
    job = submit(tony, command=f"{PYTHON} loopback.py & mkdir other; cd other; exec {PYTHON} ../loopback.py ::1")
    wait_until(lambda: len(re.findall("listens at", job.logs("worker:0"))) == 2, "both to listen")
    first, second = re.findall(r"listens at (\d+)", job.logs("worker:0"))
    forward = Forward(tony, job.id, f":{first}", f"0:{second}", count=2)
    assert forward.ask("who\n", 0) != forward.ask("who\n", 1)
    assert forward.finish() == ""


@pytest.mark.parametrize("address, shown", [("::1", "[::1]"), ("127.0.0.2", "127.0.0.2"), ("localhost", "127.0.0.1")])
def test_another_address_of_this_machine(tony, address, shown):
    job = submit(tony)
    child = tony.start("port-forward", "--address", address, job.id, f":{port_of(job)}")
    place = child.stdout.readline().split(" -> ")[0]
    assert place.startswith(shown + ":"), child.stderr.read()
    with socket.create_connection((shown.strip("[]"), int(place.rpartition(":")[2])), timeout=PATIENCE_S) as peer:
        peer.sendall(b"who\n")
        assert int(receive(peer)) > 0
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=PATIENCE_S)[1] == "" and child.returncode == 0


@pytest.fixture
def network(tony):
    """The test's own: nothing of it is seen from outside."""
    owner = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    holder = subprocess.Popen(["unshare", *owner, "--net", "sh", "-c", "ip link set lo up && echo up && exec sleep 1000"], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"up\n"
    tony.enter = ["nsenter", *["--user", "--preserve-credentials"] * bool(owner), "--net", "--target", str(holder.pid)]
    yield tony.enter
    tony.finish()
    tony.enter = []
    holder.kill()
    holder.communicate()


def test_an_address_that_other_machines_reach_lets_all_in_and_says_so(tony, network):
    job = submit(tony)
    child = tony.start("port-forward", "--address", "0.0.0.0", job.id, f":{port_of(job)}")
    place = child.stdout.readline().split(" -> ")[0]
    assert place.startswith("0.0.0.0:"), child.stderr.read()
    ask = f"import socket; peer = socket.create_connection(('127.0.0.1', {place[8:]})); peer.sendall(b'who\\n'); print(peer.recv(99))"
    other = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    done = subprocess.run([*network, *other, PYTHON, "-c", ask], capture_output=True, text=True, timeout=PATIENCE_S)
    assert re.match(r"b'\d+", done.stdout), done.stderr
    child.send_signal(signal.SIGINT)
    assert f"whoever can connect to {place} is let in" in child.communicate(timeout=PATIENCE_S)[1]


def test_what_is_no_address_is_refused(tony):
    done = tony.run("port-forward", "--address", "example.com", "8888")
    assert done.returncode == 2 and "--address example.com: not an address of this machine" in done.stderr


def test_what_the_program_cuts_off_is_cut_off_here(tony):
    job = submit(tony)
    forward = Forward(tony, job.id, f":{port_of(job)}")
    with pytest.raises(ConnectionResetError):
        forward.ask("cut\n")
    assert int(forward.ask("who\n")) > 0
    forward.finish()


def test_a_refused_connection_ends_nothing(tony):
    job = submit(tony, command="echo listens at no port; exec sleep 1000")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        forward = Forward(tony, job.id, f":{port}")
        assert [answers(forward) for _ in range(3)] == [b""] * 3
    said = forward.finish()
    assert said == f"tony: port {port} of worker:0: Connection refused\n"


def test_a_restarted_task_is_reached_again(tony):
    job = submit(tony)
    forward = Forward(tony, job.id, f":{port_of(job)}")
    before = forward.ask("who\n")
    with forward.connect("hold\n") as held:
        assert tony.run("restart", job.id, "worker:0").returncode == 0
        job.wait_task("worker:0", restart=1)
        with pytest.raises(ConnectionResetError):
            receive(held)
    after = wait_until(lambda: answers(forward), "the next program")
    assert after != before
    assert "the connection is lost" in forward.finish()


@pytest.mark.parametrize("keys", [{}, {"tony.application.tls": "true"}], ids=["plain", "tls"])
def test_the_am_is_killed_in_mid_transfer(tony, keys):
    job = submit(tony, keys)
    forward = Forward(tony, job.id, f":{port_of(job)}")
    before = forward.ask("who\n")
    with forward.connect("send 1000000000\n") as peer:
        assert peer.recv(1)
        job.kill_am()
        with pytest.raises(ConnectionResetError):
            receive(peer)
    assert wait_until(lambda: answers(forward), "the next application master") == before
    assert "the connection is lost" in forward.finish()


def test_it_ends_with_the_job(tony):
    job = submit(tony)
    forward = Forward(tony, job.id, f":{port_of(job)}")
    assert tony.run("kill", job.id).returncode == 0
    _, said = forward.child.communicate(timeout=PATIENCE_S)
    assert forward.child.returncode == 4 and "has already ended: killed" in said


def test_a_killed_client_leaves_nothing_behind(tony):
    job = submit(tony)
    forward = Forward(tony, job.id, f":{port_of(job)}")
    peer = forward.connect("hold\n")
    sessions = wait_until(lambda: sessions_of(job), "its process in the container")
    forward.child.kill()
    forward.child.wait()
    peer.close()
    wait_until(lambda: not set(sessions) & set(sessions_of(job)), "its process to end")


def sessions_of(job):
    found = []
    for pid in find_marked(f"TONY_JOB_ID={job.id}"):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                found += [pid] if b"\0session\0" in file.read() else []
        except OSError:
            continue
    return found


def test_a_port_that_is_taken_here(tony):
    job = submit(tony)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = tony.run("port-forward", job.id, f"{port}:{port_of(job)}")
    assert answer.returncode == 2 and f"127.0.0.1:{port}" in answer.stderr
    assert "reached there already" not in answer.stderr
    own = port_of(job)
    answer = tony.run("port-forward", job.id, str(own))
    assert answer.returncode == 2 and f"it is reached there already, and :{own} leads there" in answer.stderr


def test_what_is_refused(tony):
    job = submit(tony, tasks=2)
    for words, text in [((job.id,), "usage: tony port-forward"), ((job.id, "worker:0"), "usage:"),
                        ((job.id, "worker:0", "http"), "usage:"), ((job.id, "a", "b", "80"), "usage:"),
                        ((job.id, "worker:0", "80:90:100"), "usage:"), ((job.id, "worker:0", "-1"), "-1"),
                        ((job.id, "80"), "has several tasks: name one"), ((job.id, "worker", "80"), "which worker?"),
                        ((job.id, "worker:9", "80"), "worker:9"), (("no-such-job", "worker:0", "80"), "no-such-job"),
                        ((job.id, "worker:0", "0"), "0 is no port"), ((job.id, "worker:0", "65536"), "65536 is no port"),
                        ((job.id, "worker:0", "99999:80"), "99999:80 is no port")]:
        answer = tony.run("port-forward", *words)
        assert answer.returncode not in (0, 70) and text in answer.stderr, (words, answer.stderr)
    for query in ("", "?port=0", "?port=65536", "?port=x"):
        assert job.rest("POST", f"/v1/tasks/worker:0/port-forward{query}")[0] == 400
    assert tony.run("kill", job.id).returncode == 0
    ended = tony.run("port-forward", job.id, "worker:0", "80")
    assert ended.returncode == 4 and "has already ended" in ended.stderr


def test_an_administrator_forbids_it(tony):
    job = submit(tony, {"tony.am.allow-exec": "false"})
    answer = tony.run("port-forward", job.id, "80")
    assert answer.returncode == 6 and "tony.am.allow-exec is false" in answer.stderr


@pytest.mark.promise("S98")
def test_each_port_leaves_an_audit_line(tony):
    job = submit(tony)
    port = port_of(job)
    Forward(tony, job.id, f":{port}").finish()
    assert job.rest("POST", "/v1/tasks/worker:0/port-forward?port=80", token="wrong")[0] == 401
    lines = [line for line in audit_of((job.directory / "am.log").read_text()) if line["action"] == "port-forward"]
    assert [(line["proof"], line["outcome"]) for line in lines] == [("token", "done"), ("wrong-token", "refused")]
    assert lines[0]["detail"] == f"worker:0 port {port}"


def frame(kind, content):
    return kind + struct.pack(">I", len(content)) + content


@pytest.fixture
def raw(tony):
    """A client of its own: the port's REST channel, open."""
    job = submit(tony)
    host, port = job.status()["am_url"].removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as peer:
        peer.sendall(f"POST /v1/tasks/worker:0/port-forward?port={port_of(job)} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
                     f"Upgrade: tony-exec\r\nAuthorization: Bearer {job.token()}\r\n\r\n".encode())
        stream = peer.makefile("rb")
        while stream.readline() != b"\r\n":
            pass
        yield peer, stream


def hear(stream):
    kind, length = struct.unpack(">cI", stream.read(5))
    content = stream.read(length)
    return kind, content[:4], content[4:]


def test_frames_that_make_no_sense(raw):
    """Each costs its own connection at most."""
    peer, stream = raw
    one, two, three = (struct.pack(">I", number) for number in (1, 2, 3))
    for kind in b"sinwkcrbmgz?":
        peer.sendall(frame(bytes([kind]), b"") + frame(bytes([kind]), b"abc") + frame(bytes([kind]) if kind != ord("c") else b"?", three))
    peer.sendall(frame(b"c", one) + frame(b"c", one) + frame(b"r", one + b"no"))
    assert hear(stream) == (b"c", one, b"")
    peer.sendall(frame(b"b", one + b"hold\n") + frame(b"g", one + b"99"))
    assert hear(stream) == (b"z", one, b"")
    peer.sendall(frame(b"c", two) + frame(b"c", three))
    assert sorted(hear(stream)[1] for _ in range(2)) == [two, three]
    peer.sendall(frame(b"b", two + b"who\n") + frame(b"m", two) + frame(b"b", two + b"more") + frame(b"b", three + b"who\n"))
    answers = [hear(stream) for _ in range(3)]
    assert (b"z", two, b"") in answers and any(kind == b"b" and number == three for kind, number, _ in answers)


def test_a_client_that_sends_more_than_is_taken(raw):
    peer, stream = raw
    one = struct.pack(">I", 1)
    peer.sendall(frame(b"c", one))
    assert hear(stream) == (b"c", one, b"")
    peer.sendall(frame(b"b", one + b"send 100000000\n"))
    while hear(stream) != (b"z", one, b""):
        peer.sendall(frame(b"b", one + bytes(32768)) * 8)
