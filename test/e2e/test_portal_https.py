"""The portal speaks HTTPS: with a certificate of the user's or the site's, for links, cookies and programs' pages."""

import contextlib
import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
import urllib.parse

import pytest
from certificate import make_certificate
from conftest import PYTHON, write_xml
from patience import PATIENCE_S, wait_until
from portal import Portal

TENSORBOARD = """#!{python}
import http.server, sys
port = int(sys.argv[sys.argv.index("--port") + 1])
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"a board")
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", port), Page).serve_forever()
"""
PASSWORD = "a portal's own"


@pytest.fixture(name="own")
def own_fixture(tony):
    return make_certificate(tony.directory)


@pytest.fixture(name="serve")
def serve_fixture(tony):
    portals = []

    def serve(*options, trusted):
        portals.append(Portal(tony, *options, trusted=trusted))
        return portals[-1]
    yield serve
    for portal in portals:
        portal.stop()


def pkcs12(directory, certificate, key):
    path = directory / "portal.p12"
    subprocess.run(["openssl", "pkcs12", "-export", "-in", certificate, "-inkey", key, "-out", path, "-passout", f"pass:{PASSWORD}"],
                   check=True, capture_output=True)
    path.chmod(0o600)
    return path


def shown(portal):
    """The certificate that it shows."""
    return ssl.get_server_certificate(tuple(re.search(r"//(.*):(\d+)/", portal.url).groups()))


def with_cookie(portal, path, cookie):
    return portal.call(path, headers={"Cookie": cookie, "Sec-Fetch-Site": "none"})


@pytest.mark.promise("S95")
def test_links_cookies_and_programs_pages_are_of_https(tony, own, serve):
    certificate, key = own
    board = tony.directory / "tensorboard"
    board.write_text(TENSORBOARD.format(python=PYTHON))
    board.chmod(0o755)
    portal = serve("--certificate", certificate, "--key", key, "--tensorboard", board, trusted=certificate)
    assert portal.url.startswith("https://127.0.0.1:") and portal.link.startswith(f"{portal.url}login?code=")
    assert portal.ask_link().startswith(f"{portal.url}login?code=")
    _, job = tony.job({"tony.application.tensorboard-log-dir": tony.directory}, "--executes", "true")
    portal.wait_kept(job, "succeeded")
    status, _, headers = portal.call(portal.link, headers={})
    cookie, *marks = headers["Set-Cookie"].split("; ")
    assert status == 303 and {"Secure", "HttpOnly"} <= set(marks)
    status, body, _ = with_cookie(portal, "v1/jobs", cookie)
    assert status == 200 and json.loads(body)["jobs"][0]["id"] == job.id
    assert portal.call(f"v1/jobs/{job.id}/tensorboard", "PUT")[0] == 200
    wait_until(lambda: portal.get(f"v1/jobs/{job.id}/tensorboard")["state"] == "running", "TensorBoard")
    status, _, headers = with_cookie(portal, f"ui/{job.id}/tensorboard/", cookie)
    door = headers["Location"]
    assert status == 303 and door.startswith("https://127.0.0.1:") and not door.startswith(portal.url)
    status, _, headers = portal.call(door, headers={})
    cookie, *marks = headers["Set-Cookie"].split("; ")
    assert status == 303 and "Secure" in marks
    assert with_cookie(portal, urllib.parse.urljoin(door, f"/ui/{job.id}/tensorboard/"), cookie)[:2] == (200, b"a board")


@pytest.mark.promise("S95")
@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2])
def test_browsers_of_today_and_of_yesterday_are_heard(own, serve, newest):
    certificate, key = own
    portal = serve("--certificate", certificate, "--key", key, trusted=certificate)
    portal.context.maximum_version = newest
    assert portal.call("v1/server", headers={})[0] == 200


@pytest.mark.promise("S95")
def test_nothing_is_said_to_those_who_do_not_speak_tls(own, serve):
    certificate, key = own
    portal = serve("--certificate", certificate, "--key", key, trusted=certificate)
    place = urllib.parse.urlsplit(portal.url).netloc
    plain = http.client.HTTPConnection(place, timeout=PATIENCE_S)
    plain.request("GET", "/v1/server", headers=portal.headers)
    answer = plain.getresponse()
    assert answer.status == 400 and answer.read() == b"This port speaks HTTPS: write https:// in place of http://.\n"
    for bytes_sent in (b"\x16\x03\x01\xff\xff\x01\x00\xff\xfb", b"\x16\x03\x01\x00\x02\x01\x00", b"\x17\x03\x03\x00\x04abcd"):
        with socket.create_connection(place.split(":"), timeout=PATIENCE_S) as stranger:
            stranger.sendall(bytes_sent)
            assert stranger.recv(1) in (b"", b"\x15", b"H"), bytes_sent
    assert portal.jobs() == {}


