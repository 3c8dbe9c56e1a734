"""TensorFlow for real, both strategies, and TensorBoard. Each job trains on the digits table while its
processes are killed and frozen.

How long training takes is no matter of epochs: a job trains until the test has seen enough, and learns at
its last formation when to end.
"""

import json
import os
import re
import signal
import urllib.request

import pytest

from conftest import venv_bin, wait_until
from dashboard_rows import chromium, open_by, page  # noqa: F401
from patience import PATIENCE_S
from portal import Portal

FOR_EVER = 1000000


class Training:
    """The example's job, and what the log of its chief says."""

    def __init__(self, tony, example, command_key, *options):
        self.epochs = tony.directory / "epochs"
        self.epochs.write_text(str(FOR_EVER))
        self.job = tony.example(example, "--conf", f"{command_key}=python3 train.py --epochs $(cat {self.epochs})",
                                "--conf", "tony.am.retry-delay=10ms", *options, python=venv_bin("tensorflow"))
        self.chief = "chief:0" if example == "tensorflow-ps" else "worker:0"

    def log(self):
        return self.job.logs(self.chief)

    def resumed(self):
        return [int(epoch) for epoch in re.findall(r"resuming at epoch (\d+)", self.log())]

    def epoch(self):
        done = re.findall(r"epoch +(\d+) of", self.log())
        return int(done[-1]) if done else 0

    def wait_epochs(self, more):
        """Until so many are done from now on; the last one."""
        last = self.epoch() + more
        wait_until(lambda: self.epoch() >= last, f"epoch {last}: " + self.job.logs(self.chief, "stderr"), PATIENCE_S)
        return self.epoch()

    def strike(self, task, number):
        """Sends a signal to the task's process; which it was."""
        process = self.job.wait_task(task)["pids"][0]
        os.kill(process, number)
        return process

    def wait_resumed(self, trained, formation):
        """Until the cluster was formed for that time, and goes on from the newest checkpoint."""
        wait_until(lambda: len(self.resumed()) == formation - 1,
                   f"formation {formation}: {self.job.events()}", PATIENCE_S)
        assert self.resumed()[-1] >= trained > 0
        assert self.job.status()["epoch"] == formation

    def end_soon(self):
        """The next formation trains for three epochs more than there are now."""
        self.epochs.write_text(str(self.epoch() + 3))

    def wait_success(self):
        assert self.job.wait(PATIENCE_S) == 0, self.job.logs(self.chief, "stderr")
        reached = re.search(r"done: accuracy (\S+)", self.log())
        assert reached and float(reached.group(1)) >= 0.90
        return self.job

    def notes(self):
        return " / ".join(event.get("text", "") for event in self.job.events())


def ask_tensorboard(opener, url, path):
    try:
        with opener.open(url + path, timeout=PATIENCE_S) as answer:
            return json.load(answer)
    except OSError:
        return None  # it has read nothing yet


def open_door(tony, job):
    """A browser behind the job's door to TensorBoard, and where it is then."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    link = tony.run("open", job.id, "tensorboard").stdout.strip()
    with opener.open(link, timeout=PATIENCE_S) as answer:
        assert b'name="tb-relative-root"' in answer.read()
        return opener, answer.url.rstrip("/")


def wait_scalars(tony, training, owner, run, tag):
    """Until TensorBoard, behind the job's door, has these numbers of the run."""
    def shown():
        return re.search(r"^TensorBoard +(http://\S+)$", tony.run("status", training.job.id).stdout, re.M)
    url = wait_until(shown, "the address of TensorBoard", PATIENCE_S).group(1)
    assert training.job.task(owner)["ui_url"] == url
    opener, door = open_door(tony, training.job)
    wait_until(lambda: run in (ask_tensorboard(opener, door, "/data/runs") or ()), f"{run} in {door}", PATIENCE_S)
    scalars = wait_until(lambda: ask_tensorboard(opener, door, f"/data/plugin/scalars/scalars?run={run}&tag={tag}"),
                         f"{tag} of {run} in {door}", PATIENCE_S)
    assert scalars[0][1] >= 1  # [time, epoch, number]


