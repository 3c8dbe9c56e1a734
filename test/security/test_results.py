"""Results that the owner brings to a directory in which the stranger may write, too."""

import json

import pytest

from test_records import python

FILES = 200
FETCHES = 15  # each a chance for the link


@pytest.fixture(name="shared")
def shared_directory(machine):
    machine.run("install", "-d", "-m", "1777", machine.root / "scratch")
    return machine.root / "scratch"


def job_with_results(user, files=1):
    job = user.submit({"tony.worker.instances": 1, "tony.worker.memory": "64m",
                       "tony.worker.command": f'for i in $(seq {files}); do echo $i > "$TONY_OUTPUT_DIR/$i"; done'})
    assert user.wait_end(job)["state"] == "succeeded"
    return job


@pytest.mark.promise("S172")
@pytest.mark.parametrize("inside", ["", "/worker-0"], ids=["the-jobs-directory", "a-tasks-directory"])
def test_results_do_not_come_to_a_strangers_directory(machine, shared, inside):
    job = job_with_results(machine.owner)
    maker = machine.owner if inside else machine.stranger
    for user, path in ((maker, shared / job), (machine.stranger, shared / f"{job}{inside}")):
        made = user.run("sh", "-c", 'umask 0; mkdir -p "$1"', "sh", path)
        assert made.returncode == 0, made.stderr
    answer = machine.owner.tony("results", job, "--output", shared)
    assert answer.returncode == 6, answer.stdout + answer.stderr
    assert f"{shared / job}{inside} belongs to uid-{machine.stranger.uid}" in answer.stderr and "name another place" in answer.stderr
    assert machine.run("find", shared, "-type", "f").stdout == "", "nothing was written"


@pytest.mark.promise("S172")
def test_results_do_not_follow_a_link_that_comes_and_goes(machine, shared):
    job = job_with_results(machine.owner, FILES)
    target = machine.owner.home / "precious"
    assert machine.owner.run("sh", "-c", 'mkdir "$1"; umask 0; mkdir "$2"', "sh", target, shared / job).returncode == 0
    flipper, said = machine.stranger.attack("flip", shared / job / "worker-0", target)
    assert said == "flipping"
    for _ in range(FETCHES):
        assert machine.owner.tony("results", job, "--output", shared).returncode in (6, 70)
    assert flipper.poll() is None
    assert machine.owner.run("ls", "-A", target).stdout == ""


def keys(**values):
    rows = "".join(f"<property><name>tony.{name.replace('__', '.').replace('_', '-')}</name><value>{value}</value></property>"
                   for name, value in values.items())
    return f"<configuration>{rows}</configuration>"


def forge(machine, place, how, precious):
    """The stranger puts something where the owner's results were."""
    made = machine.stranger.run("sh", "-c", {
        "a directory": 'umask 022; mkdir -p "$1/worker-0" "$1/driver-0"; echo evil > "$1/worker-0/1"; echo evil > "$1/driver-0/x"',
        "a link": 'ln -s "$2" "$1"'}[how], "sh", place, precious)
    assert made.returncode == 0, made.stderr


@pytest.mark.promise("S133")
@pytest.mark.parametrize("how", ["a directory", "a link"])
def test_results_that_another_user_has_put_in_their_place_are_not_read(machine, shared, how):
    job = machine.owner.submit({"tony.worker.instances": 1, "tony.worker.memory": "64m", "tony.application.output-dir": str(shared),
                                "tony.worker.command": 'echo 1 > "$TONY_OUTPUT_DIR/1"'})
    assert machine.owner.wait_end(job)["state"] == "succeeded"
    assert machine.owner.tony("results", job).stdout == f"{shared / job}\n"
    assert machine.owner.run("rm", "-rf", shared / job).returncode == 0
    precious = machine.owner.home / "precious"
    assert machine.owner.run("sh", "-c", 'mkdir "$1"; echo 1 > "$1/1"', "sh", precious).returncode == 0
    forge(machine, shared / job, how, precious)
    for options in ([], ["--output", machine.owner.home / "out"], ["--output", shared]):
        answer = machine.owner.tony("results", *options, job)
        assert (answer.returncode, answer.stdout) == (6, ""), answer
        said = "is a symbolic link of" if how == "a link" else "belongs to"
        assert f"{shared / job}" in answer.stderr and f"{said} uid-{machine.stranger.uid}" in answer.stderr, answer
    assert not machine.owner.run("find", machine.owner.home / "out", "-type", "f").stdout
    assert f"results: {shared / job}\n" not in machine.owner.tony("status", job).stdout


