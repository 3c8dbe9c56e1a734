"""A cluster with Kerberos and privacy: tony goes by its user's ticket. Files are in a directory that all nodes see."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from program import wait_until
from test_staging import make_staging, own

CLUSTER = {"--nodes": 1, "--secure": None, "--protection": "privacy"}


@pytest.fixture
def staging(own_tony):
    return make_staging(own_tony)


def submit(tony, command):
    return tony.submit({"tony.worker.instances": 1}, "--executes", command)


@pytest.mark.fast
@pytest.mark.promise("S64", "S65")
def test_a_job_runs(own_tony, staging):
    job = submit(own_tony, f"echo $TASK_INDEX of $JOB_NAME > {own_tony.directory}/out")
    assert job.wait() == 0
    assert job.application()["user"] == own_tony.cluster.user
    assert (own_tony.directory / "out").read_text() == "0 of worker\n"
    wait_until(lambda: not (own(own_tony, staging) / job.id).exists(), "the job's directory to be removed")
    second = submit(own_tony, "sleep 1000")
    second.wait_task("worker:0")
    assert second.status()["am_url"].startswith("https://"), "tony.application.tls is auto"
    assert second.id in own_tony.run("list").stdout
    killed = own_tony.run("kill", second.id)
    assert killed.returncode == 0, killed.stderr
    second.wait_final("KILLED")


def test_a_job_is_of_the_ticket(own_tony):
    """The process's user is another one."""
    staging = make_staging(own_tony)
    alice = own_tony.cluster.env_of("alice")
    own_tony.env |= {name: alice[name] for name in ("KRB5CCNAME", "KRB5_CONFIG")}
    job = submit(own_tony, "true")
    assert job.wait() == 0
    assert job.application()["user"] == "alice"
    assert (staging / "alice").is_dir()


def test_a_collection_of_tickets(own_tony):
    """GSSAPI by itself would take bob's for the ResourceManager."""
    home, cache = own_tony.directory / "home", f"DIR:{own_tony.directory}/tickets"
    home.mkdir(exist_ok=True)
    (own_tony.directory / "tickets").mkdir()
    for user in ("bob", "alice"):   # the last one is the default
        env = own_tony.cluster.env_of(user)
        subprocess.run(["kinit", "-k", "-t", env["TONY_YARN_KEYTAB"], env["TONY_YARN_PRINCIPAL"]], check=True,
                       env=os.environ | env | {"KRB5CCNAME": cache})
    (home / ".k5identity").write_text("bob@TONY.TEST realm=TONY.TEST\n")
    staging = make_staging(own_tony)
    own_tony.env |= {"KRB5CCNAME": cache, "HOME": str(home)}
    job = submit(own_tony, "true")
    assert job.wait() == 0
    assert job.application()["user"] == "alice"
    assert (staging / "alice").is_dir()


def copy_site(tony, file, old, new):
    """The cluster's site files with a change; for the environment."""
    site = tony.directory / "site"
    shutil.copytree(tony.env["HADOOP_CONF_DIR"], site)
    text = Path(site / file).read_text()
    assert old in text
    Path(site / file).write_text(text.replace(old, new))
    return {"HADOOP_CONF_DIR": str(site)}


def test_rules_that_differ_from_the_clusters(own_tony, staging):
    own_tony.env |= copy_site(own_tony, "core-site.xml", "</configuration>",
                              "<property><name>hadoop.security.auth_to_local</name>"
                              "<value>RULE:[1:$1]s/.*/carol/</value></property></configuration>")
    answer, job = own_tony.job({"tony.worker.instances": 1}, "--executes", "true")
    assert answer.returncode == 0, answer.stderr
    assert f"{job.id} is of the user {own_tony.cluster.user} for the ResourceManager, and of carol" in answer.stderr


def test_a_keytab_in_place_of_a_ticket(own_tony):
    """As a service has it: MIT Kerberos gets the ticket by itself."""
    alice = own_tony.cluster.env_of("alice")
    answer = own_tony.run("nodes", env={"KRB5_CLIENT_KTNAME": alice["TONY_YARN_KEYTAB"],
                                        "KRB5CCNAME": f"FILE:{own_tony.directory}/cache"})
    assert answer.returncode == 0, answer.stderr


def expect_refusal(tony, env, *parts):
    answer = tony.run("nodes", env=env)
    assert answer.returncode != 0 and all(part in answer.stderr for part in parts), answer.stderr


def test_no_ticket(own_tony):
    expect_refusal(own_tony, {"KRB5CCNAME": f"FILE:{own_tony.directory}/none"},
                   "No Kerberos credentials available", "kinit")


@pytest.mark.parametrize("file, old, new, part", [
    ("yarn-site.xml", ">yarn/_HOST@", ">rm/_HOST@", "and yarn.resourcemanager.principal is rm/_HOST@TONY.TEST"),
    ("core-site.xml", "<value>kerberos", "<value>simple", "set hadoop.security.authentication to kerberos"),
    ("core-site.xml", "<value>privacy", "<value>authentication", "the server offers privacy at most"),
])
def test_site_files_of_another_cluster(own_tony, file, old, new, part):
    expect_refusal(own_tony, copy_site(own_tony, file, old, new), part)
