"""The tarball: a folder with bin, share and lib, to be unpacked anywhere."""

import gzip
import io
import tarfile

from programs import version

README = """tony {version} for Linux on {architecture}. Nothing else has to be installed.

Unpack it where you like, and put its bin into PATH; tony and tony-agent have to stay beside each other:

    tar -xf tony-{version}-linux-{architecture}.tar.gz -C ~/.local --strip-components=1    # what is in bin, share and lib
    tony version

For all users of a machine, as root, with the folder by which their jobs see what the others hold:

    tar -xf tony-{version}-linux-{architecture}.tar.gz -C /usr/local --strip-components=1
    install -d -m 1777 -o root -g root /var/lib/tony/ledger

An upgrade is the same once more: jobs that run go on with the programs that they were started with. docs/install.md says more.
"""


def add(archive, name, mode, data):
    item = tarfile.TarInfo(name)
    item.mode, item.size = mode, len(data)
    item.uname = item.gname = "root"
    archive.addfile(item, io.BytesIO(data))


def make(folder, architecture, files):
    """`files`: {path below the folder: (mode, bytes)}."""
    top = f"tony-{version()}-linux-{architecture}"
    path = folder / f"{top}.tar.gz"
    # No date, no owner: the same content is the same file.
    with open(path, "wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed, \
            tarfile.open(mode="w", fileobj=packed, format=tarfile.GNU_FORMAT) as archive:
        add(archive, f"{top}/share/doc/tony/README", 0o644, README.format(version=version(), architecture=architecture).encode())
        for name, (mode, data) in sorted(files.items()):
            add(archive, f"{top}/{name}", mode, data)
    return path
