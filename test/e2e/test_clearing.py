"""Ended jobs are removed whole, and nothing else is: by `tony rm` and `tony clean`, and in part by themselves."""

import fcntl
import http.server
import json
import os
import shutil
import subprocess
import threading

import pytest
import schemas
from conftest import BUILD, opens, wait_until, write_xml


def ended(tony, command="echo out", *options, keys=None, **more):
    """A job of one worker that has succeeded, and is told in the history."""
    answer, job = tony.job({"tony.worker.instances": 1, **(keys or {})}, *options, "--executes", command, **more)
    assert answer.returncode == 0, answer.stderr
    job.published()
    return job


def remove(tony, *arguments, code=0):
    answer = tony.run("rm", *arguments)
    assert answer.returncode == code, answer.stdout + answer.stderr
    return answer


def site(tony, keys):
    write_xml(tony.directory / "conf/tony-site.xml", keys)


def is_gone(tony, job):
    return (not job.directory.exists() and not list((tony.state / "history").glob(f"*/*/*/{job.id}"))
            and tony.run("status", job.id).returncode == 4)


def test_a_job_goes_whole_and_no_other(tony):
    job, other = ended(tony, "echo a >file; echo b >$TONY_CHECKPOINT_DIR/1"), ended(tony, keys={"tony.application.name": "other"})
    assert (job.directory / "checkpoint/1").exists()
    told = remove(tony, job.id).stdout
    assert f"{job.id} removed, " in told and f"  {job.directory}\n" in told and f"history/{job.id[5:9]}" in told
    assert is_gone(tony, job)
    assert other.status()["state"] == "succeeded" and other.published()
    remove(tony, "other")
    assert is_gone(tony, other)
    assert list((tony.state / "jobs").iterdir()) == []


def test_sources_go_with_the_last_job_that_had_them(tony):
    first, second = ended(tony), ended(tony)
    sources = first.directory / "files/src"
    wait_until(lambda: sources.is_symlink() and (second.directory / "files/src").is_symlink(), "sources to be shared")
    cache = sources.resolve()
    wait_until(lambda: not first.processes() and not second.processes(), "the AMs to be gone")
    told = json.loads(remove(tony, "--json", first.id).stdout)
    assert told["cache_bytes"] == 0 and cache.is_dir()
    told = json.loads(remove(tony, "--json", second.id).stdout)
    assert told["cache_bytes"] > 0 and list((tony.state / "cache").iterdir()) == []


@pytest.mark.promise("R66")
def test_a_dry_run_tells_the_same_and_removes_nothing(tony):
    job = ended(tony, "head -c 100000 /dev/zero >big")
    wait_until(lambda: not job.processes(), "the AM to be gone")
    dry = schemas.check("rm", json.loads(remove(tony, "--dry-run", "--json", job.id).stdout))
    assert "would be removed" in remove(tony, "--dry-run", job.id).stdout
    assert job.status()["state"] == "succeeded" and job.published()
    done = schemas.check("rm", json.loads(remove(tony, "--json", job.id).stdout))
    assert dry["dry_run"] and not done["dry_run"] and done["bytes"] > 100000
    assert {**dry, "dry_run": False} == done and is_gone(tony, job)


@pytest.mark.promise("R64")
def test_a_job_that_runs_is_refused(tony):
    job = tony.submit({"tony.worker.instances": 1}, "--executes", "sleep 1000")
    job.wait_task("worker:0")
    assert f"tony kill {job.id}" in remove(tony, job.id, code=2).stderr
    assert job.status()["state"] == "running"
    old = ended(tony)
    answer = remove(tony, job.id, old.id, "nonsense", code=4)
    assert is_gone(tony, old) and answer.stderr.count("tony: ") == 2 and "1 job removed" in answer.stdout
    assert tony.run("rm").returncode == 2
    assert tony.run("kill", job.id).returncode == 0
    remove(tony, job.id)
    assert is_gone(tony, job)


