"""The names that are at another place in Airflow 3 than in Airflow 2.10, and the one thing that the triggerer of 2.10 lacks."""

from __future__ import annotations

from typing import Any

from airflow.configuration import conf
from airflow.triggers.base import BaseTrigger, TriggerEvent
from asgiref.sync import sync_to_async

try:
    from airflow.sdk import BaseHook, BaseOperator, BaseOperatorLink, BaseSensorOperator
    from airflow.sdk.execution_time.xcom import XCom
except ImportError:
    from airflow.hooks.base import BaseHook
    from airflow.models import BaseOperator
    from airflow.models.baseoperatorlink import BaseOperatorLink
    from airflow.models.xcom import XCom
    from airflow.sensors.base import BaseSensorOperator
try:  # newer than the rest of airflow.sdk
    from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowNotFoundException
except ImportError:
    from airflow.exceptions import AirflowException, AirflowFailException, AirflowNotFoundException

__all__ = [
    "AirflowException", "AirflowFailException", "AirflowNotFoundException", "BaseHook", "BaseOperator", "BaseOperatorLink",
    "BaseSensorOperator", "BaseTrigger", "TriggerEvent", "XCom", "base_url", "deferrable_by_default", "is_given_up", "sync_to_async",
]


def base_url() -> str:
    """Of this installation of Airflow, which tells it from others."""
    return str(conf.get("api", "base_url", fallback=None) or conf.get("webserver", "base_url", fallback=""))


def deferrable_by_default() -> bool:
    return bool(conf.getboolean("operators", "default_deferrable", fallback=False))


def _has_left(task: Any) -> bool:
    from airflow.models import TaskInstance

    now = TaskInstance.get_task_instance(task.dag_id, task.run_id, task.task_id, task.map_index)
    return not now or str(now.state) != "deferred"


async def is_given_up(trigger: Any) -> bool:
    """Whether a trigger that is cancelled ends because its task was cleared, or marked as failed or successful.

    The triggerer of 2.10 does not say so, and cancels triggers also when it stops. That of Airflow 3 calls on_kill().
    """
    if hasattr(BaseTrigger, "on_kill") or not hasattr(trigger.task_instance, "get_task_instance"):
        return False
    return bool(await sync_to_async(_has_left)(trigger.task_instance))
