"""What containers have: GPUs, queues, Docker variables, files from HDFS, text in any characters."""

import io
import json
import os
import re
import resource
import signal
import tarfile
import zipfile
from pathlib import Path

import pytest
from program import PYTHON, parent_of, read_environ, wait_until, write_xml

ODD = "a \"double\" 'single' $HOME `date` back\\slash\nnew line {{PATH}} <LOG_DIR> %s ü ; & | * ?"
SHOW = "import json, os, sys; print(json.dumps([os.environ.get('ODD'), os.environ.get('EVEN'), sys.argv[1:]]))"


def go_command(tony):
    return f"./exit_after.sh {tony.directory}/go 0"


def test_gpus(tony):
    job = tony.submit({"tony.worker.instances": 2, "tony.worker.gpus": 1}, "--executes", go_command(tony))
    for name in ("worker:0", "worker:1"):
        job.wait_task(name)

    def used():
        nodes = tony.cluster.rm("nodes")["nodes"]["node"]
        return sum(row["value"] for node in nodes
                   for row in node["usedResource"]["resourceInformations"]["resourceInformation"]
                   if row["name"] == "yarn.io/gpu")
    wait_until(lambda: used() == 2, "two GPUs in use")
    (tony.directory / "go").touch()
    assert job.wait() == 0


def test_any_resource_by_its_name(tony):
    job = tony.submit({"tony.worker.instances": 1, "tony.worker.resource.yarn.io/gpu": 2}, "--executes",
                      go_command(tony))
    job.wait_task("worker:0")
    assert "yarn.io/gpu" in json.dumps(job.application())
    (tony.directory / "go").touch()
    assert job.wait() == 0


def ancestor(pid, name):
    while name not in Path(f"/proc/{pid}/cmdline").read_bytes():
        pid = parent_of(pid)
    return pid


@pytest.mark.promise("S28", "S29")
def test_core_limit_is_the_containers(tony):
    """The NodeManager's, not that of the shell in which the job was submitted."""
    job = tony.submit({"tony.worker.instances": 2}, "--executes", f"ulimit -Sc; {go_command(tony)}")
    for task in ("worker:0", "worker:1"):
        executor = job.wait_task(task)["executor_pid"]
        soft, hard = resource.prlimit(ancestor(executor, b"NodeManager"), resource.RLIMIT_CORE)
        assert resource.prlimit(executor, resource.RLIMIT_CORE) == (0, hard)
        assert resource.prlimit(parent_of(executor), resource.RLIMIT_CORE) == (0, hard)
        job.wait_log(task, "unlimited\n" if soft == resource.RLIM_INFINITY else f"{soft >> 10}\n")
    (tony.directory / "go").touch()
    assert job.wait() == 0


@pytest.mark.short
def test_queue_name_type_and_tags(tony):
    answer, job = tony.job({"tony.application.name": "a name, with <odd> characters",
                            "tony.application.tags": "nightly,red", "tony.worker.instances": 1},
                           "--queue", "ml", "--executes", "true")
    assert answer.returncode == 0, answer.stderr
    report = job.application()
    assert report["queue"].split(".")[-1] == "ml"
    assert report["name"] == "a name, with <odd> characters"
    assert report["applicationType"] == "TONY"
    assert {"nightly", "red"} <= set(report["applicationTags"].split(","))


@pytest.mark.short
def test_a_task_that_goes_over_its_memory_fails_for_that(tony):
    """Its node's reason is what counts, though the executor leaves in good order: it is not asked for again."""
    answer, job = tony.job({"tony.worker.instances": 1, "tony.worker.memory": "64m"}, "--executes",
                           f"""{PYTHON} -c 'import time; hold = b"a" * (400 << 20); time.sleep(600)'""")
    assert answer.returncode == 1
    assert re.search(r"worker:0 on \S+ went over its memory of 64 MiB", answer.stdout)
    assert job.status()["epoch"] == 1


def test_docker_variables_are_what_the_docker_runtime_reads(tony):
    """This cluster's executor knows no Docker and runs the program as it is, with the variables."""
    answer, job = tony.job({
        "tony.worker.instances": 1, "tony.reader.instances": 1, "tony.docker.enabled": "true",
        "tony.docker.containers.image": "registry/base:1", "tony.docker.reader.image": "registry/reader:2",
        "tony.docker.containers.mount": "/data:/data:ro"},
        "--executes", "env | grep ^YARN_CONTAINER_RUNTIME | sort")
    assert answer.returncode == 0, answer.stderr
    assert job.logs("worker:0").splitlines() == [
        "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE=registry/base:1",
        "YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS=/data:/data:ro",
        "YARN_CONTAINER_RUNTIME_TYPE=docker"]
    assert "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE=registry/reader:2" in job.logs("reader:0")


