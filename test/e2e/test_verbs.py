"""Every verb of `tony`, as people and scripts use it."""

import json
import os
import signal
from pathlib import Path

import pytest
import schemas
from audit import audit_of
from conftest import BUILD, PYTHON, wait_until
from program import PATIENCE_S
from terminal import Terminal

VERBS = ("init", "submit", "list", "status", "wait", "attach", "logs", "open", "events", "kill", "restart", "scale", "config", "check",
         "render", "history", "rm", "clean", "version", "completion")


@pytest.fixture
def running(tony):
    """Two workers that print a line each and wait for the file `go`."""
    job = tony.submit({"tony.application.name": "fox", "tony.worker.instances": 2}, "--executes",
                      f"echo hello from $TASK_INDEX; echo trouble >&2; ./exit_after.sh {tony.directory}/go 0")
    job.wait_task("worker:0")
    job.wait_task("worker:1")
    for task in ("worker:0", "worker:1"):
        job.wait_log(task, "hello")
        job.wait_log(task, "trouble", "stderr")
    return job


def finish(tony, job):
    (tony.directory / "go").touch()
    return job.wait()


def test_help_names_every_verb(tony):
    text = tony.run("--help").stdout
    for verb in VERBS:
        assert verb in text
        answer = tony.run(verb, "--help")
        assert answer.returncode == 0 and verb in answer.stdout


def test_help_is_wrapped_in_a_narrow_terminal(tony):
    for arguments in ((), *((verb,) for verb in VERBS)):
        terminal = Terminal(tony, *arguments, "--help", columns=40)
        assert terminal.finish() == 0
        long = [line for line in terminal.text.splitlines() if len(line) > 40 and " " in line.strip()]
        assert long == [], arguments


def test_no_verb(tony):
    answer = tony.run()
    assert answer.returncode == 2 and "submit" in answer.stderr + answer.stdout


def test_version(tony):
    assert tony.run("version").stdout.startswith("tony ")
    assert json.loads(tony.run("version", "--json").stdout)["version"]


def test_short_way(tony):
    answer = tony.run("submit", "--framework", "pytorch", "--workers", "2", "--memory", "64m", "--",
                      PYTHON, "-c", "import os, sys; print(os.environ['WORLD_SIZE'], sys.argv[1:])",
                      "--epochs", "3 or more")
    assert answer.returncode == 0, answer.stderr
    job = tony.found_job(answer.stdout + answer.stderr)
    assert job.logs("worker:1") == "2 ['--epochs', '3 or more']\n"


def test_single_dash_options(tony):
    answer = tony.run("submit", "-executes", "true", "-conf", "tony.worker.instances=1",
                      "-conf", "tony.worker.memory=64m")
    assert answer.returncode == 0, answer.stderr


def test_list(tony, running):
    row = next(row for row in json.loads(tony.run("list", "--json").stdout) if row["id"] == running.id)
    assert row["name"] == "fox" and row["state"] == "running"
    assert running.id in tony.run("list").stdout
    finish(tony, running)
    assert running.id in tony.run("list").stdout + tony.run("list", "--all").stdout


def test_status(tony, running):
    status = running.status()
    assert status["id"] == running.id and status["name"] == "fox" and status["epoch"] == 1
    assert {task["task"] for task in status["tasks"]} == {"worker:0", "worker:1"}
    for task in status["tasks"]:
        assert task["state"] == "running" and task["port"] > 0
        assert all(os.path.exists(f"/proc/{pid}") for pid in task["pids"] + [task["executor_pid"]])
    text = tony.run("status", running.id).stdout
    assert "worker:0" in text and "running" in text
    for task in status["tasks"]:
        assert " ".join(map(str, task["pids"])) in next(line for line in text.splitlines() if task["task"] in line)


def test_a_job_is_found_by_prefix_by_name_and_as_the_newest(tony, running):
    for name in (running.id[:-2], "fox", None):
        answer = tony.run("status", "--json", *([name] if name else []))
        assert json.loads(answer.stdout)["id"] == running.id