@pytest.mark.promise("R67")
def test_what_is_the_users_own_stays(tony):
    """The directory where a job ran in place, named checkpoints, and whatever links lead to."""
    place, saved, data = tony.directory / "place", tony.directory / "saved", tony.directory / "data"
    for path in (place, saved, data):
        path.mkdir()
        (path / "mine").write_text("x")
    in_place = tony.run("submit", "--conf", f"tony.application.checkpoint-dir={saved}", "--", "sh", "-c",
                        "echo y >made; touch $TONY_CHECKPOINT_DIR/1", cwd=place)
    assert in_place.returncode == 0, in_place.stderr
    job = tony.found_job(in_place.stdout)
    told = json.loads(remove(tony, "--json", job.id).stdout)["jobs"][0]
    assert sorted(line.split(":")[0] for line in told["stays"]) == sorted([str(place), str(saved)])
    assert sorted(path.name for path in place.iterdir()) == ["made", "mine"] and (saved / "1").exists()
    linked = ended(tony, f"ln -s {data} out; ln -s {data}/mine file; ln -s .. up")
    remove(tony, linked.id)
    assert is_gone(tony, linked) and (data / "mine").read_text() == "x"


def test_checkpoints_in_another_jobs_folder_go_with_that_job(tony):
    first = ended(tony, "touch $TONY_CHECKPOINT_DIR/1")
    saved = first.directory / "checkpoint"
    second = ended(tony, "true", keys={"tony.application.checkpoint-dir": str(saved)})
    row, = json.loads(remove(tony, "--dry-run", "--json", second.id).stdout)["jobs"]
    assert row["stays"] == [f"{saved}: it goes with {first.id}"]


def test_a_folder_that_is_a_link_goes_and_not_what_it_leads_to(tony):
    job, other = ended(tony), tony.directory / "elsewhere"
    wait_until(lambda: not job.processes(), "the AM to be gone")
    job.directory.rename(other)
    job.directory.symlink_to(other)
    assert f"stays: {other}: " in remove(tony, job.id).stdout
    assert is_gone(tony, job) and (other / "journal.jsonl").exists()


@pytest.mark.promise("R64")
def test_checkpoints_that_a_running_job_uses_stay(tony):
    old = ended(tony, "echo 1 >$TONY_CHECKPOINT_DIR/1")
    job = tony.submit({"tony.worker.instances": 1, "tony.application.checkpoint-dir": old.directory / "checkpoint"},
                      "--executes", f"./exit_after.sh {tony.directory}/go 0")
    job.wait_task("worker:0")
    assert job.id in remove(tony, old.id, code=2).stderr and (old.directory / "checkpoint/1").exists()
    (tony.directory / "go").touch()
    assert job.wait() == 0
    wait_until(lambda: not job.processes(), "the AM to be gone")
    assert job.id in remove(tony, old.id, code=2).stderr and (old.directory / "checkpoint/1").exists()
    remove(tony, old.id, job.id)
    assert is_gone(tony, old) and is_gone(tony, job)


