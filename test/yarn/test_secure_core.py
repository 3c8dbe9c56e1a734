"""Tests of the open cluster once more, on one with Kerberos, all of whose wires are sealed: jobs do the same there.

`./dev test --long secure-integrity` and its like run them on clusters that seal less, and on an older Hadoop."""

import kit
import pytest
from open_rows import (served, test_a_link_lets_look_and_no_more, test_the_door_leads_to_what_a_task_serves,  # noqa: F401
                       test_two_ports_of_this_machine_lead_there, test_web_sockets_pass)
from test_am_restart import (test_logs_wait_for_the_next_am,  # noqa: F401
                             test_no_program_is_started_twice_however_early_its_am_is_killed, test_no_task_notices)
from test_faults import (test_a_killed_executor_is_replaced, test_a_node_is_lost_with_a_task_on_it,  # noqa: F401
                         test_containers_are_had_after_the_resource_manager_restarted,
                         test_the_resource_manager_restarts_under_a_job)
from test_history import (test_a_local_job_is_kept_in_hdfs, test_an_ended_job_is_kept_and_found_from_elsewhere,  # noqa: F401
                          test_what_was_measured_outlives_the_am)
from test_portal import (board, events, portal, test_a_job_is_found_live_and_when_it_has_ended,  # noqa: F401
                         test_collected_logs_are_those_of_tony_logs, test_tensorboard_reads_a_copy_that_follows_hdfs)
from test_verbs import (running, test_a_job_is_repeated_with_the_sources_that_it_had, test_a_proxy_that_is_not_trusted,  # noqa: F401
                        test_a_web_interface_through_the_proxy, test_ctrl_c_before_there_is_an_am,
                        test_kill, test_logs_follow, test_logs_of_a_running_job_and_of_an_ended_one,
                        test_logs_of_a_task_that_has_ended_while_its_job_goes_on, test_nothing_is_left_when_the_job_is_killed_hard,
                        test_nothing_is_uploaded_twice, test_nothing_of_a_job_is_left_in_hdfs, test_restart_of_a_task,
                        test_status_list_and_events, test_the_client_may_go, test_tracking_url_of_an_ended_job_is_its_page_in_the_portal,
                        test_tracking_url_through_the_proxy, test_wait_has_the_exit_code_of_the_job)
from test_view import place, test_a_job_through_a_mount_table, viewer  # noqa: F401
from tony_rows import test_AttachedTensorboardShouldPass  # noqa: F401

CLUSTER = {"--nodes": 3, **kit.SECURE, "--heartbeat-ms": 100, "--expiry-ms": 10000, "--recovery": None}


@pytest.fixture(scope="module")
def cluster(own_cluster):
    """Where those tests find the open one."""
    return own_cluster
