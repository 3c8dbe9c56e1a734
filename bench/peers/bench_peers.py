"""tony beside what else starts programs on one machine: a Slurm of one node, and PyTorch's torchrun.
All in one run, in pairs that take turns in going first: what else the machine does slows both down
alike. Nothing here fails; the reader judges.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import bench  # noqa: E402
import slurm  # noqa: E402

SLOTS = 8  # tasks that run at a time
MEMORY_MIB = 16  # of each
SERIES = 10  # jobs one after the other
QUEUED = 100  # jobs that are submitted together
BURST = 50  # submissions in a row while another job has the machine
LISTED = 600  # jobs that wait by the end of those
PROGRAM = "import os, sys, time; open(f'{sys.argv[1]}/{os.getpid()}', 'w').write(f'{time.time()}\\n'); time.sleep(1)\n"


class Tony(bench.Workplace):
    """A machine of SLOTS places."""

    def __init__(self):
        super().__init__()
        self.options = ("--conf", f"tony.local.memory={SLOTS * MEMORY_MIB}m", "--memory", f"{MEMORY_MIB}m")

    def run_tasks(self, tasks, *command, framework="generic"):
        self.tony("submit", *self.options, "--workers", tasks, "--framework", framework, "--", *command)

    def submit_one(self, *command):
        self.tony("submit", "--detach", *self.options, "--", *command)

    def hold(self):
        self.tony("submit", "--detach", *self.options, "--memory", f"{SLOTS * MEMORY_MIB}m", "--", "sleep", "1000")

    def jobs(self):
        return self.tony("list", "--output", "name").split()

    def clear(self):
        jobs = self.jobs()
        if jobs:
            self.tony("kill", *jobs)
            bench.wait_until(lambda: not self.jobs())


def describe(values):
    quartiles = statistics.quantiles(values, n=4)
    return f"{statistics.median(values):8.1f} [{quartiles[0]:.1f} .. {quartiles[2]:.1f}]"


def show(name, unit, values, others, goal=None):
    """`goal`: of tony's median; without one tony has to be ahead of the other. Rates ("/s") are to be high."""
    own, other = statistics.median(values), statistics.median(others)
    least = goal if goal is not None else other
    met = own >= least if unit == "/s" else own <= least
    sign = ">=" if unit == "/s" else "<="
    wanted = f"{sign} {goal}" if goal is not None else f"{sign} the other's"
    print(f"{name:44} {unit:3} {describe(values):28} {describe(others):28} {wanted:14} {'met' if met else 'missed'}",
          flush=True)


def pairs(runs, own, other):
    """The values of both; each takes its turn in going first."""
    values = {own: [], other: []}
    for run in range(runs):
        for measure in (own, other) if run % 2 else (other, own):
            values[measure].append(measure())
    return values[own], values[other]


def per_second(count, function):
    return 1000 * count / bench.timed(lambda: [function() for _ in range(count)])


def until_first(place, start):
    """ms until the first of the programs that `start` runs has written when it began."""
    directory = tempfile.mkdtemp(dir=place)
    begun = time.time()
    start(directory)
    stamps = [float(Path(directory, name).read_text(encoding="ascii")) for name in os.listdir(directory)]
    return (min(stamps) - begun) * 1000


def stamp(directory):
    return "bash", "-c", f"echo $EPOCHREALTIME > {directory}/stamp"


def all_done(place, submit):
    """Jobs a second, from the first submission until none is left."""
    def run():
        for _ in range(QUEUED):
            submit()
        bench.wait_until(lambda: not place.jobs())
    return 1000 * QUEUED / bench.timed(run)


def show_slurm(tony, peer, runs):
    show("typed -> first process, 1 task", "ms",
         *pairs(runs, lambda: until_first(tony.path, lambda place: tony.run_tasks(1, *stamp(place))),
                lambda: until_first(tony.path, lambda place: peer.run_tasks(1, *stamp(place)))), goal=25)
    show("jobs one after the other (srun)", "/s",
         *pairs(runs, lambda: per_second(SERIES, lambda: tony.run_tasks(1, "true")),
                lambda: per_second(SERIES, lambda: peer.run_tasks(1, "true"))), goal=30)
    show("8 no-op tasks, typed -> returned (srun -n8)", "ms",
         *pairs(runs, lambda: bench.timed(lambda: tony.run_tasks(8, "true")),
                lambda: bench.timed(lambda: peer.run_tasks(8, "true"))))
    show(f"{QUEUED} jobs submitted and done (sbatch)", "/s",
         *pairs(3, lambda: all_done(tony, lambda: tony.submit_one("true")),
                lambda: all_done(peer, lambda: peer.submit_one("true"))))


def show_queue(tony, peer, runs):
    """One job has the whole machine, and all others wait."""
    tony.hold()
    peer.hold()
    show("detached submissions (sbatch)", "/s",
         *pairs(LISTED // BURST, lambda: per_second(BURST, lambda: tony.submit_one("true")),
                lambda: per_second(BURST, lambda: peer.submit_one("true"))), goal=170)
    show(f"list with {LISTED} jobs that wait (squeue)", "ms",
         *pairs(3 * runs, lambda: bench.timed(lambda: tony.tony("list")), lambda: bench.timed(lambda: peer.run("squeue"))), goal=8)
    tony.clear()
    peer.clear()


def show_torchrun(tony, runs):
    program = os.path.join(tony.path, "stamp.py")
    Path(program).write_text(PROGRAM, encoding="ascii")

    def torchrun(place):
        done = subprocess.run([*bench.torchrun_command(tony, SLOTS), program, place], env=tony.env, capture_output=True,
                              text=True, timeout=300)
        if done.returncode != 0:
            sys.exit(f"bench: torchrun: {done.stdout}{done.stderr}")

    def own(place):
        tony.run_tasks(SLOTS, bench.PYTHON, program, place, framework="pytorch")
    show("8 processes, typed -> first one (torchrun)", "ms",
         *pairs(runs, lambda: until_first(tony.path, own), lambda: until_first(tony.path, torchrun)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    bench.PATIENCE_S = 600  # Slurm starts some three queued jobs a second
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: told to end"))
    tony = Tony()
    try:
        with slurm.Slurm(SLOTS, MEMORY_MIB) as peer:
            print(f"{bench.describe_machine()}\n{peer.run('srun', '--version').strip()}\n")
            print(f"{'':44} {'':3} {'tony: median [quartiles]':28} {'the other':28} {'goal':14}")
            show_slurm(tony, peer, runs)
            show_torchrun(tony, min(runs, 5))
            show_queue(tony, peer, runs)
    finally:
        tony.clear()
        tony.close()


if __name__ == "__main__":
    main()
