"""Chooses parts of test/lanes.toml and runs them, for ./dev test and ./dev lint."""

import argparse
import signal
import sys
import time

import engine
from kinds import Wish
from table import read

EXIT_FAILED, EXIT_USAGE, EXIT_NOT_BUILT = 1, 2, 3


def parse(arguments):
    parser = argparse.ArgumentParser(prog="./dev test", description="Tests; without PART, those of the fast lane.",
                                     epilog="Parts, what each promises and how long it may take: test/lanes.toml")
    parser.add_argument("parts", metavar="PART", nargs="*")
    parser.add_argument("--all", action="store_true", help="everything that belongs to this project")
    parser.add_argument("--long", metavar="NAME", help="what is heavier still, by name; \"list\": the names")
    parser.add_argument("-k", metavar="NAME", default="", help="only tests with NAME in their name (pytest: -k)")
    parser.add_argument("--failed", action="store_true", help="only the tests that failed when their part ran last")
    parser.add_argument("--seconds", type=int, help="for which each fuzz target runs")
    parser.add_argument("--lint", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def refuse(message):
    print(f"./dev test: {message}", file=sys.stderr)
    sys.exit(EXIT_USAGE)


def lane_of(chosen, lanes):
    if chosen.long:
        if chosen.long not in lanes["long"]:
            refuse(f"no long test \"{chosen.long}\"; there are: {' '.join(lanes['long'])}")
        chosen.parts = [chosen.long]
        return {**lanes["all"], **lanes["long"]}
    return lanes["lint" if chosen.lint else "all" if chosen.all or chosen.failed else "fast"]


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
    lane = lane_of(chosen, lanes)
    only = engine.read_failed(verb(chosen)) if chosen.failed else {}
    if chosen.failed and not only:
        refuse("nothing failed in the last run of any part")
    names = chosen.parts or list(only) or [name for name, part in lane.items() if not is_helper(part)]
    unknown = [name for name in names if name not in lane]
    if unknown:
        elsewhere = sorted(other for other in lanes if unknown[0] in lanes[other])
        refuse(f"no part \"{unknown[0]}\" here" + (f", but in the lane \"{elsewhere[0]}\"" if elsewhere else "")
               + f"; there are: {' '.join(name for name in lane if not is_helper(lane[name]))}")
    if chosen.seconds:
        lane["fuzz"].seconds = chosen.seconds
    return with_needs(names, lane), lambda part: Wish(chosen.k, nameable(part, only.get(part.name, [])), chosen.all)


def verb(chosen):
    return "lint" if chosen.lint else "test"


def nameable(part, tests):
    """The failed tests of a part, if each can be run by its name; else none, which means the whole part."""
    return [] if {part.name, "pytest", "left behind"} & set(tests) else tests


def main(arguments):
    chosen = parse(arguments)
    lanes = read()
    if chosen.long == "list":
        print(*(f"{name:22} {part.promise}" for name, part in lanes["long"].items() if not is_helper(part)), sep="\n")
        return 0
    engine.REPORTS.mkdir(exist_ok=True)
    parts, wish = choose(chosen, lanes)
    start = time.monotonic()
    runs = engine.Engine(wish).run(parts)
    engine.print_table(runs, time.monotonic() - start)
    failed = engine.keep_failed(runs, verb(chosen))
    tests = [run.result for run in runs if not is_helper(run.part) or failed.get(run.part.name) or chosen.lint]
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
