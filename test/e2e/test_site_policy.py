"""Jobs with other values than the administrator of a machine demands do not begin there."""

import json

import pytest
from site_files import as_files_of

FINE = ["--conf", "tony.task.max-total-gpus=8"]


@pytest.fixture
def policy(tony):
    """A call writes /etc/tony/policy.json for tony and all that it starts."""
    directory = tony.directory / "policy"
    directory.mkdir()
    tony.enter = as_files_of(tony.directory / "etc", "tony", directory)

    def write(text, mode=0o644):
        file = directory / "policy.json"
        file.write_text(text)
        file.chmod(mode)
        return file
    return write


def submit(tony, *options, env=None):
    return tony.run("submit", "--type", "worker=1", "--memory", "64m", *options, "--executes", "true", env=env)


@pytest.mark.promise("S194")
def test_a_job_with_other_values_than_the_policy_does_not_begin(tony, policy):
    policy(json.dumps({"tony.am.allow-exec": False, "tony.task.max-total-gpus": 8, "tony.worker.docker.image": None}))
    refused = submit(tony)
    assert refused.returncode == 6, refused.stderr
    assert ("demands in /etc/tony/policy.json: add --conf tony.am.allow-exec=false --conf tony.task.max-total-gpus=8"
            in refused.stderr)
    assert submit(tony, *FINE, "--conf", "tony.am.allow-exec=false").returncode == 0


@pytest.mark.promise("S194")
def test_a_users_own_directory_of_configuration_undoes_nothing(tony, policy):
    policy('{"tony.am.allow-exec": false}')
    own = tony.directory / "own"
    own.mkdir()
    assert submit(tony, env={"TONY_CONF_DIR": str(own)}).returncode == 6


@pytest.mark.promise("S194")
@pytest.mark.parametrize("text, mode, told", [
    ("{", 0o644, "policy.json: "), ("[]", 0o644, "no object of keys and values"), ("{}", 0o666, "mode 0666"),
    ('{"tony.am.allow-exec": [false]}', 0o644, "tony.am.allow-exec: not a text, a number, true, false or null"),
])
def test_a_policy_that_cannot_be_believed_lets_no_job_begin(tony, policy, text, mode, told):
    policy(text, mode)
    refused = submit(tony)
    assert refused.returncode != 0 and told in refused.stderr, refused.stderr


@pytest.mark.promise("S194")
def test_the_application_master_asks_where_it_runs(tony, policy):
    """As on a cluster's node: its user's machine had no policy, or another one."""
    job = tony.submit({"tony.worker.instances": 1}, "--hold", "--executes", "true")
    policy('{"tony.am.allow-exec": false}')
    assert tony.run("release", job.id).returncode == 0
    assert job.wait() != 0
    status = job.status()
    assert status["state"] == "failed" and status["tasks"][0]["attempt"] == 0
    assert "where the application master runs: the job has other values than the administrator demands" in status["message"]