@pytest.mark.promise("R64")
def test_a_job_that_is_submitted_while_its_checkpoints_are_removed_is_refused(tony):
    """The test holds the first job's folder as a removal does, which looked for other jobs before this one could be seen."""
    old = ended(tony, "echo 1 >$TONY_CHECKPOINT_DIR/1")
    wait_until(lambda: not old.processes(), "the AM to be gone")
    with open(old.directory / "am.lock", "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        submission = tony.start("submit", "--conf", f"tony.application.checkpoint-dir={old.directory}/checkpoint", "--", "true")
        wait_until(lambda: list((tony.state / "jobs").glob("tony-*/job.json")) != [old.directory / "job.json"], "the job to be seen")
        old.directory.rename(tony.state / "jobs" / f".{old.id}.removed")
    _, told = submission.communicate()
    assert submission.returncode == 4 and f"{old.id} was removed by another process" in told, told
    assert list((tony.state / "jobs").glob("tony-*")) == []


def test_checkpoints_of_a_later_job_stay_as_long_as_it_does(tony):
    """It went on in the folder of one that ended long ago."""
    old, untouched = ended(tony, "echo 1 >$TONY_CHECKPOINT_DIR/1"), ended(tony)
    answer = tony.run("rerun", old.id, "--resume", "--json")
    assert answer.returncode == 0, answer.stderr
    later = json.loads(answer.stdout)["id"]
    make_old(old, 31)
    make_old(untouched, 31)
    clean(tony, "--history")
    assert old.published() and is_gone(tony, untouched)
    upkeep(tony, {"tony.jobs.results-max-age": "30d"})
    assert (old.directory / "checkpoint/1").exists()
    told = json.loads(clean(tony, "--older-than", "0s", "--dry-run", "--json").stdout)
    assert {old.id, later} <= {row["id"] for row in told["jobs"]}
    remove(tony, old.id, later)
    assert not old.directory.exists()


def test_a_folder_for_results_of_a_running_job_stays(tony):
    old = ended(tony)
    job = tony.submit({"tony.worker.instances": 1, "tony.application.output-dir": old.directory / "results"},
                      "--executes", f"./exit_after.sh {tony.directory}/go 0")
    job.wait_task("worker:0")
    assert job.id in remove(tony, old.id, code=2).stderr
    (tony.directory / "go").touch()
    assert job.wait() == 0


def test_of_no_such_job_standard_output_says_nothing(tony):
    answer = tony.run("rm", "no-such")
    assert answer.returncode == 4 and answer.stdout == "" and "no-such" in answer.stderr
    told = json.loads(tony.run("rm", "--json", "no-such").stdout)
    assert told["jobs"] == [] and told["failed"] == 1


def test_several_of_a_name_are_listed_unless_all_are_meant(tony):
    jobs = [ended(tony, keys={"tony.application.name": "fox", "tony.application.tags": "night"}) for _ in range(2)]
    for words in (("fox",), ("--tag", "night")):
        answer = remove(tony, *words, code=2)
        assert all(job.id in answer.stderr for job in jobs) and "--all" in answer.stderr
    assert all(job.directory.exists() for job in jobs)
    remove(tony, "fox", "--all")
    assert all(is_gone(tony, job) for job in jobs)


def test_the_beginning_of_an_id_that_is_anothers_name_is_refused(tony):
    old = ended(tony)
    beginning = old.id[:8]
    job = tony.submit({"tony.worker.instances": 1, "tony.application.name": beginning},
                      "--executes", f"./exit_after.sh {tony.directory}/go 0")
    answer = remove(tony, beginning, code=2)
    assert old.id in answer.stderr and job.id in answer.stderr and old.directory.exists()
    (tony.directory / "go").touch()
    assert job.wait() == 0


def test_what_all_ids_begin_with_names_no_job(tony):
    job = ended(tony)
    for word in ("t", "tony", "tony-"):
        remove(tony, word, code=4)
    assert job.directory.exists()
    remove(tony, job.id[:6])
    assert is_gone(tony, job)


class Refusing(http.server.BaseHTTPRequestHandler):
    """A server of buckets to which the key is not known."""

    def do_GET(self):
        self.send_response(403)
        self.end_headers()
        self.wfile.write(b"<Error><Code>InvalidAccessKeyId</Code></Error>")

    do_POST = do_HEAD = do_DELETE = do_GET


def test_a_bucket_that_refuses_keeps_the_whole_job(tony):
    job, other = ended(tony), ended(tony)
    wait_until(lambda: not job.processes() + other.processes(), "the AM to be gone")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever).start()
    try:
        site(tony, {"tony.history.location": "s3://jobs/x", "tony.s3.endpoint": f"http://127.0.0.1:{server.server_port}"})
        tony.env.update({"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_REGION": "us-east-1"})
        for verb in (("rm", job.id), ("clean", "--older-than", "0s", "--history")):
            answer = tony.run(*verb)
            assert answer.returncode != 0 and answer.stdout == "" and job.directory.exists(), verb
            told = answer.stderr.count("the server does not know the access key")
            assert 1 <= told <= 2, f"not once a job, but for the jobs and for the list: {answer.stderr}"
    finally:
        server.shutdown()
        server.server_close()


