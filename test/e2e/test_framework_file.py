"""A framework of the user's own, written as a file: the example of docs/frameworks.md, and what is wrong with others."""

import json
import os
import re
import signal

import pytest
from conftest import ROOT, wait_until

JOB = ["--type", "lead=1", "--type", "worker=2", "--memory", "512m", "--executes", "python3 average.py"]
FILE = ["--conf", "tony.framework.file=averaging.xml"]


@pytest.fixture
def folder(tmp_path):
    """A folder with both files as the document has them."""
    text = (ROOT / "docs/frameworks.md").read_text(encoding="utf-8").split("## A framework of your own")[1]
    directory = tmp_path / "own"
    directory.mkdir()
    for name, language in (("averaging.xml", "xml"), ("average.py", "python")):
        block = re.search(f"```{language}\n(.*?)```", text, re.DOTALL)
        (directory / name).write_text(block.group(1), encoding="utf-8")
    return directory


def submit(tony, folder, *options):
    answer = tony.run("submit", "--detach", *FILE, *options, *JOB, cwd=folder)
    assert answer.returncode == 0, answer.stderr
    return tony.job_class(tony, answer.stdout.strip())


def said(job, epoch):
    tasks = ("lead:0", "worker:0", "worker:1")
    for rank, task in enumerate(tasks):
        assert f"epoch {epoch} rank {rank} of 3 mean 1.0\n" in job.logs(task)
    return True


def test_the_example_of_the_document_runs_and_needs_its_file_only_at_submission(tony, folder):
    job = submit(tony, folder, "--hold")
    (folder / "averaging.xml").rename(folder / "gone.xml")
    wait_until(lambda: "is held" in job.status().get("waiting", ""), "it to wait")
    os.kill(job.am()[0], signal.SIGKILL)
    wait_until(lambda: job.status()["am_attempt"] == 2, "the next AM")
    assert tony.run("release", job.id).returncode == 0
    assert job.wait() == 0
    assert said(job, 1)
    assert job.status()["framework"] == "averaging"
    again = tony.run("rerun", job.id, "--detach", "--conf", "tony.application.hold=false",
                     cwd=folder)
    assert again.returncode == 0, again.stderr
    rerun = tony.job_class(tony, again.stdout.strip())
    assert rerun.wait() == 0
    assert said(rerun, 1)


def test_all_begin_anew_when_one_dies(tony, folder):
    job = submit(tony, folder, "--env", "FAIL_ONCE=1", "--retries", "1", "--conf", "tony.am.retry-delay=10ms")
    assert job.wait() == 0
    assert said(job, 2)
    assert job.status()["epoch"] == 2


def rendered(tony, folder, *options):
    answer = tony.run("render", "--json", *FILE, *options, *JOB, cwd=folder)
    assert answer.returncode == 0, answer.stderr
    return {process["task"]: process["environment"] for process in json.loads(answer.stdout)["processes"]}


def test_the_file_says_what_exit_codes_of_its_programs_mean(tony, folder):
    """Where the job says nothing else."""
    text = (folder / "averaging.xml").read_text()
    (folder / "averaging.xml").write_text(text.replace('<type name="worker"', '<type name="worker" on-exit="64->fail, 75->retry"'))
    options = ("--retries", "1", "--conf", "tony.am.retry-delay=10ms")
    for code, more, epochs in ((64, (), 1), (75, (), 2), (64, ("--conf", "tony.worker.on-exit=64->retry"), 2)):
        (folder / "average.py").write_text(f"import os, time\nif os.environ['TONY_TASK'] == 'worker:0': raise SystemExit({code})\ntime.sleep(1000)\n")
        job = submit(tony, folder, *options, *more)
        assert job.wait() == 1
        assert job.status()["epoch"] == epochs, (code, more)


def noted(tony, job):
    return tony.run("events", job.id).stdout


