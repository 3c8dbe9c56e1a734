"""An application master that is killed is followed by another one, and the job loses nothing by it: no
task is started again, no line of a log or of the journal is missing or told twice, and there is one
end."""

import itertools
import json
import os
import signal

import pytest
from conftest import wait_until
from patience import PATIENCE_S, let_pass

FAST = {"tony.am.retry-delay": "10ms"}
LINES = "i=0; while [ ! -e {go} ]; do i=$((i+1)); echo line $i; sleep 0.01; done; echo last of $i"


def kill_one(job, is_guardian):
    before = job.status()["am_attempt"]
    os.kill(job.am()[is_guardian], signal.SIGKILL)
    wait_until(lambda: job.status()["am_attempt"] == before + 1, f"AM {before + 1} of {job.id}")


KILLS = {
    "the AM": (False,),
    "the guardian": (True,),
    "the AM, then the guardian": (False, True),
    "the guardian, then the AM": (True, False),
}


@pytest.fixture(params=KILLS, name="kill")
def any_kill(request):
    """Kills what the parameter says, one after the other, each time waiting for the next AM."""
    def kill(job):
        address = job.status()["am_url"]
        for is_guardian in KILLS[request.param]:
            kill_one(job, is_guardian)
        assert job.status()["am_url"] == address
        return len(KILLS[request.param])
    return kill


def assert_one_life(job, ams, attempts=1, epoch=1):
    """The journal is that of one job: every AM said that it was there, nothing is missing or twice."""
    events = job.events()
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [event["attempt"] for event in events if event["ev"] == "am"] == list(range(1, ams + 1))
    assert [event["ev"] for event in events].count("final") == 1 and events[-1]["ev"] == "final"
    for task in job.status()["tasks"]:
        assert task["attempt"] == attempts and task["epoch"] == epoch, task
    launched = [event["task"] for event in events if event.get("to") == "launching"]
    assert len(launched) == len(set(launched)) * attempts, "nothing was launched twice"


def runs_of(job, task):
    return job.logs(task).count("begins")


def test_whose_job_was_submitted_finds_its_am_in_the_journal(tony):
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "sleep 1000")
    assert job.status()["am_pid"]


@pytest.mark.promise("R33", "R34", "R42")
def test_while_it_runs(tony, kill):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 3}, "--executes", f"echo begins; exec ./exit_after.sh {go} 0")
    names = ("worker:0", "worker:1", "worker:2")
    before = {name: job.wait_task(name) for name in names}
    ams = 1 + kill(job)
    for name, old in before.items():
        job.wait_task(name, **{key: old[key] for key in ("pids", "port", "executor_pid", "container")})
    go.touch()
    assert job.wait() == 0
    assert_one_life(job, ams)
    assert [runs_of(job, name) for name in names] == [1, 1, 1]


@pytest.mark.parametrize("moment", range(12))
@pytest.mark.promise("R34")
def test_while_it_comes_up(tony, moment):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 4}, "--executes", f"echo begins; exec ./exit_after.sh {go} 0")
    am, guardian = job.am()
    let_pass(moment * 0.008)
    os.kill(guardian if moment % 3 == 2 else am, signal.SIGKILL)
    for index in range(4):
        job.wait_task(f"worker:{index}")
    wait_until(lambda: job.status()["am_attempt"] == 2, "the next AM")
    go.touch()
    assert job.wait() == 0
    assert_one_life(job, 2)
    assert [runs_of(job, f"worker:{index}") for index in range(4)] == [1] * 4


@pytest.mark.promise("R35")
def test_while_a_stage_is_waited_for(tony, kill):
    go = tony.directory / "go"
    job = tony.submit({"tony.db.instances": 1, "tony.worker.instances": 2, "tony.worker.depends-on": "db:finish",
                       "tony.db.command": f"./exit_after.sh {go} 0", "tony.worker.command": "echo begins"})
    job.wait_task("db:0")
    ams = 1 + kill(job)
    assert job.task("worker:0")["state"] == "waiting"
    go.touch()
    assert job.wait() == 0
    assert_one_life(job, ams)
    assert runs_of(job, "worker:0") == 1


