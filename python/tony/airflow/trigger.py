"""Waits for a job in the triggerer, where a thousand tasks wait in one process."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any, AsyncIterator, Dict, Optional, Tuple

import tony
from tony import aio
from tony.airflow._compat import AirflowException, BaseTrigger, TriggerEvent, is_given_up, sync_to_async
from tony.airflow.hook import TonyHook


class TonyTrigger(BaseTrigger):
    """Fires when the job has ended, and at the deadline (seconds since 1970).

    Its event has the job's `id`, and `error` or `late` where it has not ended. With `kills` the job ends with its task; without, it
    is somebody else's, and may come later.
    """

    def __init__(self, job: str, tony_conn_id: str, poll_interval: float, deadline: Optional[float], kills: bool) -> None:
        super().__init__()
        self.job, self.tony_conn_id, self.poll_interval, self.deadline, self.kills = job, tony_conn_id, poll_interval, deadline, kills

    def serialize(self) -> Tuple[str, Dict[str, Any]]:
        return "tony.airflow.trigger.TonyTrigger", {
            "job": self.job, "tony_conn_id": self.tony_conn_id, "poll_interval": self.poll_interval, "deadline": self.deadline,
            "kills": self.kills}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        try:
            event = await self._wait()
        except asyncio.CancelledError:
            if await is_given_up(self):
                await self.on_kill()
            raise
        except (tony.TonyError, AirflowException) as error:
            event = {"id": self.job, "error": f"the triggerer: {error}"}
        yield TriggerEvent(event)

    async def on_kill(self) -> None:
        """A user has cleared the task, or marked it."""
        with await self._environment():
            await self._kill("Airflow's task was cleared or marked")

    async def _kill(self, reason: str) -> None:
        if self.kills:
            self.log.info("Killing %s: %s", self.job, reason)
            with contextlib.suppress(tony.NotFound):  # it has ended
                await aio.Job(self.job).kill(reason)

    async def _environment(self) -> contextlib.AbstractContextManager[None]:
        hook = TonyHook(self.tony_conn_id)
        await sync_to_async(lambda: hook.settings)()  # asks Airflow's database or server
        return hook.environment()

    async def _wait(self) -> Dict[str, Any]:
        with await self._environment():
            before = None
            while self.deadline is None or time.time() < self.deadline:
                status = await self._status()
                if status and status.ended:
                    return {"id": status.id}
                if status and status.state != before:
                    before = status.state
                    self.log.info("%s (%s) is %s", status.id, status.name, status.waiting or before)
                left = self.poll_interval if self.deadline is None else min(self.poll_interval, self.deadline - time.time())
                await asyncio.sleep(max(0.0, left))
            # Airflow 2.10 lets no operator see that its task is late.
            await self._kill("execution_timeout of Airflow's task is over")
            return {"id": self.job, "late": True}

    async def _status(self) -> Optional[tony.Status]:
        try:
            return await aio.Job(self.job).status()
        except tony.Unreachable as error:
            self.log.warning("%s; asking again in %s s", error, self.poll_interval)
        except tony.NotFound:
            if self.kills:
                raise
        return None
