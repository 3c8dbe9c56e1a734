"""What programs find in their environment and in their working directory."""

import io
import json
import os
import signal
import stat
import tarfile
import zipfile

import pytest
from conftest import PYTHON

SHOW = f"{PYTHON} -c 'import json, os; print(json.dumps(dict(os.environ)))'"


def environments(job, task):
    """Of each process of the task."""
    text = job.logs(task) + "".join(job.logs(task, f"stdout-{number}") for number in range(1, 4))
    return [json.loads(line) for line in text.splitlines()]


def run(tony, keys, *options, **more):
    answer, job = tony.job(keys, *options, **more)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return job


def test_tensorflow(tony):
    job = run(tony, {f"tony.{name}.instances": count for name, count in
                     (("chief", 1), ("worker", 2), ("ps", 1), ("evaluator", 1))}
              | {"tony.application.stop-after-chief": "false", "tony.ps.command": SHOW + "; sleep 1000",
                 "tony.application.untracked.jobtypes": "ps", "tony.application.sidecar.jobtypes": "none"},
              "--executes", SHOW)
    config = {task: json.loads(environments(job, task)[0]["TF_CONFIG"])
              for task in ("chief:0", "worker:1", "evaluator:0")}
    assert config["worker:1"]["task"] == {"type": "worker", "index": 1}
    assert set(config["worker:1"]["cluster"]) == {"chief", "worker", "ps"}
    assert "evaluator" in config["evaluator:0"]["cluster"]
    assert len(config["chief:0"]["cluster"]["worker"]) == 2
    spec = json.loads(environments(job, "worker:0")[0]["CLUSTER_SPEC"])
    assert set(spec) == {"chief", "worker", "ps", "evaluator"}
    addresses = [address for group in spec.values() for address in group]
    assert len(set(addresses)) == 5


def test_pytorch_ranks_are_unique_over_types_and_processes(tony):
    job = run(tony, {"tony.application.framework": "pytorch", "tony.chief.instances": 1,
                     "tony.worker.instances": 2, "tony.worker.processes": 2,
                     "tony.application.stop-after-chief": "false"}, "--executes", SHOW)
    found = [env for task in ("chief:0", "worker:0", "worker:1") for env in environments(job, task)]
    assert len(found) == 5
    assert {env["RANK"] for env in found} == {"0", "1", "2", "3", "4"}
    assert {env["WORLD_SIZE"] for env in found} == {env["WORLD"] for env in found} == {"5"}
    assert len({(env["MASTER_ADDR"], env["MASTER_PORT"]) for env in found}) == 1
    worker = environments(job, "worker:1")
    assert {env["LOCAL_RANK"] for env in worker} == {"0", "1"}
    assert {env["LOCAL_WORLD_SIZE"] for env in worker} == {"2"}


def test_generic(tony):
    job = run(tony, {"tony.application.framework": "generic", "tony.worker.instances": 2,
                     "tony.worker.command": SHOW + "; test -d $TONY_CHECKPOINT_DIR"},
              "--shell_env", "WHERE={{task.type}}-{{task.index}}", "--container_env", "BOX=1")
    env = environments(job, "worker:1")[0]
    assert env["TONY_TASK"] == "worker:1" and env["TONY_JOB_ID"] == job.id
    assert env["WHERE"] == "worker-1" and env["BOX"] == "1"
    assert env["JOB_NAME"] == "worker" and env["TASK_INDEX"] == "1" and env["TASK_NUM"] == "2"
    assert env["TONY_EPOCH"] == "1" and env["TONY_AM_URL"].startswith("http://")
    assert job.token() not in env.values(), "secrets are not for environments"


def test_fcfs_has_no_barrier(tony):
    """The first worker does not wait for a second one that cannot start yet."""
    job = tony.submit({"tony.application.distributed-mode": "fcfs", "tony.worker.instances": 2},
                      "--conf", "tony.local.memory=64m", "--executes", "true")
    assert job.wait() == 0


def test_fcfs_tasks_are_on_their_own(tony):
    """TonY's other way with TensorFlow: nobody knows of anybody, and who fails takes nobody along."""
    go = tony.directory / "go"
    job = tony.submit({"tony.application.distributed-mode": "FCFS", "tony.worker.instances": 2, "tony.worker.command":
                       f"[ $TASK_INDEX = 0 ] || exit 3; until [ -e {go} ]; do sleep 0.1; done; " + SHOW,
                       "tony.application.framework": "tensorflow"})
    job.wait_task("worker:1", "failed")
    job.wait_task("worker:0")
    go.touch()
    assert job.wait() != 0  # a failed task is no success, but the others' work is done
    (env,) = environments(job, "worker:0")
    assert env["DISTRIBUTED_MODE"] == "FCFS" and not {"TF_CONFIG", "CLUSTER_SPEC"} & set(env)


