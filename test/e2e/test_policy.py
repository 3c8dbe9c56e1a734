"""What follows from why a program ended, and the users' own rules (docs/reliability.md)."""

import pytest
from conftest import PROGRAMS, PYTHON

FAST = {"tony.am.retry-delay": "10ms"}


def notes(job):
    return [event["text"] for event in job.events() if event["ev"] == "note"]


@pytest.mark.promise("R11")
def test_the_users_rules_stand_above_the_table(tony):
    """worker:0 ends with a code that counts as success; worker:1, without a module that it wants, is tried again
    until its restarts are used up."""
    answer, job = tony.job({"tony.application.framework": "generic", "tony.worker.instances": 2,
                            "tony.worker.on-exit": "3->ignore, 4->fail, *->retry", "tony.worker.max-restarts": 2,
                            "tony.worker.command": '[ "$TASK_INDEX" = 0 ] && exit 3; '
                                                   f'{PYTHON} -c "import no_such_module"', **FAST})
    assert answer.returncode == 1
    assert job.task("worker:0")["state"] == "succeeded"
    assert job.logs("worker:1", "stderr").count("ModuleNotFoundError") == 3
    assert any("counts as success (tony.worker.on-exit)" in text for text in notes(job))


@pytest.mark.promise("R11")
def test_a_rule_ends_the_job_though_there_are_retries(tony):
    answer, job = tony.job({"tony.worker.instances": 1, "tony.worker.on-exit": "64-78->fail", "tony.am.retry-count": 5,
                            **FAST}, "--executes", "exit 70")
    assert answer.returncode == 1
    assert job.status()["epoch"] == 1 and job.status()["cause"]["exit_code"] == 70


@pytest.mark.promise("R5", "R7")
def test_what_no_other_try_can_help_has_none(tony):
    answer, job = tony.job({"tony.worker.instances": 1, "tony.worker.max-restarts": 5, "tony.am.retry-count": 5,
                            **FAST}, "--executes", f"{PYTHON} -c 'import no_such_module'")
    assert answer.returncode == 1
    assert job.status()["epoch"] == 1 and job.task("worker:0")["restarts_used"] == 0
    assert "ModuleNotFoundError" in job.status()["cause"]["headline"]
    assert any("is not tried again: a module is missing" in text for text in notes(job))


@pytest.mark.promise("R5")
@pytest.mark.parametrize("how", ["ignored", "atexit", "thread", "logging", "wrapped"])
def test_what_is_printed_on_the_way_out_is_not_what_ended_the_program(tony, how):
    answer, job = tony.job({"tony.worker.instances": 1, "tony.am.retry-count": 5, **FAST},
                           "--executes", f"{PYTHON} {PROGRAMS}/end_noisily.py {how}")
    assert answer.returncode == 1
    assert job.status()["epoch"] == 1
    assert job.status()["cause"]["headline"] == "ModuleNotFoundError: No module named 'no_such_module'"
    assert "late" in job.logs("worker:0", "stderr")


@pytest.mark.promise("R5")
@pytest.mark.parametrize("shown", ["logging.exception('going on without')", "traceback.print_exc()"])
def test_a_missing_module_that_the_program_does_without_takes_no_retry_away(tony, shown):
    answer, job = tony.job({"tony.worker.instances": 1, "tony.am.retry-count": 2, **FAST}, "--executes",
                           f'{PYTHON} -c "import logging, sys, traceback\ntry: import no_such_module\n'
                           f'except ImportError: {shown}\nsys.exit(\'master not reachable yet\')"')
    assert answer.returncode == 1
    assert job.status()["epoch"] == 3
    assert job.status()["cause"]["headline"] == "master not reachable yet"


@pytest.mark.promise("R3")
def test_an_instruction_that_the_only_machine_lacks_is_the_programs_fault(tony):
    """No other container can help, so the job pays by its own retries; of several machines the job machine's tests tell."""
    answer, job = tony.job({"tony.worker.instances": 1, "tony.am.retry-count": 1, **FAST}, "--executes", "kill -ILL $$")
    assert answer.returncode == 1, answer.stdout + answer.stderr
    assert job.status()["infrastructure_retries"] == 0 and job.status()["retries"] == 1


def test_rules_that_are_none_are_all_told_at_once(tony):
    answer = tony.run("submit", "--conf", "tony.worker.instances=1", "--conf", "tony.worker.on-exit=0->fail,3=retry",
                      "--executes", "true")
    assert answer.returncode == 2, answer.stderr
    assert "0 is success, which needs no rule" in answer.stderr and '"3=retry" is not a rule' in answer.stderr
