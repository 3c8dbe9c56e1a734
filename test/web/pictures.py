"""pictures.py [pages] [sweep] [data] [dependencies] [notebook] [python]: the pictures of docs/, of jobs that it runs with the programs in build/
(TONY_BUILD: others), into docs/images. Takes two minutes; needs what `./dev deps` installs."""

import base64
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "harness"), str(HERE.parent / "notebook")]
import browser  # noqa: E402
import lab  # noqa: E402
from page import Page  # noqa: E402
from portal import Portal  # noqa: E402
from program import ROOT, Tony, venv_bin, wait_until  # noqa: E402

IMAGES = ROOT / "docs/images"
MINUTES_S = 300  # for what is a matter of seconds on a machine with nothing else to do


def submit(tony, name, epochs, *options):
    """PyTorch's example, under a name of its own."""
    return tony.example("pytorch", "--conf", f"tony.application.name={name}",
                        "--conf", "tony.worker.command=python3 train.py " + epochs,
                        "--conf", "tony.task.metrics-interval-ms=500", *options)


def end(job):
    job.wait(MINUTES_S)
    return job


def lose_worker(job):
    """Once it has trained for a while."""
    wait_until(lambda: "epoch 150 of" in job.logs("worker:0"), "some epochs", MINUTES_S)
    os.kill(job.wait_task("worker:2")["pids"][0], signal.SIGKILL)


def take(page, name, height=640):
    browser.resize(page.driver, 1080, height)
    page.settle()
    page.draw()
    page.driver.save_screenshot(str(IMAGES / f"{name}.png"))


