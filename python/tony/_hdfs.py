"""Files of the job's HDFS, asked of the executor at the socket that TONY_FILES names (docs/data.md). The standard library only."""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import os
import socket
from typing import Any, Dict, Iterator, List, Tuple
from urllib.parse import urlencode

from tony._errors import TaskError

_ADDRESS_CAP = 107  # bytes, of a Unix socket


def _socket_path() -> str:
    try:
        return os.environ["TONY_FILES"]
    except KeyError:
        pass
    if "TONY_TASK" not in os.environ:
        raise TaskError("this program runs in no task of tony, where tony reads HDFS for it: start it with tony submit")
    raise TaskError("TONY_FILES is not set: the job names no HDFS; set HADOOP_CONF_DIR where it is submitted, or "
                    "tony.application.hdfs-conf-path")


class _Connection(http.client.HTTPConnection):
    """One question each: to connect takes microseconds."""

    def __init__(self) -> None:
        super().__init__("tony")
        self._path = _socket_path()

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if len(os.fsencode(self._path)) <= _ADDRESS_CAP:
            self.sock.connect(self._path)
            return
        folder = os.open(os.path.dirname(self._path), os.O_PATH | os.O_DIRECTORY)
        try:
            self.sock.connect(f"/proc/self/fd/{folder}/{os.path.basename(self._path)}")
        finally:
            os.close(folder)


def _error(status: int, body: bytes, path: str) -> OSError:
    try:
        message = str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        message = f"HTTP {status}"
    if status == 404:
        return FileNotFoundError(2, message, path)
    return PermissionError(13, message, path) if status == 403 else OSError(5, message, path)


@contextlib.contextmanager
def _ask(question: str, path: str, **others: Any) -> Iterator[http.client.HTTPResponse]:
    with contextlib.closing(_Connection()) as connection:
        try:
            connection.request("GET", f"/v1/files/{question}?{urlencode({'path': path, **others})}")
            answer = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise OSError(f"the executor of this task does not answer at {os.environ['TONY_FILES']}: {error}") from error
        if answer.status != 200:
            raise _error(answer.status, answer.read(), path)
        yield answer


def _read_some(path: str, offset: int, length: int) -> Tuple[bytes, bool]:
    """The bytes that came, and whether the answer was whole."""
    with _ask("read", path, offset=offset, length=length) as answer:
        try:
            return answer.read(), True
        except http.client.IncompleteRead as error:
            return bytes(error.partial), False


def read(path: str, offset: int, length: int) -> bytes:
    """These bytes, or fewer where the file ends before. OSError: they cannot be had, and the executor has tried for long."""
    data, is_whole = _read_some(path, offset, length)
    while not is_whole:
        more, is_whole = _read_some(path, offset + len(data), length - len(data))  # or says why not
        if not more and not is_whole:
            raise OSError(5, f"the answer breaks off after {offset + len(data)} bytes", path)
        data += more
    return data


def stat(path: str) -> Dict[str, Any]:
    """{"path", "length", "modified_ms", "directory"}"""
    with _ask("stat", path) as answer:
        found: Dict[str, Any] = json.load(answer)
        return found


def blocks(path: str) -> List[Dict[str, Any]]:
    """Of each block of a file {"offset", "length", "hosts"}."""
    with _ask("blocks", path) as answer:
        found: List[Dict[str, Any]] = json.load(answer)
        return found


def list_files(path: str, recursive: bool = False) -> Iterator[Dict[str, Any]]:
    """As stat(), of everything in a directory, as it comes: of millions of files, none is kept here."""
    with _ask("list", path, recursive=int(recursive)) as answer:
        try:
            for line in io.BufferedReader(answer):  # type: ignore[arg-type]  # which is a RawIOBase but by name
                found = json.loads(line)
                if "error" in found:
                    raise OSError(5, found["error"], path)
                yield found
        except http.client.IncompleteRead as error:
            raise OSError(5, "the executor has ended within the list", path) from error
