"""A crowd of idle tasks on one machine: what they cost, and how many are lost while busy loops run beside them. Each figure
with its goal; nothing here fails, the reader judges. Python's standard library only.
"""

import argparse
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from bench import TONY, Workplace, describe_machine, show  # noqa: E402

PATIENCE_S = 600  # until a thousand tasks run, or a thousand executors have ended, on a busy machine


def own_cpu_ms(place):
    """{pid: processor time} of tony's own processes of this workplace, the AM, executors and their guardians."""
    times = {}
    mark = f"TONY_STATE_DIR={place.env['TONY_STATE_DIR']}".encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if not file.read().startswith(b"tony-agent\0"):
                    continue
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark not in file.read().split(b"\0"):
                    continue
            with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
                times[pid] = int(file.read().split()[0]) / 1e6
        except OSError:
            continue
    return times


def share_of_a_core(place, seconds):
    before, start = own_cpu_ms(place), time.perf_counter()
    time.sleep(seconds)
    after, took = own_cpu_ms(place), (time.perf_counter() - start) * 1000
    return 100 * sum(used - before[pid] for pid, used in after.items() if pid in before) / took


def wait_running(place, job, tasks):
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if sum(task["state"] == "running" for task in place.status(job)["tasks"]) == tasks:
            return
        time.sleep(1)
    sys.exit("bench: the tasks do not run")


def count_lost(place, job):
    """Containers that had to be given again, and the tasks that do not run now."""
    tasks = place.status(job)["tasks"]
    return sum(task["attempt"] - 1 for task in tasks) + sum(task["state"] != "running" for task in tasks)


def answer_of_kill(place, job):
    """Until it says that the tasks are being stopped, and until the job has ended, in ms. The loops go on."""
    start = time.perf_counter()
    with subprocess.Popen([TONY, "kill", job], env=place.env, cwd=place.path, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as kill:
        answered = None
        for line in kill.stderr:
            print(f"  {line.strip()}")
            if "has not answered" not in line and answered is None:
                answered = (time.perf_counter() - start) * 1000
    subprocess.run([TONY, "wait", job], env=place.env, cwd=place.path, stdout=subprocess.DEVNULL, timeout=PATIENCE_S, check=False)
    ended = (time.perf_counter() - start) * 1000
    return answered or ended, ended


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--loops", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=300)
    chosen = parser.parse_args()
    place = Workplace()
    loops = []
    try:
        print(describe_machine() + "\n")
        job = place.submit(chosen.tasks, "sleep 100000", "--conf", "tony.worker.memory=8m")
        wait_running(place, job, chosen.tasks)
        time.sleep(10)  # what begins with a program is over
        show(f"{chosen.tasks} idle tasks with their AM, of a core", [share_of_a_core(place, 30)], "%", "<= 20")
        loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"], start_new_session=True) for _ in range(chosen.loops)]
        time.sleep(chosen.seconds)
        show(f"the same with {chosen.loops} busy loops for {chosen.seconds} s: tasks lost", [count_lost(place, job)], "", "0")
        answered, ended = answer_of_kill(place, job)
        show("tony kill meanwhile: until it answers", [answered], "ms", "<= 2000")
        show("until the job has ended", [ended], "ms", "")
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
        place.close()


if __name__ == "__main__":
    main()
