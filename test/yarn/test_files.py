"""Programs read HDFS over their executor, with pyarrow, fsspec and curl: there is no Java in these tasks, nor Hadoop's
configuration. The file has a cluster of its own, whose DataNodes it kills."""

import hashlib
import json
import os
import random
import re
import subprocess
import uuid
from pathlib import Path

import kit
import pytest
from patience import wait_until
from program import PYTHON, ROOT, Job, venv_bin

CLUSTER = {"--nodes": 1, "--data-nodes": 2, "--expiry-ms": 600000, **({"--httpfs": None} if kit.HAS_HTTPFS else {})}
LARGE = 128 << 20  # a block

PARQUET = """
import random
import pyarrow, pyarrow.compute, pyarrow.parquet
random.seed(1)
rows = [random.randrange(1 << 40) for _ in range(300000)]
table = pyarrow.table({"id": list(range(len(rows))), "x": rows, "text": [f"{x:012}" * 3 for x in rows]})
pyarrow.parquet.write_table(table, "data.parquet", row_group_size=50000)
print(pyarrow.compute.sum(table["x"]).as_py(), table.num_rows)
"""

READ = """
import sys
import fsspec, pyarrow.compute, pyarrow.dataset
from tony import _files
_files.register()
assert "TONY_FILES" in __import__("os").environ
fs = fsspec.filesystem("tony+hdfs")
place = sys.argv[1]
names = fs.find(f"tony+hdfs://{place}")
found = pyarrow.dataset.dataset(sorted(names), filesystem=fs, format="parquet").to_table(columns=["x"])
print(pyarrow.compute.sum(found["x"]).as_py(), found.num_rows)
print(fs.info(f"tony+hdfs://{place}/a/data.parquet")["size"], fs.exists(f"tony+hdfs://{place}/none"), fs.isdir(f"{place}/a"))
print(fs.glob(f"tony+hdfs://{place}/*/*.parquet") == names == [f"{place}/a/data.parquet"], len(fs.blocks(names[0])) > 0)
with fsspec.open(f"tony+hdfs://{place}/a/data.parquet") as file:
    file.seek(-4, 2)
    print(file.read())
try:
    fsspec.open(f"tony+hdfs://{place}/none").open()
except FileNotFoundError as error:
    print("FileNotFoundException" in str(error))
from tony import data
shares = [list(data.shard(f"hdfs://{place}/*/*.parquet", columns=["id"], rank=rank, size=3).numpy()) for rank in range(3)]
print(sum(len(batch["id"]) for share in shares for batch in share), sum(int(batch["id"].sum()) for share in shares for batch in share))
"""

ALL = """
import sys
from tony import _hdfs
place = sys.argv[1]
names = sorted(found["path"] for found in _hdfs.list_files(place, recursive=True))
data = f"{place}/a b/data"
print(names, _hdfs.stat(data)["length"], _hdfs.read(data, 3, 4), [block["length"] for block in _hdfs.blocks(data)])
"""


SLOWLY = """
import hashlib, os, sys, time
from tony import _hdfs
path, go, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
digest = hashlib.sha256()
with _hdfs._ask("read", path) as answer:
    digest.update(answer.read(1 << 20))
    print("begun", flush=True)
    while not os.path.exists(go):
        time.sleep(0.1)
    while part := answer.read(1 << 20):
        digest.update(part)
print(digest.hexdigest())
print(all(len(_hdfs.read(path, offset, 1000)) == 1000 for offset in range(0, size - 1000, size // 20)))
"""


@pytest.fixture
def tony(own_tony):
    return own_tony


@pytest.fixture
def place(own_cluster):
    path = f"/tmp/{uuid.uuid4()}"
    yield path
    own_cluster.hdfs("DELETE", path, op="DELETE", recursive="true")


def source(tony, name, text):
    folder = tony.directory / name
    folder.mkdir()
    (folder / "read.py").write_text(text)
    return folder


def start(tony, folder, *words, engine="yarn", python=PYTHON, **keys):
    """A task whose program knows nothing of Hadoop."""
    keys = {"tony.worker.instances": 1, "tony.worker.memory": "512m", "tony.containers.envs": f"PYTHONPATH={ROOT}/python", **keys}
    verb, *rest = tony.arguments(keys, "--scheduler", engine, "--executes",
                                 f"env -u HADOOP_CONF_DIR {python} read.py {' '.join(map(str, words))}", src_dir=folder)
    answer = tony.run(verb, "--detach", *rest)
    assert answer.returncode == 0, answer.stderr
    return Job(tony, answer.stdout.strip()) if engine == "local" else tony.found_job(answer.stdout)


def expect_all(tony, cluster, path, name, **keys):
    """A task reads what is put at `path`, of which it knows by `name`."""
    cluster.put(f"{path}/a b/data", b"0123456789")
    job = start(tony, source(tony, "all", ALL), name, **keys)
    assert job.wait() == 0, job.logs("worker:0", "stderr")
    assert job.logs("worker:0") == f"['{name}/a b', '{name}/a b/data'] 10 b'3456' [10]\n"
    return job


def test_all_is_there_over_a_gateway(own_cluster, tony, place):
    expect_all(tony, own_cluster, place, place, **{"tony.hdfs.httpfs": own_cluster.env["HTTPFS_URL"]})


@pytest.mark.parametrize("engine", ["yarn", "local"])
def test_parquet_is_read_without_java(own_cluster, tony, place, engine):
    python = venv_bin("files") / "python"
    made = subprocess.run([python, "-c", PARQUET], cwd=tony.directory, capture_output=True, text=True, check=True)
    content = (tony.directory / "data.parquet").read_bytes()
    own_cluster.put(f"{place}/a/data.parquet", content)
    job = start(tony, source(tony, "read", READ), place, engine=engine, python=python)
    assert job.wait() == 0, job.logs("worker:0", "stderr")
    first, *others = job.logs("worker:0").splitlines()
    assert first == made.stdout.strip()
    assert others == [f"{len(content)} False True", "True True", "b'PAR1'", "True", f"300000 {sum(range(300000))}"]


def served_by(cluster, executor):
    """The number of each DataNode that sends to the executor; "": of the first."""
    ports = json.loads((cluster.directory / "cluster.json").read_text())["ports"]
    sockets = {os.readlink(entry) for entry in Path(f"/proc/{executor}/fd").iterdir()}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    connected = {int(row[2].partition(":")[2], 16) for row in rows if f"socket:[{row[9]}]" in sockets}
    return [number for number in ("", "2") if ports[f"dn{number}-web"] in connected]


def test_a_data_node_lost_in_mid_read_is_not_seen(own_cluster, tony, place):
    """The NameNode names it for minutes on end."""
    content = random.Random(1).randbytes(LARGE)
    own_cluster.put(f"{place}/large", content)
    go = tony.directory / "go"
    job = start(tony, source(tony, "read", SLOWLY), f"{place}/large", go, LARGE)
    job.wait_log("worker:0", "begun")
    executor = job.wait_task("worker:0")["executor_pid"]
    number, = wait_until(lambda: served_by(own_cluster, executor), "a DataNode to send")
    status = Path(f"/proc/{executor}/status").read_text()
    own_cluster.kill("dn", number)
    go.touch()
    assert job.wait() == 0, job.logs("worker:0", "stderr")
    own_cluster.restart("dn", number)
    assert job.logs("worker:0").splitlines() == ["begun", hashlib.sha256(content).hexdigest(), "True"]
    assert int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) < 64 << 10, "it keeps what the program has not taken"
