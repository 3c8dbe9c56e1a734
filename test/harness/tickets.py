"""A Kerberos ticket as a client shows it to a web server, bound to a connection or to none (MIT Kerberos, RFC 5929)."""

import base64
import ctypes
import hashlib
import ssl
import subprocess
import sys
from pathlib import Path


class Buffer(ctypes.Structure):
    _fields_ = [("length", ctypes.c_size_t), ("value", ctypes.c_void_p)]


def buffer_of(data):
    return Buffer(len(data), ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p))    # `data` is the caller's


class Oid(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint32), ("elements", ctypes.c_char_p)]


class Bindings(ctypes.Structure):
    _fields_ = [("client_type", ctypes.c_uint32), ("client", Buffer), ("service_type", ctypes.c_uint32), ("service", Buffer),
                ("data", Buffer)]


SPNEGO = b"\x2b\x06\x01\x05\x05\x02"
HOST_BASED_SERVICE = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04"


def end_point(certificate):
    """Of the server whose certificate is in this file, signed with SHA-256."""
    der = ssl.PEM_cert_to_DER_cert(Path(certificate).read_text())
    return b"tls-server-end-point:" + hashlib.sha256(der).digest()


def make_token(host, binding):
    """In the environment's ticket cache; `binding` is empty for none."""
    library = ctypes.CDLL("libgssapi_krb5.so.2")
    minor, name, context, out = ctypes.c_uint32(), ctypes.c_void_p(), ctypes.c_void_p(), Buffer()
    service = f"HTTP@{host}".encode()
    kind, mechanism = Oid(len(HOST_BASED_SERVICE), HOST_BASED_SERVICE), Oid(len(SPNEGO), SPNEGO)
    bindings = Bindings(data=buffer_of(binding))
    by = ctypes.byref
    assert library.gss_import_name(by(minor), by(buffer_of(service)), by(kind), by(name)) == 0
    major = library.gss_init_sec_context(by(minor), None, by(context), name, by(mechanism), 0, 0,
                                         by(bindings) if binding else None, None, None, by(out), None, None)
    assert major in (0, 1), (major, minor.value)
    return ctypes.string_at(out.value, out.length)


def show_ticket(env, host, binding=b""):
    """The header of a request, of the user whose ticket `env` names; in a process of its own, which has that environment."""
    made = subprocess.run([sys.executable, __file__, host, binding.hex()], env=env, capture_output=True, text=True, check=True)
    return f"Authorization: Negotiate {made.stdout.strip()}"


if __name__ == "__main__":
    print(base64.b64encode(make_token(sys.argv[1], bytes.fromhex(sys.argv[2]))).decode())