def test_logs(tony, running):
    assert "hello from 0" in tony.run("logs", running.id).stdout
    one = tony.run("logs", running.id, "--task", "worker:1").stdout
    assert "hello from 1" in one and "hello from 0" not in one
    assert "trouble" in tony.run("logs", running.id).stdout
    grep = tony.run("logs", running.id, "--grep", "from 1").stdout
    assert "hello from 1" in grep and "hello from 0" not in grep and "trouble" not in grep
    finish(tony, running)
    assert "hello from 0" in tony.run("logs", running.id).stdout, "also after the end"


def test_logs_of_several_jobs_are_one_stream(tony):
    def submit(name, command):
        return tony.submit({"tony.worker.instances": 1, "tony.application.name": name, "tony.application.tags": "night"},
                           "--executes", command)
    go = tony.directory / "go"
    one = submit("one", f"echo a; until [ -e {go} ]; do sleep 0.05; done; echo b >&2")
    one.wait_log("worker:0", "a")
    two = submit("two", "printf c")
    assert two.wait() == 0
    follower = tony.start("logs", "-f", "--tag", "night")
    seen = read_until(follower.stdout, "two| c\n")
    go.touch()
    rest, words = follower.communicate(timeout=PATIENCE_S)
    assert (follower.returncode, seen + rest) == (0, "one| a\ntwo| c\none stderr| b\n"), words
    told = tony.run("logs", "one", two.id)
    assert (told.returncode, told.stdout) == (0, "one| a\ntwo| c\none stderr| b\n")
    told = [schemas.check("logs", json.loads(line)) for line in tony.run("logs", "--json", "--tag", "night").stdout.splitlines()]
    assert [(line["job"], line["text"]) for line in told] == [(one.id, "a"), (two.id, "c"), (one.id, "b")]
    assert tony.run("logs", "--count", "--grep", "[abc]", "--tag", "night").stdout == "3\n"
    same = submit("one", "echo d")
    assert same.wait() == 0
    assert tony.run("logs", "--stream", "stdout", one.id, same.id).stdout == f"{one.id}| a\n{same.id}| d\n"
    assert tony.run("logs", "--tag", "day").returncode == 4


def test_logs_of_an_array_are_one_stream(tony):
    answer = tony.run(*tony.arguments({"tony.worker.instances": 1, "tony.application.name": "many"}, "--array", "0-2", "--detach",
                                      "--executes", "echo $TONY_ARRAY_TASK_ID"))
    array = answer.stdout.split()[0]
    assert tony.run("wait", array).returncode == 0
    assert sorted(tony.run("logs", array).stdout.splitlines()) == ["many_0| 0", "many_1| 1", "many_2| 2"]


def test_logs_of_many_tasks_need_few_descriptors(tony):
    answer, job = tony.job({"tony.worker.instances": 20, "tony.worker.memory": "16m"}, "--executes",
                           "for i in 1 2 3; do echo $TASK_INDEX-$i; echo $TASK_INDEX-$i >&2; done")
    assert answer.returncode == 0, answer.stderr
    lines = sorted(f"worker:{task}{stream}| {task}-{i}" for task in range(20) for i in (1, 2, 3) for stream in ("", " stderr"))
    tony.enter = ["prlimit", "--nofile=32:32"]
    told = tony.run("logs", job.id)
    assert (told.returncode, sorted(told.stdout.splitlines()), told.stderr) == (0, lines, "")


def test_logs_as_json_say_task_log_and_time(tony):
    answer, job = tony.job({"tony.worker.instances": 2}, "--executes",
                           "printf 'a\\000b\\377\\n'; echo trouble $TASK_INDEX >&2")
    assert answer.returncode == 0, answer.stderr

    def lines(*options):
        told = tony.run("logs", "--json", *options, job.id)
        assert told.returncode == 0, told.stderr
        return [schemas.check("logs", json.loads(line)) for line in told.stdout.splitlines()]

    told = lines()
    assert {(line["task"], line["log"], line["text"]) for line in told if line["log"] == "stderr"} == {
        ("worker:0", "stderr", "trouble 0"), ("worker:1", "stderr", "trouble 1")}
    assert all(line["t"] > 0 for line in told)
    assert [line["text"][:3] for line in lines("--task", "worker:1", "--stream", "stdout")] == ["a b"]
    assert {line["log"] for line in lines("--am")} == {"am"}
    assert {line["task"] for line in lines("--executor", "worker:1")} == {"worker:1"}
    both = tony.run("logs", "--json", "--count", "--grep", "x", job.id)
    assert both.returncode == 2 and "contradict" in both.stderr


