"""tony runs distributed machine-learning jobs. The wheel has its two programs, and this package finds them.

    import subprocess, tony
    subprocess.run([tony.find_program(), "submit", "--", "python3", "train.py"], check=True)

`python -m tony` is the program `tony`.
"""

from tony._program import find_program
from tony._version import __version__

__all__ = ["__version__", "find_program"]
