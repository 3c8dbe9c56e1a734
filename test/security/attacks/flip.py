"""Makes `flip.py PATH TARGET` a directory and a symbolic link to TARGET in turn, as fast as the kernel does it."""

import ctypes
import os
import sys

AT_FDCWD, RENAME_EXCHANGE = -100, 2

path, target = sys.argv[1:]
other = f"{path}.other"
os.umask(0)
os.mkdir(path, 0o777)
os.symlink(target, other)
renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
print("flipping", flush=True)
while True:
    if renameat2(AT_FDCWD, path.encode(), AT_FDCWD, other.encode(), RENAME_EXCHANGE) < 0:
        sys.exit(os.strerror(ctypes.get_errno()))
