"""A real Airflow, of the virtual environment that TONY_TEST_AIRFLOW names: its scheduler, triggerer and, from 3 on, DAG processor and
server, with a database of SQLite. DAGs are files that a test writes, and start by themselves."""

import contextlib
import functools
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import wheel
from patience import PATIENCE_S
from program import BUILD, describe, venv_bin, wait_until

NAME = os.environ.get("TONY_TEST_AIRFLOW", "airflow")
IS_3 = NAME != "airflow"
HEAD = """import datetime
from pathlib import Path
from airflow{sdk} import DAG
from tony.airflow import TonyOperator, TonySensor
SMALL = {{"memory": "64m"}}
with DAG("{name}", start_date=datetime.datetime(2026, 1, 1), schedule="@once", catchup=True):
"""
LONG_AGO = "2026-01-01 00:00:00.000000"
ENDED = ("success", "failed", "skipped", "upstream_failed")


@functools.lru_cache(maxsize=None)
def programs():
    return venv_bin(NAME)


@functools.lru_cache(maxsize=None)
def migrated():
    """An empty database of this Airflow: its migrations take seconds."""
    path = programs().parent / "empty.db"
    if not path.exists():
        with tempfile.TemporaryDirectory() as home:
            env = {"PATH": f"{programs()}:/usr/bin:/bin", "HOME": home, "AIRFLOW_HOME": home}
            subprocess.run(["airflow", "db", "migrate"], env=env, check=True, capture_output=True, timeout=10 * PATIENCE_S)
            shutil.copy(Path(home, "airflow.db"), path.with_suffix(f".{os.getpid()}"))
            path.with_suffix(f".{os.getpid()}").rename(path)
    return path


