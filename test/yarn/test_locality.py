"""tony.<type>.locality: containers are on nodes that have the data, while these have room."""

CLUSTER = {"--nodes": 3, "--near-data": None, "--heartbeat-ms": 100, "--minimum-mb": 256}
NEAR = {"127.0.0.1", "localhost"}  # where the DataNode is, and the first NodeManager


def keys(path):
    return {"tony.worker.instances": 3, "tony.worker.memory": "256m", "tony.worker.locality": path}


def test_nodes_with_the_data_are_asked_for_first(own_tony):
    tony = own_tony
    path = f"/user/{tony.cluster.user}/{tony.directory.name}"
    tony.cluster.put(f"{path}/part-0", b"x" * 1000)
    job = tony.submit(keys(f"hdfs://{path}"), "--executes", f"./exit_after.sh {tony.directory}/go 0")
    hosts = {job.wait_task(f"worker:{index}")["host"] for index in range(3)}
    assert hosts <= NEAR, hosts
    (tony.directory / "go").touch()
    assert job.wait() == 0


def test_data_that_is_not_there_is_refused(own_tony):
    tony = own_tony
    answer, job = tony.job(keys("hdfs:///no/such/data"), "--executes", "true")
    assert job is None and "tony.worker.locality: " in answer.stderr and "/no/such/data" in answer.stderr
    answer, job = tony.job(keys("/local/data"), "--executes", "true")
    assert job is None and "write hdfs:///PATH" in answer.stderr
