"""Several jobs at once: by id, by name, by tag."""

import json
import os
import shutil
import signal
import socket
import subprocess

import pytest
import schemas
from conftest import BUILD, wait_until
from program import PATIENCE_S, write_xml
from terminal import Terminal


def submit(tony, name, command="true", tags=None):
    keys = {"tony.application.name": name, "tony.worker.instances": 1}
    if tags:
        keys["tony.application.tags"] = tags
    return tony.submit(keys, "--executes", command)


def sleeper(tony, name, tags=None):
    job = submit(tony, name, f"./exit_after.sh {tony.directory}/go 0", tags)
    job.wait_task("worker:0")
    return job


def shown(tony, *arguments):
    return json.loads(tony.run("status", "--json", *arguments).stdout)


def test_a_name_is_that_of_the_newest_live_job_else_of_the_newest(tony):
    first, second = submit(tony, "fox"), submit(tony, "fox")
    assert first.wait() == second.wait() == 0
    assert shown(tony, "fox")["id"] == second.id
    live, newer = sleeper(tony, "fox"), sleeper(tony, "fox")
    assert shown(tony, "fox")["id"] == newer.id
    assert tony.run("kill", newer.id).returncode == 0
    assert shown(tony, "fox")["id"] == live.id, "it lives, be it older"


def test_kill_of_a_name_that_several_have_lists_them_and_does_nothing(tony):
    ended = submit(tony, "fox")
    assert ended.wait() == 0
    jobs = [sleeper(tony, "fox"), sleeper(tony, "fox"), sleeper(tony, "hen")]
    answer = tony.run("kill", "hen", "fox")
    assert answer.returncode == 2 and answer.stdout == ""
    assert all(job.id in answer.stderr for job in jobs[:2]) and "--all" in answer.stderr
    assert ended.id not in answer.stderr and jobs[2].id not in answer.stderr
    assert all(job.status()["state"] == "running" for job in jobs)
    answer = tony.run("kill", "--all", "fox")
    assert answer.returncode == 0 and answer.stdout.count(" killed\n") == 2, answer.stderr
    assert [job.wait() for job in jobs[:2]] == [8, 8] and jobs[2].status()["state"] == "running"
    assert tony.run("kill", "hen").returncode == 0, "one alone has this name"


def test_kill_by_tag(tony):
    jobs = [sleeper(tony, "a", "sweep,night"), sleeper(tony, "b", "Sweep"), sleeper(tony, "c")]
    answer = tony.run("kill", "--tag", "sweep")
    assert answer.returncode == 2 and jobs[0].id in answer.stderr and jobs[1].id in answer.stderr
    assert tony.run("kill", "--tag", "sweep", "--tag", "night").returncode == 0, "one job has both"
    assert jobs[0].wait() == 8 and jobs[1].status()["state"] == "running"
    assert tony.run("kill", "--tag", "sweep", "--all", "c").returncode == 0
    assert [job.wait() for job in jobs] == [8, 8, 8]
    answer = tony.run("kill", "--tag", "sweep")
    assert answer.returncode == 4 and "no live job" in answer.stderr


def test_a_job_that_is_none_stops_no_other(tony):
    job = sleeper(tony, "fox")
    answer = tony.run("kill", "no-such", job.id)
    assert answer.returncode == 4 and "no-such" in answer.stderr
    assert answer.stdout == f"{job.id} killed\n"
    for arguments in (("status",), ("wait",), ("status", "--json"), ("wait", "--json")):
        answer = tony.run(*arguments, "no-such", "fox")
        assert answer.returncode == (4 if "status" in arguments else 8), arguments
        assert "no-such" in answer.stderr and job.id in answer.stdout


def test_wait_for_several_ends_with_the_highest_code(tony):
    good, bad = submit(tony, "good", tags="sweep"), submit(tony, "bad", "exit 9", tags="sweep")
    assert tony.run("wait", good.id, bad.id).returncode == 1
    assert tony.run("wait", good.id, "good").returncode == 0
    answer = tony.run("wait", "--json", "--tag", "sweep")
    assert answer.returncode == 1
    assert {job["id"] for job in schemas.check("wait", json.loads(answer.stdout))} == {good.id, bad.id}
    live = sleeper(tony, "fox")
    answer = tony.run("wait", "--timeout", "1ms", live.id, bad.id)
    assert answer.returncode == 9 and live.id in answer.stderr and bad.id in answer.stdout
    (tony.directory / "go").touch()
    assert live.wait() == 0


