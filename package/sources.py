"""The source packages of the libraries, from the same Debian that the machine's own packages come from."""

import re
import shutil
import subprocess
import sys

from toolchain import CACHE, run

NAMES = ("zlib", "bzip2", "xz-utils", "libzstd", "openssl", "libevent", "jansson", "protobuf-c", "sqlite3", "expat", "libyaml", "libarchive",
         "keyutils", "krb5")


class Sources:
    """`versions` by name, and `folder`, which holds them unpacked. The machine's own lists are left as they are."""

    def __init__(self):
        self.apt = CACHE / "apt"
        self.folder = CACHE / "sources"
        for name in ("lists/partial", "cache", "down"):
            (self.apt / name).mkdir(parents=True, exist_ok=True)
        self.folder.mkdir(exist_ok=True)
        self.versions = {}
        for name in NAMES:
            have = self.folder / f"{name}.version"
            if have.exists():
                self.versions[name] = have.read_text().strip()
        if len(self.versions) < len(NAMES):
            self.fetch()

    def options(self):
        return ["-o", f"Dir::Etc::sourcelist={self.apt}/sources.list", "-o", "Dir::Etc::sourceparts=/dev/null",
                "-o", f"Dir::State::lists={self.apt}/lists", "-o", f"Dir::Cache={self.apt}/cache", "-o", "APT::Sandbox::User=root"]

    def fetch(self):
        form = "deb-src $(REPO_URI) $(CODENAME) $(COMPONENT)"
        lines = run("apt-get", "indextargets", "--format", form, "Created-By: Packages", "Origin: Debian", "Component: main")
        if not lines:
            sys.exit("package: apt-get knows no packages of Debian's here; run ./dev deps first")
        (self.apt / "sources.list").write_text(lines)
        print("source packages of Debian", flush=True)
        run("apt-get", *self.options(), "update", "-q")
        for name in NAMES:
            if name not in self.versions:
                self.fetch_one(name)

    def known_versions(self, name):
        """The newest first."""
        said = run("apt-cache", *self.options(), "showsrc", "--only-source", name)
        versions = list(dict.fromkeys(re.findall(r"^Version: (\S+)$", said, re.MULTILINE)))
        ordered = []
        for version in versions:
            place = 0
            while place < len(ordered) and subprocess.run(["dpkg", "--compare-versions", version, "lt", ordered[place]], check=False).returncode == 0:
                place += 1
            ordered.insert(place, version)
        return ordered

    def fetch_one(self, name):
        """A mirror may list a version that it does not have yet: the one before it will do, and is told."""
        for version in self.known_versions(name):
            command = ["apt-get", *self.options(), "source", "-q", "--download-only", f"{name}={version}"]
            done = subprocess.run(command, cwd=self.apt / "down", capture_output=True, text=True, check=False)
            if done.returncode == 0:
                break
            print(f"  {name} {version} cannot be had; the version before it is asked for", flush=True)
        else:
            sys.exit(f"package: {name}: no version of its source can be had:\n{done.stderr}")
        shutil.rmtree(self.folder / name, ignore_errors=True)
        description, = (self.apt / "down").glob(f"{name}_{re.sub('^[0-9]+:', '', version)}.dsc")
        run("dpkg-source", "--no-check", "-x", description, self.folder / name)
        (self.folder / f"{name}.version").write_text(version + "\n")
        self.versions[name] = version