@pytest.mark.promise("S95")
def test_a_crowd_that_says_nothing_keeps_nobody_out(own, serve):
    """Everybody can agree on TLS with a portal."""
    certificate, key = own
    portal = serve("--certificate", certificate, "--key", key, trusted=certificate)
    place = urllib.parse.urlsplit(portal.url).netloc.split(":")
    with contextlib.ExitStack() as held:
        for _ in range(300):
            raw = held.enter_context(socket.create_connection(place, timeout=PATIENCE_S))
            with contextlib.suppress(OSError):
                held.enter_context(portal.context.wrap_socket(raw, server_hostname=place[0]))
        for _ in range(3):
            assert portal.call("v1/server", headers={})[0] == 200


@pytest.mark.promise("S95")
def test_a_page_that_came_without_tls_asks_in_vain(own, serve):
    certificate, key = own
    portal = serve("--certificate", certificate, "--key", key, trusted=certificate)
    cookie = portal.call(portal.link, headers={})[2]["Set-Cookie"].split(";")[0]
    board = "v1/jobs/tony-20260101-000000-00000000/tensorboard"
    own_origin = portal.url.rstrip("/")
    for origin, site, expected in ((own_origin, "same-origin", 404), (own_origin.replace("https", "http"), "cross-site", 401),
                                   (own_origin.replace("https", "http"), None, 401), (own_origin, "same-site", 401)):
        headers = {"Cookie": cookie, "Origin": origin} | ({"Sec-Fetch-Site": site} if site else {})
        assert portal.call(board, "PUT", headers=headers)[0] == expected, (origin, site)


def test_a_site_names_a_store_with_a_password(tony, own, serve):
    write_xml(tony.directory / "conf/tony-site.xml", {
        "tony.https.keystore.path": pkcs12(tony.directory, *own), "tony.https.keystore.password": PASSWORD,
        "tony.https.keystore.type": "PKCS12", "tony.http.port": "disabled"})
    portal = serve(trusted=own[0])
    assert portal.url.startswith("https://") and portal.jobs() == {}
    assert shown(portal).strip() == own[0].read_text().strip()


def test_a_user_names_a_store_and_a_file_with_its_password(tony, own, serve):
    password = tony.directory / "password"
    password.write_text(f"{PASSWORD}\n")
    password.chmod(0o600)
    portal = serve("--certificate", pkcs12(tony.directory, *own), "--key-password-file", password, trusted=own[0])
    assert portal.jobs() == {}


@pytest.mark.promise("S95")
def test_a_renewed_certificate_is_taken_and_a_broken_one_is_not(tony, own, serve):
    certificate, key = own
    portal = serve("--certificate", certificate, "--key", key, trusted=certificate)
    before = shown(portal)
    other, other_key = make_certificate(tony.directory, "other", kind="rsa")
    shutil.copy(other, certificate)
    assert "its key is not that of the certificate" in wait_until(portal.child.stderr.readline, "the portal to see it")
    assert shown(portal) == before
    key.chmod(0o644)
    shutil.copyfile(other_key, key)
    assert f"chmod o= {key}" in wait_until(portal.child.stderr.readline, "the portal to see the key")
    key.chmod(0o600)
    wait_until(lambda: shown(portal).strip() == other.read_text().strip(), "the portal to take the other one")


@pytest.mark.promise("S95")
def test_a_store_and_its_password_are_renewed_together(tony, own, serve):
    store, password = pkcs12(tony.directory, *own), tony.directory / "password"
    password.write_text(f"{PASSWORD}\n")
    password.chmod(0o600)
    portal = serve("--certificate", store, "--key-password-file", password, trusted=own[0])
    other, other_key = make_certificate(tony.directory, "other", kind="rsa")
    fresh = tony.directory / "fresh.p12"
    subprocess.run(["openssl", "pkcs12", "-export", "-in", other, "-inkey", other_key, "-out", fresh, "-passout", "pass:fresh"],
                   check=True, capture_output=True)
    fresh.chmod(0o600)
    fresh.rename(store)
    password.write_text("fresh")
    wait_until(lambda: shown(portal).strip() == other.read_text().strip(), "the portal to take both")


def test_the_end_of_a_certificate_is_told(tony, serve):
    certificate, key = make_certificate(tony.directory, days=2)
    portal = serve("--certificate", certificate, "--key", key, trusted=certificate)
    assert "the certificate ends in 47 hours" in wait_until(portal.child.stderr.readline, "the portal to tell")
    before = shown(portal)
    subprocess.run(["openssl", "x509", "-in", certificate, "-signkey", key, "-days", "-1", "-out", certificate], check=True,
                   capture_output=True)
    assert "the certificate's time is over" in wait_until(portal.child.stderr.readline, "the portal to refuse it")
    assert shown(portal) == before