@pytest.mark.slow
def test_workers_in_step_form_anew_for_each_loss(tony):
    # TensorFlow keeps SIGTERM for itself: who hangs is ended after the grace.
    training = Training(tony, "tensorflow", "tony.worker.command",
                        "--conf", "tony.worker.frozen-timeout=2s", "--conf", "tony.worker.stop-grace=1s")
    training.wait_epochs(3)
    wait_scalars(tony, training, "worker:0", "train", "accuracy")
    trained = training.wait_epochs(1)
    training.strike("worker:1", signal.SIGKILL)
    training.wait_resumed(trained, formation=2)

    trained = training.wait_epochs(2)
    training.end_soon()
    training.strike("worker:0", signal.SIGSTOP)
    training.wait_resumed(trained, formation=3)
    training.wait_success()
    assert re.search(r"worker:0: ended, frozen: process \d+ \(python3\) was stopped \(SIGSTOP\)", training.notes())


def wait_restart(training, task, number):
    """Until it was started again in its place: the same container, address and cluster."""
    before = training.job.task(task)
    return training.job.wait_task(task, restart=number, attempt=before["attempt"], epoch=1, port=before["port"],
                                  patience_s=PATIENCE_S)


def test_with_servers_a_worker_comes_back_alone(tony):
    logs = tony.directory / "logs"
    training = Training(tony, "tensorflow-ps", "tony.containers.command", "--sidecar_tensorboard_log_dir", logs,
                        "--conf", "tony.tensorboard.memory=1g", "--conf", "tony.worker.frozen-timeout=2s")
    job = training.job
    training.wait_epochs(2)
    chief = job.wait_task("chief:0")["pids"]
    job.wait_log("evaluator:0", "accuracy")

    training.strike("evaluator:0", signal.SIGKILL)
    training.strike("worker:1", signal.SIGKILL)
    wait_restart(training, "worker:1", 1)
    wait_restart(training, "evaluator:0", 1)
    training.wait_epochs(3)
    training.strike("worker:0", signal.SIGSTOP)
    wait_restart(training, "worker:0", 1)
    assert re.search(r"worker:0 ended, frozen: .* restart 1 of 10 in place", training.notes())
    training.wait_epochs(3)
    assert job.wait_task("chief:0")["pids"] == chief and training.resumed() == []
    wait_scalars(tony, training, "tensorboard:0", "train", "loss")
    wait_scalars(tony, training, "tensorboard:0", "evaluation", "accuracy")

    trained = training.wait_epochs(1)
    training.strike("ps:0", signal.SIGKILL)
    training.wait_resumed(trained, formation=2)
    trained = training.wait_epochs(2)
    training.end_soon()
    training.strike("chief:0", signal.SIGKILL)
    training.wait_resumed(trained, formation=3)
    training.wait_success()
    for bystander in ("evaluator:0", "tensorboard:0"):  # not part of the cluster that formed anew
        assert job.task(bystander)["epoch"] == 1 and job.task(bystander)["attempt"] == 1


def look_at_tensorboard(page, link):  # noqa: F811
    page.driver.get(link.get_attribute("href"))
    page.wait(lambda: all(word in page.text("body") for word in ("train", "accuracy", "loss")), "the curves")


@pytest.mark.slow
def test_tensorboard_in_a_browser_while_it_trains_and_again_from_the_portal(tony, page):  # noqa: F811
    page.expected_errors = ["/font-roboto/"]  # which TensorBoard asks of the server's root
    training = Training(tony, "tensorflow", "tony.worker.command", "--conf", "tony.worker.stop-grace=1s")
    open_by(page, tony.run("open", training.job.id).stdout.strip())
    link = page.wait_for(".links a")
    assert link.text == "TensorBoard"
    look_at_tensorboard(page, link)
    page.leave()
    trained = training.wait_epochs(1)
    training.end_soon()
    training.strike("worker:1", signal.SIGKILL)
    training.wait_resumed(trained, formation=2)
    job = training.wait_success()

    portal = Portal(tony, "--tensorboard", venv_bin("tensorflow") / "tensorboard")
    portal.wait_kept(job, "succeeded")
    open_by(page, portal.ask_link())
    page.turn_to(f"#/jobs/{job.id}")
    page.button("Start TensorBoard")
    page.wait_for_text("Open TensorBoard", ".links")
    look_at_tensorboard(page, page.wait_for(".links a"))
    page.leave()
    portal.stop()