def test_the_file_says_what_the_last_words_of_its_programs_mean(tony, folder):
    """As the document has it: a flaw that no other try mends ends the job, and a peer that is gone does not."""
    options = ("--retries", "1", "--conf", "tony.am.retry-delay=10ms")
    job = submit(tony, folder, "--env", "AVERAGING_BACKLOG=many", *options)
    assert job.wait() == 1
    assert job.status()["epoch"] == 1
    assert "AVERAGING_BACKLOG is many" in tony.run("status", job.id).stdout
    assert "lead:0 is not tried again: its backlog is no number" in noted(tony, job)
    path = folder / "average.py"
    text = path.read_text()
    lead = "    others = ["
    assert text.count(lead) == 1
    path.write_text(text.replace(lead, "    if epoch == 1:\n            server.accept()[0].recv(99)\n            time.sleep(1000)\n    " + lead))
    job = submit(tony, folder, *options)
    assert job.wait() == 0
    assert said(job, 2)
    assert re.search(r"worker:[01].*: the lead is gone; whether a peer is lost", noted(tony, job))
    job = submit(tony, folder, "--env", "AVERAGING_BACKLOG=many", "--conf", "tony.lead.on-exit=1->retry", *options)
    assert job.wait() == 1
    assert job.status()["epoch"] == 2


def test_render_and_config_show_what_the_file_gives_each_task(tony, folder):
    tasks = rendered(tony, folder)
    assert [tasks[name]["AVERAGING_RANK"] for name in ("lead:0", "worker:0", "worker:1")] == ["0", "1", "2"]
    assert {task["AVERAGING_LEAD"] for task in tasks.values()} == {
        json.loads(tasks["lead:0"]["CLUSTER_SPEC"])["lead"][0]}
    assert tasks["lead:0"]["AVERAGING_BACKLOG"] == "64" and "AVERAGING_BACKLOG" not in tasks["worker:0"]
    assert tasks["lead:0"]["TONY_FRAMEWORK"] == "averaging" and tasks["lead:0"]["IS_CHIEF"] == "true"
    assert "IS_CHIEF" not in tasks["worker:0"]
    shown = tony.run("config", "show", *FILE, *JOB, cwd=folder).stdout
    assert re.search(r"tony.application.fail-on-worker-failure-enabled\s.*true.*framework averaging", shown)


