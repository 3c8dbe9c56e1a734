"""How a part of each kind is run: one function for each kind, run_KIND(part, selection, reports).

A function gets the part, the tests that are wanted (`Selection`) and the folder for its reports. It writes for people to
stdout and returns a Result. A skipped test counts as failed.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from table import ROOT

PYTHON = "/usr/bin/python3"
PYTEST = "pytest"      # stands among the failed tests when pytest itself failed
NO_TEST = 5        # pytest's exit code
STACKS_AFTER_S = 600   # in one test pytest prints where it is: before its part is interrupted
CLEAN_UP_S = 120       # for an interrupted program to end by itself


@dataclass
class Selection:
    """The tests of a part that are wanted: all, those with `name` in their name, or `only` those of these names."""

    name: str = ""
    only: list = field(default_factory=list)
    everything: bool = False   # also files that are known to be good: `--all`

    def takes(self, test):
        return test in self.only if self.only else self.name in test


@dataclass
class Result:
    passed: int = 0
    failed: list = field(default_factory=list)   # names, which Selection.only takes
    broken: bool = False                         # nothing could be tried: the build failed


def call(*command, env=None, **options):
    """Runs a program. After an interrupt, waits CLEAN_UP_S for its cleanup, then kills it."""
    with subprocess.Popen(list(map(str, command)), cwd=ROOT, env={**os.environ, **(env or {})},
                          stdin=subprocess.DEVNULL, **options) as process:
        try:
            output, _ = process.communicate()
        except KeyboardInterrupt:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(CLEAN_UP_S)
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, output)


def run_ninja(part, selection, reports):
    """Configures what is not configured so, and builds."""
    options = dict(part.what)
    compiler = options.pop("compiler")
    directory = ROOT / part.directory
    arguments = [f"-D{key}={str(value).lower()}" for key, value in options.items()]
    if not (directory / "build.ninja").exists():
        configuring = ["meson", "setup", directory, *arguments]
    elif not is_built_with(directory, compiler):
        configuring = ["meson", "setup", "--wipe", directory, *arguments]
    elif is_configured(directory, options):
        configuring = ["true"]
    else:
        configuring = ["meson", "configure", directory, *arguments]
    done = call(*configuring, env={"CC": compiler_command(compiler)}, text=True, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT)
    if done.returncode != 0:
        print(done.stdout)
    elif call("ninja", "-C", directory).returncode == 0:
        return Result(1)
    return Result(0, [part.name], broken=True)


def is_configured(directory, options):
    listing = call("meson", "introspect", directory, "--buildoptions", stdout=subprocess.PIPE)
    there = {option["name"]: option["value"] for option in json.loads(listing.stdout)}
    return all(there.get(name) == value for name, value in options.items())


def is_built_with(directory, compiler):
    rules = (directory / "build.ninja").read_text(encoding="utf-8")
    found = re.search(r"^rule c_COMPILER\n command = (?:\S*ccache )?(\S+)", rules, re.MULTILINE)
    return found is not None and Path(found[1]).name == compiler


def compiler_command(compiler):
    """With ccache, where it is installed: ./dev makes it hit from a clone at another path."""
    return f"ccache {compiler}" if shutil.which("ccache") else compiler


def run_meson(part, selection, reports):
    directory = ROOT / part.directory
    listing = call("meson", "introspect", directory, "--tests", stdout=subprocess.PIPE)
    names = [test["name"] for test in json.loads(listing.stdout)
             if ("sim" in map(bare, test["suite"])) == (part.what == "sim") and selection.takes(test["name"])]
    if not names:
        return Result()
    env = {"UBSAN_OPTIONS": "print_stacktrace=1", "MESON_TESTTHREADS": str(part.workers)}
    slower = 2 if "asan" in part.directory else 1
    log = directory / f"meson-logs/{part.name}.json"   # parts of one build run side by side
    log.unlink(missing_ok=True)
    done = call("meson", "test", "-C", directory, "--no-rebuild", "--print-errorlogs", "--timeout-multiplier", slower,
                "--logbase", part.name, *names, env=env)
    rows = map(json.loads, log.read_text(encoding="utf-8").splitlines()) if log.exists() else ()
    results = {row["name"].rpartition(" / ")[2]: row["result"] for row in rows}
    failed = [name for name in names if results.get(name) != "OK"]
    if done.returncode != 0 and not failed:
        failed = [part.name]
    return Result(len(names) - len(failed), failed)


def bare(suite):
    """Meson puts the project's name before it."""
    return suite.rpartition(":")[2]


