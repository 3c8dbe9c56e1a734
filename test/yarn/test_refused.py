"""What the cluster cannot run is refused before anything is submitted, with the numbers and the remedy."""

import pytest

ONE = {"tony.worker.instances": 1}


CONFIG, NOT_FOUND, DENIED, CAPACITY = 3, 4, 6, 7  # see tony-exit(7)


def refused(tony, code, keys, *words, command="true"):
    answer, job = tony.job({**ONE, **keys}, "--executes", command)
    assert answer.returncode == code, answer.stdout + answer.stderr
    assert job is None
    for word in words:
        assert word in answer.stderr, f"{word!r} is not in {answer.stderr}"


@pytest.mark.short
def test_queue(tony):
    refused(tony, CONFIG, {"tony.yarn.queue": "nope"}, "nope", "default", "ml")


@pytest.mark.short
def test_task_larger_than_the_largest_container(tony):
    refused(tony, CAPACITY, {"tony.worker.memory": "10g"}, "worker:0", "10.0 GiB", "4.0 GiB")


def test_a_user_without_a_home_directory(tony):
    env = {"HADOOP_USER_NAME": "homeless"}
    answer, job = tony.job(ONE, "--executes", "true", env=env)
    assert answer.returncode == DENIED and job is None
    assert 'hdfs dfs -mkdir /user/homeless && hdfs dfs -chown homeless /user/homeless"' in answer.stderr


def test_task_with_too_many_cores(tony):
    refused(tony, CAPACITY, {"tony.worker.vcores": 100}, "worker:0", "100 vcores", "8")


def test_task_with_too_many_gpus(tony):
    refused(tony, CAPACITY, {"tony.worker.gpus": 3}, "worker:0", "3 of yarn.io/gpu", "2")


def test_opportunistic_container_for_a_task_that_the_job_needs(tony):
    refused(tony, CONFIG, {"tony.worker.execution-type": "opportunistic"}, "tony.worker.execution-type",
            "tony.worker.min-instances")


def test_opportunistic_container_with_a_placement_constraint(tony):
    refused(tony, CONFIG, {"tony.application.framework": "generic", "tony.worker.instances": 2, "tony.worker.min-instances": 1,
                           "tony.worker.execution-type": "opportunistic", "tony.worker.placement-spec": "notin,node,w"},
            "tony.worker.execution-type", "placement-spec")


def test_a_pattern_of_logs_that_is_none(tony):
    """NodeManagers would collect no log of the job, and delete all."""
    refused(tony, CONFIG, {"tony.yarn.log-include": "*.log"}, 'tony.yarn.log-include: "*.log" is no regular expression', "write .*.log")


def test_am_larger_than_the_largest_container(tony):
    refused(tony, CAPACITY, {"tony.am.memory": "10g"}, "tony.am", "10.0 GiB", "4.0 GiB")


def test_resource_that_the_cluster_does_not_know(tony):
    """YARN itself drops it silently and gives a container without."""
    refused(tony, CAPACITY, {"tony.worker.resource.acme.com/teapot": 1}, "acme.com/teapot", "yarn.resource-types")


def test_more_than_the_queue_may_ever_have(tony):
    refused(tony, CAPACITY, {"tony.worker.instances": 100, "tony.worker.memory": "1g"},
            "100 tasks", "100.2 GiB", "default")


def test_resource_file_that_is_not_there(tony):
    missing = f"{tony.cluster.env['HDFS_URI']}/no/such/file"
    refused(tony, NOT_FOUND, {"tony.worker.resources": missing}, missing)


def test_more_cores_than_the_queue_may_ever_have(tony):
    refused(tony, CAPACITY, {"tony.worker.instances": 4, "tony.worker.vcores": 8}, "33 vcores", "24 vcores", "3 nodes")


def test_more_gpus_than_the_queue_may_ever_have(tony):
    """The fourth node has some, too, but only its label leads there."""
    refused(tony, CAPACITY, {"tony.worker.instances": 4, "tony.worker.gpus": 2}, "8 of yarn.io/gpu",
            "6 of yarn.io/gpu")


@pytest.mark.parametrize("key", ["tony.worker.node-label", "tony.application.node-label"])
def test_more_than_the_nodes_with_a_label_have(tony, labelled_node, key):
    refused(tony, CAPACITY, {key: "fast", "tony.worker.instances": 2, "tony.worker.memory": "3g"},
            "6.", "4.0 GiB", '1 node with the label "fast"')


def test_a_script_that_src_dir_lacks(tony):
    """No node can have it: only what is staged is below the working directory."""
    refused(tony, CONFIG, {}, '"no-such.py" is neither in src_dir nor among the resources', command="python3 no-such.py")
