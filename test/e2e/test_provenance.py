"""Where a job's code comes from: git's commit, what differs from it, and the files of its command."""

import hashlib
import json
import os
import shutil
import subprocess

import pytest
from conftest import PYTHON, wait_until
from portal import Portal
from program import find_marked
from test_history import kept

DIFF_CAP = 256 << 10
PROGRAM = "print('trained')\n"


def git(directory, *arguments):
    return subprocess.run(
        ["git", "-c", "user.name=u", "-c", "user.email=u@example.org", *arguments], cwd=directory, check=True,
        capture_output=True, text=True, env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}).stdout.strip()


@pytest.fixture(name="work")
def work_fixture(tony):
    """A repository with a commit and a program, in which nothing is changed."""
    work = tony.directory / "work"
    work.mkdir()
    (work / "train.py").write_text(PROGRAM)
    (work / "model.py").write_text("size = 1\n")
    git(work, "init", "--quiet", "--initial-branch", "try")
    git(work, "add", ".")
    git(work, "commit", "--quiet", "--message", "first")
    return work


PATIENT = ("--conf", "tony.application.provenance-timeout=60s")  # a busy machine answers late


def submit(tony, work, *options, env=None, patient=PATIENT):
    answer = tony.run("submit", "--json", *patient, *options, "--", PYTHON, "train.py", cwd=work, env=env)
    assert answer.returncode == 0, answer.stderr
    return answer, json.loads(answer.stdout)


def directory_of(tony, said):
    return tony.state / "jobs" / said["id"]


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_commit_branch_and_difference_are_recorded(tony, work):
    (work / "model.py").write_text("size = 2\n")
    (work / "new.txt").write_text("git does not track it")
    _, said = submit(tony, work)
    code = said["provenance"]
    assert code["directory"] == code["repository"] == str(work)
    assert code["commit"] == git(work, "rev-parse", "HEAD") and code["branch"] == "try"
    assert code["dirty"] is True
    assert code["changed"] == [{"path": "model.py", "sha256": sha256(work / "model.py")}]
    assert {"path": "train.py", "sha256": sha256(work / "train.py")} in code["files"]
    diff = (directory_of(tony, said) / "source.diff").read_text()
    assert diff == git(work, "diff") + "\n" and "+size = 2" in diff
    assert code["diff_bytes"] == len(diff) and "diff_cut" not in code
    shown = tony.run("status", said["id"]).stdout
    assert f"code: commit {code['commit'][:12]} of try, with changes\n" in shown


def test_history_has_the_difference(tony, work):
    (work / "model.py").write_text("size = 2\n")
    _, said = submit(tony, work)
    place = kept(tony, tony.found_job(said["id"]))
    assert (place / "source.diff").read_bytes() == (directory_of(tony, said) / "source.diff").read_bytes()
    assert json.loads((place / "job.json").read_text())["provenance"] == said["provenance"]


def test_a_live_job_answers_with_the_difference(tony, work):
    (work / "model.py").write_text("size = 2\n")
    answer = tony.run("submit", "--detach", *PATIENT, "--", PYTHON, "-c", "import time; time.sleep(1000)", cwd=work)
    job = tony.found_job(answer.stdout)
    tony.jobs.append(job)
    job.wait_task("driver:0")
    assert job.rest("GET", "/v1/diff") == (200, (git(work, "diff") + "\n").encode())
    assert job.rest("GET", "/v1/diff", token="none")[0] == 401


def test_the_portal_has_the_difference_of_an_ended_job(tony, work):
    _, clean = submit(tony, work)
    (work / "model.py").write_text("size = 2\n")
    _, said = submit(tony, work)
    portal = Portal(tony)
    try:
        for each in (clean, said):
            portal.wait_kept(tony.found_job(each["id"]), "succeeded")
        assert portal.get(f"v1/jobs/{said['id']}/job")["provenance"] == said["provenance"]
        assert portal.call(f"v1/jobs/{said['id']}/diff")[1].decode() == git(work, "diff") + "\n"
        assert portal.call(f"v1/jobs/{clean['id']}/diff")[0] == 404
    finally:
        portal.stop()


def test_sources_elsewhere_are_looked_at_there(tony, work):
    answer = tony.run("submit", "--json", *PATIENT, "--src_dir", work, "--", PYTHON, "train.py")
    assert answer.returncode == 0, answer.stderr
    code = json.loads(answer.stdout)["provenance"]
    assert code["directory"] == str(work) and code["dirty"] is False and "diff_bytes" not in code
    assert not (directory_of(tony, json.loads(answer.stdout)) / "source.diff").exists()
    assert {"path": "train.py", "sha256": sha256(work / "train.py")} in code["files"]


def test_sources_of_an_earlier_job_come_from_where_they_came(tony, work):
    (work / "model.py").write_text("size = 2\n")
    answer = tony.run("submit", "--json", *PATIENT, "--src_dir", work, "--", PYTHON, "train.py")
    assert answer.returncode == 0, answer.stderr
    first = json.loads(answer.stdout)
    git(work, "commit", "--quiet", "--all", "--message", "second")
    answer = tony.run("rerun", "--json", *PATIENT, first["id"])
    assert answer.returncode == 0, answer.stderr
    again = json.loads(answer.stdout)
    assert again["provenance"] == first["provenance"]
    diffs = [(directory_of(tony, said) / "source.diff").read_bytes() for said in (first, again)]
    assert b"+size = 2" in diffs[0] and diffs[0] == diffs[1]


def test_outside_of_a_repository_only_files_are_recorded(tony):
    (tony.directory / "train.py").write_text(PROGRAM)
    answer, said = submit(tony, tony.directory)
    assert set(said["provenance"]) == {"directory", "files"}
    assert "tony:" not in answer.stderr


