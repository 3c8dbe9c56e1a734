"""A task of Airflow that waits for a job which another one has started, or a person."""

from __future__ import annotations

import time
from typing import Any, Dict, Optional

import tony
from tony.airflow._compat import AirflowFailException, BaseSensorOperator, deferrable_by_default
from tony.airflow.hook import TonyHook
from tony.airflow.trigger import TonyTrigger


class TonySensor(BaseSensorOperator):
    """Waits until a job has ended; one that is not there yet may still come. A job that did not succeed fails the task, without
    retries.

    job: its id, as a TonyOperator leaves it in XCom, "{{ ti.xcom_pull('train')['id'] }}", or a name. A name means the job that `tony
        status NAME` shows: the newest of this name that has not ended, else the newest that has, however long ago. Wait for a name that
        has the run in it: "weekly-{{ ds }}".
    """

    template_fields = ("job",)
    ui_color = "#e3eefc"

    def __init__(self, *, job: str, tony_conn_id: str = TonyHook.default_conn_name, deferrable: Optional[bool] = None,
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.job, self.tony_conn_id = job, tony_conn_id
        self.deferrable = deferrable_by_default() if deferrable is None else deferrable

    def poke(self, context: Any) -> bool:
        hook = TonyHook(self.tony_conn_id)
        status = self._status(hook)
        if status and status.ended:
            hook.result(status, no_retry=True)
            return True
        if self.deferrable:
            deadline = time.time() + float(self.timeout)
            self.defer(method_name="execute_complete",
                       trigger=TonyTrigger(self.job, self.tony_conn_id, float(self.poke_interval), deadline, False))
        return False

    def _status(self, hook: TonyHook) -> Optional[tony.Status]:
        try:
            with hook.submitting():
                return tony.Job(self.job).status()
        except (tony.NotFound, tony.Unreachable) as error:
            self.log.info("%s; asking again", error)
            return None

    def execute_complete(self, context: Any, event: Dict[str, Any]) -> None:
        if "error" in event or event.get("late"):
            raise AirflowFailException(event.get("error") or f"{self.job} has not ended within {self.timeout} s")
        hook = TonyHook(self.tony_conn_id)
        with hook.environment():
            hook.result(tony.Job(event["id"]).status(), no_retry=True)