def test_what_a_killed_removal_has_left_is_no_job_and_goes_with_the_next(tony):
    half, other = ended(tony), ended(tony)
    wait_until(lambda: not half.processes(), "the AM to be gone")
    history = half.published()
    half.directory.rename(half.directory.with_name(f".{half.id}.removed"))
    history.chmod(0o5700)  # a removal marks what it has begun with
    history.rename(history.with_name(f".{half.id}.removed"))
    assert half.id not in tony.run("list", "--all").stdout + tony.run("history").stdout
    remove(tony, other.id)
    assert list((tony.state / "jobs").iterdir()) == [] and list(history.parent.iterdir()) == []


def test_a_removal_that_is_killed_is_finished_by_the_next(tony):
    half, other = ended(tony, "mkdir $(seq 5000)"), ended(tony)
    wait_until(lambda: not half.processes(), "the AM to be gone")
    remover = tony.start("rm", half.id)
    wait_until(lambda: not half.directory.exists(), "the removal to begin")
    remover.kill()
    remover.wait()
    assert half.id not in tony.ids()
    assert tony.run("rm", half.id).returncode in (0, 4)  # its history may have been removed, too
    remove(tony, other.id)
    assert is_gone(tony, half) and list((tony.state / "jobs").iterdir()) == []


def test_a_job_of_which_the_history_alone_is_left(tony):
    job = ended(tony)
    wait_until(lambda: not job.processes(), "the AM to be gone")
    assert tony.run("status", job.id).returncode == 0
    os.rename(job.directory, tony.directory / "away")
    assert tony.run("status", job.id).returncode == 0 and (tony.state / "kept" / job.id).exists()
    remove(tony, job.id)
    assert is_gone(tony, job) and not (tony.state / "kept" / job.id).exists()


def test_many_remove_the_same_job_at_once(tony):
    job = ended(tony, "for i in $(seq 200); do mkdir -p d$i/e; touch d$i/e/f; done")
    wait_until(lambda: not job.processes(), "the AM to be gone")
    codes = [child.wait() for child in [tony.start("rm", job.id) for _ in range(8)]]
    assert 0 in codes and set(codes) <= {0, 4}
    assert is_gone(tony, job) and list((tony.state / "jobs").iterdir()) == []


def test_a_job_is_removed_in_the_moment_of_its_end(tony):
    """Its AM still brings its history away."""
    for _ in range(3):
        answer, job = tony.job({"tony.worker.instances": 1}, "--executes", "true")
        assert answer.returncode == 0
        remove(tony, job.id)
        assert is_gone(tony, job)



def test_what_is_mounted_in_a_folder_is_not_removed(tony):
    """As a program's own user namespace sees it: a FUSE mount may be forgotten there."""
    job = ended(tony, "mkdir mounted")
    wait_until(lambda: not job.processes(), "the AM to be gone")
    data = tony.directory / "data"
    data.mkdir()
    (data / "mine").write_text("x")
    mounted = job.directory / "containers/worker-0-1/work/mounted"
    tony.enter = ["unshare", "--mount", "--map-root-user", "sh", "-c", f'mount --bind {data} {mounted} && exec "$@"', "sh"]
    assert "unmount it first" in remove(tony, job.id, code=70).stderr
    tony.enter = []
    assert (data / "mine").read_text() == "x"
    assert tony.run("status", job.id).returncode == 0 and (job.directory / "job.json").exists()
    remove(tony, job.id)  # once it is unmounted
    assert list((tony.state / "jobs").iterdir()) == []


