"""A Dask cluster as a job, for a program that runs elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional, Type

from tony import _submit, _verbs
from tony._call import second_to_it
from tony._job import Job, submit
from tony._model import Status
from tony._submit import Options

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Unpack

_IDLE = "-c 'import signal; signal.pause()'"  # the job's driver: the program that connects is elsewhere


def _runs(status: Status) -> bool:
    return all(task.state == "running" for task in status.tasks)


class DaskCluster:
    """A Dask cluster to which this process connects: a notebook that scales out.

        with tony.DaskCluster(workers=4, memory="4g") as cluster:
            client = distributed.Client(cluster.address)

    It is a job of the framework "dask"; options are those of `submit()`. It ends with the block, with close(), or with the job.
    """

    @_submit.has_options
    def __init__(self, **options: Unpack[Options]) -> None:
        """Returns when all workers run. JobFailed: they cannot. An interruption leaves no job."""
        given: Dict[str, Any] = {"name": "dask-cluster", **options, "framework": "dask"}
        python = given.pop("python", None)
        if "python_binary_path" not in given:
            arguments, env = _submit.words(given)
            found = python or _submit.find_python(given, arguments, env)
            given["python_binary_path"] = found[len("venv/"):] if found.startswith("venv/") else found
        self.job: Job = submit(None, executes=_IDLE, **given)
        try:
            status = self._await_workers()
        except BaseException:
            self.close()
            raise
        scheduler = status.task("scheduler:0")
        self.address: str = f"tcp://{scheduler.host}:{scheduler.raw['port']}"

    def _await_workers(self) -> Status:
        status = self.job.status()
        for _ in self.job.changes(follow=True):
            status = self.job.status()
            if _runs(status) or status.ended:
                break
        return _verbs.check(status) if status.ended else status

    def __repr__(self) -> str:
        return f"<tony.DaskCluster {self.address} of {self.job.id}>"

    def close(self) -> None:
        """Ends the job."""
        with second_to_it():
            self.job.kill("the cluster was closed")

    def __enter__(self) -> DaskCluster:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()
