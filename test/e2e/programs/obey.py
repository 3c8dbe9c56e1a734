"""obey.py DIRECTORY: does what it is told there. A task's orders are the files TASK.0, TASK.1, ... in DIRECTORY,
each {"out": TEXT, "err": TEXT, "own": NUMBERS, "lose": true, "exit": CODE} of which any may be missing; "lose" kills the
executor, and so the container. Each is obeyed once, whichever process of the task is there then. SIGTERM is for nothing
while there is a file `stay`, but that `stays.TASK` is there afterwards."""

import glob
import json
import os
import signal
import sys
import time


def terminate(*_):
    if not os.path.exists(f"{sys.argv[1]}/stay"):
        os._exit(143)
    with open(f"{sys.argv[1]}/stays.{os.environ['TONY_TASK']}", "w", encoding="utf-8"):
        pass


def next_order():
    files = glob.glob(f"{sys.argv[1]}/{os.environ['TONY_TASK']}.*")
    return min(files, key=lambda path: int(path.rpartition(".")[2]), default=None)


signal.signal(signal.SIGTERM, terminate)
while True:
    path = next_order()
    if path is None:
        time.sleep(0.02)
        continue
    with open(path, encoding="utf-8") as file:
        order = json.load(file)
    os.unlink(path)
    sys.stdout.write(order.get("out", ""))
    sys.stdout.flush()
    sys.stderr.write(order.get("err", ""))
    sys.stderr.flush()
    if "own" in order:
        with open(os.environ["TONY_METRICS_FILE"], "a", encoding="utf-8") as numbers:
            print(json.dumps(order["own"]), file=numbers)
    if "lose" in order:
        os.kill(os.getppid(), signal.SIGKILL)
    if "exit" in order:
        sys.exit(order["exit"])
