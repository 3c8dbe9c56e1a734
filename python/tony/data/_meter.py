"""How long the program waits for its input: a metric of the task, which advice goes by (docs/advice.md)."""

from __future__ import annotations

import time

from tony import task

_EVERY_S = 5.0
_LEAST_S = 1.0  # less says nothing


class Meter:
    def __init__(self) -> None:
        self._since = time.monotonic()
        self._waited = 0.0
        self._rows = 0

    def waited(self, seconds: float) -> None:
        self._waited += seconds

    def passed(self, rows: int) -> None:
        self._rows += rows
        if time.monotonic() - self._since >= _EVERY_S:
            self.tell()

    def tell(self) -> None:
        now = time.monotonic()
        spent = now - self._since
        if spent < _LEAST_S:
            return
        task.report(input_wait_percent=min(100.0, 100 * self._waited / spent), input_rows_per_s=self._rows / spent)
        self._since, self._waited, self._rows = now, 0.0, 0
