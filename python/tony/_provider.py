"""The provider, as Airflow finds it among the installed packages. Nothing here imports Airflow."""

from __future__ import annotations

from typing import Any, Dict

from tony._version import __version__


def get_provider_info() -> Dict[str, Any]:
    return {
        "package-name": "tony",
        "name": "tony",
        "description": "Jobs of tony as tasks. Not a part of Apache Airflow.",
        "versions": [__version__],
        "connection-types": [{"connection-type": "tony", "hook-class-name": "tony.airflow.hook.TonyHook", "hook-name": "tony"}],
        "extra-links": ["tony.airflow.operator.TonyJobLink"],
    }