CHANGES = [
    ("<chief", "<boss", ':2: <boss> is no element of <framework>; known are chief, type, ranks, tasks, failure'),
    ('  <chief types="lead"/>\n', "", ':1: <chief> is missing; write <chief types="TYPE"/>'),
    ('<chief types="lead"/>', '<chief types="boss"/>', ':2: <chief>: there is no <type> of the name "boss"'),
    ("{{rank}}", "{{rang}}", ":12: variable AVERAGING_RANK: unknown template {{rang}}; known are "),
    ('others="stop"', 'others="wait"', ':6: <failure>: others="wait" is neither "stop" nor "go-on"'),
    ('name="AVERAGING_RANK"', 'name="TONY_TASK"', ":12: <variable>: TONY_TASK is tony's own name"),
    ('name="AVERAGING_RANK"', 'title="AVERAGING_RANK"', ':12: <variable> has no attribute "title"'),
    ("<cluster-spec/>", '<cluster-spec unless-set="true"/>', ':8: <cluster-spec> has no attribute "unless-set"'),
    ('then="fail" why', 'then="stop" why', ':19: <failure>: then="stop" is none of retry, blame-peer, elsewhere, blame-machine, fail'),
    ('then="fail" why', 'others="stop" why', ':19: <failure> has no attribute "others"'),
    ('others="stop"', 'other="stop"', ':6: <failure> has no attribute "other"'),
    ('others="stop"', '', ':6: <failure> needs the attribute "others" or "text"'),
    ('text="no mean came"', 'text=""', ':18: <failure> needs the attribute "text"'),
    ('text="no mean came"', f'text="{"x" * 201}"', ':18: <failure>: text has more than 200 bytes'),
    ('text="no mean came"', 'text="no&#9;mean"', ':18: <failure>: text is not of one line that can be printed'),
    ("<cluster-spec/>", "<cluster/>", ":8: <cluster> is no element of <environment>"),
    ("</framework>", "", ":"),
    ('memory="512m"', 'memory-size="512m"', ":3: <type>: there is no key tony.lead.memory-size that it could set"),
    ('memory="512m"', 'memory="much"', ':3: <type>: tony.lead.memory: "much" is not a size'),
    ('name="averaging"', 'name="pytorch"', ': name="pytorch" is a framework of tony\'s own; choose another name'),
    ('of="lead"', 'of="leader"', ':15: <environment>: there is no <type> of the name "leader"'),
    ('of="lead"', 'of="lead leader"', ':15: <environment>: there is no <type> of the name "leader"'),
    ("{{world}}", "{{cluster.wrker}}", ':13: variable AVERAGING_SIZE: {{cluster.wrker}}: the job has no task type "wrker"'),
    ("  <failure", '  <chief types="worker"/>\n  <failure', ":6: <chief> is there twice, first in line 2"),
    ("  <failure text", '  <failure others="stop"/>\n  <failure text', ":18: <failure others> is there twice, first in line 6"),
    ('of="lead"', 'of=""', ':15: <environment>: of="" names no type; leave it out for all tasks'),
    ("</environment>", '<variable name="AVERAGING_LEAD"/></environment>', ":10: <variable>: AVERAGING_LEAD is there twice"),
    ('name="worker"', 'name="Lead Foo"', ':4: <type>: "Lead Foo" is no task type\'s name'),
    ('types="lead"', 'types="lead Foo"', ':2: <chief>: "Foo" is no task type\'s name'),
    ('name="averaging"', 'name="averaging" module="no such"', ':1: module="no such" is no module\'s name'),
]


@pytest.mark.parametrize("old, new, told", CHANGES, ids=[told.strip(": ")[:40] for _, _, told in CHANGES])
def test_a_flaw_is_told_with_file_and_line(tony, folder, old, new, told):
    path = folder / "averaging.xml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    answer = tony.run("submit", *FILE, *JOB, cwd=folder)
    assert answer.returncode in (2, 3), answer.stderr
    assert f"averaging.xml{told}" in answer.stderr


def test_without_a_type_the_file_knows_the_chiefs(tony, folder):
    path = folder / "averaging.xml"
    text = re.sub("  <type .*\n", "", path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")
    assert "AVERAGING_BACKLOG" in rendered(tony, folder)["lead:0"]
    path.write_text(text.replace('of="lead"', 'of="nosuch"'), encoding="utf-8")
    answer = tony.run("render", *FILE, *JOB, cwd=folder)
    assert answer.returncode == 3 and ':13: <environment>: there is no <type> of the name "nosuch"' in answer.stderr


def test_what_contradicts_the_file_is_refused(tony, folder):
    def refused(words, *options, job=tuple(JOB)):
        answer = tony.run("submit", *options, *job, cwd=folder)
        assert answer.returncode in (2, 3) and words in answer.stderr, answer.stderr
    refused("contradict; give one", *FILE, "--framework", "pytorch")
    refused("No such file", "--conf", "tony.framework.file=nowhere.xml")
    assert tony.run("render", "--conf", "tony.framework.file=nowhere.xml", *JOB, cwd=folder).returncode == 3
    refused("AVERAGING_RANK", *FILE, "--env", "AVERAGING_RANK=7")
    refused("The averaging processes need the address of rank 0", *FILE, "--conf",
            "tony.application.distributed-mode=FCFS")
    refused("the job has no chief: it has no task of the type lead", *FILE,
            job=("--workers", "2", "--conf", "tony.lead.instances=0", "--executes", "python3 average.py"))
