"""`./dev fault`: one seed again, the first so many, or new ones for hours."""

import argparse
import concurrent.futures
import itertools
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import schedule

HERE = Path(__file__).resolve().parent
LIMIT_S = 300
SEEDS_OF_A_CLUSTER = 10
# A user who is not root is, in a namespace of users.
AS_ROOT = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
ENTER = ["unshare", *AS_ROOT, "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
AT_ONCE = 4


def in_world(program, *arguments, **options):
    """Its exit code is 0 when all promises were kept, its output tells."""
    return subprocess.run([*ENTER, sys.executable, HERE / program, *map(str, arguments)], text=True,
                          stderr=subprocess.STDOUT, **options)


def run(kind, seed, directory):
    return in_world("local_world.py", kind, seed, directory, stdout=subprocess.PIPE, timeout=LIMIT_S)


def run_in_passing(kind, seed):
    directory = tempfile.mkdtemp(prefix="tony-fault-")
    try:
        return seed, run(kind, seed, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def again(kind, seed):
    return f"again with: ./dev fault --kind {kind} --seed {seed}"


def run_all(kind, seeds):
    """Some at a time, until there are no more seeds."""
    good, bad = 0, []
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        running = {pool.submit(run_in_passing, kind, seed) for seed in itertools.islice(seeds, AT_ONCE)}
        while running:
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for seed, ran in (future.result() for future in done):
                if ran.returncode == 0:
                    good += 1
                else:
                    bad.append(seed)
                    print(f"{ran.stdout}\n{again(kind, seed)}\n", flush=True)
                running |= {pool.submit(run_in_passing, kind, seed) for seed in itertools.islice(seeds, 1)}
                if (good + len(bad)) % 50 == 0:
                    print(f"{good} schedules passed, {len(bad)} failed", flush=True)
    print(f"{good} schedules passed, {len(bad)} failed {bad or ''}")
    return 1 if bad else 0


def run_on_clusters(seeds):
    """One after the other; a cluster serves for some of them."""
    code = 0
    while batch := list(itertools.islice(seeds, SEEDS_OF_A_CLUSTER)):
        with tempfile.TemporaryDirectory(prefix="tony-fault-") as directory:
            code |= in_world("yarn_world.py", directory, *batch).returncode
    return code


def random_seeds(hours):
    end = time.monotonic() + hours * 3600
    while time.monotonic() < end:
        yield random.randrange(1 << 32)


def main():
    parser = argparse.ArgumentParser(prog="./dev fault", description=__doc__)
    parser.add_argument("--kind", choices=[*schedule.KINDS, "yarn"], default="any", help="of faults (default: any)")
    parser.add_argument("--seed", type=int, help="run this one, and tell all of it")
    parser.add_argument("--count", type=int, help="run so many, of seeds 1, 2, 3 ...")
    parser.add_argument("--hours", type=float, default=0.1, help="run new ones for so long (default: 0.1)")
    chosen = parser.parse_args()
    if chosen.kind == "yarn" and chosen.seed is not None:
        sys.exit(run_on_clusters(iter([chosen.seed])))
    if chosen.seed is not None:
        _, ran = run_in_passing(chosen.kind, chosen.seed)
        print(ran.stdout)
        sys.exit(ran.returncode)
    seeds = iter(range(1, chosen.count + 1)) if chosen.count else random_seeds(chosen.hours)
    sys.exit(run_on_clusters(seeds) if chosen.kind == "yarn" else run_all(chosen.kind, seeds))


if __name__ == "__main__":
    main()
