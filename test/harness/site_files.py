"""Files of a machine's administrator where machines have them, for one process and its children."""

import os

AS_ROOT = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
# A tmpfs in place of /etc, with links to all that is there, but for one folder.
SCRIPT = """mkdir -p "$0" && mount --rbind /etc "$0" && mount -t tmpfs none /etc && ln -s "$0"/* /etc/ && rm -f "/etc/${1%%/*}" &&
mkdir -p "$(dirname "/etc/$1")" && ln -s "$2" "/etc/$1" && shift 2 && exec "$@"
"""


def as_files_of(scratch, name, directory):
    """A command in front of another one, which finds `directory` as /etc/NAME. `scratch` is a directory to be made."""
    return ["unshare", *AS_ROOT, "--mount", "sh", "-c", SCRIPT, str(scratch), name, str(directory)]


def as_system_files(scratch, conf):
    """The site files of a cluster."""
    return as_files_of(scratch, "hadoop/conf", conf)
