"""Promises broken on purpose: with each patch of test/mutants one promise does not hold, and its guard must fail.

A mutant is a change of one line of src/ or web/ that compiles. Its patch begins with three lines:

    Promise: S3                      the id of the promise that it breaks
    Guard: unit -k "net server"      the arguments of ./dev test for the tests that must fail
    Breaks: The AM takes any ...     what the programs do with it

The mutants are built and tested in a copy of the tracked files, which is removed at the end. Every guard must pass there
before the first mutant. Prints one line for each mutant and exits 1 if one of them was not killed. With --check it looks
only whether each patch still applies to the tree, and breaks a promise of a document, with which a test of its guard is
marked.
"""

import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
from promises import declared_promises, read_tests  # noqa: E402
from tree import ROOT, tracked  # noqa: E402

FAILED_TESTS = "build-tests/failed-test.json"  # of the copy's last runs
FOLDER = os.path.join(ROOT, "test/mutants")
MEMBERS = ("Promise", "Guard", "Breaks")
PASSED, FAILED, NOT_BUILT = 0, 1, 3  # exit codes of ./dev test
KILLED = "killed"
VERDICTS = {PASSED: "SURVIVED", FAILED: KILLED, NOT_BUILT: "DID NOT BUILD"}
TAIL_LINES = 40


@dataclass(frozen=True)
class Mutant:
    name: str
    patch: str
    promise: str
    guard: str
    breaks: str


def read_mutants():
    for name in sorted(name for name in os.listdir(FOLDER) if name.endswith(".patch")):
        path = os.path.join(FOLDER, name)
        with open(path, encoding="utf-8") as patch:
            head = dict(re.findall(r"^(\w+): (.+)$", patch.read().partition("\n--- ")[0], re.MULTILINE))
        yield Mutant(name.removesuffix(".patch"), path, *(head.get(member, "") for member in MEMBERS))


def apply(mutant, tree, *options):
    """Git's complaint; empty when the patch applies."""
    done = subprocess.run(["git", "apply", *options, mutant.patch], cwd=tree, capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def runs(guard, test):
    """Is that test one of the guard's? Meson's "am web" is test/unit/am/test_web.c."""
    part, *options = shlex.split(guard)
    folder = f"test/{part}/"
    name = test.name.removeprefix(folder).replace("/test_", " ").replace("_", " ")
    return test.name.startswith(folder) and not test.is_slow and "".join(options[-1:]).replace("_", " ") in name


def offences(mutant, promises, tests):
    if not (mutant.promise and mutant.guard and mutant.breaks):
        yield f"does not begin with {', '.join(MEMBERS)}"
    elif mutant.promise not in promises:
        yield f"no document declares [{mutant.promise}]"
    elif not any(mutant.promise in test.ids and runs(mutant.guard, test) for test in tests):
        yield f"no test of \"{mutant.guard}\" in the fast lane is marked with {mutant.promise}"
    with open(mutant.patch, encoding="utf-8") as patch:
        changes = re.findall(r"^([-+])(?:[-+]{2} [ab]/(.*))?", patch.read(), re.MULTILINE)
    if not all(path.startswith(("src/", "web/")) for _, path in changes if path):
        yield "changes another file than one of src/ or web/"
    if sorted(sign for sign, path in changes if not path) != ["+", "-"]:
        yield "changes more than one line"
    if trouble := apply(mutant, ROOT, "--check"):
        yield f"make the same change to the code of today: {trouble}"


def check(mutants):
    promises, (tests, found) = declared_promises(), read_tests()
    found += [f"{os.path.relpath(mutant.patch, ROOT)}: {offence}" for mutant in mutants
             for offence in offences(mutant, promises, tests)]
    print(*found, f"{len(mutants)} mutants, {len(found)} offences", sep="\n")
    return 1 if found else 0


def copy_tree(copy):
    for path in tracked():
        os.makedirs(os.path.dirname(os.path.join(copy, path)), exist_ok=True)
        shutil.copy2(os.path.join(ROOT, path), os.path.join(copy, path), follow_symlinks=False)


def run_guard(copy, guard):
    """(the exit code of ./dev test, what it said). An interrupt reaches the tests, which clean up."""
    process = subprocess.Popen(["./dev", "test", *shlex.split(guard)], cwd=copy, text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        said, _ = process.communicate()
    except BaseException:
        os.killpg(process.pid, signal.SIGINT)
        process.wait()
        raise
    return process.returncode, said


def try_mutant(copy, mutant):
    """(the verdict, what the guard said)"""
    if trouble := apply(mutant, copy):
        return "DOES NOT APPLY", trouble
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(copy, FAILED_TESTS))
    code, said = run_guard(copy, mutant.guard)
    if trouble := apply(mutant, copy, "--reverse"):
        raise RuntimeError(trouble)
    if code == FAILED and not failed_tests(copy):
        return "NO TEST FAILED", said
    return VERDICTS.get(code, f"GUARD EXITS WITH {code}"), said


def failed_tests(copy):
    """The names of tests that failed in the last run there: not a part as a whole, and not processes left behind."""
    with open(os.path.join(copy, FAILED_TESTS), encoding="utf-8") as file:
        failed = json.load(file)
    return [test for part, row in failed.items() for test in row["tests"] if test not in (part, "pytest", "left behind")]


def report(mutant, verdict, said, seconds):
    print(f"{verdict:8} {mutant.name:26} {mutant.promise:4} {mutant.guard}: {seconds:.0f} s", flush=True)
    if verdict != KILLED:
        print(mutant.breaks, *said.splitlines()[-TAIL_LINES:], sep="\n    ", flush=True)


def run(mutants):
    killed = 0
    with tempfile.TemporaryDirectory(prefix="tony-mutants-", ignore_cleanup_errors=True) as copy:
        copy_tree(copy)
        start = time.monotonic()
        without = {guard: run_guard(copy, guard) for guard in dict.fromkeys(mutant.guard for mutant in mutants)}
        print(f"built, and every guard tried without a mutant: {time.monotonic() - start:.0f} s", flush=True)
        for mutant in mutants:
            start = time.monotonic()
            code, said = without[mutant.guard]
            verdict = "GUARD FAILS WITHOUT IT"
            if code == PASSED:
                verdict, said = try_mutant(copy, mutant)
            report(mutant, verdict, said, time.monotonic() - start)
            killed += verdict == KILLED
    print(f"\n{killed} passed, {len(mutants) - killed} failed")
    return 0 if killed == len(mutants) else 1


def main():
    parser = argparse.ArgumentParser(prog="./dev test --mutants", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*", help="only these")
    parser.add_argument("--check", action="store_true", help="build nothing: look whether the patches still fit")
    chosen = parser.parse_args()
    mutants = [mutant for mutant in read_mutants() if not chosen.names or mutant.name in chosen.names]
    if len(mutants) < len(chosen.names):
        parser.error(f"test/mutants has no such patch: {' '.join(chosen.names)}")
    if chosen.check:
        return check(mutants)
    # A shell ignores SIGINT for what it starts in the background, and the tests would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return run(mutants)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
