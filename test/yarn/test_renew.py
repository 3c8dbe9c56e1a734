"""A job outlives its delegation tokens: `tony renew` brings others to its processes."""

import itertools
import shutil
from itertools import count

from patience import wait_until
from program import write_xml
from test_am_restart import kill_am, wait_am
from test_hdfs_tokens import hadoop_client

CLUSTER = {"--nodes": 1, "--secure": None, "--https": None, "--protection": "privacy", "--token-life-sec": 90,
           "--token-renew-sec": 90, "--expiry-ms": 10000, "--token-roll-sec": 31}

RENEWALS = 5

# For each file go-N: how the tokens of its beginning do, and those that it has then.
PROGRAM = """
use() {{ hdfs -put -f file $1 >/dev/null 2>error && echo good || {{ grep -q InvalidToken error && echo ended || cat error; }}; }}
cp $HADOOP_TOKEN_FILE_LOCATION first
for ((n = 1; ; n++)); do
    while ! test -e {directory}/go-$n; do test -e {directory}/stop && break 2; sleep 0.1; done
    echo $n >file
    echo "$n: $(HADOOP_TOKEN_FILE_LOCATION=$PWD/first use /tmp/first), $(use /tmp/renewed)"
done
cp file $TONY_CHECKPOINT_DIR/last
"""


def renew(tony, job):
    answer = tony.run("renew", job.id)
    assert answer.returncode == 0, answer.stderr
    assert f"{job.id} has new delegation tokens, good until about " in answer.stdout


def has_inherited(job):
    lines = [event.get("text", event["ev"]) for event in job.events()]
    return any("new tokens" in text for text in lines[len(lines) - lines[::-1].index("am"):])


def renew_and_use(tony, job, number):
    renew(tony, job)
    (tony.directory / f"go-{number}").touch()
    wait_until(lambda: f"\n{number}: " in "\n" + job.logs("worker:0"), f"use {number} of HDFS")
    return job.logs("worker:0").splitlines()[-1].partition(": ")[2]


def test_five_renewals_and_a_killed_am(own_cluster, own_tony):
    job = own_tony.submit({"tony.worker.instances": 1, "tony.worker.memory": "512m"}, "--executes",
                          hadoop_client(own_cluster) + PROGRAM.format(directory=own_tony.directory))
    task = job.wait_task("worker:0")
    first = job.status()["tokens"]
    assert (first["renewed_by"], first["good_until_ms"]) == ("scheduler", first["ends_ms"])
    assert first["ends_ms"] - first["issued_ms"] == 90_000
    assert "the scheduler renews it until then" in own_tony.run("status", job.id).stdout
    assert renew_and_use(own_tony, job, 1).startswith("good, ")
    newer = job.status()["tokens"]
    assert newer["renewed_by"] == "nobody" and newer["issued_ms"] > first["issued_ms"]
    assert newer["good_until_ms"] == newer["ends_ms"] == newer["issued_ms"] + 90_000
    kill_am(job)
    wait_am(job, 2)
    wait_until(lambda: has_inherited(job), "the tokens to be taken over from the executor")
    good, rolls = 0, own_cluster.rolls()
    for number in count(2):
        how = renew_and_use(own_tony, job, number)
        good += how.endswith(", good")   # a machine that is slow may not use them in time
        # The AM's own token of its beginning has ended, too, after two changes of the key.
        if good >= RENEWALS and how == "ended, good" and own_cluster.rolls() >= rolls + 2:
            break
    renew(own_tony, job)
    (own_tony.directory / "stop").touch()
    assert job.wait() == 0
    assert job.task("worker:0")["attempt"] == task["attempt"] == 1
    place = f"/user/{own_cluster.user}/.tony/checkpoints/{job.id}"
    assert own_cluster.get(f"{place}/last") == own_cluster.get("/tmp/renewed")
    job.wait_final("SUCCEEDED")
    own_tony.forget()
    assert job.status()["state"] == "succeeded"


