"""From words of Python to a command line of `tony submit`."""

from __future__ import annotations

import inspect
import json
import os
import sys
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, TypedDict, TypeVar, Union

from tony._call import Call, run
from tony._errors import BadSubmission
from tony._verbs import name_of

Path = Union[str, "os.PathLike[str]"]
F = TypeVar("F", bound=Callable[..., Any])
Numbers = Union[str, Sequence[int]]
Program = Union[Path, Sequence[str], Callable[..., Any], None]


class Options(TypedDict, total=False):
    """The options of a job. `man tony-submit` and `man tony-conf` say more of each."""

    framework: str
    """The framework that the program is written for: "pytorch", "tensorflow", "horovod" ...; "generic" if it is not said."""
    workers: int
    """Tasks of the type worker. Without any type the job has one task."""
    ps: int
    """Parameter servers."""
    types: Mapping[str, int]
    """Tasks of other types: {"chief": 1}."""
    gpus: int
    """Of each worker or other task."""
    memory: str
    """Likewise: "2g"."""
    vcores: int
    processes: int
    """Processes in each task."""
    max_restarts: int
    """How often a failed program starts again in its place."""
    retries: int
    """How often the cluster forms anew after a failure."""
    timeout: Union[float, str]
    """The longest that the job may take: seconds, or "90m"."""
    name: str
    tags: Sequence[str]
    """Words by which jobs are found: tony.jobs(tag=...)."""
    after: Sequence[Any]
    """Jobs that must succeed before this one begins: handles, ids or names; "JOB:any" waits for any end."""
    begin: str
    """When to begin: "now+1h", "22:00", "2026-11-21T06:14:11"."""
    hold: bool
    """Begin when job.release() is called."""
    priority: int
    """Larger ones go first in a queue."""
    scheduler: str
    """"local" or "yarn"; YARN if HADOOP_CONF_DIR says where it is."""
    queue: str
    wait_for_capacity: bool
    """Submit also what the cluster cannot run now."""
    src_dir: Path
    """A directory whose content each task finds in its own. Without it a program runs in the current directory, and a function in a
    directory of its own."""
    output: Path
    """Where to bring what programs write to tony.task.output_dir."""
    env: Mapping[str, Optional[str]]
    """Variables of the programs; None takes one out. Other users of the machine do not see the values."""
    secrets: Mapping[str, Path]
    """Variables whose values are in these files; no page or history shows them."""
    conf_file: Path
    """A job file, tony.xml or YAML."""
    conf: Mapping[str, Any]
    """Any key of tony-conf(5): {"tony.worker.min-instances": 2}."""
    python: str
    """The interpreter of a script or function. Without it: on this machine the one that runs this, elsewhere python3."""
    python_venv: Path
    """An archive or directory with a virtual environment, which each task finds as ./venv; its interpreter is used."""
    executes: str
    """As with TonY: a command of a shell for every task, in place of a program; and what belongs to it."""
    task_params: str
    python_binary_path: str
    hdfs_classpath: str
    principal: str
    keytab: Path
    kwargs: Mapping[str, Any]
    """Of a function: its arguments by name."""


_VALUES = {"framework", "workers", "ps", "gpus", "memory", "vcores", "processes", "max_restarts", "retries", "timeout", "name",
           "begin", "priority", "scheduler", "queue", "principal"}  # --NAME VALUE, with dashes
_MAPPINGS = {"types": '{"chief": 1}', "env": '{"SEED": "3"}', "secrets": '{"TOKEN": "token.txt"}', "kwargs": '{"steps": 100}',
             "conf": '{"tony.worker.max-restarts": 2}'}  # what each looks like
_AS_THEY_ARE = {"src_dir", "output", "conf_file", "python_venv", "keytab", "executes", "task_params", "python_binary_path",
                "hdfs_classpath"}  # --NAME VALUE
# Variables that mean something to `tony` itself: they are not set in its own environment on the way to the programs.
_OWN = ("LD_", "TONY_", "HADOOP_", "YARN_", "KRB5", "XDG_")
_OWN_NAMES = {"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LANG", "LC_ALL", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "COLUMNS"}


def has_options(function: F) -> F:
    """A decorator: help() and notebooks show the options by name."""
    own = [parameter for parameter in inspect.signature(function).parameters.values()
           if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
    named = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None,
                               annotation=getattr(annotation, "__forward_arg__", annotation))
             for name, annotation in Options.__annotations__.items()]
    function.__signature__ = inspect.signature(function).replace(parameters=own + named)  # type: ignore[attr-defined]
    return function


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = os.fspath(value) if isinstance(value, os.PathLike) else str(value)
    if "\0" in text:
        raise BadSubmission(f"{name}: has a NUL in it")
    return text


def _timeout(value: Union[float, str]) -> str:
    return f"{max(1, round(float(value) * 1000))}ms" if hasattr(value, "__float__") else _text("timeout", value)


