"""A job is submitted again: from its history's tony-final.xml, or by tony rerun."""

import json
import shutil
import subprocess

import pytest
import schemas
from conftest import PYTHON, wait_until, write_xml

CONFIG, USAGE = 3, 2


def final_of(tony, job):
    """The configuration that the history has of the job."""
    store = tony.state / "history"
    wait_until(lambda: list(store.glob(f"*/*/*/{job.id}/tony-final.xml")), f"{job.id} to be published")
    return next(store.glob(f"*/*/*/{job.id}/tony-final.xml"))


def submit(tony, *arguments, cwd, code=0, env=None):
    verb, *rest = arguments
    answer = tony.run(verb, "--conf", "tony.application.provenance-timeout=60s", *rest, cwd=cwd, env=env)
    job = tony.found_job(answer.stdout + answer.stderr)
    if job:
        tony.jobs.append(job)
    assert answer.returncode == code, answer.stdout + answer.stderr
    return answer, job


@pytest.fixture
def elsewhere(tony):
    """A directory in which nothing lies."""
    directory = tony.directory / "elsewhere"
    directory.mkdir()
    return directory


@pytest.fixture
def project(tony):
    """A user's directory: a program, its data and an archive of a tree."""
    directory = tony.directory / "project"
    directory.mkdir()
    (directory / "train.py").write_text("print('first', open('data.txt').read())\n")
    (directory / "data.txt").write_text("numbers")
    return directory


# ---- tony-final.xml -------------------------------------------------------------------------------


def test_what_ran_in_place_runs_there_again_from_its_history(tony, project, elsewhere):
    _, job = submit(tony, "submit", "--", "python3", "train.py", cwd=project)
    answer, again = submit(tony, "submit", "--follow", "--conf_file", final_of(tony, job), cwd=elsewhere)
    assert "first numbers" in answer.stdout
    said, before = again.status(), job.status()
    assert said["work_dir"] == str(project)
    assert (said["name"], said["framework"]) == (before["name"], before["framework"]) == ("train.py", "generic")
    assert "no framework is named" not in answer.stderr and "warning" not in answer.stderr, answer.stderr


def test_sources_and_resources_are_found_from_anywhere(tony, project, elsewhere):
    write_xml(project / "tony.xml", {
        "tony.worker.instances": 2, "tony.worker.memory": "64m", "tony.application.src-dir": ".",
        "tony.worker.command": "cat data.txt renamed.txt venv/in.txt",
        "tony.containers.resources": "data.txt::renamed.txt"})
    (project / "environment").mkdir()
    (project / "environment/in.txt").write_text("of the environment")
    _, job = submit(tony, "submit", "--python_venv", "environment", cwd=project)
    answer, again = submit(tony, "submit", "--follow", "--conf_file", final_of(tony, job), cwd=elsewhere)
    assert answer.stdout.count("numbersnumbersof the environment") == 2, answer.stdout
    assert "warning" not in answer.stderr, answer.stderr
    # And its own history is as good.
    answer, _ = submit(tony, "submit", "--follow", "--conf_file", final_of(tony, again), "--workers", "1", cwd=elsewhere)
    assert answer.stdout.count("numbersnumbersof the environment") == 1, answer.stdout


def test_a_new_environment_takes_the_place_of_the_recorded_one(tony, project, elsewhere):
    for name in ("old", "new"):
        (project / name).mkdir()
        (project / name / "in.txt").write_text(f"of the {name} one\n")
    _, job = submit(tony, "submit", "--python_venv", "old", "--conf", "tony.containers.resources=data.txt", "--",
                    "cat", "venv/in.txt", cwd=project)
    final, new = final_of(tony, job), ("--python_venv", project / "new")
    for words in (("submit", "--conf_file", final), ("rerun", job.id)):
        answer, again = submit(tony, *words, "--follow", *new, cwd=elsewhere)
        assert answer.stdout == "of the new one\n" and "warning" not in answer.stderr, answer.stderr
        value = again.description()["config"]["tony.containers.resources"]["value"]
        assert value.split(",") == [f"{project}/data.txt::data.txt", f"{project}/new::venv#archive"]
    # A venv that a user's own job file names is no recorded one.
    write_xml(elsewhere / "own.xml", {"tony.containers.resources": f"{project}/old::venv", "tony.worker.instances": 1})
    answer = tony.run("submit", "--conf_file", elsewhere / "own.xml", *new, "--", "true", cwd=elsewhere)
    assert answer.returncode != 0 and 'would both appear as "venv"' in answer.stderr