def test_a_search_knows_the_characters_of_the_locale(tony):
    answer, job = tony.job({"tony.worker.instances": 1}, "--executes", "printf 'Gr\\303\\266\\303\\237e\\ncaf\\303\\251 x\\n'")
    assert answer.returncode == 0, answer.stderr
    def count(locale, *grep):
        tony.env["LC_ALL"] = locale
        return tony.run("logs", "--count", *grep, job.id).stdout
    for grep in (("--grep", "Gr[öü]ße"), ("-i", "--grep", "GRÖ"), ("--grep", "caf. ")):
        assert (count("C.UTF-8", *grep), count("C", *grep)) == ("1\n", "0\n"), grep


def test_logs_are_searched_while_the_job_runs_and_after_its_end(tony, running):
    running.wait_log("worker:0", "hello from 0")
    follower = tony.start("logs", "-f", "--grep", "from 0$", running.id)
    for moment in ("live", "ended"):
        found = tony.run("logs", "-i", "--grep", "HELLO.*[0]$", running.id)
        assert (found.returncode, found.stdout) == (0, "worker:0| hello from 0\n"), moment
        assert tony.run("logs", "--count", "--grep", "hello|none", running.id).stdout == "2\n", moment
        several = tony.run("logs", "--count", "--grep", "hello from 0", "--grep", "none|from 1", running.id)
        assert several.stdout == "2\n", moment
        # Each is an expression of its own.
        broken = tony.run("logs", "--grep", "hello\\", "--grep", "none", running.id)
        assert broken.returncode == 2 and '--grep: "hello\\": Trailing backslash' in broken.stderr, broken
        none = tony.run("logs", "--grep", "HELLO", running.id)
        assert (none.returncode, none.stdout) == (1, ""), moment
        if moment == "live":
            assert running.rest("GET", "/v1/tasks/worker:0/logs/stdout?match=HELLO&ignore_case=1")[1] == b"hello from 0\n"
            assert running.rest("GET", "/v1/tasks/worker:0/logs/stdout?match=HELLO")[1] == b""
            finish(tony, running)
    output, _ = follower.communicate(timeout=PATIENCE_S)
    assert (follower.returncode, output) == (0, "worker:0| hello from 0\n")


def test_logs_follow_ends_with_the_job(tony, running):
    follower = tony.start("logs", "-f", running.id, "--task", "worker:0")
    finish(tony, running)
    output, _ = follower.communicate(timeout=PATIENCE_S)
    assert follower.returncode == 0
    assert output.count("hello from 0") == 1


def read_until(stream, wanted):
    """The output of a process, once it ends so."""
    told = ""
    while not told.endswith(wanted):
        piece = os.read(stream.fileno(), 65536).decode()
        assert piece, told
        told += piece
    return told


@pytest.mark.parametrize("options,shown,told", [
    ((), "stderr| before\nprompt> ", "yes\nstderr| after\n"),
    (("--stream", "stdout"), "prompt> ", "yes\n"),
    (("--timestamps", "--stream", "stdout"), " prompt> ", "yes\n"),
    (("--json", "--stream", "stdout"), '"text":"prompt> ","goes_on":true}\n', '"text":"yes"}\n')])
def test_a_line_without_newline_is_followed(tony, options, shown, told):
    """The line is completed when the program ends it: each byte comes once."""
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1}, "--executes",
                      f"echo before >&2; sleep 0.3; printf 'prompt> '; until [ -e {go} ]; do sleep 0.05; done; echo yes; sleep 0.3; echo after >&2")
    follower = tony.start("logs", "-f", *options, job.id)
    assert read_until(follower.stdout, shown).endswith(shown)
    go.touch()
    rest, words = follower.communicate(timeout=PATIENCE_S)
    assert (follower.returncode, rest.endswith(told), rest.count("prompt")) == (0, True, 0), (rest, words)


