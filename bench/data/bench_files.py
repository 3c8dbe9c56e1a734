"""A program of a job reads HDFS over its executor (TONY_FILES), beside curl that asks WebHDFS itself and Hadoop's own client, on a
cluster of one DataNode on this machine. In pairs: what else the machine does slows all of them down alike. Nothing here fails;
the reader judges.
"""

import argparse
import concurrent.futures
import http.client
import json
import random
import re
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench/yarn"), str(ROOT / "test/yarn")]

import bench  # noqa: E402
import bench_yarn  # noqa: E402
import kit  # noqa: E402

CLUSTER = {"--nodes": 1}
LARGE_MIB = 512
THREADS = 16

# The program of the task: how many seconds each takes, run by run.
PROGRAM = """
import json, os, subprocess, sys, time
raw, path, names, runs = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
own = ["--unix-socket", os.path.basename(os.environ["TONY_FILES"])]
folder = os.path.dirname(os.environ["TONY_FILES"])
READ = '''
import sys, fsspec
from tony import _files
_files.register()
with fsspec.open("tony+hdfs://" + sys.argv[1]) as file:
    while file.read(1 << 20):
        pass
'''
ways = {
    "raw": ["curl", "-sfL", "-o", "/dev/null", raw],
    "own": ["curl", "-sf", "-o", "/dev/null", *own, "http://tony/v1/files/read?path=" + path],
    "fsspec": [sys.argv[5], "-c", READ, path],
    "list": ["curl", "-sf", "-o", "/dev/null", *own, "http://tony/v1/files/list?path=" + names],
}
took = {name: [] for name in (*ways, "cpu")}

def executor():
    pid = os.getppid()
    while open(f"/proc/{pid}/comm").read() != "tony-agent\\n":
        pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
    return pid

def used(pid):
    user, system = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

for run in range(runs):
    for name in sorted(ways, reverse=run % 2):
        before = used(executor())
        start = time.perf_counter()
        subprocess.run(ways[name], cwd=folder, check=True)
        took[name].append(time.perf_counter() - start)
        if name == "own":
            took["cpu"].append(used(executor()) - before)
print(json.dumps(took))
"""


def measure(place, cluster, large, names, runs):
    folder = Path(place.path) / "src"
    folder.mkdir()
    (folder / "measure.py").write_text(PROGRAM)
    python = subprocess.run([ROOT / "test/frameworks/venv", "files"], capture_output=True, text=True, check=True).stdout.strip()
    raw = f"{cluster.env['WEBHDFS_URL']}{large}?op=OPEN\\&user.name={cluster.user}"
    out = place.tony("submit", "--detach", *place.options(1), "--conf", "tony.worker.memory=512m", "--conf",
                     f"tony.containers.envs=PYTHONPATH={ROOT}/python", "--src_dir", folder, "--executes",
                     f"{bench.PYTHON} measure.py {raw} {large} {names} {runs} {python}/bin/python")
    job = re.search(place.id_pattern, out).group()
    while cluster.application(job)["state"] not in bench_yarn.ENDED:
        time.sleep(0.1)
    lines = place.tony("logs", "--task", "worker:0", "--stream", "stdout", job).splitlines()
    return json.loads(lines[-1])


def cat(cluster, path):
    command = [kit.KIT, "hdfs", "--dir", cluster.directory, "dfs", "-cat", path]
    return bench.timed(lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True)) / 1000


def make_entries(cluster, names, count):
    """Directories: the NameNode makes them by one call each, and lists them as it does files."""
    url = urllib.parse.urlsplit(cluster.env["WEBHDFS_URL"])

    def make(first):
        connection = http.client.HTTPConnection(url.netloc)
        for number in range(first, count, THREADS):
            connection.request("PUT", f"{url.path}{names}/part-{number:06}?op=MKDIRS&user.name={cluster.user}")
            answer = connection.getresponse()
            if answer.status != 200:
                sys.exit(f"bench: {answer.status} {answer.read()}")
            answer.read()

    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(make, range(THREADS)))


def show_files(runs, entries):
    """Of one task."""
    watched = kit.Watched(CLUSTER)
    try:
        cluster = watched.cluster
        large, names = "/tmp/large", "/tmp/names"
        cluster.put(large, random.Random(1).randbytes(1 << 20) * LARGE_MIB)
        make_entries(cluster, names, entries)
        place = bench_yarn.YarnPlace(cluster)
        took = measure(place, cluster, large, names, runs)
        place.close()
        java = [cat(cluster, large) for _ in range(runs)]
        rates = {name: [LARGE_MIB / seconds for seconds in values] for name, values in (*took.items(), ("java", java))}
        print(f"a file of {LARGE_MIB} MiB in HDFS, read by a task", flush=True)
        bench.show("  curl, of WebHDFS itself", rates["raw"], "MiB/s", "")
        bench.show("  hdfs dfs -cat, with the start of its JVM", rates["java"], "MiB/s", "")
        bench.show("  curl, at TONY_FILES", rates["own"], "MiB/s", "")
        bench.show("    of what curl gets of WebHDFS itself",
                   [raw / own for raw, own in zip(took["raw"], took["own"])], "", ">= 1.0")
        bench.show("    CPU of the executor for it", [seconds * 1024 / LARGE_MIB for seconds in took["cpu"]], "s/GiB", "")
        bench.show("  fsspec, tony+hdfs://, with the start of Python", rates["fsspec"], "MiB/s", "")
        bench.show(f"a list of {entries} entries of one directory", took["list"], "s", "<= 5")
    finally:
        watched.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--entries", type=int, default=100000, help="of the directory that is listed")
    arguments = parser.parse_args()
    show_files(arguments.runs, arguments.entries)


if __name__ == "__main__":
    main()
