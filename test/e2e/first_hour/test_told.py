"""A new user is told the right reason, exit code and remedy. The ids are those of the table of inputs."""

import pytest
from rows import run_row

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
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_row(tony, row):
    run_row(tony, row)
