"""The job's store, for programs of the job: values under keys, at the application master (docs/rest.md)."""

from __future__ import annotations

import http.client
import json
import os
import time
from typing import Any, Dict, Optional, Tuple
from urllib.parse import quote, urlsplit

from tony._errors import TaskError

HOLD_S = 30  # the application master holds a question for so long
PATIENCE_S = 60  # for one that is being replaced
_RETRY_S = 0.2
_VALUE_CAP = 1 << 20


def _address() -> Tuple[str, int]:
    try:
        url = urlsplit(os.environ["TONY_AM_URL"])
    except KeyError:
        raise TaskError("this program runs in no task of tony: TONY_AM_URL is not set; start it with tony submit") from None
    assert url.hostname and url.port
    return url.hostname, url.port


def _ask_once(method: str, path: str, body: Optional[bytes], headers: Dict[str, str]) -> Tuple[int, bytes, Optional[str]]:
    host, port = _address()
    with open(os.environ["TONY_TOKEN_FILE"], encoding="ascii") as file:
        token = file.read().strip()
    connection = http.client.HTTPConnection(host, port, timeout=2 * HOLD_S)
    try:
        connection.request(method, path, body, {"Authorization": f"Bearer {token}", **headers})
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.getheader("ETag")
    finally:
        connection.close()


def _message(status: int, body: bytes) -> str:
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {status}"


def ask(method: str, path: str, body: Optional[bytes] = None, headers: Optional[Dict[str, str]] = None,
        fine: Tuple[int, ...] = (200,), patience: Optional[float] = None) -> Tuple[int, bytes, Optional[str]]:
    """Status, body and ETag. An application master that is being replaced is asked again, for `patience` seconds (60): all questions
    here may be repeated.

    TaskError: it does not answer, or with another status.
    """
    until = time.monotonic() + (PATIENCE_S if patience is None else patience)
    while True:
        try:
            status, answer, etag = _ask_once(method, path, body, headers or {})
        except (OSError, http.client.HTTPException) as error:
            why: Any = error
        else:
            if status in fine:
                return status, answer, etag
            why = _message(status, answer)
            if status != 503:
                raise TaskError(f"the application master refuses {method} {path}: {why}")
        if time.monotonic() > until:
            raise TaskError(f"the application master at {os.environ['TONY_AM_URL']} does not answer: {why}")
        time.sleep(_RETRY_S)


class Store:
    """Values of up to 1 MiB under keys of up to 512 bytes, the same for all tasks of the job. They go with the job.

    On one machine they outlive the application master; on a cluster they end with it.
    """

    @staticmethod
    def _path(key: str) -> str:
        if not key or len(key.encode()) > 512:
            raise TaskError(f'the key "{key[:40]}" has not 1 to 512 bytes')
        return "/v1/kv/" + quote(key, safe="/")

    def put(self, key: str, value: bytes) -> None:
        if len(value) > _VALUE_CAP:
            raise TaskError(f"{key}: {len(value)} bytes are over 1 MiB; leave them in tony.task.checkpoint_dir, and put the path")
        ask("PUT", self._path(key), value)

    def get(self, key: str, timeout: float = 0) -> Optional[bytes]:
        """The value; waits for one for `timeout` seconds at most. None: there is none."""
        return self._wait(key, None, timeout)[0]

    def delete(self, key: str) -> None:
        """It does not matter if there is none."""
        ask("DELETE", self._path(key), fine=(200, 404))

    def _wait(self, key: str, known: Optional[str], timeout: float) -> Tuple[Optional[bytes], Optional[str]]:
        """Another value than the one with this ETag, and its ETag. None: there was none in time."""
        until = time.monotonic() + timeout
        while True:
            left = min(HOLD_S, max(0.0, until - time.monotonic()))
            headers = {"If-None-Match": known} if known else {}
            status, value, etag = ask("GET", f"{self._path(key)}?wait={round(left * 1000)}", None, headers, (200, 304, 404))
            if status == 200:
                return value, etag
            if left < HOLD_S:
                return None, known
