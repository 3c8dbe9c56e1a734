"""Users of a cluster come to the portal with their tickets. The portal is alice's, and so are the jobs."""

import json
import os
import shutil
import subprocess

import pytest
from audit import audit_of
from certificate import make_certificate
from portal import Portal
from program import PATIENCE_S, PYTHON, wait_until, write_xml
from tickets import end_point, show_ticket

CLUSTER = {"--nodes": 1, "--secure": None, "--https": None, "--protection": "privacy"}
NOBODY = {"KRB5CCNAME": "FILE:/nonexistent"}


class Visitor:
    """curl with one user's ticket, and the cookies that it was given."""

    def __init__(self, portal, directory, name, env):
        self.url, self.env = portal.url, env
        self.jar, self.trusted = directory / f"{name}.cookies", directory / "certificate.pem"

    def ask(self, path, *options, proof=("--negotiate", "-u", ":")):
        """(status, body) of the last answer, where redirects lead."""
        answer = subprocess.run(
            ["curl", "-sS", "-L", *proof, "--cacert", self.trusted, "-b", self.jar, "-c", self.jar,
             "-w", "\n%{http_code}", *options, f"{self.url}{path}"],
            env=os.environ | self.env, capture_output=True, text=True, timeout=PATIENCE_S)
        assert answer.returncode == 0, answer.stderr
        body, _, status = answer.stdout.rpartition("\n")
        return int(status), body

    def jobs(self):
        status, body = self.ask("v1/jobs")
        assert status == 200, body
        return {job["id"] for job in json.loads(body)["jobs"]}


@pytest.fixture(name="alice")
def alice_fixture(own_tony):
    env = own_tony.cluster.env_of("alice")
    own_tony.env |= {name: env[name] for name in ("KRB5CCNAME", "KRB5_CONFIG")}
    return own_tony


@pytest.fixture(name="portal")
def portal_fixture(alice):
    certificate, key = make_certificate(alice.directory)
    portal = Portal(alice, "--certificate", certificate, "--key", key, "--kerberos-keytab",
                    alice.cluster.directory / "krb5/http.keytab", trusted=certificate)
    yield portal
    portal.stop()


@pytest.fixture(name="visitor")
def visitor_fixture(alice, portal):
    def visitor(name):
        env = alice.cluster.env_of(name if name != "nobody" else "alice")
        return Visitor(portal, alice.directory, name, {"KRB5CCNAME": env["KRB5CCNAME"], "KRB5_CONFIG": env["KRB5_CONFIG"]}
                       | (NOBODY if name == "nobody" else {}))
    return visitor


@pytest.mark.promise("S96")
def test_each_user_sees_what_is_his_and_what_he_may_view(alice, portal, visitor):
    (_, own), (_, told) = (alice.job({"tony.worker.instances": 1, **keys}, "--executes", "true")
                           for keys in ({}, {"tony.application.acl.view": "bob"}))
    for job in (own, told):
        portal.wait_kept(job, "succeeded")
    users = {name: visitor(name) for name in ("alice", "bob")}
    for user in users.values():
        status, body = user.ask("", "-H", "Accept: text/html")
        assert status == 200 and "<title>" in body    # by way of login/kerberos
    assert users["alice"].jobs() == {own.id, told.id}
    assert users["bob"].jobs() == {told.id}
    status, body = users["bob"].ask(f"v1/jobs/{own.id}/job")
    assert status == 404, body
    server = json.loads(users["bob"].ask("v1/server")[1])
    assert server["viewer"] == "bob"
    portal.child.terminate()
    lines = audit_of(portal.child.communicate(timeout=PATIENCE_S)[1])
    assert [(line["user"], line["outcome"]) for line in lines if line["action"] == "login"] == [("alice", "done"), ("bob", "done")]
    assert [line["detail"] for line in lines if line["user"] == "bob" and line["outcome"] == "refused"] == [f"GET /v1/jobs/{own.id}/job"]


def test_a_browser_with_a_ticket_is_let_in(alice, portal, browse):
    """Firefox and Chromium show it by themselves, once they were told to which hosts."""
    _, told = alice.job({"tony.worker.instances": 1, "tony.application.acl.view": "bob"}, "--executes", "true")
    portal.wait_kept(told, "succeeded")
    bob = browse("bob")
    bob.go(portal.url.replace("127.0.0.1", "localhost"))
    bob.wait_for_rows(lambda rows: told.id in [row[3] for row in rows])
    bob.turn_to(f"#/jobs/{told.id}")
    bob.wait_for_text("succeeded", ".title .badge")


@pytest.mark.promise("S75")
def test_a_live_job_is_shown_to_those_who_may_view_it(alice, portal, visitor):
    """Also one that another machine has submitted. To look is not to use what its program serves."""
    serve = f"echo here; exec {PYTHON} web_program.py /"
    own = alice.submit({}, "--executes", serve)
    told = alice.submit({"tony.yarn.view-acl": "bob games"}, "--executes", serve, env={"TONY_STATE_DIR": str(alice.directory / "elsewhere")})
    for job in (own, told):
        portal.wait_job(job, "running")
    users = {name: visitor(name) for name in ("bob", "games", "alice")}
    for user in users.values():
        assert user.ask("login/kerberos")[0] == 200
    for user in ("bob", "games"):    # by name, and by a group
        wait_until(lambda user=users[user]: told.id in user.jobs(), f"the job in the list of {user}")
        assert own.id not in users[user].jobs()
    told.wait_log("driver:0", "here")
    for path in ("job", "tasks", "tasks/driver:0/logs/stdout"):
        assert users["bob"].ask(f"v1/jobs/{told.id}/{path}")[0] == 200
        assert users["bob"].ask(f"v1/jobs/{own.id}/{path}")[0] == 404
    status, body = users["bob"].ask(f"ui/{told.id}/notebook/")
    assert status == 403 and "for its owner alone" in body, body
    wait_until(lambda: users["alice"].ask(f"ui/{told.id}/notebook/")[0] == 200, "the page for the owner")
    portal.stop()
    for job in (own, told):
        alice.run("kill", job.id)