def test_docker_image_of_the_am(tony):
    """tony.docker.am.image: the AM's container has the variables that the Docker runtime reads."""
    job = tony.submit({"tony.worker.instances": 1, "tony.docker.enabled": "true", "tony.docker.am.image": "registry/am:3",
                       "tony.docker.containers.image": "registry/base:1"}, "--executes", go_command(tony))
    job.wait_task("worker:0")
    values = read_environ(job.status()["am_pid"])
    assert {b"YARN_CONTAINER_RUNTIME_TYPE=docker", b"YARN_CONTAINER_RUNTIME_DOCKER_IMAGE=registry/am:3"} <= set(values)
    (tony.directory / "go").touch()
    assert job.wait() == 0


def test_node_attributes(tony):
    """Two workers on the one node that has the attribute, which they tell; a value that no node has is waited for."""
    host = "127.0.0.3"
    tony.cluster.kit("yarn", "nodeattributes", "-add", f"{host}:python(STRING)=3")
    try:
        job = tony.submit({"tony.worker.instances": 2, "tony.worker.node-attribute": "rm.yarn.io/python=3,python!=2",
                           "tony.ps.instances": 1, "tony.ps.node-attribute": "python!=3"}, "--executes", go_command(tony))
        assert {job.wait_task(f"worker:{index}")["host"] for index in range(2)} == {host}
        assert job.wait_task("ps:0")["host"] != host
        (tony.directory / "go").touch()
        assert job.wait() == 0
        none = tony.submit({"tony.worker.instances": 1, "tony.worker.node-attribute": "python=2"}, "--executes", "true")
        wait_until(lambda: "worker: python=2 on " in (none.status()["waiting"] or ""), "the reason to be told")
        assert tony.run("kill", none.id).returncode == 0
    finally:
        tony.cluster.kit("yarn", "nodeattributes", "-remove", f"{host}:python")


def test_placement_constraints(tony):
    """Workers on nodes of their own, and parameter servers on nodes that have a worker."""
    job = tony.submit({"tony.worker.instances": 3, "tony.worker.allocation-tags": "w",
                       "tony.worker.placement-spec": "notin,node,w", "tony.ps.instances": 1,
                       "tony.ps.allocation-tags": "p", "tony.ps.placement-spec": "in,node,w"},
                      "--executes", go_command(tony))
    hosts = [job.wait_task(f"worker:{index}")["host"] for index in range(3)]
    assert len(set(hosts)) == 3 and job.wait_task("ps:0")["host"] in hosts
    (tony.directory / "go").touch()
    assert job.wait() == 0


def test_a_job_with_placement_constraints_pauses_and_asks_again(tony):
    """The ResourceManager compares each field of a cancelled request with the one it has; the AM lives on."""
    job = tony.submit({"tony.worker.instances": 4, "tony.worker.allocation-tags": "w",
                       "tony.worker.placement-spec": "notin,node,w"}, "--executes", "true")

    def waits(text):
        return (status := job.status())["waiting"] and status["waiting"].startswith(text) and status

    am = wait_until(lambda: waits("pauses, having given back"), "the job to pause")["am_pid"]
    assert wait_until(lambda: waits("waits for"), "the job to ask again")["am_pid"] == am
    assert tony.run("kill", job.id).returncode == 0


@pytest.mark.slow
def test_an_executor_is_lost_where_a_constraint_needs_every_node(tony):
    """Three workers, no two on a node, and three nodes without a label: the avoided one is the only one left."""
    job = tony.submit({"tony.worker.instances": 3, "tony.worker.allocation-tags": "w",
                       "tony.worker.placement-spec": "notin,node,w"}, "--executes", go_command(tony))
    for index in range(3):
        job.wait_task(f"worker:{index}")
    host = job.task("worker:1")["host"]
    os.kill(wait_until(lambda: job.task("worker:1").get("executor_pid"), "the AM to be found"), signal.SIGKILL)
    wait_until(lambda: f"{host} is avoided, since tasks were lost there" in (job.status().get("waiting") or ""),
               "it to be told")
    assert job.wait_task("worker:1", attempt=2)["host"] == host
    (tony.directory / "go").touch()
    assert job.wait() == 0


def test_constraint_of_the_application(tony):
    """tony.application.placement-spec, with tags of a type: at most one of them on a node."""
    job = tony.submit({"tony.worker.instances": 2, "tony.worker.allocation-tags": "w",
                       "tony.application.placement-spec": "cardinality,node,w,0,0"}, "--executes", go_command(tony))
    assert len({job.wait_task(f"worker:{index}")["host"] for index in range(2)}) == 2
    (tony.directory / "go").touch()
    assert job.wait() == 0


