"""tony._again: whoever comes again for a job of an errand finds it, and starts none twice."""

import dataclasses

import tony
from conftest import SMALL
from tony._again import Errand, take_or_submit

FIRST = Errand("airflow", ["https://airflow.example", "digits", "train"], 0, False)
RETRY = dataclasses.replace(FIRST, is_retry=True)
STEPS = ["sh", "-c", 'cat $TONY_CHECKPOINT_DIR/step 2>/dev/null; echo x >>$TONY_CHECKPOINT_DIR/step; [ "$1" = ok ]', "sh"]


def take(errand, *arguments, program=STEPS, resume=True, **options):
    return take_or_submit(errand, program, arguments, {**SMALL, **options}, resume)


def said(job):
    return [str(line) for line in job.logs(stream="stdout")]


def test_a_job_that_runs_is_taken_over(home):
    job = take(FIRST, program=["sleep", "1000"], tags="mine")
    assert {"mine", "airflow", FIRST.mark} < set(job.status().raw["tags"])
    assert take(FIRST) == job and take(RETRY) == job
    other = take(dataclasses.replace(FIRST, identity=["https://other.example", "digits", "train"]), "ok")
    assert other != job and other.wait().succeeded
    job.kill()


def test_a_job_that_has_succeeded_meanwhile_is_not_done_again_by_a_retry(home):
    job = take(FIRST, "ok")
    job.wait()
    assert take(RETRY, "ok") == job
    again = take(FIRST, "ok")
    assert again != job and again.wait().succeeded and said(again) == [], "that is another run by hand"


def test_a_retry_goes_on_from_checkpoints_if_there_are_any(home):
    first = take(FIRST, conf_file=None)
    first.wait(check=False)
    second = take(RETRY, "no", name="second")
    second.wait(check=False)
    assert said(second) == ["x"] and second.status().raw["rerun_of"] == first.id and second.status().name == "second"
    third = take(RETRY, "ok", resume=False)
    assert third.wait().succeeded and said(third) == []
    errand = dataclasses.replace(FIRST, identity=["empty"])
    take(errand, program=["false"]).wait(check=False)
    assert take(dataclasses.replace(errand, is_retry=True), program=["true"]).wait().succeeded


def test_after_a_clearing_the_job_before_it_is_killed_and_another_one_begins_anew(home):
    before = take(FIRST, program=["sh", "-c", "echo x >$TONY_CHECKPOINT_DIR/step; sleep 1000"])
    cleared = dataclasses.replace(FIRST, round=1)
    job = take(cleared, "ok")
    assert before.status().state == "killed" and job.wait().succeeded and said(job) == []
    assert len(tony.jobs(all=True, tag=FIRST.mark)) == 2