@pytest.mark.promise("S96")
def test_without_a_good_ticket_nobody_comes_in(portal, visitor):
    status, body = visitor("nobody").ask("login/kerberos")
    assert status == 401 and "kinit" in body
    for text in ("YIIB", "bm9uc2Vuc2U=", "TlRMTVNTUAABAAAAB4IIogAAAAAAAAAAAAAAAAAAAAAKAA=="):
        status, body = visitor("bob").ask("login/kerberos", "-H", f"Authorization: Negotiate {text}", proof=())
        assert status == 403 and "does not take this ticket" in body, body
    assert visitor("bob").ask("login/kerberos", "-H", "Authorization: Negotiate *", proof=())[0] == 401
    assert visitor("bob").ask("v1/jobs", proof=())[0] == 401


@pytest.mark.promise("S96")
def test_a_ticket_is_taken_once(portal, visitor):
    """A reader on the way cannot come with it."""
    bob = visitor("bob")
    seen = subprocess.run(["curl", "-sS", "-v", "--negotiate", "-u", ":", "--cacert", bob.trusted, f"{bob.url}login/kerberos"],
                          env=os.environ | bob.env, capture_output=True, text=True, timeout=PATIENCE_S)
    header = next(line[2:] for line in seen.stderr.splitlines() if line.startswith("> Authorization: Negotiate "))
    assert "303" in seen.stderr and "< set-cookie: tony-portal=" in seen.stderr.lower()
    again = visitor("nobody")
    status, body = again.ask("login/kerberos", "-H", header, proof=())
    assert status == 403 and "replay" in body.lower(), body


@pytest.mark.promise("S96")
def test_a_ticket_that_is_bound_to_another_servers_certificate_is_refused(alice, portal, visitor):
    """As one is that a browser has shown to a listener at another port of this machine."""
    bob = visitor("bob")
    ask = lambda binding: bob.ask("login/kerberos", "-H", show_ticket(os.environ | bob.env, "127.0.0.1", binding), proof=())
    own, elsewhere = (end_point(place) for place in (bob.trusted, make_certificate(alice.directory, "another")[0]))
    status, body = ask(elsewhere)
    assert status == 403 and "bound to another server's certificate" in body, body
    for binding in (own, b""):    # a client may bind nothing
        assert ask(binding)[0] == 200
        bob.jar.unlink()


def test_the_portal_gets_its_own_tickets_by_a_keytab(alice):
    """In the server, the indexer and the readers, where no kinit has left any."""
    _, job = alice.job({"tony.worker.instances": 1}, "--executes", "echo hello")
    write_xml(alice.directory / "conf/tony-site.xml", {"tony.keytab.location": alice.cluster.directory / "krb5/alice.keytab"})
    alice.forget()
    alice.env |= NOBODY
    portal = Portal(alice)
    row = portal.wait_kept(job, "succeeded")
    assert row["user"] == "alice"
    assert portal.get(f"v1/jobs/{job.id}/job")["state"] == "succeeded"
    portal.stop()
    alice.env["KRB5CCNAME"] = alice.cluster.env_of("alice")["KRB5CCNAME"]


def test_a_keytab_of_no_use_is_told(alice):
    keytab = alice.directory / "http.keytab"
    answer = alice.run("portal", "--listen", "127.0.0.1:0", "--kerberos-keytab", keytab)
    assert answer.returncode == 3 and f"the portal's keytab: {keytab}: " in answer.stderr, answer.stderr
    answer = alice.run("portal", "--listen", "127.0.0.1:0", "--kerberos-keytab", alice.cluster.directory / "krb5/alice.keytab")
    assert answer.returncode == 3 and "alice.keytab has no key of HTTP/HOST" in answer.stderr, answer.stderr
    shutil.copy(alice.cluster.directory / "krb5/http.keytab", keytab)
    answer = alice.run("portal", "--listen", "0.0.0.0:0", "--kerberos-keytab", keytab)
    assert answer.returncode == 3 and "tickets would cross the network in the clear" in answer.stderr, answer.stderr
    keytab.chmod(0o644)
    answer = alice.run("portal", "--listen", "127.0.0.1:0", "--kerberos-keytab", keytab)
    assert answer.returncode == 3 and f"chmod o= {keytab}" in answer.stderr, answer.stderr


@pytest.mark.promise("S96")
def test_another_sites_page_cannot_log_its_reader_in(portal, visitor):
    bob = visitor("bob")
    foreign = "-H", "Sec-Fetch-Site: cross-site", "-H", "Sec-Fetch-Mode: no-cors", "-H", "Sec-Fetch-Dest: image"
    status, _ = bob.ask("login/kerberos", *foreign)
    assert status == 200 and "tony-portal" not in bob.jar.read_text()
    bob.ask("login/kerberos")
    before = bob.jar.read_text()
    assert "tony-portal" in before
    bob.ask("login/kerberos")
    assert bob.jar.read_text() == before    # who has a session keeps it
