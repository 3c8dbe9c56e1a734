"""The commands of the documents run as they are written; test/harness/documents.py says which, and how a block is excused.

The commands between two blank lines run in one shell and in a folder of its own, which has the files that commands name. JOB is a
job that runs, the newest one, and its name is digits.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import zipfile

import pytest
from conftest import BUILD, ROOT, children_of, wait_until, write_xml
from documents import read_documents
from program import hear_signals

DOCUMENTS = [document for document in read_documents()
             if any(block.is_commands and block.paragraphs() for block in document.blocks)]
JOB = re.compile(r"\bJOB\b|\btony-\d{8}-\d{6}-[0-9a-f]{8}\b")
ENDLESS = re.compile(r"\btony (attach|(logs|events) (.* )?-f)\b")  # until the job ends
INTERRUPTED = 0, 130
TRAIN = "print('loss 0.5')\n"
RUNNING = {"tony.application.name": "digits", "tony.worker.instances": 3, "tony.worker.min-instances": 2,
           "tony.worker.max-instances": 8, "tony.worker.command": "echo loss 0.5; echo warning >&2; sleep 1000"}
WORKERS = "worker:0", "worker:1", "worker:2"


def write_virtual_environment(path):
    python = zipfile.ZipInfo("bin/python")
    python.external_attr = 0o100755 << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(python, '#!/bin/sh\nexec /usr/bin/python3 "$@"\n')


def write_files(folder, text):
    """A job file only where the commands need one: others are to run without."""
    (folder / "src").mkdir()
    (folder / "train.py").write_text(TRAIN)
    (folder / "src/train.py").write_text(TRAIN)
    write_virtual_environment(folder / "venv.zip")
    if "tony.xml" in text or " -- " not in text:
        write_xml(folder / "tony.xml", {"tony.application.framework": "generic", "tony.worker.instances": 2,
                                        "tony.worker.memory": "64m", "tony.worker.command": "python3 train.py"})


def write_home(tony):
    (tony.home / ".config").mkdir()
    (tony.home / ".config/hub.env").write_text("HUB_TOKEN=secret\n")
    (tony.directory / "srv").mkdir()


def start_job(tony):
    job = tony.submit(RUNNING, src_dir=None)
    for worker in WORKERS:
        job.wait_log(worker, "loss")
        job.wait_log(worker, "warning", "stderr")
    return job


class Shell:
    """A shell that runs commands one after the other, and notes of each what it prints and its exit code."""

    def __init__(self, tony, folder, commands):
        self.notes = folder.with_suffix(".notes")
        self.notes.mkdir()
        script = "".join(f"{{ {command}\n}} </dev/null >{self.notes}/{number}.said 2>&1\n"
                         f"echo $? >{self.notes}/new && mv {self.notes}/new {self.notes}/{number}.code\n"
                         for number, command in enumerate(commands))
        env = {**tony.env, "PATH": f"{BUILD}:{tony.env['PATH']}", "WANDB_API_KEY": "secret"}
        self.child = subprocess.Popen(["bash", "-c", script], cwd=folder, env=env, preexec_fn=hear_signals)
        tony.children.append(self.child)

    def said(self, number):
        path = self.notes / f"{number}.said"
        return path.read_text() if path.exists() else ""

    def has_ended(self, number):
        return (self.notes / f"{number}.code").exists() or self.child.poll() is not None

    def interrupt(self, number):
        """As Ctrl-C does, once there is something to see."""
        wait_until(lambda: self.said(number) or self.has_ended(number), "the command to print something")
        for child in children_of(self.child.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGINT)

    def code(self, number):
        wait_until(lambda: self.has_ended(number), "the command to end")
        path = self.notes / f"{number}.code"
        return int(path.read_text()) if path.exists() else None


def run_commands(tony, document, commands):
    text = "\n".join(command for _, command in commands)
    folder = tony.directory / f"line-{commands[0][0]}"
    if (ROOT / document.path).parent.parent.name == "examples":
        shutil.copytree((ROOT / document.path).parent, folder)
    else:
        folder.mkdir()
        write_files(folder, text)
    is_of_a_job = not re.search(r"\btony (submit|init)\b", text)
    job = start_job(tony).id if is_of_a_job else "no job"
    shell = Shell(tony, folder, [JOB.sub(job, command).replace("/srv/", f"{tony.directory}/srv/") for _, command in commands])
    for number, (line, command) in enumerate(commands):
        is_endless = is_of_a_job and ENDLESS.search(command)
        if is_endless:
            shell.interrupt(number)
        code = shell.code(number)
        assert code in (INTERRUPTED if is_endless else (0,)), f"{document.path}:{line}: {command}\n{shell.said(number)}"
    if is_of_a_job:
        tony.finish()


@pytest.mark.parametrize("document", DOCUMENTS, ids=[document.path for document in DOCUMENTS])
def test_commands(tony, document):
    write_home(tony)
    for block in document.blocks:
        for commands in block.paragraphs() if block.is_commands else ():
            run_commands(tony, document, commands)
