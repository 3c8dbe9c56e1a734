"""Where the programs of this installation are."""

import os
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Iterator


def _folders() -> Iterator[Path]:
    """Where pip puts programs: of this interpreter or virtual environment, of `pip install --user`, `--prefix` and `--target`."""
    yield Path(sysconfig.get_path("scripts"))
    if sys.version_info >= (3, 10):
        user = sysconfig.get_preferred_scheme("user")
    else:
        user = "posix_user"
    yield Path(sysconfig.get_path("scripts", scheme=user))
    package = Path(__file__).resolve().parent
    if package.parent.name in ("site-packages", "dist-packages"):
        yield package.parents[3] / "bin"  # of PREFIX/lib/pythonX.Y/site-packages/tony
    yield package.parent / "bin"  # of TARGET/tony


def find_program(name: str = "tony") -> str:
    """The path of `tony` or `tony-agent`: that which was installed with this package, else the one in PATH.

    FileNotFoundError: there is none.
    """
    for folder in _folders():
        path = folder / name
        if os.access(path, os.X_OK) and path.is_file():
            return str(path)
    found = shutil.which(name)
    if found:
        return found
    places = ", ".join(str(folder) for folder in dict.fromkeys(_folders()))
    raise FileNotFoundError(f"{name} is neither in {places} nor in PATH; the wheel of tony brings it (docs/install.md)")
