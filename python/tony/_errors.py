"""The package's exceptions. The message of each is a sentence with the remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from tony._model import Cause, Status


class TonyError(Exception):
    """The base of all others. `exit_code` is that of the program `tony` (tony-exit(7)); None: it was not run."""

    def __init__(self, message: str, exit_code: Optional[int] = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class NotInstalled(TonyError):
    """There is no program `tony` on this machine."""


class BadSubmission(TonyError):
    """The words, a file or the size of a job are wrong. Nothing was started."""


class NotFound(TonyError):
    """There is no such job, task or file, no program runs there, or the job has ended and cannot be told anything."""


class Unreachable(TonyError):
    """The application master or the scheduler does not answer. The job may well go on."""


class Denied(TonyError):
    """Permission was denied."""


class WaitTimeout(TonyError, TimeoutError):
    """The time to wait is over. The job goes on."""


class JobFailed(TonyError):
    """The job has failed. The message names the first cause: the task, the exit code or signal, the most relevant line of its
    standard error, and where to read on."""

    def __init__(self, message: str, status: Status) -> None:
        super().__init__(message, status.exit_code)
        self.status = status

    @property
    def cause(self) -> Optional[Cause]:
        """The first failure, which decided how the job ended."""
        return self.status.cause


class JobKilled(JobFailed):
    """A user has killed the job."""


class FunctionError(TonyError):
    """A function cannot be shipped to a job's tasks, or its value cannot come back."""


class TaskError(TonyError):
    """Inside a task: the program runs in no task of tony, or the application master does not do what it is asked for."""


class DataError(TonyError):
    """A file that tony.data reads is not what it should be: damaged, of another format, without a column."""


_KINDS = {2: BadSubmission, 3: BadSubmission, 4: NotFound, 5: Unreachable, 6: Denied, 7: BadSubmission, 9: WaitTimeout}


def of_exit_code(exit_code: int, message: str) -> TonyError:
    """The exception for an exit code of `tony` with these words."""
    return _KINDS.get(exit_code, TonyError)(message, exit_code)