def run_pytest(part, selection, reports):
    report = reports / f"{part.name}.tests"
    report.unlink(missing_ok=True)
    options = ["-q", "-p", "no:cacheprovider", "-p", "pytest_report", "-o", f"faulthandler_timeout={STACKS_AFTER_S}",
               "-n", min(part.workers, len(selection.only) or part.workers)]
    if part.mark:
        options += ["-m", part.mark]
    if selection.name:
        options += ["-k", selection.name]
    done = call(PYTHON, "-m", "pytest", *options, *(selection.only or part.what),
                env={**part.env, "TONY_BUILD": str(ROOT / part.directory), "TONY_TEST_REPORT": str(report),
                     "PYTHONPATH": str(Path(__file__).parent)})
    result = read_report(report, done.returncode)
    if selection.only and result.passed + len(result.failed) < len(selection.only):
        print(f"{part.name}: not all of the failed tests are there any more: the whole part runs", flush=True)
        return run_pytest(part, Selection(selection.name), reports)
    return result


def read_report(report, code):
    """Without a failed test pytest may still have failed: at its own start, or at its end."""
    lines = report.read_text(encoding="utf-8").splitlines() if report.exists() else []
    told = {row["test"]: row["good"] for row in map(json.loads, lines)}
    failed = sorted(test for test, good in told.items() if not good)
    if not failed and code not in (0, NO_TEST):
        failed = [PYTEST]
    return Result(sum(told.values()), failed)


def run_node(part, selection, reports):
    files = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(part.what))
    chosen = ["--test-name-pattern", re.escape(selection.name)] if selection.name else []
    if not files:
        return Result()
    done = call("node", "--test", "--test-reporter=tap", *chosen, *files, stdout=subprocess.PIPE, text=True)
    passed = count_tap(done.stdout, "pass")
    failed = re.findall(r"^not ok \d+ - (.*)", done.stdout, re.MULTILINE)
    if not selection.name:
        failed += re.findall(r"^ *ok \d+ - (.*) # (?:SKIP|TODO)", done.stdout, re.MULTILINE)
    if failed or done.returncode:
        print("\n".join(line for line in done.stdout.splitlines() if not re.match(r" *(ok|# Sub)", line)))
    return Result(passed, failed or (["node"] if done.returncode else []))


def count_tap(text, what):
    found = re.search(rf"^# {what} (\d+)", text, re.MULTILINE)
    return int(found[1]) if found else 0


def run_fuzz(part, selection, reports):
    """Each target replays its corpus, then looks for `seconds` for more."""
    targets = [path.stem for path in sorted(ROOT.glob("test/fuzz/fuzz_*.c")) if selection.takes(path.stem)]
    with ThreadPoolExecutor(part.workers) as pool:
        good = list(pool.map(lambda target: fuzz(part, target), targets))
    failed = [target for target, is_good in zip(targets, good) if not is_good]
    return Result(len(targets) - len(failed), failed)


def fuzz(part, target):
    """New inputs stay in the build directory; a crash is kept, and its path printed."""
    name = target.removeprefix("fuzz_")
    directory = ROOT / part.directory
    found, log, corpus = directory / "corpus" / name, directory / f"{target}.log", ROOT / "test/fuzz/corpus" / name
    found.mkdir(parents=True, exist_ok=True)
    with open(log, "w", encoding="utf-8") as output:
        done = call(directory / "test/fuzz" / target, f"-max_total_time={part.seconds}", "-rss_limit_mb=2048",
                    "-timeout=10", f"-artifact_prefix={directory}/{target}-", "-print_final_stats=1",
                    found, corpus, stdout=output, stderr=output)
    text = log.read_text(encoding="utf-8", errors="replace")
    runs = int((re.search(r"stat::number_of_executed_units: *(\d+)", text) or [0, 0])[1])
    good = done.returncode == 0 and runs >= len(list(corpus.iterdir())) > 0
    if good:
        print(f"   ok   {target:22} {runs} runs", flush=True)
    else:
        print(f"   FAIL {target:22} {runs} runs, see {log}", *text.splitlines()[-40:], sep="\n", flush=True)
    return good


def run_command(part, selection, reports):
    if selection.name not in part.name:
        return Result()
    env = {**part.env, **({"TONY_LINT_ALL": "1"} if selection.everything else {})}
    good = call("bash", "-euo", "pipefail", "-c", part.what, env=env).returncode == 0
    return Result(1) if good else Result(0, [part.name])


RUN = {"ninja": run_ninja, "meson": run_meson, "pytest": run_pytest, "node": run_node, "fuzz": run_fuzz,
       "command": run_command}


def run(part, selection, reports):
    if part.before and call("bash", "-c", part.before).returncode != 0:
        return Result(0, [part.name], broken=True)
    result = RUN[part.kind](part, selection, reports)
    if not result.passed and not result.failed and not selection.name and not selection.only:
        print(f"{part.name}: no test ran")
        result.failed = [part.name]
    sys.stdout.flush()
    return result
