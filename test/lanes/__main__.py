"""Chooses parts of test/lanes.toml and runs them, for ./dev test and ./dev lint."""

import argparse
import fcntl
import signal
import sys
import time

import engine
import kinds
import part_process
from kinds import Selection
from table import read

EXIT_FAILED, EXIT_USAGE, EXIT_NOT_BUILT = 1, 2, 3
VERB = "lint" if "--lint" in sys.argv else "test"


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog=f"./dev {VERB}", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Runs parts of test/lanes.toml; without PART, all of the lane.",
        epilog="-k takes an expression of pytest's for the parts that pytest runs, else a part of a name: of a test\n"
               "program (unit, sim), a test (web-logic), a fuzz target. ./dev test --mutants --help is a page of its own.\n"
               "Exit codes: 0 passed, 1 failed, 2 usage or no such test, 3 not built, 130 interrupted.")
    parser.add_argument("parts", metavar="PART", nargs="*")
    parser.add_argument("--all", action="store_true", help="everything that belongs to this project")
    parser.add_argument("--long", metavar="NAME", help="what is heavier still, by name; \"list\": the names")
    parser.add_argument("-k", metavar="NAME", default="", help="only tests with NAME in their name (pytest: -k)")
    parser.add_argument("--failed", action="store_true", help="only the tests that failed when their part ran last")
    parser.add_argument("--seconds", type=positive, help="for which each fuzz target runs")
    parser.add_argument("--lint", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def positive(text):
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"\"{text}\" is not a number of seconds; write 60")
    return int(text)


def refuse(message):
    print(f"./dev {VERB}: {message}", file=sys.stderr)
    sys.exit(EXIT_USAGE)


def lane_of(chosen, lanes):
    """The parts that can be chosen from, with the builds that they need."""
    if chosen.lint:
        return lanes["lint"]
    if chosen.long:
        return {**{name: part for name, part in lanes["all"].items() if is_helper(part)}, **lanes["long"]}
    return lanes["all" if chosen.all else "fast"]


def is_helper(part):
    """A build runs for the parts that need it, and is no test."""
    return part.kind == "ninja"


def with_needs(names, lane):
    """In the table's order, and what they need."""
    wanted = set()

    def want(name):
        if name not in wanted:
            wanted.add(name)
            for other in lane[name].after:
                want(other)

    for name in names:
        want(name)
    return {name: part for name, part in lane.items() if name in wanted}


def choose(chosen, lanes):
    """The lane's parts that are to be run, and what of each."""
    if chosen.failed:
        return choose_failed(chosen, lanes)
    lane = lane_of(chosen, lanes)
    names = chosen.parts + [chosen.long] * bool(chosen.long) or list_tests(lane)
    for name in names:
        if name not in (lanes["long"] if chosen.long else lane):
            refuse_name(name, lane, lanes)
    if chosen.seconds and "fuzz" in lane:
        lane["fuzz"].seconds = chosen.seconds
    return with_needs(names, lane), lambda part: Selection(chosen.k, everything=chosen.all)


def choose_failed(chosen, lanes):
    """Each failed part again as its lane had it, with the failed tests alone."""
    kept = engine.read_failed(VERB)
    failed = {name: row for name, row in kept.items()
              if name in (chosen.parts or kept) and name in lanes[row["lane"]]}
    if not failed:
        refuse("nothing failed in the last run of these parts" if chosen.parts else "nothing failed in the last run")
    lane = {**lanes["lint"], **lanes["all"], **{name: lanes[row["lane"]][name] for name, row in failed.items()}}
    return with_needs(failed, lane), \
        lambda part: Selection(chosen.k, nameable(part, failed.get(part.name, {}).get("tests", [])))


def list_tests(lane):
    return [name for name, part in lane.items() if not is_helper(part)]


def refuse_name(name, lane, lanes):
    elsewhere = {"lint": "./dev lint", "fast": "./dev test", "all": "./dev test --all", "long": "./dev test --long"}
    commands = [command for other, command in elsewhere.items() if name in lanes[other]]
    hint = f"; {commands[0]} {name} runs it" if commands else f"; there are: {' '.join(list_tests(lane))}"
    refuse(f"no part \"{name}\" here{hint}")


def lock():
    """One run at a time in a clone: two would share the build and the reports."""
    try:
        engine.REPORTS.mkdir(exist_ok=True)
        file = open(engine.REPORTS / "lock", "a", encoding="utf-8")  # closed with this process
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        refuse("another run uses this clone; wait for its end, or use a second clone")
    except OSError as error:
        refuse(f"cannot write {error.filename}: {error.strerror}")
    return file


def nameable(part, tests):
    """The failed tests of a part, if each can be run by its name; else none, which means the whole part."""
    return [] if {part.name, kinds.PYTEST, part_process.LEFT_BEHIND} & set(tests) else tests


def main(arguments):
    chosen = parse(arguments)
    lanes = read()
    if chosen.long == "list":
        print(*(f"{name:22} {part.promise}" for name, part in lanes["long"].items()), sep="\n")
        return 0
    held = lock()  # noqa: F841
    parts, selection = choose(chosen, lanes)
    start = time.monotonic()
    runs = engine.Engine(selection).run(parts)
    engine.print_table(runs, time.monotonic() - start)
    failed = engine.keep_failed(runs, VERB, is_whole=not chosen.k)
    tests = [run.result for run in runs
             if not is_helper(run.part) or run.part.name in {*failed, *chosen.parts} or chosen.lint]
    passed, bad = (sum(row["passed"] for row in tests), sum(len(row["failed"]) for row in tests))
    if not passed and not bad:
        print("\nthe tests that failed are not there any more" if chosen.failed else
              f"\nno test has \"{chosen.k}\" in its name")
        return EXIT_USAGE
    print(f"\n{passed} passed, {bad} failed")
    if any(row.get("broken") for row in tests):
        return EXIT_NOT_BUILT
    return EXIT_FAILED if bad else 0


if __name__ == "__main__":
    # The shell that starts this in the background may ignore SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