@pytest.mark.promise("S133")
def test_results_that_their_user_has_moved_are_read_through_his_link(machine, shared):
    """Others can replace neither the link, in a sticky directory, nor what it leads to."""
    owner, home = machine.owner, machine.owner.home
    job = owner.submit({"tony.worker.instances": 1, "tony.worker.memory": "64m", "tony.application.output-dir": str(shared),
                        "tony.worker.command": 'echo 1 > "$TONY_OUTPUT_DIR/1"'})
    assert owner.wait_end(job)["state"] == "succeeded"
    assert owner.run("sh", "-c", 'mv "$1" "$2" && ln -s "$2" "$1"', "sh", shared / job, home / "moved").returncode == 0
    assert owner.tony("results", job).stdout == f"{shared / job}\n"
    answer = owner.tony("results", "--output", home / "out", job)
    assert answer.returncode == 0 and owner.read(home / f"out/{job}/worker-0/1") == "1\n", answer
    reads = "import sys; from pathlib import Path; from tony import _own; print(_own.list_directory(Path(sys.argv[1]), 'worker-0'))"
    assert python(owner, reads, shared / job).stdout == "['1']\n"
    machine.run("chmod", "0777", shared)
    answer = owner.tony("results", job)
    assert answer.returncode == 6 and "is a symbolic link of uid-" in answer.stderr and "move the results back" in answer.stderr, answer
    answer = python(owner, reads, shared / job)
    assert "Denied" in answer.stderr and "is a symbolic link of uid" in answer.stderr, answer


@pytest.mark.promise("S172")
def test_results_are_not_taken_for_brought_where_another_users_link_leads_to_them(machine, shared):
    job = job_with_results(machine.owner)
    output = machine.owner.status(job)["output"]
    assert machine.stranger.run("ln", "-s", output, shared / job).returncode == 0
    answer = machine.owner.tony("results", "--output", shared, job)
    assert answer.returncode == 6 and f"{shared / job} belongs to uid-{machine.stranger.uid}" in answer.stderr, answer


@pytest.mark.promise("S133")
def test_a_pipeline_takes_no_results_that_another_user_has_left(machine, shared):
    pipeline = (f"<pipeline name='p'>{keys(driver__memory='64m', application__output_dir=shared)}"
                f"<job name='prepare' cache='true'>{keys(containers__command='echo good > $TONY_OUTPUT_DIR/x')}</job>"
                f"<job name='use' after='prepare'>{keys(containers__command='cat ${prepare.output}/driver-0/x')}</job></pipeline>")
    machine.owner.write("pipeline.xml", pipeline)

    def run(*options):
        answer = machine.owner.tony("run", "--json", *options, cwd=machine.owner.home)
        nodes = json.loads(answer.stdout)["nodes"] if answer.stdout else []
        machine.jobs.extend((machine.owner, node["id"]) for node in nodes if "id" in node)
        return answer, {node["node"]: node for node in nodes}

    answer, first = run()
    assert answer.returncode == 0, answer
    prepared = first["prepare"]["id"]
    assert machine.owner.run("rm", "-rf", shared / prepared).returncode == 0
    forge(machine, shared / prepared, "a directory", None)
    refused, _ = run("--from", "use")
    assert refused.returncode != 0 and f"the earlier {prepared} has results that are not taken: {shared / prepared} belongs to" in refused.stderr, refused
    answer, second = run()
    assert answer.returncode == 0 and second["prepare"]["state"] == "succeeded", answer
    assert machine.owner.tony("logs", second["use"]["id"]).stdout == "good\n"


@pytest.mark.promise("S134")
@pytest.mark.parametrize(("trap", "options"), [
    ('ln -s "$2" "$1"', []),
    ('ln -s "$2" "$1"', ["--output", "."]),
    ('ln -s "$2.new" "$1"', []),
    ('mkfifo "$1"; chmod 666 "$1"', ["--json"]),
    ('touch "$1"; chmod 666 "$1"', []),
], ids=["a-link", "a-link-in-a-directory-that-is-named", "a-link-to-nothing", "a-fifo", "a-file"])
def test_a_bundle_follows_nothing_that_another_user_has_put_in_its_place(machine, shared, trap, options):
    job = job_with_results(machine.owner)
    precious = machine.owner.write("precious", "precious")
    place = shared / f"{job}.tar.gz"
    assert machine.stranger.run("sh", "-c", trap, "sh", place, precious).returncode == 0
    answer = machine.owner.tony("bundle", *options, job, cwd=shared)
    assert (answer.returncode, answer.stdout) == (6, ""), answer
    assert f"belongs to uid-{machine.stranger.uid}" in answer.stderr and "--output FILE" in answer.stderr, answer
    assert machine.owner.run("cat", precious).stdout == "precious"
    assert machine.owner.run("sh", "-c", 'ls -A "$1" "$2"', "sh", shared, machine.owner.home).stdout.count("tar.gz") == 1
    assert not machine.owner.run("sh", "-c", 'cat "$1.new"', "sh", precious).stdout
    assert machine.run("rm", place).returncode == 0
    for _ in range(2):
        assert machine.owner.tony("bundle", *options, job, cwd=shared).returncode == 0, "its own file is replaced"