def test_hadoop_archive(tony, place):
    """tony.application.hadoop.location: unpacked in each working directory, by the name behind "#"."""
    tony.cluster.put(f"{place}/hadoop.zip", zipped(etc__version="3.9\n"))
    answer, job = tony.job({"tony.worker.instances": 1,
                            "tony.application.hadoop.location": f"hdfs://{place}/hadoop.zip#mr"},
                           "--executes", "cat mr/etc/version")
    assert answer.returncode == 0, answer.stderr
    assert job.logs("worker:0") == "3.9\n"


def test_an_instruction_that_two_machines_lack_is_the_programs_fault(tony):
    answer, job = tony.job({"tony.worker.instances": 2}, "--executes", "kill -ILL $$")
    assert answer.returncode != 0
    assert "is not tried again: processors of two machines lack an instruction of the program's" in answer.stdout
    assert "try: build the program for the processors of the machines" in answer.stdout + answer.stderr
    assert job.status()["infrastructure_retries"] < 10


def test_a_file_that_was_changed_since_the_submission_is_not_tried_ten_times(tony, place):
    """Each node wants the file that was there when the job was submitted."""
    file = f"{place}/data.txt"
    tony.cluster.put(file, b"first")
    job = tony.submit({"tony.worker.instances": 1, "tony.containers.resources": f"hdfs://{file}"}, "--executes",
                      f"cat data.txt; ./exit_after.sh {tony.directory}/go 0")
    executor = job.wait_task("worker:0")["executor_pid"]
    tony.cluster.put(file, b"another")
    os.kill(executor, signal.SIGKILL)
    assert job.wait() != 0
    status = job.status()
    assert "changed on src filesystem" in status["message"]
    assert status["infrastructure_retries"] == 1
    said = tony.run("status", job.id).stdout
    assert "try: submit the job again, and write new files under new names" in said


@pytest.mark.short
def test_environment_and_arguments_arrive_unchanged(tony):
    """Nothing of it may pass through the shell script that a NodeManager starts containers with."""
    said = ODD.replace("{{", "{{{{")  # tony's own templates
    answer = tony.run("submit", "--memory", "64m", "--conf", "tony.am.memory=64m", "--type", "worker=1",
                      "--env", f"ODD={said}", "--container_env", f"EVEN={said}", "--",
                      PYTHON, "-c", SHOW, said, "", "--last")
    assert answer.returncode == 0, answer.stderr
    job = tony.found_job(answer.stdout + answer.stderr)
    assert json.loads(job.logs("worker:0")) == [ODD, ODD, [ODD, "", "--last"]]


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members.items():
            member = zipfile.ZipInfo(name.replace("__", "/"))
            member.external_attr = 0o755 << 16
            archive.writestr(member, text)
    return buffer.getvalue()


@pytest.fixture
def place(tony):
    path = f"/user/{tony.cluster.user}/{tony.directory.name}"
    yield path
    tony.cluster.hdfs("DELETE", path, op="DELETE", recursive="true")


@pytest.mark.short
def test_files_in_hdfs_of_every_kind(tony, place):
    """A file, one under another name, an archive that is unpacked, and a directory's files."""
    tony.cluster.put(f"{place}/plain", b"plain")
    tony.cluster.put(f"{place}/other", b"other")
    tony.cluster.put(f"{place}/tree.zip", zipped(inner__file="inside"))
    tony.cluster.put(f"{place}/folder/one", b"one")
    tony.cluster.put(f"{place}/folder/two", b"two")
    at = tony.cluster.env["HDFS_URI"] + place
    answer, job = tony.job({
        "tony.worker.instances": 2,
        "tony.worker.resources": f"{at}/plain,{at}/other::renamed,{at}/tree.zip::tree#archive,{at}/folder"},
        "--executes", "cat plain renamed tree/inner/file one two; echo")
    assert answer.returncode == 0, answer.stderr
    assert job.logs("worker:0") == "plainotherinsideonetwo\n" == job.logs("worker:1")


def put_sources(cluster, place):
    """A directory, with a program in it, and the same as archives."""
    program = '#!/bin/sh\ncat below/data && cat below/deep/empty && echo "$TASK_INDEX"\n'
    cluster.put(f"{place}/src/run.sh", program.encode())
    cluster.hdfs("PUT", f"{place}/src/run.sh", op="SETPERMISSION", permission="755")
    cluster.put(f"{place}/src/below/data", b"data of ")
    cluster.put(f"{place}/src/below/deep/empty", b"")
    members = {"run.sh": program.encode(), "below/data": b"data of ", "below/deep/empty": b""}
    cluster.put(f"{place}/src.zip", zipped(**{"run.sh": program, "below__data": "data of ", "below__deep__empty": ""}))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755
            archive.addfile(member, io.BytesIO(content))
    cluster.put(f"{place}/src.tar.xz", buffer.getvalue())


