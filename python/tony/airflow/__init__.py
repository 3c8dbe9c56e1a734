"""Tasks of Airflow that are jobs of tony, for Airflow 2.10 and newer. docs/airflow.md is the guide.

    from tony.airflow import TonyOperator
    TonyOperator(task_id="train", program="train.py", options={"framework": "pytorch", "workers": 4}, retries=2)
"""

from tony.airflow.hook import TonyHook
from tony.airflow.operator import TonyJobLink, TonyOperator
from tony.airflow.sensor import TonySensor
from tony.airflow.trigger import TonyTrigger

__all__ = ["TonyHook", "TonyJobLink", "TonyOperator", "TonySensor", "TonyTrigger"]
