"""tony runs distributed machine-learning jobs. This package submits them from Python, looks at them, and orders them about:

    import tony
    job = tony.submit("train.py", "--epochs", "3", framework="pytorch", workers=4, gpus=1)
    for line in job.logs(follow=True):
        print(line.task, line)
    job.wait()

All of it stands on the program `tony`, which the wheel has, too: `python -m tony` is that program. Within a task `tony.task` tells
which one it is. docs/python.md is the guide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tony import aio, data, task
from tony._call import environment, program
from tony._cluster import DaskCluster
from tony._errors import (
    BadSubmission,
    Denied,
    FunctionError,
    JobFailed,
    JobKilled,
    NotFound,
    NotInstalled,
    TaskError,
    TonyError,
    Unreachable,
    WaitTimeout,
)
from tony._job import Array, Job, jobs, submit
from tony._live import attach
from tony._model import Cause, Event, LogLine, Metrics, Point, Status, Task, TaskChange
from tony._program import find_program
from tony._submit import Options
from tony._version import __version__

if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "Array", "BadSubmission", "Cause", "DaskCluster", "Denied", "Event", "FunctionError", "Job", "JobFailed", "JobKilled", "LogLine",
    "Metrics", "NotFound", "NotInstalled", "Options", "Point", "Status", "Task", "TaskChange", "TaskError", "TonyError", "Unreachable",
    "WaitTimeout", "__version__", "aio", "attach", "data", "environment", "find_program", "jobs", "program", "submit", "task",
]


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext tony` in a notebook: cells that begin with `%%tony` run as jobs (docs/notebooks.md)."""
    from tony._magic import load

    load(shell)
