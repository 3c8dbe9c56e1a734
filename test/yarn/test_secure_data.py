"""Data and sweeps on a cluster with Kerberos: they do the same there as on the open one."""

import shutil

import kit
import pytest
from program import wait_until
from test_files import place, test_parquet_is_read_without_java, tony  # noqa: F401
from test_locality import test_data_that_is_not_there_is_refused, test_nodes_with_the_data_are_asked_for_first  # noqa: F401
from test_sweep import submit, test_trials_on_yarn_go_on_when_the_sweep_is_killed, trials_of  # noqa: F401

CLUSTER = {"--nodes": 3, **kit.SECURE, "--near-data": None, "--heartbeat-ms": 100, "--minimum-mb": 256}


@pytest.fixture(scope="module")
def cluster(own_cluster):
    """Where those tests find the open one."""
    return own_cluster


def test_a_sweep_waits_for_a_ticket(own_tony):
    kept, cache = own_tony.env["KRB5CCNAME"].removeprefix("FILE:"), own_tony.directory / "cache"
    shutil.copy(kept, cache)
    own_tony.env["KRB5CCNAME"] = f"FILE:{cache}"
    sweep, _ = submit(own_tony, "x=1,2,3", 1)
    wait_until(lambda: trials_of(own_tony, sweep)["trials"], "a trial")
    cache.unlink()
    told, = wait_until(lambda: [line for line in own_tony.run("logs", sweep).stdout.splitlines() if " waits: " in line][:1], "it to wait")
    assert "kinit" in told
    shutil.copy(kept, cache)
    assert own_tony.run("wait", sweep).returncode == 0, own_tony.run("logs", sweep).stdout
    assert [trial["state"] for trial in trials_of(own_tony, sweep)["trials"]] == ["completed"] * 3
