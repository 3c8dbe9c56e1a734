"""Runs parts side by side while there are cores for them, and reports their results.

A part that keeps a core busy runs beside one that mostly waits; a build has the machine to itself. Parts that run
side by side write to files in build-tests/. The file of a part that failed is shown when it has ended.
"""

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import time

import part_process
from table import ROOT

REPORTS = ROOT / "build-tests"
PROGRESS_S = 30
SHOWN_TESTS = 50   # of the failed ones of a part
LIMIT_BUDGETS, LEAST_LIMIT_S = 6, 15 * 60   # a part that runs for so many of its budgets hangs
SPARE_CORES = 0.5   # given out beyond those of the machine, since every part waits at times


class Run:
    """A part that runs, ran, or cannot: until it has ended well its result is that nothing could be tried."""

    def __init__(self, part, to_terminal):
        self.part, self.start, self.to_terminal = part, time.monotonic(), to_terminal
        self.limit_s = max(LEAST_LIMIT_S, 60 * part.minutes * LIMIT_BUDGETS)
        self.log = REPORTS / f"{part.name}.log"
        self.report = REPORTS / f"{part.name}.json"
        self.result = {"passed": 0, "failed": [part.name], "broken": True, "wall": 0, "cpu": 0}

    def begin(self, selection):
        self.report.unlink(missing_ok=True)
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.become_part(selection)
            finally:
                os._exit(1)   # whatever happens, this process never goes on as another engine

    def become_part(self, selection):
        os.setsid()   # an interrupt of the terminal's reaches the part once, through the engine
        if not self.to_terminal:
            output = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            os.dup2(output, 1)
            os.dup2(output, 2)
        part_process.main(self.part, selection, REPORTS)

    def finish(self):
        if self.report.exists():
            self.result = json.loads(self.report.read_text(encoding="utf-8"))

    def is_good(self):
        return not self.result["failed"]

    def count(self):
        """How many tests have ended so far, where that is known."""
        tests = REPORTS / f"{self.part.name}.tests"
        return f" {len(tests.read_bytes().splitlines())} tests" if self.part.kind == "pytest" and tests.exists() else ""


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def say(text):
    """A reader that has gone, or a full disk, ends the run as an interrupt does."""
    try:
        print(text, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise KeyboardInterrupt from error


class Engine:
    def __init__(self, selection):
        self.selection = selection
        self.start = time.monotonic()
        self.capacity = os.cpu_count() + SPARE_CORES
        self.running, self.done = {}, []

    def run(self, parts):
        """Runs {name: part}, which must hold all that its parts need; returns Runs in the order of their ends."""
        waiting = dict(parts)
        to_terminal = sum(part.kind != "ninja" for part in parts.values()) <= 1
        try:
            while waiting or self.running:
                self.start_some(waiting, to_terminal)
                self.wait()
        except KeyboardInterrupt:
            self.interrupt()
            raise
        return self.done

    def start_some(self, waiting, to_terminal):
        for name, part in list(waiting.items()):
            unfinished = {*waiting, *(run.part.name for run in self.running.values())}
            broken = [run.part.name for run in self.done if run.part.name in part.after and not run.is_good()]
            if broken:
                del waiting[name]
                self.done.append(Run(part, to_terminal))
                say(f"{'':6}  {name}: not run, since {', '.join(broken)} failed")
            elif not unfinished.intersection(part.after) and self.has_room(part):
                del waiting[name]
                say(f"{clock(time.monotonic() - self.start):>6}  {name}: {part.promise}")
                run = Run(part, to_terminal)
                run.begin(self.selection(part))
                self.running[run.pid] = run

    def has_room(self, part):
        load = sum(run.part.cores for run in self.running.values())
        return not self.running or load + part.cores <= self.capacity

    def wait(self):
        """Waits for the end of one part, and reports progress now and then."""
        told = time.monotonic()
        while self.running:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid:
                self.end(self.running.pop(pid))
                return
            self.interrupt_hung()
            if time.monotonic() - told > PROGRESS_S:
                told = time.monotonic()
                words = [f"{run.part.name} {clock(told - run.start)}{run.count()}" for run in self.running.values()]
                say(f"{clock(told - self.start):>6}  ... {', '.join(words)}")
            time.sleep(0.05)

    def interrupt_hung(self):
        for pid, run in self.running.items():
            if time.monotonic() - run.start > run.limit_s:
                say(f"{run.part.name}: does not end, interrupted after {clock(run.limit_s)}")
                run.limit_s = math.inf
                os.kill(pid, signal.SIGTERM)

    def end(self, run):
        run.finish()
        self.done.append(run)
        result = run.result
        failed = len(result["failed"])
        say(f"{clock(time.monotonic() - self.start):>6}  {run.part.name}: {result['passed']} passed, {failed} failed, "
            f"{clock(result['wall'])}, {clock(result['cpu'])} of CPU")
        if failed and not run.to_terminal:
            say(f"== {run.log}")
            subprocess.run(["tail", "-n", "400", run.log], check=False)
            say("== the end of it")

    def interrupt(self):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for pid in self.running:
            os.kill(pid, signal.SIGTERM)
        with contextlib.suppress(KeyboardInterrupt):
            say("interrupted: the tests clean up; the log of each part is in build-tests/")
        for pid in self.running:
            os.waitpid(pid, 0)


def print_table(runs, seconds):
    """Each part's results, its wall and CPU time, and its wall time's budget."""
    say(f"\n{'part':22} {'passed':>7} {'failed':>7} {'wall':>7} {'CPU':>7} {'cores':>6} {'budget':>7}")
    for run in sorted(runs, key=lambda run: -run.result["wall"]):
        row, part = run.result, run.part
        over = "  over its budget" if row["wall"] > 60 * part.minutes else ""
        cores = row["cpu"] / row["wall"] if row["wall"] else 0
        say(f"{part.name:22} {row['passed']:7} {len(row['failed']):7} {clock(row['wall']):>7} {clock(row['cpu']):>7} "
            f"{cores:6.1f} {clock(60 * part.minutes):>7}{over}")
    cpu = sum(run.result["cpu"] for run in runs)
    say(f"{'together':22} {'':7} {'':7} {clock(seconds):>7} {clock(cpu):>7} {cpu / max(seconds, 1):6.1f}")


def keep_failed(runs, verb, is_whole):
    """Prints the failed tests of each part, and keeps them, with its lane, until the part runs as a whole, or they do."""
    failed = {run.part.name: {"lane": run.part.lane, "tests": run.result["failed"]} for run in runs if not run.is_good()}
    tried = {run.part.name for run in runs if is_whole and not run.result.get("broken")}
    kept = {name: row for name, row in read_failed(verb).items() if name not in tried}
    for name, row in failed.items():
        before = kept.get(name, {"tests": []})["tests"]
        kept[name] = {**row, "tests": before if before and row["tests"] == [name] else sorted({*before, *row["tests"]})}
    (REPORTS / f"failed-{verb}.json").write_text(json.dumps(kept), encoding="utf-8")
    for name, row in failed.items():
        say(f"\nfailed of {name}:")
        for test in row["tests"][:SHOWN_TESTS]:
            say(f"  {test}")
    return failed


def read_failed(verb):
    try:
        rows = json.loads((REPORTS / f"failed-{verb}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: row for name, row in rows.items() if isinstance(row, dict)}
