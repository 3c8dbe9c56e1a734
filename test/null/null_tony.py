"""tony with the null scheduler, and its engine."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from patience import wait_until
from program import BUILD, Tony, built, children_of, read_environ, write_xml


class NullTony(Tony):
    id_pattern = r"null-\d{8}-\d{6}-[0-9a-f]+"
    build = BUILD / "test/null"
    folder = "null"

    def __init__(self, directory):
        super().__init__(directory)
        built("test/null/tony-agent")
        write_xml(directory / "conf/tony-site.xml", {"tony.application.scheduler": "null"})
        self.engine = subprocess.Popen([sys.executable, Path(__file__).with_name("engine.py"), self.state], env=self.env)
        wait_until((self.state / self.folder).is_dir, "the engine")

    def executors(self, job):
        """The first process of each container."""
        return {pid for pid in children_of(self.engine.pid) if f"TONY_JOB_ID={job.id}".encode() in read_environ(pid)
                and b"TONY_MEMORY_WATCH=1" in read_environ(pid)}

    def stop_executors(self):
        """Those that are started from now on stand still before they do anything."""
        (self.state / self.folder / ".stopped").touch()

    def let_executors_go(self, job):
        (self.state / self.folder / ".stopped").unlink()
        for pid in self.executors(job):
            stat = Path(f"/proc/{pid}/stat")
            wait_until(lambda stat=stat: stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "T", "it to stand still")
            os.kill(pid, signal.SIGCONT)

    def processes(self):
        return [pid for pid in super().processes() if pid != self.engine.pid]

    def finish(self):
        super().finish()
        wait_until(lambda: not self.processes(), "the engine to end every process")
        self.engine.terminate()
        self.engine.wait()
