"""Where a cluster's site files are looked for."""

import pytest
from program import write_xml
from site_files import as_system_files

JOB = ("submit", "--src_dir", "src", "--", "true")


@pytest.fixture
def system_files(tony):
    """A call makes /etc/hadoop/conf for tony, with a yarn-site.xml of these keys."""
    tony.env.pop("HADOOP_CONF_DIR")
    (tony.directory / "src").mkdir()

    def make(keys):
        conf = tony.directory / "hadoop"
        conf.mkdir(exist_ok=True)
        write_xml(conf / "core-site.xml", {"fs.defaultFS": "hdfs://127.0.0.1:1"})
        write_xml(conf / "yarn-site.xml", {"yarn.resourcemanager.connect.max-wait.ms": 1, **keys})
        tony.enter = as_system_files(tony.directory / "etc", conf)
    return make


def test_a_cluster_of_the_machine_is_found(tony, system_files):
    system_files({"yarn.resourcemanager.address": "127.0.0.1:1"})
    answer = tony.run(*JOB)
    assert "tony: on YARN, from /etc/hadoop/conf\n" in answer.stderr
    assert "ResourceManager at 127.0.0.1:1" in answer.stderr
    # As its user says: here, whatever the machine has.
    for arguments, env in ((("submit", "--scheduler", "local", "--src_dir", "src", "--", "true"), {}), (JOB, {"HADOOP_CONF_DIR": ""})):
        answer = tony.run(*arguments, env=env)
        assert answer.returncode == 0 and "YARN" not in answer.stderr, answer.stderr
    tony.env["HADOOP_CONF_DIR"] = ""   # no other command asks that cluster


def test_site_files_that_name_no_resource_manager_make_no_cluster(tony, system_files):
    """A package has installed them."""
    system_files({"yarn.nodemanager.aux-services": "mapreduce_shuffle"})
    answer = tony.run(*JOB)
    assert answer.returncode == 0 and "hadoop" not in answer.stderr, answer.stderr


def test_a_folder_without_site_files_is_told_wherever_the_cluster_would_be_shown(tony):
    """By all who would ask the cluster, in the same words."""
    (tony.directory / "src").mkdir()
    env = {"HADOOP_CONF_DIR": "/no/such/folder"}
    for arguments, end in ((JOB, "the job runs on this machine"), (("nodes",), "this machine is shown"),
                           (("queues",), "this machine is shown"), (("list",), "jobs there are not shown")):
        answer = tony.run(*arguments, env=env)
        assert answer.returncode == 0, answer.stderr
        assert f'HADOOP_CONF_DIR: there is no yarn-site.xml in "/no/such/folder": {end}' in answer.stderr


def test_site_files_that_cannot_be_read_are_told(tony, system_files):
    system_files({})
    (tony.directory / "hadoop/yarn-site.xml").write_text("<configuration>")
    answer = tony.run(*JOB)
    assert answer.returncode == 0
    assert "/etc/hadoop/conf/yarn-site.xml: line 1" in answer.stderr
    assert "the job runs on this machine" in answer.stderr
