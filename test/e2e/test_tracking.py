"""A job's run at a tracking server: its configuration, numbers and end arrive there, and no trouble there is the job's."""

import json
import os
import signal

import pytest
from certificate import make_certificate
from conftest import PYTHON, venv_bin, wait_until
from tracking_server import Fake, MLflow, basic

URI = "tony.tracking.uri"
SHOW = "env | grep -E '^(MLFLOW|WANDB)_' | sort"


@pytest.fixture
def serve():
    """Fake(...)."""
    made = []

    def make(**options):
        made.append(Fake(**options))
        return made[-1]
    yield make
    for server in made:
        server.close()


@pytest.fixture(params=["fake", pytest.param("mlflow", marks=pytest.mark.slow)])
def server(request, tmp_path):
    server = Fake() if request.param == "fake" else MLflow(venv_bin("tracking"), tmp_path)
    yield server
    server.close()


def submit(tony, server, command="true", keys=None, *options):
    return tony.submit({"tony.worker.instances": 1, "tony.worker.command": command, "tony.application.name": "digits",
                        URI: server.url, **(keys or {})}, *options)


def wait_end(job, server):
    """The run, once its end is there: clients hear of the job's end before."""
    return wait_until(lambda: (run := server.find(job))["status"] != "RUNNING" and run, f"the end of the run of {job.id}")


def notes(job):
    return [event["text"] for event in job.events() if event["ev"] == "note"]


def am_address(job):
    """Of the last one."""
    return [event["address"] for event in job.events() if event["ev"] == "am"][-1]


def variables(text):
    return dict(line.split("=", 1) for line in text.splitlines() if line.startswith(("MLFLOW_", "WANDB_")))


def test_configuration_and_numbers_arrive_in_the_jobs_run(tony, server):
    token = tony.directory / "token"
    token.write_text("very-secret")
    job = submit(tony, server, f"{SHOW}; {PYTHON} tell_numbers.py no",
                 {"tony.worker.instances": 2, "tony.application.tags": "nightly", "tony.worker.envs": "API_KEY=hidden"},
                 "--secret", f"MLFLOW_TRACKING_TOKEN={token}")
    assert job.wait() == 0
    run = wait_end(job, server)
    assert run["status"] == "FINISHED"
    assert run["metrics"]["loss"] == pytest.approx({0: 1, 1: 0.5, 2: 1 / 3}), "the chief's numbers are the job's"
    assert run["metrics"]["eval/loss"] == {7: 2} and run["metrics"]["top-5 ___"] == {0: 50, 1: 50, 2: 50}
    assert run["metrics"]["worker-1/loss"] == run["metrics"]["loss"] and "no" not in run["metrics"]
    assert run["params"]["tony.worker.instances"] == "2" and run["params"]["tony.worker.envs"] == "API_KEY=***"
    assert "tony.am.trust-proxy" not in run["params"], "nobody has chosen it"
    assert run["tags"]["tony_tags"] == "nightly" and run["tags"]["mlflow.user"] == job.status()["user"]
    assert run["tags"]["tony_page"] == f"http://{am_address(job)}/"
    assert "very-secret" not in json.dumps(run) and "hidden" not in json.dumps(run)
    shown = variables(job.logs("worker:1"))
    assert shown["MLFLOW_RUN_ID"] == run["id"] and shown["MLFLOW_TRACKING_URI"] == server.url
    assert shown["MLFLOW_EXPERIMENT_NAME"] == "digits"
    page = job.status()["tracking_page"]
    assert page.startswith(server.url) and page.endswith(run["id"]) and page in tony.run("status", job.id).stdout
    note, = notes(job)
    assert note in [f"the tracking server {server.url}: {key} is NaN or infinite, which it cannot take; such values are left out; "
                    "tony metrics has them" for key in ("no", "worker-1/no")]