def test_tokens_of_the_jobs_own_user_alone(own_cluster, own_tony):
    """The gateway submits for alice: its own tokens would let her programs act as the gateway."""
    own_tony.env |= {"KRB5CCNAME": own_cluster.env_of("gw")["KRB5CCNAME"], "HADOOP_PROXY_USER": "alice"}
    job = own_tony.submit({"tony.worker.instances": 1}, "--executes", "sleep 1000")
    job.wait_task("worker:0")
    wait_until(lambda: job.status()["am_url"], "the AM's address")
    renew(own_tony, job)
    refused = own_tony.run("renew", job.id, env={"HADOOP_PROXY_USER": ""})
    assert refused.returncode == 6 and "a token of gw/localhost@" in refused.stderr, refused.stderr
    assert "by HADOOP_PROXY_USER" in refused.stderr
    own_tony.env = own_tony.env | {"HADOOP_PROXY_USER": "", "KRB5CCNAME": own_cluster.env_of("alice")["KRB5CCNAME"]}
    renew(own_tony, job)
    assert own_tony.run("kill", job.id).returncode == 0


def test_cron_renews_what_a_ticket_submitted(own_cluster, own_tony):
    """tony-site.xml has the keytab: it counts for jobs that are known here, too, and for those of a keytab that is gone."""
    alice = own_cluster.env_of("alice")
    login = {"principal": alice["TONY_YARN_PRINCIPAL"], "keytab": alice["TONY_YARN_KEYTAB"]}
    own_tony.env |= {"KRB5CCNAME": alice["KRB5CCNAME"], "KRB5_CONFIG": alice["KRB5_CONFIG"]}
    copy = own_tony.directory / "alice.keytab"
    shutil.copy(login["keytab"], copy)
    jobs = [own_tony.submit({"tony.worker.instances": 1, "tony.worker.memory": "64m"}, *options, "--executes", "sleep 1000")
            for options in ((), ("--principal", login["principal"], "--keytab", copy))]
    for job in jobs:
        job.wait_task("worker:0")
    copy.unlink()
    renew(own_tony, jobs[1])
    write_xml(own_tony.directory / "conf/tony-site.xml", {f"tony.kerberos.{key}": value for key, value in login.items()})
    own_tony.env["KRB5CCNAME"] = "FILE:/nonexistent"
    for verb, job in itertools.product(("renew", "status", "events"), jobs):
        answer = own_tony.run(verb, job.id)
        assert answer.returncode == 0, answer.stderr
    assert own_tony.run("renew").returncode == 0
    assert own_tony.run("renew", jobs[0].id, env={"TONY_STATE_DIR": str(own_tony.directory / "fresh")}).returncode == 0
    assert own_tony.run("kill", *(job.id for job in jobs)).returncode == 0


def test_results_wait_for_new_tokens(own_cluster, own_tony):
    """The program ends after its tokens."""
    job = own_tony.submit({"tony.worker.instances": 1, "tony.worker.memory": "512m"}, "--executes",
                          hadoop_client(own_cluster) + "until hdfs -ls / 2>&1 | grep -q InvalidToken; do sleep 1; done; "
                          "echo kept > $TONY_OUTPUT_DIR/result")
    trouble = wait_until(lambda: job.task("worker:0").get("checkpoint_trouble"), "the results to be held back")
    assert trouble.startswith("its results cannot be stored: ") and "run `tony renew JOB`" in trouble
    renew(own_tony, job)
    assert job.wait() == 0
    assert own_cluster.get(f"/user/{own_cluster.user}/.tony/output/{job.id}/worker-0/result") == b"kept\n"


def test_the_jobs_own_tokens_are_no_new_ones(own_cluster, own_tony):
    job = own_tony.submit({"tony.worker.instances": 1}, "--executes",
                          f"cp $HADOOP_TOKEN_FILE_LOCATION {own_tony.directory}/first; sleep 1000")
    job.wait_task("worker:0")
    wait_until((own_tony.directory / "first").exists, "the file of tokens")
    own_tony.env["HADOOP_TOKEN_FILE_LOCATION"] = str(own_tony.directory / "first")
    same = own_tony.run("renew", job.id)
    assert same.returncode != 0 and "the job has these very tokens" in same.stderr, same.stderr
    own_tony.env.pop("HADOOP_TOKEN_FILE_LOCATION")
    renew(own_tony, job)
    assert own_tony.run("kill", job.id).returncode == 0
