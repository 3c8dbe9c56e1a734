"""HDFS on a cluster with Kerberos: the client gets a delegation token by its user's ticket, and the job has no ticket."""

import json
import os

import pytest
from patience import wait_until
from program import PYTHON, ROOT, Job, venv_bin
from test_https import SCRIPT
from test_queues import told

CLUSTER = {"--nodes": 1, "--secure": None, "--https": None, "--protection": "privacy"}

# Hadoop's own client, with no ticket and a krb5.conf that names no server.
JAVA = ("printf '[libdefaults]\\ndefault_realm = ANY\\n' >krb5.conf; hdfs() {{ KRB5CCNAME=FILE:/nowhere {java} "
        "-Djava.security.krb5.conf=krb5.conf -cp '{conf}:{jars}' org.apache.hadoop.fs.FsShell \"$@\"; }}; ")

KINDS = "grep -aoE '[A-Z]+_DELEGATION_TOKEN|YARN_A[M]_RM_TOKEN' $HADOOP_TOKEN_FILE_LOCATION"

NATIVE = """
import os
from hdfs_native import Client
client = Client(os.environ["HDFS_URI"])
with client.create("/tmp/by-native") as file:
    file.write(b"by a task\\n")
with client.read("/tmp/by-native") as file:
    print(file.read().decode(), end="")
"""


def hadoop_client(cluster):
    return JAVA.format(java=f"{cluster.env['JAVA_HOME']}/bin/java", conf=cluster.env["HADOOP_CONF_DIR"],
                       jars=cluster.env["HADOOP_CLASSPATH"])


def test_a_job_and_its_checkpoint(own_cluster, own_tony):
    job = own_tony.submit({"tony.worker.instances": 1, "tony.am.retry-count": 1}, "--executes", SCRIPT)
    job.wait_log("worker:0", "  -")
    place = f"/user/{own_cluster.user}/.tony/checkpoints/{job.id}"
    wait_until(lambda: "step" in own_cluster.list(place), "the checkpoint to be in HDFS")
    os.kill(job.wait_task("worker:0")["executor_pid"], 9)
    assert job.wait() == 0
    own_tony.forget()
    first, before, second, after = job.logs("worker:0").splitlines()
    assert (first, second) == ("attempt 1", "attempt 2") and before == after
    assert job.status()["state"] == "succeeded"
    job.wait_final("SUCCEEDED")
    assert own_cluster.status(place)["owner"] == own_cluster.user


def test_renew_leaves_tokens_that_are_good_for_longer(own_cluster, own_tony):
    """The ResourceManager renews the first ones for 7 days; new ones would end after one."""
    job = own_tony.submit({"tony.worker.instances": 1}, "--executes", "sleep 1000")
    job.wait_task("worker:0")
    before = wait_until(lambda: job.status().get("tokens"), "the AM to tell of the tokens")
    for _ in range(2):
        answer = own_tony.run("renew", job.id)
        assert answer.returncode == 0, answer.stderr
        assert f"{job.id} keeps its delegation tokens: they are good until " in answer.stdout
        assert "as the scheduler renews them, and new ones would end at about " in answer.stdout
    assert job.status()["tokens"] == before and before["renewed_by"] == "scheduler"
    assert not any("new tokens" in event.get("text", "") for event in job.events())
    assert own_tony.run("kill", job.id).returncode == 0


def test_the_keytab_of_a_job_serves_after_its_end(own_cluster, own_tony):
    """A service has no ticket, and no keytab in tony-site.xml."""
    own_tony.env |= {"KRB5CCNAME": "FILE:/nonexistent"}
    job = own_tony.submit({"tony.worker.instances": 1}, "--principal", own_cluster.env["TONY_YARN_PRINCIPAL"],
                          "--keytab", own_cluster.env["TONY_YARN_KEYTAB"], "--executes", "echo by keytab")
    assert job.wait() == 0
    job.wait_final("SUCCEEDED")
    for verb in ("status", "events"):
        answer = own_tony.run(verb, job.id)
        assert answer.returncode == 0 and "succeeded" in answer.stdout, answer.stderr
    wait_until(lambda: "by keytab" in own_tony.run("logs", job.id).stdout, "the logs to be collected")
    removed = own_tony.run("rm", job.id)
    assert removed.returncode == 0, removed.stderr


