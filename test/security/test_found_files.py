"""A file that tony reads because it is in the current directory is obeyed only when no other user could have written it."""

import pytest
from program import PYTHON, ROOT
from test_state_directory import ACL

COMMAND = {"tony.application.framework": "generic", "tony.worker.instances": 1, "tony.worker.memory": "64m",
           "tony.worker.command": "true"}
PIPELINE = '<pipeline name="attack"><configuration>%s</configuration><job name="one"/></pipeline>'
VERBS = ["submit", "check", "sweep", "notebook", "render", "config show"]


class Place:
    """A directory that everybody may write to, and in it what `user` makes."""

    def __init__(self, machine, mode="1777"):
        self.machine, self.path, self.proof = machine, machine.root / "scratch", machine.root / "scratch/proof"
        machine.run("install", "-d", "-m", mode, self.path)

    def write(self, user, name, text, mode="644"):
        path = self.path / name
        wrote = user.run("sh", "-c", 'mkdir -p "$(dirname "$1")" && cat > "$1" && chmod "$2" "$1"', "sh", path, mode,
                         stdin=None, input=text)
        assert wrote.returncode == 0, wrote.stderr
        return path

    def job_file(self, user, name="tony.xml", mode="644"):
        """A job file whose job leaves a proof that it ran."""
        keys = {**COMMAND, "tony.application.name": f"job-of-{user.name}", "tony.application.on-end": f"id > {self.proof}"}
        text = self.machine.xml(keys) if name.endswith(".xml") else "".join(f"{key}: '{value}'\n" for key, value in keys.items())
        return self.write(user, name, text, mode)

    def tony(self, user, *words, **options):
        return user.tony(*words, cwd=self.path, **options)

    def assert_refused(self, user, *told, words=("config", "show")):
        answer = self.tony(user, *words)
        assert answer.returncode == 3, answer.stdout + answer.stderr
        said = answer.stdout + answer.stderr
        assert not [word for word in (*told, "--conf_file tony") if word not in said], said

    def assert_taken(self, user, name):
        answer = self.tony(user, "config", "show")
        assert answer.returncode == 0 and name in answer.stdout, answer.stdout + answer.stderr


@pytest.mark.promise("S180")
@pytest.mark.parametrize("verb", VERBS)
def test_a_job_file_of_another_user_in_the_current_directory_is_refused(machine, verb):
    place = Place(machine)
    place.job_file(machine.stranger)
    place.assert_refused(machine.owner, "tony.xml: belongs to uid-", "whose commands would run as you", words=verb.split())
    assert not place.proof.exists() and not machine.owner.tony("list", "--all").stdout.count("job-of-stranger")


@pytest.mark.promise("S180")
@pytest.mark.parametrize("name", ["tony.yaml", "tony.yml"])
def test_a_job_file_in_yaml_of_another_user_is_refused(machine, name):
    place = Place(machine)
    place.job_file(machine.stranger, name)
    place.assert_refused(machine.owner, f"{name}: belongs to uid-", f"--conf_file {name}", words=("check", "--", "true"))


@pytest.mark.promise("S189")
def test_in_a_user_namespace_a_job_file_of_nobodys_is_refused(machine):
    place, owner = Place(machine), machine.owner
    machine.run("chown", owner.uid, place.path)
    path = place.job_file(machine.stranger)
    answer = owner.tony_contained("config", "show", cwd=place.path)
    assert answer.returncode == 3 and "tony.xml: belongs to nobody, whose commands would run as you" in answer.stderr, answer
    owner.run("rm", path)
    place.job_file(owner)
    answer = owner.tony_contained("config", "show", cwd=place.path)
    assert answer.returncode == 0 and "job-of-owner" in answer.stdout, answer
    machine.run("chown", machine.stranger.uid, place.path)
    answer = owner.tony_contained("config", "show", cwd=place.path)
    assert answer.returncode == 3 and "tony.xml: its directory belongs to nobody" in answer.stderr, answer


@pytest.mark.promise("S189")
def test_in_a_user_namespace_an_interpreter_of_nobodys_is_not_run(machine):
    place, owner = Place(machine), machine.owner
    machine.run("chown", owner.uid, place.path)
    script = owner.write("train.py", "import torch\n")
    lacking = owner.write("python3", "#!/bin/sh\nexit 7\n", mode="755")
    for folder in ("venv", "venv/bin"):
        machine.run("install", "-d", "-m", "1777", "-o", owner.uid, place.path / folder)
    place.write(machine.stranger, "venv/bin/python3", f"#!/bin/sh\nid > {place.proof}; exit 0\n", mode="755")
    owner.tony_contained("check", "--framework", "pytorch", "--workers", "1", "--", lacking, script, cwd=place.path)
    assert not place.proof.exists()


@pytest.mark.promise("S189")
def test_in_a_user_namespace_a_secret_of_nobodys_is_refused(machine):
    path = machine.stranger.write("token", "known-to-the-stranger" * 2, mode="640")
    machine.run("chmod", "711", machine.stranger.home)
    machine.run("chgrp", machine.owner.uid, path)
    answer = machine.owner.tony_contained("portal", "--listen", "127.0.0.1:0", "--token-file", path)
    assert answer.returncode == 3 and f"{path}: it holds the token, and belongs to uid 65534" in answer.stderr, answer


