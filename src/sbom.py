"""The bill of materials of the two programs, as SPDX 2.3 in JSON: sbom.py BUILD SOURCE OUTPUT.

The linker itself says which files of other packages it takes into a program. Debian's packages of these say what they are of and
in which version, web/package-lock.json which version of uPlot web/vendor has. A package that is not in LICENCES fails: look its licence
up in /usr/share/doc/PACKAGE/copyright, and add it.
"""

import base64
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import urllib.parse
from datetime import datetime, timezone
from pathlib import Path

PROGRAMS = ("tony", "tony-agent")
# By Debian's name of the source package.
LICENCES = {
    "expat": "MIT", "gcc": "GPL-3.0-or-later WITH GCC-exception-3.1", "glibc": "LGPL-2.1-or-later", "jansson": "MIT",
    "libevent": "BSD-3-Clause", "libyaml": "MIT", "openssl": "Apache-2.0", "protobuf-c": "BSD-2-Clause", "sqlite3": "blessing",
    "zlib": "Zlib",
}


def linked_files(build, program):
    """The files that the linker takes into the program, but for those that the build has made itself."""
    commands = subprocess.run(["ninja", "-C", build, "-t", "commands", program], check=True, capture_output=True, text=True)
    command = commands.stdout.splitlines()[-1].replace(f" -o {program} ", " -o /dev/null ")
    said = subprocess.run([*shlex.split(command.split(" && ")[-1]), "-Wl,-t,-t"], cwd=build, check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout
    found = {match[1] for match in re.finditer(r"^\(?(/[^()\s]+)", said, re.MULTILINE)}
    return {os.path.realpath(path) for path in found if Path(path).resolve().is_relative_to("/usr")}


def owner_of(path):
    """Debian's package of a file. Debian lists a file that moved to /usr where it was."""
    for name in (path, path.removeprefix("/usr")):
        found = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.split(": ")[0]
    sys.exit(f"sbom.py: {path}: of no package of Debian's; link a library that is of one")


def describe_debian(package):
    form = "${Package}\\n${Version}\\n${source:Package}\\n${source:Version}\\n${Homepage}"
    name, version, source, source_version, homepage = subprocess.run(
        ["dpkg-query", "-W", "-f", form, package], check=True, capture_output=True, text=True).stdout.split("\n")
    known = re.sub(r"^gcc-\d+$", "gcc", source)
    if known not in LICENCES:
        sys.exit(f"sbom.py: {source}: its licence is not known here; add it to LICENCES")
    return {
        "name": name, "versionInfo": version, "licenseDeclared": LICENCES[known], "licenseConcluded": LICENCES[known],
        "supplier": "Organization: Debian",
        "downloadLocation": f"https://snapshot.debian.org/package/{source}/{source_version}/", "homepage": homepage or "NOASSERTION",
        "sourceInfo": f"built by Debian from the source package {source} {source_version}",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:deb/debian/{name}@{urllib.parse.quote(version)}"}],
    }


def describe_npm(name, row):
    kind, _, digest = row["integrity"].partition("-")
    return {
        "name": name, "versionInfo": row["version"], "licenseDeclared": row["license"], "licenseConcluded": row["license"],
        "supplier": "Organization: npm", "homepage": "NOASSERTION",
        "downloadLocation": f"https://registry.npmjs.org/{name}/-/{name}-{row['version']}.tgz",
        "sourceInfo": "embedded in the dashboard's pages",
        "checksums": [{"algorithm": kind.upper(), "checksumValue": base64.b64decode(digest).hex()}],
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:npm/{name}@{row['version']}"}],
    }


def complete(package):
    """The members that every package has."""
    name = re.sub(r"[^A-Za-z0-9.-]", "-", package["name"])
    return {"SPDXID": f"SPDXRef-{name}", "filesAnalyzed": False, "copyrightText": "NOASSERTION", **package}


def relate(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def main():
    build, source, output = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
    version = re.search(r"version: '([^']+)'", (source / "meson.build").read_text())[1]
    lock = json.loads((source / "web/package-lock.json").read_text())["packages"]
    vendored = [complete(describe_npm(path.removeprefix("node_modules/"), row)) for path, row in lock.items() if path]
    packages, relations = {package["SPDXID"]: package for package in vendored}, []
    for program in PROGRAMS:
        own = complete({"name": program, "versionInfo": version, "licenseDeclared": "Apache-2.0", "licenseConcluded": "Apache-2.0",
                        "supplier": "NOASSERTION", "downloadLocation": "NOASSERTION", "primaryPackagePurpose": "APPLICATION"})
        packages[own["SPDXID"]] = own
        relations.append(relate("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"]))
        relations += [relate(own["SPDXID"], "CONTAINS", package["SPDXID"]) for package in vendored]
        owners = {}
        for path in sorted(linked_files(build, program)):
            owners.setdefault(owner_of(path), []).append(path)
        for owner, files in sorted(owners.items()):
            package = complete(describe_debian(owner))
            packages[package["SPDXID"]] = package
            is_shared = all(".so" in Path(path).name for path in files)
            relations.append(relate(own["SPDXID"], "DYNAMIC_LINK" if is_shared else "STATIC_LINK", package["SPDXID"]))
    body = {"packages": [packages[key] for key in sorted(packages)], "relationships": relations}
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", 0)) or int(datetime.now(timezone.utc).timestamp())
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"tony-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/tony-{version}-{digest}",
        "creationInfo": {"created": datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": [f"Tool: tony-sbom-{version}"]},
        **body,
    }
    output.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
