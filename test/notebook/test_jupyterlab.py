"""`tony notebook` and `%%tony` in JupyterLab itself."""

import json
import signal
import subprocess

import lab
from patience import PATIENCE_S
from program import ROOT, wait_until


def test_a_notebook_is_worked_with_and_found_again_after_the_browser_was_closed(tony, programs, chromium):
    path = tony.directory / "digits.ipynb"
    lab.write(path, "import os, time\nprint('task', os.environ['TONY_TASK'])\nx = globals().get('x', 40)\nx += 1\nprint('x is', x)",
              f"open('{tony.directory}/waits', 'w').close()\nwhile not os.path.exists('{tony.directory}/go'): time.sleep(0.05)\n")
    notebook = lab.start(tony, programs, "--conf", "tony.application.tls=true")
    page = lab.Lab(chromium, notebook.link).open("digits.ipynb")
    page.run(wait=False)
    wait_until((tony.directory / "waits").exists, "the second cell")
    wait_until(lambda: "task driver:0\nx is 41" in page.text(), "the first cell's output")
    page.leave()
    assert notebook.finish(signal.SIGHUP)[0] == -signal.SIGHUP
    (tony.directory / "go").touch()
    again = lab.Notebook(tony, notebook.job.id)
    page = lab.Lab(chromium, again.link).open("digits.ipynb")
    page.run()
    wait_until(lambda: "x is 42" in page.text(), "the kernel's names")
    page.leave()
    assert again.finish()[0] == 0 and notebook.job.status()["state"] == "running"
    assert notebook.link.split("token=")[1] not in notebook.job.logs("driver:0")


CELL = """%%tony --workers 2 --memory 64m --name digits --conf tony.task.metrics-interval-ms=200
import os, time
from tony import task
for step in range(1, 41):
    task.report(step, steps=40, loss=1 / step)
    time.sleep(0.05)
print('trained', task.name)"""


def test_a_cell_shows_its_job_while_it_runs(tony, programs, chromium):
    path = tony.directory / "cell.ipynb"
    lab.write(path, "%load_ext tony", CELL, "print('then', _.status().state)")
    with lab.jupyter(tony, programs) as link:
        page = lab.Lab(chromium, link).open("cell.ipynb")
        page.run(wait=False)
        wait_until(lambda: "worker:1" in page.text() and "running" in page.text(), "the live table")
        wait_until(lambda: chromium.execute_script("return document.querySelectorAll('.tony-job polyline').length") == 2, "live curves")
        wait_until(lambda: "then succeeded" in page.text(), "the end of the last cell")
        assert "worker:0 trained worker:0" in page.text()
        page.save()
        page.leave()
    kept = lab.outputs(path)
    assert "<polyline" in kept[1] and "digits (tony-" in kept[1] and kept[2] == "then succeeded\n"


def test_a_cell_is_stopped_by_the_button_of_the_notebook(tony, programs, chromium):
    lab.write(tony.directory / "stop.ipynb", "%load_ext tony",
              "%%tony --memory 64m --name endless\nimport time\nprint('begun', flush=True)\ntime.sleep(1000)")
    with lab.jupyter(tony, programs) as link:
        page = lab.Lab(chromium, link).open("stop.ipynb")
        page.run(wait=False)
        wait_until(lambda: "begun" in page.text(), "the job's output")
        chromium.execute_script("window.jupyterapp.commands.execute('notebook:interrupt-kernel')")
        wait_until(lambda: "the cell was interrupted, and tony-" in page.text(), "the end of the job")
        page.leave()
    endless = json.loads(tony.run("status", "--json", "endless").stdout)
    assert (endless["state"], endless["message"]) == ("killed", "killed by the user: the cell was interrupted")


def test_a_notebook_that_nobody_uses_ends_by_itself(tony, programs):
    """Jupyter looks once a minute."""
    notebook = lab.start(tony, programs, "--idle", "1s")
    _, said = notebook.child.communicate(timeout=PATIENCE_S)
    assert notebook.child.returncode == 0 and " succeeded after " in said


def test_the_example_runs_from_its_beginning_to_its_end(tony, programs):
    done = subprocess.run([programs / "jupyter", "nbconvert", "--to", "notebook", "--execute", "--output-dir", tony.directory,
                           ROOT / "examples/notebook.ipynb"], env=lab.environment(tony), cwd=tony.directory, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    told = "\n".join(lab.outputs(tony.directory / "notebook.ipynb"))
    for words in ("<polyline", "about 3.14", "sum of the other ranks: 3", "killed"):
        assert words in told, told