def test_a_program_of_hadoop_reads_and_writes_by_the_jobs_token(own_cluster, own_tony):
    script = hadoop_client(own_cluster) + "echo by a task >file; hdfs -put file /tmp/by-task; hdfs -cat /tmp/by-task"
    job = own_tony.submit({"tony.worker.instances": 1, "tony.worker.memory": "512m"}, "--executes", script)
    assert job.wait() == 0
    assert "by a task" in job.logs("worker:0")
    assert own_cluster.status("/tmp/by-task")["owner"] == own_cluster.user


def test_a_program_without_java_reads_and_writes_by_the_jobs_token(own_cluster, own_tony, tmp_path):
    """hdfs-native, a library of Rust. (libhdfs, which pyarrow loads, is in no registry.)"""
    source = tmp_path / "native"
    source.mkdir()
    (source / "copy.py").write_text(NATIVE)
    envs = f"HDFS_URI={own_cluster.env['HDFS_URI']},HADOOP_CONF_DIR={own_cluster.env['HADOOP_CONF_DIR']}"
    _, job = own_tony.job({"tony.worker.instances": 1, "tony.worker.memory": "512m", "tony.containers.envs": envs}, "--executes",
                          f"KRB5CCNAME=FILE:/nowhere {venv_bin('hdfs')}/python3 copy.py", src_dir=source)
    assert job.logs("worker:0") == "by a task\n"
    assert own_cluster.status("/tmp/by-native")["owner"] == own_cluster.user


def test_what_was_got_for_a_look_is_given_back(own_cluster, own_tony):
    """Before any job of this machine, which leaves its own."""
    def tokens():
        """As the NameNode counted them up to 10 s before."""
        answer = own_cluster.curl(own_cluster.user, own_cluster.env["WEBHDFS_URL"].replace("/webhdfs/v1", "/jmx") +
                                  "?qry=Hadoop:service=NameNode,name=FSNamesystem")
        return json.loads(answer)["beans"][0]["CurrentTokensCount"]

    job = own_tony.submit({"tony.worker.instances": 1}, "--executes", f"while ! test -e {own_tony.directory}/go; do sleep 0.1; done")
    job.wait_task("worker:0")
    wait_until(lambda: tokens() > 0, "those of the job to be counted")
    (own_tony.directory / "go").touch()
    assert job.wait() == 0
    job.wait_final("SUCCEEDED")
    own_tony.forget()
    assert job.status()["state"] == "succeeded" and job.logs("worker:0") == ""
    # Those of the job are cancelled a while after its end.
    wait_until(lambda: tokens() == 0, "all tokens to be cancelled")


FILES = """
from tony import _hdfs
print([found["path"] for found in _hdfs.list_files("/tmp/for-tasks")], _hdfs.read("/tmp/for-tasks/a", 3, 4))
try:
    _hdfs.stat("/tmp/for-nobody/a")
except PermissionError as error:
    print("AccessControlException" in str(error))
"""


@pytest.mark.parametrize("engine", ["yarn", "local"])
def test_a_program_reads_over_its_executor_by_the_jobs_token(own_cluster, own_tony, tmp_path, engine):
    own_cluster.put("/tmp/for-tasks/a", b"by token", by=own_cluster.user)
    own_cluster.hdfs("PUT", "/tmp/for-nobody", op="MKDIRS", permission="700")
    source = tmp_path / "files"
    source.mkdir()
    (source / "read.py").write_text(FILES)
    verb, *rest = own_tony.arguments(
        {"tony.worker.instances": 1, "tony.containers.envs": f"PYTHONPATH={ROOT}/python"}, "--scheduler", engine, "--executes",
        f"env -u HADOOP_CONF_DIR -u HADOOP_TOKEN_FILE_LOCATION KRB5CCNAME=FILE:/nowhere {PYTHON} read.py", src_dir=source)
    answer = own_tony.run(verb, "--detach", *rest)
    assert answer.returncode == 0, answer.stderr
    job = Job(own_tony, answer.stdout.strip()) if engine == "local" else own_tony.found_job(answer.stdout)
    assert job.wait() == 0
    assert job.logs("worker:0") == "['/tmp/for-tasks/a'] b'toke'\nTrue\n"


