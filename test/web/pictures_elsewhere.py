"""pictures_elsewhere.py [mlflow] [airflow]: the pictures of docs/ that show jobs in pages of other programs, into docs/images: those of
a real MLflow and a real Airflow, of test/frameworks. Takes minutes."""

import json
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
os.environ.setdefault("TONY_TEST_AIRFLOW", "airflow-3")
sys.path[:0] = [str(HERE), str(HERE.parent / "harness"), str(HERE.parent / "workflows"), str(HERE.parents[1] / "package")]
import browser  # noqa: E402
from airflow_kit import Airflow  # noqa: E402
from program import PYTHON, ROOT, Tony, venv_bin, wait_until  # noqa: E402
from tracking_server import MLflow  # noqa: E402

IMAGES = ROOT / "docs/images"
TRAIN = """import math, os, random, json, time
random.seed(7)
for step in range(300):
    loss = 2.3 * math.exp(-step / 60) + 0.08 + random.uniform(-0.03, 0.03)
    with open(os.environ["TONY_METRICS_FILE"], "a") as file:
        print(json.dumps({"step": step, "loss": loss, "accuracy": 1 - loss / 2.6}), file=file)
    time.sleep(0.01)
"""


def has(driver, *words):
    """A page that is drawn anew meanwhile has none for a moment."""
    text = driver.execute_script("return document.body ? document.body.innerText : ''")
    return all(word in text for word in words)


def take(driver, name, height):
    browser.resize(driver, 1080, height)
    moves = "return document.getAnimations().some((one) => one.effect.getComputedTiming().iterations < Infinity)"
    wait_until(lambda: not driver.execute_script(moves), "the page to stand still")
    driver.save_screenshot(str(IMAGES / f"{name}.png"))


def take_mlflow(tony, driver):
    server = MLflow(venv_bin("tracking"), tony.directory)
    try:
        job = tony.submit({"tony.worker.instances": 2, "tony.worker.command": f"{PYTHON} {tony.directory}/train.py", "tony.application.name": "digits",
                           "tony.application.tags": "nightly", "tony.tracking.uri": server.url, "tony.task.metrics-interval-ms": 500})
        assert job.wait() == 0
        wait_until(lambda: job.status().get("notices"), "the end to be told")
        driver.get(job.status()["tracking_page"])
        wait_until(lambda: has(driver, "worker-1/loss", "tony.worker.instances", "tony_job"), "the run's page")
        take(driver, "tracking-mlflow", 640)
    finally:
        server.close()


def take_airflow(tony, driver):
    airflow = Airflow(tony)
    airflow.env["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS"] = "True"
    airflow.write("digits", f"""
    TonyOperator(task_id="train", program=["{PYTHON}", "{tony.directory}/train.py"], options={{**SMALL, "workers": 2, "name": "digits"}})
""")
    portal = {"conn_type": "tony", "host": "portal.example", "port": 19886}
    with airflow.running(AIRFLOW_CONN_TONY_DEFAULT=json.dumps(portal)):
        airflow.wait("digits", "success")
        run, = airflow.ask("select run_id from dag_run")
        driver.get(f"http://127.0.0.1:{airflow.env['AIRFLOW__API__PORT']}/dags/digits/runs/{run[0].replace('+', '%2B')}/tasks/train/details")
        wait_until(lambda: has(driver, "tony job", "TonyOperator"), "the page of the task")
        take(driver, "airflow-task", 560)


def main(*wanted):
    IMAGES.mkdir(exist_ok=True)
    for name, picture in (("mlflow", take_mlflow), ("airflow", take_airflow)):
        if wanted and name not in wanted:
            continue
        with tempfile.TemporaryDirectory(prefix="tony-pictures-") as directory:
            tony = Tony(Path(directory))
            (tony.directory / "train.py").write_text(TRAIN)
            driver = browser.start(1080, 640)
            try:
                picture(tony, driver)
            finally:
                driver.quit()
                tony.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
