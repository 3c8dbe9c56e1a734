"""History, checkpoints and results of jobs in a bucket of S3: moto stands for Amazon's servers."""

import json
import os
import pwd
import shutil
import signal

import pytest
from bucket import Bucket
from certificate import make_certificate
from conftest import wait_until, write_xml
from portal import Portal
from program import open_files

pytestmark = pytest.mark.slow

SECRET = "not/for+others"


@pytest.fixture
def bucket(tony, request):
    with Bucket(tony.directory, tony.env, is_behind=getattr(request, "param", False)) as made:
        made.call("PUT", "/jobs")
        write_xml(tony.directory / "conf/tony-site.xml", {"tony.history.location": "s3://jobs/team", "tony.s3.endpoint": made.url})
        tony.env.update({"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"})
        yield made


def place_of(job):
    return f"team/{job.id[5:9]}/{job.id[9:11]}/{job.id[11:13]}/{job.id}"


def wait_published(bucket, job):
    """The summary comes last."""
    wait_until(lambda: f"{place_of(job)}/summary.json" in bucket.keys(), f"{job.id} to be published")


def forget(job):
    wait_until(lambda: not job.processes(), f"{job.id} to be over")
    shutil.rmtree(job.directory)


def test_a_job_is_found_by_what_the_bucket_has_of_it(tony, bucket):
    answer, job = tony.job({"tony.worker.instances": 2, "tony.application.name": "kept"}, "--executes", "echo one; echo two")
    assert answer.returncode == 0, answer.stderr
    wait_published(bucket, job)
    forget(job)
    assert job.id in tony.run("list", "--all").stdout
    assert json.loads(tony.run("status", "--json", job.id).stdout)["state"] == "succeeded"
    lines = tony.run("logs", "--grep", "two", "kept").stdout.splitlines()
    assert sorted(lines) == ["worker:0| two", "worker:1| two"]
    portal = Portal(tony)
    assert portal.wait_kept(job, "succeeded")["name"] == "kept"
    portal.stop()
    assert tony.run("rm", job.id).returncode == 0
    assert not bucket.keys()


def half_publish(tony, bucket):
    """A job of which the bucket has all but the summary."""
    _, job = tony.job({}, "--executes", "true")
    wait_published(bucket, job)
    bucket.run(f"bucket.Object('{place_of(job)}/summary.json').delete()")
    return job


@pytest.mark.parametrize("bucket", [True], indirect=True)
def test_half_a_history_is_removed_when_it_is_old(tony, bucket):
    job = half_publish(tony, bucket)
    forget(job)
    assert not tony.run("history", "--json").stdout.strip("[]\n") and bucket.keys()
    assert "no job" in tony.run("status", job.id).stderr
    answer = tony.run("rm", job.id)
    assert answer.returncode == 0 and place_of(job) in answer.stdout and not bucket.keys(), answer
    assert "no job" in tony.run("rm", job.id).stderr


def test_half_a_history_may_still_be_in_publication(tony, bucket):
    job = half_publish(tony, bucket)
    wait_until(lambda: not job.processes(), f"{job.id} to be over")
    answer = tony.run("rm", job.id)
    assert answer.returncode == 0 and "may still be in publication" in answer.stdout and bucket.keys(), answer
    answer = tony.run("rm", job.id)  # nothing else is left of it
    assert answer.returncode == 4 and "may still be in publication" in answer.stderr and bucket.keys(), answer
    assert "no job" in tony.run("rm", job.id).stderr and bucket.keys()


def test_no_key_to_the_bucket_is_kept_in_it(tony, bucket):
    _, job = tony.job({}, "--executes", "true")
    wait_published(bucket, job)
    assert SECRET in (job.directory / "job.json").read_text() and (job.directory / "job.json").stat().st_mode & 0o77 == 0
    objects = bucket.read_all()
    assert f"{place_of(job)}/job.json" in objects and not [key for key, text in objects.items() if SECRET in text]