SERVERS = {"tony.chief.instances": 1, "tony.worker.instances": 1, "tony.ps.instances": 1, "tony.evaluator.instances": 1,
           "tony.application.framework": "tensorflow", "tony.containers.command": "sleep 1000"}


def test_the_chief_ends_servers_and_evaluator(tony):
    go = tony.directory / "go"
    job = tony.submit({**SERVERS, "tony.chief.command": f"until [ -e {go} ]; do sleep 0.1; done",
                       "tony.worker.command": "exit $TONY_RESTART"})  # one that leaves by itself, and well
    job.wait_task("worker:0", "succeeded")
    os.kill(job.wait_task("evaluator:0")["pids"][0], signal.SIGKILL)
    job.wait_task("evaluator:0", restart=1)
    assert job.task("chief:0")["state"] == "running" and job.status()["epoch"] == 1
    go.touch()
    assert job.wait() == 0
    assert {task["task"]: task["state"] for task in job.status()["tasks"]} == \
        {"chief:0": "succeeded", "worker:0": "succeeded", "ps:0": "stopped", "evaluator:0": "stopped"}


@pytest.mark.parametrize("command, limit, state", (("sleep 1; exit 0", "1h", "succeeded"),
                                                   ("sleep 1000", "4s", "stopped")))
def test_an_evaluator_may_have_time_for_its_last_measurement(tony, command, limit, state):
    after = "tony.application.dependency.evaluator.timeout.after.training"
    _, job = tony.job({**SERVERS, "tony.chief.command": "exit 0", "tony.evaluator.command": command,
                       "tony.application.group.training": "chief", after: limit, after + ".ignored": "true"})
    assert job.status()["state"] == "succeeded"
    assert job.task("evaluator:0")["state"] == state


def test_templates(tony):
    answer, _ = tony.job({"tony.worker.instances": 2,
                          "tony.worker.command": 'test "{{task.name}}" = "worker:$TASK_INDEX"'})
    assert answer.returncode == 0, answer.stderr


def test_unknown_template(tony):
    answer, job = tony.job({"tony.worker.instances": 1, "tony.worker.command": "echo {{task.rank}}"})
    assert answer.returncode != 0 and "{{task.rank}}" in answer.stderr
    assert job is None


# ---- files


def make_tar(path, *members):
    with tarfile.open(path, "w:gz") as archive:
        for name, kind, content in members:
            member = tarfile.TarInfo(name)
            member.type = kind
            if kind == tarfile.REGTYPE:
                member.size, member.mode = len(content), 0o755
                archive.addfile(member, io.BytesIO(content))
            else:
                member.linkname = content.decode()
                archive.addfile(member)
    return path


def test_modes_and_links_are_kept(tony):
    path = make_tar(tony.directory / "tools.tar.gz", ("bin/run", tarfile.REGTYPE, b"#!/bin/sh\nexit 0\n"),
                    ("bin/alias", tarfile.SYMTYPE, b"run"))
    run(tony, {"tony.worker.instances": 1, "tony.worker.resources": f"{path}::tools#archive",
               "tony.worker.command": "test -L tools/bin/alias && tools/bin/alias"})


def test_an_archive_is_unpacked_once(tony):
    path = make_tar(tony.directory / "data.tar.gz", ("file", tarfile.REGTYPE, b"x"))
    for _ in range(2):
        run(tony, {"tony.worker.instances": 2, "tony.worker.resources": f"{path}#archive",
                   "tony.worker.command": "test -f data.tar.gz/file"})
    assert len(list((tony.state / "cache").glob("*/file"))) == 1


def test_sources_are_a_snapshot(tony):
    """What is edited after the submission does not change the job."""
    source = tony.directory / "src"
    source.mkdir()
    (source / "value").write_text("old")
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1}, "--executes",
                      f"until [ -e {go} ]; do sleep 0.05; done; grep old value", src_dir=source)
    (source / "value").write_text("new")
    go.touch()
    assert job.wait() == 0


