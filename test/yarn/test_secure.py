"""A secure cluster of the kit's: Kerberos, encrypted RPC and data transfer, HTTPS, HttpFS, a KMS, tokens that end soon."""

import json
import os
import subprocess
import time
import urllib.parse

import kit

CLUSTER = {"--nodes": 1, "--secure": None, "--https": None, "--protection": "privacy", "--httpfs": None, "--kms": None,
           "--token-life-sec": 60}


def ask(cluster, user, url, *arguments):
    """Status and body of an answer."""
    *body, status = cluster.curl(user, url, *arguments, "-w", "\n%{http_code}").split("\n")
    return int(status), "\n".join(body)


def webhdfs(cluster, path, op, **query):
    return f"{cluster.env['WEBHDFS_URL']}{path}?{urllib.parse.urlencode({'op': op, **query})}"


def kms(cluster):
    return cluster.env["KMS_URI"].replace("kms://https@", "https://") + "/v1/"


def java(cluster, user, *command):
    """Of the hdfs command line: what it printed."""
    done = subprocess.run([kit.KIT, "hdfs", "--dir", cluster.directory, *map(str, command)],
                          env=os.environ | {"KRB5CCNAME": cluster.env_of(user)["KRB5CCNAME"]}, text=True,
                          capture_output=True, timeout=kit.PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_web_service_wants_a_ticket(own_cluster):
    node = own_cluster.rm("nodes")["nodes"]["node"][0]["nodeHTTPAddress"]
    services = [own_cluster.env["YARN_RM_WEB"] + "/ws/v1/cluster/info", f"https://{node}/ws/v1/node/info",
                webhdfs(own_cluster, "/", "GETFILESTATUS"),
                own_cluster.env["HTTPFS_URL"] + "/webhdfs/v1/?op=GETFILESTATUS", kms(own_cluster) + "keys/names"]
    for url in services:
        assert ask(own_cluster, None, url)[0] == 401, url
        for user in (own_cluster.user, "alice", "bob"):
            assert ask(own_cluster, user, url)[0] == 200, url


def test_a_gateway_acts_as_alice_alone(own_cluster):
    def homes(user, **query):
        return ask(own_cluster, user, webhdfs(own_cluster, "/", "GETHOMEDIRECTORY", **query))

    assert homes("bob") == (200, '{"Path":"/user/bob"}')
    assert homes("gw", doas="alice") == (200, '{"Path":"/user/alice"}')
    for user, other in (("gw", "bob"), ("alice", "bob")):
        status, body = homes(user, doas=other)
        assert status == 403 and f"{user} is not allowed to impersonate {other}" in body


def test_a_file_in_a_zone_is_encrypted_where_it_lies(own_cluster, tmp_path):
    """Read and written by SASL with privacy, which the DataNode asks for."""
    (tmp_path / "file").write_text("content of a file\n")
    java(own_cluster, "alice", "dfs", "-put", tmp_path / "file", "/zone/file")
    assert java(own_cluster, "alice", "dfs", "-cat", "/zone/file") == "content of a file\n"
    assert own_cluster.get("/zone/file") == b"content of a file\n"
    assert len(own_cluster.get("/.reserved/raw/zone/file")) == 18
    assert own_cluster.get("/.reserved/raw/zone/file") != b"content of a file\n"
    assert own_cluster.status("/zone/file")["owner"] == "alice"


def test_tokens_end_soon(own_cluster, tmp_path):
    issued = ask(own_cluster, "alice", own_cluster.env["YARN_RM_WEB"] + "/ws/v1/cluster/delegation-token",
                 "-H", "Content-Type: application/json", "-d", '{"renewer": "yarn"}')
    token = json.loads(issued[1])
    now = time.time()
    assert token["owner"] == "alice@TONY.TEST"
    assert token["expiration-time"] / 1000 - now <= 20 and token["max-validity"] / 1000 - now <= 60
    for url in (webhdfs(own_cluster, "/", "GETDELEGATIONTOKEN", renewer="yarn"),
                own_cluster.env["HTTPFS_URL"] + "/webhdfs/v1/?op=GETDELEGATIONTOKEN&renewer=yarn",
                kms(own_cluster) + "?op=GETDELEGATIONTOKEN&renewer=yarn"):
        status, body = ask(own_cluster, "alice", url)
        assert status == 200 and json.loads(body)["Token"]["urlString"]
