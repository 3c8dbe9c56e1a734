"""HDFS behind a router, with Kerberos, privacy and HTTPS: the router gives the tokens, and takes them."""

import kit
from test_router import test_a_job_over_a_router  # noqa: F401

CLUSTER = {"--nodes": 1, **kit.SECURE, "--heartbeat-ms": 100, "--expiry-ms": 60000, "--router": None}