def _environment(env: Mapping[str, Any]) -> Tuple[List[str], Dict[str, str]]:
    """Options, and what stands in `tony`'s own environment for them: an argument list can be read by everybody."""
    arguments: List[str] = []
    own: Dict[str, str] = {}
    for name, given in env.items():
        if not isinstance(name, str) or not name or "=" in name or "\0" in name:
            raise BadSubmission(f'env: "{name}" is no name of a variable')
        value = None if given is None else _text(f"env: {name}", given)
        if value is None:
            arguments += ["--env", f"{name}="]
        elif name in _OWN_NAMES or name.startswith(_OWN):
            arguments += ["--env", f"{name}={value}"]
        else:
            arguments += ["--env", name]
            own[name] = value
    return arguments, own


def mapping(name: str, value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    kind = type(value).__name__  # the value may be a secret
    raise BadSubmission(f"{name}: takes a dictionary, such as {_MAPPINGS[name]}; it is of the type {kind}")


def check_names(options: Mapping[str, Any]) -> None:
    unknown = set(options) - set(Options.__annotations__)
    if unknown:
        raise TypeError(f"submit() has no option {', '.join(sorted(unknown))}; help(tony.Options) lists them")


def words(options: Mapping[str, Any]) -> Tuple[List[str], Dict[str, str]]:
    """The options of `tony submit`, and variables of its environment."""
    arguments: List[str] = []
    env: Dict[str, str] = {}
    check_names(options)
    for name, value in options.items():
        if value is None:
            continue
        if name == "timeout":
            arguments += ["--timeout", _timeout(value)]
        elif name in _VALUES:
            arguments += ["--" + name.replace("_", "-"), _text(name, value)]
        elif name in _AS_THEY_ARE:
            arguments += ["--" + name, _text(name, value)]
        elif name in ("wait_for_capacity", "hold"):
            arguments += ["--" + name.replace("_", "-")] * bool(value)
        elif name in ("tags", "after"):
            for item in value if isinstance(value, (list, tuple, set, frozenset)) else [value]:
                word = item if name == "tags" else name_of(getattr(item, "id", item))
                arguments += ["--tag" if name == "tags" else "--after", _text(name, word)]
        elif name == "env":
            more, env = _environment(mapping(name, value))
            arguments += more
        else:
            flag = {"types": "--type", "secrets": "--secret", "conf": "--conf"}.get(name)
            for key, item in mapping(name, value).items() if flag else ():
                arguments += [str(flag), f"{key}={_text(key, item)}"]
    return arguments, env


def array_words(numbers: Optional[Numbers]) -> List[str]:
    if numbers is None:
        return []
    if not isinstance(numbers, Iterable):
        raise BadSubmission(f'array: takes "1-10%3" or a list of numbers; it is {numbers!r}')
    text = numbers if isinstance(numbers, str) else ",".join(map(str, numbers))
    return ["--array", _text("array", text)]


def find_python(options: Mapping[str, Any], arguments: List[str], env: Mapping[str, str]) -> str:
    """The interpreter for a script or function."""
    if options.get("python"):
        return str(options["python"])
    if options.get("python_venv"):
        return "venv/bin/python3"
    show = Call(["config", "--json", "show", *arguments], json.loads, env=env)
    scheduler = run(show)["tony.application.scheduler"]["value"]
    return sys.executable if scheduler == "local" and sys.executable else "python3"


def command(program: Any, args: Sequence[Any], python: Callable[[], str]) -> List[str]:
    """The words of a program that is no function. `python` is the interpreter of a script."""
    rest = [_text("argument", arg) for arg in args]
    if program is None:
        if rest:
            raise BadSubmission("the job file says what runs: there is no program for arguments")
        return []
    if not isinstance(program, (str, os.PathLike)):
        if not isinstance(program, Sequence) or isinstance(program, bytes):
            raise BadSubmission(f"program: takes a script, a list of words, a function or None; it is {program!r}")
        return [_text("program", word) for word in program] + rest
    first = _text("program", program)
    if " " in first and not os.path.exists(first):
        raise BadSubmission(f'"{first}" is no program; write a list, {first.split()!r}, or for a shell ["sh", "-c", {first!r}]')
    return [python(), first, *rest] if first.endswith(".py") else [first, *rest]


@dataclass(frozen=True)
class Repeat:
    """The job that a submission repeats; the verb is `tony rerun` then."""

    job: str
    resume: bool
    of: Optional[str] = None


def submission(arguments: List[str], env: Dict[str, str], command_words: List[str], repeat: Optional[Repeat]) -> Call[Dict[str, Any]]:
    verb = ["rerun", *(["--of", repeat.of] if repeat.of else []), *["--resume"] * repeat.resume] if repeat else ["submit"]
    operands = [repeat.job] if repeat else []
    words_of_command = ["--", *command_words] if command_words else []
    return Call([*verb, "--detach", "--json", *arguments, *operands, *words_of_command], json.loads, env=env,
                undo=lambda job: killing(job.get("array") or job["id"]))


def killing(job: str, reason: Optional[str] = None, force: bool = False) -> Call[str]:
    reasons = ["--reason", reason] if reason else []
    return Call(["kill", *reasons, *["--force"] * force, "--", job], str)
