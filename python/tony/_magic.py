"""`%%tony`: IPython's side of a cell that runs as a job."""

from __future__ import annotations

import contextlib
import os
import socket
from typing import Any, Dict, Iterator, Optional

from tony import _cell, _live, _verbs
from tony._errors import BadSubmission, NotFound, TonyError
from tony._job import Job
from tony._model import Status

_HELP = """%%tony [OPTION...] [-- ARG...]

Runs the cell as a job: in the notebook's directory and by its interpreter on this machine, by python3 on a cluster. Options are those of
`tony submit`: --workers 2 --framework pytorch --memory 4g --gpus 1 --src_dir . ...; the cell finds each ARG in sys.argv.

The job is shown below the cell until it has ended, and is the cell's value. An interruption of the cell stops it.

  --detach, -d   return at once; tony.attach(job) shows it
  --join         run the cell here, too, as rank 0: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are set here and in the tasks
  --python PATH  the interpreter of the tasks
"""


def _tell_briefly(error: BaseException, text: str) -> BaseException:
    """The frames of this package are of no use to the reader of a notebook."""
    error._render_traceback_ = lambda: [text]  # type: ignore[attr-defined]
    return error


def _stop(live: _live.Live, reason: str) -> str:
    """Returns what became of the job."""
    job = live.job.id
    live.view.say(f"{reason}: {job} is asked to stop; another interruption leaves it as it is")
    try:
        live.listen_again()
        with contextlib.suppress(NotFound):
            live.job.kill(reason)
        live.follow()
    except KeyboardInterrupt:
        return f"{job} may go on; tony.attach({job!r}) shows it, tony.Job({job!r}).kill() ends it"
    except TonyError as error:
        return f"{job} may go on: {error}"
    return f"{reason}, and {job} has ended"


def _follow(live: _live.Live, until_running: bool = False) -> Status:
    try:
        status = live.follow(until_running)
    except KeyboardInterrupt as error:
        raise _tell_briefly(error, f"KeyboardInterrupt: {_stop(live, 'the cell was interrupted')}") from None
    except TonyError as error:
        raise TonyError(f"{error}; {live.job.id} may go on: tony.attach({live.job.id!r}) shows it", error.exit_code) from None
    return _verbs.check(status) if status.ended else status


def _run(words: _cell.Words, cell: str) -> Job:
    job = _cell.submit(words, cell)
    if not words.detach:
        with _live.Live(job) as live:
            _follow(live)
    return job


# ---- the notebook takes part


@contextlib.contextmanager
def _variables(values: Dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)  # the cell may have taken it out itself
            else:
                os.environ[name] = value


def _free_port(address: str) -> int:
    with socket.create_server((address, 0)) as server:
        return int(server.getsockname()[1])


def _error_here(shell: Any, cell: str, variables: Dict[str, str]) -> Optional[BaseException]:
    """Runs the cell in the notebook's own names. Its error has been shown."""
    with _variables(variables):
        result = shell.run_cell(cell)
    error: Optional[BaseException] = result.error_before_exec or result.error_in_exec
    return error


def _run_joined(shell: Any, words: _cell.Words, cell: str) -> Job:
    """A task that is lost cannot come back to a process that goes on: the job ends then."""
    if words.detach:
        raise BadSubmission("--join takes part in the job: it cannot --detach from it")
    address = _cell.address_here(words)
    port = str(_free_port(address))
    words.options += ["--conf", "tony.am.infrastructure-retry-count=0"]
    job = _cell.submit(words, cell, {"TONY_CELL_ADDRESS": address, "TONY_CELL_PORT": port})
    with _live.Live(job) as live:
        world = str(len(_follow(live, until_running=True).tasks) + 1)
        own = {"RANK": "0", "WORLD_SIZE": world, "LOCAL_RANK": "0", "MASTER_ADDR": address, "MASTER_PORT": port}
        error = _error_here(shell, cell, own)
        if error:
            why = "the cell was interrupted" if isinstance(error, KeyboardInterrupt) else "the cell failed in the notebook"
            raise _tell_briefly(error, f"{type(error).__name__}: {_stop(live, why)}") from None
        _follow(live)
    return job


def load(shell: Any) -> None:
    def run_cell(line: str, cell: str) -> Job:
        try:
            words = _cell.read_line(line)
            _cell.check(cell)
            return _run_joined(shell, words, cell) if words.join else _run(words, cell)
        except TonyError as error:
            raise _tell_briefly(error, f"{type(error).__name__}: {error}") from None

    run_cell.__doc__ = _HELP
    shell.register_magic_function(run_cell, magic_kind="cell", magic_name="tony")