def test_a_certificate_for_another_host_is_told(tony, serve):
    certificate, key = make_certificate(tony.directory, names="DNS:portal.example")
    portal = serve("--certificate", certificate, "--key", key, trusted=certificate)
    told = wait_until(portal.child.stderr.readline, "the portal to tell")
    assert "the certificate is not for 127.0.0.1, to which links lead" in told and "--listen HOST:PORT" in told


def broken(tony, case):
    certificate, key = make_certificate(tony.directory, "one", kind="weak" if case == "weak" else "ec")
    other, other_key = make_certificate(tony.directory, "other")
    if case == "another's key":
        return ["--certificate", certificate, "--key", other_key]
    if case == "everybody's key":
        key.chmod(0o604)
    if case == "no key":
        return ["--certificate", certificate]
    if case == "JKS":
        certificate.write_bytes(b"\xfe\xed\xfe\xed\x00\x00\x00\x02")
        certificate.chmod(0o600)
        return ["--certificate", certificate]
    if case == "password":
        return ["--certificate", pkcs12(tony.directory, certificate, key)]
    if case == "no certificate":
        certificate.write_text("-----BEGIN NONSENSE-----\n")
    if case == "nothing":
        certificate.unlink()
    return ["--certificate", certificate, "--key", key]


@pytest.mark.parametrize("case, words", [
    ("another's key", "other.key: its key is not that of the certificate in "),
    ("everybody's key", "it holds a key, and everybody on this machine may read or write it: chmod o= "),
    ("no key", "one.pem: it holds no key in PEM, and no other file was named (--key)"),
    ("JKS", "one.pem -destkeystore "),
    ("password", "portal.p12: this PKCS #12 store cannot be opened without a password"),
    ("no certificate", "one.pem: it holds no certificate"),
    ("weak", "OpenSSL refuses the certificate: ee key too small"),
    ("nothing", "one.pem: No such file or directory")])
def test_a_certificate_that_is_of_no_use_is_told(tony, case, words):
    options = broken(tony, case)
    for path in options[1::2]:
        if path.exists() and case != "everybody's key":
            path.chmod(0o600)
    answer = tony.run("portal", "--listen", "127.0.0.1:0", *options)
    assert answer.returncode == (4 if case == "nothing" else 3) and words in answer.stderr, answer.stderr


@pytest.mark.parametrize("options, words", [
    (["--key", "k"], "--key: say with --certificate FILE whose it is"),
    (["--key-password-file", "k"], "--key-password-file: say with --certificate FILE whose it is")])
def test_a_key_without_a_certificate_is_bad_usage(tony, options, words):
    answer = tony.run("portal", *options)
    assert answer.returncode == 2 and words in answer.stderr


@pytest.mark.parametrize("key, value", [("tony.https.port", "19886"), ("tony.https.keystore.password", "secret")])
def test_a_site_that_wants_https_names_its_certificate(tony, key, value):
    """Else the portal would speak plain HTTP, and nobody would notice."""
    write_xml(tony.directory / "conf/tony-site.xml", {key: value})
    answer = tony.run("portal")
    assert answer.returncode == 3 and f"{key}: there is no tony.https.keystore.path" in answer.stderr and "secret" not in answer.stderr


def test_a_site_may_leave_its_https_out(tony, own):
    """The certificate stays named; the link is asked for, which nobody prints."""
    for port in ("disabled", ""):
        write_xml(tony.directory / "conf/tony-site.xml", {
            "tony.https.keystore.path": pkcs12(tony.directory, *own), "tony.https.keystore.password": PASSWORD, "tony.https.port": port})
        portal = Portal(tony, trusted=own[0])
        assert portal.url.startswith("http://" if port else "https://") and portal.jobs() == {}
        portal.stop()
    write_xml(tony.directory / "conf/tony-site.xml", {"tony.https.port": ""})
    portal = Portal(tony)
    assert portal.url.startswith("http://") and portal.jobs() == {}
    portal.stop()


def test_a_site_says_one_port(tony, own):
    write_xml(tony.directory / "conf/tony-site.xml", {"tony.https.keystore.path": pkcs12(tony.directory, *own), "tony.http.port": "19886"})
    answer = tony.run("portal")
    assert answer.returncode == 3 and "tony.http.port: tony portal listens at one port, and speaks HTTPS there (tony.https.keystore.path" in answer.stderr
