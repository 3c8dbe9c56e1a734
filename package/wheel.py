"""The wheel: both programs where pip puts programs, and the package `tony`. It is for any Python and any C library, so it has the
tags of manylinux and of musllinux."""

import base64
import hashlib
import zipfile

from programs import ROOT, version

TAGS = {
    "x86_64": ("manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"),
    "aarch64": ("manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"),
}
METADATA = """Metadata-Version: 2.1
Name: tony
Version: {version}
Summary: Runs distributed machine-learning jobs on one machine and on YARN
License: Apache-2.0
Classifier: Environment :: Console
Classifier: Framework :: Apache Airflow :: Provider
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Requires-Python: >=3.8
Provides-Extra: data
Requires-Dist: fsspec; extra == "data"
Requires-Dist: numpy; extra == "data"
Requires-Dist: pyarrow>=14; extra == "data"
Requires-Dist: fastavro; extra == "data"
Requires-Dist: cramjam; extra == "data"
Provides-Extra: optuna
Requires-Dist: optuna>=3; extra == "optuna"
Description-Content-Type: text/markdown

{readme}"""
# Airflow and fsspec ask every installed package.
ENTRY_POINTS = """[apache_airflow_provider]
provider_info = tony._provider:get_provider_info

[fsspec.specs]
tony+hdfs = tony._files:HdfsFileSystem
"""
WHEEL = """Wheel-Version: 1.0
Generator: tony package
Root-Is-Purelib: false
{tags}"""


def describe(name, data):
    code = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={code},{len(data)}\n"


def entries(architecture, programs, notices):
    """{path in the wheel: (mode, bytes)}. `notices` are paths of licences and the bill of materials."""
    info = f"tony-{version()}.dist-info"
    found = {}
    for path in sorted((ROOT / "python/tony").rglob("*")):
        if path.suffix == ".py" or path.name == "py.typed":
            found[str(path.relative_to(ROOT / "python"))] = (0o644, path.read_bytes())
    found["tony/_version.py"] = (0o644, f'__version__ = "{version()}"\n'.encode())
    for path in programs:
        found[f"tony-{version()}.data/scripts/{path.name}"] = (0o755, path.read_bytes())
    metadata = METADATA.format(version=version(), readme=(ROOT / "python/README.md").read_text())
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in TAGS[architecture])
    for path in notices:
        folder = "sboms" if path.name.endswith(".spdx.json") else "licenses"
        found[f"{info}/{folder}/{path.name}"] = (0o644, path.read_bytes())
    found[f"{info}/METADATA"] = (0o644, metadata.encode())
    found[f"{info}/entry_points.txt"] = (0o644, ENTRY_POINTS.encode())
    found[f"{info}/WHEEL"] = (0o644, WHEEL.format(tags=tags).encode())
    record = "".join(describe(name, data) for name, (_, data) in found.items())
    found[f"{info}/RECORD"] = (0o644, f"{record}{info}/RECORD,,\n".encode())
    return found


def make(folder, architecture, programs, notices):
    path = folder / f"tony-{version()}-py3-none-{'.'.join(TAGS[architecture])}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (mode, data) in entries(architecture, programs, notices).items():
            # One date, so that the same content is the same file.
            item = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            item.external_attr = (0o100000 | mode) << 16
            item.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(item, data)
    return path
