"""A pytest plugin: writes one line of JSON for each test as soon as it has ended, to the file $TONY_TEST_REPORT.

The name in it is a node id that pytest takes in the repository's root. A skipped test has failed.
"""

import json
import os


class Report:
    def __init__(self, config):
        self.folder = os.path.relpath(config.rootpath)
        self.file = open(os.environ["TONY_TEST_REPORT"], "w", encoding="utf-8")  # pylint: disable=consider-using-with
        self.phases = {}

    def pytest_runtest_logreport(self, report):
        """Is called for setup, call and teardown: with the third the test has ended."""
        phases = self.phases.setdefault(report.nodeid, [])
        phases.append((report.outcome, report.duration))
        if report.when not in ("setup", "call"):   # or xdist's word for a process of its that died
            self.tell(report, all(outcome == "passed" for outcome, _ in phases), sum(seconds for _, seconds in phases))

    def pytest_collectreport(self, report):
        if not report.passed:   # a module that is skipped, too
            self.tell(report, False, 0)

    def tell(self, report, good, seconds):
        test = os.path.normpath(os.path.join(self.folder, report.nodeid))
        print(json.dumps({"test": test, "good": good, "seconds": round(seconds, 2)}), file=self.file, flush=True)


def pytest_configure(config):
    if not hasattr(config, "workerinput"):   # of xdist's; the first process is told of all
        config.pluginmanager.register(Report(config))