@pytest.mark.parametrize("name", ["src", "src/", "src.zip", "src.tar.xz"])
def test_sources_in_hdfs(tony, place, name):
    """A directory, an archive that NodeManagers unpack, and one that they cannot."""
    put_sources(tony.cluster, place)
    source = f"{tony.cluster.env['HDFS_URI']}{place}/{name}"
    answer, job = tony.job({"tony.worker.instances": 2, "tony.ps.instances": 1}, "--src_dir", source,
                           "--executes", "./run.sh", src_dir=None)
    assert answer.returncode == 0, answer.stderr
    assert [job.logs(f"worker:{index}") for index in (0, 1)] == ["data of 0\n", "data of 1\n"]


@pytest.mark.parametrize("name", ["src", "src.zip", "src.tar.xz"])
def test_sources_in_hdfs_of_a_job_on_this_machine(tony, place, name):
    put_sources(tony.cluster, place)
    answer = tony.run("submit", "--scheduler", "local", "--conf", f"tony.application.src-dir=hdfs://{place}/{name}",
                      "--type", "worker=1", "--memory", "64m", "--executes", "./run.sh > $TONY_CHECKPOINT_DIR/out")
    assert answer.returncode == 0, answer.stderr
    out, = tony.state.glob("jobs/*/checkpoint/out")
    assert out.read_text() == "data of 0\n"


def test_files_in_hdfs_of_a_job_on_this_machine(tony, place):
    """A virtual environment, a file, the files of a directory, and of a class path what is there."""
    cluster = tony.cluster
    cluster.put(f"{place}/venv.zip", zipped(**{"bin__python": '#!/bin/sh\nexec "$@"\n'}))
    for name in ("words", "lib/a.jar", "lib/b.jar", "lib/below/c.jar"):
        cluster.put(f"{place}/{name}", name.encode())
    command = "venv/bin/python cat words other > $TONY_CHECKPOINT_DIR/out; ls *.jar >> $TONY_CHECKPOINT_DIR/out"
    options = ["submit", "--scheduler", "local", "--python_venv", f"hdfs://{place}/venv.zip",
               "--conf", f"tony.worker.resources=hdfs://{place}/words,hdfs://{place}/words::other",
               "--hdfs_classpath", f"{place}/lib,hdfs://{place}/none", "--type", "worker=1", "--memory", "64m",
               "--executes", command]
    for _ in range(2):
        answer = tony.run(*options)
        assert answer.returncode == 0, answer.stderr
        assert answer.stderr.count(f'"hdfs://{place}/none" is not there and is left out') == 1
    out, again = tony.state.glob("jobs/*/checkpoint/out")
    assert out.read_text() == again.read_text() == "wordswordsa.jar\nb.jar\n"
    # Once by content: the archive, the file and the directory, each beside its lock.
    names = [path.name for path in (tony.state / "cache").iterdir() if path.suffix not in (".lock", ".part")]
    assert len(names) == 3 and not list((tony.state / "cache").glob("*.part")), names
    answer = tony.run("submit", "--scheduler", "local", "--python_venv", f"hdfs://{place}/none.zip", "--executes", "true")
    assert answer.returncode == 4 and f"{place}/none.zip" in answer.stderr, answer.stderr


def test_sources_in_hdfs_that_are_not_there(tony):
    for scheduler in ("yarn", "local"):
        answer = tony.run("submit", "--scheduler", scheduler, "--src_dir", "hdfs:///no/such/src", "--executes", "true")
        assert answer.returncode == 4, answer.stderr
        assert "/no/such/src" in answer.stderr


def test_job_file_in_hdfs(tony, place):
    """A relative path in it is of its folder."""
    put_sources(tony.cluster, place)
    keys = {"tony.application.src-dir": "src", "tony.worker.instances": 1, "tony.worker.memory": "64m",
            "tony.am.memory": "64m", "tony.worker.command": "./run.sh"}
    tony.cluster.put(f"{place}/tony.xml", write_xml(tony.directory / "tony.xml", keys).read_bytes())
    for location in (f"hdfs://{place}/tony.xml", f"{tony.cluster.env['HDFS_URI']}{place}/tony.xml"):
        answer = tony.run("submit", "--conf_file", location)
        assert answer.returncode == 0, answer.stderr
        assert tony.found_job(answer.stdout + answer.stderr).logs("worker:0") == "data of 0\n"
    answer = tony.run("submit", "--conf_file", f"hdfs://{place}/none.xml")
    assert answer.returncode == 3 and f"{place}/none.xml" in answer.stderr