def test_a_job_whose_am_was_killed_is_published(tony, bucket):
    job = tony.submit({"tony.worker.instances": 1}, "--executes", f"while [ ! -e {tony.directory}/go ]; do sleep 0.1; done")
    job.wait_task("worker:0")
    os.kill(job.status()["am_pid"], signal.SIGKILL)
    wait_until(lambda: job.status()["am_attempt"] == 2, "the next AM")
    (tony.directory / "go").touch()
    assert job.wait() == 0
    wait_published(bucket, job)


def begin_to_publish(tony, bucket):
    """To a bucket that does not answer."""
    job = tony.submit({"tony.worker.instances": 1}, "--executes", f"while [ ! -e {tony.directory}/go ]; do sleep 0.1; done")
    job.wait_task("worker:0")
    am = job.am()
    bucket.server.send_signal(signal.SIGSTOP)
    (tony.directory / "go").touch()
    wait_until(lambda: '"ev":"final"' in (job.directory / "journal.jsonl").read_text() and (job.directory / ".history").exists(),
               "the AM to publish")
    return job, am


def expect_publication_by(tony, bucket, job, *words):
    wait_until(lambda: not job.processes(), f"{job.id} to be over")
    bucket.server.send_signal(signal.SIGCONT)
    assert not [key for key in bucket.keys() if key.endswith("summary.json")]
    assert tony.run(*words).returncode == 0
    wait_published(bucket, job)
    wait_until(lambda: not job.processes() and not (job.directory / "am.json").exists(), f"{job.id} to be over again")


@pytest.mark.parametrize("verb", (("status",), ("list", "--all")))
def test_a_job_whose_processes_were_all_killed_while_they_published_is_published(tony, bucket, verb):
    job, am = begin_to_publish(tony, bucket)
    for pid in {*am, *job.processes()}:
        os.kill(pid, signal.SIGKILL)
    expect_publication_by(tony, bucket, job, *verb, *([job.id] if verb == ("status",) else []))


def sockets(pid):
    return [file for file in open_files(pid) if file.startswith("socket:")]


def test_a_job_whose_guardian_was_killed_while_it_published_is_published(tony, bucket):
    job, (am, guardian) = begin_to_publish(tony, bucket)
    before = sockets(guardian)
    for pid in {am, *job.processes()} - {guardian}:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: len(sockets(guardian)) > len(before), "the guardian to publish")
    os.kill(guardian, signal.SIGKILL)
    expect_publication_by(tony, bucket, job, "status", job.id)


def test_a_bucket_that_is_not_there_is_told_at_submission(tony, bucket):
    for location, words in (("s3://other/x", "there is no such bucket"), ("s3://No/x", "is no name of a bucket")):
        answer, job = tony.job({"tony.history.location": location}, "--executes", "true")
        assert answer.returncode == 3 and words in answer.stderr and not job
    answer, _ = tony.job({"tony.s3.endpoint": "example"}, "--executes", "true")
    assert answer.returncode == 3 and "write http://HOST:PORT" in answer.stderr
    bucket.close()
    answer, job = tony.job({}, "--executes", "true")
    assert answer.returncode == 5 and "Connection refused" in answer.stderr and not job
    answer = tony.run("list", "--all")
    assert answer.returncode == 0 and "jobs in S3 are not looked at" in answer.stderr
    for verb in ("rm", "logs", "status", "events"):
        answer = tony.run(verb, "nosuch")
        assert answer.returncode == 5 and 'no job "nosuch" is known here, and s3://jobs/team, which may have it, does not' in answer.stderr, answer
        assert answer.stderr.count("Connection refused") == (2 if verb == "rm" else 1), answer


def test_a_server_that_says_nothing_is_told_at_submission_within_seconds(tony, bucket):
    bucket.server.send_signal(signal.SIGSTOP)
    try:
        for verb, words in (("submit", ""), ("check", "problem  scheduler and stores: ")):
            answer = tony.run(verb, "--executes", "true")
            told = answer.stdout + answer.stderr
            assert answer.returncode == 5 and f"{words}tony.history.location: s3://jobs/team" in told and "no answer within 3" in told, answer
    finally:
        bucket.server.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("place", ("s3a://jobs/points", "S3://jobs/points", "gs://jobs/points"))
