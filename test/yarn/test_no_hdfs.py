"""A cluster of YARN alone: all that a job needs is in a directory that all nodes see."""

from test_staging import KEY, check_a_job, check_the_next_am, make_staging

CLUSTER = {"--nodes": 2, "--no-hdfs": None}


def test_the_key_is_named(own_tony):
    answer = own_tony.run(*own_tony.arguments({"tony.worker.instances": 1}), "--executes", "true")
    assert answer.returncode != 0 and f"set {KEY}" in answer.stderr and "file:///" in answer.stderr


def test_a_job_runs(own_tony):
    check_a_job(own_tony, make_staging(own_tony))


def test_an_am_is_followed(own_tony):
    check_the_next_am(own_tony, make_staging(own_tony))