def test_wait_tells_each_end_as_it_comes(tony):
    first, last = sleeper(tony, "first"), submit(tony, "last")
    waiting = tony.start("wait", first.id, last.id, stdout=subprocess.PIPE, text=True)
    assert waiting.stdout.readline().startswith(f"{last.id} succeeded")
    (tony.directory / "go").touch()
    assert waiting.stdout.readline().startswith(f"{first.id} succeeded")
    assert waiting.wait() == 0


def test_wait_for_several_says_so_in_a_terminal(tony):
    ended, first, last = submit(tony, "ended"), sleeper(tony, "first"), sleeper(tony, "last")
    assert ended.wait() == 0
    terminal = Terminal(tony, "wait", ended.id, first.id, last.id)
    terminal.wait_text("tony: 2 jobs go on; tony list --watch shows what runs\n")
    (tony.directory / "go").touch()
    assert terminal.finish() == 0


def test_a_drawn_line_of_several_jobs_is_gone_before_an_error(tony):
    drawn = submit(tony, "drawn", f"printf 'half way'; ./exit_after.sh {tony.directory}/go 0")
    damaged = sleeper(tony, "damaged")
    terminal = Terminal(tony, "logs", "--follow", drawn.id, damaged.id)
    terminal.wait_text("drawn| half way")
    journal = damaged.directory / "journal.jsonl"
    whole = journal.stat().st_size
    with journal.open("a") as file:
        file.write("damaged\ndamaged\n")
    terminal.wait_text("journal.jsonl: line")
    os.truncate(journal, whole)
    (tony.directory / "go").touch()
    code = terminal.finish()
    assert code != 0 and "half way\r\x1b[Ktony: " in terminal.text, terminal.text
    assert drawn.wait() == damaged.wait() == 0


