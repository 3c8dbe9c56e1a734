"""A DAG whose task is a job of two workers, which goes on from its checkpoint when it is tried again."""

import datetime

from airflow import DAG

from tony.airflow import TonyOperator, TonySensor

with DAG("digits", start_date=datetime.datetime(2026, 1, 1), schedule=None, catchup=False):
    train = TonyOperator(
        task_id="train",
        program="train.py",
        arguments=["--seed", "{{ params.get('seed', 7) }}"],
        options={"workers": 2, "memory": "256m", "src_dir": "src"},
        retries=2,
        retry_delay=datetime.timedelta(seconds=1),
    )
    see = TonySensor(task_id="see", job="{{ ti.xcom_pull('train')['id'] }}", poke_interval=1)
    train >> see