@pytest.mark.promise("R35")
def test_during_a_pause_before_a_restart_in_place(tony, kill):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 2, "tony.worker.max-restarts": 2, "tony.am.retry-delay": "1s"},
                      "--executes", f'echo begins; [ "$TASK_INDEX" = 1 ] && exec ./exit_after.sh {go} 0; '
                                    f'[ "$TONY_RESTART" = 2 ] || exit 1; exec ./exit_after.sh {go} 0')
    # The first restart is at once, the second one after a pause.
    wait_until(lambda: any("restart 2 of 2" in event.get("text", "") for event in job.events()), "the pause")
    other = job.wait_task("worker:1")
    ams = 1 + kill(job)
    job.wait_task("worker:0", restart=2)
    assert job.wait_task("worker:1")["pids"] == other["pids"]
    go.touch()
    assert job.wait() == 0
    assert_one_life(job, ams)
    assert runs_of(job, "worker:0") == 3


@pytest.mark.promise("R40")
def test_while_a_ring_meets(tony, kill):
    """One process has told the rendezvous where it is, and waits for the other."""
    go = tony.directory / "go"
    job = tony.submit({"tony.application.framework": "horovod", "tony.worker.instances": 2}, "--executes",
                      f"python3 horovod_meet.py {go}")
    job.wait_log("worker:0", "here")
    job.wait_task("worker:1")
    ams = 1 + kill(job)
    go.touch()
    assert job.wait() == 0
    assert_one_life(job, ams)
    for rank in range(2):
        assert job.logs(f"worker:{rank}").splitlines() == ["here", "from 0", "from 1"]


@pytest.mark.promise("R35")
def test_while_it_forms_anew(tony, kill):
    """One program has failed, another takes its time to stop."""
    go = tony.directory / "go"
    slow = "trap 'echo stopping; sleep 2; exit 1' TERM; echo ready; while :; do sleep 0.05; done"
    job = tony.submit({"tony.application.framework": "pytorch", "tony.worker.instances": 2,
                       "tony.worker.stop-grace": "20s", "tony.am.retry-count": 1, **FAST,
                       "tony.worker.command": f'echo begins; [ "$TONY_EPOCH" = 2 ] && exec ./exit_after.sh {go} 0; '
                                              f'[ "$TASK_INDEX" = 0 ] && sleep 1000; {slow}'})
    first = job.wait_task("worker:0")
    job.wait_log("worker:0", "begins")
    job.wait_log("worker:1", "ready")
    os.kill(first["pids"][0], signal.SIGKILL)
    job.wait_log("worker:1", "stopping")
    ams = 1 + kill(job)
    for name in ("worker:0", "worker:1"):
        job.wait_task(name, epoch=2)
    go.touch()
    assert job.wait() == 0
    assert_one_life(job, ams, epoch=2)
    assert [runs_of(job, name) for name in ("worker:0", "worker:1")] == [2, 2]


@pytest.mark.parametrize("is_guardian", (False, True), ids=("the AM", "the guardian"))
@pytest.mark.promise("R42", "R48")
def test_while_it_ends(tony, is_guardian):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 2, "tony.worker.stop-grace": "1h"}, "--executes",
                      f"trap 'echo stopping' TERM; echo begins; until [ -e {go} ]; do sleep 0.05; done")
    job.wait_log("worker:0", "begins")
    victim = job.am()[is_guardian]
    killer = tony.start("kill", job.id)
    job.wait_log("worker:0", "stopping")
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: job.status()["am_attempt"] == 2, "the next AM")
    go.touch()
    killer.communicate(timeout=PATIENCE_S)
    assert job.wait() != 0
    status = job.status()
    assert status["state"] == "killed" and status["cause"]["kind"] == "killed-by-user"
    assert_one_life(job, 2)


def test_a_killed_job_whose_am_dies_before_its_end_was_killed(tony):
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.stop-grace": "1h"}, "--executes",
                      "trap 'echo stopping' TERM; echo begins; while :; do sleep 0.05; done")
    job.wait_log("worker:0", "begins")
    killer = tony.start("kill", "--reason", "no room", job.id)
    job.wait_log("worker:0", "stopping")
    job.lose_am()
    killer.communicate(timeout=PATIENCE_S)
    status = job.status()
    assert (status["state"], status["message"]) == ("killed", "killed by the user: no room")
    assert status["cause"]["kind"] == "killed-by-user"


@pytest.fixture(name="without_am")
def am_is_away():
    """While there is no AM, and none can come."""
    def run(job, act):
        am, guardian = job.am()
        os.kill(guardian, signal.SIGSTOP)
        os.kill(am, signal.SIGKILL)
        act()
        os.kill(guardian, signal.SIGCONT)
    return run


