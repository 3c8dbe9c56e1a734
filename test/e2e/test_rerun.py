"""A job is submitted again: from its history's tony-final.xml, or by tony rerun."""

import pytest
from conftest import wait_until, write_xml

USAGE = 2


def final_of(tony, job):
    """The configuration that the history has of the job."""
    store = tony.state / "history"
    wait_until(lambda: list(store.glob(f"*/*/*/{job.id}/tony-final.xml")), f"{job.id} to be published")
    return next(store.glob(f"*/*/*/{job.id}/tony-final.xml"))


def submit(tony, *arguments, cwd, code=0, env=None):
    answer = tony.run(*arguments, cwd=cwd, env=env)
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


def test_what_the_framework_added_is_no_word_of_the_users(tony, project, elsewhere):
    _, job = submit(tony, "submit", "--framework", "pytorch", "--workers", "2", "--memory", "64m", "--",
                    "sh", "-c", "echo $WORLD_SIZE", cwd=project)
    final = final_of(tony, job)
    shown = tony.run("config", "show", "--conf_file", final, "--conf", "tony.application.framework=generic",
                     cwd=elsewhere)
    assert shown.returncode == 0 and "framework pytorch" not in shown.stdout, shown.stdout
    answer, _ = submit(tony, "submit", "--follow", "--conf_file", final, cwd=elsewhere)
    assert sorted(answer.stdout.split()).count("2") >= 2 and "warning" not in answer.stderr
