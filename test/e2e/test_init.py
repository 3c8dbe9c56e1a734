"""`tony init`: what it writes is examples/NAME, ready to submit; nothing of the user's is touched."""

import json
import subprocess

import pytest
from conftest import BUILD, ROOT
from patience import PATIENCE_S

EXAMPLES = sorted(path.parent.name for path in ROOT.glob("examples/*/tony.xml"))


def files_of(folder):
    """{path: (content, is it a program)}, links resolved."""
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode & 0o111 != 0)
            for path in folder.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")}


def readme_of(name):
    """(its first line below the title, the commands of its first block)"""
    lines = (ROOT / "examples" / name / "README.md").read_text().splitlines()
    blocks = [number for number, line in enumerate(lines) if line.startswith("    ")]
    end = next(number for number in range(blocks[0], len(lines)) if not lines[number])
    return lines[2], lines[blocks[0]:end]


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(tony, name):
    folder = tony.directory / "new" / name
    answer = tony.run("init", name, folder)
    assert answer.returncode == 0, answer.stderr
    assert files_of(folder) == files_of(ROOT / "examples" / name)
    assert not any(path.is_symlink() for path in folder.rglob("*"))
    summary, commands = readme_of(name)
    said = answer.stdout.partition("Next:\n")[2].splitlines()
    assert said == [f"    cd {folder}", *commands]
    assert commands[-1].split("#")[0].strip() == "tony submit"
    assert summary.endswith(".") and len(summary) <= 88 and summary in tony.run("init").stdout
    # The framework may not be installed here; nothing else is wrong.
    problems = tony.run("check", cwd=folder).stderr.splitlines()
    assert [line for line in problems if not line.startswith("problem  framework of ")] == [], problems
    again = tony.run("init", name, folder)
    assert again.returncode == 2 and f"{folder} is not empty" in again.stderr


def test_requirements_are_installed_before_the_submission():
    for name in EXAMPLES:
        asked = "-r requirements.txt" in "\n".join(readme_of(name)[1])
        assert asked == (ROOT / "examples" / name / "requirements.txt").exists(), name


def test_the_table_of_examples():
    table = (ROOT / "examples/README.md").read_text()
    for name in EXAMPLES:
        assert f"| [{name}]({name}) | {readme_of(name)[0]} |" in table


def test_data_comes_with_its_notice():
    for name in EXAMPLES:
        files = files_of(ROOT / "examples" / name)
        assert ("digits.csv.gz" in files) == ("digits.NOTICE" in files), name


def test_the_list(tony):
    listed = tony.run("init")
    assert tony.run("init", "--list").stdout == listed.stdout
    assert sorted(line.split()[0] for line in listed.stdout.splitlines()[1:]) == sorted([*EXAMPLES, "pipeline"])


def test_the_current_directory(tony):
    folder = tony.directory / "here"
    folder.mkdir()
    answer = tony.run("init", "quickstart", cwd=folder)
    assert answer.returncode == 0 and "cd " not in answer.stdout
    assert files_of(folder) == files_of(ROOT / "examples/quickstart")
    again = tony.run("init", "pytorch", cwd=folder)
    assert again.returncode == 2
    assert "the current directory is not empty" in again.stderr
    assert "tony init pytorch DIRECTORY" in again.stderr
    assert files_of(folder) == files_of(ROOT / "examples/quickstart")


def test_what_is_typed_next_works(tony):
    folder = tony.directory / "a folder"
    said = tony.run("init", "quickstart", folder).stdout.partition("Next:\n")[2]
    answer = subprocess.run(["sh", "-ec", said], env={**tony.env, "PATH": f"{BUILD}:{tony.env['PATH']}"},
                            cwd=tony.directory, capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0 and "succeeded" in answer.stdout, answer.stdout + answer.stderr
    brought = tony.run("results", "--output", "models")
    model, = (tony.directory / "models").glob("*/worker-0/model.json")
    assert brought.returncode == 0 and json.loads(model.read_text())["accuracy"] > 0.9


@pytest.mark.parametrize("arguments, words", [
    (("pytorhc",), 'no example "pytorhc"; did you mean pytorch? see tony init --list'),
    (("zzzzzzzzzz",), 'no example "zzzzzzzzzz"; see tony init --list'),
    (("pytorch", "a", "b"), "usage: tony init"),
    (("--list", "pytorch"), "usage: tony init"),
])
def test_wrong_use(tony, arguments, words):
    answer = tony.run("init", *arguments)
    assert answer.returncode == 2 and words in answer.stderr
    assert not (tony.directory / "a").exists()


def test_what_is_in_the_way(tony):
    file = tony.directory / "file"
    file.write_text("mine")
    answer = tony.run("init", "quickstart", file)
    assert answer.returncode == 2 and f"{file} is no directory; name a new one" in answer.stderr
    assert file.read_text() == "mine"


def test_a_failure_midway_says_what_is_there(tony):
    """No file may be longer than 20 KiB: as with a full disk."""
    folder = tony.directory / "full"
    answer = subprocess.run(["bash", "-c", 'trap "" XFSZ; ulimit -f 20; exec "$@"', "bash",
                             BUILD / "tony", "init", "pytorch", folder],
                            env=tony.env, capture_output=True, text=True, timeout=PATIENCE_S)
    assert answer.returncode != 0
    assert f"{folder}/digits.csv.gz: " in answer.stderr
    assert "written so far: README.md, digits.NOTICE; remove them" in answer.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "digits.NOTICE"]