def test_a_terminal_shows_the_state_of_a_progress_bar(tony):
    """It stands at the end, and goes away before anything else is printed."""
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1}, "--executes",
                      f"printf ' 10%%\\r 20%%'; until [ -e {go} ]; do sleep 0.05; done; echo other >&2; printf '\\r100%%\\n'")
    terminal = Terminal(tony, "logs", "-f", job.id)
    terminal.wait_text(" 20%")
    go.touch()
    assert terminal.finish() == 0
    assert "10%" not in terminal.text
    shown = [line.rsplit("\r\x1b[K", 1)[-1] for line in terminal.text.split("\n")]
    assert {"stderr| other", "100%"} <= set(shown), terminal.text


@pytest.mark.parametrize("end", ["\\n", ""])
def test_a_pipe_gets_a_progress_bar_once(tony, end):
    """The last state stands in its place: there is no half line above."""
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1}, "--executes",
                      f"printf ' 10%%\\r 20%%' >&2; until [ -e {go} ]; do sleep 0.05; done; printf '\\r 90%%\\r100%%{end}' >&2")
    follower = tony.start("logs", "-f", job.id)
    assert read_until(follower.stdout, " 20%") == "stderr|  20%"
    go.touch()
    assert read_until(follower.stdout, "\n") == "\rstderr| 100%\n"
    rest, words = follower.communicate(timeout=PATIENCE_S)
    assert (follower.returncode, rest) == (0, ""), (rest, words)


def test_a_line_that_others_interrupt_is_printed_whole(tony):
    go = tony.directory / "go"
    job = tony.submit({"tony.worker.instances": 1}, "--executes",
                      f"printf 'prompt> '; until [ -e {go} ]; do sleep 0.05; done; echo other >&2; "
                      f"while [ -e {go} ]; do sleep 0.05; done; echo yes")
    follower = tony.start("logs", "-f", job.id)
    read_until(follower.stdout, "prompt> ")
    go.touch()
    assert read_until(follower.stdout, "other\n") == "\nstderr| other\n"
    go.unlink()
    rest, _ = follower.communicate(timeout=PATIENCE_S)
    assert (follower.returncode, rest) == (0, "prompt> yes\n")


def test_events(tony, running):
    events = running.events()
    assert [event["seq"] for event in events] == sorted({event["seq"] for event in events})
    assert "worker:0" in json.dumps(events)
    follower = tony.start("events", "-f", "--json", running.id)
    finish(tony, running)
    output, _ = follower.communicate(timeout=PATIENCE_S)
    assert follower.returncode == 0
    followed = [json.loads(line) for line in output.splitlines()]
    assert followed[:len(events)] == events and len(followed) > len(events)
    assert "succeeded" in json.dumps(followed[-5:])


def test_wait_has_the_exit_code_of_the_job(tony):
    good = tony.submit({"tony.worker.instances": 1}, "--executes", "true")
    bad = tony.submit({"tony.worker.instances": 1}, "--executes", "exit 9")
    assert good.wait() == 0
    assert bad.wait() == 1


def test_kill(tony, running):
    answer = tony.run("kill", running.id)
    assert answer.returncode == 0
    assert running.wait_state("killed")["outcome"] == "killed"
    assert running.wait() == 8
    assert tony.run("kill", running.id).returncode != 0


@pytest.mark.promise("S76")
def test_who_did_what_is_in_the_log(tony, running):
    me = running.description()["user"]
    assert running.rest("GET", "/v1/job?code=hush", token="x")[0] == 401
    assert tony.run("restart", running.id, "worker:0").returncode == 0
    assert tony.run("kill", "--reason", "no longer needed", running.id).returncode == 0
    lines = audit_of((running.directory / "am.log").read_text())
    assert [(line["user"], line.get("address"), line["proof"], line["action"], line["outcome"], line["detail"]) for line in lines] == [
        (me, None, "scheduler", "submit", "done", "fox"),
        ("-", "127.0.0.1", "wrong-token", "view", "refused", "GET /v1/job"),
        (me, "127.0.0.1", "token", "restart", "done", "worker:0"),
        (me, "127.0.0.1", "token", "kill", "done", "no longer needed")]
    assert {line["job"] for line in lines} == {running.id}


def test_detached_job_outlives_its_terminal(tony):
    """submit runs in a session of its own that is hung up on."""
    go = tony.directory / "go"
    shell = tony.start(*tony.arguments({"tony.worker.instances": 1}, "--detach", "--executes",
                                       f"./exit_after.sh {go} 0"), start_new_session=True)
    output, errors = shell.communicate(timeout=PATIENCE_S)
    job = tony.found_job(output)
    assert job, output + errors
    job.wait_task("worker:0")
    try:
        os.killpg(shell.pid, signal.SIGHUP)
    except ProcessLookupError:
        pass
    go.touch()
    assert job.wait() == 0