def kill(pid, number=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


class Airflow:
    def __init__(self, tony):
        self.tony, self.home = tony, tony.directory / "airflow"
        self.dags = self.home / "dags"
        self.dags.mkdir(parents=True)
        shutil.copy(migrated(), self.home / "airflow.db")
        self.install()
        port = free_port()
        self.env = {**tony.env, "PATH": f"{programs()}:{tony.env['PATH']}", "PYTHONPATH": str(self.home / "site"),
                    "TONY_PROGRAM": str(BUILD / "tony"), "AIRFLOW_HOME": str(self.home), "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
                    "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False", "AIRFLOW__API__PORT": str(port),
                    "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
                    "AIRFLOW__API_AUTH__JWT_SECRET": "of this test only, and as long as it has to be for HS512: 64 bytes and more ...",
                    "AIRFLOW__SCHEDULER__DAG_DIR_LIST_INTERVAL": "1", "AIRFLOW__SCHEDULER__MIN_FILE_PROCESS_INTERVAL": "1",
                    "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "1", "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "1",
                    "AIRFLOW__DAG_PROCESSOR__BUNDLE_REFRESH_CHECK_INTERVAL": "1",
                    "AIRFLOW__SCHEDULER__JOB_HEARTBEAT_SEC": "1", "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.2",
                    "AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC": "1", "AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "True",
                    "AIRFLOW__SCHEDULER__ZOMBIE_DETECTION_INTERVAL": "1",
                    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "1",
                    # A busy machine's DAGs and workers only take longer.
                    "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": str(PATIENCE_S), "AIRFLOW__CORE__DAG_FILE_PROCESSOR_TIMEOUT": str(PATIENCE_S),
                    "AIRFLOW__DAG_PROCESSOR__DAG_FILE_PROCESSOR_TIMEOUT": str(PATIENCE_S),
                    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_SEC": "1", "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "1",
                    "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": str(PATIENCE_S)}
        self.children = []

    def install(self):
        """The wheel's Python, as pip would put it."""
        site = self.home / "site"
        for name, (_, data) in wheel.entries("x86_64", [], []).items():
            path = site / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def write(self, name, body):
        path = self.dags / f"{name}.py"
        path.with_suffix(".new").write_text(HEAD.format(sdk=".sdk" * IS_3, name=name) + body)
        path.with_suffix(".new").rename(path)

    def run(self, *arguments, env=None):
        return subprocess.run(list(map(str, arguments)), env={**self.env, **(env or {})}, cwd=self.home, capture_output=True, text=True,
                              timeout=10 * PATIENCE_S)

    @contextlib.contextmanager
    def running(self, **env):
        try:
            if IS_3:
                self.start(env, "api-server", "--host", "127.0.0.1")
                wait_until(lambda: answers(int(self.env["AIRFLOW__API__PORT"])), "Airflow's server")
                self.start(env, "dag-processor")
            self.start(env, "scheduler", "--skip-serve-logs")
            self.start(env, "triggerer", "--skip-serve-logs")
            yield
        finally:
            self.stop()

    def start(self, env, *words):
        with open(self.home / f"{words[0]}.log", "w") as log:
            self.children.append(subprocess.Popen(["airflow", *words], env={**self.env, **env}, cwd=self.home, stdout=log,
                                                  stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL))

    def stop(self):
        for child in self.children:
            child.terminate()
        self.kill_workers(idle=True)
        for child in self.children:
            child.wait(timeout=PATIENCE_S)
        self.children.clear()
        for pid in self.processes():
            kill(pid)

    def processes(self):
        """All of Airflow's here, by the directory that they run in: those that change their names lose their environment by it."""
        def is_here(pid):
            try:
                return os.readlink(f"/proc/{pid}/cwd") == str(self.home)
            except OSError:
                return False
        return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and is_here(pid)]

    def workers(self, idle=False):
        """Processes that run a task, as those of a worker's machine. The idle ones of Airflow 3's LocalExecutor belong to its scheduler:
        they queue at a lock for the next task, and when the one that holds it is killed no process, not even a new one, gets a task."""
        names = r"tasks run|task runner|airflow worker" + r"(?!.*<idle>)" * (not idle)
        return [pid for pid in self.processes() if re.search(names, describe(pid))]

    def kill_workers(self, number=signal.SIGKILL, idle=False):
        for pid in self.workers(idle):
            kill(pid, number)

    # ---- its database

    def ask(self, question, *values):
        with contextlib.closing(sqlite3.connect(self.home / "airflow.db", timeout=PATIENCE_S)) as database, database:
            return database.execute(question, values).fetchall()

    def task(self, dag, task="train"):
        """(state, try) of a task of the only run; None: it is not there yet."""
        return next(iter(self.ask("select state, try_number from task_instance where dag_id = ? and task_id = ?", dag, task)), None)

    def wait(self, dag, *states, task="train"):
        def there():
            found = self.task(dag, task)
            assert not found or found[0] in states or found[0] not in ENDED, f"{dag}.{task} is {found}\n{self.log(dag, task)}"
            return found if found and found[0] in states else None
        return wait_until(there, f"{dag}.{task} to be {states}", 4 * PATIENCE_S)

    def mark(self, dag, state, task="train"):
        """As the button of its page."""
        self.ask("update task_instance set state = ? where dag_id = ? and task_id = ?", state, dag, task)

    def miss_workers(self, dag):
        """Those of the first try are dead: makes their last heartbeat as old as it has to be for the scheduler to see that. Airflow 3's
        server may still be at work on a heartbeat of theirs, and write it later."""
        table, beat, mine = ("task_instance", "last_heartbeat_at", "id") if IS_3 else ("job", "latest_heartbeat", "job_id")
        alive = (f"from task_instance where dag_id = ? and try_number = 1 and {mine} in "
                 f"(select id from {table} where {beat} > '{LONG_AGO}')")

        def is_missed():
            if self.ask(f"select 1 {alive}", dag):
                self.ask(f"update {table} set {beat} = '{LONG_AGO}' where id in (select {mine} {alive})", dag)
            return self.task(dag) != ("running", 1)
        wait_until(is_missed, "the scheduler to miss the workers")

    def wait_rescheduled(self, dag, task):
        """A sensor has looked, and the scheduler knows that its worker is done. A sensor that is due again any sooner counts as killed
        in Airflow 3, whose scheduler spends a retry on it."""
        done = rf"executor event with state success .*dag_id='{dag}', task_id='{task}'"
        wait_until(lambda: re.search(done, (self.home / "scheduler.log").read_text()), f"{dag}.{task} to be done with a look")
        self.wait(dag, "up_for_reschedule", task=task)

    def poke_now(self):
        """The time to look again has come for all sensors that wait for theirs."""
        self.ask("update task_reschedule set reschedule_date = ?", LONG_AGO)

    def xcom(self, dag, key="return_value", task="train"):
        found = self.ask("select value from xcom where dag_id = ? and task_id = ? and key = ?", dag, task, key)
        return found[0][0] if found else None

    def log(self, dag, task="train"):
        files = sorted((self.home / "logs").glob(f"dag_id={dag}/*/task_id={task}/*"))
        return "\n".join(f"== {path.name}\n{path.read_text()}" for path in files)