@pytest.mark.promise("S69")
def test_tokens_alone(own_cluster, own_tony):
    """As in a container of another job, or under Oozie. They are others', too, and outlive the job."""
    file = own_tony.directory / "tokens"
    answer = own_cluster.curl(own_cluster.user, own_cluster.env["YARN_RM_WEB"] + "/ws/v1/cluster/delegation-token",
                              "-H", "Content-Type: application/json", "-d", '{"renewer": "yarn"}')
    for command in (["get", own_cluster.env["HDFS_URI"], "-renewer", "yarn"],
                    ["import", json.loads(answer)["token"], "-alias", own_cluster.env["YARN_RM"]]):
        done = own_cluster.kit("hdfs", "dtutil", *command, file)
        print(done.stdout, done.stderr)
    own_tony.env |= {"HADOOP_TOKEN_FILE_LOCATION": str(file), "KRB5CCNAME": "FILE:/nowhere"}
    assert told(own_tony, "queues")["default"]["parts"][0]["user_limit"]  # by its web service
    for _ in range(2):
        job = own_tony.submit({"tony.worker.instances": 1}, "--executes", KINDS)
        assert job.wait() == 0
        assert job.logs("worker:0").split() == ["HDFS_DELEGATION_TOKEN"]
        job.wait_final("SUCCEEDED")


@pytest.mark.promise("S69")
def test_a_job_waits_for_another_one(own_cluster, own_tony):
    """Its AM, and the next one, ask the ResourceManager by a token of its own, which no task has."""
    first = own_tony.submit({"tony.worker.instances": 1}, "--executes",
                            f"while ! test -e {own_tony.directory}/go; do sleep 0.1; done")
    second = own_tony.submit({"tony.worker.instances": 1}, "--after", first.id, "--executes", KINDS)
    waits = f"waits for job {first.id} to succeed"
    wait_until(lambda: waits == second.status().get("waiting"), "the job to wait")
    for process in second.am():
        os.kill(process, 9)
    wait_until(lambda: second.status()["am_attempt"] == 2, "the next AM")
    wait_until(lambda: waits == second.status().get("waiting"), "the job to wait")
    (own_tony.directory / "go").touch()
    assert [job.wait() for job in (first, second)] == [0, 0]
    assert second.logs("worker:0").split() == ["HDFS_DELEGATION_TOKEN"]
    array = own_tony.run("submit", "--array", "1-2%1", "--scheduler", "yarn", "--workers", "1", "--executes", "true")
    assert array.returncode == 0, array.stderr
    assert own_tony.run("wait", array.stdout.strip()).returncode == 0


def test_nothing_is_sent_in_the_clear(own_cluster, own_tony):
    """The cluster wants privacy, and these site files WebHDFS without encryption."""
    answer = own_tony.run(*own_tony.arguments({"tony.worker.instances": 1}, "--executes", "true"),
                          env=own_tony.change_site("hdfs-site.xml", "HTTPS_ONLY", "HTTP_ONLY"))
    assert answer.returncode != 0 and "set dfs.http.policy to HTTPS_ONLY" in answer.stderr, answer.stderr


def test_a_job_of_one_machine_whose_checkpoints_and_history_are_in_hdfs(own_cluster, own_tony):
    """The client has a ticket and its processes have none; `tony renew` brings them other tokens."""
    place = f"{own_cluster.env['HDFS_URI']}/tmp/one-machine"
    script = (f"sha1sum <$HADOOP_TOKEN_FILE_LOCATION; while ! test -e {own_tony.directory}/go; do sleep 0.1; done; "
              "sha1sum <$HADOOP_TOKEN_FILE_LOCATION; echo step >$TONY_CHECKPOINT_DIR/step")
    verb, *rest = own_tony.arguments({"tony.worker.instances": 1, "tony.application.checkpoint-dir": f"{place}/checkpoints",
                                      "tony.history.location": f"{place}/history"}, "--scheduler", "local", "--executes", script)
    answer = own_tony.run(verb, "--detach", *rest)
    assert answer.returncode == 0, answer.stderr
    job = Job(own_tony, answer.stdout.strip())
    job.wait_log("worker:0", "  -")
    answer = own_tony.run("renew", job.id)
    assert answer.returncode == 0, answer.stderr
    assert "new delegation tokens, good until about " in answer.stdout
    tokens = own_tony.state / "jobs" / job.id / "hdfs-tokens"
    assert tokens.stat().st_mode & 0o777 == 0o600
    wait_until(lambda: any("new tokens" in event.get("text", "") for event in job.events()), "the job to have them")
    (own_tony.directory / "go").touch()
    assert job.wait() == 0
    first, second = job.logs("worker:0").splitlines()
    assert first != second
    assert own_cluster.get("/tmp/one-machine/checkpoints/step") == b"step\n"
    wait_until(lambda: job.id in own_cluster.kit("hdfs", "dfs", "-find", "/tmp/one-machine/history", "-name", "*.json*").stdout,
               "the history to be published")
    wait_until(lambda: not tokens.exists(), "the tokens to be removed")