@pytest.mark.promise("S180")
def test_root_refuses_a_users_job_file(machine):
    place = Place(machine)
    place.job_file(machine.stranger)
    answer = machine.run("sh", "-c", 'cd "$1" && "$2" check 2>&1 || true', "sh", place.path, machine.bin / "tony")
    assert "tony.xml: belongs to uid-" in answer.stdout


@pytest.mark.promise("S180")
def test_a_job_file_of_another_user_is_taken_when_it_is_named(machine):
    place = Place(machine)
    place.job_file(machine.stranger)
    answer = place.tony(machine.owner, "config", "show", "--conf_file", "tony.xml")
    assert answer.returncode == 0 and "job-of-stranger" in answer.stdout, answer.stderr


@pytest.mark.promise("S180")
def test_a_job_file_of_root_or_of_ones_own_is_taken(machine):
    place = Place(machine)
    path = place.job_file(machine.owner)
    place.assert_taken(machine.owner, "job-of-owner")
    machine.run("chown", "0:0", path)
    place.assert_taken(machine.owner, "job-of-owner")


@pytest.mark.promise("S180")
def test_a_job_file_that_others_may_write_to_is_refused(machine):
    place = Place(machine)
    path = place.job_file(machine.owner, mode="666")
    place.assert_refused(machine.owner, "tony.xml: has mode 0666", f'"chmod go-w {place.path}/tony.xml"')
    machine.run("chgrp", machine.stranger.uid, path)
    machine.run("chmod", "664", path)
    place.assert_refused(machine.owner, "tony.xml: has mode 0664", f'"chmod go-w {place.path}/tony.xml"')
    machine.run("chmod", "644", path)
    place.assert_taken(machine.owner, "job-of-owner")
    machine.run(PYTHON, "-c", ACL, path, machine.stranger.uid)
    place.assert_refused(machine.owner, "tony.xml: has mode 0775", f'"chmod go-w {place.path}/tony.xml"')


@pytest.mark.promise("S180")
def test_a_job_file_that_the_private_group_of_its_owner_may_write_to_is_taken(machine):
    place = Place(machine)
    path = place.job_file(machine.owner, mode="664")
    machine.run("chown", "0:0", path)  # root's group has no other member
    place.assert_taken(machine.owner, "job-of-owner")


@pytest.mark.promise("S181")
def test_a_job_file_in_a_directory_where_others_can_replace_it_is_refused(machine):
    place = Place(machine, "777")
    machine.run("chown", machine.owner.uid, place.path)
    place.job_file(machine.owner)
    place.assert_refused(machine.owner, "tony.xml: its directory has mode 0777", f'w {place.path}" or "chmod +t {place.path}"')
    machine.run("chmod", "1777", place.path)
    place.assert_taken(machine.owner, "job-of-owner")
    machine.run("chown", machine.stranger.uid, place.path)
    place.assert_refused(machine.owner, "tony.xml: its directory belongs to uid-")


@pytest.mark.promise("S181")
def test_a_teams_directory_need_only_be_sticky(machine):
    place = Place(machine)
    machine.run("chown", f"{machine.owner.uid}:{machine.stranger.uid}", place.path)
    machine.run("chmod", "2775", place.path)
    place.job_file(machine.owner)
    place.assert_refused(machine.owner, "tony.xml: its directory has mode 2775", f'"chmod go-w {place.path}" or "chmod +t {place.path}"')
    machine.owner.run("chmod", "+t", place.path)
    place.assert_taken(machine.owner, "job-of-owner")


@pytest.mark.promise("S181")
def test_a_remedy_that_only_root_has_is_not_named(machine):
    place = Place(machine, "777")
    place.job_file(machine.owner)
    answer = place.tony(machine.owner, "config", "show")
    assert answer.returncode == 3 and "its directory has mode 0777" in answer.stderr and "chmod" not in answer.stderr, answer.stderr
    assert "To read it anyway: --conf_file tony.xml" in answer.stderr, answer.stderr


@pytest.mark.promise("S184")
def test_a_job_file_of_another_user_need_not_be_read(machine):
    place = Place(machine)
    place.job_file(machine.stranger)
    place.assert_refused(machine.owner, "To read no job file: --conf_file /dev/null")
    answer = place.tony(machine.owner, "config", "show", "--conf_file", "/dev/null")
    assert answer.returncode == 0 and "job-of-stranger" not in answer.stdout, answer.stderr
    place.tony(machine.owner, "submit", "--conf_file", "/dev/null", "--", "touch", machine.owner.home / "ran")
    assert (machine.owner.home / "ran").exists() and not place.proof.exists()


@pytest.mark.promise("S181")
def test_a_fifo_in_the_place_of_a_job_file_is_called_one(machine):
    place = Place(machine)
    machine.owner.run("mkfifo", "-m", "600", place.path / "tony.xml")
    answer = place.tony(machine.owner, "config", "show")
    assert answer.returncode != 0 and "tony.xml: is a FIFO, not a regular file" in answer.stderr, answer.stderr