def test_use_by_all_tasks_is_among_the_systems_metrics(tony, serve):
    server = serve()
    command = ('echo 3/12 > "$TONY_PROGRESS_FILE"; ' + f"{PYTHON} -c 'x = bytearray(30 << 20); x[:] = b\"x\" * len(x)\nwhile True: pass'")
    job = submit(tony, server, command, {"tony.worker.instances": 2, "tony.task.metrics-interval-ms": 100, "tony.worker.memory": "128m"})

    def known():
        metrics = server.find(job)["metrics"] if server.runs else {}
        return (max(metrics.get("system/memory_megabytes", {0: 0}).values()) > 60 and max(metrics["system/cpu_cores"].values()) > 0.2
                and max(metrics.get("system/done_percentage", {0: 0}).values()) == 25 and metrics)
    assert "system/gpu_utilization_percentage" not in wait_until(known, "use of two tasks")
    tony.run("kill", job.id)
    job.wait()


@pytest.mark.parametrize("command, end", [("exit 3", "FAILED"), ("sleep 600", "KILLED")])
def test_the_run_ends_as_the_job_does(tony, serve, command, end):
    server = serve()
    job = submit(tony, server, command)
    if end == "KILLED":
        job.wait_task("worker:0")
        tony.run("kill", job.id)
    job.wait()
    assert wait_end(job, server)["status"] == end


def test_restarts_and_the_next_am_go_on_with_the_run(tony, server):
    go = tony.directory / "go"
    command = f"{SHOW}; {PYTHON} tell_numbers.py; while [ ! -e {go}-$TONY_EPOCH ]; do sleep 0.05; done; exit $((2 - TONY_EPOCH))"
    job = submit(tony, server, command, {"tony.am.retry-count": 1})
    job.wait_task("worker:0")
    wait_until(lambda: "loss" in server.find(job)["metrics"], "numbers of the first AM")
    job.kill_am()
    open(f"{go}-1", "w").close()
    wait_until(lambda: job.status()["epoch"] == 2, "the second epoch")
    open(f"{go}-2", "w").close()
    assert job.wait() == 0
    run = wait_end(job, server)
    assert run["status"] == "FINISHED" and variables(job.logs("worker:0"))["MLFLOW_RUN_ID"] == run["id"]
    assert run["tags"]["tony_page"] == f"http://{am_address(job)}/", "the page is that of the AM which lives"


def test_an_am_that_is_killed_before_it_knows_its_run_leaves_no_second_one(tony, serve):
    """The server has made the run then."""
    server = serve(refuse={"runs/log-batch": 500})
    made = server.runs_create

    def make_and_kill(body, query):
        answer = made(body, query)
        server.runs_create = made
        job, = [one for one in tony.state.glob("jobs/*/am.json")]
        os.kill(json.loads(job.read_text())["pid"], signal.SIGKILL)
        return answer
    server.runs_create = make_and_kill
    job = submit(tony, server, SHOW)
    assert job.wait() == 0
    assert job.status()["am_attempt"] == 2 and wait_end(job, server)["status"] == "FINISHED"
    assert len(server.runs) == 1 and variables(job.logs("worker:0"))["MLFLOW_RUN_ID"] == server.find(job)["id"]


@pytest.mark.promise("R73")
def test_a_server_that_is_away_costs_the_job_nothing_and_gets_the_numbers_later(tony, serve):
    server = serve()
    server.close()
    go = tony.directory / "go"
    job = submit(tony, server, f"{SHOW}; {PYTHON} tell_numbers.py; while [ ! -e {go} ]; do sleep 0.05; done")
    job.wait_task("worker:0")
    note, = wait_until(lambda: notes(job), "a note")
    assert server.address in note and "its numbers are sent once the server takes them" in note
    assert "MLFLOW_RUN_ID" not in variables(job.wait_log("worker:0", "MLFLOW_TRACKING_URI"))
    back = serve(port=server.port)
    wait_until(lambda: back.runs and "loss" in back.find(job)["metrics"], "the numbers")
    go.touch()
    assert job.wait() == 0
    assert wait_end(job, back)["status"] == "FINISHED" and notes(job) == [note], "it says so once"


@pytest.mark.slow
@pytest.mark.promise("R73")
def test_a_server_that_never_answers_holds_the_job_up_for_some_seconds(tony, serve):
    server = serve(refuse={"experiments/get-by-name": Fake.HOLD})
    job = submit(tony, server, f"{PYTHON} tell_numbers.py")
    assert job.wait() == 0
    assert "no answer within 10.0 s" in notes(job)[0] and job.published()


