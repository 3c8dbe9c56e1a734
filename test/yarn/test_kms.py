"""Encryption zones of HDFS: a job's programs read and write them by a token of the key management server."""

import os
import subprocess

import kit
from test_hdfs_tokens import hadoop_client
from test_secure import java

CLUSTER = {"--nodes": 1, "--secure": None, "--https": None, "--protection": "privacy", "--kms": None}
COPY = "hdfs -cat /zone/told; echo by a task >file; hdfs -put -f file /zone/by-task; hdfs -cat /zone/by-task"
KEYS = {"tony.worker.instances": 1, "tony.worker.memory": "512m"}


def raw(cluster, path):
    return cluster.get(f"/.reserved/raw{path}")


def test_a_program_of_hadoop_reads_and_writes_a_zone(own_cluster, own_tony, tmp_path):
    (tmp_path / "told").write_text("by the client\n")
    java(own_cluster, own_cluster.user, "dfs", "-put", tmp_path / "told", "/zone/told")
    answer, job = own_tony.job(KEYS, "--executes", hadoop_client(own_cluster) + COPY)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "encryption zone" not in answer.stderr
    told = job.logs("worker:0")
    assert "by the client\n" in told and "by a task\n" in told
    assert raw(own_cluster, "/zone/by-task") not in (None, b"by a task\n")


def test_a_server_that_is_away_costs_the_job_its_zones_alone(own_cluster, own_tony):
    away = own_tony.change_site("core-site.xml", own_cluster.env["KMS_URI"].replace("kms://", ""), "https@127.0.0.1:1/kms")
    answer = own_tony.run(*own_tony.arguments(KEYS, "--follow", "--executes", "echo without"), env=away)
    assert answer.returncode == 0 and "without\n" in answer.stdout
    assert "the job gets no new delegation token of kms://https@127.0.0.1:1/kms" in answer.stderr