@pytest.mark.promise("S181")
def test_links_to_a_job_file_count_as_files_do(machine):
    place = Place(machine)
    link, own = place.path / "tony.xml", machine.owner.write("job.xml", machine.xml({**COMMAND, "tony.application.name": "job-of-owner"}))
    machine.stranger.run("ln", "-s", own, link)
    place.assert_refused(machine.owner, "tony.xml: the link belongs to uid-")
    machine.stranger.run("rm", link)
    machine.owner.run("ln", "-s", own, link)
    place.assert_taken(machine.owner, "job-of-owner")
    machine.owner.run("ln", "-sfn", "other.xml", link)
    place.job_file(machine.stranger, "other.xml")
    place.assert_refused(machine.owner, "other.xml: belongs to uid-")


@pytest.mark.promise("S180")
def test_a_pipeline_of_another_user_in_the_current_directory_is_refused(machine):
    place = Place(machine)
    keys = machine.xml({**COMMAND, "tony.application.on-end": f"id > {place.proof}"})
    path = place.write(machine.stranger, "pipeline.xml", PIPELINE % keys[keys.index("<property>"):keys.rindex("</configuration>")])
    answer = place.tony(machine.owner, "run")
    assert answer.returncode == 3 and "pipeline.xml: belongs to uid-" in answer.stderr, answer.stderr
    assert "tony run pipeline.xml" in answer.stderr and not place.proof.exists()
    assert place.tony(machine.owner, "run", "--dry-run", path.name).returncode == 0
    machine.run("chown", machine.owner.uid, path)
    answer = place.tony(machine.owner, "run", "--dry-run")
    assert answer.returncode == 0 and answer.stderr == "tony: configuration: ./pipeline.xml\n", answer.stderr


@pytest.mark.promise("S182")
def test_the_first_line_says_which_job_file_was_read(machine):
    place, owner = Place(machine), machine.owner
    place.write(owner, "tony.xml", machine.xml(COMMAND))
    line = "tony: configuration: ./tony.xml"
    assert place.tony(owner, "submit").stderr.splitlines()[0] == line
    assert line not in place.tony(owner, "submit", "--json").stderr
    assert line not in place.tony(owner, "submit", "--conf_file", "tony.xml").stderr
    assert "configuration: generic, of ./tony.xml\n" in place.tony(owner, "check").stdout


@pytest.mark.promise("S180")
def test_python_refuses_a_job_file_of_another_user(machine):
    place = Place(machine)
    place.job_file(machine.stranger)
    machine.run("cp", "-r", ROOT / "python", ROOT / "meson.build", machine.root)
    answer = machine.owner.run(PYTHON, "-B", "-c", "import tony; tony.submit(None)", cwd=place.path,
                               env={"PYTHONPATH": str(machine.root / "python"), "PATH": f"{machine.bin}:/usr/bin:/bin"})
    assert "BadSubmission" in answer.stderr and "tony.xml: belongs to uid-" in answer.stderr, answer.stderr
    assert not place.proof.exists()


@pytest.mark.promise("S183")
@pytest.mark.parametrize("name", ["importlib.py", "importlib/util.py", "contextlib.py", "torch/__init__.py"])
def test_a_module_of_another_user_beside_the_script_is_not_imported(machine, name):
    place = Place(machine)
    place.write(machine.stranger, name, f"import os; os.system('id > {place.proof}')\n")
    place.write(machine.owner, "mine.py", "import torch\n")
    place.tony(machine.owner, "check", "--framework", "pytorch", "--workers", "1", "--", PYTHON, "mine.py")
    assert not place.proof.exists()


@pytest.mark.promise("S183")
@pytest.mark.parametrize("name", ["venv", ".venv"])
def test_an_interpreter_of_another_user_in_the_current_directory_is_not_asked_for_modules(machine, name):
    place, owner, stranger = Place(machine), machine.owner, machine.stranger
    script = owner.write("train.py", "import torch\n")
    lacking = owner.write("python3", "#!/bin/sh\nexit 7\n", mode="755")
    having = "#!/bin/sh\nid > %s; exit 0\n" % place.proof
    words = ["check", "--framework", "pytorch", "--workers", "1", "--", lacking, script]
    place.write(stranger, f"{name}/bin/python3", having, mode="755")
    place.tony(owner, *words)
    assert not place.proof.exists()
    stranger.run("rm", "-r", place.path / name)
    stranger.run("mkdir", "-p", place.path / name / "lib")  # whose packages would be loaded
    machine.run("install", "-d", "-m", "755", "-o", owner.uid, place.path / name / "bin")
    place.write(owner, f"{name}/bin/python3", having, mode="755")
    place.tony(owner, *words)
    assert not place.proof.exists()
    machine.run("rm", "-r", place.path / name)
    place.write(owner, f"{name}/bin/python3", having, mode="755")
    answer = place.tony(owner, *words)
    assert f"{place.path}/{name}/bin/python3 has it" in answer.stderr and place.proof.exists(), answer.stdout + answer.stderr
