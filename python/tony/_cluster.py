"""A Dask cluster as a job, for a program that runs elsewhere."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple, Type

from tony import _submit, _verbs
from tony._call import Stream, second_to_it
from tony._errors import Unreachable
from tony._job import Job, submit
from tony._model import Status
from tony._submit import Options

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Unpack

_LOOK_S = 0.1  # between two looks at a port: no event tells that somebody listens there
_CONNECT_S = 30.0  # as Dask's clients
_IDLE = "-c 'import signal; signal.pause()'"  # the job's driver: the program that connects is elsewhere


def _runs(status: Status) -> bool:
    return all(task.state == "running" for task in status.tasks)


def _place(status: Status) -> Tuple[str, int]:
    scheduler = status.task("scheduler:0")
    return str(scheduler.host), int(scheduler.raw["port"])


def _answers(place: Tuple[str, int]) -> bool:
    """Whether somebody listens there by now. Unreachable: this machine will not come to know."""
    try:
        socket.create_connection(place, _CONNECT_S).close()
    except ConnectionRefusedError:
        return False
    except OSError as error:
        raise Unreachable(f"the scheduler's address {place[0]}:{place[1]} cannot be reached from here: {error}") from error
    return True


class DaskCluster:
    """A Dask cluster to which this process connects: a notebook that scales out.

        with tony.DaskCluster(workers=4, memory="4g") as cluster:
            client = distributed.Client(cluster.address)

    It is a job of the framework "dask"; options are those of `submit()`. It ends with the block, with close(), or with the job.
    """

    @_submit.has_options
    def __init__(self, **options: Unpack[Options]) -> None:
        """Returns when all workers run and the scheduler answers. JobFailed: they cannot. Unreachable: this machine does not reach it.

        An interruption leaves no job, and neither does a failure.
        """
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
        self.address: str = "tcp://{}:{}".format(*_place(status))

    def _await_workers(self) -> Status:
        with contextlib.closing(Stream(_verbs.events(self.job.id, True, 1))) as events:
            status = self.job.status()
            while not events.ended:
                if _runs(status) and _answers(_place(status)):
                    return status
                if events.take(_LOOK_S if _runs(status) else None):
                    status = self.job.status()
        return self.job.wait()

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
