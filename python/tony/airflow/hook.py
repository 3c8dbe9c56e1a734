"""The connection: which `tony`, for which cluster."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple

import tony
from tony._verbs import check
from tony.airflow._compat import AirflowException, AirflowFailException, AirflowNotFoundException, BaseHook

# The connection's extra: variables of the program `tony`.
_VARIABLES = {"program": "TONY_PROGRAM", "hadoop_conf_dir": "HADOOP_CONF_DIR", "conf_dir": "TONY_CONF_DIR", "state_dir": "TONY_STATE_DIR"}
_EXTRA = [*_VARIABLES, "scheduler", "env"]


@dataclass(frozen=True)
class Settings:
    """A connection, as tony understands it."""

    variables: Mapping[str, str] = field(default_factory=dict)
    """Of the program `tony`."""
    scheduler: Optional[str] = None
    portal: Optional[str] = None
    """Where the portal answers."""

    @classmethod
    def read(cls, name: str, connection: Any) -> Settings:
        extra = connection.extra_dejson
        unknown = [key for key in extra if key not in _EXTRA]
        if unknown:
            raise AirflowException(f"connection {name}: extra has {', '.join(unknown)}; it may have {', '.join(_EXTRA)}")
        env = extra.get("env", {})
        if not isinstance(env, dict):
            raise AirflowException(f'connection {name}: env is no object; write {{"NAME": "VALUE"}}')
        variables = {name: str(value) for name, value in env.items()}
        variables.update((_VARIABLES[key], str(extra[key])) for key in _VARIABLES if extra.get(key))
        return cls(variables, extra.get("scheduler"), _portal(connection))


def _portal(connection: Any) -> Optional[str]:
    host = connection.host
    if not host or "://" in host:
        return host or None
    return f"{connection.schema or 'https'}://{host}{f':{connection.port}' if connection.port else ''}"


class TonyHook(BaseHook):
    """Jobs of tony by a connection. Without a connection of this name tony is that of the worker, as in its shell."""

    conn_name_attr = "tony_conn_id"
    default_conn_name = "tony_default"
    conn_type = "tony"
    hook_name = "tony"

    def __init__(self, tony_conn_id: str = default_conn_name) -> None:
        super().__init__()
        self.tony_conn_id = tony_conn_id
        self._settings: Optional[Settings] = None

    @classmethod
    def get_ui_field_behaviour(cls) -> Dict[str, Any]:
        return {
            "hidden_fields": ["login", "password"],
            "relabeling": {"host": "Portal", "schema": "http or https"},
            "placeholders": {"host": "https://portal.example:19886",
                             "extra": '{"program": "/opt/tony/bin/tony", "scheduler": "yarn", "hadoop_conf_dir": "/etc/hadoop/conf", '
                                      '"conf_dir": "/etc/tony", "state_dir": "/var/lib/airflow/tony", "env": {"KRB5CCNAME": "..."}}'},
        }

    @property
    def settings(self) -> Settings:
        """The connection, read once."""
        if self._settings is None:
            try:
                self._settings = Settings.read(self.tony_conn_id, self.get_connection(self.tony_conn_id))
            except AirflowNotFoundException:
                if self.tony_conn_id != self.default_conn_name:
                    raise
                self._settings = Settings()
        return self._settings

    def get_conn(self) -> Settings:
        return self.settings

    def test_connection(self) -> Tuple[bool, str]:
        """For the button of that name."""
        try:
            with self.environment():
                return True, f"{tony.program()}: {len(tony.jobs())} jobs run"
        except (tony.TonyError, AirflowException) as error:
            return False, str(error)

    def environment(self, cwd: Optional[str] = None) -> contextlib.AbstractContextManager[None]:
        """A block in which the package `tony` asks this connection's tony. Relative paths of a submission begin at `cwd`."""
        return tony.environment(self.settings.variables, cwd)

    def wait(self, job: tony.Job, poll_interval: float) -> tony.Status:
        """Waits for the end, also while neither application master nor cluster answers: the job may well go on."""
        while True:
            try:
                with self.environment():
                    return job.wait(check=False, on_change=self._tell)
            except tony.Unreachable as error:
                self.log.warning("%s; asking again in %s s", error, poll_interval)
                time.sleep(poll_interval)

    def _tell(self, change: tony.TaskChange) -> None:
        if change.cause:
            self.log.warning("%s: %s -> %s, %s", change.task, change.before, change.after, change.cause.text)

    def result(self, status: tony.Status, no_retry: bool = False) -> Dict[str, Any]:
        """The result of an ended job, for XCom. Of one that has not succeeded the first cause is raised; Airflow does not try again
        where that is of no use."""
        try:
            check(status)
        except tony.JobKilled as error:
            raise AirflowFailException(f"{error}; it is not started again: clear the task to do so") from None
        except tony.JobFailed as error:
            for line in error.cause.tail if error.cause else ():
                self.log.error("%s: %s", error.cause and error.cause.task, line)
            raise (AirflowFailException if no_retry else AirflowException)(str(error)) from None
        return {"id": status.id, "name": status.name, "state": status.state, "output": status.output}

    @contextlib.contextmanager
    def submitting(self, cwd: Optional[str] = None) -> Iterator[None]:
        """environment(), for a submission, and for a job that is named: what tony refuses it refuses again."""
        with self.environment(cwd):
            try:
                yield
            except tony.BadSubmission as error:
                raise AirflowFailException(f"{error}") from None