def test_checkpoints_where_tony_keeps_nothing_are_warned_of(tony, place):
    answer, job = tony.job({"tony.application.checkpoint-dir": place}, "--executes", "echo $TONY_CHECKPOINT_DIR")
    assert answer.returncode == 0, answer
    assert f"warning tony: tony.application.checkpoint-dir: {place}: tony keeps nothing there: programs get it as it is" in answer.stderr, answer
    assert place in tony.run("logs", job.id).stdout


def test_a_slip_in_a_place_is_no_empty_history(tony, bucket):
    answer = tony.run("history", "--location", "s3://jobs/nowhere")
    assert answer.returncode == 4 and "there is no history in s3://jobs/nowhere: nothing is there" in answer.stderr, answer
    _, job = tony.job({}, "--executes", "true")
    wait_published(bucket, job)
    answer = tony.run("history", "--location", "s3://jobs/team")
    assert answer.returncode == 0 and job.id in answer.stdout, answer


def test_a_server_proves_that_it_is_meant(tony):
    """Its authority is one of its own, which AWS_CA_BUNDLE names."""
    authority, key = make_certificate(tony.directory)
    tony.env.update({"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": SECRET})
    with Bucket(tony.directory, {**tony.env, "AWS_CA_BUNDLE": str(authority)}, "-c", authority, "-k", key) as bucket:
        bucket.make()
        keys = {"tony.history.location": "s3://jobs/x", "tony.s3.endpoint": bucket.url}
        answer, job = tony.job(keys, "--executes", "true")
        assert answer.returncode == 6 and "AWS_CA_BUNDLE=FILE names the authorities" in answer.stderr and not job, answer
        tony.env["AWS_CA_BUNDLE"] = str(authority)
        _, job = tony.job(keys, "--executes", "true")
        wait_until(lambda: any(key.endswith(f"{job.id}/summary.json") for key in bucket.read_all()), f"{job.id} to be published")


CHECKPOINTS = "s3://jobs/points"
# Goes on from the step that the newest checkpoint names; "big" takes more than one piece on its way.
TRAIN = """cd "$TONY_CHECKPOINT_DIR"; step=$(cat step 2>/dev/null || echo 0); echo "from $step"
while [ $step -lt {last} ]; do step=$((step + 1)); mkdir -p part; head -c 300000 /dev/zero > "part/big $step"; rm -f "part/big $((step - 1))"
echo $step > .new; mv .new step; done"""


def points(bucket):
    return {key.removeprefix("points/"): text for key, text in bucket.read_all().items() if key.startswith("points/")}


def train(last, then="true"):
    return f"{TRAIN.format(last=last)}; {then}"


def test_a_task_that_is_killed_goes_on_from_the_bucket(tony, bucket):
    keys = {"tony.worker.instances": 1, "tony.worker.max-restarts": 1, "tony.application.checkpoint-dir": CHECKPOINTS}
    job = tony.submit(keys, "--executes", train(3, f"[ $TONY_TASK_ATTEMPT = 2 ] || [ -e {tony.directory}/once ] || "
                                                   f"{{ touch {tony.directory}/once; sleep 600; }}"))
    wait_until(lambda: points(bucket).get("step") == "3\n", "the checkpoint to be stored")
    assert points(bucket) == {"step": "3\n", "part/big 3": "\0" * 300000}
    os.kill(job.status()["tasks"][0]["executor_pid"], signal.SIGKILL)
    assert job.wait() == 0, job.status()
    lines = tony.run("logs", job.id).stdout
    assert "from 0" in lines and "from 3" in lines
    wait_published(bucket, job)
    assert SECRET not in lines + tony.run("config", job.id).stdout + tony.run("events", job.id).stdout


