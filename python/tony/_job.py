"""A job, as a handle."""

from __future__ import annotations

import contextlib
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Type, Union, overload

from tony import _function, _submit, _verbs
from tony._array import ArrayOf
from tony._call import Call, iterate, run, second_to_it
from tony._errors import JobFailed, NotFound, WaitTimeout
from tony._model import Event, LogLine, Metrics, Status, TaskChange
from tony._submit import Options, Program

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Unpack


class Job:
    """A job that was submitted, by its id, the beginning of one, or its name; tony.Job() is the newest.

    Everything is asked of the program `tony` anew: a handle holds no connection, no process and no thread, and many may be of one
    job. A `with` block kills the job when it is left by an exception, and else waits for its end.

    Of another user's job, of which a history that users share has the record, all but looking raises Denied. With `of`, that user's
    name, wait(), results(), advice() and rerun() take the record as it is, whoever has written it, as `--of USER` does on the command
    line.
    """

    def __init__(self, job: Union[str, _verbs.Unnamed] = _verbs.NEWEST, *, of: Optional[str] = None) -> None:
        """NotFound: there is no such job of that user's. BadSubmission: the job is "" or None, as of a variable that is not set."""
        self.of = _verbs.user_name(of)
        self.id: str = _verbs.check_user(run(_verbs.status(job)), self.of).id

    @classmethod
    def _of(cls, job: str) -> Job:
        """Of an id that is known to be one."""
        made = cls.__new__(cls)
        made.id, made.of = job, None
        return made

    def __repr__(self) -> str:
        return f"<tony.Job {self.id}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    # ---- looking

    def status(self) -> Status:
        """How the job is now, with all its tasks."""
        return run(_verbs.status(self.id))

    def wait(self, timeout: Optional[float] = None, *, check: bool = True,
             on_change: Optional[Callable[[TaskChange], None]] = None) -> Status:
        """Waits until the job has ended, for `timeout` seconds at most.

        `on_change` is called, in this thread, for each change of a task since the job's beginning; what it raises ends the wait.
        JobFailed: the job has failed, or with JobKilled was killed; with check=False its status is returned all the same.
        WaitTimeout: it runs on. KeyboardInterrupt leaves the job alone, too.
        """
        if on_change:
            deadline = None if timeout is None else time.monotonic() + timeout
            self._tell_changes(on_change, deadline)
            timeout = None if deadline is None else max(0.0, deadline - time.monotonic())
        status = run(_verbs.wait(self.id, timeout, self.of))
        return _verbs.check(status) if check else status

    def _tell_changes(self, on_change: Callable[[TaskChange], None], deadline: Optional[float]) -> None:
        try:
            for event in iterate(_verbs.events(self.id, True, 1), deadline):
                change = TaskChange.of(event)
                if change:
                    on_change(change)
        except WaitTimeout:
            raise WaitTimeout(f"{self.id} still runs", 9) from None

    def logs(self, task: _verbs.Names = None, *, stream: Optional[str] = None, follow: bool = False, tail: Optional[int] = None,
             grep: _verbs.Names = None) -> Iterator[LogLine]:
        """The lines that the job's programs wrote, merged by time. With `follow` those that come, too, until the job ends.

        `task` is "worker:1", or "worker" for all of the type; `stream` "stdout" or "stderr"; `tail` so many last lines of each log;
        `grep` an extended regular expression. Leaving the loop ends the search: nothing runs on.
        """
        return iterate(_verbs.logs(self.id, task, stream, follow, tail, grep))

    def events(self, *, follow: bool = False, since: int = 1) -> Iterator[Event]:
        """The lines of the job's journal, in order, from number `since` on. With `follow` until the job ends."""
        return iterate(_verbs.events(self.id, follow, since))

    def changes(self, *, follow: bool = False) -> Iterator[TaskChange]:
        """The events in which a task comes to another state."""
        return filter(None, map(TaskChange.of, self.events(follow=follow)))

    def metrics(self, name: _verbs.Names = None, task: _verbs.Names = None) -> Metrics:
        """Curves of what the tasks used, and of the numbers that programs told (tony.task.report()), of a live or an ended job."""
        return run(_verbs.metrics(self.id, name, task))

    def advice(self) -> List[Dict[str, Any]]:
        """The advice of `tony advise` (docs/json.md): what the job's settings cost it, and what to set instead."""
        return run(_verbs.advice(self.id, self.of))

    # ---- results

    def results(self, to: Optional[_submit.Path] = None) -> str:
        """Where the files of tony.task.output_dir are: a directory of this machine, or a URL. With `to` they are brought to a
        directory for this job in that one, of which the path is returned; in it each task has one, such as worker-0."""
        return run(_verbs.results(self.id, None if to is None else str(Path(to).expanduser().absolute()), self.of))

    def value(self, task: Optional[str] = None, timeout: Optional[float] = None) -> Any:
        """Waits for the end of the job, and returns what its function returned: in the chief, or else in the first task.

        An exception of the function is raised as it is, with the task's traceback and a JobFailed as its causes. A value that was
        pickled is unpickled: ask only jobs that you trust. Denied: it is another user's job, also with `of`.
        """
        status = self._wait_for_function(timeout)
        name = task or _verbs.first_task(status)
        with self._results_here(status) as place:
            return _verbs.read_values(place, status, [name])[name]

    def values(self, timeout: Optional[float] = None) -> Dict[str, Any]:
        """The same of all tasks, by name. Sidecars and other tasks that the job does not wait for have none."""
        status = self._wait_for_function(timeout)
        with self._results_here(status) as place:
            return _verbs.read_values(place, status, _verbs.tasks_with_value(status))

    def _wait_for_function(self, timeout: Optional[float]) -> Status:
        _verbs.check_own(self.id, self.of)
        try:
            return self.wait(timeout)
        except JobFailed as failure:
            with self._results_here(failure.status) as place:
                error = _verbs.read_error(failure, place)
            if error:
                raise error from error.__cause__
            raise

    @contextlib.contextmanager
    def _results_here(self, status: Status) -> Iterator[Path]:
        """Where the results are, or of those of a cluster a copy."""
        place = _verbs.place_here(status)
        if place:
            yield place
            return
        with tempfile.TemporaryDirectory(prefix="tony-") as folder:
            with contextlib.suppress(NotFound):  # no program has left any
                self.results(folder)
            yield Path(folder, self.id)

    # ---- ordering about

    def scale(self, **counts: int) -> None:
        """How many tasks of elastic types are wanted from now on: job.scale(worker=8)."""
        run(_verbs.scale(self.id, counts))

    def release(self) -> None:
        """Lets a job begin that was submitted with hold=True."""
        run(_verbs.release(self.id))

    def restart(self, task: str) -> None:
        """Ends the program of a task and starts it again in its container; no other task is disturbed."""
        run(_verbs.restart(self.id, task))

    @_submit.has_options
    def rerun(self, program: Program = None, *args: Any, resume: bool = False, **options: Unpack[Options]) -> Job:
        """Submits the job again, with the configuration and the sources that it had: a program and options win over these.

        With `resume` the new job goes on from the checkpoints of this one, which has ended. NotFound: it has left none.
        """
        with tempfile.TemporaryDirectory(prefix="tony-") as folder:
            repeat = _submit.Repeat(self.id, resume, self.of)
            return Job._of(run(prepare(program, args, dict(options), Path(folder), repeat))["id"])

    def kill(self, reason: Optional[str] = None, *, force: bool = False) -> None:
        """Asks the job to stop, and returns when it has ended. `force` ends its processes without asking."""
        run(_verbs.kill(self.id, reason, force))

    def remove(self) -> None:
        """Removes an ended job: its folder with logs and checkpoints, and its history."""
        run(_verbs.remove(self.id))

    def __enter__(self) -> Job:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        if error is None:
            self.wait()
        else:
            with second_to_it():
                if not self.status().ended:
                    self.kill(f"{kind.__name__} in Python" if kind else None)