def test_ctrl_c_asks_the_job_to_stop(tony):
    client = tony.start(*tony.arguments({"tony.worker.instances": 1}, "--executes",
                                        "trap 'echo asked; exit 0' TERM; echo up; while :; do sleep 0.1; done"))
    wait_until(lambda: list(tony.state.glob("jobs/*/job.json")), "the job")
    job = tony.found_job(tony.ids()[0])
    job.wait_log("worker:0", "up")
    client.send_signal(signal.SIGINT)
    output, errors = client.communicate(timeout=PATIENCE_S)
    assert client.returncode == 8, output + errors
    assert job.status()["outcome"] == "killed"
    assert "asked" in job.logs("worker:0")


def test_ctrl_c_twice_kills(tony):
    client = tony.start(*tony.arguments({"tony.worker.instances": 1, "tony.worker.stop-grace": "1h"},
                                        "--executes", "trap '' TERM; echo up; while :; do sleep 0.1; done"))
    wait_until(lambda: list(tony.state.glob("jobs/*/job.json")), "the job")
    job = tony.found_job(tony.ids()[0])
    job.wait_log("worker:0", "up")
    client.send_signal(signal.SIGINT)
    wait_until(lambda: job.status()["state"] == "finishing", "the job to be ending")
    client.send_signal(signal.SIGINT)
    client.communicate(timeout=PATIENCE_S)
    assert client.returncode == 8
    wait_until(lambda: not job.processes(), "everything to end")


def test_a_client_killed_by_surprise_takes_nothing_along(tony):
    """kill -9 of `tony submit` in the foreground: the job goes on."""
    go = tony.directory / "go"
    client = tony.start(*tony.arguments({"tony.worker.instances": 1}, "--executes",
                                        f"./exit_after.sh {go} 0"))
    wait_until(lambda: list(tony.state.glob("jobs/*/job.json")), "the job")
    job = tony.found_job(tony.ids()[0])
    job.wait_task("worker:0")
    client.kill()
    client.communicate(timeout=PATIENCE_S)
    go.touch()
    assert job.wait() == 0


def test_plain_lines_when_piped(tony):
    answer, job = tony.job({"tony.worker.instances": 2}, "--executes", "true")
    assert answer.returncode == 0
    assert "\033" not in answer.stdout + answer.stderr
    assert job.id in answer.stdout + answer.stderr and "succeeded" in answer.stdout + answer.stderr


def test_final_line_names_the_first_cause_and_the_log(tony):
    answer, job = tony.job({"tony.worker.instances": 1}, "--executes", "echo 'no such table' >&2; exit 4")
    text = answer.stdout + answer.stderr
    for word in ("worker:0", "4", "no such table", "tony logs"):
        assert word in text, text


def test_what_no_job_has_used_for_long_leaves_the_cache(tony):
    """After a job was submitted, by a process that `submit` does not wait for."""
    old = tony.state / "cache" / ("0" * 64)
    lock = old.with_name(old.name + ".lock")
    (old / "read only").mkdir(parents=True)
    (old / "read only").chmod(0o500)
    lock.touch()
    os.utime(lock, (1_600_000_000, 1_600_000_000))
    answer, _ = tony.job({"tony.worker.instances": 1}, "--executes", "true")
    assert answer.returncode == 0, answer.stderr
    wait_until(lambda: not old.exists() and not lock.exists(), "it to be removed")


def test_check_starts_nothing(tony):
    answer = tony.run("check", *tony.arguments({"tony.worker.instances": 1}, "--executes", "true")[1:])
    assert answer.returncode == 0, answer.stderr
    assert tony.ids() == []
    answer = tony.run("check", *tony.arguments({"tony.worker.instances": 1, "tony.worker.memory": "9t"},
                                               "--executes", "true")[1:])
    assert answer.returncode != 0 and "TiB" in answer.stderr + answer.stdout or "GiB" in answer.stderr + answer.stdout