def take_whole(page, name, height):
    """More of the page than the window has."""
    page.settle()
    page.draw()
    shot = page.driver.execute_cdp_cmd("Page.captureScreenshot", {
        "captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": 1080, "height": height, "scale": 1}})
    (IMAGES / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


def take_all(tony, page):
    portal = Portal(tony)
    end(tony.example("quickstart"))
    first = end(submit(tony, "digits", "--epochs 200", "--conf", "tony.application.tags=nightly"))
    second = end(submit(tony, "digits", "--epochs 200 --batch 64", "--conf", "tony.worker.memory=2g"))
    end(tony.example("quickstart", "--conf", "tony.worker.command=false"))
    failing = submit(tony, "digits-large", "--epochs 250 --goal 0.999", "--conf", "tony.worker.instances=6",
                     "--conf", "tony.am.retry-count=1")
    lose_worker(failing)
    end(failing)
    for job, state in ((first, "succeeded"), (second, "succeeded"), (failing, "failed")):
        portal.wait_kept(job, state)
    live = submit(tony, "digits-long", "--epochs 1000000")
    wait_until(lambda: "epoch 100 of" in live.logs("worker:0"), "some epochs", MINUTES_S)

    page.go(portal.ask_link())
    page.wait_for_rows(lambda rows: len(rows) == 6)
    take(page, "portal-jobs", 350)
    page.turn_to(f"#/compare?jobs={first.id},{second.id}")
    page.wait(lambda: len(page.all(".chart canvas")) >= 6)
    take(page, "portal-compare", 1000)
    page.turn_to(f"#/jobs/{failing.id}")
    page.wait_for("[aria-labelledby=curves] canvas")
    take(page, "dashboard-job", 1000)
    page.turn_to(f"#/jobs/{failing.id}/events")
    page.wait_for("canvas")
    take(page, "dashboard-events", 420)
    browser.prefer(page.driver, dark=True)
    page.go(tony.run("open", live.id).stdout.strip())
    browser.resize(page.driver, 1080, 640)  # as high as the log will be
    page.turn_to("#/tasks/worker:0")
    page.wait_for(".chart")
    page.run("document.querySelector('.chart').scrollIntoView()")  # charts that nobody sees are not drawn
    page.wait(lambda: len(page.all(".chart canvas")) >= 2 and "epoch" in page.text(".log"))
    page.run("scrollTo(0, 0)")
    take_whole(page, "dashboard-task", 1080)
    page.leave()
    tony.run("kill", live.id)
    portal.stop()


def take_sweep(tony, page):
    portal = Portal(tony)
    answer = tony.run("sweep", "--detach", "--conf", "tony.sweep.trials=24", "--conf_file", ROOT / "examples/sweep/tony.xml")
    job = tony.found_job(answer.stdout)
    tony.jobs.append(job)
    portal.wait_kept(end(job), "succeeded")
    page.go(portal.ask_link())
    page.turn_to(f"#/jobs/{job.id}")
    page.wait_for_text("Best so far", "[aria-labelledby=trials]")
    page.run("document.querySelector('[aria-labelledby=trials]').scrollIntoView()")
    take(page, "sweep", 760)
    page.leave()
    portal.stop()


READ = """import time
from tony import data, task
slope = offset = 0.0
for batch in data.shard("{place}/part-*.parquet", mode="dynamic", name="clicks", columns=["x", "y"], passes=3, shuffle=True,
                        batch_size=50).numpy():
    time.sleep(0.05)
    wrong = slope * batch["x"] + offset - batch["y"]
    slope -= 0.3 * (wrong * batch["x"]).mean()
    offset -= 0.3 * wrong.mean()
    task.report(loss=(wrong ** 2).mean())
"""
WRITE = """import pyarrow as pa, pyarrow.parquet as pq
for part in range(40):
    x = [(part * 500 + i) / 20000 for i in range(500)]
    pq.write_table(pa.table({"x": x, "y": [3 * value + 1 for value in x]}), f"part-{part:03d}.parquet", row_group_size=50)
"""


def take_data(tony, page):
    """A job of which each worker takes the next part of a table when it has room for it."""
    python = venv_bin("data") / "python"
    subprocess.run([python, "-c", WRITE], cwd=tony.directory, check=True)
    source = tony.directory / "source"
    source.mkdir()
    (source / "train.py").write_text(READ.format(place=tony.directory))
    job = tony.submit({"tony.application.name": "clicks", "tony.worker.instances": 3, "tony.worker.memory": "256m",
                       "tony.task.metrics-interval-ms": 500,
                       "tony.containers.envs": f"PYTHONPATH={ROOT}/python,PATH={python.parent}:{os.environ['PATH']}"},
                      "--executes", "python3 train.py", src_dir=source)
    page.go(tony.run("open", job.id).stdout.strip())
    page.wait(lambda: "of 120 splits" in page.text() and len(page.all(".chart canvas")) >= 3)
    wait_until(lambda: int(re.search(r"(\d+)% . \d+ of 120", page.text()).group(1)) >= 60, "more than half to be read", MINUTES_S)
    take(page, "data", 590)
    page.leave()
    tony.run("kill", job.id)


def take_dependencies(tony, page):
    """Jobs that wait for others, and an array of which two run at a time."""
    portal = Portal(tony)
    command = ("--executes", "sleep 1000")
    before = tony.submit({"tony.application.name": "prepare", "tony.worker.instances": 1}, *command)
    for name in ("train", "evaluate"):
        before = tony.submit({"tony.application.name": name, "tony.worker.instances": 1}, "--after", before.id, *command)
    verb, *rest = tony.arguments({"tony.application.name": "score", "tony.worker.instances": 1}, "--array", "1-4%2", *command)
    assert tony.run(verb, "--detach", *rest).returncode == 0
    page.go(portal.ask_link())
    page.wait_for_rows(lambda rows: len(rows) == 7)
    page.wait(lambda: page.text().count("waits for") >= 4)
    take(page, "dependencies", 410)
    page.leave()
    tony.run("kill", "--all", *tony.ids())
    portal.stop()


CELL = """%%tony --workers 2 --memory 128m --name digits --conf tony.task.metrics-interval-ms=200 -- --steps 400
import math, random, sys, time
from tony import task

steps = int(sys.argv[2])
for step in range(1, steps + 1):
    loss = 2.3 * math.exp(-step / 90) + random.gauss(0.1, 0.02)
    task.report(step, steps=steps, loss=loss, accuracy=1 - loss / 2.5)
    if step % 50 == 0:
        print(f"step {step}: loss {loss:.3f}", flush=True)
    time.sleep(0.05)"""


def take_cells(tony, driver, name, height, words, *cells):
    """The last cell of a notebook and what is above it, once its output has the words."""
    lab.write(tony.directory / f"{name}.ipynb", *cells)
    with lab.jupyter(tony, venv_bin("notebook")) as link:
        page = lab.Lab(driver, link).open(f"{name}.ipynb")
        driver.execute_script("window.jupyterapp.commands.execute('application:toggle-left-area')")
        page.run(wait=False)
        wait_until(lambda: words in page.text(), words, MINUTES_S)
        browser.resize(driver, 1080, height)
        driver.execute_script("document.querySelector('.Toastify')?.remove(); document.querySelectorAll('.jp-CodeCell')[1].scrollIntoView()")
        driver.save_screenshot(str(IMAGES / f"{name}.png"))
        page.leave()


def take_notebook(tony, driver):
    take_cells(tony, driver, "notebook", 860, "step 300", "%load_ext tony", CELL)
    tony.run("kill", "digits")


def take_python(tony, driver):
    """The function of the document, and its job."""
    text = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    function = re.search("## A function\n\n```python\n(.*?)\n```", text, re.DOTALL).group(1)
    take_cells(tony, driver, "python", 780, "step 0 to 99", "import tony", function, "tony.attach(job);")


def main(*wanted):
    IMAGES.mkdir(exist_ok=True)
    pictures = {"pages": lambda: take_all(tony, Page(driver)), "sweep": lambda: take_sweep(tony, Page(driver)),
                "data": lambda: take_data(tony, Page(driver)), "dependencies": lambda: take_dependencies(tony, Page(driver)),
                "notebook": lambda: take_notebook(tony, driver), "python": lambda: take_python(tony, driver)}
    with tempfile.TemporaryDirectory(prefix="tony-pictures-") as directory:
        tony = Tony(Path(directory))
        tony.env["USER"] = "ada"
        driver = browser.start(1080, 640)
        try:
            for name in wanted or pictures:
                browser.prefer(driver, dark=False)
                pictures[name]()
        finally:
            driver.quit()
            tony.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
