"""TonY's own end-to-end suite on a cluster; what needs a node to be full is in test_labelled_node.py."""

import pytest
import tony_rows
from tony_rows import *  # noqa: F401,F403

SHORT = ("SingleNodeTrainingShouldPass", "PSWorkerTrainingShouldPass", "PSWorkerTrainingShouldFail",
         "AMCrashTonyShouldFail", "TonyResourcesFlag", "AMStopsJobAfterWorker0Killed")
for name in SHORT:
    globals()[f"test_{name}"] = pytest.mark.short(getattr(tony_rows, f"test_{name}"))


@pytest.mark.promise("T27")
def test_TonyFinalConfWithNonExistentHDFSClasspath(tony):
    """What is not in HDFS is left out, said once, and the job runs with the rest."""
    library = f"/user/{tony.cluster.user}/{tony.directory.name}/yarn/lib"
    tony.cluster.put(f"{library}/one.jar", b"one")
    answer, job = tony.job({"tony.worker.instances": 2, "tony.ps.instances": 1}, "--hdfs_classpath",
                           f"/random/path,{tony.cluster.env['HDFS_URI']}/random/other,{library}",
                           "--executes", "cat one.jar; echo; ls")
    tony.cluster.hdfs("DELETE", library, op="DELETE", recursive="true")
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr.count("/random/path") == 1 == answer.stderr.count("/random/other")
    assert "left out" in answer.stderr and library not in answer.stderr
    assert job.logs("worker:1").splitlines()[0] == "one"
    assert "path" not in job.logs("worker:1").splitlines()
