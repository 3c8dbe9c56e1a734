"""tony ssh-config: ssh, scp and ways through it, with Debian's own sshd in the container."""

import os
import socket
import subprocess
import threading

import pytest
from audit import audit_of
from conftest import wait_until
from patience import PATIENCE_S

KINDS = {"plain": {}, "tls": {"tony.application.tls": "true"}, "namespace": {"tony.worker.isolation": "pid-namespace"}}


class Ssh:
    """A job of two tasks, and ssh as its configuration has it."""

    def __init__(self, tony, keys=None, env="", *options):
        (tony.directory / "tmp").mkdir()
        self.tony = tony
        self.job = tony.submit({"tony.worker.instances": 2, "tony.worker.envs": f"TMPDIR={tony.directory}/tmp{env}", **(keys or {})},
                               "--executes", "exec sleep 1000", *options)
        for index in range(2):
            self.job.wait_task(f"worker:{index}")
        printed = tony.run("ssh-config", self.job.id)
        assert printed.returncode == 0, printed.stderr
        self.file = tony.directory / "ssh.conf"
        self.file.write_text(printed.stdout)
        self.host = f"worker-1.{self.job.id}"

    def start(self, *words, program="ssh", **options):
        child = subprocess.Popen([program, "-F", self.file, *words], env=self.tony.env, stdin=subprocess.DEVNULL, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.tony.children.append(child)
        return child

    def run(self, *words, program="ssh"):
        child = self.start(*words, program=program)
        output, errors = child.communicate(timeout=PATIENCE_S)
        return child.returncode, output, errors

    def wait_gone(self):
        wait_until(lambda: not os.listdir(self.tony.directory / "tmp"), "the key and the pipe of sshd to be removed")


@pytest.mark.parametrize("keys", KINDS.values(), ids=KINDS)
def test_a_command_and_files(tony, keys):
    ssh = Ssh(tony, keys, ",COLOUR=a  \"b\" \\n *")
    assert ssh.run(ssh.host, "echo $TONY_TASK; echo \"$COLOUR\" >&2; exit 7") == (7, "worker:1\n", "a  \"b\" \\n *\n")
    (tony.directory / "sent").write_bytes(os.urandom(300_000))
    assert ssh.run(tony.directory / "sent", f"{ssh.host}:{tony.directory}/there", program="scp")[0] == 0
    assert (tony.directory / "there").read_bytes() == (tony.directory / "sent").read_bytes()
    ssh.wait_gone()


@pytest.mark.promise("S173")
def test_a_value_of_several_lines_makes_no_other_variable(tony):
    ssh = Ssh(tony, None, ",COLOUR=blue", "--env", "PEM=-----BEGIN KEY-----\nBAIT=x\nLD_BAIT=injected\n-----END KEY-----\n")
    code, said, errors = ssh.run(ssh.host, "env")
    assert code == 0 and "COLOUR=blue\n" in said and "BAIT" not in said and "PEM" not in said, said + errors


def test_a_way_through_it(tony):
    ssh = Ssh(tony)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as free:
        here, there = free.getsockname()[1], server.getsockname()[1]
        free.close()
        threading.Thread(target=lambda: server.accept()[0].sendall(b"through"), daemon=True).start()
        child = ssh.start("-N", "-L", f"127.0.0.1:{here}:127.0.0.1:{there}", ssh.host)
        assert wait_until(lambda: receive(here), "the way") == b"through"
        child.kill()
        child.wait()
    ssh.wait_gone()
    assert ssh.job.status()["state"] == "running"


def receive(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as peer:
            return peer.recv(100)
    except ConnectionRefusedError:
        return b""


def test_what_is_refused(tony):
    ssh = Ssh(tony)
    code, _, errors = ssh.run("-l", "somebody", ssh.host, "true")
    assert code == 255 and "tony: the user of the container is " in errors
    for words, code, text in [(("a", "b"), 2, "usage: tony ssh-config"), (("no-such-job",), 4, "no-such-job"),
                              (("--connect", ssh.job.id, "worker:0"), 2, "--connect JOB TASK USER"),
                              (("--connect", ssh.job.id, "worker:9", "root"), 4, "worker:9")]:
        answer = tony.run("ssh-config", *words)
        assert answer.returncode == code and text in answer.stderr, (words, answer.stderr)
    assert tony.run("ssh-config", ssh.job.id).stdout == ssh.file.read_text()  # one key for a job
    (ssh.job.directory / "ssh_key.pub").unlink()  # as after an ssh-keygen that was killed
    assert tony.run("ssh-config", ssh.job.id).stdout == ssh.file.read_text() and ssh.run(ssh.host, "true")[0] == 0
    lines = [line for line in audit_of((ssh.job.directory / "am.log").read_text()) if line["action"] == "exec"]
    assert "worker:1" in [line["detail"] for line in lines]
    assert tony.run("kill", ssh.job.id).returncode == 0
    assert ssh.job.wait() != 0 and "has already ended" in tony.run("ssh-config", ssh.job.id).stderr


def test_a_container_without_its_programs(tony):
    (tony.directory / "bin").mkdir()
    for program in ("id", "sh", "sleep"):
        (tony.directory / "bin" / program).symlink_to(f"/bin/{program}")
    ssh = Ssh(tony, env=f",PATH={tony.directory}/bin")
    code, _, errors = ssh.run(ssh.host, "true")
    assert code == 255 and "there is no ssh-keygen in the container, so no ssh: install openssh-server" in errors


def test_a_container_that_lies_about_its_user(tony):
    """Its word would reach a shell here, by the %r of the ProxyCommand."""
    (tony.directory / "bin").mkdir()
    (tony.directory / "name").write_text("")
    (tony.directory / "bin/id").write_text(f"#!/bin/sh\nexec cat {tony.directory}/name\n")
    (tony.directory / "bin/id").chmod(0o755)
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.envs": f"PATH={tony.directory}/bin:/usr/bin:/bin"},
                      "--executes", "exec sleep 1000")
    job.wait_task("worker:0")
    for name in (f"x$(touch {tony.directory}/evil)", "-oProxyCommand=x", "a b", ".", "a;b", ""):
        (tony.directory / "name").write_text(f"{name}\n")
        answer = tony.run("ssh-config", job.id)
        assert answer.returncode == 70 and answer.stdout == "" and "the user of worker:0 is not known" in answer.stderr, name
    (tony.directory / "name").write_text("_jane.doe-1\n")
    assert "    User _jane.doe-1\n" in tony.run("ssh-config", job.id).stdout
