"""tony renew, where there is nothing to renew: test/yarn/test_renew.py has jobs on a cluster with Kerberos."""


def test_a_job_without_hdfs_has_no_tokens(tony):
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "sleep 600")
    job.wait_task("worker:0")
    answer = tony.run("renew", job.id)
    assert answer.returncode == 2 and "has no delegation tokens: nothing of it goes to an HDFS" in answer.stderr, answer.stderr
    tony.run("kill", job.id)
    answer = tony.run("renew", job.id)
    assert answer.returncode != 0 and "has already ended: killed" in answer.stderr, answer.stderr


def test_an_am_takes_no_tokens_into_a_file_of_the_users(tony):
    """It has the variable of the submission, and is asked by who has the job's token."""
    file = tony.directory / "tokens"
    file.write_bytes(b"HDTS\0\0\0")
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "sleep 600", env={"HADOOP_TOKEN_FILE_LOCATION": str(file)})
    job.wait_task("worker:0")
    status, answer = job.rest("PUT", "/v1/job/tokens", {"bytes": "SERUUwAAAA=="})
    assert status == 400 and b"the job has no tokens" in answer, answer
    assert file.read_bytes() == b"HDTS\0\0\0"
    tony.run("kill", job.id)
