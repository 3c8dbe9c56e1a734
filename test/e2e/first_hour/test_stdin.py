"""Standard input of `tony submit` goes to the program, is the job file, or is told to be neither. The ids are those of the
table of inputs."""

import signal

import pytest
from patience import wait_until
from program import PYTHON
from rows import run_row

SUBMIT = "tony submit --memory 64m"
NOT_GIVEN = "standard input is not given to the program; see --stdin"
OUTPUT = "cat $TONY_STATE_DIR/jobs/*/containers/*/stdout"
FAILS_ONCE = "sh -c 'cat; test -e failed || { touch failed; exit 3; }'"

ROWS = [
    ("17 pipe", f"seq 3 | {SUBMIT} --stdin --follow -- cat", 0, ["1\n2\n3\n"], ["warning"]),
    ("17 file", f"seq 3 >data; {SUBMIT} --stdin --follow -- {PYTHON} -c 'print(sum(map(int, open(0))))' <data", 0,
     ["6\n"], ["warning"]),
    ("17 rest of a file", f"seq 3 >data; (read first; {SUBMIT} --stdin --follow -- cat) <data", 0, ["2\n3\n"], ["1\n2"]),
    ("17 program", f"echo 'print(6 * 7)' | {SUBMIT} --stdin --follow -- {PYTHON} -", 0, ["42\n"], []),
    ("17 nothing", f"{SUBMIT} --stdin --follow -- cat </dev/null", 0, ["succeeded"], ["warning"]),
    ("17 restart", f"echo again | {SUBMIT} --stdin --max-restarts 1 -- {FAILS_ONCE} && {OUTPUT}", 0,
     ["again\nagain\n"], []),
    ("17 retry", f"echo again | {SUBMIT} --stdin --retries 1 -- {FAILS_ONCE} && {OUTPUT}", 0, ["again\nagain\n"], []),
    ("17 processes", f"echo each | {SUBMIT} --stdin --processes 2 -- cat && {OUTPUT} && {OUTPUT}-1", 0,
     ["each\neach\n"], []),
    ("17 beside TensorBoard", f"echo one | {SUBMIT} --stdin --conf tony.tensorboard.instances=1 --conf "
     f"tony.tensorboard.memory=64m --conf tony.tensorboard.command='sleep 99' --type reader=1 -- cat && {OUTPUT}", 0,
     ["one\n"], []),
    ("17 detached", f"seq 3 | {{ {SUBMIT} --stdin --detach -- cat >id; }} && tony wait $(cat id) && {OUTPUT}", 0,
     ["1\n2\n3\n"], []),
    ("17 private", f"umask 0; echo secret | {SUBMIT} --stdin -- sh -c 'stat -L -c %a%A /proc/self/fd/0' && {OUTPUT}", 0,
     ["600-rw"], []),
    ("17 several tasks", f"echo one | {SUBMIT} --stdin --workers 2 -- cat", 2,
     ["--stdin: the job has 2 tasks, and only a job of one can read", "put it into a file that all open"], ["submitted"]),
    ("17 too long", f"truncate -s 1025M data; {SUBMIT} --stdin -- cat <data; code=$?; rm data; "
     "ls $TONY_STATE_DIR/jobs; exit $code", 2, ["longer than 1.0 GiB; put it into a file"], ["tony-20"]),
    ("17 closed", f"{SUBMIT} --stdin -- cat <&-", 2, ["--stdin: standard input is closed; write <FILE"], []),
    ("17 not given", f"echo hello >data; {SUBMIT} -- cat <data", 0, [NOT_GIVEN, "succeeded"], []),
    ("17 in a loop", f"seq 2 >list; while read n; do {SUBMIT} --follow -- echo $n; done <list", 0,
     [NOT_GIVEN, "1\n2\n"], []),
    ("17 read already", f"echo hello >data; (cat; {SUBMIT} -- true) <data", 0, [], [NOT_GIVEN]),
    ("3.60", f"{SUBMIT} -- true <&- && {SUBMIT} -- true </dev/null && {SUBMIT} -- true </dev/zero", 0, [], ["warning"]),
    ("3.60 pipe that stays open", f"mkfifo tube; {SUBMIT} -- true <>tube", 0, [], ["warning"]),
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_row(tony, row):
    run_row(tony, row)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_reading_leaves_nothing(tony, number):
    child = tony.start("submit", "--memory", "64m", "--stdin", "--", "cat", stdin=-1)
    child.stdin.write("one\n")
    child.stdin.flush()
    wait_until(lambda: any((tony.state / "jobs").glob("*/files/stdin")), "standard input to be read")
    child.send_signal(number)
    assert child.wait() == 130
    assert tony.ids() == []


DEATHS = {"the AM": lambda job: job.wear_out_am(), "the AM and its guardian": lambda job: job.lose_am()}


@pytest.mark.parametrize("death", DEATHS)
def test_it_is_removed_when_the_application_master_was_killed(tony, death):
    """Also the job's sources are then kept as those of other jobs are."""
    source = tony.directory / "src"
    source.mkdir()
    (source / "train.py").write_text("pass")
    with open(tony.directory / "data", "w+", encoding="utf-8") as data:
        data.write("xyzzy\n")
        data.seek(0)
        answer = tony.run("submit", "--memory", "64m", "--stdin", "--detach", "--src_dir", source, "--", "sleep", "1000",
                          stdin=data)
    job = tony.found_job(answer.stdout)
    job.wait_task("driver:0")
    files = job.directory / "files"
    assert (files / "stdin").exists()
    DEATHS[death](job)
    wait_until(lambda: tony.run("list").returncode == 0 and not (files / "stdin").exists(), "standard input to be removed")
    wait_until((files / "src").is_symlink, "the sources to be brought to the cache")
    assert (files / "src/train.py").read_text() == "pass"


def test_it_is_removed_when_the_job_has_ended(tony):
    with open(tony.directory / "data", "w+", encoding="utf-8") as data:
        data.write("xyzzy\n")
        data.seek(0)
        answer = tony.run("submit", "--memory", "64m", "--stdin", "--", "true", stdin=data)
    assert answer.returncode == 0, answer.stderr
    folder = tony.state / "jobs" / tony.ids()[0]
    assert (folder / "files").is_dir()
    wait_until(lambda: not (folder / "files/stdin").exists(), "standard input to be removed")
