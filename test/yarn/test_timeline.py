"""The timeline server of YARN, version 1: programs of a job write there by its token, with Hadoop's own client."""

import json
import os

import pytest
from test_hdfs_tokens import hadoop_client

# New tokens live for as long as those that the scheduler renews.
CLUSTER = {"--nodes": 1, "--secure": None, "--https": None, "--protection": "privacy", "--timeline": None,
           "--token-life-sec": 86400, "--token-renew-sec": 86400}
KEYS = {"tony.worker.instances": 1, "tony.worker.memory": "512m"}
BEST_EFFORT = "yarn.timeline-service.client.best-effort"

# Told the entity's name. Java runs it from the source.
PUT = """
import org.apache.hadoop.yarn.api.records.timeline.TimelineEntity;
import org.apache.hadoop.yarn.client.api.TimelineClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

public class Put {
    public static void main(String[] names) throws Exception {
        TimelineClient client = TimelineClient.createTimelineClient();
        client.init(new YarnConfiguration());
        client.start();
        TimelineEntity entity = new TimelineEntity();
        entity.setEntityType("digits");
        entity.setEntityId(names[0]);
        entity.setStartTime(System.currentTimeMillis());
        System.out.println(client.putEntities(entity).getErrors().size() + " errors");
    }
}
"""


def put(cluster, name):
    """As hadoop_client(): with no ticket."""
    before = hadoop_client(cluster).partition("hdfs() {")[0]
    return before + (f"KRB5CCNAME=FILE:/nowhere {cluster.env['JAVA_HOME']}/bin/java -Djava.security.krb5.conf=krb5.conf "
                     f"-cp '{cluster.env['HADOOP_CONF_DIR']}:{cluster.env['HADOOP_CLASSPATH']}' Put.java {name}; ")


def look(cluster, name):
    return json.loads(cluster.curl(cluster.user, f"{cluster.env['TIMELINE_URL']}/digits/{name}"))


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "Put.java").write_text(PUT)
    return folder


def test_a_program_writes_by_the_jobs_token_and_by_a_renewed_one(own_cluster, own_tony, source):
    go = own_tony.directory / "go"
    script = (put(own_cluster, "first") + f"while ! test -e {go}; do sleep 0.1; done; " + put(own_cluster, "second"))
    job = own_tony.submit(KEYS, "--executes", script, src_dir=source)
    job.wait_log("worker:0", "0 errors")
    assert look(own_cluster, "first")["entity"] == "first"
    answer = own_tony.run("renew", job.id)
    assert answer.returncode == 0, answer.stderr
    assert own_cluster.env["TIMELINE_URL"].split("/")[2] in answer.stdout
    go.touch()
    assert job.wait() == 0
    assert look(own_cluster, "second")["entity"] == "second"
    assert "Failed to renew token" not in (own_cluster.directory / "log" / "rm.log").read_text()


def test_a_server_that_is_away_costs_the_job_its_token_or_its_submission(own_cluster, own_tony):
    own_cluster.kill("timeline")
    try:
        refused = own_tony.run(*own_tony.arguments(KEYS, "--executes", "true"))
        assert refused.returncode != 0
        assert "no delegation token of the timeline server: https://" in refused.stderr
        assert f"{BEST_EFFORT}=true in yarn-site.xml" in refused.stderr
        env = own_tony.change_site("yarn-site.xml", "</configuration>",
                                   f"<property><name>{BEST_EFFORT}</name><value>true</value></property></configuration>")
        answer = own_tony.run(*own_tony.arguments(KEYS, "--follow", "--executes", "echo without"), env=env)
        assert answer.returncode == 0 and "without\n" in answer.stdout
        assert "the job gets no delegation token of the timeline server" in answer.stderr
    finally:
        own_cluster.restart("timeline")