def test_check_takes_the_scheduler_in_any_case(tony):
    answer = tony.run("check", "--scheduler", "LOCAL", "--", "true")
    assert answer.returncode == 0, answer.stderr


def test_render_shows_what_each_task_would_get(tony):
    answer = tony.run("render", *tony.arguments(
        {"tony.application.framework": "pytorch", "tony.worker.instances": 2,
         "tony.worker.command": "run --index {{task.index}}"})[1:])
    assert answer.returncode == 0, answer.stderr
    assert "worker:1" in answer.stdout and "RANK=1" in answer.stdout
    assert tony.ids() == []


def test_render_shows_what_tony_starts_where_a_launcher_starts_the_rest(tony):
    keys = {"tony.worker.instances": 1, "tony.worker.processes": 2, "tony.worker.command": "run"}
    for framework, count in (("pytorch", 2), ("torchrun", 1)):
        answer = tony.run("render", *tony.arguments({**keys, "tony.application.framework": framework})[1:])
        assert answer.stdout.count("command: run") == count, answer.stderr


def test_history(tony):
    _, good = tony.job({"tony.worker.instances": 1}, "--executes", "true")
    _, bad = tony.job({"tony.worker.instances": 1}, "--executes", "exit 1")
    rows = {row["id"]: row for row in json.loads(tony.run("history", "--json").stdout)}
    assert rows[good.id]["state"] == "succeeded" and rows[bad.id]["state"] == "failed"
    assert good.id in tony.run("history").stdout


def test_data_verbs_speak_json(tony, running):
    for arguments in (("list",), ("status", running.id), ("history",), ("version",), ("config", "keys"),
                      ("config", "show")):
        answer = tony.run(*arguments, "--json")
        assert answer.returncode == 0, (arguments, answer.stderr)
        json.loads(answer.stdout)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(tony, shell):
    script = tony.run("completion", shell).stdout
    for verb in VERBS:
        assert verb in script


def test_bash_completion_completes(tony):
    import subprocess
    script = tony.directory / "completion"
    script.write_text(tony.run("completion", "bash").stdout)
    probe = ('source "$1"; COMP_WORDS=(tony sub); COMP_CWORD=1; COMP_LINE="tony sub"; COMP_POINT=8; '
             'f=$(complete -p tony | sed "s/.*-F \\([^ ]*\\).*/\\1/"); "$f" tony sub tony; echo "${COMPREPLY[@]}"')
    answer = subprocess.run(["bash", "-c", probe, "bash", script], capture_output=True, text=True,
                            env={**tony.env, "PATH": f"{BUILD}:{tony.env['PATH']}"}, timeout=PATIENCE_S)
    assert "submit" in answer.stdout, answer.stderr


def read_proc(pid, name):
    """Nothing when the process has ended meanwhile."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


@pytest.mark.promise("S27")
def test_environment_values_are_not_logged(tony):
    secret = "hush-0815"
    answer, job = tony.job({"tony.worker.instances": 1, "tony.worker.envs": f"OWN={secret}"},
                           "--shell_env", f"SHARED={secret}", "--executes", "exit 1")
    told = answer.stdout + answer.stderr + tony.run("events", "--json", job.id).stdout
    wait_until(lambda: not tony.processes(), "the job's files to stay where they are")
    logs = [path for path in job.directory.rglob("*") if path.suffix in (".log", ".jsonl")]
    assert {path.name for path in logs} >= {"am.log", "executor.log", "journal.jsonl"}
    assert secret not in told + "".join(path.read_text() for path in logs)


@pytest.mark.promise("S1", "S2", "S23")
def test_the_token_is_nobody_elses(tony, running):
    """Not in an argument list, an environment, a log, the journal or job.json; files are 0600."""
    token = running.token()
    assert len(token) == 64 and (running.directory / "token").stat().st_mode & 0o777 == 0o600
    assert running.directory.stat().st_mode & 0o077 == 0
    for pid in running.processes():
        for name in ("cmdline", "environ"):
            assert token.encode() not in read_proc(pid, name)
    for path in running.directory.rglob("*"):
        if path.is_file() and path.name != "token":
            assert token.encode() not in path.read_bytes(), path
    for verb in (("status", "--json"), ("events",), ("logs",), ("list", "--json")):
        assert token not in tony.run(*verb, *([running.id] if verb[0] != "list" else [])).stdout
