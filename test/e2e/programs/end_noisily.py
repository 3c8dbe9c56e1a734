"""Fails for want of a module; what it prints on its way out, as its argument says, is not the reason."""

import atexit
import logging
import subprocess
import sys
import threading


class Late:
    def __del__(self):
        raise OSError("late")

    def write(self, text):
        raise OSError("late")


def fail_late():
    raise OSError("late")


def log_late():
    log = logging.getLogger("late")
    log.addHandler(logging.StreamHandler(Late()))
    log.error("late")


how = sys.argv[1]
if how == "wrapped":
    subprocess.run([sys.executable, __file__, "atexit"], check=True)
elif how == "atexit":
    atexit.register(fail_late)
elif how == "thread":
    atexit.register(lambda: (thread := threading.Thread(target=fail_late), thread.start(), thread.join()))
elif how == "logging":
    atexit.register(log_late)
elif how == "ignored":
    late = Late()
import no_such_module  # noqa: E402, F401
