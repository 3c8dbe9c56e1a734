"""Opens what this user or root has made, where other users may have put something in its place: by no symbolic link on the way.

The place itself may be a link of this user's, as where results were moved elsewhere."""

from __future__ import annotations

import contextlib
import errno
import grp
import os
import pwd
import stat
from pathlib import Path
from typing import IO, Iterator, List, Optional

from tony._errors import Denied

DENIED = 6  # the exit code of `tony`
LINKS_MAX = 40  # as the kernel counts them
FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def _others_may_write(file: int) -> bool:
    """Than its owner and his private group. With an ACL the group's bits are those of others, too."""
    found = os.fstat(file)
    if not found.st_mode & 0o020:
        return bool(found.st_mode & 0o002)
    try:
        owner, group = pwd.getpwuid(found.st_uid), grp.getgrgid(found.st_gid)
    except KeyError:
        return True
    is_private = owner.pw_gid == group.gr_gid and group.gr_name == owner.pw_name and set(group.gr_mem) <= {owner.pw_name}
    with contextlib.suppress(OSError):
        os.getxattr(f"/proc/self/fd/{file}", "system.posix_acl_access")
        return True
    return not is_private or bool(found.st_mode & 0o002)


def _follow(place: Path) -> Path:
    """Where links of this user's or root's lead, in directories where nobody else can replace them."""
    for _ in range(LINKS_MAX):
        with contextlib.ExitStack() as stack:
            above = os.open(place.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, above)
            link, directory = os.stat(place.name, dir_fd=above, follow_symlinks=False), os.fstat(above)
            if not stat.S_ISLNK(link.st_mode):
                return place
            trusted = (os.geteuid(), 0)
            is_open = _others_may_write(above) and not directory.st_mode & stat.S_ISVTX
            if link.st_uid not in trusted or directory.st_uid not in trusted or is_open:
                raise Denied(f"{place} is a symbolic link of uid {link.st_uid}, which other users can replace; nothing is read: "
                             "remove the link, and move the results back", DENIED)
            place = place.parent / os.readlink(place.name, dir_fd=above)
    return place


def _check(file: int, path: Path) -> None:
    found = os.fstat(file)
    if found.st_uid not in (os.geteuid(), 0):
        raise Denied(f"{path} belongs to uid {found.st_uid}, who could have written what is read there; nothing is read", DENIED)
    if found.st_uid == 0 != os.geteuid() and _others_may_write(file):
        raise Denied(f"{path} is root's, and others may write to it (mode {stat.S_IMODE(found.st_mode):04o}); nothing is read", DENIED)


@contextlib.contextmanager
def _opened(path: Path, name: str, kind: int, at: Optional[int]) -> Iterator[int]:
    """`kind`: O_DIRECTORY, or 0 for a regular file."""
    try:
        file = os.open(name, FLAGS | kind, dir_fd=at)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR, errno.EACCES, errno.ENXIO):
            raise
        owner = os.stat(name, dir_fd=at, follow_symlinks=False).st_uid
        what = "directory" if kind else "file"
        raise Denied(f"{path} is no {what} of this user's that can be read, but belongs to uid {owner}; nothing is read", DENIED) from None
    try:
        _check(file, path)
        if not kind and not stat.S_ISREG(os.fstat(file).st_mode):
            raise Denied(f"{path} is no regular file; nothing is read", DENIED)
        yield file
    finally:
        os.close(file)


@contextlib.contextmanager
def _directory(place: Path, parts: List[str]) -> Iterator[int]:
    with contextlib.ExitStack() as stack:
        at = stack.enter_context(_opened(place, str(_follow(place)), os.O_DIRECTORY, None))
        for part in parts:
            place = place / part
            at = stack.enter_context(_opened(place, part, os.O_DIRECTORY, at))
        yield at


def list_directory(place: Path, *parts: str) -> List[str]:
    """Of the directory `parts` below `place`: the names in it; none where it is not there."""
    try:
        with _directory(place, list(parts)) as at:
            return sorted(os.listdir(at))
    except FileNotFoundError:
        return []


@contextlib.contextmanager
def open_file(place: Path, *parts: str) -> Iterator[IO[bytes]]:
    """The file `parts` below `place`. Denied: it, or a directory on the way, is another user's, or root's for others to write to."""
    path = place.joinpath(*parts)
    with _directory(place, list(parts[:-1])) as at, _opened(path, parts[-1], 0, at) as file, open(file, "rb", closefd=False) as stream:
        yield stream
