"""Jobs on a YARN and HDFS in a world of their own, one after the other, each struck by the faults of its seed.

    yarn_world.py DIRECTORY SEED...

The cluster is one of test/yarn's. Tells a line of each schedule whose promises were kept, and all of the others (of the only
one, too); exits with 1 if there was any.
"""

import asyncio
import contextlib
import io
import json
import shutil
import sys
import time
import traceback
from pathlib import Path

import chaos
import fault
import schedule_yarn as schedules
import world
from world import HERE, read

sys.path.insert(0, str(HERE.parent / "yarn"))
import kit  # noqa: E402

CLUSTER = {"--nodes": schedules.NODES, "--heartbeat-ms": 100, "--expiry-ms": schedules.EXPIRY_S * 1000,
           "--recovery": None, "--am-attempts": schedules.AM_ATTEMPTS, "--debug-delay-sec": 3600}
YARN_STATE = {"succeeded": "SUCCEEDED", "failed": "FAILED", "killed": "KILLED"}
OVER = ("FINISHED", "FAILED", "KILLED")
KEPT_S = 3  # at the latest the journal in HDFS tells of what was
AM_LEAVES_S = 60  # so long nobody takes an AM for lost whose end the ResourceManager knows
FIRST_EPHEMERAL = 32768  # servers of YARN and HDFS have ports below, AMs and tasks above


class YarnWorld(world.World):
    END_S = 240
    CLEAN_S = 20  # after the end, and after all daemons serve again

    def __init__(self, schedule, directory, proxy, cluster):
        super().__init__(schedule, directory, proxy)
        self.cluster = cluster
        self.env |= {name: cluster.env[name] for name in ("HADOOP_CONF_DIR", "HADOOP_USER_NAME")}
        self.restarting = asyncio.Lock()
        self.lost_ams = []  # before and after they were killed

    def daemon(self, name):
        return int(read(self.cluster.directory / "pid" / name).split()[0])

    def processes(self):
        """Without daemons, what restarts them, and what is about to become one: their clocks are not set, either."""
        marks = {__file__, str(kit.KIT), f"-Djdk.net.hosts.file={self.cluster.directory.resolve()}/hosts"}
        return [process for process in super().processes() if marks.isdisjoint(process.words)]

    def job_files(self):
        """In HDFS."""
        return f"/user/{self.cluster.user}/.tony/{self.job}"

    async def description(self):
        """As the client keeps it."""
        return json.loads(read(self.state / "yarn" / self.job / "job.json"))

    async def lines(self):
        code, text, err = await self.tony("events", "--json", self.job)
        if code != 0:
            raise AssertionError(f"events: exit code {code}: {err}")
        return [json.loads(line) for line in text.splitlines()]

    async def has_ended(self):
        """Its journal is the AM's; `tony events` tells of it once that is brought."""
        return True

    async def wait_begin(self):
        deadline = time.monotonic() + self.END_S
        while self.schedule.once_running and time.monotonic() < deadline and \
                not any(map(self.starts, self.schedule.tasks())):
            await asyncio.sleep(0.02)

    # ---- faults ----

    async def fault_kill(self, fault):
        begun = time.monotonic()
        told = await super().fault_kill(fault)
        if fault.target in schedules.AM:
            self.lost_ams.append((begun, time.monotonic()))
        return told

    async def fault_daemon_kill(self, fault, **options):
        name = fault.target.rstrip("0123456789")
        number = fault.target[len(name):]
        async with self.restarting:
            await asyncio.to_thread(self.cluster.kill, name, number, **options)
            await asyncio.sleep(fault.seconds)
            await asyncio.to_thread(self.cluster.restart, name, number)

    async def fault_node_lost(self, fault):
        await self.fault_daemon_kill(fault, containers=True)

    async def fault_daemon_stop(self, fault):
        return await world.stand_still(self.daemon(fault.target), fault.seconds)

    async def fault_slow_hdfs(self, fault):
        self.chaos.pause_s, self.chaos.break_rate = 0.3, 0.1
        await asyncio.sleep(fault.seconds)
        self.chaos.pause_s = self.chaos.break_rate = 0

    # ---- what must hold ----

    async def check(self, code):
        broken = await super().check(code)
        state = (await self.lines())[-1].get("state")
        report = await self.wait_over()
        if report["state"] not in OVER or report["finalStatus"] != YARN_STATE.get(state):
            broken.append(f"the job {state}, and the application is {report['state']} and {report['finalStatus']}: "
                          f"{report['diagnostics']}")
        return broken

    async def wait_over(self):
        """What the ResourceManager says of the application. Its metrics may count it no more before that says so."""
        deadline = time.monotonic() + self.CLEAN_S
        while (report := await asyncio.to_thread(self.cluster.application, self.job))["state"] not in OVER and \
                time.monotonic() < deadline:
            await asyncio.sleep(0.1)
        return report

    def forgotten(self, task):
        """The journal is in HDFS a little later; an AM that is lost with its node is not struck at a known time."""
        with_node = sum(fault.target in schedules.NODE_MANAGERS for fault in self.schedule.faults)
        kept_s = self.END_S if self.schedule.strikes_hdfs() else KEPT_S
        return with_node + sum(any(begun - kept_s < start < lost for start in self.starts(task))
                               for begun, lost in self.lost_ams)

    async def left(self):
        left = [f"process {process}" for process in self.processes()]
        metrics = (await asyncio.to_thread(self.cluster.rm, "metrics"))["clusterMetrics"]
        return left + [f"{metrics[name]} {name}" for name in ("containersAllocated", "containersPending",
                                                              "containersReserved", "appsPending", "appsRunning")
                       if metrics[name]]

    async def check_left(self):
        """The AM removes the job's directory; where it was lost before it could, whoever asks for the list, after a while."""
        broken = await super().check_left()
        may_be_lost = any(fault.target in (*schedules.AM, *schedules.NODE_MANAGERS) for fault in self.schedule.faults)
        deadline = time.monotonic() + (AM_LEAVES_S if may_be_lost else 0) + self.CLEAN_S
        while await asyncio.to_thread(self.cluster.status, self.job_files()):
            if time.monotonic() > deadline:
                return [*broken, f"left behind: {self.job_files()} in HDFS"]
            await asyncio.sleep(1)
            if may_be_lost:
                await self.tony("list")
        return broken

    def logs(self):
        """NodeManagers keep those of containers that have ended, too."""
        return sorted(path for path in self.cluster.directory.glob(f"data/nm*/log/{self.job}/**/*")
                      if path.name in ("am.stderr", "executor.log", "stderr"))

    def forget(self):
        for path in self.cluster.directory.glob(f"data/nm*/**/{self.job}"):
            shutil.rmtree(path, ignore_errors=True)
        shutil.rmtree(self.directory)


