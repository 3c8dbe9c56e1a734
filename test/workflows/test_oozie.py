"""examples/oozie: its files are what Oozie's schemas want, and its script does as a shell action must, run by Oozie's own ShellMain."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from jars import jars
from patience import PATIENCE_S
from program import BUILD, ROOT, children_of, describe, wait_until, write_xml

HERE = Path(__file__).resolve().parent / "oozie"
EXAMPLE = ROOT / "examples/oozie"
TAG = "0000000-260101000000000-oozie-ada-W-train"
CHILDREN = "oozie-5c1b"
HADOOP = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tony-yarn/3.4.2/lib")


def java(*words, properties=(), **options):
    return subprocess.Popen(["java", "-Xmx128m", "--add-opens", "java.base/java.lang=ALL-UNNAMED", *properties, "-cp",
                             f"{jars(HERE / 'pom.xml')}/*:{HADOOP}/*", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


class Launcher:
    """Runs the script with these options of tony submit, as the launcher of a shell action does in its container."""

    def __init__(self, tony, *options):
        self.tony = tony
        self.folder = tony.directory / f"container-{len(tony.children)}"
        self.folder.mkdir()
        shutil.copy(EXAMPLE / "tony-job.sh", self.folder)
        self.output = self.folder / "output.properties"
        lists = {"oozie.shell.args": [*options, "--memory", "64m"], "oozie.shell.envs": [f"TONY_TAG={TAG}", f"PATH={BUILD}:/usr/bin:/bin"]}
        keys = {f"{name}.{number}": word for name, words in lists.items() for number, word in enumerate(words)}
        keys.update((f"{name}.size", len(words)) for name, words in lists.items())
        write_xml(self.folder / "action.xml", {**keys, "oozie.shell.exec": "./tony-job.sh", "oozie.shell.capture-output": "true",
                                               "oozie.child.mapreduce.job.tags": CHILDREN, "oozie.job.launch.time": "1767225600000"})
        properties = [f"-Doozie.action.conf.xml={self.folder}/action.xml", f"-Doozie.action.output.properties={self.output}",
                      f"-Doozie.action.externalChildIDs={self.folder}/children"]
        self.child = java("org.apache.oozie.action.hadoop.ShellMain", properties=properties, cwd=self.folder, env=tony.env,
                          start_new_session=True)
        tony.children.append(self.child)

    def waiting(self):
        """The script's process, once it waits."""
        def waits(pid):
            return any(re.match("[^ ]* .*: .*tony wait ", describe(child)) for child in children_of(pid))
        return next((pid for pid in children_of(self.child.pid) if waits(pid)), None)

    def finish(self):
        said = self.child.communicate(timeout=PATIENCE_S)[0]
        return self.child.returncode, said

    def job_id(self):
        """The output that Oozie captures: wf:actionData('train')['tony.job.id']."""
        return re.fullmatch(r"(?:#.*\n)*tony\.job\.id=(.*)\n", self.output.read_text())[1]


@pytest.mark.parametrize(("name", "schemas"), [
    ("workflow.xml", ("shell-action-1.0.xsd", "oozie-workflow-1.0.xsd")),
    ("coordinator.xml", ("oozie-coordinator-0.5.xsd",)),
])
def test_its_schemas_accept_the_example(name, schemas, tmp_path):
    said = java(HERE / "Validate.java", EXAMPLE / name, *schemas).communicate(timeout=PATIENCE_S)[0]
    assert said == ""
    broken = tmp_path / name
    broken.write_text((EXAMPLE / name).read_text().replace("<action", "<acton").replace("</action", "</acton"))
    assert "SAXParseException" in java(HERE / "Validate.java", broken, *schemas).communicate(timeout=PATIENCE_S)[0]


def test_an_action_runs_a_job_and_tells_its_id(tony):
    launcher = Launcher(tony, "--executes", "echo trained")
    code, said = launcher.finish()
    assert code == 0, said
    job = tony.job_class(tony, launcher.job_id())
    assert tony.ids() == [job.id] and job.logs("driver:0") == "trained\n"
    assert {TAG, CHILDREN} == set(job.status()["tags"])


def test_a_failure_fails_the_action(tony):
    code, said = Launcher(tony, "--executes", "echo ValueError: no data >&2; exit 3").finish()
    assert code != 0 and "ValueError: no data" in said, said
    code, said = Launcher(tony, "--workers", "none").finish()
    assert code != 0 and '--workers: "none"' in said and len(tony.ids()) == 1, said


def test_an_action_that_is_started_again_waits_for_its_job(tony):
    first = Launcher(tony, "--executes", f"while [ ! -e {tony.directory}/go ]; do sleep 0.1; done")
    job = tony.first_job()
    job.wait_task("driver:0")
    os.killpg(first.child.pid, signal.SIGKILL)
    second = Launcher(tony, "--executes", "true")
    wait_until(second.waiting, "tony wait")
    (tony.directory / "go").touch()
    code, said = second.finish()
    assert code == 0 and second.job_id() == job.id and tony.ids() == [job.id], said


def test_a_script_that_is_asked_to_stop_kills_its_job(tony):
    launcher = Launcher(tony, "--executes", "sleep 1000")
    job = tony.first_job()
    job.wait_task("driver:0")
    script = wait_until(launcher.waiting, "tony wait")
    os.kill(script, signal.SIGTERM)
    assert "killed in Oozie" in job.wait_state("killed")["cause"]["text"]
    assert launcher.finish()[0] != 0
