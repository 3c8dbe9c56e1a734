"""tony on a cluster: what differs from one machine."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request

from patience import PATIENCE_S, wait_until
from portal import NoRedirect
from program import Job, Tony, describe, is_alive, read_environ

OVER = ("FINISHED", "FAILED", "KILLED")


class YarnJob(Job):
    """A job that is an application of YARN; its files are in HDFS."""

    @property
    def cluster(self):
        return self.tony.cluster

    @property
    def files(self):
        return f"/user/{self.cluster.user}/.tony/{self.id}"

    @property
    def history(self):
        """Where what is kept of it is, or will be."""
        home = f"/user/{self.cluster.user}/.tony"
        path = self.tony.state / "yarn" / self.id / "job.json"
        text = path.read_bytes() if path.exists() else self.cluster.get(f"{self.files}/job.json")
        day = time.gmtime(json.loads(text)["submitted_ms"] / 1000)
        return time.strftime(f"{home}/history/%Y/%m/%d/{self.id}", day)

    def application(self):
        return self.cluster.application(self.id)

    def ended_application(self):
        """Clients hear of the end before the ResourceManager does."""
        return wait_until(lambda: (report := self.application())["state"] in OVER and report, f"the end of {self.id}")

    def tracking_url(self):
        """There is none before its AM has registered."""
        return wait_until(lambda: self.application().get("trackingUrl"), f"the page of {self.id}")

    def final_url(self):
        """Where the ResourceManager sends users who look at an ended job."""
        try:
            self.tony.look(self.tracking_url(), NoRedirect)
        except urllib.error.HTTPError as error:
            return error.headers["Location"]
        return None

    def wait_final(self, status):
        assert self.ended_application()["finalStatus"] == status

    def description(self):
        """A job may end before its client has written it; then its history has it."""
        return json.loads(wait_until(lambda: self.cluster.get(f"{self.files}/job.json") or
                                     self.cluster.get(f"{self.history}/job.json"), "the job's description"))

    def token(self):
        return self.cluster.get(f"{self.files}/token").decode().strip()

    def logs(self, task, file="stdout"):
        answer = self.tony.run("logs", "--task", task, "--stream", file, self.id)
        assert answer.returncode == 0, answer.stderr
        return re.sub(r"^stderr\| ", "", answer.stdout, flags=re.M)

    def wear_out_am(self, number=signal.SIGKILL):
        """Of a job with one_am."""
        os.kill(self.status()["am_pid"], number)

    def containers(self):
        """The id of every live container, by what its processes have in their environment."""
        return {value.split(b"=", 1)[1].decode() for pid in self.processes() for value in read_environ(pid)
                if value.startswith(b"CONTAINER_ID=")}

    def processes(self):
        _, stamp, number = self.id.split("_")
        marks = f"_{stamp}_{number}_".encode()
        return find(lambda variable: variable.startswith(b"CONTAINER_ID=") and marks in variable
                    or variable == f"TONY_JOB_ID={self.id}".encode())


def find(matches):
    return [int(entry) for entry in os.listdir("/proc")
            if entry.isdigit() and int(entry) != os.getpid() and is_alive(entry)
            and any(map(matches, read_environ(entry)))]


class YarnTony(Tony):
    id_pattern = r"application_\d+_\d+"
    job_class = YarnJob
    one_host = False
    one_am = {"tony.am.max-attempts": 1}
    no_proxy = {"tony.am.trust-proxy": "false"}

    def __init__(self, directory, cluster):
        super().__init__(directory)
        self.cluster = cluster
        env = cluster.env
        self.env |= {name: env[name] for name in ("HADOOP_CONF_DIR", "HADOOP_USER_NAME", "KRB5_CONFIG", "KRB5CCNAME")
                     if name in env}
        self.seen = {}

    def arguments(self, keys=None, *options, **others):
        """The AM is small, too."""
        return super().arguments({"tony.am.memory": "64m", **(keys or {})}, *options, **others)

    def found_job(self, text):
        job = super().found_job(text)
        if job:
            self.seen[job.id] = job
        return job

    def change_site(self, file, old, new):
        """A copy of the cluster's site files with another text in one of them; for the environment."""
        site = self.directory / "site"
        shutil.copytree(self.env["HADOOP_CONF_DIR"], site)
        text = (site / file).read_text()
        assert old in text
        (site / file).write_text(text.replace(old, new))
        return {"HADOOP_CONF_DIR": str(site)}

    def look(self, request, *handlers):
        """The answer that a browser of this user's gets, from YARN's web proxy for instance."""
        return self.cluster.open(request, self.cluster.user, handlers, timeout=PATIENCE_S)

    def ids(self):
        return sorted(self.seen)

    def processes(self):
        state = f"TONY_STATE_DIR={self.state}".encode()
        return sorted({*find(lambda variable: variable == state),
                       *(pid for job in self.seen.values() for pid in job.processes())})

    def unfinished(self):
        return [job.id for job in self.seen.values() if job.application()["state"] not in OVER]

    def staged(self):
        """Directories of jobs that ended by themselves and are still in HDFS. An AM that is killed hard
        deletes nothing."""
        there = set(self.cluster.list(f"/user/{self.cluster.user}/.tony")) if self.cluster.has_hdfs else ()
        return [job.id for job in self.seen.values()
                if job.id in there and job.application()["state"] == "FINISHED"]

    def held(self):
        return []

    def tell(self):
        print(*map(describe, self.processes()), sep="\n")
        for job in self.seen.values():
            report = job.application()
            print("==", job.id, report["state"], report["finalStatus"], report.get("diagnostics"))
            print(self.run("events", job.id).stdout)
            self.tell_daemons(job.id.removeprefix("application"))
            try:
                done = self.cluster.kit("yarn", "logs", "-applicationId", job.id, check=False, timeout=PATIENCE_S)
                print(done.stdout[-12000:])
            except subprocess.TimeoutExpired as late:   # what failed is told all the same
                print(late)

    def tell_daemons(self, number):
        """Lines of the logs of YARN's daemons that name the application `number`, its attempts and containers."""
        for log in sorted((self.cluster.directory / "log").glob("[rn]m*.log")):
            lines = [line for line in log.read_text(errors="replace").splitlines() if number in line]
            print(f"== {log.name}", *(line[:300] for line in lines[-60:]), sep="\n")

    def forget(self):
        """From now on this is another machine. What looks after others' jobs in the background still writes here."""
        wait_until(lambda: not self.processes(), "everything to end")
        shutil.rmtree(self.state)

    def finish(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.communicate()
        for app in self.unfinished():
            if self.run("kill", app).returncode != 0:
                self.kill_application(app)

    def kill_application(self, app):
        """Through the ResourceManager's REST interface, so that no fault of ours keeps it alive."""
        url = f"{self.cluster.active('rm')}/ws/v1/cluster/apps/{app}/state?user.name={self.cluster.user}"
        request = urllib.request.Request(url, b'{"state": "KILLED"}', method="PUT",
                                         headers={"Content-Type": "application/json"})
        try:
            self.cluster.open(request, timeout=PATIENCE_S).close()
        except urllib.error.HTTPError as error:
            print(f"kill {app}: {error.code} {error.read().decode()}")
