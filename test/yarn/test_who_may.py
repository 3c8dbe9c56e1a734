"""Rights to another's job on a cluster with Kerberos. The jobs are alice's, and bob comes to them."""

import json

import pytest
from audit import audit_of
from program import wait_until
from test_am_restart import am_log, am_processes
from test_secure import ask
from test_staging import make_staging

CLUSTER = {"--nodes": 1, "--secure": None, "--protection": "privacy"}
KILL = ("-X", "PUT", "-H", "Content-Type: application/json", "-d", '{"state": "KILLED"}')


class AlicesJob:
    """It runs, with these rights of others."""

    def __init__(self, tony, **keys):
        self.tony = tony
        self.cluster = tony.cluster
        self.job = tony.submit({"tony.worker.instances": 1,
                                **{f"tony.application.acl.{right}": acl for right, acl in keys.items()}},
                               "--executes", "echo hello from alice; sleep 1000")
        self.job.wait_task("worker:0")
        self.id = self.job.id

    def at_rm(self, user, path, *arguments):
        return ask(self.cluster, user, f"{self.cluster.env['YARN_RM_WEB']}/ws/v1/cluster/apps/{self.id}{path}", *arguments)

    def at_am(self, user, path, *arguments):
        """Through the web proxy, which lets everybody through who has a ticket."""
        return ask(self.cluster, user, f"{self.job.tracking_url().rstrip('/')}/{path}", *arguments)

    def at_node(self, user):
        """The list of its logs. Their content would be refused to all: here it is never the container's user's."""
        node = self.cluster.rm("nodes")["nodes"]["node"][0]["nodeHTTPAddress"]
        container = self.job.task("worker:0")["container"]
        return ask(self.cluster, user, f"http://{node}/ws/v1/node/containers/{container}/logs")

    def run_as(self, user, *words, behind=()):
        """Of tony, from a machine that knows nothing of the job; `behind` its id come further words."""
        names = "KRB5CCNAME", "KRB5_CONFIG"
        state = self.tony.directory / f"state-of-{user}"
        env = {name: self.cluster.env_of(user)[name] for name in names}
        return self.tony.run(*words, self.id, *behind, env={**env, "TONY_STATE_DIR": str(state),
                                           "TONY_CONF_DIR": str(self.tony.directory)})

    def audit(self):
        return audit_of(max((am_log(pid) for pid in am_processes(self.job)), key=len))

    def refused_views(self):
        return [line for line in self.audit() if (line["action"], line["outcome"]) == ("view", "refused")]

    def end(self):
        killed = self.tony.run("kill", self.id)
        assert killed.returncode == 0, killed.stderr
        self.job.ended_application()


@pytest.fixture
def alice(own_tony):
    """tony by alice's ticket."""
    make_staging(own_tony)
    env = own_tony.cluster.env_of("alice")
    own_tony.env |= {name: env[name] for name in ("KRB5CCNAME", "KRB5_CONFIG")}
    return own_tony


def expect_no_kill(job):
    refused = job.run_as("bob", "kill", "--force")
    assert refused.returncode == 6 and f"bob may not end {job.id}: " in refused.stderr, refused.stderr
    assert "tony.application.acl.modify" in refused.stderr
    status, body = job.at_rm("bob", "/state", *KILL)
    assert status == 403 and "bob" in body
    assert job.job.status()["state"] == "running"


@pytest.mark.promise("S75", "S76")
def test_nobody_but_the_owner(alice):
    job = AlicesJob(alice)
    assert job.job.application()["user"] == "alice"
    assert job.at_am("bob", "v1/job")[0] == 401
    assert job.at_am("bob", "v1/tasks/worker:0/logs/stdout")[0] == 401
    for verb in ("status", "logs"):
        told = job.run_as("bob", verb)
        assert told.returncode != 0 and f"{job.id} is alice's" in told.stderr
    status, told = job.at_node("bob")
    assert status >= 400 and "User [bob] is not authorized to view the logs" in told
    expect_no_kill(job)
    seen, = job.refused_views()
    assert seen.pop("address") and seen == {"user": "bob", "proof": "proxy", "action": "view", "job": job.id,
                                            "outcome": "refused", "detail": "GET /v1/job"}
    assert json.loads(job.at_am("alice", "v1/job")[1])["id"] == job.id
    status, told = job.at_node("alice")
    assert status == 200 and '"stdout"' in told
    submitted = job.audit()[0]
    assert (submitted["user"], submitted["action"], submitted["outcome"]) == ("alice", "submit", "done")
    job.end()
    told = job.run_as("bob", "status")
    assert told.returncode == 6 and f"{job.id} is alice's and has ended (killed)" in told.stderr and "tony kill" not in told.stderr, told.stderr


@pytest.mark.promise("S75")
def test_a_user_who_may_look(alice):
    job = AlicesJob(alice, view="bob")
    assert json.loads(job.at_am("bob", "v1/job")[1])["id"] == job.id
    assert "hello from alice" in wait_until(lambda: job.at_am("bob", "v1/tasks/worker:0/logs/stdout")[1], "the log")
    assert job.at_node("bob")[0] == 200
    assert job.at_am("gw", "v1/job")[0] == 401 and job.at_node("gw")[0] >= 400
    expect_no_kill(job)
    assert [line["user"] for line in job.refused_views()] == ["gw"]
    job.end()


