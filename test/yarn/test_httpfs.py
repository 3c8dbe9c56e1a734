"""All through a gateway: jobs of who reaches neither NameNodes nor DataNodes."""

import http.client
import http.server
import json
import re
import shutil
import threading
import urllib.parse
import uuid
import xml.etree.ElementTree as ET

import pytest
from patience import PATIENCE_S, wait_until
from program import write_xml


@pytest.fixture
def outside(tony, cluster):
    """Where tony is typed, site files name NameNodes that are not to be reached."""
    conf = tony.directory / "hadoop"
    shutil.copytree(cluster.env["HADOOP_CONF_DIR"], conf)
    site = ET.parse(conf / "hdfs-site.xml")
    for entry in site.iter("property"):
        if entry.find("name").text == "dfs.namenode.http-address":
            entry.find("value").text = "127.0.0.1:1"
    site.write(conf / "hdfs-site.xml")
    write_xml(tony.directory / "conf/tony-site.xml", {"tony.hdfs.httpfs": cluster.env["HTTPFS_URL"]})
    tony.env["HADOOP_CONF_DIR"] = str(conf)
    return tony


@pytest.mark.short
def test_a_job_through_a_gateway(outside, cluster):
    """Staging, files and checkpoints of the tasks, history, logs; all is found from another machine, too."""
    place = f"/user/{cluster.user}/{uuid.uuid4()}"
    cluster.put(f"{place}/data", b"fetched")
    answer, job = outside.job({"tony.worker.instances": 2, "tony.worker.resources":
                               f"{cluster.env['HDFS_URI']}{place}/data"},
                              "--executes", "bash -c 'cat data; echo; echo $RANDOM >$TONY_CHECKPOINT_DIR/$TASK_INDEX'")
    cluster.hdfs("DELETE", place, op="DELETE", recursive="true")
    assert answer.returncode == 0, answer.stderr
    assert sorted(name for name in cluster.list(f"/user/{cluster.user}/.tony/checkpoints/{job.id}")
                  if not name.startswith(".")) == ["0", "1"]
    outside.forget()
    assert job.status()["state"] == "succeeded"
    assert "succeeded" in json.dumps(job.events()[-1])
    assert job.logs("worker:1") == "fetched\n"


class Gateway(http.server.ThreadingHTTPServer):
    """In front of the cluster's own: passes everything on. What is_late(path) is true of waits for `wait(path)`,
    either all of it or, if `begun`, its last byte."""

    daemon_threads = True

    def __init__(self, behind, is_late, wait, begun):
        super().__init__(("127.0.0.1", 0), Passage)
        self.behind = urllib.parse.urlsplit(behind).netloc
        self.is_late, self.wait, self.begun = is_late, wait, begun
        self.late = []   # what was answered to it
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Passage(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        is_late = self.server.is_late(self.path)
        if is_late and not self.server.begun:
            self.server.wait(self.path)
        behind = http.client.HTTPConnection(self.server.behind, timeout=PATIENCE_S)
        behind.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name not in ("Connection", "Expect"):
                behind.putheader(name, value)
        behind.endheaders(body[:-1])
        if is_late and self.server.begun:
            self.server.wait(self.path)
        behind.send(body[-1:])
        self.hand_back(behind.getresponse(), is_late)
        behind.close()

    def hand_back(self, answer, is_late):
        content = answer.read()
        if is_late:
            self.server.late.append(answer.status)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.getheader("Content-Type") or "text/plain")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = pass_on

    def log_message(self, *_):
        """Nobody reads it."""


@pytest.mark.parametrize("begun", [True, False])
def test_a_job_is_over_before_its_directory_is_filled(tony, cluster, begun):
    """Its AM has removed the directory in which the client writes a file, or is about to: that is no failure,
    and the directory does not come back."""
    def ended(path):
        job = re.search("application_[0-9]+_[0-9]+", path).group()
        if begun:
            wait_until(lambda: "job.json" in cluster.list(f"/user/{cluster.user}/.tony/{job}"), "the file to be begun")
        (tony.directory / "go").touch()
        wait_until(lambda: cluster.application(job)["state"] == "FINISHED"
                   and job not in cluster.list(f"/user/{cluster.user}/.tony"), f"{job} to end")

    def is_late(path):
        return re.search(r"/\.tony/application_\w+/job\.json\?.*op=CREATE", path)

    with Gateway(cluster.env["HTTPFS_URL"], is_late, ended, begun) as gateway:
        answer, job = tony.job({"tony.worker.instances": 1,
                                "tony.hdfs.httpfs": f"http://127.0.0.1:{gateway.server_port}"}, "--executes",
                               f"./exit_after.sh {tony.directory}/go 0")
    assert gateway.late == [404 if begun else 201]
    assert answer.returncode == 0, answer.stderr
    assert job.id not in cluster.list(f"/user/{cluster.user}/.tony")