def test_what_is_masked_is_asked_for_by_name(tony, project, elsewhere):
    (project / "hub.env").write_text("FROM_FILE=f-value\n")
    _, job = submit(tony, "submit", "--env", "COLOUR=red", "--env-file", "hub.env", "--env", "OWN", "--",
                    "sh", "-c", "echo $COLOUR $OWN $FROM_FILE", cwd=project, env={"OWN": "o-value"})
    final = final_of(tony, job)
    answer = tony.run("submit", "--conf_file", final, cwd=elsewhere)
    assert answer.returncode == USAGE
    for name in ("COLOUR", "OWN", "FROM_FILE"):
        assert f"the value of {name} was masked; give it with --env {name}=VALUE" in answer.stderr
    assert "value" not in final.read_text().replace("value>", ""), "no value of a variable is in it"
    answer, _ = submit(tony, "submit", "--follow", "--conf_file", final, "--env", "COLOUR=blue", "--env", "OWN",
                       "--env", "FROM_FILE=", cwd=elsewhere, env={"OWN": "mine"})
    assert answer.stdout == "blue mine\n"


def test_a_masked_secret_is_asked_for_by_name(tony, project, elsewhere):
    webhook, url = "tony.application.on-end-webhook", "http://127.0.0.1:9/hook?key=1"
    _, job = submit(tony, "submit", "--conf", f"{webhook}={url}", "--", "true", cwd=project)
    final = final_of(tony, job)
    asked = f"{webhook}: was masked in the history; give it again with --conf {webhook}=VALUE, or leave it empty to do without"
    old = elsewhere / "old.xml"
    write_xml(old, {webhook: "***"})
    for words in (["submit", "--conf_file", final], ["rerun", job.id], ["submit", "--conf_file", old, "--", "true"]):
        answer = tony.run(*words, cwd=elsewhere)
        assert answer.returncode == USAGE and asked in answer.stderr and "not a URL" not in answer.stderr, answer.stderr
    _, told = submit(tony, "submit", "--conf_file", final, "--conf", f"{webhook}={url}", cwd=elsewhere)
    assert webhook in final_of(tony, told).read_text()
    for words in (["submit", "--conf_file", final], ["rerun", job.id]):
        _, without = submit(tony, *words, "--conf", f"{webhook}=", cwd=elsewhere)
        assert f"<name>{webhook}</name><value></value>" in final_of(tony, without).read_text()


def test_what_the_framework_added_is_no_word_of_the_users(tony, project, elsewhere):
    _, job = submit(tony, "submit", "--framework", "pytorch", "--workers", "2", "--memory", "64m", "--",
                    "sh", "-c", "echo $WORLD_SIZE", cwd=project)
    final = final_of(tony, job)
    shown = tony.run("config", "show", "--conf_file", final, "--conf", "tony.application.framework=generic",
                     cwd=elsewhere)
    assert shown.returncode == 0 and "framework pytorch" not in shown.stdout, shown.stdout
    answer, _ = submit(tony, "submit", "--follow", "--conf_file", final, cwd=elsewhere)
    assert sorted(answer.stdout.split()).count("2") >= 2 and "warning" not in answer.stderr


# ---- tony rerun -----------------------------------------------------------------------------------


