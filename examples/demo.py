"""What `./dev demo` shows: a real distributed training that loses a worker and recovers.

Submits the job in quickstart/ to the local scheduler, lets it train, kills one worker with
SIGKILL, and watches the job form anew and resume from its checkpoint. Exits 1 if any of it does not
happen.
"""

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
JOB = os.path.join(HERE, "quickstart", "tony.xml")
TONY = os.path.join(os.environ.get("TONY_BUILD", os.path.join(HERE, "..", "build")), "tony")
VICTIM = "worker:2"
KILL_AT_STEP = 80
PATIENCE_S = 300  # it takes some seconds, and minutes where much else goes on
START = time.monotonic()


def say(text, bold=False):
    mark = ("\033[1m", "\033[0m") if bold and sys.stdout.isatty() else ("", "")
    print(f"{time.monotonic() - START:5.1f} s  {mark[0]}{text}{mark[1]}", flush=True)


def fail(text):
    say(f"FAILED: {text}", bold=True)
    sys.exit(1)


def tony(*arguments):
    return subprocess.run([TONY, *arguments], capture_output=True, text=True, timeout=PATIENCE_S)


def submit():
    say("$ build/tony submit --detach --conf_file examples/quickstart/tony.xml", bold=True)
    submitted = tony("submit", "--detach", "--conf_file", JOB)
    found = re.search(r"tony-\d{8}-\d{6}-[0-9a-f]+", submitted.stdout)
    if submitted.returncode != 0 or not found:
        fail(f"submit: {submitted.stdout}{submitted.stderr}")
    return found.group()


def status(job):
    answer = tony("status", "--json", job)
    if answer.returncode != 0:
        fail(f"status: {answer.stderr}")
    return json.loads(answer.stdout)


def follow(name, arguments, lines):
    """Puts (name, line) for every line that the command prints, and (name, None) at its end."""
    child = subprocess.Popen([TONY, *arguments], stdout=subprocess.PIPE, text=True)

    def read():
        for line in child.stdout:
            lines.put((name, line.rstrip("\n")))
        lines.put((name, None))

    threading.Thread(target=read, daemon=True).start()
    return child


def kill_one(job):
    task = next(task for task in status(job)["tasks"] if task["task"] == VICTIM)
    if not task.get("pids"):
        fail(f"{VICTIM} has no process")
    say(f"$ kill -9 {task['pids'][0]}    # the training process of {VICTIM}", bold=True)
    os.kill(task["pids"][0], signal.SIGKILL)


def shorten(name, line):
    """What is worth the reader's time: all of the log, and of the events all but the small steps of
    each task; without their times, since say() prints one."""
    if name == "logs":
        return "    " + line
    text = re.sub(r"^\S+Z +", "", line)
    return None if re.search(r"requested|allocated|launching|registered|running|stopping", text) \
        and not text.startswith(("job", "note")) else text


def watch(job):
    """Prints logs and events until both end; returns the step at which the training resumed and
    its last line."""
    lines = queue.Queue()
    children = [follow("logs", ["logs", "-f", "--task", "worker:0", job], lines),
                follow("events", ["events", "-f", job], lines)]
    killed, resumed, result, open_streams = False, None, None, len(children)
    deadline = time.monotonic() + PATIENCE_S
    while open_streams:
        try:
            name, line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            for child in children:
                child.kill()
            fail(f"the job has not ended within {PATIENCE_S} s")
        if line is None:
            open_streams -= 1
            continue
        shown = shorten(name, line)
        if shown:
            say(shown)
        step = re.search(r"step +(\d+) of", line)
        if step and int(step.group(1)) >= KILL_AT_STEP and not killed:
            killed = True
            kill_one(job)
        found = re.search(r"resuming at step (\d+)", line)
        resumed = int(found.group(1)) if found else resumed
        found = re.search(r"done: accuracy (\S+)", line)
        result = found.group(1) if found else result
    return resumed, result


def main():
    say("Four workers train one model together, on this machine's own scheduler.", bold=True)
    job = submit()
    resumed, result = watch(job)
    ended = status(job)
    if tony("wait", job).returncode != 0 or ended["state"] != "succeeded":
        fail(f"the job ended as {ended['state']}: {ended.get('cause')}")
    if resumed is None or resumed < KILL_AT_STEP:
        fail("the training did not resume from its checkpoint")
    if ended["epoch"] < 2:
        fail("the cluster was not formed anew")
    if result is None:
        fail("the training printed no result")
    say(f"{job}: {VICTIM} was killed, the cluster formed anew, the training resumed at step "
        f"{resumed} and reached an accuracy of {result}.", bold=True)
    print(f"""
Where to look next:
  build/tony status {job}
  build/tony logs {job} --task worker:0
  build/tony events {job}
  examples/quickstart/README.md   what the program does to survive this
  build/tony init                 one for each framework, to start from""")


if __name__ == "__main__":
    main()
