"""The terminal of the owner, who looks at what the stranger has written."""

import os
import pty
import re
import subprocess

import pytest

from patience import PATIENCE_S, wait_until
from test_history import place_of, submit, wait_published
from test_history import shared_store  # noqa: F401

# Sequences that a terminal obeys: a title, the clipboard, a link, a cursor that moves, a question, a charset; and C1 and bidirectional controls.
HOSTILE = (r"\033]0;PWN\007 \033]52;c;cHdu\007 \033]8;;http://evil\033\\link\033]8;;\033\\ \033[2J\033[6n\033[9A \033(0 \033P+q5\033\\"
           r" \302\2332J \342\200\256 \010\033[31mred\033[0m")
OBEYED = re.compile(rb"\x1b(?!\[[0-9;]*m)|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]|\xe2\x81[\xa6-\xa9]")


def on_terminal(user, *arguments):
    """(The exit code, the bytes) of a tony that has a terminal for all that it says."""
    master, terminal = pty.openpty()
    child = user.start(user.machine.bin / "tony", *arguments, stdin=terminal, stdout=terminal, stderr=terminal, text=False,
                       env={"TERM": "xterm"})
    os.close(terminal)
    os.set_blocking(master, False)
    said = b""

    def at_end():
        nonlocal said
        try:
            said += os.read(master, 65536)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return False
    wait_until(at_end, f"the end of tony {arguments}")
    os.close(master)
    return child.wait(timeout=PATIENCE_S), said


@pytest.mark.promise("S170")
def test_of_what_a_stranger_wrote_a_terminal_gets_text_and_colours(machine, store):
    job = submit(machine.stranger, f"printf '{HOSTILE}\\n'; printf '{HOSTILE}\\n' >&2; exit 3")
    wait_published(machine.owner, store, job)
    code, said = on_terminal(machine.owner, "logs", job)
    assert code == 0 and b"link" in said and b"\x1b[31mred\x1b[0m" in said, said
    assert not OBEYED.search(said), said
    exact = machine.owner.tony("logs", "--stream", "stdout", job, text=False)
    assert exact.stdout == subprocess.run(["printf", HOSTILE + "\\n"], stdout=subprocess.PIPE, check=True).stdout
    for verb in (["logs", "--json"], ["logs", "--grep", "red"], ["status"], ["status", "--json"], ["events"], ["events", "--json"], ["history"],
                 ["list", "--all"], ["attach"], ["metrics"], ["wait"], ["kill"]):
        code, said = on_terminal(machine.owner, *verb, *[job] * (verb[0] not in ("history", "list")))
        assert said and not OBEYED.search(said), (verb, said)


@pytest.mark.promise("S170")
def test_raw_gives_a_terminal_all_bytes(machine):
    job = submit(machine.owner, r"printf 'a\033[2Jb\n'")
    machine.owner.wait_end(job)
    assert on_terminal(machine.owner, "logs", job)[1] == b"ab\r\n"
    assert on_terminal(machine.owner, "logs", "--raw", job)[1] == b"a\x1b[2Jb\r\n"


@pytest.mark.promise("S171")
def test_a_directory_with_a_line_feed_makes_no_line_of_tonys(machine):
    place = machine.owner.home / "work\ntony: job succeeded"
    machine.owner.run("mkdir", place)
    command = f'cd "$1" && exec "{machine.bin}/tony" submit --framework generic --memory 64m -- false'
    answer = machine.owner.run("sh", "-c", command, "sh", place)
    assert answer.returncode == 1, answer.stderr
    said = (answer.stdout + answer.stderr).encode()
    assert b"job succeeded" in said and b"\ntony: job" not in said.replace(b"\r", b""), said
    code, said = on_terminal(machine.owner, "status")
    assert b"job succeeded" in said and b"\ntony: job" not in said.replace(b"\r", b""), said


@pytest.mark.promise("S171")
@pytest.mark.parametrize("words", [["status"], ["submit", "--framework"], ["submit", "--conf"], ["logs", "--task"], ["--nosuch"], ["cp"], ["list"]],
                         ids=" ".join)
def test_an_error_that_names_an_argument_moves_no_cursor(machine, words):
    code, said = on_terminal(machine.owner, *words, "x\x1b[2J\x1b]0;PWN\x07\u009b2J\u202e\ntony: job succeeded")
    assert code != 0 and said.startswith(b"tony: ") and not OBEYED.search(said), said
    assert b"\ntony: job" not in said, said


@pytest.mark.promise("S171")
def test_an_error_that_names_what_a_stranger_wrote_moves_no_cursor(machine, store):
    job = submit(machine.stranger, "true")
    wait_published(machine.owner, store, job)
    path = store / place_of(job) / "job.json"
    forged = machine.stranger.run("sed", "-i", r's/"role":"[^"]*"/"role":"\\u001b]0;PWN\\u0007\\u001b[31mEVIL\\ntony: done"/', path)
    assert forged.returncode == 0, forged.stderr
    code, said = on_terminal(machine.owner, "status", job)
    assert code != 0 and b"EVIL" in said and b"\x1b" not in said and b"\x07" not in said, said
    assert b"\ntony: done" not in said, said


@pytest.mark.promise("S171")
def test_a_comparison_with_a_strangers_record_moves_no_cursor(machine, store):
    jobs = [submit(machine.stranger, "true"), submit(machine.owner, "true")]
    for job in jobs:
        wait_published(machine.owner, store, job)
    for name in ("job.json", "summary.json", "events.jsonl"):
        forged = machine.stranger.run("sed", "-i", r's/"name": *"[^"]*"/"name":"EVIL\\u001b]0;PWN\\u0007\\u001b[2J"/', store / place_of(jobs[0]) / name)
        assert forged.returncode == 0, forged.stderr
    code, said = on_terminal(machine.owner, "compare", *jobs)
    assert code == 0 and b"EVIL" in said and not OBEYED.search(said), said


@pytest.mark.promise("S171")
def test_what_writes_each_frame_and_line_itself_shows_a_strangers_name_as_text(machine, store):
    jobs = [submit(machine.stranger, "echo hello"), submit(machine.owner, "echo hello")]
    for job in jobs:
        wait_published(machine.owner, store, job)
    name = r'"EVIL\\u001b]0;PWN\\u0007\\u001b[2J\\u009b2J\\u202e\\ntony: all is well"'
    for file in ("job.json", "summary.json"):
        forged = machine.stranger.run("sed", "-i", f's/"name": *"[^"]*"/"name":{name}/', store / place_of(jobs[0]) / file)
        assert forged.returncode == 0, forged.stderr
    for verb in (["top", jobs[0]], ["top", "--once", jobs[0]], ["status", jobs[0]], ["logs", *jobs], ["logs", "-f", *jobs], ["list", "--all", "--all-users"]):
        code, said = on_terminal(machine.owner, *verb)
        assert code == 0 and not OBEYED.search(said) and b"\ntony: all" not in said.replace(b"\r", b""), (verb, said)
        assert b"EVIL" in said or verb[0] == "list", (verb, said)