@pytest.fixture
def with_sources(tony, project):
    """A job that has ended, of a program and an archive that were changed since."""
    subprocess.run(["tar", "-czf", "tree.tgz", "data.txt"], cwd=project, check=True)
    (project / "train.py").write_text("import os; print('first', open('tree/data.txt').read(), os.environ['COLOUR'],"
                                      " os.environ['TASK_INDEX'], os.environ.get('OMP_NUM_THREADS', 'none'))\n")
    _, job = submit(tony, "submit", "--src_dir", ".", "--conf", "tony.containers.resources=tree.tgz::tree#archive",
                    "--workers", "2", "--memory", "64m", "--env", "COLOUR=red,green", "--env", "OMP_NUM_THREADS=",
                    "--framework", "pytorch", "--", PYTHON, "train.py", cwd=project)
    (project / "train.py").write_text("print('second')\n")
    (project / "data.txt").write_text("other numbers")
    subprocess.run(["tar", "-czf", "tree.tgz", "data.txt"], cwd=project, check=True)
    return job


def lines_of(answer):
    return sorted(line.split("  ")[-1] for line in answer.stdout.splitlines())


def test_a_job_is_repeated_with_the_sources_that_it_had(tony, with_sources, elsewhere):
    answer, again = submit(tony, "rerun", "--follow", with_sources.id, cwd=elsewhere)
    for index in (0, 1):
        assert f"first numbers red,green {index} none" in answer.stdout, answer.stdout
    assert "warning" not in answer.stderr, answer.stderr
    assert again.status()["rerun_of"] == with_sources.id
    schemas.check("rerun", again.status())
    assert f"repeats: {with_sources.id}" in tony.run("status", again.id).stdout
    # Its own record names what the user named, so that it can be repeated in its turn.
    config = [json.loads((job.directory / "job.json").read_text())["config"] for job in (with_sources, again)]
    for key in ("tony.application.src-dir", "tony.containers.resources"):
        assert config[0][key]["value"] == config[1][key]["value"], key
    answer, third = submit(tony, "rerun", "--follow", again.id, "--workers", "1", "--env", "COLOUR=blue",
                           cwd=elsewhere)
    assert "first numbers blue 0 none" in answer.stdout and "red" not in answer.stdout
    assert third.status()["rerun_of"] == again.id and third.status()["task_count"] == 1


def test_a_live_job_is_repeated(tony, project, elsewhere):
    write_xml(project / "tony.xml", {"tony.worker.instances": 1, "tony.worker.memory": "64m",
                                     "tony.application.src-dir": ".", "tony.application.name": "alive",
                                     "tony.containers.command": f"{PYTHON} train.py; sleep 1000"})
    _, job = submit(tony, "submit", "--detach", cwd=project)
    job.wait_task("worker:0")
    (project / "train.py").unlink()
    answer, again = submit(tony, "rerun", "--detach", "--name", "alive-too", "alive", cwd=elsewhere)
    again.wait_task("worker:0")
    assert again.status()["name"] == "alive-too" and again.status()["rerun_of"] == job.id
    answer = tony.run("rerun", "--resume", "alive", cwd=elsewhere)
    assert answer.returncode != 0 and "still runs, and writes its checkpoints" in answer.stderr


def test_other_sources_and_another_command_win(tony, with_sources, project, elsewhere):
    answer, _ = submit(tony, "rerun", "--follow", "--src_dir", project, with_sources.id, "--workers", "1", cwd=elsewhere)
    assert answer.stdout.strip() == "second"
    answer, _ = submit(tony, "rerun", "--follow", with_sources.id, "--workers", "1", "--", "echo", "third",
                       cwd=elsewhere)
    assert answer.stdout == "third\n"


def test_it_is_told_what_is_gone_and_what_to_type(tony, with_sources, project, elsewhere):
    final_of(tony, with_sources)
    wait_until(lambda: not with_sources.processes(), "the job to be over")
    shutil.rmtree(with_sources.directory)
    answer = tony.run("rerun", with_sources.id, cwd=elsewhere)
    assert answer.returncode != 0
    assert f'the sources of {with_sources.id} are gone' in answer.stderr
    assert f'"tony rerun {with_sources.id} --src_dir {project}" takes those that lie there now' in answer.stderr
    answer, _ = submit(tony, "rerun", "--follow", with_sources.id, "--src_dir", project, "--workers", "1",
                       cwd=elsewhere)
    assert answer.stdout.strip() == "second"


