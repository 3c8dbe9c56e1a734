"""tony's WebHDFS against a real HDFS."""

import hashlib
import http.server
import os
import ssl
import subprocess
import threading
from pathlib import Path

import kit
import pytest
from certificate import make_certificate
from patience import PATIENCE_S, wait_until
from program import built
from test_am_restart import am_log, am_processes, finish, identity, kept_job, kill_am, wait_am
from test_full import WELL_AGAIN, expect_end, submit_writer, told

CLUSTER = {"--nodes": 1, "--expiry-ms": 600000}  # of the tests that stop daemons of HDFS
FAILED, INPUT, NOT_FOUND, DENIED, UNREACHABLE = "failed", "input", "not found", "denied", "unreachable"
LARGE = 200 << 20
NAMES = ["a b", "100%", "50%25", "a+b", "what?", "#1", "äöü ß €", "semi;colon", "a&b=c", "quote'\"", "back\\slash",
         "[x]{y}", "~tilde", "ctrl\tx"]


class Hdfs:
    def __init__(self, cluster, directory, *flags):
        self.cluster, self.flags = cluster, flags
        self.url = (cluster.env["HTTPFS_URL"] if "--http-fs" in flags else
                    cluster.env["WEBHDFS_URL"].removesuffix("/webhdfs/v1"))
        self.root = f"/tmp/{directory}"
        self.user, self.wait_ms = cluster.user, 1000 * PATIENCE_S

    def start(self, *words):
        environment = {**os.environ, "HADOOP_USER_NAME": self.user, "HDFS_WAIT_MS": str(self.wait_ms)}
        return subprocess.run([built("test/yarn/hdfs"), *self.flags, self.url, *map(str, words)], text=True,
                              env=environment, capture_output=True, stdin=subprocess.DEVNULL, timeout=300)

    def __call__(self, *words):
        done = self.start(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def fails(self, *words):
        """The kind of the error and its text."""
        done = self.start(*words)
        assert done.returncode == 1
        kind, text = done.stderr.rstrip("\n").split(": ", 1)
        return kind, text

    def stat(self, path):
        kind, mode, length, modified, owner, *_ = self("stat", path).split(" ")
        return kind, mode, int(length), int(modified), owner


def make(request, cluster, tmp_path, *flags):
    hdfs = Hdfs(cluster, tmp_path.name, *flags)
    request.addfinalizer(lambda: hdfs.start("rm", hdfs.root))
    hdfs("mkdir", hdfs.root, "755")
    return hdfs


@pytest.fixture
def client(request, cluster, tmp_path):
    return make(request, cluster, tmp_path)


@pytest.fixture(params=[()] + [("--http-fs",)] * kit.HAS_HTTPFS,
                ids=lambda flags: "http-fs" if flags else "name-node")
def hdfs(request, cluster, tmp_path):
    return make(request, cluster, tmp_path, *request.param)


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@pytest.mark.short
def test_200_mb_up_and_down(client, tmp_path):
    source, copy, part = tmp_path / "source", tmp_path / "copy", tmp_path / "part"
    with open(source, "wb") as file:
        for _ in range(LARGE >> 20):
            file.write(os.urandom(1 << 20))
    target = f"{client.root}/large"
    client("put", source, target, "644")
    client("get", target, copy)
    assert digest(copy) == digest(source)
    # What YARN compares with the LocalResource.
    status = client.cluster.status(target)
    assert client.stat(target) == ("f", "644", LARGE, status["modificationTime"], client.user)
    client("get", target, part, LARGE - 10, 100)
    assert part.read_bytes() == source.read_bytes()[-10:]
    client("get", target, part, (128 << 20) - 5, 10)  # across two blocks
    with open(source, "rb") as file:
        file.seek((128 << 20) - 5)
        assert part.read_bytes() == file.read(10)


@pytest.mark.short
def test_names(hdfs, tmp_path):
    source, copy = tmp_path / "source", tmp_path / "copy"
    for name in NAMES:
        source.write_text(name)
        directory, path = f"{hdfs.root}/{name}", f"{hdfs.root}/{name}/{name}"
        hdfs("mkdir", directory, "755")
        hdfs("put", source, path, "644")
        assert hdfs.stat(path)[2] == len(name.encode())
        hdfs("get", path, copy)
        assert copy.read_text() == name
        hdfs("mv", path, f"{path} two")
        assert hdfs.cluster.get(f"{path} two").decode() == name
    assert sorted(hdfs.cluster.list(hdfs.root)) == sorted(NAMES)
    for name in NAMES:
        hdfs("rm", f"{hdfs.root}/{name}")
    assert hdfs.cluster.list(hdfs.root) == []


def test_list_names_and_5000_files(client, tmp_path):
    for name in NAMES:
        client("mkdir", f"{client.root}/names/{name}", "755")
    lines = client("ls", f"{client.root}/names").splitlines()
    assert sorted(line.split(" ", 6)[6] for line in lines) == sorted(NAMES)
    cluster, root = client.cluster, f"{client.root}/many"

    def make_some(numbers):
        for number in numbers:
            cluster.hdfs("PUT", f"{root}/{number:04}", op="MKDIRS")

    threads = [threading.Thread(target=make_some, args=(range(start, 5000, 8),)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [line.split(" ")[6] for line in client("ls", root).splitlines()] == [f"{n:04}" for n in range(5000)]
    assert client("ls", f"{root}/0000") == ""
    client("rm", root)
    assert cluster.status(root) is None


@pytest.mark.short
def test_permissions(hdfs, tmp_path):
    source = tmp_path / "source"
    source.write_text("secret")
    hdfs("mkdir", f"{hdfs.root}/private/deep", "700")
    hdfs("put", source, f"{hdfs.root}/private/token", "600")
    assert hdfs.stat(f"{hdfs.root}/private/deep")[:2] == ("d", "700")
    assert hdfs.stat(f"{hdfs.root}/private/token")[:2] == ("f", "600")
    hdfs("mkdir", f"{hdfs.root}/private", "755")
    assert hdfs.stat(f"{hdfs.root}/private/deep")[1] == "700"
    hdfs.cluster.hdfs("PUT", f"{hdfs.root}/private", op="SETPERMISSION", permission="700")
    hdfs.user = "mallory"
    for words in (("get", f"{hdfs.root}/private/token", tmp_path / "x"), ("mkdir", f"{hdfs.root}/m", "755"),
                  ("put", source, f"{hdfs.root}/m", "644"), ("rm", f"{hdfs.root}/private")):
        kind, text = hdfs.fails(*words)
        assert kind == DENIED and "AccessControlException: Permission denied: user=mallory" in text


@pytest.mark.short
def test_mode_and_time(client):
    client("mkdir", f"{client.root}/d", "1777")
    client("touch", f"{client.root}/d", 1700000000123)
    assert client.stat(f"{client.root}/d") == ("d", "1777", 0, 1700000000123, client.user)


@pytest.mark.short
def test_what_is_there_already(hdfs, tmp_path):
    one, two, copy = tmp_path / "one", tmp_path / "two", tmp_path / "copy"
    one.write_text("one")
    two.write_text("")
    a, b = f"{hdfs.root}/a", f"{hdfs.root}/b"
    hdfs("put", one, a, "644")
    hdfs("put", two, b, "644")
    kind, text = hdfs.fails("put", two, a, "644", "new")
    assert kind == FAILED and "FileAlreadyExistsException" in text
    kind, text = hdfs.fails("mv", a, b)
    by_gateway = "--http-fs" in hdfs.flags
    assert kind == FAILED and ("FileAlreadyExistsException" in text or by_gateway and b in text)
    hdfs("mkdir", f"{hdfs.root}/c", "755")
    assert hdfs.fails("mv", a, f"{hdfs.root}/c")[0] == FAILED
    hdfs("mv", a, b, "over")
    hdfs("get", b, copy)
    assert copy.read_text() == "one"
    hdfs("put", two, b, "644")
    hdfs("get", b, copy)
    assert copy.read_text() == ""
    assert hdfs.fails("mv", a, b)[0] == NOT_FOUND
    assert hdfs.fails("stat", a)[0] == NOT_FOUND
    assert hdfs.fails("get", a, copy)[0] == NOT_FOUND
    hdfs("rm", a)
    assert hdfs.fails("mkdir", f"{b}/below", "755")[0] == DENIED, "a file is in the way"


STATUS = (b'{"FileStatus":{"group":"g","length":7,"modificationTime":5,"owner":"o","pathSuffix":"",'
          b'"permission":"644","type":"FILE"}}')


class SecureNameNode(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        is_status = "op=GETFILESTATUS" in self.path
        body = STATUS if is_status else b'{"Location":"http://127.0.0.1:1/open"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_https(tmp_path, monkeypatch):
    """The kit's clusters speak http only, so that this NameNode is none."""
    certificate, key = make_certificate(tmp_path, kind="rsa", names="IP:127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), SecureNameNode) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        hdfs = Hdfs.__new__(Hdfs)
        hdfs.flags, hdfs.user, hdfs.wait_ms = (), "alice", -1
        hdfs.url = f"https://127.0.0.1:{server.server_port}"
        kind, text = hdfs.fails("stat", "/a")
        assert kind == DENIED and "certificate" in text and "tony.hdfs.ca-file" in text
        monkeypatch.setenv("HDFS_CA_FILE", str(certificate))
        assert hdfs("stat", "/a") == "f 644 7 5 o g \n"
        # Content does not leave TLS.
        kind, text = hdfs.fails("get", "/a", tmp_path / "x")
        assert kind == INPUT and "dfs.http.policy" in text
        hdfs.url = hdfs.url.replace("127.0.0.1", "localhost")  # which the certificate is not for
        assert hdfs.fails("stat", "/a")[0] == DENIED
        server.shutdown()


def test_name_node_down(own_cluster, tmp_path):
    hdfs = Hdfs(own_cluster, tmp_path.name)
    hdfs("mkdir", hdfs.root, "755")
    own_cluster.kill("nn")
    hdfs.wait_ms = -1
    kind, text = hdfs.fails("stat", hdfs.root)
    assert kind == UNREACHABLE and hdfs.url.removeprefix("http://") in text
    # One that comes back in time is waited for.
    restart = threading.Thread(target=own_cluster.restart, args=("nn",))
    restart.start()
    hdfs.wait_ms = 240000
    try:
        assert hdfs.stat(hdfs.root)[0] == "d"
    finally:
        restart.join()


def goes_on(job, before):
    """Under the next AM, which knows all of it."""
    wait_am(job, 2)
    for name, known in before.items():
        assert identity(job.wait_task(name)) == known
    assert finish(job) == 0
    job.wait_final("SUCCEEDED")


def test_an_am_asks_for_the_journal_of_the_one_before_until_hdfs_is_back(own_cluster, own_tony):
    job, before = kept_job(own_tony, ["worker:0", "worker:1"], **{"tony.task.executor.am-timeout": "10m"})
    first = am_processes(job)
    own_cluster.kill("dn")
    try:
        kill_am(job)
        wait_until(lambda: any("cannot be read for now" in am_log(pid) for pid in am_processes(job) if pid not in first),
                   "another AM to miss the journal")
    finally:
        own_cluster.restart("dn")
    goes_on(job, before)


def test_what_happens_while_no_data_node_writes_is_known_to_the_next_am(own_cluster, own_tony):
    job, before = kept_job(own_tony, ["worker:0", "worker:1"], **{"tony.task.executor.am-timeout": "10m"})
    own_cluster.kill("dn")
    try:
        assert own_tony.run("restart", job.id, "worker:0").returncode == 0
        before["worker:0"] = identity(job.wait_task("worker:0", restart=1))
        kill_am(job)
    finally:
        own_cluster.restart("dn")
    goes_on(job, before)


def test_that_no_data_node_writes_is_told_while_it_lasts(own_cluster, own_tony):
    job, go, end = submit_writer(own_tony)
    own_cluster.kill("dn")
    try:
        go.touch()
        wait_until(lambda: told(job, "checkpoints") and told(job, "store"), "the trouble to be told")
        assert "its checkpoints cannot be stored: " in own_tony.run("status", job.id).stdout
    finally:
        own_cluster.restart("dn")
    expect_end(job, WELL_AGAIN)
    end.touch()
    assert finish(job) == 0


@pytest.mark.short
def test_attributes(hdfs):
    """Such as an AM makes, up to the largest."""
    path = f"{hdfs.root}/a b"
    hdfs("mkdir", path, "700")
    assert hdfs("notes", path) == ""
    for value in ("0x00", "0x" + "7f80" * 8000, "0x6f6e65"):
        hdfs("note", path, "user.tony.journal-1", value)
        assert hdfs("notes", path) == f"user.tony.journal-1 {value}\n"
    hdfs("note", path, "user.tony.journal-2", "0x6f")
    assert sorted(hdfs("notes", path).splitlines()) == ["user.tony.journal-1 0x6f6e65", "user.tony.journal-2 0x6f"]
    assert hdfs.fails("note", path, "user.tony.journal-3", "0x" + "00" * 16384)[0] == FAILED
    assert hdfs.fails("notes", f"{path}/c")[0] == NOT_FOUND


def test_one_of_two_name_nodes_is_dead(client):
    client.url = f"http://127.0.0.1:1,{client.url}"
    assert client.stat(client.root)[0] == "d"
