"""Pairs of ResourceManagers and NameNodes with Kerberos, privacy and HTTPS: a job does there what it does on other pairs."""

import kit
import pytest
from test_ha import (test_a_job_is_killed_after_a_planned_fail_over, test_a_job_outlives_the_keys_of_its_token,  # noqa: F401
                     test_either_of_each_pair_may_serve)
from test_ha_https import test_both_pairs_fail_over_under_a_job  # noqa: F401

CLUSTER = {"--nodes": 1, **kit.SECURE, "--heartbeat-ms": 100, "--expiry-ms": 10000, "--ha": None, "--token-roll-sec": 31}


@pytest.fixture
def tony(own_tony):
    return own_tony
