"""The bill of materials names what is in the two programs: their own bytes say so, and Debian's list of packages."""

import json
import re
import subprocess

import pytest
from conftest import BUILD, PYTHON, ROOT

# Texts of libraries with their versions, as they stand in a program that the library is in.
MARKS = {"zlib1g-dev": rb"inflate (\d[\d.]+) Copyright", "libexpat1-dev": rb"expat_(\d[\d.]+)", "libevent-dev": rb"(2\.\d+\.\d+)-stable"}
# Texts without.
SIGNS = {"libsqlite3-dev": b"SQLite format 3", "libssl-dev": b"TLS_AES_128_GCM_SHA256", "libyaml-dev": b"did not find expected <document start>"}
PACKAGE = {"SPDXID", "name", "versionInfo", "downloadLocation", "filesAnalyzed", "licenseConcluded", "licenseDeclared", "copyrightText",
           "supplier"}


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    output = tmp_path_factory.mktemp("sbom") / "sbom.spdx.json"
    subprocess.run([PYTHON, ROOT / "src/sbom.py", BUILD, ROOT, output], check=True)
    return json.loads(output.read_text())


def linked(document, program, kinds=("STATIC_LINK", "CONTAINS")):
    return {row["relatedSpdxElement"].removeprefix("SPDXRef-") for row in document["relationships"]
            if row["spdxElementId"] == f"SPDXRef-{program}" and row["relationshipType"] in kinds}


def test_the_document_is_spdx(document):
    assert (document["spdxVersion"], document["dataLicense"], document["SPDXID"]) == ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT")
    assert re.fullmatch(r"\d{4}(-\d\d){2}T\d\d(:\d\d){2}Z", document["creationInfo"]["created"])
    assert document["creationInfo"]["creators"] and document["documentNamespace"].startswith("https://")
    identifiers = [package["SPDXID"] for package in document["packages"]]
    assert len(set(identifiers)) == len(identifiers) and all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name) for name in identifiers)
    for package in document["packages"]:
        assert PACKAGE <= package.keys(), package
    for row in document["relationships"]:
        assert {row["spdxElementId"], row["relatedSpdxElement"]} <= {*identifiers, "SPDXRef-DOCUMENT"}, row


def test_versions_are_those_of_the_machine(document):
    for package in document["packages"]:
        if package["supplier"] == "Organization: Debian":
            installed = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\n", package["name"]], check=True, capture_output=True, text=True)
            assert package["versionInfo"] in installed.stdout.split(), package


@pytest.mark.parametrize("program", ["tony", "tony-agent"])
def test_each_library_in_a_program_is_named(document, program):
    data = (BUILD / program).read_bytes()
    packages = {package["name"]: package for package in document["packages"]}
    named = linked(document, program)
    for name, mark in MARKS.items():
        version = re.search(mark, data)[1].decode()
        assert name in named and packages[name]["versionInfo"].removeprefix("1:").startswith(version), (name, version)
    assert {name for name in SIGNS if name in named} == {name for name, sign in SIGNS.items() if sign in data}
    assert {"libc6-dev", "libjansson-dev", "libprotobuf-c-dev", "uplot"} <= named