def test_another_job_goes_on_where_one_ended(tony, bucket):
    keys = {"tony.worker.instances": 1, "tony.application.checkpoint-dir": CHECKPOINTS}
    answer, job = tony.job(keys, "--executes", train(2))
    assert answer.returncode == 0, answer.stderr
    bucket.run("bucket.put_object(Key='points/step', Body=b'7\\n')")
    answer = tony.run("rerun", "--resume", job.id)
    assert answer.returncode == 0 and "from 7" in tony.run("logs", answer.stdout.split()[0]).stdout, answer
    bucket.run("bucket.objects.filter(Prefix='points/').delete()")
    answer = tony.run("rerun", "--resume", job.id)
    assert answer.returncode != 0 and f"has left no checkpoints in {CHECKPOINTS}" in answer.stderr, answer


def test_a_bucket_for_checkpoints_that_is_not_there_is_told_at_submission(tony, bucket):
    for place, words in (("s3://other/x", "there is no such bucket"), ("s3://No/x", "is no name of a bucket")):
        answer, job = tony.job({"tony.application.checkpoint-dir": place}, "--executes", "true")
        assert answer.returncode == 3 and "tony.application.checkpoint-dir: " in answer.stderr and words in answer.stderr and not job, answer
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        del tony.env[name]
    answer, job = tony.job({"tony.history.location": "", "tony.application.checkpoint-dir": CHECKPOINTS}, "--executes", "true")
    assert answer.returncode == 3 and "there is no key for S3" in answer.stderr and not job, answer


RESULTS = "s3://jobs/results"
WRITE = ('echo "$TONY_TASK" > "$TONY_OUTPUT_DIR/log"; mkdir -p "$TONY_OUTPUT_DIR/a b"; '
         'head -c 300000 /dev/zero > "$TONY_OUTPUT_DIR/a b/model"')
BOTH = {f"worker-{index}/{name}": text for index in (0, 1) for name, text in (("log", f"worker:{index}\n"), ("a b/model", "\0" * 300000))}


def files_of(directory):
    return {str(path.relative_to(directory)): path.read_text() for path in directory.rglob("*") if path.is_file()}


def results_in(bucket, job):
    start = f"results/{job.id}/"
    return {key.removeprefix(start): text for key, text in bucket.read_all().items() if key.startswith(start)}


def test_results_are_kept_in_a_bucket_and_brought_from_there(tony, bucket):
    answer, job = tony.job({"tony.worker.instances": 2}, "--output", RESULTS, "--executes", WRITE)
    place = f"{RESULTS}/{job.id}"
    assert answer.returncode == 0 and f"tony: results: {place}\n" in answer.stderr, answer.stderr
    assert results_in(bucket, job) == BOTH
    assert tony.run("results", job.id).stdout == f"{place}\n" and job.status()["output"] == place
    assert f"results: {place}\n" in tony.run("status", job.id).stdout
    answer = tony.run("results", job.id, "--output", "home")
    assert answer.returncode == 0 and files_of(tony.directory / "home" / job.id) == BOTH, answer
    bucket.run(f"bucket.put_object(Key='results/{job.id}/worker-0/log', Body=b'later')")
    assert tony.run("results", job.id, "--output", "home").returncode == 0
    assert files_of(tony.directory / "home" / job.id) == {**BOTH, "worker-0/log": "later"}
    wait_published(bucket, job)
    wait_until(lambda: not job.processes(), f"{job.id} to be over")
    answer = tony.run("rm", job.id)
    assert answer.returncode == 0 and f"{place}: tony.application.output-dir named it" in answer.stdout + answer.stderr, answer
    assert len(results_in(bucket, job)) == len(BOTH)


def test_results_of_a_job_that_failed_and_is_only_in_the_bucket(tony, bucket):
    keys = {"tony.worker.instances": 1, "tony.am.retry-count": 1, "tony.am.retry-delay": "10ms", "tony.application.output-dir": RESULTS}
    answer, job = tony.job(keys, "--executes", f'echo "$TONY_EPOCH" >> "$TONY_OUTPUT_DIR/tries"; {WRITE}; exit 3')
    assert answer.returncode == 1, answer
    wait_published(bucket, job)
    forget(job)
    refused = tony.run("results", job.id, "--output", "home")
    assert refused.returncode == 6 and "objects of a bucket have no owner" in refused.stderr, refused
    user = pwd.getpwuid(os.geteuid()).pw_name
    answer = tony.run("results", job.id, "--of", user, "--output", "home")
    assert answer.returncode == 0, answer
    written = {name: text for name, text in BOTH.items() if name.startswith("worker-0/")}
    assert files_of(tony.directory / "home" / job.id) == {**written, "worker-0/tries": "1\n2\n"}
    answer = tony.run("rm", job.id)
    assert answer.returncode == 0 and f"stays: {RESULTS}/{job.id}: tony.application.output-dir named it" in answer.stdout, answer