@pytest.mark.parametrize("text", ["one\ntwo\n", ""])
def test_standard_input(tony, text):
    """Each run reads it from its start, whether in the same container or in another one."""
    data = tony.directory / "data"
    data.write_text(text)
    fails_once = f"cat; test -e {tony.directory}/$0 || {{ touch {tony.directory}/$0; exit 3; }}"
    with data.open() as stdin:
        answer = tony.run("submit", "--stdin", "--type", "worker=1", "--memory", "64m", "--conf", "tony.am.memory=64m",
                          "--conf", "tony.worker.max-restarts=1", "--retries", "1", "--executes",
                          f"{fails_once.replace('$0', 'restart')}; {fails_once.replace('$0', 'retry')}", stdin=stdin)
    assert answer.returncode == 0, answer.stderr
    assert tony.found_job(answer.stdout + answer.stderr).logs("worker:0") == text * 3


def test_file_that_changed_after_the_job_was_submitted(tony, place):
    """YARN localises the very file that was there at submit, or nothing; the cause says so."""
    tony.cluster.put(f"{place}/data", b"old")
    job = tony.submit({
        "tony.first.instances": 1, "tony.second.instances": 1, "tony.first.command": go_command(tony),
        "tony.second.command": "true", "tony.second.depends-on": "first",
        "tony.second.resources": f"{tony.cluster.env['HDFS_URI']}{place}/data",
        "tony.am.infrastructure-retry-count": 0})
    job.wait_task("first:0")
    tony.cluster.put(f"{place}/data", b"newer")
    (tony.directory / "go").touch()
    assert job.wait() != 0
    status = job.status()
    assert status["cause_task"] == "second:0"
    assert "changed" in json.dumps(status["cause"])


def test_home_is_the_working_directory(tony):
    """YARN says /home/, which nobody can write to; caches of pip and others go where the task is."""
    answer, _ = tony.job({"tony.worker.instances": 1}, "--executes",
                         '[ "$HOME" = "$PWD" ] && touch "$HOME/.cache" && [ -z "${MALLOC_ARENA_MAX+set}" ]')
    assert answer.returncode == 0, answer.stderr


def test_interpreter_in_hdfs(tony, place):
    tony.cluster.put(f"{place}/venv.zip", zipped(bin__python=f'#!/bin/sh\nexec {PYTHON} "$@"\n'))
    answer, _ = tony.job({"tony.worker.instances": 1}, "--executes", "check_env.py JOB_NAME ./venv/bin/python",
                         "--python_venv", f"{tony.cluster.env['HDFS_URI']}{place}/venv.zip",
                         "--python_binary_path", "bin/python")
    assert answer.returncode == 0, answer.stderr


def test_framework_that_the_nodes_lack_is_told_before_a_program_runs(tony, tmp_path):
    (tmp_path / "train.py").write_text("import xgboost\n")
    keys = {"tony.worker.instances": 2, "tony.application.framework": "xgboost"}
    job = tony.submit(keys, "--executes", f"{PYTHON} train.py", src_dir=tmp_path)
    assert job.wait() == 1
    cause = job.status()["cause"]
    assert f"train.py imports xgboost, which {PYTHON} of this machine does not have" in cause["text"], cause


def execution_type(tony, task):
    """As the node tells it that runs the task's container."""
    port = json.loads((tony.cluster.directory / "cluster.json").read_text())["ports"]["nm-web"]
    url = f"http://{task['host']}:{port}/ws/v1/node/containers/{task['container']}?user.name={tony.cluster.user}"
    with tony.cluster.open(url) as answer:
        return json.load(answer)["container"]["executionType"]


def test_what_a_job_can_do_without_may_be_opportunistic(tony):
    job = tony.submit({"tony.application.framework": "generic", "tony.application.elastic-settle-time": "200ms",
                       "tony.worker.instances": 2, "tony.worker.min-instances": 1,
                       "tony.worker.execution-type": "opportunistic"},
                      "--executes", f"./exit_after.sh {tony.directory}/go 0")
    tasks = [job.wait_task(f"worker:{index}") for index in range(2)]
    assert sorted(execution_type(tony, task) for task in tasks) == ["GUARANTEED", "OPPORTUNISTIC"]
    (tony.directory / "go").touch()
    assert job.wait() == 0
