"""The suite's cluster, and the `tony` fixture: the real programs against a real YARN and HDFS, and
afterwards the proof that nothing was left behind.

One cluster serves the whole run, also one with several workers (-n): the process that was started first
brings it up. Tests that break daemons have a cluster of their own, see `own_cluster`.
"""

import contextlib
import fcntl
import os
import shutil
import signal

import pytest

pytest.register_assert_rewrite("tony_rows", "dashboard_rows", "open_rows", "page")

import browser  # noqa: E402
import kit  # noqa: E402
from outcome import pytest_runtest_makereport  # noqa: E402,F401
from page import visit  # noqa: E402
from program import describe, wait_until  # noqa: E402
from yarn_tony import YarnTony  # noqa: E402

collect_ignore = [] if kit.HAS_HTTPFS else ["test_httpfs.py", "test_secure.py"]
SUITE_DIRECTORY = "TONY_YARN_SUITE"  # tells the workers of a run where the cluster is
OWN_ONLY = "TONY_YARN_OWN_ONLY"  # set: all files of the run have a cluster of their own
WATCHED = pytest.StashKey()


def pytest_sessionstart(session):
    config = session.config
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("ended by SIGTERM", 143))
    if os.environ.get(OWN_ONLY):
        return
    cluster = kit.fitting_developers()
    if not cluster:
        config.stash[WATCHED] = kit.Watched(kit.SUITE)
        cluster = config.stash[WATCHED].cluster
    os.environ[SUITE_DIRECTORY] = str(cluster.directory)


def pytest_unconfigure(config):
    watched = config.stash.get(WATCHED, None)
    if watched:
        watched.close()


@pytest.fixture(scope="session")
def cluster():
    return kit.Cluster(os.environ[SUITE_DIRECTORY])


@pytest.fixture(scope="module")
def own_cluster(request):
    """A cluster of this file's tests alone; `CLUSTER` in the file says what it is made of."""
    watched = kit.Watched(request.module.CLUSTER)
    yield watched.cluster
    watched.close()


def serve(tmp_path, request, cluster):
    tony = YarnTony(tmp_path, cluster)
    yield tony
    if getattr(request.node, "failed", False):
        tony.tell()
    unfinished = tony.unfinished()
    tony.finish()
    try:
        wait_until(lambda: not tony.unfinished(), "every application of the test to end")
        wait_until(lambda: not tony.processes(), "every process of the test to end")
        wait_until(lambda: not tony.staged(), "the files of the jobs to be deleted")
    except pytest.fail.Exception:
        left = [describe(pid) for pid in tony.processes()]
        for pid in tony.processes():
            os.kill(pid, signal.SIGKILL)
        pytest.fail(f"left behind: {left}, applications: {tony.unfinished()}, files: {tony.staged()}, "
                    f"running at the end: {unfinished}")
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture
def tony(tmp_path, request, cluster):
    yield from serve(tmp_path, request, cluster)


@pytest.fixture
def own_tony(tmp_path, request, own_cluster):
    """tony on the file's own cluster."""
    yield from serve(tmp_path, request, own_cluster)


@pytest.fixture
def browse(own_cluster):
    """browse(user): a page of Chromium, which shows that user's ticket to localhost."""
    with contextlib.ExitStack() as browsers:
        def start(user):
            env = own_cluster.env_of(user)
            driver = browser.start(ticket={name: env[name] for name in ("KRB5_CONFIG", "KRB5CCNAME")})
            browsers.callback(driver.quit)
            return browsers.enter_context(contextlib.contextmanager(visit)(driver))
        yield start


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """A cluster of their own makes tests slow; the fast lane has those that are marked fast."""
    for item in items:
        if "own_cluster" in item.fixturenames and not item.get_closest_marker("fast"):
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def labelled_node(cluster):
    """Nobody else's: some tests fill it, or have it decommissioned, and others count what there is."""
    with open(cluster.directory / "labelled-node.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def shared(tony):
    """A directory of HDFS in which everybody may write."""
    path = f"/tony-history-{os.urandom(4).hex()}"
    tony.cluster.hdfs("PUT", path, op="MKDIRS", permission="1777")
    yield path
    tony.cluster.hdfs("DELETE", path, op="DELETE", recursive="true")
