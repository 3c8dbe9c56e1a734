"""Calls a function that was shipped, in a task, and leaves what it returned or raised in the job's results."""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import os
import pickle
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any, Dict, Optional, Tuple

from tony._errors import FunctionError
from tony._function import OUTCOMES, dump, rebuild

_REMEDY = "write it to a file in tony.task.output_dir, and fetch it with job.results()"


def _header(kind: str, **more: Any) -> Dict[str, Any]:
    ran = [int(os.environ[f"TONY_{name}"]) for name in ("TASK_ATTEMPT", "EPOCH", "RESTART")]
    return {"kind": kind, "python": list(sys.version_info[:2]), "ran": ran, **more}


def _leave(header: Dict[str, Any], value: Any, what: str) -> None:
    """A file that is there is whole, and one that cannot be written is not there."""
    folder = Path(os.environ["TONY_OUTPUT_DIR"], OUTCOMES)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"outcome-{os.environ['TONY_PROCESS']}"
    part = path.with_suffix(".part")
    try:
        with open(part, "wb") as file:
            file.write(json.dumps(header).encode() + b"\n")
            dump(value, file, what, _REMEDY)
        part.replace(path)
    except BaseException:
        if part.exists():
            part.unlink()
        raise


def _own_frames(frames: Optional[TracebackType]) -> Optional[TracebackType]:
    """Without those of this file."""
    while frames and frames.tb_frame.f_code.co_filename == __file__ and frames.tb_next:
        frames = frames.tb_next
    return frames


class _Rebuilt:
    """Pickled in place of an exception, and read as it."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __reduce__(self) -> Tuple[Any, ...]:
        return rebuild, (type(self._error), self._error.args, vars(self._error))


def _portable(error: BaseException) -> Any:
    """pickle calls a constructor with what Exception.__init__() was given: that of the class may take other arguments."""
    try:
        same = str(copy.copy(error)) == str(error)
    except Exception:  # whatever a constructor raises
        same = False
    return error if same else _Rebuilt(error)


def _leave_error(error: BaseException) -> None:
    frames = _own_frames(error.__traceback__)
    text = "".join(traceback.format_exception(type(error), error, frames))
    header = _header("error", type=type(error).__name__, message=str(error), traceback=text)
    try:
        _leave(header, _portable(error.with_traceback(None)), "the exception")
    except FunctionError:
        _leave(header, None, "the exception")
    sys.stderr.write(text)


def _call(folder: str) -> Any:
    with open(os.path.join(folder, "call.pickle"), "rb") as file:
        function, args, kwargs = pickle.load(file)
    value = function(*args, **kwargs)
    return asyncio.run(value) if inspect.iscoroutine(value) else value


def main(folder: str) -> int:
    name = os.environ["TONY_TASK"]
    try:
        value = _call(folder)
        sys.stdout.flush()
        _leave(_header("value"), value, f"the value of {name}")
    except Exception as error:
        _leave_error(error)
        return 1
    return 0
