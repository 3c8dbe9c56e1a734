"""What a task runs here: does what the schedule has planned for the n-th process of its task, and
watches over one promise itself: that no two processes of a task run at the same time.

Arguments: the world's directory, what it may leave behind ("yes" or "no").
"""

import fcntl
import json
import os
import signal
import sys
import time


def outlive():
    """A child that does what it can to stay: a session of its own, no parent, deaf to SIGTERM."""
    if os.fork() > 0:
        return
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() > 0:
        os._exit(0)
    os.closerange(0, 100)
    while True:
        time.sleep(3600)


def append(path, text):
    """One write: lines of several processes do not mix."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(fd, f"{text}\n".encode())
    os.close(fd)


def main():
    world, leaves_behind = sys.argv[1:3]
    task = f"{os.environ['JOB_NAME']}:{os.environ['TASK_INDEX']}"
    if leaves_behind == "yes":
        outlive()
    lock = os.open(f"{world}/{task}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        append(f"{world}/twice", f"{task}: process {os.getpid()} found another one at work")
    starts = f"{world}/{task}.starts"
    append(starts, f"{os.getpid()} {time.monotonic():.3f}")
    with open(starts, encoding="utf-8") as lines:
        number = len(lines.readlines())
    with open(f"{world}/plan.json", encoding="utf-8") as plan:
        steps = json.load(plan)[task]
    seconds, code = steps[min(number, len(steps)) - 1]
    print(f"{task}: process {number} runs for {seconds:.2f} s", flush=True)
    time.sleep(seconds)
    if code:
        print(f"ValueError: planned failure of {task}", file=sys.stderr, flush=True)
    sys.exit(code)


main()