def prepare(program: Any, args: Any, options: Dict[str, Any], folder: Path, repeat: Optional[_submit.Repeat] = None,
            array: Optional[_submit.Numbers] = None) -> Call[Dict[str, Any]]:
    """The submission. The files that a function needs are written into the folder, and staged from there."""
    kwargs = options.pop("kwargs", None)
    if callable(program):
        options.setdefault("name", _function.name_of(program))
    arguments, env = _submit.words(options)
    arguments += _submit.array_words(array)

    def python() -> str:
        return _submit.find_python(options, arguments, env)

    if not callable(program):
        if kwargs:
            raise TypeError("kwargs are of a function; a program has arguments")
        return _submit.submission(arguments, env, _submit.command(program, args, python), repeat)
    resources = _function.ship(program, args, _submit.mapping("kwargs", kwargs or {}), options.get("src_dir"), folder)
    conf = [word for resource in resources for word in ("--conf", f"tony.containers.resources={resource}")]
    words = [python(), f"{_function.LIBRARY}/run.py", _function.CALL]
    return _submit.submission([*arguments, *conf], env, words, repeat)


class Array(ArrayOf[Job]):
    """Jobs that were submitted together: `tony.submit(..., array="1-10%3")`. A list of them, in the order of their numbers."""

    def wait(self, timeout: Optional[float] = None, *, check: bool = True) -> List[Status]:
        """Waits until all have ended, and then raises what Job.wait() does of the first that failed."""
        deadline = None if timeout is None else time.monotonic() + timeout
        ended = [job.wait(None if deadline is None else max(0.0, deadline - time.monotonic()), check=False) for job in self]
        return [_verbs.check(status) for status in ended] if check else ended

    def release(self) -> None:
        """As Job.release(), of all."""
        run(_verbs.release(self.id))

    def kill(self, reason: Optional[str] = None, *, force: bool = False) -> None:
        """As Job.kill(), of all that have not ended."""
        run(_verbs.kill(self.id, reason, force))

    def remove(self) -> None:
        """As Job.remove(), of all."""
        run(_verbs.remove(self.id))