def test_a_job_without_results_has_none_in_the_bucket(tony, bucket):
    answer, job = tony.job({}, "--output", RESULTS, "--executes", "true")
    assert answer.returncode == 0 and "results:" not in answer.stderr and not results_in(bucket, job), answer
    answer = tony.run("results", job.id, "--output", "home")
    assert answer.returncode != 0 and "has stored a result" in answer.stderr, answer


def test_a_bucket_for_results_that_is_not_there_is_told_at_submission(tony, bucket):
    for place, words in (("s3://other/x", "there is no such bucket"), ("s3://No/x", "write its path, or s3://BUCKET/PATH")):
        answer, job = tony.job({"tony.application.output-dir": place}, "--executes", "true")
        assert answer.returncode == 3 and "tony.application.output-dir: " in answer.stderr and words in answer.stderr and not job, answer


def told(job):
    return [event["text"] for event in job.events() if event["ev"] == "checkpoints"]


def submit_and_close(tony, bucket, keys):
    """A job that writes checkpoints once the bucket is away."""
    job = tony.submit(keys, "--executes", f"while [ ! -e {tony.directory}/go ]; do sleep 0.1; done; {train(3)}")
    job.wait_task("worker:0")
    bucket.close()
    (tony.directory / "go").touch()
    return job


def test_a_bucket_that_goes_away_for_a_moment_costs_nothing(tony, bucket):
    """First while a program writes and ends, then before the next one starts."""
    keys = {"tony.worker.instances": 1, "tony.worker.max-restarts": 1, "tony.application.checkpoint-dir": CHECKPOINTS}
    job = submit_and_close(tony, bucket, keys)
    wait_until(lambda: any("its checkpoints cannot be stored: s3://jobs/points" in text for text in told(job)), "the trouble to be told")
    assert "cannot be stored" in tony.run("status", job.id).stdout
    bucket.come_back()
    assert job.wait() == 0 and told(job)[-1].startswith("all is well with its checkpoints again, after "), told(job)
    assert points(bucket)["step"] == "3\n"

    job = tony.submit(keys, "--executes", f"echo at $(cat $TONY_CHECKPOINT_DIR/step); [ -e {tony.directory}/once ] || "
                                          f"{{ touch {tony.directory}/once; sleep 600; }}")
    wait_until((tony.directory / "once").exists, "the program to run")
    bucket.close()
    os.kill(job.status()["tasks"][0]["executor_pid"], signal.SIGKILL)
    wait_until(lambda: any("its checkpoints cannot be fetched: s3://jobs/points" in text for text in told(job)), "the trouble to be told")
    bucket.come_back(**{"points/step": "7\n"})
    assert job.wait() == 0 and "at 7" in tony.run("logs", job.id).stdout, job.status()


def test_a_bucket_that_stays_away_is_no_fault_of_the_program(tony, bucket):
    """The message says where its checkpoints are."""
    keys = {"tony.worker.instances": 1, "tony.am.infrastructure-retry-count": 1, "tony.application.checkpoint-dir": CHECKPOINTS}
    job = submit_and_close(tony, bucket, keys)
    assert job.wait() != 0
    cause = job.status()["cause"]
    assert cause["kind"] == "store-failed", cause
    assert "could not be started: its checkpoints could not be fetched: s3://jobs/points" in cause["text"], cause
    kept = job.directory / "containers/worker-0-1/checkpoint"
    events = tony.run("events", job.id).stdout
    assert f"they stay in {kept}" in events and "infrastructure retry 1 of 1" in events, events
    assert (kept / "step").read_text() == "3\n"
