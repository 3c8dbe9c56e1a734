"""Tests of the open cluster once more, on one with Kerberos, all of whose wires are sealed: jobs do the same there."""

import pytest
from test_am_restart import (test_logs_wait_for_the_next_am,  # noqa: F401
                             test_no_program_is_started_twice_however_early_its_am_is_killed, test_no_task_notices)
from test_history import (test_a_local_job_is_kept_in_hdfs, test_an_ended_job_is_kept_and_found_from_elsewhere,  # noqa: F401
                          test_what_was_measured_outlives_the_am)
from test_portal import (portal, test_a_job_is_found_live_and_when_it_has_ended,  # noqa: F401
                         test_collected_logs_are_those_of_tony_logs)
from test_verbs import (running, test_a_job_is_repeated_with_the_sources_that_it_had, test_ctrl_c_before_there_is_an_am,  # noqa: F401
                        test_kill, test_logs_follow, test_logs_of_a_running_job_and_of_an_ended_one,
                        test_logs_of_a_task_that_has_ended_while_its_job_goes_on, test_nothing_is_left_when_the_job_is_killed_hard,
                        test_nothing_is_uploaded_twice, test_nothing_of_a_job_is_left_in_hdfs, test_restart_of_a_task,
                        test_status_list_and_events, test_the_client_may_go, test_wait_has_the_exit_code_of_the_job)

CLUSTER = {"--nodes": 3, "--secure": None, "--https": None, "--protection": "privacy", "--heartbeat-ms": 100, "--expiry-ms": 10000}


@pytest.fixture(scope="module")
def cluster(own_cluster):
    """Where those tests find the open one."""
    return own_cluster