@overload
def submit(program: Program = None, *args: Any, array: None = None, **options: Unpack[Options]) -> Job: ...


@overload
def submit(program: Program = None, *args: Any, array: _submit.Numbers, **options: Unpack[Options]) -> Array: ...


@_submit.has_options
def submit(program: Program = None, *args: Any, array: Optional[_submit.Numbers] = None,
           **options: Unpack[Options]) -> Union[Job, Array]:
    """Submits a job and returns at once.

    `program` is a script (train.py), a list of words (["mpirun", "app"]), a function, which is called with `args` in each task, or
    None for what a job file says (conf_file, or tony.xml here). help(tony.Options) says what options there are. With `array` the job
    is submitted once for each number: "1-10", "0-20:5", "1-10%3" for three at a time, or a list of numbers. A program finds its own
    in tony.task.array_index.

    BadSubmission: nothing was started, and why. FunctionError: the function cannot be shipped. After a KeyboardInterrupt no job is
    left.
    """
    with tempfile.TemporaryDirectory(prefix="tony-") as folder:
        answer = run(prepare(program, args, dict(options), Path(folder), array=array))
    return Job._of(answer["id"]) if array is None else Array(answer, Job._of)


def jobs(*, all: bool = False, state: _verbs.Names = None, tag: _verbs.Names = None) -> List[Job]:
    """The jobs of this user that have not ended, or with `all` every one, the newest first; those in a state, or with a tag."""
    return [Job._of(job["id"]) for job in run(_verbs.listing(all, state, tag))]