def test_what_ran_in_place_runs_there_again(tony, project, elsewhere):
    _, job = submit(tony, "submit", "--", PYTHON, "train.py", cwd=project)
    (project / "data.txt").write_text("other numbers")
    final_of(tony, job)
    wait_until(lambda: not job.processes(), "the job to be over")
    shutil.rmtree(job.directory)
    answer, _ = submit(tony, "rerun", "--follow", job.id, cwd=elsewhere)
    assert "first other numbers" in answer.stdout and "changed in" not in answer.stderr
    (project / "train.py").write_text("print('second')\n")
    answer, _ = submit(tony, "rerun", "--follow", job.id, cwd=elsewhere)
    assert answer.stdout == "second\n"
    assert f"tony: warning: changed in {project} since {job.id}: train.py" in answer.stderr
    shutil.rmtree(project)
    answer = tony.run("rerun", job.id, cwd=elsewhere)
    assert answer.returncode == CONFIG and f'"{project}": No such file or directory' in answer.stderr
    assert "--src_dir" in answer.stderr
    project.write_text("a file by now")
    answer = tony.run("rerun", job.id, cwd=elsewhere)
    assert answer.returncode == CONFIG and f'"{project}": Not a directory' in answer.stderr


def test_resume_goes_on_from_the_checkpoints(tony, project, elsewhere):
    (project / "train.sh").write_text('cat "$TONY_CHECKPOINT_DIR"/* 2>/dev/null || echo none\n'
                                      'echo step-7 >"$TONY_CHECKPOINT_DIR/last"; exit "$CODE"\n')
    answer, job = submit(tony, "submit", "--follow", "--env", "CODE=3", "--", "sh", "train.sh", cwd=project, code=1)
    assert answer.stdout == "none\n"
    assert f"tony rerun {job.id} --resume, which goes on from its checkpoints" in answer.stderr
    answer, fresh = submit(tony, "rerun", "--follow", job.id, "--env", "CODE=0", cwd=elsewhere)
    assert answer.stdout == "none\n"
    answer, _ = submit(tony, "rerun", "--follow", "--resume", job.id, "--env", "CODE=0", cwd=elsewhere)
    assert answer.stdout == "step-7\n"
    (fresh.directory / "checkpoint/last").unlink()
    answer = tony.run("rerun", "--resume", fresh.id, cwd=elsewhere)
    assert answer.returncode != 0 and f"{fresh.id} has left no checkpoints in" in answer.stderr


def test_results_go_to_a_directory_of_the_new_job(tony, project, elsewhere):
    """Below the directory that the earlier job named, which stays as it is, or below another one."""
    (project / "train.sh").write_text('cat "$TONY_OUTPUT_DIR"/* 2>/dev/null || echo none\n'
                                      'echo "$WORD" >"$TONY_OUTPUT_DIR/said"\n')
    _, job = submit(tony, "submit", "--output", "home", "--env", "WORD=first", "--", "sh", "train.sh", cwd=project)
    final = final_of(tony, job)
    for words in (("rerun", job.id), ("submit", "--conf_file", final)):
        answer, again = submit(tony, *words, "--follow", "--env", "WORD=second", cwd=elsewhere)
        assert answer.stdout == "none\n"
        assert f"tony: results: {project}/home/{again.id}\n" in answer.stderr
        assert (project / "home" / again.id / "driver-0/said").read_text() == "second\n"
    assert (project / "home" / job.id / "driver-0/said").read_text() == "first\n"
    _, other = submit(tony, "rerun", "--output", "other", job.id, cwd=elsewhere)
    assert (elsewhere / "other" / other.id / "driver-0/said").read_text() == "first\n"
    assert not (project / "home" / other.id).exists()