@pytest.mark.promise("R73")
@pytest.mark.parametrize("call, status, words", [
    ("runs/create", 400, "status 400: runs/create is not for you; the job goes on untracked"),
    ("runs/log-batch", 400, "status 400: runs/log-batch is not for you; what it refuses is left out"),
    ("experiments/get-by-name", 200, "its answer is not that of an MLflow server; the job goes on untracked"),
    ("runs/create", 403, "status 403: runs/create is not for you; the job goes on, and its numbers are sent once"),
])
def test_a_server_that_refuses_costs_the_job_nothing(tony, serve, call, status, words):
    server = serve(refuse={call: status})
    go = tony.directory / "go"
    job = submit(tony, server, f"{PYTHON} tell_numbers.py; while [ ! -e {go} ]; do sleep 0.05; done")
    wait_until(lambda: notes(job), "a note")
    go.touch()
    assert job.wait() == 0
    note, = notes(job)
    assert note.startswith(f"the tracking server {server.url}: {words}")


@pytest.mark.promise("S110")
@pytest.mark.parametrize("names, proof", [(("USERNAME", "PASSWORD"), basic("ada", "open sesame")), (("TOKEN",), "Bearer open sesame")])
def test_secrets_of_the_job_prove_who_asks(tony, serve, names, proof):
    server = serve(proof=proof)
    options = []
    for name in names:
        (tony.directory / name).write_text("ada\n" if name == "USERNAME" else "open sesame\n")
        options += ["--secret", f"MLFLOW_TRACKING_{name}={name}"]
    job = submit(tony, server, f"{PYTHON} tell_numbers.py", {"tony.application.tls": str("TOKEN" in names).lower()}, *options)
    assert job.wait() == 0
    run = wait_end(job, server)
    assert run["status"] == "FINISHED" and "loss" in run["metrics"]
    assert "sesame" not in json.dumps([run, job.events(), job.status()]) + (job.directory / "am.log").read_text()
    assert job.published()


@pytest.mark.promise("S110")
def test_a_password_in_the_uri_is_refused_and_not_shown(tony):
    done = tony.run("submit", "--conf", f"{URI}=http://ada:sesame@127.0.0.1:1", "--", "true")
    assert done.returncode == 2 and "MLFLOW_TRACKING_PASSWORD=FILE" in done.stderr and "sesame" not in done.stderr
    done = tony.run("submit", "--conf", f"{URI}=sqlite:///mlflow.db", "--", "true")
    assert done.returncode == 2 and "not the URL of an MLflow server" in done.stderr


def test_https_asks_for_a_certificate_of_a_known_authority(tony, serve):
    certificate, key = make_certificate(tony.directory)
    certificate.write_text(key.read_text() + certificate.read_text())
    server = serve(certificate=certificate)
    job = submit(tony, server, f"{PYTHON} tell_numbers.py", {"tony.tracking.ca-file": str(certificate)})
    assert job.wait() == 0
    assert wait_end(job, server)["status"] == "FINISHED"
    job = submit(tony, server)
    assert job.wait() == 0
    assert "tony.tracking.ca-file" in notes(job)[0]


def test_a_job_that_never_began_has_no_run(tony, serve):
    server = serve()
    job = submit(tony, server, "true", None, "--hold")
    wait_until(lambda: job.status()["state"] == "submitted" and job.status().get("waiting"), "the job to wait")
    tony.run("kill", job.id)
    job.wait()
    assert job.published() and not server.calls
    assert "the job has no run there" in tony.run("events", job.id).stdout


def test_programs_can_have_runs_of_their_own_and_their_own_word(tony, serve):
    server = serve()
    job = submit(tony, server, SHOW, {"tony.tracking.nested-runs": "true", "tony.tracking.experiment": "vision/a b"})
    assert job.wait() == 0
    shown, run = variables(job.logs("worker:0")), wait_end(job, server)
    assert "MLFLOW_RUN_ID" not in shown and json.loads(shown["MLFLOW_RUN_CONTEXT"]) == {"mlflow.parentRunId": run["id"]}
    assert shown["MLFLOW_EXPERIMENT_NAME"] == "vision/a b" and list(server.experiments) == ["vision/a b"]
    job = submit(tony, server, SHOW, {"tony.worker.envs": "MLFLOW_RUN_ID=mine"})
    assert job.wait() == 0
    assert variables(job.logs("worker:0"))["MLFLOW_RUN_ID"] == "mine"


