"""A new user is told the right reason, exit code and remedy. The ids are those of the table of inputs."""

import pytest
from program import PYTHON
from rows import run_row

NO_RANK = 'raise ValueError("environment variable RANK expected, but not set")'
WARNS = 'import atexit, warnings; atexit.register(warnings.warn, "leaked"); raise ValueError("no data")'
WARNING_LAST = 'import sys, warnings; warnings.warn("the old API is deprecated"); sys.exit(1)'
XML = "echo '<configuration><property><name>%s</name><value>%s</value></property></configuration>' >tony.xml"

ROWS = [
    ("3.2 verbs", "for verb in ps run stop delete top rm resume rerun; do tony $verb x; done", 2,
     ["did you mean tony list?", "did you mean tony submit?", "did you mean tony kill?",
      "did you mean tony kill, or tony history --prune?", "did you mean tony status JOB?",
      "did you mean tony submit --conf tony.application.checkpoint-dir=DIR?"], []),
    ("3.2 workers", "for word in --num-workers --np -np -n; do tony submit $word 2 -- true; done", 2,
     ["--num-workers; did you mean --workers?", " -np; did you mean --workers?", " -n; did you mean --workers?"], []),
    ("3.2 processes", "tony submit --nproc-per-node=2 -- true", 2, ["did you mean --processes?"], []),
    ("3.2 lines", "tony logs --lines 3", 2, ["did you mean --tail?"], []),
    ("2.15", "tony submit --dry-run -- true", 2, ["did you mean tony check, or tony render?"], []),
    ("3.19", f"tony submit --workers 2 -- {PYTHON} -c '{NO_RANK}'", 1,
     ["no framework is named: generic is taken", "try: add --framework pytorch"], []),
    ("3.19 file", f"{XML % ('tony.worker.instances', 2)}; tony submit --executes true", 0,
     ["no framework is named: tensorflow is taken"], []),
    ("3.27", 'tony submit -- "echo hello world"', 2,
     ["is one word", "write -- echo hello world, or --executes 'echo hello world'"], []),
    ("3.27 pipe", 'tony submit -- "a | b"', 2, ["write --executes 'a | b'"], ["-- a | b"]),
    ("3.27 empty", 'tony submit -- ""', 2, ["the program after -- is empty"], []),
    ("3.36", "tony submit --type Worker=1 -- true", 3, ['"Worker" is not', "write a lower-case letter"], []),
    ("3.36 reserved", "tony submit --type am=1 -- true", 3, ["keys tony.am.* are of something else"], []),
    ("3.36 number", "tony submit --type worker -- true", 3, ["write --type worker=1"], []),
    ("3.43 traceback", f"tony submit -- {PYTHON} -W always -c '{WARNS}'", 1,
     ["exited with code 1: ValueError: no data"], []),
    ("3.46", f"tony submit -- {PYTHON} -c '{WARNING_LAST}'", 1, ["exited with code 1\n"], ["code 1: "]),
    ("3.46 signal", "tony submit --executes 'echo warn 10 >&2; kill -9 $$'", 1, ["(SIGKILL)"], ["SIGKILL): "]),
    ("2.13", "tony submit --timeout 3s --workers 3 --executes 'test $TONY_TASK_INDEX != 1 || sleep 99'", 1,
     ["; worker:1 still ran"], []),
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_row(tony, row):
    run_row(tony, row)
