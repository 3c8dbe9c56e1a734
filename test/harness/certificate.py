"""Certificates that are made for one test: each is its own authority."""

import subprocess
from pathlib import Path

from patience import PATIENCE_S


def make_certificate(directory, name="certificate", kind="ec", names="IP:127.0.0.1,DNS:localhost", days=30):
    """(certificate, key): two files in PEM."""
    certificate, key = Path(directory) / f"{name}.pem", Path(directory) / f"{name}.key"
    kinds = {"ec": ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"], "rsa": ["rsa:2048"], "weak": ["rsa:1024"]}
    subprocess.run(["openssl", "req", "-x509", "-newkey", *kinds[kind], "-nodes", "-days", str(days), "-subj", f"/CN={name}",
                    "-addext", f"subjectAltName={names}", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True, timeout=PATIENCE_S)
    return certificate, key
