"""tony in a terminal: a test reads what a user sees, and types what a user types."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from patience import PATIENCE_S, wait_until
from program import BUILD, hear_signals


class Terminal:
    """`tony ARGUMENTS` as the foreground process of a terminal of so many columns. It is ended with the test."""

    def __init__(self, tony, *arguments, columns=80, cwd=None):
        self.master, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.child = subprocess.Popen([BUILD / "tony", *map(str, arguments)], stdin=terminal, stdout=terminal,
                                      stderr=terminal, cwd=cwd or tony.directory, start_new_session=True,
                                      env={**tony.env, "TERM": "xterm"}, preexec_fn=self.take)
        tony.children.append(self.child)
        os.close(terminal)
        os.set_blocking(self.master, False)
        self.bytes, self.text = b"", ""

    @staticmethod
    def take():
        hear_signals()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def read(self):
        """Adds what came to `text`, without colours; False: no process has the terminal any more."""
        while True:
            try:
                self.bytes += os.read(self.master, 65536)
            except BlockingIOError:
                return True
            except OSError:
                return False
            self.text = re.sub(r"\x1b\[\d*m", "", self.bytes.decode(errors="replace")).replace("\r\n", "\n")

    def wait_text(self, words):
        wait_until(lambda: not self.read() or words in self.text, f"{words!r} in a terminal")
        assert words in self.text

    def type(self, text):
        os.write(self.master, text.encode())

    def hang_up(self):
        """Closes the terminal, as a lost connection does; the exit code."""
        os.close(self.master)
        return self.child.wait(timeout=PATIENCE_S)

    def finish(self):
        """Reads to the end; the exit code."""
        wait_until(lambda: not self.read(), "the end of what is in a terminal")
        return self.hang_up()
