"""Libraries that are needed for some formats and places only."""

from __future__ import annotations

import importlib
from typing import Any

from tony._errors import NotInstalled

_PACKAGES = {  # what pip installs, by module
    "fastavro": "fastavro cramjam", "pyarrow": "pyarrow", "fsspec": "fsspec", "s3fs": "s3fs", "aiohttp": "aiohttp", "numpy": "numpy",
    "backports": "backports.zstd", "torch": "torch", "tensorflow": "tensorflow",
}


def missing(what: str, module: str) -> NotInstalled:
    return NotInstalled(f"{what} needs the Python package {module}, which is not there: pip install {_PACKAGES.get(module, module)}")


def need(what: str, module: str) -> Any:
    """The module `module` or "package.module", which `what` is done with."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise  # it is there, and broken
        raise missing(what, module.partition(".")[0]) from None