async def run_seed(seed, directory, proxy, cluster, is_told):
    begun = time.monotonic()
    told = sys.stdout if is_told else io.StringIO()
    place = YarnWorld(schedules.make(seed), directory / f"seed-{seed}", proxy, cluster)
    with contextlib.redirect_stdout(told):
        try:
            code = await place.run()
        except Exception:
            traceback.print_exc(file=told)
            code = 1
    if code and not is_told:
        print(told.getvalue())
    end = f"FAILED; {fault.again('yarn', seed)}" if code else f"passed after {time.monotonic() - begun:.0f} s"
    print(f"seed {seed} {end}", flush=True)
    place.forget()
    return code


async def run(directory, seeds):
    cluster = await asyncio.to_thread(kit.Cluster(directory / "cluster").up, CLUSTER)
    ports = json.loads(read(cluster.directory / "cluster.json"))["ports"]
    proxy = chaos.Chaos(seeds[0], servers=(ports["nn-web"], ports["dn-web"]))
    await proxy.open(f"{FIRST_EPHEMERAL}-65535, {ports['nn-web']}, {ports['dn-web']}")
    return max([await run_seed(seed, directory, proxy, cluster, len(seeds) == 1) for seed in seeds])


if __name__ == "__main__":
    place, *numbers = sys.argv[1:]
    world.main(lambda: run(Path(place), [int(number) for number in numbers]))
