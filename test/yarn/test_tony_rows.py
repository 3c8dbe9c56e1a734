"""TonY's own end-to-end suite on a cluster; what needs a node to be full is in test_labelled_node.py."""

import pytest
import tony_rows
from tony_rows import *  # noqa: F401,F403

SHORT = ("SingleNodeTrainingShouldPass", "PSWorkerTrainingShouldPass", "PSWorkerTrainingShouldFail",
         "AMCrashTonyShouldFail", "TonyResourcesFlag", "AMStopsJobAfterWorker0Killed")
for name in SHORT:
    globals()[f"test_{name}"] = pytest.mark.short(getattr(tony_rows, f"test_{name}"))