def test_a_damaged_job_goes_by_its_whole_id(tony):
    job = ended(tony, "true")
    wait_until(lambda: not job.processes(), "the AM to be gone")
    description = job.directory / "job.json"
    whole = description.read_text()
    description.write_text(whole[:len(whole) // 2])
    assert f"to remove it: tony rm {job.id}" in tony.run("list", "--all").stderr
    assert job.id in remove(tony, job.id).stdout
    assert not job.directory.exists()


@pytest.mark.parametrize("name", ["am.lock", "journal.jsonl", "origin", "job.json"])
def test_a_fifo_in_the_folder_of_a_job_keeps_no_command_waiting(tony, name):
    job = ended(tony, "true")
    wait_until(lambda: not job.processes(), "the AM to be gone")
    path = job.directory / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    for command in (("list", "--all"), ("status", job.id), ("rm", job.id)):
        assert tony.run(*command).returncode in ((0,) if command[0] == "list" or name in ("am.lock", "origin") else (0, 70))
    assert tony.run("clean", "--older-than", "0s").returncode == 0


# ---- tony clean -----------------------------------------------------------------------------------

DAY_S = 86400


def make_old(job, days):
    """The job ended so long ago."""
    wait_until(lambda: not job.processes(), "the AM to be gone")
    journal = job.directory / "journal.jsonl"
    time = journal.stat().st_mtime - days * DAY_S
    os.utime(journal, (time, time))


def clean(tony, *arguments, code=0):
    answer = tony.run("clean", *arguments)
    assert answer.returncode == code, answer.stdout + answer.stderr
    return answer


def test_clean_removes_what_is_older_and_no_history(tony):
    old, older, young = ended(tony), ended(tony), ended(tony)
    make_old(old, 8)
    make_old(older, 31)
    dry = schemas.check("clean", json.loads(clean(tony, "--dry-run", "--json").stdout))
    assert [row["id"] for row in dry["jobs"]] == [older.id] and older.directory.exists()
    clean(tony)
    assert not older.directory.exists() and older.published() and old.directory.exists()
    told = clean(tony, "--older-than", "7d").stdout
    assert not old.directory.exists() and young.directory.exists() and "1 job removed" in told
    wait_until(lambda: not young.processes(), "the AM to be gone")
    clean(tony, "--older-than", "0s")
    assert list((tony.state / "jobs").iterdir()) == [] == list((tony.state / "cache").iterdir())
    assert "No job ended longer than 30 d 00 h ago; see --older-than." in clean(tony).stderr
    assert [job.published() for job in (old, older, young)]
    dry = json.loads(clean(tony, "--older-than", "0s", "--history", "--dry-run", "--json").stdout)
    assert {row["id"] for row in dry["jobs"]} == {old.id, older.id, young.id} and dry["bytes"] > 0
    clean(tony, "--older-than", "0s", "--history")
    assert all(is_gone(tony, job) for job in (old, older, young))


def test_clean_leaves_what_alone_tells_of_a_job(tony):
    """Its history could not be published."""
    store = tony.directory / "store"
    answer, job = tony.job({"tony.worker.instances": 1, "tony.history.location": store}, "--executes", f"touch {store}")
    assert answer.returncode == 0, answer.stderr
    wait_until(lambda: not job.processes(), "the AM to leave")
    answer = clean(tony, "--older-than", "0s")
    assert "No job ended" not in answer.stderr
    assert f"{job.id} stays" in answer.stderr and f"tony rm {job.id}" in answer.stderr and job.directory.exists()
    store.unlink()
    remove(tony, job.id)
    assert is_gone(tony, job)


def test_an_age_needs_a_unit(tony):
    for number in ("30", "0"):
        assert f"write {number}d" in clean(tony, "--older-than", number, code=2).stderr
    clean(tony, "--older-than", "soon", code=2)
    clean(tony, "--older-than", "0s")
    site(tony, {"tony.jobs.max-age": "0"})
    assert "--older-than" in clean(tony, code=2).stderr


def test_clean_takes_no_job_that_lives_or_is_being_submitted(tony):
    """It is called without a pause as long as jobs come and go."""
    end = tony.directory / "end"
    cleaner = subprocess.Popen(
        ["sh", "-c", 'until [ -e "$2" ]; do "$1" clean --older-than 0s || exit 1; done', "sh", str(BUILD / "tony"), str(end)],
        env=tony.env, cwd=tony.directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    live = tony.submit({"tony.worker.instances": 1}, "--executes", f"./exit_after.sh {tony.directory}/go 0")
    answers = [tony.job({"tony.worker.instances": 1}, "--executes", "cat exit_after.sh >/dev/null")[0] for _ in range(6)]
    assert live.status()["state"] == "running" and [answer.returncode for answer in answers] == [0] * 6
    (tony.directory / "go").touch()
    kept = wait_until(lambda: len(jobs := json.loads(tony.run("history", "--json").stdout)) == 7 and jobs, "all to have ended")
    end.touch()
    assert cleaner.wait() == 0, cleaner.stderr.read()
    assert {job["state"] for job in kept} == {"succeeded"}


def test_clean_passes_over_a_job_whose_end_is_still_told(tony):
    job = tony.submit({"tony.worker.instances": 1, "tony.application.on-end": f"until [ -e {tony.directory}/go ]; do sleep 0.05; done"},
                      "--executes", "true")
    assert job.wait() == 0
    assert "0 jobs removed" in clean(tony, "--older-than", "0s").stdout and job.directory.exists()
    (tony.directory / "go").touch()
    wait_until(lambda: not job.processes(), "the AM to be gone")
    clean(tony, "--older-than", "0s")
    assert not job.directory.exists()


def test_several_clean_at_once(tony):
    """Each job of a stream is taken by one of them, and is nobody's trouble then."""
    end = tony.directory / "end"
    cleaners = [subprocess.Popen(
        ["sh", "-c", 'until [ -e "$2" ]; do "$1" clean --older-than 0s --history || exit 1; done', "sh", str(BUILD / "tony"), str(end)],
        env=tony.env, cwd=tony.directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    codes = [tony.job({"tony.worker.instances": 1}, "--executes", "mkdir $(seq 200)")[0].returncode for _ in range(10)]
    end.touch()
    told = [cleaner.communicate()[1] for cleaner in cleaners]
    assert codes == [0] * 10 and [cleaner.returncode for cleaner in cleaners] == [0] * 3, told
    clean(tony, "--older-than", "0s", "--history")
    assert list((tony.state / "jobs").iterdir()) == [] and json.loads(tony.run("history", "--json").stdout) == []


def test_a_job_that_another_process_removes_meanwhile_is_no_failure(tony):
    job = ended(tony)
    wait_until(lambda: not job.processes(), "the AM to be gone")
    with open(job.directory / "am.lock", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cleaner = tony.start("clean", "--older-than", "0s")
        wait_until(lambda: opens(cleaner.pid, job.directory / "am.lock"), "the cleaner to wait for the other one")
        job.directory.rename(tony.directory / "removed")
        told = cleaner.communicate()
    assert cleaner.returncode == 0 and "0 jobs removed" in told[0], told


# ---- by themselves --------------------------------------------------------------------------------


def upkeep(tony, keys=None):
    """The client looks at ended jobs once an hour, after a submission."""
    turn = tony.state / "upkeep-local"
    wait_until(lambda: not tony.processes(), "an earlier upkeep to end")
    if turn.exists():
        os.utime(turn, (0, 0))
    ended(tony, keys=keys)
    wait_until(lambda: not tony.processes(), "the upkeep to end")


@pytest.mark.promise("R64")
def test_what_is_left_of_a_job_stays_while_another_one_has_its_checkpoints_there(tony):
    rest, unused = ended(tony, "echo 1 >$TONY_CHECKPOINT_DIR/1"), ended(tony)
    ended(tony, keys={"tony.application.checkpoint-dir": str(rest.directory / "checkpoint")})
    wait_until(lambda: not tony.processes(), "the AMs to be gone")
    for job in (rest, unused):
        (job.directory / "job.json").unlink()
        os.utime(job.directory, (0, 0))
    upkeep(tony)
    assert (rest.directory / "checkpoint/1").exists() and not unused.directory.exists()


def test_sources_and_logs_go_by_themselves_and_results_stay(tony):
    command = "echo told; echo mine >written; mkdir deep; echo b >deep/b; echo c >$TONY_CHECKPOINT_DIR/1; echo d >../beside"
    old, bare, young = ended(tony, command), ended(tony), ended(tony)
    secrets = bare.directory / "containers/worker-0-1/secrets"  # as if both processes of the executor had been killed
    secrets.mkdir(exist_ok=True)
    (secrets / "KEY").write_text("x")
    make_old(old, 31)
    make_old(bare, 31)
    upkeep(tony)
    work = old.directory / "containers/worker-0-1"
    assert {str(path.relative_to(work)) for path in work.rglob("*")} == {"work", "work/written", "work/deep", "work/deep/b", "beside"}
    assert (old.directory / "checkpoint/1").read_text() == "c\n"
    for job in (old, bare):
        assert not (job.directory / "files").exists() and not list(job.directory.rglob("stdout")), job.id
        status = tony.run("status", job.id)
        assert status.returncode == 0 and "removed for their age (tony.jobs.max-age)" in status.stdout
    assert not (bare.directory / "containers").exists() and not (bare.directory / "checkpoint").exists()
    assert (young.directory / "files/src").exists() and young.logs("worker:0") == "out\n"
    logs = tony.run("logs", old.id)
    assert logs.stdout == "told\n" and logs.stderr == ""
    assert schemas.check("status", old.status())["cleared"] and "cleared" not in young.status()
    shutil.rmtree(old.published())
    logs = tony.run("logs", old.id)
    assert logs.returncode == 4 and "removed for their age" in logs.stderr
    remove(tony, old.id)
    assert is_gone(tony, old)


def test_logs_of_a_cleared_job_say_that_they_are_cut_and_why(tony):
    old = ended(tony, "seq 100000; echo whole >&2")
    make_old(old, 31)
    upkeep(tony)
    logs = tony.run("logs", old.id, "--stream", "stdout")
    assert logs.stdout.endswith("100000\n") and len(logs.stdout) < 400000
    assert logs.stderr == ("tony: of stdout of worker:0 only the last 256 KiB of 575 KiB are left: the rest was removed for its "
                           "age (tony.jobs.max-age)\n")
    assert tony.run("logs", old.id, "--stream", "stderr").stderr == ""


def test_sources_of_cleared_jobs_leave_the_cache(tony):
    old = ended(tony)
    make_old(old, 31)
    lock = next((tony.state / "cache").glob("*.lock"))
    source = tony.directory / "other"
    source.mkdir()
    tony.run(*tony.arguments({"tony.worker.instances": 1}, "--executes", "true", src_dir=source))
    for _ in range(2):
        os.utime(lock, (0, 0))
        wait_until(lambda: not tony.processes(), "an earlier upkeep to end")
        os.utime(tony.state / "upkeep-local", (0, 0))
        tony.run(*tony.arguments({"tony.worker.instances": 1}, "--executes", "true", src_dir=source))
        wait_until(lambda: not tony.processes(), "the upkeep to end")
        assert not (old.directory / "files").exists()
    assert not lock.exists() and not lock.with_suffix("").exists()


@pytest.mark.promise("R65")
def test_results_go_by_themselves_only_if_the_user_says_so(tony):
    old = ended(tony, "echo c >$TONY_CHECKPOINT_DIR/1; echo mine >written")
    make_old(old, 400)
    upkeep(tony, {"tony.jobs.max-age": "0"})
    assert (old.directory / "files/src").exists()
    upkeep(tony)
    assert (old.directory / "checkpoint/1").exists()
    upkeep(tony, {"tony.jobs.results-max-age": "390d"})
    assert not old.directory.exists() and old.published()


@pytest.mark.promise("R67")
def test_a_program_that_leaves_links_loses_nothing_else_by_its_age(tony):
    """Where its container was is a link to the user's files, which have names like tony's own."""
    data = tony.directory / "data"
    data.mkdir()
    for name in ("stdout", "stderr", "executor.log", "secret"):
        (data / name).write_text("mine")
    old = ended(tony, f"ln -s {data} ../../worker-7-1; ln -s {data} ../stdout.9; rm -rf $TONY_CHECKPOINT_DIR; ln -s {data} $TONY_CHECKPOINT_DIR")
    make_old(old, 31)
    upkeep(tony)
    assert state_of(data) == {"stdout": "mine", "stderr": "mine", "executor.log": "mine", "secret": "mine"}
    assert not (old.directory / "containers/worker-0-1").exists()


def state_of(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_rests_of_submissions_that_were_killed_go_by_themselves(tony):
    ended(tony)
    rest, recent = tony.state / "jobs/tony-20251121-061400-1f3a09c4", tony.state / "jobs/tony-20251121-061400-1f3a09c5"
    for path in (rest, recent):
        path.mkdir()
        (path / "token").write_text("x")
    os.utime(rest, (0, 0))
    upkeep(tony)
    assert not rest.exists() and recent.exists()
    shutil.rmtree(recent)
