"""Leaves processes behind in every way there is, then sleeps: a child, one in a session of its own,
a double-forked daemon without its parent, and one that ignores SIGTERM."""
import os
import signal
import sys
import time


def sleep_forever():
    while True:
        time.sleep(3600)


def daemon():
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2):
            os.close(fd)
        os.chdir("/")
        sleep_forever()
    os._exit(0)


def stubborn():
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleep_forever()


def main():
    for life in (sleep_forever, daemon, stubborn):
        if os.fork() == 0:
            life()
    print("left", flush=True)
    if "--exit" in sys.argv:
        sys.exit(0)
    sleep_forever()


main()
