"""One part in a process of its own. That process is the subreaper of all processes that the part starts, so the
kernel tells their processor time, and processes that the part leaves behind are found and killed."""

import ctypes
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

import kinds

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LEFT_BEHIND = "left behind"   # stands among the failed tests
LEAVE_S = 20   # for processes that end by themselves a moment later
GONE = (FileNotFoundError, ProcessLookupError)


def children_of(pid):
    found = []
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    except GONE:
        pass
    return found


def descendants_of(pid):
    found = []
    for child in children_of(pid):
        found += [child, *descendants_of(child)]
    return found


def describe(pid):
    try:
        return f"{pid} {Path(f'/proc/{pid}/cmdline').read_bytes().replace(bytes(1), b' ').decode(errors='replace')}"
    except GONE:
        return f"{pid} (gone)"


def reap():
    """Reaps ended children, adopted ones too."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def end_what_is_left():
    """Waits for processes that still run, then kills them; returns their command lines."""
    deadline = time.monotonic() + LEAVE_S
    while (reap(), descendants_of(os.getpid()))[1] and time.monotonic() < deadline:
        time.sleep(0.1)
    left = [describe(pid) for pid in descendants_of(os.getpid())]
    while (reap(), alive := descendants_of(os.getpid()))[1]:
        for pid in alive:
            try:
                os.kill(pid, signal.SIGKILL)
            except GONE:
                pass
        time.sleep(0.05)
    return left


def interrupt(*_):
    """Interrupts the part's programs as a terminal does, so that they clean up after themselves."""
    for pid in children_of(os.getpid()):
        try:
            os.kill(pid, signal.SIGINT)
        except GONE:
            pass
    raise KeyboardInterrupt


def main(part, selection, reports):
    """Runs the part, and leaves <reports>/<part>.json."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    signal.signal(signal.SIGTERM, interrupt)
    start = time.monotonic()
    result = kinds.Result(0, [part.name])
    try:
        result = kinds.run(part, selection, reports)
    except KeyboardInterrupt:
        print(f"{part.name}: interrupted")
    wall = time.monotonic() - start
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for left in end_what_is_left():
        print(f"{part.name}: left behind: {left}")
        result.failed.append(LEFT_BEHIND)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = {**vars(result), "wall": wall, "cpu": usage.ru_utime + usage.ru_stime}
    (reports / f"{part.name}.json").write_text(json.dumps(report), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)