@pytest.mark.promise("S192")
@pytest.mark.parametrize("verb", ["bundle", "bundle-into", "results", "cp"])
def test_a_place_that_is_named_is_no_link_of_another_user(machine, shared, verb):
    owner, stranger = machine.owner, machine.stranger
    job = job_with_results(owner)
    precious, folder = owner.write("precious/file", "precious"), owner.home / "precious"
    link = shared / "out.tgz"
    assert stranger.run("ln", "-s", precious if verb == "bundle" else folder, link).returncode == 0
    words = {"bundle": ["bundle", "--output", link, job], "bundle-into": ["bundle", "--output", link, job],
             "results": ["results", "--output", link, job], "cp": ["cp", "JOB/worker:0:/etc/hostname", f"{link}/"]}[verb]
    if verb == "cp":
        job = owner.submit({"tony.worker.instances": 1, "tony.worker.memory": "64m", "tony.worker.command": "sleep 600"})
        owner.wait_task(job, "worker:0")
        words[1] = f"{job}/worker:0:/etc/hostname"
    answer = owner.tony(*words)
    assert answer.returncode == 6 and f"is a symbolic link of uid-{stranger.uid}" in answer.stderr, answer
    assert owner.run("ls", "-A", folder).stdout == "file\n" and owner.read(precious) == "precious"
    machine.run("chown", "-h", owner.uid, link)
    assert owner.tony(*words).returncode == 0, "its own link is followed"


@pytest.mark.promise("S192")
@pytest.mark.parametrize("verb", ["bundle", "results", "cp"])
def test_a_place_that_another_user_exchanges_leads_nowhere_else(machine, shared, verb):
    owner, place = machine.owner, shared / "place"
    job = job_with_results(owner)
    name = "file" if verb != "results" else f"{job}/file"
    precious = owner.write(f"precious/{name}", "precious")
    words = {"bundle": ["bundle", "--tail", "1", "--output", place / "file", job], "results": ["results", "--output", place, job]}.get(verb)
    if verb == "cp":
        job = owner.submit({"tony.worker.instances": 1, "tony.worker.memory": "64m", "tony.worker.command": "sleep 600"})
        owner.wait_task(job, "worker:0")
        words = ["cp", f"{job}/worker:0:{owner.write('source/file', 'copied')}", place]
    flipper, said = machine.stranger.attack("flip", place, owner.home / "precious")
    assert said == "flipping"
    answers = [owner.tony(*words) for _ in range(2 * FETCHES)]
    assert flipper.poll() is None
    assert {answer.returncode for answer in answers} <= {0, 6}, answers
    assert all(answer.returncode == 0 or "is a symbolic link of" in answer.stderr for answer in answers), answers
    assert machine.run("find", owner.home / "precious", "-type", "f").stdout == f"{precious}\n" and owner.read(precious) == "precious"
    assert machine.run("find", shared, owner.home / "precious", "-name", "*.part.*", "-o", "-name", "file.*").stdout == "", "nothing is left"


@pytest.mark.promise("S192")
def test_a_bundle_is_not_written_into_the_fifo_of_another_user(machine, shared):
    owner, fifo = machine.owner, shared / "fifo"
    job = job_with_results(owner)
    assert machine.stranger.run("sh", "-c", 'umask 0; mkfifo "$1"', "sh", fifo).returncode == 0
    answer = owner.tony("bundle", "--output", fifo, job)
    assert answer.returncode == 6, answer
    assert f"{fifo} is a FIFO and belongs to uid-{machine.stranger.uid}" in answer.stderr and "name another place" in answer.stderr, answer
    machine.run("chown", owner.uid, fifo)
    own = f'cat "$1" | gzip --test && echo whole & "$2" bundle --output "$1" "$3"; wait; "$2" bundle --output /dev/stdout "$3" | gzip --test && echo alone'
    answer = owner.run("sh", "-c", own, "sh", fifo, machine.bin / "tony", job)
    assert f"{fifo}\n" in answer.stdout and "whole\n" in answer.stdout and answer.stdout.endswith("alone\n"), answer
    assert "trailing garbage" not in answer.stderr, answer