def test_kill_waits_for_no_frozen_am_before_the_next_one(tony):
    frozen, other = sleeper(tony, "frozen"), sleeper(tony, "other")
    process = frozen.status()["am_pid"]
    os.kill(process, signal.SIGSTOP)
    killing = tony.start("kill", frozen.id, other.id, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    other.wait_state("killed")
    while (line := killing.stdout.readline()) and "has not answered yet" in line:
        assert frozen.id in line and "--force" in line
    os.kill(process, signal.SIGCONT)
    said = line + killing.stdout.read()
    assert f"{other.id} killed" in said, said
    assert killing.wait() in (0, 5)
    assert tony.run("kill", "--force", frozen.id).returncode in (0, 4)


def test_status_and_compare_ask_side_by_side(tony):
    """A frozen AM costs what the table of it could have, and the other jobs' answers are whole."""
    frozen, other = sleeper(tony, "frozen"), sleeper(tony, "other")
    process = frozen.status()["am_pid"]
    os.kill(process, signal.SIGSTOP)
    try:
        text = tony.run("status", frozen.id, other.id)
        assert text.returncode == 0 and text.stdout.count("TASK") == 2, text.stderr
        told = json.loads(tony.run("status", "--json", frozen.id, other.id).stdout)
        assert [job["id"] for job in told] == [frozen.id, other.id]
        assert "work" not in told[0] and "work" in told[1]
        assert tony.run("compare", frozen.id, other.id).returncode == 0
    finally:
        os.kill(process, signal.SIGCONT)


def test_tags_are_typed_at_the_submission(tony):
    answer = tony.run("submit", "--conf", "tony.application.tags=sweep", "--tag", "night", "--tag", "a b", "--", "true")
    assert answer.returncode == 0, answer.stderr
    job, = shown(tony, "--tag", "night", "--tag", "sweep", "--tag", "a b")
    assert job["tags"] == ["sweep", "night", "a b"]
    answer = tony.run("rerun", job["id"], "--tag", "again")
    assert answer.returncode == 0, answer.stderr
    again, = shown(tony, "--tag", "again")
    assert again["tags"] == [*job["tags"], "again"]
    answer = tony.run("submit", "--tags", "night", "--", "true")
    assert answer.returncode == 2 and "did you mean --tag?" in answer.stderr


def test_status_of_several(tony):
    one, other = submit(tony, "fox", tags="sweep"), submit(tony, "hen", tags="sweep")
    assert one.wait() == other.wait() == 0
    wanted = [one.id, other.id]
    assert [job["id"] for job in schemas.check("status", shown(tony, "fox", "hen"))] == wanted
    assert [job["id"] for job in shown(tony, "--tag", "sweep")] == wanted[::-1], "the newest first"
    assert [job["id"] for job in shown(tony, "fox", "--tag", "sweep")] == wanted, "each once"
    text = tony.run("status", "fox", "hen").stdout
    assert text.count("TASK") == 2 and text.index(one.id) < text.index(other.id)
    answer = tony.run("status", "--watch", "fox", "hen")
    assert answer.returncode == 2 and "tony list" in answer.stderr


def test_a_job_that_several_words_mean_is_taken_once(tony):
    job = submit(tony, "fox", "echo from the fox")
    assert job.wait() == 0
    for words in ((job.id, "fox"), ("fox", job.id[:-1], job.id)):
        assert [row["id"] for row in shown(tony, *words)] == [job.id]
        assert tony.run("wait", *words).stdout.count(job.id) == 1
        assert tony.run("logs", *words).stdout == tony.run("logs", "--follow", *words).stdout == "from the fox\n"
        answer = tony.run("compare", *words)
        assert answer.returncode == 2 and f"all these words mean one job, {job.id}" in answer.stderr
    answer = tony.run("logs", "--task", "worker:9", "fox", submit(tony, "hen").id)
    assert answer.returncode == 4 and answer.stderr.startswith(f'tony: {job.id} has no task "worker:9"'), answer.stderr


def test_logs_of_a_job_go_on_when_another_job_is_removed_or_unknown(tony):
    """Each line but the first is written once the follower has told that before, after the removal."""
    gone, killed = submit(tony, "fox", "echo bye"), sleeper(tony, "owl")
    hen = submit(tony, "hen", f"for i in 1 2 3; do echo $i; until [ -e {tony.directory}/seen-$i ]; do sleep 0.05; done; done")
    assert gone.wait() == 0
    follower = tony.start("logs", "-f", gone.id, killed.id, hen.id)
    assert {follower.stdout.readline() for _ in range(2)} == {"fox| bye\n", "hen| 1\n"}
    for number, remove in enumerate((("rm", gone.id), ("kill", killed.id), ("rm", killed.id))):
        assert tony.run(*remove).returncode == 0
        (tony.directory / f"seen-{number + 1}").touch()
        assert follower.stdout.readline() == (f"hen| {number + 2}\n" if number < 2 else "")
    assert follower.wait(PATIENCE_S) == 0 and follower.stderr.read() == ""
    answer = tony.run("logs", "no-such", hen.id)
    assert (answer.returncode, answer.stdout) == (4, "hen| 1\nhen| 2\nhen| 3\n") and 'no job "no-such"' in answer.stderr, answer
    answer = tony.run("logs", "--json", "no-such", hen.id)
    assert {json.loads(line)["job"] for line in answer.stdout.splitlines()} == {hen.id}
    cleared = submit(tony, "jay", "echo bye")
    assert cleared.wait() == 0
    tony.state.joinpath("history").rename(tony.state / "away")
    (cleared.directory / "cleared").touch()
    for words in ((cleared.id, hen.id), (hen.id, cleared.id), ("-f", hen.id, cleared.id)):
        answer = tony.run("logs", *words)
        assert (answer.returncode, answer.stdout) == (4, "hen| 1\nhen| 2\nhen| 3\n"), answer
        assert f"the logs of {cleared.id} were removed for their age" in answer.stderr, answer


def test_an_array_and_one_of_its_jobs_are_the_jobs_of_the_array(tony):
    answer = tony.run("submit", "--array", "1-2", "--name", "ant", "--", "echo", "from an ant")
    array = answer.stdout.split()[0]
    assert answer.returncode == 0 and array.startswith("array-"), answer
    assert tony.run("wait", array).returncode == 0
    ids = [row["id"] for row in shown(tony, array)]
    assert len(ids) == 2
    for words in ((array, f"{array}_2"), (array, ids[1]), (array, "ant_2")):
        assert [row["id"] for row in shown(tony, *words)] == ids
        assert tony.run("wait", *words).returncode == 0
        assert tony.run("logs", *words).stdout.count("from an ant") == 2
    assert [row["id"] for row in shown(tony, f"{array}_2", array)] == ids[::-1]
    answer = tony.run("rm", array, f"{array}_2")
    assert answer.returncode == 0 and "2 jobs removed" in answer.stdout, answer


IMPATIENT = {"yarn.resourcemanager.connect.max-wait.ms": 100}


@pytest.fixture
def silent_name_node():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.fixture
def silent_cluster(tony, silent_name_node):
    """A call makes the site files name a ResourceManager that takes connections, and never answers; it returns the socket.
    The NameNode's HTTP does the same.
    Without a deadline of tony's own nobody would wait for it that long."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        def make(**keys):
            conf = tony.directory / "hadoop"
            conf.mkdir()
            address = f"127.0.0.1:{server.getsockname()[1]}"
            write_xml(conf / "core-site.xml", {"fs.defaultFS": f"hdfs://{address}", "ipc.client.connect.timeout": 3600000,
                                               "ipc.client.rpc-timeout.ms": 3600000})
            write_xml(conf / "hdfs-site.xml", {"dfs.namenode.http-address": "127.0.0.1:%d" % silent_name_node.getsockname()[1]})
            write_xml(conf / "yarn-site.xml", {"yarn.resourcemanager.address": address, **keys})
            tony.env["HADOOP_CONF_DIR"] = str(conf)
            return server
        yield make


def test_a_job_of_this_machine_waits_for_no_cluster_that_is_silent(tony, silent_cluster):
    ended, live = submit(tony, "fox"), sleeper(tony, "hen")
    assert ended.wait() == 0
    silent_cluster()
    for word in (ended.id, ended.id[:-1], live.id, "hen"):
        answer = tony.run("status", "--json", word)
        assert answer.returncode == 0 and answer.stderr == "", "the cluster is not even asked"
    answer = tony.run("status", "--json", "fox")
    assert json.loads(answer.stdout)["id"] == ended.id
    assert 'whether yarn has a live job "fox" is not known' in answer.stderr
    assert completed(tony, "kill", "") == [live.id, "hen"]
    answer = tony.run("kill", "hen")
    assert answer.returncode == 0 and "jobs on yarn are not shown" in answer.stderr
    assert live.wait() == 8
    wait_until(lambda: not ended.processes(), "the AM to be gone")
    (ended.directory / "job.json").write_text("{")
    answer = tony.run("rm", ended.id)
    assert answer.returncode == 0 and not ended.directory.exists(), answer


def connections(server):
    """How many a socket that never answers has got since the last call."""
    server.setblocking(False)
    count = 0
    try:
        while True:
            server.accept()[0].close()
            count += 1
    except BlockingIOError:
        return count


def test_rm_clean_and_list_ask_a_name_node_that_is_silent_once(tony, silent_cluster, silent_name_node):
    other, job = submit(tony, "hen"), submit(tony, "fox")
    assert other.wait() == job.wait() == 0
    job.published()
    other.published()
    silent_cluster(**IMPATIENT).close()
    assert names(tony, "--all") == [job.id, other.id]
    assert connections(silent_name_node) == 1
    answer = tony.run("rm", "fox")
    assert answer.returncode == 0 and answer.stderr.count("jobs in HDFS are not looked at: ") == 1, answer.stderr
    assert "stays: hdfs://127.0.0.1" in answer.stdout and not job.directory.exists()
    assert not list((tony.state / "history").glob(f"*/*/*/{job.id}"))
    assert connections(silent_name_node) == 1
    answer = tony.run("clean", "--history", "--older-than", "0s")
    assert "jobs on yarn stay: " in answer.stderr and f"{other.id} removed" in answer.stdout
    assert not list((tony.state / "history").glob(f"*/*/*/{other.id}"))
    assert connections(silent_name_node) == 1


def goes_to(job, key, place):
    """As if it had been submitted so."""
    path = job.directory / "job.json"
    text = json.loads(path.read_text())
    text["config"][key] = {"value": place, "origin": "--conf"}
    path.write_text(json.dumps({**text, "stores": {"hdfs": {}}}))


def test_rm_refuses_a_job_whose_history_is_in_an_hdfs_that_is_silent(tony, silent_cluster, silent_name_node):
    job = submit(tony, "fox")
    assert job.wait() == 0
    job.published()
    silent_cluster()
    goes_to(job, "tony.history.location", "hdfs:///history")
    answer = tony.run("rm", "fox")
    assert answer.returncode == 5 and f"{job.id} stays: its history is in hdfs://" in answer.stderr
    assert answer.stdout == "" and job.directory.exists() and job.published()
    assert connections(silent_name_node) == 1


def test_rm_takes_a_job_whose_checkpoints_alone_are_in_an_hdfs_that_is_silent(tony, silent_cluster):
    job = submit(tony, "fox")
    assert job.wait() == 0
    job.published()
    silent_cluster()
    goes_to(job, "tony.application.checkpoint-dir", "hdfs:///points")
    assert tony.run("rm", "fox").returncode == 0 and not job.directory.exists()


@pytest.mark.parametrize("takes_connections", [True, False])
def test_no_verb_waits_long_for_a_bucket_that_is_silent(tony, takes_connections):
    job = submit(tony, "fox")
    assert job.wait() == 0
    job.published()
    tony.env.update({"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"})
    with socket.create_server(("127.0.0.1", 0), backlog=16 if takes_connections else 0) as server:
        address = server.getsockname()
        with socket.create_connection(address):  # a queue of none is full then: packets are dropped
            write_xml(tony.directory / "conf/tony-site.xml", {"tony.history.location": "s3://jobs/team",
                                                              "tony.s3.endpoint": f"http://127.0.0.1:{address[1]}"})
            for verb, code, told in ((("list", "--all"), 0, "jobs in S3 are not looked at: "),
                                     (("history",), 5, "jobs in s3://jobs/team are not shown: "),
                                     (("rm", "fox"), 0, "jobs in S3 are not looked at: ")):
                answer = tony.run(*verb)
                assert answer.returncode == code and answer.stderr.count(told) == answer.stderr.count(" 3.0 s") == 1, answer
                assert job.id in answer.stdout
            assert f"stays: s3://jobs/team/.../{job.id}, if it is there: its server does not answer" in answer.stdout


# ---- the list -------------------------------------------------------------------------------------


def names(tony, *arguments):
    answer = tony.run("list", "-o", "name", *arguments)
    return answer.stdout.split()


def test_list_by_state_user_tag_and_name(tony):
    ended, bad = submit(tony, "fox", tags="night"), submit(tony, "hen", "exit 9", "night")
    assert ended.wait() == 0 and bad.wait() == 1
    live = sleeper(tony, "fox", "night,sweep")
    remove(tony, ended)
    user = live.status()["user"]
    assert names(tony) == [live.id]
    assert names(tony, "--all") == [live.id, bad.id, ended.id]
    assert names(tony, "--all", "--tag", "night", "--user", user) == [live.id, bad.id, ended.id]
    assert names(tony, "--all", "--tag", "night", "--tag", "Sweep") == [live.id]
    assert names(tony, "--state", "failed") == [bad.id]
    assert names(tony, "--state", "running") == [live.id]
    assert names(tony, "--state", "running", "--state", "failed") == [live.id, bad.id], "any of them"
    assert names(tony, "fox") == [live.id, ended.id]
    assert names(tony, bad.id[:-1]) == [bad.id]
    assert names(tony, "--all", "--user", "nobody-else") == []
    answer = tony.run("list", "")
    assert (answer.returncode, answer.stdout) == (2, "") and "JOB is empty" in answer.stderr
    answer = tony.run("list", "hen", "no-such")
    assert answer.returncode == 4 and bad.id in answer.stdout and "no-such" in answer.stderr
    rows = {row["id"]: row for row in schemas.check("list", json.loads(tony.run("list", "-o", "json", "-a").stdout))}
    for job, tags in ((live, ["night", "sweep"]), (bad, ["night"]), (ended, ["night"])):
        assert rows[job.id]["tags"] == tags and rows[job.id]["task_count"] == 1
        assert rows[job.id]["scheduler"] == "local"
    wide = next(line for line in tony.run("list", "-o", "wide").stdout.splitlines() if live.id in line)
    assert user in wide and "night,sweep" in wide
    assert tony.run("kill", *names(tony, "--tag", "sweep")).returncode == 0


def test_list_watch_tells_what_changes(tony):
    ended = submit(tony, "hen")
    assert ended.wait() == 0
    job = sleeper(tony, "fox")
    with (tony.directory / "changes").open("w") as file:
        watcher = tony.start("list", "--watch", stdout=file)
    told = tony.directory / "changes"
    wait_until(lambda: f"{job.id} running fox\n" in told.read_text(), "the first look")
    (tony.directory / "go").touch()
    wait_until(lambda: f"{job.id} succeeded fox\n" in told.read_text(), "the end")
    assert ended.id not in told.read_text() and "\033" not in told.read_text()
    watcher.send_signal(signal.SIGINT)
    assert watcher.wait(timeout=PATIENCE_S) == 130


def test_list_watch_warns_once_of_a_cluster_that_is_silent(tony, silent_cluster):
    job = sleeper(tony, "fox")
    server = silent_cluster(**IMPATIENT)
    with (tony.directory / "changes").open("w") as changes, (tony.directory / "warnings").open("w") as warnings:
        watcher = tony.start("list", "--watch", stdout=changes, stderr=warnings)
    for _ in range(3):
        server.accept()[0].close()
    told = tony.directory / "warnings"
    assert told.read_text().count("jobs on yarn are not shown") == 1, "three looks, one warning"
    (tony.directory / "hadoop/yarn-site.xml").unlink()
    wait_until(lambda: "jobs on yarn are not shown: this is over\n" in told.read_text(), "the end of it")
    assert told.read_text().count("\n") == 2
    assert (tony.directory / "changes").read_text().count(job.id) == 1
    watcher.send_signal(signal.SIGINT)
    assert watcher.wait(timeout=PATIENCE_S) == 130
    assert tony.run("kill", job.id).returncode == 0


def test_list_watch_keeps_a_line_about_a_cluster_that_is_away(tony, silent_cluster):
    """Each look tries for as long as it has patience, and nothing is over meanwhile."""
    job = sleeper(tony, "fox")
    silent_cluster().close()
    terminal = Terminal(tony, "list", "--watch", columns=60)
    terminal.wait_text("running")
    def drawn():
        terminal.read()
        return [line for line in terminal.text.split("\n") if line.startswith("warning: jobs on yarn are not shown: ")]
    wait_until(lambda: len(drawn()) == 3, "the line in three looks")
    assert max(map(len, drawn())) <= 60, "a longer one would be two lines"
    assert terminal.text.count("jobs on yarn are not shown") == 4, "one of them when it began"
    assert "is over" not in terminal.text
    (tony.directory / "hadoop/yarn-site.xml").unlink()
    terminal.wait_text("jobs on yarn are not shown: this is over\n")
    assert tony.run("kill", job.id).returncode == 0
    terminal.wait_text("killed")
    assert len(drawn()) == terminal.text[:terminal.text.index("this is over")].count("\nwarning: jobs on")
    terminal.type("\x03")
    assert terminal.finish() == 130


def test_list_watch_draws_a_table_in_a_terminal(tony):
    job = sleeper(tony, "fox")
    terminal = Terminal(tony, "list", "--watch", columns=100)
    terminal.wait_text("running")
    (tony.directory / "go").touch()
    terminal.wait_text("succeeded")
    assert b"\033[2A" in terminal.bytes, "above the heading and the job's row"
    assert terminal.text.count(job.id) >= 2
    terminal.type("\x03")
    assert terminal.finish() == 130


# ---- completion -----------------------------------------------------------------------------------


def completed(tony, *words):
    """By a real bash, with the real tony behind it; a word is split at its colons, as bash does it."""
    script = tony.directory / "completion"
    script.write_text(tony.run("completion", "bash").stdout)
    probe = ('. "$1"; shift; compopt() { :; }; COMP_WORDS=(tony "$@"); COMP_CWORD=$#; _tony; '
             '((${#COMPREPLY[@]})) && printf "%s\\n" "${COMPREPLY[@]}"; exit 0')
    answer = subprocess.run(["bash", "-c", probe, "bash", script, *words], capture_output=True, text=True, check=True,
                            env={**tony.env, "PATH": f"{BUILD}:{tony.env['PATH']}"}, timeout=PATIENCE_S)
    assert answer.stderr == ""
    return answer.stdout.split()


def test_completion_offers_what_the_verb_can_take(tony):
    ended = submit(tony, "hen", tags="night")
    assert ended.wait() == 0
    live = sleeper(tony, "fox", "day")
    assert completed(tony, "kill", "") == [live.id, "fox"]
    assert completed(tony, "rm", "") == [ended.id, "hen"]
    assert completed(tony, "logs", "") == [live.id, ended.id, "fox", "hen"]
    assert completed(tony, "kill", "--tag", "") == ["day"]
    assert completed(tony, "wait", "--tag", "") == ["day", "night"]
    assert completed(tony, "logs", "hen", "--task", "") == ["worker:0"]
    assert completed(tony, "restart", "fox", "") == ["worker:0"]
    assert completed(tony, "scale", "fox", "") == ["worker="]
    assert completed(tony, "kill", "no-such") == []


# ---- of which nothing but the history is left -----------------------------------------------------


def remove(tony, job):
    """All but its history, once that is there."""
    wait_until(lambda: list((tony.state / "history").glob(f"*/*/*/{job.id}/summary.json")), "the history")
    wait_until(lambda: not job.processes(), "the job to be over")
    shutil.rmtree(job.directory)


def test_a_job_is_found_by_name_in_its_history(tony):
    older, job = submit(tony, "fox", "echo from the older"), submit(tony, "fox", "echo from the newer")
    assert older.wait() == job.wait() == 0
    remove(tony, job)
    assert shown(tony, "fox")["id"] == older.id, "what is there goes first"
    remove(tony, older)
    assert shown(tony, "fox")["id"] == job.id, "the newest"
    assert tony.run("logs", "fox").stdout.endswith("from the newer\n")
    assert tony.run("events", "fox").stdout.endswith("end: succeeded: the job succeeded\n")
    answer = tony.run("status", "fo")
    assert answer.returncode == 4 and "fo" in answer.stderr


def test_what_is_known_of_ended_jobs_is_read_once(tony):
    """More of them than an index is made anew for; and what has come since, or is gone, is seen."""
    template, later = submit(tony, "fox", "exit 9"), submit(tony, "later")
    assert template.wait() == 1 and later.wait() == 0
    copies = make_copies(tony, template)
    def listed():
        return {row["id"]: row for row in json.loads(tony.run("list", "--all", "--json").stdout)}
    first = listed()
    assert set(first) == {template.id, later.id, *copies}
    for name in ("journal.jsonl", "name"):
        (tony.state / "jobs" / copies[0] / name).unlink()
    assert listed() == first, "they are not read any more"
    newest = submit(tony, "newest")
    assert newest.wait() == 0
    remove(tony, later)
    shutil.rmtree(tony.state / "jobs" / copies[0])
    second = listed()
    assert set(second) - set(first) == {newest.id} and set(first) - set(second) == {copies[0]}
    assert second[later.id]["state"] == "succeeded", "its history is left"
    assert {first[job]["message"] for job in copies} == {first[template.id]["message"]}


def test_a_list_of_live_jobs_learns_of_the_ended_ones(tony):
    template = submit(tony, "fox", "exit 9")
    assert template.wait() == 1
    copies = make_copies(tony, template)
    assert copies[0] not in tony.run("list").stdout
    for name in ("journal.jsonl", "name"):
        (tony.state / "jobs" / copies[0] / name).unlink()
    rows = {row["id"]: row["state"] for row in json.loads(tony.run("list", "--all", "--json").stdout)}
    assert rows[copies[0]] == "failed", "it is not read any more"


def make_copies(tony, job):
    """Of an ended job, without a history."""
    wait_until(lambda: not job.processes(), "the job to be over")
    return [copy(tony, job, number) for number in range(20)]


def copy(tony, job, number):
    other = f"tony-20261101-000000-{number:08x}"
    shutil.copytree(job.directory, tony.state / "jobs" / other, symlinks=True)
    description = tony.state / "jobs" / other / "job.json"
    description.write_text(json.dumps({**json.loads(description.read_text()), "id": other}))
    return other