def test_weights_and_biases_goes_on_with_the_run_of_a_task(tony):
    job = tony.submit({"tony.worker.instances": 2, "tony.worker.command": f"{SHOW}; [ $TASK_INDEX = 0 ] || exit $((2 - TONY_EPOCH))",
                       "tony.am.retry-count": 1, "tony.application.name": "digits", "tony.tracking.wandb": "true"})
    assert job.wait() == 0
    lines = job.logs("worker:1").splitlines()
    assert lines.count(f"WANDB_RUN_ID={job.id}-worker-1") == 2, "of each epoch"
    shown = variables("\n".join(lines))
    assert shown["WANDB_RUN_GROUP"] == job.id and shown["WANDB_RESUME"] == "allow"
    assert shown["WANDB_NAME"] == "digits worker:1" and shown["WANDB_DIR"].endswith("output/worker-1")


# ---- with the real libraries

@pytest.fixture(name="mlflow")
def mlflow_fixture(tmp_path):
    server = MLflow(venv_bin("tracking"), tmp_path)
    yield server
    server.close()


MLFLOW_PROGRAM = """import os, mlflow
with mlflow.start_run():
    mlflow.log_param("rate", 0.1)
    mlflow.log_metric("accuracy", 0.9, step=int(os.environ["TONY_EPOCH"]))
raise SystemExit(2 - int(os.environ["TONY_EPOCH"]))
"""


@pytest.mark.slow
def test_what_a_program_logs_by_mlflow_is_in_the_jobs_run(tony, mlflow):
    (tony.directory / "program.py").write_text(MLFLOW_PROGRAM)
    job = submit(tony, mlflow, f"{venv_bin('tracking')}/python3 {tony.directory}/program.py",
                 {"tony.am.retry-count": 1, "tony.worker.memory": "2g"})
    assert job.wait() == 0
    run = wait_until(lambda: job.status().get("notices") and mlflow.find(job), "the end to be told")
    assert run["status"] == "FINISHED" and run["metrics"]["accuracy"] == {1: 0.9, 2: 0.9}
    assert run["params"]["rate"] == "0.1" and run["params"]["tony.am.retry-count"] == "1"


@pytest.mark.slow
def test_mlflow_shows_runs_of_programs_below_the_jobs(tony, mlflow):
    (tony.directory / "program.py").write_text(MLFLOW_PROGRAM.replace("2 - int", "0 * int"))
    job = submit(tony, mlflow, f"{venv_bin('tracking')}/python3 {tony.directory}/program.py",
                 {"tony.tracking.nested-runs": "true", "tony.worker.instances": 2, "tony.worker.memory": "2g"})
    assert job.wait() == 0
    parent = wait_end(job, mlflow)["id"]
    assert len(mlflow.find_all(job, f"tags.`mlflow.parentRunId` = '{parent}'")) == 2


WANDB_PROGRAM = """import os, wandb
with wandb.init(project="digits") as run:
    run.log({"loss": 0.5})
    print("run", run.id, run.group, run.name)
raise SystemExit(2 - int(os.environ["TONY_EPOCH"]))
"""


@pytest.mark.slow
def test_weights_and_biases_takes_the_variables(tony):
    (tony.directory / "program.py").write_text(WANDB_PROGRAM)
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.command": f"{venv_bin('tracking')}/python3 {tony.directory}/program.py",
                       "tony.worker.envs": "WANDB_MODE=offline", "tony.worker.memory": "1g", "tony.application.name": "digits", "tony.am.retry-count": 1,
                       "tony.tracking.wandb": "true", "tony.application.output-dir": str(tony.directory / "home")})
    assert job.wait() == 0
    assert job.logs("worker:0").splitlines().count(f"run {job.id}-worker-0 {job.id} digits worker:0") == 2, "of each epoch"
    kept = list((tony.directory / "home" / job.id / "worker-0").glob(f"wandb/offline-run-*/run-{job.id}-worker-0.wandb"))
    assert len(kept) == 2, "offline runs are among the results"