def test_standard_input_is_given_again(tony, project, elsewhere):
    (project / "input").write_text("hello\n")
    with open(project / "input") as stdin:
        answer = tony.run("submit", "--follow", "--stdin", "--", "cat", cwd=project, stdin=stdin)
    job = tony.found_job(answer.stderr)
    tony.jobs.append(job)
    answer = tony.run("rerun", job.id, cwd=elsewhere)
    assert answer.returncode == USAGE and f"tony rerun {job.id} --stdin <FILE" in answer.stderr
    with open(project / "input") as stdin:
        answer = tony.run("rerun", "--follow", "--stdin", job.id, cwd=elsewhere, stdin=stdin)
    tony.jobs.append(tony.found_job(answer.stderr.replace(job.id, "")))
    assert answer.stdout == "hello\n"


@pytest.fixture
def git(project):
    """Runs git in the project, all of which is in its first commit."""
    def run(*arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=project, check=True,
                       capture_output=True)
    run("init", "-q")
    run("add", ".")
    run("commit", "-qm", "first")
    return run


def test_git_tells_what_changed_in_place(tony, project, git, elsewhere):
    _, job = submit(tony, "submit", "--", PYTHON, "train.py", cwd=project)
    answer, _ = submit(tony, "rerun", job.id, cwd=elsewhere)
    assert "warning" not in answer.stderr
    (project / "data.txt").write_text("other numbers")
    answer, _ = submit(tony, "rerun", job.id, cwd=elsewhere)
    assert f"changed in {project} since {job.id}: data.txt" in answer.stderr
    git("commit", "-qam", "second")
    answer, _ = submit(tony, "rerun", job.id, cwd=elsewhere)
    assert f"{job.id} ran at the commit" in answer.stderr
    assert f"changed in {project} since {job.id}: data.txt\n" in answer.stderr
    (project / "data.txt").write_text("numbers of a later day")
    (project / "train.py").write_text((project / "train.py").read_text() + "\n")
    answer, _ = submit(tony, "rerun", job.id, cwd=elsewhere)
    assert f"changed in {project} since {job.id}: data.txt, train.py\n" in answer.stderr
    git("checkout", "-q", "HEAD~1", "--", ".")
    answer, _ = submit(tony, "rerun", job.id, cwd=elsewhere)
    assert "changed in" not in answer.stderr


def test_no_terminal_obeys_what_a_description_says(tony, project, elsewhere):
    """Another's job, or its directory, may bring anything along."""
    work = tony.directory / "\33]0;title\7"
    shutil.copytree(project, work)
    subprocess.run("git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x", shell=True,
                   cwd=work, check=True)
    _, job = submit(tony, "submit", "--", PYTHON, "train.py", cwd=work)
    wait_until(lambda: not job.processes(), "the AM to be gone")
    path = job.directory / "job.json"
    description = json.loads(path.read_text())
    description["provenance"]["commit"] = "\33[2J"
    description["config"]["tony.application.checkpoint-dir"] = {"origin": "x", "value": "/\33[2J"}
    path.write_text(json.dumps(description))
    answer, _ = submit(tony, "rerun", job.id, cwd=elsewhere)
    assert "ran at the commit ?[2J" in answer.stderr and "goes on in /?[2J" in answer.stderr
    assert "\33" not in answer.stderr
    answer = tony.run("rm", job.id)
    assert answer.returncode == 0 and "]0;title?: the job ran there" in answer.stdout and "\33" not in answer.stdout


def test_uncommitted_changes_that_are_undone_are_named(tony, project, git, elsewhere):
    (project / "data.txt").write_text("other numbers")
    _, job = submit(tony, "submit", "--", PYTHON, "train.py", cwd=project)
    answer, _ = submit(tony, "rerun", job.id, cwd=elsewhere)
    assert "changed in" not in answer.stderr
    git("checkout", "-q", "--", ".")
    answer, _ = submit(tony, "rerun", job.id, cwd=elsewhere)
    assert f"changed in {project} since {job.id}: data.txt\n" in answer.stderr
