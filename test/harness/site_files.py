"""Site files of a cluster where machines have them, for one process and its children."""

import os

AS_ROOT = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
# A tmpfs in place of /etc, with links to all that is there, but for one folder.
SCRIPT = """mkdir -p "$0" && mount --rbind /etc "$0" && mount -t tmpfs none /etc && ln -s "$0"/* /etc/ && rm -f /etc/hadoop &&
mkdir /etc/hadoop && ln -s "$1" /etc/hadoop/conf && shift && exec "$@"
"""


def as_system_files(scratch, conf):
    """A command in front of another one, which finds `conf` as /etc/hadoop/conf. `scratch` is a directory to be made."""
    return ["unshare", *AS_ROOT, "--mount", "sh", "-c", SCRIPT, str(scratch), str(conf)]