def is_gone(pid):
    return not os.path.exists(f"/proc/{pid}")


@pytest.mark.promise("R36")
def test_a_program_that_ends_meanwhile(tony, without_am):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 2}, "--executes", f"echo begins; exec ./exit_after.sh {go} 0")
    pids = [job.wait_task(name)["pids"][0] for name in ("worker:0", "worker:1")]

    def end():
        go.touch()
        wait_until(lambda: all(map(is_gone, pids)), "the programs to end")
    without_am(job, end)
    assert job.wait() == 0
    assert_one_life(job, 2)


@pytest.mark.promise("R36")
def test_a_program_that_fails_meanwhile_is_known_for_what_it_is(tony, without_am):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1}, "--executes",
                      f'./exit_after.sh {go} 0; echo "ValueError: no data" >&2; exit 7')
    pid = job.wait_task("worker:0")["pids"][0]

    def end():
        go.touch()
        wait_until(lambda: is_gone(pid), "the program to end")
    without_am(job, end)
    assert job.wait() == 1
    cause = job.status()["cause"]
    assert cause["exit_code"] == 7 and cause["headline"] == "ValueError: no data"


@pytest.mark.promise("R36")
def test_an_executor_that_is_killed_meanwhile_is_replaced(tony, without_am):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 2, **FAST}, "--executes", f"exec ./exit_after.sh {go} 0")
    executor = job.wait_task("worker:0")["executor_pid"]
    job.wait_task("worker:1")

    def end():
        os.kill(executor, signal.SIGKILL)
        wait_until(lambda: is_gone(executor), "the executor to end")
    without_am(job, end)
    job.wait_task("worker:0", attempt=2)
    assert job.wait_task("worker:1")["attempt"] == 1
    go.touch()
    assert job.wait() == 0


def test_an_executor_that_is_killed_later_is_replaced(tony):
    """It is no child of the AM that has it now."""
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 2, **FAST}, "--executes", f"exec ./exit_after.sh {go} 0")
    executor = job.wait_task("worker:0")["executor_pid"]
    kill_one(job, False)
    job.wait_task("worker:0", executor_pid=executor)
    os.kill(executor, signal.SIGKILL)
    job.wait_task("worker:0", attempt=2)
    go.touch()
    assert job.wait() == 0


@pytest.mark.promise("R38")
def test_who_asks_meanwhile_waits_and_nobody_takes_the_job_for_dead(tony, without_am):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1}, "--executes", f"exec ./exit_after.sh {go} 0")
    job.wait_task("worker:0")
    asking = []

    def look():
        assert job.status()["state"] == "running"
        assert job.id in tony.run("list").stdout
        asking.append(tony.start("restart", job.id, "worker:0"))
    without_am(job, look)
    assert asking[0].wait(timeout=PATIENCE_S) == 0
    job.wait_task("worker:0", restart=1)
    go.touch()
    assert job.wait() == 0


@pytest.mark.promise("R37", "R42")
def test_who_follows_misses_nothing(tony):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 2}, "--executes", LINES.format(go=go))
    job.wait_log("worker:1", "line 10")
    followers = {verb: tony.start(*verb.split(), job.id, *rest) for verb, rest in {
        "logs -f": ("--task", "worker:1"), "events -f": ("--json",), "wait": ()}.items()}
    for is_guardian in (False, True, False):
        seen = int(job.logs("worker:1").split()[-1])
        kill_one(job, is_guardian)
        job.wait_log("worker:1", f"line {seen + 20}\n")
    go.touch()
    output = {verb: follower.communicate(timeout=PATIENCE_S)[0] for verb, follower in followers.items()}
    assert [follower.returncode for follower in followers.values()] == [0, 0, 0]
    assert output["logs -f"] == job.logs("worker:1")
    count = len(output["logs -f"].splitlines()) - 1
    assert output["logs -f"] == "".join(f"line {i + 1}\n" for i in range(count)) + f"last of {count}\n"
    assert output["events -f"] == tony.run("events", "--json", job.id).stdout
    assert_one_life(job, 4)


@pytest.mark.promise("R37")
def test_a_submission_in_the_foreground_goes_on(tony):
    go = tony.directory / "go"
    child = tony.start(*tony.arguments({"tony.worker.instances": 2}, "--executes", f"./exit_after.sh {go} 0"))
    jobs = tony.state / "jobs"
    job = tony.job_class(tony, wait_until(lambda: list(jobs.glob("*/am.json")), "the AM")[0].parent.name)
    tony.jobs.append(job)
    job.wait_task("worker:1")
    for is_guardian in (False, True):
        kill_one(job, is_guardian)
    go.touch()
    output, _ = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == 0 and "succeeded" in output
    assert_one_life(job, 3)


