"""A quota in HDFS that does not suffice for a submission: it is told as such, and nothing is left behind
but complete files in the cache, which other jobs may use."""

import pytest
from program import wait_until

ONE = {"tony.worker.instances": 1}
USER = "cramped"


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
    assert answer.returncode == 70, answer.stdout + answer.stderr
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
