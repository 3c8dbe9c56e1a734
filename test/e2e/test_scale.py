"""Many tasks of one job. The executors are simulated (bench/scale), so that hundreds cost one process;
the application master is the real one."""

import contextlib
import sys

import pytest

from conftest import BUILD, ROOT, wait_until
from patience import PATIENCE_S
from program import built

sys.path.insert(0, str(ROOT / "bench/scale"))
import bench_scale  # noqa: E402

TASKS = 500


@pytest.fixture
def master(request, tmp_path, monkeypatch):
    """With TLS where the parameter says so."""
    for name in ("scale-agent", "scale-executors", "scale-tunnel"):
        built(f"bench/scale/{name}")
    monkeypatch.setattr(bench_scale, "PROGRAMS", BUILD / "bench/scale")
    monkeypatch.setattr(bench_scale.bench, "PATIENCE_S", PATIENCE_S)
    monkeypatch.setattr(bench_scale.bench, "TONY", str(BUILD / "tony"))
    master = bench_scale.Master(tmp_path, TASKS, getattr(request, "param", False))
    yield master
    if master.process.poll() is None:
        master.end()
    assert master.process.returncode is not None


BOTH = pytest.mark.parametrize("master", [False, True], ids=["plain", "tls"], indirect=True)


@BOTH
def test_forms_beats_and_forms_anew(master):
    """All are told the cluster, compressed; one failure stops all; all are told the next one."""
    with contextlib.closing(bench_scale.Executors(master, TASKS)) as executors:
        formed = executors.phase("form")
        assert formed["retries"] == 0
        spec = len(master.request("GET", "/v1/cluster"))
        assert formed["spec_bytes"] / TASKS < spec / 3
        wait_until(lambda: len(master.get("/v1/metrics")["tasks"]) == TASKS, "a beat of every task")
        beats = wait_until(lambda: (told := executors.phase("beat 1"))["beats"] > 0 and told, "a second with beats")
        assert beats["retries"] == 0
        assert master.get("/v1/job")["progress"] == {"running": TASKS}
        executors.phase("fail")
        executors.phase("form")
        job = master.get("/v1/job")
        assert (job["epoch"], job["retries"], job["state"]) == (2, 1, "running")
        assert master.get("/v1/tasks/worker:0")["attempt"] == 1, "containers are kept"


@BOTH
def test_all_go_on_with_the_next_am(master):
    with contextlib.closing(bench_scale.Executors(master, TASKS)) as executors:
        executors.phase("form")
        wait_until(lambda: master.get("/v1/job")["progress"] == {"running": TASKS}, "all to run")
        executors.phase("adopt", master.lose)
        job = master.get("/v1/job")
        assert (job["am_attempt"], job["epoch"], job["retries"]) == (2, 1, 0)
        assert job["progress"] == {"running": TASKS}


def test_lists_are_the_same_in_pages(master):
    with contextlib.closing(bench_scale.Executors(master, TASKS)) as executors:
        executors.phase("form")
        wait_until(lambda: len(master.get("/v1/metrics")["tasks"]) == TASKS, "a beat of every task")
        names = [f"worker:{number}" for number in range(TASKS)]
        assert [task["task"] for task in master.get("/v1/tasks")["tasks"]] == names
        pages = [master.get(f"/v1/tasks?offset={offset}&limit=120") for offset in range(0, TASKS + 120, 120)]
        assert {page["total"] for page in pages} == {TASKS}
        assert [task["task"] for page in pages for task in page["tasks"]] == names
        assert list(master.get("/v1/metrics")["tasks"]) == names
        text = master.request("GET", "/v1/metrics", Accept="text/plain").decode()
        for family in ("tony_task_rss_bytes", "tony_task_threads"):
            assert text.count(f"\n{family}{{") == TASKS and text.count(f"# TYPE {family} ") == 1
        series = master.get("/v1/series?all=1&name=rss_bytes&offset=490")
        assert list(series["tasks"]) == names[490:]


@pytest.mark.promise("R32")
def test_too_few_descriptors_are_said_before_anything_starts(tony):
    tony.enter = ["prlimit", "--nofile=250:250", *tony.enter]
    answer, job = tony.job({"tony.worker.instances": 100, "tony.worker.memory": "1m"}, "--executes", "true")
    assert answer.returncode != 0
    assert "may have 250 files open, and for 100 tasks it needs 292" in answer.stdout + answer.stderr
    assert job.task("worker:0")["attempt"] == 0
