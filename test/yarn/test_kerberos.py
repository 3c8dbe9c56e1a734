"""A cluster with Kerberos and privacy: tony goes by its user's ticket. Files are in a directory that all nodes see."""

import base64
import json
import os
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from credentials import keys_of_keytab
from patience import PATIENCE_S, assert_never, wait_until
from program import write_xml
from test_am_restart import kill_am, wait_am
from test_staging import make_staging, own

CLUSTER = {"--nodes": 1, "--secure": None, "--protection": "privacy"}


@pytest.fixture
def staging(own_tony):
    return make_staging(own_tony)


def submit(tony, command):
    return tony.submit({"tony.worker.instances": 1}, "--executes", command)


def kinit(tony, user, cache, *options):
    env = tony.cluster.env_of(user)
    subprocess.run(["kinit", *options, "-k", "-t", env["TONY_YARN_KEYTAB"], env["TONY_YARN_PRINCIPAL"]], check=True,
                   env=os.environ | env | {"KRB5CCNAME": cache})


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
        kinit(own_tony, user, cache)
    (home / ".k5identity").write_text("bob@TONY.TEST realm=TONY.TEST\n")
    staging = make_staging(own_tony)
    own_tony.env |= {"KRB5CCNAME": cache, "HOME": str(home)}
    job = submit(own_tony, "true")
    assert job.wait() == 0
    assert job.application()["user"] == "alice"
    assert (staging / "alice").is_dir()