def test_a_source_folder_may_borrow_from_its_neighbours(tony):
    """By relative links: TonY's archive holds what they lead to."""
    source = tony.directory / "src"
    source.mkdir()
    data = tony.directory / "data"
    data.mkdir()
    (data / "table").write_text("1,2")
    (source / "table").symlink_to("../data/table")
    (source / "data").symlink_to("../data")
    (source / "again").symlink_to("table")
    run(tony, {"tony.worker.instances": 1, "tony.worker.command":
               "test ! -L table && grep -q 1,2 table data/table again && readlink again"}, src_dir=source)


def test_tasks_do_not_write_into_each_others_files(tony):
    source = tony.directory / "src"
    source.mkdir()
    (source / "value").write_text("old")
    run(tony, {"tony.worker.instances": 2,
               "tony.worker.command": "grep -q old value && echo new > value"}, src_dir=source)
    assert (source / "value").read_text() == "old"


HOSTILE = {
    "upwards": [("../evil", tarfile.REGTYPE, b"x")],
    "absolute": [("/tmp/tony-evil", tarfile.REGTYPE, b"x")],
    "link out": [("out", tarfile.SYMTYPE, b"/etc"), ("out/evil", tarfile.REGTYPE, b"x")],
    "hard link out": [("out", tarfile.LNKTYPE, b"../../../../etc/passwd")],
    "device": [("null", tarfile.CHRTYPE, b"")],
    "fifo": [("pipe", tarfile.FIFOTYPE, b"")],
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.promise("S20")
def test_hostile_archive(tony, kind):
    path = make_tar(tony.directory / "evil.tar.gz", *HOSTILE[kind])
    answer, job = tony.job({"tony.worker.instances": 1, "tony.worker.resources": f"{path}#archive"},
                           "--executes", "true")
    assert answer.returncode != 0 and "evil.tar.gz" in answer.stderr, answer.stderr
    assert not os.path.exists("/tmp/tony-evil")
    written = [found for found in tony.directory.rglob("*evil*") if found != path]
    assert written == []


@pytest.mark.promise("S21")
def test_zip_bomb(tony):
    path = tony.directory / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(6):
            archive.writestr(f"part{number}", bytes(64 << 20))
    answer, _ = tony.job({"tony.worker.instances": 1, "tony.worker.resources": f"{path}#archive"},
                         "--executes", "true")
    assert answer.returncode != 0 and "bomb.zip" in answer.stderr


@pytest.mark.parametrize("system, attributes", [(0, 0), (3, (stat.S_IFREG | 0o640) << 16)], ids=["DOS", "0640"])
def test_virtual_environment_without_modes_starts(tony, system, attributes):
    """As TonY makes the first word of a command executable, whatever the zip says."""
    path = tony.directory / "venv.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("bin/python", "bin/other"):
            member = zipfile.ZipInfo(name)
            member.create_system, member.external_attr = system, attributes
            archive.writestr(member, '#!/bin/sh\nexec "$@"\n')
    answer, _ = tony.job({"tony.worker.instances": 1}, "--python_venv", path, "--python_binary_path", "bin/python",
                         "--executes", "venv/bin/other true")
    assert answer.returncode == 0, answer.stderr


def test_libarchive_that_cannot_be_loaded_stops_only_what_needs_it(tony):
    path, library = tony.directory / "some.zip", tony.directory / "lib" / "libarchive.so.13"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("part", "content")
    library.parent.mkdir()
    library.write_text("")
    env = {"LD_LIBRARY_PATH": str(library.parent)}
    answer, _ = tony.job({"tony.worker.instances": 1, "tony.worker.resources": f"{path}#archive"}, "--executes", "true",
                         env=env)
    assert answer.returncode != 0 and "libarchive, which cannot be loaded" in answer.stderr, answer.stderr
    answer, _ = tony.job({"tony.worker.instances": 1}, "--executes", "true", env=env)
    assert answer.returncode == 0, answer.stderr


def test_setuid_bits_do_not_survive(tony):
    path = tony.directory / "suid.zip"
    with zipfile.ZipFile(path, "w") as archive:
        member = zipfile.ZipInfo("tool")
        member.external_attr = (stat.S_IFREG | 0o4755) << 16
        archive.writestr(member, "#!/bin/sh\n")
    answer, _ = tony.job({"tony.worker.instances": 1, "tony.worker.resources": f"{path}#archive"},
                         "--executes", "test ! -u suid.zip/tool")
    assert answer.returncode == 0 or "suid.zip" in answer.stderr
