"""The job type TonYJob: loaded and run by Azkaban's own JobTypeManager and ProcessJob."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from jars import jars
from patience import PATIENCE_S
from program import BUILD, PYTHON, ROOT

HERE = Path(__file__).resolve().parent / "azkaban"
EXAMPLE = ROOT / "examples/azkaban"
FLOW = {"azkaban.flow.projectname": "digits", "azkaban.flow.flowid": "nightly", "azkaban.flow.execid": "42", "azkaban.webserverhost":
        "azkaban.example", "user.to.proxy": "ada"}


class Azkaban:
    def __init__(self, tony):
        self.tony, self.flow = tony, tony.directory / "flow"
        shutil.copytree(EXAMPLE / "flow", self.flow)
        self.plugins = tony.directory / "jobtypes"
        shutil.copytree(EXAMPLE / "plugins/jobtypes", self.plugins)
        # Of this site: no program that changes the user, which only root can install.
        (self.plugins / "commonprivate.properties").write_text("execute.as.user=false\nmemCheck.enabled=false\n")
        self.env = {**tony.env, "PYTHONPATH": str(ROOT / "python"), "TONY_PROGRAM": str(BUILD / "tony"), "PYTHONDONTWRITEBYTECODE": "1"}

    def start(self, name, **properties):
        words = [f"{key}={value}" for key, value in {**FLOW, **properties}.items()]
        child = subprocess.Popen(["java", "-Xmx128m", "--add-opens", "java.base/java.lang=ALL-UNNAMED", "-cp", f"{jars(HERE / 'pom.xml')}/*",
                                  HERE / "RunJob.java", self.plugins, self.flow, name, *words], env=self.env, cwd=self.tony.directory,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.tony.children.append(child)
        return child

    def run(self, name, **properties):
        """All that Azkaban said, with the job's output properties in the last line."""
        child = self.start(name, **properties)
        said = wait_for(child)
        return said, said.splitlines()[-1]


def wait_for(child, words=None):
    return child.communicate(words, timeout=PATIENCE_S)[0]


@pytest.fixture
def azkaban(tony):
    return Azkaban(tony)


def only_job(tony, number=0):
    return tony.job_class(tony, tony.ids()[number])


def test_the_example_runs(azkaban, tony):
    said, last = azkaban.run("train")
    assert last.startswith("SUCCEEDED"), said
    job = only_job(tony)
    assert f"tony.job.id: {job.id}," in last and "tony.job.state: succeeded," in last and f"tony.job.output: {job.directory}/output," in last
    status = job.status()
    assert status["name"] == "nightly.train"
    assert {"azkaban.flow.execid:42", "azkaban.flow.flowid:nightly", "azkaban.flow.projectname:digits",
            "azkaban.webserverhost:azkaban.example"} < set(status["tags"])
    assert job.logs("worker:1") == "1: 0.1625\n" and "worker:1: running -> succeeded" in said


def test_properties_arrive_as_they_were_written(azkaban, tony):
    """TonY's names, what Java's properties escape, data sets and the flow's own parameters."""
    (azkaban.flow / "odd.job").write_text("""type=TonYJob
executes=python3 odd.py
task_params=--url hdfs://nn:8020/a=b --text "${greeting}"
worker_env.ODD=a \\=b:c#d\\\\e ü
azkaban.input.dataset=/data/a,/data/b
azkaban.output.dataset=/data/out
env.OWN=of the process
tony.application.tags=mine,yours
tony.application.name=odd, but fine
tony.driver.memory=64m
""", encoding="latin-1")
    (azkaban.flow / "src/odd.py").write_text("import json, os, sys\nprint(json.dumps([sys.argv[1:], *(os.environ.get(name) for name in "
                                             "('ODD', 'AZKABAN_INPUT_DATASET', 'AZKABAN_OUTPUT_DATASET'))]))\n")
    said, last = azkaban.run("odd", greeting="to all", **{"tony.job.id": "of the job before", "tony.job.output": "/results"})
    assert last.startswith("SUCCEEDED"), said
    job = only_job(tony)
    assert json.loads(job.logs("driver:0")) == [["--url", "hdfs://nn:8020/a=b", "--text", "to all"], "a =b:c#d\\e ü", "/data/a;/data/b",
                                                "/data/out"]
    assert {"mine", "yours"} < set(job.status()["tags"]) and job.status()["name"] == "odd, but fine"


def test_a_failure_is_told_and_an_attempt_goes_on_from_checkpoints(azkaban, tony):
    (azkaban.flow / "again.job").write_text("type=TonYJob\nexecutes=sh again.sh\ntony.driver.memory=64m\n")
    (azkaban.flow / "src/again.sh").write_text('[ -e $TONY_CHECKPOINT_DIR/step ] && exit 0; touch $TONY_CHECKPOINT_DIR/step\n'
                                               'echo "ValueError: not yet" >&2; exit 3\n')
    said, last = azkaban.run("again", **{"azkaban.job.attempt": 0})
    assert last.startswith("FAILED") and "driver:0 on 127.0.0.1 exited with code 3: ValueError: not yet" in said
    said, last = azkaban.run("again", **{"azkaban.job.attempt": 1})
    assert last.startswith("SUCCEEDED"), said
    first, second = sorted((only_job(tony, number) for number in (0, 1)), key=lambda job: job.status()["submitted_ms"])
    assert second.status()["rerun_of"] == first.id
    said, last = azkaban.run("again", **{"azkaban.job.attempt": 2})
    assert f"tony.job.id: {second.id}," in last and len(tony.ids()) == 2, "what has succeeded is not done again"
    said, last = azkaban.run("again", **{"tony.am.retry-count": "many"})
    assert last.startswith("FAILED") and 'tony.am.retry-count: "many"' in said


def test_a_cancelled_job_ends(azkaban, tony):
    (azkaban.flow / "long.job").write_text("type=TonYJob\nexecutes=sleep 1000\ntony.driver.memory=64m\n")
    child = azkaban.start("long")
    job = tony.first_job()
    job.wait_task("driver:0")
    assert "FAILED" in wait_for(child, "cancel\n")
    assert "cancelled in Azkaban" in job.wait_state("killed")["cause"]["text"]


@pytest.mark.parametrize(("properties", "variables", "words"), [
    ("", [], "JOB_PROP_FILE is not set"),
    ("", ["JOB_PROP_FILE"], "JOB_OUTPUT_PROP_FILE is not set"),
    (None, ["JOB_PROP_FILE", "JOB_OUTPUT_PROP_FILE"], "JOB_PROP_FILE: /.*/job: No such file or directory"),
    ("executes=true\n", ["JOB_PROP_FILE", "JOB_OUTPUT_PROP_FILE"], "/job has no azkaban.job.id"),
    ("azkaban.job.id=a\nazkaban.job.attempt=b\n", ["JOB_PROP_FILE", "JOB_OUTPUT_PROP_FILE"], "azkaban.job.attempt that is no number"),
])
def test_without_azkaban_it_says_so(tony, properties, variables, words):
    file = tony.directory / "job"
    if properties is not None:
        file.write_text(properties)
    env = {**tony.env, "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1", **dict.fromkeys(variables, str(file))}
    done = subprocess.run([PYTHON, "-m", "tony.azkaban"], env=env, capture_output=True, text=True)
    assert done.returncode == 2 and re.fullmatch(f"tony: .*{words}.*; Azkaban's ProcessJob starts this.*\n", done.stderr), done.stderr
