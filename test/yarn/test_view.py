"""A cluster whose default file system is a mount table of ViewFS: names that users give lead to the HDFS behind it."""

import json
import shutil
import uuid
import xml.etree.ElementTree as ET

import pytest
from patience import wait_until
from program import write_xml
from test_files import expect_all


@pytest.fixture
def place(cluster):
    path = f"/user/{cluster.user}/{uuid.uuid4()}"
    for directory in (path, f"{path}/elsewhere"):
        cluster.hdfs("PUT", directory, op="MKDIRS", permission="1777")
    yield path
    cluster.hdfs("DELETE", path, op="DELETE", recursive="true")


@pytest.fixture
def viewer(tony, cluster, place):
    """The cluster's own daemons know nothing of the mount table, which is in a file that core-site.xml includes."""
    conf = tony.directory / "hadoop"
    shutil.copytree(cluster.env["HADOOP_CONF_DIR"], conf)
    core = ET.parse(conf / "core-site.xml")
    for entry in core.iter("property"):
        if entry.find("name").text == "fs.defaultFS":
            entry.find("value").text = "viewfs://cl"
    ET.SubElement(core.getroot(), "{http://www.w3.org/2001/XInclude}include", href="mounts.xml")
    core.write(conf / "core-site.xml")
    links = {"/user": "/user", "/app-logs": "/app-logs", "/projects": place, "/projects/kept": f"{place}/elsewhere"}
    write_xml(conf / "mounts.xml", {f"fs.viewfs.mounttable.cl.link.{name}": f"{cluster.env['HDFS_URI']}{path}"
                                    for name, path in links.items()})
    write_xml(tony.directory / "conf/tony-site.xml", {"tony.history.location": "/projects/kept/history"})
    tony.env["HADOOP_CONF_DIR"] = str(conf)
    return tony


def test_a_job_through_a_mount_table(viewer, cluster, place):
    cluster.put(f"{place}/data", b"one")
    cluster.put(f"{place}/elsewhere/more", b"two")
    answer, job = viewer.job(
        {"tony.worker.instances": 2, "tony.application.checkpoint-dir": "viewfs:///projects/kept/ck",
         "tony.worker.resources": "viewfs://cl/projects/data,hdfs:///projects/kept/more"},
        "--executes", "bash -c 'cat data more; echo; echo $RANDOM >$TONY_CHECKPOINT_DIR/$TASK_INDEX'")
    assert answer.returncode == 0, answer.stderr
    kept = cluster.list(f"{place}/elsewhere/ck")
    assert sorted(name for name in kept if not name.startswith(".")) == ["0", "1"]
    urls = [file["url"] for file in json.loads((viewer.state / "yarn" / job.id / "job.json").read_text())["engine"]["files"]]
    assert all(url.startswith(cluster.env["HDFS_URI"]) for url in urls), "what NodeManagers can read"
    day = job.history.split("/history/")[1]
    wait_until(lambda: "summary.json" in cluster.list(f"{place}/elsewhere/history/{day}"), "the history to be published")
    viewer.forget()
    assert job.status()["state"] == "succeeded"
    assert job.logs("worker:1") == "onetwo\n"
    answer = viewer.run("rm", job.id)
    assert answer.returncode == 0 and not cluster.list(f"{place}/elsewhere/history/{day}"), answer.stderr


def test_a_name_to_which_no_link_leads_is_refused(viewer):
    for key in ("tony.worker.resources", "tony.application.checkpoint-dir"):
        answer, job = viewer.job({"tony.worker.instances": 1, key: "viewfs:///nowhere/x"}, "--executes", "true")
        assert answer.returncode == 3 and job is None
        assert f'viewfs:///nowhere/x' in answer.stderr and "viewfs://cl" in answer.stderr, answer.stderr


@pytest.mark.slow
def test_a_program_reads_through_a_mount_table(viewer, cluster, place):
    job = expect_all(viewer, cluster, f"{place}/elsewhere", "viewfs:///projects/kept")
    job.ended_application()
    wait_until(lambda: not viewer.staged(), "its history to be published there")