def test_rules_that_differ_from_the_clusters(own_tony, staging):
    own_tony.env |= own_tony.change_site("core-site.xml", "</configuration>",
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


def test_a_ticket_that_has_ended(own_tony):
    cache = own_tony.directory / "short"
    kinit(own_tony, "alice", f"FILE:{cache}", "-l", "1s")
    env = {"KRB5CCNAME": f"FILE:{cache}"}
    answer = wait_until(lambda: (told := own_tony.run("nodes", env=env)).returncode != 0 and told, "the end of the ticket")
    assert answer.returncode == 6 and "xpired; get a new ticket with kinit" in answer.stderr, answer.stderr


def expect_refusal(tony, env, *parts):
    answer = tony.run("nodes", env=env)
    assert answer.returncode != 0 and all(part in answer.stderr for part in parts), answer.stderr


NO_TICKET = {"KRB5CCNAME": "FILE:/nonexistent"}


def test_no_ticket(own_tony):
    expect_refusal(own_tony, NO_TICKET, "the cluster uses Kerberos: ", "No Kerberos credentials available", "kinit",
                   "HADOOP_TOKEN_FILE_LOCATION names a file")
    for verb in ("list", "history"):
        answer = own_tony.run(verb, env=NO_TICKET)
        assert answer.returncode == 6 and "kinit" in answer.stderr and "No job" not in answer.stderr, answer.stderr
    file = own_tony.directory / "no-tokens"
    file.write_text("a ticket cache, or a keytab\n")
    expect_refusal(own_tony, {"HADOOP_TOKEN_FILE_LOCATION": str(file)}, f"{file}: this is no file of tokens as Hadoop writes it")


def test_a_ticket_that_is_gone_while_submit_watches(own_tony, staging):
    """The AM's own door needs none; the ResourceManager is asked for the next AM."""
    cache, told, done = (own_tony.directory / name for name in ("cache", "told", "done"))
    own_tony.env["KRB5CCNAME"] = f"FILE:{cache}"
    kinit(own_tony, own_tony.cluster.user, f"FILE:{cache}")
    watch = own_tony.start(*own_tony.arguments({"tony.worker.instances": 1}, "--executes",
                                               f"while [ ! -e {done} ]; do sleep 0.1; done"),
                           stdout=told.open("w"), stderr=subprocess.STDOUT)
    job = wait_until(lambda: own_tony.found_job(told.read_text()), "the job's id")
    own_tony.jobs.append(job)
    job.wait_task("worker:0")
    cache.unlink()
    kill_am(job)
    wait_until(lambda: "is looked for again until there is a ticket" in told.read_text(), "the missing ticket to be told")
    assert "kinit" in told.read_text()
    assert_never(lambda: watch.poll() is not None, "the watch ends", 2)
    kinit(own_tony, own_tony.cluster.user, f"FILE:{cache}")
    wait_am(job, 2)
    done.touch()
    assert watch.wait(timeout=PATIENCE_S) == 0, told.read_text()
    assert told.read_text().count("until there is a ticket") == 1


@pytest.fixture
def silent_kdc(own_tony):
    """A krb5.conf for a key distribution centre that takes questions and answers none, for longer than a test waits."""
    datagrams, stream = socket.socket(type=socket.SOCK_DGRAM), socket.socket()
    stream.bind(("127.0.0.1", 0))
    stream.listen(64)
    datagrams.bind(stream.getsockname())
    real = Path(own_tony.env["KRB5_CONFIG"]).read_text()
    kdc = re.search(r"kdc = .*\d\n", real)[0]
    conf = own_tony.directory / "silent.conf"
    conf.write_text(real.replace(kdc, 64 * f"kdc = 127.0.0.1:{stream.getsockname()[1]}\n"))
    yield conf
    datagrams.close()
    stream.close()


def test_ctrl_c_while_the_key_distribution_centre_is_silent(own_tony, staging, silent_kdc):
    """Once the ResourceManager is to be asked for the next AM, with a ticket for it that is not in the cache yet."""
    cache, told, done, trace, conf = (own_tony.directory / name for name in ("cache", "told", "done", "trace", "krb5.conf"))
    own_tony.env["KRB5CCNAME"] = f"FILE:{cache}"
    kinit(own_tony, own_tony.cluster.user, f"FILE:{cache}")
    shutil.copy(own_tony.env["KRB5_CONFIG"], conf)
    watch = own_tony.start(*own_tony.arguments({"tony.worker.instances": 1}, "--executes",
                                               f"while [ ! -e {done} ]; do sleep 0.1; done"),
                           env={"KRB5_CONFIG": str(conf), "KRB5_TRACE": str(trace)},
                           stdout=told.open("w"), stderr=subprocess.STDOUT)
    job = wait_until(lambda: own_tony.found_job(told.read_text()), "the job's id")
    own_tony.jobs.append(job)
    job.wait_task("worker:0")
    cache.unlink()
    kinit(own_tony, own_tony.cluster.user, f"FILE:{cache}")
    shutil.copy(silent_kdc, conf)
    trace.write_text("")
    kill_am(job)
    wait_until(lambda: "Sending" in trace.read_text(), "the key distribution centre to be asked")
    watch.send_signal(signal.SIGINT)
    wait_until(lambda: "Ctrl-C again leaves it as it is" in told.read_text(), "the first to be heard")
    watch.send_signal(signal.SIGINT)
    assert watch.wait(timeout=PATIENCE_S) == 130, told.read_text()
    done.touch()
    assert job.wait() == 0


def test_a_key_distribution_centre_that_is_down(own_tony):
    """As a ResourceManager that is down: it may come back."""
    cache = f"FILE:{own_tony.directory}/cache"
    kinit(own_tony, own_tony.cluster.user, cache)
    write_xml(own_tony.directory / "conf" / "tony-site.xml", {"tony.application.num-client-rm-connect-retries": 0})
    conf = own_tony.directory / "down.conf"
    conf.write_text(re.sub(r"kdc = .*:\d+", "kdc = 127.0.0.1:1", Path(own_tony.env["KRB5_CONFIG"]).read_text()))
    answer = own_tony.run("nodes", env={"KRB5CCNAME": cache, "KRB5_CONFIG": str(conf)})
    assert answer.returncode == 5 and "Cannot contact any KDC" in answer.stderr, answer.stderr


def other_keys(keytab):
    """As after a change of the password."""
    for key in keys_of_keytab(keytab):
        keytab = keytab.replace(key, bytes(byte ^ 0x55 for byte in key))
    return keytab


def expect_keytab_refusal(tony, keytab, code, *parts):
    answer, _ = tony.job({"tony.worker.instances": 1}, "--principal", tony.cluster.env_of("alice")["TONY_YARN_PRINCIPAL"],
                         "--keytab", keytab, "--executes", "true")
    assert answer.returncode == code and all(part in answer.stderr for part in parts), answer.stderr


def test_the_keys_of_a_keytab(own_tony, staging):
    """Its tickets are on no disk."""
    alice = own_tony.cluster.env_of("alice")
    keys = {"tony.worker.instances": 1, "tony.kerberos.principal": alice["TONY_YARN_PRINCIPAL"],
            "tony.kerberos.keytab": alice["TONY_YARN_KEYTAB"]}
    cache = own_tony.directory / "cache"
    own_tony.env["KRB5CCNAME"] = f"FILE:{cache}"
    answer, job = own_tony.job(keys, "--executes", "true")
    assert answer.returncode == 0, answer.stderr
    assert job.application()["user"] == "alice"
    assert not cache.exists()
    shutil.copy(alice["TONY_YARN_KEYTAB"], own_tony.directory / "alice.keytab")
    answer, job = own_tony.job({"tony.worker.instances": 1}, "--principal", alice["TONY_YARN_PRINCIPAL"], "--keytab", "alice.keytab",
                               "--executes", "true")
    assert answer.returncode == 0 and job.application()["user"] == "alice", answer.stderr
    assert own_tony.run("status", job.id, cwd="/").returncode == 0
    answer, _ = own_tony.job(keys | {"tony.kerberos.keytab": own_tony.directory / "none"}, "--executes", "true")
    assert answer.returncode == 3 and "tony.kerberos.keytab: cannot read" in answer.stderr
    expect_keytab_refusal(own_tony, own_tony.cluster.env_of("bob")["TONY_YARN_KEYTAB"], 3, "for alice@", "the file has no key of this principal")
    stale = own_tony.directory / "stale.keytab"
    stale.touch(0o600)
    stale.write_bytes(other_keys(Path(alice["TONY_YARN_KEYTAB"]).read_bytes()))
    expect_keytab_refusal(own_tony, stale, 6, "stale.keytab", "have the keytab written anew")
    (own_tony.directory / "alice.keytab").chmod(0o644)
    expect_keytab_refusal(own_tony, own_tony.directory / "alice.keytab", 3, "everybody on this machine may read", "chmod")


def test_a_proxy_user(own_tony):
    """gw may act as alice, and as nobody else."""
    staging = make_staging(own_tony)
    gateway = own_tony.cluster.env_of("gw")
    own_tony.env |= {"KRB5CCNAME": gateway["KRB5CCNAME"], "HADOOP_PROXY_USER": "alice"}
    job = submit(own_tony, "true")
    assert job.wait() == 0
    assert job.application()["user"] == "alice"
    assert (staging / "alice").is_dir() and not (staging / "gw").exists()
    expect_refusal(own_tony, {"HADOOP_PROXY_USER": "bob"}, "is not allowed to impersonate bob", "hadoop.proxyuser")


def rm_address(tony):
    site = (Path(tony.env["HADOOP_CONF_DIR"]) / "yarn-site.xml").read_text()
    return re.search(r"<name>yarn.resourcemanager.address</name>\s*<value>([^<]*)", site)[1]


class RmToken:
    """A delegation token of the ResourceManager's, in a file as Hadoop writes it."""

    def __init__(self, tony, user):
        self.cluster, self.user = tony.cluster, user
        self.url = tony.cluster.env["YARN_RM_WEB"] + "/ws/v1/cluster/delegation-token"
        answer = self.cluster.curl(user, self.url, "-H", "Content-Type: application/json", "-d", '{"renewer": "yarn"}')
        self.text = json.loads(answer)["token"]
        kind = b"RM_DELEGATION_TOKEN"
        proof = base64.urlsafe_b64decode(self.text + "=" * (-len(self.text) % 4)).split(bytes([len(kind)]) + kind)[0]
        service = rm_address(tony).replace("localhost", "127.0.0.1").encode()
        self.path = tony.directory / "tokens"
        self.path.write_bytes(b"HDTS\0\1\0" + proof + bytes([len(kind)]) + kind + bytes([len(service)]) + service + b"\0")

    def cancel(self):
        answer = self.cluster.curl(self.user, self.url, "-X", "DELETE", "-w", "%{http_code}",
                                   "-H", f"Hadoop-YARN-RM-Delegation-Token: {self.text}")
        assert answer.endswith("200"), answer


def test_a_token_in_place_of_a_ticket(own_tony):
    staging = make_staging(own_tony)
    token = RmToken(own_tony, "alice")
    own_tony.env |= NO_TICKET | {"HADOOP_TOKEN_FILE_LOCATION": str(token.path)}
    job = submit(own_tony, "true")
    assert job.wait() == 0
    assert job.application()["user"] == "alice"
    assert (staging / "alice").is_dir()
    token.cancel()
    expect_refusal(own_tony, {}, "the token RM_DELEGATION_TOKEN for 127.0.0.1:", f" in {token.path} ",
                   "has expired or was cancelled", "get tokens anew")


@pytest.mark.parametrize("file, old, new, part", [
    ("yarn-site.xml", ">yarn/_HOST@", ">rm/_HOST@", "and yarn.resourcemanager.principal is rm/_HOST@TONY.TEST"),
    ("core-site.xml", "<value>kerberos", "<value>simple", "set hadoop.security.authentication to kerberos"),
    ("core-site.xml", "<value>privacy", "<value>authentication", "the server offers privacy at most"),
])
def test_site_files_of_another_cluster(own_tony, file, old, new, part):
    expect_refusal(own_tony, own_tony.change_site(file, old, new), part)
