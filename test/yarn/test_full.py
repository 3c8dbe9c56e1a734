"""A quota in HDFS. When it does not suffice for a submission, it is told as such, and nothing is left behind but complete
files in the cache, which other jobs may use. When a running job meets it, it is told until it is lifted."""

import urllib.request
import uuid

import pytest
from patience import PATIENCE_S
from program import wait_until

ONE = {"tony.worker.instances": 1}
USER = "cramped"
CAPACITY = 7  # see tony-exit(7)


@pytest.fixture
def home(tony):
    path = f"/user/{USER}"
    tony.cluster.hdfs("PUT", path, op="MKDIRS")
    tony.cluster.hdfs("PUT", path, op="SETOWNER", owner=USER)
    yield path
    tony.cluster.hdfs("DELETE", path, op="DELETE", recursive="true")


def files(tony, path):
    """All below that are no directories, and the job's own directories."""
    found = []
    for name in tony.cluster.list(path):
        below = f"{path}/{name}"
        status = tony.cluster.status(below)
        if status is None:
            continue  # removed meanwhile
        found += files(tony, below) if status["type"] == "DIRECTORY" else [below]
        found += [below] if name.startswith("application_") else []
    return found


def copies(tony):
    return sorted((tony.state / "yarn").glob("application_*"))


def refused(tony, *words):
    before = copies(tony)
    answer, _ = tony.job(ONE, "--executes", "true", src_dir=None, env={"HADOOP_USER_NAME": USER})
    assert answer.returncode == CAPACITY, answer.stdout + answer.stderr
    for word in (*words, "remove files in HDFS, or ask for more room"):
        assert word in answer.stderr, f"{word!r} is not in {answer.stderr}"
    assert copies(tony) == before, "nothing of the job is on this machine either"


@pytest.mark.promise("R60")
def test_a_quota_of_bytes(tony, home):
    tony.cluster.hdfs("PUT", home, op="SETQUOTA", storagespacequota=1 << 20, namespacequota=1000)
    refused(tony, "DSQuotaExceededException", f"quota of {home} is exceeded")
    assert files(tony, home) == [], "not even tony-agent was sent as a whole"


@pytest.mark.promise("R60")
def test_a_quota_of_names(tony, home):
    """HDFS has tony itself already; the names of the job do not fit."""
    answer, _ = tony.job(ONE, "--executes", "true", src_dir=None, env={"HADOOP_USER_NAME": USER})
    assert answer.returncode == 0, answer.stderr
    tony.cluster.hdfs("DELETE", f"{home}/.tony/checkpoints", op="DELETE", recursive="true")
    wait_until(lambda: not any("application_" in name for name in files(tony, f"{home}/.tony")
                               if "/history/" not in name), "the first job's directory to be deleted")
    before = files(tony, home)
    summary = tony.cluster.hdfs("GET", home, op="GETCONTENTSUMMARY").decode()
    count = sum(int(summary.partition(f'"{name}":')[2].split(",")[0].split("}")[0])
                for name in ("directoryCount", "fileCount"))
    tony.cluster.hdfs("PUT", home, op="SETQUOTA", namespacequota=count + 3, storagespacequota=1 << 40)
    refused(tony, "NSQuotaExceededException", f"quota (directories and files) of directory {home} is exceeded")
    assert files(tony, home) == before


def told(job, kind):
    return [event for event in job.events() if event["ev"] == kind]


def metric(job, name):
    """Of the whole job, or of its only task; None: it has none."""
    request = urllib.request.Request(job.status()["am_url"] + "/v1/metrics",
                                     headers={"Authorization": f"Bearer {job.token()}", "Accept": "text/plain"})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        lines = [line for line in answer.read().decode().splitlines() if line.startswith(f"{name}{{")]
    return int(lines[0].split()[-1]) if lines else None


def submit_writer(tony, **keys):
    """A job that writes a checkpoint after the first event, and ends after the second."""
    events = go, end = tony.directory / "go", tony.directory / "end"
    job = tony.submit({**ONE, **keys}, "--executes", f"until [ -e {go} ]; do sleep 0.1; done; echo first > $TONY_CHECKPOINT_DIR/first; "
                                         f"until [ -e {end} ]; do sleep 0.1; done")
    job.wait_task("worker:0")
    return job, *events


def expect_end(job, kinds):
    """Each was told once, and taken back once."""
    for kind, words in kinds.items():
        wait_until(lambda kind=kind: len(told(job, kind)) > 1, f"the trouble of {kind} to be over")
        first, second = told(job, kind)
        assert first["trouble"] and "trouble" not in second and second["text"].startswith(words), (first, second)


WELL_AGAIN = {"checkpoints": "all is well with its checkpoints again, after ",
              "store": "what is kept of the job is written again, after "}


def test_a_quota_that_a_running_job_meets_is_told_until_it_is_lifted(tony):
    """By its checkpoints, in a place that is named without the NameNode, and by the journal for the AM that follows."""
    points = f"/user/{tony.cluster.user}/{uuid.uuid4()}"
    tony.cluster.hdfs("PUT", points, op="MKDIRS")
    job, go, end = submit_writer(tony, **{"tony.application.checkpoint-dir": f"hdfs://{points}"})
    places = (points, job.files)
    wait_until(lambda: metric(job, "tony_task_store_waiting_bytes") == 0, "its executor to tell that nothing waits")
    for path in places:
        tony.cluster.hdfs("PUT", path, op="SETQUOTA", storagespacequota=1 << 10, namespacequota=1 << 20)
    go.touch()
    wait_until(lambda: told(job, "checkpoints"), "the trouble to be told")
    [trouble] = told(job, "checkpoints")
    for words in ("its checkpoints cannot be stored: ", f"quota of {points} is exceeded", "; trying again"):
        assert trouble["trouble"] and words in trouble["text"], trouble
    assert f"warning: worker:0: {trouble['text']} (for " in tony.run("status", job.id).stdout
    assert metric(job, "tony_task_store_waiting_bytes") == len("first\n")
    assert metric(job, "tony_task_store_trouble_milliseconds") > 0
    status = job.status()
    assert status["tasks"][0]["checkpoint_trouble_since_ms"] == trouble["since_ms"], status
    # Each line of the journal wants to be kept, that of the checkpoints among them.
    wait_until(lambda: told(job, "store"), "the journal's trouble to be told")
    [kept] = told(job, "store")
    assert f"quota of {job.files} is exceeded" in kept["text"] and "the job goes on" in kept["text"], kept
    assert job.status()["store_trouble"] == kept["text"] and metric(job, "tony_job_store_trouble_milliseconds") > 0
    for words, *source in (("; trying again", "--executor", "worker:0"), ("; the job goes on: ", "--am")):
        assert words in tony.run("logs", job.id, *source).stdout
    for path in places:
        tony.cluster.hdfs("PUT", path, op="SETQUOTA", storagespacequota=1 << 40, namespacequota=1 << 20)
    expect_end(job, WELL_AGAIN)
    assert tony.cluster.get(f"{points}/first") == b"first\n"
    assert "warning" not in tony.run("status", job.id).stdout and "store_trouble" not in job.status()
    assert metric(job, "tony_job_store_trouble_milliseconds") == 0
    end.touch()
    assert job.wait() == 0
    tony.cluster.hdfs("DELETE", points, op="DELETE", recursive="true")
