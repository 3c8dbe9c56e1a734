"""A task of Airflow that is a job of tony."""

from __future__ import annotations

import contextlib
import time
from typing import Any, Dict, Mapping, Optional, Sequence, Union

import tony
from tony._again import Errand, take_or_submit
from tony._submit import check_names
from tony.airflow._compat import AirflowException, BaseOperator, BaseOperatorLink, XCom, base_url, deferrable_by_default
from tony.airflow.hook import TonyHook
from tony.airflow.trigger import TonyTrigger

_URL = "tony_url"


class TonyJobLink(BaseOperatorLink):
    """The button that opens the job's page: of the portal, else of its application master."""

    name = "tony job"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        return XCom.get_value(ti_key=ti_key, key=_URL) or ""


class TonyOperator(BaseOperator):
    """Runs a job, and fails with its first cause. XCom has its id from the beginning ("job_id"), and at the end its id, name, state and
    output, which is where its results are.

    A task that is tried again goes on from the checkpoints of the job before; a job that still runs, or has succeeded while no
    worker of Airflow lived to see it, is taken over and not started a second time.

    program: a script (train.py), a list of words, or None for what the job file of the options says.
    arguments: of the program.
    options: those of tony.submit() (tony.Options) by name: {"framework": "pytorch", "workers": 4, "conf_file": "tony.xml"}. Relative
        paths begin at the folder of the DAG's file.
    resume: False has each try begin anew.
    deferrable: wait in the triggerer.
    poll_interval: seconds between two questions of the triggerer, and to a cluster that does not answer.
    """

    template_fields = ("program", "arguments", "options")
    template_fields_renderers = {"arguments": "json", "options": "json"}  # noqa: RUF012, as Airflow has it
    operator_extra_links = (TonyJobLink(),)
    ui_color = "#e3eefc"

    def __init__(self, *, program: Union[str, Sequence[str], None] = None, arguments: Sequence[Any] = (),
                 options: Optional[Mapping[str, Any]] = None, tony_conn_id: str = TonyHook.default_conn_name, resume: bool = True,
                 deferrable: Optional[bool] = None, poll_interval: float = 10.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if callable(program):
            raise TypeError("program is a script or a list of words; a function is run by @task and tony.submit()")
        check_names(options or {})  # where the DAG is read
        self.program, self.arguments, self.options = program, arguments, dict(options or {})
        self.tony_conn_id, self.resume, self.poll_interval = tony_conn_id, resume, poll_interval
        self.deferrable = deferrable_by_default() if deferrable is None else deferrable
        self._hook = TonyHook(tony_conn_id)
        self._job: Optional[tony.Job] = None

    def execute(self, context: Any) -> Dict[str, Any]:
        hook = self._hook
        task = context["ti"]
        with hook.submitting(self.dag.folder):
            self._job = job = take_or_submit(self._errand(task), self.program, self.arguments, self._options(task), self.resume)
        task.xcom_push(key="job_id", value=job.id)
        with hook.environment(), contextlib.suppress(tony.Unreachable):
            answer = job.status().raw
            task.xcom_push(key=_URL, value=answer.get("portal_url") or answer.get("am_url"))
        if self.deferrable:
            limit = self.execution_timeout
            self.defer(method_name="execute_complete",
                       trigger=TonyTrigger(job.id, self.tony_conn_id, self.poll_interval,
                                           time.time() + limit.total_seconds() if limit else None, True))
        return hook.result(hook.wait(job, self.poll_interval))

    def execute_complete(self, context: Any, event: Dict[str, Any]) -> Dict[str, Any]:
        if "error" in event:
            raise AirflowException(event["error"])
        if event.get("late"):
            raise AirflowException(f"{event['id']} has not ended within execution_timeout, {self.execution_timeout}; it was killed")
        return self._hook.result(self._hook.wait(tony.Job._of(event["id"]), self.poll_interval))

    def on_kill(self) -> None:
        """The task is marked, cleared or out of time."""
        if self._job:
            with self._hook.environment(), contextlib.suppress(tony.NotFound):
                self._job.kill(f"Airflow's task {self.task_id} was ended")

    def _errand(self, task: Any) -> Errand:
        """Until it is cleared a task is tried self.retries times more; max_tries counts those before, too."""
        before = task.max_tries - self.retries
        identity = base_url(), task.dag_id, task.run_id, task.task_id, task.map_index
        return Errand("airflow", identity, before, task.try_number > before + 1)

    def _options(self, task: Any) -> Dict[str, Any]:
        settings = self._hook.settings
        portal = {"tony.portal.url": settings.portal} if settings.portal else {}
        return {"scheduler": settings.scheduler, "name": f"{task.dag_id}.{task.task_id}", **self.options,
                "conf": {**portal, **self.options.get("conf", {})}}
