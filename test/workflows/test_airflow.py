"""tony.airflow in a real Airflow: a task is a job, whoever dies on the way."""

import json
import shutil
import signal

import pytest
from airflow_kit import Airflow, programs
from patience import PATIENCE_S
from program import ROOT, wait_until

TRAIN = """import os, pathlib, sys, time
step = pathlib.Path(os.environ["TONY_CHECKPOINT_DIR"], "step")
begin = int(step.read_text()) if step.exists() else 0
step.write_text(str(begin + 5))
print("from", begin, *sys.argv[2:], flush=True)
sys.exit(0 if begin >= int(sys.argv[1]) else "ValueError: not yet")
"""
WAITS = '["sh", "-c", "echo $$ > {0}/started; while [ ! -e {0}/go ]; do sleep 0.1; done"]'


@pytest.fixture
def airflow(tony):
    made = Airflow(tony)
    (made.dags / "train.py").write_text(TRAIN)
    yield made
    made.stop()


def test_the_provider_is_known(airflow):
    code = ("from airflow.providers_manager import ProvidersManager as M; m = M(); hook = m.hooks['tony']; "
            "print(m.providers['tony'].version, hook.hook_name, hook.connection_id_attribute_name, 'tony.airflow.operator.TonyJobLink' in "
            "m.extra_links_class_names); from tony.airflow import TonyHook; print(*TonyHook().test_connection())")
    done = airflow.run(programs() / "python", "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == ["0.1.0 tony tony_conn_id True", f"True {airflow.env['TONY_PROGRAM']}: 0 jobs run"]
    done = airflow.run(programs() / "python", "-c", "from tony.airflow import TonyHook; print(*TonyHook().test_connection())",
                       env={"AIRFLOW_CONN_TONY_DEFAULT": json.dumps({"conn_type": "tony", "extra": {"program": "/nowhere/tony"}})})
    assert done.stdout.splitlines()[-1].startswith("False /nowhere/tony: No such file"), done.stdout + done.stderr


def test_a_dag_runs_by_hand(airflow, tony):
    """Templates, a path beside the DAG, what is deferred, a sensor, XCom, the link, and a second run that does it again."""
    airflow.write("digits", """
        train = TonyOperator(task_id="train", program="train.py", arguments=[0, "{{ ds }}"], options={**SMALL, "tags": "sweep"})
        later = TonyOperator(task_id="later", program=["sh", "-c", "echo $A"], options={**SMALL, "env": {"A": "{{ run_id }}"}},
                             deferrable=True, poll_interval=0.2)
        see = TonySensor(task_id="see", job="{{ ti.xcom_pull('later')['id'] }}", poke_interval=0.2)
        train >> later >> see
""".replace("\n        ", "\n    "))
    connection = {"conn_type": "tony", "host": "portal.example", "port": 19886, "extra": {"env": {"LC_ALL": "C.UTF-8"}}}
    for count in (2, 4):
        done = airflow.run("airflow", "dags", "test", "digits", "2026-01-01",
                           env={"AIRFLOW_CONN_TONY_DEFAULT": json.dumps(connection), "TONY_PROGRAM": airflow.env["TONY_PROGRAM"]})
        assert done.returncode == 0 and airflow.task("digits", "see")[0] == "success", done.stdout + done.stderr
        assert len(tony.ids()) == count
    result = json.loads(airflow.xcom("digits"))
    job = tony.job_class(tony, result["id"])
    assert result == {"id": job.id, "name": "digits.train", "state": "succeeded", "output": str(job.directory / "output")}
    assert json.loads(airflow.xcom("digits", "job_id")) == job.id
    assert json.loads(airflow.xcom("digits", "tony_url")) == f"https://portal.example:19886/#/jobs/{job.id}"
    assert job.logs("driver:0") == "from 0 2026-01-01\n" and {"airflow", "sweep"} < set(job.status()["tags"])
    later = tony.job_class(tony, json.loads(airflow.xcom("digits", task="later"))["id"])
    assert later.logs("driver:0") == airflow.ask("select run_id from dag_run")[0][0] + "\n"


def test_the_example_runs(airflow, tony):
    shutil.copytree(ROOT / "examples/airflow", airflow.dags, dirs_exist_ok=True)
    done = airflow.run("airflow", "dags", "test", "digits", "2026-01-01")
    assert done.returncode == 0 and airflow.task("digits", "see")[0] == "success", done.stdout + done.stderr
    jobs = sorted((tony.job_class(tony, job) for job in tony.ids()), key=lambda job: job.status()["submitted_ms"])
    assert [job.status()["state"] for job in jobs] == ["failed", "succeeded"] and "from step 10: pi" in jobs[1].logs("worker:1")


def test_a_retry_goes_on_from_the_checkpoints(airflow, tony):
    airflow.write("again", """
    TonyOperator(task_id="train", program="train.py", arguments=[10], options=SMALL, retries=9, retry_delay=datetime.timedelta(0))
""")
    with airflow.running():
        airflow.wait("again", "success")
    jobs = [tony.job_class(tony, job) for job in tony.ids()]
    jobs.sort(key=lambda job: job.status()["submitted_ms"])
    assert [job.logs("driver:0") for job in jobs] == ["from 0\n", "from 5\n", "from 10\n"]
    assert [job.status().get("rerun_of") for job in jobs[1:]] == [jobs[0].id, jobs[1].id]
    assert "driver:0 on 127.0.0.1 exited with code 1: ValueError: not yet" in airflow.log("again")


@pytest.mark.parametrize("ends", ["while it runs", "after it has ended"])
def test_a_worker_that_is_killed_starts_no_second_job(airflow, tony, ends):
    airflow.write("lonely", f"""
    TonyOperator(task_id="train", program={WAITS.format(tony.directory)}, options=SMALL, retries=9, retry_delay=datetime.timedelta(0))
""")
    with airflow.running():
        job = tony.first_job()
        job.wait_task("driver:0")
        if ends == "after it has ended":
            airflow.kill_workers(signal.SIGSTOP)
            (tony.directory / "go").touch()
            job.wait_state("succeeded")
        airflow.kill_workers()
        airflow.miss_workers("lonely")
        if ends == "while it runs":
            wait_until(lambda: "an earlier worker has started it" in airflow.log("lonely"), "the job to be taken over")
            (tony.directory / "go").touch()
        wait_until(lambda: airflow.task("lonely")[0] == "success", "the task to succeed", 4 * PATIENCE_S)
    assert tony.ids() == [job.id] and airflow.task("lonely")[1] > 1


@pytest.mark.parametrize("deferrable", [False, True])
def test_a_task_that_is_marked_ends_its_job(airflow, tony, deferrable):
    airflow.write("given_up", f"""
    TonyOperator(task_id="train", program=["sleep", "1000"], options=SMALL, deferrable={deferrable}, poll_interval=0.2)
""")
    with airflow.running():
        airflow.wait("given_up", "deferred" if deferrable else "running")
        job = tony.first_job()
        job.wait_task("driver:0")
        wait_until(lambda: "is running" in airflow.log("given_up") if deferrable else airflow.xcom("given_up", "job_id"), "the wait for it")
        airflow.mark("given_up", "failed")
        status = job.wait_state("killed")
    assert "Airflow" in status["cause"]["text"]


def test_a_triggerer_that_stops_leaves_the_job_alone(airflow, tony):
    airflow.write("moved", f"""
    TonyOperator(task_id="train", program={WAITS.format(tony.directory)}, options=SMALL, deferrable=True, poll_interval=0.2)
""")
    with airflow.running():
        airflow.wait("moved", "deferred")
        job = tony.first_job()
        job.wait_task("driver:0")
        wait_until(lambda: job.id in airflow.log("moved") and "is running" in airflow.log("moved"), "the triggerer to see it")
    assert job.status()["state"] == "running"
    with airflow.running():
        (tony.directory / "go").touch()
        assert airflow.wait("moved", "success") == ("success", 1)
    assert tony.ids() == [job.id]


def test_failures_are_told(airflow, tony):
    """Killed by somebody else, late, an application master that is gone, and an option that no machine has: no retry is of use for the
    first and the last."""
    airflow.write("failing", """
    task = lambda name, program=["sleep", "1000"], **more: TonyOperator(task_id=name, program=program, options={**SMALL, "name": name}, deferrable=True,
                                                                        retries=more.pop("retries", 1), poll_interval=0.2, **more)
    task("killed")
    task("late", execution_timeout=datetime.timedelta(seconds=30), retries=0)
    task("gone", retries=0)
    TonyOperator(task_id="large", program=["true"], options={"memory": "900t"}, retries=1)
    TonyOperator(task_id="absent", program=["true"], options=SMALL, tony_conn_id="elsewhere")
    TonySensor(task_id="nameless", job="{{ '' }}", retries=1)
    TonySensor(task_id="seen", job="killed", deferrable=False, poke_interval=3600, mode="reschedule", retries=1)
""")
    with airflow.running(AIRFLOW_CONN_ELSEWHERE=json.dumps({"conn_type": "tony", "extra": {"program": "/nowhere/tony"}})):
        for name in ("killed", "gone"):
            airflow.wait("failing", "deferred", task=name)
            wait_until(lambda name=name: tony.run("status", name).returncode == 0, name)
        airflow.wait_rescheduled("failing", "seen")
        tony.run("kill", "killed", "--reason", "ada needs the GPUs")
        airflow.poke_now()
        found = json.loads(tony.run("status", "gone", "--json").stdout)
        tony.job_class(tony, found["id"]).lose_am()
        for name in ("killed", "late", "gone", "large", "absent", "seen", "nameless"):
            airflow.wait("failing", "failed", task=name)
    words = {"killed": "ada needs the GPUs", "late": "execution_timeout of Airflow's task is over",
             "gone": "every process of its application master was killed", "large": "driver:0 needs 900.0 TiB",
             "absent": "/nowhere/tony: No such file or directory; the wheel of tony brings the program", "seen": "ada needs the GPUs",
             "nameless": "the job is ''"}
    for name, text in words.items():
        assert text in airflow.log("failing", name), airflow.log("failing", name)
        assert airflow.task("failing", name)[1] == 1, name
    assert json.loads(tony.run("list", "--json").stdout) == []
