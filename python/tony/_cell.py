"""A cell of a notebook as a job: the words of `%%tony`, and the program that runs in each task."""

from __future__ import annotations

import ast
import json
import os
import shlex
import socket
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from tony import _submit
from tony._call import Call, run
from tony._errors import BadSubmission
from tony._job import Job

_CAP = 100_000  # bytes of a cell: the kernel of Linux allows 128 KiB for a variable
_SOURCE = "TONY_CELL"
# Runs in the module __main__ of the task, as in the notebook. Tracebacks begin in the cell, and show its lines.
_PROGRAM = f"""def _run_cell():
    import linecache, os, sys, traceback
    source = os.environ.pop("{_SOURCE}")
    linecache.cache["<cell>"] = (0, None, source.splitlines(True), "<cell>")
    def tell(kind, error, frames):
        while frames and frames.tb_frame.f_code.co_filename == "<string>":
            frames = frames.tb_next
        traceback.print_exception(kind, error, frames)
    sys.excepthook = tell
    if "TONY_CELL_PORT" in os.environ:
        rank, count = int(os.environ["TONY_TASK_INDEX"]) + 1, int(os.environ["TONY_TASK_COUNT"])
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(count + 1), LOCAL_RANK="0",
                          MASTER_ADDR=os.environ["TONY_CELL_ADDRESS"], MASTER_PORT=os.environ["TONY_CELL_PORT"])
    exec(compile(source, "<cell>", "exec"), globals())
_run_cell()
"""


@dataclass
class Words:
    """The line of a cell: options of `tony submit`, options of its own, and behind "--" what the cell finds in sys.argv."""

    options: List[str] = field(default_factory=list)
    arguments: List[str] = field(default_factory=list)
    detach: bool = False
    join: bool = False
    python: Optional[str] = None

    def has(self, name: str) -> bool:
        return any(word.lstrip("-").partition("=")[0].replace("_", "-") == name for word in self.options if word.startswith("-"))


def read_line(line: str) -> Words:
    try:
        given = shlex.split(line)
    except ValueError as error:
        raise BadSubmission(f"%%tony {line}: {error}") from None
    words, rest = Words(), iter(given)
    for word in rest:
        if word == "--":
            words.arguments = list(rest)
        elif word in ("--detach", "-d"):
            words.detach = True
        elif word == "--join":
            words.join = True
        elif word.partition("=")[0] == "--python":
            words.python = word.partition("=")[2] or next(rest, "") or None
        else:
            words.options.append(word)
    return words


def check(cell: str) -> None:
    """The cell's mistakes are told before there is a job."""
    if len(cell.encode()) > _CAP:
        raise BadSubmission(f"the cell has more than {_CAP} bytes; write it into a file by %%writefile, and submit that")
    if "\0" in cell:
        raise BadSubmission("the cell has a NUL in it")
    try:
        ast.parse(cell, "<cell>")
    except SyntaxError as error:
        if (error.text or "").lstrip().startswith(("%", "!")):
            raise BadSubmission(f"line {error.lineno} of the cell begins with % or !, which only a notebook knows: the cell of a job is "
                                "plain Python") from None
        raise BadSubmission(f"line {error.lineno} of the cell: {error.msg}: {(error.text or '').strip()}") from None


def _find_python(words: Words) -> str:
    if words.python:
        return words.python
    options: Dict[str, Any] = {"python_venv": "venv"} if words.has("python-venv") else {}
    try:
        return _submit.find_python(options, words.options, {})
    except BadSubmission:
        return "python3"  # `tony submit` will tell what is wrong


def address_here(words: Words) -> str:
    """At which the tasks of a job reach this process."""
    if os.environ.get("TONY_HOST"):
        return os.environ["TONY_HOST"]
    show = Call(["config", "--json", "show", *words.options], json.loads)
    if run(show)["tony.application.scheduler"]["value"] == "local":
        return "127.0.0.1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # nothing is sent: the kernel chooses the address of the way out
        return str(probe.getsockname()[0])


def submit(words: Words, cell: str, env: Optional[Dict[str, str]] = None) -> Job:
    """After a KeyboardInterrupt no job is left."""
    if words.has("array"):
        raise BadSubmission("--array: a cell is one job; tony.submit() submits arrays")
    own = {_SOURCE: cell.replace("{{", "{{{{"), **(env or {})}  # a value may have templates, which begin so
    options = [*words.options, *(word for name in own for word in ("--env", name))]
    if not words.has("name"):
        options += ["--name", "cell"]
    command = [_find_python(words), "-c", _PROGRAM, *words.arguments]
    return Job._of(run(_submit.submission(options, own, command, None))["id"])