@pytest.mark.promise("R34")
def test_again_and_again(tony):
    """Each AM lives as long as it takes to be there: four in a row are not too many."""
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 2}, "--executes", f"echo begins; exec ./exit_after.sh {go} 0")
    pids = [job.wait_task(name)["pids"] for name in ("worker:0", "worker:1")]
    for is_guardian in itertools.islice(itertools.cycle((False, False, True)), 7):
        kill_one(job, is_guardian)
    assert [job.wait_task(name)["pids"] for name in ("worker:0", "worker:1")] == pids
    go.touch()
    assert job.wait() == 0
    assert_one_life(job, 8)


@pytest.mark.promise("R35")
def test_gpus_are_known_again(tony):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 2, "tony.worker.gpus": 1, "tony.local.gpus": 2, **FAST},
                      "--executes", f"echo gpu=$CUDA_VISIBLE_DEVICES; exec ./exit_after.sh {go} 0")
    gpus = [job.wait_log(name, "gpu=").split("=")[1].strip() for name in ("worker:0", "worker:1")]
    assert sorted(gpus) == ["0", "1"]
    executor = job.wait_task("worker:0")["executor_pid"]
    kill_one(job, False)
    job.wait_task("worker:0", executor_pid=executor)
    os.kill(executor, signal.SIGKILL)
    job.wait_task("worker:0", attempt=2)
    wait_until(lambda: job.logs("worker:0").count("gpu=") == 2, "the replacement's GPU")
    assert job.logs("worker:0").split() == [f"gpu={gpus[0]}"] * 2
    go.touch()
    assert job.wait() == 0


def test_curves_go_on(tony, kill):
    """What was measured and told is in a file after twelve measurements, and what follows is joined to it."""
    go = tony.directory / "go"
    tell = 'echo "{\\"step\\": %d, \\"loss\\": %s}" >> "$TONY_METRICS_FILE"'
    job = tony.submit({"tony.worker.instances": 1, "tony.task.metrics-interval-ms": 100}, "--executes",
                      f"{tell % (1, 0.5)}; while [ ! -e {go} ]; do sleep 0.01; done; {tell % (2, 0.25)}")
    kept = job.directory / "metrics.jsonl"
    wait_until(lambda: kept.exists() and '"loss"' in kept.read_text(), "the metrics to be kept")
    before = json.loads(kept.read_text())
    memory = next(row for row in before["series"] if row["name"] == "rss_bytes")
    ams = 1 + kill(job)

    def now():
        answer = json.loads(job.rest("GET", "/v1/series?task=worker:0&points=2000")[1])
        return answer, next(row for row in answer["series"] if row["name"] == "rss_bytes")

    answer, row = now()
    assert row["t"][:len(memory["t"])] == memory["t"] and row["v"][:len(memory["v"])] == memory["v"]
    assert [(own["name"], own["step"], own["v"]) for own in answer["user"]] == [("loss", [1], [0.5])]
    wait_until(lambda: len(now()[1]["t"]) > len(row["t"]) + 2, "what is measured now")
    go.touch()
    assert job.wait() == 0
    assert_one_life(job, ams)
    last = json.loads((job.published() / "metrics.jsonl").read_text())
    assert [(own["name"], own["step"], own["v"]) for own in last["user"]] == [("loss", [1, 2], [0.5, 0.25])]
    assert last["samples"] > before["samples"]


@pytest.mark.promise("R39")
def test_the_rendezvous_store_is_kept(tony, kill):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1}, "--executes", f"exec ./exit_after.sh {go} 0")
    job.wait_task("worker:0")
    for key, value in (("ring/0", "here"), ("ring/1", "there"), ("ring/0", "elsewhere")):
        assert job.rest("PUT", f"/v1/kv/{key}", value)[0] == 200
    assert job.rest("DELETE", "/v1/kv/ring/1")[0] == 200
    kill(job)
    assert job.rest("GET", "/v1/kv/ring/0")[1] == b'"elsewhere"'
    assert job.rest("GET", "/v1/kv/ring/1")[0] == 404
    go.touch()
    assert job.wait() == 0
    wait_until(lambda: not (job.directory / "store.kv").exists(), "the store to be removed")