def test_without_git_nothing_is_said_of_it(tony, work):
    program = tony.directory / "bin"
    program.mkdir()
    for name in ("bash", "sh", "python3", "env"):
        (program / name).symlink_to(f"/usr/bin/{name}")
    answer, said = submit(tony, work, env={"PATH": str(program)})
    assert set(said["provenance"]) == {"directory", "files"}
    assert "tony:" not in answer.stderr


@pytest.mark.parametrize("what, recorded", [("commit", True), ("none", False)])
def test_the_key_switches_it_off(tony, work, what, recorded):
    (work / "model.py").write_text("size = 2\n")
    _, said = submit(tony, work, "--conf", f"tony.application.provenance={what}")
    assert ("provenance" in said) == recorded
    assert not recorded or said["provenance"]["dirty"] is True
    assert not (directory_of(tony, said) / "source.diff").exists()


def test_a_long_difference_is_cut(tony, work):
    (work / "model.py").write_text("x" * 79 + "\n" * 1 + ("y" * 79 + "\n") * 5000)
    _, said = submit(tony, work)
    assert said["provenance"]["diff_cut"] is True and said["provenance"]["diff_bytes"] == DIFF_CAP
    assert (directory_of(tony, said) / "source.diff").stat().st_size == DIFF_CAP


@pytest.mark.promise("S59")
def test_a_repository_runs_nothing_of_its_own(tony, work):
    mark = tony.directory / "ran"
    trap = tony.directory / "trap"
    trap.write_text(f"#!/bin/sh\necho \"$0 $@\" >> {mark}\ncat\n")
    trap.chmod(0o755)
    hook = work / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.symlink_to(trap)
    (work / ".gitattributes").write_text("*.py filter=bad diff=bad\n*.txt filter=worse\n")
    (work / "data.txt").write_text("one\n")
    git(work, "add", ".")
    git(work, "commit", "--quiet", "--message", "second")
    for name in ("core.fsmonitor", "core.pager", "filter.bad.clean", "filter.bad.process", "filter.worse.clean",
                 "diff.external", "diff.bad.command", "diff.bad.textconv", "core.sshCommand"):
        git(work, "config", name, str(trap))
    git(work, "config", "filter.worse.required", "true")
    mark.unlink(missing_ok=True)
    (work / "model.py").write_text("size = 2\n")
    (work / "data.txt").write_text("two\n")
    _, said = submit(tony, work, env={"GIT_EXTERNAL_DIFF": str(trap), "GIT_PAGER": str(trap)})
    assert not mark.exists(), mark.read_text()
    assert [row["path"] for row in said["provenance"]["changed"]] == ["data.txt", "model.py"]
    assert "+size = 2" in (directory_of(tony, said) / "source.diff").read_text()

def name_with_equals_sign(work, trap):
    """`git -c` ends a name at the first one."""
    (work / ".gitattributes").write_text("*.py filter=a=b\n")
    git(work, "config", "filter.a=b.clean", trap)


def other_common_directory(work, trap):
    """Git reads the configuration there, and not in .git."""
    shutil.copytree(work / ".git", work / "common")
    git(work, "config", "--file", "common/config", "filter.bad.clean", trap)
    (work / ".git" / "commondir").write_text("../common\n")


def bare_repository(work, trap):
    """Its .git is none, and has a configuration without filters."""
    for path in list((work / ".git").iterdir()):
        path.rename(work / path.name)
    git(work, "config", "--file", "config", "core.bare", "false")
    git(work, "config", "--file", "config", "core.worktree", str(work))
    git(work, "config", "--file", "config", "filter.bad.clean", trap)
    (work / ".git" / "config").write_text("\n")


def text_behind_a_nul(work, trap):
    with (work / ".git" / "config").open("a") as config:
        config.write(f'# \0\n[filter "bad"]\n\tclean = {trap}\n')


def git_without_scopes(work, trap):
    """As that of 2020: nobody says whose a filter is."""
    git(work, "config", "filter.bad.clean", trap)
    program = work.parent / "bin" / "git"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\ncase "$*" in *--show-scope*) exit 129;; esac\n'
                       f'exec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)


@pytest.mark.promise("S59")
@pytest.mark.parametrize("hide", [name_with_equals_sign, other_common_directory, bare_repository, text_behind_a_nul,
                                  git_without_scopes])
def test_a_filter_that_hides_is_not_run(tony, work, hide):
    mark = tony.directory / "ran"
    (work / ".gitattributes").write_text("*.py filter=bad\n")
    git(work, "add", ".")
    git(work, "commit", "--quiet", "--message", "second")
    hide(work, f"touch {mark}; cat")
    (work / "model.py").write_text("size = 2\n")
    _, said = submit(tony, work, env={"PATH": f"{tony.directory}/bin:{tony.env['PATH']}"})
    assert not mark.exists() and said["provenance"]["commit"]
    git(work, "diff", "HEAD", "--")
    assert mark.exists(), "git itself runs it: the test would see nothing"


def test_a_git_that_hangs_holds_nothing_up(tony, work):
    """Its commit is not known, then, and it is not left behind."""
    program = tony.directory / "bin"
    program.mkdir()
    (program / "git").write_text("#!/bin/sh\nexec sleep 1000\n")
    (program / "git").chmod(0o755)
    mark = f"SUBMITTED_IN={tony.directory}"
    name, value = mark.split("=")
    _, said = submit(tony, work, env={"PATH": f"{program}:{tony.env['PATH']}", name: value}, patient=())
    assert said["state"] == "succeeded" and "commit" not in said.get("provenance", {})
    wait_until(lambda: not find_marked(mark), "git to be ended")
