"""A notebook of JupyterLab in a browser, started by `tony notebook` or by its user."""

import contextlib
import json
import subprocess

from notebook_rows import Notebook
from patience import PATIENCE_S
from program import BUILD, ROOT, wait_until

ARGUMENTS = ["--LabApp.expose_app_in_browser=True", "--LabApp.news_url="]  # the test gives it commands; it looks for no news

# The kernel, its idle state, and whether all has been run and saved.
STATE = """const panel = window.jupyterapp?.shell.currentWidget, session = panel?.sessionContext
return session?.session?.kernel?.status ?? ''"""
RUN = """const done = arguments[arguments.length - 1], commands = window.jupyterapp.commands
commands.execute('notebook:run-all-cells').then(() => done(''), (error) => done(String(error)))"""
SAVE = """const done = arguments[arguments.length - 1]
window.jupyterapp.commands.execute('docmanager:save').then(() => done(''), (error) => done(String(error)))"""


def write(path, *cells):
    """A notebook of these cells."""
    content = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
               "cells": [{"cell_type": "code", "id": f"cell-{number}", "metadata": {}, "outputs": [], "execution_count": None, "source": cell}
                         for number, cell in enumerate(cells)]}
    path.write_text(json.dumps(content))


def outputs(path):
    """The text of what each cell has left in the file."""
    found = []
    for cell in json.loads(path.read_text())["cells"]:
        texts = ["".join(one.get("text", one.get("data", {}).get("text/html", one.get("data", {}).get("text/plain", one.get("evalue", "")))))
                 for one in cell.get("outputs", [])]
        found.append("\n".join(texts))
    return found


def environment(tony):
    """In kernels `import tony` is this package, and their interpreter JupyterLab's own."""
    return {**tony.env, "PYTHONPATH": str(ROOT / "python"), "TONY_PROGRAM": str(BUILD / "tony"), "JUPYTER_PREFER_ENV_PATH": "1"}


def start(tony, programs, *options):
    """`tony notebook`, by JupyterLab's interpreter."""
    notebook = Notebook(tony, "--memory", "1g", "--python_binary_path", programs / "python3", *options, "--", *ARGUMENTS,
                        env=environment(tony))
    tony.jobs.append(notebook.job)
    return notebook


@contextlib.contextmanager
def jupyter(tony, programs):
    """JupyterLab as its user starts it: the link to it."""
    runtime = tony.directory / "runtime"
    server = subprocess.Popen([programs / "jupyter", "lab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0",
                               *ARGUMENTS], env={**environment(tony), "JUPYTER_RUNTIME_DIR": str(runtime)}, cwd=tony.directory,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        known = wait_until(lambda: [path for path in runtime.glob("jpserver-*.json") if path.read_text().endswith("}")], "the server")
        place = json.loads(known[0].read_text())
        yield f"{place['url']}?token={place['token']}"
    finally:
        server.terminate()
        server.wait(PATIENCE_S)


class Lab:
    def __init__(self, driver, link):
        self.driver, (self.root, self.token) = driver, link.split("/?token=")

    def open(self, name):
        """Until its kernel is idle."""
        self.driver.get(f"{self.root}/lab/tree/{name}?token={self.token}&reset")
        wait_until(lambda: self.driver.execute_script(STATE) == "idle", "an idle kernel")
        return self

    def run(self, wait=True):
        """All cells; without `wait` it returns while they run."""
        if not wait:
            self.driver.execute_script(RUN.replace("const done = arguments[arguments.length - 1], ", "const done = () => 0, "))
            return
        assert self.driver.execute_async_script(RUN) == ""
        wait_until(lambda: self.driver.execute_script(STATE) == "idle", "all cells to have run")

    def save(self):
        assert self.driver.execute_async_script(SAVE) == ""

    def text(self):
        return self.driver.execute_script("return [...document.querySelectorAll('.jp-OutputArea-output')].map((one) => one.innerText).join('\\n')")

    def leave(self):
        self.driver.get("about:blank")
