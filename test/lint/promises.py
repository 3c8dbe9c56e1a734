"""The promises of the documents, each with a test in the fast lane.

A document declares a promise by an id in square brackets. A test names the ids that it guards:

    @pytest.mark.promise("R3", "S1")    on a Python test
    /* promise: R3 S1 */                directly above a test function in C
    // promise: S3                      directly above test( in JavaScript

The fast lane has the parts that test/lanes.toml gives it, less the Python tests that are marked `slow`. Prints one line for each
offence and exits 1 if there was any. `promises.py --list` prints which tests guard which promise.
"""

import argparse
import contextlib
import dataclasses
import io
import multiprocessing
import os
import re
import sys

import pytest

from tree import ROOT, read, tracked

sys.path.append(os.path.join(ROOT, "test/lanes"))
import table  # noqa: E402

DOCUMENTS = {"R": "docs/reliability.md", "S": "SECURITY.md", "T": "docs/migrating.md", "P": "docs/python.md"}  # by the ids' letter
MOST = 3  # promises of one test
MARK = re.compile(r"(?:/\*|//) promise: (.+?)(?: \*/)?")
C_TEST = re.compile(r"static void (\w+)\(void \*\*")
C_TABLE = re.compile(r"struct CMUnitTest \w+\[\d*\] = \{(.*?)\};", re.DOTALL)
SCRIPT_TEST = re.compile(r"test\((['\"`])(.+?)\1,")


@dataclasses.dataclass(frozen=True)
class Test:
    name: str  # file::function
    ids: tuple
    is_slow: bool = False


def declared_promises():
    """{id: [places]}, in the order of the documents."""
    places = {}
    for letter, path in DOCUMENTS.items():
        for number, line in enumerate(read(path).splitlines(), 1):
            for promise in re.findall(rf"\[({letter}\d+)\]", line):
                places.setdefault(promise, []).append(f"{path}:{number}")
    return places


class Collector:
    """A plugin that keeps what pytest has collected. Of a test's parameters only the marks count."""

    def __init__(self):
        self.tests = {}

    def pytest_collection_finish(self, session):
        self.add(session.items, is_slow=False)

    def pytest_deselected(self, items):
        self.add(items, is_slow=True)

    def add(self, items, is_slow):
        for item in items:
            name = f"{item.path.relative_to(ROOT)}::{item.originalname}"
            ids = dict.fromkeys(promise for mark in item.iter_markers("promise") for promise in mark.args)
            if ids:
                self.tests[Test(name, tuple(ids), is_slow)] = True


def collect_part(part):
    """(tests, offences), as of the other readers, of what the fast lane runs. In a process of its own, and without the path of this script: suites
    share names of modules, with each other and with the scripts here."""
    collector = Collector()
    sys.path.remove(os.path.dirname(os.path.abspath(__file__)))
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(said):
        code = pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", "-m", part.mark, *part.what],
                           plugins=[collector])
    offences = [] if code == 0 else [f"{part.name}: pytest cannot collect it:\n{said.getvalue()}"]
    return list(collector.tests), offences


def collect_parts(parts):
    with multiprocessing.Pool(len(parts), maxtasksperchild=1) as pool:
        return pool.map(collect_part, parts, chunksize=1)


def read_marks(path, find_test):
    """`find_test` makes the test's name of the line below a mark, or None."""
    tests, offences = [], []
    lines = read(path).splitlines()
    for number, line in enumerate(lines, 1):
        if mark := MARK.fullmatch(line):
            name = find_test("".join(lines[number:number + 1]))
            if name:
                tests.append(Test(f"{path}::{name}", tuple(mark[1].split())))
            else:
                offences.append(f"{path}:{number}: no test that runs stands directly below the mark")
    return tests, offences


def read_c(path):
    """A test runs when a table of its file lists it, by its name or by what a macro puts `test_` before."""
    text = read(path)
    prefixes = ["", *re.findall(r"(\w+)##", text)]
    listed = {prefix + word for table in C_TABLE.findall(text) for word in re.findall(r"\w+", table)
              for prefix in prefixes}

    def find_test(line):
        found = C_TEST.match(line)
        return found and found[1] in listed and found[1]
    return read_marks(path, find_test)


def read_script(path):
    def find_test(line):
        found = SCRIPT_TEST.match(line)
        return found and found[2]
    return read_marks(path, find_test)


def read_tests():
    os.chdir(ROOT)
    fast = table.read()["fast"].values()
    answers = collect_parts([part for part in fast if part.kind == "pytest"])
    if any(part.kind == "meson" and part.what == "unit" for part in fast):
        answers += map(read_c, tracked("test/unit/*.c"))
    if any(part.kind == "node" for part in fast):
        answers += map(read_script, tracked("test/web/*.mjs"))
    return [test for tests, _ in answers for test in tests], [line for _, lines in answers for line in lines]


def check_documents(places, tests):
    guarded = {promise for test in tests if not test.is_slow for promise in test.ids}
    for promise, (first, *others) in places.items():
        for place in others:
            yield f"{place}: [{promise}] is declared at {first}, too"
        if promise not in guarded:
            yield f"{first}: [{promise}] has no test in the fast lane"


def check_tests(places, tests):
    for test in tests:
        if len(test.ids) > MOST:
            yield f"{test.name}: guards {len(test.ids)} promises (at most {MOST})"
        for promise in test.ids:
            if promise not in places:
                yield f"{test.name}: no document declares [{promise}]"


def print_list(places, tests):
    for promise in places:
        names = [f"{test.name}{' (slow)' if test.is_slow else ''}" for test in tests if promise in test.ids]
        for name in names or ["-"]:
            print(f"{promise:4} {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the tests of each promise instead")
    chosen = parser.parse_args()
    places = declared_promises()
    tests, offences = read_tests()
    if chosen.list:
        print_list(places, tests)
    else:
        offences += [*check_documents(places, tests), *check_tests(places, tests)]
    for offence in offences:
        print(offence)
    print(f"{len(places)} promises, {len(tests)} tests that guard them, {len(offences)} offences")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
