"""A sweep runs on the gateway, and its trials on YARN."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import threading

import pytest
from program import PATIENCE_S, PYTHON, wait_until, write_xml

TRAIN = """
import json, os, pathlib
x = float(os.environ["TONY_SWEEP_x"])
(pathlib.Path(os.environ["RUNS"]) / f'{os.environ["TONY_TRIAL"]}.{os.environ["TONY_JOB_ID"]}').touch(exist_ok=False)
with open(os.environ["TONY_METRICS_FILE"], "a") as file:
    print(json.dumps({"step": 1, "loss": (x - 2) ** 2}), file=file)
"""


def status(tony, job):
    return json.loads(tony.run("status", "--json", job).stdout)


def trials_of(tony, job):
    return status(tony, job).get("trials", {"trials": []})


def submit(tony, parameters, parallel):
    """A sweep whose trials run on YARN, and where these write down that they ran."""
    source, runs = tony.directory / "source", tony.directory / "runs"
    source.mkdir()
    runs.mkdir()
    (source / "train.py").write_text(TRAIN)
    file = write_xml(tony.directory / "sweep.xml", {
        "tony.application.scheduler": "yarn", "tony.application.framework": "generic", "tony.application.src-dir": str(source),
        "tony.worker.instances": 1, "tony.worker.memory": "128m", "tony.worker.command": f"{PYTHON} train.py",
        "tony.task.metrics-interval-ms": 100, "tony.sweep.metric": "loss", "tony.sweep.parallel": parallel,
        "tony.sweep.parameters": parameters})
    answer = tony.run("sweep", "--detach", f"--env=RUNS={runs}", file)
    assert answer.returncode == 0, answer.stderr
    sweep = answer.stdout.strip()
    assert sweep.startswith("tony-")
    return sweep, runs


def kill_controller(tony, sweep):
    controller, = status(tony, sweep)["tasks"][-1]["pids"]
    os.kill(controller, signal.SIGKILL)


def test_trials_on_yarn_go_on_when_the_sweep_is_killed(tony):
    sweep, _ = submit(tony, "x=1,2,3", 2)
    wait_until(lambda: trials_of(tony, sweep)["trials"], "a trial")
    kill_controller(tony, sweep)
    assert tony.run("wait", sweep).returncode == 0, tony.run("logs", sweep).stdout
    found = trials_of(tony, sweep)
    assert [trial["state"] for trial in found["trials"]] == ["completed"] * 3
    assert found["trials"][found["best"]]["parameters"] == {"x": "2"}
    jobs = [trial["job"] for trial in found["trials"]]
    assert all(job.startswith("application_") for job in jobs) and len(set(jobs)) == 3
    listed = json.loads(tony.run("list", "--all", "--tag", f"sweep={sweep}", "--json").stdout)
    assert sorted(job["id"] for job in listed) == sorted(jobs)


class Late:
    """Stands between clients and the ResourceManager. The first submission of an application arrives when it is let through,
    whatever became of its sender."""

    def __init__(self, master):
        self.master = master
        self.submissions = 0
        self.may_arrive = threading.Event()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.sockets = [self.server]
        threading.Thread(target=self.serve, daemon=True).start()

    @property
    def address(self):
        return "{}:{}".format(*self.server.getsockname())

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.server.accept()
                master = socket.create_connection(self.master)
                self.sockets += [client, master]
                threading.Thread(target=self.pass_on, args=(client, master), daemon=True).start()
                threading.Thread(target=self.pass_on, args=(master, client), daemon=True).start()

    def pass_on(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if b"submitApplication" in data:
                    self.submissions += 1
                    if self.submissions == 1:
                        self.may_arrive.wait(PATIENCE_S)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def close(self):
        self.may_arrive.set()
        for end in self.sockets:
            end.close()


@pytest.fixture
def late(tony):
    """The tony of this test speaks to the ResourceManager through it."""
    conf = tony.directory / "hadoop"
    shutil.copytree(tony.env["HADOOP_CONF_DIR"], conf)
    site = conf / "yarn-site.xml"
    name, text = "yarn.resourcemanager.address</name><value>", site.read_text()
    host, port = re.search(f"{name}([^:<]+):([0-9]+)<", text).groups()
    late = Late((host, int(port)))
    site.write_text(text.replace(f"{name}{host}:{port}", name + late.address))
    tony.env["HADOOP_CONF_DIR"] = str(conf)
    yield late
    late.close()


@pytest.mark.parametrize("arrives", ["before the next process looks", "after it was sent again"])
@pytest.mark.promise("R83")
def test_a_trial_is_submitted_once_whose_sweep_is_killed_meanwhile(tony, late, arrives):
    sweep, runs = submit(tony, "x=1,2", 1)
    wait_until(lambda: late.submissions == 1, "the first submission")
    if arrives.startswith("before"):
        late.may_arrive.set()
    kill_controller(tony, sweep)
    if arrives.startswith("after"):
        wait_until(lambda: len(list(runs.iterdir())) == 1, "the trial to run")
        assert late.submissions >= 2
        late.may_arrive.set()
    assert tony.run("wait", sweep).returncode == 0, tony.run("logs", sweep).stdout
    trials = trials_of(tony, sweep)["trials"]
    assert [trial["state"] for trial in trials] == ["completed"] * 2
    assert sorted(file.name for file in runs.iterdir()) == sorted(f"{trial['trial']}.{trial['job']}" for trial in trials)
    listed = json.loads(tony.run("list", "--all", "--tag", f"sweep={sweep}", "--json").stdout)
    assert sorted(job["id"] for job in listed) == sorted(trial["job"] for trial in trials)