@pytest.mark.promise("S75")
def test_a_group_that_may_look(alice):
    """The AM asks its node who is in it."""
    job = AlicesJob(alice, view=" games,ops")
    assert json.loads(job.at_am("games", "v1/job")[1])["id"] == job.id
    assert job.at_node("games")[0] == 200
    assert job.at_am("bob", "v1/job")[0] == 401 and job.at_node("bob")[0] >= 400
    assert [line["user"] for line in job.refused_views()] == ["bob"]
    job.end()


@pytest.mark.promise("S75")
def test_a_user_who_may_kill(alice):
    """To look is another right."""
    job = AlicesJob(alice, modify="bob")
    assert job.at_am("bob", "v1/job")[0] == 401
    killed = job.run_as("bob", "kill", "--force")
    assert killed.returncode == 0, killed.stderr
    job.job.wait_final("KILLED")
    assert "killed by bob" in alice.run("status", job.id).stdout


def expect_refusal(job, user, *words, **options):
    told = job.run_as(user, *words, **options)
    assert told.returncode == 6 and f"{user} may not " in told.stderr, told.stdout + told.stderr
    return told.stderr


@pytest.mark.promise("S102")
def test_a_viewer_at_the_command_line(alice):
    """The ResourceManager's token proves to the AM who bob is; the job's own token and files stay alice's."""
    job = AlicesJob(alice, view="bob")
    told = job.run_as("bob", "status", "--json")
    assert told.returncode == 0, told.stderr
    status = json.loads(told.stdout)
    assert (status["id"], status["user"], status["state"]) == (job.id, "alice", "running")
    assert "worker:0" in job.run_as("bob", "status").stdout
    assert "running" in job.run_as("bob", "events").stdout
    wait_until(lambda: "hello from alice" in job.run_as("bob", "logs").stdout, "the log")
    for verb, *behind in (("kill",), ("restart", "worker:0")):
        assert "tony.application.acl.modify" in expect_refusal(job, "bob", verb, behind=behind)
    for verb, *behind in (("exec", "--", "id"), ("open",)):
        assert "is for its owner, alice, alone" in expect_refusal(job, "bob", verb, behind=behind)
    assert f"{job.id} is alice's" in job.run_as("gw", "status").stderr
    seen = {(line["user"], line["proof"], line["action"], line["outcome"]) for line in job.audit()}
    assert {("bob", "scheduler", action, "refused") for action in ("kill", "restart", "exec")} <= seen
    assert "gw" not in {line["user"] for line in job.audit()}
    job.end()


def listed(job, user, *options):
    told = job.run_as(user, "list", *options, "--json")
    assert told.returncode == 0, told.stderr
    return {row["id"]: (row["user"], row["own"], row["state"]) for row in json.loads(told.stdout)}


@pytest.mark.promise("S102")
def test_the_clusters_administrator_at_the_command_line(alice):
    """yarn.admin.acl of the submission's site files names yarn."""
    job = AlicesJob(alice)
    assert "running" in job.run_as("yarn", "status").stdout
    wait_until(lambda: "hello from alice" in job.run_as("yarn", "logs").stdout, "the log")
    for options in (("--user", "alice"), ("--all-users",)):
        assert listed(job, "yarn", *options)[job.id] == ("alice", False, "running")
    assert "is for its owner, alice, alone" in expect_refusal(job, "yarn", "exec", behind=["--", "id"])
    killed = job.run_as("yarn", "kill", "--reason", "maintenance")
    assert killed.returncode == 0, killed.stderr
    job.job.wait_final("KILLED")
    assert "killed by yarn: maintenance" in alice.run("status", job.id).stdout


def test_a_list_of_others_jobs(alice):
    """The ResourceManager tells bob of each; of one that he may look at its AM tells how it stands."""
    job = AlicesJob(alice, view="bob")
    assert listed(job, "bob", "--user", "alice")[job.id] == ("alice", False, "running")
    plain = job.run_as("bob", "list")
    assert plain.returncode != 0 and f'no job "{job.id}" is in the list' in plain.stderr
    names = job.run_as("bob", "list", "--output", "name", "--all-users")
    assert names.stdout.split() == [job.id]
    job.end()


@pytest.mark.promise("S102")
def test_a_user_who_may_change_and_the_next_am(alice):
    """Each attempt has a key of its own, which the ResourceManager gives to its AM."""
    job = AlicesJob(alice, view="bob", modify=" games")
    assert job.run_as("bob", "status").returncode == 0
    job.job.wear_out_am()
    wait_until(lambda: '"ev":"am","attempt":2' in job.run_as("bob", "events", "--json").stdout, "the next AM")
    expect_refusal(job, "bob", "kill")
    assert f"{job.id} is alice's" in job.run_as("games", "status").stderr
    job.end()


@pytest.mark.promise("S102")
def test_a_group_at_the_command_line(alice):
    job = AlicesJob(alice, view=" games,ops", modify=" ops,games")
    restarted = job.run_as("games", "restart", behind=["worker:0"])
    assert restarted.returncode == 0, restarted.stderr
    killed = job.run_as("games", "kill", "--reason", "enough")
    assert killed.returncode == 0, killed.stderr
    job.job.wait_final("KILLED")
    told = alice.run("status", job.id).stdout
    assert "killed by games: enough" in told
    waited = job.run_as("games", "wait")
    assert "killed by games: enough" in waited.stdout + waited.stderr
