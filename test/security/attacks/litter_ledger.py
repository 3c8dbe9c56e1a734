"""litter_ledger.py FOLDER: whatever a user can do to the shared ledger: garbage, FIFOs, links and huge files in it, copies of
others' entries, a flood of files in his own and in another's name, and every lock that he can get on what is there."""

import fcntl
import os
import signal
import struct
import sys
import threading

FLOOD = 10000

folder = sys.argv[1]
os.chdir(folder)
others = [name for name in os.listdir(".") if name.endswith(".job")]
uid = os.stat(others[0]).st_uid
entry = open(others[0], "rb").read()
numbers = iter(range(FLOOD))  # before those of honest entries


def own():
    return f"{os.getuid()}-{next(numbers):016x}.job"


def put(name, text, keep=True):
    file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    os.write(file, text)
    if keep:  # as tony does it: it looks alive
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))


put(own(), b"\0\xff{[" * 4096)
put(f"{uid}-0000000000000000.job", b"not the owner's\n")
put(own(), entry, keep=False)
put(own(), entry.replace(b'"gpus":["0"]', b'"gpus":["0","1"]'))
os.mkfifo(own())
os.symlink("/dev/zero", own())
os.mkdir(own())
os.truncate(os.open(own(), os.O_RDWR | os.O_CREAT, 0o644), 1 << 40)
leased = os.open(own(), os.O_RDWR | os.O_CREAT, 0o644)
signal.signal(signal.SIGIO, signal.SIG_IGN)
fcntl.fcntl(leased, fcntl.F_SETLEASE, fcntl.F_WRLCK)
lock = struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 0, 0)
for name in others:  # the lock for reading is his as soon as the owner's job has ended
    file = os.open(name, os.O_RDONLY)
    fcntl.flock(file, fcntl.LOCK_EX)
    threading.Thread(target=fcntl.fcntl, args=(file, fcntl.F_OFD_SETLKW, lock)).start()
for number in numbers:
    for name in (f"{os.getuid()}-{number:016x}.job", f"{uid}-{number:016x}.job"):
        os.close(os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644))
print("littered")
signal.pause()
