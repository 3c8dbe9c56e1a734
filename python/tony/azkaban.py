"""A job of Azkaban, of the type TonYJob: `python3 -m tony.azkaban` is its command. docs/azkaban.md is the guide.

Azkaban's ProcessJob starts it in the flow's folder, with the job's properties in the file JOB_PROP_FILE. Their names are those of
TonY's own job type.
"""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any, Dict, List, Mapping, Tuple

import tony
from tony._again import Errand, take_or_submit

_ARGUMENTS = ("hdfs_classpath", "task_params", "python_binary_path", "python_venv", "executes")
_DATASETS = {"azkaban.input.dataset": "AZKABAN_INPUT_DATASET", "azkaban.output.dataset": "AZKABAN_OUTPUT_DATASET"}
_TAGS = ("azkaban.flow.execid", "azkaban.flow.flowid", "azkaban.flow.projectname", "azkaban.webserverhost")
_NO_KEYS = {"tony.application.tags", "tony.job.id", "tony.job.state", "tony.job.output"}  # tags, and the results of a job before this one
_TAG_CAP = 100  # characters, of a tag of YARN
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}


def _unescape(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        return chr(int(found[1], 16)) if found[1] else _ESCAPES.get(found[2], found[2])
    return re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", plain, text).encode("utf-16", "surrogatepass").decode("utf-16")


def read_properties(text: str) -> Dict[str, str]:
    """Of a file that Java's Properties.store() wrote: a line each, with no space beside the "="."""
    pairs = (re.fullmatch(r"((?:[^\\=]|\\.)*)=(.*)", line) for line in text.splitlines() if not line.startswith("#"))
    return {_unescape(pair[1]): _unescape(pair[2]) for pair in pairs if pair}


def _by_prefix(properties: Mapping[str, str], prefix: str) -> Dict[str, str]:
    return {name[len(prefix):]: value for name, value in properties.items() if name.startswith(prefix)}


def _tags(properties: Mapping[str, str]) -> List[str]:
    """The user's, and those by which TonY's jobs tell of which flow they are."""
    own = [tag.strip() for tag in properties.get("tony.application.tags", "").split(",") if tag.strip()]
    return own + [f"{name}:{properties[name]}"[:_TAG_CAP].replace(",", "_") for name in _TAGS if properties.get(name)]


def options_of(properties: Mapping[str, str]) -> Dict[str, Any]:
    """The options of tony.submit()."""
    conf = {name: value for name, value in properties.items() if name.startswith("tony.") and name not in _NO_KEYS}
    env = _by_prefix(properties, "worker_env.")
    env.update((variable, properties[name].replace(",", ";")) for name, variable in _DATASETS.items() if name in properties)
    options: Dict[str, Any] = {name: properties.get(name) for name in _ARGUMENTS}
    options.update(conf=conf, env=env, tags=_tags(properties), src_dir=properties.get("src_dir", "src" if Path("src").is_dir() else None))
    if "tony.application.name" not in conf:
        options["name"] = f"{properties.get('azkaban.flow.flowid', 'azkaban')}.{properties['azkaban.job.id']}"
    return options


def errand_of(properties: Mapping[str, str]) -> Errand:
    """An attempt after the first goes on with what the one before has left."""
    names = "azkaban.webserverhost", "azkaban.flow.execid", "azkaban.flow.nested.path", "azkaban.job.id"
    return Errand("azkaban", [properties.get(name, "") for name in names], 0, int(properties.get("azkaban.job.attempt", "0")) > 0)


def _tell(change: tony.TaskChange) -> None:
    print(f"{change.task}: {change.before} -> {change.after}{f', {change.cause.text}' if change.cause else ''}", flush=True)


def _run(properties: Mapping[str, str]) -> tony.Status:
    job = take_or_submit(errand_of(properties), None, [], options_of(properties), resume=True)
    try:
        return job.wait(check=False, on_change=_tell)
    except KeyboardInterrupt:
        job.kill("cancelled in Azkaban")
        raise


def _read_environment() -> Tuple[Dict[str, str], Path]:
    """The job's properties, and the file for those that it leaves."""
    try:
        source, target = os.environ["JOB_PROP_FILE"], os.environ["JOB_OUTPUT_PROP_FILE"]
        properties = read_properties(Path(source).read_text(encoding="latin-1"))
    except KeyError as error:
        why = f"{error.args[0]} is not set"
    except OSError as error:
        why = f"JOB_PROP_FILE: {error.filename}: {error.strerror}"
    else:
        if properties.get("azkaban.job.id") and properties.get("azkaban.job.attempt", "0").isdecimal():
            return properties, Path(target)
        why = f"{source} has no azkaban.job.id, or an azkaban.job.attempt that is no number"
    raise tony.BadSubmission(f"{why}; Azkaban's ProcessJob starts this, as the command of a job type", 2)


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        properties, target = _read_environment()
        status = _run(properties)
    except tony.TonyError as error:
        print(f"tony: {error}", file=sys.stderr)
        return error.exit_code or 1
    except KeyboardInterrupt:
        print("cancelled", file=sys.stderr)
        return 130
    print(f"{status.id}: {status.message or status.state}", flush=True)
    result = {"tony.job.id": status.id, "tony.job.state": status.state, "tony.job.output": status.output or ""}
    target.write_text(json.dumps(result), encoding="utf-8")
    return status.exit_code or 0


if __name__ == "__main__":
    sys.exit(main())
