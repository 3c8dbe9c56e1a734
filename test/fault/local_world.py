"""A job on this machine, in a world of its own.

    local_world.py KIND SEED DIRECTORY          KIND: one of schedule.py's

exits with 1 when a promise was broken.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import chaos
import schedule as schedules
import world
from world import read

DISK = "48m"


def listening_ports():
    lines = [line.split() for line in read("/proc/net/tcp").decode().splitlines()[1:]]
    return {int(words[1].partition(":")[2], 16) for words in lines if words[3] == "0A"}


def inode(path):
    """None: it was removed meanwhile."""
    try:
        return str(path.stat().st_ino)
    except FileNotFoundError:
        return None


class LocalWorld(world.World):
    def job_dir(self):
        return self.state / "jobs" / self.job

    async def description(self):
        return json.loads(read(self.job_dir() / "job.json"))

    async def lines(self):
        return [json.loads(line) for line in read(self.job_dir() / "journal.jsonl").decode().splitlines()]

    async def has_ended(self):
        return (await self.lines())[-1]["ev"] == "final"

    # ---- faults ----

    async def wait_whole(self, fault):
        """The next half of an AM that a calm schedule strikes waits for the other one to be replaced: on a slow machine
        the time in between may not do, or this process may have slept through it."""
        am, guardian = (schedules.Fault(0, "", target) for target in schedules.AM)
        is_calm = self.schedule.is_calm() and fault.target in schedules.AM
        while is_calm and (self.find(am) is None) != (self.find(guardian) is None) and \
                time.monotonic() < self.begun + self.END_S:
            await asyncio.sleep(0.01)

    async def fault_full_disk(self, fault):
        fill = self.state / f"fill-{fault.at}"
        try:
            with open(fill, "wb", buffering=0) as file:
                while file.write(b"\0" * 65536):
                    pass
        except OSError:
            pass
        await asyncio.sleep(fault.seconds)
        fill.unlink()

    async def fault_few_files(self, fault):
        """The AM can open nothing more."""
        pid = self.find(schedules.Fault(0, "", "am"))
        try:
            before = resource.prlimit(pid or 0, resource.RLIMIT_NOFILE)
            count = len(os.listdir(f"/proc/{pid}/fd"))
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (count, before[1]))
            await asyncio.sleep(fault.seconds)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        except (OSError, TypeError):
            return "nobody there"
        return f"process {pid} had {count}"

    # ---- what must hold ----

    async def left(self):
        left = [f"process {process}" for process in self.processes()]
        left += [f"file {name}" for name in ("am.json", "journal.reserve") if (self.job_dir() / name).exists()]
        left += [f"port {port}" for port in listening_ports() if port not in (self.chaos.port, self.webhook.port)]
        inodes = [words[5].rpartition(":")[2] for words in
                  (line.split() for line in read("/proc/locks").decode().splitlines()) if "->" not in words]
        left += [f"ledger entry {path.name}" for path in (self.state / "ledger").rglob("*")
                 if inode(path) in inodes]
        # Groups of others' jobs come and go meanwhile: os.walk() does not mind.
        left += [f"control group {path}/{name}" for path, names, _ in os.walk("/sys/fs/cgroup") for name in names
                 if self.job in name]
        return left

    def logs(self):
        return sorted(path for path in self.job_dir().rglob("*") if path.name in ("am.log", "executor.log", "stderr"))

    async def run(self):
        self.state.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0700", "tony-fault", self.state], check=True)
        await self.chaos.open()
        return await super().run()


if __name__ == "__main__":
    kind, number, place = sys.argv[1:]
    world.main(LocalWorld(schedules.KINDS[kind](int(number)), Path(place), chaos.Chaos(int(number))).run)
