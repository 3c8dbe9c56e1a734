"""A package of static programs tells of all that is in them: a bill of materials (SPDX 2.3), and each part's licence."""

import hashlib
import importlib.util
import json

from programs import ROOT, version
from toolchain import run

_spec = importlib.util.spec_from_file_location("sbom", ROOT / "src/sbom.py")
sbom = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sbom)

# By the name of the source package: its licence, as far as src/sbom.py does not know it.
LICENCES = {**sbom.LICENCES, "bzip2": "bzip2-1.0.6", "keyutils": "LGPL-2.0-or-later", "krb5": "MIT", "libarchive": "BSD-2-Clause",
            "libzstd": "BSD-3-Clause", "protobuf-c": "BSD-2-Clause", "xz-utils": "NOASSERTION"}
AGENT = ("expat", "jansson", "libevent", "openssl", "protobuf-c", "zlib")


def describe_source(name, source_version):
    return sbom.complete({
        "name": name, "versionInfo": source_version, "licenseDeclared": LICENCES[name], "licenseConcluded": LICENCES[name],
        "supplier": "Organization: Debian", "homepage": "NOASSERTION",
        "downloadLocation": f"https://snapshot.debian.org/package/{name}/{source_version}/",
        "sourceInfo": f"built from Debian's source package {name} {source_version} by package/libraries.sh of tony"
                      + ("; in the public domain" if name == "xz-utils" else "")})


def describe_musl(toolchain):
    zig = run(toolchain.bin / "python-zig", "version").strip()
    return sbom.complete({
        "name": "musl", "versionInfo": f"of zig {zig}", "licenseDeclared": "MIT", "licenseConcluded": "MIT", "supplier": "NOASSERTION",
        "homepage": "https://musl.libc.org/", "downloadLocation": f"https://pypi.org/project/ziglang/{zig}/",
        "sourceInfo": f"with compiler-rt, as zig {zig} brings both"})


def bill(toolchain, sources):
    own = {name: sbom.complete({"name": name, "versionInfo": version(), "licenseDeclared": "Apache-2.0", "licenseConcluded": "Apache-2.0",
                                "supplier": "NOASSERTION", "downloadLocation": "NOASSERTION", "primaryPackagePurpose": "APPLICATION"})
           for name in sbom.PROGRAMS}
    lock = json.loads((ROOT / "web/package-lock.json").read_text())["packages"]
    web = [sbom.complete(sbom.describe_npm(path.removeprefix("node_modules/"), row)) for path, row in lock.items() if path]
    linked = [describe_source(name, sources.versions[name]) for name in sorted(sources.versions)]
    musl = describe_musl(toolchain)
    relations = [sbom.relate("SPDXRef-DOCUMENT", "DESCRIBES", package["SPDXID"]) for package in own.values()]
    for program, package in own.items():
        relations += [sbom.relate(package["SPDXID"], "CONTAINS", other["SPDXID"]) for other in web]
        relations += [sbom.relate(package["SPDXID"], "STATIC_LINK", other["SPDXID"]) for other in [*linked, musl]
                      if program == "tony" or other is musl or other["name"] in AGENT]
    body = {"packages": [*own.values(), *linked, musl, *web], "relationships": relations}
    key = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"tony-{version()}",
            "documentNamespace": f"https://spdx.org/spdxdocs/tony-{version()}-{key}",
            "creationInfo": {"created": "1980-01-01T00:00:00Z", "creators": [f"Tool: tony-package-{version()}"]}, **body}


def licences(toolchain, sources):
    """One text for all parts."""
    zig = next((toolchain.folder / "lib").glob("python*/site-packages/ziglang"))
    texts = {name: (sources.folder / name / "debian/copyright") for name in sorted(sources.versions)}
    texts |= {"musl": zig / "lib/libc/musl/COPYRIGHT", "zig's compiler-rt": zig / "LICENSE", "uPlot": ROOT / "web/vendor/uPlot.LICENSE.txt"}
    parts = ["tony is under the Apache License 2.0 (LICENSE). Its two programs contain parts of the following, under their own licences. "
             "sbom.spdx.json has their versions, from which their sources can be had.\n"]
    for name, path in texts.items():
        if path.exists():
            text = path.read_text(encoding="utf-8", errors="replace")
            parts.append(f"{'=' * 100}\n{name}\n{'=' * 100}\n\n{text.strip()}\n")
    return "\n".join(parts)


def write(folder, toolchain, sources):
    """The paths of LICENSE, LICENSES and the bill."""
    paths = [folder / "LICENSE", folder / "LICENSES", folder / "sbom.spdx.json"]
    texts = ((ROOT / "LICENSE").read_text(), licences(toolchain, sources), json.dumps(bill(toolchain, sources), indent=1) + "\n")
    for path, text in zip(paths, texts):
        path.write_text(text)
    return paths
