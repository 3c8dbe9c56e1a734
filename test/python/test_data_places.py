"""tony.data reads files that are far: at a web server, and in a bucket of S3."""

import http.server
import json
import os
import re
import subprocess
import threading

import pytest
from bucket import Bucket
from conftest import PACKAGE, venv_bin
from data_files import libraries, records, write_avro, write_jsonl, write_parquet, write_spark

libraries()

READ = """
import json, sys
from tony import data
for line in sys.stdin:
    paths, options = json.loads(line)
    try: print(json.dumps(sorted(row["id"] for rank in range(2) for row in data.shard(paths, rank=rank, size=2, **options).records())))
    except Exception as error: print(json.dumps(f"{type(error).__name__}: {error}"))
"""


def read(*questions, **env):
    """The ids of what two ranks read, or the error, of each (paths, options)."""
    done = subprocess.run([venv_bin("data") / "python3", "-c", READ], input="\n".join(map(json.dumps, questions)), capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": str(PACKAGE), **env})
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


class Ranges(http.server.SimpleHTTPRequestHandler):
    """As servers of files are: parts of a file are answered."""

    def log_message(self, *words):
        pass

    def do_GET(self):
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        path = self.translate_path(self.path)
        if not wanted or not os.path.isfile(path):
            super().do_GET()
            return
        with open(path, "rb") as file:
            whole = file.read()
        first, last = int(wanted[1]), min(int(wanted[2] or len(whole)), len(whole) - 1)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(whole)}")
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        self.wfile.write(whole[first:last + 1])


@pytest.fixture
def web(tmp_path):
    """A folder, and where a server has it."""
    folder = tmp_path / "www"
    folder.mkdir()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *rest: Ranges(*rest, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_files_of_a_web_server(web):
    folder, url = web
    write_parquet(folder / "a.parquet", records(range(300)))
    write_jsonl(folder / "a.jsonl", records(range(300)))
    write_avro(folder / "a.avro", records(range(300)))
    *found, missing = read(*[([f"{url}/a.{kind}"], {}) for kind in ("parquet", "jsonl", "avro")], ([f"{url}/none.avro"], {}))
    assert found == [list(range(300))] * 3
    assert missing == f"NotFound: {url}/none.avro: there is no such file or directory"


def test_files_of_unknown_length(web, monkeypatch):
    folder, url = web

    def head(self):
        self.send_response(200)
        self.end_headers()

    def get(self):
        head(self)
        with open(self.translate_path(self.path), "rb") as file:
            self.wfile.write(file.read())

    monkeypatch.setattr(Ranges, "do_HEAD", head, raising=False)
    monkeypatch.setattr(Ranges, "do_GET", get)
    write_jsonl(folder / "a.jsonl", [{**row, "pad": "x" * 200} for row in records(range(9000))])
    assert (folder / "a.jsonl").stat().st_size > 2 << 20
    assert read(([f"{url}/a.jsonl"], {}), ([f"{url}/a.jsonl"], {"columns": ["id"]})) == [list(range(9000))] * 2


@pytest.mark.slow
def test_a_table_in_a_bucket(tmp_path):
    write_spark(tmp_path / "table", range(300))
    keys = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1"}
    with Bucket(tmp_path, {**os.environ, **keys}) as bucket:
        bucket.make()
        bucket.run(f"import pathlib; base = pathlib.Path('{tmp_path}/table'); "
                   "[bucket.upload_file(str(path), 'day/table/' + str(path.relative_to(base))) for path in base.rglob('*') if path.is_file()]")
        found = read(("s3://jobs/day/table", {}), ("s3://jobs/day/*/label={0,1}/part-*", {}), ("s3://jobs/day", {"where": [["label", "=", 2]]}),
                     ("s3://jobs/none", {}), AWS_ENDPOINT_URL=bucket.url, **keys)
    assert found == [list(range(300)), [n for n in range(300) if n % 3 < 2], [n for n in range(300) if n % 3 == 2],
                     "NotFound: s3://jobs/none: there is no such file or directory"]
