"""The Python package on a cluster: a function travels to nodes that have neither the package nor cloudpickle, and its value and
exception come back through HDFS."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from program import BUILD, PYTHON, ROOT, venv_bin
from patience import PATIENCE_S

PROGRAM = """
import json, os
import tony

def train(rate, fail=False):
    from tony import task
    task.report(1, steps=2, loss=rate)
    task.store.put(f"at/{task.index}", task.address.encode())
    task.barrier()
    others = [task.store.get(f"at/{index}").decode() for index in range(task.count)]
    if fail and task.index == 1:
        raise LookupError("no such column")
    return {"rank": task.rank, "met": others == task.peers["worker"]}

small = {"memory": "128m", "workers": 2, "conf": {"tony.task.metrics-interval-ms": "500"}}
job = tony.submit(train, 0.5, **small)
changes = []
job.wait(on_change=changes.append)
told = {"value": job.value(), "values": job.values(), "loss": job.metrics().last("loss"), "output": job.results(),
        "scheduler": job.status().raw["scheduler"], "last": changes[-1].after}
failed = tony.submit(train, 0.5, kwargs={"fail": True}, **small)
try:
    failed.value()
except LookupError as error:
    told["error"], told["there"] = str(error), "in train" in str(error.__cause__.__cause__)
script = tony.submit(["sh", "-c", "echo in $TASK_INDEX"], memory="128m", workers=2)
told["lines"] = sorted(str(line) for line in script.logs(follow=True))
script.wait()
told["left"] = os.listdir(os.environ["TMPDIR"])
print(json.dumps(told))
"""


@pytest.mark.slow
@pytest.mark.promise("P4")
def test_a_function_runs_on_a_cluster_and_its_value_comes_back(tony):
    extras = next((venv_bin("python").parent / "lib").glob("python3.*")) / "site-packages"
    temporary = tony.directory / "tmp"
    temporary.mkdir()
    Path(tony.directory, "program.py").write_text(PROGRAM)
    env = {**tony.env, "TONY_PROGRAM": str(BUILD / "tony"), "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), str(extras)]),
           "TMPDIR": str(temporary)}
    done = subprocess.run([PYTHON, "program.py"], cwd=tony.directory, env=env, capture_output=True, text=True, timeout=2 * PATIENCE_S)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["value"] == {"rank": 0, "met": True} and told["values"]["worker:1"] == {"rank": 1, "met": True}
    assert (told["scheduler"], told["loss"], told["last"]) == ("yarn", 0.5, "succeeded") and told["output"].startswith("hdfs://")
    assert (told["error"], told["there"], told["lines"], told["left"]) == ("no such column", True, ["in 0", "in 1"], [])


CELLS = """
import os, sys
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
shell.run_line_magic("load_ext", "tony")
done = shell.run_cell('''%%tony --workers 2 --memory 128m -- 'a "b"'
import os, sys
print("on a node", os.environ["CONTAINER_ID"] != "", sys.argv[1:], __name__)  # caf\\u00e9 'quoted' $HOME {{x}} {{{{{y
''')
assert done.success, done.error_in_exec
print(sorted(str(line) for line in done.result.logs(stream="stdout")))
joined = shell.run_cell('''%%tony --join --workers 2 --memory 128m
import os, socket, time
rank, place = int(os.environ["RANK"]), (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    with socket.create_server(place) as server:
        seen = sorted(server.accept()[0].makefile().read() for _ in range(int(os.environ["WORLD_SIZE"]) - 1))
while rank:
    try:
        socket.create_connection(place).sendall(str(rank).encode())
        break
    except ConnectionRefusedError:
        time.sleep(0.1)
''')
assert joined.success, joined.error_in_exec
print(shell.user_ns["seen"])
"""


@pytest.mark.slow
def test_cells_run_on_a_cluster(tony):
    extras = next((venv_bin("python").parent / "lib").glob("python3.*")) / "site-packages"
    Path(tony.directory, "cells.py").write_text(CELLS)
    env = {**tony.env, "TONY_PROGRAM": str(BUILD / "tony"), "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), str(extras)])}
    done = subprocess.run([PYTHON, "cells.py"], cwd=tony.directory, env=env, capture_output=True, text=True, timeout=2 * PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    line = """on a node True ['a "b"'] __main__"""
    assert {str([line, line]), "['1', '2']"} <= set(done.stdout.splitlines()), done.stdout
